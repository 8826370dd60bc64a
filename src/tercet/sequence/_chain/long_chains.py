"""The recursions over many chains, where long chains are cut into pieces: Ctrl-C is handled between two pieces.

A piece of a forward recursion is a chain whose start weights are the prediction from the row before it; a piece of
a backward recursion ends with the message from the row after it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tercet.core.functions import log_sum_exp
from tercet.sequence._chain import log_space, scaled

WORK = 1 << 27  # transitions in one call of a kernel: about a tenth of a second
LOG_WORK = 1 << 24  # the same in log space, which is slower

Array = np.ndarray


def smooth(borders: Array, start: Array, trans: Array, like: Array, logs: Array) -> tuple[Array, Array]:
    """`scaled.smooth`: forward tables (T, N) and posteriors (T, N) of many chains; `like` and `logs` as there."""
    alpha, posterior, unit = np.empty_like(like), np.empty_like(like), np.empty(len(like))
    turned = np.ascontiguousarray(trans.T)
    if _short(like):
        scaled.smooth(borders, start, trans, turned, like, alpha, posterior, unit, logs)
        return alpha, posterior
    for s, (a, b) in enumerate(pairwise(borders)):
        one = like[a:b], alpha[a:b], unit[a:b]
        logs[s] = _forward(start, turned, *one)
        if logs[s] == -np.inf or not _backward(trans, *one, posterior[a:b]):
            logs[s] = -np.inf
            like[a:b] = alpha[a:b] = posterior[a:b] = 0.0
    return alpha, posterior


def likelihoods(borders: Array, start: Array, trans: Array, like: Array, logs: Array) -> None:
    """Log weights of many chains; -inf where scaling fails. `like` may be written over."""
    if trans.min() <= scaled.LEAST:
        # A path that underflows may be the only one that is left in the end, which only the backward recursion can
        # tell. Where every state leads to every other that cannot happen.
        smooth(borders, start, trans, like, logs)
        return
    alpha, unit, turned = np.empty_like(like), np.empty(len(like)), np.ascontiguousarray(trans.T)
    if _short(like):
        scaled.likelihoods(borders, start, turned, like, alpha, unit, logs)
        return
    for s, (a, b) in enumerate(pairwise(borders)):
        logs[s] = _forward(start, turned, like[a:b], alpha[a:b], unit[a:b])


def decode(borders: Array, log_start: Array, log_trans: Array, log_like: Array, logs: Array) -> Array:
    """Viterbi paths (T,) of many chains; `logs` (S,) gets their log weights."""
    delta, path = np.empty_like(log_like), np.empty(len(log_like), dtype=np.int64)
    if _short(log_like):
        log_space.decode(borders, log_start, log_trans, log_like, delta, path, logs)
        return path
    for s, (a, b) in enumerate(pairwise(borders)):
        first = log_start
        for here in _pieces(log_like[a:b].shape, WORK, a):
            if here.start > a:
                first = (delta[here.start - 1][:, None] + log_trans).max(axis=0)
            log_space.viterbi_table_piece(first, log_trans, log_like[here], delta[here])
        logs[s] = log_space.trace_back_path(log_trans, delta[a:b], path[a:b])
    return path


def log_likelihood(log_start: Array, log_trans: Array, log_like: Array, alpha: Array) -> float:
    """Log weight of one chain in log space; alpha (T, N) gets its forward table."""
    total = -np.inf
    for here in _pieces(log_like.shape, LOG_WORK):
        if here.start > 0:
            log_start = log_sum_exp(alpha[here.start - 1][:, None] + log_trans, axis=0)
        total = log_space.log_likelihood(log_start, log_trans, log_like[here], alpha[here])
    return float(total)


def log_smooth(
    log_start: Array, log_trans: Array, log_like: Array, alpha: Array, beta: Array, counts: Array
) -> float:
    """`log_space.log_smooth` of one chain."""
    (rows, n), parts = log_like.shape, _pieces(log_like.shape, LOG_WORK)
    if len(parts) == 1:
        return log_space.log_smooth(log_start, log_trans, log_like, alpha, beta, counts)
    total = log_likelihood(log_start, log_trans, log_like, alpha)
    if total == -np.inf:
        return total
    beta[-1] = 0.0
    for here in reversed(parts):
        if here.stop < rows:
            beta[here.stop - 1] = log_sum_exp(log_trans + log_like[here.stop] + beta[here.stop], axis=1)
        log_space.log_backward_piece(log_trans, log_like[here], beta[here])
    for here in _pieces((rows - 1, n), 1 << 18):
        after = slice(here.start + 1, here.stop + 1)
        onward = (log_like[after] + beta[after] - total)[:, None, :]
        counts += np.exp(alpha[here][:, :, None] + log_trans + onward).sum(axis=0)
    for here in parts:
        beta[here] = np.exp(alpha[here] + beta[here] - total)
    return total


def _forward(start: Array, turned: Array, like: Array, alpha: Array, unit: Array) -> float:
    """Forward table of one chain; returns its log weight."""
    scaled.first(start, like, alpha, unit, 0)
    for here in _pieces(like.shape, WORK):
        scaled.forward_piece(turned, like, alpha, unit, max(here.start, 1), here.stop)
    return float(scaled.chain_log_weight(alpha, unit))


def _backward(trans: Array, like: Array, alpha: Array, unit: Array, posterior: Array) -> bool:
    """Posteriors of one chain, with `onward` in place of `like`; False where scaling fails."""
    scaled.last(like, alpha, unit, posterior, len(like))
    good = True
    for here in reversed(_pieces(like.shape, WORK)):
        begin = max(here.start, 1)
        good = scaled.backward_piece(trans, like, alpha, unit, posterior, begin, here.stop) and good
    return good


def _short(like: Array) -> bool:
    """Whether one call of a kernel can do it all."""
    return like.size * like.shape[1] <= WORK


def _pieces(shape: tuple[int, ...], work: int, begin: int = 0) -> list[slice]:
    rows, n = shape
    stride = max(1, work // (n * n))
    return [slice(begin + a, begin + min(a + stride, rows)) for a in range(0, rows, stride)]

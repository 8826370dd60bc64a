"""Sweeps over many chains, long ones piece by piece: between two pieces Ctrl-C is heard.

A piece of a forward recursion is a chain of its own, whose start is what the row before it leads to; a piece of a
backward recursion ends in what the row after it says.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tercet.core.functions import log_sum_exp
from tercet.sequence._chain import log_space as chain
from tercet.sequence._chain import scaled as chain_scaled

WORK = 1 << 27  # transitions weighed in one call of a kernel: about a tenth of a second
LOG_WORK = 1 << 24  # the same for logarithms, which are slower

Array = np.ndarray


def smooth(borders: Array, start: Array, trans: Array, like: Array, logs: Array) -> tuple[Array, Array]:
    """`chain_scaled.smooth`: the forward tables and the posteriors of many chains; `like` and `logs` as there."""
    alpha, posterior, unit = np.empty_like(like), np.empty_like(like), np.empty(len(like))
    turned = np.ascontiguousarray(trans.T)
    if _short(like):
        chain_scaled.smooth(borders, start, trans, turned, like, alpha, posterior, unit, logs)
        return alpha, posterior
    for s, (a, b) in enumerate(pairwise(borders)):
        one = like[a:b], alpha[a:b], unit[a:b]
        logs[s] = _ahead(start, turned, *one)
        if logs[s] == -np.inf or not _behind(trans, *one, posterior[a:b]):
            logs[s] = -np.inf
            like[a:b] = alpha[a:b] = posterior[a:b] = 0.0
    return alpha, posterior


def likelihoods(borders: Array, start: Array, trans: Array, like: Array, logs: Array) -> None:
    """Log weights of many chains; -inf where scaling fails. `like` may be written over."""
    if trans.min() <= chain_scaled.LEAST:
        # A path that underflows may be all that is left in the end, which only the way back can tell. Where every
        # state leads to every other it cannot.
        smooth(borders, start, trans, like, logs)
        return
    alpha, unit, turned = np.empty_like(like), np.empty(len(like)), np.ascontiguousarray(trans.T)
    if _short(like):
        chain_scaled.likelihoods(borders, start, turned, like, alpha, unit, logs)
        return
    for s, (a, b) in enumerate(pairwise(borders)):
        logs[s] = _ahead(start, turned, like[a:b], alpha[a:b], unit[a:b])


def decode(borders: Array, log_start: Array, log_trans: Array, log_like: Array, logs: Array) -> Array:
    """The best paths of many chains, and their log weights."""
    delta, path = np.empty_like(log_like), np.empty(len(log_like), dtype=np.int64)
    if _short(log_like):
        chain.decode(borders, log_start, log_trans, log_like, delta, path, logs)
        return path
    for s, (a, b) in enumerate(pairwise(borders)):
        first = log_start
        for here in _pieces(log_like[a:b].shape, WORK, a):
            if here.start > a:
                first = (delta[here.start - 1][:, None] + log_trans).max(axis=0)
            chain.trellis(first, log_trans, log_like[here], delta[here])
        logs[s] = chain.trace(log_trans, delta[a:b], path[a:b])
    return path


def log_likelihood(log_start: Array, log_trans: Array, log_like: Array, alpha: Array) -> float:
    """The log weight of one chain by logarithms, and its forward table."""
    total = -np.inf
    for here in _pieces(log_like.shape, LOG_WORK):
        if here.start > 0:
            log_start = log_sum_exp(alpha[here.start - 1][:, None] + log_trans, axis=0)
        total = chain.log_likelihood(log_start, log_trans, log_like[here], alpha[here])
    return float(total)


def log_smooth(
    log_start: Array, log_trans: Array, log_like: Array, alpha: Array, beta: Array, counts: Array
) -> float:
    """`chain.log_smooth`: one chain by logarithms."""
    (rows, n), parts = log_like.shape, _pieces(log_like.shape, LOG_WORK)
    if len(parts) == 1:
        return chain.log_smooth(log_start, log_trans, log_like, alpha, beta, counts)
    total = log_likelihood(log_start, log_trans, log_like, alpha)
    if total == -np.inf:
        return total
    beta[-1] = 0.0
    for here in reversed(parts):
        if here.stop < rows:
            beta[here.stop - 1] = log_sum_exp(log_trans + log_like[here.stop] + beta[here.stop], axis=1)
        chain.log_behind(log_trans, log_like[here], beta[here])
    for here in _pieces((rows - 1, n), 1 << 18):
        after = slice(here.start + 1, here.stop + 1)
        onward = (log_like[after] + beta[after] - total)[:, None, :]
        counts += np.exp(alpha[here][:, :, None] + log_trans + onward).sum(axis=0)
    for here in parts:
        beta[here] = np.exp(alpha[here] + beta[here] - total)
    return total


def _ahead(start: Array, turned: Array, like: Array, alpha: Array, unit: Array) -> float:
    """Forward table of one chain, and its log weight."""
    chain_scaled.first(start, like, alpha, unit, 0)
    for here in _pieces(like.shape, WORK):
        chain_scaled.ahead(turned, like, alpha, unit, max(here.start, 1), here.stop)
    return float(chain_scaled.weight(alpha, unit))


def _behind(trans: Array, like: Array, alpha: Array, unit: Array, posterior: Array) -> bool:
    """Posteriors of one chain, with `onward` in place of `like`; False where scaling fails."""
    chain_scaled.last(like, alpha, unit, posterior, len(like))
    good = True
    for here in reversed(_pieces(like.shape, WORK)):
        begin = max(here.start, 1)
        good = chain_scaled.behind(trans, like, alpha, unit, posterior, begin, here.stop) and good
    return good


def _short(like: Array) -> bool:
    """Whether one call of a kernel can do it all."""
    return like.size * like.shape[1] <= WORK


def _pieces(shape: tuple[int, ...], work: int, begin: int = 0) -> list[slice]:
    rows, n = shape
    stride = max(1, work // (n * n))
    return [slice(begin + a, begin + min(a + stride, rows)) for a in range(0, rows, stride)]

"""What chains of labels come to: best paths and probabilities, whether all steps share one table or not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import kernel
from tercet.sequence._chain.log_space import decode, log_smooth
from tercet.sequence._chain.scaled import smooth
from tercet.sequence.crf._engine.transitions import StepsAt, decode_at, log_smooth_at, smooth_at

Steps = np.ndarray | StepsAt  # one table (from, to), or one for each kind of token


class Marginals(NamedTuple):
    """What chains come to: log Z of each, the probabilities of all labels of all tokens, and the expected number of
    steps from label to label in each chain times the chain's weight, added up (for each kind of step)."""

    log_z: np.ndarray
    node: np.ndarray
    edge: np.ndarray


def chain_marginals(
    scores: np.ndarray,
    borders: np.ndarray,
    steps: Steps,
    weight: np.ndarray | None = None,
    node: np.ndarray | None = None,
) -> Marginals:
    """Forward and backward over the chains that lie between the borders; `node` may be a table for the answer.

    Where a path falls behind the others by more than a double can tell, the chain is done again by logarithms.
    """
    if isinstance(steps, StepsAt):
        return _marginals_at(scores, borders, steps, weight, node)
    n, N = scores.shape
    like, top, ceiling = np.empty((n, N)), np.empty(n), float(steps.max())
    lower(scores, like, top)
    ceiling = 0.0 if ceiling == -np.inf else ceiling
    np.exp(like, out=like)
    trans = np.exp(steps - ceiling)
    node = np.empty((n, N)) if node is None else node
    alpha, scale, log_z = np.empty((n, N)), np.empty(n), np.empty(borders.size - 1)
    smooth(borders, np.ones(N), trans, trans.T.copy(), like, alpha, node, scale, log_z)
    lost = np.flatnonzero(~np.isfinite(log_z))
    log_z += np.add.reduceat(top, borders[:-1]) + (np.diff(borders) - 1) * ceiling
    if weight is not None:
        like *= np.repeat(weight, np.diff(borders))[:, None]
    edge = (alpha[:-1].T @ like[1:]) * trans
    for s in lost:
        a, b = borders[s : s + 2]
        counts = np.zeros((N, N))
        log_z[s] = log_smooth(np.zeros(N), steps, scores[a:b], alpha[a:b], node[a:b], counts)
        edge += counts if weight is None else weight[s] * counts
    return Marginals(log_z, node, edge)


def _marginals_at(
    scores: np.ndarray,
    borders: np.ndarray,
    steps: StepsAt,
    weight: np.ndarray | None,
    node: np.ndarray | None,
) -> Marginals:
    """The same where steps have tables of their own."""
    tables, kind = steps
    n, N = scores.shape
    like, top, ceiling = np.empty((n, N)), np.empty(n), tables.max(axis=(1, 2))
    lower(scores, like, top)
    ceiling[ceiling == -np.inf] = 0.0
    np.exp(like, out=like)
    trans = np.exp(tables - ceiling[:, None, None])
    node = np.empty((n, N)) if node is None else node
    weight = np.ones(borders.size - 1) if weight is None else weight
    alpha, unit, log_z = np.empty((n, N)), np.empty(n), np.empty(borders.size - 1)
    edge = np.zeros(trans.shape)
    smooth_at(borders, kind, trans, like, weight, alpha, node, unit, log_z, edge)
    edge *= trans
    lost = np.flatnonzero(~np.isfinite(log_z))
    taken = ceiling[kind]
    taken[borders[:-1]] = 0.0  # no step leads there
    log_z += np.add.reduceat(top + taken, borders[:-1])
    for s in lost:
        a, b = borders[s : s + 2]
        log_z[s] = log_smooth_at(kind[a:b], tables, scores[a:b], weight[s], alpha[a:b], node[a:b], edge)
    return Marginals(log_z, node, edge)


def best_paths(scores: np.ndarray, borders: np.ndarray, steps: Steps) -> tuple[np.ndarray, np.ndarray]:
    """The heaviest path of each chain, one after another, and its score; -inf where there is none."""
    n, N = scores.shape
    path, values = np.empty(n, dtype=np.int64), np.empty(borders.size - 1)
    delta = np.empty((int(np.diff(borders).max()), N))
    if isinstance(steps, StepsAt):
        decode_at(borders, steps.kind, steps.tables, scores, delta, path, values)
    else:
        decode(borders, np.zeros(N), steps, scores, delta, path, values)
    return path, values


def among(steps: Steps, rows: np.ndarray) -> Steps:
    """The steps to some of the tokens."""
    return steps.of(rows) if isinstance(steps, StepsAt) else steps


def between(steps: Steps) -> np.ndarray:
    """The steps of one chain, as `k_best` takes them."""
    return steps.tables[steps.kind[1:]] if isinstance(steps, StepsAt) else steps


@kernel
def lower(scores, like, top):
    """Each row less its largest number, and these; 0 where all are minus infinity."""
    for t in range(len(scores)):
        row, out, most = scores[t], like[t], -np.inf
        for j in range(row.size):
            most = max(most, row[j])
        if most == -np.inf:
            most = 0.0
        top[t] = most
        for j in range(row.size):
            out[j] = row[j] - most


__all__ = ["Marginals", "Steps", "among", "best_paths", "between", "chain_marginals"]

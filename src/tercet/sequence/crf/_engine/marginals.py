"""Viterbi paths and marginals of many label chains, whose tokens share one table of transition scores or not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import kernel
from tercet.sequence._chain.log_space import decode, log_smooth
from tercet.sequence._chain.scaled import smooth
from tercet.sequence.crf._engine.recursions import decode_at, log_smooth_at, smooth_at
from tercet.sequence.crf._engine.transition_tables import TransitionScores, TransitionTables


class Marginals(NamedTuple):
    """Normalisers and marginal probabilities of label chains.

    Attributes
    ----------
    log_z : array of shape (n_chains,)
        log Z(x).
    node : array of shape (n_tokens, n_labels)
        P(Y_t = y | x).
    edge : array
        Expected transitions (from, to): P(Y_{t-1} = a, Y_t = b | x), of each token or added up over those that
        share a table of scores, as the function that computes them says.
    """

    log_z: np.ndarray
    node: np.ndarray
    edge: np.ndarray


def chain_marginals(
    scores: np.ndarray,
    borders: np.ndarray,
    transitions: TransitionScores,
    weight: np.ndarray | None = None,
    node: np.ndarray | None = None,
) -> Marginals:
    """Marginals by scaled forward-backward recursions; in log space for the chains where scaling underflows.

    Parameters
    ----------
    scores : array of shape (n_tokens, n_labels)
        Observation scores of all chains, one chain after another.
    borders : array of int of shape (n_chains + 1,)
        Chain s has the rows from borders[s] to borders[s + 1].
    transitions : array of shape (n_labels, n_labels), or TransitionTables
    weight : array of shape (n_chains,), optional
        Factors of the chains in `edge`.
    node : array of shape (n_tokens, n_labels), optional
        Where to write the node marginals.

    Returns
    -------
    Marginals
        With `edge` summed over all chains: of shape (n_labels, n_labels), or like the tables.
    """
    if isinstance(transitions, TransitionTables):
        return _marginals_at(scores, borders, transitions, weight, node)
    n, N = scores.shape
    like, top, ceiling = np.empty((n, N)), np.empty(n), float(transitions.max())
    subtract_maximum(scores, like, top)
    ceiling = 0.0 if ceiling == -np.inf else ceiling
    np.exp(like, out=like)
    trans = np.exp(transitions - ceiling)
    node = np.empty((n, N)) if node is None else node
    alpha, scale, log_z = np.empty((n, N)), np.empty(n), np.empty(borders.size - 1)
    smooth(borders, np.ones(N), trans, trans.T.copy(), like, alpha, node, scale, log_z)
    underflown = np.flatnonzero(~np.isfinite(log_z)) if add_subtracted(borders, top, ceiling, log_z) else ()
    if weight is not None:
        like *= np.repeat(weight, np.diff(borders))[:, None]
    edge = (alpha[:-1].T @ like[1:]) * trans
    for s in underflown:
        a, b = borders[s : s + 2]
        counts = np.zeros((N, N))
        log_z[s] = log_smooth(np.zeros(N), transitions, scores[a:b], alpha[a:b], node[a:b], counts)
        edge += counts if weight is None else weight[s] * counts
    return Marginals(log_z, node, edge)


def _marginals_at(
    scores: np.ndarray,
    borders: np.ndarray,
    transitions: TransitionTables,
    weight: np.ndarray | None,
    node: np.ndarray | None,
) -> Marginals:
    """`chain_marginals` where tokens have different tables of transition scores."""
    tables, of_token = transitions
    n, N = scores.shape
    like, top, ceiling = np.empty((n, N)), np.empty(n), tables.max(axis=(1, 2))
    subtract_maximum(scores, like, top)
    ceiling[ceiling == -np.inf] = 0.0
    np.exp(like, out=like)
    trans = np.exp(tables - ceiling[:, None, None])
    node = np.empty((n, N)) if node is None else node
    weight = np.ones(borders.size - 1) if weight is None else weight
    alpha, unit, log_z = np.empty((n, N)), np.empty(n), np.empty(borders.size - 1)
    edge = np.zeros(trans.shape)
    smooth_at(borders, of_token, trans, like, weight, alpha, node, unit, log_z, edge)
    edge *= trans
    underflown = np.flatnonzero(~np.isfinite(log_z))
    subtracted = ceiling[of_token]
    subtracted[borders[:-1]] = 0.0  # no transition leads to a first token
    log_z += np.add.reduceat(top + subtracted, borders[:-1])
    for s in underflown:
        a, b = borders[s : s + 2]
        log_z[s] = log_smooth_at(of_token[a:b], tables, scores[a:b], weight[s], alpha[a:b], node[a:b], edge)
    return Marginals(log_z, node, edge)


def best_paths(
    scores: np.ndarray, borders: np.ndarray, transitions: TransitionScores
) -> tuple[np.ndarray, np.ndarray]:
    """The Viterbi paths of all chains, one after another, and their scores; -inf where a chain has no path."""
    n, N = scores.shape
    path, values = np.empty(n, dtype=np.int64), np.empty(borders.size - 1)
    delta = np.empty((int(np.diff(borders).max()), N))
    if isinstance(transitions, TransitionTables):
        decode_at(borders, transitions.of_token, transitions.tables, scores, delta, path, values)
    else:
        decode(borders, np.zeros(N), transitions, scores, delta, path, values)
    return path, values


@kernel
def add_subtracted(borders, top, ceiling, log_z):
    """Add to the log Z of each chain what was subtracted from its scores; whether some are not finite."""
    lost = False
    for s in range(log_z.size):
        lost = lost or not abs(log_z[s]) < np.inf
        subtracted = (borders[s + 1] - borders[s] - 1) * ceiling
        for t in range(borders[s], borders[s + 1]):
            subtracted += top[t]
        log_z[s] += subtracted
    return lost


@kernel
def subtract_maximum(scores, like, top):
    """Each row of scores less its maximum, and the maxima; 0 for a row that is all minus infinity."""
    for t in range(len(scores)):
        row, out, most = scores[t], like[t], -np.inf
        for j in range(row.size):
            most = max(most, row[j])
        if most == -np.inf:
            most = 0.0
        top[t] = most
        for j in range(row.size):
            out[j] = row[j] - most


__all__ = ["Marginals", "best_paths", "chain_marginals"]

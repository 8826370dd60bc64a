"""Forward-backward and Viterbi algorithms of a linear-chain CRF in plain form (条件随机场的前向-后向算法).

A chain of n positions and N labels is given by the logarithms of its matrices M_1 ... M_{n+1}, an array of shape
(n + 1, N, N) with -inf for 0: of M_1 only the row `start` matters, of M_{n+1} only the column `stop`. `CRF`
computes the same for many sequences at once, with scaled numbers, and is tested against these functions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.functions import log_sum_exp


class ViterbiTables(NamedTuple):
    """The best path and the tables that led to it.

    Attributes
    ----------
    path : list of labels
    score : float
        Its log weight, without log Z.
    delta : array of shape (n, N)
        δ_i(l), the score of the best path that ends in label l at position i.
    psi : array of shape (n, N)
        Ψ_i(l), the index of the label before it; -1 in the first row.
    """

    path: list
    score: float
    delta: np.ndarray
    psi: np.ndarray


def crf_matrices(observations: Any, transitions: Any) -> np.ndarray:
    """log M_i(a, b) = transitions[a, b] + observations[i, b], the matrix form of a chain (11.21-11.23).

    Parameters
    ----------
    observations : array of shape (n, N)
        The score of each label at each position: w·(state features).
    transitions : array of shape (N, N) or (n - 1, N, N)
        The score of each pair of neighbouring labels, at all positions or from each to the next.

    Returns
    -------
    log_matrices : array of shape (n + 1, N, N)
        With label 0 as start and stop; the transition to stop has the score 0.

    Examples
    --------
    >>> crf_matrices([[1.0, 2.0], [3.0, 4.0]], [[0.1, 0.2], [0.3, 0.4]])[1]
    array([[3.1, 4.2],
           [3.3, 4.4]])
    """
    observations = np.asarray(observations, dtype=float)
    n, N = observations.shape
    log_matrices = np.full((n + 1, N, N), -np.inf)
    log_matrices[0, 0], log_matrices[n, :, 0] = observations[0], 0.0
    log_matrices[1:n] = np.asarray(transitions) + observations[1:, None, :]
    return log_matrices


def crf_forward(log_matrices: Any, start: int = 0) -> np.ndarray:
    """The forward algorithm: log α_0 ... log α_{n+1}, α_i = α_{i-1} M_i (11.26-11.28).

    Parameters
    ----------
    log_matrices : array of shape (n + 1, N, N)
        log M_1 ... log M_{n+1}.
    start : int, default=0
        The index of the label that stands for y_0.

    Returns
    -------
    log_alpha : array of shape (n + 2, N)
        log α_{n+1}(stop) is log Z(x).

    Examples
    --------
    >>> M = np.log([[[2, 3], [1, 1]], [[5, 7], [11, 13]], [[1, 1], [1, 1]]])
    >>> np.exp(crf_forward(M)).round(6)
    array([[ 1.,  0.],
           [ 2.,  3.],
           [43., 53.],
           [96., 96.]])
    """
    log_matrices = np.asarray(log_matrices)
    rows = [_log_indicator(start, log_matrices.shape[1])]
    for M in log_matrices:
        rows.append(log_sum_exp(rows[-1][:, None] + M, axis=0))
    return np.array(rows)


def crf_backward(log_matrices: Any, stop: int = 0) -> np.ndarray:
    """The backward algorithm: log β_0 ... log β_{n+1}, β_i = M_{i+1} β_{i+1} (11.29-11.31).

    Parameters
    ----------
    log_matrices : array of shape (n + 1, N, N)
        log M_1 ... log M_{n+1}.
    stop : int, default=0
        The index of the label that stands for y_{n+1}.

    Returns
    -------
    log_beta : array of shape (n + 2, N)
        log β_0(start) is log Z(x).

    Examples
    --------
    >>> M = np.log([[[2, 3], [1, 1]], [[5, 7], [11, 13]], [[1, 1], [1, 1]]])
    >>> np.exp(crf_backward(M)).round(6)
    array([[96., 36.],
           [12., 24.],
           [ 1.,  1.],
           [ 1.,  0.]])
    """
    log_matrices = np.asarray(log_matrices)
    rows = [_log_indicator(stop, log_matrices.shape[1])]
    for M in log_matrices[::-1]:
        rows.append(log_sum_exp(M + rows[-1], axis=1))
    return np.array(rows[::-1])


def crf_marginals(log_matrices: Any, start: int = 0, stop: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """P(Y_i = b | x) = α_i(b) β_i(b) / Z and P(Y_{i-1} = a, Y_i = b | x) = α_{i-1}(a) M_i(a, b) β_i(b) / Z
    (11.32, 11.33).

    Parameters
    ----------
    log_matrices : array of shape (n + 1, N, N)
        log M_1 ... log M_{n+1}.
    start, stop : int, default=0
        The indices of the labels that stand for y_0 and y_{n+1}.

    Returns
    -------
    node : array of shape (n, N)
        For i = 1 ... n.
    edge : array of shape (n + 1, N, N)
        For i = 1 ... n + 1; the first and the last are the transitions from start and to stop.

    Examples
    --------
    >>> M = np.log([[[2, 3], [1, 1]], [[5, 7], [11, 13]], [[1, 1], [1, 1]]])
    >>> node, edge = crf_marginals(M)
    >>> node
    array([[0.25      , 0.75      ],
           [0.44791667, 0.55208333]])
    """
    alpha, beta = crf_forward(log_matrices, start), crf_backward(log_matrices, stop)
    log_z = positive_log_z(alpha[-1, stop])
    node = np.exp(alpha + beta - log_z)[1:-1]
    return node, np.exp(alpha[:-1, :, None] + np.asarray(log_matrices) + beta[1:, None, :] - log_z)


def crf_viterbi(log_matrices: Any, start: int = 0, stop: int = 0) -> ViterbiTables:
    """The Viterbi algorithm (Alg 11.3): δ_i(l) = max over j of δ_{i-1}(j) + log M_i(j, l), Ψ_i(l) the best j.

    Parameters
    ----------
    log_matrices : array of shape (n + 1, N, N)
        log M_1 ... log M_{n+1}.
    start, stop : int, default=0
        The indices of the labels that stand for y_0 and y_{n+1}.

    Returns
    -------
    ViterbiTables
        With `path`, `score`, `delta` and `psi`; of equal paths the one with the smallest labels from the end.

    Examples
    --------
    >>> M = np.log([[[2, 3], [1, 1]], [[5, 7], [11, 13]], [[1, 1], [1, 1]]])
    >>> crf_viterbi(M).path
    [1, 1]
    """
    log_matrices = np.asarray(log_matrices)
    delta, psi = [log_matrices[0, start]], [np.full(log_matrices.shape[1], -1)]
    for M in log_matrices[1:-1]:  # (2) recursion
        through = delta[-1][:, None] + M
        psi.append(through.argmax(axis=0))
        delta.append(through.max(axis=0))
    last = delta[-1] + log_matrices[-1, :, stop]
    positive_log_z(last.max())
    path = [int(last.argmax())]  # (3) termination
    for back in psi[:0:-1]:  # (4) the way back
        path.append(int(back[path[-1]]))
    return ViterbiTables(path[::-1], float(last.max()), np.array(delta), np.array(psi))


def crf_log_likelihood(observations: Any, transitions: Any, y: Any) -> tuple[float, np.ndarray, np.ndarray]:
    """log P(y|x) of a linear chain, and its gradient with respect to the scores: observed less expected counts.

    With scores that are linear in w, as in `CRF`, the chain rule makes this the gradient (11.51): the features
    counted along y, less their expectations under P(Y|x).

    Parameters
    ----------
    observations : array of shape (n, N)
        The score of each label at each position.
    transitions : array of shape (N, N)
        The score of each pair of neighbouring labels.
    y : list of n integers
        The labels.

    Returns
    -------
    value : float
        log P(y|x) = sum of the scores along y - log Z(x).
    node : array of shape (n, N)
        [y_i = b] - P(Y_i = b | x).
    edge : array of shape (N, N)
        The sum over positions of [y_{i-1} = a, y_i = b] - P(Y_{i-1} = a, Y_i = b | x).

    Examples
    --------
    >>> value, node, edge = crf_log_likelihood(np.log([[2, 3], [1, 1]]), np.log([[5, 7], [11, 13]]), [1, 1])
    >>> round(float(np.exp(value)), 6), node[0]
    (0.40625, array([-0.25,  0.25]))
    """
    observations, transitions, y = np.asarray(observations), np.asarray(transitions), np.asarray(y)
    log_matrices = crf_matrices(observations, transitions)
    node, edge = crf_marginals(log_matrices)
    score = observations[np.arange(y.size), y].sum() + transitions[y[:-1], y[1:]].sum()
    value = float(score - crf_forward(log_matrices)[-1, 0])
    node, edge = -node, -edge[1:-1].sum(axis=0)
    node[np.arange(y.size), y] += 1
    np.add.at(edge, (y[:-1], y[1:]), 1)
    return value, node, edge


def positive_log_z(log_z: Any) -> float:
    """log Z, or an error where Z is 0."""
    if log_z == -np.inf:
        raise ValueError("No sequence of labels has a positive weight: each holds a transition of weight 0.")
    return float(log_z)


def _log_indicator(index: int, size: int) -> np.ndarray:
    """log of the indicator vector of one label."""
    row = np.full(size, -np.inf)
    row[index] = 0.0
    return row


__all__ = [
    "ViterbiTables",
    "crf_backward",
    "crf_forward",
    "crf_log_likelihood",
    "crf_marginals",
    "crf_matrices",
    "crf_viterbi",
    "positive_log_z",
]

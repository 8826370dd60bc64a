"""Finite Markov chains: communicating classes, periods, stationary distributions, hitting times.

Everything here takes a matrix A with a_ij = P(next is j | now is i): rows sum to one. All of it rests on one
elimination of states that never subtracts (Grassmann, Taksar and Heyman): each answer is accurate in every entry,
however rarely the chain leaves a state.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, connected_components

KINDS = ("ergodic", "left-right", "bakis", "cycle")
LEAST_PROBABILITY = 1e-290  # a smaller one counts as zero: its inverse may overflow


def topology(kind: Any, n: int) -> np.ndarray:
    """Which transitions a chain of n states may make.

    Parameters
    ----------
    kind : {"ergodic", "left-right", "bakis", "cycle"} or boolean matrix
        All; none back to an earlier state; to stay, to the next or to skip one; to stay or to the next, and from
        the last to the first. A matrix is checked: every state must be able to go somewhere.
    n : int
        The number of states.

    Returns
    -------
    array of bool of shape (n, n)

    Examples
    --------
    >>> topology("bakis", 4).astype(int)
    array([[1, 1, 1, 0],
           [0, 1, 1, 1],
           [0, 0, 1, 1],
           [0, 0, 0, 1]])
    """
    ahead = np.arange(n)[None, :] - np.arange(n)[:, None]
    if isinstance(kind, str):
        if kind == "ergodic":
            return np.ones((n, n), dtype=bool)
        if kind == "left-right":
            return ahead >= 0
        if kind == "bakis":
            return (ahead >= 0) & (ahead <= 2)
        if kind == "cycle":
            return np.isin(ahead % n, (0, 1))
        raise ValueError(
            f"topology must be one of {', '.join(map(repr, KINDS))} or a matrix of booleans; got {kind!r}."
        )
    allowed = np.asarray(kind)
    if allowed.shape != (n, n) or not np.isin(allowed, (0, 1)).all():
        raise ValueError(
            f"topology must be a matrix of booleans of shape ({n}, {n}); got shape {allowed.shape}, "
            f"dtype {allowed.dtype}."
        )
    allowed = allowed.astype(bool)
    stuck = np.flatnonzero(~allowed.any(axis=1))
    if stuck.size:
        raise ValueError(f"topology lets state {stuck[0]} go nowhere: row {stuck[0]} has no True.")
    return allowed


def check_transitions(transmat: Any, name: str = "transmat") -> np.ndarray:
    """A square matrix whose rows are distributions, as floats; or an error that names the row and its sum."""
    A = np.asarray(transmat, dtype=np.float64)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not A.size:
        raise ValueError(f"{name} must be a square matrix; got shape {A.shape}.")
    check_distributions(A, name)
    return A


def check_distributions(rows: np.ndarray, name: str) -> None:
    """Refuse rows (or one row) that are not distributions."""
    table = np.atleast_2d(rows)
    for i, row in enumerate(table):
        where = f"row {i} of {name}" if np.ndim(rows) == 2 else name
        if not np.all(row >= 0):  # NaN too
            raise ValueError(f"{where} must hold probabilities; got {row[~(row >= 0)][0]}.")
        if not np.isclose(row.sum(), 1.0, rtol=0, atol=1e-6):
            raise ValueError(f"{where} must sum to 1; it sums to {row.sum():.10g}.")


def communicating_classes(transmat: Any) -> list[np.ndarray]:
    """The states in groups that can reach one another, ordered by their first state.

    Examples
    --------
    >>> [group.tolist() for group in communicating_classes([[0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]])]
    [[0], [1, 2]]
    """
    return _classes(_clean(transmat))


def closed_classes(transmat: Any) -> list[np.ndarray]:
    """The communicating classes that the chain never leaves; it ends in one of them.

    Examples
    --------
    >>> [group.tolist() for group in closed_classes([[0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]])]
    [[1, 2]]
    """
    return _closed(_clean(transmat))


def absorbing_states(transmat: Any) -> np.ndarray:
    """The states that are never left.

    Examples
    --------
    >>> absorbing_states([[0.5, 0.5], [0, 1]])
    array([1])
    """
    return np.array([group[0] for group in closed_classes(transmat) if group.size == 1], dtype=np.int64)


def is_irreducible(transmat: Any) -> bool:
    """Whether every state can reach every other.

    Examples
    --------
    >>> is_irreducible([[0, 1], [1, 0]]), is_irreducible([[1, 0], [0.5, 0.5]])
    (True, False)
    """
    return len(communicating_classes(transmat)) == 1


def periods(transmat: Any) -> np.ndarray:
    """The period of each state: the greatest common divisor of the times at which it can be back; 0 for never.

    Examples
    --------
    >>> periods([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    array([3, 3, 3])
    """
    A = _clean(transmat)
    found = np.zeros(len(A), dtype=np.int64)
    for group in _classes(A):
        inside = A[np.ix_(group, group)] > 0
        order, before = breadth_first_order(inside, 0)
        depth = np.zeros(group.size, dtype=np.int64)
        for state in order[1:]:
            depth[state] = depth[before[state]] + 1
        i, j = np.nonzero(inside)
        found[group] = np.gcd.reduce(depth[i] + 1 - depth[j]) if i.size else 0
    return np.abs(found)


def stationary_distributions(transmat: Any) -> np.ndarray:
    """The stationary distribution of each closed class; every other is a mixture of these.

    Returns
    -------
    array of shape (n_closed_classes, n_states)

    Examples
    --------
    >>> stationary_distributions([[1, 0, 0], [0.25, 0.5, 0.25], [0, 0, 1]])
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    A = _clean(transmat)
    groups = _closed(A)
    pi = np.zeros((len(groups), len(A)))
    for row, group in zip(pi, groups):
        row[group] = _stationary(A[np.ix_(group, group)])
    return pi


def stationary_distribution(transmat: Any, start: Any = None) -> np.ndarray:
    """The share of time that the chain spends in each state in the long run: pi A = pi.

    Parameters
    ----------
    transmat : array of shape (n_states, n_states)
        The transition probabilities.
    start : array of shape (n_states,), optional
        The distribution of the first state. It matters only where the chain has several closed classes; by
        default all states are as likely.

    Examples
    --------
    >>> stationary_distribution([[0.9, 0.1], [0.5, 0.5]]).round(4)
    array([0.8333, 0.1667])
    """
    A = _clean(transmat)
    pi = stationary_distributions(A)
    if len(pi) == 1:
        return pi[0]
    return _start(start, len(A)) @ absorption_probabilities(A) @ pi


def absorption_probabilities(transmat: Any) -> np.ndarray:
    """The probability to end in each closed class, from each state.

    Returns
    -------
    array of shape (n_states, n_closed_classes)

    Examples
    --------
    A gambler with one, two or three coins of four:

    >>> A = [[1, 0, 0, 0, 0], [0.5, 0, 0.5, 0, 0], [0, 0.5, 0, 0.5, 0], [0, 0, 0.5, 0, 0.5], [0, 0, 0, 0, 1]]
    >>> absorption_probabilities(A)[1:4, 1]
    array([0.25, 0.5 , 0.75])
    """
    A = _clean(transmat)
    groups = _closed(A)
    ends = np.zeros((len(A), len(groups)))
    for k, group in enumerate(groups):
        ends[group, k] = 1.0
    return _eliminate(A, np.concatenate(groups), ends)


def hitting_times(transmat: Any, targets: Any) -> np.ndarray:
    """The expected number of steps until the chain is in one of the target states.

    Returns
    -------
    array of shape (n_states,)
        Zero for a target; infinite where the chain may never get to one.

    Examples
    --------
    >>> hitting_times([[0.75, 0.25], [0, 1]], [1])
    array([4., 0.])
    """
    A = _clean(transmat)
    targets = np.unique(np.atleast_1d(targets))
    if not targets.size or targets.min() < 0 or targets.max() >= len(A):
        raise ValueError(f"targets must be states from 0 to {len(A) - 1}; got {targets.tolist()}.")
    A[targets] = 0.0
    A[targets, targets] = 1.0
    elsewhere = [group for group in _closed(A) if not np.isin(group, targets).all()]
    lost = np.zeros(len(A), dtype=bool)
    if elsewhere:
        lost[_reaching(A, np.concatenate(elsewhere))] = True
    times = np.where(lost, np.inf, 0.0)
    sure = np.flatnonzero(~lost)
    inside = A[np.ix_(sure, sure)]
    kept = np.flatnonzero(np.isin(sure, targets))
    times[sure] = _eliminate(inside, kept, np.zeros((sure.size, 1)), 1.0)[:, 0]
    return times


def expected_stay(transmat: Any) -> np.ndarray:
    """How many steps the chain stays in a state once it is there: 1 / (1 - a_ii); infinite in an absorbing one.

    Examples
    --------
    >>> expected_stay([[0.75, 0.25], [0, 1]])
    array([ 4., inf])
    """
    A = _clean(transmat)
    leaving = A.sum(axis=1, where=~np.eye(len(A), dtype=bool))  # 1 - a_ii would cancel digits
    with np.errstate(divide="ignore"):
        return 1.0 / leaving


def after_steps(transmat: Any, n: int, start: Any = None) -> np.ndarray:
    """The distribution of the state n steps after `start`; without a start, the matrix A^n.

    Examples
    --------
    >>> after_steps([[0.5, 0.5], [0.25, 0.75]], 2, start=[1, 0])
    array([0.375, 0.625])
    """
    A = check_transitions(transmat)
    power = np.linalg.matrix_power(A, n)
    return power if start is None else _start(start, len(A)) @ power


def entropy_rate(transmat: Any, start: Any = None, base: float | None = None) -> float:
    """The uncertainty of each next state in the long run: -sum of pi_i a_ij log a_ij.

    Parameters
    ----------
    transmat : array of shape (n_states, n_states)
        The transition probabilities.
    start : array of shape (n_states,), optional
        As for `stationary_distribution`.
    base : float, optional
        The base of the logarithm, e by default.

    Examples
    --------
    >>> entropy_rate([[0.5, 0.5], [0.5, 0.5]], base=2)
    1.0
    """
    A = check_transitions(transmat)
    logs = np.log(A, out=np.zeros_like(A), where=A > 0)
    rate = -float(stationary_distribution(A, start) @ (A * logs).sum(axis=1))
    return rate if base is None else rate / float(np.log(base))


def sample_path(start: np.ndarray, trans: np.ndarray, u: np.ndarray) -> np.ndarray:
    """States (T,) of a chain, drawn by the numbers u (T,) in [0, 1) from the cumulative probabilities."""
    first, lines = np.cumsum(start).tolist(), np.cumsum(trans, axis=1).tolist()
    states, line = np.empty(u.size, dtype=np.int64), first
    for t, uniform in enumerate(u.tolist()):
        # Sums that round to less than one must not lead beyond the last possible state.
        state = min(bisect_right(line, uniform * line[-1]), bisect_left(line, line[-1]))
        states[t], line = state, lines[state]
    return states


def _clean(transmat: Any) -> np.ndarray:
    """A copy to work in, without probabilities too small to divide by."""
    A = check_transitions(transmat)
    return np.where(A < LEAST_PROBABILITY, 0.0, A)


def _start(start: Any, n: int) -> np.ndarray:
    if start is None:
        return np.full(n, 1.0 / n)
    start = np.asarray(start, dtype=np.float64)
    if start.shape != (n,):
        raise ValueError(f"start must have a probability for each of {n} states; got shape {start.shape}.")
    check_distributions(start, "start")
    return start


def _classes(A: np.ndarray) -> list[np.ndarray]:
    count, labels = connected_components(A > 0, connection="strong")
    return sorted((np.flatnonzero(labels == k) for k in range(count)), key=lambda group: group[0])


def _closed(A: np.ndarray) -> list[np.ndarray]:
    return [g for g in _classes(A) if not A[np.ix_(g, np.setdiff1d(np.arange(len(A)), g))].any()]


def _reaching(A: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The states from which a target can be reached, the targets among them."""
    n = len(A)
    edges = np.zeros((n + 1, n + 1), dtype=bool)  # backwards, from one source before all targets
    edges[:n, :n] = (A > 0).T
    edges[n, targets] = True
    found = breadth_first_order(edges, n, return_predecessors=False)
    return np.sort(found[found < n])


def _stationary(A: np.ndarray) -> np.ndarray:
    """Of an irreducible chain: take out the last state again and again, each time sharing its way among the others;
    then put them back, each with the mass that flows to it."""
    A = A.copy()
    n = len(A)
    leaving = np.ones(n)
    for k in range(n - 1, 0, -1):
        leaving[k] = A[k, :k].sum()
        A[k, :k] /= leaving[k]
        A[:k, :k] += np.outer(A[:k, k], A[k, :k])
    pi = np.zeros(n)
    pi[0] = 1.0
    for k in range(1, n):
        pi[k] = pi[:k] @ A[:k, k] / leaving[k]
        pi[: k + 1] /= pi[: k + 1].sum()  # at once: the masses may lie hundreds of powers of ten apart
    return pi


def _eliminate(A: np.ndarray, kept: np.ndarray, values: np.ndarray, cost: float = 0.0) -> np.ndarray:
    """The expected value where the chain first meets a kept state, with `cost` for every step until then."""
    order = np.concatenate([np.sort(kept), np.setdiff1d(np.arange(len(A)), kept)])
    A, values = A[np.ix_(order, order)], values[order]
    costs = np.full(len(A), cost)
    for k in range(len(A) - 1, kept.size - 1, -1):
        leaving = A[k, :k].sum()
        A[k, :k] /= leaving
        costs[k] /= leaving
        A[:k, :k] += np.outer(A[:k, k], A[k, :k])
        costs[:k] += A[:k, k] * costs[k]
    for k in range(kept.size, len(A)):
        values[k] = costs[k] + A[k, :k] @ values[:k]
    found = np.empty_like(values)
    found[order] = values
    return found


__all__ = [
    "absorbing_states",
    "absorption_probabilities",
    "after_steps",
    "closed_classes",
    "communicating_classes",
    "entropy_rate",
    "expected_stay",
    "hitting_times",
    "is_irreducible",
    "periods",
    "stationary_distribution",
    "stationary_distributions",
    "topology",
]

"""States of a finite Markov chain: communicating classes, recurrence, periods (不可约性、常返性与周期性).

Everything here takes a matrix A with a_ij = P(next is j | now is i): rows sum to one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from tercet.distributions.probability_tables import check_transitions

LEAST_PROBABILITY = 1e-290  # a smaller one counts as zero: its inverse may overflow


def communicating_classes(transmat: Any) -> list[np.ndarray]:
    """The states in groups that can reach one another, ordered by their first state.

    Examples
    --------
    >>> [group.tolist() for group in communicating_classes([[0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]])]
    [[0], [1, 2]]
    """
    return strong_components(clean_matrix(transmat))


def closed_classes(transmat: Any) -> list[np.ndarray]:
    """The communicating classes that the chain never leaves; it ends in one of them.

    Examples
    --------
    >>> [group.tolist() for group in closed_classes([[0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]])]
    [[1, 2]]
    """
    return closed_groups(clean_matrix(transmat))


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
    A = clean_matrix(transmat)
    found = np.zeros(len(A), dtype=np.int64)
    for group in strong_components(A):
        inside = A[np.ix_(group, group)] > 0
        order, before = breadth_first_order(inside, 0)
        depth = np.zeros(group.size, dtype=np.int64)
        for state in order[1:]:
            depth[state] = depth[before[state]] + 1
        i, j = np.nonzero(inside)
        found[group] = np.gcd.reduce(depth[i] + 1 - depth[j]) if i.size else 0
    return np.abs(found)


def is_aperiodic(transmat: Any) -> bool:
    """Whether every state that the chain can be back in has the period 1.

    Examples
    --------
    >>> is_aperiodic([[0.5, 0.5], [1, 0]]), is_aperiodic([[0, 1], [1, 0]])
    (True, False)
    """
    return bool((periods(transmat) <= 1).all())


def recurrent_states(transmat: Any) -> np.ndarray:
    """The states that the chain comes back to for sure: those of the closed classes.

    In a finite chain each of them is positive recurrent, its expected return time is finite; null recurrent states
    need infinitely many.

    Examples
    --------
    >>> recurrent_states([[0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]])
    array([1, 2])
    """
    return np.sort(np.concatenate(closed_classes(transmat)))


def transient_states(transmat: Any) -> np.ndarray:
    """The states that the chain leaves for good, sooner or later.

    Examples
    --------
    >>> transient_states([[0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]])
    array([0])
    """
    return np.setdiff1d(np.arange(len(np.asarray(transmat))), recurrent_states(transmat))


def clean_matrix(transmat: Any) -> np.ndarray:
    """A copy to work in, without probabilities too small to divide by."""
    A = check_transitions(transmat)
    return np.where(A < LEAST_PROBABILITY, 0.0, A)


def strong_components(A: np.ndarray) -> list[np.ndarray]:
    count, labels = connected_components(A > 0, connection="strong")
    return sorted((np.flatnonzero(labels == k) for k in range(count)), key=lambda group: group[0])


def closed_groups(A: np.ndarray) -> list[np.ndarray]:
    return [g for g in strong_components(A) if not A[np.ix_(g, np.setdiff1d(np.arange(len(A)), g))].any()]


def row_form(transition: Any, convention: str) -> np.ndarray:
    """The matrix with a row for each state, or an error that says which convention it has."""
    P = np.asarray(transition.toarray() if issparse(transition) else transition, dtype=float)
    other = "column" if convention == "row" else "row"
    try:
        return check_transitions(P if convention == "row" else P.T, "transition").copy()
    except ValueError as error:
        text = str(error) if convention == "row" else str(error).replace("row ", "column ", 1)
        square = P.ndim == 2 and P.shape[0] == P.shape[1] and P.size > 0
        if square and (P >= 0).all() and np.allclose(P.sum(axis=0 if convention == "row" else 1), 1.0):
            text += f" Its {other}s do: give convention={other!r}."
        raise ValueError(text) from None

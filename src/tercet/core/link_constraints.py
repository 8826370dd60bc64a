"""Must-link and cannot-link constraints (必连与勿连约束): pairs of rows that belong together, or apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

SHOWN = 3  # contradictions that an error names


def check_links(links: Any, n: int, name: str, parameter: str) -> np.ndarray:
    """Pairs of row numbers, as an array of shape (n_pairs, 2); nothing for None.

    Examples
    --------
    >>> check_links([(0, 3), (1, 2)], 4, "COPKMeans", "must_link")
    array([[0, 3],
           [1, 2]])
    """
    if links is None:
        return np.zeros((0, 2), dtype=np.intp)
    try:
        pairs = np.asarray(links)
    except (TypeError, ValueError):  # of unequal lengths
        pairs = np.zeros(0)
    if (
        pairs.size == 0
        and pairs.ndim <= 2
        and isinstance(links, list | tuple | np.ndarray)
        and not len(links)
    ):
        return np.zeros((0, 2), dtype=np.intp)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: {parameter} must be pairs of row numbers, as in [(0, 3), (1, 2)]; got {_shown(links)}."
        )
    wrong = ((pairs < 0) | (pairs >= n)).any(axis=1)
    if wrong.any():
        raise ValueError(
            f"{name}: {parameter} holds {_pair(pairs[wrong][0])}; row numbers are from 0 to {n - 1}."
        )
    return pairs.astype(np.intp)


def row_count(X: Any) -> int | None:
    """How many rows a caller has given, before they are checked; None for what has no length."""
    try:
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)
    except (IndexError, TypeError):
        return None


def refuse_held_out(n: int, given: int | None, name: str) -> None:
    """An error where a callback has taken rows away, so that numbers of rows would name others."""
    if given is not None and n != given:
        raise ValueError(
            f"{name}: a callback holds out rows of X, and must_link and cannot_link would name others. "
            "Fit without it."
        )


def refuse_contradictions(must: np.ndarray, cannot: np.ndarray, name: str) -> None:
    """An error that names the pairs which are both must-link and cannot-link, and rows that are apart from
    themselves.

    Examples
    --------
    >>> refuse_contradictions(np.array([[0, 1]]), np.array([[1, 0]]), "MMC")
    Traceback (most recent call last):
    ValueError: MMC: the constraints contradict each other: rows 0 and 1 are both must-link and cannot-link.
    """
    alone = cannot[cannot[:, 0] == cannot[:, 1]]
    if len(alone):
        raise ValueError(
            f"{name}: the constraints contradict each other: cannot_link holds {_pair(alone[0])}, and a row is not "
            "apart from itself."
        )
    together = {tuple(pair) for pair in np.sort(must, axis=1).tolist()}
    apart = dict.fromkeys(tuple(pair) for pair in np.sort(cannot, axis=1).tolist())
    both = [pair for pair in apart if pair in together]
    if both:
        words = ", ".join(f"rows {i} and {j}" for i, j in both[:SHOWN])
        more = f", and {len(both) - SHOWN} more," if len(both) > SHOWN else ""
        raise ValueError(
            f"{name}: the constraints contradict each other: {words}{more} are both must-link and cannot-link."
        )


def link_groups(must: np.ndarray, cannot: np.ndarray, n: int, name: str) -> tuple[np.ndarray, Any]:
    """The transitive closure of the must-links, and the cannot-links between its groups.

    Returns
    -------
    group : array of shape (n,)
        The number of the group of each row; groups are numbered by their first rows.
    apart : CSR matrix of shape (n_groups, n_groups)
        Symmetric; its entries are the pairs of groups that a cannot-link keeps apart.

    Raises
    ------
    ValueError
        Where must-links join rows that a cannot-link keeps apart; the chain is named.

    Examples
    --------
    >>> group, apart = link_groups(np.array([[0, 2], [2, 3]]), np.array([[3, 1]]), 4, "COPKMeans")
    >>> group, apart.toarray().astype(int)
    (array([0, 1, 0, 0]), array([[0, 1],
           [1, 0]]))
    """
    graph = sparse.csr_array((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(n, n))
    found = csgraph.connected_components(graph, directed=False)[1]
    _, first, place = np.unique(found, return_index=True, return_inverse=True)
    group = np.argsort(np.argsort(first))[place]
    ends = group[cannot]
    wrong = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if wrong.size:
        i, j = cannot[wrong[0]].tolist()
        raise ValueError(
            f"{name}: the constraints contradict each other: cannot_link keeps rows {i} and {j} apart, and "
            "must_link "
            f"joins them{_chain(graph, i, j)}."
        )
    m = first.size
    both = np.concatenate([ends, ends[:, ::-1]])
    apart = sparse.csr_array((np.ones(len(both), dtype=np.int8), (both[:, 0], both[:, 1])), shape=(m, m))
    apart.sum_duplicates()
    return group, apart


def _chain(graph: Any, i: int, j: int) -> str:
    """The shortest chain of must-links from row i to row j, in words; nothing for a row and itself."""
    if i == j:
        return " as one row"
    before = csgraph.breadth_first_order(graph, i, directed=False)[1]
    rows = [j]
    while rows[-1] != i:
        rows.append(int(before[rows[-1]]))
    return f" ({' - '.join(map(str, reversed(rows)))})"


def _pair(pair: np.ndarray) -> str:
    return f"({int(pair[0])}, {int(pair[1])})"


def _shown(links: Any) -> str:
    words = repr(links)
    return words if len(words) <= 60 else f"{words[:57]}..."

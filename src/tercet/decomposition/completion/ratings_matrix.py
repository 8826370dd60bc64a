"""Ratings as a sparse matrix (评分矩阵), from triples of user, item and rating."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse


class Ratings(NamedTuple):
    """A matrix of ratings, and whose its rows and columns are."""

    matrix: Any  # CSR of shape (n_users, n_items)
    users: np.ndarray
    items: np.ndarray


def ratings_matrix(
    users: Any,
    items: Any,
    ratings: Any = None,
    *,
    duplicates: Literal["error", "mean", "sum", "last"] = "error",
) -> Ratings:
    """A sparse matrix of ratings from a long table, one row for each rating.

    Parameters
    ----------
    users, items : arrays of shape (n_ratings,)
        Names or numbers, of any type that can be sorted.
    ratings : array of shape (n_ratings,), optional
        The ratings; by default 1 for each, as for clicks.
    duplicates : {"error", "mean", "sum", "last"}, default="error"
        What several ratings of one item by one user come to.

    Returns
    -------
    matrix : CSR matrix of shape (n_users, n_items)
        Its stored entries are the ratings.
    users, items : arrays
        Names of the rows and of the columns, in order.

    Examples
    --------
    >>> found = ratings_matrix(["ann", "bob", "ann"], ["x", "x", "y"], [5, 3, 1])
    >>> found.matrix.toarray(), found.users.tolist()
    (array([[5., 1.],
           [3., 0.]]), ['ann', 'bob'])
    """
    users, i = np.unique(np.asarray(users), return_inverse=True)
    items, j = np.unique(np.asarray(items), return_inverse=True)
    values = np.ones(len(i)) if ratings is None else np.asarray(ratings)
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if not len(i) == len(j) == len(values) or values.ndim != 1:
        raise ValueError(
            f"ratings_matrix: users, items and ratings must be of one length; got {len(i)}, {len(j)} and "
            f"{len(values)}."
        )
    if not np.isfinite(values).all():
        raise ValueError(
            f"ratings_matrix: ratings[{int(np.argmin(np.isfinite(values)))}] is not a finite number."
        )
    if duplicates not in ("error", "mean", "sum", "last"):
        raise ValueError(
            f"ratings_matrix: duplicates must be 'error', 'mean', 'sum' or 'last'; got {duplicates!r}."
        )
    cells = i.astype(np.int64) * len(items) + j
    order = np.argsort(cells, kind="stable")
    first = np.flatnonzero(np.diff(cells[order], prepend=-1))
    if len(first) < len(cells) and duplicates == "error":
        cell = int(cells[order][np.flatnonzero(np.diff(cells[order]) == 0)[0]])
        raise ValueError(
            f"ratings_matrix: user {users[cell // len(items)]} has rated item {items[cell % len(items)]} "
            "several times; duplicates='mean', 'sum' or 'last' says what that comes to."
        )
    counts = np.diff(first, append=len(cells))
    if duplicates == "last":
        kept = values[order][first + counts - 1]
    else:
        kept = np.add.reduceat(values[order], first) if len(first) else values
        kept = kept / counts.astype(kept.dtype) if duplicates == "mean" else kept
    cells = cells[order][first]
    ends = np.searchsorted(cells, np.arange(len(users) + 1) * len(items))
    matrix = sparse.csr_array((kept, cells % max(len(items), 1), ends), shape=(len(users), len(items)))
    return Ratings(matrix, users, items)

"""Distances inside and between clusters, a block of rows at a time: no n x n array."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.parallel import each

BLOCK = 256  # rows of one task


def mean_diameter(X: Any, labels: np.ndarray, n_jobs: Any = None) -> float:
    """The mean over the clusters of the largest Euclidean distance of two rows in each; -1 is noise."""
    members = members_by_label(labels)
    widths = []
    for mine in members:
        part = _centred(X[mine])
        squares = _squares(part)
        starts = range(0, mine.size, BLOCK)
        found = each(_widest, starts, part, squares, n_jobs=n_jobs) if mine.size > 1 else [0.0]
        widths.append(float(np.sqrt(max(found))))
    return float(np.mean(widths)) if widths else 0.0


def members_by_label(labels: np.ndarray) -> list[np.ndarray]:
    """The rows of each cluster, in the order of the labels; -1 is noise and left out."""
    order = np.argsort(labels, kind="stable")
    cuts = np.flatnonzero(labels[order][1:] != labels[order][:-1]) + 1
    return [part for part in np.split(order, cuts) if part.size and labels[part[0]] != -1]


def _centred(X: Any) -> Any:
    """Centre dense rows to avoid cancellation."""
    if sparse.issparse(X):
        return X.astype(np.float64)
    return X - X.mean(axis=0, dtype=np.float64)


def _squares(X: Any) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).reshape(-1)
    return np.einsum("ij,ij->i", X, X)


def _block(start: int, X: Any, squares: np.ndarray, others: Any, other_squares: np.ndarray) -> np.ndarray:
    """Squared distances of a block of rows from others."""
    here = slice(start, start + BLOCK)
    products = X[here] @ others.T
    products = products.toarray() if sparse.issparse(products) else products
    sizes = squares[here, None] + other_squares
    found = sizes - 2 * products
    found[found < (X.shape[1] + 8) * 1e-15 * sizes] = 0.0  # equal rows, but for rounding
    return found


def _widest(start: int, X: Any, squares: np.ndarray) -> float:
    return float(_block(start, X, squares, X[start:], squares[start:]).max())

"""The entries of a matrix that are known: stored ones of a sparse matrix, all but NaN of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.validation import check_structure


def observed_entries(X: Any) -> Any:
    """A CSR matrix whose stored entries, zeros among them, are the known ones.

    Examples
    --------
    >>> observed_entries(np.array([[1.0, np.nan], [0.0, 2.0]])).data
    array([1., 0., 2.])
    """
    if not sparse.issparse(X):
        known = ~np.isnan(X)
        ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        return sparse.csr_array((X[known], np.nonzero(known)[1], ends), shape=X.shape)
    missing = np.isnan(X.data)
    if not missing.any():
        return X
    ends = np.concatenate([[0], np.cumsum(~missing)])[X.indptr]
    return sparse.csr_array((X.data[~missing], X.indices[~missing], ends), shape=X.shape)


def refuse_duplicates(X: Any, name: str) -> None:
    """An error where a sparse matrix has two entries for one cell: their sum would be no rating."""
    if not sparse.issparse(X) or X.format not in ("coo", "csr", "csc"):
        return
    check_structure(X)
    if X.format != "coo" and X.has_canonical_format:
        return
    table = X.tocoo()
    if table.ndim != 2 or not table.nnz:
        return
    cells = table.coords[0].astype(np.int64) * table.shape[1] + table.coords[1]
    cells.sort()
    twice = np.flatnonzero(cells[1:] == cells[:-1])
    if twice.size:
        i, j = divmod(int(cells[twice[0]]), table.shape[1])
        raise ValueError(
            f"{name}: X has several entries for row {i}, column {j} ({twice.size} repeated in all); each cell may "
            "be stored once. Combine them first, by ratings_matrix(..., duplicates='mean') for example."
        )


def transposed(X: Any) -> Any:
    """X' of a CSR matrix, as CSR."""
    return sparse.csr_array(X.T.tocsr())

"""Slices of rows, and rows put together: dense arrays and CSR matrices alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse


def row_slice(array: Any, start: int, stop: int) -> Any:
    """Rows from start to stop as a view; all of them are the array itself, and None stays None."""
    if array is None or (start == 0 and stop == array.shape[0]):
        return array
    if sparse.issparse(array):  # views on the same memory; scipy's own slicing copies
        here = slice(array.indptr[start], array.indptr[stop])
        part = sparse.csr_array((stop - start, array.shape[1]), dtype=array.dtype)
        # set by hand: the constructor would look through all indices once more
        part.data, part.indices = array.data[here], array.indices[here]
        part.indptr = array.indptr[start : stop + 1] - array.indptr[start]
        return part
    return array[start:stop]


def join_rows(parts: Sequence[Any]) -> Any:
    """Arrays or CSR matrices one below the other; a single one is not copied, and None stays None.

    Examples
    --------
    >>> join_rows([np.array([1, 2]), np.array([3])])
    array([1, 2, 3])
    """
    if len(parts) == 1 or parts[0] is None:
        return parts[0]
    if not sparse.issparse(parts[0]):
        return np.concatenate(parts)
    shape = (sum(part.shape[0] for part in parts), parts[0].shape[1])
    joined = sparse.csr_array(shape, dtype=parts[0].dtype)
    before = np.cumsum([0, *(part.indptr[-1] for part in parts)])
    joined.data = np.concatenate([part.data for part in parts])
    joined.indices = np.concatenate([part.indices for part in parts])
    joined.indptr = np.concatenate(
        [parts[0].indptr[:1], *(part.indptr[1:] + start for part, start in zip(parts, before))]
    ).astype(parts[0].indptr.dtype)
    return joined

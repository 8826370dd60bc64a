"""Counts as the passes of PLSA take them."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def split_words(
    counts: sparse.csr_array, fraction: float, rng: np.random.Generator
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Counts in two parts, of which the second has each word with the given probability (where a count is no whole
    number, all of it)."""
    whole = (counts.data == np.floor(counts.data)) & (counts.data < 2.0**53)
    drawn = np.where(
        whole,
        rng.binomial(np.where(whole, counts.data, 0).astype(np.int64), fraction),
        counts.data * (rng.random(counts.nnz) < fraction),
    )
    parts = []
    for data in (counts.data - drawn, drawn):
        part = sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape, copy=True)
        part.eliminate_zeros()
        parts.append(part)
    if not parts[0].nnz or not parts[1].nnz:
        raise ValueError(
            f"PLSA: validation_fraction={fraction!r} of {counts.data.sum():g} words leaves none to "
            f"{'learn from' if not parts[0].nnz else 'hold out'}."
        )
    return parts[0], parts[1]


def in_safe_unit(X: sparse.csr_array, weight: np.ndarray | None = None) -> tuple[sparse.csr_array, float]:
    """Counts, times the weights of their documents, in a unit in which sums and quotients are numbers; and it."""
    data = weighted_data(X, weight)
    exponent = safe_exponent(float(data.max(initial=0.0)))
    return in_unit(X, data, exponent), float(np.exp2(exponent))


def weighted_data(X: sparse.csr_array, weight: np.ndarray | None) -> np.ndarray:
    """Counts times the weights of their documents."""
    data = X.data.astype(np.float64)
    if weight is not None:
        data *= np.repeat(weight.astype(np.float64), np.diff(X.indptr))
    return data


def safe_exponent(most: float) -> int:
    """The power of two by which counts up to `most` are divided, 0 as a rule."""
    return 0 if most == 0 or 1e-100 < most < 1e100 else int(np.frexp(most)[1])


def in_unit(X: sparse.csr_array, data: np.ndarray, exponent: int) -> sparse.csr_array:
    """A matrix with the places of X, and with data divided by a power of two; without stored zeros."""
    scaled = sparse.csr_array((np.ldexp(data, -exponent), X.indices, X.indptr), shape=X.shape)
    if not scaled.data.all():
        scaled = scaled.copy()  # the indices are the caller's
        scaled.eliminate_zeros()
    return scaled

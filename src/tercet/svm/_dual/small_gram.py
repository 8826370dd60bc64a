"""Gram matrices of few rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import kernel
from tercet.kernels import Gaussian, Kernel

Array = np.ndarray
DIRECT = 4_000_000  # multiplications up to which distances are computed from differences


def small_gram(K: Kernel, X: Any, n_jobs: int | None = None) -> Array:
    """The Gram matrix of few rows in float64."""
    single = getattr(X, "dtype", None) == np.float32
    if type(K) is Gaussian and isinstance(X, np.ndarray) and X.size * len(X) <= DIRECT and K.rate > 0:
        out = np.empty((len(X), len(X)))
        gaussian_exponents(np.require(X, np.float64, ["C", "W"]), K.rate, out)
        return np.exp(out, out=out)
    X = X.astype(np.float64) if single else X
    return K.gram(X, X, n_jobs=n_jobs).astype(np.float64, copy=False)


@kernel
def gaussian_exponents(X, rate, out):
    """-rate |x - z|² of all pairs of rows."""
    for i in range(X.shape[0]):
        x = X[i]
        out[i, i] = 0.0
        for k in range(i):
            z = X[k]
            total = 0.0
            for j in range(x.size):
                total += (x[j] - z[j]) * (x[j] - z[j])
            out[i, k] = -rate * total
            out[k, i] = -rate * total


@kernel
def submatrix(gram, index):
    """Rows and columns of a matrix."""
    out = np.empty((index.size, index.size))
    for i in range(index.size):
        row = gram[index[i]]
        for k in range(index.size):
            out[i, k] = row[index[k]]
    return out

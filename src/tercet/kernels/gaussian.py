"""The Gaussian kernel."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from tercet.core import rows as core
from tercet.core.catalog import method
from tercet.core.kernel import kernel
from tercet.core.parameters import NonNegative, Positive, check_parameters
from tercet.kernels._engine.prepared_rows import PreparedRows, common_float, scaled_rows
from tercet.kernels.base import Kernel, numeric_gamma, resolve_gamma

FEW = 1 << 14  # pairs of rows whose kernel is computed from their differences, one by one
SHORT = 1 << 20  # differences, for that
MERGED = 1 << 16  # entries of several sparse rows, for that: beyond, products of whole matrices are faster
FAR = 1e6  # half a squared norm, in widths of the kernel, from which cancellation could lose K(x, x) = 1


@method(
    zh="高斯核",
    task="kernel",
    model="K(x, z) = exp(-|x - z|^2 / (2 sigma^2)) = exp(-gamma |x - z|^2) = exp(-|x - z|^2 / width^2)",
    texts=[
        "Li ch. 7, eq. 7.90",
        "Machine Learning in Depth ch. 4, 4.7.2",
        "watermelon notes ch. 4, Table 6.1",
        "Pattern Recognition ch. 5, eq. 5-54",
    ],
    peers=["sklearn.metrics.pairwise.rbf_kernel"],
)
class Gaussian(Kernel):
    """Gaussian (radial basis) kernel: near points are alike, far ones are not.

    Its one parameter is given in one of three ways; where none is given, gamma is "scale".

    Parameters
    ----------
    sigma : float, optional
        The standard deviation: gamma = 1 / (2 sigma^2).
    gamma : float, "scale" or "auto", optional
        Factor of the squared distance; "scale" is 1 / (columns * variance of X), "auto" is 1 / columns.
    width : float, optional
        The width without the 2: gamma = 1 / width^2.

    Examples
    --------
    >>> from tercet.kernels import Gaussian
    >>> Gaussian(sigma=2.0)([[1, 2]], [[3, -1]]).round(8)
    array([[0.19691168]])
    """

    def __init__(
        self,
        sigma: Positive | None = None,
        gamma: NonNegative | Literal["scale", "auto"] | None = None,
        width: Positive | None = None,
    ) -> None:
        self.sigma = sigma
        self.gamma = gamma
        self.width = width

    def resolve(self, X: Any, sample_weight: np.ndarray | None = None) -> Self:
        check_parameters(self)
        named = {"sigma": self.sigma, "gamma": self.gamma, "width": self.width}
        given = {name: value for name, value in named.items() if value is not None}
        if len(given) > 1:
            raise ValueError(f"Gaussian takes one of sigma, gamma and width; got {given}.")
        if given and not isinstance(self.gamma, str):
            return self
        return type(self)(gamma=resolve_gamma(self.gamma or "scale", X, sample_weight))

    @property
    def rate(self) -> float:
        """gamma in K(x, z) = exp(-gamma |x - z|^2)."""
        if self.sigma is not None:
            return 0.5 / float(self.sigma) / float(self.sigma)  # its square may be too large or small
        if self.width is not None:
            return 1.0 / float(self.width) / float(self.width)
        return numeric_gamma(self.gamma)

    def prepare(self, X: Any, Z: Any) -> tuple[PreparedRows, PreparedRows]:
        return scaled_rows(X, Z, math.sqrt(2 * self.rate))

    def tile(self, left: PreparedRows, right: PreparedRows) -> np.ndarray:
        values = left.exponents(right)
        if left.norms.max(initial=0.0) + right.norms.max(initial=0.0) > FAR:
            left.refine(right, values)
        return np.exp(values, out=values)

    def times(self, X: Any, Z: Any, coef: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        if not 0 < X.shape[0] * Z.shape[0] <= FEW or X.shape[1] != Z.shape[1]:
            return super().times(X, Z, coef, n_jobs=n_jobs)
        out = np.zeros((X.shape[0], coef.size // coef.shape[0]))
        weights = np.require(coef, np.float64, ["C", "W"]).reshape(coef.shape[0], -1)
        if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray) and X.size * Z.shape[0] <= SHORT:
            rows, points = (np.require(part, np.float64, ["C", "W"]) for part in (X, Z))
            expand_few(rows, points, weights, self.rate, out)
        elif are_few_entries(X, Z):
            left, right = (core.rows(part.astype(np.float64, copy=False)) for part in (X, Z))
            expand_few_sparse(left, right, weights, self.rate, out)
        else:
            return super().times(X, Z, coef, n_jobs=n_jobs)
        return out.reshape(X.shape[0], *coef.shape[1:]).astype(common_float(X, Z, coef), copy=False)

    def _diag(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0], dtype=X.dtype)


def are_few_entries(X: Any, Z: Any) -> bool:
    """Whether both are CSR with sorted indices, and one is a single row or all pairs of rows have few entries."""
    for part in (X, Z):
        if not sparse.issparse(part) or part.format != "csr" or not part.has_sorted_indices:
            return False
    entries = X.nnz * Z.shape[0] + Z.nnz * X.shape[0]
    return entries <= (SHORT if X.shape[0] == 1 else MERGED)


@kernel
def expand_few(X, Z, coef, rate, out):
    """out += exp(-rate |x - z|²) coef, from the differences of rows: for few pairs."""
    for i in range(X.shape[0]):
        x, sums = X[i], out[i]
        for k in range(Z.shape[0]):
            z, own = Z[k], coef[k]
            total = 0.0
            for j in range(x.size):
                total += (x[j] - z[j]) * (x[j] - z[j])
            value = np.exp(-rate * total) if rate > 0.0 else 1.0
            for c in range(sums.size):
                sums[c] += value * own[c]


@kernel
def expand_few_sparse(X, Z, coef, rate, out):
    """`expand_few` of sparse rows: the entries of both rows are merged by their columns."""
    for i in range(out.shape[0]):
        sums = out[i]
        x = X.data[X.indptr[i] : X.indptr[i + 1]]
        at = X.indices[X.indptr[i] : X.indptr[i + 1]]
        for k in range(coef.shape[0]):
            z = Z.data[Z.indptr[k] : Z.indptr[k + 1]]
            there = Z.indices[Z.indptr[k] : Z.indptr[k + 1]]
            total, a, b = 0.0, 0, 0
            while a < x.size and b < z.size:
                left, right, difference = at[a], there[b], 0.0
                if left <= right:
                    difference += x[a]
                    a += 1
                if right <= left:
                    difference -= z[b]
                    b += 1
                total += difference * difference
            for s in range(a, x.size):
                total += x[s] * x[s]
            for s in range(b, z.size):
                total += z[s] * z[s]
            value = np.exp(-rate * total) if rate > 0.0 else 1.0
            own = coef[k]
            for c in range(sums.size):
                sums[c] += value * own[c]

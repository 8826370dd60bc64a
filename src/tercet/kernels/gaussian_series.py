"""The Gaussian kernel as the sum of infinitely many polynomial kernels, cut off."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.parameters import Count, Positive
from tercet.kernels._engine.prepared_rows import PreparedRows, common_float, squared_norms
from tercet.kernels.base import Kernel
from tercet.kernels.monomials import monomials


@method(
    zh="高斯核的截断级数",
    task="kernel",
    model="K(x, z) = exp(-gamma |x|^2) exp(-gamma |z|^2) sum over n < terms of (2 gamma x·z)^n / n!",
    texts=["Machine Learning in Depth ch. 4, 4.7.2"],
)
class GaussianSeries(Kernel):
    """Truncated power series of the Gaussian kernel, with finitely many features.

    Parameters
    ----------
    terms : int, default=10
        How many terms are kept: monomials of degrees 0 to terms - 1.
    gamma : float, default=1
        Factor of the squared distance.

    Examples
    --------
    >>> from tercet.kernels import Gaussian, GaussianSeries
    >>> x, z = [[0.5, 0.2]], [[0.1, 0.4]]
    >>> GaussianSeries(terms=4)(x, z).round(6), Gaussian(gamma=1.0)(x, z).round(6)
    (array([[0.818604]]), array([[0.818731]]))
    """

    def __init__(self, terms: Count = 10, gamma: Positive = 1.0) -> None:
        self.terms = terms
        self.gamma = gamma

    def prepare(self, X: Any, Z: Any) -> tuple[PreparedRows, PreparedRows]:
        left = self._scaled(X, common_float(X, Z))
        return left, left if Z is X else self._scaled(Z, common_float(X, Z))

    def _scaled(self, X: Any, dtype: Any) -> PreparedRows:
        """Rows times sqrt(2 gamma), with half their squared norms."""
        X = X.astype(dtype) * dtype(math.sqrt(2 * self.gamma))
        return PreparedRows(X, squared_norms(X) / 2)

    def tile(self, left: PreparedRows, right: PreparedRows) -> np.ndarray:
        shrink = np.exp(-np.add.outer(left.norms, right.norms))
        with np.errstate(over="ignore", invalid="ignore"):
            products = left.products(right)
        return np.multiply(self._sum(products, shrink), shrink, out=shrink)

    def _diag(self, X: Any) -> np.ndarray:
        own = 2 * self.gamma * squared_norms(X)
        shrink = np.exp(-own)
        return self._sum(own, shrink) * shrink

    def _sum(self, products: np.ndarray, shrink: np.ndarray) -> np.ndarray:
        """The partial sum Σ_n p^n / n! of inner products p."""
        products[shrink == 0] = 0.0  # what nothing is left of must not overflow before
        total = np.ones_like(products)
        for n in range(self.terms - 1, 0, -1):  # Horner: 1 + p (1 + p / 2 (1 + p / 3 ...))
            total *= products
            total /= n
            total += 1
        return total

    def features(self, X: Any) -> np.ndarray:
        """The monomials of all degrees below `terms`, scaled."""
        X = self.resolve(X).check(X)
        X = math.sqrt(2 * self.gamma) * (X.toarray() if sparse.issparse(X) else X)
        shrink = np.exp(-squared_norms(X) / 2)[:, None]
        maps = [monomials(X, n) / math.sqrt(math.factorial(n)) for n in range(1, self.terms)]
        return np.hstack([np.ones((X.shape[0], 1), dtype=X.dtype), *maps]) * shrink

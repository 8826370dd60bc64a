"""The polynomial kernel."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.parameters import NonNegative, Real, check_parameters
from tercet.kernels._engine.prepared_rows import power_in_place, squared_norms
from tercet.kernels.base import Kernel, resolve_gamma
from tercet.kernels.monomials import monomials


@method(
    zh="多项式核",
    task="kernel",
    model="K(x, z) = (gamma x·z + coef0)^degree",
    texts=["Li ch. 7, eq. 7.88", "watermelon notes ch. 4, Table 6.1", "Pattern Recognition ch. 5, eq. 5-53"],
    peers=["sklearn.metrics.pairwise.polynomial_kernel"],
)
class Polynomial(Kernel):
    """Polynomial kernel: a power of the inner product plus a constant.

    Parameters
    ----------
    degree : float, default=3
        The power.
    gamma : float, "scale" or "auto", default=1
        Factor of the inner product; "scale" is 1 / (columns * variance of X), "auto" is 1 / columns.
    coef0 : float, default=1
        The constant.

    Examples
    --------
    >>> from tercet.kernels import Polynomial
    >>> Polynomial(degree=2)([[1, 2]], [[3, -1]])
    array([[4.]])
    """

    def __init__(
        self,
        degree: NonNegative = 3,
        gamma: NonNegative | Literal["scale", "auto"] = 1.0,
        coef0: Real = 1.0,
    ) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def resolve(self, X: Any, sample_weight: np.ndarray | None = None) -> Self:
        check_parameters(self)
        if not isinstance(self.gamma, str):
            return self
        return type(self)(self.degree, resolve_gamma(self.gamma, X, sample_weight), self.coef0)

    def tile(self, left: Any, right: Any) -> np.ndarray:
        return self._apply(left.finite_products(right))

    def _diag(self, X: Any) -> np.ndarray:
        return self._apply(squared_norms(X))

    def _apply(self, products: np.ndarray) -> np.ndarray:
        """(gamma p + coef0)^degree of inner products, in place."""
        if self.gamma != 1:
            products *= products.dtype.type(self.gamma)
        if self.coef0:
            products += products.dtype.type(self.coef0)
        return power_in_place(products, self.degree)

    def features(self, X: Any) -> np.ndarray:
        """The monomials up to the degree, with the weights that make their inner product the kernel."""
        X = self.check(X)
        kernel = self.resolve(X)
        if kernel.degree != int(kernel.degree) or kernel.coef0 < 0:
            self._no_feature_map(
                f"degree={kernel.degree} must be whole and coef0={kernel.coef0} not negative"
            )
        if not kernel.degree:
            return np.ones((X.shape[0], 1), dtype=X.dtype)
        X = math.sqrt(float(kernel.gamma)) * (X.toarray() if sparse.issparse(X) else X)
        if kernel.coef0:
            X = np.column_stack([np.full(X.shape[0], math.sqrt(kernel.coef0), dtype=X.dtype), X])
        return monomials(X, int(kernel.degree))

"""Polynomial kernels."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.parameters import Count, NonNegative, Real, check_parameters
from tercet.kernels.base import Kernel, gamma_of, power
from tercet.kernels.monomials import monomials, ordered
from tercet.kernels.rows import squares


@method(
    zh="多项式核",
    task="kernel",
    model="K(x, z) = (gamma x·z + coef0)^degree",
    texts=["000 ch. 7, eq. 7.88", "002 ch. 4, Table 6.1", "003 ch. 5, eq. 5-53"],
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
        return type(self)(self.degree, gamma_of(self.gamma, X, sample_weight), self.coef0)

    def tile(self, left: Any, right: Any) -> np.ndarray:
        return self._of(left.products(right))

    def _diag(self, X: Any) -> np.ndarray:
        return self._of(squares(X))

    def _of(self, products: np.ndarray) -> np.ndarray:
        if self.gamma != 1:
            products *= products.dtype.type(self.gamma)
        if self.coef0:
            products += products.dtype.type(self.coef0)
        return power(products, self.degree)

    def features(self, X: Any) -> np.ndarray:
        """The monomials up to the degree, with the weights that make their inner product the kernel."""
        X = self.check(X)
        kernel = self.resolve(X)
        if kernel.degree != int(kernel.degree) or kernel.coef0 < 0:
            self._no_map(f"degree={kernel.degree} must be whole and coef0={kernel.coef0} not negative")
        if not kernel.degree:
            return np.ones((X.shape[0], 1), dtype=X.dtype)
        X = math.sqrt(float(kernel.gamma)) * (X.toarray() if sparse.issparse(X) else X)
        if kernel.coef0:
            X = np.column_stack([np.full(X.shape[0], math.sqrt(kernel.coef0), dtype=X.dtype), X])
        return monomials(X, int(kernel.degree))


@method(
    zh="齐次多项式核（内积幂核）",
    task="kernel",
    model="K(x, z) = (x·z)^degree",
    texts=["000 ch. 7, Ex 7.3", "000 ch. 7, exercise 7.4", "001 ch. 4, 4.7.2", "002 ch. 4, Table 6.1"],
    peers=["sklearn.metrics.pairwise.polynomial_kernel"],
)
class Homogeneous(Kernel):
    """Power of the inner product; its features are the monomials of one degree.

    Parameters
    ----------
    degree : int, default=2
        The power.
    map : {"monomials", "ordered", "turned"}, default="monomials"
        Which of its feature maps `features` gives: each monomial once, with the root of its count; all products of
        `degree` coordinates in order; or (two coordinates, degree 2) the first one turned in its plane.

    Examples
    --------
    >>> from tercet.kernels import Homogeneous
    >>> kernel = Homogeneous(degree=2)
    >>> kernel([[1, 2]], [[3, 4]])
    array([[121.]])
    >>> kernel.features([[1, 2]]).round(6)
    array([[1.      , 2.828427, 4.      ]])
    """

    def __init__(
        self, degree: Count = 2, map: Literal["monomials", "ordered", "turned"] = "monomials"
    ) -> None:
        self.degree = degree
        self.map = map

    def tile(self, left: Any, right: Any) -> np.ndarray:
        return power(left.products(right), self.degree)

    def _diag(self, X: Any) -> np.ndarray:
        return power(squares(X), self.degree)

    def features(self, X: Any) -> np.ndarray:
        """The monomials of the degree, in the form that `map` says."""
        X = self.resolve(X).check(X)
        X = X.toarray() if sparse.issparse(X) else X
        if self.map == "monomials":
            return monomials(X, self.degree)
        if self.map == "ordered":
            return ordered(X, self.degree)
        if self.degree != 2 or X.shape[1] != 2:
            self._no_map(f'map="turned" is for degree 2 and two columns, not {self.degree} and {X.shape[1]}')
        a, b = X[:, 0], X[:, 1]
        return np.column_stack([a**2 - b**2, 2 * a * b, a**2 + b**2]) / np.sqrt(X.dtype.type(2))

"""The homogeneous polynomial kernel."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.parameters import Count
from tercet.kernels._engine.prepared_rows import power_in_place, squared_norms
from tercet.kernels.base import Kernel
from tercet.kernels.monomials import monomials, ordered_products


@method(
    zh="齐次多项式核（内积幂核）",
    task="kernel",
    model="K(x, z) = (x·z)^degree",
    texts=[
        "Li ch. 7, Ex 7.3",
        "Li ch. 7, exercise 7.4",
        "Machine Learning in Depth ch. 4, 4.7.2",
        "watermelon notes ch. 4, Table 6.1",
    ],
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
        return power_in_place(left.finite_products(right), self.degree)

    def _diag(self, X: Any) -> np.ndarray:
        return power_in_place(squared_norms(X), self.degree)

    def features(self, X: Any) -> np.ndarray:
        """The monomials of the degree, in the form that `map` says."""
        X = self.resolve(X).check(X)
        X = X.toarray() if sparse.issparse(X) else X
        if self.map == "monomials":
            return monomials(X, self.degree)
        if self.map == "ordered":
            return ordered_products(X, self.degree)
        if self.degree != 2 or X.shape[1] != 2:
            self._no_feature_map(
                f'map="turned" is for degree 2 and two columns, not {self.degree} and {X.shape[1]}'
            )
        a, b = X[:, 0], X[:, 1]
        return np.column_stack([a**2 - b**2, 2 * a * b, a**2 + b**2]) / np.sqrt(X.dtype.type(2))

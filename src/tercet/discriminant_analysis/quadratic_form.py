"""The general quadratic discriminant function (二次判别函数的一般形式)."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from tercet.core.catalog import method


@method(
    zh="二次判别函数的一般形式",
    task="classification",
    model="g(x) = xᵀWx + wᵀx + w₀, d(d+3)/2 + 1 parameters",
    strategy="any of a linear model's, on the products of the features",
    texts=["Pattern Recognition ch. 5, sec. 5.3, eq. 5-9"],
)
class QuadraticForm(NamedTuple):
    """The general quadratic discriminant: W symmetric, w and w₀; call it to evaluate it.

    It is linear in its parameters, so any linear method learns it from the products of the features
    (scikit-learn's `PolynomialFeatures(2, include_bias=False)`), and `from_linear` puts such coefficients in
    this form.

    Examples
    --------
    >>> circle = QuadraticForm.from_linear([0, 0, 1, 0, 1], -4)
    >>> circle([[0, 0], [2, 0], [3, 0]])
    array([-4.,  0.,  5.])
    >>> circle.n_parameters
    6
    """

    W: np.ndarray
    w: np.ndarray
    w0: float

    @classmethod
    def from_linear(cls, coef: Any, intercept: float) -> Self:
        """From coefficients of x₁ .. x_d, then x₁², x₁x₂ .. x_d² (row by row of the upper triangle)."""
        coef = np.ravel(np.asarray(coef, dtype=np.float64))
        d = round((np.sqrt(9 + 8 * coef.size) - 3) / 2)
        if d * (d + 3) // 2 != coef.size:
            raise ValueError(f"coef must have d(d+3)/2 entries for some d; got {coef.size}.")
        W = np.zeros((d, d))
        W[np.triu_indices(d)] = coef[d:] / 2
        return cls(W + W.T, coef[:d], float(np.squeeze(intercept)))

    @property
    def n_parameters(self) -> int:
        """d(d+3)/2 + 1."""
        d = len(self.w)
        return d * (d + 3) // 2 + 1

    def __call__(self, X: Any) -> np.ndarray:
        """The value at each row of X."""
        X = np.asarray(X)
        return ((X @ self.W) * X).sum(axis=1) + X @ self.w + self.w0

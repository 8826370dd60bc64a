"""Polynomial curve fitting (多项式函数拟合)."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.polynomial import chebyshev, polynomial
from scipy.linalg import lstsq

from tercet.core.catalog import method
from tercet.core.estimator import Regressor, check_is_fitted
from tercet.core.fitted_checks import Floats, Indices, Whole
from tercet.core.folds import checked_folds
from tercet.core.parameters import CountOrZero, NonNegative
from tercet.core.row_products import row_products
from tercet.core.validation import finite_predictions

Array = np.ndarray
MOST_TERMS = 8000  # a square matrix of this size must fit


@method(
    zh="多项式函数拟合",
    task="regression",
    model="f(x) = sum_j w_j x^j up to degree M; products of powers for several features",
    strategy="mean of (y - f(x))^2 + alpha/2 |w|^2",
    algorithms="QR and SVD in a Chebyshev basis (without penalty) or in powers",
    texts=["Li ch. 1, Ex 1.1, eq. 1.22-1.25"],
    peers=["numpy.polynomial.Polynomial.fit", "sklearn.preprocessing.PolynomialFeatures"],
)
class PolynomialRegression(Regressor):
    """Least squares with polynomials.

    Without a penalty the fit is done in Chebyshev polynomials on the range of the data, where high degrees
    are well conditioned, and predictions are made there too; `weights_` are the coefficients of the powers.

    Parameters
    ----------
    degree : int or "cv", default=3
        M, the highest total degree; "cv" takes the one with the least error in cross-validation.
    alpha : float, default=0
        lambda of Li (1.25): mean of squares + alpha/2 |w|^2.
    penalize_intercept : bool, default=True
        Whether w_0 is among the penalised weights, as in the text.
    max_degree : int, default=9
        The highest degree that "cv" tries.
    cv : int or splitter, default=5
        Folds of "cv".

    Attributes
    ----------
    weights_ : array of shape (n_terms,)
        w, the coefficient of each product of powers, w_0 first.
    powers_ : array of shape (n_terms, n_features)
        The exponents in each term.
    degree_ : int
        The degree in use.
    domain_, chebyshev_ : the range of each feature, and the coefficients in Chebyshev polynomials on it.
    cv_errors_ : array of shape (max_degree + 1,)
        Mean squared error of each degree on the left-out folds ("cv" only).

    Examples
    --------
    >>> model = PolynomialRegression(degree=2).fit([[0], [1], [2], [3]], [1, 2, 5, 10])
    >>> model.weights_.round(6) + 0.0
    array([1., 0., 1.])
    """

    sparse_input = False
    relative_weights = True

    def __init__(
        self,
        degree: CountOrZero | Literal["cv"] = 3,
        *,
        alpha: NonNegative = 0.0,
        penalize_intercept: bool = True,
        max_degree: CountOrZero = 9,
        cv: Any = 5,
    ) -> None:
        self.degree = degree
        self.alpha = alpha
        self.penalize_intercept = penalize_intercept
        self.max_degree = max_degree
        self.cv = cv

    def _fit(self, X: Array, y: Array, sample_weight: Array | None) -> None:
        X = X.astype(np.float64)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self.degree_ = self._best_degree(X, y, weight) if self.degree == "cv" else int(self.degree)
            fitted = self._polynomial(X, y, weight, self.degree_)
        if not np.isfinite(fitted.weights).all():
            raise ValueError(
                f"{type(self).__name__}: the coefficients of the powers up to {self.degree_} are beyond "
                "floating-point numbers. Scale the features, or lower the degree."
            )
        self.powers_, self.weights_ = fitted.powers, fitted.weights
        self.domain_, self.chebyshev_ = fitted.domain, fitted.chebyshev

    fitted_shapes = {
        "degree_": Whole("degree*"),
        "powers_": Indices("terms features", below="degree+1"),
        "weights_": "terms",
        "domain_": Floats("2 features", finite=True),
        "chebyshev_": "terms | None",
    }

    def _polynomial(self, X: Array, y: Array, weight: Array, degree: int) -> Polynomial:
        here = X[weight > 0] if weight.any() else X  # a row of weight 0 is none: it stretches no range
        fitted = Polynomial(np.array([here.min(axis=0), here.max(axis=0)]), degree)
        if self.alpha > 0:
            return fitted.fit_ridge(X, y, weight, self.alpha, self.penalize_intercept)
        return fitted.fit(X, y, weight)

    def _best_degree(self, X: Array, y: Array, weight: Array) -> int:
        folds = checked_folds(self, X, y, weight=weight)
        errors = np.zeros(self.max_degree + 1)
        for degree in range(self.max_degree + 1):
            for train, test in folds:
                fitted = self._polynomial(X[train], y[train], weight[train], degree)
                errors[degree] += weight[test] @ (y[test] - fitted.predict(X[test])) ** 2
        self.cv_errors_ = errors / sum(weight[test].sum() for _, test in folds)
        return int(np.argmin(self.cv_errors_))

    def predict(self, X: Any) -> Array:
        """Values of the polynomial.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        y : array of shape (n_samples,)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        fitted = Polynomial(self.domain_, self.degree_, self.powers_)
        fitted.weights, fitted.chebyshev = self.weights_, self.chebyshev_
        with np.errstate(over="ignore", invalid="ignore"):
            found = fitted.predict(X.astype(np.float64)).astype(X.dtype)
        return finite_predictions(found, type(self).__name__)


class Polynomial:
    """A polynomial of several features up to a total degree, in the Chebyshev and in the power basis."""

    def __init__(self, domain: Array, degree: int, powers: Array | None = None) -> None:
        self.domain, self.degree = domain, degree
        self.powers = exponents(domain.shape[1], degree) if powers is None else powers
        low, high = domain
        half = (high - low) / 2
        half = np.where(half > 1e-300, half, 1.0)  # features that are constant, or next to it
        self.scale, self.shift = 1.0 / half, -(low + high) / (2 * half)
        self.chebyshev: Array | None = None  # coefficients in the Chebyshev basis, where that was used
        self.weights = np.zeros(len(self.powers))

    def fit(self, X: Array, y: Array, weight: Array) -> Polynomial:
        """Least squares in Chebyshev polynomials; where the data leave a choice, the shortest coefficients."""
        root = np.sqrt(weight)
        T = self._product(chebyshev.chebvander(self.scale * X + self.shift, self.degree))
        self.chebyshev = lstsq(root[:, None] * T, root * y, cond=1e-13)[0]
        self.weights = self._to_powers(self.chebyshev)
        return self

    def fit_ridge(self, X: Array, y: Array, weight: Array, alpha: float, with_constant: bool) -> Polynomial:
        """Mean of squares + alpha/2 |w|^2, as one least squares problem."""
        root = np.sqrt(weight / weight.sum())
        extra = np.sqrt(alpha / 2) * np.eye(len(self.powers))[0 if with_constant else 1 :]
        A = np.vstack([root[:, None] * self._product(polynomial.polyvander(X, self.degree)), extra])
        self.weights = lstsq(A, np.concatenate([root * y, np.zeros(len(extra))]))[0]
        return self

    def predict(self, X: Array) -> Array:
        if self.chebyshev is not None:
            table = chebyshev.chebvander(self.scale * X + self.shift, self.degree)
            return row_products(self._product(table), self.chebyshev)
        return row_products(self._product(polynomial.polyvander(X, self.degree)), self.weights)

    def _product(self, table: Array) -> Array:
        """Polynomial of all rows, from the one-dimensional polynomials in (n, n_features, degree + 1)."""
        result = np.ones((len(table), len(self.powers)))
        for j, powers in enumerate(self.powers.T):
            result *= table[:, j, powers]
        return result

    def _to_powers(self, coefficients: Array) -> Array:
        """Chebyshev coefficients rewritten as coefficients of powers of the original features.

        A product of T_p(scale x + shift) over its few features is a sum of products of lower powers of the same.
        """
        tables = [self._one_feature(j) for j in range(len(self.scale))]
        place = {tuple(powers): k for k, powers in enumerate(self.powers.tolist())}
        weights = np.zeros(len(self.powers))
        for powers, coefficient in zip(self.powers.tolist(), coefficients):
            features = [j for j, p in enumerate(powers) if p]
            for lower in product(*(range(powers[j] + 1) for j in features)):
                term, value = [0] * len(powers), coefficient
                for j, q in zip(features, lower):
                    term[j] = q
                    value *= tables[j][q, powers[j]]
                weights[place[tuple(term)]] += value
        return weights

    def _one_feature(self, j: int) -> Array:
        """Column k holds T_k(scale_j x + shift_j) in powers of x."""
        table = np.zeros((self.degree + 1, self.degree + 1))
        table[0, 0] = 1.0
        if self.degree > 0:
            table[:2, 1] = self.shift[j], self.scale[j]
        for k in range(2, self.degree + 1):
            table[:, k] = 2 * self.shift[j] * table[:, k - 1] - table[:, k - 2]
            table[1:, k] += 2 * self.scale[j] * table[:-1, k - 1]
        return table


def exponents(n_features: int, degree: int) -> Array:
    """The exponents of all products of powers up to a total degree, by degree, the constant first."""
    count = comb(n_features + degree, degree)
    if count > MOST_TERMS:
        raise ValueError(
            f"degree={degree} with {n_features} features makes {count} terms; at most {MOST_TERMS}."
        )
    picks = [p for k in range(degree + 1) for p in combinations_with_replacement(range(n_features), k)]
    return np.array([np.bincount(pick, minlength=n_features) for pick in picks], dtype=int)

"""The base class of kernels: functions K(x, z) that are inner products of mapped points.

A kernel prepares its rows once (`prepare`) and gives blocks of the Gram matrix (`tile`); Gram matrices, kernel
expansions and compound kernels follow from these.
"""

from __future__ import annotations

import numbers
from typing import Any, NoReturn, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from tercet.core.parameters import check_parameters
from tercet.core.public_names import PublicPickle
from tercet.core.validation import check_array
from tercet.kernels._engine.prepared_rows import (
    PreparedRows,
    blocked_gram,
    blocked_products,
    common_float,
    kernel_layout,
)


class Kernel(PublicPickle, BaseEstimator):
    """A kernel function K(x, z) with its parameters.

    Kernels are added, multiplied, scaled by a number and raised to a power as the texts allow, and their
    parameters are reached as an estimator's are (`get_params`, `set_params`, `kernel__sigma` in a search).

    Examples
    --------
    >>> from tercet.kernels import Gaussian, Linear
    >>> kernel = 2.0 * Linear() + Gaussian(sigma=1.0)
    >>> kernel([[1.0, 2.0]], [[1.0, 2.0], [0.0, 0.0]]).round(6)
    array([[11.      ,  0.082085]])
    """

    takes: str = "vectors"  # what rows are: "vectors", "strings" or "gram"
    holds_gram: bool = False  # whether a Gram matrix is part of the kernel, and rows are numbers of its rows

    # To be written by a kernel ----------------------------------------------------------------------------------

    def prepare(self, X: Any, Z: Any) -> tuple[Any, Any]:
        """Both sets of rows, prepared for `tile`; slices and index arrays take parts of them."""
        dtype = common_float(X, Z)
        left = PreparedRows(kernel_layout(X, dtype))
        return left, left if Z is X else PreparedRows(kernel_layout(Z, dtype))

    def tile(self, left: Any, right: Any) -> np.ndarray:
        """The block of the Gram matrix of two sets of prepared rows, a new array."""
        raise NotImplementedError(f"{type(self).__name__} has no tile(left, right).")

    def _diag(self, X: Any) -> np.ndarray:
        """K(x, x) of checked rows."""
        raise NotImplementedError(f"{type(self).__name__} has no _diag(X).")

    def features(self, X: Any) -> Any:
        """The mapped points phi(x), whose inner products are the kernel.

        Raises
        ------
        ValueError
            When there is no such map into finitely many dimensions.
        """
        self._no_feature_map("its feature space has infinitely many dimensions")

    def resolve(self, X: Any, sample_weight: np.ndarray | None = None) -> Self:
        """Resolve data-dependent parameters (gamma="scale") on the rows X."""
        check_parameters(self)
        return self

    def check(self, X: Any) -> Any:
        """Rows as this kernel takes them: a float array or a CSR matrix, or an error that says what is wrong."""
        X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), estimator=type(self).__name__)
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X

    # Gram matrices and expansions -------------------------------------------------------------------------------

    def __call__(self, X: Any, Z: Any = None, *, n_jobs: int | None = None) -> np.ndarray:
        """The Gram matrix of rows X with rows Z, or with themselves.

        Parameters
        ----------
        X : rows of shape (n, d), or n strings
        Z : rows of shape (m, d), or m strings, optional
        n_jobs : int, optional
            Threads; the result is the same for any number.

        Returns
        -------
        array of shape (n, m)
        """
        X, Z = self._check_pair(X, Z)
        return self.resolve(Z).gram(X, Z, n_jobs=n_jobs)

    def diag(self, X: Any) -> np.ndarray:
        """K(x, x) for every row of X."""
        X = self.check(X)
        return self.resolve(X)._diag(X)

    def gram(self, X: Any, Z: Any, *, n_jobs: int | None = None) -> np.ndarray:
        """The Gram matrix of rows that `check` gave, for a kernel that `resolve` gave; Z may be X."""
        left, right = self.prepare(X, Z)
        same = Z is X and self.takes != "gram"
        out = blocked_gram(self.tile, left, right, common_float(X, Z), same=same, n_jobs=n_jobs)
        if same:  # exact on the diagonal
            out.flat[:: len(out) + 1] = self._diag(X)
        return out

    def times(self, X: Any, Z: Any, coef: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """The kernel expansion sum_j coef_j K(x, z_j), without the whole Gram matrix.

        Parameters
        ----------
        X, Z : rows that `check` gave
        coef : array of shape (m,) or (m, k)

        Returns
        -------
        array of shape (n,) or (n, k)
        """
        left, right = self.prepare(X, Z)
        return blocked_products(self.tile, left, right, coef, common_float(X, Z, coef), n_jobs=n_jobs)

    def _check_pair(self, X: Any, Z: Any) -> tuple[Any, Any]:
        """Both sets of rows, checked, with as many columns as each other."""
        same = Z is None or Z is X
        X = self.check(X)
        Z = X if same else self.check(Z)
        if self.takes == "vectors" and X.shape[1] != Z.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: X has {X.shape[1]} columns and Z {Z.shape[1]}; they must agree."
            )
        return X, Z

    def _no_feature_map(self, reason: str) -> NoReturn:
        raise ValueError(f"{type(self).__name__} has no explicit feature map: {reason}.")

    # Compounds --------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Kernel:
        from tercet.kernels.compound import Sum

        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        from tercet.kernels.compound import Product, Scaled

        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, float(other)) if _is_number(other) else NotImplemented

    __rmul__ = __mul__

    def __pow__(self, exponent: Any) -> Kernel:
        from tercet.kernels.compound import Power

        return Power(self, int(exponent)) if isinstance(exponent, numbers.Integral) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        ours, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(_equal(ours[name], theirs[name]) for name in ours)

    def __hash__(self) -> int:
        return hash(type(self))  # parameters may be set later


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and np.array_equal(a, b)
    return type(a) is type(b) and a == b if isinstance(a, Kernel) else a == b


# Values of gamma: a number, or "scale" and "auto" resolved from data -----------------------------------------


def resolve_gamma(gamma: Any, X: Any, sample_weight: np.ndarray | None = None) -> float:
    """gamma as a number; "scale" is 1 / (columns * variance of X), "auto" is 1 / columns.

    Examples
    --------
    >>> resolve_gamma("auto", np.ones((3, 4)))
    0.25
    """
    if gamma == "scale":
        return gamma_scale(X, sample_weight)
    return 1.0 / X.shape[1] if gamma == "auto" else float(gamma)


def numeric_gamma(gamma: Any) -> float:
    """A gamma that must be a number already, as `Kernel.resolve` leaves it."""
    if gamma is None or isinstance(gamma, str):
        raise ValueError(f"gamma={gamma!r} is yet to be found from data: kernel.resolve(X).")
    return float(gamma)


def gamma_scale(X: Any, sample_weight: np.ndarray | None = None) -> float:
    """gamma="scale": 1 / (number of columns * variance of all entries), 1 when nothing varies."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = _variance(X, sample_weight)
    if not np.isfinite(X.shape[1] * variance):
        raise ValueError(
            "gamma='scale' is 1 / (columns * variance of X), and the variance is too large a number: scale the "
            "features (StandardScaler, MinMaxScaler), or give gamma as a number."
        )
    if X.shape[1] * variance < 1e-280 and _varies(X, sample_weight):
        raise ValueError(
            "gamma='scale' is 1 / (columns * variance of X), and the variance is too small a number: scale the "
            "features (StandardScaler, MinMaxScaler), or give gamma as a number."
        )
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _varies(X: Any, sample_weight: np.ndarray | None) -> bool:
    """Whether the entries of the rows with a weight differ by more than rounding."""
    seen = X if sample_weight is None else X[np.asarray(sample_weight) > 0]
    low, high = float(seen.min()), float(seen.max())
    return high - low > 1e-12 * max(abs(low), abs(high))


def _variance(X: Any, sample_weight: np.ndarray | None) -> float:
    """Weighted variance of all entries."""
    if sample_weight is None and not sparse.issparse(X):
        return float(X.var(dtype=np.float64))
    weight = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    weight = weight / (weight.sum() * X.shape[1])
    sums = np.asarray(X.sum(axis=1, dtype=np.float64)).reshape(-1)
    mean = float(weight @ sums)
    if sparse.issparse(X):
        squares = np.asarray(X.astype(np.float64).power(2).sum(axis=1)).reshape(-1)
        squares = squares - 2 * mean * sums + X.shape[1] * mean * mean
    else:
        squares = ((X - mean) ** 2).sum(axis=1, dtype=np.float64)
    return float(weight @ squares)

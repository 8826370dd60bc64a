"""What a kernel is: a function K(x, z) that is an inner product of mapped points.

A kernel makes its rows ready once (`sides`) and gives blocks of the Gram matrix (`tile`); all else follows: Gram
matrices, sums of kernels around points, compound kernels.
"""

from __future__ import annotations

import functools
import numbers
from typing import Any, NoReturn, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array

from tercet.core.parallel import each
from tercet.core.parameters import check_parameters
from tercet.core.public_names import PublicPickle
from tercet.kernels.rows import Rows, borders, finite, float_of, mirrored, ready, steps


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
    given: bool = False  # whether a Gram matrix is part of the kernel, and rows are numbers of its rows

    # What a kernel has to say of itself -------------------------------------------------------------------------

    def sides(self, X: Any, Z: Any) -> tuple[Any, Any]:
        """The rows of both sides, made ready for `tile`; slices and index arrays take parts of them."""
        dtype = float_of(X, Z)
        left = Rows(ready(X, dtype))
        return left, left if Z is X else Rows(ready(Z, dtype))

    def tile(self, left: Any, right: Any) -> np.ndarray:
        """The kernel of all pairs of two sets of rows, a fresh array."""
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
        self._no_map("its feature space has infinitely many dimensions")

    def resolve(self, X: Any, sample_weight: np.ndarray | None = None) -> Self:
        """The kernel with numbers in place of what is to be found from data, as gamma="scale"."""
        check_parameters(self)
        return self

    def check(self, X: Any) -> Any:
        """Rows as this kernel takes them: a float array or a CSR matrix, or an error that says what is wrong."""
        X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), estimator=type(self).__name__)
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X

    # What follows -----------------------------------------------------------------------------------------------

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
        X, Z = self._pair(X, Z)
        return self.resolve(Z).gram(X, Z, n_jobs=n_jobs)

    def diag(self, X: Any) -> np.ndarray:
        """K(x, x) for every row of X."""
        X = self.check(X)
        return self.resolve(X)._diag(X)

    def gram(self, X: Any, Z: Any, *, n_jobs: int | None = None) -> np.ndarray:
        """The Gram matrix of rows that `check` gave, for a kernel that `resolve` gave; Z may be X."""
        left, right = self.sides(X, Z)
        same = Z is X and self.takes != "gram"
        mirror = same and not right.whole
        rows, columns = steps(left, right, square=mirror)
        out = np.empty((len(left), len(right)), dtype=float_of(X, Z))
        blocks = [
            (r, c)
            for r in borders(len(left), rows)
            for c in borders(len(right), columns)
            if not mirror or c.start >= r.start
        ]
        each(functools.partial(self._put, left, right, out, mirror), blocks, n_jobs=n_jobs)
        if same and right.whole:
            for r in borders(len(left), 256):
                out[r.stop :, r] = out[r, r.stop :].T
                out[r, r] = mirrored(out[r, r])
        if same:  # rounding must not make a point differ from itself
            out.flat[:: len(left) + 1] = self._diag(X)
        return out

    def _put(self, left, right, out, mirror, block):
        rows, columns = block
        tile = self.tile(left[rows], right[columns])
        if mirror and rows == columns:
            tile = mirrored(tile)
        elif mirror:
            out[columns, rows] = tile.T
        out[rows, columns] = tile

    def times(self, X: Any, Z: Any, coef: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Sums of the kernel around points, sum_j coef_j K(x, z_j), without the whole Gram matrix.

        Parameters
        ----------
        X, Z : rows that `check` gave
        coef : array of shape (m,) or (m, k)

        Returns
        -------
        array of shape (n,) or (n, k)
        """
        left, right = self.sides(X, Z)
        rows, columns = steps(left, right)
        out = np.zeros((len(left), *coef.shape[1:]), dtype=float_of(X, Z, coef))
        add = functools.partial(self._add, left, right, coef, out, borders(len(right), columns))
        each(add, borders(len(left), rows), n_jobs=n_jobs)
        return out

    def _add(self, left, right, coef, out, cuts, rows):
        here, total = left[rows], out[rows]
        for columns in cuts:
            tile = self.tile(here, right[columns])
            total += np.dot(tile, coef[columns].astype(tile.dtype, copy=False))

    def _pair(self, X: Any, Z: Any) -> tuple[Any, Any]:
        same = Z is None or Z is X
        X = self.check(X)
        Z = X if same else self.check(Z)
        if self.takes == "vectors" and X.shape[1] != Z.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: X has {X.shape[1]} columns and Z {Z.shape[1]}; they must agree."
            )
        return X, Z

    def _no_map(self, reason: str) -> NoReturn:
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


def scale(X: Any, sample_weight: np.ndarray | None = None) -> float:
    """gamma="scale": 1 / (number of columns * variance of all entries), 1 when nothing varies."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = _variance(X, sample_weight)
    if not np.isfinite(X.shape[1] * variance):
        raise ValueError(
            "gamma='scale' is 1 / (columns * variance of X), and the variance is too large a number: scale the "
            "features (StandardScaler, MinMaxScaler), or give gamma as a number."
        )
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _variance(X: Any, sample_weight: np.ndarray | None) -> float:
    """Variance of all entries, rows counting by their weights."""
    if sample_weight is None and not sparse.issparse(X):
        return float(X.var(dtype=np.float64))
    weight = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    weight = weight / (weight.sum() * X.shape[1])
    sums = np.asarray(X.sum(axis=1, dtype=np.float64)).reshape(-1)
    middle = float(weight @ sums)
    if sparse.issparse(X):
        squares = np.asarray(X.astype(np.float64).power(2).sum(axis=1)).reshape(-1)
        squares = squares - 2 * middle * sums + X.shape[1] * middle * middle
    else:
        squares = ((X - middle) ** 2).sum(axis=1, dtype=np.float64)
    return float(weight @ squares)


def gamma_of(gamma: Any, X: Any, sample_weight: np.ndarray | None = None) -> float:
    """A number for gamma: itself, or what "scale" and "auto" mean for these rows."""
    if gamma == "scale":
        return scale(X, sample_weight)
    return 1.0 / X.shape[1] if gamma == "auto" else float(gamma)


def number(gamma: Any) -> float:
    """A gamma that is a number, as `resolve` gives it."""
    if gamma is None or isinstance(gamma, str):
        raise ValueError(f"gamma={gamma!r} is yet to be found from data: kernel.resolve(X).")
    return float(gamma)


def power(values: np.ndarray, exponent: float) -> np.ndarray:
    """values ** exponent, in place by squaring where the exponent is a whole number."""
    with np.errstate(over="ignore", invalid="ignore"):
        return finite(_power(values, exponent))


def _power(values: np.ndarray, exponent: float) -> np.ndarray:
    if exponent != int(exponent):
        if values.size and values.min() < 0:
            raise ValueError(f"degree={exponent} of a negative number {values.min():g} is not a number.")
        return np.power(values, exponent, out=values)
    whole, result = int(exponent), None
    while whole > 1:
        if whole % 2:
            result = values.copy() if result is None else np.multiply(result, values, out=result)
        values = np.multiply(values, values, out=values)
        whole //= 2
    if whole == 0:
        values.fill(1.0)
    return values if result is None else np.multiply(result, values, out=result)

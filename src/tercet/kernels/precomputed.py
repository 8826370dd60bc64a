"""Gram matrices that are given."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.validation import check_array
from tercet.kernels._engine.prepared_rows import PreparedRows
from tercet.kernels.base import Kernel


@method(
    zh="预先计算的核",
    task="kernel",
    model="K(x_i, z_j) = G_ij",
    texts=["Li ch. 7, eq. 7.85", "Pattern Recognition ch. 5, 5.5.2"],
    peers=["sklearn.svm.SVC"],
)
class Precomputed(Kernel):
    """A kernel whose Gram matrix is given.

    Without `matrix`, a row of X holds the kernel of one point with all points of the other side, and Z are the
    numbers of columns (all, when there is none). With `matrix`, X and Z are numbers of its rows.

    Parameters
    ----------
    matrix : array of shape (n, n), optional
        The Gram matrix of all points there are.

    Examples
    --------
    >>> from tercet.kernels import Precomputed
    >>> Precomputed()([[1.0, 0.5], [0.5, 1.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    takes = "gram"

    def __init__(self, matrix: Any = None) -> None:
        self.matrix = matrix

    def check(self, X: Any) -> np.ndarray:
        """Rows of a Gram matrix, or numbers of its rows or columns."""
        if np.ndim(X) != 1:
            if self.matrix is not None:
                raise ValueError(
                    f"Precomputed: with a matrix, rows are numbers; got an array of {np.ndim(X)} axes."
                )
            return check_array(X, dtype=(np.float64, np.float32), estimator="Precomputed")
        numbers = np.asarray(X)
        if numbers.dtype.kind not in "iu" or (numbers.size and numbers.min() < 0):
            raise ValueError(f"Precomputed: numbers of rows must be whole and not negative; got {X!r}.")
        n = None if self.matrix is None else len(self._checked_matrix())
        if n is not None and numbers.max(initial=-1) >= n:
            raise ValueError(f"Precomputed: the matrix has rows 0 to {n - 1}; got number {numbers.max()}.")
        return numbers.astype(np.int64, copy=False)

    def resolve(self, X: Any, sample_weight: np.ndarray | None = None) -> Self:
        if self.matrix is not None and not np.isfinite(self._checked_matrix()).all():
            raise ValueError("Precomputed: matrix holds NaN or infinity.")
        return self

    @property
    def holds_gram(self) -> bool:  # type: ignore[override]
        return self.matrix is not None

    def _checked_matrix(self) -> np.ndarray:
        """The matrix as a square array of numbers."""
        matrix = np.asarray(self.matrix)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "fiub":
            raise ValueError(
                f"Precomputed: matrix must be a square table of numbers; got {matrix.dtype} of {matrix.shape}."
            )
        return matrix

    def gram(self, X: Any, Z: Any, *, n_jobs: int | None = None) -> np.ndarray:
        if self.matrix is not None:
            return self._checked_matrix()[np.ix_(X, Z)]
        return X.copy() if Z is X else X[:, Z]

    def prepare(self, X: Any, Z: Any) -> tuple[Any, Any]:
        columns = np.arange(X.shape[1]) if Z is X and self.matrix is None else Z
        return PreparedRows(X), PreparedRows(columns)

    def tile(self, left: Any, right: Any) -> np.ndarray:
        return self.gram(left.values, right.values)

    def times(self, X: Any, Z: Any, coef: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        if self.matrix is not None:
            return super().times(X, Z, coef, n_jobs=n_jobs)
        spread = np.zeros((X.shape[1], *coef.shape[1:]), dtype=coef.dtype)
        np.add.at(spread, Z, coef)  # a product with the rows as they lie, rather than a copy of columns
        return np.dot(X, spread)

    def _diag(self, X: Any) -> np.ndarray:
        if self.matrix is not None:
            return self._checked_matrix()[X, X]
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed: the Gram matrix has the shape {X.shape}; its diagonal needs a square."
            )
        return X.diagonal().copy()

    def features(self, X: Any) -> Any:
        """None: a Gram matrix does not say what the points are."""
        self._no_feature_map("a Gram matrix does not say what the points are")

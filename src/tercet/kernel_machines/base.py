"""What the kernel machines share: the expansion f(x) = Σ_j coef_j K(x, x_j) + b over training rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from tercet.core.estimator import Classifier, check_is_fitted
from tercet.core.parallel import one_blas_thread
from tercet.core.validation import finite_predictions
from tercet.kernels import KernelMachine, common_float, primal_weights

KernelName = Literal["linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed"]


class KernelClassifier(KernelMachine, Classifier):
    """A classifier with one expansion for two classes, else one for each: `dual_coef_` and `intercept_`."""

    X_fit_: Any
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    fitted_shapes = {
        "X_fit_": KernelMachine._declared_rows,
        "support_vectors_": KernelMachine._declared_rows,
        "dual_coef_": "planes rows*",
        "intercept_": "planes | ",
    }
    _zero_sum = False  # whether the coefficients sum to 0, as an intercept without a penalty makes them

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores f(x): of shape (n_samples,) for two classes, else (n_samples, n_classes).

        Parameters
        ----------
        X : rows that the kernel takes
            Arrays or sparse matrices, strings, or rows of a Gram matrix.

        Returns
        -------
        scores : array
            Positive means the second class when there are two.
        """
        check_is_fitted(self, "dual_coef_")
        scores = expansion_values(
            self, X, self._expansion_points(), self.dual_coef_.T, self.intercept_, zero_sum=self._zero_sum
        )
        return scores[:, 0] if self.classes_.size == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : rows that the kernel takes
            Arrays or sparse matrices, strings, or rows of a Gram matrix.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        scores = self.decision_function(X)
        winner = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winner]

    def _expansion_points(self) -> Any:
        """The x_j."""
        return self.X_fit_


def expansion_values(
    machine: KernelMachine, X: Any, points: Any, coef: np.ndarray, b: Any = 0.0, *, zero_sum: bool = False
) -> np.ndarray:
    """Σ_j coef_j K(x, point j) + b of new rows; of a linear kernel as w·x + b where the coefficients sum to 0."""
    X = machine._check(X, reset=False)
    wide = np.ndim(points) == 2 and points.shape[1] != X.shape[1]
    if wide or points.shape[0] != coef.shape[0]:  # of a forged file
        raise ValueError(
            f"{type(machine).__name__}: {coef.shape[0]} coefficients and kept rows of shape {points.shape} do not "
            f"fit each other, or the columns of X."
        )
    linear = zero_sum and machine._is_linear
    with np.errstate(over="ignore", invalid="ignore"):
        if linear:
            values = safe_sparse_dot(X, primal_weights(coef.T, points).T) + b
        else:
            values = machine._kernel_expansion(X, points, coef) + b
    values = finite_predictions(values, type(machine).__name__)
    return values.astype(common_float(X, points), copy=False) if linear else values


def coefficient_dtype(points: Any) -> np.dtype:
    """What coefficients are kept as: float32 where the rows of the expansion are, else float64."""
    return np.dtype(np.float32 if points.dtype == np.float32 else np.float64)


def single_blas_thread(fit: Callable[..., None]) -> Callable[..., None]:
    """Decorate `_fit` to hold BLAS to one thread: threads come from n_jobs, and others would change the bits."""

    @functools.wraps(fit)
    def held(self: Any, *arguments: Any) -> None:
        with one_blas_thread():
            fit(self, *arguments)

    return held

"""The kernel expansion f(x) = Σ_j dual_coef_j K(x, x_j) + b: from dual variables to support vectors, and values."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.estimator import check_is_fitted
from tercet.core.row_products import row_products
from tercet.core.steps import ConvergenceWarning
from tercet.kernels import (
    Kernel,
    Precomputed,
    centring_offset,
    common_float,
    subtract_offset,
)
from tercet.svm._dual.problem import DualProblem, DualSolution


@dataclass
class TrainingRows:
    """The rows of positive weight, as the dual takes them.

    Rows far from 0 are centred to avoid cancellation; `centre` is None where they are not.
    """

    index: np.ndarray
    weight: np.ndarray
    centre: np.ndarray | None
    kernel: Kernel
    points: Any


def training_rows(
    model: Any, K: Kernel, X: Any, sample_weight: np.ndarray | None, *, centring: bool = True
) -> TrainingRows:
    """The rows of positive weight, centred where that is needed."""
    weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight.astype(np.float64)
    index = np.flatnonzero(weight > 0)
    centre = centring_offset(K, X, index, weight[index]) if centring else None
    kernel, points = dual_rows(model, K, X, None if index.size == weight.size else index, centre)
    return TrainingRows(index, weight[index], centre, kernel, points)


def dual_rows(
    model: Any, K: Kernel, X: Any, index: np.ndarray | None = None, centre: np.ndarray | None = None
) -> tuple[Kernel, Any]:
    """Kernel and (centred) rows for a `DualProblem`; of a Gram matrix, the indices of its rows."""
    if model._takes == "gram":
        gram = X if isinstance(K, Precomputed) else K(X)  # a multiple of the given one, say
        return Precomputed(gram), np.arange(X.shape[0]) if index is None else index
    return K, subtract_offset(centre, X if index is None else X[index])


def tube_problem(rows: TrainingRows, p: np.ndarray, C: np.ndarray, start: Any, *, nu: bool) -> DualProblem:
    """The dual of a regression: variables α of all rows (sign +1), then α* (sign -1), with 0 <= α, α* <= C."""
    n = rows.index.size
    return DualProblem(
        kernel=rows.kernel,
        X=rows.points,
        sign=np.repeat([1.0, -1.0], n),
        p=p,
        upper=np.tile(C, 2),
        start=start,
        row=np.tile(np.arange(n), 2),
        nu=nu,
    )


def filled_start(upper: np.ndarray, total: float) -> np.ndarray:
    """Multipliers within their bounds that sum to `total`: the first at their bounds, the others 0."""
    before = np.cumsum(upper) - upper
    return np.clip(total - before, 0.0, upper)


def convergence_status(model: Any, solutions: list[DualSolution]) -> int:
    """`fit_status_`: 0 when all duals are solved; else 1, and a warning (unless the model is told not to)."""
    bad = [s for s in solutions if not s.converged]
    if not bad or not getattr(model, "_warns", True):
        return int(bool(bad))
    worst = max(s.violation for s in bad)
    reason = next((f" ({s.message})" for s in bad if s.message), "")
    warnings.warn(
        f"{type(model).__name__}: the solver stopped before it converged{reason}: the KKT conditions are missed "
        f"by {worst:.3g}, tol={model.tol:g} (max_iter={model.max_iter}). Scale the features (StandardScaler, "
        "MinMaxScaler), lower C, or raise max_iter or tol; a kernel that is not positive semidefinite may have "
        "no solution.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return 1


def support_attributes(
    model: Any, X: Any, support: np.ndarray, coef: np.ndarray, intercept: np.ndarray
) -> dict[str, Any]:
    """The fitted attributes of f: `coef`, of shape (n_functions, n_support), over the rows `support` of X."""
    points = np.empty((0, 0)) if model._takes == "gram" else X[support]
    dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
    coef = coef.astype(dtype)
    return {
        "support_": support.astype(np.int32),
        "support_vectors_": points,
        "dual_coef_": sparse.csr_matrix(coef) if sparse.issparse(X) else coef,
        "intercept_": intercept.astype(dtype),
        "shape_fit_": tuple(X.shape),
    }


def support_points(model: Any) -> Any:
    """The support vectors as the kernel takes them."""
    return model.support_.astype(np.intp) if model._takes == "gram" else model.support_vectors_


def kernel_sums(model: Any, X: Any) -> np.ndarray:
    """Σ_j dual_coef_j K(x, x_j) of checked rows X, of shape (n_samples, n_functions)."""
    if model._is_linear:
        return row_products(X, dense_coef(model._weights()))
    return model._kernel_expansion(X, support_points(model), dense_coef(model.dual_coef_).T)


def decision_values(model: Any, X: Any, sums: Any = kernel_sums) -> np.ndarray:
    """f(x) = Σ_j dual_coef_j K(x, x_j) + b of rows X, of shape (n_samples, n_functions)."""
    check_is_fitted(model, "support_")
    X = model._check(X, reset=False)
    return (sums(model, X) + model.intercept_).astype(common_float(X, model.dual_coef_), copy=False)


def linear_coef(model: Any) -> Any:
    """`coef_`, the weights w of a linear kernel: a read-only copy, as changes would be lost."""
    if not model._is_linear:
        raise AttributeError("coef_ is only available when using a linear kernel")
    check_is_fitted(model, "support_")
    coef = model._weights()
    (coef.data if sparse.issparse(coef) else coef).flags.writeable = False
    return coef


def check_support_shapes(model: Any, width: int) -> None:
    """An error where the attributes do not fit together; those of a forged file need not."""
    count, coef = model.support_.size, dense_coef(model.dual_coef_)
    good = coef.ndim == 2 and coef.shape[1] == count and np.ndim(model.intercept_) == 1
    if model._takes == "gram":
        good &= count == 0 or 0 <= model.support_.min() <= model.support_.max() < width
    else:
        shape = np.shape(model.support_vectors_)
        good &= shape == ((count, width) if model._takes == "vectors" else (count,))
    if not good:
        raise ValueError(
            f"The internal representation of {type(model).__name__} was altered: support_, support_vectors_, "
            f"dual_coef_ and intercept_ do not fit together, or not with {width} columns."
        )


def dense_coef(coef: Any) -> np.ndarray:
    """Coefficients as an array; after a fit of sparse rows they are CSR, as in scikit-learn."""
    return checked_indices(coef).toarray() if sparse.issparse(coef) else np.asarray(coef)


def checked_indices(matrix: Any) -> Any:
    """A matrix whose indices SciPy may use without checks; those of a forged file may be out of bounds."""
    if sparse.issparse(matrix):
        matrix.check_format(full_check=True)
    return matrix

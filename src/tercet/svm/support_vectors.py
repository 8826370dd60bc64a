"""The kernel expansion f(x) = Σ_j dual_coef_j K(x, x_j) + b: from dual variables to support vectors, and values."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Counts, Declarations, Indices, Labels
from tercet.core.input_errors import Explaining
from tercet.core.row_products import row_scores
from tercet.core.steps import ConvergenceWarning
from tercet.core.validation import check_structure
from tercet.kernels import FromFunction, Kernel, Precomputed, centring_offset, subtract_offset
from tercet.svm._dual.problem import DualProblem, DualSolution
from tercet.svm._dual.small import SMALL
from tercet.svm._dual.small_gram import small_gram

FUNCTION_ROWS = 4096  # up to which a user's function is called once, with all rows


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
    K, X = shared_rows(model, K, X, centred=centre is not None)
    kernel, points = dual_rows(K, X, None if index.size == weight.size else index, centre)
    return TrainingRows(index, weight[index], centre, kernel, points)


def positive_part(sample_weight: Any) -> Any:
    """Sample weights with 0 for negative ones: as in libsvm, rows without a positive weight are left out."""
    if sample_weight is None:
        return None
    with Explaining(sample_weight=sample_weight):
        weight = np.asarray(sample_weight)
    if weight.dtype.kind not in "fiub" or weight.size == 0 or np.isnan(weight).any():
        return sample_weight  # the check of weights says what is wrong
    if not (weight > 0).any():
        raise ValueError(
            "Invalid input - all samples have zero or negative weights: sample_weight must be positive for some "
            f"rows; its largest value is {weight.max()}."
        )
    return np.maximum(weight, 0) if weight.min() < 0 else sample_weight


def shared_rows(model: Any, K: Kernel, X: Any, *, centred: bool = False) -> tuple[Kernel, Any]:
    """Kernel and rows that all duals of a fit share: of small data, the Gram matrix and the indices of its rows.

    A user's function is called once, with all rows, as scikit-learn calls it: it may know no others.
    """
    n = X.shape[0]
    if model._takes == "gram":
        gram = X if isinstance(K, Precomputed) else K(X)  # a multiple of the given one, say
        return Precomputed(gram), np.arange(n)
    vars(model).pop("_X_fit", None)
    if isinstance(K, FromFunction) and not isinstance(model.kernel, Kernel):
        if n <= FUNCTION_ROWS or model._takes == "objects":
            model._X_fit = X
            return Precomputed(K.gram(X, X)), np.arange(n)
        return K, X
    explicit = getattr(model, "algorithm", None) == "primal-qp"  # needs the mapped rows themselves
    if n > SMALL or centred or explicit or isinstance(K, Precomputed):
        return K, X
    return Precomputed(small_gram(K, X, getattr(model, "n_jobs", None))), np.arange(n)


def dual_rows(
    K: Kernel, X: Any, index: np.ndarray | None = None, centre: np.ndarray | None = None
) -> tuple[Kernel, Any]:
    """Kernel and (centred) rows for a `DualProblem`, from what `shared_rows` gave."""
    return K, subtract_offset(centre, X if index is None else X[index])


def slack_costs(C: float, weight: np.ndarray) -> np.ndarray:
    """The cost of each row's slack, the upper bound of its multiplier: C times the row's weight.

    The weight is that of the row times that of its class, multiplied in this order: solver and checks must agree on
    the bounds to the last bit. A row of weight 0 costs nothing, even with C = inf.
    """
    return C * weight if np.isfinite(C) else np.where(weight > 0, C, 0.0) * weight


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
        f"{type(model).__name__}: Solver terminated early (max_iter={model.max_iter}).  Consider pre-processing "
        f"your data with StandardScaler or MinMaxScaler. The KKT conditions are missed by {worst:.3g}{reason}, "
        f"tol={model.tol:g}. Lower C, or raise max_iter or tol; a kernel that is not positive semidefinite may "
        "have no solution.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return 1


def support_attributes(
    model: Any, X: Any, support: np.ndarray, coef: np.ndarray, intercept: np.ndarray
) -> dict[str, Any]:
    """The fitted attributes of f: `coef`, of shape (n_functions, n_support), over the rows `support` of X."""
    points = np.empty((0, 0)) if model._takes in ("gram", "objects") else X[support]
    dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
    coef = coef.astype(dtype)
    return {
        "support_": support.astype(np.int32),
        "support_vectors_": points,
        "dual_coef_": sparse.csr_matrix(coef) if sparse.issparse(X) else coef,
        "intercept_": intercept.astype(dtype),
        "shape_fit_": tuple(X.shape),
    }


def _points(model: Any) -> Any:
    return Labels("0 0") if model._takes in ("gram", "objects") else model._declared_rows()


# What is relied on in the loaded attributes of f.
SUPPORT_SHAPES: Declarations = {
    "shape_fit_": Counts("samples features | samples | samples width"),
    "support_": Indices("rows*", below="samples"),
    "support_vectors_": _points,
    "dual_coef_": "functions rows*",
    "intercept_": "intercepts",
}


def support_points(model: Any) -> Any:
    """The support vectors as the kernel takes them."""
    if model._takes == "gram" or "_X_fit" in vars(model):
        return model.support_.astype(np.intp)
    return model.support_vectors_


def function_rows(model: Any, X: Any) -> Any:
    """Rows for `expansion`: where a user's function was called with all training rows, what it gives for X."""
    return model.kernel_.gram(X, model._X_fit) if "_X_fit" in vars(model) else X


def expansion(model: Any, X: Any, points: Any, coef: np.ndarray) -> np.ndarray:
    """Σ_j coef_j K(x, point j) of rows that `function_rows` gave."""
    if "_X_fit" in vars(model):
        return Precomputed().times(X, points, coef)
    return model._kernel_expansion(X, points, coef)


def kernel_sums(model: Any, X: Any) -> np.ndarray:
    """Σ_j dual_coef_j K(x, x_j) of checked rows X, of shape (n_samples, n_functions)."""
    if model._is_linear:
        return row_scores(X, dense_coef(model._weights()))
    return expansion(model, function_rows(model, X), support_points(model), dense_coef(model.dual_coef_).T)


def decision_values(model: Any, X: Any, sums: Any = kernel_sums) -> np.ndarray:
    """f(x) = Σ_j dual_coef_j K(x, x_j) + b of rows X, of shape (n_samples, n_functions)."""
    check_is_fitted(model, "support_")
    X = model._check(X, reset=False)
    dtype = np.float32 if getattr(X, "dtype", None) == np.float32 == model.dual_coef_.dtype else np.float64
    return (sums(model, X) + model.intercept_).astype(dtype, copy=False)


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
    count, shape = model.support_.size, np.shape(model.dual_coef_)
    good = len(shape) == 2 and shape[1] == count and np.ndim(model.intercept_) == 1
    if model._takes in ("gram", "objects"):
        columns = model.shape_fit_[0] if model._takes == "objects" else width
        good &= count == 0 or 0 <= model.support_.min() <= model.support_.max() < columns
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
    return check_structure(matrix, "A fitted attribute")

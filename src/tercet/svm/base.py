"""What support vector machines share: a dual to solve, and a kernel expansion over the rows that matter."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from tercet.core.estimator import check_is_fitted
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import INF, NonNegative, Range
from tercet.core.steps import ConvergenceWarning
from tercet.kernels import Kernel, KernelMachine, Precomputed, common_float, primal_weights, subtract_offset
from tercet.svm.polish import polish, small, with_gram
from tercet.svm.problem import Problem, Solution
from tercet.svm.solver import solve

KernelLike = (
    Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"] | Kernel | Callable[..., Any]
)
Gamma = Literal["scale", "auto"] | NonNegative
Degree = NonNegative
Iterations = Annotated[int, Range(-1, INF, "[)")]


class SupportVectorMachine(KernelMachine):
    """f(x) = Σ_j dual_coef_j K(x, support vector j) + intercept."""

    tol: float
    max_iter: int
    cache_size: float
    shrinking: bool
    n_jobs: int | None
    support_: np.ndarray
    support_vectors_: Any
    dual_coef_: Any
    intercept_: np.ndarray

    def _rows(
        self, K: Kernel, X: Any, rows: np.ndarray | None = None, point: np.ndarray | None = None
    ) -> tuple[Kernel, Any]:
        """Kernel and rows, seen from a point, as a `Problem` wants them; of a Gram matrix, numbers of its rows."""
        if self._takes == "gram":
            gram = X if isinstance(K, Precomputed) else K(X)  # a multiple of the given one, say
            return Precomputed(gram), np.arange(X.shape[0]) if rows is None else rows
        return K, subtract_offset(point, X if rows is None else X[rows])

    def _solve(
        self, problem: Problem, *, tol: float | None = None, n_jobs: int | None = None, steps: Any = None
    ) -> Solution:
        """Minimise a dual as the parameters say."""
        tol = self.tol if tol is None else tol
        options: dict[str, Any] = {
            "cache_size": self.cache_size, "shrinking": self.shrinking, "n_jobs": n_jobs,
        }  # fmt: skip
        if small(problem):
            problem = with_gram(problem, n_jobs)
        found = solve(problem, tol=tol, max_iter=self.max_iter, steps=steps, **options)
        if not small(problem) or self.max_iter >= 0:
            return found
        with one_blas_thread():
            return polish(problem, found, lambda p, tol, limit: solve(p, tol=tol, max_iter=limit, **options))

    def _status(self, solutions: list[Solution]) -> int:
        """0 when all duals are solved; else 1, and a warning."""
        bad = [s for s in solutions if not s.converged]
        if not bad:
            return 0
        worst = max(s.violation for s in bad)
        reason = next((f" ({s.message})" for s in bad if s.message), "")
        warnings.warn(
            f"{type(self).__name__}: the solver stopped before it converged{reason}: the KKT conditions are missed "
            f"by {worst:.3g}, tol={self.tol:g} (max_iter={self.max_iter}). Scale the features (StandardScaler, "
            "MinMaxScaler), lower C, or raise max_iter or tol; a kernel that is not positive semidefinite may have "
            "no solution.",
            ConvergenceWarning,
            stacklevel=2,
        )
        return 1

    def _expansion(
        self, X: Any, support: np.ndarray, coef: np.ndarray, intercept: np.ndarray
    ) -> dict[str, Any]:
        """The fitted attributes of the function: `coef` (machines, n_support) over the rows `support` of X."""
        points = np.empty((0, 0)) if self._takes == "gram" else X[support]
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        coef = coef.astype(dtype)
        return {
            "support_": support.astype(np.int32),
            "support_vectors_": points,
            "dual_coef_": sparse.csr_matrix(coef) if sparse.issparse(X) else coef,
            "intercept_": intercept.astype(dtype),
            "shape_fit_": tuple(X.shape),
        }

    def _basis(self) -> Any:
        """The support vectors as the kernel takes them."""
        return self.support_.astype(np.intp) if self._takes == "gram" else self.support_vectors_

    def _values(self, X: Any) -> np.ndarray:
        """f of every machine: an array of shape (n_samples, n_machines)."""
        check_is_fitted(self, "support_")
        X = self._check(X, reset=False)
        return (self._sums(X) + self.intercept_).astype(common_float(X, self.dual_coef_), copy=False)

    def _sums(self, X: Any) -> np.ndarray:
        """f of every machine without its intercept, of checked rows."""
        if self._is_linear:
            return safe_sparse_dot(X, dense(self._weights()).T)
        return self._kernel_expansion(X, self._basis(), dense(self.dual_coef_).T)

    def _check_widths(self, width: int) -> None:
        """Whether the attributes fit together; those of a forged file need not."""
        count, coef = self.support_.size, dense(self.dual_coef_)
        sound = coef.ndim == 2 and coef.shape[1] == count and np.ndim(self.intercept_) == 1
        if self._takes == "gram":
            sound &= count == 0 or 0 <= self.support_.min() <= self.support_.max() < width
        else:
            shape = np.shape(self.support_vectors_)
            sound &= shape == ((count, width) if self._takes == "vectors" else (count,))
        if not sound:
            raise ValueError(
                f"The internal representation of {type(self).__name__} was altered: support_, support_vectors_, "
                f"dual_coef_ and intercept_ do not fit together, or not with {width} columns."
            )

    @property
    def coef_(self) -> Any:
        """The weights w, when the kernel is linear."""
        if not self._is_linear:
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self, "support_")
        coef = self._weights()
        (
            coef.data if sparse.issparse(coef) else coef
        ).flags.writeable = False  # a copy: changes would be lost
        return coef

    def _weights(self) -> Any:
        return primal_weights(sound(self.dual_coef_), sound(self.support_vectors_))


def dense(coef: Any) -> np.ndarray:
    """Coefficients as an array; after a fit of sparse rows they are CSR, as in scikit-learn."""
    return sound(coef).toarray() if sparse.issparse(coef) else np.asarray(coef)


def sound(matrix: Any) -> Any:
    """A matrix that SciPy may walk through without a look at the indices: those of a forged file need not be."""
    if sparse.issparse(matrix):
        matrix.check_format(full_check=True)
    return matrix

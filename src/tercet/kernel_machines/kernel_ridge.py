"""Kernel ridge regression (核岭回归)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from tercet.core.catalog import method
from tercet.core.estimator import Regressor, check_is_fitted
from tercet.core.fitted_checks import Floats
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Real
from tercet.kernel_machines._engine.training_gram import TrainingGram
from tercet.kernel_machines.base import coefficient_dtype, expansion_values, single_blas_thread
from tercet.kernel_machines.least_squares import KernelLeastSquares, solve_least_squares
from tercet.kernels import FromFunction, Kernel, KernelMachine

SKLEARN_KERNELS = ("additive_chi2", "chi2", "cosine")  # names that only scikit-learn has


def _rows(model: KernelMachine) -> Any:
    """What is relied on in loaded rows; of a Gram matrix all of it is kept, as in scikit-learn."""
    return Floats("rows rows") if model._takes == "gram" else model._declared_rows()


@method(
    zh="核岭回归",
    task="regression",
    model="f(x) = Σ_j a_j K(x, x_j)",
    strategy="Σ_i w_i (y_i - f(x_i))² + alpha |f|²",
    algorithms={
        "cholesky": "(K + alpha I) a = y by Cholesky's factorisation",
        "cg": "conjugate gradients on products with K, preconditioned by a partial Cholesky factor of K",
    },
    texts=["watermelon notes ch. 4, eq. 4.44, 4.45", "Pattern Recognition ch. 5, 5.6.2, note on KMSE"],
    peers=["sklearn.kernel_ridge.KernelRidge"],
)
class KernelRidge(KernelMachine, Regressor):
    """Kernel ridge regression: least squares with an L2 penalty in the feature space of a kernel.

    By the representer theorem the solution is a sum of kernels around the training rows, with (K + alpha I) a = y.
    There is no intercept; `LSSVR` has one.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), default=1
        Strength of the penalty; one for each target where it is an array.
    kernel : str, Kernel or callable, default="linear"
        A name ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "chi2", "additive_chi2", "precomputed"),
        a kernel, or a function of two rows.
    gamma : float, optional
        Of the kernels "rbf", "laplacian", "poly", "sigmoid" and "chi2"; by default 1 over the number of columns
        (1 for "chi2").
    degree : float, default=3
        Of the kernel "poly".
    coef0 : float, default=1
        Of the kernels "poly" and "sigmoid".
    kernel_params : dict, optional
        More arguments for a kernel that is a function.
    solver : {"auto", "cholesky", "cg"}, default="auto"
        "cg" keeps no Gram matrix of more than 8192 rows in memory; "auto" takes it above that.
    tol : float, default=1e-6
        Of "cg": the residual to stop at, as a part of the targets.
    max_iter : int, default=1000
        Of "cg": the most passes.
    loo : bool, default=False
        Whether to find `loo_`, which doubles the time of a fit.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    dual_coef_ : array of shape (n_samples,) or (n_samples, n_targets)
        The a_j.
    X_fit_ : rows of shape (n_samples, n_features)
        The training rows; with kernel="precomputed" their Gram matrix.
    n_iter_ : int
        Passes of "cg"; 1 for "cholesky".
    loo_ : array of the shape of y
        What the model of all other rows predicts for each row.

    Examples
    --------
    >>> from tercet.kernels import Polynomial
    >>> model = KernelRidge(0.5, kernel=Polynomial(2, gamma=1.0, coef0=1.0)).fit([[0], [1], [2]], [0, 1, 4])
    >>> model.dual_coef_.round(8)
    array([ 0.03883495, -0.33009709,  0.27184466])
    >>> model.predict([[1]]).round(8)
    array([1.16504854])
    """

    multi_output = True

    def __init__(
        self,
        alpha: NonNegative | list | tuple | np.ndarray = 1,
        *,
        kernel: Literal[
            "linear",
            "poly",
            "polynomial",
            "rbf",
            "laplacian",
            "sigmoid",
            "cosine",
            "chi2",
            "additive_chi2",
            "precomputed",
        ]
        | Kernel
        | Callable[..., Any] = "linear",
        gamma: NonNegative | None = None,
        degree: NonNegative = 3,
        coef0: Real = 1,
        kernel_params: dict | None = None,
        solver: Literal["auto", "cholesky", "cg"] = "auto",
        tol: Positive = 1e-6,
        max_iter: Count = 1000,
        loo: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.loo = loo
        self.n_jobs = n_jobs

    @single_blas_thread
    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        flat = y.ndim == 1
        Y = y[:, None] if flat else y
        alpha = self._checked_alpha(Y.shape[1])
        kernel = self._resolve_kernel(X, sample_weight)
        self.X_fit_ = self._expansion_rows(X, np.arange(len(Y)))
        in_memory = True if self.solver == "cholesky" else None
        gram = TrainingGram(kernel, X, in_memory=in_memory, n_jobs=self.n_jobs)
        problem = KernelLeastSquares(gram, Y, sample_weight, alpha, intercept=False)
        found = solve_least_squares(self, problem, lambda state: self._attributes(state[0], flat))
        self.__dict__.update(self._attributes(found.coef, flat))
        if found.left_out is not None:
            self.loo_ = found.left_out[:, 0] if flat else found.left_out
        if self.kernel_.takes == "gram":
            self.X_fit_ = X

    def _checked_alpha(self, n_targets: int) -> np.ndarray:
        """A penalty for each target."""
        if isinstance(self.alpha, int | float):  # its annotation has been checked
            return np.full(n_targets, float(self.alpha))
        alpha = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64))
        fits = alpha.ndim == 1 and alpha.size in (1, n_targets)
        if not fits or not np.all((alpha >= 0) & (alpha < np.inf)):
            raise ValueError(
                f"KernelRidge: alpha must be a number of at least 0, or one for each of {n_targets} targets; "
                f"got {self.alpha!r}."
            )
        return np.resize(alpha, n_targets)

    def _attributes(self, coef: np.ndarray, flat: bool) -> dict[str, Any]:
        coef = coef.astype(coefficient_dtype(self.X_fit_))
        return {"dual_coef_": coef[:, 0] if flat else coef}

    def _make_kernel(self, gamma: Any, X: Any = None, sample_weight: np.ndarray | None = None) -> Kernel:
        if callable(self.kernel) and not isinstance(self.kernel, Kernel):
            return FromFunction(functools.partial(self.kernel, **(self.kernel_params or {})), of="rows")
        if self.kernel in SKLEARN_KERNELS:
            options = {"metric": self.kernel, "gamma": self.gamma, "filter_params": True}
            return FromFunction(functools.partial(_sklearn_kernel, **options))
        return super()._make_kernel(gamma, X, sample_weight)

    fitted_shapes = {"X_fit_": _rows, "dual_coef_": "rows* | rows* targets"}

    def predict(self, X: Any) -> np.ndarray:
        """Predictions f(x).

        Parameters
        ----------
        X : rows that the kernel takes
            Arrays or sparse matrices, strings, or rows of a Gram matrix.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_targets)
        """
        check_is_fitted(self, "dual_coef_")
        points = np.arange(len(self.dual_coef_)) if self._takes == "gram" else self.X_fit_
        return expansion_values(self, X, points, self.dual_coef_)


def _sklearn_kernel(X: Any, Z: Any, *, metric: str, gamma: float | None, filter_params: bool) -> Any:
    """A Gram matrix by scikit-learn's function of that name."""
    more = {} if gamma is None else {"gamma": gamma}
    X, Z = (A if sparse.issparse(A) else np.require(A, requirements="W") for A in (X, Z))  # not all read only
    return pairwise_kernels(X, Z, metric=metric, filter_params=filter_params, **more)

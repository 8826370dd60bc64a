"""Least-squares support vector regression (最小二乘支持向量回归)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import Regressor, check_is_fitted
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Real
from tercet.kernel_machines._engine.training_gram import TrainingGram
from tercet.kernel_machines.base import KernelName, coefficient_dtype, expansion_values, single_blas_thread
from tercet.kernel_machines.least_squares import KernelLeastSquares, solve_least_squares
from tercet.kernels import Kernel, KernelMachine, centring_offset


@method(
    zh="最小二乘支持向量回归",
    task="regression",
    model="f(x) = Σ_j a_j K(x, x_j) + b",
    strategy="Σ_i w_i (y_i - f(x_i))² + mu ‖f - b‖²",
    algorithms={
        "cholesky": "[[0, 1ᵀ], [1, K + mu I]] [b; a] = [0; y] by Cholesky's factorisation of K + mu I",
        "cg": "conjugate gradients on products with K, preconditioned by a partial Cholesky factor of K",
    },
    texts=["Pattern Recognition ch. 5, 5.6.2, note on KMSE"],
)
class LSSVR(KernelMachine, Regressor):
    """Least-squares support vector regression: kernel ridge regression with an unpenalised intercept.

    Parameters
    ----------
    mu : float, default=1.0
        Strength of the penalty; 1 / mu weighs the errors.
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed"), a kernel, or a function of two
        matrices that gives their Gram matrix.
    degree : float, default=3
        Of the kernel "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Of the kernels "rbf", "laplacian", "poly" and "sigmoid".
    coef0 : float, default=0.0
        Of the kernels "poly" and "sigmoid".
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
    intercept_ : float, or array of shape (n_targets,)
        The b.
    X_fit_ : rows of shape (n_samples, n_features)
        The training rows; with kernel="precomputed" the numbers of the columns.
    n_iter_ : int
        Passes of "cg"; 1 for "cholesky".
    loo_ : array of the shape of y
        What the model of all other rows predicts for each row.

    Examples
    --------
    >>> model = LSSVR(mu=1e-9, kernel="linear").fit([[0], [1], [2]], [1, 3, 5])
    >>> model.predict([[10]]).round(6), round(model.intercept_, 6)
    (array([21.]), 1.0)
    """

    multi_output = True

    def __init__(
        self,
        mu: Positive = 1.0,
        *,
        kernel: KernelName | Kernel | Callable[..., Any] = "rbf",
        degree: NonNegative = 3,
        gamma: Literal["scale", "auto"] | NonNegative = "scale",
        coef0: Real = 0.0,
        solver: Literal["auto", "cholesky", "cg"] = "auto",
        tol: Positive = 1e-6,
        max_iter: Count = 1000,
        loo: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.mu = mu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.loo = loo
        self.n_jobs = n_jobs

    @single_blas_thread
    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        flat = y.ndim == 1
        Y = y[:, None] if flat else y
        kernel = self._resolve_kernel(X, sample_weight)
        self.X_fit_ = self._expansion_rows(X, np.arange(len(Y)))
        gram = TrainingGram(
            kernel,
            X,
            in_memory=True if self.solver == "cholesky" else None,
            offset=centring_offset(kernel, X, weight=sample_weight),
            n_jobs=self.n_jobs,
        )
        problem = KernelLeastSquares(
            gram, Y, sample_weight, np.full(Y.shape[1], float(self.mu)), intercept=True
        )
        found = solve_least_squares(self, problem, lambda state: self._attributes(*state, flat))
        self.__dict__.update(self._attributes(found.coef, found.intercept, flat))
        if found.left_out is not None:
            self.loo_ = found.left_out[:, 0] if flat else found.left_out

    def _attributes(self, coef: np.ndarray, intercept: np.ndarray, flat: bool) -> dict[str, Any]:
        dtype = coefficient_dtype(self.X_fit_)
        coef, intercept = coef.astype(dtype), intercept.astype(dtype)
        if flat:
            return {"dual_coef_": coef[:, 0], "intercept_": float(intercept[0])}
        return {"dual_coef_": coef, "intercept_": intercept}

    fitted_shapes = {
        "X_fit_": KernelMachine._declared_rows,
        "dual_coef_": "rows* | rows* targets",
        "intercept_": lambda model: "targets" if np.ndim(model.dual_coef_) == 2 else "",
    }

    def predict(self, X: Any) -> np.ndarray:
        """Predictions f(x) + b.

        Parameters
        ----------
        X : rows that the kernel takes
            Arrays or sparse matrices, strings, or rows of a Gram matrix.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_targets)
        """
        check_is_fitted(self, "dual_coef_")
        return expansion_values(self, X, self.X_fit_, self.dual_coef_, self.intercept_, zero_sum=True)

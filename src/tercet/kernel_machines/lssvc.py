"""Least-squares support vector machines (最小二乘支持向量机)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import Regressor, check_is_fitted
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Real
from tercet.kernel_machines.base import KernelClassifier, Name, SquaredErrors
from tercet.kernels import Kernel

SOLVERS = {
    "cholesky": "[[0, 1ᵀ], [1, K + mu I]] [b; a] = [0; y] by Cholesky's factorisation of K + mu I",
    "cg": "conjugate gradients on products with K, preconditioned by a part of K of low rank",
}


@method(
    zh="最小二乘支持向量机",
    task="classification",
    model="f(x) = Σ_j a_j K(x, x_j) + b; the class is sign f(x)",
    strategy="Σ_i w_i (y_i - f(x_i))² + mu ‖f - b‖², labels as y_i = ±1",
    algorithms=SOLVERS,
    texts=["003 ch. 5, 5.6.2, note on KMSE"],
)
class LSSVC(SquaredErrors, KernelClassifier):
    """Support vector machine with squared errors: a system of linear equations in place of a quadratic program.

    Every row is a support vector, a_i = w_i e_i / mu with e_i its error. More than two classes are learned one
    against the rest, all with one factorisation.

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
    class_weight : dict or "balanced", optional
        Weights of the classes; they multiply the weights of their rows.
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
    dual_coef_ : array of shape (n_planes, n_samples)
        The a_j; there is one row for two classes.
    intercept_ : array of shape (n_planes,)
        The b.
    X_fit_ : rows of shape (n_samples, n_features)
        The training rows; with kernel="precomputed" the numbers of the columns.
    n_iter_ : int
        Passes of "cg"; 1 for "cholesky".
    loo_ : array of shape (n_samples,) or (n_samples, n_classes)
        The scores that the machine of all other rows gives to each row.

    Examples
    --------
    >>> from tercet.kernels import Gaussian
    >>> model = LSSVC(mu=0.5, kernel=Gaussian(gamma=1.0)).fit([[0], [1], [2]], [1, -1, 1])
    >>> model.dual_coef_.round(8), model.intercept_.round(8)
    (array([[ 0.65642687, -1.31285375,  0.65642687]]), array([0.48630872]))
    """

    _balanced = True

    def __init__(
        self,
        mu: Positive = 1.0,
        *,
        kernel: Name | Kernel | Callable[..., Any] = "rbf",
        degree: NonNegative = 3,
        gamma: Literal["scale", "auto"] | NonNegative = "scale",
        coef0: Real = 0.0,
        class_weight: dict | Literal["balanced"] | None = None,
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
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.loo = loo
        self.n_jobs = n_jobs

    def _train(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        weight = self._balance(self.class_weight, y, sample_weight)
        k = self.classes_.size
        self._flat = k == 2
        Y = 2.0 * (y[:, None] == (np.arange(k) if k > 2 else [1])) - 1.0
        gram = self._begin(X, sample_weight, keep=self.solver == "cholesky")
        A, b = self._least_squares(gram, Y, weight, np.full(Y.shape[1], float(self.mu)), offset=True)
        self.__dict__.update(self._model(A, b))

    def _model(self, A: np.ndarray, b: np.ndarray) -> dict[str, Any]:
        return {
            "dual_coef_": np.ascontiguousarray(A.T, dtype=self._dtype),
            "intercept_": b.astype(self._dtype),
        }


@method(
    zh="最小二乘支持向量回归",
    task="regression",
    model="f(x) = Σ_j a_j K(x, x_j) + b",
    strategy="Σ_i w_i (y_i - f(x_i))² + mu ‖f - b‖²",
    algorithms=SOLVERS,
    texts=["003 ch. 5, 5.6.2, note on KMSE"],
)
class LSSVR(SquaredErrors, Regressor):
    """Kernel ridge regression with an intercept that is free of the penalty.

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

    _balanced = True

    def __init__(
        self,
        mu: Positive = 1.0,
        *,
        kernel: Name | Kernel | Callable[..., Any] = "rbf",
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

    def _train(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        Y = y[:, None] if y.ndim == 1 else y
        self._flat = y.ndim == 1
        gram = self._begin(X, sample_weight, keep=self.solver == "cholesky")
        A, b = self._least_squares(gram, Y, sample_weight, np.full(Y.shape[1], float(self.mu)), offset=True)
        self.__dict__.update(self._model(A, b))

    def _model(self, A: np.ndarray, b: np.ndarray) -> dict[str, Any]:
        A, b = A.astype(self._dtype), b.astype(self._dtype)
        return {"dual_coef_": A[:, 0] if self._flat else A, "intercept_": float(b[0]) if self._flat else b}

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
        return self._sums(X, self.dual_coef_, b=self.intercept_)

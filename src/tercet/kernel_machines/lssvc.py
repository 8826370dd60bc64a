"""The least-squares support vector machine for classification (最小二乘支持向量机)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Real
from tercet.kernel_machines._engine.training_gram import TrainingGram
from tercet.kernel_machines.base import KernelClassifier, KernelName, coefficient_dtype, single_blas_thread
from tercet.kernel_machines.least_squares import KernelLeastSquares, solve_least_squares
from tercet.kernels import Kernel, centring_offset


@method(
    zh="最小二乘支持向量机",
    task="classification",
    model="f(x) = Σ_j a_j K(x, x_j) + b; the class is sign f(x)",
    strategy="Σ_i w_i (y_i - f(x_i))² + mu ‖f - b‖², labels as y_i = ±1",
    algorithms={
        "cholesky": "[[0, 1ᵀ], [1, K + mu I]] [b; a] = [0; y] by Cholesky's factorisation of K + mu I",
        "cg": "conjugate gradients on products with K, preconditioned by a partial Cholesky factor of K",
    },
    texts=["Pattern Recognition ch. 5, 5.6.2, note on KMSE"],
)
class LSSVC(KernelClassifier):
    """Least-squares support vector machine: a system of linear equations in place of a quadratic program.

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

    _zero_sum = True

    def __init__(
        self,
        mu: Positive = 1.0,
        *,
        kernel: KernelName | Kernel | Callable[..., Any] = "rbf",
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

    @single_blas_thread
    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        weight = self._balance(self.class_weight, y, sample_weight)
        k = self.classes_.size
        Y = 2.0 * (y[:, None] == (np.arange(k) if k > 2 else [1])) - 1.0  # ±1, one column for each machine
        kernel = self._resolve_kernel(X, sample_weight)
        self.X_fit_ = self._expansion_rows(X, np.arange(y.size))
        gram = TrainingGram(
            kernel,
            X,
            in_memory=True if self.solver == "cholesky" else None,
            offset=centring_offset(kernel, X, weight=sample_weight),
            n_jobs=self.n_jobs,
        )
        problem = KernelLeastSquares(gram, Y, weight, np.full(Y.shape[1], float(self.mu)), intercept=True)
        found = solve_least_squares(self, problem, self._attributes)
        self.__dict__.update(self._attributes((found.coef, found.intercept)))
        if found.left_out is not None:
            self.loo_ = found.left_out[:, 0] if k == 2 else found.left_out

    def _attributes(self, state: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
        coef, intercept = state
        dtype = coefficient_dtype(self.X_fit_)
        return {
            "dual_coef_": np.ascontiguousarray(coef.T, dtype=dtype),
            "intercept_": intercept.astype(dtype),
        }

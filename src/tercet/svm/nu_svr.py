"""Support vector regression that finds the tube's width (ν-支持向量回归)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Jobs, Positive, Real
from tercet.svm._dual.solver import solve_dual
from tercet.svm.base import (
    Degree,
    Gamma,
    Iterations,
    KernelLike,
    Nu,
    SupportVectorRegressor,
)
from tercet.svm.support_vectors import filled_start, training_rows, tube_problem


@method(
    zh="ν-支持向量回归",
    task="regression",
    model="f(x) = Σ (α_i - α*_i) K(x_i, x) + b",
    strategy="‖w‖² / 2 + C (ν ε n + Σ max(0, |y - f(x)| - ε)), with ε to be found",
    loss="epsilon_insensitive",
    convex=True,
    algorithms="the dual, by blocks of variables and second-order pairs of the same sign",
    texts=["watermelon notes ch. 4, eq. 4.34-4.43", "Pattern Recognition ch. 5, eq. 5-60 - 5-69"],
    peers=["sklearn.svm.NuSVR"],
)
class NuSVR(SupportVectorRegressor):
    """Support vector regression that finds epsilon: nu bounds the part of the rows outside of the tube.

    At most nu of the rows are outside of the tube, at least nu are support vectors.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1].
    C : float, default=1.0
        The cost of an error beyond epsilon.
    kernel : str, Kernel or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed" (X is the Gram matrix), a kernel of
        `tercet.kernels`, or a function of two matrices that gives their Gram matrix. A kernel of strings takes a
        list of strings, or an array of shape (n_samples, 1).
    degree : float, default=3
        Of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        As in `SVC`.
    coef0 : float, default=0.0
        Of "poly" and "sigmoid".
    shrinking : bool, default=True
        Leave out variables that no violating pair contains at the time, where the full Gram matrix is computed
        (up to 2048 rows).
    tol : float, default=1e-3
        Tolerance of the KKT conditions.
    cache_size : float, default=200
        Megabytes for rows of the Gram matrix.
    verbose : bool, default=False
        Print how the solver ended.
    max_iter : int, default=-1
        The most two-variable steps; -1 is no limit.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Attributes
    ----------
    epsilon_ : float
        The half width of the tube.
    support_, support_vectors_ : arrays
        The rows on the tube or outside it: their indices, and the rows.
    n_support_ : array of shape (1,)
        How many they are.
    dual_coef_ : array of shape (1, n_support)
        alpha - alpha* of the support vectors.
    alpha_ : array of shape (2, n_samples)
        alpha and alpha* of all rows.
    intercept_ : array of shape (1,)
        b.
    coef_ : array of shape (1, n_features)
        w, when the kernel is linear.
    fit_status_ : int
        0, or 1 when a solver stopped before it converged.
    n_iter_ : int
        Two-variable steps of the solver.
    objective_, violation_ : float
        Of the minimised dual, and the violation of the KKT conditions.
    shape_fit_ : tuple
        The shape of X.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3]], [0, 1.2, 1.8, 3.3]
    >>> model = NuSVR(kernel="linear", C=10, nu=0.4, tol=1e-9).fit(X, y)
    >>> round(model.epsilon_, 6), model.predict(X).round(6)
    (0.225, array([-0.075,  0.975,  2.025,  3.075]))
    """

    def __init__(
        self,
        *,
        nu: Nu = 0.5,
        C: Positive = 1.0,
        kernel: KernelLike = "rbf",
        degree: Degree = 3,
        gamma: Gamma = "scale",
        coef0: Real = 0.0,
        shrinking: bool = True,
        tol: Positive = 1e-3,
        cache_size: Positive = 200,
        verbose: bool | int = False,
        max_iter: Iterations = -1,
        n_jobs: Jobs = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    epsilon_: float

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        K = self._resolve_kernel(X, sample_weight)
        rows = training_rows(self, K, X, sample_weight)
        target, C = y[rows.index], self.C * rows.weight
        start = np.tile(filled_start(C, self.nu * C.sum() / 2), 2)  # Σ α = Σ α* = nu Σ C / 2
        problem = tube_problem(rows, np.concatenate([-target, target]), C, start, nu=True)

        def attributes_at(state: tuple[np.ndarray, float, float]) -> dict[str, Any]:
            alpha, b, rho = state
            return {**self._attributes(X, rows, alpha, b), "epsilon_": max(0.0, -rho)}

        steps = functools.partial(self.steps, unpack=attributes_at)
        found = solve_dual(
            problem,
            tol=self.tol,
            n_jobs=self.n_jobs,
            steps=steps,
            max_iter=self.max_iter,
            cache_size=self.cache_size,
            shrinking=self.shrinking,
        )
        self._store(found, attributes_at((found.alpha, found.b, found.rho)))

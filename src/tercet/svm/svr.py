"""Support vector regression (支持向量回归)."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Jobs, NonNegative, Positive, PositiveOrInf, Real
from tercet.kernels import intercept_shift
from tercet.svm._dual.problem import DualProblem, DualSolution
from tercet.svm._dual.solver import solve_dual
from tercet.svm.base import Degree, Gamma, Iterations, KernelLike, SupportVectorRegressor
from tercet.svm.coordinate_ascent import coordinate_ascent
from tercet.svm.smo import smo
from tercet.svm.support_vectors import slack_costs, training_rows, tube_problem


@method(
    zh="支持向量回归",
    task="regression",
    model="f(x) = Σ (α_i - α*_i) K(x_i, x) + b",
    strategy="‖w‖² / 2 + C Σ max(0, |y - f(x)| - ε)",
    loss="epsilon_insensitive",
    convex=True,
    algorithms={
        "working-set": "the dual, by blocks of variables and second-order pairs",
        "smo": "the texts' SMO on the 2n multipliers",
        "coordinate-ascent": "one of the 2n multipliers at a time, b by the method of multipliers",
    },
    texts=["watermelon notes ch. 4, eq. 4.34-4.43", "Pattern Recognition ch. 5, eq. 5-60 - 5-69"],
    peers=["sklearn.svm.SVR", "sklearnex.svm.SVR"],
)
class SVR(SupportVectorRegressor):
    """Support vector regression: errors up to epsilon cost nothing.

    The rows inside the tube |y - f(x)| < epsilon do not matter; those on it or outside it are the support vectors.

    Parameters
    ----------
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
    tol : float, default=1e-3
        Tolerance of the KKT conditions.
    C : float, default=1.0
        The cost of an error beyond epsilon. inf allows none, and is refused where no function of the kernel's
        space stays within epsilon of all targets.
    epsilon : float, default=0.1
        The half width of the tube.
    shrinking : bool, default=True
        Leave out variables that no violating pair contains at the time, where the full Gram matrix is computed
        (up to 2048 rows).
    cache_size : float, default=200
        Megabytes for rows of the Gram matrix.
    verbose : bool, default=False
        Print how the solver ended.
    max_iter : int, default=-1
        The most two-variable steps; -1 is no limit ("smo": 100 000 steps; "coordinate-ascent": 10 000 passes).
    n_jobs : int, optional
        Threads; the result does not depend on it.
    algorithm : {"working-set", "smo", "coordinate-ascent"}, default="working-set"
        How to solve the dual. "smo" and "coordinate-ascent" are the texts' methods, for small data.
    record : bool, default=False
        Keep every step of "smo" in `updates_`.

    Attributes
    ----------
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
    intercept_interval_ : array of shape (2,)
        The interval of optimal b; more than a point where no row is on the tube.
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
    updates_ : list of dict
        The steps of "smo" (see `smo`); variable k < n holds row k up, variable n + k holds it down.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3]], [0, 1.2, 1.8, 3.3]
    >>> model = SVR(kernel="linear", C=10, epsilon=0.2, tol=1e-9).fit(X, y)
    >>> model.coef_.round(6), model.intercept_.round(6), model.support_
    (array([[1.05]]), array([-0.05]), array([1, 2, 3], dtype=int32))
    """

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        degree: Degree = 3,
        gamma: Gamma = "scale",
        coef0: Real = 0.0,
        tol: Positive = 1e-3,
        C: PositiveOrInf = 1.0,
        epsilon: NonNegative = 0.1,
        shrinking: bool = True,
        cache_size: Positive = 200,
        verbose: bool | int = False,
        max_iter: Iterations = -1,
        n_jobs: Jobs = None,
        algorithm: Literal["working-set", "smo", "coordinate-ascent"] = "working-set",
        record: bool = False,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.record = record

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        K = self._resolve_kernel(X, sample_weight)
        rows = training_rows(
            self, K, X, sample_weight, centring=not self.record
        )  # recorded: rows as they are
        target, C = y[rows.index], slack_costs(self.C, rows.weight)
        p = np.concatenate([self.epsilon - target, self.epsilon + target])
        problem = tube_problem(rows, p, C, np.zeros(p.size), nu=False)

        def attributes_at(state: tuple) -> dict[str, Any]:
            return self._attributes(X, rows, *state[:2])  # alpha and b

        found = self._minimise(problem, functools.partial(self.steps, unpack=attributes_at))
        self._store(found, attributes_at((found.alpha, found.b)))
        beta = np.subtract(*np.split(found.alpha, 2))
        offset = intercept_shift(beta, X, rows.index, rows.centre)
        self.intercept_interval_ = np.array(found.interval) - offset

    def _minimise(self, problem: DualProblem, steps: Any) -> DualSolution:
        """Solve the dual by the `algorithm`; with C = inf, an error where no function fits into the tube."""
        self.__dict__.pop("updates_", None)
        if self.record:
            self.updates_: list[dict[str, Any]] = []
        if self.algorithm == "working-set" or np.isinf(self.C):
            shown = steps if self.algorithm == "working-set" else None
            found = solve_dual(
                problem,
                tol=self.tol,
                n_jobs=self.n_jobs,
                steps=shown,
                max_iter=self.max_iter,
                cache_size=self.cache_size,
                shrinking=self.shrinking,
            )
            if np.isinf(self.C) and not found.converged:
                verdict = (
                    "no function of this kernel is that close to all targets"
                    if found.message == "unbounded"
                    else f"none that close to all targets was found ({found.message})"
                )
                raise ValueError(
                    f"SVR: C={self.C} allows no error beyond epsilon={self.epsilon}, and {verdict}. Give a finite "
                    "C, a larger epsilon or a richer kernel."
                )
        if self.algorithm == "smo":
            limit = 100_000 if self.max_iter < 0 else self.max_iter
            record = self.updates_ if self.record else None
            found = smo(problem, tol=self.tol, max_iter=limit, record=record, steps=steps)
        if self.algorithm == "coordinate-ascent":
            limit = 10_000 if self.max_iter < 0 else self.max_iter
            found = coordinate_ascent(problem, tol=self.tol, max_iter=limit, steps=steps)
        return found

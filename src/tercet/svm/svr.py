"""Support vector regression (支持向量回归)."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import Regressor, check_is_fitted
from tercet.core.parameters import Jobs, NonNegative, Positive, PositiveOrInf, Range, Real
from tercet.kernels import centring_offset, intercept_shift
from tercet.svm.base import Degree, Gamma, Iterations, KernelLike, SupportVectorMachine, dense
from tercet.svm.problem import Problem, Solution
from tercet.svm.smo import smo

Nu = Annotated[float, Range(0, 1, "(]")]


class SupportVectorRegressor(SupportVectorMachine, Regressor):
    """Two variables for each row: alpha holds f(x) up to y - epsilon, alpha* holds it down to y + epsilon."""

    C: float
    verbose: bool | int
    n_support_: np.ndarray

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        K = self._resolve_kernel(X, sample_weight)
        weight = np.ones(y.size) if sample_weight is None else sample_weight.astype(np.float64)
        rows = np.flatnonzero(weight > 0)
        n = rows.size
        upper = np.tile(self.C * weight[rows], 2)
        p, start = self._targets(y[rows], upper)
        # Recorded steps are those of the rows as they are.
        near = None if getattr(self, "record", False) else centring_offset(K, X, rows, weight[rows])
        kernel, points = self._rows(K, X, None if n == y.size else rows, near)
        problem = Problem(
            kernel=kernel,
            X=points,
            sign=np.repeat([1.0, -1.0], n),
            p=p,
            upper=upper,
            start=start,
            row=np.tile(np.arange(n), 2),
            nu=self._nu,
        )
        unpack = functools.partial(self._model, X, rows, near)
        found = self._minimise(problem, functools.partial(self.steps, unpack=unpack))
        if self.verbose:
            print(f"{type(self).__name__}: {found.n_iter} steps, violation {found.violation:.3g}")
        self.fit_status_ = self._status([found])
        self.__dict__.update(self._model(X, rows, near, (found.alpha, found.b, found.rho)))
        self.n_iter_ = max(1, found.n_iter)
        self.objective_ = found.objective
        self.violation_ = found.violation
        self._measure(found, intercept_shift(np.subtract(*np.split(found.alpha, 2)), X, rows, near))

    _nu = False

    def _targets(self, y: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The linear part of the dual, and where to begin."""
        raise NotImplementedError

    def _minimise(self, problem: Problem, steps: Any) -> Solution:
        return self._solve(problem, n_jobs=self.n_jobs, steps=steps)

    def _measure(self, found: Solution, height: float) -> None:
        """What else the solution says; its b is higher than that of the rows as they are."""

    def _model(self, X: Any, rows: np.ndarray, near: np.ndarray | None, state: tuple) -> dict[str, Any]:
        """The fitted attributes for multipliers of the rows that count, and b of rows seen from nearby."""
        alpha, b = state[:2]
        # Both above 0 they would hold against each other: at the optimum their product is 0.
        beta = np.subtract(*np.split(alpha, 2))
        here = np.flatnonzero(beta)
        b -= intercept_shift(beta, X, rows, near)
        return {
            **self._expansion(X, rows[here], beta[None, here], np.array([b])),
            "n_support_": np.array([here.size], dtype=np.int32),
        }

    @property
    def alpha_(self) -> np.ndarray:
        """The multipliers of all training rows, of shape (2, n_samples): those that hold f up, and down."""
        check_is_fitted(self, "support_")
        beta = np.zeros(self.shape_fit_[0])
        beta[self.support_] = dense(self.dual_coef_)[0]
        return np.maximum([beta, -beta], 0.0)

    def predict(self, X: Any) -> np.ndarray:
        """f(x) of each row.

        Parameters
        ----------
        X : array, sparse matrix, strings or Gram matrix of shape (n_samples, n_training_samples)
            The data.

        Returns
        -------
        values : array of shape (n_samples,)
        """
        return self._values(X)[:, 0]


@method(
    zh="支持向量回归",
    task="regression",
    model="f(x) = Σ (α_i - α*_i) K(x_i, x) + b",
    strategy="‖w‖² / 2 + C Σ max(0, |y - f(x)| - ε)",
    algorithms={
        "working-set": "the dual, by blocks of variables and second-order pairs",
        "smo": "the texts' SMO on the 2n multipliers",
    },
    texts=["002 ch. 4, eq. 4.34-4.43", "003 ch. 5, eq. 5-60 - 5-69"],
    peers=["sklearn.svm.SVR", "sklearnex.svm.SVR"],
)
class SVR(SupportVectorRegressor):
    """Regression that does not mind errors up to epsilon, and sums the rest.

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
        How far the KKT conditions may be missed.
    C : float, default=1.0
        The price of an error beyond epsilon. inf allows none, and is refused where no function of the kernel's
        space stays within epsilon of all targets.
    epsilon : float, default=0.1
        The half width of the tube.
    shrinking : bool, default=True
        Leave variables aside that no pair could move at the time, where the Gram matrix is kept whole (2048 rows).
    cache_size : float, default=200
        Megabytes for kernel values.
    verbose : bool, default=False
        Print how the solver ended.
    max_iter : int, default=-1
        The most steps of the solver; -1 is no limit.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    algorithm : {"working-set", "smo"}, default="working-set"
        How to solve the dual. "smo" is the texts' method, for small data.
    record : bool, default=False
        Keep every step of "smo" in `updates_`.

    Attributes
    ----------
    support_, support_vectors_ : arrays
        The rows on the tube or outside it, by number and as they are.
    n_support_ : array of shape (1,)
        How many they are.
    dual_coef_ : array of shape (1, n_support)
        alpha - alpha* of the support vectors.
    alpha_ : array of shape (2, n_samples)
        alpha and alpha* of all rows.
    intercept_ : array of shape (1,)
        b.
    intercept_interval_ : array of shape (2,)
        The b that fit: all of them are as good where no row is on the tube.
    coef_ : array of shape (1, n_features)
        w, when the kernel is linear.
    fit_status_ : int
        0, or 1 when a solver stopped before it converged.
    n_iter_ : int
        Steps of the solver.
    objective_, violation_ : float
        Of the dual at its end, and how far the KKT conditions are missed.
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
        algorithm: Literal["working-set", "smo"] = "working-set",
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

    def _targets(self, y: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.concatenate([self.epsilon - y, self.epsilon + y]), np.zeros(upper.size)

    def _minimise(self, problem: Problem, steps: Any) -> Solution:
        self.__dict__.pop("updates_", None)
        if self.record:
            self.updates_: list[dict[str, Any]] = []
        if self.algorithm == "working-set" or np.isinf(self.C):
            found = super()._minimise(problem, steps if self.algorithm == "working-set" else None)
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
        return found

    def _measure(self, found: Solution, height: float) -> None:
        self.intercept_interval_ = np.array(found.interval) - height


@method(
    zh="ν-支持向量回归",
    task="regression",
    model="f(x) = Σ (α_i - α*_i) K(x_i, x) + b",
    strategy="‖w‖² / 2 + C (ν ε n + Σ max(0, |y - f(x)| - ε)), with ε to be found",
    algorithms="the dual, by blocks of variables and second-order pairs of the same sign",
    texts=["002 ch. 4, eq. 4.34-4.43", "003 ch. 5, eq. 5-60 - 5-69"],
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
        The price of an error beyond epsilon.
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
        Leave variables aside that no pair could move at the time, where the Gram matrix is kept whole (2048 rows).
    tol : float, default=1e-3
        How far the KKT conditions may be missed.
    cache_size : float, default=200
        Megabytes for kernel values.
    verbose : bool, default=False
        Print how the solver ended.
    max_iter : int, default=-1
        The most steps of the solver; -1 is no limit.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Attributes
    ----------
    epsilon_ : float
        The half width of the tube.
    support_, support_vectors_ : arrays
        The rows on the tube or outside it, by number and as they are.
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
        Steps of the solver.
    objective_, violation_ : float
        Of the dual at its end, and how far the KKT conditions are missed.
    shape_fit_ : tuple
        The shape of X.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3]], [0, 1.2, 1.8, 3.3]
    >>> model = NuSVR(kernel="linear", C=10, nu=0.4, tol=1e-9).fit(X, y)
    >>> round(model.epsilon_, 6), model.predict(X).round(6)
    (0.225, array([-0.075,  0.975,  2.025,  3.075]))
    """

    _nu = True

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

    def _targets(self, y: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        half = upper[: y.size]
        return np.concatenate([-y, y]), np.tile(filled(half, self.nu * half.sum() / 2), 2)

    def _model(self, X: Any, rows: np.ndarray, near: np.ndarray | None, state: tuple) -> dict[str, Any]:
        return {**super()._model(X, rows, near, state), "epsilon_": max(0.0, -state[2])}


def filled(upper: np.ndarray, total: float) -> np.ndarray:
    """Multipliers within their bounds that sum to `total`: the first at their bounds, the others 0."""
    before = np.cumsum(upper) - upper
    return np.clip(total - before, 0.0, upper)

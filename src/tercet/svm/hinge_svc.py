"""Linear support vector machine as a penalised hinge loss (合页损失最小化)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parameters import CountOrZero, Jobs, Positive, Seed
from tercet.linear_model import LinearClassifier
from tercet.svm.hinge_descent import FreeIntercept, Subgradient, best_intercept
from tercet.svm.linear_base import descend
from tercet.svm.linear_dual import DualCoordinate
from tercet.svm.linear_problem import LinearProblem, by_rows

Array = np.ndarray


@method(
    zh="合页损失最小化的线性支持向量机",
    task="classification",
    model="f(x) = sign(w·x + b)",
    strategy="sum or mean of [1 - y(w·x + b)]₊, plus λ|w|²",
    algorithms={
        "coordinate": "coordinate descent on the dual, b by the method of multipliers",
        "subgradient": "stochastic subgradient descent with a running mean",
    },
    texts=["000 ch. 7, sec. 7.2.4, Thm 7.4, eq. 7.57-7.63", "001 ch. 4, sec. 4.5.2", "003 ch. 5, eq. 5-56"],
    peers=["sklearn.linear_model.SGDClassifier"],
)
class HingeSVC(LinearClassifier):
    """The least hinge loss with a penalty on w, and none on b.

    Minimises sum_i s_i [1 - y_i (w·x_i + b)]_+ + lam |w|^2. With lam = 1 / (2C) it is the soft margin of `SVC`
    with a linear kernel, whose objective is C times this one (Thm 7.4). More than two classes: each against the
    rest.

    Parameters
    ----------
    lam : float, default=0.5
        λ, the strength of the penalty.
    risk : {"sum", "mean"}, default="sum"
        Whether losses are added up (000) or averaged (003, where lam = 1 / (2nC) is the same machine).
    algorithm : {"coordinate", "subgradient"}, default="coordinate"
        "subgradient" needs no more than a row at a time, and is slow to get the last digits.
    fit_intercept : bool, default=True
    class_weight : dict or "balanced", optional
        Multiplies the losses of a class.
    tol : float, default=1e-4
        "coordinate": ends when no condition of optimality is violated by more. "subgradient": when the
        latter half of the passes has not changed the objective by this share.
    max_iter : int, default=1000
        The most passes.
    verbose : int, default=0
        Print a line for each pass.
    random_state : int, RandomState or Generator, optional
        Order of the rows.
    n_jobs : int, optional
        Threads, for classes side by side. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_, intercept_ : arrays of shape (n_planes, n_features) and (n_planes,)
        The hyperplanes; there is one for two classes.
    objective_ : array of shape (n_planes,)
        The least values.
    n_iter_ : int
    history_ : dict of lists
        `objective` and `violation` of each pass: those of the minimised dual, or with "subgradient" the objective
        of the mean, as C times the one above, and how much the latter half of the passes changed it.

    Examples
    --------
    >>> X, y = [[3, 3], [4, 3], [1, 1]], [1, 1, -1]
    >>> model = HingeSVC(lam=0.05, random_state=0).fit(X, y)
    >>> model.coef_.round(3), model.intercept_.round(3), model.objective_.round(3)
    (array([[0.5, 0.5]]), array([-2.]), array([0.025]))
    """

    def __init__(
        self,
        lam: Positive = 0.5,
        *,
        risk: Literal["sum", "mean"] = "sum",
        algorithm: Literal["coordinate", "subgradient"] = "coordinate",
        fit_intercept: bool = True,
        class_weight: dict | Literal["balanced"] | None = None,
        tol: Positive = 1e-4,
        max_iter: CountOrZero = 1000,
        verbose: int | bool = 0,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.lam = lam
        self.risk = risk
        self.algorithm = algorithm
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Array, sample_weight: Array | None) -> None:
        weight = np.ones(y.size) if sample_weight is None else sample_weight.astype(np.float64)
        weight *= self._class_weights(self.class_weight, y, sample_weight)[y]
        share = self.lam * (weight.sum() if self.risk == "mean" else 1.0)
        rng = generator(self.random_state)
        positive = range(self.classes_.size) if self.classes_.size > 2 else [1]
        with np.errstate(over="ignore", invalid="ignore"):  # a problem looks at its costs
            cost = weight / (2 * share)
        rows = by_rows(X)
        sides = [np.where(y == k, 1.0, -1.0) for k in positive]
        problems = [LinearProblem(rows, side, side, cost, 0.0).without_idle_rows() for side in sides]
        planes = [self._plane(problem, own) for problem, own in zip(problems, rng.spawn(len(problems)))]
        descend(self, planes, self._unpacked(problems, X.dtype))
        self.objective_ = np.array(
            [self._value(*parts) for parts in zip(problems, self.coef_, self.intercept_)]
        )
        self.objective_ *= 2 * self.lam

    def _plane(self, problem: LinearProblem, rng: np.random.Generator) -> Any:
        if self.algorithm == "subgradient":
            return Subgradient(problem, self.tol, rng, self.fit_intercept)
        return (FreeIntercept if self.fit_intercept else DualCoordinate)(problem, self.tol, rng)

    def _unpacked(self, problems: list[LinearProblem], dtype: Any) -> Any:
        def intercept(problem: LinearProblem, w: Array) -> float:
            """The best one for w; the descent's own is one of several where no row lies on a margin."""
            return best_intercept(problem.X @ w, problem.side, problem.cost) if self.fit_intercept else 0.0

        def unpack(planes: list[Array]) -> dict[str, Any]:
            W = np.stack(planes)[:, :-1]
            b = np.array([intercept(problem, w) for problem, w in zip(problems, W)])
            return {"coef_": W.astype(dtype), "intercept_": b.astype(dtype)}

        return unpack

    def _value(self, problem: LinearProblem, w: Array, b: float) -> float:
        loss = problem.cost @ np.maximum(1.0 - problem.side * (problem.X @ w + b), 0.0)
        return float(w @ w / 2 + loss)

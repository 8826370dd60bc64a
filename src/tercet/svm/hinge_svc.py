"""Linear support vector machine as a penalised hinge loss (合页损失最小化)."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.kernel import kernel
from tercet.core.parameters import CountOrZero, Jobs, Positive, Seed
from tercet.core.rows import row_add, row_dot
from tercet.linear_model import LinearClassifier
from tercet.svm._linear.dual_coordinate import (
    DualCoordinateDescent,
    order_parts,
    squared_norms,
    visiting_order,
)
from tercet.svm._linear.epochs import HINT, run_epoch
from tercet.svm._linear.intercept import hinge_intercepts
from tercet.svm._linear.problem import LinearProblem, bytes_per_row, read_only_rows, row_major

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
    """Linear support vector classifier by the hinge loss, with a penalty on w and none on b.

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
        with np.errstate(over="ignore", invalid="ignore"):  # `LinearProblem` checks its costs
            cost = weight / (2 * share)
        rows = row_major(X)
        sides = [np.where(y == k, 1.0, -1.0) for k in positive]
        problems = [LinearProblem(rows, side, side, cost, 0.0).without_zero_cost() for side in sides]
        solvers = [self._solver(problem, own) for problem, own in zip(problems, rng.spawn(len(problems)))]
        unpack = functools.partial(self._attributes, problems, X.dtype)
        for step in self.steps(self.max_iter, unpack=unpack, hint=HINT):
            done = run_epoch(self, step, solvers)  # a pass over the rows for each class against the rest
            if step.converged(done):
                break
        self.__dict__.update(unpack([solver.v for solver in solvers]))
        values = [self._objective(*parts) for parts in zip(problems, self.coef_, self.intercept_)]
        self.objective_ = 2 * self.lam * np.array(values)

    def _solver(self, problem: LinearProblem, rng: np.random.Generator) -> Any:
        if self.algorithm == "subgradient":
            return StochasticSubgradient(problem, self.tol, rng, self.fit_intercept)
        return (FreeInterceptDescent if self.fit_intercept else DualCoordinateDescent)(problem, self.tol, rng)

    def _attributes(self, problems: list[LinearProblem], dtype: Any, weights: list[Array]) -> dict[str, Any]:
        """Fitted attributes; of several optimal b, where no row lies on a margin, the middle one."""
        W = np.stack(weights)[:, :-1]
        b = np.zeros(len(W))
        if self.fit_intercept:
            b[:] = [sum(hinge_intercepts(p.X @ w, p.side, p.cost)) / 2 for p, w in zip(problems, W)]
        return {"coef_": W.astype(dtype), "intercept_": b.astype(dtype)}

    def _objective(self, problem: LinearProblem, w: Array, b: float) -> float:
        loss = problem.cost @ np.maximum(1.0 - problem.side * (problem.X @ w + b), 0.0)
        return float(w @ w / 2 + loss)


class FreeInterceptDescent(DualCoordinateDescent):
    """Dual coordinate descent with an unpenalised b, by the method of multipliers.

    The descent penalises the squared distance of the intercept from b, not from 0; then b is set to the intercept,
    and so on until they agree. The dual's variables then satisfy sum beta = 0.
    """

    def __init__(self, problem: LinearProblem, tol: float, rng: np.random.Generator) -> None:
        self.goal, self.b = tol, 0.0
        super().__init__(problem, tol, rng)
        problem.bias = float(np.sqrt(max(np.mean(self.curvature), 1e-300)))
        self.curvature += problem.bias**2

    def epoch(self) -> None:
        """One pass; b is updated when the rest is solved well enough."""
        super().epoch()
        bias = self.problem.bias
        distance = bias * float(self.v[-1])
        # the sum of beta should be 0, but for rounding
        rounding = 1e-9 * self.goal + 1e-15 * bias**2 * float(np.abs(self.beta).sum())
        if self.done and abs(distance) > rounding:
            self._shift(distance)
            self.done = False
        self.tol = max(self.goal, min(self.tol, 0.1 * abs(distance)))

    def _shift(self, amount: float) -> None:
        """Add an amount to b."""
        self._store_beta()
        self.b += amount
        self.problem.target = self.problem.target - amount
        self.objective += amount * float(self.beta.sum())
        self._restrict(np.arange(self.beta.size), self.problem.X)


class StochasticSubgradient:
    """Stochastic subgradient descent with step sizes 1/t, and the weighted mean of its iterates (Pegasos).

    Parameters
    ----------
    problem : LinearProblem
        Of classification, without a penalised intercept.
    tol : float
        Ends when the latter half of the passes has changed the objective of the mean by no more than this share:
        the error falls as 1/t, so that is about the remaining error.
    rng : Generator
        Decides the order of the rows.
    """

    def __init__(self, problem: LinearProblem, tol: float, rng: np.random.Generator, intercept: bool) -> None:
        self.problem, self.tol, self.rng, self.intercept = problem, tol, rng, intercept
        d = problem.shape[1]
        self.data, self.w, self.b = read_only_rows(problem.X), np.zeros(d), np.zeros(1)
        square = squared_norms(problem.X)
        # so large that the first steps do not overshoot
        self.t = self.first_t = max(2.0, float(problem.cost @ (square + intercept)))
        self.v, self.objectives = np.zeros(d + 1), [float(problem.cost.sum())]
        self.objective, self.violation, self.done = self.objectives[0], np.inf, False

    def epoch(self) -> None:
        """One pass; later passes count for more in the mean."""
        problem, n = self.problem, self.problem.shape[0]
        order = visiting_order(np.arange(n), bytes_per_row(problem.X), self.rng)
        mean, scale, scale_sum, free = np.zeros_like(self.w), 1.0, 0.0, float(self.intercept)
        for part in order_parts(order, bytes_per_row(problem.X)):
            scale, scale_sum = subgradient_pass(
                self.data, part, problem.side, problem.cost, self.w, self.b, mean, self.t, n, free, scale, scale_sum
            )  # fmt: skip
            self.t += part.size
        mean = (mean + scale_sum * self.w) / n
        self.w *= scale
        passes = len(self.objectives)
        self.v[:-1] += 2.0 / (passes + 1) * (mean - self.v[:-1])
        scores = problem.X @ self.v[:-1]
        self.v[-1] = sum(hinge_intercepts(scores, problem.side, problem.cost)) / 2 if self.intercept else 0.0
        loss = problem.cost @ np.maximum(1.0 - problem.side * (scores + self.v[-1]), 0.0)
        self.objective = float(self.v[:-1] @ self.v[:-1] / 2 + loss)
        self.objectives.append(self.objective)
        self.violation = abs(self.objectives[passes // 2] - self.objective) / max(self.objective, 1e-300)
        # before t has doubled, little changes because the steps are short
        self.done = passes >= 20 and self.t >= 2 * self.first_t and self.violation <= self.tol


@kernel
def subgradient_pass(rows, order, y, cost, w, b, mean, t, n, learn_b, scale, scale_sum):
    """A part of a pass over n rows: the iterate is scale w, the sum of all iterates mean + scale_sum w.

    The penalty shrinks all weights in every step: `scale` is their common factor, `scale_sum` the sum of it.
    Shapes: w and mean (n_features,), b (1,), y and cost (n,).
    """
    for s in range(order.size):
        i = order[s]
        rate = n / (t + s)
        violates = y[i] * (scale * row_dot(rows, i, w) + b[0]) < 1.0
        scale *= 1.0 - 1.0 / (t + s)
        if violates:
            step = rate * cost[i] * y[i]
            row_add(rows, i, step / scale, w)
            row_add(rows, i, -step / scale * scale_sum, mean)
            b[0] += learn_b * step
        scale_sum += scale
    return scale, scale_sum

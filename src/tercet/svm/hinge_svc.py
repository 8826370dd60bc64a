"""Linear support vector machine as a penalised hinge loss (合页损失最小化)."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.kernel import kernel
from tercet.core.parameters import CountOrZero, Jobs, Positive, Seed
from tercet.core.rows import row_add, row_dot, rows
from tercet.linear_model import LinearClassifier
from tercet.svm._linear.dual_coordinate import (
    DualCoordinateDescent,
    order_parts,
    squared_norms,
    visiting_order,
)
from tercet.svm._linear.epochs import HINT, run_epoch
from tercet.svm._linear.intercept import hinge_intercepts
from tercet.svm._linear.problem import LinearProblem, bytes_per_row, row_major

Array = np.ndarray
CENTRE_GAIN = 10.0  # how much of what the penalty takes from the intercept's moving part goes to its centre


@method(
    zh="合页损失最小化的线性支持向量机",
    task="classification",
    model="f(x) = sign(w·x + b)",
    strategy="sum or mean of [1 - y(w·x + b)]₊, plus λ|w|²",
    loss="hinge",
    convex=True,
    algorithms={
        "coordinate": "coordinate descent on the dual, b by the method of multipliers",
        "subgradient": "stochastic subgradient descent with a running mean",
    },
    texts=[
        "Li ch. 7, sec. 7.2.4, Thm 7.4, eq. 7.57-7.63",
        "Machine Learning in Depth ch. 4, sec. 4.5.2",
        "Pattern Recognition ch. 5, eq. 5-56",
    ],
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
        Whether losses are added up (Li) or averaged (Pattern Recognition, where lam = 1 / (2nC) is the same
        machine).
    algorithm : {"coordinate", "subgradient"}, default="coordinate"
        "subgradient" needs no more than a row at a time, and is slow to get the last digits.
    fit_intercept : bool, default=True
    class_weight : dict or "balanced", optional
        Multiplies the losses of a class.
    tol : float, default=1e-4
        "coordinate": ends when no condition of optimality is violated by more. "subgradient": when the
        duality gap is no more than this share of the objective.
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
        `objective` and `violation` of each pass: those of the minimised dual, or with "subgradient" the least
        objective up to then, as C times the one above, and the duality gap as a share of it.

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
        X_rows = row_major(X)
        sides = [np.where(y == k, 1.0, -1.0) for k in positive]
        problems = [LinearProblem(X_rows, side, side, cost, 0.0).without_zero_cost() for side in sides]
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

    b has no penalty: steps of 1/t alone would leave it far from its goal. It is b = c + p, of which p is penalised
    as the weight of a feature as large as the rows are; what the penalty takes from p goes to c, several times.

    The mean of the indicators of violations, times the costs, is a point of the dual (Σ α y = 0 is restored by
    scaling): its value is a lower bound of the objective, and w = Σ α y x a second candidate beside the mean.

    Parameters
    ----------
    problem : LinearProblem
        Of classification, without a penalised intercept.
    tol : float
        Ends when the duality gap is no more than this share of the objective.
    rng : Generator
        Decides the order of the rows.
    """

    def __init__(self, problem: LinearProblem, tol: float, rng: np.random.Generator, intercept: bool) -> None:
        self.problem, self.tol, self.rng, self.intercept = problem, tol, rng, intercept
        n, d = problem.shape
        self.data, self.w, self.b = rows(problem.X), np.zeros(d), np.zeros(2)
        square = squared_norms(problem.X)
        self.size = max(float(square.mean()), 1e-300) if intercept else 0.0
        # so large that the first steps do not overshoot
        self.t = max(2.0, float(problem.cost @ (square + self.size)))
        self.v, self.mean, self.share, self.passes = np.zeros(d + 1), np.zeros(d), np.zeros(n), 0
        self.objective, self.bound = float(problem.cost.sum()), -np.inf
        self.violation, self.done = np.inf, False

    def epoch(self) -> None:
        """One pass; later passes count for more in the means."""
        problem, n = self.problem, self.problem.shape[0]
        order = visiting_order(np.arange(n), bytes_per_row(problem.X), self.rng)
        mean, hits, scale, scale_sum = np.zeros_like(self.w), np.zeros(n), 1.0, 0.0
        for part in order_parts(order, bytes_per_row(problem.X)):
            scale, scale_sum = subgradient_pass(
                self.data, part, problem.side, problem.cost, self.w, self.b, mean, hits, self.t, n, self.size,
                scale, scale_sum,
            )  # fmt: skip
            self.t += part.size
        mean = (mean + scale_sum * self.w) / n
        self.w *= scale
        self.passes += 1
        weight = 2.0 / (self.passes + 1)
        self.mean += weight * (mean - self.mean)
        self.share += weight * (hits - self.share)
        w, self.bound = self._dual_point()
        self._keep_better(self.mean)
        self._keep_better(w)
        self.violation = max(0.0, (self.objective - self.bound) / max(self.objective, 1e-300))
        self.done = self.violation <= self.tol

    def _dual_point(self) -> tuple[Array, float]:
        """w = Σ α y x of the mean indicators of violations, and the greatest value of the dual up to now."""
        problem = self.problem
        alpha, positive = self.share * problem.cost, problem.side > 0
        if self.intercept:
            plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
            least = min(plus, minus)
            alpha *= np.where(positive, least / max(plus, 1e-300), least / max(minus, 1e-300))
        w = np.asarray(problem.X.T @ (alpha * problem.side))
        return w, max(self.bound, float(alpha.sum() - w @ w / 2))

    def _keep_better(self, w: Array) -> None:
        """w with the best b for it, if the objective is less than that of what is kept."""
        problem = self.problem
        scores = np.asarray(problem.X @ w)
        b = sum(hinge_intercepts(scores, problem.side, problem.cost)) / 2 if self.intercept else 0.0
        loss = problem.cost @ np.maximum(1.0 - problem.side * (scores + b), 0.0)
        value = float(w @ w / 2 + loss)
        if value <= self.objective:
            self.objective = value
            self.v[:-1], self.v[-1] = w, b


@kernel
def subgradient_pass(rows, order, y, cost, w, b, mean, hits, t, n, size, scale, scale_sum):
    """A part of a pass over n rows: the iterate is scale w, the sum of all iterates mean + scale_sum w.

    The penalty shrinks all weights in every step: `scale` is their common factor, `scale_sum` the sum of it.
    Shapes: w and mean (n_features,), y, cost and hits (which rows have a loss) (n,); b holds c and p.
    """
    for s in range(order.size):
        i = order[s]
        rate = n / (t + s)
        violates = y[i] * (scale * row_dot(rows, i, w) + b[0] + b[1]) < 1.0
        scale *= 1.0 - 1.0 / (t + s)
        moved = b[1] / (t + s)
        b[0] += CENTRE_GAIN * moved
        b[1] -= moved
        if violates:
            step = rate * cost[i] * y[i]
            row_add(rows, i, step / scale, w)
            row_add(rows, i, -step / scale * scale_sum, mean)
            b[1] += size * step
            hits[i] = 1.0
        scale_sum += scale
    return scale, scale_sum

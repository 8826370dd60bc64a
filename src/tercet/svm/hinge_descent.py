"""Ways to the minimum of a hinge loss with a penalty on w alone.

    min over w, b of  |w|^2 / 2 + sum_i cost_i [1 - y_i (w·x_i + b)]_+

Coordinate descent goes by the dual, whose variables keep sum beta = 0 while b is free; the subgradient goes by the
rows, a step for each.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.rows import row_add, row_dot
from tercet.svm.linear_dual import DualCoordinate, pieces, squared_lengths, visits
from tercet.svm.linear_problem import LinearProblem, frozen, row_bytes

Array = np.ndarray


def best_intercept(scores: Array, y: Array, cost: Array) -> float:
    """The b with the least sum of cost [1 - y (score + b)]_+; the middle, where there are several.

    The slope of the sum begins with minus the costs of all positives, and rises by a row's cost where it begins, or
    ceases, to count: at b = y - score.

    Examples
    --------
    >>> best_intercept(np.array([3.0, 3.5, 1.0]), np.array([1.0, 1.0, -1.0]), np.ones(3))
    -2.0
    """
    turn = y - scores
    order = np.argsort(turn, kind="stable")
    slope = np.cumsum(cost[order]) - cost[y > 0].sum()
    k = int(np.searchsorted(slope, -1e-12 * cost.sum()))
    flat = slope[k] <= 1e-12 * cost.sum() and k + 1 < len(turn)
    return float(turn[order[k]] + turn[order[k + 1]]) / 2 if flat else float(turn[order[k]])


class FreeIntercept(DualCoordinate):
    """Coordinate descent with a b that is not penalised (method of multipliers).

    The descent penalises how far the intercept goes from b, not from 0; then b goes there, and so on until they
    stay together.
    """

    def __init__(self, problem: LinearProblem, tol: float, rng: np.random.Generator) -> None:
        self.goal, self.b = tol, 0.0
        super().__init__(problem, tol, rng)
        problem.bias = float(np.sqrt(max(np.mean(self.curve), 1e-300)))
        self.curve += problem.bias**2

    def epoch(self) -> None:
        """One pass; b follows when the others are near enough."""
        super().epoch()
        bias = self.problem.bias
        away = bias * float(self.v[-1])
        # a sum of betas that should be 0 is no nearer to it than rounding lets it be
        near = 1e-9 * self.goal + 1e-15 * bias**2 * float(np.abs(self.beta).sum())
        if self.done and abs(away) > near:
            self._shift(away)
            self.done = False
        self.tol = max(self.goal, min(self.tol, 0.1 * abs(away)))

    def _shift(self, amount: float) -> None:
        """Move b."""
        self._put_back()
        self.b += amount
        self.problem.target = self.problem.target - amount
        self.objective += amount * float(self.beta.sum())
        self._take(np.arange(self.beta.size), self.problem.X)


class Subgradient:
    """Steps against a subgradient of one row's share, which fall as 1/t, and the mean of where they led.

    Parameters
    ----------
    problem : LinearProblem
        One-sided, without an intercept of its own.
    tol : float
        Ends when the latter half of the passes has not changed the objective of the mean by this share of it: the
        error falls as 1/t, so that is about what is left.
    rng : Generator
        Decides the order of the rows.
    """

    def __init__(self, problem: LinearProblem, tol: float, rng: np.random.Generator, intercept: bool) -> None:
        self.problem, self.tol, self.rng, self.intercept = problem, tol, rng, intercept
        d = problem.shape[1]
        self.data, self.w, self.b = frozen(problem.X), np.zeros(d), np.zeros(1)
        square = squared_lengths(problem.X)
        # the first steps do not overshoot
        self.t = self.begin = max(2.0, float(problem.cost @ (square + intercept)))
        self.v, self.past = np.zeros(d + 1), [float(problem.cost.sum())]
        self.objective, self.violation, self.done = self.past[0], np.inf, False

    def epoch(self) -> None:
        """One pass; later passes count for more in the mean."""
        problem, n = self.problem, self.problem.shape[0]
        order = visits(np.arange(n), row_bytes(problem.X), self.rng)
        mean, scale, passed, free = np.zeros_like(self.w), 1.0, 0.0, float(self.intercept)
        for part in pieces(order, row_bytes(problem.X)):
            scale, passed = walk(
                self.data,
                part,
                problem.side,
                problem.cost,
                self.w,
                self.b,
                mean,
                self.t,
                n,
                free,
                scale,
                passed,
            )
            self.t += part.size
        mean = (mean + passed * self.w) / n
        self.w *= scale
        passes = len(self.past)
        self.v[:-1] += 2.0 / (passes + 1) * (mean - self.v[:-1])
        scores = problem.X @ self.v[:-1]
        self.v[-1] = best_intercept(scores, problem.side, problem.cost) if self.intercept else 0.0
        loss = problem.cost @ np.maximum(1.0 - problem.side * (scores + self.v[-1]), 0.0)
        self.objective = float(self.v[:-1] @ self.v[:-1] / 2 + loss)
        self.past.append(self.objective)
        self.violation = abs(self.past[passes // 2] - self.objective) / max(self.objective, 1e-300)
        # before t has doubled, little changes because the steps are short, not because the end is near
        self.done = passes >= 20 and self.t >= 2 * self.begin and self.violation <= self.tol


@kernel
def walk(rows, order, y, cost, w, b, mean, t, n, learn_b, scale, passed):
    """A part of a pass over n rows: scale w is where it led, mean + passed w the sum of all places on the way.

    The penalty shrinks all weights in every step: `scale` is a common factor, and `passed` the sum of it.
    """
    for s in range(order.size):
        i = order[s]
        rate = n / (t + s)
        near = y[i] * (scale * row_dot(rows, i, w) + b[0]) < 1.0
        scale *= 1.0 - 1.0 / (t + s)
        if near:
            step = rate * cost[i] * y[i]
            row_add(rows, i, step / scale, w)
            row_add(rows, i, -step / scale * passed, mean)
            b[0] += learn_b * step
        passed += scale
    return scale, passed

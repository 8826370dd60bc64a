"""Stochastic gradient descent (随机梯度下降) for logistic regression."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.rows import row_add, row_dot, row_square, rows
from tercet.core.steps import Steps
from tercet.linear_model._logistic.logistic_objective import LogisticObjective
from tercet.linear_model._logistic.row_loss import loss_and_slope

Array = np.ndarray
PATIENCE = 5  # passes without progress before the end
ATTAINABLE = 1e-2  # of the mean loss: while one weight alone could lower it by more, the descent goes on


class StochasticGradient:
    """θ <- θ - α sum_i (p_i - y_i) x_i over one row, or a few, at a time.

    Machine Learning in Depth eq. 2.20, 2.21.

    Parameters
    ----------
    objective : LogisticObjective
        The problem; the penalty becomes a decay of the weights.
    rate : float, optional
        α. By default it begins at 1/L with L a bound of the curvature in any row, and falls like 1/t.
    batch : int, default=1
        Rows in one move.
    t : float, default=0
        Moves made before, in an earlier call.
    """

    def __init__(
        self, objective: LogisticObjective, rate: float | None = None, batch: int = 1, t: float = 0
    ) -> None:
        self.objective, self.batch, self.t = objective, batch, float(t)
        X, n = objective.X, objective.X.shape[0]
        self.data = rows(X)
        self.weight = np.ones(n) if objective.weight is None else objective.weight.astype(np.float64)
        self.lam = objective.l2 * objective.mass / n  # a row's share of the penalty beside its weighted loss
        if rate is None:
            largest = float(self.weight.max()) * (largest_square(self.data, n) + objective.intercept)
            L = (0.25 if objective.n_planes == 1 else 0.5) * largest + self.lam
            self.rate, self.decay = 1 / (L * batch), max(self.lam, 1 / n) / L
        else:
            self.rate, self.decay = float(rate), 0.0

    def epoch(self, W: Array, b: Array, order: Array) -> float:
        """One pass over the rows in this order, in place; gives the mean loss met on the way."""
        o = self.objective
        loss = sweep(
            self.data, o.y, self.weight, order, W, b,
            self.rate, self.decay, self.lam, self.batch, self.t, o.intercept, o.reference,
        )  # fmt: skip
        self.t += -(-order.size // self.batch)
        return loss / o.mass


def stochastic_descent(
    objective: LogisticObjective,
    theta: Array,
    *,
    tol: float,
    max_iter: int,
    steps: Callable[..., Steps],
    rng: np.random.Generator,
    rate: float | None,
    batch: int,
    shuffle: bool,
) -> tuple[Array, float]:
    """Passes until the mean loss has not fallen by `tol` for five of them; θ and the number of moves.

    Tiny steps, as unscaled features make them, do not lower it either: so the gradient is tested as well.
    """
    method = StochasticGradient(objective, rate, batch)
    W, b = to_hyperplanes(objective, theta)
    order, best, waited = np.arange(objective.X.shape[0]), np.inf, 0
    for step in steps(max_iter, hint="Scale the features, raise max_iter, or give a smaller eta."):
        if shuffle:
            rng.shuffle(order)
        fun = method.epoch(W, b, order)
        waited = 0 if fun < best - tol else waited + 1
        best = min(best, fun)
        theta = from_hyperplanes(objective, W, b)
        step.report(theta, fun=fun)
        if not np.isfinite(fun):
            raise ValueError(f"solver='sgd' diverged; eta={rate!r} is too large for these data.")
        if step.converged(waited >= PATIENCE and objective.attainable_decrease_at(theta) <= ATTAINABLE):
            break
        waited %= PATIENCE
    return theta, method.t


def to_hyperplanes(objective: LogisticObjective, theta: Array) -> tuple[Array, Array]:
    """One row of weights for each hyperplane, and the intercepts."""
    table = theta.reshape(objective.shape)
    d = objective.X.shape[1]
    b = table[d].copy() if objective.intercept else np.zeros(objective.n_planes)
    return np.ascontiguousarray(table[:d].T), b


def from_hyperplanes(objective: LogisticObjective, W: Array, b: Array) -> Array:
    """The inverse of `to_hyperplanes`."""
    return objective.join(np.ascontiguousarray(W.T), b)


@kernel
def largest_square(data, n):
    """The largest squared length of a row."""
    largest = 0.0
    for i in range(n):
        square = float(row_square(data, i))
        if square > largest:
            largest = square
    return largest


@kernel
def sweep(data, y, weight, order, W, b, rate, decay, lam, batch, t, intercept, reference):
    """One pass; the weights are scale * W, so that their decay is one product."""
    K = b.size
    slopes = np.empty((batch, K))
    z = np.zeros(K + (1 if reference else 0))
    scale, loss = 1.0, 0.0
    for first in range(0, order.size, batch):
        rows_here = order[first : first + batch]
        step = rate / (1 + decay * t)
        t += 1
        for r in range(rows_here.size):
            i = rows_here[r]
            for k in range(K):
                z[k] = scale * row_dot(data, i, W[k]) + b[k]
            loss += weight[i] * loss_and_slope(z, y[i], K, slopes[r])
        scale *= 1 - step * lam * rows_here.size
        if scale < 1e-6:
            W *= scale
            scale = 1.0
        for r in range(rows_here.size):
            i = rows_here[r]
            for k in range(K):
                move = -step * weight[i] * slopes[r, k]
                if move != 0:
                    row_add(data, i, move / scale, W[k])
                    if intercept:
                        b[k] += move
    W *= scale
    return loss

"""Coordinate descent (坐标下降) for a linear machine with an L1 penalty and squared slacks.

    min over v of  |v|_1 + sum_i cost_i e_i^2

One weight at a time takes a Newton step with soft thresholding; most stay 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.kernel import inner, kernel
from tercet.core.rows import Sparse, rows
from tercet.svm._linear.dual_coordinate import order_parts
from tercet.svm._linear.problem import LinearProblem

Array = np.ndarray


class L1CoordinateDescent:
    """Coordinate descent with shrinking for one `LinearProblem`; attributes as in `epochs.Solver`.

    Parameters
    ----------
    problem : LinearProblem
        One-sided, with squared losses.
    columns : Sparse
        Its `compressed_columns`, which the problems of several classes share.
    tol : float
        Ends when the violations of a pass add up to this share of those of the first (times the share of the rarer
        class).
    rng : Generator
        Decides the order of the features.
    """

    def __init__(self, problem: LinearProblem, columns: Sparse, tol: float, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng
        d = problem.shape[1]
        self.columns, self.width = columns, d + (problem.bias > 0)
        self.v, self.e = np.zeros(d + 1), problem.target.copy()
        side = problem.side[problem.cost > 0]
        positive = float(np.mean(side > 0))
        self.share = tol * max(min(positive, 1 - positive), 1 / side.size)
        self.first = 0.0
        self.threshold, self.active = np.inf, np.ones(self.width, dtype=np.bool_)
        self.objective, self.violation, self.done = self._value(), np.inf, False

    def _value(self) -> float:
        e = np.where(self.problem.side * self.e > 0, self.e, 0.0)
        return float(np.abs(self.v).sum() + self.problem.cost @ e**2)

    def epoch(self) -> None:
        """One pass over the active features."""
        whole = bool(self.active.all())
        order = self.rng.permutation(np.flatnonzero(self.active))
        p = self.problem
        total, worst = 0.0, 0.0
        for part in order_parts(order, self.columns.data.nbytes / self.width):
            more, most = sweep(
                self.columns, part, p.side, p.cost, self.v, self.e, self.threshold, self.active
            )
            total, worst = total + more, max(worst, most)
        self.first = self.first or total
        self.violation, self.threshold = total, worst
        if total <= self.share * self.first:
            self.done = whole
            self.active[:], self.threshold = True, np.inf
            # rounding errors of many updates: recompute
            self.e = p.target - p.scores(self.v)
        self.objective = self._value()


def compressed_columns(X: Any, bias: float) -> Sparse:
    """The columns of X, and one for the intercept, in CSC form (dense X too: one kernel for both)."""
    X = sparse.csc_array(X)
    if bias > 0:
        ones = np.full((X.shape[0], 1), bias, dtype=X.dtype)
        X = sparse.hstack([X, ones], format="csc")
    return rows(X.T)  # type: ignore[return-value]


@kernel
def sweep(columns, order, side, cost, v, e, threshold, active):
    """One pass of coordinate descent; returns the sum of the violations, and the largest of them.

    Shapes: v and active (n_features + 1,), side, cost and e (n_rows,). Updates v, e = target - z, and active.
    """
    total, worst = 0.0, 0.0
    for s in range(order.size):
        j = order[s]
        x = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
        at = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
        g, h, bound = 0.0, 0.0, 0.0
        for k in range(x.size):
            i = np.uint64(at[k])
            square = 2.0 * cost[i] * x[k] * x[k]
            bound += square
            if side[i] * e[i] > 0.0:
                g -= 2.0 * cost[i] * x[k] * e[i]
                h += square
        a = v[j]
        right = g + 1.0 if a >= 0 else g - 1.0  # one-sided derivatives
        left = g + 1.0 if a > 0 else g - 1.0
        slack = min(right, -left)
        if slack > threshold:
            active[j] = False
        elif slack < 0.0 and bound > 0.0:
            total -= slack
            worst = max(worst, -slack)
            change = soft_threshold_step(a, g, max(h, 1e-12 * bound)) - a
            if loss_change(x, at, change, side, cost, e) + abs(a + change) - abs(a) > 0.01 * change * (
                right if change > 0 else left
            ):
                # with an upper bound of the curvature the objective must fall
                change = soft_threshold_step(a, g, bound) - a
            v[j] = a + change
            for k in range(x.size):
                e[np.uint64(at[k])] -= change * x[k]
    return total, worst


@inner
def soft_threshold_step(a, g, h):
    """argmin over u of g (u - a) + h (u - a)^2 / 2 + |u|."""
    z = a - g / h
    return z - 1.0 / h if z > 1.0 / h else (z + 1.0 / h if z < -1.0 / h else 0.0)


@inner
def loss_change(x, at, change, side, cost, e):
    """Change of the losses when one weight changes."""
    total = 0.0
    for k in range(x.size):
        i = np.uint64(at[k])
        before = max(side[i] * e[i], 0.0)
        after = max(side[i] * (e[i] - change * x[k]), 0.0)
        total += cost[i] * (after - before) * (after + before)
    return total

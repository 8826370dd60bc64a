"""Coordinate descent (坐标下降) for a linear machine with an L1 penalty and squared slacks.

    min over v of  |v|_1 + sum_i cost_i e_i^2

A weight at a time takes a Newton step and is pulled towards zero by 1; most stay there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.kernel import inner, kernel
from tercet.core.rows import Sparse
from tercet.svm.linear_dual import pieces
from tercet.svm.linear_problem import LinearProblem, frozen

Array = np.ndarray


class PrimalLasso:
    """One machine on its way; see `DualCoordinate` for its attributes.

    Parameters
    ----------
    problem : LinearProblem
        One-sided, with squared losses.
    columns : Sparse
        Its `compressed_columns`, which the machines of several classes share.
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
        self.bar, self.alive = np.inf, np.ones(self.width, dtype=np.bool_)
        self.objective, self.violation, self.done = self._value(), np.inf, False

    def _value(self) -> float:
        e = np.where(self.problem.side * self.e > 0, self.e, 0.0)
        return float(np.abs(self.v).sum() + self.problem.cost @ e**2)

    def epoch(self) -> None:
        """One pass over the features that are left."""
        whole = bool(self.alive.all())
        order = self.rng.permutation(np.flatnonzero(self.alive))
        p = self.problem
        total, worst = 0.0, 0.0
        for part in pieces(order, self.columns.data.nbytes / self.width):
            more, most = sweep(self.columns, part, p.side, p.cost, self.v, self.e, self.bar, self.alive)
            total, worst = total + more, max(worst, most)
        self.first = self.first or total
        self.violation, self.bar = total, worst
        if total <= self.share * self.first:
            self.done = whole
            self.alive[:], self.bar = True, np.inf
            # sums of many small changes: begin afresh
            self.e = p.target - p.scores(self.v)
        self.objective = self._value()


def compressed_columns(X: Any, bias: float) -> Sparse:
    """The columns of X, and one for the intercept; dense ones in compressed form, too: one kernel for both."""
    X = sparse.csc_array(X)
    if bias > 0:
        ones = np.full((X.shape[0], 1), bias, dtype=X.dtype)
        X = sparse.hstack([X, ones], format="csc")
    return frozen(X.T)  # type: ignore[return-value]


@kernel
def sweep(columns, order, side, cost, v, e, bar, alive):
    """One pass of descent: the sum of the violations, and the worst of them."""
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
        right = g + 1.0 if a >= 0 else g - 1.0  # the slopes to both sides
        left = g + 1.0 if a > 0 else g - 1.0
        slack = min(right, -left)
        if slack > bar:
            alive[j] = False
        elif slack < 0.0 and bound > 0.0:
            total -= slack
            worst = max(worst, -slack)
            change = shrunk(a, g, max(h, 1e-12 * bound)) - a
            if rise(x, at, change, side, cost, e) + abs(a + change) - abs(a) > 0.01 * change * (
                right if change > 0 else left
            ):
                change = shrunk(a, g, bound) - a  # no parabola lies above this one: it must lead down
            v[j] = a + change
            for k in range(x.size):
                e[np.uint64(at[k])] -= change * x[k]
    return total, worst


@inner
def shrunk(a, g, h):
    """argmin over u of g (u - a) + h (u - a)^2 / 2 + |u|."""
    z = a - g / h
    return z - 1.0 / h if z > 1.0 / h else (z + 1.0 / h if z < -1.0 / h else 0.0)


@inner
def rise(x, at, change, side, cost, e):
    """How the losses change with one weight."""
    total = 0.0
    for k in range(x.size):
        i = np.uint64(at[k])
        before = max(side[i] * e[i], 0.0)
        after = max(side[i] * (e[i] - change * x[k]), 0.0)
        total += cost[i] * (after - before) * (after + before)
    return total

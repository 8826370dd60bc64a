"""Crammer and Singer's multi-class machine, by its dual.

    min over v_1..v_K of  sum_k |v_k|^2 / 2 + sum_i cost_i max_k [1 - [k = y_i] - (v_y - v_k)·x_i]

One row at a time: the problem of its K dual variables, at most cost_i for its own class, at most 0 for the others
and 0 in sum, is solved exactly by sorting (the sequential dual method of Keerthi et al.).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import implement, inner, kernel, verb
from tercet.core.rows import Dense, Rows, rows
from tercet.svm._linear.dual_coordinate import order_parts, squared_norms, visiting_order
from tercet.svm._linear.problem import LinearProblem, bytes_per_row

Array = np.ndarray


class CrammerSinger:
    """Sequential dual method for one problem of several classes; attributes as in `epochs.Solver`.

    Parameters
    ----------
    problem : LinearProblem
        Its targets are indices of classes.
    n_classes : int
    tol : float
    rng : Generator
    """

    def __init__(self, problem: LinearProblem, n_classes: int, tol: float, rng: np.random.Generator) -> None:
        X, y = problem.X, problem.target
        self.data, self.y, self.cost, self.bias = rows(X), y, problem.cost, problem.bias
        self.tol, self.rng, self.size = tol, rng, bytes_per_row(X)
        self.curvature = squared_norms(X) + self.bias**2
        self.alpha = np.zeros((y.size, n_classes))
        self.weights = np.zeros((X.shape[1] + 1, n_classes))
        self.objective, self.violation, self.done = 0.0, np.inf, False
        self.threshold, self.active = np.inf, np.ones(y.size, dtype=np.bool_)

    @property
    def v(self) -> Array:
        """The weights, of shape (n_classes, n_features + 1)."""
        return np.ascontiguousarray(self.weights.T)

    def epoch(self) -> None:
        """One pass over the active rows."""
        whole = bool(self.active.all())
        order = visiting_order(np.flatnonzero(self.active), self.size, self.rng)
        violation = 0.0
        for part in order_parts(order, self.size * self.alpha.shape[1]):
            worst = sweep(
                self.data,
                part,
                self.y,
                self.cost,
                self.curvature,
                self.alpha,
                self.weights,
                self.bias,
                self.threshold,
                self.active,
            )
            violation = max(violation, worst)
        self.violation = self.threshold = violation
        own = self.alpha[np.arange(self.y.size), self.y]
        self.objective = float((self.weights**2).sum() / 2 - own.sum())
        if violation <= self.tol:
            self.done = whole
            self.active[:], self.threshold = True, np.inf


@kernel
def sweep(rows, order, y, cost, curvature, alpha, table, bias, threshold, active):
    """One pass of coordinate descent; returns the largest violation.

    Shapes: alpha (n_rows, K), table (n_features + 1, K), y, cost, curvature and active (n_rows,).
    """
    n_classes = alpha.shape[1]
    last = table.shape[0] - 1
    g, b, change = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    worst = 0.0
    for s in range(order.size):
        i = order[s]
        own = y[i]
        row_scores(rows, i, table, g)
        # at the optimum, variables below their bounds have the same gradient, the others no larger one
        free, kept, low = -np.inf, -np.inf, np.inf
        count = 0
        for k in range(n_classes):
            # -1 for its own class, not +1 for the others: that would round scores near 0
            g[k] += bias * table[last, k] - (1.0 if k == own else 0.0)
            if alpha[i, k] < (cost[i] if k == own else 0.0):
                free, low = max(free, g[k]), min(low, g[k])
                count += 1
            else:
                kept = max(kept, g[k])
        slack = low - (max(free, kept) if count > 1 else kept)
        if slack > threshold:
            active[i] = False
        elif slack < 0.0:
            worst = max(worst, -slack)
            solve_row(g, max(curvature[i], 1e-200), alpha[i], cost[i], own, b, change)
            row_outer_add(rows, i, change, table)
            for k in range(n_classes):
                table[last, k] += bias * change[k]
    return worst


@inner
def solve_row(g, curvature, alpha, cost, own, b, change):
    """Minimise over the K variables of a row: equal gradients, but for variables at their bounds."""
    for k in range(g.size):
        new = g[k] - curvature * alpha[k] + (curvature * cost if k == own else 0.0)
        place = k
        while place > 0 and b[place - 1] < new:  # sorted, the largest first
            b[place] = b[place - 1]
            place -= 1
        b[place] = new
    level, count = -curvature * cost, 0
    for k in range(g.size):
        if count > 0 and level >= count * b[k]:
            break
        level += b[k]
        count += 1
    level /= count
    for k in range(g.size):
        top = cost if k == own else 0.0
        new = min(top, (level - g[k]) / curvature + alpha[k])
        change[k] = new - alpha[k]
        alpha[k] = new


@verb
def row_scores(rows: Rows, i: int, table: Array, out: Array) -> None:
    """out = row i times the table (without its last row)."""
    if isinstance(rows, Dense):
        out[:] = rows.values[i] @ table[:-1]
    else:
        s = slice(rows.indptr[i], rows.indptr[i + 1])
        out[:] = rows.data[s] @ table[rows.indices[s]]


@verb
def row_outer_add(rows: Rows, i: int, change: Array, table: Array) -> None:
    """Add row i, times a change for each class, to the table."""
    if isinstance(rows, Dense):
        table[:-1] += np.outer(rows.values[i], change)
    else:
        s = slice(rows.indptr[i], rows.indptr[i + 1])
        np.add.at(table, rows.indices[s], np.outer(rows.data[s], change))


def _is_dense(kind: Any) -> bool:
    return getattr(kind, "instance_class", None) is Dense


@implement(row_scores)
def _row_scores(rows, i, table, out):
    if _is_dense(rows):

        def dense(rows, i, table, out):
            x = rows.values[i]
            for k in range(out.size):
                out[k] = 0.0
            for j in range(x.size):
                for k in range(out.size):
                    out[k] += x[j] * table[j, k]

        return dense

    def compressed(rows, i, table, out):
        x = rows.data[rows.indptr[i] : rows.indptr[i + 1]]
        at = rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
        for k in range(out.size):
            out[k] = 0.0
        for s in range(x.size):
            w = table[np.uint64(at[s])]
            for k in range(out.size):
                out[k] += x[s] * w[k]

    return compressed


@implement(row_outer_add)
def _row_outer_add(rows, i, change, table):
    if _is_dense(rows):

        def dense(rows, i, change, table):
            x = rows.values[i]
            for j in range(x.size):
                for k in range(change.size):
                    table[j, k] += x[j] * change[k]

        return dense

    def compressed(rows, i, change, table):
        x = rows.data[rows.indptr[i] : rows.indptr[i + 1]]
        at = rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
        for s in range(x.size):
            w = table[np.uint64(at[s])]
            for k in range(change.size):
                w[k] += x[s] * change[k]

    return compressed

"""Dual coordinate descent on the Gram matrix, in one compiled loop: for few rows.

The gradient of the dual is kept up to date, so that a change of one variable is a multiple of a row of the Gram
matrix. After some passes, the free variables solve a linear system (see `active_set`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.kernel import inner, kernel
from tercet.svm._linear.active_set import active_set_steps
from tercet.svm._linear.dual_coordinate import MAX_FREE, PATIENCE, DualCoordinateDescent
from tercet.svm._linear.problem import LinearProblem

Array = np.ndarray
ROWS = 300
ENTRIES = 100_000  # numbers in X as an array
FIRST = 12  # passes after which the free variables are first solved for
ORDERS = 16  # orders that are drawn at once; how many passes a call makes must not change them
GOING, DONE, DEPENDENT = range(3)


def suits(X: Any) -> bool:
    """Whether the Gram matrix of the rows takes no time to speak of."""
    n, d = X.shape
    return n <= ROWS and n * d <= ENTRIES


def gram_matrix(X: Any, bias: float) -> Array:
    """Inner products of all rows, the intercept's feature included."""
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # the norms are checked
        return X @ X.T + bias**2


class GramCoordinateDescent(DualCoordinateDescent):
    """`DualCoordinateDescent` with all passes in a call.

    Parameters are as there.
    """

    quick = True

    def __init__(self, problem: LinearProblem, tol: float, rng: np.random.Generator) -> None:
        self.gram = gram_matrix(problem.X, problem.bias) if problem.gram is None else problem.gram
        super().__init__(problem, tol, rng)
        self.patience = FIRST
        self.slope = -problem.target
        self.orders = np.empty((0, 0), dtype=np.int64)

    def _squares(self) -> Array:
        found = self.gram.diagonal()
        return found if np.isfinite(found).all() else super()._squares()  # which names the row

    def _restrict(self, chosen: Array, X: Any, threshold: float = np.inf) -> None:
        """Go on with all rows: they are visited by way of the Gram matrix."""
        self.rows = chosen
        self.parts = [self.problem.target, self.low, self.high, self.curvature, self.ridge, self.beta]
        self.active, self.threshold = np.ones(chosen.size, dtype=np.bool_), threshold

    def epoch(self) -> None:
        """One pass over the active rows."""
        self.run(1)

    def run(self, limit: int, trace: list | None = None) -> int:
        """Up to `limit` passes, and their number; `trace` gets objective and violation of each."""
        count = 0
        while count < limit and not self.done:
            target, low, high, curvature, ridge, beta = self.parts
            place = self.passes % ORDERS
            if not place:
                self.orders = self.rng.permuted(np.tile(np.arange(self.beta.size), (ORDERS, 1)), axis=1)
            orders = self.orders[place : place + limit - count]
            numbers = np.empty((len(orders), 2))
            made, self.patience, self.threshold, end = descend(
                self.gram, orders, target, low, high, curvature, ridge, beta, self.slope, self.problem.epsilon,
                self.threshold, self.active, self.tol, self.passes, self.patience, numbers,
            )  # fmt: skip
            self.objective, self.violation = (float(x) for x in numbers[made - 1])
            self.passes += int(made)
            count += int(made)
            self.done = end == DONE
            if end == DEPENDENT:
                self.patience = self.passes + max(PATIENCE, self._free().size)
                self.v = self.problem.transpose_times(self.beta)
                self.done = self._refine()
                self.slope = self._gradient()
                numbers[made - 1] = self.objective, self.violation
            if trace is not None:
                trace += numbers[:made].tolist()
        self.v = self.problem.transpose_times(self.beta)
        return count


@kernel
def descend(
    gram, orders, target, low, high, curvature, ridge, beta, slope, epsilon, threshold, active, tol, passes,
    patience, numbers,
):  # fmt: skip
    """Passes over the active rows until tol; objective and violation of each go to `numbers`.

    Every so many passes, and where all conditions are met, the free variables are solved for. Returns how many
    passes were made, after which the system comes next, the threshold of shrinking, and how it ended.
    """
    for k in range(orders.shape[0]):
        up, down = visit(
            gram, orders[k], low, high, curvature, ridge, beta, slope, epsilon, threshold, active
        )
        threshold = max(up, down)
        violation, end = up + down, GOING
        if violation <= tol or passes + k + 1 >= patience:
            whole = True
            for i in range(beta.size):
                whole = whole and active[i]
                active[i] = True
            threshold = np.inf
            regular, count = solve_free(gram, ridge, target, low, high, epsilon, beta, slope)
            patience, few = passes + k + 1 + max(FIRST, count // 8), count <= MAX_FREE  # more take longer
            if few and not regular:
                end = DEPENDENT
            elif few and regular:
                violation = largest_violation(low, high, epsilon, beta, slope)
                end = DONE if violation <= tol else GOING
            elif violation <= tol and whole:
                end = DONE
        objective = 0.0
        for i in range(beta.size):
            objective += 0.5 * beta[i] * (slope[i] - target[i]) + epsilon * abs(beta[i])
        numbers[k, 0], numbers[k, 1] = objective, violation
        if end != GOING:
            return k + 1, patience, threshold, end
    return orders.shape[0], patience, threshold, GOING


@inner
def visit(gram, order, low, high, curvature, ridge, beta, slope, epsilon, threshold, active):
    """Each active row's beta to its minimum; returns the largest projected gradients up and down."""
    up, down = 0.0, 0.0
    for s in range(order.size):
        i = order[s]
        if not active[i]:
            continue
        a, g = beta[i], slope[i]
        right, left = one_sided(a, g, epsilon)
        slack = np.inf
        if a < high[i]:
            slack = right
        if a > low[i] and -left < slack:
            slack = -left
        if slack > threshold:
            active[i] = False
        elif slack < 0.0:
            if slack == -left:
                down = max(down, -slack)
            else:
                up = max(up, -slack)
            z = a - g / curvature[i]
            t = epsilon / curvature[i]
            z = z - t if z > t else (z + t if z < -t else 0.0)
            z = min(max(z, low[i]), high[i])
            beta[i] = z
            add_row(gram[i], z - a, slope)
            slope[i] += ridge[i] * (z - a)
    return up, down


@inner
def one_sided(a, g, epsilon):
    """Derivatives of g + epsilon |a| to the right and to the left."""
    return g + epsilon if a >= 0 else g - epsilon, g + epsilon if a > 0 else g - epsilon


@inner
def add_row(row, factor, out):
    """out += factor times row."""
    for j in range(row.size):
        out[j] += factor * row[j]


@inner
def solve_free(gram, ridge, target, low, high, epsilon, beta, slope):
    """Active-set steps for the free variables, and the gradient after them.

    Returns whether their rows are linearly independent (and few enough), and how many they are.
    """
    n, count = beta.size, 0
    free, kink = np.empty(n, dtype=np.int64), epsilon > 0.0
    for i in range(n):
        if low[i] < beta[i] < high[i] and (beta[i] != 0.0 or not kink):
            free[count] = i
            count += 1
    if count > MAX_FREE:
        return False, count
    along = slope.copy()
    for i in range(n):
        along[i] += epsilon if beta[i] > 0 else -epsilon
    regular = active_set_steps(gram, ridge, free[:count], along, beta, low, high, kink)
    for i in range(n):
        slope[i] = ridge[i] * beta[i] - target[i]
    for i in range(n):
        if beta[i] != 0.0:
            add_row(gram[i], beta[i], slope)
    return regular, count


@inner
def largest_violation(low, high, epsilon, beta, slope):
    """Twice the largest violation of the conditions of optimality."""
    worst = 0.0
    for i in range(beta.size):
        right, left = one_sided(beta[i], slope[i], epsilon)
        if beta[i] < high[i]:
            worst = max(worst, -right)
        if beta[i] > low[i]:
            worst = max(worst, left)
    return 2.0 * worst

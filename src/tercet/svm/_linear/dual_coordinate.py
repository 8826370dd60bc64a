"""Dual coordinate descent (对偶坐标下降) for linear machines.

    min over beta of  |X'beta|^2 / 2 + ridge·beta^2 / 2 - target·beta + epsilon |beta|_1,   low <= beta <= high

One row at a time: its beta goes to the minimum of a parabola, and v = X'beta is updated. Rows whose beta is at a
bound with some slack are left out (shrinking) until the others are solved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.cache_lines import LINE, fetch_line
from tercet.core.kernel import implement, kernel, verb
from tercet.core.rows import Dense, Rows, row_add, row_dot, row_square, rows
from tercet.svm._linear.active_set import active_set_steps
from tercet.svm._linear.problem import LinearProblem, bytes_per_row

Array = np.ndarray
CACHE = 1 << 22  # bytes of rows that may be visited in any order at full speed
RUN = 16  # consecutive rows that are visited at about the same time in larger data
WINDOW = 64 * RUN  # rows of several runs, shuffled among each other
AHEAD = 4  # rows to prefetch
PART = 1 << 24  # numbers read between two checks for Ctrl-C
COMPACT = 0.6  # active rows are copied together when they fall below this share
MAX_FREE = 200  # free variables up to which a linear system refines the solution
PATIENCE = 20  # passes after which that is first tried
DENSE = 1 << 20  # numbers of sparse rows that are faster multiplied as an array


class DualCoordinateDescent:
    """Dual coordinate descent with shrinking for one `LinearProblem`.

    Parameters
    ----------
    problem : LinearProblem
    tol : float
        Ends when the largest projected gradients in both directions add up to no more, relative to the largest
        target.
    rng : Generator
        Decides the order of the rows.

    Attributes
    ----------
    v, beta : arrays
        The weights (the intercept's last) and the dual variables.
    objective, violation : float
        Of the minimised dual, and of its optimality conditions (what `tol` bounds).
    done : bool
    """

    def __init__(self, problem: LinearProblem, tol: float, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng
        n, d = problem.shape
        self.v, self.beta = np.zeros(d + 1), np.zeros(n)
        self.low, self.high = problem.bounds
        self.ridge = problem.ridge
        self.kink = problem.epsilon > 0  # at 0, in regression; in classification 0 is a bound
        # a row of zeros has no curvature: its beta goes to a bound in one step
        self.curvature = np.maximum(self._squares() + self.ridge, 1e-200)
        self.tol = tol * max(float(np.abs(problem.target).max()), 1e-300)
        self.objective, self.violation, self.done = 0.0, np.inf, False
        self.passes, self.patience = 0, PATIENCE
        self._restrict(np.arange(n), problem.X)

    def _squares(self) -> Array:
        """Squared norms of the rows, with the intercept's feature."""
        return squared_norms(self.problem.X) + self.problem.bias**2

    def _restrict(self, chosen: Array, X: Any, threshold: float = np.inf) -> None:
        """Go on with some of the rows, copied together in X."""
        self.rows, self.X, self.data = chosen, X, rows(X)
        whole = chosen.size == self.beta.size
        parts = (self.problem.target, self.low, self.high, self.curvature, self.ridge, self.beta)
        self.parts = [part if whole else part[chosen] for part in parts]
        self.active = np.ones(chosen.size, dtype=np.bool_)
        self.threshold = threshold  # of shrinking: variables with more slack are left out

    def epoch(self) -> None:
        """One pass over the active rows."""
        order = visiting_order(np.flatnonzero(self.active), bytes_per_row(self.X), self.rng)
        up, down, (target, low, high, curvature, ridge, beta) = 0.0, 0.0, self.parts
        for part in order_parts(order, bytes_per_row(self.X)):
            *worst, fall = sweep(
                self.data, part, target, low, high, curvature, ridge, beta,
                self.v, self.problem.bias, self.problem.epsilon, self.threshold, self.active,
            )  # fmt: skip
            up, down, self.objective = max(up, worst[0]), max(down, worst[1]), self.objective - fall
        self.violation, self.threshold = up + down, max(up, down)
        self.passes += 1
        if self.violation <= self.tol:
            self._check_shrunk_rows()
        elif self.passes == self.patience:
            self._store_beta()
            free = self._free().size
            self.patience += max(PATIENCE, free)  # more of them take longer
            self.done = free <= MAX_FREE and self._refine()
        elif np.count_nonzero(self.active) < COMPACT * self.active.size:
            left = np.flatnonzero(self.active)
            self._store_beta()
            self._restrict(self.rows[left], self.X[left], self.threshold)

    def _store_beta(self) -> None:
        """Copy the beta of the active rows back."""
        if self.rows.size < self.beta.size:
            self.beta[self.rows] = self.parts[-1]

    def _check_shrunk_rows(self) -> None:
        """The active rows are solved: done if the others are, too."""
        whole = bool(self.active.all()) and self.rows.size == self.beta.size
        self._store_beta()
        if self._free().size <= MAX_FREE:
            self.done = self._refine()
        elif whole:
            self.done = True
        else:
            self._restrict(np.arange(self.beta.size), self.problem.X)

    def _free(self) -> Array:
        """Variables strictly between bounds and kinks."""
        between = (self.beta > self.low) & (self.beta < self.high)
        return np.flatnonzero(between & (self.beta != 0) if self.kink else between)

    def _refine(self) -> bool:
        """Active-set refinement, where few variables are free: for those the conditions are linear.

        A solution within tol depends on the path; a row of weight 2 and the same row twice should give the same.
        Returns whether the result is optimal within tol.
        """
        self._store_beta()
        start = -self.problem.dual_objective(self.beta, self.v), self.beta.copy(), self.v
        free, arrived = self._free(), False
        chosen, gram = free, self._gram(free) if 0 < free.size <= MAX_FREE else np.empty((0, 0))
        if gram.size:
            at, slope, low, high = self.beta[free], self._slope(free), self.low[free], self.high[free]
            every, ridge = np.arange(free.size), self.ridge[free]
            arrived = active_set_steps(gram, ridge, every, slope, at, low, high, self.kink)
            self.beta[free] = at
            self.v = self.problem.transpose_times(self.beta)
            free = self._free()
        while 0 < free.size <= MAX_FREE and not arrived:  # linearly dependent rows
            at, place = self.beta[free], np.searchsorted(chosen, free)
            hessian = gram[np.ix_(place, place)] + np.diag(self.ridge[free])
            step = newton_step(hessian, self._slope(free), float(self.ridge[free].min()))
            # up to the nearest bound or kink, where one variable is fixed
            bound = np.where(step > 0, self.high[free], self.low[free])
            if self.kink:
                bound = np.where(step * at < 0, 0.0, bound)
            length = np.full(step.size, np.inf)
            np.divide(bound - at, step, out=length, where=step != 0)
            first = int(np.argmin(length))
            arrived = length[first] >= 1.0
            self.beta[free] = at + min(1.0, length[first]) * step
            if not arrived:
                self.beta[free[first]] = bound[first]
            self.v = self.problem.transpose_times(self.beta)
            free = self._free()
        self.objective = -self.problem.dual_objective(self.beta, self.v)
        if not self.objective <= start[0] + 1e-9 * abs(start[0]):
            # rounding, where norms or weights of rows lie far apart, can spoil a long step
            self.objective, self.beta, self.v = start
        self.violation = self._max_violation()
        self._restrict(np.arange(self.beta.size), self.problem.X)
        return self.violation <= self.tol

    def _slope(self, free: Array) -> Array:
        """Derivatives of the dual in free variables."""
        return self._gradient()[free] + self.problem.epsilon * np.sign(self.beta[free])

    def _gradient(self) -> Array:
        """Gradient of the dual without the kink of epsilon |beta|."""
        problem = self.problem
        return problem.scores(self.v) - problem.target + self.ridge * self.beta

    def _max_violation(self) -> float:
        """Twice the largest violation among all rows."""
        g, a, epsilon = self._gradient(), self.beta, self.problem.epsilon
        right, left = g + np.where(a >= 0, epsilon, -epsilon), g + np.where(a > 0, epsilon, -epsilon)
        slack = np.minimum(np.where(a < self.high, right, np.inf), np.where(a > self.low, -left, np.inf))
        return 2 * max(0.0, -float(slack.min()))

    def _gram(self, free: Array) -> Array:
        X = self.problem.X[free]
        if sparse.issparse(X) and X.shape[0] * X.shape[1] <= DENSE:
            X = X.toarray()
        gram = X @ X.T
        gram = gram.toarray() if sparse.issparse(gram) else gram
        return gram.astype(np.float64, copy=False) + self.problem.bias**2


def newton_step(H: Array, g: Array, least: float) -> Array:
    """The minimum-norm step with H step = -g; if there is none, a long one down the null space of H.

    `least` is a lower bound of the eigenvalues of H, whatever rounding makes of them.
    """
    curvature, U = np.linalg.eigh(H)
    part = U.T @ g
    if least > 0:
        return -(U @ (part / np.maximum(curvature, least)))
    flat = curvature <= 1e-13 * len(g) * curvature[-1]
    if np.linalg.norm(part[flat]) > 1e-9 * np.linalg.norm(part):
        return U[:, flat] @ part[flat] * -1e100
    return -(U[:, ~flat] @ (part[~flat] / curvature[~flat]))


def visiting_order(rows: Array, size: float, rng: np.random.Generator) -> Array:
    """A random order of rows; of large data, runs of consecutive rows in random order, shuffled within windows.

    Rows far apart cost more to fetch than to process. But the same neighbours in turn, pass after pass, make the
    descent several times slower.
    """
    if rows.size * size <= CACHE:
        return rng.permutation(rows)
    runs = rng.permutation(-(-rows.size // RUN))
    order, keys = np.empty_like(rows), rng.integers(0, 1 << 32, rows.size, dtype=np.uint32)
    shuffle_runs(rows, runs, RUN, WINDOW, keys, order)
    return order


def order_parts(order: Array, size: float) -> list[Array]:
    """An order in parts of short duration (Ctrl-C is noticed between them); `size` is the memory of a row."""
    step = max(1, PART // max(1, int(size) // 8))
    return np.split(order, range(step, order.size, step))


@kernel
def shuffle_runs(rows, runs, run, window, keys, out):
    """The runs in their order, shuffled within windows (Fisher-Yates); keys are random 32-bit numbers."""
    place = 0
    for r in range(runs.size):
        for i in range(runs[r] * run, min(runs[r] * run + run, rows.size)):
            # each row changes places with one before it in its window
            back = (np.uint64(keys[place]) * np.uint64(place % window + 1)) >> np.uint64(32)
            other = place - np.int64(back)
            out[place] = out[other]
            out[other] = rows[i]
            place += 1


def squared_norms(X: Any) -> Array:
    """Squared norms of all rows; an error where they overflow."""
    out = np.empty(X.shape[0])
    with np.errstate(over="ignore"):
        row_squares(rows(X), out)
    if not np.isfinite(out).all():
        row = int(np.argmin(np.isfinite(out)))
        raise ValueError(
            f"The values in row {row} of X are too large: their squares, added up, must be a finite {X.dtype}. "
            "Scale the features."
        )
    return out


@kernel
def row_squares(rows, out):
    """Squared norms of all rows."""
    for i in range(out.size):
        out[i] = row_square(rows, i)


@kernel
def sweep(rows, order, target, low, high, curvature, ridge, beta, v, bias, epsilon, threshold, active):
    """One pass of coordinate descent; returns the largest projected gradients up and down, and the decrease.

    Shapes: order (k,), v (n_features + 1,), all others (n_rows,). Updates beta, v and active.
    """
    up, down, fall = 0.0, 0.0, 0.0
    last = v.size - 1
    w = v[:last]
    for s in range(order.size):
        prefetch_row(rows, order[min(s + AHEAD, order.size - 1)])
        i = order[s]
        a = beta[i]
        g = row_dot(rows, i, w) + bias * v[last] - target[i] + ridge[i] * a
        right = g + epsilon if a >= 0 else g - epsilon  # one-sided derivatives
        left = g + epsilon if a > 0 else g - epsilon
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
            change = z - a
            beta[i] = z
            row_add(rows, i, change, w)
            v[last] += change * bias
            fall -= change * (g + 0.5 * change * curvature[i]) + epsilon * (abs(z) - abs(a))
    return up, down, fall


@verb
def prefetch_row(rows: Rows, i: int) -> None:
    """Prefetch row i: in a shuffled order the processor cannot guess which is next."""


@implement(prefetch_row)
def _prefetch_row(rows, i):
    if getattr(rows, "instance_class", None) is Dense:

        def dense(rows, i):
            width, step = np.uint64(rows.values.shape[1]), np.uint64(LINE // rows.values.itemsize)
            for place in range(np.uint64(i) * width, np.uint64(i) * width + width, step):
                fetch_line(rows.values, place)

        return dense

    def compressed(rows, i):
        first, last = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])
        for place in range(first, last, np.uint64(LINE // rows.data.itemsize)):
            fetch_line(rows.data, place)
        for place in range(first, last, np.uint64(LINE // rows.indices.itemsize)):
            fetch_line(rows.indices, place)

    return compressed

"""Dual coordinate descent (对偶坐标下降) for linear machines.

    min over beta of  |X'beta|^2 / 2 + ridge·beta^2 / 2 - target·beta + epsilon |beta|_1,   low <= beta <= high

A row at a time: its beta goes to the minimum of a parabola, and v = X'beta follows. Rows whose beta rests on a
bound with some slack are left out (shrinking) until the others are done.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from tercet.core.cache_lines import LINE, fetch_line
from tercet.core.kernel import implement, kernel, verb
from tercet.core.rows import Dense, Rows, row_add, row_dot, row_square
from tercet.svm.linear_problem import LinearProblem, frozen, row_bytes

Array = np.ndarray
CACHE = 1 << 22  # bytes of rows that may be visited in any order at full speed
RUN = 16  # neighbours that are visited at about the same time in larger data
WINDOW = 64 * RUN  # rows of several runs, which are visited in any order
AHEAD = 4  # rows that are asked for before they are needed
PART = 1 << 24  # numbers visited between two checks for Ctrl-C
COMPACT = 0.6  # rows that are left are copied together when they fall below this share
FEW = 200  # variables inside their bounds whose last digits a linear system may give
PATIENCE = 20  # passes after which it is first asked whether it can


class DualCoordinate:
    """One machine on its way.

    Parameters
    ----------
    problem : LinearProblem
    tol : float
        Ends when the steepest ways up and down that are open to a variable add up to no more, beside the largest
        target.
    rng : Generator
        Decides the order of the rows.

    Attributes
    ----------
    v, beta : arrays
        The weights (the intercept's last) and the dual variables.
    objective, violation : float
        Of the minimised dual; what `tol` is for.
    done : bool
    """

    def __init__(self, problem: LinearProblem, tol: float, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng
        n, d = problem.shape
        self.v, self.beta = np.zeros(d + 1), np.zeros(n)
        self.low, self.high = problem.bounds
        self.ridge = problem.ridge
        square = squared_lengths(problem.X)
        # a row of zeros has a straight line for a parabola: its beta goes to a bound in one step
        self.curve = np.maximum(square + problem.bias**2 + self.ridge, 1e-200)
        self.tol = tol * max(float(np.abs(problem.target).max()), 1e-300)
        self.objective, self.violation, self.done = 0.0, np.inf, False
        self.passes, self.patience = 0, PATIENCE
        self._take(np.arange(n), problem.X)

    def _take(self, rows: Array, X: Any, bar: float = np.inf) -> None:
        """Go on with some of the rows, copied together in X."""
        self.rows, self.X, self.data = rows, X, frozen(X)
        whole = rows.size == self.beta.size
        parts = (self.problem.target, self.low, self.high, self.curve, self.ridge, self.beta)
        self.parts = [part if whole else part[rows] for part in parts]
        self.alive = np.ones(rows.size, dtype=np.bool_)
        self.bar = bar

    def epoch(self) -> None:
        """One pass over the rows that are left."""
        order = visits(np.flatnonzero(self.alive), row_bytes(self.X), self.rng)
        up, down, (target, low, high, curve, ridge, beta) = 0.0, 0.0, self.parts
        for part in pieces(order, row_bytes(self.X)):
            *worst, fall = sweep(
                self.data, part, target, low, high, curve, ridge, beta,
                self.v, self.problem.bias, self.problem.epsilon, self.bar, self.alive,
            )  # fmt: skip
            up, down, self.objective = max(up, worst[0]), max(down, worst[1]), self.objective - fall
        self.violation, self.bar = up + down, max(up, down)
        self.passes += 1
        if self.violation <= self.tol:
            self._settle()
        elif self.passes == self.patience:
            self._put_back()
            free = self._free().size
            self.patience += max(PATIENCE, free)  # more of them take longer
            self.done = free <= FEW and self._polish()
        elif np.count_nonzero(self.alive) < COMPACT * self.alive.size:
            left = np.flatnonzero(self.alive)
            self._put_back()
            self._take(self.rows[left], self.X[left], self.bar)

    def _put_back(self) -> None:
        if self.rows.size < self.beta.size:
            self.beta[self.rows] = self.parts[-1]

    def _settle(self) -> None:
        """The rows that are left are done: are the others, too?"""
        whole = bool(self.alive.all()) and self.rows.size == self.beta.size
        self._put_back()
        if self._free().size <= FEW:
            self.done = self._polish()
        elif whole:
            self.done = True
        else:
            self._take(np.arange(self.beta.size), self.problem.X)

    def _free(self) -> Array:
        """Variables between bounds and kinks."""
        return np.flatnonzero((self.beta > self.low) & (self.beta < self.high) & (self.beta != 0))

    def _polish(self) -> bool:
        """The last digits, where few variables are left: between bounds and kinks the conditions are linear.

        A way that stops within tol ends at a place of its own; a row of weight 2 and the same row twice should end
        at one place. Whether that is the end.
        """
        self._put_back()
        start = -self.problem.dual(self.beta, self.v), self.beta.copy(), self.v
        free, arrived = self._free(), False
        while 0 < free.size <= FEW and not arrived:
            at, sign = self.beta[free], np.sign(self.beta[free])
            slope = self._slopes()[free] + self.problem.epsilon * sign
            step = level(self._gram(free), slope, float(self.ridge[free].min()))
            # up to the nearest bound or kink, where one variable stays
            wall = np.where(step * at > 0, np.where(at > 0, self.high[free], self.low[free]), 0.0)
            room = np.full(step.size, np.inf)
            np.divide(wall - at, step, out=room, where=step != 0)
            first = int(np.argmin(room))
            arrived = room[first] >= 1.0
            self.beta[free] = at + min(1.0, room[first]) * step
            if not arrived:
                self.beta[free[first]] = wall[first]
            self.v = self.problem.back(self.beta)
            free = self._free()
        self.objective = -self.problem.dual(self.beta, self.v)
        if not self.objective <= start[0] + 1e-9 * abs(start[0]):
            # rounding, where lengths or weights of rows lie far apart, can lead a long step astray
            self.objective, self.beta, self.v = start
        self.violation = self._worst()
        self._take(np.arange(self.beta.size), self.problem.X)
        return self.violation <= self.tol

    def _slopes(self) -> Array:
        problem = self.problem
        return problem.scores(self.v) - problem.target + self.ridge * self.beta

    def _worst(self) -> float:
        """The worst violation among all rows."""
        g, a, epsilon = self._slopes(), self.beta, self.problem.epsilon
        right, left = g + np.where(a >= 0, epsilon, -epsilon), g + np.where(a > 0, epsilon, -epsilon)
        slack = np.minimum(np.where(a < self.high, right, np.inf), np.where(a > self.low, -left, np.inf))
        return 2 * max(0.0, -float(slack.min()))

    def _gram(self, free: Array) -> Array:
        X = self.problem.X[free]
        gram = X @ X.T
        gram = gram.toarray() if sparse.issparse(gram) else gram
        return gram.astype(np.float64) + self.problem.bias**2 + np.diag(self.ridge[free])


def level(H: Array, g: Array, least: float) -> Array:
    """The least step with H step = -g; if there is none, a long one straight down, where H has no curvature.

    `least` is what is known of the curvature: there is no less of it, whatever rounding makes of H.
    """
    curve, U = linalg.eigh(H)
    part = U.T @ g
    if least > 0:
        return -(U @ (part / np.maximum(curve, least)))
    flat = curve <= 1e-13 * len(g) * curve[-1]
    if linalg.norm(part[flat]) > 1e-9 * linalg.norm(part):
        return U[:, flat] @ part[flat] * -1e100
    return -(U[:, ~flat] @ (part[~flat] / curve[~flat]))


def visits(rows: Array, size: float, rng: np.random.Generator) -> Array:
    """A random order; that of large data takes runs of neighbours from many places, and mixes them.

    Rows far apart cost more to fetch than to sweep. But the same neighbours in turn, pass after pass, slow the
    descent down several times: they answer to one another, not to the data.
    """
    if rows.size * size <= CACHE:
        return rng.permutation(rows)
    runs = rng.permutation(-(-rows.size // RUN))
    order, keys = np.empty_like(rows), rng.integers(0, 1 << 32, rows.size, dtype=np.uint32)
    mix(rows, runs, RUN, WINDOW, keys, order)
    return order


def pieces(order: Array, size: float) -> list[Array]:
    """An order in parts that each take a moment; `size` is the memory of a row."""
    step = max(1, PART // max(1, int(size) // 8))
    return np.split(order, range(step, order.size, step))


@kernel
def mix(rows, runs, run, window, keys, out):
    """The runs in their order, then every window of that shuffled."""
    place = 0
    for r in range(runs.size):
        for i in range(runs[r] * run, min(runs[r] * run + run, rows.size)):
            # each newcomer changes places with one of its window
            back = (np.uint64(keys[place]) * np.uint64(place % window + 1)) >> np.uint64(32)
            other = place - np.int64(back)
            out[place] = out[other]
            out[other] = rows[i]
            place += 1


def squared_lengths(X: Any) -> Array:
    """Those of all rows; an error where they are too large for a number."""
    out = np.empty(X.shape[0])
    with np.errstate(over="ignore"):
        squares(frozen(X), out)
    if not np.isfinite(out).all():
        row = int(np.argmin(np.isfinite(out)))
        raise ValueError(
            f"The values in row {row} of X are too large: their squares, added up, must be a finite {X.dtype}. "
            "Scale the features."
        )
    return out


@kernel
def squares(rows, out):
    """Squared lengths of all rows."""
    for i in range(out.size):
        out[i] = row_square(rows, i)


@kernel
def sweep(rows, order, target, low, high, curve, ridge, beta, v, bias, epsilon, bar, alive):
    """One pass of descent: the steepest ways up and down that were open, and how far the dual fell."""
    up, down, fall = 0.0, 0.0, 0.0
    last = v.size - 1
    w = v[:last]
    for s in range(order.size):
        row_fetch(rows, order[min(s + AHEAD, order.size - 1)])
        i = order[s]
        a = beta[i]
        g = row_dot(rows, i, w) + bias * v[last] - target[i] + ridge[i] * a
        right = g + epsilon if a >= 0 else g - epsilon  # the slopes to both sides
        left = g + epsilon if a > 0 else g - epsilon
        slack = np.inf
        if a < high[i]:
            slack = right
        if a > low[i] and -left < slack:
            slack = -left
        if slack > bar:
            alive[i] = False
        elif slack < 0.0:
            if slack == -left:
                down = max(down, -slack)
            else:
                up = max(up, -slack)
            z = a - g / curve[i]
            t = epsilon / curve[i]
            z = z - t if z > t else (z + t if z < -t else 0.0)
            z = min(max(z, low[i]), high[i])
            change = z - a
            beta[i] = z
            row_add(rows, i, change, w)
            v[last] += change * bias
            fall -= change * (g + 0.5 * change * curve[i]) + epsilon * (abs(z) - abs(a))
    return up, down, fall


@verb
def row_fetch(rows: Rows, i: int) -> None:
    """Ask for row i: in a mixed order the processor cannot guess which is next."""


@implement(row_fetch)
def _row_fetch(rows, i):
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

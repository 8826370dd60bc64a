"""Proximal Newton (近端牛顿法) for a smooth margin loss with a penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve, eigh

from tercet.core.kernel import kernel
from tercet.core.parallel import Chunks
from tercet.linear_model.logistic_newton import triangle
from tercet.linear_model.penalized import sweep
from tercet.losses import Loss
from tercet.penalties import L2, Penalty

Array = np.ndarray
ROUNDING = 1e-14  # of a sum of losses, as a share of it
FLAT = 1e-8  # curvature lent to rows that have none, as a share of the most that a row has
SHARE = 1e-2  # a model is minimised until what still moves is this share of what moved at first
ROUNDS = 30  # of sweeps and a jump on one model: what is left then is for the next model
NEAR, FEW = 0.1, 3  # with a residual above, the next model will be another one, and few rounds are enough
SWEEPS = 10  # between two jumps
WORK = 2e8  # multiplications in one kernel call, within which Ctrl-C has to wait


class MarginNewton:
    """One hyperplane: the losses become a parabola, to whose minimum with the penalty a step leads.

    min over w, b of  penalty(w) + sum_i cost_i loss(y_i, x_i·w + b)

    `prox` is what `sweep` wants to know of the penalty: its code, q and l1_ratio.
    """

    def __init__(
        self,
        X: Any,
        y: Array,
        cost: Array,
        loss: Loss,
        penalty: Penalty,
        prox: tuple[int, float, float],
        intercept: bool,
        tol: float,
    ) -> None:
        self.X, self.y, self.cost, self.loss, self.penalty = X, y, cost, loss, penalty
        self.prox, self.intercept, self.tol = prox, intercept, tol
        self.u, self.b, self.residual, self.done = np.zeros(X.shape[1]), 0.0, np.inf, False
        self.scores, self.extra, self.fall = np.zeros(y.size), np.zeros(y.size), np.inf

    def advance(self) -> None:
        """One pass: the parabola at the plane, its minimum with the penalty, a step that goes down."""
        g = self.cost * self.loss.gradient(self.y, self.scores)
        curve = self.loss.curvature(self.y, self.scores)
        top = float(curve.max())
        D = self.cost * (np.maximum(curve, self.extra) + FLAT * (top if top > 0 else 1.0))
        # the best intercept for given weights is what centres the columns, with D for weights
        mass = float(D.sum())
        center = (self.X.T @ D) / mass if self.intercept else np.zeros(self.u.size)
        rest = float(g.sum()) if self.intercept else 0.0
        slope, H = self.X.T @ g - center * rest, self._hessian(D, center)
        value = self.objective()
        u = self._minimum(slope, H, 0.1 * self.tol * np.sqrt(value))
        du = u - self.u
        db = -rest / mass - float(center @ du)
        ds = self.X @ du + db
        gain = float(g @ ds) + self.penalty.value(u) - self.penalty.value(self.u)
        # What the model falls by, or a bound of it: near the end only that keeps digits.
        bend = 0.5 * float(D @ ds**2 + self.penalty.curvature(u) @ du**2)
        last, self.fall = self.fall, max(bend, -gain - ROUNDING * value)
        self.residual = float(np.sqrt(self.fall / max(value, 1e-300)))
        lower = self._step(u, du, db, ds, value, gain)
        tight = self.fall <= ROUNDING * value and self.fall > 0.25 * last  # no digits are left to win
        self.done = self.residual <= self.tol or tight or not lower

    def objective(self) -> float:
        """The value at the plane; infinite where a loss overflows."""
        return self._value(self.u, self.scores)

    def _value(self, u: Array, scores: Array) -> float:
        return float(self.penalty.value(u) + self.cost @ self.loss.value(self.y, scores))

    def _hessian(self, D: Array, center: Array) -> Array:
        """X'DX of columns less their centres."""
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(self.X):
                H = (self.X.T @ (sparse.diags_array(D) @ self.X)).toarray()
                H -= np.outer(center * D.sum(), center)
            else:
                H = np.zeros((center.size, center.size))
                for rows, root in Chunks(self.X, np.sqrt(D)):  # a copy of a few rows at a time, not of all
                    part = (rows - center) * root[:, None]
                    H += part.T @ part
        return finite(H)

    def _minimum(self, slope: Array, H: Array, enough: float) -> Array:
        """argmin over v of  slope·(v - w) + (v - w)'H(v - w) / 2 + penalty(v)."""
        if isinstance(self.penalty, L2):
            return self.u - solve(H, self.penalty.curvature(self.u), slope, self.penalty.gradient(self.u))
        v, G = self.u.copy(), np.asfortranarray(0.5 * H)  # sweeps go down columns
        c, Gd = -0.5 * slope, np.zeros(v.size)
        most = int(max(1, min(SWEEPS, WORK // v.size**2)))
        first = 0.0
        rounds = ROUNDS if self.residual < NEAR else FEW
        for k in range(rounds):
            begun, moved = settle(G, c, v, Gd, *self.prox, max(enough, SHARE * first), most)
            first = max(first, begun)
            # coordinates that crawl look as if they had arrived: that they have, they must show after a jump
            if moved == 0 or (k > 0 and moved <= max(enough, SHARE * first)):
                break
            self._jump(G, c, v, Gd, rounds)
        return v

    def _jump(self, G: Array, c: Array, v: Array, Gd: Array, rounds: int) -> None:
        """Newton's steps of the model among weights that are not zero; one that would change its sign ends at 0.

        With L1 that is, as soon as zeros and signs are right, the model's minimum itself.
        """
        for _ in range(rounds):
            on = np.flatnonzero(v)
            if on.size == 0:
                return
            here, H = v[on], 2.0 * G[np.ix_(on, on)]
            slope = 2.0 * (Gd[on] - c[on])
            p = -solve(H, self.penalty.curvature(here), slope, self.penalty.gradient(here))
            cost = self.penalty.value(here)
            with np.errstate(divide="ignore"):
                turn = np.where(here * p < 0, -here / p, np.inf)  # where signs change, as shares of p
            for t in (1.0, 0.5, 0.25, 0.125, float(turn.min())):
                new = np.where(turn <= t, 0.0, here + t * p)
                change = new - here
                model = float(change @ (slope + 0.5 * (H @ change))) + self.penalty.value(new)
                if t <= 1 and model <= cost * (1 + 1e-15):
                    v[on] = new
                    Gd += G[:, on] @ change
                    break
            else:
                return
            if new.all():
                return

    def _step(self, u: Array, du: Array, db: float, ds: Array, value: float, gain: float) -> bool:
        """Go as far towards u as it goes down enough: all the way, half of it ...; whether there is such a step."""
        self.extra = 0.1 * self.extra
        with np.errstate(over="ignore", invalid="ignore"):
            for halvings in range(60):
                t = 0.5**halvings
                point = u if t == 1 else self.u + t * du
                most = value + 1e-4 * t * min(gain, 0.0) + ROUNDING * value
                if self._value(point, self.scores + t * ds) <= most:
                    if t < 1 and np.isfinite(self.loss.smoothness):
                        self.extra = np.maximum(self.extra, self._secant(ds))
                    self.u, self.b = point, self.b + t * db
                    self.scores = self.X @ self.u + self.b
                    return True
        return False

    def _secant(self, ds: Array) -> Array:
        """The curvature that would have told each row's loss at the end of a step that was too long.

        Rows that are flat where they are, and steep where they come to, show in no second derivative.
        """
        here, slope = self.loss.value_and_gradient(self.y, self.scores)
        over = self.loss.value(self.y, self.scores + ds) - here - slope * ds
        return np.minimum(2.0 * over / np.maximum(ds**2, 1e-300), self.loss.smoothness)


def finite(H: Array) -> Array:
    """H, whose entries are sums of squares, where they are numbers."""
    if not np.isfinite(H).all():
        raise ValueError(
            "The values of X are too large: their squares, added up, must be finite. Scale the features."
        )
    return H


def solve(H: Array, bend: Array, slope: Array, pull: Array) -> Array:
    """(H + diag(bend))^-1 (slope + pull): H and slope are those of the losses, bend and pull of the penalty.

    Where columns repeat others, H has no inverse or only rounding has one. There the penalty alone decides, whose
    pull is exact; what rounding makes of a slope of 0 must not count.
    """
    width = np.sqrt(
        np.maximum(np.diag(H) + bend, 1e-300)
    )  # rounding is not to depend on the units of features
    A = H / width / width[:, None] + np.diag(bend / width**2)
    L = triangle(A, np.float64)
    if L is not None:
        return cho_solve((L, True), (slope + pull) / width, check_finite=False) / width
    curve, U = eigh(A, check_finite=False)
    z = U.T @ ((slope + pull) / width)
    noise = 1e-13 * np.linalg.norm(slope / width) + 1e-8 * np.linalg.norm(pull / width)
    least = 1e2 * np.finfo(float).eps * curve[-1]
    return U @ (np.where((curve <= least) & (np.abs(z) <= noise), 0.0, z) / np.maximum(curve, least)) / width


@kernel
def settle(G, c, w, Gd, code, q, ratio, enough, most):
    """Sweeps until the weights move by no more than `enough`; how far the first and the last sweep moved them.

    Gd is G times what they have moved since c was -1/2 of the slope: like that no large products cancel.
    """
    first = last = 0.0
    for k in range(most):
        before = w.copy()
        sweep(G, c, w, Gd, 1.0, code, q, ratio)
        last = 0.0
        for j in range(w.size):
            last += 2.0 * G[j, j] * (w[j] - before[j]) ** 2
        last = np.sqrt(last)
        if k == 0:
            first = last
        if last <= enough:
            break
    return first, last

"""Proximal Newton (近端牛顿法) for a smooth margin loss with a penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve, eigh

from tercet.core.kernel import kernel
from tercet.core.parallel import Chunks
from tercet.core.stopping import check_stop
from tercet.linear_model._logistic.solvers import cholesky_factor
from tercet.linear_model._penalized.quadratic_sweep import quadratic_sweep
from tercet.losses import Loss
from tercet.penalties import L2, Penalty

Array = np.ndarray
ROUNDING = 1e-14  # of a sum of losses, as a share of it
MIN_CURVATURE = 1e-8  # of a row's loss, as a share of the largest: the model must be bounded below
INNER_TOL = (
    1e-2  # a quadratic model is minimised until a sweep moves w by this share of the first sweep's move
)
ROUNDS = 30  # of sweeps and a Newton step on one model; what is left then is for the next model
FAR, FEW_ROUNDS = 0.1, 3  # with a residual above FAR the next model will differ much: few rounds are enough
SWEEPS = 10  # between two Newton steps
WORK = 2e8  # multiplications in one kernel call, within which Ctrl-C has to wait


class ProximalNewton:
    """State of the proximal Newton solver for one hyperplane: quadratic models of the losses, minimised with the
    penalty by coordinate descent, and a line search.

    min over w, b of  penalty(w) + sum_i cost_i loss(y_i, x_i·w + b)

    `prox` are the penalty's arguments of `quadratic_sweep`: its code, q and l1_ratio.
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
        self.scores, self.secant, self.decrease = np.zeros(y.size), np.zeros(y.size), np.inf

    def start(self, u: Array, b: float) -> None:
        """Begin at the weights u and the intercept b."""
        self.u, self.b = u.copy(), b
        self.scores = self.X @ u + b

    def advance(self) -> None:
        """One pass: the quadratic model at (w, b), its minimum with the penalty, a line search towards it."""
        g = self.cost * self.loss.gradient(self.y, self.scores)
        curvature = self.loss.curvature(self.y, self.scores)
        top = float(curvature.max())
        D = self.cost * (np.maximum(curvature, self.secant) + MIN_CURVATURE * (top if top > 0 else 1.0))
        # eliminating the intercept of the model centres the columns on their means under the weights D
        mass = float(D.sum())
        center = (self.X.T @ D) / mass if self.intercept else np.zeros(self.u.size)
        intercept_slope = float(g.sum()) if self.intercept else 0.0
        slope, H = self.X.T @ g - center * intercept_slope, self._hessian(D, center)
        value = self.objective()
        u = self._minimum(slope, H, 0.1 * self.tol * np.sqrt(value))
        du = u - self.u
        db = -intercept_slope / mass - float(center @ du)
        ds = self.X @ du + db
        gain = float(g @ ds) + self.penalty.value(u) - self.penalty.value(self.u)
        # The predicted decrease, or a lower bound of it that does not cancel near the minimum.
        bend = np.maximum(self.penalty.curvature(u), 0.0)  # negative where the penalty is not convex
        quadratic = 0.5 * float(D @ ds**2 + bend @ du**2)
        last, self.decrease = self.decrease, max(quadratic, -gain - ROUNDING * value)
        self.residual = float(np.sqrt(self.decrease / max(value, 1e-300)))
        lower = self._step(u, du, db, ds, value, gain)
        at_rounding_level = self.decrease <= ROUNDING * value and self.decrease > 0.25 * last
        self.done = self.residual <= self.tol or at_rounding_level or not lower

    def objective(self) -> float:
        """The objective at the current hyperplane; infinite where a loss overflows."""
        return self._value(self.u, self.scores)

    def _value(self, u: Array, scores: Array) -> float:
        return float(self.penalty.value(u) + self.cost @ self.loss.value(self.y, scores))

    def _hessian(self, D: Array, center: Array) -> Array:
        """X'DX of the centred columns."""
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(self.X):
                H = (self.X.T @ (sparse.diags_array(D) @ self.X)).toarray()
                H -= np.outer(center * D.sum(), center)
            else:
                H = np.zeros((center.size, center.size))
                for rows, root in Chunks(self.X, np.sqrt(D)):  # a copy of a few rows at a time, not of all
                    part = (rows - center) * root[:, None]
                    H += part.T @ part
        return check_finite(H)

    def _minimum(self, slope: Array, H: Array, enough: float) -> Array:
        """argmin over v of  slope·(v - w) + (v - w)'H(v - w) / 2 + penalty(v)."""
        if isinstance(self.penalty, L2):
            return self.u - solve_regularised(
                H, self.penalty.curvature(self.u), slope, self.penalty.gradient(self.u)
            )
        v, G = self.u.copy(), np.asfortranarray(0.5 * H)  # sweeps go down columns
        c, Gd = -0.5 * slope, np.zeros(v.size)
        most = int(max(1, min(SWEEPS, WORK // v.size**2)))
        first = 0.0
        rounds = ROUNDS if self.residual < FAR else FEW_ROUNDS
        for k in range(rounds):
            check_stop()
            begun, moved = sweeps_until_still(G, c, v, Gd, *self.prox, max(enough, INNER_TOL * first), most)
            first = max(first, begun)
            # slow coordinates look converged: they must still be so after a Newton step
            if moved == 0 or (k > 0 and moved <= max(enough, INNER_TOL * first)):
                break
            self._newton_steps(G, c, v, Gd, rounds)
        return v

    def _newton_steps(self, G: Array, c: Array, v: Array, Gd: Array, rounds: int) -> None:
        """Newton steps of the model in the nonzero weights; a weight that would change its sign is set to 0.

        With L1 and the right zeros and signs, one step is the exact minimum of the model.
        """
        for _ in range(rounds):
            on = np.flatnonzero(v)
            if on.size == 0:
                return
            here, H = v[on], 2.0 * G[np.ix_(on, on)]
            slope = 2.0 * (Gd[on] - c[on])
            p = -solve_regularised(H, self.penalty.curvature(here), slope, self.penalty.gradient(here))
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
        """Backtracking line search towards u; whether a step with enough decrease was found."""
        self.secant = 0.1 * self.secant
        with np.errstate(over="ignore", invalid="ignore"):
            for halvings in range(60):
                t = 0.5**halvings
                point = u if t == 1 else self.u + t * du
                most = value + 1e-4 * t * min(gain, 0.0) + ROUNDING * value
                if self._value(point, self.scores + t * ds) <= most:
                    if t < 1 and np.isfinite(self.loss.smoothness):
                        self.secant = np.maximum(self.secant, self._secant(ds))
                    self.u, self.b = point, self.b + t * db
                    self.scores = self.X @ self.u + self.b
                    return True
        return False

    def _secant(self, ds: Array) -> Array:
        """Each row's secant curvature along a step that was too long, at most the loss's smoothness constant.

        A loss that is flat at the current score and steep at the next has no second derivative to show it.
        """
        here, slope = self.loss.value_and_gradient(self.y, self.scores)
        over = self.loss.value(self.y, self.scores + ds) - here - slope * ds
        return np.minimum(2.0 * over / np.maximum(ds**2, 1e-300), self.loss.smoothness)


def check_finite(H: Array) -> Array:
    """H, or an error where its sums of squares overflow."""
    if not np.isfinite(H).all():
        raise ValueError(
            "The values of X are too large: their squares, added up, must be finite. Scale the features."
        )
    return H


def solve_regularised(H: Array, ridge: Array, slope: Array, penalty_slope: Array) -> Array:
    """(H + diag(ridge))^-1 (slope + penalty_slope); H and slope belong to the losses, ridge to the penalty.

    Where columns repeat others, H is singular up to rounding. There the penalty alone decides, whose gradient is
    exact; the rounding error of a slope that should be 0 must not count.
    """
    width = np.sqrt(
        np.maximum(np.diag(H) + ridge, 1e-300)
    )  # rounding must not depend on the units of the features
    A = H / width / width[:, None] + np.diag(ridge / width**2)
    L = cholesky_factor(A, np.float64)
    if L is not None:
        return cho_solve((L, True), (slope + penalty_slope) / width, check_finite=False) / width
    values, U = eigh(A, check_finite=False)
    z = U.T @ ((slope + penalty_slope) / width)
    noise = 1e-13 * np.linalg.norm(slope / width) + 1e-8 * np.linalg.norm(penalty_slope / width)
    least = 1e2 * np.finfo(float).eps * values[-1]
    return (
        U @ (np.where((values <= least) & (np.abs(z) <= noise), 0.0, z) / np.maximum(values, least)) / width
    )


@kernel
def sweeps_until_still(G, c, w, Gd, code, q, ratio, enough, most):
    """Sweeps until the weights move by no more than `enough`; the moves of the first and the last sweep.

    Gd is G times the displacement since c was -1/2 of the slope, which avoids the cancellation of Gw - c.
    """
    first = last = 0.0
    for k in range(most):
        before = w.copy()
        quadratic_sweep(G, c, w, Gd, 1.0, code, q, ratio)
        last = 0.0
        for j in range(w.size):
            last += 2.0 * G[j, j] * (w[j] - before[j]) ** 2
        last = np.sqrt(last)
        if k == 0:
            first = last
        if last <= enough:
            break
    return first, last

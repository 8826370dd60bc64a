"""Primal-dual interior point method (内点法) for absolute residuals with an L2 penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

Array = np.ndarray


class InteriorPointSolver:
    """State of the interior point method for min sum_i c_i |t_i - a_i·theta| + 1/2 sum_j q_j theta_j^2.

    Residuals are split as p - m with p, m >= 0. Their multipliers are c - u and c + u, with A'u = q theta at
    the minimum. All stay positive, and the complementarity products p (c - u) and m (c + u), whose sum is the
    duality gap, go to zero together. Each step is Mehrotra's predictor and corrector: a Newton step towards zero
    gap, then one towards the central path.

    Examples
    --------
    >>> solver = InteriorPointSolver(np.ones((3, 1)), np.array([1.0, 2.0, 9.0]), np.ones(3), np.zeros(1))
    >>> while solver.gap > 1e-10:
    ...     solver.advance()
    >>> solver.theta.round(6)
    array([2.])
    """

    def __init__(self, A: Any, t: Array, c: Array, q: Array) -> None:
        self.A, self.t, self.c, self.q = A, t, c, q
        self.theta, self.u = np.zeros(A.shape[1]), np.zeros(len(t))
        margin = max(float(np.abs(t).mean()), 1e-300)
        self.p, self.m = np.maximum(t, 0) + margin, np.maximum(-t, 0) + margin

    @property
    def gap(self) -> float:
        return float(self.p @ (self.c - self.u) + self.m @ (self.c + self.u))

    @property
    def value(self) -> float:
        return float(self.c @ np.abs(self.t - self.A @ self.theta) + 0.5 * self.q @ self.theta**2)

    def advance(self) -> None:
        """One predictor-corrector step."""
        self._factorise()
        gap, pairs = self.gap, 2 * len(self.t)
        _, u, p, m = self._direction(0.0, 0.0)
        length = self._longest_step(u, p, m)
        ahead = (self.p + length * p) @ (self.up - length * u) + (self.m + length * m) @ (
            self.down + length * u
        )
        centre = (ahead / gap) ** 3 * gap / pairs
        theta, u, p, m = self._direction(centre + p * u, centre - m * u)
        length = min(1.0, 0.9995 * self._longest_step(u, p, m))
        self.theta, self.u = self.theta + length * theta, self.u + length * u
        self.p, self.m = self.p + length * p, self.m + length * m

    def _factorise(self) -> None:
        self.up, self.down = self.c - self.u, self.c + self.u
        self.weight = 1.0 / (self.p / self.up + self.m / self.down)
        if sparse.issparse(self.A):
            self.scaled = (sparse.diags_array(self.weight) @ self.A).tocsr()
            M = (self.scaled.T @ self.A).toarray()
        else:
            self.scaled = self.weight[:, None] * self.A
            M = self.scaled.T @ self.A
        M.flat[:: len(M) + 1] += self.q + 1e-15 * np.trace(M) / len(M)
        self.factor = cho_factor(M)

    def _direction(self, p_target: Any, m_target: Any) -> tuple[Array, Array, Array, Array]:
        """Changes of theta, u, p, m towards p (c - u) = p_target and m (c + u) = m_target."""
        first, second = p_target / self.up - self.p, m_target / self.down - self.m
        residual = self.t - self.A @ self.theta - self.p + self.m - first + second
        theta = cho_solve(self.factor, self.scaled.T @ residual + self.A.T @ self.u - self.q * self.theta)
        u = self.weight * (residual - self.A @ theta)
        return theta, u, first + self.p / self.up * u, second - self.m / self.down * u

    def _longest_step(self, u: Array, p: Array, m: Array) -> float:
        """The largest step length up to 1 that keeps all variables nonnegative."""
        values = np.concatenate([self.p, self.m, self.up, self.down])
        changes = np.concatenate([p, m, -u, u])
        falling = changes < 0
        return float(np.min(-values[falling] / changes[falling], initial=1.0))

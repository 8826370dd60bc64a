"""Solving with the Hessian of logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from tercet.linear_model._logistic.logistic_objective import LogisticObjective

Array = np.ndarray


class HessianSolver:
    """Solves H p = g with the Hessian at θ; where H is singular, the solution of least norm.

    Columns are centred (where a free intercept allows it) and H is scaled to a unit diagonal: what counts as
    singular must not depend on the units of the features. H is computed in `dtype`, or in float64 where that is
    not exact enough for a Cholesky factorisation.
    """

    def __init__(self, objective: LogisticObjective, theta: Array, dtype: Any) -> None:
        self.objective = objective
        H = self._hessian(theta, dtype)
        self.L = cholesky_factor(H, dtype)
        if self.L is None and dtype is not np.float64:
            H = self._hessian(theta, np.float64)
            self.L = cholesky_factor(H, np.float64)
        if self.L is None:
            values, self.vectors = linalg.eigh(H, check_finite=False)
            size = np.abs(values)  # negative only under the squared loss: reversed, the step still descends
            self.kept = size > 1e-13 * size.max()
            self.values = np.where(self.kept, size, 1.0)

    def _hessian(self, theta: Array, dtype: Any) -> Array:
        H = self.objective.hessian(theta, dtype, centred=True)
        fix_shift_invariance(self.objective, H)
        diagonal = np.abs(np.diag(H))
        self.width = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        H /= self.width
        H /= self.width[:, None]
        return H

    def __call__(self, g: Array) -> Array:
        v = self._scaled(g)
        if self.L is not None:
            v = linalg.cho_solve((self.L, True), v, check_finite=False)
        else:
            v = self.vectors @ (self.kept / self.values * (self.vectors.T @ v))
        return self.objective.uncentred(v / self.width)

    def singular_part(self, g: Array) -> float:
        """The squared norm of the (scaled) gradient's part in the null space of H."""
        if self.L is not None:
            return 0.0
        return float(np.sum((self.vectors.T @ self._scaled(g))[~self.kept] ** 2))

    def inverse_root(self) -> Array:
        """T with TT' the inverse."""
        T = linalg.solve_triangular(self.L, np.eye(self.width.size), lower=True, check_finite=False).T
        return np.apply_along_axis(self.objective.uncentred, 0, T / self.width[:, None])

    def _scaled(self, g: Array) -> Array:
        return self.objective.centred_gradient(g) / self.width


def cholesky_factor(H: Array, dtype: Any) -> Array | None:
    """L of H = LL', or None where H, known to the precision of dtype, may be singular."""
    try:
        L = linalg.cholesky(H, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    pivots = np.diag(L) ** 2
    return L if pivots.min() > 1e2 * np.finfo(dtype).eps * pivots.max() else None


def fix_shift_invariance(objective: LogisticObjective, H: Array) -> None:
    """Make H regular along a common shift of all scores, which changes no probability of a softmax.

    The gradient of unpenalised parameters has no component along it, so the Newton step stays the same.
    """
    K = objective.n_planes
    if K == 1 or objective.reference:
        return
    for row in np.flatnonzero(objective.penalty.reshape(-1, K)[:, 0] == 0):
        block = H[row * K : row * K + K, row * K : row * K + K]
        block += np.trace(block) / K**2

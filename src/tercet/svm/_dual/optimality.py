"""Optimality (KKT) conditions of the dual, and the bias b that follows from them.

Let v = -sign (Q alpha + p), one entry for each variable. The conditions hold for a bias b where

    b >= v_k  for all k in I_up   (sign alpha can increase)
    b <= v_k  for all k in I_down (sign alpha can decrease)

so b = v_k where 0 < alpha_k < upper_k (a free support vector). With two equality constraints (nu) they hold within
the variables of each sign, for b - rho and b + rho.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tercet.svm._dual.problem import DualSolution

Interval = tuple[float, float]


def feasible_directions(
    sign: np.ndarray, alpha: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Masks of I_up and I_down: where sign alpha can increase, and where it can decrease."""
    below, above = alpha < upper, alpha > 0
    return np.where(sign > 0, below, above), np.where(sign > 0, above, below)


def violating_pair(v: np.ndarray, up: np.ndarray, down: np.ndarray) -> tuple[int, int, float, float]:
    """The maximal violating pair: i = argmax of v over I_up, j = argmin over I_down, and both values."""
    low, high = np.where(up, v, -np.inf), np.where(down, v, np.inf)
    i, j = int(np.argmax(low)), int(np.argmin(high))
    return i, j, float(low[i]), float(high[j])


def bias_and_rho(
    v: np.ndarray, free: np.ndarray, groups: Sequence[np.ndarray], intervals: Sequence[Interval]
) -> tuple[float, float]:
    """b, and rho where there are two groups (else 1), from the KKT conditions.

    Parameters
    ----------
    v, free : arrays of shape (m,), as above; free is a mask of 0 < alpha < upper.
    groups : masks of the variables of each equality constraint.
    intervals : for each group, the largest v over I_up and the smallest over I_down.
    """
    middles = []
    for group, interval in zip(groups, intervals):
        inside = v[group & free]
        known = inside if inside.size else [end for end in interval if np.isfinite(end)] or [0.0]
        middles.append(float(np.mean(known)))
    if len(middles) == 1:
        return middles[0], 1.0
    first, second = middles  # b - rho, and b + rho
    return (first + second) / 2, (second - first) / 2


def dual_solution(
    alpha: np.ndarray,
    gradient: np.ndarray,
    sign: np.ndarray,
    p: np.ndarray,
    upper: np.ndarray,
    *,
    nu: bool = False,
    n_iter: int = 0,
    converged: bool = False,
    message: str = "",
) -> DualSolution:
    """The `DualSolution` for multipliers alpha and the gradient Q alpha + p at them."""
    v = -sign * gradient
    up, down = feasible_directions(sign, alpha, upper)
    groups = [sign > 0, sign < 0] if nu else [np.ones(sign.size, dtype=bool)]
    intervals = [violating_pair(v, up & group, down & group)[2:] for group in groups]
    b, rho = bias_and_rho(v, (alpha > 0) & (alpha < upper), groups, intervals)
    return DualSolution(
        alpha=alpha,
        gradient=gradient,
        b=b,
        interval=intervals[0],
        objective=float(alpha @ (gradient + p)) / 2,
        violation=max(0.0, *(low - high for low, high in intervals)),
        n_iter=n_iter,
        converged=converged,
        rho=rho,
        message=message,
    )

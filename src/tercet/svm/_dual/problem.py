"""The dual quadratic program of a kernel machine, its solution, and the optimality (KKT) conditions.

    min over alpha of  alpha'Q alpha / 2 + p.alpha
    subject to         sign.alpha = sign.start,  0 <= alpha <= upper

with Q_kl = sign_k sign_l K(x_k, x_l) + ridge_k [k = l]. Classification has one variable for each row, regression
two; squared slacks are a ridge; with `nu` the sum of alpha over each sign is an equality constraint of its own.

Let v = -sign (Q alpha + p), one entry for each variable. The conditions hold for a bias b where

    b >= v_k  for all k in I_up   (sign alpha can increase)
    b <= v_k  for all k in I_down (sign alpha can decrease)

so b = v_k where 0 < alpha_k < upper_k (a free support vector). With two equality constraints (nu) they hold within
the variables of each sign, for b - rho and b + rho.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tercet.kernels import Kernel

Interval = tuple[float, float]
MAX_GRADIENT = 1e140  # a bound of a multiplier times K(x, x)


@dataclass
class DualProblem:
    """The dual of a support vector machine, and a feasible start.

    Attributes
    ----------
    kernel : Kernel
    X : the rows: an array, a CSR matrix, strings, or indices into a precomputed Gram matrix.
    sign : array of shape (m,), +1 or -1 for each variable (the labels of a classifier).
    p : array of shape (m,), the linear term.
    upper : array of shape (m,), the upper bounds; inf where there is none.
    start : array of shape (m,), within the bounds; sign.start is kept.
    row : array of shape (m,), the row of each variable; None: variable k belongs to row k.
    ridge : array of shape (n_rows,), added to the diagonal of Q.
    nu : whether the sums over both signs are kept apart (two equality constraints in place of one).

    Examples
    --------
    >>> from tercet.kernels import Linear
    >>> from tercet.svm import DualProblem, smo
    >>> X, y = np.array([[3.0, 3], [4, 3], [1, 1]]), np.array([1.0, 1, -1])
    >>> dual = DualProblem(Linear(), X, y, p=np.full(3, -1.0), upper=np.full(3, np.inf), start=np.zeros(3))
    >>> smo(dual).alpha
    array([0.25, 0.  , 0.25])
    """

    kernel: Kernel
    X: Any
    sign: np.ndarray
    p: np.ndarray
    upper: np.ndarray
    start: np.ndarray
    row: np.ndarray | None = None
    ridge: np.ndarray | None = None
    nu: bool = False


def most_steps(n: int) -> int:
    """Two-variable steps after which a dual of n variables without max_iter is given up."""
    return max(10_000_000, 100 * n)


def check_sizes(problem: DualProblem, diagonal: np.ndarray) -> None:
    """Refuse bounds and kernels whose gradients, which are squared to choose a working set, are too large."""
    bound = float(problem.upper[np.isfinite(problem.upper)].max(initial=0.0))
    size = float(np.abs(diagonal).max(initial=0.0))
    if not bound * size <= MAX_GRADIENT:
        raise ValueError(
            f"C times sample_weight and class_weight goes up to {bound:.3g} and K(x, x) to {size:.3g}; their "
            f"product must be at most {MAX_GRADIENT:g}. Scale the features, or lower C, gamma or the degree."
        )


@dataclass
class DualSolution:
    """A minimiser of the dual, the bias that follows from it, and how far it is from optimal.

    Where some 0 < alpha < upper, `b` is the mean of what the KKT conditions of those variables give; else it is the
    middle of `interval`, the b that satisfy all conditions (f(x) = sum of sign alpha K(x) + b; libsvm's rho is -b).
    With `nu`, b and rho come from the multipliers of the two equality constraints.

    Attributes
    ----------
    alpha, gradient : arrays of shape (m,), the multipliers, and Q alpha + p.
    b : float, the bias.
    interval : (float, float), the least and the greatest optimal b.
    objective : float, of the minimised dual.
    violation : float, of the maximal violating pair: the KKT conditions hold within it.
    n_iter : int, two-variable steps.
    converged : bool
    rho : float, half the difference of the two multipliers, with nu.
    message : str, why it did not converge; "unbounded": without upper bounds there is no minimum.

    Examples
    --------
    >>> from tercet.svm import smo
    >>> found = smo([[18, 21, 6], [21, 25, 7], [6, 7, 2]], [1, 1, -1], C=10.0)
    >>> found.b, found.objective, found.converged
    (-2.0, -0.25, True)
    """

    alpha: np.ndarray
    gradient: np.ndarray
    b: float
    interval: tuple[float, float]
    objective: float
    violation: float
    n_iter: int
    converged: bool
    rho: float = 1.0
    message: str = ""


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

"""Sequential minimal optimisation (序列最小最优化算法) as the texts teach it, step by step.

    min over alpha of  sum_ij alpha_i alpha_j y_i y_j K_ij / 2 - sum_i alpha_i
    subject to         y.alpha = 0,  0 <= alpha_i <= C_i

Two multipliers at a time are optimised in closed form, all others held; with g(x) = sum_j alpha_j y_j K(x_j, x) + b
and the errors E_i = g(x_i) - y_i that decide which two. The solver that `SVC` uses by default is in `svm._dual`;
this one is for reading and watching.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.rows import kernel_form
from tercet.core.steps import Steps
from tercet.svm._dual.problem import DualProblem, DualSolution, feasible_directions
from tercet.svm.kkt import evaluated_solution, kkt_residuals, maximal_violating_pair

__all__ = [
    "SMOStep",
    "second_order_pair",
    "smo",
    "smo_bounds",
    "smo_errors",
    "smo_first",
    "smo_second",
    "smo_step",
    "smo_threshold",
]

MIN_DECREASE = 0.5  # of the decrease of the objective with the best partner


@dataclass(frozen=True)
class SMOStep:
    """One step: the pair, how its second variable moved, and the threshold after it.

    Attributes
    ----------
    first, second : the numbers i and j of the two variables.
    L, H : the ends of the segment on which alpha_j may move.
    eta : K_ii + K_jj - 2 K_ij, the squared distance of the two points in feature space.
    unclipped : where alpha_j would go without the ends (NaN where eta is not positive).
    a1, a2 : the new alpha_i and alpha_j.
    b1, b2, b : the thresholds that make E_i = 0 and E_j = 0, and the one taken.
    decrease : by how much the objective falls.

    Examples
    --------
    >>> K, y = [[18, 21, 6], [21, 25, 7], [6, 7, 2]], [1, 1, -1]
    >>> step = smo_step(K, y, np.zeros(3), 0.0, 10.0, 0, 2)
    >>> step.eta, step.unclipped, step.a1, step.a2, step.b
    (8.0, 0.25, 0.25, 0.25, -2.0)
    """

    first: int
    second: int
    L: float
    H: float
    eta: float
    unclipped: float
    a1: float
    a2: float
    b1: float
    b2: float
    b: float
    decrease: float


@method(
    zh="序列最小最优化算法",
    task="optimisation",
    model="α of the dual of a support vector machine",
    strategy="the two-variable problem of the worst violator of the KKT conditions and the point farthest in error",
    algorithms="closed form, clipped to the segment that the bounds leave",
    texts=[
        "Li ch. 7, Alg 7.5, Thm 7.6",
        "Machine Learning in Depth ch. 4, sec. 4.4.2",
        "watermelon notes ch. 4, eq. 4.12-4.13",
    ],
    peers=["sklearn.svm.SVC"],
)
def smo(
    K: Any,
    y: Any = None,
    C: Any = None,
    *,
    p: Any = None,
    start: Any = None,
    tol: float = 1e-3,
    max_iter: int = 100_000,
    record: list[dict[str, Any]] | None = None,
    steps: Callable[..., Steps] | None = None,
) -> DualSolution:
    """Solve the dual of a support vector machine by the texts' SMO (Li Alg 7.5).

    The texts stop when all rows meet the KKT conditions for the b of the last step. Where both variables have
    come to their ends that b may be wrong, no pair can move, and the loop would never end. Here it ends when
    some b, whatever the last one, meets them within `tol`; and where the choice of the texts finds no pair that
    moves, the pair that is most at odds does.

    Parameters
    ----------
    K : array of shape (n, n), or DualProblem
        The Gram matrix; or the whole problem, in place of y, C, p and start.
    y : array of shape (n,)
        -1 or +1.
    C : float or array of shape (n,)
        Upper bounds of alpha; inf is the hard margin.
    p : array of shape (n,), optional
        The linear part of the objective; -1 by default. (Regression has others: watermelon notes eq. 4.39.)
    start : array of shape (n,), optional
        Where to begin; zero by default.
    tol : float, default=1e-3
        Tolerance of the KKT conditions.
    max_iter : int, default=100000
        The most steps.
    record : list, optional
        Gets a dict for each step: the fields of `SMOStep`, the `errors` after it and the `objective`.
    steps : callable, optional
        Makes the loop (see `core.steps`).

    Returns
    -------
    DualSolution

    Examples
    --------
    >>> K, y = [[18, 21, 6], [21, 25, 7], [6, 7, 2]], [1, 1, -1]
    >>> found = smo(K, y, C=10.0)
    >>> found.alpha, found.b, found.converged
    (array([0.25, 0.  , 0.25]), -2.0, True)
    """
    K, y, C, p, alpha = dual_arrays(K, y, C, p, start)
    target = -y * p  # y itself, but for regression
    b, g = 0.0, K @ (alpha * y)
    objective = float(alpha @ (y * g + p) + alpha @ p) / 2
    loop = (steps or Steps)(max_iter, name="step", hint="Raise max_iter or tol, or lower C.")
    for step in loop:
        E = g + b - target
        *worst, low, high = maximal_violating_pair(E, y, alpha, C)
        violation = max(0.0, low - high)
        if step.converged(violation <= tol):
            step.report((alpha.copy(), b), objective=objective, violation=violation)
            break
        i, j = smo_pair(K, y, alpha, C, E, tol) or worst
        move = smo_step(K, y, alpha, b, C, i, j, E=E)
        if not move.decrease > 0:
            step.warn("stopped where rounding keeps it from going on")
            break
        g += (move.a1 - alpha[i]) * y[i] * K[i] + (move.a2 - alpha[j]) * y[j] * K[j]
        alpha[i], alpha[j], b = move.a1, move.a2, move.b
        objective -= move.decrease
        if record is not None:
            record.append({**vars(move), "errors": g + b - target, "objective": objective})
        step.report((alpha.copy(), b), objective=objective, violation=violation)
    return evaluated_solution(K, y, p, C, alpha, tol=tol, n_iter=loop.count)


def smo_pair(K: Any, y: Any, alpha: Any, C: Any, E: Any, tol: float) -> tuple[int, int] | None:
    """The pair that the texts choose: the worst violator for which a second variable is found."""
    first = smo_first(E, y, alpha, C, tol)
    # A violator only because b is wrong has no partner: spare the search for one.
    up, down = feasible_directions(y, alpha, C)
    _, _, low, high = maximal_violating_pair(E, y, alpha, C)
    for i in first[(up & (high < -E) | down & (low > -E))[first]]:
        j = smo_second(K, y, alpha, C, E, i)
        if j is not None:
            return int(i), j
    return None


def smo_errors(K: Any, y: Any, alpha: Any, b: float = 0.0) -> np.ndarray:
    """E_i = g(x_i) - y_i, how far the score of each row is from its label (Li eq. 7.105).

    Examples
    --------
    >>> smo_errors([[18, 6], [6, 2]], [1, -1], [0.25, 0.25], -2)
    array([0., 0.])
    """
    K, y, alpha = (np.asarray(v, dtype=float) for v in (K, y, alpha))
    return K @ (alpha * y) + b - y


def smo_first(E: Any, y: Any, alpha: Any, C: Any, tol: float = 1e-3) -> np.ndarray:
    """Rows that violate the KKT conditions by more than tol (Li eq. 7.111-7.113), in the order to try them.

    Those with 0 < alpha < C come first, then the others; in each part the worst first.

    Examples
    --------
    >>> smo_first([-2.0, 0.5, -1.0, 0.0], [1, 1, -1, -1], [0, 0.5, 0, 0.5], 1.0)
    array([1, 0])
    """
    E, y, alpha = (np.asarray(v, dtype=float) for v in (E, y, alpha))
    C = np.broadcast_to(np.asarray(C, dtype=float), alpha.shape)
    miss = kkt_residuals(E, y, alpha, C)
    bad = np.flatnonzero(miss > tol)
    at_an_end = (alpha[bad] <= 0) | (alpha[bad] >= C[bad])
    return bad[np.lexsort((-miss[bad], at_an_end))]


def smo_second(K: Any, y: Any, alpha: Any, C: Any, E: Any, i: int) -> int | None:
    """The partner of variable i: the one whose error is farthest from E_i (Li ch. 7.4.2).

    If the objective does not fall enough with it, the rows with 0 < alpha < C are tried in turn, then all; None
    when no partner will do. The texts do not say what is enough: here it is half of the most that any partner
    gives, without which large C take very many small steps. (To take the smallest E where E_i > 0 and the largest
    where E_i < 0, as Li says, is not the same as the largest |E_i - E_j|.)

    Examples
    --------
    >>> smo_second(np.eye(4), [1, -1, 1, -1], np.zeros(4), 1.0, [0.5, 0.9, 0.7, 2.0], 0)
    3
    """
    K, y, alpha, E = (np.asarray(v, dtype=float) for v in (K, y, alpha, E))
    C = np.broadcast_to(np.asarray(C, dtype=float), alpha.shape)
    gain = _decreases(K, y, alpha, C, E, i)
    enough = (gain > 0) & (gain >= MIN_DECREASE * gain.max())
    best = int(np.argmax(np.abs(E[i] - E)))
    if enough[best]:
        return best
    others = np.flatnonzero(enough)
    if others.size == 0:
        return None
    inside = others[(alpha[others] > 0) & (alpha[others] < C[others])]
    return int(inside[0] if inside.size else others[0])


def second_order_pair(K: Any, y: Any, alpha: Any, C: Any, E: Any) -> tuple[int, int] | None:
    """The pair of second-order working set selection (Fan, Chen and Lin); None at the optimum.

    The first variable violates the KKT conditions most; of those that can move with it, the second lowers the
    objective most, bounds left aside: by (E_i - E_j)² / (2 eta). This is how `SVC` chooses by default.

    Examples
    --------
    >>> K, y = [[18, 21, 6], [21, 25, 7], [6, 7, 2]], [1, 1, -1]
    >>> second_order_pair(K, y, np.zeros(3), 10.0, smo_errors(K, y, np.zeros(3)))
    (0, 2)
    """
    K, y, alpha, E = (np.asarray(v, dtype=float) for v in (K, y, alpha, E))
    C = np.broadcast_to(np.asarray(C, dtype=float), alpha.shape)
    i, _, low, high = maximal_violating_pair(E, y, alpha, C)
    if not low > high:
        return None
    _, down = feasible_directions(y, alpha, C)
    eta = K[i, i] + np.diagonal(K) - 2 * K[i]
    eta = np.maximum(eta, 1e-12 * np.abs(np.diagonal(K)).max())
    gain = np.where(down & (E[i] < E), (E - E[i]) ** 2 / (2 * eta), 0.0)
    return i, int(np.argmax(gain))


def smo_bounds(y1: float, y2: float, a1: float, a2: float, C1: float, C2: float) -> tuple[float, float]:
    """The ends L and H between which alpha_2 may move while y1 alpha_1 + y2 alpha_2 stays (Li ch. 7.4.1).

    (Machine Learning in Depth prints min(C, a2 - a1) for H of equal labels, which should be min(C, a1 + a2).)

    Examples
    --------
    >>> smo_bounds(1, -1, 0.25, 0.75, 1.0, 1.0), smo_bounds(1, 1, 0.25, 0.5, 1.0, 1.0)
    ((0.5, 1.0), (0.0, 0.75))
    """
    if y1 != y2:
        return max(0.0, a2 - a1), min(C2, C1 + a2 - a1)
    return max(0.0, a1 + a2 - C1), min(C2, a1 + a2)


def smo_step(K: Any, y: Any, alpha: Any, b: float, C: Any, i: int, j: int, *, E: Any = None) -> SMOStep:
    """The minimum over alpha_i and alpha_j, all others held (Li Thm 7.6), and the threshold after it.

    Where eta is not positive (points that are the same, or a kernel that is not positive definite), the
    objective is least at one of the two ends.

    Parameters
    ----------
    K, y, alpha, b, C
        The Gram matrix, labels, multipliers, threshold and upper bound(s).
    i, j : int
        The two variables.
    E : array of shape (n,), optional
        The errors, where they are known.

    Examples
    --------
    >>> step = smo_step([[25, 7], [7, 2]], [1, -1], [0, 0], 0.0, 10.0, 0, 1)
    >>> round(step.a2 * 13, 12), step.H, round(step.b * 13, 12)
    (2.0, 10.0, -23.0)
    """
    K, y, alpha = (np.asarray(v, dtype=float) for v in (K, y, alpha))
    C = np.broadcast_to(np.asarray(C, dtype=float), alpha.shape)
    E = smo_errors(K, y, alpha, b) if E is None else E
    y1, y2, E1, E2 = (float(v) for v in (y[i], y[j], E[i], E[j]))
    a1, a2, C1, C2 = (float(v) for v in (alpha[i], alpha[j], C[i], C[j]))
    K11, K22, K12 = float(K[i, i]), float(K[j, j]), float(K[i, j])
    L, H = smo_bounds(y1, y2, a1, a2, C1, C2)
    eta = K11 + K22 - 2 * K12
    slope = y2 * (E1 - E2)  # by which the objective falls as alpha_j begins to rise
    if eta > 0:
        unclipped = a2 + slope / eta
        new2 = min(max(unclipped, L), H)
    else:
        unclipped = np.nan
        new2 = H if _decrease(slope, eta, H - a2) >= _decrease(slope, eta, L - a2) else L
        if not np.isfinite(new2):
            raise ValueError(
                f"SMO: rows {i} and {j} have opposite labels and the same image (or the kernel is not positive "
                "definite), so that no hyperplane separates the data; give a finite C."
            )
    new1 = _snapped(a1 + y1 * y2 * (a2 - new2), C1, a1 + a2)
    d1, d2 = new1 - a1, new2 - a2
    b1 = b - E1 - y1 * K11 * d1 - y2 * K12 * d2
    b2 = b - E2 - y1 * K12 * d1 - y2 * K22 * d2
    after = smo_threshold(b1, b2, 0 < new1 < C1, 0 < new2 < C2)
    return SMOStep(int(i), int(j), L, H, eta, unclipped, new1, new2, b1, b2, after, _decrease(slope, eta, d2))


def smo_threshold(b1: float, b2: float, free1: bool, free2: bool) -> float:
    """The new b: that of a variable inside its bounds (the two agree if both are), else the middle (Li ch. 7.4.2).

    Examples
    --------
    >>> smo_threshold(-0.25, -1.25, False, True), smo_threshold(-0.25, -1.25, False, False)
    (-1.25, -0.75)
    """
    if free1:
        return b1
    return b2 if free2 else (b1 + b2) / 2


def _decrease(slope: float, eta: float, move: float) -> float:
    """By how much the objective falls when alpha_j moves and alpha_i follows."""
    if not np.isfinite(move):
        return np.inf if slope > 0 or (slope == 0 and eta < 0) else -np.inf
    return move * (slope - eta * move / 2)


def _snapped(value: float, C: float, size: float) -> float:
    """A multiplier, set to its bound if only rounding keeps it from there."""
    trace = 1e-14 * size
    if value <= trace:
        return 0.0
    return C if value >= C - 1e-14 * (size + C) else value


def _decreases(K, y, alpha, C, E, i: int) -> np.ndarray:
    """By how much the objective falls with each partner of variable i."""
    same = y == y[i]
    total, rest = alpha + alpha[i], alpha - alpha[i]
    L = np.where(same, np.maximum(0.0, total - C[i]), np.maximum(0.0, rest))
    H = np.where(same, np.minimum(C, total), np.minimum(C, C[i] + rest))
    eta = K[i, i] + np.diagonal(K) - 2 * K[i]
    slope = y * (E[i] - E)
    with np.errstate(divide="ignore", invalid="ignore"):
        goal = np.where(eta > 0, alpha + slope / eta, np.where(slope > 0, H, L))
        move = np.clip(goal, L, H) - alpha
        fall = move * (slope - eta * move / 2)
    fall = np.where(np.isfinite(move), fall, np.inf)  # unbounded: `smo_step` raises
    fall[i] = 0.0
    return fall


def dual_arrays(K: Any, y: Any, C: Any, p: Any, start: Any) -> tuple[np.ndarray, ...]:
    """The Gram matrix, signs, bounds, linear part and a first alpha as arrays of floats."""
    if isinstance(K, DualProblem):
        K, y, C, p, start = dense_dual(K)
    if y is None or C is None:
        raise ValueError("smo needs a DualProblem, or a Gram matrix K with y and C.")
    K, y = np.asarray(K, dtype=float), np.asarray(y, dtype=float)
    n, C = y.size, np.asarray(C, dtype=float)
    if n == 0 or C.shape not in ((), (n,)):
        raise ValueError(
            f"smo needs at least one row, and one C or one for each; got {n} rows and {C.shape}."
        )
    C = kernel_form(np.broadcast_to(C, (n,)))
    p = np.full(n, -1.0) if p is None else np.asarray(p, dtype=float)
    alpha = np.zeros(n) if start is None else np.array(start, dtype=float)
    if K.shape != (n, n) or p.shape != (n,) or alpha.shape != (n,):
        raise ValueError(f"K must be of shape ({n}, {n}), p and start of ({n},), like y; K has {K.shape}.")
    if not all(np.isfinite(part).all() for part in (K, p, alpha)):
        raise ValueError("K, p and start must be finite.")
    if not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(f"y must be -1 or +1; got {np.setdiff1d(y, (-1.0, 1.0))[:3].tolist()}.")
    if not (C >= 0).all():
        raise ValueError(f"C must not be negative; its smallest value is {C.min()}.")
    if not ((alpha >= 0) & (alpha <= C)).all():
        raise ValueError(f"start must be between 0 and C; it goes from {alpha.min()} to {alpha.max()}.")
    return K, y, C, p, alpha


def dense_dual(problem: DualProblem) -> tuple[np.ndarray, ...]:
    """The Gram matrix of a problem's variables (its ridge on the diagonal), signs, bounds, linear part, start."""
    if problem.nu:
        raise ValueError("The texts' algorithms have one equality constraint; a problem with nu has two.")
    K = np.asarray(problem.kernel(problem.X), dtype=float)
    ridge = np.zeros(len(K)) if problem.ridge is None else np.asarray(problem.ridge, dtype=float)
    if problem.row is not None:
        K, ridge = K[np.ix_(problem.row, problem.row)], ridge[problem.row]
    else:
        K = K.copy()
    K[np.diag_indices_from(K)] += ridge
    return K, problem.sign, problem.upper, problem.p, problem.start

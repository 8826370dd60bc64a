"""Recovery of sparse vectors from few measurements (稀疏恢复): y = As with fewer rows than columns."""

from __future__ import annotations

import itertools
import math
import numbers
import warnings
from typing import Any, Literal

import numpy as np
from scipy import linalg, optimize

from tercet.core.catalog import method
from tercet.core.scaling import LARGE
from tercet.core.steps import ConvergenceWarning, Steps
from tercet.core.validation import check_array, refuse_large
from tercet.optimize import Quadratic, fista
from tercet.penalties import L1, soft_threshold


@method(
    zh="L0 范数最小化",
    task="compressed sensing",
    model="y = As",
    strategy="the fewest non-zeros in s",
    algorithms="least squares on every set of columns, the smallest sets first",
    texts=["watermelon notes ch. 10, eq. 10.21"],
)
def l0_minimization(
    A: Any, y: Any, *, max_nonzero: int | None = None, tol: float = 1e-9, max_subsets: int = 2_000_000
) -> np.ndarray:
    """The sparsest s with As = y, by exhaustive search (10.21).

    The number of sets of columns grows beyond all bounds (the problem is NP-hard): for small matrices, and to judge
    what the other methods find.

    Parameters
    ----------
    A : array of shape (n, m)
        The sensing matrix.
    y : array of shape (n,)
        The measurements.
    max_nonzero : int, optional
        The most non-zeros to try; by default n.
    tol : float, default=1e-9
        |As - y| up to tol |y| counts as equal.
    max_subsets : int, default=2_000_000
        Refuse to try more sets of columns.

    Returns
    -------
    s : array of shape (m,)
        Of the sets with the fewest columns, that with the smallest residual.

    Examples
    --------
    >>> s = np.sqrt(0.5)
    >>> l0_minimization([[1, 0, s], [0, 1, s]], [2 * s, 2 * s]).round(6)
    array([0., 0., 2.])
    """
    A, y = sensing_system("l0_minimization", A, y)
    n, m = A.shape
    most = min(n, m) if max_nonzero is None else max_nonzero
    if not isinstance(most, numbers.Integral) or not 0 <= int(most) <= m:
        raise ValueError(
            f"l0_minimization: max_nonzero must be an integer from 0 to {m}; got {max_nonzero!r}."
        )
    enough, tried = tol * float(np.linalg.norm(y)), 0
    if not y.any():
        return np.zeros(m)
    for k in range(1, int(most) + 1):
        tried += math.comb(m, k)
        if tried > max_subsets:
            raise ValueError(
                f"l0_minimization: {tried} sets of up to {k} of {m} columns are more than "
                f"max_subsets={max_subsets}. Give max_nonzero, or use basis_pursuit or orthogonal_mp."
            )
        best, least = np.zeros(m), np.inf
        for columns in itertools.combinations(range(m), k):
            part = A[:, columns]
            weights = np.linalg.lstsq(part, y, rcond=None)[0]
            error = float(np.linalg.norm(part @ weights - y))
            if error < least:
                best, least = np.zeros(m), error
                best[list(columns)] = weights
        if least <= enough:
            return best
    raise ValueError(f"l0_minimization: no s with at most {most} non-zeros has As = y (tol={tol:g}).")


@method(
    zh="基寻踪",
    task="compressed sensing",
    model="y = As",
    strategy="min |s|_1",
    algorithms={
        "linprog": "linear program in the positive and negative parts, solved by HiGHS",
        "admm": "projections onto As = y and soft thresholds by turns",
        "irls": "least squares whose weights are 1 / |s_j|, again and again",
    },
    texts=["watermelon notes ch. 10, eq. 10.21"],
)
def basis_pursuit(
    A: Any,
    y: Any,
    *,
    algorithm: Literal["linprog", "admm", "irls"] = "linprog",
    tol: float = 1e-9,
    max_iter: int = 10_000,
) -> np.ndarray:
    """The s of the smallest L1 norm with As = y: the convex relaxation of (10.21).

    Under a restricted isometry it is the sparsest one.

    Parameters
    ----------
    A : array of shape (n, m)
        The sensing matrix.
    y : array of shape (n,)
        The measurements, in the span of the columns of A.
    algorithm : {"linprog", "admm", "irls"}, default="linprog"
        A linear program; the alternating direction method of multipliers; iteratively reweighted least squares,
        which is the fastest where m is large, and may stop at a local minimum.
    tol : float, default=1e-9
        Stop when a round changes s by so much of its size ("admm" and "irls").
    max_iter : int, default=10_000
        The most rounds.

    Returns
    -------
    s : array of shape (m,)

    Examples
    --------
    >>> s = np.sqrt(0.5)
    >>> basis_pursuit([[1, 0, s], [0, 1, s]], [2 * s, 2 * s]).round(6)
    array([0., 0., 2.])
    """
    A, y = sensing_system("basis_pursuit", A, y)
    solve = {"linprog": _linear_program, "admm": _admm, "irls": _irls}.get(algorithm)
    if solve is None:
        raise ValueError(f"basis_pursuit: algorithm must be 'linprog', 'admm' or 'irls'; got {algorithm!r}.")
    shortest = np.linalg.lstsq(A, y, rcond=None)[0]
    miss, size = float(np.linalg.norm(A @ shortest - y)), float(np.linalg.norm(y))
    if miss > 1e-6 * size:
        raise ValueError(
            f"basis_pursuit: no s has As = y; the nearest As is {miss:.3g} away. Use basis_pursuit_denoising."
        )
    return solve(A, y, shortest, tol, max_iter) if size > 0 else np.zeros(A.shape[1])


def _linear_program(
    A: np.ndarray, y: np.ndarray, shortest: np.ndarray, tol: float, max_iter: int
) -> np.ndarray:
    unit = float(np.abs(y).max())
    found = optimize.linprog(np.ones(2 * A.shape[1]), A_eq=np.hstack([A, -A]), b_eq=y / unit, method="highs")
    if found.x is None:
        raise ValueError(f"basis_pursuit: the linear program has no solution: {found.message}")
    return (found.x[: A.shape[1]] - found.x[A.shape[1] :]) * unit + 0.0


def _admm(A: np.ndarray, y: np.ndarray, shortest: np.ndarray, tol: float, max_iter: int) -> np.ndarray:
    """s is projected onto As = y, z is a soft threshold, u sums up their difference."""
    across = linalg.pinv(A) @ A  # projector onto the span of the rows
    threshold = float(np.abs(shortest).mean())
    z, u = shortest.copy(), np.zeros(len(shortest))
    for _ in range(max_iter):
        s = z - u - across @ (z - u) + shortest
        z_new = soft_threshold(s + u, threshold)
        u = u + s - z_new
        moved = float(np.linalg.norm(z_new - z)) + float(np.linalg.norm(s - z_new))
        z = z_new
        if moved <= tol * max(float(np.linalg.norm(s)), 1e-300):
            return z
    _warn("basis_pursuit", max_iter)
    return z


def _irls(A: np.ndarray, y: np.ndarray, shortest: np.ndarray, tol: float, max_iter: int) -> np.ndarray:
    """min Σ s_j² / w_j with w_j = √(s_j² + ε²), where ε goes to 0."""
    s, epsilon = shortest, float(np.abs(shortest).max())
    for _ in range(max_iter):
        w = np.sqrt(s**2 + epsilon**2)
        new = w * (A.T @ np.linalg.lstsq((A * w) @ A.T, y, rcond=None)[0])
        moved = float(np.linalg.norm(new - s))
        s = new
        if moved <= math.sqrt(epsilon / 100) * float(np.linalg.norm(s)):
            if epsilon <= tol * float(np.abs(s).max()):
                return np.where(np.abs(s) > 10 * epsilon, s, 0.0)
            epsilon /= 10
    _warn("basis_pursuit", max_iter)
    return s


@method(
    zh="基寻踪去噪",
    task="compressed sensing",
    model="y = As + noise",
    strategy="|y - As|²/2 + alpha |s|_1, or min |s|_1 with |y - As| <= epsilon",
    algorithms="proximal gradient descent with momentum (FISTA); bisection of alpha for epsilon",
    texts=["watermelon notes ch. 10, eq. 10.13, 10.21"],
    peers=["spgl1.spg_bpdn"],
)
def basis_pursuit_denoising(
    A: Any,
    y: Any,
    *,
    alpha: float | None = None,
    epsilon: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> np.ndarray:
    """Basis pursuit of noisy measurements: the lasso, by proximal gradient descent.

    Parameters
    ----------
    A : array of shape (n, m)
        The sensing matrix.
    y : array of shape (n,)
        The measurements.
    alpha : float, optional
        Strength of the penalty, in |y - As|²/2 + alpha |s|_1. By default, without epsilon, a hundredth of the
        smallest one with which s is 0.
    epsilon : float, optional
        The residual |y - As| to end at, the size of the noise, in place of alpha.
    tol : float, default=1e-8
        Stop when the generalised gradient is tol times that of s = 0.
    max_iter : int, default=10_000
        The most steps.

    Returns
    -------
    s : array of shape (m,)

    Examples
    --------
    >>> s = np.sqrt(0.5)
    >>> basis_pursuit_denoising([[1, 0, s], [0, 1, s]], [2 * s, 2 * s], alpha=0.1).round(6)
    array([0. , 0. , 1.9])
    """
    A, y = sensing_system("basis_pursuit_denoising", A, y)
    for name, value in (("alpha", alpha), ("epsilon", epsilon)):
        if value is not None and not (isinstance(value, numbers.Real) and 0 <= value < np.inf):
            raise ValueError(f"basis_pursuit_denoising: {name} must be a number in [0, inf); got {value!r}.")
    if alpha is not None and epsilon is not None:
        raise ValueError("basis_pursuit_denoising: give alpha or epsilon, not both.")
    gram, correlation = A.T @ A, A.T @ y
    most = float(np.abs(correlation).max(initial=0.0))
    if most == 0:
        return np.zeros(A.shape[1])
    lipschitz = float(linalg.eigh(gram, eigvals_only=True, subset_by_index=(len(gram) - 1, len(gram) - 1))[0])

    def at(strength: float, start: np.ndarray) -> np.ndarray:
        return fista(
            Quadratic(gram, correlation),
            start,
            penalty=L1(strength),
            lipschitz=lipschitz,
            tol=tol * most,
            max_iter=max_iter,
            steps=None if epsilon is None else _silent_loop,
        ).x

    if epsilon is None:
        return at(most / 100 if alpha is None else float(alpha), np.zeros(A.shape[1]))
    return _bisected(A, y, float(epsilon), most, at)


def _silent_loop(limit: int) -> Steps:
    """A loop that may end at its limit without a warning: the ends of a bisection need not be exact."""
    return Steps(limit, watch=lambda step: step.count >= limit)


def _bisected(A: np.ndarray, y: np.ndarray, epsilon: float, most: float, at: Any) -> np.ndarray:
    """The solution whose residual is epsilon: it grows with the strength, from that of least squares to |y|."""
    s = np.zeros(A.shape[1])
    if np.linalg.norm(y) <= epsilon:
        return s
    low, high = most * 1e-10, most
    for _ in range(40):
        middle = math.sqrt(low * high)
        s = at(middle, s)
        residual = float(np.linalg.norm(A @ s - y))
        if abs(residual - epsilon) <= 1e-6 * epsilon or high / low < 1 + 1e-9:
            break
        low, high = (middle, high) if residual < epsilon else (low, middle)
    return s


@method(
    zh="迭代硬阈值",
    task="compressed sensing",
    model="y ≈ As with k non-zeros in s",
    strategy="|y - As|² with at most k non-zeros",
    algorithms="gradient steps, after each of which the k largest numbers stay; normalised step lengths",
    texts=["watermelon notes ch. 10, eq. 10.21"],
)
def iterative_hard_thresholding(
    A: Any,
    y: Any,
    n_nonzero_coefs: int,
    *,
    normalized: bool = True,
    tol: float = 1e-9,
    max_iter: int = 1000,
) -> np.ndarray:
    """Iterative hard thresholding: s ← the k largest numbers of s + μ A'(y - As).

    Parameters
    ----------
    A : array of shape (n, m)
        The sensing matrix.
    y : array of shape (n,)
        The measurements.
    n_nonzero_coefs : int
        k, from 1 to m.
    normalized : bool, default=True
        Step lengths μ = |g|² / |A g|² on the support, made smaller until the error falls (normalised IHT, which
        does not depend on the scale of A). Else μ = 1 / |A|².
    tol : float, default=1e-9
        Stop when a step changes s by so much of its size.
    max_iter : int, default=1000
        The most steps.

    Returns
    -------
    s : array of shape (m,)

    Examples
    --------
    >>> s = np.sqrt(0.5)
    >>> iterative_hard_thresholding([[1, 0, s], [0, 1, s]], [2 * s, 2 * s], 1).round(6)
    array([0., 0., 2.])
    """
    A, y = sensing_system("iterative_hard_thresholding", A, y)
    m, k = A.shape[1], n_nonzero_coefs
    if not isinstance(k, numbers.Integral) or not 1 <= k <= m:
        raise ValueError(
            f"iterative_hard_thresholding: n_nonzero_coefs must be an integer from 1 to {m}; got {k!r}."
        )
    s, norm = np.zeros(m), float(np.linalg.norm(A, 2))
    support = _largest(A.T @ y, k)
    for _ in range(max_iter):
        g = A.T @ (y - A @ s)
        new = _hard_step(A, s, g, support, k) if normalized else _keep_largest(s + g / norm**2, k)
        moved = float(np.linalg.norm(new - s))
        s, support = new, _largest(new, k)
        if moved <= tol * max(float(np.linalg.norm(s)), 1e-300):
            return s
    _warn("iterative_hard_thresholding", max_iter)
    return s


def _hard_step(A: np.ndarray, s: np.ndarray, g: np.ndarray, support: np.ndarray, k: int) -> np.ndarray:
    """A step of normalised IHT; where the support changes, so short that the error cannot rise."""
    along = np.zeros(len(g))
    along[support] = g[support]
    image = float(np.linalg.norm(A @ along)) ** 2
    if image == 0:
        return s
    length = float(along @ along) / image
    for _ in range(60):
        new = _keep_largest(s + length * g, k)
        move = new - s
        travelled = float(np.linalg.norm(A @ move)) ** 2
        same = np.array_equal(np.flatnonzero(new), np.sort(support))
        if same or travelled == 0 or length <= 0.99 * float(move @ move) / travelled:
            return new
        length /= 2
    return new


def _largest(z: np.ndarray, k: int) -> np.ndarray:
    """Where the k numbers of the largest size are; of equal ones the first."""
    return np.argsort(-np.abs(z), kind="stable")[:k]


def _keep_largest(z: np.ndarray, k: int) -> np.ndarray:
    kept = np.zeros_like(z)
    support = _largest(z, k)
    kept[support] = z[support]
    return kept


def sensing_system(who: str, A: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """A and y as finite float64 arrays that fit together."""
    A = check_array(A, dtype=np.float64, input_name="A")
    y = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    if y.shape != (len(A),):
        raise ValueError(f"{who}: y must have the shape ({len(A)},), as A has rows; got {y.shape}.")
    refuse_large(A, LARGE, f"{who} (input A)")
    refuse_large(y[None], LARGE, f"{who} (input y)")
    return A, y


def _warn(who: str, max_iter: int) -> None:
    text = f"{who} did not converge in {max_iter} iterations. Raise max_iter or tol."
    warnings.warn(text, ConvergenceWarning, stacklevel=3)

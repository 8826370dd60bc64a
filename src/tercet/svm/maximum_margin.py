"""Support vector machines as quadratic programs (凸二次规划): the primal and the dual, hard and soft margins.

    primal  min over w, b, xi of  w.w / 2 + sum_i C_i xi_i       subject to  y_i (w.x_i + b) >= 1 - xi_i,  xi >= 0
    dual    min over alpha of     alpha'Q alpha / 2 - sum alpha   subject to  y.alpha = 0,  0 <= alpha_i <= C_i

with Q_ij = y_i y_j K_ij. C = inf is the hard margin: xi = 0. With squared slacks, C xi_i^2 in the primal, the dual
has no upper bounds, and Q_ii + 1 / (2 C_i) in place of Q_ii. All of it is solved by `optimize.solve_qp`, for data
that are small.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.parallel import one_blas_thread
from tercet.core.steps import ConvergenceWarning, Steps
from tercet.core.validation import check_X_y
from tercet.linear_model import linear_separability
from tercet.optimize import solve_qp
from tercet.svm._dual.problem import DualProblem, DualSolution
from tercet.svm.kkt import evaluated_solution
from tercet.svm.margins import margin_slack
from tercet.svm.smo import dense_dual

__all__ = ["MaximumMargin", "solve_dual_qp", "solve_primal_qp", "svm_dual", "svm_primal"]

Slack = Literal["linear", "squared"]


@dataclass(frozen=True)
class MaximumMargin:
    """A hyperplane of the largest margin: solution of the primal and of the dual.

    Attributes
    ----------
    w : array, the normal vector; None with a kernel.
    b : float, the bias; the middle of `interval` where no row determines it.
    interval : (float, float), all b that are optimal.
    xi : array, the slacks.
    alpha, mu : arrays, the multipliers of y(w.x + b) >= 1 - xi and of xi >= 0 (zeros where there is no such bound).
    primal, dual : float, the two optima (the dual as a maximum).
    support : array of int, the rows with alpha > 0.

    Examples
    --------
    >>> found = svm_primal([[3, 3], [4, 3], [1, 1]], [1, 1, -1])
    >>> found.w.round(6), round(found.b, 6), found.support
    (array([0.5, 0.5]), -2.0, array([0, 2]))
    """

    w: np.ndarray | None
    b: float
    interval: tuple[float, float]
    xi: np.ndarray
    alpha: np.ndarray
    mu: np.ndarray
    primal: float
    dual: float

    @property
    def support(self) -> np.ndarray:
        return np.flatnonzero(self.alpha > 1e-9 * self.alpha.max(initial=1e-300))

    @property
    def gap(self) -> float:
        """primal - dual; 0 at the optimum but for rounding."""
        return self.primal - self.dual


@method(
    zh="支持向量机的原始问题（最大间隔法）",
    task="classification",
    approach="discriminative",
    model="f(x) = sign(w·x + b)",
    strategy="the widest margin: ‖w‖² / 2 + C Σ ξ, or C Σ ξ², with y(w·x + b) >= 1 - ξ",
    algorithms="convex quadratic programming in w, b and ξ",
    texts=[
        "Li ch. 7, Alg 7.1, eq. 7.13, 7.32, exercise 7.3",
        "Machine Learning in Depth ch. 4, eq. 4.4-4.5, sec. 4.5",
        "watermelon notes ch. 4, eq. 4.5-4.6, 4.29",
    ],
    peers=["sklearn.svm.SVC"],
)
def svm_primal(
    X: Any,
    y: Any,
    C: Any = np.inf,
    *,
    slack: Slack = "linear",
    steps: Callable[..., Steps] | None = None,
) -> MaximumMargin:
    """The hyperplane of the largest margin, from the primal problem.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The points.
    y : array of shape (n_samples,)
        Labels of two values; the larger one is the positive side.
    C : float or array of shape (n_samples,), default=inf
        The price of slack. inf is the hard margin (Li eq. 7.13), which needs separable classes.
    slack : {"linear", "squared"}, default="linear"
        Whether slacks or their squares are paid for.
    steps : callable, optional
        Makes the loop (see `core.steps`).

    Returns
    -------
    MaximumMargin

    Examples
    --------
    >>> found = svm_primal([[3, 3], [4, 3], [1, 1]], [1, 1, -1], C=0.2)
    >>> found.w.round(6), tuple(round(b, 6) for b in found.interval), round(found.primal, 6)
    (array([0.4, 0.4]), (-1.8, -1.4), 0.24)
    """
    X, side, C = _signs(X, y, C)
    # The tolerances of the program are absolute: centre and scale the rows.
    shift, (n, d) = X.mean(axis=0), X.shape
    X = X - shift
    unit = _power_of_two(np.abs(X).max())
    X, C = X / unit, C * unit**2
    hard = np.isinf(C)
    if hard.any() and not linear_separability(X[hard], side[hard]):
        raise ValueError(
            "The classes are not linearly separable: no hyperplane has a hard margin (C=inf). Give a finite C."
        )
    soft = np.flatnonzero(~hard)  # these rows have a slack
    m = soft.size
    Q = np.zeros((d + 1 + m, d + 1 + m))
    Q[:d, :d] = np.eye(d)
    c = np.zeros(d + 1 + m)
    if slack == "squared":
        Q[range(d + 1, d + 1 + m), range(d + 1, d + 1 + m)] = 2 * C[soft]
    else:
        c[d + 1 :] = C[soft]
    fits = np.hstack([side[:, None] * X, side[:, None], np.zeros((n, m))])
    fits[soft, d + 1 + np.arange(m)] = 1.0
    # A squared slack is never negative at the optimum: it needs no bound.
    bounds = np.zeros((0 if slack == "squared" else m, d + 1 + m))
    bounds[range(len(bounds)), d + 1 + np.arange(len(bounds))] = 1.0
    h = np.concatenate([-np.ones(n), np.zeros(len(bounds))])
    with one_blas_thread():
        found = _checked(solve_qp(Q, c, -np.vstack([fits, bounds]), h, tol=_qp_tol(C.max()), steps=steps))
    w, alpha = found.x[:d], found.alpha[:n]
    mu = np.zeros(n)
    if slack == "linear":
        mu[soft] = found.alpha[n:]
    upper = C if slack == "linear" else np.full(n, np.inf)
    gram = X @ X.T + np.diag(_ridge(C, slack))
    rest = evaluated_solution(
        gram, side, np.full(n, -1.0), upper, _snapped(alpha, upper), tol=1e-6, n_iter=found.nit
    )
    b, interval = _biases(C, slack, float(found.x[d]), rest)
    xi = np.where(hard, 0.0, margin_slack(X, side, w, b))  # for this b, which need not be the program's
    w, square = w / unit, unit**2
    offset = float(w @ shift)
    return MaximumMargin(
        w=w,
        b=b - offset,
        interval=(interval[0] - offset, interval[1] - offset),
        xi=xi,
        alpha=rest.alpha / square,
        mu=mu / square,
        primal=float(found.fun) / square,
        dual=-rest.objective / square,
    )


@method(
    zh="支持向量机的对偶问题",
    task="classification",
    approach="discriminative",
    model="f(x) = sign(Σ α_i y_i K(x_i, x) + b)",
    strategy="Σ α - Σ α_i α_j y_i y_j K_ij / 2, with Σ α y = 0 and 0 <= α <= C",
    algorithms="convex quadratic programming in α",
    texts=[
        "Li ch. 7, Alg 7.2-7.4, eq. 7.22, 7.37, 7.95, exercise 7.3",
        "Machine Learning in Depth ch. 4, eq. 4.13-4.16",
        "watermelon notes ch. 4, eq. 4.9, 4.31",
        "Pattern Recognition ch. 5, eq. 5-41, 5-48",
    ],
    peers=["sklearn.svm.SVC"],
)
def svm_dual(
    K: Any,
    y: Any,
    C: Any = np.inf,
    *,
    slack: Slack = "linear",
    steps: Callable[..., Steps] | None = None,
) -> MaximumMargin:
    """The classifier of the largest margin, from the dual problem and inner products only.

    Parameters
    ----------
    K : array of shape (n_samples, n_samples)
        The Gram matrix of the rows.
    y : array of shape (n_samples,)
        Labels of two values; the larger one is the positive side.
    C : float or array of shape (n_samples,), default=inf
        The price of slack; inf is the hard margin (Li eq. 7.22), which needs classes that are separable in the
        kernel's space.
    slack : {"linear", "squared"}, default="linear"
        Whether slacks or their squares are paid for.
    steps : callable, optional
        Makes the loop (see `core.steps`).

    Returns
    -------
    MaximumMargin

    Examples
    --------
    >>> X, y = np.array([[3, 3], [4, 3], [1, 1]]), np.array([1, 1, -1])
    >>> found = svm_dual(X @ X.T, y)
    >>> found.alpha.round(6), round(found.b, 6), (found.alpha * y) @ X
    (array([0.25, 0.  , 0.25]), -2.0, array([0.5, 0.5]))
    """
    K, side, C = _signs(K, y, C)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"K must be a square Gram matrix; got {K.shape[0]} x {K.shape[1]}.")
    upper = C if slack == "linear" else np.full(side.size, np.inf)
    gram = K + np.diag(_ridge(C, slack))
    rest = _dual(gram, side, np.full(side.size, -1.0), upper, 0.0, steps)
    f = K @ (side * rest.alpha)
    xi = np.where(np.isinf(C), 0.0, np.maximum(1.0 - side * (f + rest.b), 0.0))
    mu = np.where(np.isinf(upper), 0.0, C - rest.alpha) if slack == "linear" else np.zeros(side.size)
    finite = np.where(np.isinf(C), 0.0, C)
    price = finite @ (xi if slack == "linear" else xi**2)
    primal = float((side * rest.alpha) @ f / 2 + price)
    return MaximumMargin(None, rest.b, rest.interval, xi, rest.alpha, mu, primal, -rest.objective)


def solve_dual_qp(
    problem: DualProblem, *, tol: float = 1e-3, steps: Callable[..., Steps] | None = None
) -> DualSolution:
    """Solve a dual by `optimize.solve_qp`."""
    K, sign, upper, p, start = (np.asarray(part, dtype=float) for part in dense_dual(problem))
    return _dual(K, sign, p, upper, float(sign @ start), steps, tol)


def solve_primal_qp(
    problem: DualProblem, *, tol: float = 1e-3, steps: Callable[..., Steps] | None = None
) -> DualSolution:
    """Solve the primal of a classifier by `optimize.solve_qp`, in the (finite) feature space of its kernel."""
    if problem.nu or problem.row is not None or not np.all(problem.p == -1):
        raise ValueError("The primal program is that of a classifier with slacks (SVC).")
    X = problem.kernel.features(problem.X)
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    upper = np.asarray(problem.upper, dtype=float)
    if problem.ridge is None:
        found = svm_primal(X, problem.sign, upper, steps=steps)
    else:
        C = 1.0 / (2.0 * np.asarray(problem.ridge, dtype=float))
        found = svm_primal(X, problem.sign, C, slack="squared", steps=steps)
    K, sign, upper, p, _ = (np.asarray(part, dtype=float) for part in dense_dual(problem))
    rest = evaluated_solution(K, sign, p, upper, found.alpha, tol=tol, n_iter=0)
    rest.b, rest.interval = found.b, found.interval
    return rest


def _dual(K, sign, p, upper, level: float, steps, tol: float = 1e-6) -> DualSolution:
    n = sign.size
    bounded = np.flatnonzero(np.isfinite(upper))
    G = np.vstack([-np.eye(n), np.eye(n)[bounded]])
    # The tolerances of the program are absolute: scale p, and alpha or K alpha, to about 1.
    steep = _power_of_two(np.abs(p).max())
    unit = _power_of_two(steep / (np.abs(np.diagonal(K)).max() or 1.0))
    if bounded.size == n:
        unit = min(unit, _power_of_two(upper.max()))
    h = np.concatenate([np.zeros(n), upper[bounded] / unit])
    Q = np.outer(sign, sign) * K * (unit / steep)
    with one_blas_thread():
        tol_qp = _qp_tol(np.abs(np.diagonal(Q)).max())
        found = solve_qp(Q, p / steep, G, h, sign[None], [level / unit], tol=tol_qp, steps=steps)
    if found.status == 3 or not np.isfinite(found.fun):
        raise ValueError(
            "The dual is unbounded: the classes cannot be separated in the kernel's space, and without slack "
            "(C=inf) there is no solution. Give a finite C."
        )
    found = _checked(found)
    return evaluated_solution(K, sign, p, upper, _snapped(unit * found.x, upper), tol=tol, n_iter=found.nit)


def _checked(found: Any) -> Any:
    if found.status > 1:
        raise ValueError(f"The quadratic program has no solution: {found.message}")
    if found.status == 1:
        message = f"The quadratic program: {found.message} Scale the features."
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return found


def _power_of_two(size: float) -> float:
    """The power of two at or below a size: dividing by it does not round."""
    return float(2.0 ** np.floor(np.log2(size))) if size > 0 else 1.0


def _qp_tol(price: float) -> float:
    """Tolerance of the quadratic program; smaller where slack is cheap, as w is then small beside the slacks."""
    return float(np.clip(1e-9 * price, 1e-13, 1e-9))


def _snapped(alpha: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Multipliers, set to their bounds where they are within the precision of an interior point method."""
    size = 1e-8 * alpha.max(initial=0.0)
    alpha = np.where(alpha <= size, 0.0, alpha)
    return np.where(alpha >= upper - np.minimum(size, 1e-6 * upper), upper, alpha)


def _ridge(C: np.ndarray, slack: Slack) -> np.ndarray:
    """What squared slacks add to the diagonal of the Gram matrix."""
    return 1.0 / (2.0 * C) if slack == "squared" else np.zeros(C.size)


def _biases(C, slack: Slack, b: float, rest: DualSolution) -> tuple[float, tuple[float, float]]:
    """The bias, and the interval of all optimal ones."""
    if slack == "squared" or np.isinf(C).all():
        return b, (b, b)  # unique
    low, high = rest.interval
    return (b, (b, b)) if high - low <= 1e-7 * (1.0 + abs(low)) else ((low + high) / 2, (low, high))


def _signs(X: Any, y: Any, C: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = check_X_y(X, y, dtype=np.float64)
    classes = np.unique(y)
    if classes.size != 2:
        raise ValueError(f"y must have samples of two classes; got {classes.size}: {classes.tolist()[:5]}.")
    C = np.broadcast_to(np.asarray(C, dtype=float), y.shape)
    if not (C > 0).all():
        raise ValueError(f"C must be positive (inf: a hard margin); its smallest value is {np.min(C)}.")
    return X, np.where(y == classes[1], 1.0, -1.0), C

"""The Karush-Kuhn-Tucker conditions (KKT 条件) of support vector machines, the duality gap, and the bias b."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from tercet.core.catalog import method
from tercet.core.estimator import check_weight
from tercet.core.validation import check_array
from tercet.kernels import centring_offset, intercept_shift, subtract_offset
from tercet.svm._dual.problem import DualSolution, dual_solution, feasible_directions, violating_pair
from tercet.svm.support_vectors import dense_coef, positive_part, slack_costs

__all__ = [
    "KKTReport",
    "evaluated_solution",
    "kkt_conditions",
    "kkt_report",
    "kkt_residuals",
    "maximal_violating_pair",
]


@dataclass(frozen=True)
class KKTReport:
    """Residuals of the KKT conditions, all 0 at the optimum.

    Attributes
    ----------
    stationarity : |sum of sign alpha|, the derivative of the Lagrange function in b. (Those in w and in the slacks
        are 0, as w is the sum of sign alpha phi(x), and mu is C - alpha.)
    complementarity : array, alpha (y g(x) - 1 + slack), one for each variable.
    slackness : array, mu slack; where there is no upper bound there is no slack, and this is 0.
    primal : array, by how much a row that may have no slack misses its constraint.
    dual : array, how far alpha is outside of 0 and its upper bound.
    misses : array, how far y g(x) - 1 is on the wrong side of 0, or away from it where 0 < alpha < C.
    violation : of the maximal violating pair; with the best b, the conditions are missed by half of it.
    primal_value, dual_value : the two objectives, of which the least and the greatest are the same. primal_value
        is inf where a row that may have no slack misses its constraint by more than `tol`.
    alpha, slack : arrays, the multipliers and the slacks.
    tol : the tolerance of `holds`.

    Examples
    --------
    >>> report = kkt_conditions([[18, 6], [6, 2]], [1, -1], [0.2, 0.2], -1.6, C=0.2)
    >>> report.holds, report.violation, abs(report.gap) < 1e-9
    (True, 0.0, True)
    """

    stationarity: float
    complementarity: np.ndarray
    slackness: np.ndarray
    primal: np.ndarray
    dual: np.ndarray
    misses: np.ndarray
    violation: float
    primal_value: float
    dual_value: float
    alpha: np.ndarray
    slack: np.ndarray
    tol: float

    @property
    def gap(self) -> float:
        """primal - dual: the most by which the primal value can be above the least one."""
        return self.primal_value - self.dual_value

    @property
    def worst(self) -> float:
        """The largest residual of stationarity, complementary slackness and feasibility."""
        parts = self.complementarity, self.slackness, self.primal, self.dual
        return max(self.stationarity, *(float(np.abs(part).max(initial=0.0)) for part in parts))

    @property
    def holds(self) -> bool:
        """Whether the conditions hold to the tolerance, as SMO tests them (Li eq. 7.111-7.113)."""
        size = self.tol * max(1.0, float(np.abs(self.alpha).max(initial=0.0)))
        feasible = self.stationarity <= size and self.dual.max(initial=0.0) <= size
        return feasible and bool(self.misses.max(initial=0.0) <= self.tol)


@method(
    zh="KKT 条件",
    task="theory",
    model="α, b and the slacks ξ of a support vector machine",
    strategy="Σ α y = 0;  α (y g(x) - 1 + ξ) = 0;  (C - α) ξ = 0;  y g(x) >= 1 - ξ;  0 <= α <= C",
    texts=[
        "Li ch. 7, eq. 7.27, 7.52-7.54, 7.111-7.113",
        "Machine Learning in Depth ch. 4, eq. 4.27-4.29",
        "watermelon notes ch. 4, eq. 4.11, 4.32, 4.40",
    ],
)
def kkt_report(model: Any, X: Any, y: Any, sample_weight: Any = None, *, tol: float = 1e-3) -> KKTReport:
    """KKT conditions and duality gap of a fitted machine on its training data.

    Parameters
    ----------
    model : SVC of two classes, or SVR
        Fitted.
    X, y : arrays
        The data it was fitted to, in the same order.
    sample_weight : array of shape (n_samples,), optional
        The weights it was fitted with.
    tol : float, default=1e-3
        For `holds`.

    Returns
    -------
    KKTReport
        One variable for each row; for a regression two, all those that hold f(x) up first.

    Examples
    --------
    >>> from tercet.svm import SVC
    >>> X, y = [[3, 3], [4, 3], [1, 1]], [1, 1, -1]
    >>> report = kkt_report(SVC(kernel="linear", C=10).fit(X, y), X, y)
    >>> report.holds, round(report.primal_value, 6), round(report.dual_value, 6)
    (True, 0.25, 0.25)
    """
    check_is_fitted(model)
    needs = ("support_", "dual_coef_", "C", "class_weight_" if is_classifier(model) else "epsilon")
    if not all(hasattr(model, name) for name in needs) or np.shape(model.dual_coef_)[0] != 1:
        raise ValueError(
            f"kkt_report is for an SVC of two classes or an SVR; got {type(model).__name__} with other multipliers."
        )
    rows = model._check(X, reset=False)
    centre = centring_offset(model.kernel_, rows)
    K = np.asarray(model.kernel_(subtract_offset(centre, rows)), dtype=float)
    n, y = len(K), np.asarray(y)
    if n != model.shape_fit_[0]:
        raise ValueError(f"X has {n} rows; the model was fitted to {model.shape_fit_[0]}.")
    if y.shape != (n,):
        raise ValueError(f"y has the shape {y.shape}; X has {n} rows.")
    weight = check_weight(positive_part(sample_weight), rows)
    weight = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
    beta = np.zeros(n)
    beta[model.support_] = dense_coef(model.dual_coef_)[0]
    square, b = None, float(np.ravel(model.intercept_)[0]) + intercept_shift(beta, rows, np.arange(n), centre)
    if is_classifier(model):
        strange = np.setdiff1d(y, model.classes_)
        if strange.size:
            raise ValueError(
                f"y has labels that the model was not fitted to: {strange[:3].tolist()}; it knows "
                f"{model.classes_.tolist()}."
            )
        index = np.searchsorted(model.classes_, y)
        C = slack_costs(model.C, np.asarray(model.class_weight_)[index] * weight)
        sign = np.where(index == 1, 1.0, -1.0)
        alpha, p = sign * beta, np.full(n, -1.0)
        if getattr(model, "loss", "hinge") == "squared_hinge" and np.isfinite(model.C):
            square, C = 2 * C, np.full(n, np.inf)
    else:
        y = check_array(y, ensure_2d=False, dtype=float, input_name="y")
        K, C = np.tile(K, (2, 2)), np.tile(slack_costs(model.C, weight), 2)
        sign = np.repeat([1.0, -1.0], n)
        alpha = np.maximum(sign * np.tile(beta, 2), 0.0)
        p = model.epsilon - sign * np.tile(y, 2)
    return kkt_conditions(K, sign, alpha, b, C, p=p, square=square, tol=tol)


def kkt_conditions(
    K: Any,
    sign: Any,
    alpha: Any,
    b: float,
    C: Any = np.inf,
    *,
    p: Any = None,
    square: Any = None,
    tol: float = 1e-3,
) -> KKTReport:
    """KKT conditions and duality gap for given multipliers alpha and a threshold b.

    Parameters
    ----------
    K : array of shape (n, n)
        The Gram matrix of the variables' rows.
    sign : array of shape (n,)
        -1 or +1: the labels.
    alpha : array of shape (n,)
        The multipliers.
    b : float
        The threshold.
    C : float or array of shape (n,), default=inf
        Upper bounds of alpha, which are the prices of the slacks. With inf there is no slack.
    p : array of shape (n,), optional
        The linear part of the dual: a row asks for sign g(x) + p + slack >= 0. By default -1.
    square : float or array of shape (n,), optional
        Prices of squared slacks, in place of C: sum of square slack² / 2 (2C in Li, exercise 7.3).
    tol : float, default=1e-3
        For `holds`.

    Returns
    -------
    KKTReport

    Examples
    --------
    >>> report = kkt_conditions([[18, 6], [6, 2]], [1, -1], [0.25, 0.25], -1.5)
    >>> report.primal, report.primal_value, report.dual_value
    (array([0. , 0.5]), inf, 0.25)
    """
    K, sign, alpha = (np.asarray(v, dtype=float) for v in (K, sign, alpha))
    p = np.full(sign.size, -1.0) if p is None else np.asarray(p, dtype=float)
    upper = np.broadcast_to(np.asarray(C, dtype=float), sign.shape)
    bound = np.where(np.isfinite(upper), upper, 0.0)
    f = K @ (sign * alpha)
    short = -(sign * (f + b) + p)  # what each row lacks to meet its constraint without slack
    ridge = np.zeros(sign.size)  # on the diagonal of Q, of squared slacks
    if square is not None:
        square = np.broadcast_to(np.asarray(square, dtype=float), sign.shape)
        paid = square > 0  # else the row has weight 0, and no bounds on its slack
        ridge = np.divide(1.0, square, out=np.zeros(sign.size), where=paid)
        upper = np.where(paid, upper, 0.0)
    xi = np.where(np.isfinite(upper) | (ridge > 0), np.maximum(short, 0.0), 0.0)
    primal = np.maximum(short - xi, 0.0)
    price = bound @ xi if square is None else square @ xi**2 / 2
    mu = np.where(np.isfinite(upper), upper - alpha, 0.0) if square is None else square * xi - alpha
    norm = float((sign * alpha) @ f)
    E = f + sign * (p + ridge * alpha)
    _, _, low, high = maximal_violating_pair(E, sign, alpha, upper)
    return KKTReport(
        stationarity=float(abs(sign @ alpha)),
        complementarity=alpha * (xi - short),
        slackness=mu * xi,
        primal=primal,
        dual=np.maximum(0.0, np.maximum(-alpha, alpha - upper)),
        misses=kkt_residuals(E + b, sign, alpha, upper),
        violation=max(0.0, low - high),
        primal_value=float(norm / 2 + price) if primal.max(initial=0.0) <= tol else np.inf,
        dual_value=float(-norm / 2 - ridge @ alpha**2 / 2 - p @ alpha),
        alpha=alpha,
        slack=xi,
        tol=tol,
    )


def kkt_residuals(E: np.ndarray, sign: np.ndarray, alpha: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """By how much each row violates the KKT conditions (Li eq. 7.111-7.113), with E = g(x) - y.

    y g(x) - 1 must be at least 0 where alpha = 0, 0 where alpha is between its bounds, at most 0 where alpha = C.

    Examples
    --------
    >>> kkt_residuals(np.array([-1.0, 2.0, 0.5]), np.ones(3), np.array([0.0, 0.0, 0.5]), np.ones(3))
    array([1. , 0. , 0.5])
    """
    surplus = sign * E
    return np.maximum(np.where(alpha < upper, -surplus, 0.0), np.where(alpha > 0, surplus, 0.0)) + 0.0


def maximal_violating_pair(E: Any, y: Any, alpha: Any, C: Any = np.inf) -> tuple[int, int, float, float]:
    """The pair of variables that violates the KKT conditions most, and the interval of b that they ask for.

    With E = g(x) - y without b, the conditions are b >= -E where y alpha can increase, and b <= -E where it can
    decrease. Let i have the largest bound of the first kind, and j the smallest of the second: at the optimum the
    first is not above the second, and every b between is optimal; else moving the two lowers the objective.

    Parameters
    ----------
    E, y, alpha : arrays of shape (n,)
        Errors, labels (-1 or +1) and multipliers.
    C : float or array of shape (n,), default=inf
        Upper bounds of alpha.

    Returns
    -------
    i, j : int
        The pair.
    low, high : float
        -E_i and -E_j; low - high is the violation.

    Examples
    --------
    >>> maximal_violating_pair([-1.0, -1, 1], [1.0, 1, -1], np.zeros(3), 9.0)
    (0, 2, 1.0, -1.0)
    """
    E, y, alpha = (np.asarray(v, dtype=float) for v in (E, y, alpha))
    return violating_pair(-E, *feasible_directions(y, alpha, np.asarray(C, dtype=float)))


def evaluated_solution(
    K: np.ndarray,
    sign: np.ndarray,
    p: np.ndarray,
    upper: np.ndarray,
    alpha: np.ndarray,
    *,
    tol: float,
    n_iter: int,
) -> DualSolution:
    """The `DualSolution` for multipliers alpha: b and its interval, the objective, the violation."""
    gradient = sign * (K @ (sign * alpha) + sign * p)
    found = dual_solution(alpha, gradient, sign, p, upper, n_iter=n_iter)
    low, high = found.interval
    found.interval = (low if np.isfinite(low) else high), (high if np.isfinite(high) else low)
    found.converged = found.violation <= tol
    return found

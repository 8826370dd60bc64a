"""Lagrangian duality (拉格朗日对偶性): Lagrange function, dual problem, KKT conditions, duality gap.

min over x of f(x)   subject to  c_i(x) <= 0,  h_j(x) = 0
L(x, alpha, beta) = f(x) + sum alpha_i c_i(x) + sum beta_j h_j(x),   alpha >= 0
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from tercet.core.catalog import method
from tercet.core.steps import ConvergenceWarning
from tercet.optimize.convex_programming import solve_convex, strictly_feasible_point
from tercet.optimize.minimize import minimize
from tercet.optimize.objective import as_objective

__all__ = ["KKT", "DualityGap", "Lagrangian", "slater"]

Function = Callable[[np.ndarray], float]
UNBOUNDED_NORM = 1e8  # an iterate this large means that L is unbounded below


@dataclass(frozen=True)
class KKT:
    """Residuals of the Karush-Kuhn-Tucker conditions (Li eq. C.21-C.25); all are 0 at a solution.

    Attributes
    ----------
    stationarity : array, the gradient of the Lagrange function in x.
    complementarity : array, alpha_i c_i(x).
    primal : array, how far c_i(x) is above 0.
    dual : array, how far alpha_i is below 0.
    equality : array, h_j(x).

    Examples
    --------
    >>> conditions = Lagrangian(lambda x: x @ x, [lambda x: 1 - x[0]]).kkt([2.0], [0.0])
    >>> conditions.holds(), conditions.stationarity.round(6), conditions.primal
    (False, array([4.]), array([0.]))
    """

    stationarity: np.ndarray
    complementarity: np.ndarray
    primal: np.ndarray
    dual: np.ndarray
    equality: np.ndarray

    @property
    def worst(self) -> float:
        """The largest residual in size."""
        return max(float(np.abs(part).max(initial=0.0)) for part in vars(self).values())

    def holds(self, tol: float = 1e-6) -> bool:
        """Whether all conditions hold to a tolerance."""
        return self.worst <= tol


@dataclass(frozen=True)
class DualityGap:
    """Primal and dual values, dual <= optimum <= primal (Li Thm C.1); a zero gap proves optimality.

    Examples
    --------
    >>> Lagrangian(lambda x: x @ x, [lambda x: 1 - x[0]]).gap([2.0], [0.0]).gap
    4.0
    """

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """primal - dual; never negative but for rounding."""
        return self.primal - self.dual


@method(
    zh="拉格朗日对偶性",
    task="optimisation",
    model="L(x, alpha, beta) = f + sum alpha_i c_i + sum beta_j h_j",
    strategy="max over alpha >= 0, beta of min over x of L",
    texts=["Li app. C", "Li ch. 7, eq. 7.15-7.18", "Machine Learning in Depth ch. 4, sec. 4.3.1, 4.7.1"],
)
class Lagrangian:
    """The generalised Lagrange function of a constrained problem (广义拉格朗日函数; Li eq. C.4).

    Parameters
    ----------
    f : callable
        The objective, a function of a vector.
    inequalities : sequence of callables
        c_i, in c_i(x) <= 0.
    equalities : sequence of callables
        h_j, in h_j(x) = 0.
    gradients : tuple (f', [c_i'], [h_j']) of callables, optional
        Their gradients; by default central differences.

    Examples
    --------
    >>> L = Lagrangian(lambda x: x @ x, [lambda x: 1 - x[0]])
    >>> round(L.theta_D([2.0], x0=[0.0]), 9), L.theta_P([3.0]), L.theta_P([0.5])
    (1.0, 9.0, inf)
    >>> L.kkt([1.0], [2.0]).holds()
    True
    """

    def __init__(
        self,
        f: Function,
        inequalities: Sequence[Function] = (),
        equalities: Sequence[Function] = (),
        gradients: tuple[Function, Sequence[Function], Sequence[Function]] | None = None,
    ) -> None:
        self.f, self.inequalities, self.equalities = f, list(inequalities), list(equalities)
        none: list[Any] = [None] * (len(self.inequalities) + len(self.equalities))
        derivatives: Any = gradients or (None, none[: len(self.inequalities)], none[len(self.inequalities) :])
        self._f = as_objective(f, derivatives[0])
        self._c = [as_objective(*pair) for pair in zip(self.inequalities, derivatives[1], strict=True)]
        self._h = [as_objective(*pair) for pair in zip(self.equalities, derivatives[2], strict=True)]

    def constraints(self, x: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """The values c_i(x) and h_j(x)."""
        x = _vector(x)
        return np.array([c.value(x) for c in self._c]), np.array([h.value(x) for h in self._h])

    def value(self, x: ArrayLike, alpha: ArrayLike = (), beta: ArrayLike = ()) -> float:
        """L(x, alpha, beta)."""
        alpha, beta = self._multipliers(alpha, beta)
        c, h = self.constraints(x)
        return self._f.value(_vector(x)) + float(alpha @ c + beta @ h)

    def gradient(self, x: ArrayLike, alpha: ArrayLike = (), beta: ArrayLike = ()) -> np.ndarray:
        """The gradient of L in x."""
        x, (alpha, beta) = _vector(x), self._multipliers(alpha, beta)
        parts = [m * part.gradient(x) for m, part in zip([*alpha, *beta], self._c + self._h) if m]
        return sum(parts, start=self._f.gradient(x))

    def theta_P(self, x: ArrayLike, tol: float = 1e-9) -> float:
        """sup of L over the multipliers: f(x) where x is feasible to a tolerance, else infinity (Li eq. C.7)."""
        c, h = self.constraints(x)
        feasible = c.max(initial=0.0) <= tol and np.abs(h).max(initial=0.0) <= tol
        return self._f.value(_vector(x)) if feasible else math.inf

    def minimiser(self, alpha: ArrayLike = (), beta: ArrayLike = (), *, x0: ArrayLike) -> np.ndarray | None:
        """argmin of L over x, by descent from x0; None when L is unbounded below."""
        alpha, beta = self._multipliers(alpha, beta)
        if alpha.min(initial=0.0) < 0:
            raise ValueError(f"alpha must not be negative; got {alpha}.")
        with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = minimize(
                lambda x: self.value(x, alpha, beta),
                x0,
                jac=lambda x: self.gradient(x, alpha, beta),
                tol=1e-10,
                callback=lambda step: not np.abs(step.state).max() < UNBOUNDED_NORM,
            )
        return result.x if np.abs(result.x).max() < UNBOUNDED_NORM else None

    def theta_D(self, alpha: ArrayLike = (), beta: ArrayLike = (), *, x0: ArrayLike) -> float:
        """The dual function inf over x of L (Li eq. C.10), -infinity when L is unbounded below.

        Parameters
        ----------
        alpha, beta : arrays
            Multipliers, alpha >= 0.
        x0 : array
            The start of the minimisation; when L is not convex the local minimum depends on it.
        """
        x = self.minimiser(alpha, beta, x0=x0)
        return -math.inf if x is None else self.value(x, alpha, beta)

    def kkt(self, x: ArrayLike, alpha: ArrayLike = (), beta: ArrayLike = ()) -> KKT:
        """The residuals of the KKT conditions (Li Thm C.3)."""
        alpha, beta = self._multipliers(alpha, beta)
        c, h = self.constraints(x)
        return KKT(self.gradient(x, alpha, beta), alpha * c, np.maximum(c, 0.0), np.maximum(-alpha, 0.0), h)

    def gap(self, x: ArrayLike, alpha: ArrayLike = (), beta: ArrayLike = ()) -> DualityGap:
        """theta_P(x) and theta_D(alpha, beta): bounds of the optimum from above and below."""
        return DualityGap(self.theta_P(x), self.theta_D(alpha, beta, x0=x))

    def solve(self, x0: ArrayLike, tol: float = 1e-9, max_iter: int = 200) -> optimize.OptimizeResult:
        """Solve the primal and the dual problem of a convex program (Li eq. C.11-C.14).

        The solution of the KKT conditions, by an interior point method (`solve_convex`). For convex problems under
        Slater's condition its x solves the primal problem, its multipliers the dual one, and both have one value
        (Li Thm C.2, C.3).

        Parameters
        ----------
        x0 : array
            The start; it need not be feasible.
        tol, max_iter
            As in `solve_convex`.

        Returns
        -------
        result : OptimizeResult
            x, alpha, beta, fun (the dual optimum L(x, alpha, beta)), kkt, gap, success, status and message.
        """
        found = solve_convex(self._f, _vector(x0), self._c, self._h, tol=tol, max_iter=max_iter)
        x, alpha, beta = found.x, found.alpha, found.beta
        return optimize.OptimizeResult(
            x=x, alpha=alpha, beta=beta, fun=found.dual, kkt=self.kkt(x, alpha, beta),
            gap=self.theta_P(x, tol=1e-6) - found.dual, nit=found.nit, success=found.success, status=found.status,
            message=found.message,
        )  # fmt: skip

    def slater(self, x0: ArrayLike, *, strict: Any = None) -> np.ndarray | None:
        """A point that satisfies the inequalities strictly (Slater's condition; Li Thm C.2), or None.

        Parameters
        ----------
        x0 : array
            The start of the search.
        strict : boolean array, optional
            Which inequalities must hold strictly; by default all. (Affine ones need not, for strong duality.)
        """
        return strictly_feasible_point(self._c, self._h, x0, strict)

    def _multipliers(self, alpha: ArrayLike, beta: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        alpha, beta = _vector(alpha), _vector(beta)
        for name, given, wanted in (("alpha", alpha, len(self._c)), ("beta", beta, len(self._h))):
            if given.size != wanted:
                raise ValueError(
                    f"{name} must have one multiplier for each of {wanted} constraints; got {given}."
                )
        return alpha, beta


@method(
    zh="Slater条件",
    task="optimisation",
    model="there is an x with c_i(x) < 0, h_j(x) = 0",
    texts=["Li app. C, Thm C.2", "Machine Learning in Depth ch. 4, sec. 4.3.1"],
)
def slater(
    G: Any, h: Any = None, A: Any = None, b: Any = None, *, strict: Any = None, x0: Any = None
) -> np.ndarray | None:
    """A point that satisfies convex constraints strictly, the condition for strong duality (Li Thm C.2).

    (Affine inequalities need not hold strictly for strong duality; then plain feasibility is enough.)

    Parameters
    ----------
    G, h : arrays of shape (m, n) and (m,), or a list of callables
        Linear inequalities G x <= h, by linear programming; or in place of G convex functions c_i, in c_i(x) <= 0
        (without h), by an interior point method.
    A, b : arrays of shape (k, n) and (k,), or a list of callables, optional
        Equalities A x = b; or beside functions c_i affine functions h_j, in h_j(x) = 0.
    strict : boolean array of shape (m,), optional
        Which inequalities must hold strictly; by default all.
    x0 : array of shape (n,), optional
        The start of the search; needed where the constraints are functions.

    Returns
    -------
    x : array or None
        None when there is no such point.

    Examples
    --------
    >>> slater([[-1.0]], [-1.0]) > 1
    array([ True])
    >>> slater([[1.0], [-1.0]], [0.0, 0.0]) is None
    True
    >>> disc, half = lambda x: x @ x - 1, lambda x: 0.5 - x[0]
    >>> x = slater([disc, half], x0=[0.0, 0.0])
    >>> bool(disc(x) < 0 and half(x) < 0)
    True
    """
    if any(map(_is_function, G)):
        if x0 is None or h is not None or b is not None:
            raise ValueError(
                "slater: constraints that are functions need x0, and neither h nor b (c_i(x) <= 0, h_j(x) = 0)."
            )
        return strictly_feasible_point(list(G), [] if A is None else list(A), x0, strict)
    if h is None:
        raise ValueError("slater: linear inequalities G x <= h need h.")
    return _linear_interior_point(np.atleast_2d(np.asarray(G, dtype=float)), _vector(h), A, b, strict)


def _is_function(constraint: Any) -> bool:
    return callable(constraint) or hasattr(constraint, "value_and_gradient")


def _linear_interior_point(G: np.ndarray, h: np.ndarray, A: Any, b: Any, strict: Any) -> np.ndarray | None:
    """A point with G x < h and A x = b: the one with the largest margin, up to 1; None when there is none."""
    n = G.shape[1]
    margin = np.ones(len(h)) if strict is None else np.asarray(strict, dtype=float)
    rows = (
        {}
        if A is None
        else {"A_eq": np.column_stack([np.atleast_2d(A), np.zeros(len(A))]), "b_eq": _vector(b)}
    )
    result = optimize.linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.column_stack([G, margin]),
        b_ub=h,
        bounds=[(None, None)] * n + [(None, 1.0)],
        **rows,
    )
    scale = 1.0 + np.abs(h).max(initial=0.0)
    return result.x[:n] if result.status == 0 and result.x[n] > 1e-9 * scale else None


def _vector(x: ArrayLike) -> np.ndarray:
    return np.atleast_1d(np.asarray(x, dtype=float))

"""Newton's method (牛顿法) and Newton-CG."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method
from tercet.optimize.conjugate_gradient import conjugate_gradient
from tercet.optimize.descent import DescentMethod, descend, takes_shared_options
from tercet.optimize.line_search import EPS
from tercet.optimize.objective import CountedObjective, as_objective


class Newton(DescentMethod):
    """Newton direction: H p = -g.

    Away from the minimum H need not be positive definite, and p need not be a descent direction. With `safeguard`
    H is replaced by H + τI, with the first τ of a growing sequence for which Cholesky's factorisation exists.
    """

    def __init__(self, objective: CountedObjective, safeguard: bool = True) -> None:
        self.objective, self.safeguard = objective, safeguard
        self.H = np.empty((0, 0))

    def direction(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        self.H = self.objective.hessian(x)
        if self.safeguard:
            return -solve_shifted(self.H, g)
        try:
            return -np.linalg.solve(self.H, g)
        except np.linalg.LinAlgError:
            raise np.linalg.LinAlgError(
                f"The Hessian is singular at x = {x}: H p = -g has no unique solution; safeguard=True shifts it."
            ) from None

    def result_fields(self) -> dict[str, Any]:
        return {"hess": self.H}


def solve_shifted(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Solve (H + τI) q = g with τ >= 0 large enough that the matrix is positive definite; 0 if H is."""
    diagonal = np.diag(H)
    scale = max(float(np.abs(H).max()), EPS)
    floor = 1e-10 * scale  # smaller pivots are rounding errors
    shift = 0.0 if diagonal.min() > 0 else -float(diagonal.min()) + 1e-3 * scale
    while True:
        shifted = H + shift * np.eye(len(H))
        try:
            factor = linalg.cho_factor(shifted, lower=True)
        except linalg.LinAlgError:
            factor = None
        if factor is not None and np.diag(factor[0]).min() ** 2 > floor:
            return linalg.cho_solve(factor, g)
        shift = max(10 * shift, 1e-3 * scale)


class NewtonCG(DescentMethod):
    """Inexact Newton direction: H p = -g by conjugate gradients with Hessian-vector products.

    The iteration is truncated at a relative residual (the forcing term) or at a direction of negative curvature.
    """

    def __init__(
        self, objective: CountedObjective, most: int | None = None, forcing: float | None = None
    ) -> None:
        self.objective, self.most, self.forcing = objective, most, forcing

    def direction(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        # The default forcing term tends to 0 with |g|: superlinear convergence.
        forcing = self.forcing or min(0.25, float(g @ g) ** 0.25)
        found = conjugate_gradient(
            lambda v: self.objective.hessian_product(x, v),
            -g,
            tol=forcing,
            max_iter=self.most or 2 * g.size + 10,
            min_curvature=EPS,
        )
        return found.x if found.x.any() else -g  # no positive curvature along g


@method(
    zh="牛顿法",
    task="optimisation",
    model="f(x), twice differentiable",
    strategy="a local minimum of f",
    algorithms="x + p with H p = -g; safeguarded by a shift of H and a line search",
    texts=["Li app. B, Alg B.1", "Machine Learning in Depth ch. 2"],
    peers=["scipy.optimize.minimize"],
)
@takes_shared_options
def newton(
    objective: Any, x0: Any, *, safeguard: bool = True, line_search: Any = None, **options: Any
) -> OptimizeResult:
    """Newton's method: steps to the minimum of the second-order model of f.

    Parameters
    ----------
    objective : callable or Objective
        f; a missing Hessian is approximated by differences of gradients.
    x0 : array of shape (n,)
        The start.
    safeguard : bool, default=True
        Whether to shift a Hessian that is not positive definite, and to backtrack from steps that do not lower
        f. False is the text's algorithm, with full steps.
    line_search : str, float or callable, optional
        Choice of λ: by default backtracking from 1 with the safeguard, else always 1.
    **options
        As in `minimize`.

    Examples
    --------
    >>> newton(lambda x: float(np.exp(x[0]) - 2 * x[0]), [0.0]).x.round(4)
    array([0.6931])
    """
    objective = as_objective(objective)
    search = line_search or ("armijo" if safeguard else "fixed")
    return descend(objective, x0, Newton(objective, safeguard), line_search=search, **options)


@takes_shared_options
def newton_cg(
    objective: Any,
    x0: Any,
    *,
    most: int | None = None,
    forcing: float | None = None,
    line_search: Any = "armijo",
    **options: Any,
) -> OptimizeResult:
    """Newton-CG (truncated Newton): needs Hessian-vector products only.

    Parameters
    ----------
    objective : callable or Objective
        f; missing Hessian-vector products are approximated by differences of gradients.
    x0 : array of shape (n,)
        The start.
    most : int, optional
        Maximum number of conjugate gradient iterations in one pass; 2n + 10 by default.
    forcing : float, optional
        Forcing term, the relative residual at which the conjugate gradients stop; by default sqrt(|g|), at most
        1/4. A constant such as 1/2 needs more passes with fewer products in each.
    line_search : str, float or callable, default="armijo"
        Choice of λ.
    **options
        As in `minimize`.

    Examples
    --------
    >>> from tercet.optimize import Quadratic
    >>> newton_cg(Quadratic([[4, 1], [1, 3]], [1, 2]), [2, 1], tol=1e-9).x.round(4)
    array([0.0909, 0.6364])
    """
    objective = as_objective(objective)
    return descend(
        objective, x0, NewtonCG(objective, most, forcing), line_search=line_search or "armijo", **options
    )

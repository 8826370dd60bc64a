"""Quasi-Newton methods (拟牛顿法): DFP, BFGS and Broyden's class.

The secant condition: an approximation G of H⁻¹ maps the last change y of the gradient to the last change δ of x
(G y = δ), an approximation B of H the other way round (B δ = y).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import linalg
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method
from tercet.optimize.descent import DescentMethod, descend, takes_shared_options
from tercet.optimize.line_search import EPS, Ray, Wolfe


def dfp_update(G: np.ndarray, delta: np.ndarray, y: np.ndarray) -> np.ndarray:
    """G + δδᵀ/δᵀy - GyyᵀG/yᵀGy (Li app. B, Eq B.24).

    Examples
    --------
    The new matrix takes y to δ:

    >>> delta, y = np.array([1.0, 0.0]), np.array([2.0, 1.0])
    >>> (dfp_update(np.eye(2), delta, y) @ y).round(12).tolist()
    [1.0, 0.0]
    """
    Gy = G @ y
    return G + np.outer(delta, delta) / (delta @ y) - np.outer(Gy, Gy) / (y @ Gy)


def bfgs_update(B: np.ndarray, delta: np.ndarray, y: np.ndarray) -> np.ndarray:
    """B + yyᵀ/yᵀδ - BδδᵀB/δᵀBδ (Li app. B, Eq B.30): DFP with δ and y in each other's place.

    Examples
    --------
    The new matrix takes δ to y:

    >>> delta, y = np.array([1.0, 0.0]), np.array([2.0, 1.0])
    >>> (bfgs_update(np.eye(2), delta, y) @ delta).round(12).tolist()
    [2.0, 1.0]
    """
    return dfp_update(B, y, delta)


def broyden_update(G: np.ndarray, delta: np.ndarray, y: np.ndarray, alpha: float = 0.0) -> np.ndarray:
    """α G_DFP + (1 - α) G_BFGS (Li app. B, Eq B.31, B.32).

    The two differ by a matrix of rank one: G_BFGS = G_DFP + vvᵀ with v = √(yᵀGy) (δ/δᵀy - Gy/yᵀGy).

    Examples
    --------
    >>> delta, y = np.array([1.0, 0.0]), np.array([2.0, 1.0])
    >>> dfp = broyden_update(np.eye(2), delta, y, alpha=1.0)
    >>> bool(np.allclose(dfp, dfp_update(np.eye(2), delta, y)))
    True
    """
    Gy = G @ y
    along = y @ Gy
    v = delta / (delta @ y) - Gy / along
    return dfp_update(G, delta, y) + (1 - alpha) * along * np.outer(v, v)


class QuasiNewton(DescentMethod):
    """Quasi-Newton direction: p = -G g, or B p = -g.

    Parameters
    ----------
    n : int
        The number of variables.
    alpha : float
        The member of Broyden's class: 1 is DFP, 0 BFGS. Outside [0, 1] the matrix need not stay positive
        definite.
    form : {"inverse", "b"}
        Whether G (near H⁻¹) or B (near H, for BFGS only) is kept.
    initial : array of shape (n, n), optional
        G_0 or B_0, positive definite; by default the identity, scaled to the curvature of the first step before
        the first update.
    """

    def __init__(self, n: int, alpha: float, form: str = "inverse", initial: Any = None) -> None:
        if not 0 <= alpha <= 1:
            raise ValueError(f"alpha must be a number in [0, 1]; got {alpha!r}.")
        if form not in ("inverse", "b") or (form == "b" and alpha != 0):
            raise ValueError(f"form must be 'inverse', or with BFGS also 'b'; got {form!r}.")
        if initial is not None:
            initial = np.array(initial, dtype=float)
            if initial.shape != (n, n) or not np.allclose(initial, initial.T) or _not_positive(initial):
                raise ValueError(
                    f"initial must be a symmetric positive definite matrix of shape ({n}, {n}); got {initial!r}."
                )
        self.alpha, self.form, self.initial = alpha, form, initial
        self.matrix = np.eye(n) if initial is None else initial
        self.moves = 0

    def direction(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        if self.form == "inverse":
            return -(self.matrix @ g)
        return -linalg.solve(self.matrix, g, assume_a="pos")

    def update(self, step: float, delta: np.ndarray, y: np.ndarray) -> None:
        curvature = delta @ y
        if curvature <= EPS * (y @ y) or curvature <= EPS * (delta @ delta):
            return  # without δᵀy > 0 the matrix would not stay positive definite
        if self.moves == 0 and self.initial is None:
            ratio = curvature / (y @ y)
            self.matrix = np.eye(delta.size) * (ratio if self.form == "inverse" else 1 / ratio)
        if self.form == "inverse":
            matrix = broyden_update(self.matrix, delta, y, self.alpha)
        else:
            matrix = bfgs_update(self.matrix, delta, y)
        if np.isfinite(matrix).all():
            self.matrix = (matrix + matrix.T) / 2
            self.moves += 1

    def initial_step(self, ray: Ray) -> float:
        free = self.moves == 0 and self.initial is None
        return 1 / float(np.linalg.norm(ray.p)) if free else 1.0

    def reset(self) -> bool:
        forgot, self.moves = self.moves > 0, 0
        if forgot:
            self.matrix, self.initial = np.eye(len(self.matrix)), None
        return forgot

    def result_fields(self) -> dict[str, Any]:
        return {"hess_inv" if self.form == "inverse" else "hess": self.matrix}


@method(
    zh="DFP 算法",
    task="optimisation",
    model="f(x), differentiable",
    strategy="a local minimum of f",
    algorithms="p = -Gg, G near H⁻¹ by the DFP update",
    texts=["Li app. B, Alg B.2", "Li ch. 6"],
)
def dfp(objective: Any, x0: Any, **options: Any) -> OptimizeResult:
    """Davidon, Fletcher and Powell's quasi-Newton method: `broyden` with alpha=1.

    Examples
    --------
    >>> from tercet.optimize import Quadratic
    >>> found = dfp(Quadratic([[4, 1], [1, 3]], [1, 2]), [2, 1], line_search="exact", initial=np.eye(2))
    >>> found.nit, found.hess_inv * 11
    (2, array([[ 3., -1.],
               [-1.,  4.]]))
    """
    return broyden(objective, x0, alpha=1.0, **options)


@method(
    zh="BFGS 算法",
    task="optimisation",
    model="f(x), differentiable",
    strategy="a local minimum of f",
    algorithms={"b": "B p = -g, B near H by the BFGS update", "inverse": "p = -Gg, G = B⁻¹"},
    texts=["Li app. B, Alg B.3", "Li ch. 6, Alg 6.2"],
    peers=["scipy.optimize.minimize"],
)
def bfgs(
    objective: Any, x0: Any, *, form: Literal["inverse", "b"] = "inverse", **options: Any
) -> OptimizeResult:
    """Broyden, Fletcher, Goldfarb and Shanno's quasi-Newton method: `broyden` with alpha=0.

    Parameters
    ----------
    objective, x0, **options
        As in `broyden`.
    form : {"inverse", "b"}, default="inverse"
        Whether to keep G near H⁻¹, or B near H as the text's algorithm does (n³ operations in each pass).

    Examples
    --------
    >>> from tercet.optimize import Quadratic
    >>> found = bfgs(Quadratic([[4, 1], [1, 3]], [1, 2]), [2, 1], form="b", line_search="exact")
    >>> found.hess.round(6)
    array([[4., 1.],
           [1., 3.]])
    """
    return broyden(objective, x0, alpha=0.0, form=form, **options)


@method(
    zh="Broyden 类算法",
    task="optimisation",
    model="f(x), differentiable",
    strategy="a local minimum of f",
    algorithms="p = -Gg, G = α G_DFP + (1 - α) G_BFGS",
    texts=["Li app. B"],
)
@takes_shared_options
def broyden(
    objective: Any,
    x0: Any,
    *,
    alpha: float = 0.5,
    form: str = "inverse",
    initial: Any = None,
    line_search: Any = None,
    **options: Any,
) -> OptimizeResult:
    """Broyden's class of quasi-Newton methods, between BFGS (alpha=0) and DFP (alpha=1).

    Parameters
    ----------
    objective : callable or Objective
        f.
    x0 : array of shape (n,)
        The start.
    alpha : float, default=0.5
        The member of the class, in [0, 1].
    form : {"inverse", "b"}, default="inverse"
        The matrix that is kept: G near H⁻¹, or B near H (for alpha=0).
    initial : array of shape (n, n), optional
        The first matrix, positive definite; by default the identity, scaled to the curvature of the first step.
    line_search : str, float or callable, optional
        Choice of λ: by default the Wolfe conditions, stricter for alpha > 0, because DFP is sensitive to an
        inexact line search and BFGS is not. The text's is "exact".
    **options
        As in `minimize`.

    Returns
    -------
    OptimizeResult
        With the last matrix as `hess_inv` or `hess`.

    Examples
    --------
    >>> from tercet.optimize import Quadratic
    >>> broyden(Quadratic([[4, 1], [1, 3]], [1, 2]), [2, 1]).x.round(4)
    array([0.0909, 0.6364])
    """
    rule = QuasiNewton(np.size(x0), alpha, form, initial)
    search = line_search or Wolfe(c2=0.1 if alpha > 0 else 0.9)
    return descend(objective, x0, rule, line_search=search, **options)


def _not_positive(matrix: np.ndarray) -> bool:
    return bool(np.linalg.eigvalsh(matrix).min() <= 0)

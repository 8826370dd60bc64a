"""The quasi-Newton conditions (拟牛顿条件) of an approximation of the Hessian, or of its inverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method


@dataclass(frozen=True)
class QuasiNewtonConditions:
    """What a quasi-Newton matrix must satisfy (Li eq. B.12-B.16, B.25).

    Attributes
    ----------
    secant : array of shape (n,), the residual of the secant equation: G y - δ, or B δ - y.
    asymmetry : float, the largest |M - Mᵀ|.
    smallest_eigenvalue : float, of the symmetric part; positive definite matrices make descent directions (B.15).
    curvature : float, δᵀy; unless it is positive no positive definite matrix satisfies the secant equation.
    scale : float, the size of δ (or y) and of the matrix, which residuals are compared with.

    Examples
    --------
    >>> conditions = quasi_newton_conditions([[1.0, 0.0], [0.0, -1.0]], [1.0, 0.0], [1.0, 0.0])
    >>> conditions.secant, conditions.positive_definite, conditions.holds()
    (array([0., 0.]), False, False)
    """

    secant: np.ndarray
    asymmetry: float
    smallest_eigenvalue: float
    curvature: float
    scale: tuple[float, float]

    @property
    def positive_definite(self) -> bool:
        """Whether the matrix is positive definite: then -Gg is a descent direction."""
        return self.smallest_eigenvalue > 0

    def holds(self, tol: float = 1e-8) -> bool:
        """Whether the matrix is symmetric, positive definite and satisfies the secant equation, to a tolerance."""
        of_vector, of_matrix = self.scale
        secant = float(np.abs(self.secant).max()) <= tol * of_vector
        return secant and self.asymmetry <= tol * of_matrix and self.positive_definite


@method(
    zh="拟牛顿条件",
    task="optimisation",
    model="G y = δ, or B δ = y, with δ the change of x and y that of the gradient",
    texts=["Li app. B, eq. B.12-B.16, B.25"],
)
def quasi_newton_conditions(
    matrix: Any, delta: Any, y: Any, *, form: Literal["inverse", "b"] = "inverse"
) -> QuasiNewtonConditions:
    """Quasi-Newton conditions: check a matrix against the last step, by the secant equation and for definiteness.

    Parameters
    ----------
    matrix : array of shape (n, n)
        G near the inverse of the Hessian, or B near the Hessian.
    delta, y : arrays of shape (n,)
        The last change of x, and of the gradient.
    form : {"inverse", "b"}, default="inverse"
        Whether the matrix is G or B.

    Returns
    -------
    QuasiNewtonConditions

    Examples
    --------
    >>> from tercet.optimize import dfp_update
    >>> delta, y = np.array([1.0, 2.0]), np.array([2.0, 1.0])
    >>> quasi_newton_conditions(dfp_update(np.eye(2), delta, y), delta, y).holds()
    True
    """
    if form not in ("inverse", "b"):
        raise ValueError(f"form must be 'inverse' or 'b'; got {form!r}.")
    matrix, delta, y = (np.asarray(value, dtype=float) for value in (matrix, delta, y))
    n = delta.size
    if matrix.shape != (n, n) or delta.shape != (n,) or y.shape != (n,):
        raise ValueError(
            f"matrix, delta and y must have the shapes (n, n), (n,) and (n,); got {matrix.shape}, {delta.shape} "
            f"and {y.shape}."
        )
    left, right = (y, delta) if form == "inverse" else (delta, y)
    return QuasiNewtonConditions(
        matrix @ left - right,
        float(np.abs(matrix - matrix.T).max()),
        float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[0]),
        float(delta @ y),
        (max(1.0, float(np.abs(right).max())), max(1.0, float(np.abs(matrix).max()))),
    )

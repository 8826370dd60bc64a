"""The conjugate gradient method (共轭梯度法): linear systems by products with their matrix alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

Operator = Callable[[np.ndarray], np.ndarray]


class CGIterate(NamedTuple):
    """State of the conjugate gradient method after some iterations.

    Attributes
    ----------
    x : the approximate solution, of the shape of b.
    residual : largest |b - A x| / |b| of all right-hand sides.
    n_iter : number of products with A so far.
    moved : whether the iteration changed x; False when every column is solved, or A has no positive curvature
        along the search directions.
    multipliers : those of the constraints, of shape (n_constraints, ...); empty where there are none.
    """

    x: np.ndarray
    residual: float
    n_iter: int
    moved: bool
    multipliers: np.ndarray


def conjugate_gradient(
    product: Operator,
    b: Any,
    x0: Any = None,
    *,
    preconditioner: Operator | None = None,
    constraints: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
    min_curvature: float = 0.0,
) -> CGIterate:
    """Solve A x = b for a symmetric positive definite A given by its products with vectors.

    Parameters
    ----------
    product : callable
        v -> A v.
    b : array of shape (n,) or (n, k)
        The right-hand side; several are solved at once as columns, with one product per iteration.
    x0 : array of the shape of b, optional
        The start; 0 by default.
    preconditioner : callable, optional
        v -> M⁻¹ v with M near A.
    constraints : array of shape (n, m), optional
        Columns E of the saddle-point system A x + E λ = b, Eᵀx = 0.
    tol : float, default=1e-6
        Stop when every |b - A x| is at most tol |b|.
    max_iter : int, optional
        The most iterations; 2n + 10 by default.
    min_curvature : float, default=0.0
        Directions with pᵀA p up to this times pᵀp are not followed: A is not positive definite there.

    Returns
    -------
    CGIterate
        The last iterate; its residual tells whether it converged.

    See Also
    --------
    conjugate_gradient_iterates : the same, one iteration at a time.

    Examples
    --------
    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> found = conjugate_gradient(lambda v: A @ v, [1.0, 2.0])
    >>> found.x.round(6), found.n_iter
    (array([0.090909, 0.636364]), 2)
    """
    b = np.asarray(b, dtype=np.float64)
    iterates = conjugate_gradient_iterates(
        product,
        b,
        x0,
        preconditioner=preconditioner,
        constraints=constraints,
        min_curvature=min_curvature,
    )
    limit = 2 * b.shape[0] + 10 if max_iter is None else max_iter
    for iterate in itertools.islice(iterates, limit + 1):
        if iterate.residual <= tol or not iterate.moved:
            break
    return iterate


def conjugate_gradient_iterates(
    product: Operator,
    b: np.ndarray,
    x0: Any = None,
    *,
    preconditioner: Operator | None = None,
    constraints: np.ndarray | None = None,
    min_curvature: float = 0.0,
) -> Iterator[CGIterate]:
    """The start and every further iterate of `conjugate_gradient`, without end.

    With constraints it is the projected method: search directions stay in the null space of Eᵀ, and the part of
    the residual that the multipliers explain goes to them.

    Examples
    --------
    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> iterates = conjugate_gradient_iterates(lambda v: A @ v, np.array([1.0, 2.0]))
    >>> [round(next(iterates).residual, 3) for _ in range(3)]
    [1.0, 0.25, 0.0]
    """
    dots = np.dot if b.ndim == 1 else _column_dots
    space = None if constraints is None else _NullSpace(constraints, preconditioner)
    norm = np.sqrt(dots(b, b))
    norm = norm + (norm == 0)
    x = np.zeros_like(b) if x0 is None else np.array(x0, dtype=b.dtype)
    r = b.copy() if x0 is None else b - product(x)
    multipliers = np.zeros((0, *b.shape[1:]))
    if space is not None:
        multipliers, r = space.split(r)
    yield CGIterate(x, _largest(np.sqrt(dots(r, r)) / norm), 0, True, multipliers)
    p, last = np.zeros_like(b), np.zeros(b.shape[1:])
    for n_iter in itertools.count(1):
        z = r if preconditioner is None else preconditioner(r)
        if space is not None:
            z = space.project(z, r)
        rz = dots(r, z)
        p = z + _ratio(rz, last) * p
        Ap = product(p)
        curvature = dots(p, Ap)
        if min_curvature:
            curvature = curvature * (curvature > min_curvature * dots(p, p))
        step = _ratio(rz, curvature)  # 0 once a column is solved, or where A is not positive definite
        x = x + step * p
        r = r - step * Ap
        if space is not None:
            more, r = space.split(r)
            multipliers = multipliers + more
        last = rz
        residual = _largest(np.sqrt(dots(r, r)) / norm)
        yield CGIterate(x, residual, n_iter, _largest(step) > 0, multipliers)


class _NullSpace:
    """Projections for the constraints Eᵀx = 0, in the metric of the preconditioner M."""

    def __init__(self, E: np.ndarray, preconditioner: Operator | None) -> None:
        self.E, self.scaled = E, E if preconditioner is None else preconditioner(E)  # M⁻¹E
        self.inner, self.outer = linalg.pinvh(E.T @ self.scaled), linalg.pinvh(E.T @ E)

    def split(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """λ and r - E λ, orthogonal to E."""
        multipliers = self.outer @ (self.E.T @ r)
        return multipliers, r - self.E @ multipliers

    def project(self, z: np.ndarray, r: np.ndarray) -> np.ndarray:
        """z = M⁻¹r projected on the null space of Eᵀ."""
        return z - self.scaled @ (self.inner @ (self.scaled.T @ r))


def _column_dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Inner products of the columns of two matrices."""
    return (a * b).sum(axis=0)


def _ratio(a: Any, b: Any) -> Any:
    """a / b where both are positive, else 0; of numbers, or of arrays entry by entry."""
    if not isinstance(a, np.ndarray):
        return a / b if a > 0 and b > 0 else 0.0
    good = (a > 0) & (b > 0)
    return np.where(good, a / np.where(good, b, 1.0), 0.0)


def _largest(values: Any) -> float:
    """The largest of some numbers that are not negative; 0 when there is none."""
    return float(values.max(initial=0.0)) if isinstance(values, np.ndarray) else float(values)

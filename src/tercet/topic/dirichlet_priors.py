"""Dirichlet priors learned from counts: Minka's fixed point and Newton's method.

Rows of counts n_d, each from a multinomial whose probabilities are drawn from one Dirichlet(α), have the likelihood

    Σ_d [log Γ(α_0) - log Γ(n_d + α_0)] + Σ_d Σ_k [log Γ(n_dk + α_k) - log Γ(α_k)],    α_0 = Σ_k α_k.

In latent Dirichlet allocation the rows are documents and the columns topics (for α), or topics and words (for β).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.input_errors import shown
from tercet.topic._gibbs.count_table import CountTable

# rows that are all alike have no finite best prior, columns without counts no positive one
SMALLEST, LARGEST = 1e-6, 1e6


def dirichlet_multinomial_log_likelihood(counts: Any, alpha: Any) -> float:
    """Log-likelihood of rows of counts under a Dirichlet prior; orders of the draws are not counted.

    Parameters
    ----------
    counts : array of shape (n_rows, n_columns)
        Whole numbers.
    alpha : array of shape (n_columns,), or float
        The prior; one number stands for all columns.

    Returns
    -------
    float

    Examples
    --------
    >>> round(dirichlet_multinomial_log_likelihood([[2, 1], [0, 2]], [0.5, 0.5]), 6)
    -3.753418
    """
    table = CountTable.of_rows(counts)
    return table.log_likelihood(_prior(alpha, table.n_columns))


@method(
    zh="狄利克雷先验的不动点迭代",
    task="distribution",
    model="rows of counts from multinomials whose probabilities are drawn from one Dirichlet(α)",
    strategy="greatest likelihood of the counts, the probabilities integrated out",
    algorithms="α_k ← α_k Σ_d [Ψ(n_dk + α_k) - Ψ(α_k)] / Σ_d [Ψ(n_d + α_0) - Ψ(α_0)]",
    texts=["Li ch. 20", "watermelon notes ch. 12"],
)
def minka_fixed_point(
    counts: Any,
    alpha: Any = 1.0,
    *,
    symmetric: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-8,
) -> np.ndarray:
    """Dirichlet prior of rows of counts by Minka's fixed point: every step raises the likelihood.

    Parameters
    ----------
    counts : array of shape (n_rows, n_columns), or CountTable
        Whole numbers.
    alpha : array of shape (n_columns,), or float, default=1.0
        Where to begin.
    symmetric : bool, default=False
        One number for all columns.
    max_iter : int, default=1000
        The most steps.
    tol : float, default=1e-8
        The largest relative change of the prior at which to stop.

    Returns
    -------
    alpha : array of shape (n_columns,)
        Kept between 1e-6 and 1e6: rows that are all alike have no finite best prior, and columns without counts
        none above zero.

    Examples
    --------
    >>> minka_fixed_point([[5, 1], [2, 4], [6, 0], [1, 3]]).round(4)
    array([1.5476, 0.9117])
    """
    table = counts if isinstance(counts, CountTable) else CountTable.of_rows(counts)
    alpha = _prior(alpha, table.n_columns)
    for _ in range(max_iter):
        raised = fixed_point_step(table, alpha, symmetric=symmetric)
        done = np.abs(raised - alpha).max() <= tol * np.abs(alpha).max()
        alpha = raised
        if done:
            break
    return alpha


def fixed_point_step(table: CountTable, alpha: np.ndarray, *, symmetric: bool = False) -> np.ndarray:
    """One step of Minka's fixed point."""
    above, below = table.slopes(alpha)
    if below <= 0:  # no counts: nothing is known
        return alpha
    if symmetric:
        above = np.full(table.n_columns, above.sum() / table.n_columns)
    return np.clip(alpha * above / below, SMALLEST, LARGEST)


@method(
    zh="狄利克雷先验的牛顿法",
    task="distribution",
    model="rows of counts from multinomials whose probabilities are drawn from one Dirichlet(α)",
    strategy="greatest likelihood of the counts, the probabilities integrated out",
    algorithms="Newton's method; the Hessian is a diagonal and a constant, so that a step takes linear time",
    texts=["Li ch. 20, eq. 20.65-20.68", "watermelon notes ch. 12"],
)
def newton_dirichlet_prior(
    counts: Any, alpha: Any = 1.0, *, max_iter: int = 100, tol: float = 1e-8
) -> np.ndarray:
    """Dirichlet prior of rows of counts by Newton's method, which needs few steps near the optimum.

    A step that leaves the positive numbers or lowers the likelihood is halved; where none helps, a step of Minka's
    fixed point is made instead.

    Parameters
    ----------
    counts : array of shape (n_rows, n_columns), or CountTable
        Whole numbers.
    alpha : array of shape (n_columns,), or float, default=1.0
        Where to begin.
    max_iter : int, default=100
        The most steps.
    tol : float, default=1e-8
        The largest relative change of the prior at which to stop.

    Returns
    -------
    alpha : array of shape (n_columns,)
        Kept between 1e-6 and 1e6, as in `minka_fixed_point`.

    Examples
    --------
    >>> newton_dirichlet_prior([[5, 1], [2, 4], [6, 0], [1, 3]]).round(4)
    array([1.5476, 0.9117])
    """
    table = counts if isinstance(counts, CountTable) else CountTable.of_rows(counts)
    alpha = _prior(alpha, table.n_columns)
    for _ in range(max_iter):
        raised = newton_step(table, alpha)
        done = np.abs(raised - alpha).max() <= tol * np.abs(alpha).max()
        alpha = raised
        if done:
            break
    return alpha


def newton_step(table: CountTable, alpha: np.ndarray) -> np.ndarray:
    """One step of Newton's method in time linear in the columns: the Hessian is diag(q) + z."""
    above, below = table.slopes(alpha)
    if below <= 0:  # no counts: nothing is known
        return alpha
    curved, shared = table.curvature(alpha)
    known = curved < 0  # the others are columns without counts, best left out
    alpha = np.where(known, alpha, SMALLEST)
    gradient, q, z = (above - below)[known], curved[known], -shared
    shift = (gradient / q).sum() / (1.0 / z + (1.0 / q).sum()) if z > 0 else 0.0
    direction = np.zeros_like(alpha)
    direction[known] = (gradient - shift) / q
    before, size = table.log_likelihood(alpha), 1.0
    for _ in range(30):
        raised = alpha - size * direction
        inside = np.isfinite(raised).all() and raised.min() >= SMALLEST and raised.max() <= LARGEST
        if inside and table.log_likelihood(raised) >= before:
            return raised
        size /= 2
    return fixed_point_step(table, alpha)


def _prior(alpha: Any, n_columns: int) -> np.ndarray:
    """A prior as a vector."""
    found = np.asarray(alpha, dtype=np.float64)
    if found.ndim > 1 or (found.ndim == 1 and found.size != n_columns):
        raise ValueError(
            f"alpha must be a number or have the shape ({n_columns},); its shape is {found.shape}."
        )
    if not ((found > 0) & (found < np.inf)).all():
        raise ValueError(f"alpha must be positive and finite; got {shown(alpha)}.")
    return np.array(np.broadcast_to(found, n_columns))

"""Directions of best separation, from scatter matrices alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from tercet.core.catalog import method
from tercet.core.steps import Steps
from tercet.discriminant_analysis.covariance import flip_signs, whitening


@method(
    zh="多元LDA的广义特征值问题",
    task="dimensionality reduction",
    model="z = Wᵀx",
    strategy="S_b W = S_w W Λ with WᵀS_wW = I",
    algorithms="whitening of S_w by its eigenvectors, then an ordinary eigenproblem",
    texts=["watermelon notes ch. 1, eq. 1.28, 1.29"],
)
def fisher_directions(
    within: Any = None,
    between: Any = None,
    total: Any = None,
    *,
    n_components: int | None = None,
    tol: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Discriminant directions from any two of the three scatter matrices.

    Parameters
    ----------
    within, between, total : arrays of shape (n_features, n_features)
        S_w, S_b and S_t = S_w + S_b; any two of them.
    n_components : int, optional
        How many directions; by default all.
    tol : float, default=0.0
        Directions in which S_w is singular are left out; see `LinearDiscriminantAnalysis`.

    Returns
    -------
    values : array
        Generalised eigenvalues, falling.
    W : array of shape (n_features, n_directions)
        The directions, with WᵀS_wW = I, the entry of largest size in each of them positive.

    Examples
    --------
    >>> values, W = fisher_directions([[6, 3], [3, 6]], [[50, 35 / 3], [35 / 3, 458 / 9]])
    >>> values
    array([12.92714001,  6.90002048])
    """
    if sum(S is not None for S in (within, between, total)) < 2:
        raise ValueError("fisher_directions needs two of within, between and total.")
    within = np.subtract(total, between) if within is None else np.asarray(within, dtype=np.float64)
    between = np.subtract(total, within) if between is None else np.asarray(between, dtype=np.float64)
    T = whitening(within, tol)
    values, vectors = linalg.eigh(T.T @ between @ T)
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    return values, flip_signs(T @ vectors)


@method(
    zh="迹比值",
    task="dimensionality reduction",
    model="z = Wᵀx, WᵀW = I",
    strategy="tr(WᵀS_bW) / tr(WᵀS_wW)",
    algorithms="W from the top eigenvectors of S_b - ρS_w, ρ from W, in turns",
    texts=["watermelon notes ch. 1, eq. 1.28"],
)
def trace_ratio(
    within: Any,
    between: Any,
    n_components: int,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    steps: Any = Steps,
) -> tuple[float, np.ndarray]:
    """Orthonormal directions with the largest ratio of traces; the ratio rises in every pass.

    Parameters
    ----------
    within, between : arrays of shape (n_features, n_features)
        S_w and S_b.
    n_components : int
        How many directions.
    tol : float, default=1e-4
        Directions in which S_w is singular are left out: the ratio has no bound there.
    max_iter : int, default=100
        The most passes.
    steps : callable
        Makes the loop.

    Returns
    -------
    ratio : float
    W : array of shape (n_features, n_components)

    Examples
    --------
    >>> ratio, W = trace_ratio([[6, 3], [3, 6]], [[50, 35 / 3], [35 / 3, 458 / 9]], 1)
    >>> round(ratio, 6)
    12.92714
    """
    within, between = np.asarray(within, dtype=np.float64), np.asarray(between, dtype=np.float64)
    range_of = linalg.orth(whitening(within, tol))
    Sw, Sb = range_of.T @ within @ range_of, range_of.T @ between @ range_of
    ratio, V = 0.0, np.eye(Sw.shape[0])
    for step in steps(max_iter):
        V = linalg.eigh(Sb - ratio * Sw)[1][:, ::-1][:, :n_components]
        before, ratio = ratio, rayleigh_quotient(V, Sb, Sw)
        step.report(range_of @ V, ratio=ratio)
        if step.converged(ratio - before <= 1e-12 * abs(ratio)):
            break
    return ratio, flip_signs(range_of @ V)


@method(
    zh="广义瑞利商",
    task="dimensionality reduction",
    model="J(w) = (wᵀS_bw)/(wᵀS_ww)",
    texts=["watermelon notes ch. 1, eq. 1.25, 1.28", "Pattern Recognition ch. 5, sec. 5.6, eq. 5-70"],
)
def rayleigh_quotient(w: Any, between: Any, within: Any) -> float:
    """The quotient wᵀS_bw / wᵀS_ww; of traces when w has several columns.

    Parameters
    ----------
    w : array of shape (n_features,) or (n_features, n_components)
        The direction or directions.
    between, within : arrays of shape (n_features, n_features)
        S_b and S_w.

    Returns
    -------
    J : float

    Examples
    --------
    >>> rayleigh_quotient([1, 1], [[1, 1], [1, 1]], [[1, 0], [0, 1]])
    2.0
    """
    w = np.asarray(w, dtype=np.float64)
    w = w[:, None] if w.ndim == 1 else w
    return float(np.sum(w * (between @ w)) / np.sum(w * (within @ w)))

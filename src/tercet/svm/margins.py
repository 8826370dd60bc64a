"""Margins (间隔), and what kind of support vector a row is."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.linear_model import functional_margin, hyperplane_distance

__all__ = [
    "functional_margin",
    "geometric_margin",
    "hyperplane_distance",
    "margin_slack",
    "margin_width",
    "slack_distance",
    "support_categories",
]


@method(
    zh="几何间隔",
    task="theory",
    model="y(w·x + b) / ‖w‖",
    strategy="the distance of a row from the hyperplane, negative when it is on the wrong side",
    texts=[
        "Li ch. 7, Def 7.2, 7.3",
        "Machine Learning in Depth ch. 4, eq. 4.1-4.3",
        "watermelon notes ch. 4, eq. 4.2",
    ],
)
def geometric_margin(X: Any, y: Any, w: Any, b: float = 0.0) -> np.ndarray:
    """Geometric margin of each row, y(w·x + b) / ‖w‖; that of the data is the smallest (几何间隔).

    (w, b) and (cw, cb) with c > 0 have the same, while functional margins y(w·x + b) grow with c.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The points.
    y : array of shape (n_samples,)
        Their sides, -1 or +1.
    w, b : array of shape (n_features,) and float
        The hyperplane.

    Examples
    --------
    >>> geometric_margin([[3, 3], [4, 3], [1, 1]], [1, 1, -1], [3, 4], -6)
    array([ 3. ,  3.6, -0.2])
    """
    return functional_margin(X, y, w, b) / _norm(w)


def margin_width(w: Any) -> float:
    """2 / ‖w‖, the distance of the margin boundaries w·x + b = 1 and w·x + b = -1.

    Li ch. 7.1.3; watermelon notes eq. 4.4.

    Examples
    --------
    >>> margin_width([3, 4])
    0.4
    """
    return 2.0 / _norm(w)


def margin_slack(X: Any, y: Any, w: Any, b: float = 0.0) -> np.ndarray:
    """The least ξ >= 0 with y(w·x + b) >= 1 - ξ: what each row lacks to stand on its margin boundary (松弛变量).

    Examples
    --------
    >>> margin_slack([[0.0], [1.0], [3.0]], [-1, 1, 1], [1], -2)
    array([0., 2., 0.])
    """
    return np.maximum(0.0, 1.0 - functional_margin(X, y, w, b))


def slack_distance(X: Any, y: Any, w: Any, b: float = 0.0) -> np.ndarray:
    """ξ / ‖w‖, how far each row is from its margin boundary, on the wrong side of it (Li ch. 7.2.3).

    Examples
    --------
    >>> slack_distance([[0.0], [1.0], [3.0]], [-1, 1, 1], [2], -4)
    array([0. , 1.5, 0. ])
    """
    return margin_slack(X, y, w, b) / _norm(w)


@method(
    zh="支持向量的类别",
    task="theory",
    model="α, ξ of each row",
    strategy="α = 0: none; 0 < α < C: on the margin boundary; α = C: there, inside, on the plane or beyond it",
    texts=[
        "Li ch. 7, Def 7.4, sec. 7.2.3",
        "Machine Learning in Depth ch. 4, sec. 4.5",
        "watermelon notes ch. 4, eq. 4.32",
    ],
)
def support_categories(alpha: Any, xi: Any, C: Any = np.inf, *, tol: float = 1e-6) -> np.ndarray:
    """Kind of support vector of each row, from its multiplier α and its slack ξ.

    Parameters
    ----------
    alpha, xi : arrays of shape (n_samples,)
        Multipliers and slacks.
    C : float or array of shape (n_samples,), default=inf
        The upper bounds of alpha; inf is the hard margin.
    tol : float, default=1e-6
        Values this close to 0, 1 or (relative to it) C count as equal.

    Returns
    -------
    array of str
        "none" (not a support vector), "boundary" (0 < α < C, or α = C and ξ = 0: on the margin boundary),
        "inside" (0 < ξ < 1: on the right side, but inside the margin), "hyperplane" (ξ = 1: on the hyperplane)
        or "wrong" (ξ > 1: on the wrong side).

    Examples
    --------
    >>> support_categories([0, 0.3, 1, 1, 1], [0, 0, 0.5, 1, 1.5], C=1).tolist()
    ['none', 'boundary', 'inside', 'hyperplane', 'wrong']
    """
    alpha, xi, C = (np.asarray(v, dtype=float) for v in (alpha, xi, C))
    alpha, xi, C = np.broadcast_arrays(alpha, xi, C)
    scale = np.where(np.isfinite(C), C, alpha.max(initial=0.0))
    at_bound = np.isfinite(C) & (alpha >= C - tol * scale)
    return np.select(
        [
            alpha <= tol * scale,
            ~at_bound | (xi <= tol),
            xi < 1.0 - tol,
            xi <= 1.0 + tol,
        ],
        ["none", "boundary", "inside", "hyperplane"],
        default="wrong",
    )


def _norm(w: Any) -> float:
    w = np.asarray(w, dtype=float)
    largest = float(np.abs(w).max(initial=0.0))  # squares of very large or small numbers are lost
    if largest == 0.0:
        raise ValueError("w is zero: there is no hyperplane, and no distance from it.")
    return largest * float(np.linalg.norm(w / largest))

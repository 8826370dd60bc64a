"""One pass of dual coordinate descent (对偶坐标下降) for logistic regression, in plain form."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq


def logistic_dual_pass(
    X: ArrayLike, y: ArrayLike, C: float, alpha: ArrayLike, order: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the dual of logistic regression in one variable after the other, for two classes and no intercept.

    The dual of 1/2 |w|^2 + C sum_i log(1 + exp(-y_i w·x_i)) is to minimise, over 0 < α_i < C,
    1/2 |sum_i α_i y_i x_i|^2 + sum_i α_i log α_i + (C - α_i) log(C - α_i); then w = sum_i α_i y_i x_i. (Yu, Huang
    and Lin, 2011.) `LogisticRegression` with solver="liblinear" and dual=True takes these steps.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        -1 or 1.
    C : float
    alpha : array of shape (n,)
        Between 0 and C.
    order : array of row numbers

    Returns
    -------
    alpha : array of shape (n,)
    w : array of shape (d,)

    Examples
    --------
    >>> X, y = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]), np.array([-1, 1, -1, 1])
    >>> alpha = np.full(4, 0.5)
    >>> for _ in range(30):
    ...     alpha, w = logistic_dual_pass(X, y, 1.0, alpha, range(4))
    >>> w.round(3)
    array([ 0.301, -0.222])
    """
    X, y, alpha = np.asarray(X, dtype=float), np.asarray(y, dtype=float), np.array(alpha, dtype=float)
    w = X.T @ (alpha * y)
    for i in np.asarray(order):
        a, b = X[i] @ X[i], y[i] * (X[i] @ w)

        def slope(z: float, i: int = i, a: float = a, b: float = b) -> float:
            return a * (z - alpha[i]) + b + np.log(z / (C - z))

        z = brentq(slope, 1e-15 * C, C * (1 - 1e-15), xtol=1e-15 * C)
        w = w + (z - alpha[i]) * y[i] * X[i]
        alpha[i] = z
    return alpha, w

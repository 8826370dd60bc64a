"""One pass of SAG or SAGA (随机平均梯度) for logistic regression, in plain form."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.functions import sigmoid
from tercet.penalties import soft_threshold


def average_gradient_pass(
    X: ArrayLike,
    y: ArrayLike,
    w: ArrayLike,
    memory: ArrayLike,
    order: ArrayLike,
    *,
    eta: float,
    l2: float = 0.0,
    l1: float = 0.0,
    saga: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Steps of SAG or SAGA at some rows, for two classes and no intercept.

    They minimise 1/n sum_i log(1 + exp(-y_i w·x_i)) + l2/2 |w|^2 + l1 |w|_1. Every row's last slope is remembered.
    A step computes one slope anew, and goes along the average of all: SAG with the new slope in it, SAGA with the
    old average and the whole change, so that the step is right on average. `LogisticRegression` with solver="sag"
    or "saga" takes these steps.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        -1 or 1.
    w : array of shape (d,)
    memory : array of shape (n,)
        The remembered slopes, the derivatives of the losses in the scores w·x_i.
    order : array of row numbers
    eta : float
        The step size.
    l2, l1 : float, default=0.0
        Strengths of the penalties.
    saga : bool, default=True

    Returns
    -------
    w, memory : arrays

    Examples
    --------
    >>> X, y = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]), np.array([-1, 1, -1, 1])
    >>> w, memory = np.zeros(2), -y / 2
    >>> for _ in range(300):
    ...     w, memory = average_gradient_pass(X, y, w, memory, range(4), eta=0.2)
    >>> w.round(3)
    array([ 0.908, -1.362])
    """
    X, y, w = np.asarray(X, dtype=float), np.asarray(y, dtype=float), np.array(w, dtype=float)
    memory = np.array(memory, dtype=float)
    average = X.T @ memory / len(X)
    for i in np.asarray(order):
        slope = -y[i] * sigmoid(-y[i] * (X[i] @ w))
        change = (slope - memory[i]) * X[i]
        memory[i] = slope
        if saga:
            direction = average + change
            average = average + change / len(X)
        else:
            direction = average = average + change / len(X)
        w = soft_threshold(w - eta * (direction + l2 * w), eta * l1)
    return w, memory

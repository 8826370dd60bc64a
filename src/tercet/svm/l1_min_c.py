"""The smallest C for which an L1-penalised linear classifier is not empty."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from tercet.core.estimator import distinct
from tercet.core.validation import check_array

__all__ = ["l1_min_c"]


def l1_min_c(
    X: Any,
    y: Any,
    *,
    loss: Literal["squared_hinge", "log"] = "squared_hinge",
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
) -> float:
    """The bound of C below which all weights of an L1-penalised linear classifier are zero.

    At w = 0 the derivative of a row's loss along a feature is -2 y x, or -y x / 2. While C times the sum of these
    is at most 1 for every feature, the penalty |w|₁ keeps all weights at zero.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array of shape (n_samples,)
        The labels; of more than two classes, each against the rest.
    loss : {"squared_hinge", "log"}, default="squared_hinge"
        Of `LinearSVC`, or of `LogisticRegression`.
    fit_intercept : bool, default=True
        Whether there is an intercept, as the weight of one more feature.
    intercept_scaling : float, default=1.0
        The value of that feature.

    Returns
    -------
    float

    Examples
    --------
    >>> l1_min_c([[1.0, 0], [3, 1], [0, 2]], [1, 1, -1])
    0.125
    """
    if loss not in ("squared_hinge", "log"):
        raise ValueError(f"l1_min_c: loss must be 'squared_hinge' or 'log'; got {loss!r}.")
    if not intercept_scaling > 0:
        raise ValueError(f"l1_min_c: intercept_scaling must be positive; got {intercept_scaling!r}.")
    X = check_array(X, accept_sparse="csc", dtype=(np.float64, np.float32))
    y = column_or_1d(y)
    check_consistent_length(X, y)
    classes, index = distinct(y)
    positive = [1] if classes.size == 2 else range(classes.size)
    sides = np.array([np.where(index == k, 1.0, -1.0) for k in positive])
    steepest = float(np.abs(X.T @ sides.T).max())
    if fit_intercept:
        steepest = max(steepest, float(np.abs(sides.sum(axis=1)).max()) * intercept_scaling)
    if steepest == 0:
        raise ValueError(
            "Ill-posed l1_min_c calculation: with these data, L1 makes all weights zero for every C."
        )
    return (0.5 if loss == "squared_hinge" else 2.0) / steepest

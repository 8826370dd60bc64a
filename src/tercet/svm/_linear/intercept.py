"""The intercept that minimises the hinge loss of given scores, and fitted attributes from weights."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray


def hinge_intercepts(scores: Array, y: Array, cost: Array, margin: float = 1.0) -> tuple[float, float]:
    """The interval of b that minimise the sum of cost [margin - y (score + b)]_+.

    The derivative of the sum begins with minus the costs of all positives, and rises by a row's cost where its loss
    begins or ends: at b = margin y - score.

    Examples
    --------
    >>> hinge_intercepts(np.array([3.0, 3.5, 1.0]), np.array([1.0, 1.0, -1.0]), np.ones(3))
    (-2.0, -2.0)
    """
    kinks = margin * y - scores
    order = np.argsort(kinks, kind="stable")
    slope = np.cumsum(cost[order]) - cost[y > 0].sum()
    k = int(np.searchsorted(slope, -1e-12 * cost.sum()))
    flat = slope[k] <= 1e-12 * cost.sum() and k + 1 < len(kinks)
    return float(kinks[order[k]]), float(kinks[order[k + 1 if flat else k]])


def linear_attributes(model: Any, V: Array, dtype: Any) -> dict[str, Any]:
    """`coef_` and `intercept_` from weights V of shape (n_functions, n_features + 1), the intercept's last."""
    intercept = (model.intercept_scaling * V[:, -1]).astype(dtype) if model.fit_intercept else 0.0
    return {"coef_": V[:, :-1].astype(dtype), "intercept_": intercept}

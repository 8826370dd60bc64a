"""Error-ambiguity decomposition of an average (误差-分歧分解)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.ensemble.combination.averages import check_predictions, check_weights


class ErrorAmbiguity(NamedTuple):
    """Error of the average, mean error of the members, and their ambiguity: error = mean_error - ambiguity."""

    error: Any
    mean_error: Any
    ambiguity: Any


@method(
    zh="误差-分歧分解",
    task="theory",
    model="E = Ē - Ā: (f - H)² = Σ_i w_i (f - h_i)² - Σ_i w_i (h_i - H)²",
    texts=["watermelon notes ch. 6, eq. 6.22-6.27"],
)
def error_ambiguity(
    predictions: Any,
    y: Any,
    weights: Any = None,
    *,
    sample_weight: Any = None,
    per_sample: bool = False,
) -> ErrorAmbiguity:
    """Decomposition of an average's squared error: the members' mean error less their ambiguity.

    Members that are good and differ from each other make a good average. (6.26 leaves out the weights w_i on its
    right side.)

    Parameters
    ----------
    predictions : array of shape (n_members,) or (n_samples, n_members)
        What each member predicts for one row, or for each row.
    y : float or array of shape (n_samples,)
        The targets.
    weights : array of shape (n_members,), optional
        Weights of the members, divided by their sum; by default all are equal.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts in the means.
    per_sample : bool, default=False
        Whether to give the terms of each row, not their means.

    Returns
    -------
    ErrorAmbiguity
        `error`, `mean_error` and `ambiguity`.

    Examples
    --------
    >>> found = error_ambiguity([2, 3.5, 5], 4, weights=[0.2, 0.5, 0.3])
    >>> [round(float(term), 4) for term in found]
    [0.1225, 1.225, 1.1025]
    """
    h = np.atleast_2d(check_predictions(predictions))
    target = np.atleast_1d(np.asarray(y, dtype=float))
    if target.shape != h.shape[:1]:
        raise ValueError(f"y must have one target for each of {len(h)} rows; got shape {np.shape(y)}.")
    w = check_weights(weights, h.shape[1])
    mean = h @ w
    error = (target - mean) ** 2
    mean_error = (target[:, None] - h) ** 2 @ w
    ambiguity = (h - mean[:, None]) ** 2 @ w
    terms = (error, mean_error, ambiguity)
    if per_sample:
        return ErrorAmbiguity(*terms)
    return ErrorAmbiguity(*(float(np.average(term, weights=sample_weight)) for term in terms))

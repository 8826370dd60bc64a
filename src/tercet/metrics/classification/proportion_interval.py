"""Confidence interval of a proportion: an accuracy, an error rate, a precision or a recall."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri

from tercet.core.catalog import method


class ProportionInterval(NamedTuple):
    """A proportion and the ends of its confidence interval (arrays when counts are)."""

    proportion: Any
    low: Any
    high: Any


METHODS = ("wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald")


@method(
    zh="比例的置信区间",
    task="evaluation",
    model="k of n trials, binomial with unknown p",
    algorithms={
        "wilson": "the p that a score test does not reject",
        "clopper-pearson": "the p that neither binomial tail test rejects: never covers too rarely",
        "jeffreys": "quantiles of the posterior with prior Beta(1/2, 1/2)",
        "agresti-coull": "normal interval around Wilson's centre",
        "wald": "normal interval around k/n: too narrow near 0 and 1",
    },
    peers=["statsmodels.stats.proportion.proportion_confint", "scipy.stats.binomtest"],
)
def proportion_interval(
    successes: Any,
    n: Any,
    *,
    confidence: float = 0.95,
    method: Literal["wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald"] = "wilson",
) -> ProportionInterval:
    """Confidence interval of a proportion of independent rows.

    Parameters
    ----------
    successes, n : int, or arrays of them
        Rows that were right (say), and rows in all.
    confidence : float, default=0.95
        Probability that the interval covers the true proportion.
    method : {"wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald"}, default="wilson"
        Which interval.

    Examples
    --------
    >>> found = proportion_interval(9, 10)
    >>> round(found.low, 4), round(found.high, 4)
    (0.5958, 0.9821)
    >>> found = proportion_interval(9, 10, method="clopper-pearson")
    >>> round(found.low, 4), round(found.high, 4)
    (0.555, 0.9975)
    """
    k, size = np.asarray(successes, dtype=float), np.asarray(n, dtype=float)
    if not (np.all(size > 0) and np.all(k >= 0) and np.all(k <= size) and np.isfinite(size).all()):
        raise ValueError(f"successes must be from 0 to n, and n above 0; got {successes!r} of {n!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}.")
    tail = (1 - confidence) / 2
    if method in ("clopper-pearson", "jeffreys"):
        low, high = _beta_quantiles(k, size, tail, exact=method == "clopper-pearson")
    else:
        low, high = _normal_ends(k, size, float(ndtri(1 - tail)), method)
    parts = (k / size, np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0))
    return ProportionInterval(*(float(part) if np.ndim(part) == 0 else part for part in parts))


def _beta_quantiles(k: Any, n: Any, tail: float, *, exact: bool) -> tuple[Any, Any]:
    """Quantiles of beta distributions; an end where no trial, or every one, succeeded is 0 or 1."""
    less, more = (0.0, 1.0) if exact else (0.5, 0.5)
    below, above = np.maximum(k + less, 0.5), np.maximum(n - k + less, 0.5)
    low = np.where(k == 0, 0.0, betaincinv(below, n - k + more, tail))
    high = np.where(k == n, 1.0, betaincinv(k + more, above, 1 - tail))
    return low, high


def _normal_ends(k: Any, n: Any, z: float, method: str) -> tuple[Any, Any]:
    p = k / n
    if method == "wald":
        centre, half = p, z * np.sqrt(p * (1 - p) / n)
    else:
        centre = (k + z**2 / 2) / (n + z**2)
        if method == "wilson":
            half = z / (n + z**2) * np.sqrt(n * p * (1 - p) + z**2 / 4)
        else:
            half = z * np.sqrt(centre * (1 - centre) / (n + z**2))
    return centre - half, centre + half

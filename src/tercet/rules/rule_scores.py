"""Scores of a rule by the rows that it covers: p positive and n negative ones out of P and N."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from tercet.core.catalog import method


def _checked(*numbers: ArrayLike) -> list[np.ndarray]:
    arrays = [np.asarray(number, dtype=np.float64) for number in numbers]
    if any(not (array >= 0).all() for array in arrays):
        raise ValueError("p, n, P and N are weights of rows: they must be numbers of at least 0.")
    return arrays


@method(
    zh="FOIL 增益",
    task="rules",
    model="rule: head <- conjunction of conditions",
    strategy="p (log2(p / (p + n)) - log2(P / (P + N)))",
    algorithms="closed form",
    texts=["watermelon notes ch. 13, sec. 13.2, 13.4"],
)
def foil_gain(p: ArrayLike, n: ArrayLike, P: ArrayLike, N: ArrayLike) -> np.ndarray:
    """FOIL's gain: bits that a further condition saves for the positive rows which it still covers.

    Parameters
    ----------
    p, n : float or array
        Weight of the positive and negative rows that the rule covers with the condition.
    P, N : float or array
        And without it.

    Returns
    -------
    gain : float or array

    Examples
    --------
    >>> float(foil_gain(5, 0, 8, 9).round(6))
    5.437314
    """
    p, n, P, N = _checked(p, n, P, N)
    after, before = p / np.maximum(p + n, 1e-300), P / np.maximum(P + N, 1e-300)
    return np.asarray((xlogy(p, after) - xlogy(p, before)) / np.log(2))[()]


@method(
    zh="似然率统计量",
    task="rules",
    model="rule: head <- conjunction of conditions",
    strategy="2 (p log(p/(p+n) / (P/(P+N))) + n log(n/(p+n) / (N/(P+N))))",
    algorithms="closed form",
    texts=["watermelon notes ch. 13, sec. 13.3"],
)
def likelihood_ratio_statistic(
    p: ArrayLike, n: ArrayLike, P: ArrayLike, N: ArrayLike, base: float = 2.0
) -> np.ndarray:
    """Likelihood ratio statistic (LRS) of CN2: how far the classes under a rule are from those of all rows.

    In nats (base e) it is distributed as chi-squared with one degree of freedom where the rule says nothing. In
    bits, the default, it is larger by 1 / ln 2 and must not be compared with that distribution.

    Parameters
    ----------
    p, n : float or array
        Weight of the positive and negative rows that the rule covers.
    P, N : float or array
        Weight of all positive and negative rows.
    base : float, default=2
        Base of the logarithm: 2 as in the text, or e.

    Returns
    -------
    lrs : float or array

    Examples
    --------
    >>> float(likelihood_ratio_statistic(5, 0, 8, 9).round(6))
    10.874628
    """
    if not base > 1:
        raise ValueError(f"base must be a number above 1; got {base!r}.")
    p, n, P, N = _checked(p, n, P, N)
    return np.asarray(class_likelihood_ratio(np.stack([p, n], -1), np.stack([P, N], -1)) / np.log(base))[()]


def class_likelihood_ratio(counts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The statistic in nats for several classes, which are the last axis: 2 Σ n_k log(n_k / (n P_k))."""
    share = totals / np.maximum(totals.sum(axis=-1, keepdims=True), 1e-300)
    expected = np.maximum(counts.sum(axis=-1, keepdims=True) * share, 1e-300)
    return np.asarray(2 * xlogy(counts, counts / expected).sum(axis=-1))


@method(
    zh="规则剪枝度量",
    task="rules",
    model="rule: head <- conjunction of conditions",
    strategy="accuracy (p + (N - n)) / (P + N), or precision (p - n) / (p + n)",
    algorithms="closed form",
    texts=["watermelon notes ch. 13, sec. 13.3"],
)
def pruning_value(
    p: ArrayLike, n: ArrayLike, P: ArrayLike, N: ArrayLike, metric: str = "accuracy"
) -> np.ndarray:
    """What IREP and RIPPER prune a rule by, on the rows that it was not grown from.

    Parameters
    ----------
    p, n : float or array
        Weight of the positive and negative rows that the rule covers.
    P, N : float or array
        Weight of all positive and negative rows.
    metric : {"accuracy", "precision"}, default="accuracy"
        (p + (N - n)) / (P + N) of IREP, or (p - n) / (p + n) of Cohen's IREP*.

    Returns
    -------
    value : float or array

    Examples
    --------
    >>> float(pruning_value(3, 1, 4, 4)), float(pruning_value(3, 1, 4, 4, "precision"))
    (0.75, 0.5)
    """
    if metric not in ("accuracy", "precision"):
        raise ValueError(f"metric must be one of 'accuracy', 'precision'; got {metric!r}.")
    p, n, P, N = _checked(p, n, P, N)
    if metric == "accuracy":
        return np.asarray((p + N - n) / np.maximum(P + N, 1e-300))[()]
    return np.asarray(np.where(p + n > 0, (p - n) / np.maximum(p + n, 1e-300), -1.0))[()]

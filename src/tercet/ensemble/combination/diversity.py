"""Diversity of the members of an ensemble: measures of pairs (多样性度量).

Two members with the outputs +1 and -1 make a table of counts: a where both say +1, b where only the first does,
c where only the second does, d where both say -1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from tercet.core.catalog import method


class Contingency(NamedTuple):
    """Counts of two members' outputs: both +, only the first, only the second, both -."""

    a: Any
    b: Any
    c: Any
    d: Any


def contingency_table(first: Any, second: Any, y: Any = None, *, sample_weight: Any = None) -> Contingency:
    """Counts of rows on which two members both say +1, only one does, or neither.

    Parameters
    ----------
    first, second : arrays of shape (n_samples,)
        Predictions of two members, of two classes; the last in sorted order is +1.
    y : array of shape (n_samples,), optional
        The true labels. With them +1 is a right prediction and -1 a wrong one, and there may be any number of
        classes.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts.

    Returns
    -------
    Contingency
        `a`, `b`, `c` and `d`.

    Examples
    --------
    >>> contingency_table([1, 1, 1, -1], [1, -1, 1, -1])
    Contingency(a=2.0, b=1.0, c=0.0, d=1.0)
    """
    labels, weight = _pair(first, second, sample_weight)
    return Contingency(*(float(count[0, 1]) for count in _counts(_outputs(labels, y), weight)))


@method(
    zh="不合度量",
    task="theory",
    model="(b + c) / m",
    texts=["watermelon notes ch. 6, eq. 6.28"],
)
def disagreement(first: Any, second: Any, *, sample_weight: Any = None) -> float:
    """Disagreement of two classifiers: the share of rows on which they differ.

    Parameters
    ----------
    first, second : arrays of shape (n_samples,)
        Predictions of two members, of any number of classes.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts.

    Returns
    -------
    disagreement : float
        Between 0 and 1; the larger, the more diverse.

    Examples
    --------
    >>> disagreement([1, 1, 1, -1], [1, -1, 1, -1])
    0.25
    """
    return _value("disagreement", first, second, None, sample_weight)


@method(
    zh="相关系数（多样性）",
    task="theory",
    model="ρ = (a·d - b·c) / √((a + b)(a + c)(c + d)(b + d))",
    texts=["watermelon notes ch. 6, eq. 6.29"],
    peers=["sklearn.metrics.matthews_corrcoef"],
)
def correlation(first: Any, second: Any, y: Any = None, *, sample_weight: Any = None) -> float:
    """Correlation coefficient of two classifiers' outputs.

    Parameters
    ----------
    first, second : arrays of shape (n_samples,)
        Predictions of two members, of two classes.
    y : array of shape (n_samples,), optional
        The true labels: with them the outputs are right and wrong, and there may be any number of classes.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts.

    Returns
    -------
    correlation : float
        Between -1 and 1; 0 of independent members, NaN where one of them always says the same.

    Examples
    --------
    >>> round(correlation([1, 1, 1, -1], [1, -1, 1, -1]), 4)
    0.5774
    """
    return _value("correlation", first, second, y, sample_weight)


@method(
    zh="Q 统计量",
    task="theory",
    model="Q = (a·d - b·c) / (a·d + b·c)",
    texts=["watermelon notes ch. 6, eq. 6.30"],
)
def q_statistic(first: Any, second: Any, y: Any = None, *, sample_weight: Any = None) -> float:
    """Yule's Q statistic of two classifiers: of the sign of the correlation, and at least as large.

    The print has |Q| <= |ρ|; the truth is |Q| >= |ρ|.

    Parameters
    ----------
    first, second : arrays of shape (n_samples,)
        Predictions of two members, of two classes.
    y : array of shape (n_samples,), optional
        The true labels: with them the outputs are right and wrong, and there may be any number of classes.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts.

    Returns
    -------
    q : float
        Between -1 and 1; NaN where both ad and bc are 0.

    Examples
    --------
    >>> q_statistic([1, 1, 1, -1, -1], [1, -1, 1, -1, 1])
    0.3333333333333333
    """
    return _value("q_statistic", first, second, y, sample_weight)


@method(
    zh="κ 统计量",
    task="theory",
    model="κ = (p1 - p2) / (1 - p2), p1 the share of agreement, p2 that of independent members",
    texts=["watermelon notes ch. 6, eq. 6.31, 6.32"],
    peers=["sklearn.metrics.cohen_kappa_score"],
)
def kappa(first: Any, second: Any, *, sample_weight: Any = None) -> float:
    """Kappa statistic of two classifiers: agreement beyond that of chance.

    Parameters
    ----------
    first, second : arrays of shape (n_samples,)
        Predictions of two members, of any number of classes.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts.

    Returns
    -------
    kappa : float
        1 where both are equal, 0 where they agree as often as by chance; NaN where both always say the same.

    Examples
    --------
    >>> kappa([1, 1, 1, -1], [1, -1, 1, -1])
    0.5
    """
    return _value("kappa", first, second, None, sample_weight)


def pairwise_diversity(
    predictions: Any,
    y: Any = None,
    *,
    measure: Literal["disagreement", "correlation", "q_statistic", "kappa"] = "disagreement",
    sample_weight: Any = None,
) -> np.ndarray:
    """Table of a diversity measure over all pairs of members.

    Parameters
    ----------
    predictions : array of shape (n_samples, n_members)
        The label that each member gives to each row.
    y : array of shape (n_samples,), optional
        The true labels: with them the outputs that are compared are right and wrong.
    measure : {"disagreement", "correlation", "q_statistic", "kappa"}, default="disagreement"
        What to compute of each pair; see the functions of these names.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts.

    Returns
    -------
    table : array of shape (n_members, n_members)
        Symmetric.

    Examples
    --------
    >>> pairwise_diversity([[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]])
    array([[0.  , 0.25, 0.5 ],
           [0.25, 0.  , 0.25],
           [0.5 , 0.25, 0.  ]])
    """
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(map(repr, MEASURES))}; got {measure!r}.")
    labels, weight = _checked(predictions, sample_weight)
    return MEASURES[measure](labels if y is None else _outputs(labels, y), weight)


class KappaError(NamedTuple):
    """Points of a kappa-error diagram: of each pair of members kappa, their mean error, and who they are."""

    kappa: np.ndarray
    error: np.ndarray
    pairs: np.ndarray


@method(
    zh="κ-误差图",
    task="theory",
    model="for each pair of members: κ of the two, and the mean of their errors",
    texts=["watermelon notes ch. 6, 6.5.2"],
)
def kappa_error(predictions: Any, y: Any, *, sample_weight: Any = None) -> KappaError:
    """Points of the kappa-error diagram: kappa and mean error of every pair of members.

    The further up a point, the less accurate its members; the further to the left, the more diverse.
    :func:`tercet.plot.plot_kappa_error` draws it.

    Parameters
    ----------
    predictions : array of shape (n_samples, n_members)
        The label that each member gives to each row.
    y : array of shape (n_samples,)
        The true labels.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts.

    Returns
    -------
    KappaError
        `kappa` and `error` of shape (n_pairs,), and `pairs` of shape (n_pairs, 2).

    Examples
    --------
    >>> found = kappa_error([[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]], [1, 1, 0, 1])
    >>> found.kappa.round(3), found.error
    (array([0.5, 0.2, 0.5]), array([0.125, 0.25 , 0.375]))
    """
    labels, weight = _checked(predictions, sample_weight)
    if labels.shape[1] < 2:
        raise ValueError("predictions must have at least 2 members, as columns; got 1.")
    errors = 1 - weight @ _right(labels, y) / weight.sum()
    first, second = np.triu_indices(labels.shape[1], 1)
    return KappaError(
        _kappas(labels, weight)[first, second],
        (errors[first] + errors[second]) / 2,
        np.column_stack([first, second]),
    )


def _value(measure: str, first: Any, second: Any, y: Any, sample_weight: Any) -> float:
    labels, weight = _pair(first, second, sample_weight)
    return float(MEASURES[measure](labels if y is None else _outputs(labels, y), weight)[0, 1])


def _disagreements(labels: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return 1 - _agreements(labels, weight) / weight.sum()


def _correlations(labels: np.ndarray, weight: np.ndarray) -> np.ndarray:
    a, b, c, d = (count / weight.sum() for count in _counts(_outputs(labels), weight))
    spread = np.sqrt((a + b) * (a + c) * (c + d) * (b + d))
    return np.divide(a * d - b * c, spread, out=np.full_like(a, np.nan), where=spread > 0)


def _q_statistics(labels: np.ndarray, weight: np.ndarray) -> np.ndarray:
    a, b, c, d = (count / weight.sum() for count in _counts(_outputs(labels), weight))
    whole = a * d + b * c
    return np.divide(a * d - b * c, whole, out=np.full_like(a, np.nan), where=whole > 0)


def _kappas(labels: np.ndarray, weight: np.ndarray) -> np.ndarray:
    mass = weight.sum()
    agreement = _agreements(labels, weight) / mass
    shares = np.stack([weight @ (labels == label) for label in np.unique(labels)]) / mass
    chance = shares.T @ shares
    beyond = 1 - chance
    return np.divide(
        agreement - chance, beyond, out=np.full_like(beyond, np.nan), where=beyond > 4 * np.finfo(float).eps
    )


Measure = Callable[[np.ndarray, np.ndarray], np.ndarray]
MEASURES: dict[str, Measure] = {
    "disagreement": _disagreements,
    "correlation": _correlations,
    "q_statistic": _q_statistics,
    "kappa": _kappas,
}


def _agreements(labels: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Mass of the rows on which each pair of members agrees."""
    total = np.zeros((labels.shape[1], labels.shape[1]))
    for label in np.unique(labels):
        chosen = (labels == label).astype(float)
        total += (chosen * weight[:, None]).T @ chosen
    return total


def _counts(positive: np.ndarray, weight: np.ndarray) -> Contingency:
    """a, b, c and d of every pair of members, from outputs of which True is +1."""
    plus, minus = positive.astype(float), (~positive).astype(float)
    weighted = weight[:, None]
    return Contingency(
        (plus * weighted).T @ plus,
        (plus * weighted).T @ minus,
        (minus * weighted).T @ plus,
        (minus * weighted).T @ minus,
    )


def _outputs(labels: np.ndarray, y: Any = None) -> np.ndarray:
    """Which outputs are +1: those of the last class of two, or those that are right."""
    if y is not None:
        return _right(labels, y)
    if labels.dtype == bool:
        return labels
    found = np.unique(labels)
    if len(found) > 2:
        raise ValueError(
            f"the outputs must be of two classes; got {found[:5].tolist()}. Give y to compare right and wrong."
        )
    return labels == found[-1]


def _right(labels: np.ndarray, y: Any) -> np.ndarray:
    truth = np.asarray(y)
    if truth.shape != labels.shape[:1]:
        raise ValueError(f"y must have one label for each of {len(labels)} rows; got shape {truth.shape}.")
    return labels == truth[:, None]


def _pair(first: Any, second: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
    h, g = np.asarray(first), np.asarray(second)
    if h.ndim != 1 or h.shape != g.shape:
        raise ValueError(
            f"first and second must be labels of the same rows; got the shapes {h.shape} and {g.shape}."
        )
    return _checked(np.column_stack([h, g]), sample_weight)


def _checked(predictions: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels of shape (n_samples, n_members), and the rows' weights."""
    labels = np.asarray(predictions)
    if labels.ndim != 2 or not labels.size:
        raise ValueError(
            f"predictions must be labels of shape (n_samples, n_members), at least one; got {labels.shape}."
        )
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("predictions must be labels; got NaN.")
    weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if weight.shape != labels.shape[:1] or not (weight >= 0).all() or not weight.any():
        raise ValueError(
            f"sample_weight must have a number of at least 0 for each of {len(labels)} rows, not all 0; "
            f"got {sample_weight!r}."
        )
    return labels, weight

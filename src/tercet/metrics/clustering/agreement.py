"""Agreement of two partitions by pairs of rows: Rand, Jaccard, Fowlkes-Mallows, purity.

Watermelon notes ch. 7.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.metrics.clustering.contingency import Contingency, contingency


class PairCounts(NamedTuple):
    """Pairs of rows: together in both partitions, in the first only, in the second only, in neither."""

    ss: int
    sd: int
    ds: int
    dd: int


@method(
    zh="样本对计数",
    task="clustering",
    model="a = |SS|, b = |SD|, c = |DS|, d = |DD|, a + b + c + d = m(m - 1)/2",
    texts=["watermelon notes ch. 7, eq. 7.1"],
    peers=["sklearn.metrics.cluster.pair_confusion_matrix"],
)
def pair_counts(labels: Any, reference: Any) -> PairCounts:
    """Numbers of pairs of rows by whether two partitions put them together.

    Parameters
    ----------
    labels, reference : arrays of shape (n_samples,)
        The clusters of each row in the two partitions.

    Returns
    -------
    ss, sd, ds, dd : int
        Pairs that are in one cluster of both; of `labels` only; of `reference` only; of neither.

    Examples
    --------
    >>> pair_counts([0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 2, 2, 2])
    PairCounts(ss=3, sd=4, ds=4, dd=17)
    """
    return _pairs(contingency(labels, reference))


def _pairs(table: Contingency) -> PairCounts:
    # Exact: squares of counts are below 2^53 for 94 million rows, and Python's integers have no end.
    both, one, other = (
        sum(int(k) * (int(k) - 1) for k in sums.tolist()) // 2
        if sums.size < 1000
        else int((sums.astype(np.int64) * (sums.astype(np.int64) - 1)).sum()) // 2
        for sums in (table.counts, table.row_sums, table.column_sums)
    )
    n = table.n
    return PairCounts(both, one - both, other - both, n * (n - 1) // 2 - one - other + both)


def pair_confusion_matrix(labels_true: Any, labels_pred: Any) -> np.ndarray:
    """Confusion matrix of ordered pairs of rows: apart or together in the first partition, and in the second.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_samples,)
        The clusters of each row in the two partitions.

    Returns
    -------
    C : array of shape (2, 2)
        C[i, j]: pairs that are together in the first (i = 1) and in the second (j = 1); each pair counts twice.

    Examples
    --------
    >>> pair_confusion_matrix([0, 0, 1, 1], [0, 0, 1, 2])
    array([[8, 0],
           [2, 2]])
    """
    ss, sd, ds, dd = pair_counts(labels_true, labels_pred)
    return 2 * np.array([[dd, ds], [sd, ss]], dtype=np.int64)


@method(
    zh="Rand 指数",
    task="clustering",
    model="RI = 2(a + d) / (m(m - 1))",
    texts=["watermelon notes ch. 7, eq. 7.4"],
    peers=["sklearn.metrics.rand_score"],
)
def rand_score(labels_true: Any, labels_pred: Any) -> float:
    """Rand index: the share of pairs of rows on which two partitions agree.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_samples,)
        The clusters of each row in the two partitions.

    Returns
    -------
    score : float
        From 0 to 1; 1 where there are no pairs.

    Examples
    --------
    >>> round(rand_score([0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 2, 2, 2]), 10)
    0.7142857143
    """
    pairs = pair_counts(labels_true, labels_pred)
    return (pairs.ss + pairs.dd) / sum(pairs) if sum(pairs) else 1.0


def adjusted_rand_score(labels_true: Any, labels_pred: Any) -> float:
    """Rand index less what chance alone would give: 0 on average for random labels, 1 for equal partitions.

    Parameters
    ----------
    labels_true, labels_pred : as in `rand_score`

    Returns
    -------
    score : float
        From -0.5 to 1.

    Examples
    --------
    >>> round(adjusted_rand_score([0, 0, 1, 1], [0, 0, 1, 2]), 10)
    0.5714285714
    """
    ss, sd, ds, dd = pair_counts(labels_true, labels_pred)
    if sd == ds == 0:
        return 1.0
    return 2 * (ss * dd - sd * ds) / ((ss + sd) * (sd + dd) + (ss + ds) * (ds + dd))


@method(
    zh="Fowlkes-Mallows 指数",
    task="clustering",
    model="FMI = √(a/(a + b) · a/(a + c))",
    texts=["watermelon notes ch. 7, eq. 7.3"],
    peers=["sklearn.metrics.fowlkes_mallows_score"],
)
def fowlkes_mallows_score(labels_true: Any, labels_pred: Any) -> float:
    """Fowlkes-Mallows index: the geometric mean of the pairs' precision and recall.

    Parameters
    ----------
    labels_true, labels_pred : as in `rand_score`

    Returns
    -------
    score : float
        From 0 to 1; 0 where no pair is together in both.

    Examples
    --------
    >>> round(fowlkes_mallows_score([0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 2, 2, 2]), 10)
    0.4285714286
    """
    ss, sd, ds, _ = pair_counts(labels_true, labels_pred)
    return float(np.sqrt(ss / (ss + sd)) * np.sqrt(ss / (ss + ds))) if ss else 0.0


@method(
    zh="Jaccard 系数（样本对）",
    task="clustering",
    model="JC = a / (a + b + c)",
    texts=["watermelon notes ch. 7, eq. 7.2"],
)
def pair_jaccard_score(labels_true: Any, labels_pred: Any) -> float:
    """Jaccard coefficient of pairs: of those together in one of two partitions, the share that is in both.

    Parameters
    ----------
    labels_true, labels_pred : as in `rand_score`

    Returns
    -------
    score : float
        From 0 to 1; 1 where neither partition has a pair together.

    Examples
    --------
    >>> round(pair_jaccard_score([0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 2, 2, 2]), 10)
    0.2727272727
    """
    ss, sd, ds, _ = pair_counts(labels_true, labels_pred)
    return ss / (ss + sd + ds) if ss + sd + ds else 1.0


def purity_score(labels_true: Any, labels_pred: Any) -> float:
    """Purity: the share of rows that have the most frequent class of their cluster.

    Parameters
    ----------
    labels_true : array of shape (n_samples,)
        The class of each row.
    labels_pred : array of shape (n_samples,)
        Its cluster.

    Returns
    -------
    score : float
        From 0 to 1; 1 where every cluster has rows of one class only, as many small ones easily have.

    Examples
    --------
    >>> purity_score(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.75
    """
    table = contingency(labels_true, labels_pred)
    most = np.zeros(table.column_sums.size, dtype=table.counts.dtype)
    np.maximum.at(most, table.column, table.counts)
    return float(most.sum() / table.n) if table.n else 1.0


def mirkin_distance(labels: Any, reference: Any) -> int:
    """Mirkin distance of two partitions: the ordered pairs of rows that one puts together and the other does not.

    Parameters
    ----------
    labels, reference : arrays of shape (n_samples,)
        The clusters of each row in the two partitions.

    Returns
    -------
    distance : int
        0 for equal partitions; a metric.

    Examples
    --------
    >>> mirkin_distance([0, 0, 1, 1], [0, 0, 1, 2])
    2
    """
    pairs = pair_counts(labels, reference)
    return 2 * (pairs.sd + pairs.ds)

"""Agreement of two partitions by what they tell of each other: mutual information, V-measure."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.metrics.clustering.contingency import Contingency, contingency, from_table

Average = Literal["arithmetic", "geometric", "min", "max"]


def mutual_info_score(labels_true: Any, labels_pred: Any, *, contingency: Any = None) -> float:
    """Mutual information of two labellings, in nats.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_samples,)
        The two labels of each row.
    contingency : array or sparse matrix of shape (n_classes_true, n_classes_pred), optional
        Their contingency table, in place of the labels.

    Returns
    -------
    information : float
        Not negative.

    Examples
    --------
    >>> round(mutual_info_score([0, 0, 1, 1], [0, 0, 1, 2]), 6)
    0.693147
    """
    return _information(_table(labels_true, labels_pred) if contingency is None else from_table(contingency))


def normalized_mutual_info_score(
    labels_true: Any, labels_pred: Any, *, average_method: Average = "arithmetic"
) -> float:
    """Mutual information of two labellings, divided by a mean of their entropies.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_samples,)
        The two labels of each row.
    average_method : {"arithmetic", "geometric", "min", "max"}, default="arithmetic"
        The mean of the two entropies.

    Returns
    -------
    score : float
        From 0 to 1.

    Examples
    --------
    >>> round(normalized_mutual_info_score([0, 0, 1, 1], [0, 0, 1, 2]), 6)
    0.8
    """
    table = _table(labels_true, labels_pred)
    if table.row_sums.size == table.column_sums.size <= 1:
        return 1.0
    both, scale = _information(table), _mean_entropy(table, average_method)
    return both / scale if both > 0 else 0.0


def adjusted_mutual_info_score(
    labels_true: Any, labels_pred: Any, *, average_method: Average = "arithmetic"
) -> float:
    """Mutual information less what chance alone would give, divided by the most that it could be more.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_samples,)
        The two labels of each row.
    average_method : {"arithmetic", "geometric", "min", "max"}, default="arithmetic"
        The mean of the two entropies, which bounds the information.

    Returns
    -------
    score : float
        0 on average for random labels, 1 for equal partitions.

    Examples
    --------
    >>> round(adjusted_mutual_info_score([0, 0, 1, 1], [0, 0, 1, 2]), 6)
    0.571429
    """
    table = _table(labels_true, labels_pred)
    if table.row_sums.size == table.column_sums.size <= 1:
        return 1.0
    if 1 in (table.row_sums.size, table.column_sums.size):
        return 0.0
    chance, tiny = _expected_information(table), np.finfo(float).eps
    gain, most = _information(table) - chance, _mean_entropy(table, average_method) - chance
    # Equal partitions may be all that chance allows (every row a cluster): then 0 / 0 is 1.
    gain, most = (math.copysign(max(abs(value), tiny), value) for value in (gain, most))
    return gain / most


def homogeneity_completeness_v_measure(
    labels_true: Any, labels_pred: Any, *, beta: float = 1.0
) -> tuple[float, float, float]:
    """Homogeneity, completeness and V-measure of a clustering.

    Parameters
    ----------
    labels_true : array of shape (n_samples,)
        The class of each row.
    labels_pred : array of shape (n_samples,)
        Its cluster.
    beta : float, default=1.0
        How much completeness counts beside homogeneity in the V-measure.

    Returns
    -------
    homogeneity, completeness, v_measure : float
        1 - H(class | cluster) / H(class), 1 - H(cluster | class) / H(cluster), and their weighted harmonic mean.

    Examples
    --------
    >>> [round(score, 6) for score in homogeneity_completeness_v_measure([0, 0, 1, 1], [0, 0, 1, 2])]
    [1.0, 0.666667, 0.8]
    """
    if not beta >= 0 or math.isinf(beta):
        raise ValueError(f"beta must be a number in [0, inf); got {beta!r}.")
    table = _table(labels_true, labels_pred)
    of_classes, of_clusters = entropy_of_counts(table.row_sums), entropy_of_counts(table.column_sums)
    both = _information(table)
    homogeneity = both / of_classes if of_classes else 1.0
    completeness = both / of_clusters if of_clusters else 1.0
    if homogeneity + completeness == 0.0:
        return 0.0, 0.0, 0.0
    below = beta * homogeneity + completeness
    v_measure = (1 + beta) * homogeneity * completeness / below if below else 0.0
    return homogeneity, completeness, v_measure


def homogeneity_score(labels_true: Any, labels_pred: Any) -> float:
    """Homogeneity: 1 - H(class | cluster) / H(class); 1 where every cluster has rows of one class only.

    Examples
    --------
    >>> homogeneity_score([0, 0, 1, 1], [0, 1, 2, 3])
    1.0
    """
    return homogeneity_completeness_v_measure(labels_true, labels_pred)[0]


def completeness_score(labels_true: Any, labels_pred: Any) -> float:
    """Completeness: 1 - H(cluster | class) / H(cluster); 1 where all rows of a class are in one cluster.

    Examples
    --------
    >>> completeness_score([0, 0, 1, 1], [0, 0, 0, 0])
    1.0
    """
    return homogeneity_completeness_v_measure(labels_true, labels_pred)[1]


def v_measure_score(labels_true: Any, labels_pred: Any, *, beta: float = 1.0) -> float:
    """V-measure: the harmonic mean of homogeneity and completeness.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_samples,)
        The class and the cluster of each row.
    beta : float, default=1.0
        How much completeness counts beside homogeneity.

    Examples
    --------
    >>> round(v_measure_score([0, 0, 1, 1], [0, 0, 1, 2]), 6)
    0.8
    """
    return homogeneity_completeness_v_measure(labels_true, labels_pred, beta=beta)[2]


def variation_of_information(labels: Any, reference: Any) -> float:
    """Variation of information of two partitions, H(A | B) + H(B | A) in nats; a metric.

    Parameters
    ----------
    labels, reference : arrays of shape (n_samples,)
        The clusters of each row in the two partitions.

    Returns
    -------
    distance : float
        0 for equal partitions, at most log n.

    Examples
    --------
    >>> round(variation_of_information([0, 0, 1, 1], [0, 0, 1, 2]), 6)
    0.346574
    """
    table = _table(labels, reference)
    apart = entropy_of_counts(table.row_sums) + entropy_of_counts(table.column_sums) - 2 * _information(table)
    return max(apart, 0.0)


def _table(labels_true: Any, labels_pred: Any) -> Contingency:
    return contingency(labels_true, labels_pred)


def entropy_of_counts(counts: np.ndarray) -> float:
    """Entropy of the distribution that counts stand for, in nats; 0 for a single one."""
    if counts.size < 2:
        return 0.0
    p = counts / counts.sum()
    return float(-(p * np.log(p)).sum())


def _information(table: Contingency) -> float:
    if min(table.row_sums.size, table.column_sums.size) < 2:
        return 0.0
    n, counts = float(table.n), table.counts.astype(np.float64)
    outer = table.row_sums[table.row].astype(np.float64) * table.column_sums[table.column]
    return max(float((counts / n * np.log(n * counts / outer)).sum()), 0.0)


def _mean_entropy(table: Contingency, average: str) -> float:
    one, other = entropy_of_counts(table.row_sums), entropy_of_counts(table.column_sums)
    means = {
        "arithmetic": (one + other) / 2,
        "geometric": math.sqrt(one * other),
        "min": min(one, other),
        "max": max(one, other),
    }
    if average not in means:
        raise ValueError(f"average_method must be one of {', '.join(map(repr, means))}; got {average!r}.")
    return means[average]


def _expected_information(table: Contingency) -> float:
    """Expected mutual information of random labels with the same numbers of rows."""
    (a, times_a), (b, times_b) = (
        np.unique(sums.astype(np.float64), return_counts=True) for sums in (table.row_sums, table.column_sums)
    )
    return float(expected_information(a, times_a, b, times_b, float(table.n)))


@kernel
def expected_information(a, times_a, b, times_b, n):
    """Sum over pairs of clusters of a and b rows, each as often as it occurs, of the expected information."""
    total = 0.0
    for i in range(a.size):
        for j in range(b.size):
            total += times_a[i] * times_b[j] * cell_information(a[i], b[j], n)
    return total


@inner
def cell_information(a, b, n):
    """E[k/n log(kn / ab)] for the hypergeometric number k of rows that two random clusters share.

    Weights go out from the mode by their ratios, and are divided by their sum: no factorials, and a number of
    terms that grows with the standard deviation only.
    """
    low, high = max(0.0, a + b - n), min(a, b)
    mode = min(max(np.floor((a + 1.0) * (b + 1.0) / (n + 2.0)), low), high)
    scale = n / (a * b)
    mass, total = 1.0, mode * np.log(mode * scale) if mode > 0.0 else 0.0
    k, weight = mode, 1.0
    while k < high and weight > 1e-20:
        weight *= (a - k) * (b - k) / ((k + 1.0) * (n - a - b + k + 1.0))
        k += 1.0
        mass += weight
        total += weight * k * np.log(k * scale)
    k, weight = mode, 1.0
    while k > low and weight > 1e-20:
        weight *= k * (n - a - b + k) / ((a - k + 1.0) * (b - k + 1.0))
        k -= 1.0
        mass += weight
        if k > 0.0:
            total += weight * k * np.log(k * scale)
    return total / (mass * n)

"""Partitions of a set of rows: how many there are, what they cost, and the best of them all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tercet.cluster._engine.cluster_distances import members_by_label
from tercet.core.estimator import check_weight
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.core.validation import check_array

MOST_PARTITIONS = 10**7  # that an exhaustive search may have to look at


def stirling_second(n: int, k: int) -> int:
    """The number of partitions of n things into k groups, none of them empty: Stirling's number S(n, k).

    S(n, k) = (1 / k!) Σ_{l=1..k} (-1)^(k-l) C(k, l) l^n, exactly. (Eq. 14.21 of Li has k^n in place of l^n.)

    Parameters
    ----------
    n, k : int
        Not negative.

    Returns
    -------
    int

    Examples
    --------
    >>> stirling_second(5, 2), stirling_second(60, 2) == 2**59 - 1
    (15, True)
    """
    for name, value in (("n", n), ("k", k)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
            raise ValueError(f"stirling_second: {name} must be an integer of at least 0; got {value!r}.")
    n, k = int(n), int(k)
    return sum((-1) ** (k - m) * math.comb(k, m) * m**n for m in range(k + 1)) // math.factorial(k)


def within_cluster_scatter(X: Any, labels: Any, sample_weight: Any = None) -> float:
    """The k-means loss of a clustering: W(C) = Σ_l Σ_{C(i)=l} w_i |x_i - m_l|², with m_l the mean of cluster l.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows.
    labels : array of shape (n_samples,)
        The cluster of each row; -1 is noise and left out.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts.

    Returns
    -------
    float

    Examples
    --------
    >>> X = [[0, 2], [0, 0], [1, 0], [5, 0], [5, 2]]
    >>> within_cluster_scatter(X, [0, 1, 1, 1, 0])
    26.5
    """
    X = check_array(X, dtype=np.float64, input_name="X")
    weight, labels = check_weight(sample_weight, X), np.asarray(labels)
    if labels.shape != (len(X),):
        raise ValueError(f"labels must have a value for each of {len(X)} rows; got the shape {labels.shape}.")
    exponent = scale_exponent(largest(X))
    X, found = times_power(X, -exponent), 0.0
    for members in members_by_label(labels):
        rows = X[members]
        mass = np.ones(members.size) if weight is None else weight[members]
        if mass.any():
            found += float(mass @ ((rows - np.average(rows, axis=0, weights=mass)) ** 2).sum(axis=1))
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(found, 2 * exponent))


def optimal_k_means(X: Any, n_clusters: int) -> tuple[np.ndarray, float]:
    """The best of all partitions of a few rows into k clusters, by exhaustive search.

    Rows are placed one after the other, into any cluster so far or the next new one, so that every partition comes
    once; the loss only grows on the way, and what is no better than the best so far is not followed.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows; S(n, k) may be at most 10 million.
    n_clusters : int
        The number k of clusters.

    Returns
    -------
    labels : array of shape (n_samples,)
        Clusters are numbered in the order of their first rows.
    inertia : float
        W, which no k-means can be below.

    Examples
    --------
    >>> labels, inertia = optimal_k_means([[0, 2], [0, 0], [1, 0], [5, 0], [5, 2]], 2)
    >>> labels, round(inertia, 4)
    (array([0, 0, 0, 1, 1]), 5.3333)
    """
    X = check_array(X, dtype=np.float64, input_name="X")
    n, k = len(X), n_clusters
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k <= n:
        raise ValueError(f"optimal_k_means: n_clusters must be an integer from 1 to {n}; got {n_clusters!r}.")
    count = stirling_second(n, int(k))
    if count > MOST_PARTITIONS:
        raise ValueError(
            f"optimal_k_means: {n} rows have {count:.3g} partitions into {k} clusters; allowed are at most "
            f"{MOST_PARTITIONS}. Use KMeans."
        )
    exponent = scale_exponent(largest(X))
    search = _PartitionSearch(times_power(X, -exponent), int(k))
    search.place(0, 0, 0.0)
    labels = np.array(search.best)
    return labels, within_cluster_scatter(X, labels)


class _PartitionSearch:
    """Depth-first search over all partitions, with the sums and sizes of the clusters so far."""

    def __init__(self, X: np.ndarray, k: int) -> None:
        self.X, self.k = X, k
        self.labels, self.best, self.least = [0] * len(X), [0] * len(X), np.inf
        self.sums, self.sizes = np.zeros((k, X.shape[1])), [0] * k

    def place(self, i: int, used: int, loss: float) -> None:
        """Try all places of row i, when `used` clusters have rows that cost `loss`."""
        if loss >= self.least:
            return
        if i == len(self.X):
            self.least, self.best = loss, self.labels.copy()
            return
        x, left = self.X[i], len(self.X) - i
        # every cluster needs a row: with as many rows left as empty clusters, only new ones
        for c in range(0 if left > self.k - used else used, min(used + 1, self.k)):
            m, before = self.sizes[c], self.sums[c].copy()
            # a row that joins m others adds m / (m + 1) times its squared distance from their mean
            grown = float(((x - before / m) ** 2).sum()) * m / (m + 1) if m else 0.0
            self.sums[c] += x
            self.sizes[c] += 1
            self.labels[i] = c
            self.place(i + 1, max(used, c + 1), loss + grown)
            self.sums[c] = before
            self.sizes[c] = m

"""Partitions: their number, their cost, the best of them."""

import numpy as np
import pytest

from tercet.cluster import KMeans, optimal_k_means, stirling_second, within_cluster_scatter


def test_stirling_numbers_are_exact():
    assert [stirling_second(5, k) for k in range(7)] == [0, 1, 15, 25, 10, 1, 0]
    assert stirling_second(0, 0) == 1
    n, k = 60, 7  # S(n, k) = k S(n - 1, k) + S(n - 1, k - 1)
    assert stirling_second(n, k) == k * stirling_second(n - 1, k) + stirling_second(n - 1, k - 1)
    for wrong in (-1, 2.5, True):
        with pytest.raises(ValueError, match="n must be an integer of at least 0"):
            stirling_second(wrong, 2)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 2), (8, 3), (7, 7)])
def test_the_best_partition_is_no_worse_than_any_restart(n, k):
    X = np.random.default_rng(n).normal(size=(n, 2))
    labels, best = optimal_k_means(X, k)
    assert np.unique(labels).size == k
    np.testing.assert_allclose(best, within_cluster_scatter(X, labels), rtol=1e-12)
    found = KMeans(k, init="random", n_init=30, random_state=0, tol=0).fit(X).inertia_
    np.testing.assert_allclose(found, best, rtol=1e-9, atol=1e-12)
    order, again = np.unique(labels, return_index=True)
    assert (np.diff(again) > 0).all(), "clusters are numbered by their first rows"
    assert order.tolist() == list(range(k))


def test_what_is_too_much_is_refused():
    X = np.zeros((30, 1))
    with pytest.raises(ValueError, match=r"30 rows have .* partitions into 5 clusters; allowed are at most"):
        optimal_k_means(X, 5)
    with pytest.raises(ValueError, match="n_clusters must be an integer from 1 to 30; got 31"):
        optimal_k_means(X, 31)


def test_loss_of_labels():
    X = np.array([[0.0], [2.0], [10.0], [14.0], [99.0]])
    assert within_cluster_scatter(X, [0, 0, 1, 1, -1]) == 10.0
    assert within_cluster_scatter(X, list("aabbb"), sample_weight=[3, 1, 1, 1, 0]) == 3.0 + 8.0
    assert within_cluster_scatter(X * 2.0**600, [0, 0, 1, 1, -1]) == np.inf
    with pytest.raises(ValueError, match="labels must have a value for each of 5 rows"):
        within_cluster_scatter(X, [0, 1])

"""Bisecting k-means: splits, the tree, and rows that cannot be split."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from tercet.cluster import BisectingKMeans, KMeans


def blobs(n=300, d=3, k=5, seed=0):
    return make_blobs(n, d, centers=k, cluster_std=0.4, random_state=seed)[0]


@pytest.mark.parametrize("strategy", ["biggest_inertia", "largest_cluster"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_leaves_are_the_clusters_and_inertia_falls_with_each_split(strategy, form):
    X = blobs()
    given = sparse.csr_array(X) if form == "sparse" else X
    model = BisectingKMeans(5, bisecting_strategy=strategy, random_state=0, n_init=3).fit(given)
    assert (np.diff(model.history_["inertia"]) < 0).all()
    assert model.n_iter_ == 4
    np.testing.assert_array_equal(model.labels_, model.predict(given))
    own = np.stack([X[model.labels_ == c].mean(axis=0) for c in range(5)])
    np.testing.assert_allclose(model.cluster_centers_, own, rtol=1e-9)
    np.testing.assert_allclose(model.inertia_, ((X - own[model.labels_]) ** 2).sum(), rtol=1e-9)


def test_two_clusters_are_those_of_k_means():
    X = blobs(k=2)
    one = BisectingKMeans(2, random_state=0).fit(X)
    two = KMeans(2, init="random", n_init=1, random_state=0).fit(X)
    np.testing.assert_allclose(one.inertia_, two.inertia_, rtol=1e-9)


def test_the_tree_decides_at_each_split_and_is_checked_in_a_file():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [40.0]])
    model = BisectingKMeans(3, init="k-means++", random_state=0).fit(X)
    assert model._children.tolist()[0] == [1, 2]
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.labels_)
    state = model.__getstate__()
    forged = {**state, "_children": np.array([[1, 2], [0, 2], [-1, -1], [-1, -1], [-1, -1]])}
    with pytest.raises(ValueError, match="_children is no tree"):
        BisectingKMeans().__setstate__(forged)


def test_fewer_different_rows_than_clusters():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match="distinct clusters .2. found"):
        model = BisectingKMeans(5, random_state=0).fit(X)
    assert model.cluster_centers_.shape == (5, 2)
    assert model.inertia_ == 0
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    with pytest.raises(ValueError, match="n_samples=8 should be >= n_clusters=9"):
        BisectingKMeans(9).fit(X)


def test_one_cluster_weights_and_scales():
    X = blobs(40)
    weight = np.r_[np.ones(30), np.zeros(10)]
    one = BisectingKMeans(1).fit(X, sample_weight=weight)
    np.testing.assert_allclose(one.cluster_centers_[0], X[:30].mean(axis=0))
    plain = BisectingKMeans(4, random_state=0).fit(X)
    for scale in (2.0**-1000, 2.0**1000):
        with pytest.warns(RuntimeWarning, match="sum of squared distances is beyond floating point"):
            scaled = BisectingKMeans(4, random_state=0).fit(X * scale)
        np.testing.assert_array_equal(scaled.labels_, plain.labels_)
        np.testing.assert_array_equal(scaled.predict(X * scale), plain.labels_)

"""Divisive clustering: the plain form, the stopping rules, the tree, new rows, bad input."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster import hierarchy
from scipy.spatial.distance import cdist

from tercet.cluster import DivisiveClustering, split_cluster

ALGORITHMS = ["farthest-pair", "diana"]


def points(n=40, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def divided(D, algorithm, k):
    """The clusters after k - 1 splits, by the plain form."""
    clusters = [np.arange(len(D))]
    for _ in range(k - 1):
        widths = [D[np.ix_(c, c)].max() if c.size > 1 else -1.0 for c in clusters]
        first = [-c[0] for c in clusters]
        at = max(range(len(clusters)), key=lambda i: (widths[i], first[i]))
        c = clusters.pop(at)
        side = split_cluster(D[np.ix_(c, c)], algorithm)
        clusters += [c[side == 0], c[side == 1]]
    labels = np.empty(len(D), dtype=int)
    for number, c in enumerate(sorted(clusters, key=lambda c: c[0])):
        labels[c] = number
    return labels


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(X=arrays(np.float64, (9, 2), elements=st.integers(-3, 3).map(float)), k=st.integers(1, 9))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_splits_are_those_of_the_plain_form(algorithm, X, k):
    """Also with ties and equal rows."""
    D = cdist(X, X)
    model = DivisiveClustering(k, algorithm=algorithm, metric="precomputed").fit(D)
    np.testing.assert_array_equal(model.labels_, divided(D, algorithm, k))
    assert model.n_clusters_ == model.n_leaves_ == k


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_tree(algorithm):
    X = points()
    D = cdist(X, X)
    full = DivisiveClustering(3, algorithm=algorithm, compute_full_tree=True).fit(X)
    assert hierarchy.is_valid_linkage(full.linkage_matrix())
    assert (np.diff(full.distances_) >= 0).all()
    assert full.distances_[-1] == pytest.approx(D.max())
    assert sorted(full.leaves_) == list(range(40))
    for k in range(1, 41):
        few = DivisiveClustering(k, algorithm=algorithm).fit(X)
        np.testing.assert_array_equal(full.cut(k), few.labels_)
        np.testing.assert_array_equal(few.cut(k), few.labels_)
        np.testing.assert_allclose(few.distances_, full.distances_[40 - k :])
    np.testing.assert_array_equal(full.labels_, full.cut(3))
    height = full.distances_[-5]
    np.testing.assert_array_equal(full.cut(height=height), full.cut(6))
    np.testing.assert_array_equal(full.cut(height=np.nextafter(height, np.inf)), full.cut(5))
    assert full.history_["diameter"] == full.distances_[::-1].tolist()
    assert few.linkage_matrix()[-1, 3] == 40


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_max_diameter(algorithm):
    X = points()
    D = cdist(X, X)
    model = DivisiveClustering(None, max_diameter=1.5, algorithm=algorithm).fit(X)
    assert (
        max(D[np.ix_(model.labels_ == c, model.labels_ == c)].max() for c in range(model.n_clusters_)) <= 1.5
    )
    assert model.distances_[0] > 1.5, "no split was needless"
    full = DivisiveClustering(None, max_diameter=1.5, algorithm=algorithm, compute_full_tree=True).fit(X)
    np.testing.assert_array_equal(full.labels_, model.labels_)
    assert DivisiveClustering(None, max_diameter=0.0).fit(X).n_clusters_ == 40
    assert DivisiveClustering(None, max_diameter=100.0).fit(X).n_clusters_ == 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_new_rows_go_down_the_splits(algorithm):
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0], [10, 0], [30, 0], [70, 0]])
    X = np.repeat(centres, 10, axis=0) + 0.3 * rng.normal(size=(40, 2))
    model = DivisiveClustering(4, algorithm=algorithm).fit(X)
    np.testing.assert_array_equal(model.predict(centres), model.labels_[::10])
    given_distances = DivisiveClustering(4, algorithm=algorithm, metric="precomputed").fit(cdist(X, X))
    np.testing.assert_array_equal(given_distances.predict(cdist(centres, X)), model.labels_[::10])
    if algorithm == "farthest-pair":  # rows go where they went
        some = points(30, 3)
        model = DivisiveClustering(7, metric="cityblock").fit(some)
        np.testing.assert_array_equal(model.predict(some), model.labels_)
    assert not hasattr(DivisiveClustering(metric=lambda X: cdist(X, X)), "predict")


def test_extremes():
    same = np.ones((5, 1))
    for algorithm in ALGORITHMS:
        model = DivisiveClustering(3, algorithm=algorithm).fit(same)
        assert np.unique(model.labels_).size == 3
        assert (model.distances_ == 0).all()
    huge = DivisiveClustering(2).fit(np.array([[1e308], [-1e308], [9e307]]))
    assert huge.labels_.tolist() == [0, 1, 0]
    tiny = DivisiveClustering(2).fit(np.array([[1e-300], [-1e-300], [9e-301]]))
    assert tiny.labels_.tolist() == [0, 1, 0]


def test_wrong_input_is_named():
    X = points(10)
    D = cdist(X, X)
    wrong = {
        "Exactly one of n_clusters": {"max_diameter": 1.0},
        "n_clusters=11 needs as many rows; n_samples=10 should be >= n_clusters=11": {"n_clusters": 11},
        "'metric' must be one of .* got 'no such'": {"metric": "no such"},
        "should be square": {"metric": "precomputed"},
        "'algorithm' must be one of": {"algorithm": "no such"},
    }
    for message, parameters in wrong.items():
        with pytest.raises(ValueError, match=message):
            DivisiveClustering(**parameters).fit(X)
    for message, table in {"not negative": -D, "in the diagonal": D + 1, "symmetric": np.triu(D)}.items():
        with pytest.raises(ValueError, match=f"DivisiveClustering: .*{message}"):
            DivisiveClustering(metric="precomputed").fit(table)
    model = DivisiveClustering(3).fit(X)
    for message, parameters in {
        "n_clusters must be from 1 to 3": {"n_clusters": 4},
        "either n_clusters or height": {},
    }.items():
        with pytest.raises(ValueError, match=message):
            model.cut(**parameters)
    with pytest.raises(ValueError, match="algorithm must be 'farthest-pair' or 'diana'; got 'no'"):
        split_cluster(D, "no")


def test_a_loaded_tree_must_be_one():
    model = DivisiveClustering(4).fit(points(10))
    for children in ([[0, 1], [0, 1], [2, 3]], [[0, 6], [1, 2], [3, 4]], [[0, 1], [2, 3]]):
        model.children_ = np.array(children)
        with pytest.raises(ValueError, match=r"DivisiveClustering: (children_|distances_) "):
            pickle.loads(pickle.dumps(model))

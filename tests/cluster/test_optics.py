"""OPTICS: scikit-learn's orderings and clusters, and input that is out of the ordinary."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn import cluster as peer
from sklearn.metrics.pairwise import haversine_distances

from tercet.cluster import DBSCAN, OPTICS, cluster_optics_dbscan, cluster_optics_xi


def points(n=120, d=2, seed=0):
    rng = np.random.default_rng(seed)
    cloud = rng.integers(4, size=n)
    X = 4 * rng.normal(size=(4, d))[cloud] + np.array([0.1, 0.3, 0.6, 2.0])[cloud, None] * rng.normal(
        size=(n, d)
    )
    X[::6] = np.round(X[::6])  # equal rows and equal distances
    return X


SETTINGS = [
    {},
    {"min_samples": 3, "xi": 0.2},
    {"min_samples": 0.1, "min_cluster_size": 0.2},
    {"max_eps": 1.0},
    {"max_eps": 2.0, "cluster_method": "dbscan", "eps": 0.5},
    {"predecessor_correction": False, "min_cluster_size": 4},
    {"metric": "manhattan"},
    {"xi": 0.0},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_same_ordering_as_scikit_learn(settings):
    for seed in range(2):
        X = points(50, seed=seed)
        ours, theirs = OPTICS(**settings).fit(X), peer.OPTICS(**settings).fit(X)
        np.testing.assert_array_equal(ours.ordering_, theirs.ordering_)
        np.testing.assert_allclose(ours.reachability_, theirs.reachability_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours.core_distances_, theirs.core_distances_, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(ours.predecessor_, theirs.predecessor_)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        if settings.get("cluster_method") != "dbscan":
            np.testing.assert_array_equal(ours.cluster_hierarchy_, theirs.cluster_hierarchy_.reshape(-1, 2))


def test_given_distances_and_sparse_rows():
    X = points()
    D, plain = squareform(pdist(X)), OPTICS(max_eps=2.0).fit(X)
    graph = sparse.csr_array(np.where(np.argsort(np.argsort(D)) < 40, D, 0.0))
    assert plain.labels_.max() >= 1
    np.testing.assert_array_equal(OPTICS(max_eps=2.0, metric="precomputed").fit(D).labels_, plain.labels_)
    np.testing.assert_array_equal(OPTICS(max_eps=2.0).fit(sparse.csr_array(X)).labels_, plain.labels_)
    for metric in ("seuclidean", "mahalanobis"):
        plain, thin = (OPTICS(metric=metric).fit(rows) for rows in (X, sparse.csr_array(X)))
        np.testing.assert_array_equal(thin.ordering_, plain.ordering_)
    theirs = peer.OPTICS(max_eps=2.0, metric="precomputed").fit(graph)
    np.testing.assert_array_equal(
        OPTICS(max_eps=2.0, metric="precomputed").fit(graph).ordering_, theirs.ordering_
    )


@pytest.mark.parametrize(
    ("metric", "options"),
    [("cosine", {}), ("minkowski", {"p": 3}), ("canberra", {}), ("chebyshev", {}), ("haversine", {})],
)
def test_metrics(metric, options):
    """Core distances and the distances that they are compared with are the same numbers."""
    X = points() / 5
    D = (haversine_distances(X) if metric == "haversine" else cdist(X, X, metric, **options)).clip(0)
    ours = OPTICS(metric=metric, **options).fit(X)
    given = OPTICS(metric="precomputed").fit((D + D.T) / 2)
    np.testing.assert_array_equal(ours.ordering_, given.ordering_)
    np.testing.assert_array_equal(ours.labels_, given.labels_)


def test_metric_that_leaves_out_missing_values():
    """As in scikit-learn, rows must not have them here."""
    X = points() / 5
    ours = OPTICS(metric="nan_euclidean").fit(X)
    np.testing.assert_array_equal(ours.labels_, peer.OPTICS(metric="nan_euclidean").fit(X).labels_)
    with pytest.raises(ValueError, match="NaN"):
        ours.fit([[np.nan], [1.0]])


def test_clusters_at_one_distance_have_the_core_rows_of_dbscan():
    X = points(200)
    model, eps = OPTICS(max_eps=1.5).fit(X), 0.6
    labels = cluster_optics_dbscan(
        reachability=model.reachability_,
        core_distances=model.core_distances_,
        ordering=model.ordering_,
        eps=eps,
    )
    dense = DBSCAN(eps).fit(X)
    core = dense.core_sample_indices_
    pairs = set(zip(labels[core].tolist(), dense.labels_[core].tolist()))
    assert len(pairs) == dense.labels_.max() + 1 > 2


def test_the_ordering_is_kept(tmp_path):
    X, options = points(), {"max_eps": 2.0, "memory": str(tmp_path)}
    first = OPTICS(**options).fit(X)
    second = OPTICS(**options, cluster_method="dbscan", eps=0.5).fit(X)
    np.testing.assert_array_equal(first.ordering_, second.ordering_)
    assert list(tmp_path.rglob("output.pkl"))


def test_bad_input():
    X = points(20)
    oblique = np.triu(np.ones((6, 6)), 1)
    for model, rows, words in (
        (OPTICS(min_samples=21), X, "min_samples must be no greater than the number of samples"),
        (OPTICS(min_cluster_size=21), X, "min_cluster_size must be no greater than"),
        (OPTICS(min_samples=1), X, "parameter 'min_samples' must be"),
        (OPTICS(min_samples=1.5), X, "parameter 'min_samples' must be"),
        (
            OPTICS(max_eps=2.0, eps=3.0, cluster_method="dbscan"),
            X,
            "Specify an epsilon smaller than 2.0. Got 3.0",
        ),
        (OPTICS(metric="crow"), X, "parameter 'metric' must be one of"),
        (OPTICS(metric="precomputed"), oblique, "symmetric"),
        (OPTICS(), [[0.0], [np.nan]], "NaN"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(rows)
    with pytest.raises(ValueError, match="xi must be"):
        cluster_optics_xi(
            reachability=np.ones(3), predecessor=np.zeros(3), ordering=np.arange(3), min_samples=2, xi=2.0
        )
    with pytest.warns(UserWarning, match="All reachability values are inf"):
        assert set(OPTICS(max_eps=1e-9).fit(np.arange(9.0)[:, None]).labels_) == {-1}


def test_odd_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = OPTICS().fit(np.ones((30, 2)))
        assert same.reachability_[same.ordering_].tolist() == [np.inf] + [0.0] * 29
        X = points() / 20
        for size in (1e-300, 1e150, 1e307):
            np.testing.assert_array_equal(OPTICS().fit(X * size).labels_, OPTICS().fit(X * 2.0**40).labels_)

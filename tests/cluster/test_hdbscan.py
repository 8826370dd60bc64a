"""HDBSCAN: scikit-learn's labels and trees, both spanning trees, new rows, and odd input."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn import cluster as peer
from sklearn.cluster._hdbscan import hdbscan as theirs_inside
from sklearn.cluster._hdbscan._linkage import make_single_linkage
from sklearn.metrics import adjusted_rand_score

from tercet.cluster import HDBSCAN
from tercet.cluster._engine.density_hierarchy import CondensedTree, condense, single_linkage
from tercet.cluster._engine.spanning_tree import boruvka, prim, prim_rows


def points(n=150, d=2, seed=0):
    rng = np.random.default_rng(seed)
    cloud = rng.integers(4, size=n)
    X = 4 * rng.normal(size=(4, d))[cloud] + np.array([0.1, 0.3, 0.6, 2.0])[cloud, None] * rng.normal(
        size=(n, d)
    )
    return X


SETTINGS = [
    {},
    {"min_cluster_size": 12, "min_samples": 3},
    {"min_samples": 1},
    {"cluster_selection_method": "leaf"},
    {"cluster_selection_epsilon": 0.02},
    {"allow_single_cluster": True},
    {"max_cluster_size": 30},
    {"alpha": 1.3},
    {"metric": "manhattan"},
    {"metric": "nan_euclidean"},
    {"store_centers": "both"},
]
# Their distances are rounded otherwise: edges that are equally long here are not quite so there.
ROUNDED = [
    {"alpha": 0.7, "algorithm": "brute"},
    {"metric": "cosine"},
    {"metric": "haversine"},
    {"metric": "minkowski", "metric_params": {"p": 3}},
]


@pytest.fixture
def sorted_stably(monkeypatch):
    """Many edges of the spanning tree are equally long: in scikit-learn, too, they are sorted by their order."""

    def process(tree):
        return make_single_linkage(tree[np.argsort(tree["distance"], kind="stable")])

    monkeypatch.setattr(theirs_inside, "_process_mst", process)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_same_labels_as_scikit_learn(settings, sorted_stably):
    for seed in range(3):
        X = points(seed=seed)
        ours, theirs = HDBSCAN(**settings).fit(X), peer.HDBSCAN(**settings, copy=True).fit(X)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.probabilities_, theirs.probabilities_, rtol=1e-9)
        tree = theirs._single_linkage_tree_
        np.testing.assert_allclose(ours.single_linkage_tree_[:, 2], tree["value"], rtol=1e-9, atol=1e-12)
        for cut, least in ((0.3, 2), (1.0, 5)):
            np.testing.assert_array_equal(
                ours.dbscan_clustering(cut, least), theirs.dbscan_clustering(cut, least)
            )
        np.testing.assert_array_equal(ours.predict(X), ours.labels_)
        if "store_centers" in settings:
            np.testing.assert_allclose(ours.centroids_, theirs.centroids_)
            np.testing.assert_allclose(ours.medoids_, theirs.medoids_)


@pytest.mark.parametrize("settings", SETTINGS + ROUNDED, ids=str)
def test_same_clusters_of_the_same_merges(settings):
    X = points() / 20
    ours, theirs = HDBSCAN(**settings).fit(X), peer.HDBSCAN(**settings, copy=True).fit(X)
    merges = np.array(theirs._single_linkage_tree_.tolist(), dtype=float)
    np.testing.assert_allclose(ours.single_linkage_tree_[:, 2], merges[:, 2], rtol=1e-7, atol=1e-9)
    tree = CondensedTree.of(condense(merges, ours.min_cluster_size), len(X))
    epsilon = ours.cluster_selection_epsilon
    kept = tree.select(
        ours.cluster_selection_method,
        single=ours.allow_single_cluster,
        epsilon=epsilon,
        largest=ours.max_cluster_size,
    )
    labels, strength = tree.label_rows(kept, epsilon)
    np.testing.assert_array_equal(labels, theirs.labels_)
    np.testing.assert_allclose(strength, theirs.probabilities_, rtol=1e-12)


@pytest.mark.parametrize("how", ["eom", "leaf"])
@pytest.mark.parametrize("single", [False, True])
def test_no_cluster_splits_below_epsilon(how, single):
    """By the definition: kept clusters are born at epsilon or above, or from the root."""
    X = points(300, seed=3)
    counts = []
    for epsilon in (0.0, 0.2, 0.6, 1.5, 50.0):
        model = HDBSCAN(
            cluster_selection_method=how, allow_single_cluster=single, cluster_selection_epsilon=epsilon
        ).fit(X)
        tree = CondensedTree.of(model.condensed_tree_, len(X))
        counts.append(len(model._kept))
        for c in model._kept:
            assert c == 0 or 1 / tree.birth[c] >= epsilon or (tree.parent[c] == 0 and not single)
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == (1 if single else 2)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("k", [1, 4])
def test_spanning_trees(d, k):
    X = points(300, d)
    X[::5] = np.round(X[::5])  # equal rows and equal distances
    D = cdist(X, X)
    found = np.argsort(D, axis=1, kind="stable")[:, :k]
    core = np.take_along_axis(D, found, axis=1)[:, -1]
    reach = np.maximum(np.maximum(core, core[:, None]), D) + 1.0  # an entry of 0 would not be an edge
    expected = np.sort(minimum_spanning_tree(reach).data) - 1.0
    trees = {
        "plain": prim(len(X), core, lambda i: D[i]),
        "prim": prim_rows(X, core),
        "boruvka": boruvka(X, core, found),
    }
    for name, (start, stop, weight) in trees.items():
        np.testing.assert_allclose(np.sort(weight), expected, atol=1e-12, err_msg=name)
        merges = single_linkage(start, stop, weight)
        assert merges[-1, 3] == len(X), name  # all rows are connected
        reached = {0}
        for a, b in zip(start.tolist(), stop.tolist()):
            assert a in reached
            reached.add(b)
    one, two = (boruvka(X, core, found, n_jobs) for n_jobs in (1, 3))
    assert all(map(np.array_equal, one, two))


def test_the_large_data_algorithm_gives_the_same_clusters(monkeypatch):
    from tercet.cluster import mutual_reachability

    X = points(400, 3)
    small = HDBSCAN(min_cluster_size=10).fit(X)
    monkeypatch.setattr(mutual_reachability, "FEW", 1)
    large = HDBSCAN(min_cluster_size=10).fit(X)
    assert small.labels_.max() >= 2
    np.testing.assert_allclose(large.single_linkage_tree_[:, 2], small.single_linkage_tree_[:, 2], rtol=1e-12)
    assert adjusted_rand_score(large.labels_, small.labels_) > 0.99


def test_rows_with_missing_and_infinite_numbers(sorted_stably):
    X = points()
    X[3, 0], X[7, 1], X[9] = np.nan, -np.inf, [np.inf, np.nan]
    ours, theirs = HDBSCAN().fit(X), peer.HDBSCAN(copy=True).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.probabilities_, theirs.probabilities_)
    assert ours.labels_[[3, 7, 9]].tolist() == [-3, -2, -3]
    np.testing.assert_array_equal(ours.dbscan_clustering(0.5), theirs.dbscan_clustering(0.5))
    labels, strength = ours.approximate_predict(X)
    np.testing.assert_array_equal(labels, ours.labels_)
    np.testing.assert_allclose(strength, ours.probabilities_, atol=1)
    np.testing.assert_array_equal(np.isnan(strength), labels == -3)
    opposite = points()
    opposite[5] = [np.inf, -np.inf]
    assert HDBSCAN().fit(opposite).labels_[5] == -2  # nothing is missing there


def test_new_rows():
    X = points(200, 2, seed=1)
    model = HDBSCAN(min_cluster_size=10).fit(X)
    rng = np.random.default_rng(0)
    near = X + 1e-6 * rng.normal(size=X.shape)
    assert (model.predict(near) == model.labels_).mean() > 0.97
    labels, strength = model.approximate_predict(np.vstack([X.mean(axis=0) + 1e4, X[:1]]))
    assert labels.tolist() == [-1, model.labels_[0]]
    assert strength[0] == 0
    assert 0 <= strength[1] <= 1
    D = squareform(pdist(X))
    given = HDBSCAN(min_cluster_size=10, metric="precomputed").fit(D)
    np.testing.assert_array_equal(given.predict(D), given.labels_)


def test_given_distances_and_sparse_rows(sorted_stably):
    X = points()
    D = squareform(pdist(X))
    expected = peer.HDBSCAN(copy=True).fit(X).labels_
    before = D.copy()
    assert adjusted_rand_score(HDBSCAN(metric="precomputed").fit(D).labels_, expected) == 1
    np.testing.assert_array_equal(D, before)
    assert adjusted_rand_score(HDBSCAN().fit(sparse.csr_array(X)).labels_, expected) == 1
    np.testing.assert_array_equal(
        HDBSCAN(alpha=0.2).fit(sparse.csr_array(X)).labels_, HDBSCAN(alpha=0.2).fit(X).labels_
    )
    graph = sparse.csr_array(np.where(np.quantile(D, 0.7) > D, D, 0.0))
    for least in (None, 1):
        ours = HDBSCAN(metric="precomputed", min_samples=least).fit(graph)
        theirs = peer.HDBSCAN(metric="precomputed", min_samples=least, copy=True).fit(graph)
        heights = theirs._single_linkage_tree_["value"]
        np.testing.assert_allclose(ours.single_linkage_tree_[:, 2], heights, rtol=1e-12)
    # With core distances many edges are equally long, and an unstable sort chooses among them in scikit-learn:
    # only without them there is a single spanning tree.
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis", "chebyshev"])
def test_sparse_rows_by_metrics_that_dense_rows_have(metric):
    X = points(60)
    plain, thin = (
        HDBSCAN(metric=metric, store_centers="both").fit(rows) for rows in (X, sparse.csr_array(X))
    )
    np.testing.assert_array_equal(thin.labels_, plain.labels_)
    np.testing.assert_allclose(thin.centroids_, plain.centroids_)
    np.testing.assert_array_equal(thin.medoids_, plain.medoids_)


def test_bad_input():
    X, D = points(20), np.array([[0, 1, 4.0], [1, 0, 1], [3, 1, 0]])
    for model, rows, words in (
        (
            HDBSCAN(metric="precomputed", min_cluster_size=2),
            D,
            r"symmetric.*X\[0, 2\] = 4.0 and X\[2, 0\] = 3.0",
        ),
        (HDBSCAN(metric="precomputed"), D[:2], "shape"),
        (HDBSCAN(metric="precomputed"), np.full((6, 6), np.nan), "nan"),
        (HDBSCAN(metric="precomputed", store_centers="medoid"), np.zeros((6, 6)), "Cannot store centers"),
        (HDBSCAN(metric="precomputed"), sparse.csr_array(np.zeros((6, 6))), "fewer than 5"),
        (HDBSCAN(min_samples=21), X, r"min_samples \(21\) must be at most"),
        (HDBSCAN(), X[:1], "n_samples=1"),
        (HDBSCAN(), np.full((9, 2), np.nan), "n_samples=0"),
        (HDBSCAN(algorithm="kd_tree", metric="cosine"), X, "cosine is not a valid metric for a KDTree-based"),
        (HDBSCAN(algorithm="kd_tree"), sparse.csr_array(X), "Sparse data matrices only support"),
        (HDBSCAN(metric="crow"), X, "parameter 'metric' must be one of"),
        (HDBSCAN(min_cluster_size=1), X, "parameter 'min_cluster_size' must be"),
        (HDBSCAN(alpha=0.0), X, "parameter 'alpha' must be"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(rows)


def test_odd_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = HDBSCAN().fit(np.ones((30, 2)))
        assert np.isfinite(same.probabilities_).all()
        assert set(HDBSCAN(allow_single_cluster=True).fit(np.ones((30, 2))).labels_) == {0}
        twice = HDBSCAN().fit(np.repeat([[0.0], [5.0]], 20, axis=0))
        assert len(set(twice.labels_.tolist())) == 2
        for size in (1e-300, 1e150, 1e307):
            X = points() / 20
            np.testing.assert_array_equal(HDBSCAN().fit(X * size).labels_, HDBSCAN().fit(X).labels_)
        constant = np.c_[points(d=1), np.full(150, 3.0)]
        np.testing.assert_array_equal(HDBSCAN().fit(constant).labels_, HDBSCAN().fit(constant[:, :1]).labels_)
        assert HDBSCAN(min_cluster_size=2).fit([[0.0], [1.0]]).labels_.tolist() == [-1, -1]


@pytest.mark.parametrize("metric", ["euclidean", "chebyshev", "minkowski", "precomputed"])
@pytest.mark.parametrize(("how", "single"), [("eom", True), ("eom", False), ("leaf", False)])
def test_strengths_of_rows_near_the_limits_of_floats(metric, how, single):
    """No density of 0 is divided by 0: strengths are from 0 to 1, of new rows as well."""
    rng, top = np.random.default_rng(0), np.finfo(float).max
    Z = rng.normal(size=(40, 2))
    with np.errstate(over="ignore", under="ignore"):
        cases = [
            Z * 1e150,
            Z * 1e307,
            np.clip(Z * 10.0 ** rng.uniform(-320, 308.2, size=(40, 1)), -top, top),  # scales of rows
            np.clip(Z * 10.0 ** rng.uniform(-320, 308.2, size=2), -top, top),  # scales of columns
            np.where(rng.random(40) < 0.2, 1e308, 1.0)[:, None] * np.sign(Z),
            top * np.sign(Z),
            (Z * 1e37).astype(np.float32),
        ]
    if metric == "precomputed":
        cases = [np.abs(X[:, :1] / 4.0 - X[:, 0] / 4.0) for X in cases]
        cases.append(np.where(np.abs(Z[:, :1] - Z[:, 0]) > 1.0, np.inf, 0.0))
    params = {"p": 3} if metric == "minkowski" else None
    for X, alpha, k in itertools.product(cases, (1.0, 1e-300, 1e300), (1, 4)):
        model = HDBSCAN(3, k, metric=metric, metric_params=params, alpha=alpha)
        model.set_params(cluster_selection_method=how, allow_single_cluster=single)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The minimum spanning tree contains edge weights")
            strength = model.fit(X).probabilities_
        assert ((strength >= 0) & (strength <= 1)).all()

"""DBSCAN: scikit-learn's labels exactly, the definition of a cluster, and input that is out of the ordinary."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn import cluster as peer

from tercet.cluster import DBSCAN, dbscan, grow_clusters
from tercet.cluster._engine import grid, neighbor_lists

ALGORITHMS = ["auto", "kd_tree", "ball_tree", "brute"]


def points(n=120, d=2, seed=0):
    """Clouds of several widths, and rows on a lattice, many of which are equal or just eps apart."""
    rng = np.random.default_rng(seed)
    cloud = rng.integers(4, size=n)
    X = 3 * rng.normal(size=(4, d))[cloud] + np.array([0.1, 0.3, 0.5, 2.0])[cloud, None] * rng.normal(
        size=(n, d)
    )
    X[::3] = np.round(X[::3] * 4) / 4
    return X


def lists_of(X, eps):
    near = cdist(X, X) <= eps
    return np.concatenate([[0], np.cumsum(near.sum(axis=1))]), np.nonzero(near)[1], near


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_same_labels_as_scikit_learn(algorithm, d):
    for seed, eps, least in ((0, 0.25, 2), (1, 0.5, 5), (2, 1.0, 8), (3, 50.0, 3), (4, 1e-3, 2)):
        X = points(d=d, seed=seed)
        ours = DBSCAN(eps, min_samples=least, algorithm=algorithm).fit(X)
        theirs = peer.DBSCAN(eps, min_samples=least, algorithm="kd_tree").fit(X)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_array_equal(ours.core_sample_indices_, theirs.core_sample_indices_)
        np.testing.assert_array_equal(ours.components_, theirs.components_)
        np.testing.assert_array_equal(ours.predict(X), ours.labels_)


def test_the_plain_form_and_the_definition():
    """Fig 9.9; what it finds is connected and maximal."""
    X, eps, least = points(d=2, seed=7), 0.6, 6
    indptr, indices, near = lists_of(X, eps)
    core = near.sum(axis=1) >= least
    model = DBSCAN(eps, min_samples=least).fit(X)
    np.testing.assert_array_equal(grow_clusters(indptr, indices, core), model.labels_)
    labels = model.labels_
    assert 1 < labels.max() + 1 < core.sum()
    reach = near & core[:, None] & core  # steps from core row to core row
    for _ in range(8):
        reach = reach @ reach
    assert (labels[:, None] == labels)[reach].all()  # maximality: what is reachable is in the cluster
    for c in range(labels.max() + 1):  # connectivity: one core row reaches all of it
        mine = labels == c
        assert (reach[np.ix_(mine & core, mine & core)]).all()
        assert near[np.ix_(mine & core, mine)].any(axis=0).all()
    for i in np.flatnonzero(~core):  # a border row is in the first cluster that reaches it
        around = labels[near[i] & core]
        assert labels[i] == (around.min() if around.size else -1)


def test_lists_of_neighbours_are_cut_into_blocks(monkeypatch):
    X = points(d=5)
    whole = {name: DBSCAN(0.9, algorithm=name).fit(X).labels_ for name in ("kd_tree", "brute")}
    monkeypatch.setattr(neighbor_lists, "ENTRIES", 60)
    monkeypatch.setattr(neighbor_lists, "FEWEST", 3)
    longest, lists = [], neighbor_lists.TreeSearch.lists

    def watched(self, Q):
        found = lists(self, Q)
        longest.append(found[1].size)
        return found

    monkeypatch.setattr(neighbor_lists.TreeSearch, "lists", watched)
    for name, labels in whole.items():
        np.testing.assert_array_equal(DBSCAN(0.9, algorithm=name).fit(X).labels_, labels)
    assert len(longest) > 3
    assert max(longest) <= 60 + len(X)


def test_the_grid_in_chunks_and_in_place(monkeypatch):
    X, rng = points(400, 3), np.random.default_rng(0)
    weight = rng.integers(1, 4, len(X)).astype(float)
    expected = [DBSCAN(0.5).fit(X, sample_weight=w).labels_ for w in (None, weight)]
    monkeypatch.setattr(grid, "CHUNKS", 3)
    monkeypatch.setattr(grid, "IN_PLACE", 1)
    for w, labels in zip((None, weight), expected):
        np.testing.assert_array_equal(DBSCAN(0.5, n_jobs=2).fit(X, sample_weight=w).labels_, labels)
        np.testing.assert_array_equal(peer.DBSCAN(0.5).fit(X, sample_weight=w).labels_, labels)


def test_crowded_cells():
    """Two sheets of many rows, just farther apart than eps, and a bridge between them."""
    rng = np.random.default_rng(0)
    sheet = rng.random((150, 2)) * 0.05
    X = np.vstack([np.c_[sheet, np.zeros(150)], np.c_[sheet, np.full(150, 0.11)]])
    assert DBSCAN(0.1).fit(X).labels_.tolist() == [0] * 150 + [1] * 150
    assert set(DBSCAN(0.1, min_samples=2).fit(np.vstack([X, [[0.02, 0.02, 0.055]]])).labels_) == {0}


def test_weights():
    X = points(90, 2)
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    for algorithm in ("auto", "kd_tree", "brute"):
        ours = DBSCAN(0.5, min_samples=6, algorithm=algorithm).fit(X, sample_weight=weight)
        theirs = peer.DBSCAN(0.5, min_samples=6).fit(X, sample_weight=weight)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    pair = [[0.0], [1.0]]
    assert dbscan(pair, eps=1.5, min_samples=6, sample_weight=[6, -1])[0].size == 0
    assert dbscan(pair, eps=1.5, min_samples=6, sample_weight=[5.9, 0.1])[0].tolist() == [0, 1]
    for wrong in ([1.0], [1.0, np.nan], [-1.0, 0.0], [[1.0], [1.0]]):
        with pytest.raises(ValueError, match=r"[Ss]ample.weight"):
            dbscan(pair, sample_weight=wrong)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("manhattan", {}),
        ("chebyshev", {}),
        ("minkowski", {"p": 3}),
        ("minkowski", {"p": 1, "metric_params": {"w": [1.0, 3.0]}}),
        ("cosine", {"eps": 0.01}),
        ("haversine", {"eps": 0.1}),
        ("canberra", {"eps": 0.2}),
        ("nan_euclidean", {}),
        (lambda x, z: float(np.abs(x - z).max()), {}),
    ],
)
def test_metrics(metric, options):
    X = points(70) / 3
    settings = {"eps": 0.3, "metric": metric, **options}
    ours = DBSCAN(**settings).fit(X)
    np.testing.assert_array_equal(ours.labels_, peer.DBSCAN(**settings).fit(X).labels_)
    np.testing.assert_array_equal(ours.predict(X), ours.labels_)
    assert len(set(ours.labels_.tolist())) > 1


def test_sparse_rows_and_given_distances():
    X = np.where(points(80, 4) < 0.5, 0.0, points(80, 4))
    expected = peer.DBSCAN(0.8).fit(X).labels_
    D = squareform(pdist(X))
    graph = sparse.csr_array(np.where(D <= 0.9, D, 0.0))
    before = graph.copy()
    assert expected.max() >= 1
    np.testing.assert_array_equal(DBSCAN(0.8).fit(sparse.csr_array(X)).labels_, expected)
    for given in (D, graph, sparse.coo_array(graph)):
        model = DBSCAN(0.8, metric="precomputed").fit(given)
        np.testing.assert_array_equal(model.labels_, expected)
    np.testing.assert_array_equal(DBSCAN(0.8, metric="precomputed").fit(D).predict(D[:9]), expected[:9])
    assert (graph != before).nnz == 0
    # A graph of the nearest rows is not symmetric.
    nearest = sparse.csr_array(np.where(np.argsort(np.argsort(D)) < 6, D, 0.0))
    np.testing.assert_array_equal(
        DBSCAN(0.5, min_samples=4, metric="precomputed").fit(nearest).labels_,
        peer.DBSCAN(0.5, min_samples=4, metric="precomputed").fit(nearest).labels_,
    )


def test_distances_need_no_triangle_inequality_but_symmetry():
    D = np.array([[0, 7, 2, 9], [7, 0, 5, 1], [2, 5, 0, 1], [9, 1, 1, 0]], dtype=float)
    expected = peer.DBSCAN(2, min_samples=2, metric="precomputed").fit(D).labels_
    assert DBSCAN(2, min_samples=2, metric="precomputed").fit(D).labels_.tolist() == expected.tolist()
    D[0, 1] = 6
    for wrong, words in (
        (D, r"symmetric.*X\[0, 1\] = 6.0 and X\[1, 0\] = 7.0"),
        (-D, "[Nn]egative"),
        (D[:3], "shape"),
    ):
        with pytest.raises(ValueError, match=words):
            DBSCAN(2, metric="precomputed").fit(wrong)


def test_odd_rows():
    same = np.ones((50, 2))
    assert set(DBSCAN().fit(same).labels_) == {0}
    assert DBSCAN().fit([[0.0], [0.1], [9.0]]).labels_.tolist() == [-1, -1, -1]
    assert DBSCAN().fit([[0.0], [0.1], [9.0]]).components_.shape == (0, 1)
    assert DBSCAN(min_samples=1).fit([[3.0, 1.0]]).labels_.tolist() == [0]
    constant = np.c_[points(60, 1), np.full(60, 7.0)]
    np.testing.assert_array_equal(DBSCAN(0.3).fit(constant).labels_, DBSCAN(0.3).fit(constant[:, :1]).labels_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (1e-300, 1e150, 1e307):
            X = points(60) / 8
            np.testing.assert_array_equal(
                DBSCAN(0.1 * size).fit(X * size).labels_, DBSCAN(0.1).fit(X).labels_
            )
        far = DBSCAN(1.0).fit([[0.0, 0.0], [1e308, -1e308], [-1e308, 1e308]])
    assert far.labels_.tolist() == [-1, -1, -1]
    offset = points(90, 3) * 0.1 + 1e7
    np.testing.assert_array_equal(
        DBSCAN(0.1).fit(offset).labels_, DBSCAN(0.1, algorithm="kd_tree").fit(offset).labels_
    )


@pytest.mark.parametrize("eps", [0, -1.0, np.nan, np.inf, "wide"])
def test_eps_must_be_positive(eps):
    with pytest.raises(ValueError, match="DBSCAN: parameter 'eps' must be a number"):
        DBSCAN(eps).fit([[0.0]])


def test_bad_input():
    with pytest.raises(ValueError, match="NaN"):
        DBSCAN().fit([[0.0], [np.nan]])
    with pytest.raises(ValueError, match=r"DBSCAN: parameter 'metric' must be one of .*; got 'crow'"):
        DBSCAN(metric="crow").fit([[0.0], [1.0]])

"""Trees along the edges of a graph, and the functions that give trees."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster import hierarchy
from sklearn import cluster as peer
from sklearn.feature_extraction.image import grid_to_graph
from sklearn.metrics.pairwise import manhattan_distances

from tercet.cluster import AgglomerativeClustering, KMeans, k_means, kmeans_plusplus, linkage_tree, ward_tree
from tercet.neighbors import kneighbors_graph

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
GRID = grid_to_graph(6, 10)
LINKAGES = ["ward", "complete", "average", "single"]


def tree(linkage, *args, **options):
    return (
        ward_tree(*args, **options) if linkage == "ward" else linkage_tree(*args, linkage=linkage, **options)
    )


@pytest.mark.parametrize("linkage", LINKAGES)
def test_a_complete_graph_constrains_nothing(linkage):
    free = tree(linkage, X, return_distance=True)
    bound = tree(linkage, X, connectivity=np.ones((60, 60)), return_distance=True)
    np.testing.assert_array_equal(bound[0], free[0])
    np.testing.assert_allclose(bound[4], free[4], rtol=1e-10)
    np.testing.assert_allclose(free[4], hierarchy.linkage(X, linkage)[:, 2], rtol=1e-10)
    assert free[1:4] == (1, 60, None)
    assert bound[1:3] == (1, 60)
    assert all(child in bound[0][parent - 60] for child, parent in enumerate(bound[3][:-1]))


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_trees_on_a_grid_are_those_of_the_peer(linkage, metric):
    if linkage == "ward" and metric != "euclidean":
        return
    mine, theirs = (
        kind(5, connectivity=GRID, linkage=linkage, metric=metric, compute_distances=True).fit(X)
        for kind in (AgglomerativeClustering, peer.AgglomerativeClustering)
    )
    np.testing.assert_allclose(mine.distances_, theirs.distances_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(np.sort(mine.children_, axis=1), np.sort(theirs.children_, axis=1))
    assert len(set(zip(mine.labels_, theirs.labels_))) == 5  # the same partition
    if linkage != "single":  # where the peer has its own order of children
        np.testing.assert_array_equal(mine.labels_, theirs.labels_)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_every_cluster_is_connected(linkage):
    labels = AgglomerativeClustering(6, connectivity=GRID, linkage=linkage).fit_predict(X)
    for c in range(6):
        inside = np.flatnonzero(labels == c)
        part = sparse.csr_array(GRID)[inside][:, inside]
        assert sparse.csgraph.connected_components(part)[0] == 1


@pytest.mark.parametrize("linkage", ["ward", "average"])
def test_merging_stops_where_it_is_told_to(linkage):
    stopped = AgglomerativeClustering(9, connectivity=GRID, linkage=linkage, compute_full_tree=False).fit(X)
    full = AgglomerativeClustering(9, connectivity=GRID, linkage=linkage).fit(X)
    assert len(stopped.children_) == 51
    assert len(full.children_) == 59
    assert len(set(zip(stopped.labels_, full.labels_))) == 9  # the same partition
    np.testing.assert_array_equal(stopped.children_, full.children_[:51])
    with pytest.raises(ValueError, match="from 9 to 60"):
        stopped.cut(8)
    assert len(set(stopped.cut(12))) == 12


def test_a_graph_that_falls_apart_is_completed():
    graph = np.zeros((5, 5))
    graph[0, 1] = graph[0, 2] = graph[1, 2] = graph[3, 4] = 1
    rows = X[:5]
    distances = np.sqrt(((rows[:, None] - rows) ** 2).sum(axis=2))
    with pytest.warns(
        UserWarning, match="connected components of the connectivity matrix is 2 > 1. Completing it"
    ):
        model = AgglomerativeClustering(connectivity=graph, linkage="complete").fit(rows)
    with pytest.warns(UserWarning, match="Completing it"):
        given = AgglomerativeClustering(connectivity=graph, linkage="complete", metric="precomputed").fit(
            distances
        )
    assert model.n_connected_components_ == 2
    np.testing.assert_array_equal(model.children_, given.children_)
    with pytest.warns(UserWarning, match="is 5 > 1"):
        assert ward_tree(rows, connectivity=np.eye(5))[1] == 5


def test_graphs_by_a_function_and_in_a_cache(tmp_path):
    near = partial(kneighbors_graph, n_neighbors=8)
    by_function = AgglomerativeClustering(4, connectivity=near).fit(X)
    by_matrix = AgglomerativeClustering(4, connectivity=near(X), memory=str(tmp_path)).fit(X)
    np.testing.assert_array_equal(by_function.labels_, by_matrix.labels_)
    assert any(tmp_path.rglob("*.pkl"))


def test_a_function_of_all_rows_or_of_two():
    whole = linkage_tree(X, affinity=manhattan_distances, return_distance=True)
    pairs = linkage_tree(X, affinity=lambda x, z: np.abs(x - z).sum(), return_distance=True)
    np.testing.assert_allclose(whole[4], pairs[4])
    np.testing.assert_array_equal(whole[0], linkage_tree(X, affinity="manhattan")[0])
    along = AgglomerativeClustering(3, metric=manhattan_distances, linkage="average", connectivity=GRID).fit(
        X
    )
    plain = AgglomerativeClustering(3, metric="l1", linkage="average", connectivity=GRID).fit(X)
    np.testing.assert_array_equal(along.children_, plain.children_)


def test_errors():
    with pytest.raises(ValueError, match="Unknown linkage option"):
        linkage_tree(X, linkage="foo")
    with pytest.raises(ValueError, match="Wrong shape for connectivity matrix"):
        ward_tree(X, connectivity=np.ones((4, 4)))
    with pytest.raises(ValueError, match="more clusters than samples"):
        ward_tree(X, connectivity=GRID, n_clusters=61)
    with pytest.raises(ValueError, match="at least 2 rows"):
        ward_tree(X[:1])
    with pytest.raises(ValueError, match="does not take connectivity"):
        AgglomerativeClustering(linkage="centroid", connectivity=GRID).fit(X)
    with pytest.warns(UserWarning, match="Partial build of the tree"):
        assert len(ward_tree(X[:, 0], n_clusters=10)[0]) == 59


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("linkage", LINKAGES)
def test_squares_that_underflow_or_overflow(scale, linkage):
    unit = np.ldexp(1.0, int(np.log2(scale)))
    for options in ({}, {"connectivity": GRID}):
        plain, scaled = (AgglomerativeClustering(4, linkage=linkage, **options).fit(x) for x in (X, X * unit))
        np.testing.assert_array_equal(scaled.labels_, plain.labels_)
        np.testing.assert_allclose(scaled.distances_ / unit, plain.distances_, rtol=1e-12)


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_k_means_at_any_scale(scale, sparse_rows):
    unit = np.ldexp(1.0, int(np.log2(scale)))
    rows = [sparse.csr_array(x) if sparse_rows else x for x in (X, X * unit)]
    init = X[:3]
    plain = k_means(rows[0], 3, init=init, return_n_iter=True)
    with pytest.warns(RuntimeWarning, match="beyond floating point"):
        scaled = k_means(rows[1], 3, init=init * unit, return_n_iter=True)
    np.testing.assert_allclose(scaled[0] / unit, plain[0], rtol=1e-12)
    np.testing.assert_array_equal(scaled[1], plain[1])
    assert scaled[2] == (0.0 if scale < 1 else np.inf)
    assert scaled[3] == plain[3]
    with pytest.warns(RuntimeWarning, match="beyond floating point"):
        model = KMeans(3, init=init * unit).fit(rows[1])
    np.testing.assert_array_equal(model.predict(rows[1]), plain[1])
    near = model.transform(rows[1]) / unit
    np.testing.assert_allclose((near.min(axis=1) ** 2).sum(), plain[2], rtol=1e-9)
    assert (
        kmeans_plusplus(rows[1], 3, random_state=0)[1] == kmeans_plusplus(rows[0], 3, random_state=0)[1]
    ).all()


def test_words_that_others_look_for(capsys):

    with pytest.warns(
        RuntimeWarning, match="Explicit initial center position passed: performing only one init"
    ):
        KMeans(2, init=X[:2], n_init=10).fit(X)
    with pytest.warns(RuntimeWarning, match="doesn't make sense for a single cluster"):
        KMeans(1, algorithm="elkan").fit(X)
    with pytest.raises(ValueError, match="does not match the number of features of the data"):
        KMeans(2, init=X[:2, :2]).fit(X)
    with pytest.raises(ValueError, match="should be equal to the length of n_samples"):
        kmeans_plusplus(X, 2, x_squared_norms=[1.0])
    KMeans(3, verbose=1, random_state=0, tol=0).fit(X)
    said = capsys.readouterr().out
    assert all(
        words in said for words in ("Initialization complete", "Iteration 1, inertia", "strict convergence")
    )

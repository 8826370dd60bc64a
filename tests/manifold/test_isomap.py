"""Isomap, neighbour graphs and shortest paths."""

import warnings

import numpy as np
import pytest
import sklearn.manifold as peer
from scipy import sparse
from scipy.sparse.csgraph import shortest_path
from sklearn.datasets import make_swiss_roll

from tercet.linear_model import LinearRegression
from tercet.manifold import ClassicalMDS, Isomap, geodesic_distances
from tercet.metrics import pairwise_distances, residual_variance
from tercet.neighbors import BallTree, KDTree, NearestNeighbors, kneighbors_graph


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(60, 3))


@pytest.fixture
def roll():
    return make_swiss_roll(500, random_state=0)


def random_graph(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    graph = sparse.random_array((n, n), density=0.08, rng=rng, format="csr")
    graph.data = np.exp(4 * rng.normal(size=graph.nnz))  # lengths of very different sizes
    return graph, rng


# --- shortest paths -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_paths_like_those_of_scipy(seed):
    graph, rng = random_graph(seed)
    expected = shortest_path(graph, directed=False)
    for method in ("D", "FW", "auto"):
        np.testing.assert_allclose(geodesic_distances(graph, method=method), expected)
    some = rng.integers(graph.shape[0], size=3)
    whole = geodesic_distances(graph, method="D")
    assert np.array_equal(geodesic_distances(graph, some, method="D"), whole[some])
    assert np.array_equal(geodesic_distances(graph, some[:1], method="D"), whole[some[:1]]), (
        "one at a time or eight"
    )


def test_edges_of_length_zero_are_edges():
    graph = sparse.csr_array((np.zeros(2), np.array([1, 2]), np.array([0, 1, 2, 2])), shape=(3, 3))
    assert not geodesic_distances(graph).any()


def test_paths_keep_the_triangle_inequality(points):
    D = geodesic_distances(kneighbors_graph(points, 5, mode="distance"))
    D = D[np.isfinite(D).all(axis=1)]
    assert (D[:, None, :] <= D[:, :, None] + D[None, :, :] + 1e-9).all()
    assert (pairwise_distances(points) - 1e-9 <= D).all()


def test_what_is_no_graph():
    with pytest.raises(ValueError, match="square sparse matrix"):
        geodesic_distances(np.eye(3))
    with pytest.raises(ValueError, match="lengths are at least 0"):
        geodesic_distances(sparse.csr_array([[0.0, -1.0], [0.0, 0.0]]))
    with pytest.raises(ValueError, match="sources must be numbers of nodes"):
        geodesic_distances(sparse.csr_array((2, 2)), [2])
    with pytest.raises(ValueError, match="method must be"):
        geodesic_distances(sparse.csr_array((2, 2)), method="A*")


# --- the embedding ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"n_neighbors": 9, "p": 1}, {"n_neighbors": None, "radius": 2.0}])
def test_like_the_peer(points, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (kind(**options).fit(points) for kind in (Isomap, peer.Isomap))
    np.testing.assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, rtol=1e-12)
    np.testing.assert_allclose(np.abs(ours.embedding_), np.abs(theirs.embedding_), atol=1e-8)
    np.testing.assert_allclose(ours.reconstruction_error(), theirs.reconstruction_error())
    new = points[:9] + 0.05
    np.testing.assert_allclose(np.abs(ours.transform(new)), np.abs(theirs.transform(new)), atol=1e-8)


def test_it_is_classical_scaling_of_the_geodesics(points):
    model = Isomap(n_neighbors=8).fit(points)
    scaled = ClassicalMDS(2, metric="precomputed").fit((model.dist_matrix_ + model.dist_matrix_.T) / 2)
    np.testing.assert_allclose(model.embedding_, scaled.embedding_, atol=1e-9)


def test_a_swiss_roll_is_unrolled(roll):
    X, t = roll
    model = Isomap(n_neighbors=7).fit(X)
    correlation = np.abs(np.corrcoef(model.embedding_.T, t)[:2, 2]).max()
    assert correlation > 0.98
    assert residual_variance(model.dist_matrix_, model.embedding_) < 0.02
    straight = ClassicalMDS(2).fit(X).embedding_
    assert residual_variance(model.dist_matrix_, straight) > 0.2


def test_fitted_rows_stay_where_they_are(points):
    model = Isomap(n_neighbors=7).fit(points)
    np.testing.assert_allclose(model.transform(points), model.embedding_, atol=1e-9)


@pytest.mark.parametrize("solver", ["dense", "arpack", "lanczos"])
@pytest.mark.parametrize("path_method", ["D", "FW"])
def test_solvers_agree(points, solver, path_method):
    expected = Isomap(n_neighbors=7).fit(points)
    model = Isomap(n_neighbors=7, eigen_solver=solver, path_method=path_method).fit(points)
    np.testing.assert_allclose(model.embedding_, expected.embedding_, atol=1e-8)


def test_landmarks(roll):
    X, _ = roll
    whole = Isomap(n_neighbors=10).fit(X)
    model = Isomap(n_neighbors=10, n_landmarks=60).fit(X)
    assert model.dist_matrix_.shape == (60, 500)
    assert len(set(model.landmarks_.tolist())) == 60
    near = residual_variance(whole.dist_matrix_, model.embedding_)
    assert near < residual_variance(whole.dist_matrix_, whole.embedding_) + 0.01
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-8)
    every = Isomap(n_neighbors=10, n_landmarks=500).fit(X)
    np.testing.assert_allclose(np.abs(every.embedding_), np.abs(whole.embedding_), atol=1e-7)


def test_new_rows_by_a_regressor(points):
    model = Isomap(n_neighbors=7, regressor=LinearRegression()).fit(points)
    plain = LinearRegression().fit(points, model.embedding_)
    assert np.array_equal(model.transform(points[:5]), plain.predict(points[:5]))
    with pytest.raises(ValueError, match="regressor must be an estimator or None; got 3, which has no fit"):
        Isomap(regressor=3).fit(points)


def test_trees_searches_and_given_distances(points):
    expected = Isomap(n_neighbors=7).fit(points).embedding_
    for given in (KDTree(points), BallTree(points), NearestNeighbors().fit(points)):
        np.testing.assert_allclose(Isomap(n_neighbors=7).fit(given).embedding_, expected, atol=1e-9)
    D = pairwise_distances(points)
    of_distances = Isomap(n_neighbors=7, metric="precomputed").fit(D)
    np.testing.assert_allclose(of_distances.embedding_, expected, atol=1e-9)
    graph = kneighbors_graph(points, 9, mode="distance", include_self=True)
    of_graph = Isomap(n_neighbors=7, metric="precomputed").fit(graph)
    np.testing.assert_allclose(of_graph.embedding_, expected, atol=1e-9)


# --- what can go wrong --------------------------------------------------------------------------------------


def two_clouds():
    rng = np.random.default_rng(1)
    return np.vstack([rng.normal(size=(12, 2)), rng.normal(size=(10, 2)) + 30])


def test_a_graph_in_pieces_is_joined_or_refused():
    X = two_clouds()
    with pytest.warns(UserWarning, match="connected components of the neighbors graph is 2 > 1"):
        model = Isomap(n_neighbors=4).fit(X)
    assert model.n_connected_components_ == 2
    first, second = model.embedding_[:12, 0], model.embedding_[12:, 0]
    assert max(first.max() < second.min(), second.max() < first.min())
    between = pairwise_distances(X)[:12, 12:]
    i, j = np.unravel_index(between.argmin(), between.shape)
    assert model.dist_matrix_[i, 12 + j] == pytest.approx(between.min()), "by the nearest rows of both"
    with pytest.raises(ValueError, match=r"in 2 pieces, of 12, 10 rows, and disconnected='error'"):
        Isomap(n_neighbors=4, disconnected="error").fit(X)
    graph = kneighbors_graph(X, 5, mode="distance", include_self=True)
    with pytest.raises(RuntimeError, match="cannot be completed with metric='precomputed'"):
        Isomap(n_neighbors=4, metric="precomputed").fit(graph)


def test_counts_that_do_not_fit(points):
    with pytest.raises(ValueError, match="n_neighbors = 60, n_samples_fit = 60"):
        Isomap(n_neighbors=60).fit(points)
    with pytest.raises(ValueError, match="Both n_neighbors and radius are provided"):
        Isomap(n_neighbors=5, radius=1.0).fit(points)
    with pytest.raises(ValueError, match="one of n_neighbors and radius must be a number"):
        Isomap(n_neighbors=None).fit(points)
    with pytest.raises(ValueError, match="n_landmarks=2 must be more than n_components=2"):
        Isomap(n_landmarks=2).fit(points)


def test_rows_at_one_place():
    X = np.repeat(np.random.default_rng(0).normal(size=(8, 2)), 4, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Isomap(n_neighbors=6, n_components=2).fit(X)
        np.testing.assert_allclose(model.embedding_[::4], model.embedding_[3::4], atol=1e-9)
        assert not Isomap(n_neighbors=3).fit(np.ones((9, 2))).embedding_.any()


def test_a_constant_column_changes_nothing(points):
    wide = np.column_stack([points, np.full(len(points), 3.0)])
    expected = Isomap(n_neighbors=7).fit(points).embedding_
    np.testing.assert_allclose(Isomap(n_neighbors=7).fit(wide).embedding_, expected, atol=1e-9)


def test_distances_that_are_none(points):
    with pytest.raises(ValueError, match="is not square"):
        Isomap(metric="precomputed").fit(pairwise_distances(points)[:, :-1])
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        Isomap(metric="precomputed").fit(-pairwise_distances(points))


def test_a_new_row_without_neighbours(points):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Isomap(n_neighbors=None, radius=1.5).fit(points)
    with pytest.raises(ValueError, match=r"row 1 of X has no neighbour within radius=1\.5"):
        model.transform([points[0], points[0] + 100])

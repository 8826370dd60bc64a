"""t-SNE: probabilities, forces by three methods, and the descent."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from tercet.manifold import TSNE, trustworthiness
from tercet.manifold._tsne.affinities import conditional_probabilities, joint_probabilities
from tercet.manifold._tsne.barnes_hut import barnes_hut_repulsion
from tercet.manifold._tsne.forces import attraction, exact_repulsion
from tercet.manifold._tsne.interpolation import interpolated_repulsion
from tercet.metrics import pairwise_distances
from tercet.neighbors import NearestNeighbors, kneighbors_graph


@pytest.fixture
def blobs():
    return make_blobs(n_samples=90, n_features=6, centers=3, random_state=0)


def dense_divergence(P, Z, dof):
    num = (1 + cdist(Z, Z, "sqeuclidean") / dof) ** (-(dof + 1) / 2)
    np.fill_diagonal(num, 0.0)
    Q = num / num.sum()
    there = P > 0
    return float((P[there] * np.log(P[there] / Q[there])).sum())


def probabilities(X, perplexity=10.0):
    n = len(X)
    squared = pairwise_distances(X) ** 2
    others = ~np.eye(n, dtype=bool)
    columns = np.broadcast_to(np.arange(n), (n, n))[others]
    graph = sparse.csr_array((squared[others], columns, np.arange(0, n * (n - 1) + 1, n - 1)), shape=(n, n))
    return joint_probabilities(graph, perplexity, 1)


def test_probabilities_have_the_perplexity(blobs):
    X, _ = blobs
    P = probabilities(X).toarray()
    np.testing.assert_allclose(P, P.T)
    assert P.sum() == pytest.approx(1.0)
    graph = NearestNeighbors(n_neighbors=40).fit(X).kneighbors_graph(mode="distance")
    graph.data **= 2
    out = np.empty(graph.nnz)
    conditional_probabilities(graph.indptr.astype(np.int64), graph.data, np.log(10.0), out)
    rows = out.reshape(len(X), 40)
    entropy = -(rows * np.log(np.maximum(rows, 1e-300))).sum(axis=1)
    np.testing.assert_allclose(np.exp(entropy), 10.0, rtol=1e-4)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_gradient_is_that_of_the_divergence(blobs, d):
    P = probabilities(blobs[0][:30])
    Z, dof = np.random.default_rng(0).normal(size=(30, d)), max(d - 1, 1)
    model = TSNE(d, method="exact")
    edges = P.indptr.astype(np.int64), P.indices.astype(np.int64), P.data
    gradient, divergence = model._gradient(edges, Z, 1.0, 1, True)
    dense = P.toarray()
    assert divergence == pytest.approx(dense_divergence(dense, Z, dof))
    for at in ((0, 0), (7, d - 1)):
        step = np.zeros_like(Z)
        step[at] = 1e-6
        slope = (dense_divergence(dense, Z + step, dof) - dense_divergence(dense, Z - step, dof)) / 2e-6
        assert gradient[at] == pytest.approx(slope, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_trees_come_near_all_pairs(d):
    Z, dof = 5 * np.random.default_rng(d).normal(size=(300, d)), max(d - 1, 1)
    Z[:20] = Z[20]  # points at one place
    force, whole = exact_repulsion(Z, dof, 1)
    opened, same = barnes_hut_repulsion(Z, dof, 0.0, 1)
    np.testing.assert_allclose(opened, force, atol=1e-9)
    assert same == pytest.approx(whole)
    near, close = barnes_hut_repulsion(Z, dof, 0.3, 1)
    assert np.linalg.norm(near - force) < 0.02 * np.linalg.norm(force)
    assert close == pytest.approx(whole, rel=0.01)


@pytest.mark.parametrize("d", [1, 2])
def test_the_grid_comes_near_all_pairs(d):
    Z = 8 * np.random.default_rng(d).normal(size=(400, d))
    force, whole = exact_repulsion(Z, 1, 1)
    near, close = interpolated_repulsion(Z, 1)
    assert np.linalg.norm(near - force) < 0.05 * np.linalg.norm(force)
    assert close == pytest.approx(whole, rel=0.01)


def test_threads_do_not_change_the_forces(blobs):
    P = probabilities(blobs[0])
    edges = P.indptr.astype(np.int64), P.indices.astype(np.int64), P.data
    Z = np.random.default_rng(0).normal(size=(90, 2))
    assert np.array_equal(attraction(edges, Z, 1, 1, True)[0], attraction(edges, Z, 1, 3, True)[0])
    for repulsion in (
        lambda jobs: exact_repulsion(Z, 1, jobs),
        lambda jobs: barnes_hut_repulsion(Z, 1, 0.5, jobs),
        lambda jobs: interpolated_repulsion(Z, jobs),
    ):
        one, two = repulsion(1), repulsion(3)
        assert np.array_equal(one[0], two[0])
        assert one[1] == two[1]


@pytest.mark.parametrize("method", ["exact", "barnes_hut", "fft"])
def test_clusters_stay_together(blobs, method):
    X, y = blobs
    model = TSNE(method=method, perplexity=10, random_state=0, max_iter=400).fit(X)
    D = pairwise_distances(model.embedding_)
    np.fill_diagonal(D, np.inf)
    assert (y[D.argmin(axis=1)] == y).all()
    assert trustworthiness(X, model.embedding_, n_neighbors=5) > 0.9
    history = [kl for kl in model.history_["kl_divergence"] if not np.isnan(kl)]
    assert history[-1] == model.kl_divergence_
    assert history[-1] < history[5], "the divergence falls after the exaggeration"
    assert model.n_iter_ <= 399


def test_starts_and_given_distances(blobs):
    X, _ = blobs
    D = pairwise_distances(X)
    start = np.random.default_rng(0).normal(size=(90, 2))
    options = {"perplexity": 10, "max_iter": 20, "init": start, "method": "exact"}
    expected = TSNE(**options).fit_transform(X)
    np.testing.assert_allclose(TSNE(metric="precomputed", **options).fit_transform(D), expected, atol=1e-6)
    graph = kneighbors_graph(X, 40, mode="distance", include_self=True)
    options["method"] = "barnes_hut"
    given = TSNE(metric="precomputed", **options).fit_transform(graph)
    np.testing.assert_allclose(given, TSNE(**options).fit_transform(X), atol=1e-6)


def test_what_cannot_be_embedded(blobs):
    X, _ = blobs
    with pytest.raises(ValueError, match=r"perplexity \(90\) must be less than n_samples \(90\)"):
        TSNE(perplexity=90).fit(X)
    with pytest.raises(ValueError, match='init="pca" cannot be used with metric="precomputed"'):
        TSNE(metric="precomputed").fit(pairwise_distances(X))
    with pytest.raises(ValueError, match="should be a square distance matrix"):
        TSNE(metric="precomputed", init="random").fit(X)
    with pytest.raises(ValueError, match="'n_components' should be inferior to 4"):
        TSNE(4).fit(X)
    with pytest.raises(ValueError, match="'n_components' should be inferior to 3 for the fft"):
        TSNE(3, method="fft").fit(X)
    with pytest.raises(ValueError, match=r"init must be of shape \(90, 2\)"):
        TSNE(init=X).fit(X)
    with pytest.raises(TypeError, match="does not accept sparse precomputed"):
        TSNE(metric="precomputed", init="random", method="exact").fit(sparse.csr_array(pairwise_distances(X)))
    with pytest.raises(ValueError, match="n_components=2 is more than there are principal components"):
        TSNE().fit(X[:, :1])


def test_rows_at_one_place():
    Z = TSNE(perplexity=3, max_iter=60, random_state=0).fit_transform(np.ones((20, 3)))
    assert np.isfinite(Z).all()

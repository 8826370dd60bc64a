"""Laplacian eigenmaps."""

import warnings

import numpy as np
import pytest
import sklearn.manifold as peer
from scipy import sparse
from scipy.sparse.csgraph import laplacian
from sklearn.datasets import make_swiss_roll

from tercet.manifold import SpectralEmbedding, spectral_embedding
from tercet.neighbors import kneighbors_graph


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(230, 4))


def affinities(X, k=10):
    graph = kneighbors_graph(X, k)
    return 0.5 * (graph + graph.T)


@pytest.mark.parametrize("options", [{}, {"affinity": "rbf"}, {"n_neighbors": 10}, {"affinity": np.corrcoef}])
def test_like_the_peer(points, options):
    if callable(options.get("affinity")):
        options = {"affinity": lambda X: np.abs(np.corrcoef(X))}
    ours, theirs = (
        kind(random_state=0, **options).fit(points) for kind in (SpectralEmbedding, peer.SpectralEmbedding)
    )
    np.testing.assert_allclose(ours.embedding_, theirs.embedding_, atol=1e-9)


@pytest.mark.parametrize("normed", [True, False])
@pytest.mark.parametrize("drop", [True, False])
def test_function_like_the_peer(points, normed, drop):
    options = {"n_components": 3, "norm_laplacian": normed, "drop_first": drop, "random_state": 0}
    A = affinities(points)
    ours, theirs = spectral_embedding(A, **options), peer.spectral_embedding(A, **options)
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    np.testing.assert_allclose(spectral_embedding(A.toarray(), **options), ours, atol=1e-8)


def test_points_are_eigenvectors_of_the_laplacian(points):
    A = affinities(points)
    Z = spectral_embedding(A, n_components=3)
    L, degrees = laplacian(A.toarray(), return_diag=True)
    np.testing.assert_allclose(Z.T @ (degrees[:, None] * Z), np.eye(3), atol=1e-9)
    energy = Z.T @ L @ Z
    np.testing.assert_allclose(energy - np.diag(np.diag(energy)), 0.0, atol=1e-9)
    np.testing.assert_allclose(degrees @ Z, 0.0, atol=1e-7)


def test_slow_convergence_turns_to_a_factorisation():
    """A long path: its smallest eigenvalues lie close together."""
    n = 1500
    path = sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], format="csr")
    z = spectral_embedding(path, n_components=1, random_state=0)[:, 0]
    steps = np.diff(z)
    assert (steps > 0).all() or (steps < 0).all()


def test_solvers_agree():
    X = make_swiss_roll(400, random_state=0)[0]
    found = [
        SpectralEmbedding(n_neighbors=12, eigen_solver=name, random_state=0).fit_transform(X)
        for name in ("arpack", "lobpcg")
    ]
    np.testing.assert_allclose(*found, atol=1e-4)


def test_a_graph_in_pieces_is_told_or_refused():
    two = sparse.block_diag([np.ones((5, 5)), np.ones((4, 4))], format="csr")
    with pytest.warns(UserWarning, match=r"Graph is not fully connected.* in 2 pieces"):
        Z = spectral_embedding(two, n_components=1)
    assert np.ptp(Z[:5]) < 1e-8 < abs(Z[0, 0] - Z[5, 0])
    with pytest.raises(ValueError, match="in 2 pieces, and disconnected='error'"):
        SpectralEmbedding(affinity="precomputed", disconnected="error").fit(two)


def test_what_are_no_affinities(points):
    A = affinities(points).toarray()
    with pytest.raises(ValueError, match="affinities must be finite and at least 0"):
        spectral_embedding(-A)
    with pytest.raises(ValueError, match="2-dimensional and square"):
        SpectralEmbedding(affinity="precomputed").fit(A[:, :-1])
    with pytest.warns(UserWarning, match="not symmetric"):
        SpectralEmbedding(affinity="precomputed").fit(np.triu(A) + 0.1)
    with pytest.raises(ValueError, match="must be less than n_samples = 3"):
        spectral_embedding(np.ones((3, 3)), n_components=3)
    with pytest.raises(ValueError, match="eigen_solver must be"):
        spectral_embedding(A, eigen_solver="qr")
    with pytest.raises(ValueError, match=r"n_neighbors = 231, n_samples_fit = 230"):
        SpectralEmbedding(n_neighbors=231).fit(points)


def test_rows_at_one_place():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Z = SpectralEmbedding(n_neighbors=4).fit_transform(np.ones((12, 3)))
    assert np.isfinite(Z).all()

"""Locally linear embedding and its variants."""

import warnings

import numpy as np
import pytest
import sklearn.manifold as peer
from scipy import sparse
from sklearn.datasets import make_swiss_roll

from tercet.core.symmetric_eigen import smallest_eigenpairs
from tercet.manifold import LocallyLinearEmbedding, barycenter_weights, locally_linear_embedding
from tercet.manifold._lle.weight_factor import weight_solver
from tercet.neighbors import NearestNeighbors

METHODS = ("standard", "modified", "hessian", "ltsa")


@pytest.fixture
def roll():
    return make_swiss_roll(300, random_state=0)[0]


def weights_of(X, k, reg=1e-3):
    """W as a dense matrix, row by row from the definition."""
    near = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(return_distance=False)
    W = np.zeros((len(X), len(X)))
    for i, mine in enumerate(near):
        C = (X[mine] - X[i]) @ (X[mine] - X[i]).T
        C += reg * np.trace(C) * np.eye(k)
        w = np.linalg.solve(C, np.ones(k))
        W[i, mine] = w / w.sum()
    return W


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("solver", ["arpack", "dense"])
def test_like_the_peer(roll, method, solver):
    options = {"n_neighbors": 12, "method": method, "eigen_solver": solver, "random_state": 0}
    ours, theirs = (
        kind(**options).fit(roll) for kind in (LocallyLinearEmbedding, peer.LocallyLinearEmbedding)
    )
    np.testing.assert_allclose(ours.reconstruction_error_, theirs.reconstruction_error_, rtol=1e-5)
    np.testing.assert_allclose(np.abs(ours.embedding_), np.abs(theirs.embedding_), atol=1e-6)
    new = roll[:9] + 0.1
    np.testing.assert_allclose(np.abs(ours.transform(new)), np.abs(theirs.transform(new)), atol=1e-6)
    Z, error = locally_linear_embedding(roll, n_components=2, **options)
    assert np.array_equal(Z, ours.embedding_)
    assert error == ours.reconstruction_error_


def test_eigenvectors_of_the_text(roll):
    """8.23-8.24: M z = λ z, orthonormal, and orthogonal to the constant vector, which is left out."""
    model = LocallyLinearEmbedding(n_neighbors=10, n_components=3, tol=0.0, random_state=0).fit(roll)
    A = np.eye(len(roll)) - weights_of(roll, 10)
    M, Z = A.T @ A, model.embedding_
    values = np.linalg.eigvalsh(M)
    np.testing.assert_allclose(Z.T @ Z, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(Z.sum(axis=0), 0.0, atol=1e-8)
    np.testing.assert_allclose(np.diag(Z.T @ M @ Z), values[1:4], atol=1e-12)
    assert model.reconstruction_error_ == pytest.approx(float((A @ Z).ravel() @ (A @ Z).ravel()), rel=1e-6)


def test_weights_do_not_see_moves_turns_and_scales(roll):
    near = NearestNeighbors(n_neighbors=6).fit(roll).kneighbors(return_distance=False)
    expected = barycenter_weights(roll, roll, near)
    np.testing.assert_allclose(expected.sum(axis=1), 1.0)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    moved = 1e150 * (roll @ turn + 3.0)
    np.testing.assert_allclose(barycenter_weights(moved, moved, near), expected, rtol=1e-6, atol=1e-9)


def test_weights_that_are_not_determined():
    with pytest.raises(ValueError, match="reg=0 is too small: the neighbours of row 0 do not determine"):
        barycenter_weights([[1.0]], [[0.0], [2.0], [3.0]], [[0, 1, 2]], reg=0.0)
    with pytest.raises(ValueError, match="indices must be numbers of rows of Y, 0 to 1"):
        barycenter_weights([[1.0]], [[0.0], [2.0]], [[0, 2]])
    with pytest.raises(ValueError, match="as many columns"):
        barycenter_weights([[1.0]], [[0.0, 1.0]], [[0]])


def test_factors_of_the_weights_solve_with_their_product(roll):
    A = sparse.csr_array(np.eye(len(roll)) - weights_of(roll, 8))
    rng = np.random.default_rng(0)
    solve = weight_solver(A, rng)
    b = rng.normal(size=len(roll))
    b -= b.mean()
    np.testing.assert_allclose(A.T @ (A @ solve(b)), b, atol=1e-6)
    two = sparse.block_diag([A, A], format="csr")
    assert weight_solver(sparse.csr_array(two), rng) is None, "a second null vector"


def test_smallest_eigenpairs_leave_out_the_constant_one(roll):
    A = np.eye(len(roll)) - weights_of(roll, 8)
    M = sparse.csr_array(A.T @ A)
    values = np.linalg.eigvalsh(M.toarray())[1:4]
    for solver in ("dense", "arpack"):
        found, V = smallest_eigenpairs(M, 3, solver, rng=np.random.default_rng(0))
        np.testing.assert_allclose(found, values, atol=1e-11)
        np.testing.assert_allclose(V.sum(axis=0), 0.0, atol=1e-7)


def test_a_graph_in_pieces_is_told_or_refused():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(15, 2)), rng.normal(size=(15, 2)) + 40])
    with pytest.warns(UserWarning, match="in 2 pieces: the first 1 coordinates tell these apart"):
        Z = LocallyLinearEmbedding(n_neighbors=4, n_components=1).fit_transform(X)
    assert np.ptp(Z[:15]) < 1e-5
    assert np.ptp(Z[15:]) < 1e-5
    with pytest.raises(ValueError, match="in 2 pieces, and disconnected='error'"):
        LocallyLinearEmbedding(n_neighbors=4, disconnected="error").fit(X)


def test_counts_that_do_not_fit(roll):
    with pytest.raises(ValueError, match="Expected n_neighbors < n_samples, but n_samples = 300"):
        LocallyLinearEmbedding(n_neighbors=300).fit(roll)
    with pytest.raises(ValueError, match="output dimension must be less than or equal to input dimension"):
        LocallyLinearEmbedding(n_components=4).fit(roll)
    with pytest.raises(ValueError, match="n_neighbors must be greater than"):
        LocallyLinearEmbedding(method="hessian", n_neighbors=5).fit(roll)
    with pytest.raises(ValueError, match="modified LLE requires n_neighbors >= n_components"):
        LocallyLinearEmbedding(method="modified", n_neighbors=1).fit(roll)


@pytest.mark.parametrize("method", METHODS)
def test_rows_at_one_place_and_constant_columns(method):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat(rng.normal(size=(20, 2)), 2, axis=0), np.full(40, 3.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LocallyLinearEmbedding(n_neighbors=8, method=method).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(X)).all()


def test_threads_do_not_change_the_bits(roll):
    for method in METHODS:
        one, two = (
            LocallyLinearEmbedding(n_neighbors=10, method=method, random_state=0, n_jobs=jobs).fit(roll)
            for jobs in (1, 3)
        )
        assert np.array_equal(one.embedding_, two.embedding_)

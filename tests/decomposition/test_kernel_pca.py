"""Kernel principal components."""

import numpy as np
import pytest
import sklearn.decomposition as peer
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from tercet.core.symmetric_eigen import largest_eigenpairs, signed_vectors
from tercet.decomposition import PCA, KernelPCA
from tercet.kernels import Gaussian, Polynomial, center


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(260, 5))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "cosine"])
@pytest.mark.parametrize("solver", ["auto", "dense", "arpack", "randomized", "lanczos"])
def test_like_the_peer(points, kernel, solver):
    options = {"kernel": kernel, "gamma": 0.1, "random_state": 0, "n_components": 4}
    ours = KernelPCA(eigen_solver=solver, iterated_power=12, **options).fit(points)
    theirs = peer.KernelPCA(eigen_solver="dense", **options).fit(points)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-6)
    close = {"atol": 1e-3 if solver == "randomized" else 1e-7}
    np.testing.assert_allclose(np.abs(ours.eigenvectors_), np.abs(theirs.eigenvectors_), **close)
    new = points[:9] + 0.1
    close["atol"] *= 30
    np.testing.assert_allclose(np.abs(ours.transform(new)), np.abs(theirs.transform(new)), **close)


def test_of_all_components_those_that_are_not_zero(points):
    ours, theirs = (kind(kernel="linear").fit(points) for kind in (KernelPCA, peer.KernelPCA))
    assert ours.eigenvalues_.shape == theirs.eigenvalues_.shape == (5,)
    few = KernelPCA(8, kernel="linear").fit(points)
    assert few.eigenvalues_[5:].tolist() == [0.0] * 3
    assert not few.transform(points)[:, 5:].any()
    assert KernelPCA(8, kernel="linear", remove_zero_eig=True).fit(points).eigenvalues_.size == 5


def test_the_linear_kernel_is_pca(points):
    scores = PCA(3).fit_transform(points)
    np.testing.assert_allclose(np.abs(KernelPCA(3).fit_transform(points)), np.abs(scores), atol=1e-9)


def test_eigenvectors_of_the_centred_gram_matrix(points):
    kernel = Gaussian(gamma=0.1) + 0.1 * Polynomial(2, gamma=0.1, coef0=1.0)
    model = KernelPCA(3, kernel=kernel).fit(points)
    K = center(kernel(points))
    V, values = model.eigenvectors_, model.eigenvalues_
    np.testing.assert_allclose(K @ V, V * values, atol=1e-9)
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(model.transform(points), V * np.sqrt(values), atol=1e-9)


def test_without_centring(points):
    model = KernelPCA(3, kernel="rbf", gamma=0.1, center=False).fit(points)
    values = np.linalg.eigvalsh(rbf_kernel(points, gamma=0.1))[::-1]
    np.testing.assert_allclose(model.eigenvalues_, values[:3])
    np.testing.assert_allclose(model.transform(points), model.fit_transform(points), atol=1e-9)


def test_a_gram_matrix_that_is_given(points):
    K = rbf_kernel(points, gamma=0.1)
    given = KernelPCA(3, kernel="precomputed").fit(K)
    named = KernelPCA(3, kernel="rbf", gamma=0.1).fit(points)
    np.testing.assert_allclose(given.eigenvectors_, named.eigenvectors_, atol=1e-9)
    new = points[:7] + 0.2
    np.testing.assert_allclose(
        given.transform(rbf_kernel(new, points, gamma=0.1)), named.transform(new), atol=1e-9
    )


def test_sparse_rows(points):
    X = np.where(points > 0.3, points, 0.0)
    dense, rows = (KernelPCA(3, kernel="rbf").fit(given) for given in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(rows.eigenvectors_, dense.eigenvectors_, atol=1e-9)
    np.testing.assert_allclose(rows.transform(sparse.csr_array(X)), dense.transform(X), atol=1e-9)
    with pytest.raises(NotImplementedError, match="sparse"):
        KernelPCA(3, fit_inverse_transform=True).fit(sparse.csr_array(X))


def test_pre_images_like_the_peer(points):
    options = {"kernel": "rbf", "gamma": 0.1, "fit_inverse_transform": True, "alpha": 0.1}
    ours, theirs = (kind(4, **options).fit(points) for kind in (KernelPCA, peer.KernelPCA))
    Z = ours.transform(points[:20])
    np.testing.assert_allclose(
        ours.inverse_transform(Z), theirs.inverse_transform(theirs.transform(points[:20])), atol=1e-6
    )
    many = KernelPCA(60, kernel="rbf", gamma=0.1, fit_inverse_transform=True, alpha=1e-6).fit(points)
    back = many.inverse_transform(many.transform(points))
    assert np.abs(back - points).mean() < 0.05, "most of a row is in its leading components"
    with pytest.raises(NotFittedError, match="fit_inverse_transform"):
        KernelPCA(4).fit(points).inverse_transform(Z)
    with pytest.raises(ValueError, match="X has 3 columns; expected are the 4 components"):
        ours.inverse_transform(Z[:, :3])


def test_a_kernel_that_is_a_function(points):
    def dot(x, z, scale=1.0):
        return scale * float(np.dot(x, z))

    model = KernelPCA(2, kernel=dot, kernel_params={"scale": 4.0}).fit(points[:40])
    np.testing.assert_allclose(model.eigenvalues_, 4 * KernelPCA(2).fit(points[:40]).eigenvalues_)


def test_what_is_no_gram_matrix(points):
    K = rbf_kernel(points)
    with pytest.raises(ValueError, match="Precomputed matrix must be a square matrix"):
        KernelPCA(kernel="precomputed").fit(K[:, :-1])
    with pytest.raises(ValueError, match="a Gram matrix is symmetric"):
        KernelPCA(kernel="precomputed").fit(np.triu(K))
    with pytest.raises(ValueError, match="negative eigenvalues"):
        KernelPCA(kernel="precomputed").fit(-K)
    with pytest.raises(ValueError, match="Cannot fit_inverse_transform with a precomputed kernel"):
        KernelPCA(kernel="precomputed", fit_inverse_transform=True).fit(K)


def test_rows_at_one_place_and_constant_columns(points):
    assert KernelPCA(kernel="rbf").fit(np.ones((9, 2))).eigenvalues_.size == 0
    wide = np.column_stack([points, np.full(len(points), 3.0)])
    one, other = (KernelPCA(2, kernel="rbf", gamma=0.1).fit(X) for X in (points, wide))
    np.testing.assert_allclose(other.eigenvalues_, one.eigenvalues_)


# --- eigenpairs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["dense", "arpack", "lanczos", "randomized"])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_largest_eigenpairs(solver, scale):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(300, 300)))[0]
    values = np.concatenate([[9.0, 7.0, 7.0, 4.0], rng.uniform(-1, 1, 296)])
    A = (Q * values) @ Q.T
    found, V = largest_eigenpairs(scale * (A + A.T) / 2, 4, solver, rng=rng, iterated_power=20)
    np.testing.assert_allclose(found, scale * values[:4], rtol=1e-8)
    np.testing.assert_allclose(A @ V, V * values[:4], atol=1e-5)
    assert (V[np.abs(V).argmax(axis=0), range(4)] > 0).all()


def test_a_krylov_space_that_is_exhausted():
    """A matrix of low rank: what is left of a block is rounding, and must not be taken for a direction."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    found, V = largest_eigenpairs(X @ X.T, 5, "lanczos", rng=np.random.default_rng(0))
    np.testing.assert_allclose(found[:3], np.linalg.svd(X, compute_uv=False) ** 2)
    np.testing.assert_allclose(found[3:], 0.0, atol=1e-10)
    np.testing.assert_allclose(V.T @ V, np.eye(5), atol=1e-10)


def test_signs_are_not_decided_by_rounding():
    v = np.array([[-0.5], [0.5 + 1e-12], [0.0]])
    np.testing.assert_array_equal(np.sign(signed_vectors(v)[:, 0]), [1, -1, 0])

"""Kernels of vectors: the texts' forms, and agreement with scikit-learn's."""

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

from tercet.kernels import (
    Gaussian,
    GaussianSeries,
    Homogeneous,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    as_kernel,
    is_psd,
)
from tercet.kernels._engine.prepared_rows import power_in_place

PEERS = [
    (Linear(), pairwise.linear_kernel),
    (Polynomial(3, 0.5, 1.0), lambda X, Z: pairwise.polynomial_kernel(X, Z, 3, 0.5, 1.0)),
    (Polynomial(2.5, 0.01, 3.0), lambda X, Z: pairwise.polynomial_kernel(X, Z, 2.5, 0.01, 3.0)),
    (Homogeneous(5), lambda X, Z: pairwise.polynomial_kernel(X, Z, 5, 1.0, 0.0)),
    (Gaussian(gamma=0.3), lambda X, Z: pairwise.rbf_kernel(X, Z, 0.3)),
    (Gaussian(sigma=2.0), lambda X, Z: pairwise.rbf_kernel(X, Z, 1 / 8)),
    (Gaussian(width=2.0), lambda X, Z: pairwise.rbf_kernel(X, Z, 1 / 4)),
    (Laplacian(gamma=0.3, norm="l1"), lambda X, Z: pairwise.laplacian_kernel(X, Z, 0.3)),
    (Laplacian(sigma=3.0), lambda X, Z: np.exp(-cdist(X, Z) / 3)),
    (Sigmoid(0.1, -0.2), lambda X, Z: pairwise.sigmoid_kernel(X, Z, 0.1, -0.2)),
]
peers = pytest.mark.parametrize(("kernel", "peer"), PEERS, ids=[repr(kernel) for kernel, _ in PEERS])


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 6)).round(2)
    X[rng.random(X.shape) < 0.5] = 0
    return X, X[:40] + rng.normal(size=(40, 6)).round(1) * (rng.random((40, 6)) < 0.4)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Many blocks even of few rows."""
    monkeypatch.setattr("tercet.kernels._engine.prepared_rows.BLOCK", 256)


@peers
def test_dense_and_sparse_agree_with_scikit_learn(kernel, peer, rows):
    X, Z = rows
    wanted = peer(X, Z)
    for A in (X, sparse.csr_array(X), np.asfortranarray(X)):
        for B in (Z, sparse.csr_matrix(Z)):
            np.testing.assert_allclose(kernel(A, B), wanted, rtol=1e-10, atol=1e-13)


@peers
def test_float32_stays_float32(kernel, peer, rows):
    X, Z = (rows_.astype(np.float32) for rows_ in rows)
    for A, B in [(X, Z), (sparse.csr_array(X), sparse.csr_array(Z))]:
        got = kernel(A, B)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, peer(X.astype(float), Z.astype(float)), rtol=2e-5, atol=2e-5)


@peers
def test_gram_matrix_is_symmetric_to_the_bit_and_has_the_diagonal(kernel, peer, rows):
    for X in (rows[0], rows[0].astype(np.float32), sparse.csr_array(rows[0])):
        gram = kernel(X)
        np.testing.assert_array_equal(gram, gram.T)
        np.testing.assert_array_equal(np.diag(gram), kernel.diag(X))
        np.testing.assert_allclose(gram, kernel(X, X.copy()), rtol=1e-5, atol=1e-6)


@peers
def test_sums_around_points_are_gram_matrix_times_coefficients(kernel, peer, rows):
    X, Z = rows
    rng = np.random.default_rng(1)
    for coef in (rng.normal(size=40), rng.normal(size=(40, 3))):
        wanted = peer(X, Z) @ coef
        for A, B in [(X, Z), (sparse.csr_array(X), Z), (X, sparse.csr_array(Z)), map(sparse.csr_array, rows)]:
            np.testing.assert_allclose(kernel.times(A, B, coef), wanted, rtol=1e-9, atol=1e-11)


@peers
def test_same_bits_for_any_number_of_threads(kernel, peer, rows):
    X, Z = rows
    coef = np.random.default_rng(2).normal(size=40)
    for A, B in [(X, Z), (sparse.csr_array(X), sparse.csr_array(Z))]:
        np.testing.assert_array_equal(kernel(A, B), kernel(A, B, n_jobs=3))
        np.testing.assert_array_equal(kernel.times(A, B, coef), kernel.times(A, B, coef, n_jobs=3))
    np.testing.assert_array_equal(kernel(X), kernel(X, n_jobs=3))


def test_no_points_give_sums_of_nothing(rows):
    for kernel, _ in PEERS:
        np.testing.assert_array_equal(kernel.times(rows[0], rows[0][:0], np.zeros(0)), np.zeros(70))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "kernel", [Gaussian(gamma=1.0), Laplacian(gamma=1.0), Laplacian(gamma=1.0, norm="l1")]
)
def test_what_rows_have_in_common_costs_no_digits(kernel, dtype):
    rng = np.random.default_rng(3)
    near = (rng.integers(0, 64, size=(30, 3)) / 32).astype(dtype)
    wanted = kernel(near.astype(np.float64))
    got = kernel(near + dtype(4096))
    assert got.max() <= 1
    np.testing.assert_allclose(got, wanted, rtol=1e-9 if dtype == np.float64 else 2e-5, atol=1e-6)


def test_float32_rows_far_apart_are_done_in_float64():
    rng = np.random.default_rng(4)
    X = (1000 * rng.normal(size=(20, 3))).astype(np.float32)
    Z = X + rng.normal(size=X.shape).astype(np.float32)
    wanted = np.exp(-0.5 * pairwise.paired_euclidean_distances(X.astype(float), Z.astype(float)) ** 2)
    got = np.diag(Gaussian(sigma=1.0)(X, Z))
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_rows_infinitely_far_are_not_alike():
    X = np.array([[1e200, 0.0], [-1e200, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(Gaussian(gamma=1.0)(X), np.eye(3))


@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_from_data_is_scikit_learns(gamma, rows):
    from sklearn.svm import SVC

    X = rows[0]
    for A in (X, sparse.csr_array(X)):
        peer = SVC(gamma=gamma).fit(A, np.arange(len(X)) % 2)._gamma
        for kernel in (
            Gaussian(gamma=gamma),
            Polynomial(gamma=gamma),
            Sigmoid(gamma=gamma),
            Laplacian(gamma=gamma),
        ):
            assert kernel.resolve(A).gamma == pytest.approx(peer, rel=1e-12)
    assert Gaussian().resolve(np.ones((3, 2))).gamma == 1.0


def test_weighted_scale_is_that_of_repeated_rows(rows):
    X = rows[0]
    weight = np.arange(len(X)) % 3
    wanted = Gaussian(gamma="scale").resolve(np.repeat(X, weight, axis=0)).gamma
    for A in (X, sparse.csr_array(X)):
        assert Gaussian(gamma="scale").resolve(A, weight).gamma == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid"])
def test_names_are_scikit_learns(name, rows):
    X, Z = rows
    wanted = pairwise.pairwise_kernels(X, Z, name, filter_params=True, gamma=0.2, degree=2, coef0=0.3)
    np.testing.assert_allclose(as_kernel(name, gamma=0.2, degree=2, coef0=0.3)(X, Z), wanted, rtol=1e-10)


def test_names_laplacian_and_auto(rows):
    X, Z = rows
    np.testing.assert_allclose(
        as_kernel("laplacian", gamma=None, X=X)(X, Z), pairwise.laplacian_kernel(X, Z), rtol=1e-10
    )


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 5, 6, 7, 12])
def test_powers_by_squaring(exponent):
    values = np.array([-3.0, -1.0, 0.0, 2.0])
    np.testing.assert_array_equal(power_in_place(values.copy(), exponent), values**exponent)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Gaussian(sigma=1.0, gamma=2.0), "one of sigma, gamma and width"),
        (Gaussian(sigma=0.0), "'sigma' must be"),
        (Gaussian(gamma=-1.0), "'gamma' must be"),
        (Gaussian(gamma="wide"), "'gamma' must be"),
        (Laplacian(sigma=1.0, gamma=1.0), "sigma or gamma"),
        (Laplacian(norm="l3"), "'norm' must be"),
        (Polynomial(degree=-1), "'degree' must be"),
        (Homogeneous(degree=0), "'degree' must be"),
        (GaussianSeries(terms=0), "'terms' must be"),
    ],
)
def test_wrong_parameters_are_named(kernel, words):
    with pytest.raises(ValueError, match=words):
        kernel([[1.0, 2.0]])


def test_wrong_rows_are_named(rows):
    with pytest.raises(ValueError, match="X has 6 columns and Z 2"):
        Linear()(rows[0], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="NaN"):
        Gaussian(sigma=1.0)([[np.nan]])
    with pytest.raises(ValueError, match="negative number"):
        Polynomial(degree=1.5, coef0=0.0)([[1.0]], [[-1.0]])
    with pytest.raises(ValueError, match="'cosine'"):
        as_kernel("cosine")
    for A in (rows[0], sparse.csr_array(rows[0])):
        for kernel in (Linear(), Gaussian(gamma=1.0), Laplacian(gamma=1.0, norm="l1")):
            with pytest.raises(ValueError, match=r"columns|broadcast"):  # points of a forged file
                kernel.times(A, A[:, :2], np.ones(70))


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Homogeneous(3),
        Homogeneous(3, map="ordered"),
        Polynomial(3, 0.5, 2.0),
        Polynomial(2, 0.5, 0.0),
        Polynomial(0),
        Polynomial(2, "scale", 1.0),
        GaussianSeries(terms=4, gamma=0.1),
    ],
    ids=repr,
)
def test_mapped_points_have_the_kernel_as_inner_product(kernel, rows):
    X = rows[0]
    for A in (X, sparse.csr_array(X)):
        phi = kernel.features(A)
        phi = phi.toarray() if sparse.issparse(phi) else phi
        np.testing.assert_allclose(phi @ phi.T, kernel(X), rtol=1e-9, atol=1e-12)


def test_turned_map_is_for_two_columns():
    kernel = Homogeneous(2, map="turned")
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    phi = kernel.features(X)
    np.testing.assert_allclose(phi @ phi.T, kernel(X))
    with pytest.raises(ValueError, match="two columns"):
        kernel.features([[1.0, 2.0, 3.0]])


def test_map_has_the_dimension_of_the_texts():
    assert Homogeneous(4).features(np.ones((1, 6))).shape[1] == math.comb(6 + 4 - 1, 4)


@pytest.mark.parametrize(
    "kernel", [Gaussian(), Laplacian(), Sigmoid(), Polynomial(1.5), Polynomial(2, coef0=-1.0)]
)
def test_kernels_without_a_finite_map_say_so(kernel):
    with pytest.raises(ValueError, match="no explicit feature map"):
        kernel.features([[1.0, 2.0]])


def test_map_too_large_is_refused():
    with pytest.raises(ValueError, match="2802350040 dimensions"):
        Homogeneous(5).features(np.ones((1, 200)))


def test_series_converges_to_the_gaussian_kernel(rows):
    X = 0.5 * rows[0]
    wanted = Gaussian(gamma=0.7)(X)
    errors = [np.abs(GaussianSeries(terms=n, gamma=0.7)(X) - wanted).max() for n in (2, 5, 10, 20, 40)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-12


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(), Homogeneous(3), Gaussian(sigma=1.0), Laplacian(sigma=1.0), GaussianSeries(6)],
)
def test_gram_matrices_are_positive_semidefinite(kernel, rows):
    assert is_psd(kernel, rows[0]).psd


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e-160, 1e160, 1e200])
def test_any_width_is_one(size, dtype):
    X = np.array([[1, 2], [3, -1]], dtype=dtype)
    wide, narrow = (np.ones((2, 2)), np.eye(2)) if size > 1 else (np.eye(2), np.ones((2, 2)))
    for kernel in (Gaussian(sigma=size), Gaussian(width=size), Laplacian(sigma=size)):
        np.testing.assert_array_equal(kernel(X), wide)
        np.testing.assert_array_equal(kernel(sparse.csr_array(X)), wide)
    for kernel in (Gaussian(gamma=size), Laplacian(gamma=size), Laplacian(gamma=size, norm="l1")):
        np.testing.assert_array_equal(kernel(X), narrow)


@pytest.mark.filterwarnings("error")
def test_rows_too_long_are_refused():
    X = np.array([[1e200, 2.0], [3.0, 1e200]])
    for rows_ in (X, sparse.csr_array(X)):
        for kernel in (Linear(), Polynomial(2), Homogeneous(2), Sigmoid()):
            with pytest.raises(ValueError, match="too large a number: scale the features"):
                kernel(rows_)
        for kernel in (Gaussian(), Polynomial(gamma="scale"), Sigmoid("scale")):
            with pytest.raises(ValueError, match=r"gamma='scale' .* give gamma as a number"):
                kernel(rows_)
    with pytest.raises(ValueError, match="lower the kernel's gamma or degree"):
        Polynomial(50)([[1e10, 1.0]])
    np.testing.assert_array_equal(GaussianSeries(5)(X), np.zeros((2, 2)))


@pytest.mark.parametrize(
    "kernel", [Polynomial(2), Polynomial(2, 0.5, 0.3), Homogeneous(2), GaussianSeries(3)]
)
def test_maps_of_float32_are_float32(kernel, rows):
    assert kernel.features(rows[0].astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(5,), (5, 2)])
def test_few_pairs_give_the_same_expansion(dtype, shape, monkeypatch):
    rng = np.random.default_rng(0)
    X, Z, coef = (rng.normal(size=s).astype(dtype) for s in ((3, 4), (5, 4), shape))
    few = Gaussian(gamma=0.5).times(X, Z, coef)
    monkeypatch.setattr("tercet.kernels.gaussian.FEW", 0)
    blocks = Gaussian(gamma=0.5).times(X, Z, coef)
    assert few.dtype == blocks.dtype == dtype
    np.testing.assert_allclose(few, blocks, rtol=1e-12 if dtype == np.float64 else 1e-5)
    assert few.shape == (3, *shape[1:])


@pytest.mark.parametrize("shape", [(5,), (5, 2)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_few_sparse_pairs_give_the_same_expansion(dtype, shape):
    rng = np.random.default_rng(0)
    X, Z = (rng.normal(size=(n, 9)) * (rng.uniform(size=(n, 9)) < 0.5) for n in (3, 5))
    X[1], Z[2] = 0.0, 0.0
    X, Z, coef = (part.astype(dtype) for part in (X, Z, rng.normal(size=shape)))
    found = Gaussian(gamma=0.5).times(sparse.csr_matrix(X), sparse.csr_array(Z), coef)
    expected = pairwise.rbf_kernel(X, Z, gamma=0.5) @ coef
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-12 if dtype == np.float64 else 1e-5)


def test_few_sparse_pairs_do_not_cancel():
    far = sparse.csr_array([[3e5 + 0.1, 0.0, 7e5 + 0.3]])
    assert Gaussian(gamma=1.0).times(far, far.copy(), np.ones(1)) == 1.0
    near = far.copy()
    near.data[0] += 0.5
    difference = float(near.data[0] - far.data[0])
    assert Gaussian(gamma=1.0).times(far, near, np.ones(1)) == pytest.approx(
        math.exp(-(difference**2)), rel=1e-14
    )

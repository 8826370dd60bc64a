"""Kernels made of kernels, and the grammar that they share with estimators."""

import pickle

import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from tercet.kernels import (
    DNA,
    Conformal,
    Edit,
    FromFunction,
    Gaussian,
    GaussianSeries,
    Homogeneous,
    Laplacian,
    Linear,
    Polynomial,
    Power,
    Precomputed,
    Product,
    Scaled,
    Sigmoid,
    Subsequence,
    Sum,
    as_kernel,
    is_psd,
)

ALL = [
    Linear(),
    Polynomial(2, "scale", 0.5),
    Homogeneous(3),
    Gaussian(sigma=2.0),
    GaussianSeries(5, 0.3),
    Laplacian(gamma=0.5, norm="l1"),
    Sigmoid(0.1),
    Precomputed(),
    Subsequence(3, 0.7, normalize=True),
    Edit(0.5),
    DNA(),
    Linear() + Gaussian(width=1.0),
    2.0 * Linear() * Gaussian(width=1.0),
    (Linear() + 1.0 * Polynomial()) ** 2,
]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 3)), rng.normal(size=(20, 3))


def total(X):
    return np.asarray(X.sum(axis=1)).reshape(-1)


def test_sums_products_powers_and_scalings(rows):
    X, Z = rows
    one, two = Linear(), Gaussian(sigma=2.0)
    a, b = one(X, Z), two(X, Z)
    for A, B in [(X, Z), (sparse.csr_array(X), sparse.csr_array(Z))]:
        np.testing.assert_allclose((one + two)(A, B), a + b)
        np.testing.assert_allclose((one * two)(A, B), a * b)
        np.testing.assert_allclose((2.5 * one + two * 3)(A, B), 2.5 * a + 3 * b)
        np.testing.assert_allclose(((one + two) ** 3)(A, B), (a + b) ** 3)
        np.testing.assert_allclose(Conformal(two, total)(A, B), np.outer(total(X), total(Z)) * b)
        np.testing.assert_allclose((one * two).times(A, B, np.ones(20)), (a * b).sum(axis=1))
    for kernel in (one + two, one * two, 0.5 * two, one**2, Conformal(two, total)):
        np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)))
        np.testing.assert_array_equal(kernel(X), kernel(X).T)
        assert is_psd(kernel, X).psd


def test_float32_stays_float32(rows):
    X = rows[0].astype(np.float32)
    for kernel in (
        Linear() + Gaussian(sigma=1.0),
        0.5 * Linear() * Linear(),
        Conformal(Linear(), total),
        Linear() ** 3,
    ):
        assert kernel(X).dtype == np.float32


@pytest.mark.parametrize(
    "kernel",
    [
        Linear() + Homogeneous(2),
        Linear() * Polynomial(2),
        Linear() ** 3,
        0.3 * Linear(),
        Conformal(Linear(), total),
        Conformal(Linear() + Linear(), total) * Linear(),
    ],
    ids=lambda kernel: repr(kernel).partition(" at 0x")[0],
)
def test_maps_of_compounds(kernel, rows):
    X = rows[0]
    for A in (X, sparse.csr_array(X)):
        phi = kernel.features(A)
        np.testing.assert_allclose(
            (phi @ phi.T).toarray() if sparse.issparse(phi) else phi @ phi.T, kernel(X)
        )


def test_maps_too_large_or_infinite_are_refused():
    with pytest.raises(ValueError, match="Gaussian has no explicit feature map"):
        (Linear() + Gaussian()).features([[1.0]])
    with pytest.raises(ValueError, match="dimensions is too large"):
        (Linear() ** 4).features(np.ones((1, 200)))


def test_operators_give_the_named_compounds():
    one, two = Linear(), Gaussian(sigma=1.0)
    assert one + two == Sum(one, two)
    assert one * two == Product(one, two)
    assert one**2 == Power(one, 2)
    assert 2 * one == one * 2 == Scaled(one, 2.0)
    for wrong in (lambda: one + 1, lambda: one**0.5, lambda: one * "2", lambda: True * one):
        with pytest.raises(TypeError):
            wrong()


def test_wrong_parts_are_named(rows):
    with pytest.raises(ValueError, match=r"\['strings', 'vectors'\]"):
        (Linear() + Edit())(rows[0])
    with pytest.raises(ValueError, match="'factor' must be"):
        (-1.0 * Linear())(rows[0])
    with pytest.raises(ValueError, match="'exponent' must be"):
        (Linear() ** 0)(rows[0])
    with pytest.raises(ValueError, match="'second' must be"):
        Sum(Linear(), "rbf")(rows[0])
    with pytest.raises(ValueError, match="finite number for each of 30 rows"):
        Conformal(Linear(), lambda X: X[:2, 0])(rows[0])


@pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: repr(kernel).partition(" at 0x")[0])
def test_copies_are_equal(kernel):
    assert clone(kernel) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    blob = skops.io.dumps(kernel)
    assert skops.io.loads(blob, trusted=skops.io.get_untrusted_types(data=blob)) == kernel
    assert hash(clone(kernel)) == hash(kernel)
    assert type(kernel).__name__ in repr(kernel)


def test_kernels_with_other_parameters_are_not_equal():
    assert Gaussian(sigma=1.0) != Gaussian(sigma=2.0)
    assert Gaussian(sigma=1.0) != Laplacian(sigma=1.0)
    assert Linear() + Gaussian() != Linear() + Gaussian(sigma=1.0)
    assert Precomputed(np.eye(2)) == Precomputed(np.eye(2))
    assert Precomputed(np.eye(2)) != Precomputed(np.ones((2, 2)))
    assert Precomputed(np.eye(2)) != Precomputed()
    assert Gaussian() != "rbf"


def test_parameters_are_reached_as_an_estimators_are():
    kernel = 2.0 * (Linear() + Gaussian(sigma=1.0))
    assert kernel.get_params()["kernel__second__sigma"] == 1.0
    kernel.set_params(kernel__second__sigma=3.0, factor=0.5)
    assert kernel == 0.5 * (Linear() + Gaussian(sigma=3.0))


def test_a_search_reaches_a_kernels_parameters():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 2))
    y = np.hypot(*X.T) > 1.2
    search = GridSearchCV(SVC(kernel=Linear() + Gaussian()), {"kernel__second__sigma": [1e-3, 1.0]}, cv=3)
    assert search.fit(X, y).best_params_ == {"kernel__second__sigma": 1.0}


def test_resolved_compounds_hold_numbers_only(rows):
    kernel = (Gaussian() + Polynomial(2, "auto")).resolve(rows[0])
    assert isinstance(kernel.first.gamma, float)
    assert kernel.second.gamma == pytest.approx(1 / 3)


def test_functions_of_matrices_and_of_rows(rows):
    X, Z = rows
    wanted = X @ Z.T
    for kernel in (
        as_kernel(lambda A, B: A @ B.T),
        FromFunction(lambda x, z: x @ z, of="rows"),
        FromFunction(lambda A, B: A @ B.T) * FromFunction(lambda A, B: np.ones((len(A), len(B)))),
    ):
        np.testing.assert_allclose(kernel(X, Z), wanted)
        np.testing.assert_allclose(kernel.times(X, Z, np.ones(20)), wanted.sum(axis=1))
        np.testing.assert_allclose(kernel.diag(X), (X**2).sum(axis=1))
    with pytest.raises(ValueError, match="no explicit feature map"):
        FromFunction(np.dot).features(X)


@pytest.mark.parametrize(
    "function",
    [lambda A, B: A @ B.T[:, :2], lambda A, B: np.full((len(A), len(B)), np.nan), lambda A, B: "no"],
)
def test_functions_that_give_no_gram_matrix(function, rows):
    with pytest.raises(ValueError, match="must give finite numbers of shape"):
        FromFunction(function)(*rows)


def test_a_functions_own_array_is_left_alone(rows):
    mine = np.ones((30, 30))
    (FromFunction(lambda A, B: mine[: len(A), : len(B)]) + Linear())(rows[0])
    np.testing.assert_array_equal(mine, 1)


def test_given_gram_matrix(rows):
    X, Z = rows
    gram, cross = Gaussian()(X), Gaussian()(Z, X)
    coef = np.random.default_rng(1).normal(size=(4, 2))
    some = np.array([1, 5, 5, 29])
    outside = Precomputed()
    np.testing.assert_array_equal(outside(cross), cross)
    np.testing.assert_array_equal(outside(cross, some), cross[:, some])
    np.testing.assert_allclose(outside.times(cross, some, coef), cross[:, some] @ coef)
    np.testing.assert_array_equal(outside.diag(gram), np.ones(30))
    np.testing.assert_allclose((2.0 * outside)(cross), 2 * cross)
    np.testing.assert_allclose((2.0 * outside).times(cross, some, coef), 2 * cross[:, some] @ coef)
    inside = Precomputed(gram)
    np.testing.assert_array_equal(inside([0, 3], some), gram[[0, 3]][:, some])
    np.testing.assert_array_equal(inside(some), gram[some][:, some])
    np.testing.assert_allclose(inside.times(np.array([0, 3]), some, coef), gram[[0, 3]][:, some] @ coef)
    np.testing.assert_array_equal(inside.diag([0, 3]), [1, 1])
    left, right = inside.prepare(np.arange(30), np.arange(30))
    np.testing.assert_array_equal(inside.tile(left[some], right[3:7]), gram[some, 3:7])


def test_wrong_gram_matrices_are_named(rows):
    with pytest.raises(ValueError, match="shape \\(30, 3\\)"):
        Precomputed().diag(rows[0])
    with pytest.raises(ValueError, match="whole and not negative"):
        Precomputed(np.eye(3))([0, -1])
    with pytest.raises(ValueError, match="rows are numbers"):
        Precomputed(np.eye(3))(np.eye(3))
    with pytest.raises(ValueError, match="does not say what the points are"):
        Precomputed().features(np.eye(3))
    with pytest.raises(ValueError, match="rows 0 to 2; got number 5"):
        Precomputed(np.eye(3))([0, 5])
    with pytest.raises(ValueError, match=r"square table of numbers; got float64 of \(2, 3\)"):
        Precomputed(np.ones((2, 3)))([0, 1])
    with pytest.raises(ValueError, match="NaN or infinity"):
        Precomputed(np.full((2, 2), np.nan))([0, 1])


def test_a_given_matrix_may_be_a_list():
    kernel = Precomputed([[2.0, 1.0], [1.0, 3.0]])
    np.testing.assert_array_equal(kernel.diag([1, 0]), [3, 2])
    np.testing.assert_array_equal((2.0 * kernel)([0, 1]), [[4, 2], [2, 6]])

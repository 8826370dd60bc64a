"""Compressed sensing: measurement matrices, restricted isometry, recovery by every method, bad input."""

import itertools

import numpy as np
import pytest

from tercet.decomposition import (
    CompressedSensing,
    basis_pursuit,
    basis_pursuit_denoising,
    estimate_restricted_isometry,
    iterative_hard_thresholding,
    l0_minimization,
    measurement_matrix,
    mutual_coherence,
    restricted_isometry_constant,
    sparse_encode,
)
from tercet.linear_model import orthogonal_mp

HALF = np.sqrt(0.5)


@pytest.fixture(scope="module")
def system():
    """Twenty measurements of forty numbers, three of which are not zero."""
    A = measurement_matrix(20, 40, random_state=0)
    s = np.zeros(40)
    s[[4, 17, 33]] = [1.5, -2.0, 1.0]
    return A, s


@pytest.mark.parametrize("kind", ["gaussian", "bernoulli", "dct", "fourier"])
def test_measurement_matrices(kind):
    Phi = measurement_matrix(200, 400, kind, random_state=0)
    assert Phi.shape == (200, 400)
    assert (Phi**2).sum(axis=0).mean() == pytest.approx(1.0, abs=0.05)
    np.testing.assert_array_equal(Phi, measurement_matrix(200, 400, kind, random_state=0))
    if kind in ("dct", "fourier"):
        np.testing.assert_allclose(Phi @ Phi.T, 2 * np.eye(200), atol=1e-10)


def test_isometry_constant_is_the_worst_of_all_sparse_vectors():
    A = measurement_matrix(6, 8, random_state=1)
    delta = restricted_isometry_constant(A, 3)
    worst = 0.0
    for columns in itertools.combinations(range(8), 3):
        values = np.linalg.svd(A[:, columns], compute_uv=False) ** 2
        worst = max(worst, values[0] - 1, 1 - values[-1])
    assert delta == pytest.approx(worst, rel=1e-10)
    rng = np.random.default_rng(0)
    for _ in range(200):
        s = np.zeros(8)
        s[rng.choice(8, 3, replace=False)] = rng.normal(size=3)
        stretch = ((A @ s) ** 2).sum() / (s**2).sum()
        assert 1 - delta - 1e-9 <= stretch <= 1 + delta + 1e-9


def test_isometry_constants_grow_and_estimates_are_lower_bounds():
    A = measurement_matrix(8, 12, random_state=2)
    exact = [restricted_isometry_constant(A, k) for k in (1, 2, 3, 4)]
    assert exact == sorted(exact)
    for k, delta in zip((1, 2, 3, 4), exact):
        bound = estimate_restricted_isometry(A, k, n_subsets=20, random_state=0)
        assert 0 < bound <= delta + 1e-12
        assert bound >= estimate_restricted_isometry(A, k, n_subsets=20, n_exchanges=0, random_state=0)
    assert estimate_restricted_isometry(A, 2, n_subsets=200, random_state=0) == pytest.approx(exact[1])


def test_coherence_bounds_the_isometry_constant():
    A = measurement_matrix(10, 15, random_state=3)
    A /= np.linalg.norm(A, axis=0)
    mu = mutual_coherence(A)
    for k in (2, 3):
        assert restricted_isometry_constant(A, k) <= (k - 1) * mu + 1e-12


@pytest.mark.parametrize("algorithm", ["linprog", "admm", "irls"])
def test_basis_pursuit_recovers(system, algorithm):
    A, s = system
    np.testing.assert_allclose(basis_pursuit(A, A @ s, algorithm=algorithm), s, atol=1e-5)


def test_greedy_methods_recover(system):
    A, s = system
    y = A @ s
    np.testing.assert_allclose(orthogonal_mp(A, y, n_nonzero_coefs=3), s, atol=1e-10)
    np.testing.assert_allclose(iterative_hard_thresholding(A, y, 3), s, atol=1e-6)
    np.testing.assert_allclose(iterative_hard_thresholding(100 * A, 100 * y, 3), s, atol=1e-6)


def test_hard_thresholding_with_a_fixed_step_lowers_the_error(system):
    A, s = system
    y = A @ s
    with pytest.warns(UserWarning, match="did not converge in 5 iterations"):
        early = iterative_hard_thresholding(A, y, 3, normalized=False, max_iter=5)
    late = iterative_hard_thresholding(A, y, 3, normalized=False, max_iter=5000, tol=1e-8)
    assert np.linalg.norm(A @ late - y) <= np.linalg.norm(A @ early - y)
    assert np.count_nonzero(late) <= 3


def test_exhaustive_search_finds_the_sparsest():
    A = measurement_matrix(4, 8, random_state=1)
    s = np.zeros(8)
    s[[1, 6]] = [2.0, -1.0]
    np.testing.assert_allclose(l0_minimization(A, A @ s), s, atol=1e-10)
    np.testing.assert_array_equal(l0_minimization(A, np.zeros(4)), np.zeros(8))
    with pytest.raises(ValueError, match="no s with at most 1 non-zeros has As = y"):
        l0_minimization(A, A @ s, max_nonzero=1)
    with pytest.raises(ValueError, match="more than max_subsets=5"):
        l0_minimization(A, A @ s, max_subsets=5)


def test_denoising_is_the_lasso(system):
    A, s = system
    y = A @ s + 0.05 * np.random.default_rng(1).normal(size=20)
    ours = basis_pursuit_denoising(A, y, alpha=0.1)
    np.testing.assert_allclose(ours, sparse_encode(y[None], A.T, alpha=0.1)[0], atol=1e-6)


def test_denoising_to_a_given_residual(system):
    A, s = system
    y = A @ s + 0.05 * np.random.default_rng(1).normal(size=20)
    found = basis_pursuit_denoising(A, y, epsilon=0.25)
    assert np.linalg.norm(A @ found - y) == pytest.approx(0.25, rel=1e-4)
    assert np.linalg.norm(found - s) < 0.5
    assert not basis_pursuit_denoising(A, y, epsilon=100.0).any()


def test_the_two_constraints_of_basis_pursuit(system):
    A, _ = system
    tall = np.vstack([A[:, :5], A[:, :5]])
    with pytest.raises(ValueError, match="no s has As = y"):
        basis_pursuit(tall, np.arange(40.0))


@pytest.mark.parametrize("algorithm", ["omp", "basis-pursuit", "iht", "l0"])
def test_signals_come_back_from_their_measurements(algorithm):
    t = np.arange(16) + 0.5
    X = np.vstack([np.cos(np.pi * 2 * t / 16), 2 * np.cos(np.pi * 5 * t / 16) - np.cos(np.pi * 9 * t / 16)])
    model = CompressedSensing(10, algorithm=algorithm, n_nonzero_coefs=2, random_state=0).fit(X)
    Y = model.transform(X)
    np.testing.assert_allclose(Y, X @ model.measurement_matrix_.T)
    np.testing.assert_allclose(model.inverse_transform(Y), X, atol=1e-6)
    assert (np.count_nonzero(np.abs(model.recover(Y)) > 1e-6, axis=1) <= 2).all()


def test_a_matrix_and_a_basis_of_ones_own():
    Phi, atoms = measurement_matrix(6, 8, random_state=0), np.eye(8)
    X = np.array([[0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    model = CompressedSensing(measurement=Phi, basis=atoms, algorithm="bpdn", alpha=1e-6).fit(X)
    np.testing.assert_array_equal(model.sensing_matrix_, Phi)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-4)


def test_bad_input():
    A = np.eye(3)
    for call, said in (
        (lambda: measurement_matrix(0, 3), "n_measurements must be an integer of at least 1"),
        (lambda: measurement_matrix(4, 3, "dct"), "more than the 3 rows of the transform"),
        (lambda: measurement_matrix(2, 3, "uniform"), "kind must be"),
        (lambda: restricted_isometry_constant(A, 4), "k must be an integer from 1 to 3"),
        (lambda: restricted_isometry_constant(np.eye(40), 20), "estimate_restricted_isometry"),
        (lambda: restricted_isometry_constant([[1.0, np.nan]], 1), "NaN"),
        (lambda: mutual_coherence([[1.0, 0.0], [1.0, 0.0]]), "column 1 of A has only zeros"),
        (lambda: basis_pursuit(A, [1.0, 2.0]), "y must have the shape"),
        (lambda: basis_pursuit(A, np.ones(3), algorithm="simplex"), "algorithm must be"),
        (lambda: basis_pursuit_denoising(A, np.ones(3), alpha=1.0, epsilon=1.0), "not both"),
        (lambda: basis_pursuit_denoising(A, np.ones(3), alpha=-1.0), "alpha must be a number"),
        (
            lambda: iterative_hard_thresholding(A, np.ones(3), 4),
            "n_nonzero_coefs must be an integer from 1 to 3",
        ),
        (lambda: CompressedSensing(n_nonzero_coefs=9).fit(np.ones((2, 4))), "the basis has only 4 atoms"),
        (lambda: CompressedSensing(measurement=np.eye(3)).fit(np.ones((2, 4))), "measurement has 3 columns"),
        (lambda: CompressedSensing().fit(np.ones((2, 4))).recover(np.ones((1, 3))), "expected are 2"),
    ):
        with pytest.raises(ValueError, match=said):
            call()

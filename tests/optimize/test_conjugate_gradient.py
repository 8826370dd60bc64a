"""The conjugate gradient method: against direct solvers, one and many right-hand sides, constraints."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import cg

from tercet.optimize import conjugate_gradient, conjugate_gradient_iterates

seeds = st.integers(0, 10_000)


def positive(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + 0.1 * np.eye(n)


@given(seeds, st.integers(1, 12), st.booleans())
def test_n_iterations_solve_n_equations(seed, n, preconditioned):
    A = positive(n, seed) + np.eye(n)
    b = np.random.default_rng(seed).normal(size=n)
    jacobi = (lambda v: v / A.diagonal()) if preconditioned else None
    found = conjugate_gradient(lambda v: A @ v, b, preconditioner=jacobi, tol=1e-12)
    assert found.residual <= 1e-12
    np.testing.assert_allclose(found.x, np.linalg.solve(A, b), rtol=1e-7, atol=1e-9)


@given(seeds)
def test_errors_are_a_conjugate_and_fall_in_the_norm_of_the_matrix(seed):
    A, b = positive(8, seed), np.random.default_rng(seed).normal(size=8)
    exact = np.linalg.solve(A, b)
    iterates = [found.x for found in itertools.islice(conjugate_gradient_iterates(lambda v: A @ v, b), 5)]
    errors = [(x - exact) @ A @ (x - exact) for x in iterates]
    assert all(after <= before * (1 + 1e-9) for before, after in itertools.pairwise(errors))
    steps = np.diff(iterates, axis=0)
    products = steps @ A @ steps.T
    sizes = np.sqrt(products.diagonal())
    np.testing.assert_allclose(products / np.outer(sizes, sizes), np.eye(4), atol=1e-6)


def test_columns_are_systems_of_their_own():
    A, b = positive(20), np.random.default_rng(1).normal(size=(20, 3))
    together = conjugate_gradient(lambda v: A @ v, b, tol=1e-10)
    for k in range(3):
        alone = conjugate_gradient(lambda v: A @ v, b[:, k], tol=1e-10)
        np.testing.assert_allclose(together.x[:, k], alone.x, rtol=1e-6, atol=1e-8)


def test_agrees_with_scipy():
    A, b, x0 = positive(15), np.random.default_rng(1).normal(size=15), np.ones(15)
    found = conjugate_gradient(lambda v: A @ v, b, x0, tol=0.0, max_iter=6)
    expected, _ = cg(A, b, x0, rtol=0.0, maxiter=6)
    assert found.n_iter == 6
    np.testing.assert_allclose(found.x, expected, rtol=1e-9)


@pytest.mark.parametrize("preconditioned", [False, True])
def test_saddle_point_system(preconditioned):
    rng = np.random.default_rng(0)
    A, E, b = positive(12), rng.normal(size=(12, 2)), rng.normal(size=(12, 3))
    jacobi = (lambda v: v / A.diagonal()[:, None]) if preconditioned else None
    found = conjugate_gradient(lambda v: A @ v, b, preconditioner=jacobi, constraints=E, tol=1e-12)
    whole = np.block([[A, E], [E.T, np.zeros((2, 2))]])
    expected = np.linalg.solve(whole, np.vstack([b, np.zeros((2, 3))]))
    np.testing.assert_allclose(np.vstack([found.x, found.multipliers]), expected, rtol=1e-7, atol=1e-9)


def test_a_column_that_is_solved_stays():
    b = np.eye(4)[:, :2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for found in itertools.islice(conjugate_gradient_iterates(lambda v: v.copy(), b), 1, 5):
            assert found.residual == 0
            np.testing.assert_array_equal(found.x, b)
    assert not found.moved


def test_nothing_to_solve():
    assert conjugate_gradient(lambda v: v, np.zeros(3)).n_iter == 0
    assert conjugate_gradient(lambda v: v, np.zeros((3, 0))).n_iter == 0
    assert conjugate_gradient(lambda v: v, np.ones(3), np.ones(3)).n_iter == 0


def test_directions_without_curvature_are_not_followed():
    A = np.diag([1.0, -1.0])
    found = conjugate_gradient(lambda v: A @ v, np.array([0.0, 1.0]))
    assert not found.moved
    assert not found.x.any()
    flat = np.diag([1.0, 1e-20])
    assert not conjugate_gradient(lambda v: flat @ v, [0.0, 1.0], min_curvature=1e-16).x.any()
    np.testing.assert_allclose(conjugate_gradient(lambda v: flat @ v, [0.0, 1.0]).x, [0.0, 1e20])

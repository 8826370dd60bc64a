"""Newton's method: one step on quadratics, quadratic convergence, safeguards."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der, rosen_hess, rosen_hess_prod

from tercet.optimize import Quadratic, minimize
from tercet.optimize.newton import solve_shifted

seeds = st.integers(0, 10_000)


@given(seeds, st.booleans())
def test_one_step_on_a_positive_definite_quadratic(seed, safeguard):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(5, 5))
    f = Quadratic(root @ root.T + np.eye(5), rng.normal(size=5))
    found = minimize(f, rng.normal(size=5), method="newton", safeguard=safeguard, tol=1e-8)
    assert found.nit == 1
    np.testing.assert_allclose(found.x, np.linalg.solve(f.A, f.b), rtol=1e-7, atol=1e-9)


def test_the_error_is_squared_in_each_pass():
    found = minimize(
        lambda x: np.exp(x[0]) - 2 * x[0],
        [0.9],
        jac=lambda x: np.exp(x) - 2,
        hess=lambda x: np.exp(x)[:, None],
        method="newton",
        safeguard=False,
        keep=True,
        tol=1e-10,
    )
    errors = np.abs(np.ravel(found.trajectory) - np.log(2))
    ratios = errors[1:4] / errors[:3] ** 2
    np.testing.assert_allclose(ratios, 0.5, rtol=0.15)  # f'''/(2 f'') = 1/2


@given(seeds)
def test_the_shifted_system_descends(seed):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(4, 4)) * 10.0 ** rng.integers(-4, 5)
    H, g = H + H.T, rng.normal(size=4)
    assert g @ solve_shifted(H, g) > 0


def test_no_shift_where_none_is_needed():
    H = np.array([[4.0, 1.0], [1.0, 3.0]])
    np.testing.assert_allclose(solve_shifted(H, np.array([1.0, 2.0])), np.linalg.solve(H, [1, 2]), rtol=1e-14)


@pytest.mark.parametrize("H", [np.zeros((2, 2)), np.ones((2, 2)), np.diag([1.0, 0.0]), -np.eye(2)])
def test_singular_and_negative_hessians(H):
    q = solve_shifted(H, np.array([1.0, 1.0]))
    assert np.isfinite(q).all()
    assert q.sum() > 0


@given(seeds)
def test_safeguarded_newton_never_raises_f(seed):
    x0 = np.random.default_rng(seed).uniform(-3, 3, size=3)
    found = minimize(rosen, x0, jac=rosen_der, hess=rosen_hess, method="newton")
    values = [rosen(x0), *found.history["fun"]]
    assert all(after <= before for before, after in pairwise(values))
    assert found.success


def test_a_singular_hessian_without_safeguard_says_so():
    with pytest.raises(np.linalg.LinAlgError, match="safeguard=True"):
        minimize(
            lambda x: x[0] ** 4 + x[0],
            [0.0],
            jac=lambda x: 4 * x**3 + 1,
            hess=lambda x: 12 * x[:, None] ** 2,
            method="newton",
            safeguard=False,
        )


def test_newton_cg_needs_products_only():
    start = np.full(30, 1.3)
    found = minimize(rosen, start, jac=rosen_der, hessp=rosen_hess_prod, method="newton-cg", tol=1e-8)
    np.testing.assert_allclose(found.x, 1, atol=1e-7)
    by_matrix = minimize(rosen, start, jac=rosen_der, hess=rosen_hess, method="newton-cg", tol=1e-8)
    np.testing.assert_allclose(found.x, by_matrix.x, atol=1e-7)
    assert found.nhev > found.nit


def test_newton_cg_leaves_negative_curvature():
    def saddle(x):
        return x[0] ** 2 - x[1] ** 2 + x[1] ** 4

    def slope(x):
        return np.array([2 * x[0], -2 * x[1] + 4 * x[1] ** 3])

    found = minimize(saddle, [1.0, 1e-3], jac=slope, method="newton-cg")
    np.testing.assert_allclose(found.x, [0, 0.5**0.5], atol=1e-5)

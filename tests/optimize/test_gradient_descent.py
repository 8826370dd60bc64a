"""Gradient descent: the theorems on steepest descent."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der

from tercet.optimize import Quadratic, minimize

seeds = st.integers(0, 10_000)


def random_quadratic(seed, n=4, condition=50.0):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = basis @ np.diag(np.geomspace(1, condition, n)) @ basis.T
    return Quadratic((A + A.T) / 2, rng.normal(size=n)), 3 * rng.normal(size=n)


def run(f, x0, **options):
    """Callables, so that the line search does not know that f is quadratic."""
    return minimize(f.value, x0, jac=f.gradient, method="gd", keep=True, **options)


@given(seeds)
def test_with_exact_search_consecutive_gradients_are_orthogonal(seed):
    f, x0 = random_quadratic(seed)
    gradients = [f.gradient(x) for x in run(f, x0, tol=1e-3).trajectory]
    for g, h in pairwise(gradients):
        assert abs(g @ h) <= 1e-7 * np.linalg.norm(g) * max(np.linalg.norm(h), 1e-3)


@given(seeds, st.floats(1.5, 200))
def test_f_falls_at_the_rate_of_the_condition_number(seed, condition):
    f, x0 = random_quadratic(seed, condition=condition)
    lowest = f.value(np.linalg.solve(f.A, f.b))
    gaps = [f.value(x) - lowest for x in run(f, x0, tol=1e-3).trajectory]
    rate = ((condition - 1) / (condition + 1)) ** 2
    for before, after in pairwise(gaps):
        assert after <= rate * before * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("search", ["exact", "exact-global", "wolfe", "armijo"])
def test_f_never_rises_with_a_line_search(search):
    with pytest.warns(Warning, match="did not converge"):
        found = minimize(rosen, [-1.2, 1], jac=rosen_der, method="gd", line_search=search, max_iter=60)
    values = [rosen([-1.2, 1]), *found.history["fun"]]
    assert all(after < before for before, after in pairwise(values))


@given(seeds, st.floats(0.05, 0.95))
def test_a_fixed_step_is_the_plain_recursion(seed, share):
    f, x = random_quadratic(seed, condition=5.0)
    rate = share * 2 / 5.0  # converges below 2/L
    found = run(f, x, line_search=rate, tol=1e-5, max_iter=5000)
    for after in found.trajectory[1:]:
        x = x - rate * f.gradient(x)
        np.testing.assert_allclose(after, x, rtol=1e-12, atol=1e-12)
    assert found.success


@pytest.mark.parametrize("search", ["exact", "wolfe", "armijo", 0.3])
def test_all_searches_reach_the_minimum(search):
    f = Quadratic([[4, 1], [1, 3]], [1, 2])
    found = run(f, [2, 1], line_search=search, tol=1e-9)
    np.testing.assert_allclose(found.x, [1 / 11, 7 / 11], atol=1e-8)

"""Line searches: what each of them promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der

from tercet.optimize import Quadratic, line_search
from tercet.optimize.line_search import Armijo, RayPoint, Wolfe, _interpolate

seeds = st.integers(0, 10_000)


def random_quadratic(seed, n=4):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    return Quadratic(root @ root.T + 0.1 * np.eye(n), rng.normal(size=n)), rng.normal(size=n)


@given(seeds, st.floats(1e-3, 1e3))
def test_exact_search_finds_the_closed_form(seed, guess):
    f, x = random_quadratic(seed)
    p = -f.gradient(x)
    closed = line_search(f, x, p)
    searched = line_search(f.value, x, p, jac=f.gradient, guess=guess)
    assert searched.step == pytest.approx(closed.step, rel=1e-10)
    assert abs(searched.jac @ p) <= 1e-8 * (p @ p)


# On this ray f has two minima, and which one a search returns is its own affair: "exact" lowers f to one of
# them, "exact-global" to the lower one.
X, P = np.array([-1.2, 1.0]), -rosen_der([-1.2, 1.0])


@pytest.mark.parametrize("guess", [1e-5, 1e-3, 1.0, 100.0])
def test_two_minima_on_one_ray(guess):
    first = line_search(rosen, X, P, jac=rosen_der, guess=guess)
    assert (round(first.step, 6), round(first.fun, 3)) in [(0.000788, 4.128), (0.012249, 0.195)]
    lowest = line_search(rosen, X, P, jac=rosen_der, method="exact-global", guess=guess)
    assert lowest.step == pytest.approx(0.012249, abs=1e-6)
    assert lowest.fun == pytest.approx(0.195, abs=1e-3)


def test_a_short_first_guess_finds_the_first_minimum():
    assert line_search(rosen, X, P, jac=rosen_der, guess=1e-5).step == pytest.approx(0.000788, abs=1e-6)


@given(seeds, st.floats(1e-4, 1e4))
def test_wolfe_conditions_hold(seed, guess):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=5)
    p = -rosen_der(x)
    found = line_search(rosen, x, p, jac=rosen_der, method=Wolfe(c1=1e-4, c2=0.4), guess=guess)
    slope = rosen_der(x) @ p
    assert found.success
    assert found.fun <= rosen(x) + 1e-4 * found.step * slope
    assert abs(found.jac @ p) <= 0.4 * abs(slope)
    np.testing.assert_allclose(found.x, x + found.step * p)


@given(seeds, st.floats(1e-6, 1e4))
def test_armijo_condition_holds(seed, guess):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=5)
    p = -rosen_der(x)
    found = line_search(rosen, x, p, jac=rosen_der, method=Armijo(c1=0.1), guess=guess)
    assert 0 < found.step <= guess
    assert found.fun <= rosen(x) + 0.1 * found.step * (rosen_der(x) @ p)


@given(st.floats(0.01, 100), st.floats(0.01, 0.85), st.floats(0.95, 3))
def test_weak_conditions_hold_in_a_kink(guess, kink, rise):
    """Left of the kink f falls with slope -1, right of it it rises too steeply for the strong condition."""
    found = line_search(
        lambda x: max(kink - x[0], rise * (x[0] - kink)), [0.0], [1.0],
        jac=lambda x: np.array([-1.0 if x[0] < kink else rise]), method="weak-wolfe", guess=guess,
    )  # fmt: skip
    assert found.success
    assert found.fun <= kink - 1e-4 * found.step
    assert found.jac[0] > -0.9


def test_a_fixed_step_is_taken_as_it_is():
    found = line_search(rosen, X, P, jac=rosen_der, method=0.5)
    assert found.step == 0.5
    assert found.fun == rosen(X + 0.5 * P)


@pytest.mark.parametrize("method", ["exact", "wolfe"])
def test_a_ray_without_a_minimum_ends(method):
    found = line_search(lambda x: -float(x[0]), [0.0], [1.0], jac=lambda x: np.array([-1.0]), method=method)
    assert found.nfev < 2000
    assert found.success == (found.fun < 0)


def test_only_directions_of_descent():
    with pytest.raises(ValueError, match="descent direction"):
        line_search(rosen, X, -P, jac=rosen_der)


def test_slopes_whose_squares_overflow():
    x = np.zeros(1)
    low, high = RayPoint(0.0, x, 1e300, x, -1e300), RayPoint(1e-5, x, 1e306, x, 1e300)
    assert 0 < _interpolate(low, high) < 1e-5

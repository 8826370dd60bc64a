"""Rademacher complexity against enumeration in plain Python, and its bounds against simulation."""

import itertools

import numpy as np
import pytest

from tercet.theory import (
    dichotomies,
    expected_rademacher_complexity,
    growth_rademacher_bound,
    linear_rademacher_bound,
    massart_bound,
    rademacher_bound,
    rademacher_complexity,
)

LINE = np.arange(4.0)


def by_hand(F):
    m = F.shape[1]
    return np.mean([max(np.dot(f, s) for f in F) / m for s in itertools.product((-1, 1), repeat=m)])


def test_exact_numbers_on_four_points():
    """Derived numbers: thresholds 0.59375, two-sided 0.75, intervals 0.84375, all labellings 1."""
    found = [
        rademacher_complexity(dichotomies(LINE, name), algorithm="exact")
        for name in ("thresholds", "two-sided thresholds", "intervals")
    ]
    assert found == [0.59375, 0.75, 0.84375]
    assert rademacher_complexity(list(itertools.product((-1, 1), repeat=4))) == 1.0


def test_exact_is_the_enumeration_and_monte_carlo_is_near_it():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(5, 15))  # more vectors of signs than one block has
    exact = rademacher_complexity(F, algorithm="exact")
    assert exact == pytest.approx(by_hand(F), rel=1e-12)
    drawn, error = rademacher_complexity(F, algorithm="monte-carlo", n_draws=40_000, return_error=True)
    assert 0 < error < 0.005
    assert abs(drawn - exact) < 5 * error
    assert drawn == rademacher_complexity(F, algorithm="monte-carlo", n_draws=40_000)


def test_properties():
    rng = np.random.default_rng(1)
    F = rng.normal(size=(6, 8))
    R = rademacher_complexity(F)
    assert rademacher_complexity(F[:1]) == pytest.approx(0, abs=1e-15)  # one function fits no noise
    assert rademacher_complexity(F[:3]) <= R  # a smaller class
    assert rademacher_complexity(3 * F + 1.5) == pytest.approx(3 * R)
    mixtures = rng.dirichlet(np.ones(6), 20) @ F
    assert rademacher_complexity(np.vstack([F, mixtures])) == pytest.approx(R)  # the convex hull adds nothing
    assert massart_bound(F) >= R


def test_massart_and_growth():
    thresholds = dichotomies(LINE, "thresholds")
    assert massart_bound(thresholds) == pytest.approx(0.8970612890, abs=1e-10)
    assert growth_rademacher_bound(5, 4) == pytest.approx(massart_bound(thresholds))  # rows of norm sqrt(m)


def test_linear_functions():
    """sup over ||w|| <= B of sum sigma_i w.x_i is B ||sum sigma_i x_i||."""
    X = np.random.default_rng(2).normal(size=(8, 3))
    exact = np.mean([np.linalg.norm(np.dot(s, X)) for s in itertools.product((-1, 1), repeat=8)]) * 2 / 8
    assert exact <= linear_rademacher_bound(X, norm=2.0) <= 1.5 * exact


def test_expectation_over_samples():
    value, error = expected_rademacher_complexity(
        lambda x: dichotomies(x, "intervals"), lambda rng: rng.integers(0, 3, 4), 50, return_error=True
    )
    assert 0 < value < 0.84375  # points that coincide are labelled alike
    assert error > 0


def test_bounds_of_the_text():
    found = [
        rademacher_bound(0.1, 100, 0.05, 0.2, empirical=e, values=v)
        for v in ("real", "binary")
        for e in (False, True)
    ]
    np.testing.assert_allclose(
        found, 0.2 + np.array([0.3223873415, 0.6074304547, 0.2223873415, 0.5074304547]), atol=1e-10
    )


def test_the_bound_holds():
    """Error of the best threshold on pure noise: risk 1/2, and the bound from the sample."""
    rng = np.random.default_rng(3)
    m, delta, failures = 60, 0.1, 0
    labellings = np.array([[1 if i >= t else -1 for i in range(m)] for t in range(m + 1)])
    complexity = rademacher_complexity(labellings, n_draws=2000)
    for _ in range(300):
        errors = (labellings != rng.choice([-1, 1], m)).mean(axis=1)
        failures += rademacher_bound(complexity, m, delta, errors.min(), empirical=True) < 0.5
    assert failures / 300 <= delta


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: rademacher_complexity([1.0, 2.0]), r"values must be .* got shape \(2,\)"),
        (lambda: rademacher_complexity([[np.nan]]), "values must be a finite array"),
        (lambda: rademacher_complexity(np.ones((2, 21)), algorithm="exact"), "2\\^21 .* at most 20 points"),
        (lambda: rademacher_complexity(np.ones((2, 3)), algorithm="sum"), "algorithm must be one of"),
        (lambda: rademacher_bound(-0.1, 10, 0.1), "complexity must be .* got -0.1"),
        (lambda: rademacher_bound(0.1, 10, 0.1, values="ordinal"), "values must be one of 'real', 'binary'"),
        (lambda: rademacher_bound(0.1, 10, 0.1, 1.5), r"empirical_risk must be in \[0, 1\]"),
        (lambda: linear_rademacher_bound([1.0]), "X must be a finite array"),
    ],
)
def test_refusals(call, says):
    with pytest.raises(ValueError, match=says):
        call()

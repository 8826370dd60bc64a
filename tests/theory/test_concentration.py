"""Concentration inequalities hold for distributions that can be summed, and their inverses invert them."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from tercet.theory import (
    bernoulli_divergence,
    chernoff_bound,
    chernoff_epsilon,
    chernoff_sample_size,
    hoeffding_bound,
    hoeffding_epsilon,
    hoeffding_sample_size,
    jensen_gap,
    mcdiarmid_bound,
    mcdiarmid_epsilon,
)


@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("t", [0.04, 0.15])
@pytest.mark.parametrize("form", ["divergence", "multiplicative"])
def test_chernoff_holds_for_the_binomial(p, t, form):
    n = 60
    k = np.arange(n + 1)
    mass = binom.pmf(k, n, p)
    above = mass[k / n >= p + t - 1e-12].sum()
    below = mass[k / n <= p - t + 1e-12].sum()
    assert above <= chernoff_bound(t, n, p, form=form)
    assert below <= chernoff_bound(t, n, p, tail="lower", form=form)
    assert above + below <= chernoff_bound(t, n, p, tail="both", form=form)
    assert chernoff_bound(t, n, p) <= hoeffding_bound(t, n)  # Pinsker's inequality
    assert chernoff_bound(t, n, p) <= chernoff_bound(t, n, p, form="multiplicative")


def test_a_mean_cannot_leave_the_unit_interval():
    assert chernoff_bound(0.5, 10, 0.6) == 0.0
    assert chernoff_bound(0.5, 10, 0.4, tail="lower") == 0.0
    assert chernoff_epsilon(1e-9, 2, 0.9) == pytest.approx(0.1)


@pytest.mark.parametrize("tail", ["upper", "lower", "both"])
def test_inverses_of_chernoff(tail):
    eps = chernoff_epsilon(0.05, 80, 0.2, tail=tail)
    assert chernoff_bound(eps, 80, 0.2, tail=tail) == pytest.approx(0.05, rel=1e-9)
    n = chernoff_sample_size(0.06, 0.01, 0.2, tail=tail)
    at, before = (chernoff_bound(0.06, m, 0.2, tail=tail) for m in (n, n - 1))
    assert at <= 0.01 < before
    weaker = chernoff_epsilon(0.05, 80, 0.2, tail=tail, form="multiplicative")
    assert weaker >= eps
    assert chernoff_bound(weaker, 80, 0.2, tail=tail, form="multiplicative") == pytest.approx(0.05, rel=1e-9)
    n = chernoff_sample_size(0.06, 0.01, 0.2, tail=tail, form="multiplicative")
    at, before = (chernoff_bound(0.06, m, 0.2, tail=tail, form="multiplicative") for m in (n, n - 1))
    assert at <= 0.01 < before


@pytest.mark.parametrize("form", ["divergence", "multiplicative"])
def test_the_inverse_of_chernoff_keeps_its_bound(form):
    """Also where the bound jumps, at the distance that one of the tails cannot reach."""
    assert chernoff_bound(0.047230750508979914, 50, 0.047230750508979914, tail="both") > 0.4394717111982799
    draws = [(0.4394717111982799, 50, 0.047230750508979914)]
    rng = np.random.default_rng(0)
    draws += [
        (rng.uniform(0.01, 0.9), int(rng.integers(20, 200)), rng.uniform(0.01, 0.99)) for _ in range(200)
    ]
    for delta, n, p in draws:
        for tail in ("upper", "lower", "both"):
            eps = chernoff_epsilon(delta, n, p, tail=tail, form=form)
            farthest = {"upper": 1 - p, "lower": p, "both": max(p, 1 - p)}[tail]
            assert chernoff_bound(eps, n, p, tail=tail, form=form) <= delta or eps == farthest
            assert chernoff_bound(eps * (1 - 1e-12), n, p, tail=tail, form=form) > delta * (1 - 1e-9)


@pytest.mark.parametrize("two_sided", [False, True])
def test_inverses_of_hoeffding_and_mcdiarmid(two_sided):
    eps = hoeffding_epsilon(0.03, 50, (-1, 2), two_sided=two_sided)
    assert hoeffding_bound(eps, 50, (-1, 2), two_sided=two_sided) == pytest.approx(0.03)
    n = hoeffding_sample_size(0.2, 0.03, (-1, 2), two_sided=two_sided)
    at, before = (hoeffding_bound(0.2, m, (-1, 2), two_sided=two_sided) for m in (n, n - 1))
    assert at <= 0.03 < before
    c = np.random.default_rng(0).random(7)
    assert mcdiarmid_bound(mcdiarmid_epsilon(0.1, c, two_sided=two_sided), c, two_sided=two_sided) == (
        pytest.approx(0.1)
    )


def test_mcdiarmid_of_a_mean_is_hoeffding():
    assert mcdiarmid_bound(0.1, np.full(100, 0.01)) == pytest.approx(0.1353352832, abs=1e-10)
    assert mcdiarmid_bound(0.1, np.full(100, 0.01), two_sided=True) == pytest.approx(0.2706705665, abs=1e-10)
    assert mcdiarmid_bound(0.3, np.zeros(4)) == 0.0


def test_mcdiarmid_holds_for_the_number_of_distinct_values():
    """Throwing 8 balls into 5 boxes: one ball changes the number of occupied boxes by at most 1."""
    rng = np.random.default_rng(0)
    occupied = np.array([len(set(row)) for row in rng.integers(0, 5, (20_000, 8))])
    mean = 5 * (1 - 0.8**8)
    for t in (0.5, 1.5):
        assert np.mean(occupied - mean >= t) <= mcdiarmid_bound(t, np.ones(8))
        assert np.mean(abs(occupied - mean) >= t) <= mcdiarmid_bound(t, np.ones(8), two_sided=True)


def test_jensen():
    rng = np.random.default_rng(0)
    x, p = rng.normal(size=(6, 3)), rng.dirichlet(np.ones(6))
    for convex in (lambda v: v @ v, lambda v: np.exp(v).sum(), lambda v: abs(v).max()):
        assert jensen_gap(convex, x, p) > 0
        assert jensen_gap(lambda v, f=convex: -f(v), x, p) < 0
    assert jensen_gap(lambda v: v @ [1.0, 2.0, 3.0], x, p) == pytest.approx(0, abs=1e-12)
    assert jensen_gap(np.square, [1.0, 3.0]) == pytest.approx(1.0)  # the variance


def test_divergence():
    assert bernoulli_divergence(0.2, 0.2) == 0.0
    assert bernoulli_divergence(0.0, 0.25) == pytest.approx(-math.log(0.75))
    assert bernoulli_divergence(0.5, 0.0) == math.inf


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: chernoff_bound(0.1, 10, 0.0), "mean must be between 0 and 1"),
        (
            lambda: chernoff_bound(0.1, 10, 0.5, tail="left"),
            "tail must be one of 'upper', 'lower', 'both'; got",
        ),
        (lambda: chernoff_epsilon(0.1, 10, 0.5, tail="left"), "tail must be one of"),
        (lambda: mcdiarmid_bound(0.1, [0.1, -1.0]), "differences must be"),
        (lambda: jensen_gap(np.square, [1.0, np.nan]), "x must hold"),
        (lambda: jensen_gap(np.square, [1.0, 2.0], [0.4, 0.4]), "probabilities must be 2 numbers"),
        (lambda: bernoulli_divergence(1.2, 0.5), "q must be a probability"),
    ],
)
def test_refusals(call, says):
    with pytest.raises(ValueError, match=says):
        call()

"""Accept-reject sampling: the right distribution, the right rate, and plain words where it cannot work."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from tercet.distributions import Beta, Gaussian, MultivariateNormal, Uniform
from tercet.sampling import accept_reject


def parabola(x):
    return 6 * x * (1 - x)


def test_the_algorithm_is_that_of_the_book():
    """Algorithm 19.1 in plain words, on the same numbers."""
    found = accept_reject(parabola, Uniform(), 300, c=1.5, random_state=0)
    rng = np.random.default_rng(0)
    proposals, u = rng.uniform(size=1000), 1 - rng.random(1000)
    accepted, tried = [], 0
    for x, level in zip(proposals, u):
        tried += 1
        if level <= parabola(x) / 1.5:
            accepted.append(x)
        if len(accepted) == 300:
            break
    np.testing.assert_array_equal(found.samples, accepted)
    assert found.n_proposed == tried
    assert found.acceptance_rate == 300 / tried


def test_distribution_and_rate():
    found = accept_reject(parabola, Uniform(), 4000, c=1.5, random_state=1)
    assert stats.kstest(found.samples, "beta", (2, 2)).pvalue > 0.01
    assert found.acceptance_rate == pytest.approx(2 / 3, abs=0.03)
    assert not found.c_estimated
    unnormalised = accept_reject(lambda x: 10 * parabola(x), Uniform(), 4000, c=15, random_state=1)
    np.testing.assert_array_equal(unnormalised.samples, found.samples)
    assert unnormalised.normaliser == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize(
    ("p", "q", "log"),
    [
        (parabola, stats.uniform(), False),
        (lambda x: 6 * x * (1 - x) if 0 < x < 1 else 0.0, Uniform(), False),  # one number at a time
        (
            lambda x: math.log(6 * x * (1 - x)),
            (lambda size, rng: rng.uniform(size=size), lambda x: 0.0),
            True,
        ),
        (Beta(2, 2), Uniform(), False),
        (SimpleNamespace(pdf=parabola), Uniform(), False),
        (stats.beta(2, 2), (lambda size, rng: rng.uniform(size=size), lambda x: 1.0 + 0 * x), False),
    ],
)
def test_densities_of_all_kinds(p, q, log):
    found = accept_reject(p, q, 50, c=1.5, log=log, random_state=3)
    expected = accept_reject(parabola, Uniform(), 50, c=1.5, random_state=3)
    np.testing.assert_allclose(found.samples, expected.samples, rtol=1e-12)


def test_a_constant_found_on_the_way():
    found = accept_reject(parabola, Uniform(), 3000, random_state=2)
    assert found.c_estimated
    assert found.c == pytest.approx(1.5, rel=1e-4)
    assert stats.kstest(found.samples, "beta", (2, 2)).pvalue > 0.01
    # what was accepted under a lower constant is judged again: the same as with the last one from the start
    again = accept_reject(parabola, Uniform(), 3000, c=found.c, random_state=2)
    np.testing.assert_array_equal(again.samples, found.samples)
    assert again.n_proposed == found.n_proposed


def test_vectors():
    p, q = MultivariateNormal([0, 0], np.eye(2)), MultivariateNormal([0, 0], 2 * np.eye(2))
    found = accept_reject(p, q, 2000, c=2.0, random_state=0)
    assert found.samples.shape == (2000, 2)
    assert found.acceptance_rate == pytest.approx(0.5, abs=0.04)
    np.testing.assert_allclose(np.cov(found.samples.T), np.eye(2), atol=0.1)


def test_what_does_not_work_is_said():
    with pytest.raises(ValueError, match=r"c must be at least p\(x\) / q\(x\) .*got 1.2, .* = 1.2"):
        accept_reject(parabola, Uniform(), 500, c=1.2, random_state=0)
    with pytest.raises(ValueError, match="None of 2000 proposals were accepted: p is 0 at all"):
        accept_reject(lambda x: 0.0 * x, Uniform(), 5, max_proposals=2000)
    with pytest.raises(
        ValueError, match=r"None of 3000 proposals were accepted; .* c = 1e\+09 is far above p"
    ):
        accept_reject(parabola, Uniform(), 5, c=1e9, max_proposals=3000, random_state=0)
    with pytest.raises(ValueError, match=r"\d of 20000 proposals were accepted; 100 points"):
        accept_reject(parabola, Uniform(), 100, c=1e4, max_proposals=20_000, random_state=0)
    with pytest.warns(UserWarning, match=r"largest p / q rose from .* it may have no bound"):
        accept_reject(lambda x: x**-0.5, Uniform(), 300, random_state=0)
    with pytest.raises(ValueError, match=r"p / q, at first up to .*, may have no bound"):
        accept_reject(lambda x: x**-0.9, Uniform(), 400, max_proposals=100_000, random_state=1)


@pytest.mark.parametrize(
    ("p", "q", "options", "words"),
    [
        (lambda x: x - 0.5, Uniform(), {}, "p must give a density, at least 0 and finite; got -0"),
        (lambda x: np.nan * x, Uniform(), {}, "p must give a density.*got nan at x"),
        (lambda x: np.inf * x, Uniform(), {}, "got inf at x"),
        (lambda x: np.inf * x, Uniform(), {"log": True}, "log density, below infinity; got inf"),
        (parabola, Gaussian().pdf, {}, r"q must be drawn from, too: .*\(draw, density\)"),
        (parabola, (Uniform(),), {}, r"pair \(draw, density\); got 1 things"),
        (parabola, (Uniform(), lambda x: 0.0 * x), {}, "q must be positive where it draws; it is 0 at x"),
        (parabola, (lambda size, rng: rng.random(3), Uniform()), {}, r"must draw 1000 points.*shape \(3,\)"),
        (parabola, Uniform(), {"c": 0}, "c must be finite and above 0; got 0"),
        (parabola, Uniform(), {"c": np.nan}, "c must be finite and above 0; got nan"),
        (3, Uniform(), {}, "p must be a function; got 3"),
        (lambda x: x * 1j, Uniform(), {}, "p must give real numbers"),
        (parabola, None, {}, "q must be a distribution"),
    ],
)
def test_bad_densities_and_proposals(p, q, options, words):
    with pytest.raises(ValueError, match=words):
        accept_reject(p, q, 5, random_state=0, **options)

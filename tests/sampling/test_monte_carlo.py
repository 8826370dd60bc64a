"""Monte Carlo estimates: exact values inside their intervals, errors of the right size, plain words."""

import math

import numpy as np
import pytest
from scipy import stats

from tercet.distributions import Gaussian, MultivariateNormal, Uniform
from tercet.sampling import (
    MonteCarloEstimate,
    importance_sampling,
    monte_carlo_expectation,
    monte_carlo_integral,
)
from tercet.sampling.user_functions import PointFunction


def test_means_and_their_errors():
    found = monte_carlo_expectation(lambda x: x**2, Gaussian(1, 4), 20_000, random_state=0)
    assert abs(found.value - 5) < 4 * found.standard_error
    assert found.standard_error == pytest.approx(np.sqrt(48 / 20_000), rel=0.1)  # var of x² is 2σ⁴ + 4μ²σ²
    low, high = found.interval(0.9)
    assert high - low == pytest.approx(2 * 1.6448536 * found.standard_error)
    assert found.running_means()[-1] == pytest.approx(found.value)
    draws = [1.0, 2.0, 4.0]
    assert monte_carlo_expectation(None, draws).value == pytest.approx(7 / 3)
    vector = monte_carlo_expectation(None, MultivariateNormal([1, 2], np.eye(2)), 5000, random_state=0)
    assert (np.abs(vector.value - [1, 2]) < 4 * vector.standard_error).all()
    assert monte_carlo_expectation(lambda x: x, stats.norm(2), 50, 0).value == pytest.approx(
        monte_carlo_expectation(lambda x: x, lambda size, rng: 2 + rng.standard_normal(size), 50, 0).value
    )


def test_intervals_cover_as_often_as_they_say():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        low, high = MonteCarloEstimate.of_values(rng.exponential(size=100)).interval(0.9)
        hits += low < 1 < high
    assert 0.85 < hits / 400 < 0.94


def test_integrals():
    for f in (lambda x: np.exp(-(x**2) / 2), lambda x: math.exp(-(x**2) / 2)):
        found = monte_carlo_integral(f, (0, 1), size=4000, random_state=0)
        assert abs(found.value - 0.855624391892149) < 4 * found.standard_error
    line = monte_carlo_integral(lambda x: np.exp(-np.abs(x)), p=stats.cauchy(), random_state=1)
    assert abs(line.value - 2) < 4 * line.standard_error
    half = monte_carlo_integral(lambda x: np.exp(-np.abs(x)), (0, np.inf), stats.cauchy(), random_state=1)
    assert abs(half.value - 1) < 4 * half.standard_error
    box = monte_carlo_integral(lambda x: x[:, 0] * x[:, 1] ** 2, [(0, 2), (0, 3)], random_state=0)
    assert abs(box.value - 18) < 4 * box.standard_error
    point = monte_carlo_integral(lambda x: x[0] * x[1] ** 2, [(0, 2), (0, 3)], random_state=0)
    assert point.value == pytest.approx(box.value)
    constant = monte_carlo_integral(lambda x: 2.0, (0, 3), size=10)
    assert (constant.value, constant.standard_error) == (6.0, 0.0)


def test_importance_weights():
    p, q = Gaussian(0, 1), Gaussian(3, 1)
    found = importance_sampling(lambda x: x > 3, p, q, 20_000, random_state=0)
    assert abs(found.value - 0.0013498980316300933) < 4 * found.standard_error
    assert found.standard_error < 0.02 * found.value
    wide = Gaussian(0.5, 2)
    found = importance_sampling(None, p, wide, 20_000, self_normalised=True, random_state=1)
    assert abs(found.value) < 4 * found.standard_error
    assert found.weights.sum() == pytest.approx(1)
    assert found.effective_sample_size == pytest.approx(1 / (found.weights**2).sum())
    # E_q w² in closed form: the share of draws that are worth something
    share = 1 / np.mean(np.exp(2 * (p.logpdf(x := wide.sample(400_000, 2)) - wide.logpdf(x))))
    assert found.effective_sample_size / 20_000 == pytest.approx(share, rel=0.03)
    again = found.resample(5000, random_state=0)
    assert stats.kstest(again, "norm").pvalue > 0.01


def test_a_constant_changes_nothing_where_weights_are_normalised():
    q = Gaussian(0, 2)
    one = importance_sampling(np.cos, Gaussian(), q, 3000, self_normalised=True, random_state=0)
    for log_constant in (-2000.0, 3000.0):
        other = importance_sampling(
            np.cos,
            lambda x, constant=log_constant: Gaussian().logpdf(x) + constant,
            (q, q),
            3000,
            self_normalised=True,
            log=True,
            random_state=0,
        )
        assert other.value == pytest.approx(one.value, rel=1e-9)
        assert other.log_normaliser == pytest.approx(log_constant, abs=0.1)
    with pytest.raises(ValueError, match=r"p is not normalised\. Set self_normalised=True"):
        importance_sampling(np.cos, lambda x: 3000 - x**2, (q, q), log=True)
    exact = importance_sampling(np.cos, q, q, 500, random_state=0)
    plain = monte_carlo_expectation(np.cos, q, 500, random_state=0)
    assert exact.value == pytest.approx(plain.value)
    assert exact.standard_error == pytest.approx(plain.standard_error)
    assert exact.effective_sample_size == pytest.approx(500)


def test_where_p_is_zero_f_need_not_be_defined():
    found = importance_sampling(lambda x: math.log(x), Uniform(0, 1), Gaussian(0.5, 1), 4000, random_state=0)
    assert abs(found.value + 1) < 4 * found.standard_error


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: monte_carlo_expectation(np.log, Gaussian(), random_state=0),
            "f must be finite; got nan at x",
        ),
        (lambda: monte_carlo_expectation(None, [1.0]), "at least 2 draws"),
        (lambda: monte_carlo_expectation(None, 3.0), r"p must be a distribution or a function draw"),
        (
            lambda: monte_carlo_expectation(None, Gaussian(), 1),
            "size must be a whole number, at least 2; got 1",
        ),
        (lambda: monte_carlo_integral(np.exp), "Give bounds, p, or both"),
        (lambda: monte_carlo_integral(np.exp, (0, np.inf)), r"bounds must be finite .*got \(0, inf\)"),
        (lambda: monte_carlo_integral(np.exp, (1, 1)), "low below high"),
        (lambda: monte_carlo_integral(np.exp, (0, np.nan)), "low below high"),
        (lambda: monte_carlo_integral(lambda x: 1 / (x * 0), (0, 1)), "h must be finite; got inf"),
        (
            lambda: importance_sampling(None, Uniform(5, 6), Uniform(0, 1)),
            "All 10000 weights are 0: p is 0 at every draw of q",
        ),
        (lambda: importance_sampling(None, lambda x: -x, Uniform(0, 1)), "p must give a density, at least 0"),
        (
            lambda: MonteCarloEstimate.of_values(np.arange(3.0)).interval(95),
            "level must lie between 0 and 1; got 95",
        ),
    ],
)
def test_words_of_errors(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_few_effective_draws_are_said():
    with pytest.warns(UserWarning, match=r"effective sample size is \d\.\d of 500"):
        importance_sampling(None, Gaussian(8, 1), Gaussian(0, 1), 500, self_normalised=True, random_state=0)


def test_functions_of_a_point_and_of_many():
    square = np.arange(6.0).reshape(2, 3)[:, :2]  # two points of two numbers: both readings fit the shape
    assert PointFunction(lambda x: x[0] * x[1], "f")(square).tolist() == [0.0, 12.0]
    assert PointFunction(lambda x: x[:, 0] * x[:, 1], "f")(square).tolist() == [0.0, 12.0]
    assert PointFunction(lambda x: x.sum(axis=-1), "f")(square).tolist() == [1.0, 7.0]
    assert PointFunction(lambda x: 1.0 if x > 0.5 else 0.0, "f")(np.array([0.2, 0.7])).tolist() == [0.0, 1.0]
    with pytest.raises(ZeroDivisionError):  # the user's own error
        PointFunction(lambda x: 1 // 0, "f")(np.array([1.0, 2.0]))

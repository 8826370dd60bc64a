from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy import special

from tercet.core.functions import (
    log_sigmoid,
    log_softmax,
    log_sum_exp,
    logit,
    monotone_root,
    odds,
    odds_to_probability,
    sigmoid,
    sigmoid_derivative,
    softmax,
    softmax_jacobian,
    softplus,
    unit_step,
)

EXTREMES = np.array([-1e308, -1000.0, -40.0, -1.0, -1e-300, 0.0, 1e-12, 0.5, 40.0, 1000.0, 1e308])
scores = arrays(float, st.integers(1, 6), elements=st.floats(-800, 800))


def test_softmax_of_the_text():
    p = softmax([1, 2, 3])
    assert_allclose(p, [0.0900305732, 0.2447284711, 0.6652409558], atol=1e-10)
    jacobian = [
        [0.0819250691, -0.0220330445, -0.0598920245],
        [-0.0220330445, 0.1848364465, -0.1628034020],
        [-0.0598920245, -0.1628034020, 0.2226954265],
    ]
    assert_allclose(softmax_jacobian([1, 2, 3]), jacobian, atol=1e-10)


def test_softmax_with_a_reference_class():
    theta, x = np.array([[1, -0.5], [0.2, 0.3], [0.0, 0.0]]), np.array([1.0, 2.0])
    assert_allclose(softmax(theta @ x), [0.23665609, 0.52668782, 0.23665609], atol=1e-8)


def test_against_scipy_at_the_extremes():
    z = EXTREMES
    assert_allclose(sigmoid(z), special.expit(z), rtol=1e-14, atol=1e-300)
    assert_allclose(log_sigmoid(z), special.log_expit(z), rtol=1e-14)
    assert_allclose(softplus(z), -special.log_expit(-z), rtol=1e-14)
    inner = np.array([0.0, 1e-300, 1e-9, 0.3, 0.5, 1 - 1e-9, 1.0])
    assert_allclose(logit(inner), special.logit(inner), rtol=1e-12)


def test_sigmoid_derivative_is_h_times_one_minus_h():
    z = np.linspace(-8, 8, 33)
    assert_allclose(sigmoid_derivative(z), sigmoid(z) * (1 - sigmoid(z)), rtol=1e-10)
    assert_allclose(sigmoid_derivative(z), (sigmoid(z + 1e-6) - sigmoid(z - 1e-6)) / 2e-6, atol=1e-9)


@given(st.floats(-700, 5))
def test_logit_odds_and_sigmoid_are_inverses(z):
    assert_allclose(logit(sigmoid(z)), z, rtol=1e-12, atol=1e-13)
    assert_allclose(odds(sigmoid(-abs(z))), np.exp(-abs(z)), rtol=1e-12)
    assert_allclose(odds_to_probability(np.exp(z)), sigmoid(z), rtol=1e-12)


@given(scores, st.floats(-500, 500))
def test_softmax_properties(z, shift):
    p = softmax(z)
    assert p.min() >= 0
    assert_allclose(p.sum(), 1, rtol=1e-12)
    assert_allclose(softmax(z + shift), p, atol=1e-12)
    assert_allclose(log_softmax(z), special.log_softmax(z), rtol=1e-12, atol=1e-12)
    assert_allclose(log_sum_exp(z), special.logsumexp(z), rtol=1e-12, atol=1e-12)
    jacobian = softmax_jacobian(z)
    assert_allclose(jacobian, jacobian.T)
    assert_allclose(jacobian.sum(axis=1), 0, atol=1e-12)
    assert np.linalg.eigvalsh(jacobian)[0] >= -1e-12


@pytest.mark.parametrize("level", [-1e300, -1e18, 1e18, 1e300])
def test_softmax_of_scores_that_are_all_huge(level):
    np.testing.assert_allclose(np.exp(log_softmax(np.full((1, 4), level))), 0.25)
    np.testing.assert_allclose(softmax(np.full((1, 4), level)), 0.25)


def test_log_sum_exp_of_nothing_possible():
    assert log_sum_exp([-np.inf, -np.inf]) == -np.inf
    assert log_sum_exp([np.inf, 0.0]) == np.inf
    assert_allclose(log_sum_exp([[0.0, -np.inf], [1.0, 1.0]], axis=1), [0.0, 1.0 + np.log(2)])
    assert_allclose(log_sum_exp(np.zeros((2, 3)), axis=None), np.log(6))


def test_unit_step():
    assert_allclose(unit_step([-0.1, 0, 0.1], at_zero=1), [0, 1, 1])


@pytest.mark.parametrize(
    "function",
    [sigmoid, sigmoid_derivative, softplus, log_sigmoid, softmax, log_softmax, unit_step, log_sum_exp],
)
def test_float32_stays(function):
    z = np.array([-200.0, -1.0, 0.0, 3.0, 200.0], dtype=np.float32)
    result = function(z)
    assert result.dtype == np.float32
    assert_allclose(result, function(z.astype(float)), rtol=3e-6, atol=1e-30)
    assert np.all(z == [-200, -1, 0, 3, 200])


def test_monotone_root_survives_a_flat_start():
    target = np.array([1e-6, 0.3, 0.999999])
    root = monotone_root(
        lambda u: (special.expit(50 * u) - target, 50 * sigmoid_derivative(50 * u)),
        np.full(3, -9.0),
        np.full(3, 9.0),
    )
    assert_allclose(root, logit(target) / 50, rtol=1e-9)


@pytest.mark.parametrize("p", [-0.1, 1.1, np.nan])
def test_probabilities_are_checked(p):
    for function in (logit, odds):
        with pytest.raises(ValueError, match=r"p must lie in \[0, 1\], got"):
            function([0.5, p])
    with pytest.raises(ValueError, match="odds must be at least 0"):
        odds_to_probability(-1.0)

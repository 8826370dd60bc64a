"""Stochastic gradient descent and its update rules. (The chapter's numbers are among the texts' examples.)"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tercet.core.steps import ConvergenceWarning
from tercet.optimize import (
    METHODS,
    RULES,
    SGD,
    AdaGrad,
    Adam,
    Momentum,
    Nesterov,
    Quadratic,
    RMSProp,
    ewma,
    ewma_weights,
    minimize,
    stochastic_gradient,
)

gradients = st.lists(st.floats(-10, 10), min_size=1, max_size=12)


def walk(rule, gs, theta=0.0):
    path = [np.array([theta])]
    for g in gs:
        path.append(rule.step(path[-1], np.array([g])))
    return np.ravel(path)


@given(gradients, st.floats(0, 0.99))
def test_averages_equal_their_closed_forms(gs, beta):
    momentum, rms = Momentum(1.0, beta1=beta), RMSProp(1.0, beta2=beta)
    walk(momentum, gs), walk(rms, gs)
    weights = ewma_weights(len(gs), beta)
    assert momentum.averages["v"][0] == pytest.approx(weights @ gs, abs=1e-9)
    assert rms.averages["s"][0] == pytest.approx(weights @ np.square(gs), abs=1e-9)
    assert ewma(gs, beta)[-1] == pytest.approx(weights @ gs, abs=1e-9)
    corrected = ewma(gs, beta, bias_correction=True)
    assert corrected[-1] == pytest.approx(weights @ gs / weights.sum(), abs=1e-9)


@given(gradients)
def test_beta_zero_is_sgd(gs):
    plain = walk(SGD(0.1), gs)
    np.testing.assert_array_equal(walk(Momentum(0.1, beta1=0.0), gs), plain)
    np.testing.assert_array_equal(walk(Nesterov(0.1, beta1=0.0), gs), plain)


@given(gradients, st.floats(0, 0.99))
def test_sum_convention_is_another_learning_rate(gs, beta):
    average = walk(Momentum(0.1, beta1=beta), gs)
    total = walk(Momentum(0.1 * (1 - beta), beta1=beta, average=False), gs)
    np.testing.assert_allclose(total, average, atol=1e-9)


@given(st.floats(1e-3, 1e3), st.sampled_from([-1.0, 1.0]))
def test_first_step_of_adam_is_the_learning_rate(size, sign):
    assert Adam(0.1).step([0.0], [sign * size])[0] == pytest.approx(-0.1 * sign, rel=1e-2)
    assert AdaGrad(0.1, eps=0.0).step([0.0], [sign * size])[0] == pytest.approx(-0.1 * sign)


def test_rmsprop_without_memory_follows_signs():
    path = walk(RMSProp(0.1, beta2=0.0, eps=0.0), [5.0, -0.01, 300.0])
    np.testing.assert_allclose(np.diff(path), [-0.1, 0.1, -0.1])


def test_averages_are_not_overwritten_by_their_correction():
    """Equations 29.10 and 29.11 print the corrected values under the names of the averages."""
    gs = [1.0, 2.0, 3.0]
    adam = Adam()
    walk(adam, gs)
    assert adam.averages["v"][0] == pytest.approx(ewma(gs, 0.9)[-1])
    assert adam.averages["s"][0] == pytest.approx(ewma(np.square(gs), 0.999)[-1])


def test_adam_without_correction():
    v, s = 0.1 * 2.0, 0.001 * 4.0
    step = Adam(1.0, bias_correction=False, eps=0.0).step([0.0], [2.0])
    np.testing.assert_allclose(step, [-v / np.sqrt(s)])


def test_schedules_decay_and_clip():
    np.testing.assert_allclose(
        np.diff(walk(SGD(1.0, schedule="inverse", decay=0.5), [1, 1, 1])), [-1, -1 / 1.5, -0.5]
    )
    np.testing.assert_allclose(
        np.diff(walk(SGD(1.0, schedule="power", decay=0.5), [1, 1])), [-1, -1 / np.sqrt(2)]
    )
    np.testing.assert_allclose(np.diff(walk(SGD(1.0, schedule=lambda t: 1 / t), [1, 1])), [-1, -0.5])
    np.testing.assert_allclose(SGD(1.0, clip=1.0).step([0.0, 0.0], [3.0, 4.0]), [-0.6, -0.8])
    np.testing.assert_allclose(SGD(1.0, clip=10.0).step([0.0, 0.0], [3.0, 4.0]), [-3, -4])
    np.testing.assert_allclose(SGD(0.1, weight_decay=0.5).step([2.0], [1.0]), [2 - 0.1 * (1 + 1)])
    np.testing.assert_allclose(
        Adam(0.1, weight_decay=0.5, decoupled=True, eps=0.0).step([2.0], [1.0]), [2 - 0.1 - 0.1]
    )


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_a_method_that_finds_the_minimum(name):
    f = Quadratic(np.diag([1.0, 3.0]), [1.0, -1.0])
    result = minimize(
        f, [0.0, 0.0], method=name, learning_rate=0.1, schedule="power", decay=0.1, max_iter=20_000
    )
    assert name in METHODS
    np.testing.assert_allclose(result.x, [1.0, -1 / 3], atol=1e-2 if name in ("rmsprop", "adagrad") else 1e-5)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("momentum", {"learning_rate": 0.05, "beta1": 0.95}),
        ("nesterov", {"learning_rate": 0.05, "beta1": 0.95}),
        ("rmsprop", {"learning_rate": 0.002}),
        ("adam", {"learning_rate": 0.01}),
    ],
)
def test_fewer_passes_than_sgd_in_a_narrow_valley(name, options):
    f, low = Quadratic(np.diag([1.0, 500.0])), 1e-3
    until = {"stop": "gradient", "tol": low, "max_iter": 5000}
    plain = minimize(f, [1.0, 1.0], method="sgd", learning_rate=1 / 500, **until)
    quick = minimize(
        f, [1.0, 1.0], method=name, callback=lambda s: s.measures["fun"] < low, **options, **until
    )
    passes = np.flatnonzero(np.array(plain.history["fun"]) < low)[0] + 1
    assert quick.nit < passes


class LinearRegression:
    """J = 1/2 sum (x.theta - y)^2 (Machine Learning in Depth eq. 2.3)."""

    def __init__(self, n=40):
        rng = np.random.default_rng(0)
        self.X = np.column_stack([np.ones(n), rng.normal(size=n)])
        self.y = self.X @ [1.0, 2.0]

    def value_and_gradient(self, theta):
        r = self.X @ theta - self.y
        return r @ r / 2, self.X.T @ r

    def value(self, theta):
        return self.value_and_gradient(theta)[0]

    def gradient(self, theta):
        return self.value_and_gradient(theta)[1]

    def batch(self, theta, rows):
        return self.X[rows].T @ (self.X[rows] @ theta - self.y[rows])


@pytest.mark.parametrize(("size", "rate"), [(1, 0.05), (7, 0.02), (40, 0.01)])
def test_one_sample_a_batch_or_all(size, rate):
    f = LinearRegression()
    options = {"batch_gradient": f.batch, "n_samples": 40, "batch_size": size, "learning_rate": rate}
    result = minimize(f, [0.0, 0.0], method="sgd", **options)
    assert result.success
    np.testing.assert_allclose(result.x, [1.0, 2.0], atol=1e-5)
    again = minimize(f, [0.0, 0.0], method="sgd", **options)
    np.testing.assert_array_equal(again.x, result.x)


def test_one_pass_visits_each_sample_once_in_a_seeded_order():
    seen = []

    def batch(theta, rows):
        seen.append(rows.copy())
        return np.zeros(1)

    def run(**options):
        seen.clear()
        stochastic_gradient(
            lambda x: 1.0, [0.0], batch_gradient=batch, n_samples=10, batch_size=4, max_iter=1, **options
        )
        return np.concatenate(seen)

    np.testing.assert_array_equal(run(shuffle=False), np.arange(10))
    assert [rows.size for rows in seen] == [4, 4, 2]
    first, other = run(random_state=1), run(random_state=2)
    np.testing.assert_array_equal(np.sort(first), np.arange(10))
    np.testing.assert_array_equal(first, run(random_state=1))
    assert not np.array_equal(first, other)


@settings(max_examples=10, deadline=None)
@given(st.floats(2.1, 5.0))
def test_divergence_is_told(rate):
    with pytest.warns(ConvergenceWarning, match="not finite"), np.errstate(over="ignore", invalid="ignore"):
        result = minimize(Quadratic([[1.0]]), [1.0], method="sgd", learning_rate=rate, max_iter=100_000)
    assert not result.success


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SGD(-1.0), r"SGD: learning_rate must be in \[0, inf\); got -1.0"),
        (lambda: Adam(beta2=1.0), r"Adam: beta2 must be in \[0, 1.0\); got 1.0"),
        (
            lambda: SGD(schedule="cosine"),
            r"schedule must be 'constant', .* got 'cosine'",
        ),
        (lambda: ewma([1.0], 1.0), r"beta must be in \[0, 1\); got 1.0"),
        (lambda: stochastic_gradient(sum, [0.0], rule="adamax"), r"rule must be .* got 'adamax'"),
        (
            lambda: stochastic_gradient(sum, [0.0], rule=Adam(), eps=1.0),
            "parameters already; got also eps",
        ),
        (
            lambda: stochastic_gradient(sum, [0.0], batch_gradient=max),
            "n_samples and batch_size must be",
        ),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import (
    log_loss,
)

from tercet import losses as L
from tests.losses.losses_under_test import CONVEX, SCALAR, name, targets

# derivatives, bounds, proximal steps


@pytest.mark.parametrize("one", SCALAR, ids=name)
def test_gradient_and_curvature_against_differences(one):
    rng = np.random.default_rng(1)
    f, h = rng.normal(scale=1.5, size=400), 1e-5
    y = targets(one, f.size, rng)
    slope = (one.value(y, f + h) - one.value(y, f - h)) / (2 * h)
    bend = (one.gradient(y, f + h) - one.gradient(y, f - h)) / (2 * h)
    # a difference that straddles a kink tells nothing
    smooth = np.abs(bend) < 1e4
    assert smooth.mean() > 0.98
    assert_allclose(one.gradient(y, f)[smooth], slope[smooth], rtol=1e-6, atol=1e-6)
    assert_allclose(one.curvature(y, f)[smooth], bend[smooth], rtol=1e-6, atol=1e-6)
    value, gradient = one.value_and_gradient(y, f)
    assert_allclose(value, one.value(y, f), rtol=1e-12, atol=1e-15)
    assert_allclose(gradient, one.gradient(y, f), rtol=1e-12, atol=1e-15)
    assert np.all(one.curvature(y, f) <= one.smoothness + 1e-12)
    assert np.all(value >= -1e-14)


@pytest.mark.parametrize("one", CONVEX, ids=name)
def test_the_gradient_is_a_subgradient_even_at_kinks(one):
    rng = np.random.default_rng(2)
    y = targets(one, 300, rng)
    f = np.where(rng.random(300) < 0.5, np.round(2 * y + rng.integers(-2, 3, 300)) / 2, rng.normal(size=300))
    other = f + rng.normal(size=300)
    assert np.all(one.value(y, other) >= one.value(y, f) + one.gradient(y, f) * (other - f) - 1e-9)


@pytest.mark.parametrize("one", CONVEX, ids=name)
@pytest.mark.parametrize("step", [0.0, 1e-3, 0.5, 3.0, 100.0])
def test_prox_is_the_minimiser(one, step):
    rng = np.random.default_rng(3)
    f = np.concatenate([rng.normal(scale=2, size=100), [0.0, 1.0, -1.0, 30.0, -30.0]])
    y = targets(one, f.size, rng)
    u = one.prox(y, f, step)

    def objective(v):
        return step * one.value(y, v) + 0.5 * (v - f) ** 2

    best = objective(u)
    assert np.all(np.isfinite(u))
    for move in (1e-1, 1e-3, -1e-3, -1e-1):
        assert np.all(objective(u + move) >= best - 1e-9 * (1 + np.abs(best)))
    # the objective bends at least like (u - f)^2 / 2, so moving away must cost at least half the square
    assert np.all(objective(u + 1e-3) >= best + 0.49e-6 - 1e-12 * (1 + np.abs(best)))
    assert_allclose(one.prox(y, f, np.full_like(f, step)), u, rtol=1e-12, atol=1e-14)


def test_logistic_prox_solves_its_equation_to_the_last_digits():
    f = np.linspace(-50, 50, 201)
    for step in (1e-6, 1.0, 1e4):
        u = L.Logistic().prox(1, f, step)
        assert_allclose(u, f + step / (1 + np.exp(u)), rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("power", [1.01, 1.5, 1.99])
@pytest.mark.parametrize("y", [0.0, 2.0, 1e4])
def test_tweedie_prox_solves_its_equation(power, y):
    one, f = L.Tweedie(power=power), np.array([-50.0, -3.0, 0.0, 4.0, 30.0, 2000.0])
    assert_array_equal(one.prox(y, f, 0.0), f)
    for step in (1e-3, 1.0, 1e4):
        u = one.prox(y, f, step)
        # what a last digit of f or u is worth in the equation
        digit = np.finfo(float).eps * (np.abs(f) + np.abs(u)) * (1 + step * one.curvature(y, u))
        assert np.all(np.abs(u - f + step * one.gradient(y, u)) <= 20 * digit)


@pytest.mark.parametrize("step", [0.0, 1e-9, 0.5, 30.0, 1e4])
def test_multinomial_prox_solves_its_equation(step):
    one, rng = L.Multinomial(), np.random.default_rng(4)
    f = np.vstack([rng.normal(scale=3, size=(50, 4)), [[0, 900, -900, 1], [1e4, 1e4, -1e4, 0]]])
    y, soft = rng.integers(0, 4, 52), rng.dirichlet(np.ones(4), 52)
    for truth in (y, soft):
        u = one.prox(truth, f, step)
        assert_allclose(u + step * one.gradient(truth, u), f, rtol=1e-12, atol=1e-12 * (1 + step))
        steps = np.where(np.arange(52) % 2, step, 0.7)
        assert_allclose(one.prox(truth, f, steps)[1::2], u[1::2], rtol=1e-12, atol=1e-12 * (1 + step))
    # two classes: half the difference of the scores moves as a log-odds with the doubled step
    u = one.prox([1], [[-0.4, 0.4]], step)
    assert_allclose(u[0, 1] - u[0, 0], L.Binomial().prox(1, 0.8, 2 * step), rtol=1e-9)


def test_losses_without_a_proximal_step_say_why():
    with pytest.raises(
        TypeError, match="the ZeroOne loss has no proximal step: of the scores that are right"
    ):
        L.ZeroOne(margin=True).prox([1], [0.5], 1.0)
    with pytest.raises(TypeError, match="the Log loss has no proximal step: f is a probability"):
        L.Log().prox([1], [0.5], 1.0)
    for one in (L.InverseGaussian(), L.Tweedie(power=0)):
        with pytest.raises(ValueError, match=rf"power of .* must lie in \[1, 2\].*got {one.power}"):
            one.prox([1.0], [0.5], 1.0)


# extremes


def test_nothing_overflows_or_loses_its_digits():
    f = np.array([-1e5, -800.0, -40.0, 40.0, 800.0, 1e5])
    for one in (L.Logistic(), L.Binomial()):
        value, gradient = one.value_and_gradient(1, f)
        assert_allclose(value, np.where(f < 0, -f, np.exp(-np.abs(f))), rtol=1e-12)
        assert_allclose(gradient, np.where(f < 0, -1.0, -np.exp(-np.abs(f))), rtol=1e-12)
        assert_allclose(one.gradient(1, f), gradient, rtol=1e-12)
    assert_allclose(L.Binomial().value(0.25, f), np.where(f < 0, -0.25 * f, 0.75 * f), rtol=1e-12)
    scores = np.array([[1e4, 0.0, -1e4]])
    assert_allclose(L.Multinomial().value([2], scores), [2e4])
    assert_allclose(L.Multinomial().gradient([2], scores), [[1.0, 0.0, -1.0]])
    assert L.Exponential().value(1, -1e4) == np.inf
    assert L.Poisson().value(1, 1e4) == np.inf


def test_float32_extremes():
    f = np.array([-1e6, -95.0, -87.0, -80.0, 80.0, 87.0, 1e6], dtype=np.float32)
    value, gradient = L.Logistic().value_and_gradient(1, f)
    assert_allclose(value, np.where(f < 0, -f, np.exp(-np.abs(f))), rtol=2e-6)
    assert_allclose(gradient, np.where(f < 0, -1.0, -np.exp(-np.abs(f))), rtol=2e-6)


def test_the_named_subgradients_at_kinks():
    assert L.Perceptron().gradient([1, -1], [0.0, 0.0]).tolist() == [-1, 1]
    assert L.Hinge().gradient([1, -1], [1.0, -1.0]).tolist() == [-1, 1]
    assert L.SquaredHinge().curvature(1, 1.0) == 0
    for one in (L.Absolute(), L.Quantile(0.9), L.EpsilonInsensitive(0.0)):
        assert one.gradient(2.0, 2.0) == 0
    assert L.EpsilonInsensitive(0.5).gradient(0.0, [0.5, -0.5]).tolist() == [0, 0]


def test_log_loss_is_infinite_at_zero_unless_clipped():
    assert_array_equal(L.Log().value([1, 0], [0.0, 0.0]), [np.inf, 0.0])
    assert_allclose(L.Log(clip=1e-6).value([1, 0], [[1.0, 0.0], [0.5, 0.5]]), [-np.log(1e-6), np.log(2)])


def test_log_loss_derivatives_are_in_the_probability():
    p, h = np.array([0.2, 0.7, 0.9]), 1e-6
    y, one = np.array([1, 0, 1]), L.Log()
    assert_allclose(one.gradient(y, p), (one.value(y, p + h) - one.value(y, p - h)) / (2 * h), rtol=1e-6)
    assert_allclose(
        one.curvature(y, p), (one.gradient(y, p + h) - one.gradient(y, p - h)) / (2 * h), rtol=1e-6
    )
    table = np.stack([1 - p, p], axis=1)
    assert_allclose(one.value(y, table), one.value(y, p))
    assert_allclose(one.gradient(y, table), [[0, -5], [-1 / 0.3, 0], [0, -1 / 0.9]])
    assert_allclose(one.curvature(y, table).sum(axis=1), one.curvature(y, p))


@pytest.mark.parametrize("classes", [2, 3, 12])
def test_multinomial_derivatives(classes):
    rng = np.random.default_rng(4)
    f, y, one, h = rng.normal(size=(20, classes)), rng.integers(0, classes, 20), L.Multinomial(), 1e-6
    soft = rng.dirichlet(np.ones(classes), 20)
    for truth in (y, soft):
        value, gradient = one.value_and_gradient(truth, f)
        assert_allclose(value, one.value(truth, f))
        hessian = one.hessian(truth, f)
        for k in range(classes):
            move = np.zeros(classes)
            move[k] = h
            up, down = one.value_and_gradient(truth, f + move), one.value_and_gradient(truth, f - move)
            assert_allclose(gradient[:, k], (up[0] - down[0]) / (2 * h), atol=1e-8)
            assert_allclose(hessian[:, k], (up[1] - down[1]) / (2 * h), atol=1e-8)
        assert_allclose(np.einsum("ikk->ik", hessian), one.curvature(truth, f))
        assert np.linalg.eigvalsh(hessian).max() <= one.smoothness + 1e-12
    assert one.total(y, f) == pytest.approx(log_loss(y, one.mean(f), labels=range(classes)))
    assert_allclose(one.value(y, np.asfortranarray(f)), one.value(y, f), rtol=1e-14)


def test_two_classes_multinomial_binomial_and_logistic_are_one_loss():
    rng = np.random.default_rng(5)
    f, y = rng.normal(scale=3, size=30), rng.integers(0, 2, 30)
    scores = np.stack([np.zeros(30), f], axis=1)
    assert_allclose(L.Binomial().value(y, f), L.Multinomial().value(y, scores), rtol=1e-9, atol=1e-14)
    assert_allclose(L.Binomial().value(y, f), L.Logistic().value(2 * y - 1, f))
    assert_allclose(L.Binomial().value(y, f), L.Log().value(y, L.Binomial().mean(f)), rtol=1e-9, atol=1e-14)
    assert_allclose(
        L.Binomial().gradient(y, f), L.Multinomial().gradient(y, scores)[:, 1], rtol=1e-9, atol=1e-14
    )

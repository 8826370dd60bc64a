from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import HuberRegressor
from sklearn.metrics import (
    d2_tweedie_score,
    hinge_loss,
    log_loss,
    mean_gamma_deviance,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_tweedie_deviance,
)

from tercet.core import losses as L
from tercet.core.losses import LOSSES, loss

MARGIN = [
    L.Hinge(),
    L.SquaredHinge(),
    L.Perceptron(),
    L.ModifiedHuber(),
    L.Logistic(),
    L.Logistic(2),
    L.Exponential(),
]
RESIDUAL = [
    L.Squared(),
    L.Squared(half=True),
    L.Absolute(),
    L.Huber(0.7),
    L.Quantile(0.2),
    L.EpsilonInsensitive(0.3),
    L.SquaredEpsilonInsensitive(0.3),
]
LOG_LINK = [
    L.Poisson(),
    L.Gamma(),
    L.Tweedie(power=1.5),
    L.Tweedie(power=1.1),
    L.Tweedie(power=1),
    L.Tweedie(power=2),
    L.InverseGaussian(),
]
SCALAR = [*MARGIN, *RESIDUAL, L.Binomial(), *LOG_LINK]
CONVEX = [one for one in SCALAR if not isinstance(one, L.InverseGaussian)]


def targets(one, size, rng):
    if one.margin:
        return rng.choice([-1.0, 1.0], size)
    if isinstance(one, L.Binomial):
        return rng.choice([0.0, 1.0], size)
    return rng.gamma(2.0, size=size) + 0.1


def name(one):
    return repr(one)


# the texts' numbers


def test_margin_losses_of_the_text():
    m = np.array([-2, -1, -0.5, 0, 0.5, 1, 2])
    expected = {
        L.ZeroOne(margin=True): [1, 1, 1, 1, 0, 0, 0],
        L.Hinge(): [3, 2, 1.5, 1, 0.5, 0, 0],
        L.Logistic(): [
            2.1269280110,
            1.3132616875,
            0.9740769842,
            0.6931471806,
            0.4740769842,
            0.3132616875,
            0.1269280110,
        ],
        L.Logistic(2): [
            3.0685084939,
            1.8946361240,
            1.4052960345,
            1.0,
            0.6839485141,
            0.4519410831,
            0.1831184121,
        ],
        L.Exponential(): [
            7.3890560989,
            2.7182818285,
            1.6487212707,
            1.0,
            0.6065306597,
            0.3678794412,
            0.1353352832,
        ],
    }
    for one, values in expected.items():
        assert_allclose(one.value(1, m), values, atol=1e-10)
        assert_allclose(one.value(-1, -m), values, atol=1e-10)


@given(st.floats(-30, 30))
def test_which_losses_bound_the_zero_one_loss(m):
    mistake = L.ZeroOne(margin=True).value(1, m)
    for one in (L.Hinge(), L.SquaredHinge(), L.Exponential(), L.Logistic(base=2)):
        assert one.value(1, m) >= mistake
    # the natural logarithm does not: below 1 at margins above -0.5413
    assert L.Logistic().value(1, -0.5) < 1 < L.Logistic().value(1, -0.5414)


def test_first_losses_of_the_text():
    y, f = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 5.0])
    assert_array_equal(L.ZeroOne().value(y, f), [0, 1, 1])
    assert_array_equal(L.Squared().value(y, f), [0, 4, 4])
    assert_array_equal(L.Absolute().value(y, f), [0, 2, 2])
    assert L.ZeroOne().total([0, 1, 1, 2, 2, 2], [0, 1, 2, 2, 2, 0]) == pytest.approx(1 / 3)


def test_cross_entropy_of_the_text():
    one, z = L.Multinomial(), np.array([[1.0, 2.0, 3.0]])
    gradient = [[0.0900305732, -0.7552715289, 0.6652409558]]
    for y in ([1], [[0, 1, 0]]):
        assert_allclose(one.value(y, z), [1.4076059644], atol=1e-10)
        assert_allclose(one.gradient(y, z), gradient, atol=1e-10)
    assert_allclose(L.Log().value([1], [[0.1, 0.7, 0.2]]), [0.35667494], atol=1e-8)
    assert_allclose(one.gradient([1], np.log([[0.1, 0.7, 0.2]])), [[0.1, -0.3, 0.2]], atol=1e-12)
    z = np.log([[0.23055803, 0.45509336, 0.31434861]])
    assert_allclose(one.value([1], z), [0.78725269], atol=1e-7)


def test_likelihood_of_the_text():
    x, t = np.arange(6), np.array([0, 0, 1, 0, 1, 1])
    one = L.Binomial()
    for (w, b), nll in [
        ((0, 0), 4.158883083),
        ((0.8, -2.0), 2.606451462),
        ((1.21402759, -3.03506896), 2.477986835),
    ]:
        assert one.total(t, w * x + b, average=False) == pytest.approx(nll, abs=1e-8)


def test_perceptron_loss_in_the_notation_with_zero_and_one():
    rng = np.random.default_rng(0)
    f, y = rng.normal(size=50), rng.integers(0, 2, 50)
    assert_allclose(L.Perceptron().value(2 * y - 1, f), ((f >= 0) - y) * f)


def test_squared_loss_of_a_logistic_model_is_not_convex():
    def curvature(theta):
        s = 1 / (1 + np.exp(-theta))
        return -2 * s * (1 - s) ** 2 * (1 - 3 * s)

    assert_allclose(
        [curvature(-2.0), curvature(0.0), curvature(2.0)], [-0.118814169, 0.125, 0.041110834], atol=1e-9
    )
    assert np.all(L.Binomial().curvature(1, np.array([-2.0, 0.0, 2.0])) > 0)


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


# peers


def test_agreement_with_scikit_learn_metrics():
    rng = np.random.default_rng(6)
    f, w = rng.normal(size=60), rng.random(60)
    y, mu = rng.gamma(2.0, size=60) + 0.01, np.exp(f)
    counts, signs = rng.poisson(1.0, 60), rng.choice([-1, 1], 60)
    assert 2 * L.Poisson().total(counts, f, w) == pytest.approx(
        mean_poisson_deviance(counts, mu, sample_weight=w)
    )
    assert 2 * L.Gamma().total(y, f, w) == pytest.approx(mean_gamma_deviance(y, mu, sample_weight=w))
    for power in (0, 1, 1.3, 1.9, 2, 2.5, 3):
        ours = 2 * L.Tweedie(power=power).total(y, f, w)
        assert ours == pytest.approx(mean_tweedie_deviance(y, mu, sample_weight=w, power=power))
    assert L.InverseGaussian() == L.InverseGaussian(power=3.0)
    assert L.Quantile(0.3).total(y, f, w) == pytest.approx(
        mean_pinball_loss(y, f, sample_weight=w, alpha=0.3)
    )
    assert L.Hinge().total(signs, f, w) == pytest.approx(hinge_loss(signs, f, sample_weight=w))
    constant = np.full(60, np.log(np.average(y, weights=w)))
    explained = 1 - L.Tweedie(power=1.5).total(y, f, w) / L.Tweedie(power=1.5).total(y, constant, w)
    assert explained == pytest.approx(d2_tweedie_score(y, mu, sample_weight=w, power=1.5))


def test_huber_is_stationary_at_the_fit_of_scikit_learn():
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(80, 2)), rng.standard_t(2, size=80)
    peer = HuberRegressor(alpha=0.0, tol=1e-10, max_iter=1000).fit(x, y)
    one = L.Huber(peer.epsilon * peer.scale_)
    slope = one.gradient(y, peer.predict(x))
    assert_allclose(x.T @ slope / np.abs(slope).sum(), 0, atol=1e-5)


def test_the_best_constant_is_the_statistic_it_should_be():
    rng = np.random.default_rng(8)
    y = rng.gamma(2.0, size=101)
    grid = np.linspace(0.01, 6, 6001)
    for one, best, link in [
        (L.Squared(), y.mean(), lambda c: c),
        (L.Absolute(), np.median(y), lambda c: c),
        (L.Quantile(0.8), np.quantile(y, 0.8), lambda c: c),
        (L.Poisson(), y.mean(), np.log),
        (L.Gamma(), y.mean(), np.log),
        (L.InverseGaussian(), y.mean(), np.log),
    ]:
        risks = [one.total(y, np.full(y.size, link(c))) for c in grid]
        assert grid[np.argmin(risks)] == pytest.approx(best, abs=2e-3)


def test_leaving_out_constants_changes_the_value_only():
    y, f = np.array([0.5, 1.0, 4.0]), np.array([0.1, -0.3, 1.0])
    for kind in (L.Poisson, L.Gamma, L.Tweedie, L.InverseGaussian):
        full, bare = kind(), kind(full=False)
        assert_allclose(full.gradient(y, f), bare.gradient(y, f))
        difference = full.value(y, f) - bare.value(y, f)
        assert_allclose(difference, full.value(y, 0 * f) - bare.value(y, 0 * f), atol=1e-14)
        assert_allclose(full.value(y, np.log(y)), 0, atol=1e-14)


# the interface


@pytest.mark.parametrize("one", SCALAR, ids=name)
def test_float32_stays_and_inputs_are_untouched(one):
    rng = np.random.default_rng(9)
    y = targets(one, 50, rng)
    f = rng.normal(size=50).astype(np.float32)
    kept_y, kept_f = y.copy(), f.copy()
    results = [one.value(y, f), one.gradient(y, f), one.curvature(y, f), *one.value_and_gradient(y, f)]
    if one in CONVEX:
        results.append(one.prox(y, f, np.float64(0.5)))
    assert {r.dtype for r in results} == {np.dtype(np.float32)}
    assert_allclose(results[0], one.value(y, f.astype(float)), rtol=2e-5, atol=2e-6)
    assert_array_equal(y, kept_y)
    assert_array_equal(f, kept_f)
    assert np.ndim(one.value(y[0], 0.5)) == 0
    assert np.ndim(one.value_and_gradient(y[0], 0.5)[1]) == 0


def test_multinomial_float32():
    f = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    value, gradient = L.Multinomial().value_and_gradient(np.arange(9) % 4, f)
    assert value.dtype == gradient.dtype == np.float32


def test_total_weighs_and_sums_in_double_precision():
    y, f = np.zeros(3), np.array([1.0, 2.0, 3.0])
    one = L.Squared()
    assert one.total(y, f) == pytest.approx(14 / 3)
    assert one.total(y, f, average=False) == 14
    assert one.total(y, f, sample_weight=[2, 0, 1]) == pytest.approx(11 / 3)
    assert one.total(y, f, sample_weight=[2, 0, 1]) == one.total(np.zeros(3), [1, 1, 3])
    assert one.total(y, f, sample_weight=[2, 0, 1], average=False) == 11
    many = np.full(2**24 + 10, np.float32(1))
    assert one.total(0.0, many, average=False) == many.size
    with pytest.raises(ValueError, match="sample_weight must sum to more than 0"):
        one.total(y, f, sample_weight=[0, 0, 0])


def test_registry_makes_every_loss():
    made = {key: loss(key) for key in LOSSES}
    assert {type(one) for one in made.values()} == set(LOSSES.values())
    assert loss("huber", delta=2.0) == L.Huber(2.0) != L.Huber(3.0)
    assert {key for key, one in made.items() if one.margin} == {
        "hinge",
        "squared_hinge",
        "perceptron",
        "modified_huber",
        "logistic",
        "exponential",
    }
    with pytest.raises(ValueError, match=r"name must be one of .*'hinge'.*got 'hings'"):
        loss("hings")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: L.Huber(0), "delta of Huber must be a finite number above 0, got 0"),
        (lambda: L.Quantile(1), "quantile of Quantile must lie strictly between 0 and 1, got 1"),
        (
            lambda: L.EpsilonInsensitive(-1),
            "epsilon of EpsilonInsensitive must be a finite number, at least 0",
        ),
        (lambda: L.Logistic(base=1), "base of Logistic must be a finite number above 1, got 1"),
        (lambda: L.Tweedie(power=0.5), r"power of Tweedie must be finite and outside \(0, 1\), got 0.5"),
        (lambda: L.Log(clip=0.7), r"clip of Log must lie in \[0, 0.5\), got 0.7"),
        (lambda: L.Hinge().check([1, 0]), r"y of the Hinge loss must be -1 or \+1, got .*0"),
        (lambda: L.ZeroOne(margin=True).check([1, 2]), "y of the ZeroOne loss must be -1 or"),
        (lambda: L.Squared().check([1.0, np.nan]), "y of the Squared loss must be finite, got .*nan"),
        (lambda: L.Squared().check(["a"]), "y of the Squared loss must be finite, got .*'a'"),
        (lambda: L.Log().check(["a"]), "y of the Log loss must be a class code.*got .*'a'"),
        (lambda: L.Poisson().check([-1.0]), "must be finite and at least 0, got .*-1"),
        (lambda: L.Gamma().check([0.0]), "must be finite and above 0, got .*0"),
        (lambda: L.Tweedie(power=1.5).check([-0.5]), "must be finite and at least 0, got .*-0.5"),
        (lambda: L.InverseGaussian().check([0.0]), "must be finite and above 0"),
        (lambda: L.Binomial().check([0, 2]), r"y of the Binomial loss must lie in \[0, 1\], got .*2"),
        (lambda: L.Multinomial().check([0.5]), "must hold class codes"),
        (lambda: L.Multinomial().check([[0.5, 0.6]]), "rows of probabilities that sum to 1"),
        (lambda: L.Log().check([-1]), "must be a class code"),
    ],
)
def test_errors_name_the_value_and_what_is_allowed(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_checks_let_good_targets_pass():
    for one, y in [
        (L.Hinge(), [-1, 1]),
        (L.ZeroOne(), ["a", "b"]),
        (L.Absolute(), [-3.5, 2]),
        (L.Binomial(), [0, 0.5, 1]),
        (L.Multinomial(), [0, 3]),
        (L.Multinomial(), [[0.25, 0.75]]),
        (L.Poisson(), [0, 2]),
        (L.Gamma(), [0.1]),
        (L.Tweedie(power=0), [-1.0]),
    ]:
        assert one.check(y) is None

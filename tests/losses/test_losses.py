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
    mean_gamma_deviance,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_tweedie_deviance,
)

from tercet import losses as L
from tercet.losses import LOSSES, loss
from tests.losses.losses_under_test import CONVEX, SCALAR, name, targets

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

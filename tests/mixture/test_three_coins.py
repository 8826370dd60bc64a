"""The three-coin model: the text's numbers, and what cannot be known."""

import warnings

import numpy as np
import pytest

from tercet.mixture import ThreeCoins

Y = np.array([1, 1, 0, 1, 0, 0, 1, 0, 1, 1])[:, None]
TOP = 6 * np.log(0.6) + 4 * np.log(0.4)


def coins(model):
    return np.array([model.pi_, model.p_, model.q_])


def test_example_9_1():
    model = ThreeCoins(init=(0.5, 0.5, 0.5)).fit(Y)
    np.testing.assert_allclose(coins(model), [0.5, 0.6, 0.6], rtol=1e-12)
    np.testing.assert_allclose(10 * np.array(model.lower_bounds_[:2]), [-6.9314718056, TOP], atol=1e-9)
    model = ThreeCoins(init=(0.4, 0.6, 0.7)).fit(Y)
    np.testing.assert_allclose(coins(model), [76 / 187, 51 / 95, 119 / 185], rtol=1e-12)
    np.testing.assert_allclose(10 * np.array(model.lower_bounds_[:2]), [-6.8083313093, TOP], atol=1e-9)
    assert 10 * model.score(Y) == pytest.approx(TOP)


def test_responsibilities_of_the_first_e_step():
    model = ThreeCoins(init=(0.4, 0.6, 0.7)).fit(Y)
    model.pi_, model.p_, model.q_ = 0.4, 0.6, 0.7
    np.testing.assert_allclose(model.predict_proba([[1], [0]])[:, 0], [4 / 11, 8 / 17])


@pytest.mark.parametrize("seed", range(6))
def test_one_pass_reaches_the_maximum_and_the_share_of_heads(seed):
    model = ThreeCoins(random_state=seed).fit(Y)
    assert model.pi_ * model.p_ + (1 - model.pi_) * model.q_ == pytest.approx(0.6)
    assert 10 * model.lower_bounds_[1] == pytest.approx(TOP)
    assert model.n_iter_ <= 3


def test_equal_coins_stay_equal():
    model = ThreeCoins(init=(0.3, 0.2, 0.2), tol=0, max_iter=5).fit(Y)
    np.testing.assert_allclose(coins(model), [0.3, 0.6, 0.6])


def test_several_tosses_tell_the_coins_apart():
    truth = ThreeCoins(init=(0.4, 0.85, 0.2), random_state=0).fit(np.ones((1, 8)))
    truth.pi_, truth.p_, truth.q_ = 0.4, 0.85, 0.2
    X, coin = truth.sample(4000)
    model = ThreeCoins(init=(0.5, 0.7, 0.3)).fit(X)
    np.testing.assert_allclose(coins(model), [0.4, 0.85, 0.2], atol=0.03)
    assert (model.labels_ == coin).mean() > 0.9
    assert (np.diff(model.lower_bounds_) >= -1e-10).all()
    assert model.bic(X) > model.aic(X) > -2 * len(X) * model.score(X)
    assert ThreeCoins(random_state=1, n_init=4).fit(X).lower_bound_ == pytest.approx(
        model.lower_bound_, abs=1e-4
    )


def test_missing_tosses_say_nothing():
    X = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0.0]])
    wide = np.column_stack([X, np.full(4, np.nan)])
    one, other = (ThreeCoins(init=(0.5, 0.7, 0.4)).fit(rows) for rows in (X, wide))
    np.testing.assert_array_equal(coins(one), coins(other))
    np.testing.assert_allclose(other.predict_proba(np.full((1, 4), np.nan)), [[other.pi_, 1 - other.pi_]])


def test_weights_are_repetitions():
    weight = np.array([1, 2, 0, 3, 1, 1, 0, 2, 1, 1])
    some = ThreeCoins(init=(0.4, 0.6, 0.7)).fit(Y, sample_weight=weight)
    many = ThreeCoins(init=(0.4, 0.6, 0.7)).fit(np.repeat(Y, weight, axis=0))
    np.testing.assert_allclose(coins(some), coins(many), rtol=1e-12)


def test_coins_that_always_fall_the_same_way():
    """p = 1 and q = 0: 0 log 0 is 0, and what is impossible is impossible."""
    model = ThreeCoins(init=(0.5, 0.9, 0.2)).fit(np.array([[1, 1, 1], [0, 0, 0], [1, 1, 1.0]]))
    model.p_, model.q_, model.pi_ = 1.0, 0.0, 2 / 3
    np.testing.assert_allclose(
        np.exp(model.score_samples([[1, 1, 1], [0, 0, 0], [1, 0, 1]])), [2 / 3, 1 / 3, 0]
    )
    np.testing.assert_allclose(model.predict_proba([[1, 1, 1], [0, 0, np.nan]]), [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"init": (0.5, 0.5)}, "init must be 3 probabilities from 0 to 1"),
        ({"init": (0.5, 0.5, 1.5)}, "init must be 3 probabilities"),
        ({"init": ("a", "b", "c")}, "init must be 3 probabilities"),
        ({"tol": -1.0}, "parameter 'tol'"),
    ],
)
def test_wrong_parameters(parameters, words):
    with pytest.raises(ValueError, match=words):
        ThreeCoins(**parameters).fit(Y)


def test_only_zeros_and_ones_where_nothing_is_to_be_cut():
    with pytest.raises(ValueError, match=r"must be from 0 to 1; there is 2\.0"):
        ThreeCoins(binarize=None).fit([[1], [2]])
    model = ThreeCoins(binarize=5, init=(0.4, 0.6, 0.7)).fit(10 * Y)
    np.testing.assert_allclose(coins(model), [76 / 187, 51 / 95, 119 / 185], rtol=1e-12)


def test_a_coin_that_is_never_chosen():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ThreeCoins(init=(1.0, 0.3, 0.7)).fit(np.array([[1.0], [0.0], [1.0]]))
    assert model.pi_ == 1
    assert model.p_ == pytest.approx(2 / 3)

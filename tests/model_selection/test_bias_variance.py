"""Bias, variance and noise add up to the error; known cases have known terms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier, DummyRegressor

from tercet.model_selection import bias_variance, bias_variance_of_predictions


class Lookup(RegressorMixin, BaseEstimator):
    """Target of the nearest training value of the only feature."""

    def fit(self, X, y):
        self.x_, self.y_ = np.ravel(X), y
        return self

    def predict(self, X):
        return self.y_[np.abs(np.ravel(X)[:, None] - self.x_).argmin(axis=1)]


class LookupClassifier(ClassifierMixin, Lookup):
    """The same for labels."""


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.random(n // 3), 3)  # each row three times: noise can be seen
    return x[:, None], np.sin(6 * x) + rng.normal(scale=0.3, size=n)


@pytest.mark.parametrize("estimator", [Lookup(), DummyRegressor()])
def test_terms_add_up(estimator):
    X, y = data()
    found = bias_variance(estimator, X, y, X, y, n_repeats=20, random_state=0)
    assert_allclose(found.error, found.bias + found.variance + found.noise)
    assert found.noise > 0


@pytest.mark.parametrize("labels", [["a", "b"], ["a", "b", "c"]])
def test_terms_of_an_error_rate_add_up(labels):
    X, y = data()
    y = np.array(labels)[np.digitize(y, np.quantile(y, np.linspace(0, 1, len(labels) + 1)[1:-1]))]
    found = bias_variance(LookupClassifier(), X, y, X, y, n_repeats=20, random_state=0)
    assert_allclose(found.error, found.bias + found.variance + found.noise)
    constant = bias_variance(DummyClassifier(strategy="constant", constant="a"), X, y, X, y, n_repeats=3)
    assert constant.variance == 0
    assert_allclose(constant.error, np.mean(y != "a"))


def test_stiff_methods_have_bias_and_flexible_ones_variance():
    X, y = data()
    stiff, flexible = (
        bias_variance(model, X, y, X, y, n_repeats=30, random_state=0)
        for model in (DummyRegressor(), Lookup())
    )
    assert stiff.bias > 10 * stiff.variance
    assert flexible.variance > flexible.bias
    assert_allclose(stiff.noise, flexible.noise)


def test_seed_decides_and_threads_do_not():
    X, y = data()
    one = bias_variance(Lookup(), X, y, X, y, n_repeats=5, random_state=3)
    assert one == bias_variance(Lookup(), X, y, X, y, n_repeats=5, random_state=3, n_jobs=3)
    assert one != bias_variance(Lookup(), X, y, X, y, n_repeats=5, random_state=4)


def test_rows_without_a_double_have_no_noise():
    X = np.arange(10.0)[:, None]
    assert bias_variance(DummyRegressor(), X, X.ravel(), X, X.ravel(), n_repeats=2).noise == 0


def test_bad_input_is_named():
    X, y = data()
    with pytest.raises(ValueError, match="n_repeats must be an integer of at least 1; got 0"):
        bias_variance(Lookup(), X, y, X, y, n_repeats=0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        bias_variance(Lookup(), X, y[1:], X, y)


def test_domingos_terms_add_up_and_agree_without_noise():
    X, y = data()
    labels = np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))]
    options = {"n_repeats": 20, "random_state": 0}
    wolpert = bias_variance(LookupClassifier(), X, labels, X, labels, **options)
    domingos = bias_variance(LookupClassifier(), X, labels, X, labels, decomposition="domingos", **options)
    assert_allclose(domingos.error, wolpert.error)
    assert_allclose(domingos.error, domingos.bias + domingos.variance + domingos.noise)
    alone = bias_variance_of_predictions([["a", "b"], ["a", "b"]], ["a", "a"], decomposition="domingos")
    assert alone == (0.5, 0.5, 0.0, 0.0)


def test_variance_helps_where_the_majority_is_wrong():
    """Domingos: two classes, error = bias + variance of unbiased rows - variance of biased rows."""
    rng = np.random.default_rng(0)
    votes, y = rng.integers(2, size=(9, 40)), rng.integers(2, size=40)
    main = (votes.mean(axis=0) > 0.5).astype(int)
    spread = (votes != main).mean(axis=0)
    found = bias_variance_of_predictions(votes, y, decomposition="domingos")
    assert_allclose(found.bias, np.mean(main != y))
    assert_allclose(found.variance, np.mean(np.where(main == y, spread, -spread)))
    assert_allclose(found.error, np.mean(votes != y))


def test_terms_of_given_predictions_with_known_noise():
    found = bias_variance_of_predictions([[1.0, 1.0], [3.0, 3.0]], [3.0, 5.0], groups=["x", "x"])
    assert found == (6.0, 4.0, 1.0, 1.0)


def test_ensemble_still_has_it():
    from tercet import ensemble

    assert ensemble.bias_variance is bias_variance


@pytest.mark.parametrize(
    ("predictions", "y", "options", "says"),
    [
        ([[1.0]], [1.0], {"decomposition": "breiman"}, "decomposition must be one of .* got 'breiman'"),
        ([1.0], [1.0], {}, r"shape \(n_models, n_samples\)"),
        ([[1.0, 2.0]], [1.0], {}, r"got \(1, 2\) and \(1,\)"),
        ([[1.0, 2.0]], [1.0, 2.0], {"groups": [1]}, "a number for each of the 2 rows; got 1"),
    ],
)
def test_refusals_of_predictions(predictions, y, options, says):
    with pytest.raises(ValueError, match=says):
        bias_variance_of_predictions(predictions, y, **options)

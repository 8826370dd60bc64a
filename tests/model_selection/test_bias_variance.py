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

"""Log-linear regression."""

import numpy as np
import pytest

from tercet.linear_model import GeneralizedLinearRegressor, LinearRegression, LogLinearRegression


def test_is_least_squares_on_the_logarithm():
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((50, 3)), rng.uniform(0.5, 2, 50)
    y = np.exp(X @ [0.5, -1.0, 0.2] + 1.0 + 0.1 * rng.standard_normal(50))
    model, other = LogLinearRegression().fit(X, y, weight), LinearRegression().fit(X, np.log(y), weight)
    general = GeneralizedLinearRegressor(link="log", strategy="least_squares").fit(X, y, weight)
    np.testing.assert_allclose(model.coef_, other.coef_)
    np.testing.assert_allclose(model.predict(X), np.exp(other.predict(X)))
    np.testing.assert_allclose(model.predict(X), general.predict(X))


def test_recovers_an_exponential():
    x = np.arange(4.0)[:, None]
    model = LogLinearRegression().fit(x, np.exp(0.5 * x[:, 0] + 1))
    np.testing.assert_allclose([*model.coef_, model.intercept_], [0.5, 1.0])


def test_target_must_be_positive():
    with pytest.raises(ValueError, match=r"y must be above 0; its smallest value is 0\.0"):
        LogLinearRegression().fit([[1], [2], [3]], [1, 0, 2])

"""Polynomial curve fitting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import check_estimator

from tercet.datasets.texts.ch01 import T, X
from tercet.linear_model import LinearRegression, PolynomialRegression, Ridge


@pytest.mark.parametrize("model", [PolynomialRegression(2), PolynomialRegression(2, alpha=0.1)])
def test_conformance(model):
    assert [r for r in check_estimator(model, on_fail=None) if r["status"] == "failed"] == []


def test_training_error_falls_with_the_degree():
    errors = [np.sum((T - PolynomialRegression(M).fit(X, T).predict(X)) ** 2) for M in range(10)]
    assert np.all(np.diff(errors) <= 1e-12)
    assert errors[9] < 1e-20


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 8), st.sampled_from([0.0, 1000.0]))
def test_recovers_a_polynomial_wherever_its_range_lies(seed, degree, shift):
    rng = np.random.default_rng(seed)
    x = np.linspace(-1, 1, 30)
    y = np.polynomial.chebyshev.chebval(x, rng.standard_normal(degree + 1))
    model = PolynomialRegression(degree).fit(x[:, None] + shift, y)
    np.testing.assert_allclose(model.predict(x[:, None] + shift), y, atol=1e-9)


def test_agrees_with_numpy_on_weights():
    x, rng = np.linspace(0, 2, 40), np.random.default_rng(0)
    y, weight = np.sin(3 * x) + 0.1 * rng.standard_normal(40), rng.uniform(0.1, 2, 40)
    model = PolynomialRegression(5).fit(x[:, None], y, weight)
    np.testing.assert_allclose(model.weights_, np.polyfit(x, y, 5, w=np.sqrt(weight))[::-1], rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_products_of_several_features(alpha):
    rng = np.random.default_rng(0)
    Z = rng.uniform(-2, 3, (80, 3))
    y = 1 + Z[:, 0] * Z[:, 1] - 2 * Z[:, 2] ** 3 + 0.1 * rng.standard_normal(80)
    model = PolynomialRegression(3, alpha=alpha, penalize_intercept=False).fit(Z, y)
    features = PolynomialFeatures(3)
    powers = features.fit_transform(Z)[:, 1:]
    other = LinearRegression(tol=1e-14) if alpha == 0 else Ridge(alpha=80 * alpha / 2, solver="svd")
    other.fit(powers, y)
    np.testing.assert_array_equal(model.powers_, features.powers_)
    np.testing.assert_allclose(model.weights_[1:], other.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.predict(Z), other.predict(powers), rtol=1e-8)


def test_penalty_on_the_constant_is_a_choice():
    y = np.array(T) + 100.0
    free = PolynomialRegression(1, alpha=10.0, penalize_intercept=False).fit(X, y)
    held = PolynomialRegression(1, alpha=10.0).fit(X, y)
    assert free.weights_[0] > 99
    assert held.weights_[0] < 50


def test_degree_by_cross_validation():
    model = PolynomialRegression("cv", cv=10, max_degree=6).fit(X, T)
    assert model.degree_ == int(np.argmin(model.cv_errors_)) == 3
    left_out = []
    for i in range(10):
        rest = [j for j in range(10) if j != i]
        fit = PolynomialRegression(3).fit([X[j] for j in rest], [T[j] for j in rest])
        left_out.append((T[i] - fit.predict([X[i]])[0]) ** 2)
    assert model.cv_errors_[3] == pytest.approx(np.mean(left_out))


def test_too_many_terms_is_an_error():
    with pytest.raises(ValueError, match="degree=9 with 30 features makes 211915132 terms; at most 8000"):
        PolynomialRegression(9).fit(np.ones((3, 30)), [1, 2, 3])


def test_a_row_of_weight_0_is_none():
    """With more terms than rows, the solution of smallest norm is one on the range of the rows that count."""
    rng = np.random.default_rng(0)
    Z, y, weight = rng.random((12, 4)), rng.random(12), np.arange(12) % 3
    some = weight > 0
    whole = PolynomialRegression(3).fit(Z, y, sample_weight=weight)
    np.testing.assert_allclose(
        whole.predict(Z), PolynomialRegression(3).fit(Z[some], y[some], weight[some]).predict(Z), rtol=1e-8
    )

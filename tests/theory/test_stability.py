"""Stability of learners of which it is known, and the bounds."""

import numpy as np
import pytest

from tercet.linear_model import Ridge
from tercet.neighbors import KNeighborsClassifier
from tercet.theory import stability, stability_bound


class Mean:
    """Predicts the mean of y: leaving out row i changes it by (mean - y_i) / (m - 1)."""

    def get_params(self, deep=False):
        return {}

    def fit(self, X, y):
        self.mean = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean)


def absolute(y, f):
    return abs(y - f)


def test_the_mean_is_stable_with_one_over_m():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 1)), rng.random(20)
    found = stability(Mean(), X, y, absolute, X_test=[[0.0]], y_test=[1.0])
    np.testing.assert_allclose(found.changes, abs(y.mean() - y) / 19, atol=1e-15)
    assert found.beta == found.changes.max() <= 1 / 19
    assert found.mean_change <= found.beta
    assert found.empirical_loss == pytest.approx(abs(y - y.mean()).mean())
    assert found.leave_one_out_loss == pytest.approx(found.empirical_loss * 20 / 19)
    assert found.test_loss == pytest.approx(1 - y.mean())
    assert found.n_samples == 20


def test_threads_and_chosen_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] > 0
    one, two = (stability(KNeighborsClassifier(1), X, y, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.changes, two.changes)
    assert one.beta == 1.0  # a row of the 1-nearest neighbour rule decides alone
    assert one.empirical_loss == 0.0
    some = stability(KNeighborsClassifier(1), X, y, max_rows=5)
    assert len(some.changes) == 5
    assert set(some.changes) <= set(one.changes)


def test_regularisation_makes_ridge_stable():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(25, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.normal(size=25)
    betas = [
        stability(Ridge(alpha=a, fit_intercept=False), X, y, absolute).beta for a in (1.0, 100.0, 1000.0)
    ]
    assert betas[0] > betas[1] > betas[2]


def test_bounds_of_the_text():
    assert stability_bound(0.01, 100, 0.05) == pytest.approx(0.6319367077, abs=1e-10)
    assert stability_bound(0.01, 100, 0.05, 0.2, kind="leave-one-out") == pytest.approx(
        0.8219367077, abs=1e-10
    )
    beta_1_m = 2 / 100 + (4 + 1) * np.sqrt(np.log(20) / 200)  # 9.40
    assert stability_bound(1 / 100, 100, 0.05) == pytest.approx(beta_1_m)


def test_the_bound_holds_for_the_mean():
    """Absolute loss of the mean of m numbers in [0, 1], uniformly stable with 1 / m."""
    rng = np.random.default_rng(3)
    m, failures = 200, 0
    for _ in range(300):
        y = rng.random(m)
        risk = 0.25 + (y.mean() - 0.5) ** 2  # E |y - c| of the uniform distribution
        failures += risk > stability_bound(1 / m, m, 0.1, abs(y - y.mean()).mean())
    assert failures / 300 <= 0.1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: stability(Mean(), [[1.0]], [1.0]), "needs at least 2 rows; got 1"),
        (lambda: stability(Mean(), np.ones((3, 1)), [1, 2, 3], X_test=[[1.0]]), "must be given together"),
        (lambda: stability(Mean(), np.ones((3, 1)), [1, 2, 3], lambda y, f: 0.0), "one number for each row"),
        (lambda: stability_bound(-1, 10, 0.1), "beta must be .* got -1"),
        (lambda: stability_bound(0.1, 10, 0.1, 3.0, largest_loss=2.0), r"must be in \[0, largest_loss=2\]"),
        (
            lambda: stability_bound(0.1, 10, 0.1, kind="loo"),
            "kind must be one of 'empirical', 'leave-one-out'",
        ),
    ],
)
def test_refusals(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_without_a_loss_a_regressor_is_judged_by_the_squared_error():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(15, 2)), rng.normal(size=15)
    found, asked = stability(Ridge(), X, y), stability(Ridge(), X, y, lambda t, f: (t - f) ** 2)
    assert found.beta == asked.beta > 0
    np.testing.assert_array_equal(found.changes, asked.changes)

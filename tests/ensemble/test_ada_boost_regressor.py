"""AdaBoost.R2."""

import numpy as np
import pytest
from sklearn import ensemble as peer
from sklearn.datasets import make_regression

from tercet.ensemble import AdaBoostRegressor
from tercet.linear_model import LinearRegression
from tercet.tree import DecisionTreeRegressor


@pytest.fixture(scope="module")
def data():
    return make_regression(120, 4, noise=10.0, random_state=0)


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_as_good_as_scikit_learn(data, loss):
    X, y = data
    ours = AdaBoostRegressor(n_estimators=30, loss=loss, random_state=0).fit(X, y)
    theirs = peer.AdaBoostRegressor(n_estimators=30, loss=loss, random_state=0).fit(X, y)
    assert ours.score(X, y) > theirs.score(X, y) - 0.03
    assert ours.score(X, y) > DecisionTreeRegressor(max_depth=3).fit(X, y).score(X, y)


def test_one_round_by_hand():
    X, y = np.arange(6.0)[:, None], np.array([0.0, 0.0, 0.0, 10.0, 10.0, 16.0])
    model = AdaBoostRegressor(DecisionTreeRegressor(max_depth=1), n_estimators=2, sampling="weight").fit(X, y)
    # the stump says 0 and 12: residuals 0, 0, 0, 2, 2, 4
    error = (0.5 + 0.5 + 1.0) / 6
    assert model.estimator_errors_[0] == pytest.approx(error)
    assert model.estimator_weights_[0] == pytest.approx(np.log((1 - error) / error))


@pytest.mark.parametrize("sampling", ["weight", "resample"])
def test_recorded_weights_are_those_of_the_rounds(data, sampling):
    X, y = data
    options = {"n_estimators": 5, "sampling": sampling, "random_state": 0}
    model = AdaBoostRegressor(record=True, **options).fit(X, y)
    D = np.array(model.history_["D"])
    np.testing.assert_allclose(D.sum(axis=1), 1.0)
    for m, member in enumerate(model):
        residual = np.abs(member.predict(X) - y)
        loss, error = residual / residual.max(), model.history_["error"][m]
        assert D[m] @ loss == pytest.approx(error)
        assert (
            model.history_["alpha"][m] == model.estimator_weights_[m] == pytest.approx(np.log(1 / error - 1))
        )
        if m + 1 < len(D):
            moved = D[m] * (error / (1 - error)) ** (1 - loss)
            np.testing.assert_allclose(D[m + 1], moved / moved.sum())
    plain = AdaBoostRegressor(**options).fit(X, y)
    assert "D" not in plain.history_
    assert plain.predict(X).tobytes() == model.predict(X).tobytes()


def test_members_without_errors_and_with_too_many():
    X = np.arange(1.0, 9.0)[:, None]
    exact = AdaBoostRegressor(LinearRegression(), n_estimators=5, random_state=0).fit(X, 2 * X[:, 0])
    np.testing.assert_allclose(exact.predict(X), 2 * X[:, 0])
    constant = AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, np.full(8, 3.0))
    np.testing.assert_array_equal(constant.predict(X), 3.0)


def test_staged_predictions_end_at_the_prediction(data):
    X, y = data
    model = AdaBoostRegressor(n_estimators=6, random_state=1).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == len(model)
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    assert list(model.staged_score(X, y))[-1] == pytest.approx(model.score(X, y))
    assert model.feature_importances_.sum() == pytest.approx(1.0)

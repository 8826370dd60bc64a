"""Bagging."""

import numpy as np
import pandas
import polars
import pytest
from sklearn import ensemble as peer
from sklearn.datasets import load_diabetes, load_iris

from tercet.ensemble import BaggingClassifier, BaggingRegressor, RandomForestRegressor
from tercet.linear_model import LinearRegression, Perceptron
from tercet.neighbors import KNeighborsClassifier
from tercet.tree import DecisionTreeClassifier


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_members_are_fitted_on_their_samples(iris):
    X, y = iris
    model = BaggingClassifier(n_estimators=3, max_features=2, random_state=0).fit(X, y)
    for member, rows, columns in zip(model, model.estimators_samples_, model.estimators_features_):
        counts = np.bincount(rows, minlength=len(y))
        alone = DecisionTreeClassifier().fit(X[:, columns], y, counts)
        np.testing.assert_array_equal(member.predict(X[:, columns]), alone.predict(X[:, columns]))
        assert len(set(columns)) == 2
    mean = np.mean([m.predict_proba(X[:, c]) for m, c in zip(model, model.estimators_features_)], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), mean)


def test_out_of_bag(iris):
    X, y = iris
    model = BaggingClassifier(n_estimators=25, oob_score=True, random_state=0).fit(X, y)
    theirs = peer.BaggingClassifier(n_estimators=25, oob_score=True, random_state=0).fit(X, y)
    assert model.oob_score_ == pytest.approx(theirs.oob_score_, abs=0.03)
    assert model.oob_decision_function_.shape == (150, 3)
    X, y = load_diabetes(return_X_y=True)
    regressor = BaggingRegressor(LinearRegression(), n_estimators=25, oob_score=True, random_state=0).fit(
        X, y
    )
    assert regressor.oob_score_ == pytest.approx(LinearRegression().fit(X, y).score(X, y), abs=0.05)


def test_members_without_probabilities_vote(iris):
    X, y = iris
    model = BaggingClassifier(Perceptron(), n_estimators=4, random_state=0).fit(X, y)
    votes = np.array([member.predict(X) for member in model])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], (votes == 1).mean(axis=0))
    assert model.decision_function(X).shape == (150, 3)
    with pytest.raises(AttributeError, match="decision_function"):
        _ = BaggingClassifier(DecisionTreeClassifier()).decision_function


def test_random_subspace_and_weights(iris):
    X, y = iris
    subspace = BaggingClassifier(
        KNeighborsClassifier(3), n_estimators=5, bootstrap=False, max_features=0.5, random_state=0
    ).fit(X, y)
    assert all(sorted(rows) == list(range(150)) for rows in subspace.estimators_samples_)
    assert subspace.score(X, y) > 0.9
    odd = np.arange(150) % 2
    weighted = BaggingClassifier(n_estimators=3, random_state=0).fit(X, y, odd)
    assert all((rows % 2 == 1).all() for rows in weighted.estimators_samples_)


def test_same_members_for_any_number_of_threads(iris):
    X, y = iris
    one, two = (BaggingClassifier(n_estimators=4, random_state=2, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.predict_proba(X).tobytes() == two.predict_proba(X).tobytes()
    grown = BaggingClassifier(n_estimators=2, random_state=2, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=4).fit(X, y)
    assert grown.predict_proba(X).tobytes() == one.predict_proba(X).tobytes()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"oob_score": True, "bootstrap": False}, "bootstrap=True"),
        ({"max_features": 9}, "max_features"),
        ({"max_samples": 200, "bootstrap": False}, "max_samples"),
        ({"estimator": "tree"}, "'estimator'"),
    ],
)
def test_bad_settings(iris, settings, message):
    with pytest.raises(ValueError, match=message):
        BaggingClassifier(**settings).fit(*iris)


@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame])
def test_columns_of_a_frame_drawn_twice(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    frame = kind({name: X[:, k] for k, name in enumerate("abc")})
    settings = {"n_estimators": 4, "bootstrap_features": True, "random_state": 0}
    found, expected = (BaggingRegressor(**settings).fit(rows, y).predict(rows) for rows in (frame, X))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_weights_beside_rows_of_other_floats(dtype):
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
    settings = {"n_estimators": 2, "max_samples": 3, "random_state": 0}
    found, expected = (
        BaggingRegressor(**settings).fit(rows, y, sample_weight=y + 1).predict(X)
        for rows in (X.astype(dtype), X)
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [BaggingRegressor, RandomForestRegressor])
def test_more_rows_than_can_be_drawn(kind):
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
    with pytest.raises(ValueError, match=r"max_samples=0.5 means 3e\+12 rows .* at most 10000000\."):
        kind(max_samples=0.5).fit(X, y, sample_weight=np.full(6, 1e12))


def test_rows_without_weight_are_not_drawn():
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
    weight = np.array([1.0, 0.0, 2.0, 1e-320, 1.0, 1.0])
    model = BaggingRegressor(n_estimators=2, bootstrap=False).fit(X, y, sample_weight=weight)
    assert [sorted(rows) for rows in model.estimators_samples_] == [[0, 2, 3, 4, 5]] * 2

"""Nested cross-validation and errors against complexity: what is scored, and on which rows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneOut, cross_validate

from tercet.linear_model import LassoCV, LogisticRegression, PolynomialRegression, Ridge
from tercet.model_selection import (
    complexity_curve,
    corrected_interval,
    leave_one_out,
    nested_cross_validation,
)
from tercet.neighbors import KNeighborsClassifier
from tercet.tree import DecisionTreeClassifier


def noise(n=120, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.integers(2, size=n)


def test_nested_scores_are_those_of_cross_validation_of_the_search():
    X, y = noise()
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 9]}, cv=3)
    found = nested_cross_validation(search, X, y, cv=4)
    plain = cross_validate(search, X, y, cv=4, return_estimator=True)
    assert_allclose(found.scores, plain["test_score"])
    assert found.best_params == [model.best_params_ for model in plain["estimator"]]
    assert_allclose(found.inner_scores, [model.best_score_ for model in plain["estimator"]])
    assert_allclose(found.optimism, found.inner_scores.mean() - found.scores.mean())
    assert (found.low, found.high) == corrected_interval(found.scores, n_train=90, n_test=30)
    frame = nested_cross_validation(search, pd.DataFrame(X), y, cv=4, n_jobs=2)
    assert_allclose(frame.scores, found.scores)


def test_choosing_among_much_noise_is_optimistic():
    """Nothing to learn: the outer score is near chance, the inner best above it."""
    inner, outer = [], []
    for seed in range(6):
        X, y = noise(60, seed)
        search = GridSearchCV(
            DecisionTreeClassifier(), {"random_state": range(12), "max_features": [1]}, cv=3
        )
        found = nested_cross_validation(search, X, y)
        inner.append(found.inner_scores.mean())
        outer.append(found.score)
    assert np.mean(inner) > np.mean(outer) + 0.05
    assert abs(np.mean(outer) - 0.5) < 0.1


def test_nested_with_groups_scoring_and_no_inner_score():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y, groups = X[:, 0] + 0.1 * rng.normal(size=60), np.repeat(np.arange(12), 5)
    found = nested_cross_validation(
        LassoCV(cv=3), X, y, cv=GroupKFold(3), groups=groups, scoring="neg_mean_squared_error"
    )
    assert found.score < 0
    assert np.isnan(found.optimism)
    assert found.best_params == [{}, {}, {}]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"cv": [(np.arange(50), np.arange(50, 60))]}, "cv must have at least 2 folds; got 1"),
        ({"scoring": lambda model, X, y: float("nan")}, "must be a number; got nan"),
        ({"confidence": 1.5}, "confidence must be between 0 and 1"),
    ],
)
def test_nested_refusals(options, says):
    X, y = noise(60)
    with pytest.raises(ValueError, match=says):
        nested_cross_validation(KNeighborsClassifier(3), X, y, **options)


def curve_data(n=30):
    rng = np.random.default_rng(3)
    x = np.sort(rng.random(n))
    return x[:, None], np.sin(2 * np.pi * x) + 0.2 * rng.normal(size=n)


def test_training_error_falls_and_validation_error_rises_again():
    """Li section 1.4.2: the statement of Fig 1.9."""
    X, y = curve_data()
    degrees = range(13)
    curve = complexity_curve(
        PolynomialRegression(),
        X,
        y,
        parameter="degree",
        values=degrees,
        cv=KFold(5, shuffle=True, random_state=0),
    )
    assert (np.diff(curve.training) < 1e-12).all()
    best = curve.best()
    assert 3 <= best < 9
    assert curve.validation[0] > curve.validation[best] < curve.validation[-1]
    assert curve.best("training") == 12
    assert_allclose(curve.structural, curve.training)


def test_errors_by_their_definitions():
    X, y = curve_data()
    model = Ridge(0.1)
    alphas = [0.01, 0.1, 1.0]
    curve = complexity_curve(
        model,
        X,
        y,
        parameter="alpha",
        values=alphas,
        cv=LeaveOneOut(),
        complexity=lambda fitted: float(fitted.coef_ @ fitted.coef_),
        lam=0.5,
        n_jobs=2,
    )
    for k, alpha in enumerate(alphas):
        fitted = Ridge(alpha).fit(X, y)
        assert_allclose(curve.training[k], np.mean((y - fitted.predict(X)) ** 2))
        assert_allclose(curve.structural[k], curve.training[k] + 0.5 * fitted.coef_ @ fitted.coef_)
        assert_allclose(curve.validation[k], np.mean((y - leave_one_out(Ridge(alpha), X, y)) ** 2))
    half = np.arange(len(y)) % 2 == 0
    held = complexity_curve(
        model, X[half], y[half], parameter="alpha", values=alphas, validation=(X[~half], y[~half])
    )
    assert_allclose(
        held.validation,
        [np.mean((y - Ridge(a).fit(X[half], y[half]).predict(X))[~half] ** 2) for a in alphas],
    )


def test_classes_have_error_rates():
    X, y = noise()
    y = np.where(X[:, 0] > 0, "yes", "no")
    curve = complexity_curve(
        DecisionTreeClassifier(random_state=0), X, y, parameter="max_depth", values=[1, 2, None], cv=3
    )
    assert ((curve.validation >= 0) & (curve.validation <= 1)).all()
    assert curve.best() == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"values": []}, "values must have at least one"),
        ({"lam": -1.0}, "lam must be a finite number"),
        ({"lam": 1.0}, "lam=1.0 needs complexity"),
    ],
)
def test_curve_refusals(options, says):
    X, y = noise(30)
    with pytest.raises(ValueError, match=says):
        complexity_curve(LogisticRegression(), X, y, **{"parameter": "C", "values": [1.0], **options})
    with pytest.raises(ValueError, match="criterion must be"):
        complexity_curve(LogisticRegression(), X, y, parameter="C", values=[1.0], cv=2).best("test")

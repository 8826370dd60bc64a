"""Stacking of regressors: features out of fold, and agreement with scikit-learn."""

import numpy as np
import pytest
import sklearn.ensemble
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.tree import DecisionTreeRegressor

from tercet.ensemble import StackingRegressor
from tercet.linear_model import RidgeCV

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
y = X @ [1.0, 2.0, 0.0] + np.abs(X[:, 2]) + 0.2 * rng.normal(size=90)
MEMBERS = [("line", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=4, random_state=0))]


@pytest.mark.parametrize(
    "options", [{}, {"passthrough": True}, {"cv": KFold(3, shuffle=True, random_state=1)}]
)
def test_scikit_learn_says_the_same(options):
    ours, theirs = (
        kind(MEMBERS, Ridge(0.1), **options).fit(X, y)
        for kind in (StackingRegressor, sklearn.ensemble.StackingRegressor)
    )
    assert_allclose(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.final_estimator_.coef_, theirs.final_estimator_.coef_)
    assert_allclose(ours.transform(X), theirs.transform(X))


def test_default_final_learns_from_rows_out_of_fold():
    model = StackingRegressor(MEMBERS).fit(X, y)
    held_out = np.column_stack([cross_val_predict(member, X, y) for _, member in MEMBERS])
    assert isinstance(model.final_estimator_, RidgeCV)
    assert_allclose(model.final_estimator_.coef_, RidgeCV().fit(held_out, y).coef_)
    seen = RidgeCV().fit(model.transform(X), y)  # of rows that the tree knows: it trusts the tree too much
    assert seen.coef_[1] > model.final_estimator_.coef_[1]


def test_prefit_members_stay_as_they_are():
    fitted = [(name, member.fit(X[:45], y[:45])) for name, member in MEMBERS]
    model = StackingRegressor(fitted, cv="prefit").fit(X[45:], y[45:])
    assert model.estimators_ == [member for _, member in fitted]
    assert_allclose(model.transform(X), np.column_stack([member.predict(X) for _, member in fitted]))


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_weights_reach_all_levels(n_jobs):
    w = rng.random(90)
    model = StackingRegressor(MEMBERS, LinearRegression(), n_jobs=n_jobs).fit(X, y, w)
    assert_allclose(model.estimators_[0].coef_, LinearRegression().fit(X, y, w).coef_)
    parts = []
    for _, member in MEMBERS:
        column = np.empty(90)
        for train, test in KFold(5).split(X):
            column[test] = member.fit(X[train], y[train], sample_weight=w[train]).predict(X[test])
        parts.append(column)
    final = LinearRegression().fit(np.column_stack(parts), y, w)
    assert_allclose(model.final_estimator_.coef_, final.coef_)


def test_bad_final_is_named():
    from sklearn.naive_bayes import GaussianNB

    with pytest.raises(ValueError, match="'final_estimator' parameter should be a regressor"):
        StackingRegressor(MEMBERS, GaussianNB()).fit(X, y)

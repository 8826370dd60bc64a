"""Averages of regressors: given and learned weights."""

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from numpy.testing import assert_allclose
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeRegressor

from tercet.ensemble import VotingRegressor, error_ambiguity, least_squares_weights

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
y = X @ [1.0, 2.0, 0.0] + np.abs(X[:, 2]) + 0.2 * rng.normal(size=90)
MEMBERS = [
    ("line", LinearRegression()),
    ("tree", DecisionTreeRegressor(max_depth=4, random_state=0)),
    ("mean", DummyRegressor()),
]


@pytest.mark.parametrize("weights", [None, [1, 2, 0.5], pd.Series([1, -0.5, 2], index=list("abc"))])
def test_scikit_learn_says_the_same(weights):
    ours, theirs = (
        kind(MEMBERS, weights=weights).fit(X, y)
        for kind in (VotingRegressor, sklearn.ensemble.VotingRegressor)
    )
    assert_allclose(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.transform(X), theirs.transform(X))


def test_an_average_is_better_than_its_members_are_on_average():
    model = VotingRegressor(MEMBERS).fit(X, y)
    found = error_ambiguity(model.transform(X), y)
    assert_allclose(np.mean((model.predict(X) - y) ** 2), found.error)
    assert found.error < found.mean_error


def test_learned_weights_come_from_rows_that_members_have_not_seen():
    held_out = np.column_stack([cross_val_predict(member, X, y) for _, member in MEMBERS])
    inverse = VotingRegressor(MEMBERS, weights="inverse_error").fit(X, y)
    errors = ((held_out - y[:, None]) ** 2).mean(axis=0)
    assert_allclose(inverse.weights_, (1 / errors) / (1 / errors).sum())
    squares = VotingRegressor(MEMBERS, weights="least_squares").fit(X, y)
    assert_allclose(squares.weights_, least_squares_weights(held_out, y))
    assert_allclose(squares.predict(X), squares.transform(X) @ squares.weights_)
    others = [inverse.weights_, np.full(3, 1 / 3)]
    best = np.mean((held_out @ squares.weights_ - y) ** 2)
    assert all(best <= np.mean((held_out @ other - y) ** 2) for other in others)


def test_cv_is_a_partition():
    splits = [(np.arange(45, 90), np.arange(45))]
    with pytest.raises(ValueError, match="every row in one test set; row 45 is in 0 of those"):
        VotingRegressor(MEMBERS, weights="inverse_error", cv=splits).fit(X, y)

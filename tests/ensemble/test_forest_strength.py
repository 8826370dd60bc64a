"""Strength and correlation of forests against the definitions, and Breiman's bound."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tercet.ensemble import RandomForestClassifier, forest_strength
from tercet.ensemble.forest.forest_strength import strength_of_votes


def test_votes_by_hand():
    # three members, two rows of class 0: margins 1 and 1/3
    found = strength_of_votes(np.array([[0, 0], [0, 0], [0, 1]]), np.ones((3, 2), bool), np.array([0, 0]), 2)
    assert found.strength == pytest.approx(2 / 3)
    # the margins of the members are (1, 1), (1, 1) and (1, -1): deviations 0, 0 and 1
    assert found.correlation == pytest.approx((1 / 9) / (1 / 3) ** 2)


def test_correlation_is_the_mean_over_pairs_of_members():
    rng = np.random.default_rng(0)
    answers, y = rng.integers(0, 2, size=(6, 400)), np.zeros(400, int)
    answers[1:] = np.where(rng.random((5, 400)) < 0.5, answers[0], answers[1:])  # correlated members
    margins = np.where(answers == 0, 1.0, -1.0)
    deviation = margins.std(axis=1)
    found = strength_of_votes(answers, np.ones(answers.shape, bool), y, 2)
    weights = np.outer(deviation, deviation)
    assert found.correlation == pytest.approx((np.corrcoef(margins) * weights).sum() / weights.sum())


def test_fewer_features_mean_less_correlation():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=(150, 4))])
    few, all_features = (
        forest_strength(RandomForestClassifier(40, max_features=m, random_state=0).fit(X, y), X, y)
        for m in (1, 8)
    )
    assert few.correlation < all_features.correlation
    assert few.strength < all_features.strength
    forest = RandomForestClassifier(40, max_features=8, oob_score=True, random_state=0).fit(X, y)
    assert 1 - forest.oob_score_ <= all_features.error_bound


def test_bad_forests():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="with bootstrap=True"):
        forest_strength(RandomForestClassifier(2, bootstrap=False).fit(X, y), X, y)
    with pytest.raises(ValueError, match=r"needs the 150 rows .* got 10 rows"):
        forest_strength(RandomForestClassifier(2).fit(X, y), X[:10], y[:10])

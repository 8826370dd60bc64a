"""ExtraTreeClassifier and ExtraTreeRegressor: scikit-learn's names and defaults, and random thresholds."""

import numpy as np
import pytest
import sklearn.tree
from sklearn.base import is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import BaggingClassifier

from tercet.tree import (
    BaseDecisionTree,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)


@pytest.mark.parametrize("kind", [ExtraTreeClassifier, ExtraTreeRegressor])
def test_parameters_and_defaults_are_scikit_learns(kind):
    theirs = getattr(sklearn.tree, kind.__name__)().get_params()
    ours = kind().get_params()
    assert {name: ours[name] for name in theirs} == theirs
    assert isinstance(kind(), BaseDecisionTree)


def test_trees_of_random_thresholds():
    X, y = load_iris(return_X_y=True)
    model = ExtraTreeClassifier(random_state=0).fit(X, y)
    assert is_classifier(model)
    assert model.max_features_ == 2
    assert model.score(X, y) == 1.0
    plain = DecisionTreeClassifier(splitter="random", max_features="sqrt", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.tree_.threshold, plain.tree_.threshold)
    assert (
        ExtraTreeClassifier(random_state=1).fit(X, y).tree_.threshold[0] != model.tree_.threshold[0]
    ).all()
    bag = BaggingClassifier(ExtraTreeClassifier(), 20, random_state=0).fit(X[::2], y[::2])
    assert bag.score(X[1::2], y[1::2]) > 0.9


def test_regression_trees_of_random_thresholds():
    X, y = load_diabetes(return_X_y=True)
    model = ExtraTreeRegressor(random_state=0, min_samples_leaf=20).fit(X, y)
    assert is_regressor(model)
    assert model.max_features_ == 10
    plain = DecisionTreeRegressor(splitter="random", min_samples_leaf=20, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert 0.2 < model.score(X, y) < 0.9

"""ExtraTreeClassifier and ExtraTreeRegressor: scikit-learn's names and defaults, and random thresholds."""

import numpy as np
import pytest
import sklearn.tree
from scipy import sparse
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
from tercet.tree._engine import Limits
from tests.tree.engines import grow, grow_general


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


KINDS = [ExtraTreeClassifier, ExtraTreeRegressor, DecisionTreeClassifier, DecisionTreeRegressor]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_grow_the_tree_of_dense_ones(kind, weighted, monkeypatch):
    rng = np.random.default_rng(int(weighted))
    X = rng.poisson(0.5, (60, 9)) * rng.integers(-3, 4, (60, 9)).astype(float)
    y = rng.integers(0, 3, 60) if "Classifier" in kind.__name__ else rng.normal(size=60)
    weight = rng.integers(0, 3, 60).astype(float) if weighted else None
    dense = [kind(random_state=0, **more).fit(X, y, weight).tree_ for more in ({}, {"min_samples_leaf": 4})]
    monkeypatch.setattr(BaseDecisionTree, "_dense", None)  # no array is made
    for more, expected in zip(({}, {"min_samples_leaf": 4}), dense):
        tree = kind(random_state=0, **more).fit(sparse.csr_array(X), y, weight).tree_
        for name in ("feature", "children_left", "n_node_samples"):
            np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name))
        for name in ("threshold", "value", "impurity"):
            np.testing.assert_allclose(getattr(tree, name), getattr(expected, name), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(tree.apply(sparse.csc_array(X)), expected.apply(X))


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("max_features", [None, 2])
def test_random_thresholds_are_those_of_the_general_engine(criterion, max_features):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 5)).round(1)
    numbers = criterion == "squared_error"
    y = rng.normal(size=80) if numbers else rng.integers(0, 3, 80)
    options = {"n_classes": (1 if numbers else 3,), "criterion": criterion, "seed": 7}
    limits = Limits(min_samples_leaf=2, max_features=max_features)
    fast = grow(X, y, splitter="random", limits=limits, **options)
    general = grow_general(X, y, splitter="random", limits=limits, n_categories=np.zeros(5, int), **options)
    for name in ("feature", "child", "n_node_samples"):
        np.testing.assert_array_equal(getattr(fast, name), getattr(general, name))
    np.testing.assert_array_equal(fast.threshold, general.threshold)
    np.testing.assert_allclose(fast.value, general.value, rtol=1e-12, atol=1e-12)

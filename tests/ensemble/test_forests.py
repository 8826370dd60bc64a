"""Random forests and extremely randomised trees."""

import numpy as np
import pytest
from sklearn import ensemble as peer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from tercet.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tercet.tree import DecisionTreeClassifier, DecisionTreeRegressor

FORESTS = [RandomForestClassifier, ExtraTreesClassifier, RandomForestRegressor, ExtraTreesRegressor]


def data(kind):
    X, y = (
        load_breast_cancer(return_X_y=True)
        if "Classifier" in kind.__name__
        else load_diabetes(return_X_y=True)
    )
    order = np.random.default_rng(0).permutation(len(y))[:160]
    return X[order], y[order]


@pytest.mark.parametrize("kind", FORESTS)
def test_as_good_as_scikit_learn(kind):
    X, y = data(kind)
    ours = kind(15, random_state=0).fit(X[:100], y[:100]).score(X[100:], y[100:])
    theirs = getattr(peer, kind.__name__)(15, random_state=0).fit(X[:100], y[:100]).score(X[100:], y[100:])
    assert ours > theirs - 0.08


def test_without_chance_a_tree_is_the_tree():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(2, bootstrap=False, max_features=None).fit(X, y)
    tree = DecisionTreeClassifier().fit(X, y)
    for member in forest:
        np.testing.assert_array_equal(member.tree_.threshold, tree.tree_.threshold)
        np.testing.assert_array_equal(member.predict(X), tree.predict(X))
    X, y = data(RandomForestRegressor)
    forest = RandomForestRegressor(2, bootstrap=False, max_depth=4).fit(X, y)
    np.testing.assert_allclose(forest.predict(X), DecisionTreeRegressor(max_depth=4).fit(X, y).predict(X))


def test_a_tree_of_the_forest_is_grown_from_its_sample():
    X, y = data(RandomForestClassifier)
    forest = RandomForestClassifier(3, max_features=None, random_state=1).fit(X, y)
    for member, rows in zip(forest, forest.estimators_samples_):
        alone = DecisionTreeClassifier().fit(X, y, np.bincount(rows, minlength=len(y)))
        np.testing.assert_array_equal(member.tree_.threshold, alone.tree_.threshold)


def test_out_of_bag():
    X, y = data(RandomForestClassifier)
    forest = RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    sums, votes = np.zeros((len(y), 2)), np.zeros(len(y))
    for member, rows in zip(forest, forest.estimators_samples_):
        out = np.setdiff1d(np.arange(len(y)), rows)
        sums[out] += member.predict_proba(X[out])
        votes[out] += 1
    np.testing.assert_allclose(forest.oob_decision_function_, sums / votes[:, None])
    assert forest.oob_score_ == pytest.approx(np.mean(forest.classes_[sums.argmax(axis=1)] == y))
    assert forest.history_["oob_score"][-1] == forest.oob_score_
    share = np.mean([np.unique(rows).size / len(y) for rows in forest.estimators_samples_])
    assert share == pytest.approx(1 - np.exp(-1), abs=0.03)
    regressor = RandomForestRegressor(20, oob_score=True, random_state=0).fit(X, y.astype(float))
    assert regressor.oob_prediction_.shape == y.shape
    assert regressor.oob_score_ > 0.5


@pytest.mark.parametrize("kind", FORESTS)
def test_same_bits_for_any_number_of_threads(kind):
    X, y = data(kind)
    one, two = (kind(4, random_state=3, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.predict(X).tobytes() == two.predict(X).tobytes()
    np.testing.assert_array_equal(one.apply(X), two.apply(X))


def test_a_warm_start_adds_trees():
    X, y = data(RandomForestClassifier)
    grown = RandomForestClassifier(2, warm_start=True, random_state=0).fit(X, y)
    grown.set_params(n_estimators=4).fit(X, y)
    np.testing.assert_array_equal(
        grown.apply(X), RandomForestClassifier(4, random_state=0).fit(X, y).apply(X)
    )
    with pytest.warns(UserWarning, match="does not fit new trees"):
        grown.fit(X, y)
    with pytest.raises(ValueError, match="n_estimators=1"):
        grown.set_params(n_estimators=1).fit(X, y)


def test_weights_draw_the_rows():
    X, y = data(RandomForestClassifier)
    weight = (np.arange(len(y)) % 2).astype(float)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y, weight)
    assert all((rows % 2 == 1).all() for rows in forest.estimators_samples_)


@pytest.mark.parametrize("balance", ["balanced", "balanced_subsample", {0: 30.0, 1: 1.0}])
def test_class_weights(balance):
    X, y = load_iris(return_X_y=True)
    X, y = X[40:], y[40:]
    y = np.where(y == 0, 0, 1)
    forest = RandomForestClassifier(5, class_weight=balance, random_state=0, max_depth=2).fit(X, y)
    assert forest.score(X, y) == 1.0


def test_several_outputs_and_importances():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(5, random_state=0).fit(X, np.column_stack([y, y > 0]))
    assert forest.predict(X).shape == (150, 2)
    assert [p.shape for p in forest.predict_proba(X)] == [(150, 3), (150, 2)]
    alone = ExtraTreesClassifier(10, random_state=0).fit(X, y)
    assert alone.feature_importances_.sum() == pytest.approx(1.0)
    assert alone.feature_importances_[[2, 3]].sum() > 0.6
    paths, borders = alone.decision_path(X[:3])
    assert paths.shape == (3, borders[-1])


def test_missing_values_and_categories():
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0, 5.0, np.nan] * 3, "b": list("xyxyzz") * 3})
    y = np.array([0, 1, 0, 1, 1, 0] * 3)
    assert RandomForestClassifier(10, random_state=0).fit(frame, y).score(frame, y) == 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"oob_score": True, "bootstrap": False}, "bootstrap=True"),
        ({"max_samples": 5, "bootstrap": False}, "max_samples"),
        ({"n_estimators": 0}, "'n_estimators'"),
        ({"max_features": 0}, "'max_features'"),
    ],
)
def test_bad_settings(settings, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        RandomForestClassifier(**settings).fit(X, y)


def test_equally_good_features_are_chosen_by_lot():
    rng = np.random.default_rng(0)
    X = np.tile(rng.normal(size=(40, 1)), 3)  # one feature, three times
    forest = RandomForestClassifier(60, max_features=2, max_depth=1, random_state=0).fit(X, X[:, 0] > 0)
    chosen = np.bincount([member.tree_.feature[0] for member in forest], minlength=3)
    assert chosen.min() > 10

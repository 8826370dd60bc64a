"""Importances by permutation: on given rows, and on those that a member has not seen."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.inspection import permutation_importance as theirs
from sklearn.linear_model import LinearRegression

from tercet.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tercet.inspection import out_of_bag_importance, permutation_importance
from tercet.neighbors import KNeighborsClassifier
from tercet.tree import DecisionTreeRegressor
from tests.inspection.models import CLASSES, MIXED, WHOLE

X = np.random.default_rng(3).normal(size=(80, 3))
Y = 3.0 * X[:, 0] + X[:, 1]


def test_of_a_linear_model_it_is_known():
    # R² falls by 2 w² Var(x) (1 - correlation of the permutation) / Var(y) in the mean
    model = LinearRegression().fit(X, Y)
    found = permutation_importance(model, X, Y, n_repeats=60, random_state=0)
    expected = 2 * np.array([9.0, 1.0, 0.0]) * X.var(axis=0) / Y.var()
    assert_allclose(found.importances_mean, expected, rtol=0.1, atol=1e-12)
    peer = theirs(model, X, Y, n_repeats=60, random_state=0)
    assert_allclose(found.importances_mean, peer.importances_mean, rtol=0.15, atol=1e-12)
    assert found.importances.shape == (3, 60)
    assert_allclose(found.importances_std, found.importances.std(axis=1))


def test_the_same_for_any_number_of_threads():
    model = DecisionTreeRegressor(max_depth=4).fit(X, Y)
    one, four = (permutation_importance(model, X, Y, random_state=7, n_jobs=k) for k in (None, 4))
    assert_array_equal(one.importances, four.importances)
    forest = RandomForestRegressor(6, random_state=0).fit(X, Y)
    one, four = (out_of_bag_importance(forest, X, Y, random_state=7, n_jobs=k) for k in (None, 4))
    assert_array_equal(one.importances, four.importances)


def test_scores_weights_and_samples():
    model = LinearRegression().fit(X, Y)
    found = permutation_importance(model, X, Y, scoring=["r2", "neg_mean_squared_error"], random_state=0)
    assert list(found) == ["r2", "neg_mean_squared_error"]
    assert_allclose(
        found["r2"].importances * Y.var(), found["neg_mean_squared_error"].importances, atol=1e-12
    )
    # rows without weight are as good as not there: the rest has a column that says nothing
    weight, constant = (
        np.r_[np.ones(40), np.zeros(40)],
        np.column_stack([np.r_[np.zeros(40), X[40:, 0]], X[:, 1]]),
    )
    model = LinearRegression().fit(constant[:40], X[:40, 1])
    found = permutation_importance(
        model, constant, X[:, 1], sample_weight=weight, random_state=0, n_repeats=2
    )
    assert abs(found.importances_mean[0]) < 1e-12 < found.importances_mean[1]
    assert permutation_importance(model, constant, X[:, 1], max_samples=0.5).importances.shape == (2, 5)
    with pytest.raises(ValueError, match="max_samples must be"):
        permutation_importance(model, constant, X[:, 1], max_samples=100)
    with pytest.raises(ValueError, match="n_repeats must be"):
        permutation_importance(model, constant, X[:, 1], n_repeats=0)


def test_any_estimator_and_frames_of_categories():
    pd = pytest.importorskip("pandas")
    found = permutation_importance(KNeighborsClassifier().fit(WHOLE, CLASSES), WHOLE, CLASSES, random_state=0)
    assert found.importances_mean.argmax() in (0, 1, 2)
    frame = pd.DataFrame(MIXED, columns=["age", "size", "word"]).astype({"word": "category"})
    y = (frame["word"] == "p").to_numpy()
    found = permutation_importance(RandomForestClassifier(5, random_state=0).fit(frame, y), frame, y)
    assert found.importances_mean.argmax() == 2


def test_out_of_bag_rows_tell_what_counts():
    forest = RandomForestRegressor(30, random_state=0).fit(X, Y)
    found = out_of_bag_importance(forest, X, Y, n_repeats=2, random_state=0)
    assert found.importances.shape == (3, 30)
    assert found.importances_mean[0] > 5 * found.importances_mean[1] > 5 * abs(found.importances_mean[2])
    assert_allclose(found.z_scores, found.importances_mean / (found.importances_std / np.sqrt(30)))


def test_out_of_bag_by_hand():
    forest = RandomForestRegressor(2, random_state=0, max_depth=2).fit(X, Y)
    found = out_of_bag_importance(forest, X, Y, random_state=5)
    seed = int(np.random.default_rng(5).integers(2**31 - 1))
    for m, member in enumerate(forest.estimators_):
        rows = np.setdiff1d(np.arange(80), forest.estimators_samples_[m])
        for j in range(3):
            mixed = X[rows].copy()
            mixed[:, j] = mixed[np.random.default_rng([seed, m, j]).permutation(rows.size), j]
            rise = np.mean((member.predict(mixed) - Y[rows]) ** 2) - np.mean(
                (member.predict(X[rows]) - Y[rows]) ** 2
            )
            assert_allclose(found.importances[j, m], rise, atol=1e-12)


def test_out_of_bag_of_bagging_and_its_columns():
    bagging = BaggingRegressor(n_estimators=8, max_features=2, random_state=0).fit(X, Y)
    found = out_of_bag_importance(bagging, X, Y, random_state=0)
    for m, columns in enumerate(bagging.estimators_features_):
        assert_array_equal(found.importances[np.setdiff1d(np.arange(3), columns), m], 0.0)
    assert found.importances_mean.argmax() == 0
    forest = RandomForestClassifier(10, random_state=0).fit(WHOLE, CLASSES)
    assert out_of_bag_importance(forest, WHOLE, CLASSES).importances_mean.max() > 0


def test_out_of_bag_is_refused():
    with pytest.raises(TypeError, match="DecisionTreeRegressor has no out-of-bag rows"):
        out_of_bag_importance(DecisionTreeRegressor().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="bootstrap=True"):
        out_of_bag_importance(ExtraTreesClassifier(2).fit(WHOLE, CLASSES), WHOLE, CLASSES)
    with pytest.raises(ValueError, match="80 rows"):
        out_of_bag_importance(RandomForestRegressor(2).fit(X, Y), X[:5], Y[:5])

"""Partial dependence: that of scikit-learn, and the trees' own recursion."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor as Theirs
from sklearn.inspection import partial_dependence as theirs
from sklearn.linear_model import LogisticRegression

from tercet.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tercet.inspection import PartialDependenceDisplay, additive_trees, expected_value, partial_dependence
from tercet.inspection.tree_sums import replace_values
from tercet.tree import DecisionTreeRegressor
from tests.inspection.models import CLASSES, MIXED, MIXED_TARGET, NUMBERS, SIDES, TARGET, WHOLE


@pytest.mark.parametrize("features", [0, [1, 3]])
@pytest.mark.parametrize("kind", ["average", "both"])
def test_brute_agrees_with_scikit_learn(features, kind):
    for y in (SIDES, CLASSES):
        model = LogisticRegression().fit(WHOLE, y)
        asked = {"grid_resolution": 5, "kind": kind, "method": "brute"}
        ours, peer = (f(model, WHOLE, features, **asked) for f in (partial_dependence, theirs))
        for values, other in zip(ours.grid_values, peer.grid_values):
            assert_allclose(values, other)
        assert_allclose(ours.average, peer.average)
        if kind == "both":
            assert_allclose(ours.individual, peer.individual)


def test_weights_percentiles_and_given_values():
    model, weight = LogisticRegression().fit(WHOLE, SIDES), np.arange(60.0)
    asked = {"sample_weight": weight, "grid_resolution": 4, "percentiles": (0.2, 0.7)}
    assert_allclose(
        partial_dependence(model, WHOLE, 2, **asked).average, theirs(model, WHOLE, 2, **asked).average
    )
    found = partial_dependence(model, WHOLE, 2, custom_values={2: [0.0, 1.0, 5.0]})
    assert found.grid_values[0].tolist() == [0.0, 1.0, 5.0]
    assert found.average.shape == (1, 3)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=4),
        RandomForestRegressor(3, max_depth=4, random_state=0),
        GradientBoostingRegressor(n_estimators=4),
        HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_recursion_is_the_mean_over_unknown_features(model):
    model.fit(NUMBERS, TARGET)
    found = partial_dependence(model, NUMBERS, [0, 2], grid_resolution=3, method="recursion")
    parts, row = additive_trees(model), np.zeros(4)
    for i, first in enumerate(found.grid_values[0]):
        row[0], row[2] = first, found.grid_values[1][1]
        total = sum(
            expected_value(replace_values(tree, value), row, {0, 2}, cover)[0, 0]
            for tree, cover, value in zip(parts.trees, parts.covers, parts.values)
        )
        plain = parts.start[0] + parts.factor * total / parts.divisor
        assert_allclose(found.average[0, i, 1], plain)
    chosen = partial_dependence(model, NUMBERS, [0, 2], grid_resolution=3)
    assert_array_equal(chosen.average, found.average)
    again = partial_dependence(model, NUMBERS, [0, 2], grid_resolution=3, n_jobs=3)
    assert_array_equal(again.average, found.average)


def test_recursion_of_a_tree_agrees_with_brute_on_independent_columns():
    grid = np.array([[i, j] for i in range(4) for j in range(3)], dtype=float)
    y = grid[:, 0] * grid[:, 1]
    model = GradientBoostingRegressor(n_estimators=3).fit(grid, y)
    one, other = (partial_dependence(model, grid, 0, method=way) for way in ("recursion", "brute"))
    assert_allclose(one.average, other.average, atol=1e-12)


def test_recursion_agrees_with_scikit_learns_histogram_boosting():
    X = np.random.default_rng(0).normal(size=(200, 3))
    y, common = X[:, 0] + X[:, 1] ** 2, {"max_iter": 3, "max_leaf_nodes": 4}
    ours, peer = (kind(**common).fit(X, y) for kind in (HistGradientBoostingRegressor, Theirs))
    assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-6)
    # theirs leaves out where boosting starts
    assert_allclose(partial_dependence(ours, X, 1).average, theirs(peer, X, 1).average + y.mean(), rtol=1e-6)


def test_probabilities_of_forests_by_recursion():
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(NUMBERS, CLASSES)
    found = partial_dependence(model, NUMBERS, 0, method="recursion", grid_resolution=4)
    assert found.average.shape == (3, 4)
    assert_allclose(found.average.sum(axis=0), 1.0)


def test_categories():
    model = RandomForestRegressor(5, random_state=0).fit(MIXED, MIXED_TARGET)
    for method in ("brute", "recursion"):
        found = partial_dependence(model, MIXED, 2, method=method)
        assert found.grid_values[0].tolist() == ["p", "q", "r", "s"]
        assert found.average[0].argmax() == 0
        assert found.average[0].argmin() == 2
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(MIXED, columns=["age", "size", "word"]).astype({"word": "category", "age": float})
    frame["size"] = frame["size"].astype(float)
    model = RandomForestRegressor(5, random_state=0).fit(frame, MIXED_TARGET)
    found = partial_dependence(model, frame, ["word", "age"], grid_resolution=3, kind="both")
    assert found.average.shape == (1, 4, 3)
    assert found.individual.shape == (1, 60, 4, 3)


def test_integer_columns_are_not_rounded():
    X = np.arange(40)[:, None]
    model = DecisionTreeRegressor().fit(X, X[:, 0])
    found = partial_dependence(model, X, 0, grid_resolution=5, method="brute")
    assert_array_equal(found.average[0], model.predict(found.grid_values[0][:, None]))


def test_what_is_refused():
    model = GradientBoostingClassifier(n_estimators=2).fit(NUMBERS, SIDES)
    with pytest.raises(ValueError, match="all features must be in"):
        partial_dependence(model, NUMBERS, 4)
    with pytest.raises(ValueError, match="is not among the columns"):
        partial_dependence(model, NUMBERS, "age", feature_names=list("abcd"))
    with pytest.raises(ValueError, match="kind='both'"):
        partial_dependence(model, NUMBERS, 0, method="recursion", kind="both")
    with pytest.raises(ValueError, match="decision_function"):
        partial_dependence(model, NUMBERS, 0, method="recursion", response_method="predict_proba")
    with pytest.raises(ValueError, match="method must be one of"):
        partial_dependence(model, NUMBERS, 0, method="fast")
    with pytest.raises(ValueError, match="percentiles must be"):
        partial_dependence(model, NUMBERS, 0, percentiles=(0.5, 0.1))
    with pytest.raises(TypeError, match="not a sum of trees"):
        partial_dependence(LogisticRegression().fit(WHOLE, SIDES), WHOLE, 0, method="recursion")


def test_the_display_draws_one_picture_for_each():
    model = GradientBoostingRegressor(n_estimators=3).fit(NUMBERS, TARGET)
    display = PartialDependenceDisplay.from_estimator(
        model,
        NUMBERS,
        [0, (1, 2)],
        kind=["both", "average"],
        grid_resolution=4,
        subsample=20,
        pd_line_kw={"color": "red"},
    )
    first, second = display.axes_
    assert len(first.lines) == 21
    assert [line.get_color() == "red" for line in first.lines] == [False] * 20 + [True]
    assert (second.get_xlabel(), second.get_ylabel()) == ("x1", "x2")
    assert_allclose(first.lines[-1].get_ydata(), display.pd_results[0].average[0])
    assert_allclose(display.deciles[0], np.nanquantile(NUMBERS[:, 0], np.arange(1, 10) / 10))
    given = {"features": [(0,)], "feature_names": ["a"], "target_idx": 0, "deciles": {}}
    made = PartialDependenceDisplay(
        display.pd_results[:1], **given, kind="both", subsample=5, random_state=0, is_categorical=[(False,)]
    )
    assert len(made.plot().axes_[0].lines) == 6
    means = PartialDependenceDisplay(display.pd_results[:1], **given, is_categorical=[(True,)]).plot()
    assert len(means.axes_[0].patches) == 4
    assert len(means.axes_[0].lines) == 0
    classes = GradientBoostingClassifier(n_estimators=2).fit(NUMBERS, CLASSES)
    with pytest.raises(ValueError, match="target must be specified"):
        PartialDependenceDisplay.from_estimator(classes, NUMBERS, [0])
    drawn = PartialDependenceDisplay.from_estimator(classes, NUMBERS, [0], target="b", grid_resolution=3)
    assert_allclose(drawn.axes_[0].lines[0].get_ydata(), drawn.pd_results[0].average[1])

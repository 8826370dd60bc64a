"""Contributions are Shapley values: those of the plain form, summing to what the model says."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tercet.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tercet.inspection import additive_trees, contributions, expected_value, shapley_values
from tercet.inspection.tree_sums import replace_values
from tercet.linear_model import Ridge
from tercet.neighbors import KNeighborsRegressor
from tercet.tree import DecisionTreeClassifier, DecisionTreeRegressor, ObliqueTreeClassifier, TreeBuilder
from tests.inspection.models import ASKED, CLASSES, MIXED, MODELS, NUMBERS, SIDES, TARGET, WHOLE

RAW = {"counts": np.log}


def response(name, model, X):
    """What the scores of a model are called elsewhere."""
    if name.startswith(("boosting of", "histogram boosting of c", "AdaBoost", "Algorithm")) and hasattr(
        model, "decision_function"
    ):
        return model.decision_function(X)
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return RAW.get(name, lambda p: p)(model.predict(X))


def path_worth(parts, row):
    """The score when only some features are known, by the plain form for each tree."""
    trees = [replace_values(tree, value) for tree, value in zip(parts.trees, parts.values)]

    def worth(known):
        total = np.zeros(len(parts.start))
        for tree, cover, first in zip(trees, parts.covers, parts.first_scores):
            total[first : first + tree.n_outputs] += expected_value(tree, row, known, cover)[:, 0]
        return parts.start + parts.factor * total / parts.divisor

    return worth


def mean_worth(parts, row, background):
    """The mean score of background rows that have some features of a row."""
    bare = replace(parts, model=parts.trees[0])  # asked with rows that are encoded already

    def worth(known):
        mixed = background.copy()
        mixed[:, list(known)] = row[list(known)]
        return bare.scores(mixed).mean(axis=0)

    return worth


@pytest.mark.parametrize("name", MODELS)
def test_path_dependent_contributions_are_shapley_values(name):
    model, X = MODELS[name]()
    parts, found = additive_trees(model), contributions(model, X[:4])
    assert_allclose(np.squeeze(found.scores), np.squeeze(response(name, model, X[:4])), atol=1e-12)
    for row, values in zip(parts.encode(X[:2]), found.values):
        plain = shapley_values(path_worth(parts, row), len(row))
        assert_allclose(values.reshape(plain.shape), plain, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_interventional_contributions_are_shapley_values(name):
    model, X = MODELS[name]()
    background = MIXED[10:17] if X is ASKED else X[10:17]
    parts, found = additive_trees(model), contributions(model, X[:3], background=background)
    assert_allclose(np.squeeze(found.scores), np.squeeze(response(name, model, X[:3])), atol=1e-12)
    others = parts.encode(background)
    for row, values in zip(parts.encode(X[:2]), found.values):
        plain = shapley_values(mean_worth(parts, row, others), len(row))
        assert_allclose(values.reshape(plain.shape), plain, atol=1e-12)


def test_missing_values_shared_among_branches():
    model = DecisionTreeClassifier(algorithm="c45", max_depth=4).fit(MIXED, SIDES)
    rows = MIXED[:5].copy()
    rows[:, 2], rows[1, 0] = None, None
    assert model.tree_.shares
    parts, found = additive_trees(model), contributions(model, rows)
    assert_allclose(found.scores, model.predict_proba(rows), atol=1e-12)
    for row, values in zip(parts.encode(rows), found.values):
        assert_allclose(values, shapley_values(path_worth(parts, row), 3), atol=1e-12)
    with pytest.raises(ValueError, match="leave `background` out"):
        contributions(model, rows, background=MIXED)


def test_interactions_sum_to_contributions():
    model = DecisionTreeRegressor(max_depth=5).fit(NUMBERS, TARGET)
    found = contributions(model, NUMBERS[:5], interactions=True)
    assert_allclose(found.values, found.values.transpose(0, 2, 1), atol=1e-13)
    assert_allclose(found.values.sum(axis=2), contributions(model, NUMBERS[:5]).values, atol=1e-12)
    assert_allclose(found.scores, model.predict(NUMBERS[:5]), atol=1e-12)


def test_an_interaction_worked_out_by_hand():
    # y = x0 * x1 on the four corners: v(none) = 1/4, v(one) = 1/2, v(both) = 1
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = DecisionTreeRegressor().fit(X, X[:, 0] * X[:, 1])
    found = contributions(model, X[3:], interactions=True)
    assert found.base_values == 0.25
    # 1/2 (v(both) - v(0) - v(1) + v(none)) = 1/8 for either order of the pair
    assert_allclose(found.values[0], [[0.25, 0.125], [0.125, 0.25]], atol=1e-15)


def test_a_deep_tree_of_many_features():
    X = np.random.default_rng(1).normal(size=(300, 12))
    y = X.sum(axis=1) + X[:, 0] * X[:, 1] * X[:, 2]
    model = DecisionTreeRegressor().fit(X, y)
    found = contributions(model, X[:20])
    assert model.get_depth() > 8
    assert_allclose(found.scores, model.predict(X[:20]), atol=1e-11)
    parts = additive_trees(model)
    assert_allclose(found.values[0], shapley_values(path_worth(parts, X[0]), 12)[:, 0], atol=1e-11)


def test_trees_in_several_groups(monkeypatch):
    model = RandomForestRegressor(4, random_state=0).fit(NUMBERS, TARGET)
    whole = contributions(model, NUMBERS[:9])
    module = importlib.import_module("tercet.inspection.contributions")  # its name is the function's, too
    monkeypatch.setattr(module, "GROUP_EDGES", 50)
    assert_allclose(contributions(model, NUMBERS[:9]).values, whole.values, atol=1e-13)


def test_the_same_bits_for_any_number_of_threads_and_any_other_rows():
    model = RandomForestClassifier(4, random_state=0).fit(NUMBERS, CLASSES)
    X = np.vstack([NUMBERS] * 10)
    for background in (None, NUMBERS[:9]):
        one = contributions(model, X, background=background).values
        assert_array_equal(one, contributions(model, X, background=background, n_jobs=3).values)
        assert_array_equal(one[:7], contributions(model, X[:7], background=background).values)


def test_what_the_scores_are():
    kinds = {name: additive_trees(MODELS[name]()[0]) for name in MODELS}
    probabilities = {"tree of classes", "tree of one class", "forest of classes", "bagging of classes"}
    assert {name for name, parts in kinds.items() if parts.kind == "probability"} == probabilities
    values = {"tree", "two outputs", "forest", "extra trees", "bagging", "histogram boosting", "categories"}
    values |= {"boosting of categories", "histogram boosting of categories"}
    assert {name for name, parts in kinds.items() if parts.kind == "value"} == values
    assert kinds["tree"].score_names == []
    bare = additive_trees(MODELS["tree of classes"]()[0].tree_)
    assert (bare.kind, bare.score_names) == ("probability", ["0", "1", "2"])


def test_bare_trees_and_stumps():
    builder = TreeBuilder(n_features=2)
    builder.add_root(value=[[3.0]], impurity=0.0, samples=4, weight=4.0)
    found = contributions(builder.tree(), [[0.0, 0.0]])
    assert (found.base_values, found.values.tolist()) == (3.0, [[0.0, 0.0]])


def test_frames_have_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(MIXED, columns=["age", "size", "word"]).astype({"age": float, "size": float})
    model = RandomForestRegressor(3, random_state=0).fit(frame, TARGET)
    found = contributions(model, frame[:5])
    assert found.feature_names == ["age", "size", "word"]
    assert_allclose(found.scores, model.predict(frame[:5]), atol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        contributions(model, frame[["size", "age", "word"]])


def test_one_of_several_scores():
    found = contributions(DecisionTreeClassifier(max_depth=3).fit(NUMBERS, CLASSES), NUMBERS[:5])
    assert found.score_names == ["a", "b", "c"]
    assert_array_equal(found.of("b").values, found.values[:, :, 1])
    assert_allclose(found.of(2).scores, found.scores[:, 2])
    with pytest.raises(ValueError, match="score must be one of"):
        found.of("d")


def test_what_is_no_sum_of_trees_is_refused():
    for model in (
        Ridge().fit(WHOLE, TARGET),
        AdaBoostRegressor(n_estimators=2).fit(WHOLE, TARGET),
        IsolationForest(n_estimators=2).fit(WHOLE),
    ):
        with pytest.raises(TypeError, match=f"{type(model).__name__} is not a sum of trees"):
            contributions(model, WHOLE)
    with pytest.raises(TypeError, match="not decision trees"):
        contributions(BaggingRegressor(KNeighborsRegressor(), n_estimators=2).fit(WHOLE, TARGET), WHOLE)
    with pytest.raises(TypeError, match="several features at once"):
        contributions(ObliqueTreeClassifier(max_depth=2).fit(WHOLE, SIDES), WHOLE)
    with pytest.raises(ValueError, match="init=Ridge"):
        contributions(GradientBoostingRegressor(n_estimators=2, init=Ridge()).fit(WHOLE, TARGET), WHOLE)
    tree = DecisionTreeRegressor().fit(WHOLE, TARGET)
    with pytest.raises(ValueError, match="features"):
        contributions(tree, WHOLE[:, :2])
    with pytest.raises(ValueError, match="no rows"):
        contributions(tree, WHOLE, background=WHOLE[:0])
    with pytest.raises(ValueError, match="no background"):
        contributions(tree, WHOLE, background=WHOLE, interactions=True)

"""The plain split search and growth: the texts' numbers, and the oracle of the engines."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tercet.core.kernel import JIT
from tercet.datasets import load_loans, load_watermelon
from tercet.metrics import gini_index, information_gain, information_gain_ratio
from tercet.tree import DecisionTreeClassifier, DecisionTreeRegressor, Tree, best_split, grow_tree
from tercet.tree._engine import Limits
from tercet.tree._engine.traversal import CATEGORY
from tests.tree.engines import grow, grow_binned, grow_general

CRITERIA = [(2, "gini"), (3, "gini"), (2, "entropy"), (4, "entropy"), (1, "squared_error")]
SEEDS = range(12 if JIT else 3)


def outline(tree: Tree, t: int = 0) -> list:
    """Features, thresholds, categories and sizes of the nodes, in preorder."""
    slots = tree.slots[tree.slot_start[t] : tree.slot_start[t] + tree.slot_count[t]]
    groups = [tuple(np.flatnonzero(slots == k)) for k in range(tree.n_children[t])] if slots.size else []
    threshold = round(float(tree.threshold[t]), 9)
    order = np.argsort([group[0] for group in groups]) if groups else range(tree.n_children[t])
    below = [outline(tree, tree.children(t)[k]) for k in order]
    return [int(tree.feature[t]), threshold, sorted(groups), int(tree.n_node_samples[t]), below]


def table(seed: int, n_classes: int, n: int = 40, d: int = 3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n, d)).astype(float)
    y = rng.normal(size=n).round(2) if n_classes == 1 else rng.integers(0, n_classes, n)
    return X, y


@pytest.mark.parametrize(("n_classes", "criterion"), CRITERIA)
def test_engines_grow_the_plain_tree(n_classes, criterion):
    for seed in SEEDS:
        X, y = table(seed, n_classes)
        plain = grow_tree(X, y, criterion=criterion, max_depth=4)
        options = {"n_classes": (n_classes,), "criterion": criterion, "limits": Limits(max_depth=4)}
        options |= {"n_categories": np.zeros(X.shape[1], dtype=np.int64)}
        for engine in (grow, grow_binned, grow_general):
            tree = engine(X, y, None, **options)
            assert outline(tree) == outline(plain), engine.__name__
            np.testing.assert_allclose(tree.predict(X), plain.predict(X), atol=1e-12)
            np.testing.assert_allclose(np.sort(tree.impurity), np.sort(plain.impurity), atol=1e-12)


@pytest.mark.parametrize(("n_classes", "criterion"), [(2, "gini"), (2, "entropy"), (1, "squared_error")])
def test_engines_divide_categories_as_the_plain_search(n_classes, criterion):
    for seed in SEEDS:
        X, y = table(seed, n_classes, n=30, d=2)
        split = best_split(X, y, criterion=criterion, categorical_features=[1])
        options = {"n_classes": (n_classes,), "criterion": criterion, "limits": Limits(max_depth=1)}
        for engine in (grow, grow_binned, grow_general):
            tree = engine(X, y, None, n_categories=np.array([0, 6]), **options)
            assert tree.feature[0] == split.feature
            mass = tree.weighted_n_node_samples / len(y)
            decrease = tree.impurity[0] - mass[1:] @ tree.impurity[1:]
            np.testing.assert_allclose(decrease, split.score, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("algorithm", ["id3", "c45"])
@pytest.mark.parametrize("epsilon", [0.0, 0.15])
def test_multiway_growth_is_the_plain_one(algorithm, epsilon):
    for seed in SEEDS:
        X, y = table(seed, 3)
        words = X.astype(object)
        words[:, :2] = np.array(list("abcdef"), dtype=object)[X[:, :2].astype(int)]
        options = {"algorithm": algorithm, "epsilon": epsilon}
        plain = grow_tree(words, y, categorical_features=[0, 1], **options)
        model = DecisionTreeClassifier(average_gain=False, categorical_features=[0, 1], **options)
        assert outline(model.fit(words, y).tree_) == outline(plain)


def test_best_splits_of_the_texts():
    X, y = load_loans(return_X_y=True)
    every = range(4)
    gains = [best_split(X[:, [j]], y, algorithm="id3", categorical_features=[0]).score for j in every]
    np.testing.assert_allclose(gains, [information_gain(y, X[:, j], base=2) for j in every], atol=1e-12)
    ratios = [best_split(X[:, [j]], y, algorithm="c45", categorical_features=[0]).score for j in every]
    np.testing.assert_allclose(ratios, [information_gain_ratio(y, X[:, j]) for j in every], atol=1e-12)
    house = best_split(X, y, categorical_features=every)
    assert house.feature == 2
    assert house.branch.tolist() == [int(x != "no") for x in X[:, 2]]
    np.testing.assert_allclose(0.48 - house.score, gini_index(y, X[:, 2]), atol=1e-12)
    X, y = load_watermelon("3.0alpha", return_X_y=True)
    split = best_split(X, y, algorithm="id3")
    assert (split.feature, split.threshold) == (1, pytest.approx(0.126))


def test_alike_rows_have_no_split():
    assert best_split(np.ones((4, 2)), [0, 1, 0, 1]) is None
    assert grow_tree(np.ones((4, 2)), [0, 1, 0, 1]).node_count == 1
    assert grow_tree([[1.0], [2.0]], [0, 1], min_samples_split=3).node_count == 1


def test_estimators_grow_the_plain_tree():
    X, y = load_watermelon("3.0alpha", return_X_y=True)
    assert outline(DecisionTreeClassifier().fit(X, y).tree_) == outline(grow_tree(X, y))
    number = X[:, 0] ** 2 - X[:, 1]
    plain = grow_tree(X, number, criterion="squared_error", max_depth=3)
    assert outline(DecisionTreeRegressor(max_depth=3).fit(X, number).tree_) == outline(plain)


def test_plot_tree_is_here_and_matplotlib_is_not():
    code = """if True:
        import sys
        import tercet.tree
        assert "matplotlib" not in sys.modules and "tercet.plot" not in sys.modules
        assert "plot_tree" in dir(tercet.tree)
        from tercet.tree import plot_tree
        assert plot_tree.__name__ == "plot_tree"
        """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_categories_one_value_against_the_rest():
    X, y = load_loans(return_X_y=True)
    model = DecisionTreeClassifier(category_tests="value", categorical_features=[0, 1, 2, 3]).fit(X, y)
    tree, names = model.tree_, load_loans().feature_names
    assert [names[j] for j in tree.feature[tree.kind != 0]] == ["house", "job"]  # Li Ex 5.4
    plain = grow_tree(X, y, categorical_features=range(4), category_tests="value")
    assert outline(tree) == outline(plain)
    rng = np.random.default_rng(0)
    letters = rng.integers(0, 6, (80, 2)).astype(float)
    for target in (np.isin(letters[:, 0], [1, 2, 4]).astype(int), rng.integers(0, 3, 80)):
        for more in ({}, {"max_leaf_nodes": 200}):
            options = {"category_tests": "value", "categorical_features": [0, 1]}
            model = DecisionTreeClassifier(**options, **more).fit(letters, target)
            tree = model.tree_
            for t in np.flatnonzero(tree.kind == CATEGORY):
                sides = tree.slots[tree.slot_start[t] : tree.slot_start[t] + tree.slot_count[t]]
                assert min((sides == 0).sum(), (sides == 1).sum()) == 1
            assert model.score(letters, target) == pytest.approx(
                DecisionTreeClassifier(categorical_features=[0, 1])
                .fit(letters, target)
                .score(letters, target)
            )
    y = np.isin(letters[:, 0], [1, 2, 4]) * 1.0
    assert DecisionTreeRegressor(categorical_features=[0, 1]).fit(letters, y).get_n_leaves() == 2
    alone = DecisionTreeRegressor(categorical_features=[0, 1], category_tests="value").fit(letters, y)
    assert alone.get_n_leaves() == 4  # three values are taken out one by one
    with pytest.raises(ValueError, match="'id3' does not go with category_tests"):
        DecisionTreeClassifier(algorithm="id3", category_tests="value").fit(X, y[:15])
    with pytest.raises(ValueError, match="category_tests='value' does not go with max_bins=20"):
        alone.set_params(max_bins=20).fit(letters, y)

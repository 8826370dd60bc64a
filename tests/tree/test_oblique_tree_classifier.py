"""Trees whose tests are hyperplanes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import cross_val_score

from tercet.tree import DecisionTreeClassifier
from tercet.tree._engine.gain_table import ENTROPY, GINI, weighted_impurity
from tercet.tree.hyperplanes import NodeSample, two_group_targets
from tercet.tree.oblique_tree_classifier import ObliqueTreeClassifier
from tercet.tree.tree import LEAF, LINEAR

ALGORITHMS = ["oc1", "least_squares", "lda", "perceptron", "logistic"]
every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


def clouds(n=120, d=4, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(2)
    score = X @ np.linspace(1, -1, d) + 0.3 * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def first_gain(model):
    tree = model.tree_
    below = list(tree.children(0))
    share = tree.weighted_n_node_samples[below] / tree.weighted_n_node_samples[0]
    return tree.impurity[0] - share @ tree.impurity[below]


@every_algorithm
def test_a_slanting_border_is_one_test(algorithm):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 2)) * [1, 1000]
    X = X[np.abs(X[:, 0] + X[:, 1] / 1000) > 0.1]
    y = np.where(X[:, 0] + X[:, 1] / 1000 > 0, "above", "below")
    model = ObliqueTreeClassifier(algorithm, random_state=0).fit(X, y)
    assert model.get_n_leaves() == 2
    assert model.score(X, y) == 1.0
    assert model.tree_.kind[0] == LINEAR
    w = model.tree_.coef[0]
    assert w[1] * 1000 / w[0] == pytest.approx(1.0, rel=0.2)
    assert DecisionTreeClassifier().fit(X, y).get_n_leaves() > 8
    assert np.allclose(model.feature_importances_, 0.5, atol=0.06)  # whatever the units are


@every_algorithm
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_full_trees_know_their_rows(algorithm, criterion):
    X, y = clouds()
    model = ObliqueTreeClassifier(algorithm, criterion=criterion, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert np.array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
    tree = model.tree_
    assert set(tree.kind) >= {LEAF, LINEAR}
    # Growth and the walk agree on the side of every row.
    arrived = np.bincount(model.apply(X), minlength=tree.node_count)
    assert np.array_equal(arrived[tree.kind == LEAF], tree.n_node_samples[tree.kind == LEAF])
    code = GINI if criterion == "gini" else ENTROPY
    counts = np.bincount(y).astype(float)
    assert tree.impurity[0] == pytest.approx(weighted_impurity(counts, code) / len(y))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_oc1_is_never_worse_than_one_feature(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(4, 40)), int(rng.integers(1, 4)))).round(1)
    y = rng.integers(0, 3, len(X))
    y[:2] = 0, 1
    oblique = ObliqueTreeClassifier(max_depth=1, random_state=0, n_restarts=2).fit(X, y)
    plain = DecisionTreeClassifier(max_depth=1).fit(X, y)
    if plain.get_n_leaves() > 1:
        assert first_gain(oblique) >= first_gain(plain) - 1e-9


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_steps_are_searched_in_full(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 20))
    X, y = rng.normal(size=(n, 3)).round(1), rng.integers(0, 2, n)
    weight = rng.integers(1, 4, n).astype(float)
    cloud = NodeSample.of(X, y, weight, 2, ENTROPY, (1, 0.0))
    g, r = cloud.Z @ rng.normal(size=4), cloud.Z @ rng.normal(size=4)
    found, step = cloud.line_search(g, r)

    def mixed(step):
        left = g + step * r <= 0
        if left.all() or not left.any():
            return np.inf
        return sum(
            weighted_impurity(np.bincount(y[s], weights=weight[s], minlength=2), ENTROPY)
            for s in (left, ~left)
        )

    turns = np.sort(-g / r)
    tried = [turns[0] - 1, *(turns[:-1] + turns[1:]) / 2, turns[-1] + 1]
    assert found == pytest.approx(min(map(mixed, tried)), abs=1e-9)
    assert np.isinf(found) or mixed(step) == pytest.approx(found, abs=1e-9)


def test_restarts_and_jumps_only_help():
    X, y = clouds(n=200, d=6, classes=2, seed=3)
    few = ObliqueTreeClassifier(max_depth=1, n_restarts=0, n_jumps=0, random_state=0).fit(X, y)
    many = ObliqueTreeClassifier(max_depth=1, n_restarts=10, n_jumps=10, random_state=0).fit(X, y)
    assert first_gain(many) >= first_gain(few) - 1e-12
    assert first_gain(few) > first_gain(DecisionTreeClassifier(max_depth=1).fit(X, y))


def test_of_two_classes_least_squares_is_fishers_direction():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :8]
    one, two = (ObliqueTreeClassifier(a, max_depth=1).fit(X, y) for a in ("least_squares", "lda"))
    assert np.allclose(one.tree_.coef, two.tree_.coef, rtol=1e-3, atol=1e-6)
    assert np.array_equal(one.predict(X), two.predict(X))


def test_groups_of_classes():
    centres = np.array([[0, 0], [1, 0], [10, 0], [11, 0]])
    y = np.repeat([0, 1, 2, 3], [5, 5, 5, 6])
    X = centres[y] + np.random.default_rng(0).normal(scale=0.1, size=(21, 2))
    heaviest, halves = two_group_targets(NodeSample.of(X, y, np.ones(21), 4, GINI, (1, 0.0)))
    assert np.array_equal(heaviest > 0, y == 3)
    assert np.array_equal(halves > 0, y < 2) or np.array_equal(halves > 0, y >= 2)


@every_algorithm
def test_real_data(algorithm):
    for load in (load_iris, load_wine):
        X, y = load(return_X_y=True)
        model = ObliqueTreeClassifier(algorithm, random_state=0)
        assert cross_val_score(model, X, y, cv=3).mean() > 0.88
        assert model.fit(X, y).get_n_leaves() <= DecisionTreeClassifier().fit(X, y).get_n_leaves()


@every_algorithm
def test_weights(algorithm):
    X, y = clouds(n=80)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    many = np.repeat(np.arange(len(y)), weight)
    model = ObliqueTreeClassifier(algorithm, random_state=0, n_restarts=2, max_depth=3)
    one = model.fit(X, y, sample_weight=weight).predict_proba(X)
    assert np.allclose(one, model.fit(X[many], y[many]).predict_proba(X))
    heavy = model.set_params(class_weight={0: 3.0}).fit(X, y).predict_proba(X)
    assert np.allclose(
        heavy, model.set_params(class_weight=None).fit(X, y, np.where(y == 0, 3.0, 1.0)).predict_proba(X)
    )


@every_algorithm
def test_weights_of_rows_that_lie_on_the_plane(algorithm):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y, weight = rng.integers(0, 6, (30, 4)), rng.integers(0, 3, 30), rng.integers(1, 4, 30)
        model = ObliqueTreeClassifier(algorithm, random_state=0, n_restarts=1, n_jumps=1)
        one = model.fit(X, y, sample_weight=weight).predict_proba(X)
        many = np.repeat(np.arange(30), weight)
        assert np.allclose(one, model.fit(X[many], y[many]).predict_proba(X))


@every_algorithm
def test_missing_values(algorithm):
    X, y = clouds()
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    X[:, 3] = np.nan
    model = ObliqueTreeClassifier(algorithm, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    tree = model.tree_
    arrived = np.bincount(model.apply(X), minlength=tree.node_count)
    assert np.array_equal(arrived[tree.kind == LEAF], tree.n_node_samples[tree.kind == LEAF])
    assert np.isfinite(model.predict_proba(np.full((1, 4), np.nan))).all()


def test_threads_and_seeds():
    X, y = clouds(n=900)
    fits = [
        ObliqueTreeClassifier(random_state=s, n_jobs=j, n_restarts=1, max_depth=2).fit(X, y)
        for s, j in ((0, 1), (0, 2), (1, 1))
    ]
    assert np.array_equal(fits[0].tree_.coef, fits[1].tree_.coef)
    assert np.array_equal(fits[0].tree_.threshold, fits[1].tree_.threshold)
    assert not np.array_equal(fits[0].tree_.coef, fits[2].tree_.coef)


@every_algorithm
def test_limits_and_pruning(algorithm):
    X, y = clouds(n=300)

    def leaves(**options):
        return ObliqueTreeClassifier(algorithm, random_state=0, n_restarts=1, **options).fit(X, y).tree_

    full = leaves()
    assert leaves(max_depth=2).max_depth == 2
    assert leaves(max_leaf_nodes=5).n_leaves == 5
    assert leaves(min_samples_leaf=20).n_node_samples.min() >= 20
    assert leaves(min_weight_fraction_leaf=0.1).weighted_n_node_samples.min() >= 30
    assert leaves(min_impurity_decrease=0.02).n_leaves < full.n_leaves
    assert leaves(ccp_alpha=0.02).n_leaves < full.n_leaves
    assert leaves(pruning="reduced_error").n_leaves < full.n_leaves


def test_nothing_to_part():
    model = ObliqueTreeClassifier(random_state=0).fit(np.ones((6, 2)), [0, 1, 0, 1, 1, 1])
    assert model.get_n_leaves() == 1
    assert np.allclose(model.predict_proba([[5.0, 5.0]]), [[1 / 3, 2 / 3]])
    one = ObliqueTreeClassifier(random_state=0).fit([[1.0, 2.0]], ["only"])
    assert one.predict([[3.0, 4.0]]).tolist() == ["only"]
    half = np.column_stack([np.ones(8), np.arange(8.0)])
    assert ObliqueTreeClassifier(random_state=0).fit(half, np.arange(8) > 3).get_n_leaves() == 2


def test_bad_input():
    with pytest.raises(ValueError, match="parameter 'algorithm' must be one of 'oc1'"):
        ObliqueTreeClassifier("cart").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="column 1 is not of numbers"):
        ObliqueTreeClassifier().fit([[0, "a"], [1, "b"]], [0, 1])
    with pytest.raises(ValueError, match="should be a 1d array"):
        ObliqueTreeClassifier().fit([[0.0], [1.0]], [[0, 1], [1, 0]])

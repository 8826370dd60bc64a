"""Tree of hyperplanes: the first pair, the local optimum, recursion to purity, limits, weights, equal rows."""

import numpy as np
import pytest

from tercet import Recorder
from tercet.discriminant_analysis import PiecewiseLinearTree
from tercet.discriminant_analysis.piecewise_linear_tree import (
    closest_opposite_pair,
    impurity,
    least_squares_plane,
    mutual_pair,
    perceptron_from,
    two_groups,
)
from tercet.tree import export_text

ALGORITHMS = ["perceptron", "least_squares", "bisector"]


def chess(n=300, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 3, size=(n, 2))
    cell = np.floor(X).astype(int)
    return X, (cell[:, 0] + cell[:, 1]) % classes


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("pair", ["nearest", "mutual"])
def test_grows_until_every_leaf_has_one_class(algorithm, pair):
    X, y = chess(classes=3)
    names = np.array(["a", "b", "c"])[y]
    model = PiecewiseLinearTree(algorithm, pair=pair, random_state=0).fit(X, names)
    assert model.score(X, names) == 1.0
    leaves = model.apply(X)
    assert all(np.unique(y[leaves == leaf]).size == 1 for leaf in np.unique(leaves))
    assert np.unique(leaves).size == model.get_n_leaves()
    assert model.n_iter_ == model.get_depth() + 1
    assert model.history_["error"][-1] == pytest.approx(0.0, abs=1e-12)
    assert (np.diff(model.history_["leaves"]) >= 0).all()
    np.testing.assert_array_equal(model.predict_proba(X).max(axis=1), 1.0)
    fresh, classes = chess(seed=1, classes=3)
    assert (model.predict(fresh) == np.array(["a", "b", "c"])[classes]).mean() > 0.8


def test_closest_opposite_pair_is_that_of_all_pairs():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(70, 3)), rng.integers(4, size=70)
        distances = np.linalg.norm(X[:, None] - X, axis=2)
        distances[y[:, None] == y] = np.inf
        p, q = closest_opposite_pair(X, y)
        assert {p, q} == set(np.unravel_index(distances.argmin(), distances.shape))
        p, q = mutual_pair(X, y, rng)
        assert distances[p].argmin() == q
        assert distances[q].argmin() == p


def test_first_hyperplane_is_the_perpendicular_bisector():
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 2.0], [9.0, 2.0]]), [0, 0, 1, 1]
    tree = PiecewiseLinearTree("bisector").fit(X, y).tree_
    w, threshold = tree.coef[0], tree.threshold[0]
    middle, normal = (X[1] + X[2]) / 2, X[2] - X[1]
    assert abs(w[0] * normal[1] - w[1] * normal[0]) < 1e-12
    assert w @ middle == pytest.approx(threshold)
    assert tree.node_count == 3


def test_local_optimum_is_no_worse_than_the_bisector():
    X, y = chess(120)
    table = np.eye(2)[y]
    p, q = closest_opposite_pair(X, y)
    Z = np.column_stack([X - (X[p] + X[q]) / 2, np.ones(len(X))])
    start = np.append(X[p] - X[q], 0.0)
    target = two_groups(Z @ start > 0, y, np.ones(len(X)), p, q)
    assert target[p] == 1.0
    assert target[q] == -1.0
    found = perceptron_from(start, Z, target, table, 50, np.random.default_rng(0))
    assert impurity(table, Z @ found > 0) < impurity(table, Z @ start > 0)
    plane = least_squares_plane(Z, target, np.ones(len(X)))
    np.testing.assert_allclose(Z.T @ (Z @ plane - target), 0.0, atol=1e-5)


def test_separable_classes_need_one_hyperplane():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    side = X @ [1.0, -2.0, 0.5, 1.0]
    X, side = X[np.abs(side) > 0.5], side[np.abs(side) > 0.5]
    model = PiecewiseLinearTree(max_iter=2000, random_state=0).fit(X, side > 0)
    assert model.get_n_leaves() == 2


def test_equal_rows_are_one_point():
    X, y = [[0.0], [0.0], [0.0], [1.0], [-0.0]], ["a", "b", "a", "b", "a"]
    model = PiecewiseLinearTree(random_state=0).fit(X, y)
    assert model.get_n_leaves() == 2
    assert model.predict_proba([[0.0]]).tolist() == [[0.75, 0.25]]
    only = PiecewiseLinearTree().fit([[1.0], [1.0]], [0, 1])
    assert only.get_n_leaves() == 1
    assert only.predict([[5.0]]).tolist() == [0]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_weight_of_two_is_a_repeated_row(algorithm):
    X, y = chess(80)
    weight = np.random.default_rng(0).integers(0, 3, size=80)
    model = PiecewiseLinearTree(algorithm, random_state=0).fit(X, y, weight.astype(float))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(80), weight))
    again = PiecewiseLinearTree(algorithm, random_state=0).fit(X[rows], y[rows])
    np.testing.assert_array_equal(again.tree_.coef, model.tree_.coef)
    np.testing.assert_array_equal(again.tree_.threshold, model.tree_.threshold)


def test_limits():
    X, y = chess()
    assert PiecewiseLinearTree(max_depth=2).fit(X, y).get_depth() == 2
    stump = PiecewiseLinearTree(max_depth=0).fit(X, y)
    assert stump.get_n_leaves() == 1
    np.testing.assert_allclose(stump.predict_proba(X[:1])[0], np.bincount(y) / y.size)
    tree = PiecewiseLinearTree(min_samples_split=40, random_state=0).fit(X, y).tree_
    assert tree.n_node_samples[tree.n_children > 0].min() >= 40
    tree = PiecewiseLinearTree(min_samples_leaf=15, random_state=0).fit(X, y).tree_
    assert tree.n_node_samples[tree.n_children == 0].min() >= 15
    assert tree.n_leaves > 2


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e130])
def test_any_unit_of_the_features(scale):
    X, y = chess(100)
    model = PiecewiseLinearTree(random_state=0).fit(scale * X, y)
    assert model.score(scale * X, y) == 1.0


def test_far_from_the_origin():
    X, y = chess(100)
    assert PiecewiseLinearTree(random_state=0).fit(1e7 + X, y).score(1e7 + X, y) == 1.0


def test_tree_tools_and_callbacks():
    X, y = chess(60)
    recorder = Recorder()
    model = PiecewiseLinearTree(random_state=0).set_callbacks(recorder).fit(X, y)
    assert "feature_0" in export_text(model)
    path = model.decision_path(X)
    assert path.shape == (60, model.tree_.node_count)
    assert (path.sum(axis=1) <= model.get_depth() + 1).all()
    leaves = [frame.attributes["tree_"].n_leaves for frame in recorder.frames]
    assert leaves == model.history_["leaves"]
    assert leaves[-1] == model.get_n_leaves()

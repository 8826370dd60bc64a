"""The tree of arrays: walks, cuts, and what a forged file may not do."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import skops.io
from scipy import sparse

from tercet.tree import DecisionTreeClassifier
from tercet.tree._engine.traversal import apply_thresholds, apply_tree, only_thresholds
from tercet.tree.tree import CATEGORY, LEAF, LINEAR, NOWHERE, SHARED, THRESHOLD, Tree, TreeBuilder


def bush(missing: int = SHARED) -> Tree:
    """Every kind of test: a threshold over a category of three values (one without a branch) and a line."""
    grow = TreeBuilder(n_features=3)
    grow.add_root(value=[[0.5, 0.5]], impurity=0.5, samples=16, weight=16.0)
    left, right = grow.split(0, feature=0, threshold=0.0, n_children=2, missing=missing)
    grow.set(left, value=[[0.6, 0.4]], impurity=0.48, samples=8, weight=8.0, share=0.4)
    grow.set(right, value=[[0.2, 0.8]], impurity=0.32, samples=8, weight=8.0, share=0.6)
    sides = grow.split(left, feature=1, n_children=2, missing=missing, slots=[1, NOWHERE, 0])
    for t, p in zip(sides, (0.9, 0.1)):
        grow.set(t, value=[[p, 1 - p]], impurity=0.18, samples=4, weight=4.0, share=0.5)
    sides = grow.split(right, coef=[1.0, 0.0, -2.0], threshold=0.5, n_children=2, missing=missing)
    for t, p in zip(sides, (0.3, 0.0)):
        grow.set(
            t,
            value=[[p, 1 - p]],
            impurity=2 * p * (1 - p),
            samples=4,
            weight=4.0,
            share=0.25 + 0.5 * (p == 0),
        )
    return grow.tree(n_classes=[2])


def walk(tree: Tree, x: np.ndarray, t: int = 0) -> np.ndarray:
    """One row's answer, as the rules are told."""
    if tree.kind[t] == LEAF:
        return tree.value[t]
    children = tree.children(t)
    if tree.kind[t] == LINEAR:
        v = tree.coef[tree.slot_start[t]] @ np.where(tree.coef[tree.slot_start[t]] == 0, 0, x)
    else:
        v = x[tree.feature[t]]
    if np.isnan(v):
        if tree.missing[t] != SHARED:
            return walk(tree, x, children[tree.missing[t]])
        return sum(tree.share[c] * walk(tree, x, c) for c in children)
    if tree.kind[t] != CATEGORY:
        return walk(tree, x, children[int(v > tree.threshold[t])])
    if not 0 <= v < tree.slot_count[t] or tree.slots[tree.slot_start[t] + int(v)] == NOWHERE:
        return tree.value[t]
    return walk(tree, x, children[tree.slots[tree.slot_start[t] + int(v)]])


def rows(n: int = 300) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=n), rng.integers(-1, 5, n), rng.normal(size=n)])
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


@pytest.mark.parametrize("missing", [SHARED, 0, 1])
def test_rows_walk_as_the_rules_say(missing):
    tree, X = bush(missing), rows()
    np.testing.assert_allclose(tree.predict(X), [walk(tree, x) for x in X], atol=1e-15)


def test_a_shared_row_is_found_where_its_greatest_part_goes():
    tree = bush()
    assert tree.apply(np.array([[np.nan, 0.0, np.nan]])).tolist() == [6]
    assert tree.apply(np.array([[-1.0, 1.0, 0.0], [-1.0, 9.0, 0.0]])).tolist() == [
        1,
        1,
    ]  # unseen: stops there


def grown(n: int = 400) -> tuple[Tree, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 3, n)
    return DecisionTreeClassifier(max_leaf_nodes=120).fit(X, y).tree_, X


def test_steps_side_by_side_end_where_single_ones_do():
    tree, X = grown()
    assert only_thresholds(tree.kind, tree.missing)
    arrays = tree.feature, tree.threshold, tree.child, tree.missing
    for part in (X, X[:1], X[:17], X.astype(np.float32)):
        np.testing.assert_array_equal(apply_thresholds(part, *arrays), apply_tree(part, tree.nodes))
    assert not only_thresholds(bush(0).kind, bush(0).missing)


def test_all_layouts_and_any_number_of_threads_agree(monkeypatch):
    tree, X = grown()
    want = tree.apply(X)
    monkeypatch.setattr("tercet.core.chunks.CHUNK_BYTES", 4096)
    filled = np.nan_to_num(X)
    for jobs in (None, 1, 2, 3):
        np.testing.assert_array_equal(tree.apply(X, jobs), want)
        np.testing.assert_array_equal(tree.apply(sparse.csr_array(filled), jobs), tree.apply(filled))
    np.testing.assert_array_equal(tree.apply(np.asfortranarray(X)), want)
    frozen = X.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(tree.apply(frozen), want)
    assert tree.predict(X[:0]).shape == (0, 1, 3)
    with pytest.raises(ValueError, match="grown from 4 features"):
        tree.predict(X[:, :3])


def test_decision_path_leads_from_the_root_to_the_leaf():
    tree, X = grown()
    path, at, parent = tree.decision_path(X).toarray(), tree.apply(X), tree.parent
    assert path.shape == (len(X), tree.node_count)
    np.testing.assert_array_equal(path.sum(axis=1), tree.depth[at] + 1)
    for i, t in enumerate(at):
        while t >= 0:
            assert path[i, t] == 1
            t = parent[t]


def chain(depth: int) -> Tree:
    """A branch of tests, each with one leaf beside it."""
    inner = np.arange(0, 2 * depth, 2)
    kind, child, count = np.zeros((3, 2 * depth + 1), dtype=int)
    kind[inner], child[inner], count[inner] = THRESHOLD, inner + 1, 2
    child[kind == LEAF] = -1
    feature, cut = np.where(kind == LEAF, -2, 0), np.where(kind == LEAF, -2.0, np.arange(2 * depth + 1) / 2)
    value = np.arange(2 * depth + 1.0).reshape(-1, 1, 1)
    return Tree(1, value, kind=kind, child=child, n_children=count, feature=feature, threshold=cut)


def test_a_chain_of_ten_thousand_tests_is_no_trouble():
    tree = chain(10_000)
    assert tree.max_depth == 10_000
    assert tree.predict(np.array([[-1.0], [5000.5], [1e9]])).ravel().tolist() == [1.0, 10_003.0, 20_000.0]
    assert tree.decision_path(np.array([[1e9]])).nnz == 10_001
    ends = np.zeros(tree.node_count, dtype=bool)
    ends[10_000] = True
    assert tree.collapsed(ends).max_depth == 5_000


def test_collapsed_nodes_answer_for_all_below():
    tree, X = grown()
    ends = np.zeros(tree.node_count, dtype=bool)
    ends[[1, 5, 9, 20]] = True
    small = tree.collapsed(ends)
    at, parent = tree.apply(X), tree.parent
    for i, t in enumerate(at):
        stop = t
        while t >= 0:
            stop, t = (t if ends[t] else stop), parent[t]
        np.testing.assert_array_equal(small.predict(X[i : i + 1])[0], tree.value[stop])
    assert small.n_leaves < tree.n_leaves
    assert tree.collapsed(np.zeros(tree.node_count, dtype=bool)).node_count == tree.node_count
    assert tree.collapsed(np.ones(tree.node_count, dtype=bool)).node_count == 1


def test_importances_are_the_falls_of_impurity():
    tree = bush()
    # The root: 16 * 0.5 - 8 * 0.48 - 8 * 0.32; the category: 8 * 0.48 - 8 * 0.18; the line, in parts 1 : 2.
    line = 8 * 0.32 - 4 * 0.42
    want = np.array([1.6 + line / 3, 2.4, 2 * line / 3]) / 16
    np.testing.assert_allclose(tree.compute_feature_importances(normalize=False), want)
    np.testing.assert_allclose(tree.compute_feature_importances(), want / want.sum())
    assert chain(3).compute_feature_importances().tolist() == [0.0]


FORGERIES = {
    "child before its parent": ("child", 0, 0),
    "child past the end": ("child", 0, 6),
    "child of two nodes": ("child", 2, 3),
    "feature too high": ("feature", 0, 3),
    "feature too low": ("feature", 1, -1),
    "a third side": ("n_children", 0, 3),
    "missing to nowhere": ("missing", 0, 2),
    "slots past the end": ("slot_start", 1, 1),
    "slots before the start": ("slot_start", 1, -1),
    "slots by overflow": ("slot_start", 1, 2**63 - 1),
    "too many slots": ("slot_count", 1, 4),
    "no such line": ("slot_start", 2, 1),
    "no such test": ("kind", 0, 7),
    "a leaf with children": ("kind", 0, 0),
    "a slot too high": ("slots", 0, 2),
}


@pytest.mark.parametrize(("name", "place", "value"), FORGERIES.values(), ids=FORGERIES)
def test_forged_arrays_are_refused(name, place, value):
    state = {key: np.copy(v) if isinstance(v, np.ndarray) else v for key, v in bush().__dict__.items()}
    state[name][place] = value
    with pytest.raises(ValueError, match="Tree: "):
        Tree.__new__(Tree).__setstate__(state)


@pytest.mark.parametrize(
    "change",
    [
        {"feature": np.zeros(7, dtype=np.int64)},
        {"threshold": np.zeros(6)},
        {"child": [1] * 7},
        {"slots": np.zeros(3)},
        {"coef": np.zeros((1, 2))},
        {"coef": np.zeros(3)},
        {"n_features": "3"},
        {"n_features": 0},
        {"n_classes": np.array([3])},
        {"value": np.zeros((7, 2, 2))},
        {"value": np.zeros((0, 1, 2))},
        {"surprise": 1},
    ],
    ids=str,
)
def test_forged_types_and_shapes_are_refused(change):
    with pytest.raises(ValueError, match="Tree: "):
        Tree.__new__(Tree).__setstate__(bush().__dict__ | change)
    with pytest.raises(TypeError, match="no array 'colour'"):
        Tree(1, np.zeros((1, 1, 1)), colour=[1])


def test_a_tree_survives_pickle_and_skops():
    tree, X = bush(), rows()
    name = "tercet.tree.tree.Tree"
    for again in (pickle.loads(pickle.dumps(tree)), skops.io.loads(skops.io.dumps(tree), trusted=[name])):
        np.testing.assert_array_equal(again.predict(X), tree.predict(X))
    tree.child[0] = 6
    forged = skops.io.dumps(tree)
    with pytest.raises(ValueError, match="children must come after"):
        skops.io.loads(forged, trusted=[name])

"""Sums of packed trees against a walk down each tree, row by row."""

import numpy as np
import pytest
from scipy import sparse

from tercet.ensemble._engine.packed_trees import BLOCK_ROWS, LANES, PackedTrees
from tercet.tree import DecisionTreeClassifier, DecisionTreeRegressor


def leaf(tree, row):
    """The leaf of a row: right where the value is above the threshold, or missing and sent there."""
    t = 0
    while tree.child[t] >= 0:
        x = row[tree.feature[t]]
        right = bool(tree.missing[t]) if np.isnan(x) else x > tree.threshold[t]
        t = tree.child[t] + int(right)
    return t


@pytest.fixture(scope="module")
def grown():
    """Trees of different depths, one of them a leaf; values of two columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) - np.nan_to_num(X[:, 1])
    trees = [DecisionTreeRegressor(max_depth=d).fit(X, y).tree_ for d in (1, 3, 9)]
    trees.append(DecisionTreeRegressor().fit(X, np.ones(60)).tree_)
    values = [rng.normal(size=(tree.node_count, 2)) for tree in trees]
    return X, trees, values


@pytest.mark.parametrize("n", [1, LANES + 1, 60])
def test_sums_are_those_of_the_leaves(grown, n):
    X, trees, values = grown
    packed = PackedTrees.of(trees, values)
    expected = [[value[leaf(tree, row)] for tree, value in zip(trees, values)] for row in X[:n]]
    np.testing.assert_allclose(packed.sums(X[:n]), np.sum(expected, axis=1), rtol=1e-12, atol=1e-12)
    some = packed.sums(X[:n], start=1, stop=3)
    np.testing.assert_allclose(
        some, np.sum(expected, axis=1) - np.array(expected)[:, [0, 3]].sum(axis=1), atol=1e-12
    )


def test_blocks_threads_and_sparse_rows(grown):
    X, trees, values = grown
    many = np.tile(X, (BLOCK_ROWS // len(X) + 2, 1))
    packed = PackedTrees.of(trees, values)
    whole = packed.sums(many, n_jobs=1)
    assert whole.tobytes() == packed.sums(many, n_jobs=2).tobytes()
    np.testing.assert_array_equal(whole[:60], packed.sums(X))
    np.testing.assert_array_equal(
        packed.sums(sparse.csr_array(np.nan_to_num(X))), packed.sums(np.nan_to_num(X))
    )


def test_sets_of_categories():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 9, 200), rng.normal(size=200)]).astype(float)
    X[rng.random(200) < 0.1, 0] = np.nan
    y = np.where(np.isnan(X[:, 0]), 0.5, X[:, 0] % 3) + X[:, 1]
    options = {"categorical_features": [0], "max_depth": 5}
    trees = [DecisionTreeRegressor(**options).fit(X[part], y[part]).tree_ for part in (slice(80), slice(200))]
    packed = PackedTrees.of(trees, [tree.value[:, 0] for tree in trees], categories=True)
    assert trees[0].slots.dtype == np.int8
    rows = np.vstack([X, [[9.0, 0.0], [-1.0, 0.0]]])  # of no category: they end at the test
    expected = sum(tree.predict(rows)[:, 0] for tree in trees)
    np.testing.assert_array_equal(packed.sums(rows), expected)


def test_what_cannot_be_packed(grown):
    _, trees, values = grown
    categories = DecisionTreeClassifier(categorical_features=[0]).fit([[0.0], [1.0], [2.0]], [0, 1, 0]).tree_
    assert PackedTrees.of([categories], [np.zeros((categories.node_count, 1))]) is None
    shared = DecisionTreeClassifier(algorithm="c45").fit([["a"], ["b"], [None], ["a"]], [0, 1, 0, 0]).tree_
    assert PackedTrees.of([shared], [np.zeros((shared.node_count, 1))], categories=True) is None
    with pytest.raises(ValueError, match="X has 2 features; the trees were grown from 3"):
        PackedTrees.of(trees, values).sums(np.zeros((1, 2)))

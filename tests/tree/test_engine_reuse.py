"""Columns that are sorted once for many trees: stumps and trees against a plain search for each."""

import numpy as np
import pytest

from tercet.tree import PresortedColumns, PresortedStumps, Tree
from tests.tree.engines import grow


def weighted_gini(y, weight, n_classes):
    """Total weight times the Gini index."""
    counts = np.bincount(y, weight, n_classes)
    return counts.sum() - (counts**2).sum() / counts.sum() if counts.sum() > 0 else 0.0


def best_stump(X, y, weight, n_classes):
    """The least weighted Gini index over all thresholds, by trying them: (impurity, column, threshold)."""
    tried = []
    for j in range(X.shape[1]):
        values = np.unique(X[weight > 0, j])
        for cut in (values[1:] + values[:-1]) / 2:
            left = X[:, j] <= cut
            sides = [weighted_gini(y[side], weight[side], n_classes) for side in (left, ~left)]
            tried.append((sum(sides), j, cut))
    return min(tried)


def test_stumps_are_the_best_for_every_weighting():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)).round(1), rng.integers(0, 3, 40)
    stumps = PresortedStumps(X, y, 3)
    for _ in range(4):  # rounds of boosting: other weights, the same columns; some rows have none
        weight = rng.uniform(0.5, 2.0, 40) * (rng.random(40) < 0.8)
        found = stumps.grow(weight)
        _, column, cut = best_stump(X, y, weight, 3)
        assert found.nodes["feature"][0] == column
        assert found.nodes["threshold"][0] == pytest.approx(cut)
        left = X[:, column] <= cut
        share = np.bincount(y[left], weight[left], 3) / weight[left].sum()
        np.testing.assert_allclose(found.value[1, 0], share, rtol=1e-12)


def test_stumps_without_a_split_are_leaves():
    grown = PresortedStumps(np.ones((4, 1)), np.array([0, 1, 0, 1]), 2).grow(np.ones(4))
    assert len(grown.value) == 1


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_trees_from_sorted_columns_are_trees_from_their_rows(criterion):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=(50, 2)).round(2), rng.integers(0, 4, 50)])
    X[::9, 0] = np.nan
    kinds = np.array([0, 0, 4])
    y = rng.integers(0, 2, 50) if criterion == "gini" else rng.normal(size=50)
    options = {"n_classes": [2 if criterion == "gini" else 1], "criterion": criterion}
    columns = PresortedColumns(X, kinds)
    for weight in (None, rng.integers(0, 3, 50).astype(float)):
        once = Tree.from_arrays(columns.grow(y, weight, **options))
        alone = grow(X, y, weight, n_categories=kinds, **options)
        np.testing.assert_array_equal(once.threshold, alone.threshold)
        np.testing.assert_array_equal(once.feature, alone.feature)
        np.testing.assert_allclose(once.value, alone.value, rtol=1e-12)

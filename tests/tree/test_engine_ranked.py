"""Ranked growth of two classes: the trees of presorted growth, every threshold counted."""

import numpy as np
import pytest

from tercet.tree._engine.limits import Limits
from tercet.tree._engine.presorted_columns import PresortedColumns
from tercet.tree._engine.ranked import RankedColumns

NAMES = (
    "feature",
    "threshold",
    "child",
    "n_children",
    "missing",
    "n_node_samples",
    "weighted_n_node_samples",
)


def grown(columns, y, weight, limits, seed, ranked):
    columns.plain = ranked
    return columns.grow(y, weight, n_classes=[2], criterion="gini", limits=limits, seed=seed)


@pytest.mark.parametrize(("levels", "least"), [(None, 1), (None, 4), (9, 1), (300, 2)])
def test_the_trees_of_presorted_growth(levels, least):
    rng = np.random.default_rng(least)
    n, d = 400, 8
    X = rng.standard_normal((n, d)) if levels is None else rng.integers(0, levels, (n, d)).astype(float)
    y = (X[:, 0] - X[:, 0].mean() + rng.standard_normal(n) * X.std() > 0).astype(int)
    columns = PresortedColumns(X)
    for seed, weight in enumerate([None, np.bincount(rng.integers(n, size=n), minlength=n).astype(float)]):
        limits = Limits(max_features=3, min_samples_leaf=least, max_depth=12)
        ours, theirs = (grown(columns, y, weight, limits, seed, ranked) for ranked in (True, False))
        assert columns.ranked is not None
        for name in NAMES:
            np.testing.assert_array_equal(ours.nodes[name], theirs.nodes[name], err_msg=name)
        for name in ("impurity", "share"):
            np.testing.assert_allclose(ours.nodes[name], theirs.nodes[name], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("weight", "criterion", "limits"),
    [
        (np.array([1.5, 1.0]), "gini", Limits(max_features=1)),
        (np.array([200.0, 1.0]), "gini", Limits(max_features=1)),
        (None, "entropy", Limits(max_features=1)),
        (None, "gini", Limits()),
        (None, "gini", Limits(max_features=1, min_impurity_decrease=0.1)),
        (None, "gini", Limits(max_features=1, min_weight_leaf=0.1)),
    ],
)
def test_what_presorted_growth_must_do(weight, criterion, limits):
    assert RankedColumns.can_grow(2, 4, None, [2], "gini", Limits(max_features=1))
    assert not RankedColumns.can_grow(2, 4, weight, [2], criterion, limits)
    assert not RankedColumns.can_grow(2, 4, None, [3], "gini", Limits(max_features=1))

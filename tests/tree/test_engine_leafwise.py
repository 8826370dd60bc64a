"""Leaf-wise growth of boosting trees: the trees of `HistogramTree`, for any number of threads."""

import numpy as np
import pytest

from tercet.tree._engine import leafwise, leafwise_kernels
from tercet.tree._engine.binning import BinnedColumns
from tercet.tree._engine.histogram import HistogramTree
from tercet.tree._engine.histogram_statistics import CategoryRule
from tercet.tree._engine.leafwise import LeafwiseGrower
from tercet.tree._engine.limits import Limits
from tercet.tree._engine.traversal import CATEGORY

LIMITS = Limits(max_leaf_nodes=10, min_samples_leaf=12, min_samples_split=24, min_weight_leaf=1e-3)


def table(seed, n=240, d=11, holes=0.0, categories=0):
    rng = np.random.default_rng(seed)
    X, kinds = rng.standard_normal((n, d)), np.zeros(d, int)
    X[rng.random((n, d)) < holes] = np.nan
    if categories:
        X[:, 3], kinds[3] = rng.integers(0, categories, n), categories
    y = (
        np.nan_to_num(X[:, 0])
        + np.nan_to_num(X[:, 1]) ** 2
        + 0.2 * (X[:, 3] > 2)
        + 0.3 * rng.standard_normal(n)
    )
    return BinnedColumns.of(X, 24, kinds), y, rng


def same_tree(ours, theirs, rate=1.0):
    for name in ("feature", "threshold", "child", "missing", "n_node_samples"):
        np.testing.assert_array_equal(ours.nodes[name], theirs.nodes[name])
    np.testing.assert_array_equal(np.asarray(ours.slots), np.asarray(theirs.slots))
    np.testing.assert_allclose(ours.value, rate * theirs.value, rtol=1e-12)
    np.testing.assert_allclose(ours.nodes["impurity"], theirs.nodes["impurity"], rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({}, {}),
        ({"holes": 0.2}, {}),
        ({"categories": 7, "holes": 0.1}, {}),
        ({}, {"max_features": 3}),
        ({}, {"max_depth": 3, "min_samples_leaf": 1}),
    ],
)
def test_grows_the_tree_of_all_digits(options, more):
    bins, y, rng = table(0, **options)
    limits = Limits(**{**vars(LIMITS), **more})
    # hessians from small to large: how many rows a side has cannot be told from its weight
    for h in (np.exp(1.5 * rng.standard_normal(len(y))), np.full(len(y), 0.25)):
        scores = np.zeros(len(y))
        ours = LeafwiseGrower(bins, limits, 0.5).grow(-y, h, scores, 0.1, seed=3)
        theirs, leaf = HistogramTree(limits, 0.5, seed=3).grow_with_leaves(bins, -y, h)
        same_tree(ours, theirs, 0.1)
        np.testing.assert_allclose(scores, 0.1 * theirs.value[leaf, 0, 0], rtol=1e-12)


def test_rows_that_count_several_times_are_repeated_rows():
    """To the bit: the words of a row of weight k are k times those of the row."""
    rng = np.random.default_rng(0)
    X, g, h = rng.standard_normal((90, 3)), rng.standard_normal(90), rng.random(90) + 1e-3
    copies = rng.integers(1, 4, 90)
    limits = Limits(max_leaf_nodes=12, min_samples_leaf=1, min_samples_split=2)
    weight = copies.astype(np.float64)
    bins = BinnedColumns.of(X, 24, weight=weight)
    weighted = LeafwiseGrower(bins, limits, 0.5, copies=LeafwiseGrower.copies_of(weight))
    one = weighted.grow(g * weight, h * weight)
    again = np.repeat(np.arange(90), copies)
    repeated = LeafwiseGrower(BinnedColumns.of(X[again], 24), limits, 0.5)
    other = repeated.grow(g[again], h[again])
    np.testing.assert_array_equal(weighted.words[again], repeated.words * copies[again])
    for name in ("feature", "threshold", "child"):
        np.testing.assert_array_equal(one.nodes[name], other.nodes[name])
    np.testing.assert_allclose(one.value, other.value, rtol=1e-12)


def test_weights_that_are_no_numbers_of_copies():
    assert LeafwiseGrower.copies_of(np.array([1.0, 2.5])) is None
    assert LeafwiseGrower.copies_of(np.array([2.0, 2.0])) is None  # nothing to be told apart
    assert LeafwiseGrower.copies_of(np.array([1.0, leafwise.MOST_ROWS])) is None
    np.testing.assert_array_equal(LeafwiseGrower.copies_of(np.array([1.0, 2.0])), [1, 2])


RULES = [
    CategoryRule(smooth=2.0, few=4, group=1, most=3, single=2, penalty=0.5),
    CategoryRule(smooth=1.0, few=2, group=30, most=9, single=1, penalty=0.0),
    CategoryRule(most=4, single=12),
]


@pytest.mark.parametrize("rule", RULES)
def test_regularised_categories_are_the_same_in_all_engines(rule):
    bins, y, rng = table(4, categories=12, holes=0.1)
    y = y + rng.standard_normal(12)[np.minimum(bins.column(3), 11)]
    h = np.exp(0.5 * rng.standard_normal(len(y)))
    ours = LeafwiseGrower(bins, LIMITS, 0.5, categories=rule).grow(-y, h)
    assert (np.asarray(ours.nodes["kind"]) == CATEGORY).any()
    same_tree(ours, HistogramTree(LIMITS, 0.5, categories=rule).grow(bins, -y, h))
    free = [set(range(bins.shape[1]))]
    same_tree(ours, HistogramTree(LIMITS, 0.5, categories=rule, groups=free).grow(bins, -y, h))


def test_the_best_set_of_categories():
    """All sets that a rule allows, one by one."""
    rng = np.random.default_rng(5)
    codes, few, penalty = rng.integers(0, 9, 120), 12, 3.0
    g = rng.standard_normal(9)[codes] + 0.1 * rng.standard_normal(120)
    bins = BinnedColumns.of(codes[:, None].astype(float), 255, [9])
    rule = CategoryRule(smooth=1.0, few=few, group=1, most=3, single=2, penalty=penalty)
    tree = LeafwiseGrower(bins, Limits(max_leaf_nodes=2), 0.5, categories=rule).grow(g, np.ones(120))
    counts, sums = np.bincount(codes, minlength=9), np.bincount(codes, g, 9)
    able = [k for k in range(9) if counts[k] >= few]
    able.sort(key=lambda k: sums[k] / (counts[k] + 1.0))
    assert 4 <= len(able) < 9
    sets = [end[:size] for end in (able, able[::-1]) for size in (1, 2, 3) if size <= (len(able) + 1) // 2]

    def gain(chosen):
        G, H = sums[chosen].sum(), counts[chosen].sum()
        rest = (sums.sum() - G) ** 2 / (120 - H + 0.5 + penalty)
        return G**2 / (H + 0.5 + penalty) + rest - sums.sum() ** 2 / 120.5

    best = max(sets, key=gain)
    assert sorted(np.flatnonzero(np.asarray(tree.slots) == 0).tolist()) == sorted(best)


def test_few_histograms(monkeypatch):
    bins, y, _ = table(1)
    usual = LeafwiseGrower(bins, LIMITS).grow(-y, np.ones(len(y)))
    monkeypatch.setattr(leafwise, "HISTOGRAM_BYTES", 1)
    same_tree(LeafwiseGrower(bins, LIMITS).grow(-y, np.ones(len(y))), usual)


def test_memory_is_used_again_and_threads_change_nothing():
    bins, y, rng = table(2, n=leafwise_kernels.STRIP_ROWS + 100, d=4)
    one, two = (LeafwiseGrower(bins, LIMITS, n_jobs=k) for k in (1, 2))
    for _ in range(2):
        g, h = rng.standard_normal(len(y)) - y, rng.random(len(y))
        scores = np.zeros((2, len(y)))
        first, second = one.grow(g, h, scores[0]), two.grow(g, h, scores[1])
        same_tree(first, second)
        np.testing.assert_array_equal(first.value, second.value)
        np.testing.assert_array_equal(*scores)
        same_tree(first, HistogramTree(LIMITS).grow(bins, g, h))


def test_a_leaf_of_few_rows_is_never_made():
    bins, y, rng = table(4)
    h = np.where(np.arange(len(y)) < 8, 50.0, 0.01)  # some rows that weigh more than all others
    g = np.where(np.arange(len(y)) < 8, -200.0, rng.standard_normal(len(y)))
    tree = LeafwiseGrower(bins, LIMITS).grow(g, h)
    assert tree.nodes["n_node_samples"].min() >= LIMITS.min_samples_leaf
    same_tree(tree, HistogramTree(LIMITS).grow(bins, g, h))


def test_nothing_to_gain_and_bad_sums():
    bins, y, _ = table(5)
    assert len(LeafwiseGrower(bins, LIMITS).grow(np.zeros(len(y)), np.ones(len(y))).value) == 1
    assert len(LeafwiseGrower(bins, Limits(max_leaf_nodes=1)).grow(-y, np.ones(len(y))).value) == 1
    with pytest.raises(ValueError, match="finite numbers"):
        LeafwiseGrower(bins, LIMITS).grow(np.full(len(y), np.inf), np.ones(len(y)))

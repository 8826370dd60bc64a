"""ID3 and C4.5."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tercet.datasets import load_loans, load_watermelon
from tercet.metrics.impurity import gini_index, label_gini
from tercet.metrics.information import information_gain, information_gain_ratio, label_entropy
from tercet.tree._engine import Limits
from tercet.tree._engine.gain_table import (
    GAIN,
    GINI,
    INTRINSIC_VALUE,
    LOWER_VALUE,
    MIDPOINT,
    LabelledColumns,
    gain_table,
)
from tercet.tree.multiway import grow_multiway
from tercet.tree.tree import CATEGORY, LEAF, NOWHERE, SHARED, THRESHOLD


def encoded(table):
    """Words as their places in the order of the alphabet, with the number of them."""
    columns, sizes = [], []
    for column in np.asarray(table, dtype=object).T:
        if all(isinstance(v, float) for v in column):
            columns.append(column.astype(float))
            sizes.append(0)
        else:
            words = sorted({v for v in column if v is not None})
            columns.append([np.nan if v is None else words.index(v) for v in column])
            sizes.append(len(words))
    return np.array(columns, dtype=float).T, np.array(sizes)


def measured(X, y, sizes, weight=None, **options):
    data = LabelledColumns.of(X, y, int(y.max()) + 1, sizes)
    rows = np.arange(len(y), dtype=np.int32)
    weight = np.ones(len(y)) if weight is None else weight
    return gain_table(data, rows, weight, data.sorted_rows(), np.arange(X.shape[1]), **options)


def mixed(n=400, missing=0.0, seed=0, classes=3):
    """Two numbers and two categories, of which one of each tells something."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)).round(1), rng.integers(0, 4, n), rng.integers(0, 3, n)])
    score = X[:, 0] + (X[:, 2] > 1) + 0.5 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, np.digitize(score, np.linspace(-0.5, 1, classes - 1)), np.array([0, 0, 4, 3])


def plant(X, y, sizes, weight=None, limits=None, **options):
    options.setdefault("n_classes", int(np.max(y)) + 1)
    return grow_multiway(X, np.asarray(y), weight, n_categories=sizes, limits=limits or Limits(), **options)


def same(one, other):
    for name in ("kind", "feature", "child", "n_children", "slots"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for name in ("value", "threshold", "share", "impurity", "weighted_n_node_samples"):
        assert np.allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12), name


# The texts' numbers.


def test_loans_id3():
    X, sizes = encoded(load_loans().data)
    y = (load_loans().target == "yes").astype(int)
    first = measured(X, y, sizes)[:, GAIN]
    assert np.allclose(first, [0.0830074999, 0.3236501982, 0.4199730940, 0.3629895625], atol=1e-10)
    homeless = X[:, 2] == 0
    second = measured(X[homeless], y[homeless], sizes)[[0, 1, 3], GAIN]
    assert np.allclose(second, [0.2516291674, 0.9182958341, 0.4738513896], atol=1e-10)
    for algorithm in ("id3", "c45"):
        tree = plant(X, y, sizes, algorithm=algorithm)
        assert tree.feature.tolist() == [2, 1, -2, -2, -2]
        assert tree.n_node_samples.tolist() == [15, 9, 6, 6, 3]
        assert np.isclose(tree.impurity[0], 0.9709505945)
        assert (tree.predict(X)[:, 0].argmax(axis=1) == y).all()


def test_watermelon_measures():
    X, sizes = encoded(load_watermelon("2.0").data)
    y = load_watermelon("2.0").target
    table = measured(X, y, sizes)
    assert np.allclose(
        table[:, GAIN], [0.108125, 0.142675, 0.140781, 0.380592, 0.289159, 0.006046], atol=6e-7
    )
    assert np.allclose(
        table[:, INTRINSIC_VALUE], [1.579863, 1.402081, 1.332820, 1.446648, 1.548565, 0.873981], atol=6e-7
    )
    after = label_gini(y) - measured(X, y, sizes, code=GINI)[:, GAIN]
    assert np.allclose(after, [0.427451, 0.422269, 0.423529, 0.277124, 0.344538, 0.494118], atol=6e-7)
    assert {plant(X, y, sizes, algorithm=a).feature[0] for a in ("id3", "c45")} == {3}


def test_watermelon_numbers():
    X, y = load_watermelon("3.0alpha", return_X_y=True)
    table = measured(X, y, np.zeros(2))
    assert np.allclose(table[:, MIDPOINT], [0.3815, 0.126])
    assert np.allclose(table[:, LOWER_VALUE], [0.36, 0.103])
    assert np.allclose(table[:, GAIN], [0.2624392604, 0.3492937223])
    cut = plant(X, y, np.zeros(2), algorithm="id3", cut="value")
    middle = plant(X, y, np.zeros(2), algorithm="id3")
    assert cut.threshold[0] == 0.103
    assert middle.threshold[0] == pytest.approx(0.126)
    assert np.array_equal(cut.apply(X), middle.apply(X))


def test_watermelon_with_gaps():
    X, sizes = encoded(load_watermelon("2.0alpha").data)
    y = load_watermelon("2.0alpha").target
    table = measured(X, y, sizes)
    assert np.allclose(
        table[:, GAIN], [0.251966, 0.171178, 0.144803, 0.423560, 0.288825, 0.005713], atol=6e-7
    )
    tree = plant(X, y, sizes, algorithm="id3")
    words = sorted({"清晰", "稍糊", "模糊"})
    share = dict(zip(words, tree.share[list(tree.children(0))]))
    assert share == pytest.approx({"清晰": 7 / 15, "稍糊": 5 / 15, "模糊": 3 / 15})
    clear = tree.child[0] + words.index("清晰")
    assert tree.feature[clear] == 1
    assert tree.weighted_n_node_samples[clear] == pytest.approx(7 + 14 / 15)
    # In that branch the rows without texture (8 and 10) have what is left of their weight.
    here = (X[:, 3] == words.index("清晰")) | np.isnan(X[:, 3])
    weight = np.where(np.isnan(X[:, 3]), 7 / 15, 1.0)[here]
    inner = measured(X[here], y[here], sizes, weight)[:, GAIN]
    expected = {1: 0.387776, 5: 0.347732, 4: 0.297223, 2: 0.218632, 0: 0.007088}
    assert {j: inner[j] for j in expected} == pytest.approx(expected, abs=6e-7)
    # A melon without texture is answered by all three branches, in proportion.
    melon = np.full((1, 6), np.nan)
    melon[0, 1] = X[0, 1]
    parts = [tree.value[tree.child[0] + k, 0] for k in range(3)]
    assert tree.predict(melon)[0, 0].sum() == pytest.approx(1.0)
    stump = plant(X, y, sizes, algorithm="id3", limits=Limits(max_depth=1))
    assert np.allclose(stump.predict(melon)[0, 0], sum(share[w] * p for w, p in zip(words, parts)))


def test_watermelon_of_ten():
    """The tree that the texts prune: a tie between navel and colour goes to the first."""
    X, sizes = encoded(load_watermelon("2.0").data[:, [4, 0, 1, 2, 3, 5]])
    y = load_watermelon("2.0").target
    train = np.array([1, 2, 3, 6, 7, 10, 14, 15, 16, 17]) - 1
    table = measured(X[train], y[train], sizes)[:, GAIN]
    assert np.allclose(table, [0.2755, 0.2755, 0.1145, 0.1735, 0.1735, 0.0], atol=5e-5)
    assert plant(X[train], y[train], sizes, algorithm="id3").feature[0] == 0


# Measures and choices.


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_gains_agree_with_the_metrics(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    y = rng.integers(0, 3, n)
    y[:2] = 0, 2
    weight = rng.integers(1, 4, n).astype(float)
    X = np.column_stack([rng.integers(0, 4, n), rng.integers(0, 5, n)]).astype(float)
    table = measured(X, y, np.array([0, 5]), weight)
    if table[1, GAIN] >= 0:
        assert table[1, GAIN] == pytest.approx(
            information_gain(y, X[:, 1], sample_weight=weight, base=2), abs=1e-9
        )
        ratio = information_gain_ratio(y, X[:, 1], sample_weight=weight)
        assert table[1, GAIN] / table[1, INTRINSIC_VALUE] == pytest.approx(ratio, abs=1e-9)
    cuts = [(a + b) / 2 for a, b in zip(np.unique(X[:, 0]), np.unique(X[:, 0])[1:])]
    found = [information_gain(y, X[:, 0] <= t, sample_weight=weight, base=2) for t in cuts]
    assert table[0, GAIN] == pytest.approx(max(found, default=-1.0), abs=1e-9)
    index = [gini_index(y, X[:, 0] <= t, sample_weight=weight) for t in cuts]
    drop = measured(X, y, np.array([0, 5]), weight, code=GINI)[0, GAIN]
    assert (
        drop == pytest.approx(label_gini(y, sample_weight=weight) - min(index, default=np.inf), abs=1e-9)
        or not cuts
    )


def test_pieces_and_threads_do_not_matter(monkeypatch):
    X, y, sizes = mixed(missing=0.1)
    whole = plant(X, y, sizes)
    monkeypatch.setattr("tercet.tree._engine.gain_table.BATCH", 100)
    same(whole, plant(X, y, sizes, n_jobs=2))


def test_ratio_without_the_guard():
    """A feature of tiny INTRINSIC_VALUE has the best ratio, but gains less than the mean."""
    y = np.array([0] * 10 + [1] * 10)
    rare = np.array([1] + [0] * 19)
    good = np.where(np.arange(20) % 3 == 0, 1 - y, y)
    X, sizes = np.column_stack([rare, good]).astype(float), np.array([2, 2])
    table = measured(X, y, sizes)
    ratio = table[:, GAIN] / table[:, INTRINSIC_VALUE]
    assert ratio[0] > ratio[1]
    assert table[0, GAIN] < table[1, GAIN]
    assert plant(X, y, sizes, algorithm="c45", limits=Limits(max_depth=1)).feature[0] == 1
    assert plant(X, y, sizes, algorithm="c45", average_gain=False).feature[0] == 0


def test_epsilon_is_strict():
    X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
    xor = plant(X, y, np.array([2, 2]), algorithm="id3")
    assert xor.n_leaves == 4  # gains of 0 are not below epsilon = 0
    assert plant(X, y, np.array([2, 2]), algorithm="id3", epsilon=1e-3).n_leaves == 1
    X, y, sizes = mixed()
    top = measured(X, y, sizes)[:, GAIN].max()
    assert plant(X, y, sizes, algorithm="id3", epsilon=top).n_leaves > 1
    assert plant(X, y, sizes, algorithm="id3", epsilon=top * 1.01).n_leaves == 1


def test_tests_of_the_two_kinds():
    X, y, sizes = mixed()
    tree = plant(X, y, sizes, algorithm="id3")
    assert set(tree.kind) == {LEAF, THRESHOLD, CATEGORY}
    assert (tree.missing[tree.kind != LEAF] == SHARED).all()
    parent, again = tree.parent, 0
    for t in np.flatnonzero(tree.kind != LEAF):
        above, seen = parent[t], []
        while above >= 0:
            seen.append(tree.feature[above])
            above = parent[above]
        if tree.kind[t] == CATEGORY:
            assert tree.feature[t] not in seen
        else:
            again += tree.feature[t] in seen
    assert again  # a number may be tested again further down


def test_values_without_rows():
    X, y = np.array([[0.0], [0], [2], [2], [2]]), np.array([0, 0, 1, 1, 0])
    tree = plant(X, y, np.array([4]))
    assert tree.slots.tolist() == [0, NOWHERE, 1, NOWHERE]
    # A declared value without rows, and one that nobody declared, stop at the node.
    for value in (1.0, 3.0, 4.0):
        assert tree.apply(np.array([[value]])).tolist() == [0]
        assert np.allclose(tree.predict(np.array([[value]]))[0, 0], [0.6, 0.4])


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("algorithm", ["id3", "c45"])
def test_weights(algorithm, missing):
    X, y, sizes = mixed(missing=missing)
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    options = {"algorithm": algorithm, "n_classes": 3, "limits": Limits(max_depth=4)}
    many = np.repeat(np.arange(len(y)), weight.astype(int))
    repeated = plant(X[many], y[many], sizes, **options)
    same(plant(X, y, sizes, weight, **options), repeated)
    scaled = plant(X, y, sizes, weight * 0.37, **options)
    assert np.allclose(scaled.predict(X), repeated.predict(X))


@pytest.mark.parametrize("algorithm", ["id3", "c45"])
@pytest.mark.parametrize("limits", [Limits(), Limits(max_features=2)], ids=["all", "drawn"])
def test_weights_down_to_the_last_leaf(algorithm, limits):
    # Where a row is in part, the parts of two rows must not count for more than those of one that weighs 2.
    for seed in range(8):
        X, y, sizes = mixed(n=40, missing=0.2, seed=seed)
        weight = np.random.default_rng(seed).integers(1, 4, len(y))
        many = np.repeat(np.arange(len(y)), weight)
        options = {"algorithm": algorithm, "n_classes": 3, "limits": limits}
        same(plant(X, y, sizes, weight.astype(float), **options), plant(X[many], y[many], sizes, **options))


def test_slivers_of_rows_are_not_split_on():
    X, y, sizes = mixed(missing=0.3)
    full, whole = (plant(X, y, sizes, algorithm="c45"), plant(np.nan_to_num(X), y, sizes, algorithm="c45"))
    inner = np.flatnonzero(full.kind == THRESHOLD)
    assert full.weighted_n_node_samples[full.child[inner]].min() >= 0.5
    assert full.weighted_n_node_samples[full.child[inner] + 1].min() >= 0.5
    assert full.n_leaves < 2 * whole.n_leaves


def test_missing_rows_are_divided():
    X, y, sizes = mixed(missing=0.2)
    tree = plant(X, y, sizes, algorithm="id3", limits=Limits(max_depth=3))
    weight = tree.weighted_n_node_samples
    for t in np.flatnonzero(tree.kind != LEAF):
        below = list(tree.children(int(t)))
        assert weight[below].sum() == pytest.approx(weight[t])
        assert tree.share[below].sum() == pytest.approx(1.0)
    assert np.allclose(tree.predict(X).sum(axis=2), 1.0)


def test_a_column_of_nothing():
    X, y, sizes = mixed()
    X[:, 0] = np.nan
    tree = plant(X, y, sizes)
    assert 0 not in tree.feature
    assert plant(np.full((6, 1), np.nan), y[:6], np.array([0]), n_classes=3).n_leaves == 1


def test_limits():
    X, y, sizes = mixed(missing=0.05)
    full = plant(X, y, sizes)
    assert plant(X, y, sizes, limits=Limits(max_depth=2)).max_depth == 2
    leaf = plant(X, y, sizes, limits=Limits(min_samples_leaf=20))
    assert leaf.n_node_samples[leaf.kind == LEAF].min() >= 20
    heavy = plant(X, y, sizes, limits=Limits(min_weight_leaf=25.0))
    assert heavy.weighted_n_node_samples.min() >= 25
    split = plant(X, y, sizes, limits=Limits(min_samples_split=50))
    assert split.weighted_n_node_samples[split.kind != LEAF].min() >= 50
    drop = plant(X, y, sizes, limits=Limits(min_impurity_decrease=0.01))
    assert 1 < drop.n_leaves < full.n_leaves
    few = [plant(X, y, sizes, limits=Limits(max_leaf_nodes=m)) for m in (2, 7, 30)]
    assert all(t.n_leaves <= m for t, m in zip(few, (2, 7, 30)))
    assert few[1].n_leaves > 4
    right = [(t.predict(X)[:, 0].argmax(axis=1) == y).mean() for t in few]
    assert right == sorted(right)
    drawn = [plant(X, y, sizes, limits=Limits(max_features=1), seed=s) for s in (0, 0, 1)]
    same(drawn[0], drawn[1])
    assert drawn[0].feature.tolist() != drawn[2].feature.tolist()


def test_one_row_and_long_chains():
    assert plant(np.array([[1.0]]), np.array([0]), np.array([0]), n_classes=2).n_leaves == 1
    n = 400  # classes alternate: every cut gains next to nothing, and the tree is as deep as it can get
    X, y = np.arange(n, dtype=float)[:, None], np.arange(n) % 2
    tree = plant(X, y, np.array([0]), algorithm="id3")
    assert tree.n_leaves == n
    assert (tree.predict(X)[:, 0].argmax(axis=1) == y).all()


def test_majority_ties_go_to_the_smallest():
    tree = plant(np.zeros((4, 1)), np.array([1, 0, 2, 1]), np.array([1]), n_classes=3)
    assert tree.predict(np.zeros((1, 1)))[0, 0].argmax() == 1
    tree = plant(np.zeros((4, 1)), np.array([2, 0, 2, 0]), np.array([1]), n_classes=3)
    assert tree.predict(np.zeros((1, 1)))[0, 0].argmax() == 0


def test_strange_codes():
    with pytest.raises(
        ValueError, match="feature 0 must hold codes of its 2 categories; it has values from 0 to 2"
    ):
        plant(np.array([[0.0], [2.0]]), np.array([0, 1]), np.array([2]))


def test_impurities_are_bits():
    X, y, sizes = mixed()
    tree = plant(X, y, sizes)
    assert tree.impurity[0] == pytest.approx(label_entropy(y, base=2))
    assert tree.compute_feature_importances().argmax() == 0

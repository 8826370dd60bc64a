"""Bins, histograms, and the trees that grow from them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tercet.tree._engine import Limits, binning, histogram_growth
from tercet.tree._engine.binning import BinnedColumns
from tercet.tree.tree import CATEGORY, LEAF
from tests.tree.engines import HistogramTree, grow, grow_binned

CRITERIA = [("gini", 2), ("entropy", 2), ("gini", 4), ("entropy", 3), ("squared_error", 1)]


def table(n, d=4, values=12, missing=0.0, seed=0):
    """Whole numbers, some of them missing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, size=(n, d)).astype(float)
    X[rng.random((n, d)) < missing] = np.nan
    return X


def targets(X, n_classes, seed=0):
    """Something that depends on the columns and a little on chance; no two splits are worth the same."""
    rng = np.random.default_rng(seed)
    Z = np.nan_to_num(X, nan=3.7)
    y = Z[:, 0] + 0.3 * Z[:, 1] * Z[:, 2] / Z.max() + 2.0 * rng.normal(size=len(X))
    return y if n_classes == 1 else np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))


def shape(tree):
    """A tree without the numbers of its nodes."""
    parts, waiting = [], [0]
    while waiting:
        t = waiting.pop()
        slots = tree.slots[tree.slot_start[t] : tree.slot_start[t] + tree.slot_count[t]].tolist()
        weight, mixed = (round(float(v[t]), 7) for v in (tree.weighted_n_node_samples, tree.impurity))
        parts.append(
            (tree.kind[t], tree.feature[t], tree.threshold[t], slots, weight, mixed, tree.missing[t])
        )
        waiting += list(tree.children(t))[::-1] if tree.kind[t] != LEAF else []
    return parts


def same_bits(one, other):
    names = (
        "kind",
        "feature",
        "threshold",
        "child",
        "missing",
        "value",
        "impurity",
        "slots",
        "n_node_samples",
    )
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


class TestBins:
    def test_few_distinct_values_have_a_bin_each(self):
        X = np.array([[3.0], [-1.5], [np.nan], [3.0], [0.25]])
        cut = BinnedColumns.of(X)
        assert cut.column(0).tolist() == [2, 0, 3, 2, 1]
        assert cut.thresholds(np.zeros(2, int), np.array([0, 0]), np.array([1, 2])).tolist() == [-0.625, 0.75]

    def test_many_values_are_cut_into_bins_of_equal_weight(self):
        X = np.random.default_rng(0).normal(size=(5000, 1))
        for weight in (None, np.random.default_rng(1).random(5000)):
            cut = BinnedColumns.of(X, max_bins=20, weight=weight)
            mass = np.bincount(cut.column(0), weight)
            assert len(mass) == 20
            np.testing.assert_allclose(mass, mass.mean(), rtol=0.02)

    def test_a_heavy_value_takes_one_bin_and_the_others_share_the_rest(self):
        rng = np.random.default_rng(0)
        X = np.append(np.zeros(9000), rng.permutation(1000) + 1.0)[:, None]
        assert BinnedColumns.of(X, max_bins=11).n_bins[0] == 11
        np.testing.assert_allclose(np.bincount(BinnedColumns.of(X, max_bins=11).column(0))[1:], 100, atol=1)

    def test_a_weight_is_so_many_rows(self):
        rng = np.random.default_rng(0)
        X, times = rng.normal(size=(400, 3)), rng.integers(1, 4, size=400)
        weighted, repeated = (
            BinnedColumns.of(X, 16, weight=times.astype(float)),
            BinnedColumns.of(np.repeat(X, times, axis=0), 16),
        )
        assert np.array_equal(weighted.high, repeated.high)
        assert np.array_equal(np.repeat(weighted.words, times, axis=1), repeated.words)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_thresholds_part_the_rows_as_the_codes_do(self, dtype, monkeypatch):
        monkeypatch.setattr(binning, "SAMPLE_ROWS", 300)  # most rows were not there when the cuts were made
        monkeypatch.setattr(binning, "STRIP_ROWS", 256)
        X = np.random.default_rng(0).standard_t(2, size=(1000, 11)).astype(dtype)
        X[::7, 3] = np.nan
        cut = BinnedColumns.of(X, max_bins=9)
        assert np.array_equal(cut.words, BinnedColumns.of(X, max_bins=9, n_jobs=3).words)
        for j in range(11):
            code, here = cut.column(j), ~np.isnan(X[:, j])
            assert (code[~here] == cut.n_bins[j]).all()
            for left, right in combinations(range(cut.n_bins[j]), 2):
                t = cut.thresholds(*(np.array([k]) for k in (j, left, right)))[0]
                sides = code[here] <= left, code[here] >= right
                assert (X[here, j][sides[0]] <= t).all()
                assert (X[here, j][sides[1]] > t).all()

    def test_neighbouring_floats_are_parted(self):
        X = np.array([1.0, np.nextafter(1.0, 2.0), 1.7e308, -1.7e308])[:, None]
        cut = BinnedColumns.of(X)
        for left in range(3):
            t = cut.thresholds(np.zeros(1, int), np.array([left]), np.array([left + 1]))[0]
            assert ((X[:, 0] <= t) == (cut.column(0) <= left)).all()

    def test_rare_categories_share_a_bin(self):
        X = np.repeat([0.0, 1.0, 2.0, 3.0, 4.0, np.nan], [5, 1, 6, 2, 9, 3])[:, None]
        cut = BinnedColumns.of(X, max_bins=4, n_categories=[6])
        assert cut.places[0].tolist() == [0, 3, 1, 3, 2, 3]
        assert np.bincount(cut.column(0)).tolist() == [5, 6, 9, 3, 3]

    @pytest.mark.parametrize("max_bins", [1, 256])
    def test_the_number_of_bins_is_checked(self, max_bins):
        with pytest.raises(ValueError, match=f"max_bins must be from 2 to 255; got {max_bins}"):
            BinnedColumns.of(np.ones((3, 1)), max_bins)

    def test_codes_of_categories_are_checked(self):
        with pytest.raises(ValueError, match="column 1 must hold codes of categories from 0 to 2"):
            BinnedColumns.of(np.array([[0.0, 3.0]]), n_categories=[0, 3])


class TestGrowth:
    @pytest.mark.parametrize("missing", [0.0, 0.15])
    @pytest.mark.parametrize(("criterion", "n_classes"), CRITERIA)
    def test_equals_exact_growth_where_every_value_has_a_bin(self, criterion, n_classes, missing):
        X = table(500, missing=missing)
        y = targets(X, n_classes)
        for limits in (
            Limits(max_depth=6),
            Limits(min_samples_leaf=7, min_samples_split=20),
            Limits(min_weight_leaf=11.0, min_impurity_decrease=0.002),
        ):
            for weight in (None, np.random.default_rng(1).uniform(0.5, 2.0, size=500)):
                asked = {"n_classes": (n_classes,), "criterion": criterion, "limits": limits}
                exact = grow(X, y, weight, **asked)
                assert shape(grow(X, y, weight, max_bins=255, **asked)) == shape(exact)

    @pytest.mark.parametrize(("criterion", "n_classes"), CRITERIA)
    def test_same_bits_for_any_number_of_threads_and_with_or_without_subtraction(
        self, criterion, n_classes, monkeypatch
    ):
        X = table(400, d=10, values=40, missing=0.05)
        y, asked = targets(X, n_classes), {"n_classes": (n_classes,), "criterion": criterion}
        for limits in (Limits(), Limits(max_leaf_nodes=25), Limits(max_features=3)):
            monkeypatch.undo()
            trees = [grow_binned(X, y, limits=limits, n_jobs=1, **asked)]
            monkeypatch.setattr(histogram_growth, "SINGLE_THREAD_ROWS", 50)
            monkeypatch.setattr(histogram_growth, "HISTOGRAM_BYTES", 0)
            trees += [grow_binned(X, y, limits=limits, n_jobs=3, **asked)]
            assert same_bits(*trees)
            monkeypatch.setattr(
                histogram_growth, "SUBTREE_ROWS", 100
            )  # other numbers for the nodes, but the same tree
            trees += [grow_binned(X, y, limits=limits, n_jobs=k, **asked) for k in (1, 2)]
            assert same_bits(trees[2], trees[3])
            assert shape(trees[2]) == shape(trees[0])

    @pytest.mark.parametrize(("criterion", "n_classes"), CRITERIA)
    def test_a_weight_is_so_many_rows(self, criterion, n_classes):
        X = table(300, missing=0.1)
        y, times = targets(X, n_classes), np.random.default_rng(2).integers(0, 4, size=300)
        asked = {"n_classes": (n_classes,), "criterion": criterion, "max_bins": 255}
        asked |= {"limits": Limits(max_depth=5, min_weight_leaf=6.0)}
        weighted = grow(X, y, times.astype(float), **asked)
        repeated = grow(np.repeat(X, times, axis=0), np.repeat(y, times), **asked)
        # Where no value was missing, missing ones go where more rows are, and rows are not weights.
        assert [part[:-1] for part in shape(weighted)] == [part[:-1] for part in shape(repeated)]
        np.testing.assert_allclose(weighted.predict(X[times > 0]), repeated.predict(X[times > 0]))

    @pytest.mark.parametrize("limits", [Limits(), Limits(max_leaf_nodes=40), Limits(max_leaf_nodes=10**6)])
    def test_rows_walk_to_the_leaf_they_were_grown_in(self, limits):
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.normal(size=(900, 2)), rng.integers(0, 30, size=(900, 1))])
        X[rng.random(X.shape) < 0.1] = np.nan
        cut = BinnedColumns.of(X, max_bins=20, n_categories=[0, 0, 30])
        g = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 2]) % 3 + rng.normal(size=900)
        tree, leaf = HistogramTree(limits, penalty=0.5).grow_with_leaves(cut, g, rows=np.arange(0, 900, 2))
        assert (tree.apply(X[::2]) == leaf[::2]).all()
        assert (leaf[1::2] == -1).all()
        for t in np.flatnonzero(tree.kind == LEAF):
            mine = leaf == t
            np.testing.assert_allclose(tree.value[t, 0, 0], -g[mine].sum() / (mine.sum() + 0.5))

    def test_best_first_takes_the_greatest_gains(self):
        X = table(400, values=20)
        y, asked = targets(X, 1), {"n_classes": (1,), "criterion": "squared_error"}
        whole = grow_binned(X, y, limits=Limits(max_depth=8), **asked)
        assert shape(grow_binned(X, y, limits=Limits(max_depth=8, max_leaf_nodes=10**4), **asked)) == shape(
            whole
        )
        cost = whole.impurity * whole.weighted_n_node_samples
        for leaves in (2, 5, 17):
            small = grow_binned(X, y, limits=Limits(max_depth=8, max_leaf_nodes=leaves), **asked)
            assert small.n_leaves == leaves
            open_nodes, left = {0}, cost[0]
            for _ in range(leaves - 1):
                drops = {
                    t: cost[t] - cost[list(whole.children(t))].sum()
                    for t in open_nodes
                    if whole.kind[t] != LEAF
                }
                t = max(drops, key=drops.__getitem__)
                open_nodes = open_nodes - {t} | set(whole.children(t))
                left -= drops[t]
            end = small.kind == LEAF
            np.testing.assert_allclose((small.impurity * small.weighted_n_node_samples)[end].sum(), left)

    @pytest.mark.parametrize(("criterion", "n_classes"), [("gini", 2), ("gini", 3), ("squared_error", 1)])
    def test_columns_without_a_choice(self, criterion, n_classes):
        asked = {"n_classes": (n_classes,), "criterion": criterion}
        y = np.array([0, 1, 1, 0, 1]) * 1.0 if n_classes == 1 else np.array([0, 1, 1, 0, 1])
        flat = np.column_stack([np.ones(5), np.full(5, np.nan)])
        assert grow_binned(flat, y, **asked).node_count == 1
        assert grow_binned(np.arange(5.0)[:, None], y * 0, **asked).node_count == 1
        assert grow_binned(np.ones((1, 1)), y[:1], **asked).node_count == 1
        half = np.array([np.nan, 1.0, 1.0, np.nan, 1.0])[:, None]
        tree = grow_binned(np.column_stack([flat, half]), y, **asked)
        assert (tree.node_count, tree.feature[0], tree.threshold[0], tree.missing[0]) == (3, 2, np.inf, 1)
        one = grow_binned(np.column_stack([flat, half]), y, limits=Limits(max_features=1), **asked)
        assert shape(one) == shape(tree)

    def test_one_class_is_a_leaf_and_many_classes_are_told_apart(self):
        X = np.arange(90.0)[:, None] // 3
        one = grow_binned(X, np.zeros(90, int), n_classes=(1,), criterion="gini")
        assert one.value.tolist() == [[[1.0]]]
        y = X[:, 0].astype(int)[::-1]
        for n_categories in (None, [30]):
            many = grow_binned(X, y, n_classes=(30,), criterion="gini", n_categories=n_categories)
            assert many.n_leaves == 30
            assert (many.predict(X)[:, 0].argmax(axis=1) == y).all()

    def test_every_node_tries_so_many_columns(self):
        X, rng = table(400, d=6, values=30), np.random.default_rng(0)
        y, asked = X[:, 0] + 0.1 * rng.normal(size=400), {"n_classes": (1,), "criterion": "squared_error"}
        trees = [grow_binned(X, y, limits=Limits(max_features=2), seed=s, **asked) for s in range(12)]
        assert same_bits(trees[3], grow_binned(X, y, limits=Limits(max_features=2), seed=3, **asked))
        first = [tree.feature[0] == 0 for tree in trees]
        assert any(first)
        assert not all(first)
        used = np.bincount(np.concatenate([t.feature[t.kind != LEAF] for t in trees]), minlength=6)
        assert used.min() > 0.05 * used.sum()


class TestCategories:
    def enumerate(self, x, y, weight, cost):
        """The least cost of the two sides, over all ways to part the categories."""
        values = np.unique(x)
        ways = [
            cost(y[m], weight[m]) + cost(y[~m], weight[~m])
            for size in range(1, len(values))
            for some in combinations(values, size)
            for m in [np.isin(x, some)]
        ]
        return min(ways)

    @staticmethod
    def gini(y, weight):
        share = np.bincount(y.astype(int), weight) / weight.sum()
        return weight.sum() * (1 - (share**2).sum())

    @staticmethod
    def entropy(y, weight):
        share = np.bincount(y.astype(int), weight) / weight.sum()
        return -weight.sum() * (share[share > 0] * np.log2(share[share > 0])).sum()

    @staticmethod
    def squared(y, weight):
        return (weight * (y - np.average(y, weights=weight)) ** 2).sum()

    @pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
    @pytest.mark.parametrize("seed", range(4))
    def test_the_best_subset_is_found(self, criterion, seed):
        rng = np.random.default_rng(seed)
        x, weight = rng.integers(0, 7, size=120), rng.uniform(0.5, 2, size=120)
        y = (
            (rng.random(120) < rng.random(7)[x]).astype(int)
            if criterion != "squared_error"
            else rng.normal(size=120)
        )
        cost = {"gini": self.gini, "entropy": self.entropy, "squared_error": self.squared}[criterion]
        asked = {"n_classes": (1 if criterion == "squared_error" else 2,), "criterion": criterion}
        tree = grow_binned(
            x[:, None].astype(float), y, weight, n_categories=[7], limits=Limits(max_depth=1), **asked
        )
        assert tree.kind[0] == CATEGORY
        np.testing.assert_allclose(
            (tree.impurity * tree.weighted_n_node_samples)[1:].sum(), self.enumerate(x, y, weight, cost)
        )

    @pytest.mark.parametrize(("criterion", "n_classes"), [("gini", 2), ("entropy", 2), ("squared_error", 1)])
    def test_equals_exact_growth(self, criterion, n_classes):
        X = table(400, values=9, missing=0.1)
        y = targets(X, n_classes)
        X[:, 0] = (5 * X[:, 0]) % 9
        asked = {"n_classes": (n_classes,), "criterion": criterion, "n_categories": [9, 0, 9, 0]}
        asked["limits"] = Limits(max_depth=5)
        for weight in (None, np.random.default_rng(1).uniform(0.5, 2.0, size=400)):
            binned, exact = grow(X, y, weight, max_bins=255, **asked), grow(X, y, weight, **asked)
            assert binned.node_count == exact.node_count  # which set is the left one may differ
            np.testing.assert_allclose(binned.predict(X), exact.predict(X), atol=1e-9)

    @pytest.mark.parametrize("seed", range(4))
    def test_more_classes_do_at_least_as_well_as_one_against_the_rest(self, seed):
        rng = np.random.default_rng(seed)
        x, weight = rng.integers(0, 6, size=200), np.ones(200)
        y = np.array([rng.choice(4, p=p) for p in rng.dirichlet(np.ones(4), size=6)[x]])
        tree = grow_binned(
            x[:, None] * 1.0,
            y,
            n_categories=[6],
            limits=Limits(max_depth=1),
            n_classes=(4,),
            criterion="gini",
        )
        found = (tree.impurity * tree.weighted_n_node_samples)[1:].sum()
        single = min(
            self.gini(y[x == k], weight[x == k]) + self.gini(y[x != k], weight[x != k]) for k in range(6)
        )
        assert found <= single + 1e-9
        assert found >= self.enumerate(x, y, weight, self.gini) - 1e-9

    def test_two_groups_of_categories_are_seen_through_many_classes(self):
        rng = np.random.default_rng(0)
        x = rng.integers(0, 8, size=400)
        y = np.where(np.isin(x, [1, 4, 6]), rng.integers(0, 2, size=400), rng.integers(2, 5, size=400))
        tree = grow_binned(x[:, None] * 1.0, y, n_categories=[8], n_classes=(5,), criterion="gini")
        side = tree.slots[tree.slot_start[0] : tree.slot_start[0] + 8]
        assert set(np.flatnonzero(side == side[1])) == {1, 4, 6}

    def test_a_category_that_was_not_there_stops_and_missing_ones_choose_a_side(self):
        x = np.array([0, 0, 2, 2, np.nan, np.nan, 3, 3.0])
        y = np.array([0, 0, 1, 1, 1, 1, 0, 0])
        tree = grow_binned(x[:, None], y, n_categories=[5], n_classes=(2,), criterion="gini")
        assert tree.slots.tolist() == [0, -1, 1, 0, -1]
        assert tree.missing[0] == 1
        np.testing.assert_array_equal(tree.predict(np.array([[1.0], [np.nan]]))[:, 0], [[0.5, 0.5], [0, 1]])


class TestNewton:
    x, y = np.arange(1.0, 7.0)[:, None], np.array([1, 1.2, 1.1, 3.0, 3.2, 5.0])

    def gain(self, tree):
        mass = tree.impurity * tree.weighted_n_node_samples
        return mass[0] - mass[1:3].sum()

    @pytest.mark.parametrize("packed", [False, True])
    def test_gains_of_the_text(self, packed):
        gains = [1.3988095, 2.8051429, 5.4396429, 2.0851429, -0.6011905]
        for k, gain in enumerate(gains, 1):
            side = (self.x > self.x[k - 1]).astype(float)  # one column that can be cut only there
            tree = HistogramTree(Limits(max_depth=1), min_gain=-1e9, packed=packed).grow(
                BinnedColumns.of(side), 0.5 - self.y
            )
            assert self.gain(tree) == pytest.approx(gain, abs=1e-6)
            kept = HistogramTree(Limits(max_depth=1), packed=packed).grow(
                BinnedColumns.of(side), 0.5 - self.y
            )
            assert kept.node_count == (3 if gain > 0 else 1)
        tree = HistogramTree(Limits(max_depth=1), packed=packed).grow(BinnedColumns.of(self.x), 0.5 - self.y)
        assert tree.threshold[0] == 3.5
        np.testing.assert_allclose(tree.value.ravel()[1:], [0.45, 2.425])
        stays = HistogramTree(min_gain=5.44, packed=packed).grow(BinnedColumns.of(self.x), 0.5 - self.y)
        assert stays.node_count == 1

    def test_logistic_with_missing_values(self):
        x = np.array([1, 2, 3, np.nan, 5, 6, np.nan])[:, None]
        y = np.array([0, 0, 1, 1, 1, 0, 1])
        tree = HistogramTree(Limits(max_depth=1)).grow(BinnedColumns.of(x), 0.5 - y, np.full(7, 0.25))
        assert (tree.threshold[0], tree.missing[0]) == (2.5, 1)
        assert self.gain(tree) == pytest.approx(1.5757576, abs=1e-7)
        np.testing.assert_allclose(tree.value.ravel()[1:], [-2 / 3, 2 / 3])

    def test_packed_words_find_the_same_tree(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(2000, 5))
        g, h = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=2000), rng.uniform(0.1, 1, size=2000)
        cut, limits = (
            BinnedColumns.of(X, 60),
            Limits(max_leaf_nodes=12, min_samples_leaf=20, min_weight_leaf=3.0),
        )
        full, packed = (HistogramTree(limits, packed=p).grow(cut, g, h) for p in (False, True))
        assert shape(full) == shape(packed)
        assert np.array_equal(full.value, packed.value)
        assert full.n_node_samples.min() >= 20
        assert full.weighted_n_node_samples.min() >= 3.0

    def test_importances_are_gains(self):
        tree = HistogramTree(Limits(max_depth=1)).grow(BinnedColumns.of(self.x), 0.5 - self.y)
        assert 6 * tree.compute_feature_importances(normalize=False)[0] == pytest.approx(5.4396429, abs=1e-6)

    def test_infinite_gradients_and_no_rows_are_refused(self):
        with pytest.raises(ValueError, match="finite numbers"):
            HistogramTree().grow(BinnedColumns.of(self.x), np.full(6, np.inf))
        with pytest.raises(ValueError, match="rows from 0 to 5; got 0"):
            HistogramTree().grow(BinnedColumns.of(self.x), np.ones(6), rows=[])

"""Presorted growth: against scikit-learn, against a plain search in Python, and against what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tercet.core.kernel import JIT
from tercet.tree import grow_tree
from tercet.tree._engine import Limits, presorted
from tercet.tree._engine.presorted import argsort_column
from tercet.tree.tree import CATEGORY, LEAF, NODE_DTYPES, NOWHERE, Tree
from tests.tree.engines import grow

N = 300


def numbers(seed: int = 0, n: int = N, d: int = 4) -> tuple[np.random.Generator, np.ndarray]:
    """Rows without ties, whose values 32 bits hold (scikit-learn's trees round to them)."""
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n, d)).astype(np.float32).astype(np.float64)


def same_cells(tree: Tree, peer, X: np.ndarray) -> bool:
    """Do two trees put the same rows together?"""
    ours, theirs = tree.apply(X), peer.apply(X)
    return len(set(zip(ours, theirs))) == len(set(ours)) == len(set(theirs))


def same_bits(a: Tree, b: Tree) -> bool:
    names = [*NODE_DTYPES, "value", "slots"]
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


LIMITS = [
    (Limits(max_depth=4), {"max_depth": 4}),
    (Limits(max_depth=6, min_samples_leaf=7), {"max_depth": 6, "min_samples_leaf": 7}),
    (Limits(max_depth=6, min_samples_split=25), {"max_depth": 6, "min_samples_split": 25}),
    (Limits(max_depth=6, min_impurity_decrease=0.01), {"max_depth": 6, "min_impurity_decrease": 0.01}),
]


@pytest.mark.parametrize(("limits", "theirs"), LIMITS)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_as_scikit_learn(limits, theirs, criterion, n_classes):
    # Weights leave no ties; and no node is pure, which scikit-learn would split where rounding says it is not.
    rng, X = numbers()
    y, weight = rng.integers(0, n_classes, len(X)), rng.uniform(0.5, 2.0, len(X))
    tree = grow(X, y, weight, n_classes=[n_classes], criterion=criterion, limits=limits)
    peer = DecisionTreeClassifier(criterion=criterion, random_state=0, **theirs).fit(X, y, weight)
    assert tree.node_count == peer.tree_.node_count
    assert same_cells(tree, peer, X)
    np.testing.assert_allclose(tree.predict(X)[:, 0], peer.predict_proba(X), atol=1e-12)
    order, found = np.sort(peer.tree_.impurity), np.sort(tree.impurity)
    np.testing.assert_allclose(found, order, atol=1e-12)


@pytest.mark.parametrize(("limits", "theirs"), [(Limits(), {}), *LIMITS])
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_as_scikit_learn(limits, theirs, weighted):
    rng, X = numbers(1)
    y = X[:, 0] ** 2 + rng.normal(size=len(X))
    weight = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    tree = grow(X, y, weight, n_classes=[1], criterion="squared_error", limits=limits)
    peer = DecisionTreeRegressor(random_state=0, **theirs).fit(X, y, weight)
    if (
        limits != Limits()
    ):  # the last splits of two or three rows are ties, which scikit-learn breaks by a draw
        assert tree.node_count == peer.tree_.node_count
        assert same_cells(tree, peer, X)
    np.testing.assert_allclose(tree.predict(X)[:, 0, 0], peer.predict(X), atol=1e-12)
    np.testing.assert_allclose(tree.weighted_n_node_samples[0], peer.tree_.weighted_n_node_samples[0])


@pytest.mark.parametrize("weighted", [False, True])
def test_least_weight_of_a_leaf(weighted):
    rng, X = numbers(2)
    y, weight = rng.normal(size=len(X)), rng.uniform(0.5, 2.0, len(X)) if weighted else None
    total = len(X) if weight is None else weight.sum()
    limits = Limits(min_weight_leaf=0.05 * total)
    tree = grow(X, y, weight, n_classes=[1], criterion="squared_error", limits=limits)
    peer = DecisionTreeRegressor(min_weight_fraction_leaf=0.05, random_state=0).fit(X, y, weight)
    assert tree.weighted_n_node_samples.min() >= 0.05 * total
    assert same_cells(tree, peer, X)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_missing_values_as_scikit_learn(criterion):
    rng, X = numbers(3)
    label = (X[:, 0] + 1.5 * rng.normal(size=len(X)) > 0).astype(int)  # no node is pure, there are no ties
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    X[:, 3][label == 1] = np.where(rng.uniform(size=(label == 1).sum()) < 0.5, np.nan, X[:, 3][label == 1])
    weight, fresh = rng.uniform(0.5, 2.0, len(X)), numbers(4)[1]
    fresh[::3, 0] = fresh[::4, 3] = np.nan
    if criterion == "squared_error":
        y, classes, kind = label + rng.normal(size=len(X)), [1], DecisionTreeRegressor
    else:
        y, classes, kind = label, [2], DecisionTreeClassifier
    limits = Limits(max_depth=4, min_samples_leaf=5)
    tree = grow(X, y, weight, n_classes=classes, criterion=criterion, limits=limits)
    peer = kind(criterion=criterion, max_depth=4, min_samples_leaf=5, random_state=0).fit(X, y, weight)
    assert same_cells(tree, peer, X)
    found = tree.predict(fresh)[:, 0]
    expected = peer.predict_proba(fresh) if len(found.T) == 2 else peer.predict(fresh)[:, None]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_missing_against_present():
    X = np.array([[1.0], [2.0], [np.nan], [np.nan]])
    tree = grow(X, np.array([0, 0, 1, 1]), n_classes=[2], criterion="gini")
    assert tree.node_count == 3
    assert tree.predict(np.array([[-9.0], [99.0], [np.nan]]))[:, 0, 1].tolist() == [0.0, 0.0, 1.0]


def test_missing_where_none_was_missing_goes_with_most_rows():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
    for y, side in (([0, 0, 1, 1, 1], 1), ([0, 0, 0, 1, 1], 0)):
        tree = grow(X, np.array(y), n_classes=[2], criterion="gini")
        assert tree.predict(np.array([[np.nan]]))[0, 0, side] == 1.0


def list_tests(tree: Tree, t: int = 0) -> list[tuple[int, float]]:
    if tree.kind[t] == LEAF:
        return []
    left, right = tree.children(t)
    return [
        (int(tree.feature[t]), float(tree.threshold[t])),
        *list_tests(tree, left),
        *list_tests(tree, right),
    ]


@settings(max_examples=40 if JIT else 10, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(2, "gini"), (3, "gini"), (2, "entropy"), (4, "entropy"), (1, "squared_error")]),
)
def test_ties_go_to_the_first_column_and_the_smallest_threshold(seed, kind):
    n_classes, criterion = kind
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(30, 3)).astype(float)
    y = rng.integers(0, 5, 30).astype(float) if n_classes == 1 else rng.integers(0, n_classes, 30)
    tree = grow(X, y, n_classes=[n_classes], criterion=criterion)
    assert list_tests(tree) == list_tests(grow_tree(X, y, criterion=criterion))


@pytest.mark.parametrize(("n_classes", "criterion"), [(2, "gini"), (3, "entropy"), (1, "squared_error")])
def test_a_weight_is_a_repetition(n_classes, criterion):
    rng, X = numbers(5)
    y = rng.normal(size=len(X)) if n_classes == 1 else rng.integers(0, n_classes, len(X))
    times = rng.integers(0, 4, len(X))
    again = np.repeat(np.arange(len(X)), times)
    options = {"n_classes": [n_classes], "criterion": criterion, "limits": Limits(max_depth=7)}
    weighted = grow(X, y, times.astype(float), **options)
    repeated = grow(X[again], y[again], None, **options)
    assert list_tests(weighted) == list_tests(repeated)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-12)
    np.testing.assert_allclose(weighted.weighted_n_node_samples, repeated.weighted_n_node_samples)
    np.testing.assert_allclose(weighted.impurity, repeated.impurity, atol=1e-12)


def best_subset(
    codes: np.ndarray, y: np.ndarray, weight: np.ndarray, n_classes: int, criterion: str
) -> float:
    """The largest fall of the impurity over all sets of categories."""

    def cost(rows):
        w = weight[rows]
        if n_classes == 1:
            return (w * (y[rows] - np.average(y[rows], weights=w)) ** 2).sum()
        p = np.bincount(y[rows], w, n_classes) / w.sum()
        return w.sum() * (
            (1 - (p**2).sum()) if criterion == "gini" else -(p[p > 0] * np.log2(p[p > 0])).sum()
        )

    found, values = 0.0, np.unique(codes)
    for mask in range(1, 2 ** (len(values) - 1)):
        left = np.isin(codes, values[[mask >> k & 1 == 1 for k in range(len(values))]])
        if 0 < left.sum() < len(left):
            found = max(
                found, cost(np.arange(len(codes))) - cost(np.flatnonzero(left)) - cost(np.flatnonzero(~left))
            )
    return found


def drop_at_root(tree: Tree) -> float:
    mass = tree.weighted_n_node_samples * tree.impurity
    return mass[0] - mass[1] - mass[2]


@pytest.mark.parametrize(("n_classes", "criterion"), [(2, "gini"), (2, "entropy"), (1, "squared_error")])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_sets_of_categories_are_the_best_of_all(n_classes, criterion, missing, weighted):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 6, 60).astype(float)
        y = rng.normal(size=60) + codes % 3 if n_classes == 1 else rng.integers(0, n_classes, 60)
        weight = rng.uniform(0.5, 2.0, 60) if weighted else np.ones(60)
        if missing:
            codes[rng.uniform(size=60) < 0.2] = np.nan
        tree = grow(
            codes[:, None],
            y,
            weight,
            n_classes=[n_classes],
            criterion=criterion,
            n_categories=[6],
            limits=Limits(max_depth=1),
        )
        expected = best_subset(np.nan_to_num(codes, nan=6.0), y, weight, n_classes, criterion)
        assert tree.kind[0] == CATEGORY
        np.testing.assert_allclose(drop_at_root(tree), expected, rtol=1e-9)
        here = tree.apply(codes[:, None])
        assert [(here == t).sum() for t in (1, 2)] == tree.n_node_samples[1:].tolist()


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_categories_with_many_classes(criterion):
    """Every category against the rest is tried, and so is the order along which classes differ."""
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 7, 200).astype(float), rng.integers(0, 4, 200)
    y[np.isin(codes, (1, 4, 6))] = rng.integers(0, 2, np.isin(codes, (1, 4, 6)).sum())
    tree = grow(
        codes[:, None], y, n_classes=[4], criterion=criterion, n_categories=[7], limits=Limits(max_depth=1)
    )
    alone = max(best_subset((codes == c).astype(int), y, np.ones(200), 4, criterion) for c in range(7))
    assert drop_at_root(tree) > alone
    np.testing.assert_allclose(
        drop_at_root(tree), best_subset(codes, y, np.ones(200), 4, criterion), rtol=1e-9
    )


def test_category_that_was_not_there_stops_the_walk():
    codes = np.array([[0.0], [0.0], [2.0], [2.0]])
    tree = grow(codes, np.array([0, 0, 1, 1]), n_classes=[2], criterion="gini", n_categories=[4])
    assert tree.slots.tolist() == [0, NOWHERE, 1, NOWHERE]
    assert tree.apply(np.array([[1.0], [3.0], [4.0], [2.0]])).tolist() == [0, 0, 0, 2]


def mixture(n: int) -> tuple[np.random.Generator, np.ndarray, list[int]]:
    """Numbers with and without holes and ties, and categories."""
    rng, X = numbers(6, n, 6)
    X[:, 1] = np.round(X[:, 1])
    X[rng.uniform(size=n) < 0.1, 2] = np.nan
    X[:, 4] = rng.integers(0, 9, n)
    X[rng.uniform(size=n) < 0.1, 4] = np.nan
    X[:, 5] = rng.integers(0, 3, n)
    return rng, X, [0, 0, 0, 0, 9, 3]


@pytest.mark.parametrize(
    ("n_classes", "criterion"), [(2, "gini"), (3, "gini"), (2, "entropy"), (1, "squared_error")]
)
@pytest.mark.parametrize("max_features", [None, 2])
def test_same_bits_for_any_number_of_threads(monkeypatch, n_classes, criterion, max_features):
    rng, X, kinds = mixture(N)
    y = rng.normal(size=N) if n_classes == 1 else rng.integers(0, n_classes, N)
    options = {"n_classes": [n_classes], "criterion": criterion, "n_categories": kinds, "seed": 5}
    options["limits"] = Limits(max_features=max_features)
    integers = grow(X, y, **options)
    monkeypatch.setattr(presorted, "SUBTREE_ROWS", 40)
    parts = [grow(X, y, **options, n_jobs=n) for n in (1, 2, 3)]
    assert same_bits(parts[0], parts[1])
    assert same_bits(parts[0], parts[2])
    assert list_tests(integers) == list_tests(parts[0])
    monkeypatch.setattr(presorted, "INTERRUPT_ENTRIES", 1)  # a pause after every node
    assert same_bits(parts[0], grow(X, y, **options))


def test_both_widths_of_numbers_and_of_memory():
    rng, X = numbers(7)
    y = rng.integers(0, 2, len(X))
    tree = grow(X, y, n_classes=[2], criterion="gini")
    assert same_bits(tree, grow(X.astype(np.float32), y, n_classes=[2], criterion="gini"))
    assert same_bits(tree, grow(np.asfortranarray(X), y, n_classes=[2], criterion="gini"))
    frozen = X.copy()
    frozen.setflags(write=False)
    assert same_bits(tree, grow(frozen, y, n_classes=[2], criterion="gini"))


def test_features_are_drawn_from_the_seed():
    rng, X = numbers(8, d=6)
    y = rng.integers(0, 2, len(X))
    options = {"n_classes": [2], "criterion": "gini", "limits": Limits(max_features=1)}
    a, b = (grow(X, y, seed=seed, **options) for seed in (1, 2))
    assert same_bits(a, grow(X, y, seed=1, **options))
    assert not np.array_equal(a.feature, b.feature)
    used = np.bincount(a.feature[a.kind != LEAF], minlength=6)
    assert used.min() > 0


def test_constant_columns_are_drawn_but_not_alone():
    rng, X = numbers(9)
    X[:, [0, 1, 3]] = 7.0
    X[::2, 3] = np.nan
    X[:, 1] = np.nan
    y = rng.integers(0, 2, len(X))
    for seed in range(5):
        tree = grow(X, y, n_classes=[2], criterion="gini", seed=seed, limits=Limits(max_features=1))
        assert tree.predict(X)[np.arange(len(X)), 0, y].min() == 1.0
        assert set(tree.feature[tree.kind != LEAF]) <= {2, 3}


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_nothing_to_split(criterion):
    classes, one = ([1], np.array([2.5])) if criterion == "squared_error" else ([2], np.array([1]))
    alone = grow(np.array([[3.0]]), one, n_classes=classes, criterion=criterion)
    assert alone.node_count == 1
    assert alone.predict(np.array([[np.nan]])).shape == (1, 1, classes[0])
    X = np.arange(8.0)[:, None]
    assert grow(X, np.repeat(one, 8), n_classes=classes, criterion=criterion).node_count == 1
    y = np.arange(8) % 2 if criterion != "squared_error" else np.arange(8.0)
    for dull in (np.zeros((8, 2)), np.full((8, 2), np.nan)):
        tree = grow(dull, y, n_classes=classes, criterion=criterion)
        assert (tree.node_count, tree.n_node_samples[0]) == (1, 8)
        assert tree.impurity[0] > 0


def test_equal_numbers_that_cannot_be_written_exactly_are_equal():
    y = np.full(50, 0.1) * 3.0
    y[::2] = 0.3  # one bit away
    assert grow(np.arange(50.0)[:, None], y + 7, n_classes=[1], criterion="squared_error").node_count == 1


def test_a_split_without_gain_may_lead_to_one():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    tree = grow(X, np.array([0, 1, 1, 0]), n_classes=[2], criterion="gini")
    assert (tree.node_count, tree.feature[0]) == (7, 0)


def test_rows_by_the_thousand_that_are_the_same():
    X = np.repeat([[1.0, 5.0], [2.0, 5.0], [2.0, 6.0]], 1000, axis=0)
    y = np.repeat([0, 1, 2], 1000)
    tree = grow(X, y, n_classes=[3], criterion="gini")
    assert (tree.node_count, tree.n_leaves) == (5, 3)
    assert (tree.predict(X)[np.arange(3000), 0, y] == 1.0).all()


def test_chains_as_deep_as_there_are_rows():
    n = 10_001 if JIT else 301
    y = np.arange(n) % 2  # of alternating classes the best cut takes one row off the end
    tree = grow(np.arange(float(n))[:, None], y, n_classes=[2], criterion="gini")
    assert (tree.node_count, tree.max_depth) == (2 * n - 1, n - 1)
    assert (tree.predict(np.arange(float(n))[:, None])[np.arange(n), 0, y] == 1.0).all()


def test_thresholds_part_neighbours():
    low = 1.0
    X = np.array([[low], [np.nextafter(low, 2.0)], [1e308], [1.5e308]])
    tree = grow(X, np.array([0, 1, 2, 3]), n_classes=[4], criterion="gini")
    assert (tree.predict(X)[np.arange(4), 0, np.arange(4)] == 1.0).all()
    assert np.isfinite(tree.threshold).all()


def test_more_entries_than_32_bits_hold(monkeypatch):
    rng, X = numbers(10)
    y = rng.integers(0, 3, len(X))
    tree = grow(X, y, n_classes=[3], criterion="gini")
    monkeypatch.setattr(presorted, "entry_dtype", lambda n, shift: np.uint64)
    assert same_bits(tree, grow(X, y, n_classes=[3], criterion="gini"))


@settings(max_examples=60 if JIT else 15, deadline=None)
@given(arrays(np.float64, st.integers(1, 60), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_order_of_any_column(column):
    order = argsort_column(column)
    assert sorted(order.tolist()) == list(range(len(column)))
    np.testing.assert_array_equal(column[order], np.sort(column))


def test_order_beyond_the_digits_of_32_bits():
    for column in (
        1.0 + np.arange(3000.0)[::-1] * 1e-14,
        1.0 + np.random.default_rng(0).permutation(500) * 1e-9,
    ):
        np.testing.assert_array_equal(column[argsort_column(column)], np.sort(column))


def test_no_row_has_weight():
    with pytest.raises(ValueError, match="at least one row of positive weight"):
        grow(np.zeros((2, 1)), np.array([0, 1]), np.zeros(2), n_classes=[2], criterion="gini")


def test_codes_that_were_not_announced_are_refused():
    X, y = np.array([[0.0], [2.0]]), np.array([0, 1])
    with pytest.raises(ValueError, match="the codes of column 0 must be 0 to 1"):
        grow(X, y, n_classes=[2], criterion="gini", n_categories=[2])
    with pytest.raises(ValueError, match="the classes of output 0 must be 0 to 0"):
        grow(X, y, n_classes=[1], criterion="gini")


def test_many_categories_in_many_nodes():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 40, size=(400, 2)).astype(float), rng.normal(size=400)
    tree = grow(X, y, n_classes=[1], criterion="squared_error", n_categories=[40, 40])
    pairs, place = np.unique(X, axis=0, return_inverse=True)
    means = np.bincount(place, y) / np.bincount(place)
    assert tree.n_leaves == len(pairs)
    np.testing.assert_allclose(tree.predict(pairs)[:, 0, 0], means, atol=1e-12)

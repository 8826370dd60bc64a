"""Growth one node at a time, against scikit-learn, enumeration, and what must hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sklearn.tree
from hypothesis import given, settings
from hypothesis import strategies as st

from tercet.tree import DecisionTreeRegressor
from tercet.tree._engine import Limits
from tercet.tree._engine.category_orders import category_orders
from tercet.tree.tree import CATEGORY, LEAF, Tree
from tests.tree.engines import grow_general


def grow(
    X, target, weight=None, *, criterion="gini", n_classes=(2,), limits=None, categories=None, **more
) -> Tree:
    kinds = np.zeros(X.shape[1], dtype=np.int64) if categories is None else np.asarray(categories)
    return grow_general(
        X,
        target,
        weight,
        n_classes=n_classes,
        criterion=criterion,
        limits=limits or Limits(),
        n_categories=kinds,
        **more,
    )


def table(n=240, holes=0.0):
    rng = np.random.default_rng(3)
    X = (
        rng.normal(size=(n, 5)).astype(np.float32).astype(np.float64)
    )  # scikit-learn works in single precision
    number = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n)
    X[rng.random(X.shape) < holes] = np.nan
    weight = rng.integers(2**20, 2**22, n) / 2**21  # sums are exact, and those of two sets differ: no ties
    return X, number, np.digitize(number, [-0.5, 0.5]), weight


TARGETS = {
    "gini": lambda number, label: (label, (3,)),
    "entropy": lambda number, label: (label, (3,)),
    "squared_error": lambda number, label: (number, (1,)),
    "absolute_error": lambda number, label: (number, (1,)),
    "poisson": lambda number, label: (np.exp(number), (1,)),
    "gini, 2 outputs": lambda number, label: (np.column_stack([label, number > 0.2]).astype(int), (3, 2)),
    "squared_error, 2 outputs": lambda number, label: (np.column_stack([number, label * 1.0]), (1, 1)),
    "absolute_error, 2 outputs": lambda number, label: (np.column_stack([number, number**2]), (1, 1)),
    "poisson, 2 outputs": lambda number, label: (np.column_stack([np.exp(number), number**2]), (1, 1)),
}
LIMITS = {
    "depth": {"max_depth": 4},
    "leaf": {"min_samples_leaf": 9},
    "leaves": {"max_leaf_nodes": 9},
    "gain": {"min_impurity_decrease": 0.02},
    "split": {"min_samples_split": 30},
}


@pytest.mark.parametrize("holes", [0.0, 0.15])
@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("name", TARGETS)
def test_the_same_tree_as_scikit_learn(name, limits, holes):
    X, number, label, weight = table(holes=holes)
    target, n_classes = TARGETS[name](number, label)
    criterion = name.partition(",")[0]
    tree = grow(X, target, weight, criterion=criterion, n_classes=n_classes, limits=Limits(**limits))
    kind = "DecisionTreeClassifier" if n_classes[0] > 1 else "DecisionTreeRegressor"
    peer = getattr(sklearn.tree, kind)(criterion=criterion, random_state=0, **limits)
    peer = peer.fit(X, target, sample_weight=weight).tree_
    assert tree.node_count == peer.node_count
    ours, theirs = tree.apply(X), peer.apply(X.astype(np.float32))
    assert len({*zip(ours, theirs)}) == tree.n_leaves
    np.testing.assert_allclose(tree.value[ours], peer.value[theirs], atol=1e-12)
    np.testing.assert_allclose(tree.impurity[ours], peer.impurity[theirs], atol=1e-12)
    np.testing.assert_allclose(tree.weighted_n_node_samples[ours], peer.weighted_n_node_samples[theirs])


def test_missing_values_that_come_later_follow_the_most():
    X = np.array([[1.0], [2.0], [3.0]])
    assert grow(X, np.array([0, 0, 1])).missing[0] == 0
    assert grow(X, np.array([0, 1, 1])).missing[0] == 1


def test_missing_values_may_be_a_side_of_their_own():
    X = np.array([[1.0], [5.0], [np.nan], [np.nan]])
    tree = grow(X, np.array([0, 0, 1, 1]))
    assert tree.node_count == 3
    assert tree.threshold[0] == np.inf
    assert tree.predict(np.array([[1e300], [np.nan]]))[:, 0, 1].tolist() == [0.0, 1.0]
    assert grow(np.full((4, 1), np.nan), np.array([0, 0, 1, 1])).node_count == 1


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "absolute_error", "poisson"])
def test_a_weight_of_two_is_the_row_twice(criterion):
    X, number, _, _ = table(80)
    target = (number > 0).astype(int) if criterion in ("gini", "entropy") else np.abs(number)
    classes = (2,) if criterion in ("gini", "entropy") else (1,)
    weight = np.random.default_rng(0).integers(1, 4, 80)
    options = {"criterion": criterion, "n_classes": classes, "limits": Limits(max_depth=5)}
    once = grow(X, target, weight.astype(float), **options)
    often = grow(np.repeat(X, weight, axis=0), np.repeat(target, weight), **options)
    np.testing.assert_allclose(once.predict(X), often.predict(X), atol=1e-12)
    np.testing.assert_allclose(once.threshold, often.threshold)


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson"])
def test_gains_of_nothing_do_not_depend_on_rounding(criterion):
    # Of whole numbers many cuts gain exactly nothing: whether there is one must not hang on the last bit.
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 6, (30, 4)).astype(float), rng.integers(0, 9, 30).astype(float)
        weight = rng.integers(1, 4, 30)
        options = {"criterion": criterion, "n_classes": (1,)}
        once = grow(X, y, weight.astype(float), **options)
        often = grow(np.repeat(X, weight, axis=0), np.repeat(y, weight), **options)
        assert once.feature.tolist() == often.feature.tolist()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(1, 3)), min_size=2, max_size=12))
@settings(max_examples=60, deadline=None)
def test_the_first_cut_is_the_best_of_all(rows):
    x, y, w = (np.array(column, dtype=float) for column in zip(*rows))

    def costs(side):
        v, m = y[side], w[side]
        mean = np.average(v, weights=m)
        poisson = (
            np.inf if mean <= 0 else (m * np.where(v > 0, v * np.log(np.maximum(v, 1e-9) / mean), 0)).sum()
        )
        absolute = min((m * np.abs(v - c)).sum() for c in v)
        return {"squared_error": (m * (v - mean) ** 2).sum(), "absolute_error": absolute, "poisson": poisson}

    cuts = np.unique(x)[:-1]
    for criterion in ("squared_error", "absolute_error", "poisson"):
        if criterion == "poisson" and y.sum() <= 0:
            continue
        tree = grow(x[:, None], y, w, criterion=criterion, n_classes=(1,), limits=Limits(max_depth=1))
        totals = {c: costs(x <= c)[criterion] + costs(x > c)[criterion] for c in cuts}
        allowed = {c: v for c, v in totals.items() if np.isfinite(v)}
        if np.ptp(y) == 0 or not allowed:
            assert tree.node_count == 1
            continue
        best = min(allowed.values())
        first = min(c for c, v in allowed.items() if v <= best + 1e-9)
        assert cuts[cuts <= tree.threshold[0]].max() == first
        np.testing.assert_allclose((tree.impurity * tree.weighted_n_node_samples)[1:].sum(), best, atol=1e-9)


def test_ties_take_the_first_feature_and_the_smallest_threshold():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    tree = grow(np.column_stack([-x, x, x]), np.array([1, 0, 0, 1]), limits=Limits(max_depth=1))
    assert (tree.feature[0], tree.threshold[0]) == (0, -3.5)


def test_a_test_that_gains_nothing_may_lead_to_ones_that_do():
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    tree = grow(X, np.array([0, 1, 1, 0]))
    assert tree.predict(X)[:, 0, 1].tolist() == [0.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("criterion", ["gini", "squared_error", "poisson"])
def test_categories_are_divided_as_well_as_can_be(criterion):
    rng = np.random.default_rng(5)
    for _ in range(20):
        codes = rng.integers(0, 6, 60).astype(float)
        codes[rng.random(60) < 0.1] = np.nan
        y = rng.integers(0, 2, 60) if criterion == "gini" else rng.uniform(0, 3, 60)
        weight = rng.uniform(0.5, 2, 60)
        classes = (2,) if criterion == "gini" else (1,)
        tree = grow(
            codes[:, None],
            y,
            weight,
            criterion=criterion,
            n_classes=classes,
            limits=Limits(max_depth=1),
            categories=[7],
        )
        assert tree.kind[0] == CATEGORY
        assert tree.slots[6] == -1  # a category without rows has no side

        def cost(side, y=y, weight=weight):
            v, w = y[side], weight[side]
            if criterion == "squared_error":
                return (w * (v - np.average(v, weights=w)) ** 2).sum()
            if criterion == "poisson":
                return (w * v * np.log(v / np.average(v, weights=w))).sum()
            p = np.average(v, weights=w)
            return w.sum() * 2 * p * (1 - p)

        best = np.inf
        for size, missing in itertools.product(range(1, 7), (False, True)):
            for left in itertools.combinations(range(6), size):
                side = np.isin(codes, left) | (np.isnan(codes) & missing)
                if 0 < side.sum() < 60:
                    best = min(best, cost(side) + cost(~side))
        found = (tree.impurity * tree.weighted_n_node_samples)[1:].sum()
        np.testing.assert_allclose(found, best, rtol=1e-9)


def test_many_classes_get_the_principal_order_and_one_against_the_rest():
    codes = np.repeat([0.0, 1, 2, 3], 5)
    y = np.array([[0.0] * 5 + [1] * 5 + [0] * 4 + [1] + [2] * 5])
    orders = category_orders(codes, 5, y, np.ones(20), [3], False)
    assert len(orders) == 5
    assert all(np.isnan(order[4]) for order in orders)
    ranks = orders[0][:4]
    assert abs(ranks[0] - ranks[2]) == 1  # of nearly the same classes
    tree = grow(codes[:, None], y[0].astype(int), n_classes=(3,), categories=[4])
    np.testing.assert_allclose(
        tree.predict(codes[:, None])[:, 0].argmax(axis=1), [0] * 5 + [1] * 5 + [0] * 5 + [2] * 5
    )


def test_a_node_where_all_categories_are_missing():
    X = np.array([[0.0, 1.0], [1.0, 2.0], [np.nan, 3.0], [np.nan, 4.0], [np.nan, 5.0]])
    y = np.array([0, 0, 1, 0, 1])
    tree = grow(X, y, categories=[2, 0])
    assert (tree.predict(X)[:, 0].argmax(axis=1) == y).all()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson", "gini"])
def test_monotonic_columns_keep_their_promise(criterion, sign):
    X, number, _, weight = table(200)
    number = number + sign * X[:, 3] - 0.5 * sign * X[:, 4]
    target = (number > 0).astype(int) if criterion == "gini" else np.exp(number)
    tree = grow(
        X,
        target,
        weight,
        criterion=criterion,
        n_classes=(2,) if criterion == "gini" else (1,),
        monotonic=[0, 0, 0, sign, -sign],
        limits=Limits(min_samples_leaf=2),
    )
    rng = np.random.default_rng(0)
    for column, way in ((3, sign), (4, -sign)):
        Q = np.repeat(rng.normal(size=(60, 1, 5)), 15, axis=1)
        Q[:, :, column] = np.linspace(-3, 3, 15)
        answers = tree.predict(Q.reshape(-1, 5))[:, 0, -1].reshape(60, 15)
        assert (way * np.diff(answers, axis=1) >= -1e-12).all()
    assert {3, 4} & {*tree.feature.tolist()}


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_monotonic_trees_are_those_of_scikit_learn(criterion):
    X, number, _, weight = table(400)
    options = {"criterion": criterion, "monotonic_cst": [1, -1, 0, 0, 0], "min_samples_leaf": 10}
    ours = DecisionTreeRegressor(**options).fit(X, np.exp(number), weight)
    peer = sklearn.tree.DecisionTreeRegressor(random_state=0, **options).fit(X, np.exp(number), weight)
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-9)


def test_random_cuts_are_even_between_the_ends():
    X = np.array([[0.0], [1.0]])
    cuts = [grow(X, np.array([0, 1]), splitter="random", seed=seed).threshold[0] for seed in range(400)]
    counts = np.histogram(cuts, bins=4, range=(0, 1))[0]
    assert counts.sum() == 400
    assert counts.min() > 70  # 100 expected in each, standard deviation 8.7


def test_random_cuts_depend_on_the_seed_alone():
    X, _, label, weight = table(holes=0.2)
    X = np.column_stack([X, np.arange(len(X)) % 4])
    options = {"n_classes": (3,), "splitter": "random", "categories": [0] * 5 + [4]}
    first, again, other = (grow(X, label, weight, seed=seed, **options) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.threshold, again.threshold)
    assert not np.array_equal(first.threshold, other.threshold)
    assert (first.predict(X)[:, 0].argmax(axis=1) == label).all()
    assert {0, 1} <= {
        *first.missing[first.kind != LEAF].tolist()
    }  # missing values go left here and right there


def test_threads_give_the_same_bits(monkeypatch):
    X, number, _, weight = table(holes=0.1)
    X = np.column_stack([X, np.arange(len(X)) % 5])
    options = {"criterion": "absolute_error", "n_classes": (1,), "categories": [0] * 5 + [5]}
    want = grow(X, number, weight, **options)
    monkeypatch.setattr("tercet.tree._engine.general.PARALLEL_ROWS", 20)
    for jobs in (1, 2, 3):
        tree = grow(X, number, weight, n_jobs=jobs, **options)
        for name in ("feature", "threshold", "child", "value", "impurity", "slots"):
            np.testing.assert_array_equal(getattr(tree, name), getattr(want, name))


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_a_subtree_in_one_sweep_is_the_same_node_by_node(name, splitter, monkeypatch):
    X, number, label, weight = table(holes=0.1)
    target, n_classes = TARGETS[name](number, label)
    options = {"criterion": name.partition(",")[0], "n_classes": n_classes, "splitter": splitter, "seed": 5}
    for limits in (Limits(), Limits(max_features=2, min_samples_leaf=2, max_depth=6, min_weight_leaf=3.0)):
        trees = []
        for small, jobs in ((0, 1), (40, 1), (40, 3), (1000, 2)):
            monkeypatch.setattr("tercet.tree._engine.general.SUBTREE_ROWS", small)
            trees.append(grow(X, target, weight, limits=limits, n_jobs=jobs, **options))
        for tree in trees[1:]:
            assert (np.sort(tree.threshold) == np.sort(trees[0].threshold)).all()
            np.testing.assert_allclose(tree.predict(X), trees[0].predict(X), rtol=1e-12)
        np.testing.assert_array_equal(trees[1].child, trees[2].child)


def test_features_are_drawn_anew_at_every_node():
    X, _, label, _ = table()
    X = np.column_stack([X, np.zeros(len(X))])  # a constant column does not count as tried
    limits = Limits(max_features=1)
    first, again, other = (grow(X, label, n_classes=(3,), limits=limits, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.feature, again.feature)
    assert not np.array_equal(first.feature, other.feature)
    assert {*first.feature[first.kind != LEAF].tolist()} == {0, 1, 2, 3, 4}
    assert (first.predict(X)[:, 0].argmax(axis=1) == label).all()


def test_the_node_that_gains_most_is_split_first():
    X, number, _, weight = table()
    options = {"criterion": "squared_error", "n_classes": (1,)}
    sizes = []
    for leaves in range(2, 12):
        tree = grow(X, number, weight, limits=Limits(max_leaf_nodes=leaves), **options)
        assert tree.n_leaves == leaves
        sizes.append((tree.impurity * tree.weighted_n_node_samples)[tree.kind == LEAF].sum())
    falls = -np.diff(sizes)
    assert (falls > 0).all()
    assert falls[0] == falls.max()


def test_a_long_chain_grows_without_recursion():
    n = 1200
    tree = grow(
        np.arange(n)[:, None] * 1.0,
        3.0 ** -np.arange(n) * (np.arange(n) < 600),
        criterion="squared_error",
        n_classes=(1,),
    )
    assert tree.max_depth > 500
    deep = grow(np.arange(1500.0)[:, None], np.arange(1500) % 2, limits=Limits(min_samples_leaf=1))
    assert deep.n_leaves == 1500

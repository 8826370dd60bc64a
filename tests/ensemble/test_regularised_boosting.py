"""Penalties, column sampling and new bins in second-order boosting, against plain exact greedy growth (8.7)."""

import numpy as np
import pytest

from tercet.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRanker,
    HistGradientBoostingRegressor,
)
from tercet.io import load_model, save_model
from tercet.tree import BinnedColumns, HistogramTree, Limits, LocalTree

X6, Y6 = np.arange(1.0, 7.0)[:, None], np.array([1, 1.2, 1.1, 3.0, 3.2, 5.0])
GAINS = [
    1.3988095,
    2.8051429,
    5.4396429,
    2.0851429,
    -0.6011905,
]  # at 1.5 .. 5.5, from F = 0.5 with lambda = 1


def soft(g, alpha):
    return np.sign(g) * max(abs(g) - alpha, 0.0)


def score(g, h, l2, l1):
    return soft(g.sum(), l1) ** 2 / (h.sum() + l2)


def plain_growth(X, g, h, l2, l1, gamma, depth, rows=None):
    """Exact greedy growth by (8.7), all thresholds and both sides for missing values; leaves as (rows, value)."""
    rows = np.arange(len(g)) if rows is None else rows
    best = None
    for j in range(X.shape[1]) if depth else ():
        x = X[rows, j]
        for threshold in np.unique(x[~np.isnan(x)]):
            for missing_left in (False, True):
                left = (x <= threshold) | (np.isnan(x) & missing_left)
                if left.all() or not left.any():
                    continue
                gain = sum(score(g[rows[s]], h[rows[s]], l2, l1) for s in (left, ~left))
                gain -= score(g[rows], h[rows], l2, l1)
                if gain > gamma + 1e-9 and (best is None or gain > best[0] * (1 + 1e-9)):
                    best = gain, left
    if best is None:
        return [(rows, -soft(g[rows].sum(), l1) / (h[rows].sum() + l2))]
    sides = [rows[best[1]], rows[~best[1]]]
    return [leaf for side in sides for leaf in plain_growth(X, g, h, l2, l1, gamma, depth - 1, side)]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 3)).round(2)
    X[rng.random((90, 3)) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) + rng.standard_normal(90) > 0.3).astype(int)
    return X, y, rng.uniform(0.5, 2.0, 90)


def test_gains_and_leaves_of_the_text():
    options = {"n_estimators": 1, "max_depth": 1, "learning_rate": 1.0, "init": "zero", "second_order": True}
    model = GradientBoostingRegressor(l2_regularization=1.0, **options).fit(X6, Y6 - 0.5)
    tree = model.estimators_[0, 0].tree_
    assert tree.threshold[0] == 3.5
    np.testing.assert_allclose(tree.value[1:, 0, 0], [0.45, 2.425])
    best = max(GAINS)
    for gamma, nodes in ((best - 1e-6, 3), (best + 1e-6, 1)):
        given = {"l2_regularization": 1.0, "min_gain": gamma, **options}
        model = GradientBoostingRegressor(**given).fit(X6, Y6 - 0.5)
        assert model.estimators_[0, 0].tree_.node_count == nodes


@pytest.mark.parametrize(("l2", "l1", "gamma"), [(1.5, 0.0, 0.0), (0.0, 1.0, 0.3), (2.0, 0.7, 0.2)])
@pytest.mark.parametrize("engine", ["exact", "leaf-wise", "best first", "constrained", "level-wise", "local"])
def test_trees_are_those_of_plain_growth(table, l2, l1, gamma, engine):
    X, y, weight = table
    p = np.average(y, weights=weight)
    g, h = weight * (p - y), weight * p * (1 - p)
    leaves = plain_growth(X, g, h, l2, l1, gamma, 3)
    expected = np.zeros(len(y))
    for rows, value in leaves:
        expected[rows] = value
    penalties = {"l2_regularization": l2, "l1_regularization": l1, "min_gain": gamma, "learning_rate": 1.0}
    if engine == "exact":
        model = GradientBoostingClassifier(n_estimators=1, max_depth=3, second_order=True, **penalties)
        found = model.fit(X, y, weight).decision_function(X) - model.init_[0]
    elif engine == "best first":
        growth = HistogramTree(Limits(max_depth=3, max_leaf_nodes=8), penalty=l2, l1=l1, min_gain=gamma)
        tree, leaf = growth.grow_with_leaves(BinnedColumns.of(X), g, h)
        found = tree.value[leaf, 0, 0]
    else:
        more = {"constrained": {"interaction_cst": [{0, 1, 2}]}, "level-wise": {"max_leaf_nodes": None}}
        more |= {"local": {"rebin": "node"}, "leaf-wise": {}}
        options = {"max_iter": 1, "max_depth": 3, "min_samples_leaf": 1, **penalties, **more[engine]}
        model = HistGradientBoostingClassifier(**options).fit(X, y, weight)
        found = model.decision_function(X) - model.init_[0]
    assert len(leaves) > 2
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_an_l1_penalty_above_all_sums_leaves_nothing(table):
    X, y, weight = table
    for model in (
        HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=1, l1_regularization=1e4),
        GradientBoostingClassifier(n_estimators=2, second_order=True, l1_regularization=1e4),
    ):
        assert len(np.unique(model.fit(X, y, weight).decision_function(X))) == 1
    # A leaf whose sum of gradients is smaller than alpha has the value 0.
    model = HistGradientBoostingRegressor(max_iter=1, min_samples_leaf=1, l1_regularization=2.0, max_depth=1)
    tree = model.fit(np.array([[0.0], [0.0], [1.0]]), [0.0, 0.0, 6.0]).trees_[0][0]
    np.testing.assert_allclose(10 * tree.value[1:, 0, 0], [-(4.0 - 2.0) / 2, 4.0 - 2.0])


def test_categories_are_split_by_penalised_gains():
    rng = np.random.default_rng(0)
    kinds, noise = rng.integers(0, 6, 120), rng.standard_normal(120)
    y = np.array([3.0, -1.0, 2.0, 0.5, -4.0, 0.0])[kinds] + noise
    g, l2, l1 = y.mean() - y, 3.0, 2.0
    order = np.argsort([g[kinds == c].mean() for c in range(6)])
    sets = [np.isin(kinds, order[:k]) for k in range(1, 6)]
    gains = [
        sum(score(g[side], np.ones(side.sum()), l2, l1) for side in (left, ~left))
        - score(g, np.ones(120), l2, l1)
        for left in sets
    ]
    left = sets[int(np.argmax(gains))]
    expected = np.where(left, *(-soft(g[side].sum(), l1) / (side.sum() + l2) for side in (left, ~left)))
    options = {"max_depth": 1, "learning_rate": 1.0, "l2_regularization": l2, "l1_regularization": l1}
    free = {"cat_smooth": 0.0, "cat_l2": 0.0, "max_cat_to_onehot": 1, "min_data_per_group": 1}
    for model in (
        GradientBoostingRegressor(n_estimators=1, second_order=True, categorical_features=[0], **options),
        HistGradientBoostingRegressor(max_iter=1, categorical_features=[0], **options, **free),
    ):
        X = kinds[:, None].astype(float)
        np.testing.assert_allclose(model.fit(X, y).predict(X) - y.mean(), expected, rtol=1e-6)


def test_penalties_of_first_order_trees_are_refused(table):
    X, y, _ = table
    with pytest.raises(ValueError, match=r"l2_regularization=2\.0 is a penalty.*Use second_order=True"):
        GradientBoostingClassifier(l2_regularization=2.0).fit(X, y)
    with pytest.raises(ValueError, match=r"min_gain=1\.0 goes with growth depth first.*max_leaf_nodes=4"):
        GradientBoostingClassifier(second_order=True, min_gain=1.0, max_leaf_nodes=4).fit(X, y)


# Columns ----------------------------------------------------------------------------------------------------------


def columns_by_depth(tree):
    """The columns that the tests of each depth use."""
    depth, found = np.zeros(tree.node_count, int), {}
    for t in np.flatnonzero(tree.n_children):
        depth[tree.child[t] : tree.child[t] + 2] = depth[t] + 1
        found.setdefault(int(depth[t]), set()).add(int(tree.feature[t]))
    return found


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((600, 12))
    return X, X @ rng.standard_normal(12) + rng.standard_normal(600)


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"subsample": 0.9},
        {"max_leaf_nodes": None, "max_depth": 5},
        {"interaction_cst": [set(range(12))]},
        {"rebin": "node"},
    ],
    ids=["leaf-wise", "drawn rows", "level-wise", "constrained", "local"],
)
def test_columns_of_trees_and_levels(wide, way):
    X, y = wide
    options = {"max_iter": 4, "max_leaf_nodes": 12, "min_samples_leaf": 20, "random_state": 0, **way}
    by_tree = HistGradientBoostingRegressor(max_features_by_tree=0.25, **options).fit(X, y)
    used = [set().union(*columns_by_depth(tree).values()) for (tree,) in by_tree.trees_]
    assert all(len(columns) <= 3 for columns in used)
    assert len(set(map(frozenset, used))) > 1  # each tree has its own
    both = HistGradientBoostingRegressor(max_features_by_tree=0.5, max_features_by_level=0.34, **options).fit(
        X, y
    )
    levels = [columns_by_depth(tree) for (tree,) in both.trees_]
    assert all(len(columns) <= 3 for tree in levels for columns in tree.values())
    assert all(len(set().union(*tree.values())) <= 6 for tree in levels)
    assert max(len(set().union(*tree.values())) for tree in levels) > 3  # each level has its own
    threads = HistGradientBoostingRegressor(
        max_features_by_tree=0.5, max_features_by_level=0.34, n_jobs=2, **options
    ).fit(X, y)
    assert threads.predict(X).tobytes() == both.predict(X).tobytes()
    other = HistGradientBoostingRegressor(
        max_features_by_tree=0.5, max_features_by_level=0.34, **{**options, "random_state": 1}
    ).fit(X, y)
    assert other.predict(X).tobytes() != both.predict(X).tobytes()


def test_columns_of_nodes_come_from_those_of_their_level(wide):
    X, y = wide
    shares = {"max_features_by_tree": 0.5, "max_features_by_level": 0.5, "max_features": 0.34}
    model = HistGradientBoostingRegressor(max_iter=8, random_state=0, min_samples_leaf=5, **shares).fit(X, y)
    for (tree,) in model.trees_:
        levels = columns_by_depth(tree)
        assert all(len(columns) <= 3 for columns in levels.values())
        assert len(set().union(*levels.values())) <= 6
    all_columns = HistGradientBoostingRegressor(max_iter=8, random_state=0, min_samples_leaf=5)
    assert all_columns.fit(X, y).score(X, y) > model.score(X, y)


# Bins ------------------------------------------------------------------------------------------------------------


def test_new_bins_hold_equal_sums_of_hessians():
    """Rows of small hessians, whose class is all but sure, share bins; the others have the thresholds."""
    x = np.arange(1000.0)
    F = np.where(x < 900, 9.0, 0.0)
    y = (np.sin(x) > 0).astype(int)
    options = {"max_iter": 1, "max_bins": 10, "max_depth": 1, "min_samples_leaf": 1}
    thresholds = {}
    for rebin in ("never", "tree", "node"):
        model = HistGradientBoostingClassifier(rebin=rebin, **options).fit(x[:, None], y, init_score=F)
        p = 1 / (1 + np.exp(-F))
        edges = BinnedColumns.of(x[:, None], 10, None, None if rebin == "never" else p * (1 - p))
        cuts = edges.thresholds(np.zeros(9, int), np.arange(9), np.arange(1, 10))
        thresholds[rebin] = model.trees_[0][0].threshold[0]
        assert thresholds[rebin] in cuts
    assert (cuts > 900).sum() >= 8  # 100 rows have nearly all of the hessians
    assert thresholds["tree"] == thresholds["node"]


def test_bins_of_nodes_become_finer():
    """A step between two global thresholds is found below a split that narrows the range."""
    x = np.linspace(0, 1, 512)
    y = np.where(x > 0.8, 4.0, 0.0) + 2.0 * (x > 0.553)
    options = {
        "max_iter": 1,
        "max_bins": 4,
        "learning_rate": 1.0,
        "min_samples_leaf": 2,
        "max_leaf_nodes": 12,
    }
    errors = {}
    for rebin in ("never", "tree", "node"):
        model = HistGradientBoostingRegressor(rebin=rebin, **options).fit(x[:, None], y)
        errors[rebin] = np.mean((model.predict(x[:, None]) - y) ** 2)
    assert errors["never"] == pytest.approx(errors["tree"])  # all hessians are 1
    assert errors["node"] < 0.02 * errors["tree"]


def test_local_bins_with_a_bin_for_each_value_change_nothing(wide):
    X, y = wide
    X, y, gradients = X[:200], y[:200], -y[:200]
    growth = HistogramTree(Limits(max_leaf_nodes=9, min_samples_leaf=4), penalty=0.5)
    local, leaf = LocalTree(X, np.zeros(12, int), 255, growth).grow_with_leaves(gradients, np.ones(200), None)
    whole, other = growth.grow_with_leaves(BinnedColumns.of(X), gradients, np.ones(200))
    np.testing.assert_allclose(local.value[leaf], whole.value[other])
    np.testing.assert_allclose(local.nodes["threshold"], whole.nodes["threshold"])
    np.testing.assert_allclose(local.nodes["impurity"], whole.nodes["impurity"])


@pytest.mark.parametrize("rebin", ["tree", "node"])
def test_new_bins_take_categories_missing_values_and_weights(table, rebin, tmp_path):
    X, y, _ = table
    times = np.arange(90) % 3
    options = {"rebin": rebin, "max_iter": 4, "max_bins": 12, "max_leaf_nodes": 8}
    weighted = HistGradientBoostingClassifier(min_samples_leaf=1, **options).fit(X, y, times)
    repeated = HistGradientBoostingClassifier(min_samples_leaf=1, **options)
    repeated.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9)
    X = np.column_stack([X, np.arange(90) % 5])
    model = HistGradientBoostingClassifier(categorical_features=[3], **options).fit(X, y, times)
    save_model(tmp_path / "model", model, {})
    again = load_model(tmp_path / "model")[0]
    assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    threads = HistGradientBoostingClassifier(categorical_features=[3], n_jobs=2, **options).fit(X, y, times)
    assert threads.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


def test_bins_of_nodes_take_no_constraints(table):
    with pytest.raises(ValueError, match="rebin='node' takes no constraints"):
        HistGradientBoostingClassifier(rebin="node", monotonic_cst=[1, 0, 0]).fit(*table[:2])


def test_rankers_take_them_too():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    relevance, qid = rng.integers(0, 3, 80), np.repeat(np.arange(8), 10)
    options = {"max_iter": 3, "min_samples_leaf": 3, "random_state": 0}
    plain = HistGradientBoostingRanker(**options).fit(X, relevance, qid=qid).predict(X)
    for more in ({"l1_regularization": 1.0}, {"max_features_by_tree": 0.5}, {"rebin": "node", "max_bins": 8}):
        other = HistGradientBoostingRanker(**options, **more).fit(X, relevance, qid=qid).predict(X)
        assert np.isfinite(other).all()
        assert np.abs(other - plain).max() > 1e-6

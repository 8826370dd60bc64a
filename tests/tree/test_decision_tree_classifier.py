"""DecisionTreeClassifier against scikit-learn's, and what it adds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.tree
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from tercet.tree import DecisionTreeClassifier


def wine(n=150):
    rng = np.random.default_rng(0)
    X, y = load_wine(return_X_y=True)
    here = rng.permutation(len(y))[:n]
    # No two values the same: no ties between features, to which the two classes have different answers.
    X = (X[here] + 1e-3 * rng.normal(size=(n, X.shape[1]))).astype(np.float32).astype(np.float64)
    return X, y[here], rng.integers(2**20, 2**22, n) / 2**21


PARAMETERS = [
    {},
    {"criterion": "entropy"},
    {"criterion": "log_loss", "max_depth": 2},
    {"max_depth": 1},
    {"min_samples_split": 40},
    {"min_samples_split": 0.3},
    {"min_samples_leaf": 12},
    {"min_samples_leaf": 0.1},
    {"min_weight_fraction_leaf": 0.15},
    {"max_leaf_nodes": 4},
    {"max_leaf_nodes": 4, "criterion": "entropy", "min_samples_leaf": 5},
    {"min_impurity_decrease": 0.05},
    {"ccp_alpha": 0.03},
    {"ccp_alpha": 1.0},
    {"class_weight": "balanced", "max_depth": 3, "min_impurity_decrease": 1e-9},
    {"class_weight": {0: 3.0, 1: 0.5}, "max_depth": 3},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_parameters_mean_what_they_do_in_scikit_learn(parameters):
    X, y, weight = wine()
    ours, peer = (
        kind(random_state=0, **parameters).fit(X, y, sample_weight=weight)
        for kind in (DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier)
    )
    # Features that divide a node in the same way are a tie; what the leaves hold does not depend on it.
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    assert ours.get_n_leaves() == peer.get_n_leaves()
    assert ours.get_depth() == peer.get_depth()
    for name in ("n_features_in_", "n_outputs_", "n_classes_", "max_features_"):
        assert getattr(ours, name) == getattr(peer, name)


def test_labels_may_be_words():
    X, y, weight = wine()
    names = np.array(["barbera", "barolo", "grignolino"])
    model = DecisionTreeClassifier(max_depth=2).fit(X, y, weight)
    named = DecisionTreeClassifier(max_depth=2).fit(X, names[y], weight)
    assert named.classes_.tolist() == names.tolist()
    np.testing.assert_array_equal(named.predict(X), names[model.predict(X)])


@pytest.mark.parametrize("asked", [None, 1, 3, 0.4, 0.01, "sqrt", "log2"])
def test_max_features_counts_as_in_scikit_learn(asked):
    X, y, _ = wine(60)
    ours, peer = (
        kind(random_state=0, max_features=asked).fit(X, y)
        for kind in (DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier)
    )
    assert ours.max_features_ == peer.max_features_
    assert ours.score(X, y) == 1.0
    again = clone(ours).fit(X, y)
    np.testing.assert_array_equal(ours.tree_.feature, again.tree_.feature)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_pruning_path_is_that_of_scikit_learn(criterion):
    X, y, weight = wine()
    paths = [
        kind(criterion=criterion, random_state=0).cost_complexity_pruning_path(X, y, weight)
        for kind in (DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier)
    ]
    np.testing.assert_allclose(paths[0].ccp_alphas, paths[1].ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(paths[0].impurities, paths[1].impurities, atol=1e-12)


def test_several_outputs_are_learned_at_once():
    X, y, weight = wine()
    Y = np.column_stack([y, X[:, 0] > 13])
    ours, peer = (
        kind(max_depth=3, random_state=0).fit(X, Y, sample_weight=weight)
        for kind in (DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier)
    )
    for a, b in zip(ours.predict_proba(X), peer.predict_proba(X)):
        np.testing.assert_allclose(a, b, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    assert [c.tolist() for c in ours.classes_] == [[0, 1, 2], [0, 1]]
    assert ours.n_classes_.tolist() == [3, 2]
    assert len(ours.predict_log_proba(X)) == 2
    words = np.column_stack([np.array(["a", "b", "c"])[y], np.where(X[:, 0] > 13, "hi", "lo")])
    assert (DecisionTreeClassifier().fit(X, words).predict(X) == words).all()
    balanced = [{0: 1.0, 1: 2.0, 2: 1.0}, {0: 1.0, 1: 5.0}]
    for weights in ("balanced", balanced):
        ours, peer = (
            kind(max_depth=3, random_state=0, class_weight=weights).fit(X, Y)
            for kind in (DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier)
        )
        np.testing.assert_allclose(ours.predict_proba(X)[0], peer.predict_proba(X)[0], atol=1e-12)


def test_one_column_of_labels_is_one_output():
    X, y, _ = wine(60)
    wide = DecisionTreeClassifier().fit(X, y[:, None])
    assert wide.n_outputs_ == 1
    np.testing.assert_array_equal(wide.predict(X), DecisionTreeClassifier().fit(X, y).predict(X))


def test_walks_and_paths_agree_with_scikit_learn():
    X, y, weight = wine()
    ours, peer = (
        kind(random_state=0, max_depth=2).fit(X, y, weight)
        for kind in (DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier)
    )
    assert len({*zip(ours.apply(X), peer.apply(X))}) == peer.get_n_leaves()
    np.testing.assert_array_equal(
        ours.decision_path(X).toarray().sum(axis=1), peer.decision_path(X).toarray().sum(axis=1)
    )
    np.testing.assert_array_equal(ours.apply(X, check_input=False), ours.apply(X))
    np.testing.assert_array_equal(ours.predict(X.astype(np.float32), check_input=False), ours.predict(X))
    np.testing.assert_allclose(ours.feature_importances_.sum(), 1.0)
    np.testing.assert_allclose(ours.feature_importances_, peer.feature_importances_, atol=1e-12)


@pytest.mark.parametrize("algorithm", ["cart", "id3", "c45"])
def test_one_class_or_one_row_is_a_leaf(algorithm):
    model = DecisionTreeClassifier(algorithm=algorithm).fit([[1.0], [2.0]], ["only", "only"])
    assert model.get_n_leaves() == 1
    assert model.predict([[7.0]]).tolist() == ["only"]
    assert model.predict_proba([[7.0]]).tolist() == [[1.0]]
    assert model.feature_importances_.tolist() == [0.0]
    assert DecisionTreeClassifier(algorithm=algorithm).fit([[1.0]], [3]).predict([[0.0]]).tolist() == [3]


@pytest.mark.parametrize("algorithm", ["cart", "id3", "c45"])
@pytest.mark.parametrize("more", [{}, {"max_leaf_nodes": 6}])
def test_columns_that_say_nothing_are_not_asked(algorithm, more):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    X = np.column_stack([np.full(60, np.nan), np.ones(60), x])
    model = DecisionTreeClassifier(algorithm=algorithm, **more).fit(X, x > 0)
    assert model.score(X, x > 0) == 1.0
    assert model.feature_importances_.tolist() == [0.0, 0.0, 1.0]
    nothing = DecisionTreeClassifier(algorithm=algorithm, **more).fit(X[:, :2], x > 0)
    assert nothing.get_n_leaves() == 1
    same = DecisionTreeClassifier(algorithm=algorithm, **more).fit(np.ones((3000, 2)), np.arange(3000) % 2)
    assert same.get_n_leaves() == 1
    assert same.predict(np.ones((1, 2))).tolist() == [0]  # of equals the first


def fruit():
    rng = np.random.default_rng(2)
    n = 200
    colour = rng.choice(["red", "green", "yellow", "blue"], n)
    size = rng.normal(size=n)
    label = np.where((colour == "red") | ((colour == "green") & (size > 0)), "buy", "leave")
    return pd.DataFrame({"colour": colour, "size": size}), label


@pytest.mark.parametrize("algorithm", ["cart", "id3", "c45"])
@pytest.mark.parametrize("kind", ["strings", "category", "polars", "lists"])
def test_frames_with_categories_and_holes(algorithm, kind):
    frame, label = fruit()
    model = DecisionTreeClassifier(algorithm=algorithm).fit(frame, label)
    assert model.score(frame, label) == 1.0
    assert model.categories_[0].tolist() == ["blue", "green", "red", "yellow"]
    assert model.categories_[1] is None
    holes = frame.copy()
    holes.loc[::7, "colour"] = None
    holes.loc[::11, "size"] = np.nan
    table = {
        "strings": holes,
        "category": holes.astype({"colour": "category"}),
        "polars": pl.from_pandas(holes),
        "lists": holes.astype(object).where(holes.notna(), None).to_numpy().tolist(),
    }[kind]
    model = DecisionTreeClassifier(algorithm=algorithm).fit(table, label)
    assert model.score(table, label) > 0.85
    unseen = [["purple", 0.5], [None, None], ["red", None]]
    unseen = pd.DataFrame(unseen, columns=["colour", "size"]) if kind != "lists" else unseen
    if kind == "polars":
        unseen = pl.from_pandas(unseen)
    proba = model.predict_proba(unseen)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.isfinite(proba).all()


def test_a_strange_category_stops_where_it_is_asked_for():
    model = DecisionTreeClassifier(algorithm="id3").fit([["a"], ["a"], ["b"]], [0, 0, 1])
    np.testing.assert_allclose(model.predict_proba([["c"], ["b"]]), [[2 / 3, 1 / 3], [0, 1]])
    model = DecisionTreeClassifier().fit([["a"], ["a"], ["b"]], [0, 0, 1])
    assert model.predict([["a"], ["b"], ["c"]]).tolist() == [0, 1, 0]


def test_categories_may_be_named_placed_or_masked():
    X, y = [[0, 5.0], [1, 6.0], [2, 5.0], [0, 6.0]], [1, 0, 1, 1]
    frame = pd.DataFrame(X, columns=["kind", "size"])
    for asked, data in (([0], X), ([True, False], X), (["kind"], frame)):
        model = DecisionTreeClassifier(algorithm="id3", categorical_features=asked).fit(data, y)
        assert model.get_n_leaves() == 3
        assert model.score(data, y) == 1.0
    with pytest.raises(ValueError, match="categorical_features=None"):
        DecisionTreeClassifier(categorical_features=None).fit([["a"], ["b"]], [0, 1])


def test_sparse_tables_give_the_same_tree():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, size=(120, 8)).astype(float)
    y = rng.integers(0, 2, 120)
    dense = DecisionTreeClassifier().fit(X, y)
    for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        model = DecisionTreeClassifier().fit(kind(X), y)
        np.testing.assert_array_equal(model.tree_.threshold, dense.tree_.threshold)
        np.testing.assert_array_equal(model.predict_proba(kind(X)), dense.predict_proba(X))
        np.testing.assert_array_equal(model.apply(kind(X)), dense.apply(X))


def test_a_sparse_table_that_is_too_large_is_refused_where_growth_needs_an_array(monkeypatch):
    monkeypatch.setenv("TERCET_MEMORY", "1000000")
    X, y = sparse.random_array((1000, 100_000), density=1e-5, rng=0, format="csr"), [0, 1] * 500
    with pytest.raises(ValueError, match="Select columns first"):
        DecisionTreeClassifier(max_leaf_nodes=5).fit(X, y)
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)  # grown from the entries
    assert model.get_depth() == 3
    assert model.score(X, y) > 0.5


def test_prunings_that_hold_out_rows():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(150) < 0.2, rng.integers(0, 3, 150), y)  # noise to be pruned
    whole = DecisionTreeClassifier().fit(X[::2], y[::2])
    for pruning in ("reduced_error", "pre", "validation"):
        model = DecisionTreeClassifier(pruning=pruning).fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
        assert 1 < model.get_n_leaves() < whole.get_n_leaves()
        assert model.score(X[1::2], y[1::2]) >= whole.score(X[1::2], y[1::2])
        first, again = (DecisionTreeClassifier(pruning=pruning, random_state=4).fit(X, y) for _ in range(2))
        np.testing.assert_array_equal(first.tree_.threshold, again.tree_.threshold)
        assert first.tree_.n_node_samples[0] == 120  # the others were held out
    strict = DecisionTreeClassifier(pruning="reduced_error").fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    model = DecisionTreeClassifier(pruning="reduced_error", pruning_ties=True)
    assert model.fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2]).get_n_leaves() <= strict.get_n_leaves()


def test_prunings_of_the_training_rows_alone():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(150) < 0.2, rng.integers(0, 3, 150), y)
    leaves = [
        DecisionTreeClassifier(pruning="cost", alpha=a).fit(X, noisy).get_n_leaves() for a in (0, 1, 3, 1000)
    ]
    assert leaves == sorted(leaves, reverse=True)
    assert leaves[0] > leaves[2] > leaves[3] == 1
    lazy, strict = (
        DecisionTreeClassifier(pruning="pessimistic", confidence=c).fit(X, noisy).get_n_leaves()
        for c in (0.5, 0.01)
    )
    assert strict < lazy < leaves[0]
    model = DecisionTreeClassifier(pruning="cv", random_state=0).fit(X, noisy)
    assert model.score(X, y) > 0.9
    assert model.get_n_leaves() < 10
    assert model.alpha_ in model.alphas_
    assert model.losses_.shape == model.alphas_.shape
    given = [*KFold(5).split(X)]
    one, two = (DecisionTreeClassifier(pruning="cv", cv=cv).fit(X, noisy) for cv in (given, KFold(5)))
    np.testing.assert_array_equal(one.losses_, two.losses_)
    chosen = DecisionTreeClassifier(ccp_alpha=model.alpha_).fit(X, noisy)
    np.testing.assert_array_equal(chosen.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("algorithm", ["id3", "c45"])
def test_multiway_trees_prune_too(algorithm):
    frame, label = fruit()
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(200) < 0.15, "leave", label)
    whole = DecisionTreeClassifier(algorithm=algorithm).fit(frame, noisy)
    for options in (
        {"pruning": "cost", "alpha": 5.0},
        {"pruning": "cv", "random_state": 0},
        {"ccp_alpha": 0.02},
    ):
        model = DecisionTreeClassifier(algorithm=algorithm, **options).fit(frame, noisy)
        assert model.get_n_leaves() < whole.get_n_leaves()
        assert model.score(frame, label) > 0.85


def test_threads_and_bins_and_dtypes():
    X, y, weight = wine()
    want = DecisionTreeClassifier().fit(X, y, weight)
    for jobs in (2, 3, -1):
        model = DecisionTreeClassifier(n_jobs=jobs).fit(X, y, weight)
        np.testing.assert_array_equal(model.tree_.threshold, want.tree_.threshold)
    single = DecisionTreeClassifier().fit(X.astype(np.float32), y, weight)
    np.testing.assert_array_equal(single.tree_.feature, want.tree_.feature)
    binned = DecisionTreeClassifier(max_bins=255).fit(
        X, y, weight
    )  # more bins than values: the same partition
    np.testing.assert_array_equal(binned.predict(X), want.predict(X))
    assert binned.get_n_leaves() == want.get_n_leaves()


def test_it_lives_in_scikit_learn():
    X, y, _ = wine()
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3], "algorithm": ["cart", "c45"]}, cv=3
    )
    assert search.fit(X, y).best_score_ > 0.8
    assert cross_val_score(DecisionTreeClassifier(), X, y, cv=3).mean() > 0.8
    model = DecisionTreeClassifier(max_depth=2, pruning="cost", alpha=3.0)
    assert clone(model).get_params() == model.get_params()
    theirs = sklearn.tree.DecisionTreeClassifier().get_params()
    ours = DecisionTreeClassifier().get_params()
    assert {name: ours[name] for name in theirs} == theirs


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"criterion": "gain"}, "'criterion' must be one of 'gini'"),
        ({"max_depth": 0}, "'max_depth' must be"),
        ({"min_samples_split": 1}, "'min_samples_split' must be at least 2"),
        ({"min_samples_leaf": 0}, "'min_samples_leaf' must be"),
        ({"min_samples_leaf": 1.5}, "'min_samples_leaf' must be"),
        ({"max_features": "all"}, "'max_features' must be"),
        ({"max_features": 0.0}, "'max_features' must be"),
        ({"max_leaf_nodes": 1}, "'max_leaf_nodes' must be"),
        ({"ccp_alpha": -1.0}, "'ccp_alpha' must be"),
        ({"pruning": "hard"}, "'pruning' must be"),
        ({"monotonic_cst": [1]}, "not supported with multiclass"),
        ({"monotonic_cst": [1, 0, 0, 2]}, "not supported with multiclass"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "not supported with multiclass classification"),
        ({"algorithm": "id3", "splitter": "random"}, "'id3' does not go with splitter"),
        ({"algorithm": "c45", "max_bins": 20}, "'c45' does not go with max_bins"),
        (
            {"splitter": "random", "max_bins": 20},
            "max_bins=[0-9]+ goes with .* got 1 outputs, splitter='random'",
        ),
        ({"class_weight": {7: 2.0}}, "class_weight"),
        ({"cv": 1}, "'cv' must be"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named(parameters, match):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=match):
        DecisionTreeClassifier(**parameters).fit(X, y)


def test_wrong_data_is_named():
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(pruning="pre")
    with pytest.raises(ValueError, match="X_val and y_val"):
        model.fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="y_val holds"):
        model.fit(X, y, X_val=X, y_val=y + 1)
    with pytest.raises(ValueError, match="n_samples=1"):
        model.fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="infinity"):
        DecisionTreeClassifier().fit([[np.inf], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="must be 0 for a feature of categories"):
        DecisionTreeClassifier(monotonic_cst=[1]).fit([["a"], ["b"]], [0, 1])
    with pytest.raises(ValueError, match="5 features"):
        DecisionTreeClassifier().fit(X, y).predict(np.ones((2, 5)))


@pytest.mark.parametrize(
    "parameters",
    [{"algorithm": "id3"}, {"algorithm": "c45"}, {"max_bins": 255}, {"max_leaf_nodes": 5}],
    ids=str,
)
def test_every_way_to_grow_keeps_scikit_learns_rules(parameters):
    results = check_estimator(DecisionTreeClassifier(**parameters), on_skip=None, on_fail=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
    assert len(results) > 60


def test_a_node_that_is_pure_enough_is_a_leaf():
    X, y = make_classification(300, 6, n_informative=4, flip_y=0.2, random_state=0)
    whole = DecisionTreeClassifier().fit(X, y).tree_
    some = DecisionTreeClassifier(min_impurity=0.2).fit(X, y).tree_
    inner = some.kind != 0
    assert (some.impurity[inner] >= 0.2).all()
    assert 1 < some.n_leaves < whole.n_leaves
    # No leaf that is left would have been divided but for the limit.
    assert (some.impurity[~inner] < 0.2).all()

"""DecisionTreeRegressor against scikit-learn's, and what it adds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from tercet.tree import DecisionTreeRegressor, ExtraTreeRegressor


def hills(n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(np.float32).astype(np.float64)
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.3 * rng.normal(size=n)
    return X, y, rng.integers(2**20, 2**22, n) / 2**21


PARAMETERS = [
    {},
    {"max_depth": 3},
    {"criterion": "absolute_error", "min_samples_leaf": 10},
    {"criterion": "poisson", "min_samples_leaf": 10},
    {"criterion": "poisson", "max_leaf_nodes": 12},
    {"min_samples_split": 40},
    {"min_samples_split": 0.2},
    {"min_samples_leaf": 0.06},
    {"min_weight_fraction_leaf": 0.1},
    {"max_leaf_nodes": 7},
    {"min_impurity_decrease": 0.02},
    {"ccp_alpha": 0.02},
    {"criterion": "absolute_error", "ccp_alpha": 0.05},
    {"monotonic_cst": [0, 0, 1, 0], "min_samples_leaf": 8},
]


@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_parameters_mean_what_they_do_in_scikit_learn(parameters, holes):
    X, y, weight = hills()
    if holes and "monotonic_cst" not in parameters:
        X[np.random.default_rng(1).random(X.shape) < holes] = np.nan
    y = np.exp(y) if parameters.get("criterion") == "poisson" else y
    ours, peer = (
        kind(random_state=0, **parameters).fit(X, y, sample_weight=weight)
        for kind in (DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor)
    )
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-9)
    assert ours.get_n_leaves() == peer.get_n_leaves()
    assert ours.n_outputs_ == peer.n_outputs_ == 1


def test_the_pruning_path_is_that_of_scikit_learn():
    X, y, weight = hills()
    paths = [
        kind(random_state=0, min_samples_leaf=4).cost_complexity_pruning_path(X, y, weight)
        for kind in (DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor)
    ]
    np.testing.assert_allclose(paths[0].ccp_alphas, paths[1].ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(paths[0].impurities, paths[1].impurities, atol=1e-12)


def test_the_texts_least_squares_tree():
    x, y = np.arange(1.0, 7.0)[:, None], [1.0, 1.2, 1.1, 3.0, 3.2, 5.0]
    model = DecisionTreeRegressor(max_leaf_nodes=3).fit(x, y)
    assert np.sort(model.tree_.threshold[model.tree_.kind > 0]).tolist() == [3.5, 5.5]
    np.testing.assert_allclose(model.predict(x), [1.1] * 3 + [3.1] * 2 + [5.0])
    errors = [
        ((DecisionTreeRegressor(max_depth=d).fit(x, y).predict(x) - y) ** 2).sum() for d in (1, 2, 3, 4)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-20


@given(st.integers(0, 1000), st.sampled_from([1e-8, 1.0, 1e8]), st.sampled_from([0.0, 1e6]))
@settings(max_examples=25, deadline=None)
def test_the_scale_and_the_place_of_the_targets_do_not_matter(seed, scale, shift):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 9, 60).astype(float)
    plain, other = (DecisionTreeRegressor(max_depth=3).fit(X, t) for t in (y, scale * (y + shift)))
    np.testing.assert_array_equal(plain.tree_.feature, other.tree_.feature)
    np.testing.assert_array_equal(plain.tree_.threshold, other.tree_.threshold)


def test_several_outputs_are_learned_at_once():
    X, y, weight = hills()
    Y = np.column_stack([y, X[:, 3], -y])
    for criterion in ("squared_error", "absolute_error"):
        ours, peer = (
            kind(criterion=criterion, max_depth=4, random_state=0).fit(X, Y, weight)
            for kind in (DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor)
        )
        np.testing.assert_allclose(ours.predict(X), peer.predict(X), atol=1e-9)
        assert ours.predict(X).shape == (200, 3)
    np.testing.assert_array_equal(
        DecisionTreeRegressor().fit(X, y[:, None]).predict(X), DecisionTreeRegressor().fit(X, y).predict(X)
    )


def test_categories_holes_and_sparse_tables():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.choice(["a", "b", "c", "d", "e"], 200), "area": rng.normal(size=200)})
    price = frame["town"].map({"a": 5.0, "b": 1.0, "c": 4.0, "d": 0.0, "e": 2.0}).to_numpy()
    model = DecisionTreeRegressor(max_leaf_nodes=5).fit(frame, price)
    np.testing.assert_allclose(model.predict(frame), price)
    assert model.get_n_leaves() == 5
    holes = frame.copy()
    holes.loc[::9, "town"] = None
    assert DecisionTreeRegressor(min_samples_leaf=5).fit(holes, price).score(holes, price) > 0.8
    assert np.isfinite(model.predict(pd.DataFrame({"town": ["z", None], "area": [0.0, np.nan]}))).all()
    X = sparse.random_array((80, 6), density=0.4, rng=0, format="csc")
    y = X.toarray()[:, 0] + X.toarray()[:, 1]
    dense = DecisionTreeRegressor().fit(X.toarray(), y)
    np.testing.assert_array_equal(DecisionTreeRegressor().fit(X, y).predict(X), dense.predict(X.toarray()))


def test_pruning_finds_the_steps_in_the_noise():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 3, size=(300, 1))
    step = np.floor(X[:, 0])
    y = step + 0.2 * rng.normal(size=300)
    whole = DecisionTreeRegressor().fit(X, y)
    for options in (
        {"pruning": "cv", "random_state": 0},
        {"pruning": "validation", "random_state": 0},
        {"pruning": "cost", "alpha": 1.0},
        {"ccp_alpha": 0.01},
    ):
        model = DecisionTreeRegressor(**options).fit(X, y)
        assert 3 <= model.get_n_leaves() <= 12
        assert np.abs(model.predict(X) - step).mean() < 0.1 < np.abs(whole.predict(X) - step).mean()
    model = DecisionTreeRegressor(pruning="reduced_error").fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    assert 3 <= model.get_n_leaves() < whole.get_n_leaves() / 3
    assert (
        DecisionTreeRegressor(pruning="pre").fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2]).get_n_leaves()
        >= 3
    )


def test_weights_zero_and_two():
    X, y, _ = hills(60)
    count = np.random.default_rng(0).integers(0, 3, 60)
    for options in ({}, {"max_leaf_nodes": 9}, {"criterion": "absolute_error", "max_depth": 3}):
        once = DecisionTreeRegressor(**options).fit(X, y, count)
        often = DecisionTreeRegressor(**options).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
        np.testing.assert_allclose(once.predict(X), often.predict(X), rtol=1e-9)


def test_it_lives_in_scikit_learn():
    X, y, _ = hills()
    search = GridSearchCV(
        DecisionTreeRegressor(random_state=0), {"max_depth": [1, 5], "ccp_alpha": [0.0, 0.01]}, cv=3
    )
    assert search.fit(X, np.abs(X[:, 0])).best_params_["max_depth"] == 5
    theirs, ours = sklearn.tree.DecisionTreeRegressor().get_params(), DecisionTreeRegressor().get_params()
    assert {name: ours[name] for name in theirs} == theirs
    model = clone(DecisionTreeRegressor(max_depth=2)).set_params(max_depth=3)
    assert model.fit(X, y).get_depth() == 3


@pytest.mark.parametrize(
    ("parameters", "y", "match"),
    [
        ({"criterion": "mse"}, [1.0, 2.0], "'criterion' must be one of 'squared_error'"),
        ({"algorithm": "id3"}, [1.0, 2.0], "'algorithm' must be 'cart'"),
        ({"criterion": "poisson"}, [-1.0, 2.0], "needs y >= 0"),
        ({"criterion": "poisson"}, [0.0, 0.0], "sum of y is not positive"),
        (
            {"criterion": "poisson", "max_bins": 9},
            [1.0, 2.0],
            "max_bins=[0-9]+ goes with .* criterion='poisson'",
        ),
        ({"monotonic_cst": [1], "max_bins": 9}, [1.0, 2.0], "max_bins=[0-9]+ goes with .* monotonic columns"),
        ({"monotonic_cst": [2]}, [1.0, 2.0], "array-like of -1, 0 or 1; got"),
        (
            {"monotonic_cst": [1, 1]},
            [1.0, 2.0],
            "monotonic_cst has shape 2 but the input data X has 1 features",
        ),
        ({"pruning": "pessimistic"}, [1.0, 2.0], "'pruning' must be"),
        ({"pruning": "cv"}, [1.0, 2.0], "n_samples=2"),
        ({}, ["a", "b"], "could not convert string"),
        ({}, [np.nan, 1.0], "NaN"),
    ],
    ids=str,
)
def test_wrong_parameters_and_targets_are_named(parameters, y, match):
    with pytest.raises(ValueError, match=match):
        DecisionTreeRegressor(**parameters).fit([[1.0], [2.0]], y)


@pytest.mark.parametrize("parameters", [{"max_bins": 255}, {"criterion": "absolute_error"}], ids=str)
def test_every_way_to_grow_keeps_scikit_learns_rules(parameters):
    results = check_estimator(DecisionTreeRegressor(**parameters), on_skip=None, on_fail=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
    assert len(results) > 55


def test_targets_of_many_magnitudes_all_get_their_leaf():
    X, y = np.arange(60.0)[:, None], 2.0 ** np.arange(60)
    for parameters in ({}, {"max_leaf_nodes": 60}, {"criterion": "absolute_error"}):
        model = DecisionTreeRegressor(**parameters).fit(X, y)
        assert model.get_n_leaves() == 60
        np.testing.assert_array_equal(model.predict(X), y)
    wide = 2.0 ** np.arange(-500, 500, 25)  # the squares of many of them are 0
    np.testing.assert_array_equal(DecisionTreeRegressor().fit(X[:40], wide).predict(X[:40]), wide)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e-300])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_squares_that_are_too_large_or_too_small_for_numbers(criterion, scale):
    X, y, _ = hills(40)
    y = np.exp(y) if criterion == "poisson" else y
    usual, ugly = (
        DecisionTreeRegressor(criterion=criterion, max_depth=4).fit(X, y * s) for s in (1.0, scale)
    )
    assert (usual.tree_.feature == ugly.tree_.feature).all()
    np.testing.assert_allclose(ugly.predict(X), usual.predict(X) * scale, rtol=1e-9)
    if scale > 1 and criterion == "squared_error":
        with pytest.raises(ValueError, match="impurity of a node is beyond the range"):
            _ = ugly.feature_importances_


def test_a_cut_without_gain_is_made_at_every_scale():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], np.array([0.0, 1.0, 1.0, 0.0])
    for scale in (1.0, 1e9, 1e-9):
        assert DecisionTreeRegressor().fit(X, y * scale).get_n_leaves() == 4


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, ExtraTreeRegressor])
def test_friedman_mse_is_deprecated_as_in_scikit_learn(kind):
    with pytest.warns(FutureWarning, match='"friedman_mse" is deprecated'):
        model = kind(criterion="friedman_mse", random_state=0)
    assert model.criterion == "squared_error"
    X, y, _ = hills(50)
    same = kind(random_state=0).fit(X, y)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), same.predict(X))

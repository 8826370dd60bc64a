"""Histogram gradient boosting: the text's gains, constraints, early stopping, and agreement with scikit-learn."""

import numpy as np
import pytest
from sklearn import ensemble as peer
from sklearn.datasets import load_diabetes, load_iris

from tercet.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from tercet.losses import loss

FREE = {"min_samples_leaf": 1, "max_depth": 1, "l2_regularization": 1.0, "learning_rate": 1.0, "max_iter": 1}


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:200], y[:200]


def test_leaves_and_gain_of_the_text():
    X, y = np.arange(1.0, 7.0)[:, None], np.array([1, 1.2, 1.1, 3.0, 3.2, 5.0])
    model = HistGradientBoostingRegressor(**FREE).fit(X, y)
    tree = model.trees_[0][0]
    assert tree.threshold[0] == 3.5
    residual = y - y.mean()
    np.testing.assert_allclose(tree.value[1:, 0, 0], [residual[:3].sum() / 4, residual[3:].sum() / 4])
    # a split must gain more than gamma: here 2 * residual[:3].sum() ** 2 / 4
    gain = 2 * residual[:3].sum() ** 2 / 4
    for gamma, nodes in ((gain - 1e-6, 3), (gain + 1e-6, 1)):
        grown = HistGradientBoostingRegressor(**FREE, min_gain=gamma).fit(X, y).trees_[0][0]
        assert grown.node_count == nodes


def test_missing_values_go_where_they_gain():
    X = np.array([1, 2, 3, np.nan, 5, 6, np.nan])[:, None]
    tree = HistGradientBoostingClassifier(**FREE).fit(X, [0, 0, 1, 1, 1, 0, 1]).trees_[0][0]
    assert (tree.threshold[0], tree.missing[0]) == (2.5, 1)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("squared_error", {}),
        ("squared_error", {"max_leaf_nodes": 5, "l2_regularization": 3.0}),
        ("squared_error", {"interaction_cst": [{0, 1, 2}, {3, 4}]}),
        ("poisson", {}),
        ("gamma", {"max_depth": 2}),
        ("absolute_error", {"min_samples_leaf": 7}),
    ],
)
def test_agrees_with_scikit_learn(name, settings):
    X, y = load_diabetes(return_X_y=True)  # all rows: among fewer of them splits are equally good
    ours = HistGradientBoostingRegressor(loss=name, max_iter=4, **settings).fit(X, y)
    theirs = peer.HistGradientBoostingRegressor(loss=name, max_iter=4, **settings).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)  # its gradients are float32


def test_several_classes_agree_with_scikit_learn():
    X, y = load_iris(return_X_y=True)
    ours = HistGradientBoostingClassifier(max_iter=4).fit(X, y)
    theirs = peer.HistGradientBoostingClassifier(max_iter=4).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    assert ours.n_trees_per_iteration_ == 3


@pytest.mark.parametrize("max_leaf_nodes", [8, None])
def test_monotonic_constraints(diabetes, max_leaf_nodes):
    X, y = diabetes
    signs = [0, 0, 1, 0, 0, 0, 0, 0, -1, 0]
    model = HistGradientBoostingRegressor(
        max_iter=8, monotonic_cst=signs, min_samples_leaf=5, max_depth=4, max_leaf_nodes=max_leaf_nodes
    ).fit(X, y)
    for column, sign in ((2, 1), (8, -1)):
        grid = np.tile(X[:30], (20, 1))
        grid[:, column] = np.repeat(np.linspace(X[:, column].min(), X[:, column].max(), 20), 30)
        steps = np.diff(model.predict(grid).reshape(20, 30), axis=0)
        assert (sign * steps >= -1e-9).all()
    free = HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=5).fit(X, y)
    assert model.score(X, y) > 0.5 * free.score(X, y)


def test_interaction_constraints_hold_on_every_path(diabetes):
    X, y = diabetes
    model = HistGradientBoostingRegressor(max_iter=3, interaction_cst="no_interactions").fit(X, y)
    for tree in (row[0] for row in model.trees_):
        assert len(set(tree.feature[tree.n_children > 0])) == 1
    with pytest.raises(ValueError, match="indices in"):
        HistGradientBoostingRegressor(interaction_cst=[{0, 77}]).fit(X, y)


def test_early_stopping(diabetes):
    X, y = diabetes
    model = HistGradientBoostingRegressor(early_stopping=True, n_iter_no_change=3, random_state=0).fit(X, y)
    assert model.n_iter_ < 100
    assert len(model.validation_score_) == len(model.train_score_) == model.n_iter_ + 1
    given = HistGradientBoostingRegressor(max_iter=60, n_iter_no_change=3)
    given.fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])
    assert given.do_early_stopping_
    assert given.n_iter_ < 60
    scored = HistGradientBoostingRegressor(early_stopping=True, scoring="r2", max_iter=5, random_state=0).fit(
        X, y
    )
    assert scored.train_score_[-1] > scored.train_score_[0]


def test_warm_start_and_threads(diabetes):
    X, y = diabetes
    model = HistGradientBoostingRegressor(max_iter=3, warm_start=True).fit(X, y)
    model.set_params(max_iter=6).fit(X, y)
    at_once, threads = (HistGradientBoostingRegressor(max_iter=6, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_allclose(model.predict(X), at_once.predict(X), rtol=1e-9)
    assert threads.predict(X).tobytes() == at_once.predict(X).tobytes()


def test_categories_and_given_losses():
    import pandas as pd

    frame = pd.DataFrame({"a": list("xyzw") * 30, "b": np.arange(120.0)})
    y = frame["a"].map({"x": 1.0, "y": 5.0, "z": 1.0, "w": 5.0}).to_numpy()
    model = HistGradientBoostingRegressor(max_iter=30, learning_rate=0.5).fit(frame, y)
    np.testing.assert_allclose(model.predict(frame), y, atol=1e-3)
    assert model.is_categorical_.tolist() == [True, False]
    with pytest.raises(ValueError, match="Categorical features cannot"):
        HistGradientBoostingRegressor(monotonic_cst=[1, 0]).fit(frame, y)
    X = frame[["b"]].to_numpy()
    given = HistGradientBoostingRegressor(loss("squared"), max_iter=4).fit(X, y)
    named = HistGradientBoostingRegressor(max_iter=4).fit(X, y)
    np.testing.assert_allclose(given.predict(X), named.predict(X), atol=1e-6)


def test_quantiles(diabetes):
    X, y = diabetes
    model = HistGradientBoostingRegressor(loss="quantile", quantile=0.8, max_iter=60).fit(X, y)
    assert np.mean(y <= model.predict(X)) == pytest.approx(0.8, abs=0.06)
    with pytest.raises(ValueError, match="'quantile'"):
        HistGradientBoostingRegressor(loss="quantile").fit(X, y)

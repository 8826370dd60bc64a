"""Histogram gradient boosting: the text's gains, constraints, early stopping, and agreement with scikit-learn."""

import numpy as np
import pytest
import sklearn
from sklearn import ensemble as peer
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.model_selection import GridSearchCV

from tercet.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from tercet.inspection import additive_trees
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


def test_a_leaf_much_lighter_than_the_others_has_a_finite_value():
    """Its hessian is less than a unit of the exact sums: the step is at most its residual all the same."""
    X, y = np.arange(10.0)[:, None], np.array([0.9, 1.0, 3.0, 0.4, -0.4, -0.5, 0.3, -0.6, 0.7, 1.2])
    weight = np.array([1e3, 1e1, 1e2, 1e-12, 1e4, 1e3, 1e-2, 1e2, 1e8, 1e1])
    for options in ({"max_leaf_nodes": 10}, {"max_leaf_nodes": 10, "l1_regularization": 1e-9}):
        model = HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=1, **options).fit(X, y, weight)
        assert np.abs(model.predict(X) - model.init_[0]).max() <= np.abs(y - model.init_[0]).max()


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


def test_predictions_come_from_the_best_round(diabetes):
    X, y = diabetes
    rows = {"X_val": X[150:], "y_val": y[150:]}
    options = {"max_iter": 40, "n_iter_no_change": 5, "learning_rate": 0.5, "scoring": "r2"}
    model = HistGradientBoostingRegressor(**options).fit(X[:150], y[:150], **rows)
    best, curve, stages = model.best_iteration_, model.validation_score_[1:], list(model.staged_predict(X))
    assert 0 < best < model.n_iter_ == len(model.trees_) == len(stages)
    assert model.best_score_ == curve.max() == curve[best - 1]
    assert model.score(X[150:], y[150:]) == pytest.approx(model.best_score_)
    np.testing.assert_allclose(model.predict(X), stages[best - 1])
    np.testing.assert_allclose(additive_trees(model).scores(X)[:, 0], stages[best - 1])
    every = HistGradientBoostingRegressor(**options, keep_best=False).fit(X[:150], y[:150], **rows)
    assert every.best_iteration_ == best
    np.testing.assert_allclose(every.predict(X), stages[-1])
    # A warm start goes on from all rounds, and may find a better one.
    model.set_params(warm_start=True, max_iter=model.n_iter_ + 2, tol=0.0, n_iter_no_change=30)
    model.fit(X[:150], y[:150], **rows)
    assert len(model.trees_) == every.n_iter_ + 2
    assert model.best_score_ == model.validation_score_[1:].max()
    plain = HistGradientBoostingRegressor(max_iter=2).fit(X, y)
    assert (plain.best_iteration_, plain.best_score_) == (2, plain.train_score_[-1])
    plain.best_iteration_ = 3
    with pytest.raises(ValueError, match="best_iteration_ must be a round from 1 to 2; got 3"):
        plain._check_fitted({"scores": 1})


def test_shares_of_goss_are_refused_where_they_are_more_than_all(diabetes):
    with pytest.raises(ValueError, match=r"must be at most 1.*top_rate=0.8 and other_rate=0.3"):
        HistGradientBoostingRegressor(sampling="goss", top_rate=0.8, other_rate=0.3).fit(*diabetes)


def test_noise_in_many_categories_is_not_learned():
    rng = np.random.default_rng(0)
    kinds, x = rng.integers(0, 40, 800).astype(float), rng.standard_normal(800)
    X, y = np.column_stack([kinds, x]), x + rng.standard_normal(800)
    options = {"max_iter": 10, "categorical_features": [0]}
    model = HistGradientBoostingRegressor(**options).fit(X, y)
    assert model.feature_importances_[0] < 0.05
    free = {"cat_smooth": 0.0, "cat_l2": 0.0, "max_cat_threshold": 255, "min_data_per_group": 1}
    eager = HistGradientBoostingRegressor(**options, **free).fit(X, y)
    assert eager.feature_importances_[0] > 5 * model.feature_importances_[0]
    fresh = np.column_stack([rng.permutation(kinds), rng.standard_normal(800)])
    assert model.score(fresh, fresh[:, 1]) > eager.score(fresh, fresh[:, 1])


def test_categories_that_a_node_does_not_have_go_with_the_others():
    # The right half has only three of the six categories; below its split the column x matters.
    kinds = np.tile(np.arange(6.0), 60)
    half = np.arange(360) >= 180
    kinds[half] %= 3
    x = np.tile([0.0, 1.0], 180)
    y = half * (10.0 + 4.0 * (kinds == 0) + 2.0 * x)
    model = HistGradientBoostingRegressor(
        max_iter=1, learning_rate=1.0, categorical_features=[0], min_samples_leaf=5, cat_l2=0.0
    ).fit(np.column_stack([kinds, half, x]), y)
    low, high = model.predict([[5.0, 1.0, 0.0], [5.0, 1.0, 1.0]])
    assert high - low == pytest.approx(2.0)
    seen = model.predict([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    np.testing.assert_allclose([low, high], seen)


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


def log_loss_derivatives(y, F):
    p = 1 / (1 + np.exp(-F)) if F.ndim == 1 else np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
    truth = y if F.ndim == 1 else np.eye(F.shape[1])[y.astype(int)]
    return p - truth, p * (1 - p)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_function_of_derivatives_is_a_loss(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    options = {"max_iter": 3, "learning_rate": 0.3}
    given = HistGradientBoostingClassifier(log_loss_derivatives, **options).fit(X, y)
    zero = np.zeros(len(y)) if n_classes == 2 else np.zeros((len(y), 3))
    named = HistGradientBoostingClassifier(**options).fit(X, y, init_score=zero)  # both start at 0
    np.testing.assert_allclose(given.predict_proba(X), named.predict_proba(X), rtol=1e-9)
    with pytest.raises(ValueError, match="must return gradients and hessians, two arrays of shape"):
        HistGradientBoostingClassifier(lambda y, F: (F[:3], F[:3])).fit(X, y)


def test_losses_of_the_margin():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    options = {"max_iter": 8, "learning_rate": 0.3}
    logistic = HistGradientBoostingClassifier(loss("logistic"), **options).fit(X, y)
    named = HistGradientBoostingClassifier(**options).fit(X, y)
    np.testing.assert_allclose(logistic.predict_proba(X), named.predict_proba(X), atol=1e-6)
    hinge = HistGradientBoostingClassifier(loss("hinge"), **options).fit(X, y)  # no curvature: a line search
    assert np.all(np.diff(hinge.train_score_) > 0)
    with pytest.raises(ValueError, match="must be a loss of the margin y F of two classes"):
        HistGradientBoostingClassifier(loss("squared")).fit(X, y)


def test_boosting_goes_on_from_given_scores(diabetes):
    X, y = diabetes
    options = {"max_iter": 3, "min_samples_leaf": 5}
    first = HistGradientBoostingRegressor(**options).fit(X, y)
    second = HistGradientBoostingRegressor(**options).fit(X, y, init_score=first.predict(X))
    whole = HistGradientBoostingRegressor(**{**options, "max_iter": 6}).fit(X, y)
    np.testing.assert_allclose(first.predict(X) + second.predict(X), whole.predict(X), rtol=1e-9)
    stopped = HistGradientBoostingRegressor(early_stopping=True, random_state=0, **options)
    stopped.fit(X, y, init_score=y)  # nothing is left to learn
    assert stopped.validation_score_.tolist() == [0.0] * len(stopped.validation_score_)
    with pytest.raises(ValueError, match=r"init_score must be finite numbers of shape \(200,\)"):
        second.fit(X, y, init_score=y[:5])
    with pytest.raises(ValueError, match="init_score with X_val needs init_score_val"):
        second.fit(X, y, init_score=y, X_val=X, y_val=y)


def test_one_side_sampling(diabetes):
    X, y = diabetes
    options = {"sampling": "goss", "min_samples_leaf": 5, "random_state": 0}
    model = HistGradientBoostingRegressor(max_iter=20, **options).fit(X, y)
    assert model.score(X, y) > 0.6
    rows = np.array([tree.n_node_samples[0] for (tree,) in model.trees_])
    assert (rows == 60).all()  # 0.2 of the rows, and 0.1
    np.testing.assert_allclose([tree.weighted_n_node_samples[0] for (tree,) in model.trees_], 200.0)
    whole = HistGradientBoostingRegressor(max_iter=3, **{**options, "top_rate": 0.9, "other_rate": 0.1}).fit(
        X, y
    )
    plain = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=5).fit(X, y)
    np.testing.assert_allclose(whole.predict(X), plain.predict(X))


def test_validation_rows_are_routed_in_cross_validation(diabetes):
    X, y = diabetes
    model = HistGradientBoostingRegressor(max_iter=20, n_iter_no_change=2, min_samples_leaf=5, scoring="r2")
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(X_val=True, y_val=True)
        search = GridSearchCV(model, {"learning_rate": [0.2, 0.5]}, cv=2, error_score="raise")
        search.fit(X[:120], y[:120], X_val=X[120:], y_val=y[120:])
    best = search.best_estimator_
    assert best.do_early_stopping_
    assert best.n_iter_ < 20
    assert len(best.validation_score_) == best.n_iter_ + 1
    assert best.best_score_ == best.validation_score_[1:].max()
    assert best.score(X[120:], y[120:]) == pytest.approx(best.best_score_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_row_twice_is_a_row_of_weight_two(n_classes):
    """Tree by tree, though gradients are rounded."""
    X, y = make_classification(
        300, 2, n_informative=2, n_redundant=0, n_clusters_per_class=1, n_classes=n_classes, random_state=0
    )
    weight = np.random.default_rng(0).integers(0, 3, 300)
    settings = {"min_samples_leaf": 1, "max_iter": 40}
    weighted = HistGradientBoostingClassifier(**settings).fit(X, y, sample_weight=weight)
    repeated = HistGradientBoostingClassifier(**settings).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9)

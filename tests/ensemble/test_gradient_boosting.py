"""Gradient boosting: the text's examples, the losses, early stopping, and agreement with scikit-learn."""

import numpy as np
import pytest
from sklearn import ensemble as peer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from tercet.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from tercet.inspection import additive_trees
from tercet.linear_model import LinearRegression, LogisticRegression
from tercet.losses import loss

X82 = np.arange(1.0, 11.0)[:, None]
Y82 = np.array([5.56, 5.70, 5.91, 6.40, 6.80, 7.05, 8.90, 8.70, 9.00, 9.05])


def stumps(X, y, rounds, **settings):
    return GradientBoostingRegressor(n_estimators=rounds, learning_rate=1.0, max_depth=1, **settings).fit(
        X, y
    )


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:120], y[:120]


def test_example_8_2():
    model = stumps(X82, Y82, 6, init="zero")
    trees = [row[0].tree_ for row in model.estimators_]
    assert [tree.threshold[0] for tree in trees] == [6.5, 3.5, 6.5, 4.5, 6.5, 2.5]
    values = [
        (6.236667, 8.912500),
        (-0.513333, 0.220000),
        (0.146667, -0.220000),
        (-0.160833, 0.107222),
        (0.071481, -0.107222),
        (-0.150648, 0.037662),
    ]
    np.testing.assert_allclose([tree.value[1:, 0, 0] for tree in trees], values, atol=1e-6)
    errors = [1.930008, 0.800675, 0.478008, 0.305559, 0.228915, 0.172178]
    np.testing.assert_allclose(10 * model.train_score_, errors, atol=1e-6)
    pieces = np.repeat([5.630000, 5.818310, 6.551644, 6.819699, 8.950162], [2, 1, 1, 2, 4])
    np.testing.assert_allclose(model.predict(X82), pieces, atol=1e-6)


def test_starting_from_the_mean_changes_nothing_after_the_first_round():
    zero, mean = stumps(X82, Y82, 4, init="zero"), stumps(X82, Y82, 4)
    assert mean.init_ == pytest.approx(7.307)
    for one, other in zip(zero.staged_predict(X82), mean.staged_predict(X82)):
        np.testing.assert_allclose(one, other)


def test_absolute_loss_of_example_8_2():
    model = stumps(X82, Y82, 1, loss="absolute_error")
    assert model.init_ == pytest.approx(6.925)
    np.testing.assert_allclose(model.predict(X82), np.repeat([5.91, 8.90], 5))
    assert np.abs(Y82 - model.predict(X82)).sum() == pytest.approx(4.24)


def test_derived_examples():
    X, y = np.arange(1.0, 7.0)[:, None], np.array([1, 1.2, 1.1, 3.0, 3.2, 5.0])
    model = stumps(X, y, 2)
    assert [row[0].tree_.threshold[0] for row in model.estimators_] == [3.5, 5.5]
    np.testing.assert_allclose(6 * model.train_score_, [2.4466667, 0.5213333], rtol=1e-6)
    absolute = stumps(X, y, 1, loss="absolute_error")
    assert absolute.init_ == pytest.approx(2.1)
    np.testing.assert_allclose(
        absolute.predict(X), [1.1] * 3 + [3.2] * 3
    )  # medians of the leaves, not rho = 1
    y = np.array([1.0, 1.2, 0.9, 3.0, 3.2, 5.0])
    np.testing.assert_allclose(stumps(X, y, 2).predict(X), [0.78, 0.78, 0.78, 3.48, 3.48, 5.0], atol=1e-2)


def test_residuals_of_a_leaf_have_mean_zero(diabetes):
    X, y = diabetes
    model = GradientBoostingRegressor(n_estimators=3, learning_rate=1.0).fit(X, y)
    leaf, residual = model.apply(X)[:, -1], y - model.predict(X)
    means = np.bincount(leaf.astype(int), residual) / np.maximum(np.bincount(leaf.astype(int)), 1)
    np.testing.assert_allclose(means, 0.0, atol=1e-9)
    assert (np.diff(model.train_score_) <= 0).all()


def test_squared_loss_agrees_with_scikit_learn(diabetes):
    X, y = diabetes
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    for settings in ({}, {"max_depth": 2, "min_samples_leaf": 5}, {"max_leaf_nodes": 4, "max_depth": None}):
        ours = GradientBoostingRegressor(n_estimators=6, **settings).fit(X, y, weight)
        theirs = peer.GradientBoostingRegressor(n_estimators=6, random_state=0, **settings).fit(X, y, weight)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
        np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-9)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_log_loss_agrees_with_scikit_learn(load):
    X, y = load(return_X_y=True)
    ours = GradientBoostingClassifier(n_estimators=4).fit(X, y)
    theirs = peer.GradientBoostingClassifier(n_estimators=4, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-8)


def test_exponential_loss_agrees_with_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    ours = GradientBoostingClassifier(loss="exponential", n_estimators=4).fit(X, y)
    theirs = peer.GradientBoostingClassifier(loss="exponential", n_estimators=4, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    with pytest.raises(ValueError, match="binary"):
        GradientBoostingClassifier(loss="exponential").fit([[0.0], [1.0], [2.0]], [0, 1, 2])


@pytest.mark.parametrize(
    ("name", "least"), [("absolute_error", 0.5), ("huber", 0.7), ("poisson", 0.7), ("squared_error", 0.7)]
)
def test_every_loss_learns(diabetes, name, least):
    X, y = diabetes
    model = GradientBoostingRegressor(loss=name, n_estimators=30).fit(X, y)
    assert model.score(X, y) > least
    assert model.train_score_[-1] < model.train_score_[0]


def test_quantiles(diabetes):
    X, y = diabetes
    for alpha in (0.1, 0.5, 0.9):
        model = GradientBoostingRegressor(loss="quantile", alpha=alpha, n_estimators=30).fit(X, y)
        assert np.mean(y <= model.predict(X)) == pytest.approx(alpha, abs=0.08)


def test_a_given_loss_is_minimised(diabetes):
    X, y = diabetes
    given = GradientBoostingRegressor(loss=loss("squared"), n_estimators=4).fit(X, y)
    named = GradientBoostingRegressor(n_estimators=4).fit(X, y)
    np.testing.assert_allclose(given.predict(X), named.predict(X), rtol=1e-6)


def test_weights_are_repetitions(diabetes):
    X, y = diabetes
    times = np.arange(len(y)) % 3
    for name in ("squared_error", "absolute_error", "huber"):
        weighted = GradientBoostingRegressor(loss=name, n_estimators=5).fit(X, y, times)
        repeated = GradientBoostingRegressor(loss=name, n_estimators=5)
        repeated.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


def test_early_stopping_keeps_what_it_made(diabetes):
    X, y = diabetes
    model = GradientBoostingRegressor(n_estimators=200, n_iter_no_change=3, random_state=0).fit(X, y)
    assert model.n_estimators_ == len(model.estimators_) == len(model.train_score_) < 200
    given = GradientBoostingRegressor(n_estimators=200, n_iter_no_change=3, random_state=0)
    given.fit(X[:80], y[:80], X_val=X[80:], y_val=y[80:])
    assert given.n_estimators_ < 200
    losses = given.history_["validation_loss"]
    assert len(losses) == given.n_estimators_ == len(given.validation_score_)
    assert given.best_score_ == min(losses) == losses[given.best_iteration_ - 1]
    assert given.best_iteration_ < given.n_estimators_
    assert np.mean((given.predict(X[80:]) - y[80:]) ** 2) == pytest.approx(given.best_score_)
    stages = list(given.staged_predict(X))
    np.testing.assert_allclose(given.predict(X), stages[given.best_iteration_ - 1])
    np.testing.assert_allclose(given.set_params(keep_best=False).predict(X), stages[-1])
    assert additive_trees(given).scores(X)[:, 0] == pytest.approx(stages[-1])
    assert additive_trees(given.set_params(keep_best=True)).scores(X)[:, 0] == pytest.approx(given.predict(X))
    plain = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    assert (plain.best_iteration_, plain.best_score_) == (3, plain.train_score_[-1])
    with pytest.raises(ValueError, match="together"):
        given.fit(X, y, X_val=X)


def test_a_warm_start_goes_on(diabetes):
    X, y = diabetes
    model = GradientBoostingRegressor(n_estimators=3, warm_start=True).fit(X, y)
    model.set_params(n_estimators=6).fit(X, y)
    at_once = GradientBoostingRegressor(n_estimators=6).fit(X, y)
    np.testing.assert_allclose(model.predict(X), at_once.predict(X))
    np.testing.assert_allclose(model.train_score_, at_once.train_score_)
    with pytest.raises(ValueError, match="n_estimators=2"):
        model.set_params(n_estimators=2).fit(X, y)


def test_subsamples_and_init(diabetes):
    X, y = diabetes
    model = GradientBoostingRegressor(n_estimators=8, subsample=0.5, random_state=0).fit(X, y)
    assert model.oob_improvement_.shape == model.oob_scores_.shape == (8,)
    assert model.oob_score_ == model.oob_scores_[-1]
    again = GradientBoostingRegressor(n_estimators=8, subsample=0.5, random_state=0, n_jobs=2).fit(X, y)
    assert model.predict(X).tobytes() == again.predict(X).tobytes()
    linear = GradientBoostingRegressor(init=LinearRegression(), n_estimators=1).fit(X, y)
    assert linear.score(X, y) > LinearRegression().fit(X, y).score(X, y)
    X, y = load_iris(return_X_y=True)
    logistic = GradientBoostingClassifier(init=LogisticRegression(), n_estimators=1).fit(X, y)
    assert logistic.score(X, y) > 0.95


def test_missing_values_and_categories():
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0, 5.0, np.nan] * 3, "b": list("xyxyzz") * 3})
    y = np.array([0, 1, 0, 1, 1, 0] * 3)
    assert GradientBoostingClassifier(n_estimators=10).fit(frame, y).score(frame, y) == 1.0
    constant = GradientBoostingRegressor(n_estimators=3).fit(frame, np.full(18, 2.5))
    np.testing.assert_array_equal(constant.predict(frame), 2.5)


def test_monitor_ends_learning(diabetes):
    X, y = diabetes
    model = GradientBoostingRegressor(n_estimators=20).fit(X, y, monitor=lambda m, *_: m == 3)
    assert model.n_estimators_ == 4


def test_patience_without_end_takes_no_memory():
    X, y = np.arange(20.0).reshape(-1, 1), np.arange(20.0)
    settings = {"n_estimators": 3, "random_state": 0}
    patient = GradientBoostingRegressor(n_iter_no_change=2**40, **settings).fit(X, y)
    assert patient.n_estimators_ == 3


def test_a_subsample_is_one_of_the_rows_with_a_weight():
    X, y = np.arange(20.0).reshape(-1, 1), np.arange(20.0)
    model = GradientBoostingRegressor(n_estimators=3, subsample=0.5, random_state=0)
    assert np.isfinite(model.fit(X, y, sample_weight=np.eye(20)[3]).predict(X)).all()


def test_targets_whose_squares_overflow_are_refused():
    X = np.arange(8.0).reshape(-1, 1)
    with pytest.raises(ValueError, match=r"y holds numbers up to 7e.150; allowed are at most"):
        GradientBoostingRegressor().fit(X, X[:, 0] * 1e150)


def test_exact_second_order_splits():
    """All thresholds, one by one: the best has the largest G²/H of both sides."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal(400)
    y = (rng.random(400) < 1.0 / (1.0 + np.exp(2.0 - 2.0 * x - x**2))).astype(int)
    start = LogisticRegression().fit(x[:, None], y)
    model = GradientBoostingClassifier(n_estimators=1, max_depth=1, init=start, second_order=True)
    tree = model.fit(x[:, None], y).estimators_[0, 0].tree_
    p = start.predict_proba(x[:, None])[:, 1]
    order = np.argsort(x)
    G, H = np.cumsum((y - p)[order]), np.cumsum((p * (1.0 - p))[order])
    gain = G[:-1] ** 2 / H[:-1] + (G[-1] - G[:-1]) ** 2 / (H[-1] - H[:-1])
    best = gain.argmax()
    assert x[order][best] <= tree.threshold[0] < x[order][best + 1]
    assert tree.value[1, 0, 0] == pytest.approx(G[best] / H[best])
    first = GradientBoostingClassifier(n_estimators=1, max_depth=1, init=start).fit(x[:, None], y)
    assert first.estimators_[0, 0].tree_.threshold[0] != tree.threshold[0]


def test_a_learning_rate_beyond_floating_point_is_refused():
    X, y = np.arange(12.0)[:, None], np.arange(12.0) % 5
    with pytest.raises(ValueError, match=r"beyond floating-point numbers with learning_rate=1e\+300"):
        GradientBoostingRegressor(learning_rate=1e300, n_estimators=5).fit(X, y)


def test_categories_of_equal_means_are_ordered_by_their_codes():
    """Categories 0 to 5 have no row of class 1, so equal means; the least weight of a leaf parts them.

    A row of weight 3 and three rows give means that differ by rounding, which must not decide which go left.
    """
    rng = np.random.default_rng(0)
    X = np.repeat(np.arange(9.0), 5)[:, None]
    y = np.where(X[:, 0] < 6, rng.integers(0, 2, 45) * 2, 1)
    weight = rng.integers(1, 6, 45)
    options = {"categorical_features": [0], "min_weight_fraction_leaf": 0.42, "n_estimators": 3}
    one = GradientBoostingClassifier(**options).fit(X, y, sample_weight=weight)
    many = GradientBoostingClassifier(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.predict_proba(X), many.predict_proba(X), rtol=1e-9)

"""Absolute, Huber and quantile boosting of targets with outliers: exact leaves, and agreement with scikit-learn."""

import numpy as np
import pytest
from sklearn import ensemble as peer

from tercet.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from tercet.losses import loss

CLASSES = ((GradientBoostingRegressor, "alpha"), (HistGradientBoostingRegressor, "quantile"))


@pytest.fixture(scope="module")
def outliers():
    rng = np.random.default_rng(0)
    X = (
        rng.standard_normal((240, 4)).astype(np.float32).astype(np.float64)
    )  # scikit-learn's trees round to it
    y = 3 * X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * rng.standard_normal(240)
    y[::10] += 30 * rng.standard_t(1, 24)
    return X, y


def pinball(residual, q):
    return np.sum(residual * (q - (residual < 0)))


def one_round(kind, name, q, X, y, weight=None):
    """F_0, the leaf of each row in the first tree, and that tree, at learning rate 1."""
    which = dict(CLASSES)[kind]
    rounds = {"n_estimators": 1} if which == "alpha" else {"max_iter": 1}
    given = {which: q} if name == "quantile" else {}
    model = kind(loss=name, learning_rate=1.0, min_samples_leaf=6, **rounds, **given).fit(X, y, weight)
    tree = model.estimators_[0, 0].tree_ if which == "alpha" else model.trees_[0][0]
    return model, float(np.ravel(model.init_)[0]), tree.apply(X), tree


@pytest.mark.parametrize(("kind", "_"), CLASSES)
@pytest.mark.parametrize(("name", "q"), [("absolute_error", 0.5), ("quantile", 0.9), ("quantile", 0.25)])
@pytest.mark.parametrize("weighted", [False, True])
def test_start_and_leaves_are_exact_minimisers(outliers, kind, _, name, q, weighted):
    X, y = outliers
    weight = np.random.default_rng(1).integers(1, 4, len(y)) if weighted else None
    _, start, leaf, tree = one_round(kind, name, q, X, y, weight)
    assert tree.node_count > 3
    times = np.ones(len(y), int) if weight is None else weight
    groups = [(y, times, start)]
    groups += [((y - start)[leaf == t], times[leaf == t], tree.value[t, 0, 0]) for t in np.unique(leaf)]
    for values, count, found in groups:
        values = np.repeat(values, count)
        # A piecewise linear loss has its least value at one of the targets.
        least = min(pinball(values - c, q) for c in values)
        assert pinball(values - found, q) == pytest.approx(least, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "given"),
    [("absolute_error", {}), ("huber", {}), ("quantile", {"alpha": 0.875}), ("quantile", {"alpha": 0.25})],
)
def test_agrees_with_scikit_learn_where_splits_and_medians_are_unique(outliers, name, given):
    """Weights at random leave one minimiser in each leaf, and no two splits of the same gain.

    Whole numbers and these quantiles have exact sums: scikit-learn splits a node of equal gradients by rounding.
    """
    X, y = outliers
    weight = np.random.default_rng(2).integers(1, 1000, len(y))
    options = {"loss": name, "n_estimators": 15, "min_samples_leaf": 10, **given}
    ours = GradientBoostingRegressor(**options).fit(X, y, weight)
    theirs = peer.GradientBoostingRegressor(random_state=0, **options).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-9)


def test_histogram_boosting_agrees_with_scikit_learn_where_splits_are_unique(outliers):
    X, y = outliers
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    options = {"loss": "absolute_error", "max_iter": 15}
    ours = HistGradientBoostingRegressor(**options).fit(X, y, weight)
    theirs = peer.HistGradientBoostingRegressor(**options).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_quantile_leaves_have_at_most_the_loss_of_scikit_learns(outliers):
    """Its histogram boosting interpolates between two targets, which is no minimiser."""
    X, y = outliers
    options = {"loss": "quantile", "quantile": 0.9, "learning_rate": 1.0, "max_iter": 1, "max_leaf_nodes": 2}
    ours = HistGradientBoostingRegressor(min_samples_leaf=7, **options).fit(X, y)
    theirs = peer.HistGradientBoostingRegressor(min_samples_leaf=7, **options).fit(X, y)
    left = X[:, ours.trees_[0][0].feature[0]] <= ours.trees_[0][0].threshold[0]
    for side in (left, ~left):  # the same two leaves
        assert len(np.unique(theirs.predict(X[side]))) == 1
    assert pinball(y - ours.predict(X), 0.9) < pinball(y - theirs.predict(X), 0.9)


@pytest.mark.parametrize(("name", "q"), [("absolute_error", 0.5), ("huber", 0.5), ("quantile", 0.9)])
def test_negated_targets_give_negated_predictions(outliers, name, q):
    """The midpoint of all minimisers does not depend on the sign; their least one, as in scikit-learn, does."""
    X, y = outliers
    flipped = {"alpha": 1 - q} if name == "quantile" else {}
    given = {"alpha": q} if name == "quantile" else {}
    options = {"loss": name, "n_estimators": 10, "max_depth": 2, "min_samples_leaf": 10}
    one = GradientBoostingRegressor(**options, **given).fit(X, y).predict(X)
    other = GradientBoostingRegressor(**options, **flipped).fit(X, -y).predict(X)
    np.testing.assert_allclose(one, -other, rtol=1e-9, atol=1e-9)
    theirs = [
        peer.GradientBoostingRegressor(random_state=0, **options, **own).fit(X, sign * y).predict(X)
        for sign, own in ((1, given), (-1, flipped))
    ]
    assert np.abs(theirs[0] + theirs[1]).max() > 1e-3


def test_a_split_without_gain_is_not_made(outliers):
    """A node whose gradients are all the same gains nothing by a split, whatever rounding says."""
    X, y = outliers
    model = HistGradientBoostingRegressor(loss="quantile", quantile=0.9, max_iter=3, min_samples_leaf=5)
    F = np.full(len(y), model.fit(X, y).init_[0])
    for (tree,), after in zip(model.trees_, model.staged_predict(X)):
        sign, path = y >= F, tree.decision_path(X).toarray().astype(bool)
        for t in np.flatnonzero(tree.n_children):
            assert len(np.unique(sign[path[:, t]])) == 2
        F = after


def test_a_given_huber_loss_has_the_leaves_of_a_line_search(outliers):
    X, y = outliers
    model = GradientBoostingRegressor(
        loss=loss("huber"), learning_rate=1.0, n_estimators=1, min_samples_leaf=9
    )
    model.fit(X, y)
    leaf, formula = model.apply(X)[:, 0], loss("huber")
    for t in np.unique(leaf):
        inside = leaf == t
        assert abs(formula.gradient(y[inside], model.predict(X[inside])).sum()) < 1e-4

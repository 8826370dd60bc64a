"""Quantiles of forests against the definition, and the out-of-bag curve as a stopping rule."""

import numpy as np
import pytest

from tercet.ensemble import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(120, 2))
    return X, X[:, 0] + (0.2 + np.abs(X[:, 1])) * rng.normal(size=120)


def plain_weights(forest, X, row):
    """The weight of each training row for one row: its share of the leaf, averaged over trees."""
    weights = np.zeros(len(X))
    for member, sample in zip(forest, forest.estimators_samples_):
        counts = np.bincount(sample, minlength=len(X))
        here = counts * (member.tree_.apply(X) == member.tree_.apply(row[None])[0])
        weights += here / here.sum() / len(forest)
    return weights


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_quantiles_are_those_of_the_weighted_targets(noisy, kind):
    X, y = noisy
    forest = kind(5, min_samples_leaf=4, keep_targets=True, random_state=0).fit(X, y)
    asked = [0.0, 0.1, 0.5, 0.9, 1.0]
    found = forest.predict_quantiles(X[:6], asked)
    order = np.argsort(y)
    for row, quantiles in zip(X[:6], found):
        weights = plain_weights(forest, X, row)
        assert weights @ y == pytest.approx(forest.predict(row[None])[0])  # the mean has the same weights
        total = np.cumsum(weights[order])
        expected = [y[order][np.flatnonzero(total >= max(q - 1e-9, 1e-9))[0]] for q in asked]
        np.testing.assert_array_equal(quantiles, expected)
    np.testing.assert_array_equal(forest.predict_quantiles(X[:6], 0.5), found[:, 2])


def test_quantiles_cover(noisy):
    X, y = noisy
    forest = RandomForestRegressor(20, min_samples_leaf=5, keep_targets=True, random_state=0).fit(X, y)
    low, high = forest.predict_quantiles(X, (0.1, 0.9)).T
    assert 0.7 < np.mean((low <= y) & (y <= high)) <= 1.0
    wide = np.abs(X[:, 1]) > 1
    assert (high - low)[wide].mean() > (high - low)[~wide].mean()


def test_bad_quantiles(noisy):
    X, y = noisy
    forest = RandomForestRegressor(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="fit with keep_targets=True"):
        forest.predict_quantiles(X)
    with pytest.raises(ValueError, match="keep_targets=True is for one output; y has 2 columns"):
        RandomForestRegressor(2, keep_targets=True).fit(X, np.column_stack([y, y]))
    forest.set_params(keep_targets=True).fit(X, y)
    with pytest.raises(ValueError, match="quantiles must be numbers from 0 to 1"):
        forest.predict_quantiles(X, [0.5, 5])


def test_a_forest_stops_by_its_out_of_bag_curve(noisy):
    X, y = noisy
    settings = {"oob_score": True, "random_state": 0, "max_depth": 3}
    forest = RandomForestClassifier(200, n_iter_no_change=10, **settings).fit(X, y > 0)
    assert 10 < len(forest) < 200
    curve = forest.history_["oob_score"]
    assert max(curve[-10:]) <= np.fmax.reduce(curve[:-10]) + 1e-4
    whole = RandomForestClassifier(len(forest), **settings).fit(X, y > 0)
    np.testing.assert_array_equal(forest.predict_proba(X), whole.predict_proba(X))
    threads = RandomForestClassifier(200, n_iter_no_change=10, n_jobs=2, **settings).fit(X, y > 0)
    np.testing.assert_array_equal(forest.predict_proba(X), threads.predict_proba(X))
    with pytest.raises(ValueError, match="n_iter_no_change=5 stops by the out-of-bag score"):
        RandomForestClassifier(n_iter_no_change=5).fit(X, y > 0)

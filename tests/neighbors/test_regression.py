"""Regression by neighbours: scikit-learn's answers, and weights as repetition."""

import numpy as np
import pytest
import sklearn.neighbors as peer

from tercet.neighbors import KNeighborsRegressor, RadiusNeighborsRegressor

RNG = np.random.default_rng(0)
X, Q = RNG.normal(size=(150, 3)), RNG.normal(size=(31, 3))
Y = RNG.normal(size=(150, 2))


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: 1 / (1 + d), None])
@pytest.mark.parametrize("target", [Y[:, 0], Y[:, :1], Y], ids=["vector", "column", "two"])
def test_agrees_with_the_peer(weights, target):
    ours = KNeighborsRegressor(4, weights=weights, algorithm="brute").fit(X, target)
    theirs = peer.KNeighborsRegressor(4, weights=weights).fit(X, target)
    for queries in (Q, X, None):
        assert ours.predict(queries).shape == theirs.predict(queries).shape
        np.testing.assert_allclose(ours.predict(queries), theirs.predict(queries), rtol=1e-10, atol=1e-12)
    assert ours.score(None, target) == pytest.approx(theirs.score(None, target))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("target", [Y[:, 0], Y], ids=["vector", "two"])
def test_radius_agrees_with_the_peer(weights, target):
    ours = RadiusNeighborsRegressor(0.6, weights=weights, algorithm="brute").fit(X, target)
    theirs = peer.RadiusNeighborsRegressor(0.6, weights=weights).fit(X, target)
    for queries in (Q, None):
        with pytest.warns(UserWarning, match="no neighbors within specified radius"):
            np.testing.assert_allclose(ours.predict(queries), theirs.predict(queries), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_weights_are_repetitions(weights):
    w = RNG.integers(0, 4, 150)
    more, twice = np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0)
    for model in (KNeighborsRegressor(6, weights=weights), RadiusNeighborsRegressor(9.0, weights=weights)):
        weighted = model.fit(X, Y, sample_weight=w).predict(Q)
        np.testing.assert_allclose(model.fit(more, twice).predict(Q), weighted, rtol=1e-10)


def test_as_many_neighbours_as_rows_give_the_mean():
    model = KNeighborsRegressor(150).fit(X, Y)
    np.testing.assert_allclose(model.predict(Q), np.tile(Y.mean(axis=0), (31, 1)))


def test_one_neighbour_returns_what_was_learned():
    assert np.array_equal(KNeighborsRegressor(1).fit(X, Y).predict(X), Y)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="n_neighbors = 5, n_samples_fit = 1"):
        KNeighborsRegressor().fit([[0]], [0]).predict([[0]])
    with pytest.raises(ValueError, match="no neighbour of query 0 has a weight"):
        KNeighborsRegressor(weights=np.zeros_like).fit(X, Y).predict(Q)

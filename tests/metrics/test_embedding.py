"""Measures of embeddings."""

import numpy as np
import pytest
import sklearn.manifold as peer

from tercet.metrics import continuity, pairwise_distances, residual_variance, trustworthiness


@pytest.fixture
def pair():
    X = np.random.default_rng(0).normal(size=(70, 5))
    return X, X[:, :2] ** 3


@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_trustworthiness_like_the_peer(pair, k, metric):
    options = {"n_neighbors": k, "metric": metric}
    assert trustworthiness(*pair, **options) == pytest.approx(peer.trustworthiness(*pair, **options))


def test_continuity_is_trustworthiness_of_the_way_back(pair):
    X, Z = pair
    assert continuity(X, Z, n_neighbors=7) == trustworthiness(Z, X, n_neighbors=7)
    assert trustworthiness(X, 3 * X + 1) == continuity(X, 3 * X + 1) == 1.0
    D = pairwise_distances(X)
    assert continuity(D, Z, metric="precomputed") == pytest.approx(continuity(X, Z))


def test_residual_variance_is_one_less_the_squared_correlation(pair):
    X, Z = pair
    D, E = pairwise_distances(X), pairwise_distances(Z)
    pairs = np.triu_indices(70, 1)
    expected = 1 - np.corrcoef(D[pairs], E[pairs])[0, 1] ** 2
    assert residual_variance(D, Z) == pytest.approx(expected)
    assert residual_variance(1e200 * D, Z) == pytest.approx(expected)
    assert residual_variance(D, X) == pytest.approx(0.0, abs=1e-12)
    assert residual_variance(D, np.ones((70, 2))) == 1.0


def test_what_cannot_be_measured(pair):
    X, Z = pair
    with pytest.raises(ValueError, match=r"n_neighbors \(35\) should be less than n_samples / 2 \(35.0\)"):
        trustworthiness(X, Z, n_neighbors=35)
    with pytest.raises(ValueError, match="X_embedded has 69 points; expected is one for each of 70 rows"):
        continuity(X, Z[1:])
    with pytest.raises(ValueError, match="n_neighbors must be a whole number of at least 1"):
        trustworthiness(X, Z, n_neighbors=0)
    with pytest.raises(ValueError, match="square"):
        residual_variance(X, Z)

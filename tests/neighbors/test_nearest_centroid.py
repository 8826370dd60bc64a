"""Nearest centroids against scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import neighbors as peer
from sklearn.datasets import load_iris

from tercet.neighbors import NearestCentroid

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("shrink_threshold", [None, 0.5])
@pytest.mark.parametrize("priors", ["uniform", "empirical", (0.2, 0.3, 0.5)])
def test_agrees_with_the_peer(metric, shrink_threshold, priors):
    rows = X[:130]
    options = {"shrink_threshold": shrink_threshold, "priors": priors}
    mine = NearestCentroid(metric, **options).fit(rows, y[:130])
    theirs = peer.NearestCentroid(metric, **options).fit(rows, y[:130])
    for name in ("centroids_", "deviations_", "within_class_std_dev_", "class_prior_"):
        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(mine.predict(X), theirs.predict(X))
    assert hasattr(mine, "predict_proba") == (metric == "euclidean")
    if metric == "euclidean":
        np.testing.assert_allclose(mine.decision_function(X), theirs.decision_function(X), rtol=1e-7)
        np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    held = NearestCentroid(metric, **options).fit(sparse.csr_array(rows), y[:130])
    np.testing.assert_allclose(held.centroids_, mine.centroids_, rtol=1e-12)
    np.testing.assert_array_equal(held.predict(sparse.csr_array(X)), mine.predict(X))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_a_weight_of_two_is_two_rows(metric):
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = NearestCentroid(metric, shrink_threshold=0.3, priors="empirical").fit(X, y, weight)
    repeated = NearestCentroid(metric, shrink_threshold=0.3, priors="empirical").fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(weighted.centroids_, repeated.centroids_, rtol=1e-12)
    np.testing.assert_allclose(weighted.class_prior_, repeated.class_prior_)


def test_errors_and_warnings():
    with pytest.raises(ValueError, match="The number of classes has to be greater than one"):
        NearestCentroid().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="All features have zero variance"):
        NearestCentroid().fit(np.ones((4, 2)), [0, 0, 1, 1])
    with pytest.raises(ValueError, match="non-negative"):
        NearestCentroid(priors=[-1, 1, 1]).fit(X, y)
    with pytest.raises(ValueError, match="must have 3 entries"):
        NearestCentroid(priors=[0.5, 0.5]).fit(X, y)
    with pytest.warns(UserWarning, match="do not sum to 1"):
        assert NearestCentroid(priors=[1, 1, 2]).fit(X, y).class_prior_.tolist() == [0.25, 0.25, 0.5]
    with pytest.warns(UserWarning, match="zero standard deviation"):
        NearestCentroid().fit([[0, 1], [0, 2], [1, 3], [1, 5]], [0, 0, 1, 1])


@pytest.mark.parametrize("scale", [1.0, 1e-180, 1e130])
def test_nearest_whatever_the_scale(scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.arange(40) % 4
    model = NearestCentroid().fit(X, y)
    model.centroids_ = model.centroids_ * scale
    rows = np.vstack([X * scale, model.centroids_])
    expected = ((rows[:, None] / scale - model.centroids_ / scale) ** 2).sum(axis=2).argmin(axis=1)
    assert np.array_equal(model.predict(rows), expected)
    assert np.array_equal(np.concatenate([model.predict(x[None]) for x in rows]), expected)


def test_columns_that_do_not_vary_are_not_shrunk():
    """They have no unit to measure deviations in: their centroids stay, and nothing is NaN."""
    X = np.array([[0.0, 1.0, 5.0], [0.0, 1.0, 5.0], [1.0, 1.0, 7.0], [1.0, 1.0, 7.0]])
    with pytest.warns(UserWarning, match="zero standard deviation"):
        model = NearestCentroid(shrink_threshold=0.5).fit(X, [0, 0, 1, 1])
    np.testing.assert_array_equal(model.centroids_, X[[0, 2]])
    assert np.isfinite(model.deviations_).all()


def test_sparse_rows_count_as_dense_ones_do():
    """Means, scatter and ties: zeros that are not stored, entries stored twice, weights of 0, equal distances."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        X = rng.integers(-2, 3, (30, 6)) * (rng.random((30, 6)) < 0.5).astype(float)
        y, weight = (
            np.append([0, 1, 2], rng.integers(0, 3, 27)),
            np.append(np.ones(3), rng.integers(0, 3, 27)),
        )
        dense, split = NearestCentroid().fit(X, y, weight), sparse.csr_array(X)
        # each entry as two halves
        twice = sparse.csr_array(
            (np.repeat(split.data / 2, 2), np.repeat(split.indices, 2), split.indptr * 2), shape=X.shape
        )
        for rows in (split, twice):
            held = NearestCentroid().fit(rows, y, weight)
            np.testing.assert_allclose(held.centroids_, dense.centroids_, atol=1e-14)
            np.testing.assert_allclose(held.within_class_std_dev_, dense.within_class_std_dev_, atol=1e-14)
            np.testing.assert_array_equal(dense.predict(rows), dense.predict(X))

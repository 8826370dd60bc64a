"""Rows that are odd in every method with centres: equal, constant, empty, missing, few, huge."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tercet.cluster import BisectingKMeans, KMeans, KMedoids, KModes, MiniBatchKMeans, SphericalKMeans

RNG = np.random.default_rng(0)
EMPTY_ROWS = sparse.csr_array(
    np.where(np.arange(12)[:, None] % 3, RNG.integers(1, 5, (12, 4)), 0).astype(float)
)
ODD = {
    "equal": np.ones((12, 3)),
    "one column": np.arange(1.0, 13.0)[:, None],
    "constant columns": np.column_stack([np.ones(12), RNG.normal(size=12), np.full(12, 7.0)]),
    "empty rows": EMPTY_ROWS,
    "huge": RNG.choice([-1e308, 1e308, 5e307], size=(12, 2)),
    "tiny": RNG.normal(size=(12, 2)) * 1e-310,
}
METHODS = [KMeans, MiniBatchKMeans, BisectingKMeans, SphericalKMeans, KMedoids, KModes]
every_method = pytest.mark.parametrize("kind", METHODS)


@every_method
@pytest.mark.parametrize("rows", ODD)
def test_odd_rows_have_clusters(kind, rows):
    X = ODD[rows]
    if kind is KModes and sparse.issparse(X):
        X = X.toarray()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "KMeans: inertia_ is|.*KMeans: inertia_ is")
        warnings.filterwarnings("ignore", "KModes: column .* distinct numbers")
        model = kind(3, **({} if kind is KModes else {"random_state": 0})).fit(X)
        labels = model.predict(X)
    assert ((labels >= 0) & (labels < 3)).all()
    np.testing.assert_array_equal(labels, model.labels_)
    if kind is not KModes:
        assert np.isfinite(model.cluster_centers_).all()
        assert not np.isnan(model.inertia_)


@every_method
def test_fewer_different_rows_than_clusters_are_announced(kind):
    model = kind(3, **({} if kind is KModes else {"random_state": 0}))
    words = r"distinct clusters \(1\) found smaller than n_clusters \(3\)"
    with pytest.warns(ConvergenceWarning, match=words) as said:
        model.fit(np.ones((12, 3)))
    assert len(said) == 1  # and that is all there is to say


@every_method
def test_too_few_rows_and_missing_values_are_named(kind):
    X = RNG.normal(size=(5, 2))
    with pytest.raises(ValueError, match=rf"{kind.__name__}: n_clusters=6 needs as many rows"):
        kind(6).fit(X)
    with pytest.raises(ValueError, match="n_clusters"):
        kind(0).fit(X)
    X[2, 1] = np.nan
    if kind is KModes:
        assert kind(2).fit(X).labels_.shape == (5,)
    else:
        with pytest.raises(ValueError, match=rf"Input X contains NaN\.\n{kind.__name__} does not accept"):
            kind(2).fit(X)

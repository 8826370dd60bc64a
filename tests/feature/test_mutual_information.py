"""Mutual information of columns and targets: equal to scikit-learn's, and to closed forms."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import feature_selection as peer

from tercet.feature import mutual_info_classif, mutual_info_regression


def rows(seed=0, n=120):
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.normal(size=(n, 3)), rng.integers(4, size=n), np.full(n, 2.0), rng.integers(2, size=n)]
    )
    return X, X[:, 0] + X[:, 3] + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("discrete", ["auto", [3, 5], np.array([0, 0, 0, 1, 0, 1], bool)])
@pytest.mark.parametrize("k", [1, 3])
def test_equal_to_scikit_learns(discrete, k):
    X, y = rows()
    options = {"discrete_features": discrete, "n_neighbors": k, "random_state": 0}
    kind = np.digitize(y, [-0.5, 1, 2])
    np.testing.assert_allclose(
        mutual_info_regression(X, y, **options),
        peer.mutual_info_regression(X, y, **options),
        rtol=1e-9,
        atol=1e-12,
    )
    np.testing.assert_allclose(
        mutual_info_classif(X, kind, **options),
        peer.mutual_info_classif(X, kind, **options),
        rtol=1e-9,
        atol=1e-12,
    )


def test_single_rows_of_a_class_and_equal_numbers():
    X, _ = rows(1, 40)
    kind = np.array(["a"] * 20 + ["b"] * 18 + ["c", "d"])
    X[:, 1] = np.round(X[:, 1])
    options = {"random_state": 3}
    np.testing.assert_allclose(
        mutual_info_classif(X, kind, **options),
        peer.mutual_info_classif(X, kind, **options),
        rtol=1e-9,
        atol=1e-12,
    )


def test_sparse_counts():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, size=(60, 5))
    y = (X[:, 2] > 0).astype(int)
    np.testing.assert_allclose(
        mutual_info_classif(sparse.csr_array(X), y),
        mutual_info_classif(X, y, discrete_features=True),
        rtol=1e-12,
    )
    with pytest.raises(ValueError, match="all columns of a sparse matrix"):
        mutual_info_classif(sparse.csr_array(X), y, discrete_features=False)


def test_of_two_normal_columns():
    rng = np.random.default_rng(0)
    x, y = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=4000).T
    (found,) = mutual_info_regression(x[:, None], y, random_state=0)
    assert found == pytest.approx(-np.log(1 - 0.64) / 2, abs=0.05)


def test_jobs_and_bad_input():
    X, y = rows()
    before = X.copy()
    one, two = (mutual_info_regression(X, y, random_state=0, n_jobs=jobs, copy=False) for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(X, before)
    with pytest.raises(ValueError, match="n_neighbors must be an integer of at least 1; got 0"):
        mutual_info_classif(X, y > 0, n_neighbors=0)
    with pytest.raises(ValueError, match="n_neighbors=200 must be less than the 120 rows"):
        mutual_info_regression(X, y, n_neighbors=200)
    with pytest.raises(ValueError, match="must be 'auto'"):
        mutual_info_classif(X, y > 0, discrete_features="no")

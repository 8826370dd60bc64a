"""k-means by the cosine: the loss, rows of zeros, sparse rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import cosine_distances

from tercet.cluster import SphericalKMeans


def rays(n=60, seed=0):
    """Rows of all lengths around three directions."""
    rng = np.random.default_rng(seed)
    directions = np.eye(3, 5)[np.arange(n) % 3] + 0.1 * rng.normal(size=(n, 5))
    return directions * rng.uniform(0.1, 100, size=(n, 1))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_the_end_is_a_fixed_point_and_the_loss_never_rises(dtype, form):
    X = rays().astype(dtype)
    given = sparse.csr_array(X) if form == "sparse" else X
    model = SphericalKMeans(3, random_state=0, tol=0).fit(given)
    assert model.cluster_centers_.dtype == dtype
    np.testing.assert_array_equal(np.unique(model.labels_[::3]).size, 1)
    losses = np.array(model.history_["inertia"])
    assert (np.diff(losses) <= 1e-6 * losses[0]).all()
    close = {"rtol": 1e-9} if dtype == np.float64 else {"rtol": 1e-3, "atol": 1e-5}
    gaps = cosine_distances(X.astype(np.float64), model.cluster_centers_.astype(np.float64))
    np.testing.assert_array_equal(model.labels_, gaps.argmin(axis=1))
    np.testing.assert_allclose(model.inertia_, gaps.min(axis=1).sum(), **close)
    np.testing.assert_allclose(losses[-1], model.inertia_, rtol=1e-6 if dtype == np.float64 else 1e-3)
    np.testing.assert_allclose(model.transform(given), gaps, atol=1e-7 if dtype == np.float64 else 1e-5)
    np.testing.assert_allclose(-model.score(given), model.inertia_, rtol=1e-6)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for c in range(3):
        way = unit[model.labels_ == c].sum(axis=0)
        np.testing.assert_allclose(
            model.cluster_centers_[c], way / np.linalg.norm(way), atol=1e-6 if dtype == np.float32 else 1e-12
        )


def test_length_does_not_matter():
    X = rays()
    stretched = X * np.random.default_rng(1).uniform(1e-3, 1e3, size=(60, 1))
    one, other = (SphericalKMeans(3, init=[0, 1, 2]).fit(rows) for rows in (X, stretched))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, atol=1e-12)
    for scale in (1e-300, 1e300):
        np.testing.assert_array_equal(SphericalKMeans(3, init=[0, 1, 2]).fit(X * scale).labels_, one.labels_)


def test_rows_of_zeros_move_nothing_and_cost_one():
    X = rays()
    with_zeros = sparse.csr_array(np.vstack([X, np.zeros((4, 5))]))
    plain = SphericalKMeans(3, init=[0, 1, 2]).fit(X)
    model = SphericalKMeans(3, init=[0, 1, 2]).fit(with_zeros)
    np.testing.assert_allclose(model.cluster_centers_, plain.cluster_centers_, atol=1e-12)
    assert model.labels_[60:].tolist() == [0] * 4
    np.testing.assert_allclose(model.inertia_, plain.inertia_ + 4)
    np.testing.assert_array_equal(model.transform(with_zeros)[60:], np.ones((4, 3)))
    with pytest.raises(ValueError, match="all rows of X with a weight are zero"):
        SphericalKMeans(2).fit(np.zeros((5, 2)))
    with pytest.raises(ValueError, match="init has a centre of zeros, number 1"):
        SphericalKMeans(2, init=[[1.0] * 5, [0.0] * 5]).fit(X)


def test_empty_clusters_are_refilled_and_opposite_rows_leave_a_centre():
    X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [-1.0, 0.2]])
    model = SphericalKMeans(3, init=[[1.0, 0.0], [1.0, -5.0], [0.0, 1.0]], tol=0).fit(X)
    assert np.unique(model.labels_).size == 3
    model = SphericalKMeans(1, init=[[0.0, 1.0]]).fit([[1.0, 0.0], [-1.0, 0.0]])
    np.testing.assert_array_equal(model.cluster_centers_, [[0.0, 1.0]])

"""The linear scan: exact, whatever the blocks, the precision and the kind of rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

from tercet.neighbors import NearestNeighbors
from tercet.neighbors._engine import brute
from tercet.neighbors._engine.brute import EuclideanScan, ProductScan, Scan
from tercet.neighbors._engine.search import NeighborIndex
from tercet.neighbors._engine.segment_sort import sort_segments


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(brute, "ROWS", 16)
    monkeypatch.setattr(brute, "QUERIES", 8)
    monkeypatch.setattr(brute, "SMALL", 4)


def by_sorting(Q, X, k, metric="euclidean", **more):
    """All distances, sorted; of equals the first row."""
    D = cdist(np.asarray(Q, float), np.asarray(X, float), metric, **more)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, order, axis=1), order


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 6), st.booleans())
def test_equals_sorting_all_distances_ties_and_duplicates_included(seed, n, d, single):
    rng = np.random.default_rng(seed)
    dtype = np.float32 if single else np.float64
    X, Q = rng.integers(0, 4, (n, d)).astype(dtype), rng.integers(0, 4, (7, d)).astype(dtype)
    k = int(rng.integers(1, n + 1))
    far, found = EuclideanScan(X).query(Q, k)
    expected = by_sorting(Q, X, k)
    assert np.array_equal(found, expected[1])
    np.testing.assert_allclose(far, expected[0], rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 5, 70])
def test_blocks_do_not_show(dtype, k, small_blocks):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(70, 9)).astype(dtype), rng.normal(size=(21, 9)).astype(dtype)
    far, found = EuclideanScan(X).query(Q, k)
    expected = by_sorting(Q, X, k)
    assert np.array_equal(found, expected[1])
    np.testing.assert_allclose(far, expected[0], rtol=1e-13)
    for n_jobs in (2, 5):
        again = EuclideanScan(X).query(Q, k, n_jobs=n_jobs)
        assert np.array_equal(again[0], far)
        assert np.array_equal(again[1], found)


@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1e-8, 1e8, 1e20, 1e140])
def test_any_scale(scale):
    rng = np.random.default_rng(1)
    X, Q = rng.normal(size=(80, 4)), rng.normal(size=(5, 4))
    plain, scaled = EuclideanScan(X).query(Q, 3), EuclideanScan(X * scale).query(Q * scale, 3)
    assert np.array_equal(plain[1], scaled[1])
    np.testing.assert_allclose(scaled[0], plain[0] * scale, rtol=1e-12)


def test_squares_beyond_floating_point_are_scaled():
    scan = EuclideanScan(np.array([[1e200], [-3e200], [0.0]]))
    far, found = scan.query(np.array([[2e200], [1e-200]]), 3)
    np.testing.assert_allclose(far, [[1e200, 2e200, 5e200], [0, 1e200, 3e200]], atol=1e-200)
    assert found.tolist() == [[0, 2, 1], [2, 0, 1]]
    assert EuclideanScan(np.zeros((3, 1))).query(np.array([[1e200]]), 1)[0] == [[1e200]]
    assert scan.radius(np.array([[2e200]]), 2.5e200)[1].tolist() == [0, 2]


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
def test_far_from_the_origin(offset):
    rng = np.random.default_rng(2)
    X, Q = rng.normal(size=(150, 6)) + offset, rng.normal(size=(9, 6)) + offset
    scan = ProductScan(X)
    found = scan.query(Q, 4)[1]
    assert np.array_equal(found, by_sorting(Q, X, 4)[1])
    assert scan.single


@pytest.mark.parametrize("away", [1e3, 1e6])
def test_queries_far_from_all_rows(away):
    rng = np.random.default_rng(8)
    X, Q = rng.normal(size=(150, 40)), rng.normal(size=(9, 40)) + away
    far, found = EuclideanScan(X).query(Q, 5)
    measured = np.sqrt(((Q[:, None] - X[found]) ** 2).sum(axis=2))
    np.testing.assert_allclose(far, measured, rtol=1e-14)
    np.testing.assert_allclose(far, by_sorting(Q, X, 5)[0], rtol=1e-14)


def test_two_tight_clusters_give_up_single_precision():
    rng = np.random.default_rng(3)
    X = np.repeat([[0.0, 0.0], [1e6, 1e6]], 100, axis=0) + 1e-3 * rng.normal(size=(200, 2))
    scan = ProductScan(X)
    found = scan.query(X, 3)[1]
    assert not scan.single
    assert np.array_equal(found, by_sorting(X, X, 3)[1])
    assert np.array_equal(scan.query(X, 3)[1], found)


def test_queries_in_another_precision():
    rng = np.random.default_rng(4)
    X, Q = rng.normal(size=(50, 3)), rng.normal(size=(6, 3))
    for one, other in ((np.float32, np.float64), (np.float64, np.float32)):
        expected = by_sorting(Q.astype(other), X.astype(one), 4)[1]
        assert np.array_equal(EuclideanScan(X.astype(one)).query(Q.astype(other), 4)[1], expected)


def test_sparse_rows_are_rows(small_blocks):
    rng = np.random.default_rng(5)
    X, Q = rng.poisson(0.4, (90, 12)).astype(float), rng.poisson(0.4, (13, 12)).astype(float)
    expected = EuclideanScan(X).query(Q, 6)
    inside = EuclideanScan(X).radius(Q, 2.0)
    for rows in (Q, sparse.csr_array(Q)):
        for table in (X, sparse.csr_array(X), sparse.csr_array(X.astype(np.float32))):
            scan = EuclideanScan(table)
            for got, wanted in zip(scan.query(rows, 6), expected):
                assert np.array_equal(got, wanted)
            for got, wanted in zip(scan.radius(rows, 2.0), inside):
                assert np.array_equal(got, wanted)


@pytest.mark.parametrize("most", [4, 1 << 15])
def test_sparse_rows_with_two_entries_in_one_place(most, monkeypatch):
    monkeypatch.setattr(brute, "MAX_COLUMNS", most)
    rng = np.random.default_rng(9)
    values, columns = rng.normal(size=(60, 4)), rng.integers(0, 7, (60, 4))
    X = sparse.csr_array((values.ravel(), columns.ravel(), np.arange(0, 241, 4)), shape=(60, 8))
    assert not X.has_canonical_format
    distances = cdist(X.toarray(), X.toarray())
    far, found = EuclideanScan(X).query(X, 5)
    expected = by_sorting(X.toarray(), X.toarray(), 5)
    assert np.array_equal(found, expected[1])
    np.testing.assert_allclose(far, expected[0], rtol=1e-12, atol=1e-300)
    indptr, found, far = EuclideanScan(X).radius(X, 2.0)
    who, which = np.nonzero(distances <= 2.0)
    assert np.array_equal(np.repeat(np.arange(60), np.diff(indptr)), who)
    assert np.array_equal(found, which)
    np.testing.assert_allclose(far, distances[who, which], rtol=1e-12, atol=1e-300)
    alone = [EuclideanScan(X).radius(X[[i]], 2.0)[2] for i in range(60)]
    assert np.array_equal(np.concatenate(alone), far)


def test_neighbours_of_each_query_in_order_of_distance():
    rng = np.random.default_rng(10)
    sizes = [0, 1, 15, 16, 17, 40, 130]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    far, found = rng.integers(0, 9, indptr[-1]).astype(float), np.arange(indptr[-1])
    order = np.lexsort((found, far, np.repeat(np.arange(len(sizes)), sizes)))
    expected = far[order], found[order]
    sort_segments(indptr, far, found)
    assert np.array_equal(far, expected[0])
    assert np.array_equal(found, expected[1])


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "minkowski", "cosine", "precomputed"])
def test_other_distances(metric, small_blocks):
    rng = np.random.default_rng(6)
    X, Q = rng.normal(size=(60, 4)), rng.normal(size=(11, 4))
    name = {"manhattan": "cityblock", "precomputed": "euclidean"}.get(metric, metric)
    more = {"p": 3} if metric == "minkowski" else {}
    D = cdist(Q, X, name, **more)
    index = NeighborIndex(cdist(X, X) if metric == "precomputed" else X, metric, algorithm="brute", **more)
    asked = D if metric == "precomputed" else Q
    far, found = index.query(asked, 5)
    expected = by_sorting(Q, X, 5, name, **more)
    assert np.array_equal(found, expected[1])
    np.testing.assert_allclose(far, expected[0], rtol=1e-9)
    radius = np.median(D)
    indptr, found, far = index.radius(asked, radius)
    who, which = np.nonzero(radius >= D)
    assert np.array_equal(np.repeat(np.arange(11), np.diff(indptr)), who)
    assert np.array_equal(found, which)
    np.testing.assert_allclose(far, D[who, which], rtol=1e-9)


def test_radius_takes_its_border_and_one_for_each_query(small_blocks):
    X = np.arange(40.0)[:, None]
    indptr, found, far = EuclideanScan(X).radius(np.array([[3.0], [39.0]]), np.array([2.0, 0.0]))
    assert indptr.tolist() == [0, 5, 6]
    assert found.tolist() == [1, 2, 3, 4, 5, 39]
    assert far.tolist() == [2, 1, 0, 1, 2, 0]


def test_radius_around_everything_makes_room():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(120, 2))
    found, far = EuclideanScan(X).radius(X, np.inf)[1:]
    assert np.array_equal(found, np.tile(np.arange(120), 120))
    np.testing.assert_allclose(far, cdist(X, X).ravel(), atol=1e-12)


def test_thousands_of_duplicates():
    X = np.zeros((3000, 5))
    X[2999] = 1
    far, found = EuclideanScan(X).query(X[:2], 7)
    assert np.array_equal(found, np.tile(np.arange(7), (2, 1)))
    assert not far.any()


@pytest.mark.parametrize("k", [0, 4])
def test_k_is_from_1_to_n(k):
    for scan in (EuclideanScan(np.zeros((3, 1))), Scan(np.zeros((3, 1)), cdist)):
        with pytest.raises(ValueError, match=rf"k={k} neighbours of n=3 rows"):
            scan.query(np.zeros((1, 1)), k)


def test_sparse_rows_with_wide_indices():
    """scikit-learn's sparse Manhattan distances take indices of 32 bits only."""
    X = np.random.default_rng(0).random((12, 3)).round() * np.arange(1, 4)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    model = NearestNeighbors(n_neighbors=3, p=1).fit(wide)
    expected = NearestNeighbors(n_neighbors=3, p=1).fit(X).kneighbors(X)[0]
    np.testing.assert_allclose(model.kneighbors(wide)[0], expected)


def test_haversine_of_three_columns_is_refused():
    with pytest.raises(ValueError, match="latitude and longitude; X has 3 columns"):
        NearestNeighbors(metric="haversine", algorithm="brute").fit(np.ones((6, 3))).kneighbors()

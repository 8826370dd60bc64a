"""The ball tree against all distances, for every kind of metric."""

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn import neighbors as peer
from sklearn.metrics import DistanceMetric

from tercet.neighbors import BallTree, KDTree, NearestNeighbors

RNG = np.random.default_rng(0)
X, Q = RNG.normal(size=(200, 4)), RNG.normal(size=(30, 4))
SHAPE = np.cov(X.T)
METRICS = [
    ("euclidean", {}),
    ("manhattan", {}),
    ("chebyshev", {}),
    ("minkowski", {"p": 3}),
    ("minkowski", {"p": 3, "w": np.array([1.0, 0.0, 2.0, 0.5])}),
    ("seuclidean", {"V": SHAPE.diagonal().copy()}),
    ("mahalanobis", {"V": SHAPE}),
    ("canberra", {}),
    ("braycurtis", {}),
]
BOOLEAN = ["hamming", "jaccard", "dice", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath"]


def nearest(D, k):
    """The k smallest of each row, of equals the first."""
    D = D.round(12)
    return np.lexsort((np.broadcast_to(np.arange(D.shape[1]), D.shape), D), axis=1)[:, :k]


def peer_distances(A, B, metric, params):
    return DistanceMetric.get_metric(metric, **params).pairwise(A, B)


@pytest.mark.parametrize(("metric", "params"), METRICS)
@pytest.mark.parametrize("leaf_size", [1, 40])
def test_neighbours_are_those_of_all_distances(metric, params, leaf_size):
    D = peer_distances(Q, X, metric, params)
    tree = BallTree(X, leaf_size, metric, **params)
    far, near = tree.query(Q, 5)
    np.testing.assert_allclose(far, np.sort(D, axis=1)[:, :5], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(near, nearest(D, 5))
    reach = np.quantile(D, 0.1, axis=1) * (1 + 1e-9)
    np.testing.assert_array_equal(
        tree.query_radius(Q, reach, count_only=True), (reach[:, None] >= D).sum(axis=1)
    )
    found, apart = tree.query_radius(Q, reach, return_distance=True, sort_results=True)
    for i in range(len(Q)):
        assert set(found[i]) == set(np.flatnonzero(D[i] <= reach[i]))
        np.testing.assert_allclose(apart[i], np.sort(D[i][found[i]]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("metric", BOOLEAN)
def test_truth_values(metric):
    A, B = (RNG.random((60, 8)) < 0.4), (RNG.random((15, 8)) < 0.4)
    A[:, 0] = B[:, 0] = True  # without a true value the peer divides zero by zero
    D = peer_distances(B, A, metric, {})
    far, near = BallTree(A, 3, metric).query(B, 4)
    np.testing.assert_allclose(far, np.sort(D, axis=1)[:, :4], atol=1e-12)
    np.testing.assert_array_equal(near, nearest(D, 4))


def test_haversine_takes_two_columns_in_radians():
    A = np.column_stack([RNG.uniform(-np.pi / 2, np.pi / 2, 150), RNG.uniform(-np.pi, np.pi, 150)])
    A[1] = -A[0, 0], A[0, 1] + np.pi  # the opposite point
    far, near = BallTree(A, 5, "haversine").query(A, 6)
    theirs = peer.BallTree(A, metric="haversine").query(A, 6)
    np.testing.assert_allclose(far, theirs[0], atol=1e-12)
    np.testing.assert_array_equal(near, theirs[1])
    assert BallTree(A, 5, "haversine").query(A[:1], 150)[0].max() == pytest.approx(np.pi)
    with pytest.raises(ValueError, match="only valid in 2 dimensions"):
        BallTree(X, metric="haversine")


def test_a_function_of_two_rows():
    def apart(x, z, power=2):
        return float((np.abs(x - z) ** power).sum() ** (1 / power))

    D = cdist(Q, X, "cityblock")
    for tree in (BallTree(X, 5, apart, power=1), BallTree(X, 5, "pyfunc", func=lambda x, z: apart(x, z, 1))):
        np.testing.assert_array_equal(tree.query(Q, 3)[1], nearest(D, 3))
    np.testing.assert_allclose(
        BallTree(X, 5, DistanceMetric.get_metric("manhattan")).query(Q, 1)[0][:, 0], D.min(1)
    )
    with pytest.raises(
        TypeError, match="Custom distance function must accept two vectors and return a float"
    ):
        BallTree(X, metric=lambda x, z: "1")
    with pytest.raises(ValueError, match="NaN"):
        BallTree(X, 5, lambda x, z: np.nan)


@pytest.mark.parametrize("kind", [BallTree, KDTree])
@pytest.mark.parametrize("kernel", ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"])
def test_kernel_density(kind, kernel):
    u = cdist(Q, X) / 0.7
    inside = np.where(u < 1, u, 1.0)
    sums = {
        "gaussian": np.exp(-(u**2) / 2),
        "tophat": u < 1,
        "epanechnikov": 1 - inside**2,
        "exponential": np.exp(-u),
        "linear": 1 - inside,
        "cosine": np.cos(np.pi / 2 * inside),
    }[kernel].sum(axis=1)
    unit = kind(X[:1]).kernel_density(X[:1], 0.7, kernel)[0]  # one row, at its own place
    if kernel != "cosine":  # which the peer has as NaN in four dimensions
        assert unit == pytest.approx(peer.KDTree(X[:1]).kernel_density(X[:1], 0.7, kernel)[0])
    tree = kind(X, 10)
    np.testing.assert_allclose(
        tree.kernel_density(Q, 0.7, kernel, rtol=1e-10), unit * sums, rtol=1e-8, atol=1e-12
    )
    rough = tree.kernel_density(Q, 0.7, kernel, atol=0.01, rtol=0)
    assert np.abs(rough - unit * sums).max() < 0.01


def test_log_densities_far_away_do_not_underflow():
    found = BallTree(X, 10).kernel_density([[1e3, 0, 0, 0]], 0.1, return_log=True)
    d = cdist([[1e3, 0, 0, 0]], X)[0] / 0.1
    expected = -0.5 * d.min() ** 2 + np.log(np.exp(-0.5 * (d**2 - d.min() ** 2)).sum())
    np.testing.assert_allclose(found, expected - 2 * np.log(2 * np.pi) - 4 * np.log(0.1), rtol=1e-10)
    with pytest.raises(ValueError, match="not recognized"):
        BallTree(X).kernel_density(X, 1.0, "box")


@pytest.mark.parametrize("kind", [BallTree, KDTree])
def test_counts_of_pairs(kind):
    D, r = cdist(Q, X), np.linspace(0, 3, 7)
    assert kind(X, 10).two_point_correlation(Q, r, dualtree=True).tolist() == [(x >= D).sum() for x in r]


def test_bits_do_not_depend_on_threads_and_pickles_keep_them():
    A, B = RNG.normal(size=(2000, 20)), RNG.normal(size=(600, 20))
    one, two = BallTree(A, metric="manhattan"), BallTree(A, metric="manhattan", n_jobs=2)
    loaded = pickle.loads(pickle.dumps(one, protocol=0))
    for other in (two, loaded):
        for ours, theirs in zip(one.query(B, 30), other.query(B, 30)):
            np.testing.assert_array_equal(ours, theirs)


def test_arrays_of_the_tree():
    data, order, nodes, centres = BallTree(X, 20).get_arrays()
    assert sorted(order) == list(range(len(X)))
    assert centres.shape == (1, len(nodes), 4)
    assert nodes[0]["idx_end"] == len(X)
    for node, centre in zip(nodes, centres[0]):
        rows = data[order[node["idx_start"] : node["idx_end"]]]
        assert np.sqrt(((rows - centre) ** 2).sum(axis=1)).max() <= node["radius"] * (1 + 1e-12)
        assert len(rows) <= 20 or not node["is_leaf"]


@pytest.mark.parametrize(
    "metric", ["euclidean", "canberra", "haversine", "mahalanobis", lambda x, z: abs(x - z).sum()]
)
def test_the_estimators_search_by_it(metric):
    A, B = (X[:, :2], Q[:, :2]) if metric == "haversine" else (X, Q)
    metric = (lambda x, z: np.abs(x - z).sum()) if metric == "function" else metric
    model = NearestNeighbors(algorithm="ball_tree", metric=metric).fit(A)
    assert model._fit_method == "ball_tree"
    brute = NearestNeighbors(algorithm="brute", metric=metric).fit(A)
    np.testing.assert_allclose(model.kneighbors(B)[0], brute.kneighbors(B)[0], atol=1e-12)
    given = NearestNeighbors(metric="manhattan").fit(BallTree(A, metric="manhattan"))
    assert given._fit_method == "ball_tree"
    weighted = NearestNeighbors().fit(BallTree(A, metric="minkowski", w=np.arange(1.0, 1 + A.shape[1])))
    np.testing.assert_array_equal(weighted.kneighbors(B)[1], NearestNeighbors().fit(A).kneighbors(B)[1])


@pytest.mark.parametrize("scale", [1e-170, 1e-290, 1e170])
@pytest.mark.parametrize("algorithm", ["brute", "kd_tree", "ball_tree"])
def test_squares_that_underflow_or_overflow(scale, algorithm):
    A, B = RNG.normal(size=(80, 3)), RNG.normal(size=(20, 3))
    far, near = NearestNeighbors(algorithm=algorithm).fit(A).kneighbors(B)
    tiny = np.ldexp(1.0, int(np.log2(scale)))
    model = NearestNeighbors(algorithm=algorithm).fit(A * tiny)
    scaled, found = model.kneighbors(B * tiny)
    np.testing.assert_array_equal(found, near)
    np.testing.assert_allclose(scaled / tiny, far, rtol=1e-12)
    reach = float(np.median(far[:, 3]))
    many = [len(x) for x in model.radius_neighbors(B * tiny, reach * tiny)[1]]
    assert sum(many) == sum((cdist(B, A) <= reach).sum(axis=1))


@pytest.mark.parametrize("kind", [BallTree, KDTree])
def test_wrong_queries(kind):
    tree = kind(X)
    with pytest.raises(ValueError, match="k must be less than or equal to the number of training points"):
        tree.query(Q, 201)
    with pytest.raises(ValueError, match="query data dimension must match training data dimension"):
        tree.query(Q[:, :2])
    with pytest.raises(ValueError, match="cannot both be true"):
        tree.query_radius(Q, 1, return_distance=True, count_only=True)
    with pytest.raises(ValueError, match="return_distance must be True"):
        tree.query_radius(Q, 1, sort_results=True)
    with pytest.raises(ValueError, match="metric must be one of"):
        kind(X, metric="cosine")
    assert set(kind.valid_metrics) == set(getattr(peer, kind.__name__).valid_metrics)

"""NearestNeighbors: the answers of scikit-learn's, by any algorithm."""

import pickle

import numpy as np
import pytest
import sklearn.neighbors as peer
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import DistanceMetric

from tercet.neighbors import KDTree, KNeighborsClassifier, NearestNeighbors
from tercet.neighbors._engine.search import NeighborIndex

ALGORITHMS = ["auto", "ball_tree", "kd_tree", "brute"]
RNG = np.random.default_rng(0)
X, Q = RNG.normal(size=(120, 3)), RNG.normal(size=(23, 3))


def same_neighbours(ours, theirs, *data, radius=0.8):
    far, found = ours.kneighbors(*data)
    wanted = theirs.kneighbors(*data)
    np.testing.assert_allclose(far, wanted[0], rtol=1e-9, atol=1e-9)
    assert np.array_equal(found, wanted[1])
    for mode in ("distance", "connectivity"):
        one = ours.radius_neighbors_graph(*data, radius=radius, mode=mode)
        other = theirs.radius_neighbors_graph(*data, radius=radius, mode=mode)
        assert type(one) is type(other)
        np.testing.assert_allclose(one.toarray(), other.toarray(), rtol=1e-9, atol=1e-9)
        graphs = [
            model.kneighbors_graph(*data, n_neighbors=3, mode=mode).toarray() for model in (ours, theirs)
        ]
        np.testing.assert_allclose(*graphs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("p", [1, 1.5, 2, 7, np.inf])
def test_every_algorithm_agrees_with_the_peer(algorithm, p):
    ours = NearestNeighbors(algorithm=algorithm, p=p, leaf_size=4).fit(X)
    theirs = peer.NearestNeighbors(p=p).fit(X)
    same_neighbours(ours, theirs, Q)
    same_neighbours(ours, theirs)
    assert ours.effective_metric_ == theirs.effective_metric_
    assert ours.effective_metric_params_ == theirs.effective_metric_params_


S = np.cov(X.T)
METRICS = [
    ("mahalanobis", {"VI": np.linalg.inv(S)}),
    ("seuclidean", {"V": X.var(axis=0)}),
    ("minkowski", {"w": np.array([1.0, 2.0, 0.5])}),
    ("minkowski", {"w": np.array([1.0, 0.0, 0.5]), "p": 3}),
    ("sqeuclidean", None),
    ("cosine", None),
    ("correlation", None),
    ("canberra", None),
    ("braycurtis", None),
    ("nan_euclidean", None),
    (lambda a, b: np.abs(a - b).max() + 1, None),
    (DistanceMetric.get_metric("manhattan"), None),
]


@pytest.mark.filterwarnings("ignore:Parameter p is found")
@pytest.mark.parametrize(("metric", "params"), METRICS)
def test_every_metric_agrees_with_the_peer(metric, params):
    settings = {"metric": metric, "metric_params": params, "n_neighbors": 4}
    if isinstance(metric, DistanceMetric):
        ours, theirs = KNeighborsClassifier(4, metric=metric), peer.KNeighborsRegressor(4, metric=metric)
        for model in (ours, theirs):
            model.fit(X, np.zeros(len(X)))
        assert np.array_equal(ours.kneighbors(Q)[1], theirs.kneighbors(Q)[1])
        return
    ours = NearestNeighbors(**settings).fit(X)
    same_neighbours(ours, peer.NearestNeighbors(**settings, algorithm="brute").fit(X), Q)


@pytest.mark.parametrize("metric", ["dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"])
def test_metrics_of_truth_values(metric):
    A, B = (RNG.random((40, 9)) < 0.4).astype(float), (RNG.random((8, 9)) < 0.4).astype(float)
    theirs = peer.NearestNeighbors(metric=metric, algorithm="brute").fit(A.astype(bool))
    far = NearestNeighbors(metric=metric).fit(A).kneighbors(B)[0]
    np.testing.assert_allclose(far, theirs.kneighbors(B.astype(bool))[0], atol=1e-12)


def test_haversine_and_sokalmichener():
    A, B = RNG.random((30, 2)), RNG.random((4, 2))
    for metric in ("haversine", "sokalmichener"):
        ours = NearestNeighbors(metric=metric).fit(A).kneighbors(B)[0]
        theirs = peer.NearestNeighbors(metric=metric, algorithm="ball_tree").fit(A).kneighbors(B)[0]
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_default_mahalanobis_takes_the_covariance_of_the_rows():
    given = NearestNeighbors(metric="mahalanobis", metric_params={"V": S}).fit(X)
    assert np.array_equal(
        NearestNeighbors(metric="mahalanobis").fit(X).kneighbors(Q)[1], given.kneighbors(Q)[1]
    )


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_sparse(metric):
    A = sparse.random(80, 25, density=0.2, format="csr", random_state=0)
    B = sparse.random(9, 25, density=0.3, format="csr", random_state=1)
    ours, theirs = NearestNeighbors(metric=metric).fit(A), peer.NearestNeighbors(metric=metric).fit(A)
    np.testing.assert_allclose(ours.kneighbors(B)[0], theirs.kneighbors(B)[0], atol=1e-12)
    with pytest.warns(UserWarning, match="cannot use tree with sparse input"):
        NearestNeighbors(algorithm="kd_tree").fit(A)
    with pytest.raises(ValueError, match="Metric 'canberra' not valid for sparse input"):
        NearestNeighbors(metric="canberra").fit(A)


def test_precomputed_dense_and_graph():
    D, E = cdist(X, X), cdist(Q, X)
    plain = NearestNeighbors().fit(X)
    given = NearestNeighbors(metric="precomputed").fit(D)
    assert np.array_equal(given.kneighbors(E)[1], plain.kneighbors(Q)[1])
    assert np.array_equal(given.kneighbors()[1], plain.kneighbors()[1])
    near = plain.kneighbors_graph(X, 12, mode="distance")
    few = plain.kneighbors_graph(Q, 12, mode="distance")
    graph = NearestNeighbors(metric="precomputed").fit(near)
    assert np.array_equal(graph.kneighbors(few)[1], plain.kneighbors(Q)[1])
    assert graph.radius_neighbors_graph(few, 0.4).nnz == plain.radius_neighbors_graph(Q, 0.4).nnz
    with pytest.raises(ValueError, match="20 neighbors per samples are required"):
        graph.kneighbors(few, 20)
    with pytest.raises(ValueError, match="is not square"):
        NearestNeighbors(metric="precomputed").fit(E)
    with pytest.raises(ValueError, match="Negative values"):
        NearestNeighbors(metric="precomputed").fit(-D)


def test_a_row_is_not_its_own_neighbour_even_among_many_equals():
    found = NearestNeighbors(n_neighbors=3).fit(np.zeros((50, 2))).kneighbors(return_distance=False)
    assert found[0].tolist() == [1, 2, 3]
    assert found[2].tolist() == [0, 1, 3]
    assert found[40].tolist() == [1, 2, 3]


def test_sorted_radius_neighbours():
    far, found = NearestNeighbors().fit(X).radius_neighbors(Q, 1.0, sort_results=True)
    assert all((np.diff(d) >= 0).all() for d in far)
    assert sum(map(len, found)) == sum(map(len, peer.NearestNeighbors().fit(X).radius_neighbors(Q, 1.0)[1]))
    with pytest.raises(ValueError, match="return_distance must be True"):
        NearestNeighbors().fit(X).radius_neighbors(Q, sort_results=True, return_distance=False)


def test_fit_on_a_tree_and_on_another_estimator():
    plain = NearestNeighbors().fit(X)
    for source in (KDTree(X), plain):
        again = NearestNeighbors().fit(source)
        assert np.array_equal(again.kneighbors(Q)[1], plain.kneighbors(Q)[1])
        assert again.n_features_in_ == 3
    tree = KDTree(X)
    assert NearestNeighbors().fit(tree)._index.engine is tree._tree
    other = NearestNeighbors(p=1).fit(tree)  # a tree with another distance lends its rows only
    assert np.array_equal(other.kneighbors(Q)[0], NearestNeighbors(p=1).fit(X).kneighbors(Q)[0])
    model = KNeighborsClassifier().fit(tree, X[:, 0] > 0)
    assert np.array_equal(model.predict(Q), KNeighborsClassifier().fit(X, X[:, 0] > 0).predict(Q))


def test_automatic_choice():
    tall, wide = RNG.normal(size=(1500, 2)), RNG.normal(size=(1500, 40))
    assert NeighborIndex(tall).method == "kd_tree"
    assert NeighborIndex(tall, "mahalanobis").method == "kd_tree"
    assert NeighborIndex(tall, k=1000).method == "brute"
    assert NeighborIndex(tall[:100]).method == "brute"
    assert NeighborIndex(wide).method == "brute"
    assert NeighborIndex(tall, "cosine").method == "brute"
    assert NearestNeighbors().fit(tall)._fit_method == "kd_tree"


def test_models_keep_rows_only():
    model = NearestNeighbors(algorithm="kd_tree").fit(X)
    assert "_index" not in model.__getstate__()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.kneighbors(Q)[0], model.kneighbors(Q)[0])
    again._fit_X = again._fit_X[:, :2]
    with pytest.raises(ValueError, match="_fit_X has the shape"):
        again.kneighbors(Q)


def test_bad_input_is_named():
    model = NearestNeighbors().fit(X)
    with pytest.raises(
        ValueError, match=r"Expected n_neighbors <= n_samples_fit, but n_neighbors = 121, n_samples_fit = 120"
    ):
        model.kneighbors(Q, 121)
    with pytest.raises(ValueError, match=r"Expected n_neighbors < n_samples_fit, but n_neighbors = 120"):
        model.kneighbors(n_neighbors=120)
    with pytest.raises(ValueError, match=r"Expected n_neighbors > 0\. Got 0"):
        model.kneighbors(Q, 0)
    with pytest.raises(TypeError, match="n_neighbors does not take"):
        model.kneighbors(Q, 2.0)
    with pytest.raises(ValueError, match="Unsupported mode"):
        model.kneighbors_graph(Q, mode="length")
    with pytest.raises(ValueError, match="needs complete rows"):
        NearestNeighbors().fit([[0.0, np.nan], [1.0, 2.0]])
    with pytest.raises(ValueError, match="parameter 'p' must be"):
        NearestNeighbors(p=0).fit(X)
    with pytest.raises(ValueError, match="p must be"):
        NearestNeighbors(metric_params={"p": -0.5}, p=None).fit(X)
    with pytest.raises(ValueError, match="column 1 has 0"):
        NearestNeighbors(metric="seuclidean").fit([[0, 1], [1, 1], [2, 1]])
    with pytest.raises(ValueError, match="positive definite"):
        NearestNeighbors(metric="mahalanobis").fit([[0, 1], [1, 1], [2, 1]])
    with pytest.raises(ValueError, match="cannot use metric='cosine'"):
        NearestNeighbors(metric="cosine", algorithm="kd_tree").fit(X)
    with pytest.raises(ValueError, match="cannot use a callable metric"):
        NearestNeighbors(metric=lambda a, b: 0.0, algorithm="kd_tree").fit(X)


def test_missing_values_with_their_own_metric():
    A = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    ours = NearestNeighbors(metric="nan_euclidean").fit(A)
    theirs = peer.NearestNeighbors(metric="nan_euclidean").fit(A)
    far = ours.kneighbors(A[:9])[0]
    assert not far[
        :, 0
    ].any()  # the rows themselves, to which the peer has distances that are roots of roundings
    np.testing.assert_allclose(far[:, 1:], theirs.kneighbors(A[:9])[0][:, 1:])


def test_single_row():
    assert NearestNeighbors(n_neighbors=1).fit([[1.0, 2.0]]).kneighbors([[1.0, 3.0]])[0].tolist() == [[1.0]]


def test_rows_with_nothing_in_common_are_the_farthest():
    gaps = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, 4.0]])
    far, found = NearestNeighbors(n_neighbors=3, metric="nan_euclidean").fit(gaps).kneighbors(gaps[:1])
    assert found.tolist() == [[0, 2, 1]]
    assert far[0, 2] == np.inf
    assert KNeighborsClassifier(3, metric="nan_euclidean").fit(gaps, [0, 1, 1]).predict(gaps[:1]) == [1]


@pytest.mark.parametrize("metric", ["dice", "jaccard", "sokalsneath"])
def test_rows_without_anything_true_are_alike(metric):
    rows = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    far, found = NearestNeighbors(n_neighbors=4, metric=metric).fit(rows).kneighbors(rows[1:2])
    assert found.tolist() == [[1, 3, 0, 2]]
    assert far.tolist() == [[0, 0, 1, 1]]


def test_a_distance_that_is_no_number_is_an_error():
    model = NearestNeighbors(n_neighbors=1, metric=lambda a, b: np.nan if b[0] == 2 else 0.0)
    with pytest.raises(ValueError, match="NaN for the distance of a query from row 2"):
        model.fit(np.arange(4.0)[:, None]).kneighbors([[0.0]])


@pytest.mark.parametrize(
    ("metric", "params", "message"),
    [
        ("minkowski", {"weight": [1, 2, 3]}, "'weight', but metric='minkowski' takes only 'p', 'w'"),
        ("manhattan", {"V": np.eye(3)}, "'V', but metric='manhattan' takes only 'w'"),
        ("cosine", {"w": np.ones(3)}, "'w', but metric='cosine' takes nothing"),
    ],
)
def test_what_a_metric_does_not_take_is_named(metric, params, message):
    with pytest.raises(ValueError, match=message):
        NearestNeighbors(metric=metric, metric_params=params).fit(X)


@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_a_radius_is_a_number_that_is_not_negative(algorithm):
    model = NearestNeighbors(radius=None, algorithm=algorithm).fit(X)
    with pytest.raises(ValueError, match="radius is None"):
        model.radius_neighbors(Q)
    for wrong in (-1.0, np.nan):
        with pytest.raises(ValueError, match="must not be negative"):
            model.radius_neighbors(Q, radius=wrong)
    with pytest.raises(ValueError, match=r"one for each query; got the shape \(2,\)"):
        model.radius_neighbors(Q, radius=[1.0, 2.0])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", lambda a, b: np.abs(a - b).sum()])
@pytest.mark.parametrize("algorithm", ["brute", "ball_tree"])
def test_sparse_queries_of_full_rows(metric, algorithm):
    model = NearestNeighbors(metric=metric, algorithm=algorithm).fit(X)
    assert np.array_equal(model.kneighbors(sparse.csr_array(Q))[1], model.kneighbors(Q)[1])


def test_distances_that_are_given_may_be_all_or_some():
    D, near = cdist(X, X), peer.NearestNeighbors(n_neighbors=9).fit(X).kneighbors_graph(X, mode="distance")
    expected = NearestNeighbors().fit(X).kneighbors(X)[1]
    for rows in (D, near):
        model = NearestNeighbors(metric="precomputed").fit(rows)
        assert np.array_equal(model.kneighbors(D)[1], expected)
        assert np.array_equal(model.kneighbors(near)[1], expected)


@pytest.mark.parametrize("part", ["indices", "indptr"])
def test_a_forged_sparse_table_is_refused(part):
    model = pickle.loads(pickle.dumps(KNeighborsClassifier().fit(sparse.csr_array(X), np.arange(120) % 2)))
    getattr(model._fit_X, part)[1:-1] = 10**8
    with pytest.raises(ValueError, match=part):
        model.predict(sparse.csr_array(Q))


@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
@pytest.mark.parametrize("scale", [1e-20, 1e6])
def test_high_powers_neither_vanish_nor_overflow(algorithm, scale):
    rows = scale * np.array([[1.0, 1.0], [2.0, 2.0], [5.0, 5.0]])
    far, found = (
        NearestNeighbors(n_neighbors=3, p=90, algorithm=algorithm).fit(rows).kneighbors([[4 * scale] * 2])
    )
    assert found.tolist() == [[2, 1, 0]]
    np.testing.assert_allclose(far, scale * 2 ** (1 / 90) * np.array([[1.0, 2.0, 3.0]]), rtol=1e-12)


def test_an_error_in_one_thread_stops_the_others():
    calls = []

    def fails(a, b):
        calls.append(1)
        raise ArithmeticError("no distance")

    model = NearestNeighbors(metric=fails, n_jobs=4).fit(np.zeros((600, 1)))
    with pytest.raises(ArithmeticError, match="no distance"):
        model.kneighbors(np.zeros((2000, 1)))
    assert len(calls) <= 4


@pytest.mark.parametrize("metric", ["cosine", "correlation", "cityblock", "euclidean"])
def test_single_rows_are_measured_in_double_precision(metric):
    rows = X.astype(np.float32)
    far, _ = NearestNeighbors(metric=metric).fit(rows).kneighbors(rows)
    wanted = np.sort(cdist(rows.astype(float), rows.astype(float), metric))[:, :5]
    np.testing.assert_allclose(far, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("algorithm", ["auto", "brute"])
@pytest.mark.parametrize(("metric", "scale"), [("sqeuclidean", 1e160), ("manhattan", 1e307)])
def test_infinite_distances_are_refused(algorithm, metric, scale):
    X = np.random.default_rng(0).standard_normal((30, 20)) * scale
    model = NearestNeighbors(n_neighbors=4, algorithm=algorithm, metric=metric).fit(X)
    with pytest.raises(ValueError, match="Scale the features"):
        model.kneighbors()

"""k-medoids: no swap helps at the end, any metric, the best medoids of small tables."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from tercet.cluster import KMedoids
from tercet.cluster._engine.medoid_swaps import MedoidState

ALGORITHMS = ["fasterpam", "pam", "alternate"]


def blobs(n=60, d=2, k=4, seed=0):
    return make_blobs(n, d, centers=k, cluster_std=1.5, random_state=seed)[0]


def loss(D, medoids, weight=None):
    return float(D[:, medoids].min(axis=1) @ (np.ones(len(D)) if weight is None else weight))


@pytest.mark.parametrize("algorithm", ["fasterpam", "pam"])
@pytest.mark.parametrize("init", ["build", "k-medoids++", "random"])
@pytest.mark.parametrize("weighted", [False, True])
def test_no_swap_helps_at_the_end(algorithm, init, weighted):
    X = blobs(40)
    weight = np.random.default_rng(0).integers(0, 3, size=40).astype(float) if weighted else None
    D = cdist(X, X)
    model = KMedoids(4, algorithm=algorithm, init=init, random_state=0).fit(X, sample_weight=weight)
    assert (np.diff(model.history_["inertia"]) <= 0).all()
    assert model.history_["swaps"][-1] == 0
    medoids = model.medoid_indices_
    np.testing.assert_allclose(model.inertia_, loss(D, medoids, weight), rtol=1e-12)
    allowed = np.arange(40) if weight is None else np.flatnonzero(weight)
    assert np.isin(medoids, allowed).all()
    for place, candidate in itertools.product(range(4), allowed):
        if candidate not in medoids:
            swapped = medoids.copy()
            swapped[place] = candidate
            assert loss(D, swapped, weight) >= model.inertia_ * (1 - 1e-9)
    np.testing.assert_array_equal(model.cluster_centers_, X[medoids])
    np.testing.assert_array_equal(model.labels_, D[:, medoids].argmin(axis=1))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.transform(X), D[:, medoids])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_near_the_best_of_all_choices(algorithm):
    X = blobs(12, k=3)
    D = cdist(X, X, "cityblock")
    best = min(loss(D, list(some)) for some in itertools.combinations(range(12), 3))
    model = KMedoids(3, metric="manhattan", algorithm=algorithm).fit(X)
    assert best * (1 - 1e-12) <= model.inertia_ <= best * 1.1
    one = KMedoids(1, metric="manhattan", algorithm=algorithm).fit(X)
    assert one.medoid_indices_[0] == D.sum(axis=1).argmin()


def test_nearest_and_second_are_kept_right_through_swaps():
    D = cdist(blobs(50), blobs(50))
    state = MedoidState(D, np.ones(50), np.arange(50), np.array([0, 1, 2, 3, 4]))
    assert state.eager_pass() > 0
    fresh = MedoidState(D, np.ones(50), np.arange(50), state.medoids)
    np.testing.assert_array_equal(state.d_nearest, fresh.d_nearest)
    np.testing.assert_array_equal(state.d_second, fresh.d_second)
    np.testing.assert_allclose(state.loss, fresh.loss)


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("chebyshev", None),
        ("cosine", None),
        ("minkowski", {"p": 3}),
        ("canberra", None),
        ("mahalanobis", None),
    ],
)
def test_any_metric_gives_what_its_distances_give(metric, params):
    X = blobs(30) + 30
    inverse = {"VI": np.linalg.inv(np.cov(X.T))} if metric == "mahalanobis" else {}
    D = cdist(X, X, metric, **(params or inverse))
    model = KMedoids(3, metric=metric, metric_params=params).fit(X)
    np.testing.assert_allclose(model.inertia_, loss(D, model.medoid_indices_), rtol=1e-7)
    np.testing.assert_allclose(model.transform(X), D[:, model.medoid_indices_], rtol=1e-7, atol=1e-7)
    given = KMedoids(3, metric="precomputed", init=model.medoid_indices_).fit(D)
    np.testing.assert_array_equal(given.medoid_indices_, model.medoid_indices_)
    assert given.cluster_centers_ is None
    np.testing.assert_array_equal(given.predict(D[:5]), given.labels_[:5])
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    function = KMedoids(3, metric=lambda a, b: float(np.abs(a - b).sum())).fit(X)
    np.testing.assert_allclose(function.inertia_, KMedoids(3, metric="manhattan").fit(X).inertia_)


def test_sparse_rows_and_shuffled_rows():
    X = blobs(40).round(1)
    X[X < 0] = 0
    dense = KMedoids(3).fit(X)
    np.testing.assert_allclose(KMedoids(3).fit(sparse.csr_array(X)).inertia_, dense.inertia_, rtol=1e-6)
    order = np.random.default_rng(0).permutation(40)
    shuffled = KMedoids(3).fit(X[order])
    np.testing.assert_array_equal(order[shuffled.medoid_indices_], dense.medoid_indices_)


def test_bad_input():
    X = blobs(10)
    with pytest.raises(ValueError, match="n_clusters=11 needs as many rows"):
        KMedoids(11).fit(X)
    with pytest.raises(ValueError, match="parameter 'metric' must be one of"):
        KMedoids(2, metric="nonsense").fit(X)
    with pytest.raises(ValueError, match=r"init must be 2 different row numbers from 0 to 9.*got \[3, 3\]"):
        KMedoids(2, init=[3, 3]).fit(X)
    with pytest.raises(ValueError, match="symmetric"):
        KMedoids(2, metric="precomputed").fit(np.triu(np.ones((4, 4)), 1))
    with pytest.raises(ValueError, match="square"):
        KMedoids(2, metric="precomputed").fit(np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"metric='correlation' is not defined for row 2"):
        KMedoids(2, metric="correlation").fit(np.vstack([X[:2], np.ones((1, 2)), X[2:]]))
    with pytest.warns(ConvergenceWarning, match="distinct clusters .1. found"):
        same = KMedoids(3).fit(np.ones((6, 1)))
    assert same.inertia_ == 0
    plain = KMedoids(3).fit(X)
    for scale in (2.0**-1000, 2.0**1000):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scaled = KMedoids(3).fit(X * scale)
            np.testing.assert_array_equal(scaled.predict(X * scale), plain.labels_)
        np.testing.assert_array_equal(scaled.medoid_indices_, plain.medoid_indices_)
    with pytest.warns(ConvergenceWarning, match="KMedoids did not converge in 1 passes"):
        assert KMedoids(2, init=[4, 7], max_iter=1).fit(X).labels_.shape == (10,)

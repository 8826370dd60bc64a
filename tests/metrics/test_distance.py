"""Distances: the texts' numbers are examples; here are the properties, the peers and the bad input."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial import distance as peer
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances as by_scikit_learn

from tercet.metrics.distance import (
    METRICS,
    MinkovDM,
    chebyshev,
    correlation,
    cosine,
    euclidean,
    mahalanobis,
    manhattan,
    minkowski,
    pairwise_distances,
    squared_euclidean,
    vdm,
)

PEERS = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock", "infinity": "chebyshev"}
vectors = st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 4)), rng.normal(size=(20, 4))


@pytest.mark.parametrize("metric", [name for name in METRICS if name != "absolute_correlation"])
def test_pairwise_agrees_with_scipy(metric, rows):
    X, Z = rows
    options = {"p": 3} if metric == "minkowski" else {}
    if metric == "mahalanobis":
        ours = pairwise_distances(X, Z, metric, S=np.cov(X.T))
        options = {"VI": np.linalg.inv(np.cov(X.T))}
    else:
        ours = pairwise_distances(X, Z, metric, **options)
    np.testing.assert_allclose(ours, peer.cdist(X, Z, PEERS.get(metric, metric), **options), atol=1e-12)


def test_pairs_of_vectors_agree_with_scipy(rows):
    x, z = rows[0][0], rows[1][0]
    w = np.array([0.1, 0.2, 0.3, 0.4])
    assert minkowski(x, z, 3, w) == pytest.approx(peer.minkowski(x, z, 3, w))
    assert euclidean(x, z, w) == pytest.approx(peer.euclidean(x, z, w))
    assert manhattan(x, z, w) == pytest.approx(peer.cityblock(x, z, w))
    assert chebyshev(x, z) == pytest.approx(peer.chebyshev(x, z))
    assert squared_euclidean(x, z) == pytest.approx(peer.sqeuclidean(x, z))
    assert cosine(x, z) == pytest.approx(peer.cosine(x, z))
    assert correlation(x, z) == pytest.approx(peer.correlation(x, z))
    S = np.cov(rows[0].T)
    assert mahalanobis(x, z, S=S) == pytest.approx(peer.mahalanobis(x, z, np.linalg.inv(S)))
    assert mahalanobis(x, z, M=np.eye(4)) == pytest.approx(euclidean(x, z))


def test_vectors_broadcast(rows):
    X, Z = rows
    np.testing.assert_allclose(minkowski(X[:, None], Z, 2), pairwise_distances(X, Z), rtol=1e-12)


@given(vectors, vectors, vectors, st.sampled_from([1, 1.5, 2, 3, np.inf]))
@settings(deadline=None, derandomize=True)
def test_lp_is_a_metric(x, y, z, p):
    assert minkowski(x, y, p) == minkowski(y, x, p)
    assert minkowski(x, x, p) == 0
    assert minkowski(x, z, p) <= (minkowski(x, y, p) + minkowski(y, z, p)) * (1 + 1e-12) + 1e-300


@given(vectors, vectors)
@settings(deadline=None, derandomize=True)
def test_lp_does_not_rise_with_p(x, z):
    lengths = [float(minkowski(x, z, p)) for p in (1, 1.3, 2, 5, 40, np.inf)]
    assert all(b <= a * (1 + 1e-12) for a, b in itertools.pairwise(lengths))


def test_the_nearer_point_changes_where_the_text_says():
    p = np.log(2) / np.log(4 / 3)  # 2.409421
    x1, x2, x3 = (1, 1), (5, 1), (4, 4)
    assert minkowski(x1, x2, p) == pytest.approx(minkowski(x1, x3, p))
    assert minkowski(x1, x2, p - 0.01) < minkowski(x1, x3, p - 0.01)
    assert minkowski(x1, x2, p + 0.01) > minkowski(x1, x3, p + 0.01)


def test_huge_and_tiny_gaps():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert squared_euclidean([0.0], [1e200]) == np.inf
    assert minkowski([0, 0], [3e200, 4e200]) == pytest.approx(5e200)
    assert minkowski([0, 0], [3e-200, 4e-200]) == pytest.approx(5e-200)
    assert cosine([3e-200, 0], [1e200, 0]) == 0
    assert cosine([0, 0], [1, 0]) == 1


def test_weights_are_as_good_as_scaled_columns(rows):
    X, Z = rows
    w = np.array([0.5, 2.0, 0.0, 1.0])
    np.testing.assert_allclose(
        pairwise_distances(X, Z, "minkowski", p=3, w=w),
        pairwise_distances(X * w ** (1 / 3), Z * w ** (1 / 3), "minkowski", p=3),
    )
    np.testing.assert_allclose(
        pairwise_distances(X, Z, "chebyshev", w=w), pairwise_distances(X[:, w > 0], Z[:, w > 0], "chebyshev")
    )


def test_threads_and_types_and_functions(rows):
    X, Z = np.tile(rows[0], (40, 1)), rows[1]
    one = pairwise_distances(X, Z, "minkowski", p=1.5)
    assert np.array_equal(one, pairwise_distances(X, Z, "minkowski", p=1.5, n_jobs=3))
    assert pairwise_distances(X.astype(np.float32), Z.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(
        pairwise_distances(X[:9], Z, lambda a, b: abs(a - b).sum()), pairwise_distances(X[:9], Z, "l1")
    )
    np.testing.assert_allclose(
        pairwise_distances(Z, metric=lambda a, b: abs(a - b).sum()), pairwise_distances(Z, metric="l1")
    )
    assert (pairwise_distances(Z, metric="cosine").diagonal() == 0).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: minkowski([1], [2], 0.5), r"p must be a number in \[1, inf\].*0.5"),
        (lambda: minkowski([1, 2], [2]), "equally many features"),
        (lambda: minkowski([1, 2], [2, 3], w=[1, -1]), "w must be 2 finite weights"),
        (lambda: mahalanobis([1, 2], [2, 3]), "either S, a covariance, or M"),
        (lambda: mahalanobis([1, 2], [2, 3], S=np.ones((2, 2))), "S must be positive definite"),
        (lambda: mahalanobis([1, 2], [2, 3], M=[[1, 2], [0, 1]]), "M must be a symmetric matrix"),
        (lambda: mahalanobis([1, 2], [2, 3], S=[[np.inf, 0], [0, 1]]), "S must hold finite numbers"),
        (lambda: pairwise_distances([[1, 2]], [[1]]), "X has 2 features and Y 1"),
        (lambda: pairwise_distances([[1.0]], metric="euclidian"), "near it: euclidean"),
        (lambda: pairwise_distances([[np.nan]]), "X contains NaN"),
        (
            lambda: pairwise_distances([[1.0]], metric="hamming", S=[[1]]),
            "S cannot be given where scikit-learn",
        ),
        (lambda: vdm(["a", "b"], [0, 1], "a", "c"), "no row has the value 'c'"),
        (lambda: vdm(["a", "b"], [0], "a", "b"), "equally long"),
        (lambda: MinkovDM(np.inf).fit([["a"], ["b"]], [0, 1]), "p must be finite"),
        (lambda: MinkovDM().fit([["a"], [None]], [0, 1]), "missing values"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_minkovdm_is_minkowski_on_numbers_and_vdm_on_the_rest():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"a": rng.normal(size=12), "b": rng.choice(list("xyz"), 12), "c": rng.integers(0, 3, 12)}
    )
    y = rng.integers(0, 3, 12)
    for p in (1, 2, 3):
        metric = MinkovDM(p, categorical_features=["c"]).fit(frame, y)
        D = metric.pairwise(frame)
        for i, j in [(0, 1), (3, 7), (2, 2)]:
            parts = abs(frame["a"][i] - frame["a"][j]) ** p
            parts += sum(vdm(frame[c], y, frame[c][i], frame[c][j], p=p) for c in "bc")
            assert D[i, j] == pytest.approx(parts ** (1 / p))
            assert metric(frame.iloc[i], frame.iloc[j]) == pytest.approx(D[i, j])
        np.testing.assert_allclose(D, D.T)


def test_minkovdm_takes_weights_and_unseen_values():
    X, y = [["a"], ["a"], ["b"], ["b"]], [0, 1, 1, 1]
    twice = MinkovDM(1).fit([*X, ["a"]], [*y, 0]).pairwise(X)
    np.testing.assert_allclose(MinkovDM(1).fit(X, y, [2, 1, 1, 1]).pairwise(X), twice)
    metric = MinkovDM(1).fit(X, y)
    # An unseen value spreads as all rows do: a quarter in cluster 0.
    assert metric(["q"], ["b"]) == pytest.approx(0.5)
    assert MinkovDM(1, w=[3.0]).fit(X, y)(["a"], ["b"]) == pytest.approx(3 * metric(["a"], ["b"]))


def test_constant_vectors_have_no_correlation():
    rows = np.repeat([[0.1], [0.7], [3.3]], 7, axis=1)
    np.testing.assert_array_equal(correlation(rows[:1], rows), 1.0)
    np.testing.assert_array_equal(pairwise_distances(rows, metric="correlation"), 1.0)


@pytest.mark.parametrize("metric", ["cosine", "correlation", "mahalanobis", lambda x, z: 0.0])
def test_weights_that_would_have_no_meaning_are_refused(metric):
    with pytest.raises(ValueError, match="w is for the L_p distances"):
        pairwise_distances([[1.0, 2], [3, 5], [4, 0]], metric=metric, w=[1, 2])


def test_covariance_of_too_few_rows_is_named():
    for rows in ([[1.0, 2.0]], [[1.0, 2.0], [2.0, 4.0]]):
        with pytest.raises(ValueError, match=f"covariance of {len(rows)} rows of 2 features is singular"):
            pairwise_distances(rows, metric="mahalanobis")


def test_infinity_is_infinitely_far():
    assert [float(minkowski([np.inf, 1], [0, 0], p)) for p in (1, 2, 3, np.inf)] == [np.inf] * 4


def test_mixed_metric_says_what_is_wrong_with_it():
    metric = MinkovDM()
    with pytest.raises(NotFittedError, match="call fit first"):
        metric.pairwise([[1.0, "a"]])
    metric.fit([[1.0, "a"], [2.0, "b"]], [0, 1])
    with pytest.raises(ValueError, match="rows must have 2 values; got 1 and 2"):
        metric([1.0], [2.0, "b"])


def test_mahalanobis_is_affine_invariant_and_correlation_a_cosine():
    """P14-2 and P14-3."""
    X = np.random.default_rng(3).normal(size=(12, 3))
    A = np.array([[2.0, 1, 0], [0, 1, 3], [1, 0, 1]])
    np.testing.assert_allclose(
        pairwise_distances(X, metric="mahalanobis"), pairwise_distances(X @ A + 5.0, metric="mahalanobis")
    )
    centred = X - X.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(correlation(X[0], X), cosine(centred[0], centred))
    np.testing.assert_allclose(
        correlation(X[0], -X[1], absolute=True), correlation(X[0], X[1], absolute=True)
    )
    np.testing.assert_allclose(  # 14(c) trap 2: both forms, for matrices, too
        pairwise_distances(X, metric="absolute_correlation"),
        correlation(X[:, None], X, absolute=True),
        atol=1e-12,
    )
    np.testing.assert_allclose(1 - correlation(X[:, None], X), np.corrcoef(X), atol=1e-12)


def test_metric_matrix_by_its_factor():
    P = np.array([[1.0], [2.0], [-1.0]])
    x, z = np.array([1.0, 2, 3]), np.array([0.0, 1, 1])
    assert mahalanobis(x, z, P=P) == pytest.approx(abs((x - z) @ P[:, 0]))
    assert mahalanobis(x, z, P=P) == pytest.approx(mahalanobis(x, z, M=P @ P.T))
    rows = np.stack([x, z])
    np.testing.assert_allclose(
        pairwise_distances(rows, metric="mahalanobis", P=P),
        pairwise_distances(rows, metric="mahalanobis", M=P @ P.T),
    )
    with pytest.raises(ValueError, match="P must be a matrix of 3 rows"):
        mahalanobis(x, z, P=P.T)


@pytest.mark.parametrize("p", [1, 2, 3.5, np.inf])
def test_pairwise_distances_of_huge_and_tiny_rows(p):
    X = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, -2.0]])
    plain = pairwise_distances(X, metric="minkowski", p=p)
    for scale in (1e-200, 1e200, 2.0**1020):
        np.testing.assert_allclose(pairwise_distances(X * scale, metric="minkowski", p=p) / scale, plain)
    small = pairwise_distances((X * 1e30).astype(np.float32), metric="minkowski", p=p)
    np.testing.assert_allclose(small / np.float32(1e30), plain, rtol=1e-5)


@pytest.mark.parametrize("metric", ["canberra", "hamming"])
def test_metrics_of_scikit_learn_are_its_own(metric):
    X = np.random.default_rng(0).integers(0, 4, size=(8, 3)).astype(float)
    np.testing.assert_allclose(pairwise_distances(X, metric=metric), peer.cdist(X, X, metric), atol=1e-12)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("euclidean", {"squared": True}),
        ("seuclidean", {"V": [1.0, 4.0, 9.0]}),
        ("mahalanobis", {"VI": np.diag([1.0, 0.25, 4.0])}),
        ("minkowski", {"p": 3, "ensure_all_finite": "allow-nan"}),
        ("canberra", {"w": [1.0, 2.0, 0.5]}),
        (lambda one, other, factor: factor * abs(one - other).sum(), {"factor": 2.0}),
    ],
)
def test_parameters_of_scikit_learns_metrics(metric, options):
    X = np.random.default_rng(0).integers(0, 4, size=(8, 3)).astype(float)
    wanted = by_scikit_learn(X, metric=metric, **options)
    np.testing.assert_allclose(pairwise_distances(X, metric=metric, **options), wanted)


def test_missing_values_and_functions_of_sparse_rows():
    found = pairwise_distances([[0.0, np.nan], [3.0, 4.0]], metric="nan_euclidean")
    np.testing.assert_allclose(found, [[0.0, np.sqrt(18.0)], [np.sqrt(18.0), 0.0]])
    rows = sparse.csr_array([[1.0, 0.0], [0.0, 2.0]])
    found = pairwise_distances(rows, metric=lambda one, other: float(abs(one - other).sum()))
    np.testing.assert_array_equal(found, [[0.0, 3.0], [3.0, 0.0]])

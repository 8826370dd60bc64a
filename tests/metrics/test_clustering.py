"""Measures of partitions and clusters: agreement with scikit-learn and scipy, properties, bad input."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist, directed_hausdorff
from sklearn import metrics as peer
from sklearn.metrics.cluster import contingency_matrix as peer_contingency
from sklearn.metrics.cluster import pair_confusion_matrix as peer_pairs

from tercet import metrics

OF_LABELS = [
    "adjusted_mutual_info_score",
    "adjusted_rand_score",
    "completeness_score",
    "fowlkes_mallows_score",
    "homogeneity_completeness_v_measure",
    "homogeneity_score",
    "mutual_info_score",
    "normalized_mutual_info_score",
    "rand_score",
    "v_measure_score",
]
labellings = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(-2, 3), min_size=n, max_size=n)] * 2)
)


def sample(n=90, d=3, k=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, d)) + 2 * np.eye(k, d)[y], y


@given(labellings)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_agreement_is_scikit_learns(pair):
    for name in OF_LABELS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = getattr(peer, name)(*pair)
        np.testing.assert_allclose(getattr(metrics, name)(*pair), theirs, rtol=1e-9, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(metrics.contingency_matrix(*pair), peer_contingency(*pair))
    np.testing.assert_array_equal(metrics.pair_confusion_matrix(*pair), peer_pairs(*pair))


@pytest.mark.parametrize("average", ["min", "geometric", "arithmetic", "max"])
def test_averages_and_beta_are_scikit_learns(average):
    a, b = sample()[1], sample(seed=1)[1] % 3
    for name in ("normalized_mutual_info_score", "adjusted_mutual_info_score"):
        theirs = getattr(peer, name)(a, b, average_method=average)
        assert getattr(metrics, name)(a, b, average_method=average) == pytest.approx(theirs, rel=1e-9)
    assert metrics.v_measure_score(a, b, beta=0.3) == pytest.approx(peer.v_measure_score(a, b, beta=0.3))
    table = metrics.contingency_matrix(a, b, sparse=True)
    assert metrics.mutual_info_score(None, None, contingency=table) == pytest.approx(
        peer.mutual_info_score(a, b)
    )
    np.testing.assert_array_equal(metrics.contingency_matrix(a, b, eps=0.5), peer_contingency(a, b, eps=0.5))


def test_many_labels_and_all_kinds_of_them():
    """Large tables are counted by sorting; strings, floats, booleans and wide integers are labels, too."""
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 700, 3000), rng.integers(0, 500, 3000)
    for name in OF_LABELS:
        np.testing.assert_allclose(
            getattr(metrics, name)(a, b), getattr(peer, name)(a, b), rtol=1e-8, err_msg=name
        )
    expected = peer.adjusted_rand_score(a % 5, b % 2)
    for wide in (a % 5 * 10**15, (a % 5).astype(str), (a % 5).astype(float), (a % 5).astype(np.uint64)):
        assert metrics.adjusted_rand_score(wide, (b % 2).astype(bool)) == pytest.approx(expected)
    counts = metrics.pair_counts(np.zeros(200_000, dtype=np.int8), np.arange(200_000))
    assert counts == (0, 200_000 * 199_999 // 2, 0, 0)


@given(labellings)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_pairs_by_counting_them(pair):
    a, b = pair
    counts = np.zeros((2, 2), dtype=int)
    for i, j in itertools.combinations(range(len(a)), 2):
        counts[int(a[i] == a[j]), int(b[i] == b[j])] += 1
    found = metrics.pair_counts(a, b)
    assert found == (counts[1, 1], counts[1, 0], counts[0, 1], counts[0, 0])
    union = found.ss + found.sd + found.ds
    assert metrics.pair_jaccard_score(a, b) == (found.ss / union if union else 1.0)
    assert metrics.mirkin_distance(a, b) == 2 * (found.sd + found.ds) == metrics.mirkin_distance(b, a)
    purity = sum(np.bincount(np.array(a)[np.array(b) == c] + 2).max() for c in set(b)) / len(a)
    assert metrics.purity_score(a, b) == pytest.approx(purity)


def test_distances_of_partitions_are_metrics():
    parts = [sample(20, k=k, seed=k)[1] for k in (2, 3, 4)]
    for distance in (metrics.variation_of_information, metrics.mirkin_distance):
        a, b, c = (distance(parts[i], parts[j]) for i, j in ((0, 1), (1, 2), (0, 2)))
        assert c <= a + b + 1e-12
        assert distance(parts[0], 1 - parts[0]) == pytest.approx(0, abs=1e-12)


# Distances within and between clusters ------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine", "precomputed"])
def test_silhouette_is_scikit_learns(metric):
    X, y = sample()
    y[0] = 7  # alone
    data = cdist(X, X) if metric == "precomputed" else X
    expected = peer.silhouette_samples(data, y, metric=metric)
    np.testing.assert_allclose(metrics.silhouette_samples(data, y, metric=metric), expected, atol=1e-12)
    assert metrics.silhouette_score(data, y, metric=metric, sample_size=50, random_state=3) == pytest.approx(
        peer.silhouette_score(data, y, metric=metric, sample_size=50, random_state=3)
    )


def test_silhouette_of_sparse_rows_in_blocks_and_threads(monkeypatch):
    X, y = sample()
    whole = metrics.silhouette_samples(X, y)
    np.testing.assert_allclose(metrics.silhouette_samples(sparse.csr_array(X), y), whole, atol=1e-7)
    from tercet.metrics.clustering import distance_blocks

    monkeypatch.setattr(distance_blocks, "BLOCK", 200)  # two rows at a time
    np.testing.assert_array_equal(metrics.silhouette_samples(X, y, n_jobs=2), whole)
    expected = metrics.silhouette_samples(cdist(X, X, "mahalanobis"), y, metric="precomputed")
    np.testing.assert_allclose(metrics.silhouette_samples(X, y, metric="mahalanobis"), expected, atol=1e-9)


def test_widths_and_gaps():
    X, y = sample()
    D = cdist(X, X)
    clusters = [np.flatnonzero(y == c) for c in np.unique(y)]
    across = min(D[np.ix_(a, b)].min() for a, b in itertools.combinations(clusters, 2))
    widest = max(D[np.ix_(a, a)].max() for a in clusters)
    assert metrics.dunn_index(X, y) == pytest.approx(across / widest)
    assert metrics.dunn_index(D, y, metric="precomputed") == pytest.approx(across / widest)
    means = [D[np.ix_(a, a)].sum() / (len(a) * (len(a) - 1)) for a in clusters]
    np.testing.assert_allclose(metrics.mean_distances(X, y), means)
    assert metrics.davies_bouldin_score(X, y) == pytest.approx(peer.davies_bouldin_score(X, y))
    assert metrics.calinski_harabasz_score(X, y) == pytest.approx(peer.calinski_harabasz_score(X, y))
    taxi = metrics.davies_bouldin_score(X, y, average="pairwise", metric="manhattan")
    centres = np.array([X[a].mean(axis=0) for a in clusters])
    avg = metrics.mean_distances(X, y, metric="manhattan")
    ratios = (avg[:, None] + avg) / (cdist(centres, centres, "cityblock") + np.diag([np.inf] * len(centres)))
    assert taxi == pytest.approx(ratios.max(axis=1).mean())


@pytest.mark.parametrize("scale", [1e-160, 1e160, 1e300])
def test_scores_do_not_depend_on_the_unit(scale):
    X, y = sample()
    for name in ("silhouette_score", "davies_bouldin_score", "dunn_index", "calinski_harabasz_score"):
        assert getattr(metrics, name)(X * scale, y) == pytest.approx(getattr(metrics, name)(X, y), rel=1e-9)


def test_degenerate_clusters_give_numbers():
    same, y = np.ones((6, 2)), [0, 0, 0, 1, 1, 1]
    assert metrics.silhouette_score(same, y) == 0
    assert (
        metrics.davies_bouldin_score(same, y)
        == metrics.davies_bouldin_score(same, y, average="pairwise")
        == 0
    )
    assert metrics.dunn_index(same, y) == 0
    assert metrics.calinski_harabasz_score(same, y) == 1
    points = [[0.0], [0.0], [1.0], [1.0]]
    assert metrics.dunn_index(points, [0, 0, 1, 1]) == np.inf
    assert metrics.davies_bouldin_score(points, [0, 0, 1, 1]) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda X, y: metrics.silhouette_score(X, np.zeros(90)),
            "Number of labels is 1. Valid values are 2 to",
        ),
        (lambda X, y: metrics.davies_bouldin_score(X, np.arange(90)), "Number of labels is 90"),
        (lambda X, y: metrics.dunn_index(X, y[:5]), "inconsistent numbers of samples, 90 and 5"),
        (lambda X, y: metrics.silhouette_score(X, y, metric="precomputed"), r"square matrix.*\(90, 3\)"),
        (lambda X, y: metrics.silhouette_score(np.triu(cdist(X, X)), y, metric="precomputed"), "symmetric"),
        (lambda X, y: metrics.silhouette_score(cdist(X, X) + 1, y, metric="precomputed"), "diagonal"),
        (lambda X, y: metrics.silhouette_score(-cdist(X, X), y, metric="precomputed"), "not negative"),
        (lambda X, y: metrics.silhouette_score(X, y, sample_size=0), "sample_size must be .* got 0"),
        (lambda X, y: metrics.davies_bouldin_score(X, y, average="mean"), "'pairwise'; got 'mean'"),
        (lambda X, y: metrics.davies_bouldin_score(X, y, metric="cosine"), "metric must be .* got 'cosine'"),
        (lambda X, y: metrics.dunn_index(np.where(X > 1, np.nan, X), y), "NaN"),
        (lambda X, y: metrics.rand_score(y, y[:3]), "inconsistent numbers of samples, 90 and 3"),
        (lambda X, y: metrics.rand_score(y, X), r"labels_pred must be 1D: shape is \(90, 3\)"),
        (lambda X, y: metrics.rand_score(y, np.where(y > 1, np.nan, y)), "labels_pred contains NaN"),
        (lambda X, y: metrics.rand_score(["a", None], [0, 1]), "labels_true must be labels of one kind"),
        (lambda X, y: metrics.v_measure_score(y, y, beta=-1), "beta must be .* got -1"),
        (
            lambda X, y: metrics.normalized_mutual_info_score(y, y, average_method="no"),
            "average_method .* 'no'",
        ),
        (lambda X, y: metrics.contingency_matrix(y, y, eps=1.0, sparse=True), "Cannot set 'eps'"),
        (lambda X, y: metrics.is_cluster(X, -1.0), "T must be a number that is not negative; got -1.0"),
        (lambda X, y: metrics.is_cluster(X, 1.0, definition="no"), "definition must be .* got 'no'"),
        (lambda X, y: metrics.cluster_distance(X, X, "no"), "linkage must be .* got 'no'"),
        (
            lambda X, y: metrics.cluster_distance(X, X, "ward", metric="l1"),
            "Euclidean distances; got metric='l1'",
        ),
        (lambda X, y: metrics.metric_axioms(X), r"square matrix of distances; the shape is \(90, 3\)"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(*sample())


# What a cluster is --------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 9), min_size=2, max_size=6), st.integers(0, 9))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_the_first_definition_implies_the_others(values, T):
    """P14-4; V = T is the least that Def. 14.8 may have."""
    X = np.array(values, dtype=float)[:, None]
    if metrics.is_cluster(X, T):
        assert all(metrics.is_cluster(X, T, definition=word, V=T) for word in ("nearest", "row-mean", "mean"))


def test_definitions_of_single_rows_and_bounds():
    alone = [[3.0]]
    assert metrics.is_cluster(alone, 0.0)
    assert not metrics.is_cluster(alone, 0.0, definition="nearest")  # it asks for another row
    assert metrics.is_cluster(alone, 0.0, definition="row-mean")
    assert metrics.is_cluster(alone, 0.0, definition="mean")
    chain = np.arange(5.0)[:, None]
    assert metrics.is_cluster(chain, 2.0, definition="mean")
    assert not metrics.is_cluster(chain, 2.0, definition="mean", V=3.0)
    assert metrics.is_cluster(cdist(chain, chain), 1.0, definition="nearest", metric="precomputed")


def test_members_of_clusters():
    y = sample()[1] * 3 - 2
    found = metrics.cluster_members(y)
    assert [y[rows[0]] for rows in found] == np.unique(y).tolist()
    assert all((y[rows] == y[rows[0]]).all() for rows in found)
    assert sorted(np.concatenate(found)) == list(range(90))
    assert metrics.cluster_members([]) == []


def test_scatter_and_covariance_of_clusters():
    X, y = sample()
    np.testing.assert_allclose(metrics.cluster_covariance(X), np.cov(X.T))
    np.testing.assert_allclose(metrics.cluster_center(X), X.mean(axis=0))
    assert metrics.cluster_diameter(X) == pytest.approx(cdist(X, X).max())
    assert metrics.cluster_diameter(X[:1]) == 0
    np.testing.assert_array_equal(metrics.cluster_covariance(X[:1]), np.zeros((3, 3)))
    assert metrics.cluster_center([[1e308], [1.5e308]]) == pytest.approx([1.25e308])
    # P14-8: the total scatter is that within and that between the clusters, for every partition.
    parts = [X[y == c] for c in range(4)]
    within = sum(metrics.cluster_scatter(part) for part in parts)
    gaps = np.array([part.mean(axis=0) - X.mean(axis=0) for part in parts])
    between = (gaps.T * [len(part) for part in parts]) @ gaps
    np.testing.assert_allclose(metrics.cluster_scatter(X), within + between)


def test_distances_of_two_clusters():
    A, B = sample(7)[0], sample(5, seed=1)[0]
    D = cdist(A, B)
    plain = {"single": D.min(), "complete": D.max(), "average": D.mean()}
    for linkage, expected in plain.items():
        assert metrics.cluster_distance(A, B, linkage) == pytest.approx(expected)
        assert metrics.cluster_distance(D, None, linkage, metric="precomputed") == pytest.approx(expected)
    hausdorff = max(directed_hausdorff(A, B)[0], directed_hausdorff(B, A)[0])
    assert metrics.hausdorff_distance(A, B) == pytest.approx(hausdorff)
    gap = np.linalg.norm(A.mean(axis=0) - B.mean(axis=0))
    assert metrics.cluster_distance(A, B, "centroid") == pytest.approx(gap)
    both = np.vstack([A, B])
    growth = sum(np.trace(metrics.cluster_scatter(G)) * sign for G, sign in ((both, 1), (A, -1), (B, -1)))
    assert metrics.cluster_distance(A, B, "ward") == pytest.approx(np.sqrt(2 * growth))


def test_axioms_of_metrics():
    X = sample(12)[0]
    assert all(metrics.metric_axioms(cdist(X, X)))
    assert metrics.metric_axioms(cdist(X, X, "sqeuclidean")) == (True, True, True, False)
    assert metrics.metric_axioms([[1.0, -1.0], [0.0, 0.0]]) == (False, False, False, False)

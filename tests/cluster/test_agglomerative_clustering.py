"""Agglomerative clustering: the same trees as scipy, the theorems, the stopping rules."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster import hierarchy
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn import cluster as peer
from sklearn.metrics import adjusted_rand_score

from tercet.cluster import AgglomerativeClustering, agglomerate, lance_williams
from tercet.metrics import cluster_distance, hausdorff_distance

LINKAGES = ["ward", "complete", "average", "single", "centroid", "weighted", "median"]
OF_DISTANCES = ["complete", "average", "single"]
METRICS = [
    ("cityblock", {}),
    ("minkowski", {"p": 3}),
    ("chebyshev", {}),
    ("mahalanobis", {}),
    ("correlation", {}),
    ("cosine", {}),
]


def points(n=200, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def sets(model):
    """The rows of every cluster of the tree, in the order of the merges."""
    members = [frozenset([i]) for i in range(model.n_leaves_)]
    for a, b in model.children_:
        members.append(members[a] | members[b])
    return members


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize(("n", "d"), [(2, 1), (3, 2), (60, 1), (200, 4), (1300, 3)])
def test_same_tree_as_scipy(linkage, n, d):
    X = points(n, d)
    theirs = hierarchy.linkage(X, linkage)
    ours = AgglomerativeClustering(linkage=linkage).fit(X)
    np.testing.assert_allclose(ours.linkage_matrix(), theirs, rtol=1e-9, atol=1e-12)
    assert hierarchy.is_valid_linkage(ours.linkage_matrix())
    assert (ours.n_leaves_, ours.n_connected_components_) == (n, 1)


@pytest.mark.parametrize("linkage", ["ward", *OF_DISTANCES])
@pytest.mark.parametrize("k", [1, 2, 5, 17])
def test_same_labels_as_scikit_learn(linkage, k):
    X = points(150)
    ours = AgglomerativeClustering(k, linkage=linkage).fit(X)
    theirs = peer.AgglomerativeClustering(k, linkage=linkage, compute_distances=True).fit(X)
    if linkage == "single":  # the peer leaves the two children as they come, and numbers clusters by that
        assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1
    else:
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_array_equal(ours.children_, np.sort(theirs.children_, axis=1))
    np.testing.assert_allclose(ours.distances_, theirs.distances_, rtol=1e-9)
    assert ours.n_clusters_ == theirs.n_clusters_
    np.testing.assert_array_equal(ours.fit_predict(X), ours.labels_)


@pytest.mark.parametrize("linkage", OF_DISTANCES)
@pytest.mark.parametrize(("metric", "params"), METRICS)
def test_metrics(linkage, metric, params):
    X = points(80, 5)
    D = pdist(X, metric, **params)
    ours = AgglomerativeClustering(linkage=linkage, metric=metric, metric_params=params or None).fit(X)
    np.testing.assert_allclose(ours.distances_, hierarchy.linkage(D, linkage)[:, 2], rtol=1e-9)
    given = AgglomerativeClustering(linkage=linkage, metric="precomputed").fit(squareform(D))
    np.testing.assert_array_equal(ours.children_, given.children_)


def test_other_names_and_functions_of_distances():
    X = points(40)
    taxi = AgglomerativeClustering(linkage="average", metric="cityblock").fit(X).distances_
    for metric in ("l1", "manhattan", lambda a, b: np.abs(a - b).sum()):
        found = AgglomerativeClustering(linkage="average", metric=metric).fit(X).distances_
        np.testing.assert_allclose(found, taxi, rtol=1e-12)
    r = np.corrcoef(X)
    D = 1 - np.abs(r)
    np.fill_diagonal(D, 0)
    either = AgglomerativeClustering(linkage="complete", metric="absolute_correlation").fit(X)
    np.testing.assert_allclose(
        either.distances_, hierarchy.linkage(squareform(D, checks=False), "complete")[:, 2], rtol=1e-9
    )


def test_mahalanobis_of_flat_data():
    flat = np.column_stack([points(30, 2), points(30, 2).sum(axis=1)])
    model = AgglomerativeClustering(linkage="single", metric="mahalanobis").fit(flat)
    expected = AgglomerativeClustering(linkage="single", metric="mahalanobis").fit(flat[:, :2])
    np.testing.assert_allclose(model.distances_, expected.distances_, rtol=1e-6)


# P14-5, P14-6 -------------------------------------------------------------------------------------------------


@given(arrays(np.float64, (15, 2), elements=st.integers(-4, 4).map(float)))
@settings(max_examples=60, deadline=None)
def test_heights_never_fall_but_those_of_centres_may(X):
    """Also with ties and equal rows."""
    for linkage in ("ward", *OF_DISTANCES):
        heights = AgglomerativeClustering(linkage=linkage).fit(X).distances_
        assert (np.diff(heights) >= -1e-12).all(), linkage
    for linkage in ("centroid", "median", "hausdorff"):
        assert np.isfinite(AgglomerativeClustering(linkage=linkage).fit(X).distances_).all()


def test_centres_invert():
    X = np.array([[0.0, 0], [2, 0], [1, 1.8]])
    heights = AgglomerativeClustering(linkage="centroid").fit(X).distances_
    np.testing.assert_allclose(heights, [2.0, 1.8])


@given(arrays(np.float64, (14, 2), elements=st.integers(-3, 3).map(float)), st.booleans())
@settings(max_examples=60, deadline=None)
def test_single_linkage_is_the_spanning_tree(X, given_distances):
    D = cdist(X, X)
    # Zero is "no edge" to scipy's tree: shift all distances, which changes no tree.
    edges = np.sort(minimum_spanning_tree(D + 1).data) - 1
    model = AgglomerativeClustering(
        linkage="single", metric="precomputed" if given_distances else "euclidean"
    )
    np.testing.assert_allclose(model.fit(D if given_distances else X).distances_, edges, atol=1e-9)


@pytest.mark.parametrize("linkage", OF_DISTANCES)
def test_every_merge_is_of_the_two_nearest_clusters(linkage):
    """Algorithm 14.1 by hand, distances of clusters by their definition."""
    X = points(25, 2)
    D = cdist(X, X)
    far = {"single": np.min, "complete": np.max, "average": np.mean}[linkage]
    model = AgglomerativeClustering(linkage=linkage).fit(X)
    members, live = sets(model), set(range(25))
    for k, (a, b) in enumerate(model.children_, 25):
        gaps = {
            (i, j): far(D[np.ix_(sorted(members[i]), sorted(members[j]))])
            for i in live
            for j in live
            if i < j
        }
        assert min(gaps, key=lambda pair: gaps[pair]) == (a, b)
        np.testing.assert_allclose(model.distances_[k - 25], gaps[a, b], rtol=1e-12)
        live = live - {a, b} | {k}


def test_ties_take_the_first_pair():
    D = np.ones((5, 5)) - np.eye(5)
    for linkage in OF_DISTANCES:
        model = AgglomerativeClustering(linkage=linkage, metric="precomputed").fit(D)
        assert model.children_[0].tolist() == [0, 1]
        np.testing.assert_allclose(model.distances_, 1.0)


# Stopping rules -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linkage", ["ward", *OF_DISTANCES])
def test_distance_threshold(linkage):
    X = points(100)
    tree = AgglomerativeClustering(linkage=linkage).fit(X)
    for threshold in (0.0, tree.distances_[40:42].mean(), tree.distances_[-2:].mean(), 1e9):
        ours = AgglomerativeClustering(None, distance_threshold=threshold, linkage=linkage).fit(X)
        theirs = peer.AgglomerativeClustering(None, distance_threshold=threshold, linkage=linkage).fit(X)
        assert ours.n_clusters_ == theirs.n_clusters_
        assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1
    exact = AgglomerativeClustering(None, distance_threshold=tree.distances_[40], linkage=linkage).fit(X)
    assert exact.n_clusters_ == 60, "a merge at the threshold is undone"


@pytest.mark.parametrize("linkage", LINKAGES)
def test_max_diameter_stops_before_a_cluster_grows_too_wide(linkage):
    X = points(60, 2)
    D = cdist(X, X)
    model = AgglomerativeClustering(None, max_diameter=1.5, linkage=linkage).fit(X)
    widths = [D[np.ix_(model.labels_ == c, model.labels_ == c)].max() for c in range(model.n_clusters_)]
    assert max(widths) <= 1.5
    next_merge = sorted(sets(model)[2 * 60 - model.n_clusters_])
    assert D[np.ix_(next_merge, next_merge)].max() > 1.5


def test_cut_gives_nested_clusters():
    model = AgglomerativeClustering(linkage="average").fit(points(50))
    finer = model.cut(50)
    assert sorted(finer) == list(range(50))
    for k in range(49, 0, -1):
        labels = model.cut(k)
        assert np.unique(labels).size == k
        assert len(set(zip(finer, labels))) == k + 1, "a cut divides one cluster of the next"
        finer = labels
    with pytest.raises(ValueError, match="from 1 to 50; got 51"):
        model.cut(51)


# Input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_data_stay_as_they_are(linkage):
    X = np.asfortranarray(points(80))
    before = X.copy()
    AgglomerativeClustering(linkage=linkage, n_jobs=2).fit(X)
    np.testing.assert_array_equal(X, before)
    D = cdist(X, X)
    kept = D.copy()
    AgglomerativeClustering(linkage="average", metric="precomputed").fit(D)
    np.testing.assert_array_equal(D, kept)


def test_wrong_input_is_named():
    X = points(10)
    D = cdist(X, X)
    wrong = {
        "Exactly one of n_clusters": {"distance_threshold": 1.0},
        "does not take connectivity": {"linkage": "centroid", "connectivity": np.ones((10, 10))},
        "n_clusters=11 needs as many rows; n_samples=10 should be >= n_clusters=11": {"n_clusters": 11},
        "Euclidean distances; got metric='cosine'": {"metric": "cosine"},
        "'metric' must be one of .* got 'no such'": {"metric": "no such", "linkage": "single"},
        "should be square": {"metric": "precomputed", "linkage": "single"},
        "compute_full_tree must be True": {
            "n_clusters": None,
            "distance_threshold": 1.0,
            "compute_full_tree": False,
        },
    }
    for message, parameters in wrong.items():
        with pytest.raises(ValueError, match=message):
            AgglomerativeClustering(**parameters).fit(X)
    matrix = AgglomerativeClustering(metric="precomputed", linkage="single")
    for message, table in {"not negative": -D, "in the diagonal": D + 1, "symmetric": np.triu(D)}.items():
        with pytest.raises(ValueError, match=message):
            matrix.fit(table)
    X[3] = 0
    with pytest.raises(ValueError, match="metric='cosine' is not defined for row 3"):
        AgglomerativeClustering(metric="cosine", linkage="single").fit(X)


# Linkages beyond the Lance-Williams update ----------------------------------------------------------------------


@given(arrays(np.float64, (9, 2), elements=st.integers(-3, 3).map(float)))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_hausdorff_merges_the_nearest_sets(X):
    """Also with ties, and where the union is nearer to a third set than both of its parts."""
    D = cdist(X, X)
    children, heights = agglomerate(D, "hausdorff")
    for model in (
        AgglomerativeClustering(linkage="hausdorff").fit(X),
        AgglomerativeClustering(linkage="hausdorff", metric="precomputed").fit(D),
    ):
        np.testing.assert_array_equal(model.children_, children)
        np.testing.assert_allclose(model.distances_, heights, atol=1e-12)


def test_hausdorff_by_its_definition():
    X = points(30, 3)
    model = AgglomerativeClustering(linkage="hausdorff", metric="cityblock").fit(X)
    members = sets(model)
    for (a, b), height in zip(model.children_, model.distances_):
        A, B = (X[sorted(members[node])] for node in (a, b))
        assert height == pytest.approx(hausdorff_distance(A, B, metric="cityblock"))


@pytest.mark.parametrize("linkage", ["centroid", "median"])
def test_centres_by_distances_and_by_other_metrics(linkage):
    X = points(40, 3)
    plain = AgglomerativeClustering(linkage=linkage).fit(X)
    table = AgglomerativeClustering(linkage=linkage, metric="precomputed").fit(cdist(X, X))
    np.testing.assert_array_equal(table.children_, plain.children_)
    np.testing.assert_allclose(table.distances_, plain.distances_, rtol=1e-9)
    general = AgglomerativeClustering(linkage=linkage, metric=lambda a, b: np.linalg.norm(a - b)).fit(X)
    np.testing.assert_array_equal(general.children_, plain.children_)
    np.testing.assert_allclose(general.distances_, plain.distances_, rtol=1e-9)
    # P14-2: the Mahalanobis distance is the Euclidean one of whitened rows.
    white = X @ np.linalg.cholesky(np.linalg.inv(np.cov(X.T)))
    mahalanobis = AgglomerativeClustering(linkage=linkage, metric="mahalanobis").fit(X)
    whitened = AgglomerativeClustering(linkage=linkage).fit(white)
    np.testing.assert_array_equal(mahalanobis.children_, whitened.children_)
    np.testing.assert_allclose(mahalanobis.distances_, whitened.distances_, rtol=1e-9)
    taxi = AgglomerativeClustering(linkage=linkage, metric="cityblock").fit(X)
    np.testing.assert_allclose(taxi.distances_[0], pdist(X, "cityblock").min())


def test_cut_by_height():
    model = AgglomerativeClustering(linkage="average").fit(points(50))
    height = model.distances_[-4]
    np.testing.assert_array_equal(model.cut(height=height), model.cut(5))
    np.testing.assert_array_equal(model.cut(height=np.nextafter(height, np.inf)), model.cut(4))
    assert np.unique(model.cut(height=1e9)).size == 1
    assert np.unique(model.cut(height=0.0)).size == 50
    for wrong in ({}, {"n_clusters": 2, "height": 1.0}):
        with pytest.raises(ValueError, match="cut takes either n_clusters or height"):
            model.cut(**wrong)


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "hausdorff", "centroid", "ward"])
def test_new_rows_go_to_the_nearest_cluster_by_the_linkage(linkage):
    X, Q = points(40, 2), points(15, 2, seed=1)
    model = AgglomerativeClustering(4, linkage=linkage).fit(X)
    expected = [
        np.argmin([cluster_distance(q[None], X[model.labels_ == c], linkage) for c in range(4)]) for q in Q
    ]
    np.testing.assert_array_equal(model.predict(Q), expected)
    if linkage not in ("centroid", "ward"):
        table = AgglomerativeClustering(4, linkage=linkage, metric="precomputed").fit(cdist(X, X))
        np.testing.assert_array_equal(table.predict(cdist(Q, X)), expected)
    for undefined in ("weighted", "median"):
        assert not hasattr(AgglomerativeClustering(linkage=undefined), "predict")


def test_numbers_at_the_ends_of_the_range():
    X = np.array([[1e308, 0.0], [9e307, 0], [-1e308, 0], [-9e307, 1e307]])
    for linkage in [*LINKAGES, "hausdorff"]:
        with np.errstate(over="ignore"):
            model = AgglomerativeClustering(2, linkage=linkage).fit(X)
        assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3], linkage


def test_memory_keeps_the_tree(tmp_path):
    X = points(30)
    one = AgglomerativeClustering(3, memory=str(tmp_path)).fit(X)
    other = AgglomerativeClustering(4, memory=str(tmp_path)).fit(X)
    np.testing.assert_array_equal(one.children_, other.children_)
    assert any(tmp_path.rglob("*.pkl"))


# The plain form ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("n", [2, 3, 40, 600])
def test_the_engine_builds_the_plain_tree(linkage, n):
    X = points(n)
    children, heights = agglomerate(squareform(pdist(X)), linkage)
    model = AgglomerativeClustering(linkage=linkage).fit(X)
    np.testing.assert_array_equal(model.children_, children)
    np.testing.assert_allclose(model.distances_, heights, rtol=1e-9)


@given(arrays(np.int8, (9, 9), elements=st.integers(1, 4)), st.sampled_from(["single", "complete"]))
def test_ties_are_broken_as_in_the_plain_form(half, linkage):
    D = np.triu(half, 1).astype(float)
    D += D.T
    children, heights = agglomerate(D, linkage)
    model = AgglomerativeClustering(metric="precomputed", linkage=linkage).fit(D)
    np.testing.assert_array_equal(model.children_, children)
    np.testing.assert_allclose(model.distances_, heights, rtol=1e-12)


@pytest.mark.parametrize("linkage", LINKAGES[:5])
def test_lance_williams_is_the_distance_of_the_union(linkage):
    A, B, C = points(3, seed=1), points(5, seed=2), points(4, seed=3)

    def distance(P, Q):
        if linkage in ("single", "complete", "average"):
            return {"single": np.min, "complete": np.max, "average": np.mean}[linkage](cdist(P, Q))
        gap = np.linalg.norm(P.mean(axis=0) - Q.mean(axis=0))
        return gap * (np.sqrt(2 * len(P) * len(Q) / (len(P) + len(Q))) if linkage == "ward" else 1.0)

    found = lance_williams(distance(A, C), distance(B, C), distance(A, B), 3, 5, 4, linkage)
    np.testing.assert_allclose(found, distance(np.vstack([A, B]), C), rtol=1e-12)


def test_an_unknown_linkage_is_named():
    with pytest.raises(ValueError, match=r"linkage must be .* got 'hausdorff'"):
        lance_williams(1.0, 1.0, 1.0, 1, 1, 1, "hausdorff")


def test_a_loaded_tree_must_be_one():
    model = AgglomerativeClustering(2).fit(np.arange(10.0).reshape(5, 2))
    for children in ([[0, 1], [0, 1], [2, 3], [4, 5]], [[0, 8], [1, 2], [3, 4], [5, 6]]):
        model.children_ = np.array(children)
        with pytest.raises(ValueError, match="children_ has 4 merges; expected are fewer than 5"):
            pickle.loads(pickle.dumps(model))

"""The kd-trees find what a linear scan finds."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from tercet.core.kernel import JIT
from tercet.neighbors import BalancedKDTree, KDTree
from tercet.neighbors._engine import flat_kd_tree, kd_kernels

T = [(2, 3), (5, 4), (9, 6), (4, 7), (8, 1), (7, 2)]
EXACT = [1, 2, np.inf]  # sums of integers under these have no rounding


def distances(Q, X, p):
    return cdist(Q, X, "chebyshev") if np.isinf(p) else cdist(Q, X, "minkowski", p=p)


def scan(X, Q, k, p):
    """Neighbours by sorting all rows; of equals, the smaller number first."""
    far = distances(Q, X, p)
    order = np.argsort(far, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(far, order, axis=1), order


@pytest.fixture
def small_parts(monkeypatch):
    """Trees of a few hundred rows are grown as those of millions are."""
    monkeypatch.setattr(flat_kd_tree, "PART", 32)
    monkeypatch.setattr(flat_kd_tree, "TASK", 100)
    monkeypatch.setattr(flat_kd_tree, "QUERIES", 7)


@st.composite
def problems(draw, low=1, high=20):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    d, n = draw(st.integers(low, high)), draw(st.integers(1, 60))
    width = draw(st.sampled_from([1, 3, 100]))  # narrow: most rows have equals
    X = rng.integers(-width, width, size=(n, d)).astype(float)
    Q = np.vstack([X[rng.integers(n, size=4)], rng.integers(-2 * width, 2 * width, size=(4, d))]).astype(
        float
    )
    k = draw(st.integers(1, n))
    return X, Q, k


@pytest.mark.parametrize(
    ("p", "dtype"), [(1, np.float64), (2, np.float64), (2, np.float32), (np.inf, np.float64)]
)
@settings(max_examples=25, deadline=None)
@given(problem=problems(), leaf_size=st.integers(1, 20))
def test_query_equals_linear_scan(problem, leaf_size, p, dtype):
    X, Q, k = problem
    far, near = KDTree(X.astype(dtype), leaf_size, p=p).query(Q, k)
    wanted_far, wanted = scan(X, Q, k, p)
    np.testing.assert_array_equal(near, wanted)
    np.testing.assert_allclose(far, wanted_far, rtol=1e-14)


@settings(max_examples=40, deadline=None)
@given(
    problem=problems(),
    p=st.one_of(st.floats(1, 6), st.sampled_from([1.0, 2.0, 40.0])),
    seed=st.integers(0, 9),
)
def test_query_equals_linear_scan_for_every_p(problem, p, seed):
    X, Q, k = problem
    X = X + np.random.default_rng(seed).normal(size=X.shape)
    far, near = KDTree(X, 3, p=p).query(Q, k)
    wanted, _ = scan(X, Q, k, p)
    np.testing.assert_allclose(far, wanted, rtol=1e-9)
    np.testing.assert_allclose(np.take_along_axis(distances(Q, X, p), near, axis=1), wanted, rtol=1e-9)
    assert all(len(set(row)) == k for row in near.tolist())


@pytest.mark.parametrize("p", EXACT)
@pytest.mark.parametrize("width", [2, 1000])
def test_large_trees_equal_linear_scan(small_parts, p, width):
    rng = np.random.default_rng(0)
    X, Q = (rng.integers(width, size=(n, 3)).astype(float) for n in (500, 60))
    for k in (1, 5, 40):
        far, near = KDTree(X, 8, p=p).query(Q, k)
        wanted_far, wanted = scan(X, Q, k, p)
        np.testing.assert_array_equal(near, wanted)
        np.testing.assert_allclose(far, wanted_far, rtol=1e-14)


@pytest.mark.parametrize("p", EXACT)
@settings(max_examples=25, deadline=None)
@given(problem=problems(), r=st.integers(0, 60))
def test_radius_equals_linear_scan(problem, r, p):
    X, Q, _ = problem
    tree = KDTree(X, 4, p=p)
    far = distances(Q, X, p)
    indptr, found, apart = tree.radius(Q, r)
    np.testing.assert_array_equal(tree.query_radius(Q, r, count_only=True), np.diff(indptr))
    indices, sorted_apart = tree.query_radius(Q, r, return_distance=True, sort_results=True)
    for i in range(len(Q)):
        here = slice(indptr[i], indptr[i + 1])
        assert sorted(found[here]) == np.flatnonzero(far[i] <= r).tolist()
        np.testing.assert_allclose(apart[here], far[i, found[here]], rtol=1e-14)
        assert indices[i].tolist() == sorted(found[here], key=lambda j: (far[i, j], j))
        assert (np.diff(sorted_apart[i]) >= 0).all()
        assert tree.query_radius(Q[i : i + 1], r)[0].tolist() == sorted(found[here])


def test_a_radius_for_each_query(small_parts):
    X = np.random.default_rng(0).normal(size=(300, 2))
    r = np.linspace(0, 2, 50)
    indptr, found, _ = KDTree(X).radius(X[:50], r)
    for i in range(50):
        inside = np.flatnonzero(cdist(X[i : i + 1], X)[0] <= r[i])
        assert sorted(found[indptr[i] : indptr[i + 1]]) == inside.tolist()


def test_rows_on_the_rim_are_within():
    X = np.random.default_rng(1).normal(size=(200, 3))
    far, near = KDTree(X, 4).query(X, 6)
    indptr, found, apart = KDTree(X, 4).radius(X, far[:, -1])
    assert (np.diff(indptr) == 6).all()
    np.testing.assert_array_equal(np.sort(found.reshape(-1, 6)), np.sort(near))
    np.testing.assert_array_equal(np.sort(apart.reshape(-1, 6)), far)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scipy_and_sklearn_agree(dtype):
    from scipy.spatial import cKDTree
    from sklearn.neighbors import KDTree as Theirs

    rng = np.random.default_rng(0)
    X, Q = (rng.standard_normal((n, 3)).astype(dtype) for n in ((40_000, 3_000) if JIT else (400, 30)))
    far, near = KDTree(X).query(Q, 7)
    wanted_far, wanted = cKDTree(X).query(Q, 7)
    np.testing.assert_allclose(far, wanted_far, rtol=1e-12)
    np.testing.assert_array_equal(near, wanted)
    for p in (1.0, 3.0):
        far, near = KDTree(X, p=p).query(Q[:200], 40)
        wanted_far, wanted = cKDTree(X).query(Q[:200], 40, p=p)
        np.testing.assert_allclose(far, wanted_far, rtol=1e-12)
        np.testing.assert_array_equal(near, wanted)
    counts = Theirs(X.astype(np.float64)).query_radius(Q.astype(np.float64), 0.2, count_only=True)
    np.testing.assert_array_equal(KDTree(X).query_radius(Q, 0.2, count_only=True), counts)


@pytest.mark.parametrize("p", [1, 2, 3, np.inf])
def test_weights_of_coordinates(p):
    from tercet.metrics.distance import minkowski

    rng = np.random.default_rng(0)
    X, Q, w = rng.normal(size=(80, 4)), rng.normal(size=(9, 4)), [0.0, 1.0, 5.0, 0.3]
    far, near = KDTree(X, 5, p=p, w=w).query(Q, 4)
    wanted = np.sort([[minkowski(q, x, p, w) for x in X] for q in Q])[:, :4]
    np.testing.assert_allclose(far, wanted, rtol=1e-12)
    np.testing.assert_allclose(far, minkowski(Q[:, None], X[near], p, w), rtol=1e-12)


@pytest.mark.parametrize(
    ("metric", "p"), [("l1", 1), ("euclidean", 2), ("chebyshev", np.inf), ("minkowski", 3)]
)
def test_metrics_by_name(metric, p):
    X = np.random.default_rng(0).normal(size=(50, 2))
    for by_name, by_power in zip(KDTree(X, metric=metric, p=3).query(X, 3), KDTree(X, p=p).query(X, 3)):
        np.testing.assert_array_equal(by_name, by_power)


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_threads_change_nothing(small_parts, n_jobs):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(400, 3)), rng.normal(size=(90, 3))
    one, many = KDTree(X, n_jobs=1), KDTree(X, n_jobs=n_jobs)
    for a, b in zip(
        (*one._tree.nodes, one._tree.order, one._tree.box),
        (*many._tree.nodes, many._tree.order, many._tree.box),
    ):
        np.testing.assert_array_equal(a, b)
    for a, b in zip((*one.query(Q, 4), *one.radius(Q, 0.5)), (*many.query(Q, 4), *many.radius(Q, 0.5))):
        np.testing.assert_array_equal(a, b)


def test_leaf_size_changes_nothing():
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(200, 3)), rng.normal(size=(50, 3))
    wanted = KDTree(X, 1).query(Q, 30)
    for leaf_size in (7, 1000):
        for a, b in zip(wanted, KDTree(X, leaf_size).query(Q, 30)):
            np.testing.assert_array_equal(a, b)


def test_long_searches_come_back_and_go_on(monkeypatch):
    monkeypatch.setattr(kd_kernels, "WORK", 5000)  # compiled kernels keep theirs, and have more to look at
    n, d, queries = (20_000, 20, 500) if JIT else (60, 20, 30)
    rng = np.random.default_rng(0)
    X, Q = rng.standard_normal((n, d)), rng.standard_normal((queries, d))
    far, near = KDTree(X).query(Q, 3)
    wanted_far, wanted = scan(X, Q, 3, 2)
    np.testing.assert_array_equal(near, wanted)
    np.testing.assert_array_equal(
        KDTree(X).query_radius(Q, far[:, 1] * 1.0001, count_only=True),
        [np.sum(row <= 1.0001 * limit) for row, limit in zip(distances(Q, X, 2), wanted_far[:, 1])],
    )


def test_equal_rows_by_the_thousand():
    n = 20_000 if JIT else 300
    X = np.repeat([[1.0, 2.0], [3.0, 4.0], [1.0, 5.0]], n, axis=0)
    tree = KDTree(X)
    assert tree._tree.depth <= 4
    far, near = tree.query([[1.0, 2.0], [3.1, 4.0]], 5)
    np.testing.assert_array_equal(near, [np.arange(5), n + np.arange(5)])
    np.testing.assert_allclose(far, [[0] * 5, [0.1] * 5])
    far, near = tree.query([[1.0, 2.0]], n + 2)
    np.testing.assert_array_equal(near[0], np.arange(n + 2))
    assert tree.query_radius([[1.0, 2.0]], 1.0, count_only=True) == n


@pytest.mark.parametrize("heavy", [0.0, 1.0, 2.0])
def test_a_heavy_value_among_others(small_parts, heavy):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [np.where(rng.random(600) < 0.8, heavy, rng.integers(3, size=600)), rng.integers(3, size=600)]
    )
    far, near = KDTree(X.astype(float), 4).query(X, 9)
    np.testing.assert_array_equal(near, scan(X, X, 9, 2)[1])
    assert far.max() <= 2


def test_deep_trees_need_no_recursion():
    # Each row is twice as far from the last as the one before: midpoints would cut off one row at a time.
    X = 2.0 ** -np.arange(0, 1000, 2)[:, None]
    near = KDTree(X, 1, p=1).query(X, 2, return_distance=False)
    np.testing.assert_array_equal(near[:, 0], np.arange(500))
    np.testing.assert_array_equal(near[:-1, 1], np.arange(1, 500))
    assert KDTree(X, 1)._tree.depth <= 11


def test_periodic_rows_are_sampled_fairly(small_parts):
    X = np.array([[i % 8, i // 8 % 8, i // 64] for i in range(512)], dtype=float)
    tree = KDTree(X, 4)
    sizes = np.diff(tree._tree.top.sort(X, None)[1])
    assert sizes.max() <= 4 * 32
    np.testing.assert_array_equal(tree.query(X, 7)[1], scan(X, X, 7, 2)[1])


@pytest.mark.parametrize("scale", [1e-100, 1e200])
@pytest.mark.parametrize("p", [1, 2, 3, np.inf])
def test_very_small_and_very_large_numbers(scale, p):
    X = np.random.default_rng(0).normal(size=(100, 2))
    far, near = KDTree(X, 4, p=p).query(X, 3)
    scaled_far, scaled_near = KDTree(scale * X, 4, p=p).query(scale * X, 3)
    np.testing.assert_array_equal(scaled_near, near)
    np.testing.assert_allclose(scaled_far, scale * far, rtol=1e-9)


def test_all_kinds_of_arrays():
    X = np.random.default_rng(0).integers(9, size=(60, 3))
    wanted = KDTree(X).query(X, 4)
    frozen = X.astype(float)
    frozen.setflags(write=False)
    for kind in (X.tolist(), np.asfortranarray(X), X.astype(float)[::1], frozen, X.astype(np.float32)):
        for a, b in zip(KDTree(kind).query(kind, 4), wanted):
            np.testing.assert_array_equal(a, b)
    far, near = KDTree(X).query(np.empty((0, 3)), 2)
    assert far.shape == near.shape == (0, 2)
    assert KDTree(X).radius(np.empty((0, 3)), 1.0)[0].tolist() == [0]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_copies_answer_alike(again):
    X = np.random.default_rng(0).normal(size=(60, 3))
    tree = KDTree(X, 5, p=3, w=[1, 2, 3])
    for a, b in zip(tree.query(X, 4), again(tree).query(X, 4)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: KDTree(X).query(X, 7), "k=7 neighbours .* n=6 rows"),
        (lambda X: KDTree(X).query(X, 0), "k must be an integer"),
        (lambda X: KDTree(X).query(X, 1.5), "k must be an integer"),
        (lambda X: KDTree(X).query([[1, 2, 3]]), "X has 3 columns, and the rows of the tree have 2"),
        (lambda X: KDTree(X).query([[1, np.nan]]), "NaN"),
        (lambda X: KDTree([[np.inf, 1]]), "infinity"),
        (lambda X: KDTree(X, p=0.5), "p must be a number in"),
        (lambda X: KDTree(X, metric="cosine"), "metric must be one of .* got 'cosine'"),
        (lambda X: KDTree(X, leaf_size=0), "leaf_size must be an integer in .* got 0"),
        (lambda X: KDTree(X, w=[1, -1]), "w must be 2 finite weights"),
        (lambda X: KDTree(X).radius(X, -1), "r must not be negative; got -1"),
        (lambda X: KDTree(X).query_radius(X, np.nan, count_only=True), "r must not be negative; got nan"),
        (lambda X: BalancedKDTree(X).query([1, 2], 7), "k=7 neighbours .* n=6 rows"),
        (lambda X: BalancedKDTree(X).query([1, 2, 3]), "q must have 2 coordinates"),
        (lambda X: BalancedKDTree(X, p=0.9), "p must be a number in"),
    ],
)
def test_wrong_values_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        change(T)


def test_a_single_row():
    far, near = KDTree([[1.0, 2.0]]).query([[4.0, 6.0]])
    assert (far.tolist(), near.tolist()) == ([[5.0]], [[0]])


def test_every_row_is_in_one_leaf(small_parts):
    tree = KDTree(np.random.default_rng(0).normal(size=(777, 4)), 5)
    axis, link, low, high = tree._tree.nodes
    reached, waiting = [], [0]
    while waiting:
        t = waiting.pop()
        if axis[t] >= 0:
            assert low[t] <= high[t]
            waiting += link[t].tolist()
        else:
            assert link[t, 1] - link[t, 0] <= 5
            reached += tree._tree.order[link[t, 0] : link[t, 1]].tolist()
    assert sorted(reached) == list(range(777))


@settings(max_examples=30, deadline=None)
@given(values=st.lists(st.integers(-3, 3), min_size=1, max_size=40))
def test_upper_median(values):
    points = np.array(values, dtype=float)[:, None]
    if points.min() == points.max():
        return
    here = np.arange(len(points), dtype=np.int32)
    cut = kd_kernels.upper_median(points, here, 0, np.empty(len(points)), points.min())
    middle = sorted(values)[len(values) // 2]
    assert cut == (middle if middle > min(values) else min(v for v in values if v > min(values)))


# --- the text's tree ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", EXACT)
@settings(max_examples=25, deadline=None)
@given(problem=problems(1, 4))
def test_balanced_tree_equals_linear_scan(problem, p):
    X, Q, k = problem
    tree = BalancedKDTree(X, p=p)
    wanted_far, wanted = scan(X, Q, k, p)
    for q, far, near in zip(Q, wanted_far, wanted):
        got_far, got = tree.query(q, k)
        np.testing.assert_allclose(got_far, far, rtol=1e-12)
        np.testing.assert_array_equal(got, near)


@settings(max_examples=25, deadline=None)
@given(problem=problems(1, 4))
def test_balanced_tree_is_balanced_and_cuts_in_turn(problem):
    X, _, _ = problem
    tree = BalancedKDTree(X)
    assert sorted(tree.row) == list(range(len(X)))
    regions, deepest, waiting = tree.regions(), 0, [(0, 0)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        assert tree.axis[node] == depth % X.shape[1]
        x = X[tree.row[node]]
        assert (regions[node, 0] <= x).all()
        assert (x <= regions[node, 1]).all()
        waiting += [(child, depth + 1) for child in (tree.left[node], tree.right[node]) if child >= 0]
    assert deepest == int(np.log2(len(X)))


def test_trace_tells_the_course_of_a_search():
    tree = BalancedKDTree(T)
    far, rows, trace = tree.query([9, 2], k=2, trace=True)
    assert rows.tolist() == [4, 5]
    assert all(step.radius == np.inf for step in trace.steps[:3])
    radii = [step.radius for step in trace.steps]
    assert radii == sorted(radii, reverse=True)
    assert radii[-1] == far[-1]
    assert len(trace.visited) == len(set(trace.visited))
    assert not set(trace.visited) & set(trace.pruned)
    assert str(trace).count("\n") == len(trace.steps)
    assert repr(tree) == "BalancedKDTree(6 rows of 2 coordinates, depth 3)"


def test_random_rows_need_few_visits():
    rng = np.random.default_rng(0)
    tree = BalancedKDTree(rng.random((1000, 2)))
    visits = [len(tree.query(q, trace=True)[2].visited) for q in rng.random((30, 2))]
    assert np.mean(visits) < 40


def test_leaves_larger_than_any_memory():
    rows = np.random.default_rng(0).normal(size=(50, 2))
    assert np.array_equal(KDTree(rows, leaf_size=10**13).query(rows, 3)[1], KDTree(rows).query(rows, 3)[1])


def test_the_number_of_neighbours_is_an_integer():
    with pytest.raises(ValueError, match=r"k=1.5 neighbours of n=2 rows: k must be an integer"):
        BalancedKDTree([[1, 2], [2, 2]]).query([0, 0], k=1.5)


@pytest.mark.parametrize("p", [1, 2, 3, np.inf])
def test_the_plain_tree_is_the_oracle_of_the_flat_one(p):
    rng = np.random.default_rng(5)
    X, Q = rng.integers(0, 6, size=(60, 3)).astype(float), rng.random((12, 3)) * 6
    plain, (far, near) = BalancedKDTree(X, p=p), KDTree(X, leaf_size=4, p=p).query(Q, 5)
    for q, distances, rows in zip(Q, far, near):
        expected = plain.query(q, 5)
        np.testing.assert_allclose(distances, expected[0])
        np.testing.assert_array_equal(rows, expected[1])

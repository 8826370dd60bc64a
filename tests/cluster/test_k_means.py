"""k-means: the theorems, the text's rules, and the same answers as the peer."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn import cluster as peer
from sklearn.callback import ScoringMonitor
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from tercet import EarlyStopping
from tercet.cluster import KMeans, hierarchical_centers, kmeans_plusplus, lloyd_step
from tercet.cluster._engine import nearest_centres
from tercet.cluster._engine.nearest_centres import nearest_centre
from tercet.core import chunks
from tercet.core.steps import ConvergenceWarning

ALGORITHMS = ["lloyd", "elkan", "hamerly"]
every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


def blobs(n=600, d=5, k=6, spread=2.0, seed=0):
    return make_blobs(n, d, centers=k, cluster_std=spread, random_state=seed)[0]


def distances(X, centres):
    return np.sqrt(((X[:, None] - centres) ** 2).sum(axis=2))


def inertia(X, labels, centres, weight=None):
    return float((((X - centres[labels]) ** 2).sum(axis=1) * (1 if weight is None else weight)).sum())


# P14-7 --------------------------------------------------------------------------------------------------------


@every_algorithm
@pytest.mark.parametrize("seed", range(5))
def test_energy_never_rises_and_the_end_is_a_fixed_point(algorithm, seed):
    X = blobs(seed=seed)
    model = KMeans(9, init="random", n_init=1, tol=0, algorithm=algorithm, random_state=seed).fit(X)
    energies = np.array(model.history_["inertia"])
    assert (np.diff(energies) <= 1e-9 * energies[0]).all()
    assert model.history_["moved"][-1] == 0
    means = np.stack([X[model.labels_ == c].mean(axis=0) for c in range(9)])
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-12)
    np.testing.assert_array_equal(model.labels_, distances(X, means).argmin(axis=1))
    np.testing.assert_allclose(model.inertia_, inertia(X, model.labels_, means), rtol=1e-12)
    np.testing.assert_allclose(energies[-1], model.inertia_, rtol=1e-9)


def test_energy_falls_in_both_half_steps():
    X = blobs()
    centres = X[:7]
    last = np.inf
    for _ in range(6):
        model = quiet(KMeans(7, init=centres, max_iter=1, tol=0), X)
        assigned = distances(X, centres).argmin(axis=1)
        after_assignment = inertia(X, assigned, centres)
        assert after_assignment <= last * (1 + 1e-12)
        after_update = model.history_["inertia"][0]
        assert after_update <= after_assignment * (1 + 1e-12)
        centres, last = model.cluster_centers_, after_update


def quiet(model, X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, **options)


# P14-8 --------------------------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.integers(2, 6))
@settings(max_examples=25, deadline=None)
def test_scatter_splits_into_within_and_between(seed, k):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(40, 3)), rng.uniform(0.5, 2, size=40)
    model = KMeans(k, n_init=1, random_state=seed, tol=0).fit(X, sample_weight=weight)
    mean = np.average(X, axis=0, weights=weight)
    whole = (weight * ((X - mean) ** 2).sum(axis=1)).sum()
    mass = np.bincount(model.labels_, weight, minlength=k)
    between = (mass * ((model.cluster_centers_ - mean) ** 2).sum(axis=1)).sum()
    np.testing.assert_allclose(whole, model.inertia_ + between, rtol=1e-10)


# P14-9 --------------------------------------------------------------------------------------------------------


def partitions(n, k):
    """All ways to put n things into k groups, none of them empty."""

    def grow(labels, used):
        if len(labels) == n:
            if used == k:
                yield labels
            return
        for c in range(min(used + 1, k)):
            yield from grow([*labels, c], max(used, c + 1))

    return list(grow([], 0))


@pytest.mark.parametrize(("n", "k", "count"), [(5, 2, 15), (7, 3, 301), (8, 4, 1701)])
def test_restarts_reach_but_never_beat_the_best_partition(n, k, count):
    X = np.random.default_rng(n).normal(size=(n, 2))
    every = np.array(partitions(n, k))
    assert len(every) == count
    best = min(
        sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in range(k)) for labels in every
    )
    found = [KMeans(k, init="random", n_init=m, random_state=0, tol=0).fit(X).inertia_ for m in (1, 50)]
    assert min(found) >= best * (1 - 1e-12)
    np.testing.assert_allclose(found[1], best, rtol=1e-9)


# The peer -----------------------------------------------------------------------------------------------------


@every_algorithm
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize(("n", "d", "k"), [(1500, 2, 7), (900, 20, 30), (400, 5, 80)])
def test_same_start_same_clusters_as_scikit_learn(algorithm, dtype, form, n, d, k):
    X = blobs(n, d, k // 2, spread=3.0).astype(dtype)
    start = X[np.random.default_rng(1).choice(n, k, replace=False)]
    theirs = peer.KMeans(k, init=start, n_init=1, tol=1e-4).fit(X)
    given = sparse.csr_array(X) if form == "sparse" else X
    ours = KMeans(k, init=start, algorithm=algorithm).fit(given)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.labels_.dtype == theirs.labels_.dtype
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.cluster_centers_.dtype == dtype
    close = {"rtol": 1e-9} if dtype == np.float64 else {"rtol": 1e-4, "atol": 1e-4}
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, **close)
    np.testing.assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-9 if dtype == np.float64 else 1e-5)
    np.testing.assert_allclose(ours.transform(given), theirs.transform(given), **close)
    np.testing.assert_allclose(ours.score(given), theirs.score(given), rtol=1e-5)


def test_weights_agree_with_scikit_learn():
    X = blobs()
    weight = np.random.default_rng(0).integers(0, 4, size=len(X)).astype(float)
    start = X[weight > 0][:6]
    theirs = peer.KMeans(6, init=start, n_init=1).fit(X, sample_weight=weight)
    for algorithm in ALGORITHMS:
        ours = KMeans(6, init=start, algorithm=algorithm).fit(X, sample_weight=weight)
        np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-9)
        np.testing.assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-9)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_starts_are_as_good_as_the_peers(init):
    X = blobs(n=800, k=12, spread=0.7)
    ours = [KMeans(12, init=init, n_init=1, random_state=s).fit(X).inertia_ for s in range(20)]
    theirs = [peer.KMeans(12, init=init, n_init=1, random_state=s).fit(X).inertia_ for s in range(20)]
    assert np.median(ours) <= np.median(theirs) * 1.1


# Precision ----------------------------------------------------------------------------------------------------


@every_algorithm
def test_data_far_from_the_origin(algorithm):
    X = blobs(spread=0.5)
    near = KMeans(6, init=X[:6], algorithm=algorithm).fit(X)
    far = KMeans(6, init=X[:6] + 1e6, algorithm=algorithm).fit(X + 1e6)
    np.testing.assert_array_equal(near.labels_, far.labels_)
    np.testing.assert_allclose(near.inertia_, far.inertia_, rtol=1e-6)


@every_algorithm
@pytest.mark.parametrize("scale", [1e-30, 1e-21, 1e25, 1e60])
def test_units_that_single_precision_does_not_have(algorithm, scale):
    X = blobs(spread=4.0)
    plain = KMeans(20, init=X[:20], tol=0, algorithm=algorithm).fit(X)
    model = KMeans(20, init=X[:20] * scale, tol=0, algorithm=algorithm).fit(X * scale)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.predict(X * scale), plain.labels_)


@every_algorithm
def test_one_feature_that_drowns_the_others_in_single_precision(algorithm):
    X = np.hstack([blobs(spread=0.5), 1e6 * np.random.default_rng(0).normal(size=(600, 1))])
    start = X[:40]
    theirs = peer.KMeans(40, init=start, n_init=1).fit(X)
    ours = KMeans(40, init=start, algorithm=algorithm).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@every_algorithm
def test_ties_go_to_the_first_centre(algorithm):
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])  # 2 is as far from 4 as from 0
    for start, centres in {(4, 0): [3.0, 0.5], (0, 4): [1.0, 3.5]}.items():
        model = quiet(KMeans(2, init=X[list(start)], max_iter=1, tol=0, algorithm=algorithm), X)
        assert model.cluster_centers_.ravel().tolist() == centres
    model.cluster_centers_ = np.array([[1.0], [1.0]])
    assert model.predict(X).tolist() == [0] * 5


# Empty clusters, duplicates -----------------------------------------------------------------------------------


@every_algorithm
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_an_empty_cluster_gets_the_farthest_row(algorithm, form):
    X = np.array([[0.0, 0], [0, 1], [10, 0], [10, 1], [30, 0]])
    start = np.array([[0.0, 0], [500, 500], [10, 0]])
    given = sparse.csr_array(X) if form == "sparse" else X
    model = KMeans(3, init=start, algorithm=algorithm, tol=0).fit(given)
    np.testing.assert_array_equal(model.labels_, [0, 0, 2, 2, 1])
    np.testing.assert_allclose(model.inertia_, 1.0)
    energies = np.array(model.history_["inertia"])
    assert (np.diff(energies) <= 1e-12).all()


@every_algorithm
@pytest.mark.parametrize("seed", range(4))
def test_many_empty_clusters(algorithm, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    start = np.vstack([X[:2], 100 + rng.normal(size=(8, 3))])
    model = KMeans(10, init=start, algorithm=algorithm, tol=0).fit(X)
    assert np.unique(model.labels_).size == 10
    theirs = peer.KMeans(10, init=start, n_init=1, tol=0).fit(X)
    assert model.inertia_ <= theirs.inertia_ * 1.3
    np.testing.assert_array_equal(model.labels_, model.predict(X))


@every_algorithm
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_fewer_different_rows_than_clusters(algorithm, init):
    X = np.repeat([[0.0, 1], [2, 3], [5, 5]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match="distinct clusters .3. found"):
        model = KMeans(5, init=init, algorithm=algorithm, random_state=0).fit(X)
    assert model.inertia_ == 0
    assert np.isfinite(model.cluster_centers_).all()


@given(arrays(np.float64, (12, 2), elements=st.integers(-3, 3).map(float)), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_small_integer_tables(X, k):
    """Ties, duplicates and empty clusters in every mixture: every end is a fixed point."""
    for algorithm in ALGORITHMS:
        model = quiet(KMeans(k, init="random", n_init=1, tol=0, random_state=0, algorithm=algorithm), X)
        gaps = distances(X, model.cluster_centers_)
        np.testing.assert_allclose(gaps[np.arange(12), model.labels_], gaps.min(axis=1), atol=1e-12)
        for c in np.unique(model.labels_):
            np.testing.assert_allclose(
                model.cluster_centers_[c], X[model.labels_ == c].mean(axis=0), atol=1e-12
            )


# Starts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_the_order_of_rows_does_not_matter(init):
    X = blobs()
    order = np.random.default_rng(0).permutation(len(X))
    one = KMeans(6, init=init, n_init=2, random_state=3).fit(X)
    other = KMeans(6, init=init, n_init=2, random_state=3).fit(X[order])
    np.testing.assert_array_equal(one.labels_[order], other.labels_)


def test_row_numbers_points_and_functions_as_start():
    X = blobs()
    expected = KMeans(3, init=X[[5, 1, 8]]).fit(X).labels_
    for init in ([5, 1, 8], np.array([5, 1, 8]), lambda X, n_clusters, random_state: X[[5, 1, 8]]):
        np.testing.assert_array_equal(KMeans(3, init=init, n_init=1).fit(X).labels_, expected)
    np.testing.assert_array_equal(
        KMeans(3, init=sparse.csr_array(X[[5, 1, 8]])).fit(sparse.csr_array(X)).labels_, expected
    )


def test_wrong_starts_are_named():
    X = blobs()
    with pytest.raises(ValueError, match=r"initial centers \(2, 5\) does not match the number of clusters 3"):
        KMeans(3, init=X[:2]).fit(X)
    with pytest.raises(ValueError, match="3 numbers from 0 to 599"):
        KMeans(3, init=[0, 1, 600]).fit(X)
    with pytest.raises(ValueError, match="n_samples=5 should be >= n_clusters=8"):
        KMeans().fit(X[:5])
    with pytest.warns(RuntimeWarning, match="instead of n_init=4"):
        KMeans(3, init=[0, 1, 2], n_init=4).fit(X)


def test_hierarchical_start_takes_the_rows_nearest_to_the_middle():
    X = np.array([[0.0, 0], [0, 1], [0.1, 0.5], [9, 9], [9, 8], [9.2, 8.4]])
    np.testing.assert_array_equal(hierarchical_centers(X, 2), X[[2, 5]])
    model = KMeans(2, init="hierarchical").fit(X)
    np.testing.assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1])


def test_random_starts_are_different_rows():
    X = np.repeat(np.arange(5.0)[:, None], 50, axis=0)
    for seed in range(10):
        model = KMeans(5, init="random", n_init=1, random_state=seed).fit(X)
        assert model.inertia_ == 0


def test_plusplus_prefers_far_rows_and_heavy_ones():
    X = np.array([[0.0], [0.1], [0.2], [100.0]])
    for seed in range(20):
        centers, indices = kmeans_plusplus(X, 2, random_state=seed)
        assert 3 in indices
        np.testing.assert_array_equal(X[indices], centers)
        _, indices = kmeans_plusplus(X, 2, random_state=seed, sample_weight=[1, 0, 0, 1])
        assert sorted(indices) == [0, 3]


# The course of a fit ------------------------------------------------------------------------------------------


def test_starts_are_counted_in_the_history():
    model = KMeans(6, init="random", n_init=3, random_state=0, tol=0).fit(blobs())
    starts, energies = model.history_["start"], model.history_["inertia"]
    assert sorted(set(starts)) == [0, 1, 2]
    np.testing.assert_allclose(model.inertia_, min(energies), rtol=1e-9)
    # Two starts may reach the same partition; which of them is kept, rounding decides.
    ends = dict(zip(starts, energies))  # the last inertia of each
    best = [start for start, energy in ends.items() if energy <= min(energies) * (1 + 1e-9)]
    assert model.n_iter_ in [starts.count(start) for start in best]


def test_a_fit_that_is_cut_short_says_so_and_is_consistent():
    X = blobs(spread=4.0)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 passes"):
        model = KMeans(8, init=X[:8], max_iter=2, tol=0).fit(X)
    assert model.n_iter_ == 2
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    np.testing.assert_allclose(model.inertia_, -model.score(X), rtol=1e-12)


def test_early_stopping_without_labels():
    X = blobs(spread=4.0)
    model = KMeans(8, init="random", n_init=1, random_state=0, tol=0)
    model.set_callbacks(EarlyStopping(patience=1)).fit(X)
    assert model.validation_scores_[model.best_iter_ - 1] == max(model.validation_scores_)
    assert len(model.labels_) == 540, "a tenth of the rows was held out"


def test_callbacks_may_score_by_a_target_that_learning_ignores():
    X, y = make_blobs(200, 2, centers=3, random_state=0)
    monitor = ScoringMonitor(scoring="adjusted_rand_score")
    model = KMeans(3, random_state=0).set_callbacks(monitor).fit(X, y)
    logs = [row["adjusted_rand_score"] for row in monitor.get_logs().data if row["task_name"] == "fit"]
    assert logs == [adjusted_rand_score(y, model.labels_)]
    np.testing.assert_array_equal(model.labels_, KMeans(3, random_state=0).fit(X, "no target").labels_)


@every_algorithm
def test_many_chunks_and_threads_give_the_same_bits(algorithm, monkeypatch):
    X = blobs(n=3000, d=7)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 13)
    models = [KMeans(9, random_state=0, algorithm=algorithm, n_jobs=n).fit(X) for n in (1, 2, 5)]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].cluster_centers_, other.cluster_centers_)
        np.testing.assert_array_equal(models[0].labels_, other.labels_)
        assert models[0].inertia_ == other.inertia_


def test_names_of_the_distances():
    model = KMeans(3, random_state=0).fit(blobs())
    assert model.get_feature_names_out().tolist() == ["kmeans0", "kmeans1", "kmeans2"]


# The plain form ------------------------------------------------------------------------------------------------


@every_algorithm
@pytest.mark.parametrize("weighted", [False, True])
def test_every_pass_is_the_plain_one(algorithm, weighted):
    X = blobs(300, 3)
    weight = np.random.default_rng(0).integers(0, 4, size=300).astype(float) if weighted else None
    centres = X[:5]
    for passes in range(1, 6):
        labels, centres = lloyd_step(X, centres, weight)
        model = quiet(
            KMeans(5, init=X[:5], max_iter=passes, tol=0, algorithm=algorithm), X, sample_weight=weight
        )
        np.testing.assert_allclose(model.cluster_centers_, centres, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(model.labels_, lloyd_step(X, centres)[0])
    assert labels.shape == (300,)


def test_the_plain_pass_leaves_an_empty_cluster_where_it_was():
    labels, centres = lloyd_step([[0.0], [1.0]], [[0.0], [9.0]])
    np.testing.assert_array_equal(labels, [0, 0])
    np.testing.assert_array_equal(centres, [[0.5], [9.0]])


@pytest.mark.parametrize("k", [2, 8, 11])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest_centres_of_sparse_rows_and_of_any_scale(k, dtype, monkeypatch):
    monkeypatch.setattr(nearest_centres, "FEW", 0)
    rng = np.random.default_rng(k)
    X = (rng.poisson(0.5, (120, 12)) * rng.normal(size=(120, 12))).astype(dtype)
    centres = rng.normal(size=(k, 12)).astype(dtype)
    expected = ((X[:, None].astype(float) - centres.astype(float)) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest_centre(X, centres), expected)
    np.testing.assert_array_equal(nearest_centre(sparse.csr_array(X), centres), expected)
    for scale in (2.0**-600, 2.0**600):  # squares vanish or overflow
        found = nearest_centre(X.astype(float) * scale, centres.astype(float) * scale)
        np.testing.assert_array_equal(found, expected)
    X[:, 0], centres[:, 0] = 0.0, 0.0
    X[5, 0] = 1e30
    assert nearest_centre(X.astype(float) * 1e130, centres.astype(float)).shape == (120,)


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_distances_of_single_precision_neither_overflow_nor_vanish(size):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 4.0]])
    scaled = (X * size).astype(np.float32)
    with np.errstate(over="raise"):
        found = KMeans(2, random_state=0).fit(scaled).transform(scaled)
    expected = KMeans(2, random_state=0).fit(X).transform(X)
    np.testing.assert_allclose(found / size, expected, rtol=1e-5, atol=1e-5)


# Speed and memory that change nothing ------------------------------------------------------------------------


def test_pieces_of_a_prediction_keep_several_threads_at_work(monkeypatch):
    """Labels do not depend on how rows are cut; some ten thousand rows are more than one piece of work."""
    X = blobs(n=20_000, d=3)
    model = KMeans(8, random_state=0, max_iter=2, tol=1).fit(X)
    cuts = []
    real = nearest_centres.each

    def counted(function, chunks, *parameters, n_jobs=None):
        cuts.append(len(chunks))
        return real(function, chunks, *parameters, n_jobs=n_jobs)

    monkeypatch.setattr(nearest_centres, "each", counted)
    labels = model.predict(X)
    assert cuts == [5]
    monkeypatch.setattr(nearest_centres, "PIECE", 1 << 20)
    np.testing.assert_array_equal(model.predict(X), labels)
    np.testing.assert_array_equal(labels, distances(X, model.cluster_centers_).argmin(axis=1))


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_default_goes_over_to_bounds_and_ends_the_same(form, weighted, monkeypatch):
    monkeypatch.setattr(nearest_centres, "WORTH_BOUNDS", 0)
    monkeypatch.setattr(nearest_centres, "VERY_FEW_MOVES", 0.2)
    X = blobs(1500, 4, 10, spread=3.0)
    given = sparse.csr_array(X) if form == "sparse" else X
    weight = np.random.default_rng(0).integers(0, 3, size=1500).astype(float) if weighted else None
    started = []
    real = nearest_centres.Assignment._keep_bounds

    def counted(self, bounds):
        started.append(bounds)
        real(self, bounds)

    monkeypatch.setattr(nearest_centres.Assignment, "_keep_bounds", counted)
    start = X[:12] if weight is None else X[weight > 0][:12]
    adaptive = KMeans(12, init=start, tol=0).fit(given, sample_weight=weight)
    assert 1 in started
    monkeypatch.setattr(nearest_centres, "VERY_FEW_MOVES", 0.0)
    plain = KMeans(12, init=start, tol=0).fit(given, sample_weight=weight)
    np.testing.assert_array_equal(adaptive.labels_, plain.labels_)
    np.testing.assert_allclose(adaptive.cluster_centers_, plain.cluster_centers_, rtol=1e-12)
    assert adaptive.n_iter_ == plain.n_iter_
    assert adaptive.history_["moved"] == plain.history_["moved"]


def test_no_large_copy_of_the_rows_is_made(monkeypatch):
    X = blobs(2000, 16, 8)
    tiled = KMeans(8, init=X[:8]).fit(X)
    monkeypatch.setattr(nearest_centres, "TILE_BYTES", 0)
    monkeypatch.setattr(nearest_centres, "tiled_chunk", None)  # not called
    bare = KMeans(8, init=X[:8]).fit(X)
    np.testing.assert_array_equal(bare.labels_, tiled.labels_)
    np.testing.assert_allclose(bare.cluster_centers_, tiled.cluster_centers_, rtol=1e-12)


def test_memory_of_a_fit_is_a_share_of_the_rows(monkeypatch):
    import tracemalloc

    X = blobs(30_000, 40, 5)
    monkeypatch.setattr(nearest_centres, "TILE_BYTES", 0)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 18)
    options = {"random_state": 0, "max_iter": 3, "tol": 1, "n_jobs": 1}
    KMeans(5, **options).fit(X)  # compiled, imported
    tracemalloc.start()
    KMeans(5, **options).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * X.nbytes

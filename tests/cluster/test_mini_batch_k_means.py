"""Mini-batch k-means: the update rule, the stopping rules, and starts anew."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import cluster as peer
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from tercet.cluster import KMeans, MiniBatchKMeans
from tercet.cluster.mini_batch_k_means import Patience, draw_rows, mini_batch_step


def blobs(n=600, d=3, k=4, spread=0.5, seed=0):
    return make_blobs(n, d, centers=k, cluster_std=spread, random_state=seed)[0]


def test_a_step_makes_each_centre_the_mean_of_all_rows_it_ever_got():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(30, 2)), rng.uniform(0.5, 2, size=30)
    start, counts = X[:3].copy(), np.array([2.0, 0.0, 5.0])
    nearest = ((X[:, None] - start) ** 2).sum(axis=2).argmin(axis=1)
    new, inertia = mini_batch_step(X, weight, start, counts)
    for c, before in enumerate([2.0, 0.0, 5.0]):
        mine = nearest == c
        mass = before + weight[mine].sum()
        np.testing.assert_allclose(new[c], (before * start[c] + weight[mine] @ X[mine]) / mass, rtol=1e-12)
        np.testing.assert_allclose(counts[c], mass)
    gaps = ((X - start[nearest]) ** 2).sum(axis=1)
    np.testing.assert_allclose(inertia, weight @ gaps, rtol=1e-12)
    sparse_counts = np.array([2.0, 0.0, 5.0])
    np.testing.assert_allclose(mini_batch_step(sparse.csr_array(X), weight, start, sparse_counts)[0], new)


def test_partial_fit_agrees_with_scikit_learn():
    X = blobs()
    options = {"init": X[:4], "n_init": 1, "reassignment_ratio": 0.0}
    ours, theirs = MiniBatchKMeans(4, **options), peer.MiniBatchKMeans(4, **options)
    for start in range(0, 600, 150):
        ours.partial_fit(X[start : start + 150])
        theirs.partial_fit(X[start : start + 150])
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-9)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.n_steps_ == theirs.n_steps_ == 4


def test_batches_end_near_the_clusters_of_k_means():
    X = blobs(n=3000)
    whole = KMeans(4, random_state=0).fit(X)
    model = MiniBatchKMeans(4, batch_size=256, random_state=0).fit(X)
    assert model.inertia_ <= 1.02 * whole.inertia_
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    np.testing.assert_allclose(-model.score(X), model.inertia_)
    assert model.n_iter_ == -(-model.n_steps_ * 256 // 3000)
    assert len(model.history_["inertia"]) == model.n_steps_
    model.partial_fit(X[:300])
    assert len(model.labels_) == 300


def test_weights_are_the_chance_to_be_drawn():
    uniform = np.array([0.0, 0.3, 0.99])
    assert draw_rows(uniform, 4, None).tolist() == [0, 1, 3]
    assert draw_rows(uniform, 4, np.cumsum(np.ones(4))).tolist() == [0, 1, 3]
    assert draw_rows(uniform, 4, np.cumsum([0.0, 0.0, 1.0, 0.0])).tolist() == [2, 2, 2]
    X = np.vstack([blobs(), np.full((50, 3), 1e6)])
    weight = np.r_[np.ones(600), np.zeros(50)]
    model = MiniBatchKMeans(4, random_state=0, n_init=3).fit(X, sample_weight=weight)
    assert np.abs(model.cluster_centers_).max() < 100


def test_stopping_rules():
    patience = Patience(0.5, 2.0, 2, 10, 100)
    assert patience.after(9.0, 5.0) == ""
    assert [patience.after(5.0, 5.0), patience.after(6.0, 5.0)] == ["", ""]
    assert patience.after(6.0, 5.0) == "lack of improvement in inertia"
    assert Patience(0.5, 2.0, None, 10, 100).after(9.0, 0.0) == ""
    patience = Patience(0.5, 2.0, None, 10, 100)
    patience.after(9.0, 5.0)
    assert patience.after(5.0, 1.0) == "small centers change"
    X = blobs()
    limited = MiniBatchKMeans(4, batch_size=60, max_iter=3, max_no_improvement=None, random_state=0).fit(X)
    assert limited.n_steps_ == 30
    assert limited.n_iter_ == 3


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_centres_that_get_no_rows_begin_anew(form):
    X = blobs(spread=0.2)
    start = np.vstack([X[:1], np.full((3, 3), 500.0)])
    given = sparse.csr_array(X) if form == "sparse" else X
    model = MiniBatchKMeans(4, init=start, batch_size=100, random_state=0).fit(given)
    assert np.abs(model.cluster_centers_).max() < 50
    kept = MiniBatchKMeans(4, init=start, batch_size=100, reassignment_ratio=0, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\) found"):
        kept.fit(given)
    assert np.abs(kept.cluster_centers_).max() == 500
    every = MiniBatchKMeans(4, batch_size=100, reassignment_ratio=2.0, random_state=0).fit(given)
    assert np.isfinite(every.cluster_centers_).all()


def test_without_labels_the_inertia_is_an_estimate():
    X = blobs()
    model = MiniBatchKMeans(4, compute_labels=False, random_state=0).fit(X)
    assert not hasattr(model, "labels_")
    np.testing.assert_allclose(model.inertia_, -model.score(X), rtol=0.2)


def test_bad_input():
    X = blobs(20)
    with pytest.raises(ValueError, match="n_samples=5 should be >= n_clusters=8"):
        MiniBatchKMeans().fit(X[:5])
    with pytest.raises(ValueError, match="n_samples=5 should be >= n_clusters=8"):
        MiniBatchKMeans().partial_fit(X[:5])
    with pytest.warns(RuntimeWarning, match="init_size=3 should be larger than n_clusters=4"):
        MiniBatchKMeans(4, init_size=3, random_state=0).fit(X)
    for scale in (1e-300, 1e300):
        with pytest.warns(RuntimeWarning, match="sum of squared distances is beyond floating point"):
            model = MiniBatchKMeans(2, random_state=0).fit(X * scale)
        plain = MiniBatchKMeans(2, random_state=0).fit(X)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        model = MiniBatchKMeans(2, random_state=0).partial_fit(X * scale).partial_fit(X * scale)
        assert np.isfinite(model.cluster_centers_).all()
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\) found"):
        same = MiniBatchKMeans(3, random_state=0).fit(np.ones((9, 1)))
    np.testing.assert_array_equal(same.cluster_centers_, np.ones((3, 1)))

"""Seeded k-means and constrained seed k-means."""

import numpy as np
import pytest
from scipy import sparse

from tercet.cluster import KMeans, SeededKMeans

LINE = np.array([[1.0], [2.0], [3.0], [8.0], [9.0], [10.0], [5.2]])
RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(30, 2)) + centre for centre in ([0, 0], [5, 0], [0, 5])])


@pytest.mark.parametrize(
    ("seeds", "labels", "means"),
    [
        ([0, -1, -1, -1, -1, 1, 0], [0, 0, 0, 1, 1, 1, 0], [2.8, 9]),
        ([0, -1, 1, -1, -1, 1, -1], [0, 0, 1, 1, 1, 1, 1], [1.5, 7.04]),
    ],
)
def test_the_line_of_the_text(seeds, labels, means):
    model = SeededKMeans(2).fit(LINE, seeds)
    assert model.labels_.tolist() == labels
    np.testing.assert_allclose(model.cluster_centers_.ravel(), means)


def test_seeds_stay_or_move():
    seeds = [0, -1, 1, -1, -1, 1, -1]  # the third row is far from the cluster of its label
    assert SeededKMeans(2).fit(LINE, seeds).labels_[2] == 1
    moved = SeededKMeans(2, algorithm="seeded").fit(LINE, seeds)
    assert moved.labels_.tolist() == [0, 0, 0, 1, 1, 1, 1]
    np.testing.assert_allclose(moved.cluster_centers_.ravel(), [2.0, 8.05])


def test_seeded_is_k_means_from_the_means_of_the_seeds():
    seeds = np.full(90, -1)
    seeds[[0, 1, 30, 31, 60]] = [0, 0, 1, 1, 2]
    start = np.array([X[:2].mean(axis=0), X[30:32].mean(axis=0), X[60]])
    mine, plain = SeededKMeans(algorithm="seeded").fit(X, seeds), KMeans(3, init=start).fit(X)
    np.testing.assert_array_equal(mine.labels_, plain.labels_)
    np.testing.assert_allclose(mine.cluster_centers_, plain.cluster_centers_, rtol=1e-12)


def test_labels_of_any_kind():
    names = np.full(90, None, dtype=object)
    names[[0, 30, 60]] = ["sea", "hill", "wood"]
    model = SeededKMeans().fit(X, names)
    assert model.seed_classes_.tolist() == ["hill", "sea", "wood"]
    assert model.labels_[[0, 30, 60]].tolist() == [1, 0, 2]
    numbers = np.full(90, -1)
    numbers[[0, 30, 60]] = [5, 7, 9]
    again = SeededKMeans().fit(X, numbers)
    assert again.seed_classes_.tolist() == [5, 7, 9]


def test_more_clusters_than_labels():
    seeds = np.full(90, -1)
    seeds[0] = 4
    model = SeededKMeans(3, random_state=0).fit(X, seeds)
    assert len(set(model.labels_)) == 3
    assert model.labels_[0] == 0
    none = SeededKMeans(3, random_state=0).fit(X, np.full(90, -1))
    np.testing.assert_array_equal(none.labels_, SeededKMeans(3, random_state=0).fit(X).labels_)
    assert none.seed_classes_.size == 0


def test_all_rows_labelled():
    truth = np.repeat([0, 1, 2], 30)
    model = SeededKMeans().fit(X, truth)
    np.testing.assert_array_equal(model.labels_, truth)
    np.testing.assert_allclose(model.cluster_centers_, [X[truth == c].mean(axis=0) for c in range(3)])


def test_weights_and_sparse_rows():
    seeds = np.full(90, -1)
    seeds[[0, 30, 60]] = [0, 1, 2]
    weight = RNG.integers(1, 4, 90)
    one = SeededKMeans(tol=0).fit(X, seeds, weight)
    other = SeededKMeans(tol=0).fit(np.repeat(X, weight, axis=0), np.repeat(seeds, weight))
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-12)
    rows = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, other = SeededKMeans().fit(rows, seeds), SeededKMeans().fit(sparse.csr_array(rows), seeds)
    np.testing.assert_array_equal(dense.labels_, other.labels_)
    np.testing.assert_allclose(dense.cluster_centers_, other.cluster_centers_, rtol=1e-12)


@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([0, 1], "y must hold a label for each of the 7 rows"),
        (np.zeros((7, 2)), "y must hold a label for each of the 7 rows"),
        (
            [0, 1, 2, -1, -1, -1, -1],
            "n_clusters=2 must be at least the number of labels of the seeds in y, 3",
        ),
    ],
)
def test_seeds_that_do_not_fit(y, says):
    with pytest.raises(ValueError, match=says):
        SeededKMeans(2).fit(LINE, y)


def test_too_few_rows():
    with pytest.raises(ValueError, match="n_clusters=8 needs as many rows"):
        SeededKMeans().fit(LINE)

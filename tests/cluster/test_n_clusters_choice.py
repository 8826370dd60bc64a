"""The number of clusters: every criterion finds the clouds that are there."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.datasets import make_blobs

from tercet.cluster import AgglomerativeClustering, KMeans, choose_n_clusters, within_cluster_scatter
from tercet.cluster._engine.cluster_distances import mean_diameter

CORNERS = np.array([[0.0, 0.0], [0.0, 20.0], [20.0, 0.0], [20.0, 20.0]])


STARTS = KMeans(n_init=2, random_state=0)


def clouds(n=40, spread=1.0, seed=0):
    return make_blobs(n, 2, centers=CORNERS, cluster_std=spread, random_state=seed)[0]


@pytest.mark.parametrize("criterion", ["mean_diameter", "elbow", "silhouette", "gap"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_every_criterion_finds_four_clouds(criterion, form):
    X = clouds()
    X = sparse.csr_array(X) if form == "sparse" else X
    ks = range(2 if criterion == "silhouette" else 1, 8)
    choice = choose_n_clusters(X, ks, criterion, estimator=STARTS, random_state=0, n_references=3)
    assert choice.n_clusters == 4
    assert choice.ks.tolist() == list(ks)
    assert np.isfinite(choice.values).all()
    assert (choice.errors is not None) == (criterion == "gap")


def apart(groups, columns, seed, gap=12.0):
    """Groups of 15 to 30 normal rows, whose centres are at least `gap` standard deviations apart."""
    rng = np.random.default_rng([groups, columns, seed])
    while True:
        centres = rng.uniform(0, 2 * gap * groups ** (1 / columns), (groups, columns))
        if pdist(centres).min() >= gap:
            break
    return np.vstack([c + rng.normal(size=(rng.integers(15, 31), columns)) for c in centres])


@pytest.mark.parametrize("criterion", ["mean_diameter", "elbow"])
@pytest.mark.parametrize("groups", [2, 3, 4, 5])
def test_clear_groups_are_found_by_default(criterion, groups):
    for columns, seed in [(1, 0), (2, 1), (3, 3)]:
        X = apart(groups, columns, seed)
        assert choose_n_clusters(X, range(1, 9), criterion, estimator=STARTS, n_jobs=1).n_clusters == groups
    # the number may also stand at an end of those that are tried, or between others that are not next to it
    for ks in (range(2, groups + 1), range(groups, 8), [1, groups, groups + 3, groups + 6]):
        assert choose_n_clusters(X, ks, criterion, estimator=STARTS, n_jobs=1).n_clusters == groups


def test_a_single_group_is_not_divided():
    for seed in range(4):
        X = np.random.default_rng(seed).normal(size=(60, 2))
        assert choose_n_clusters(X, range(1, 7), estimator=STARTS).n_clusters == 1
        assert choose_n_clusters(X, range(1, 7), estimator=STARTS, tol=0.0).n_clusters > 1


@pytest.mark.parametrize("criterion", ["mean_diameter", "elbow"])
@pytest.mark.parametrize("n", [50, 60])
def test_a_cloud_is_not_divided_at_the_last_numbers(criterion, n):
    """Where the mean diameter falls by chance as fast as between groups: 15 of 96 such answers were 3, 9 or 10."""
    starts = KMeans(n_init=5, random_state=0, n_jobs=1)
    for seed in range(12):
        X = np.random.default_rng(seed).normal(size=(n, 2))
        assert choose_n_clusters(X, criterion=criterion, estimator=starts, n_jobs=1).n_clusters == 1


@pytest.mark.parametrize("criterion", ["mean_diameter", "elbow"])
@pytest.mark.parametrize("groups", [5, 6, 7])
def test_many_groups_are_found(criterion, groups):
    """The decrease from k - 1 to k groups is the smaller the more there are; diameters miss some of many tables."""
    starts = KMeans(n_init=10, random_state=0, n_jobs=1)
    tables = [apart(groups, 2, seed, gap=10.0) for seed in range(6)]
    found = [choose_n_clusters(X, criterion=criterion, estimator=starts, n_jobs=1).n_clusters for X in tables]
    assert found.count(groups) >= (5 if criterion == "mean_diameter" else 6)


def test_few_rows_are_not_a_cluster_each():
    X = [[0, 0], [0, 1], [1, 0], [9, 9], [9, 8], [8, 9], [0, 9], [1, 9], [0, 8]]
    for rows in (X, X + X[:3]):
        for ks in (range(1, 10), range(2, 7), [1, 2, 3, 4, 6, 9]):
            assert choose_n_clusters(rows, ks, estimator=STARTS).n_clusters == 3
    three = np.repeat([[0.0], [1.0], [5.0]], 6, axis=0)  # no distance at all is left in three clusters
    assert choose_n_clusters(three, range(1, 6), estimator=STARTS).n_clusters == 3


def test_curves_are_what_they_say():
    X = clouds()
    diameters = choose_n_clusters(X, range(1, 6), estimator=STARTS).values
    losses = choose_n_clusters(X, range(1, 6), "elbow", estimator=STARTS, n_jobs=1).values
    for k in range(1, 6):
        labels = KMeans(k, n_init=2, random_state=0).fit(X).labels_
        widths = [pdist(X[labels == c]).max() for c in range(k)]
        np.testing.assert_allclose(diameters[k - 1], np.mean(widths), rtol=1e-9)
        np.testing.assert_allclose(losses[k - 1], within_cluster_scatter(X, labels), rtol=1e-9)


def test_binary_search_looks_at_few_and_agrees():
    X = clouds()
    every = choose_n_clusters(X, range(1, 17), estimator=STARTS)
    some = choose_n_clusters(X, range(1, 17), search="binary", estimator=STARTS)
    assert every.n_clusters == some.n_clusters == 4
    seen = ~np.isnan(some.values)
    assert seen.sum() < 12
    np.testing.assert_array_equal(some.values[seen], every.values[seen])


def test_other_clusterers():
    choice = choose_n_clusters(clouds(), range(2, 7), "silhouette", estimator=AgglomerativeClustering())
    assert choice.n_clusters == 4


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_mean_diameter_in_blocks(form, monkeypatch):
    from tercet.cluster._engine import cluster_distances

    monkeypatch.setattr(cluster_distances, "BLOCK", 7)
    X = clouds(spread=6.0)
    labels = np.r_[KMeans(3, random_state=0).fit(X[:-1]).labels_, 9]  # the last row is alone
    given = sparse.csr_array(X) if form == "sparse" else X
    widths = [pdist(X[labels == c]).max() for c in range(3)]
    np.testing.assert_allclose(mean_diameter(given, labels), np.mean([*widths, 0.0]), rtol=1e-9)


def test_equal_rows_and_extreme_scales():
    same = np.ones((12, 2))
    for criterion in ("mean_diameter", "elbow", "silhouette", "gap"):
        choice = choose_n_clusters(same, [2, 3], criterion, estimator=STARTS, random_state=0, n_references=2)
        assert choice.n_clusters == 2
        assert np.isfinite(choice.values).all()
    for scale in (2.0**-700, 2.0**700):
        assert choose_n_clusters(clouds() * scale, range(1, 6), random_state=0).n_clusters == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ks": [0, 1]}, "ks must be integers from 1 to 40"),
        ({"ks": [1, 2], "criterion": "silhouette"}, "ks must be integers from 2 to 39"),
        ({"ks": []}, "ks must be integers"),
        ({"ks": 3}, "ks must be several integers; got 3"),
        ({"ks": [2, 41]}, "from 1 to 40"),
        ({"criterion": "bic"}, "criterion must be one of mean_diameter, elbow, silhouette, gap; got 'bic'"),
        ({"criterion": "gap", "search": "binary"}, "search must be 'all', or 'binary' with"),
        ({"tol": 1.0}, r"tol must be a number in \[0, 1\), or None; got 1.0"),
        ({"n_references": 0}, "n_references must be an integer of at least 1; got 0"),
    ],
)
def test_bad_choices_are_named(options, said):
    with pytest.raises(ValueError, match=said):
        choose_n_clusters(clouds(), **options)

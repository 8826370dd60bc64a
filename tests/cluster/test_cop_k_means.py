"""Constrained k-means: the text's example, constraints kept, contradictions and failures named."""

import numpy as np
import pytest
from scipy import sparse

from tercet import EarlyStopping
from tercet.cluster import COPKMeans, KMeans

LINE = np.array([[1.0], [2.0], [3.0], [8.0], [9.0], [10.0], [5.2]])
RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(30, 2)) + centre for centre in ([0, 0], [5, 0], [0, 5])])


@pytest.mark.parametrize(
    ("links", "labels", "means"),
    [
        ({}, [0, 0, 0, 1, 1, 1, 0], [2.8, 9]),
        ({"must_link": [(2, 3)]}, [0, 0, 0, 0, 1, 1, 0], [3.84, 9.5]),
        ({"cannot_link": [(6, 0)]}, [0, 0, 0, 1, 1, 1, 1], [2.0, 8.05]),
    ],
)
def test_the_line_of_the_text(links, labels, means):
    model = COPKMeans(2, init=[0, 5]).fit(LINE, **links)
    assert model.labels_.tolist() == labels
    np.testing.assert_allclose(model.cluster_centers_.ravel(), means)
    assert model.inertia_ == pytest.approx(((LINE - model.cluster_centers_[model.labels_]) ** 2).sum())


def test_without_constraints_it_is_k_means():
    mine = COPKMeans(3, init=X[[0, 30, 60]]).fit(X)
    plain = KMeans(3, init=X[[0, 30, 60]]).fit(X)
    np.testing.assert_array_equal(mine.labels_, plain.labels_)
    np.testing.assert_allclose(mine.cluster_centers_, plain.cluster_centers_, rtol=1e-12)
    assert mine.inertia_ == pytest.approx(plain.inertia_)
    np.testing.assert_array_equal(mine.predict(X), mine.labels_)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_constraints_are_kept(seed, form):
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], 30)
    pairs = rng.integers(0, 90, size=(60, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    labels = COPKMeans(3, init="random", n_init=20, random_state=seed).fit_predict(
        form(X), must_link=pairs[same], cannot_link=pairs[~same]
    )
    assert (labels[pairs[same]].T[0] == labels[pairs[same]].T[1]).all()
    assert (labels[pairs[~same]].T[0] != labels[pairs[~same]].T[1]).all()


def test_must_links_are_transitive():
    labels = COPKMeans(3, random_state=0).fit_predict(X, must_link=[(0, 30), (30, 60), (60, 89)])
    assert len(set(labels[[0, 30, 60, 89]].tolist())) == 1


def test_contradictions_are_named():
    with pytest.raises(ValueError, match="rows 2 and 3 are both must-link and cannot-link"):
        COPKMeans(2).fit(LINE, must_link=[(2, 3)], cannot_link=[(3, 2)])
    with pytest.raises(
        ValueError, match=r"keeps rows 1 and 4 apart, and must_link joins them \(1 - 2 - 3 - 4\)"
    ):
        COPKMeans(2).fit(LINE, must_link=[(1, 2), (2, 3), (3, 4)], cannot_link=[(1, 4)])
    with pytest.raises(ValueError, match=r"cannot_link holds \(5, 5\)"):
        COPKMeans(2).fit(LINE, cannot_link=[(5, 5)])
    many = [(i, i + 1) for i in range(5)]
    with pytest.raises(ValueError, match="rows 0 and 1, rows 1 and 2, rows 2 and 3, and 2 more, are both"):
        COPKMeans(2).fit(LINE, must_link=many, cannot_link=many)


def test_no_feasible_assignment_is_an_error():
    """Three rows, all apart, in two clusters."""
    triangle = [(0, 1), (1, 2), (0, 2)]
    with pytest.raises(
        ValueError, match=r"row 2 fits into none of the n_clusters=2 clusters .* rows 0, 1, are in all"
    ):
        COPKMeans(2, init=[0, 5]).fit(LINE, cannot_link=triangle)
    with pytest.raises(ValueError, match=r"in each of 10 starts"):
        COPKMeans(2, init="random", random_state=0).fit(LINE, cannot_link=triangle)
    assert set(COPKMeans(3, random_state=0).fit_predict(LINE, cannot_link=triangle)[:3]) == {0, 1, 2}


def test_another_start_may_find_an_assignment():
    """Greedy: rows 0 and 1 take different clusters from one start, so that row 2, apart from both, finds none."""
    rows = np.array([[0.0], [4.0], [10.0], [11.0]])
    links = {"cannot_link": [(0, 2), (1, 2)]}
    with pytest.raises(ValueError, match="row 2 fits into none"):
        COPKMeans(2, init=np.array([[0.0], [4.0]])).fit(rows, **links)
    labels = COPKMeans(2, init="random", n_init=20, random_state=0).fit(rows, **links).labels_
    assert labels[0] == labels[1] != labels[2]


@pytest.mark.parametrize("links", [[], None, np.zeros((0, 2), dtype=int)])
def test_no_links(links):
    labels = COPKMeans(2, init=[0, 5]).fit(LINE, must_link=links, cannot_link=links).labels_
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("links", "says"),
    [
        ([(0, 7)], r"must_link holds \(0, 7\); row numbers are from 0 to 6"),
        ([(0, 1, 2)], "must_link must be pairs of row numbers"),
        ([0, 1], "must_link must be pairs of row numbers"),
        ([(0.0, 1.0)], "must_link must be pairs of row numbers"),
        (5, "must_link must be pairs of row numbers"),
    ],
)
def test_links_that_do_not_fit(links, says):
    with pytest.raises(ValueError, match=says):
        COPKMeans(2).fit(LINE, must_link=links)


def test_weights_move_the_means_and_not_the_order():
    weight = np.array([1.0, 1, 1, 1, 1, 1, 9])
    model = COPKMeans(2, init=[0, 5]).fit(LINE, sample_weight=weight, cannot_link=[(6, 0)])
    mine = model.labels_ == 1
    assert model.cluster_centers_[1, 0] == pytest.approx(np.average(LINE[mine, 0], weights=weight[mine]))


def test_held_out_rows_have_no_numbers():
    model = COPKMeans(3, random_state=0).set_callbacks(EarlyStopping(lambda m, X, y: 0.0, patience=2))
    with pytest.raises(ValueError, match="a callback holds out rows of X"):
        model.fit(X, must_link=[(0, 1)])

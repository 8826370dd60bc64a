"""The bootstrap sampler: shares in and out of the bag, and its use as a splitter."""

import numpy as np
import pandas
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from tercet.linear_model import Ridge
from tercet.model_selection import Bootstrap, bootstrap_estimate
from tercet.tree import DecisionTreeClassifier


def test_in_bag_and_out_of_bag_are_all_rows():
    samples = list(Bootstrap(n_splits=20, random_state=0).samples(30))
    assert len(samples) == 20
    for sample in samples:
        assert sample.in_bag.shape == (30,)
        assert len(np.unique(sample.in_bag)) + len(sample.out_of_bag) == 30
        np.testing.assert_array_equal(sample.out_of_bag, np.setdiff1d(np.arange(30), sample.in_bag))
    assert any(len(np.unique(sample.in_bag)) < 30 for sample in samples)  # with replacement


@pytest.mark.parametrize(("m", "expected"), [(1, 0.0), (2, 0.25), (17, 0.3567861947), (10**7, np.exp(-1))])
def test_expected_shares(m, expected):
    inside, outside = Bootstrap().expected_shares(m)
    assert outside == pytest.approx(expected, rel=1e-6)
    assert inside + outside == 1.0


def test_shares_of_samples_are_those_expected():
    for options in ({}, {"max_samples": 0.5}, {"max_samples": 120}):
        bootstrap = Bootstrap(n_splits=400, random_state=1, **options)
        left = [sample.out_of_bag.size / 60 for sample in bootstrap.samples(60)]
        assert np.mean(left) == pytest.approx(bootstrap.expected_shares(60)[1], abs=0.01)
        assert {sample.in_bag.size for sample in bootstrap.samples(60)} == {bootstrap.n_drawn(60)}


def test_every_row_is_drawn_alike():
    draws = np.concatenate([sample.in_bag for sample in Bootstrap(2000, random_state=0).samples(8)])
    counts = np.bincount(draws, minlength=8)
    assert np.sum((counts - 2000.0) ** 2 / 2000.0) < 24.3  # chi-squared with 7 degrees of freedom, 0.001


def test_a_seed_gives_the_same_samples_each_time():
    bootstrap = Bootstrap(3, random_state=7)
    first, second = list(bootstrap.split(np.zeros((9, 1)))), list(bootstrap.split(np.zeros((9, 1))))
    for one, other in zip(first, second):
        np.testing.assert_array_equal(one[0], other[0])
    running = Bootstrap(1, random_state=np.random.default_rng(0))
    assert next(running.samples(50)).in_bag.tolist() != next(running.samples(50)).in_bag.tolist()
    assert repr(bootstrap) == "Bootstrap(n_splits=3, max_samples=None, random_state=7)"


def test_it_is_a_splitter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=60)
    bootstrap = Bootstrap(8, random_state=0)
    scores = cross_val_score(Ridge(), X, y, cv=bootstrap)
    by_hand = [Ridge().fit(X[a], y[a]).score(X[b], y[b]) for a, b in bootstrap.split(X)]
    np.testing.assert_allclose(scores, by_hand)
    frame = pandas.DataFrame(X, columns=list("abc"))
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]}, cv=bootstrap)
    assert search.fit(frame, y > 0).n_splits_ == bootstrap.get_n_splits() == 8


def test_the_estimates_draw_from_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(size=40)
    total, count = np.zeros(40), np.zeros(40)
    for rows, left in Bootstrap(15, random_state=3).samples(40):
        total[left] += (y[left] - Ridge().fit(X[rows], y[rows]).predict(X[left])) ** 2
        count[left] += 1
    found = bootstrap_estimate(Ridge(), X, y, kind="out-of-bag", n_bootstraps=15, random_state=3)
    assert found.out_of_bag == pytest.approx(np.mean(total[count > 0] / count[count > 0]))


def test_splits_leave_a_row_out():
    assert all(left.size for _, left in Bootstrap(60, random_state=0).split(np.zeros((2, 1))))
    assert any(not left.size for _, left in Bootstrap(60, random_state=0).samples(2))
    with pytest.raises(ValueError, match=r"needs at least 2 rows.*got 1"):
        next(Bootstrap().split([[0.0]]))
    with pytest.raises(ValueError, match=r"left none of the 2 rows out.*max_samples; got 500"):
        next(Bootstrap(max_samples=500).split([[0.0], [1.0]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_splits": 0}, "n_splits must be an integer of at least 1; got 0"),
        ({"n_splits": 2.0}, "n_splits must be an integer"),
        ({"max_samples": 0}, "max_samples must be"),
        ({"max_samples": 1.5}, r"a fraction in \(0, 1\], or None; got 1.5"),
        ({"max_samples": True}, "max_samples must be"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        Bootstrap(**options)

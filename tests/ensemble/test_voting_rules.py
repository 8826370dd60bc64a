"""Votes: plurality, majority with reject, weights, ties."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tercet.ensemble import majority_vote, plurality_vote, weighted_vote

LABELS = np.array(["a", "b", "c"])


def votes(n=200, members=6, seed=0):
    return LABELS[np.random.default_rng(seed).integers(3, size=(n, members))]


def counts(row):
    return {label: int(np.sum(row == label)) for label in LABELS}


def test_plurality_is_the_most_frequent_label():
    for row, said in zip(votes(), plurality_vote(votes())):
        most = max(counts(row).values())
        assert said == min(label for label, count in counts(row).items() if count == most)


def test_majority_needs_more_than_half():
    for row, said in zip(votes(), majority_vote(votes())):
        winner = [label for label, count in counts(row).items() if count > 3]
        assert said == (winner[0] if winner else None)


def test_half_is_no_majority():
    assert majority_vote(["a", "a", "b", "b"]) is None
    assert majority_vote(["a", "a", "b", "b"], [1, 1.5, 1, 1]) == "a"
    assert majority_vote([[1, 1, 2, 2], [1, 1, 1, 2]], reject=-1).tolist() == [-1, 1]


def test_kind_of_the_answer_does_not_depend_on_the_rows():
    assert majority_vote([[1, 1, 1]], reject=-1).dtype.kind == "i"
    assert majority_vote([[1, 1, 1]]).dtype == object
    assert majority_vote([["a", "a"]], reject="rejected").dtype == np.dtype("<U8")


def test_random_ties_are_fair_and_of_the_seed():
    rows = np.tile(["a", "b", "b", "c", "c"], (3000, 1))
    said = plurality_vote(rows, ties="random", random_state=0)
    assert_array_equal(said, plurality_vote(rows, ties="random", random_state=0))
    assert set(said) == {"b", "c"}
    assert abs(np.mean(said == "b") - 0.5) < 0.04
    sure = np.tile(["a", "b", "b"], (50, 1))
    assert set(plurality_vote(sure, ties="random", random_state=1)) == {"b"}


def test_weights_are_as_good_as_repeated_members():
    rows = votes()
    repeated = np.repeat(rows, [1, 3, 2, 1, 1, 2], axis=1)
    assert_array_equal(weighted_vote(rows, [1, 3, 2, 1, 1, 2]), plurality_vote(repeated))
    assert_array_equal(majority_vote(rows, [1, 3, 2, 1, 1, 2]), majority_vote(repeated))


def test_soft_votes_are_means_of_probabilities():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=(50, 4))
    w = [0.1, 0.5, 0.2, 0.2]
    assert_array_equal(weighted_vote(proba, w), np.average(proba, axis=1, weights=w).argmax(axis=1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plurality_vote([]), r"votes must be labels.*got shape \(0,\)"),
        (lambda: plurality_vote([[1.0, np.nan]]), "got NaN"),
        (lambda: plurality_vote([1, 2], ties="last"), "ties must be 'first' or 'random'; got 'last'"),
        (lambda: weighted_vote([1, 2], [1, -1]), r"weights must be 2 finite numbers.*got \[1, -1\]"),
        (lambda: weighted_vote([1, 2], [1, 1, 1]), "weights must be 2"),
        (lambda: majority_vote([1, 2], [0, 0]), "not all 0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

"""The exact error of a majority vote lies below Hoeffding's bound."""

from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tercet.ensemble import vote_error


@pytest.mark.parametrize("T", [1, 2, 5, 8, 21])
@pytest.mark.parametrize("e", [0.0, 0.1, 0.35, 0.49, 0.7])
def test_binomial_tail(T, e):
    exact = sum(comb(T, k) * (1 - e) ** k * e ** (T - k) for k in range(T // 2 + 1))
    found = vote_error(T, e)
    assert_allclose(found.error, exact, rtol=1e-12, atol=1e-15)
    assert found.error <= found.bound


def test_a_tie_is_an_error():
    assert_allclose(vote_error(2, 0.3).error, 1 - 0.7**2)


def test_arrays_and_limits():
    T = np.arange(1, 400, 2)
    found = vote_error(T, 0.4)
    assert (np.diff(found.error) < 0).all()
    assert (found.error <= found.bound).all()
    assert vote_error(11, [0.5, 0.9]).bound.tolist() == [1.0, 1.0]


def test_votes_of_independent_members_come_to_it():
    right = np.random.default_rng(0).random((20_000, 7)) > 0.3
    assert abs(np.mean(right.sum(axis=1) <= 3) - vote_error(7, 0.3).error) < 0.01


@pytest.mark.parametrize(
    ("given", "message"),
    [((0, 0.3), "n_members must be"), ((2.5, 0.3), "n_members must be"), ((5, 1.2), r"error must.*got 1\.2")],
)
def test_bad_input_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        vote_error(*given)

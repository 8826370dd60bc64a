"""Shattering by enumeration."""

import numpy as np
import pytest

from tercet.theory import (
    dichotomies,
    growth_function,
    largest_shattered,
    linear_dichotomies,
    realizable_by,
    sauer_bound,
    shatters,
    vc_dimension,
)

TRIANGLE = [[0, 0], [1, 0], [0, 1]]
SQUARE = [[0, 0], [1, 0], [0, 1], [1, 1]]
INNER = [[0, 0], [3, 0], [0, 3], [1, 1]]


@pytest.mark.parametrize(
    ("points", "count"), [(TRIANGLE, 8), ([[0, 0], [1, 1], [2, 2]], 6), (SQUARE, 14), (INNER, 14)]
)
def test_half_planes(points, count):
    assert len(linear_dichotomies(points)) == count


def test_cover_counts_points_in_general_position():
    """n points in general position in the plane have n (n - 1) + 2 labellings by half-planes."""
    points = np.random.default_rng(0).normal(size=(6, 2))
    assert len(linear_dichotomies(points)) == 6 * 5 + 2


def test_vc_dimension_of_half_spaces_and_intervals():
    assert vc_dimension([TRIANGLE, SQUARE, INNER]) == 3
    corners = np.vstack([np.zeros(3), np.eye(3)])
    assert shatters(corners)
    assert vc_dimension([corners]) == 4

    def interval(x, y):  # 1 inside one interval
        ones = np.flatnonzero(y[np.argsort(x[:, 0])] == 1)
        return len(ones) == 0 or len(ones) == ones[-1] - ones[0] + 1

    assert vc_dimension([[1.0], [1.0, 2.0], [1.0, 2.0, 3.0]], interval) == 2
    assert len(dichotomies([1.0, 2.0, 3.0], interval)) == 7
    points = np.random.default_rng(0).permutation(6).astype(float)
    assert dichotomies(points, interval) == dichotomies(points, "intervals")


LINE = np.arange(7.0)
PLANE = np.array([[0, 1], [1, 0], [0, -1], [-1, 0], [0, 0], [1, 1], [2, -1]], float)


@pytest.mark.parametrize(
    ("points", "name", "dimension"),
    [
        (LINE, "thresholds", 1),
        (LINE, "two-sided thresholds", 2),
        (LINE, "intervals", 2),
        (LINE, "half-spaces", 2),
        (PLANE, "half-spaces", 3),
        (PLANE, "rectangles", 4),
    ],
)
def test_known_vc_dimensions_and_sauers_lemma(points, name, dimension):
    found = largest_shattered(points, name)
    assert len(found) == dimension
    assert shatters(points[list(found)], name)
    for m in range(1, 6):
        growth = growth_function(points, m, name)
        assert growth <= sauer_bound(m, dimension)
        assert (growth == 2**m) == (m <= dimension)


def test_half_spaces_in_space_have_vc_dimension_4():
    points = np.vstack([np.zeros(3), np.eye(3), [[0.3, 0.4, 0.2]]])
    assert len(largest_shattered(points)) == 4


def test_growth_functions_of_the_line():
    for m in range(1, 7):
        assert growth_function(LINE, m, "thresholds") == m + 1
        assert growth_function(LINE, m, "two-sided thresholds") == 2 * m
        assert growth_function(LINE, m, "intervals") == m * (m + 1) // 2 + 1 == sauer_bound(m, 2)


def test_ties_are_labelled_alike():
    assert len(dichotomies([1.0, 1.0, 2.0], "thresholds")) == 3
    assert largest_shattered([[1.0], [1.0]], "intervals") == (0,)


def test_a_list_of_functions_is_a_class():
    thresholds = realizable_by([lambda x, t=t: x[:, 0] > t for t in np.arange(-0.5, 7)])
    for m in (1, 3):
        assert growth_function(LINE, m, thresholds) == m + 1
    assert largest_shattered(LINE, thresholds) == largest_shattered(LINE, "thresholds")
    constant = realizable_by([lambda x: np.ones(len(x))])
    assert largest_shattered(LINE, constant) == ()


def test_large_enumerations_are_counted_before_they_start():
    calls = []

    def realizable(X, y):
        calls.append(1)
        return True

    with pytest.raises(ValueError, match=r"1,017,004,800 labellings .* max_labellings=2,000,000"):
        growth_function(np.arange(50.0), 6, realizable, max_labellings=2_000_000)
    assert calls == []
    with pytest.raises(ValueError, match=r"2,097,152 labellings .* max_labellings=2,000,000"):
        vc_dimension([np.arange(20.0), np.arange(20.0)], realizable)
    assert calls == []
    assert vc_dimension([np.arange(2.0), np.arange(3.0)], realizable, max_labellings=12) == 3
    with pytest.raises(ValueError, match="max_labellings=300"):
        largest_shattered(np.arange(20.0), realizable, max_labellings=300)
    with pytest.raises(ValueError, match="needs points of one column; got 2"):
        dichotomies(PLANE[:3], "intervals")
    with pytest.raises(ValueError, match="realizable must be a function or one of 'half-spaces'"):
        shatters(LINE[:3], "circles")
    with pytest.raises(ValueError, match="n_points must be between 1 and the 7 points; got 8"):
        growth_function(LINE, 8, "intervals")
    with pytest.raises(ValueError, match="one label for each point"):
        dichotomies(LINE[:3], realizable_by([lambda x: 1.0]))


def test_refusals():
    with pytest.raises(ValueError, match="too many to try; at most 20 points"):
        shatters(np.zeros((21, 2)))
    with pytest.raises(ValueError, match="finite array"):
        linear_dichotomies([[np.nan, 0]])

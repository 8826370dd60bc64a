"""Shattering by enumeration."""

import numpy as np
import pytest

from tercet.theory import dichotomies, linear_dichotomies, shatters, vc_dimension

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


def test_refusals():
    with pytest.raises(ValueError, match="too many to try; at most 20 points"):
        shatters(np.zeros((21, 2)))
    with pytest.raises(ValueError, match="finite array"):
        linear_dichotomies([[np.nan, 0]])

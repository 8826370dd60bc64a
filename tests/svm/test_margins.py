"""Margins, distances and the kinds of support vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tercet.svm import geometric_margin, margin_slack, margin_width, slack_distance, support_categories
from tercet.svm.margins import functional_margin

X, Y = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]]), np.array([1.0, 1.0, -1.0])


@given(st.floats(1e-3, 1e3), st.floats(-3, 3), st.floats(-5, 5))
def test_only_functional_margins_scale(c, slope, b):
    w = np.array([1.0, slope])
    np.testing.assert_allclose(geometric_margin(X, Y, c * w, c * b), geometric_margin(X, Y, w, b), rtol=1e-9)
    np.testing.assert_allclose(functional_margin(X, Y, c * w, c * b), c * functional_margin(X, Y, w, b))
    np.testing.assert_allclose(
        geometric_margin(X, Y, w, b), functional_margin(X, Y, w, b) / np.linalg.norm(w)
    )


def test_margin_is_twice_the_smallest_geometric_one_at_the_optimum():
    w, b = np.array([0.5, 0.5]), -2.0
    assert margin_width(w) == pytest.approx(2 * geometric_margin(X, Y, w, b).min())


def test_slack_is_the_distance_from_the_boundary():
    points, y = np.array([[0.0], [1.5], [2.0], [3.0]]), np.array([-1, -1, -1, -1])
    w, b = [2.0], -4.0  # boundary of the negative side at 1.5
    np.testing.assert_allclose(margin_slack(points, y, w, b), [0, 0, 1, 3])
    np.testing.assert_allclose(slack_distance(points, y, w, b), [0, 0, 0.5, 1.5])


def test_categories():
    kinds = support_categories([0, 1e-12, 0.5, 1, 1, 1, 1], [0, 0, 0, 0, 0.3, 1, 2], C=1)
    assert kinds.tolist() == ["none", "none", "boundary", "boundary", "inside", "hyperplane", "wrong"]


def test_categories_with_a_bound_for_each_row_and_without():
    assert support_categories([0.5, 0.5], [0, 0.5], C=[1.0, 0.5]).tolist() == ["boundary", "inside"]
    assert support_categories([0.0, 8.0], [0, 0]).tolist() == ["none", "boundary"]


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_very_large_and_small_normals(scale):
    assert scale * margin_width([3 * scale, 4 * scale]) == pytest.approx(0.4)
    np.testing.assert_allclose(geometric_margin(X, Y, [3 * scale, 4 * scale]), geometric_margin(X, Y, [3, 4]))


def test_no_hyperplane():
    with pytest.raises(ValueError, match="w is zero"):
        margin_width([0.0, 0.0])

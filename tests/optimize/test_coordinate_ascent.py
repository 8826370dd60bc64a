"""Coordinate ascent for general functions."""

import numpy as np
import pytest

from tercet.core.steps import ConvergenceWarning
from tercet.optimize import Quadratic, coordinate_ascent

A, B = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 2.0]]), np.array([1.0, 2.0, -1.0])
CONCAVE = Quadratic(-A, -B)


def test_a_concave_function_rises_to_its_maximum():
    seen = []
    found = coordinate_ascent(
        CONCAVE, [3.0, -2.0, 5.0], callback=lambda step: seen.append(step.measures["fun"])
    )
    assert found.success
    np.testing.assert_allclose(found.x, np.linalg.solve(A, B), atol=1e-6)
    assert found.fun == pytest.approx(CONCAVE.value(found.x))
    assert seen == found.history["fun"] == sorted(seen)


def test_closed_form_updates_are_gauss_seidel():
    def best(x, j):
        return (B[j] - A[j] @ x + A[j, j] * x[j]) / A[j, j]

    found = coordinate_ascent(CONCAVE, np.zeros(3), best=best, max_iter=1000)
    np.testing.assert_allclose(found.x, np.linalg.solve(A, B), atol=1e-7)
    with pytest.warns(ConvergenceWarning):
        first = coordinate_ascent(CONCAVE, np.zeros(3), best=best, max_iter=1)
    np.testing.assert_allclose(first.x, np.linalg.solve(np.tril(A), B))


def test_bounds():
    free = coordinate_ascent(lambda x: -((x - 3) @ (x - 3)), [0.0, 0.0], bounds=[(None, 1), (-5, 5)])
    np.testing.assert_allclose(free.x, [1.0, 3.0], atol=1e-6)
    np.testing.assert_array_equal(coordinate_ascent(lambda x: x.sum(), [0.0], bounds=[(0, 2)]).x, [2.0])
    with pytest.raises(ValueError, match="bounds must be 1 pairs"):
        coordinate_ascent(lambda x: x.sum(), [0.0], bounds=[(0, 2), (0, 1)])
    with pytest.raises(ValueError, match="low <= high"):
        coordinate_ascent(lambda x: x.sum(), [0.0], bounds=[(2, 0)])


def test_a_function_without_a_maximum_is_reported():
    with pytest.warns(ConvergenceWarning):
        found = coordinate_ascent(lambda x: float(x.sum()), [0.0, 0.0])
    assert (found.success, found.criterion) == (False, "unbounded")
    assert "unbounded above" in found.message

"""Convex programs with nonlinear constraints."""

import numpy as np
import pytest
from scipy.optimize import linprog

from tercet.optimize import Quadratic, solve_convex, solve_qp


@pytest.mark.parametrize("seed", range(6))
def test_linear_programs_agree_with_scipy(seed):
    rng = np.random.default_rng(seed)
    c, G, h = rng.normal(size=3), rng.normal(size=(4, 3)), rng.random(4)
    G, h = np.vstack([G, np.eye(3), -np.eye(3)]), np.append(h, np.full(6, 10.0))
    rows = [lambda x, g=g, b=b: g @ x - b for g, b in zip(G, h)]
    found, peer = (
        solve_convex(lambda x: c @ x, rng.normal(size=3), rows),
        linprog(c, G, h, bounds=(None, None)),
    )
    assert found.success
    assert [found.fun, found.dual] == pytest.approx([peer.fun, peer.fun], rel=1e-7)
    assert (found.alpha >= 0).all()
    np.testing.assert_allclose(found.alpha @ G, -c, atol=1e-7)


def test_quadratic_programs_agree_with_solve_qp():
    Q, A = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([[1.0, 1.0]])
    peer = solve_qp(Q, [1.0, -4.0], [[1.0, 0.0], [0.0, 1.0]], [0.2, 0.4], A, [0.5])
    found = solve_convex(
        Quadratic(Q, [-1.0, 4.0]),
        [3.0, 3.0],
        [lambda x: x[0] - 0.2, lambda x: x[1] - 0.4],
        [lambda x: x.sum() - 0.5],
    )
    np.testing.assert_allclose(found.x, peer.x, atol=1e-7)
    np.testing.assert_allclose(found.alpha, peer.alpha, atol=1e-6)
    np.testing.assert_allclose(found.beta, peer.beta, atol=1e-6)


def test_smallest_ball_of_points():
    """min r subject to |p - x|² <= r: the centre is a convex combination of the points it touches."""
    points = np.array([[0.2, 0.2], [2.0, 0.0], [0.0, 2.0], [0.5, 0.5]])
    inside = [lambda z, p=p: (z[:2] - p) @ (z[:2] - p) - z[2] for p in points]
    found = solve_convex(lambda z: z[2], [5.0, 5.0, 1.0], inside)
    np.testing.assert_allclose(found.x, [1.0, 1.0, 2.0], atol=1e-7)
    np.testing.assert_allclose(found.alpha @ points, [1.0, 1.0], atol=1e-6)
    assert found.alpha.sum() == pytest.approx(1.0)
    assert found.alpha[3] == pytest.approx(0.0, abs=1e-7)


def test_trial_points_outside_the_domain_are_stepped_back_from():
    found = solve_convex(lambda x: -np.log(x).sum(), [0.1, 3.0], [lambda x: x.sum() - 2])
    np.testing.assert_allclose(found.x, [1.0, 1.0], atol=1e-7)
    with pytest.raises(ValueError, match="must be finite at x0"):
        solve_convex(lambda x: -np.log(x).sum(), [-1.0, 3.0])


def test_equalities_may_depend_on_one_another():
    rows = [lambda x: x.sum() - 1, lambda x: 2 * x.sum() - 2]
    found = solve_convex(lambda x: x @ x, [3.0, 0.0], equalities=rows)
    assert found.success
    np.testing.assert_allclose(found.x, [0.5, 0.5], atol=1e-8)
    np.testing.assert_allclose(found.history["infeasibility"][-1], 0, atol=1e-9)

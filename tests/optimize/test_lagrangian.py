"""Lagrangian duality. (The derived numbers of appendix C are among the texts' examples.)"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tercet.optimize import Lagrangian, slater, solve_qp

multiplier = st.floats(0, 5)
number = st.floats(-5, 5)


def square(x):
    return x @ x


def two():
    return Lagrangian(square, [lambda x: x[0] - 0.5], [lambda x: x[0] + x[1] - 2])


@settings(max_examples=30, deadline=None)
@given(multiplier, number)
def test_dual_function_in_closed_form(alpha, beta):
    wanted = -((alpha + beta) ** 2 + beta**2) / 4 - 2 * beta - 0.5 * alpha
    assert two().theta_D([alpha], [beta], x0=[0.0, 0.0]) == pytest.approx(wanted, abs=1e-7)


@settings(max_examples=30, deadline=None)
@given(multiplier, number, st.floats(-5, 0.5))
def test_weak_duality(alpha, beta, x1):
    """Theorem C.1: the dual function is below the primal one wherever the point is feasible."""
    report = two().gap([x1, 2 - x1], [alpha], [beta])
    assert report.dual <= report.primal + 1e-7
    assert report.gap == report.primal - report.dual


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000))
@example(687)  # multipliers of thousands
def test_strong_duality_of_convex_programs(seed):
    """Theorem C.2 and C.3 on random quadratic programs."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(3, 3))
    Q, c, G, A = B.T @ B + np.eye(3), rng.normal(size=3), rng.normal(size=(2, 3)), rng.normal(size=(1, 3))
    h, b = rng.random(2), rng.normal(size=1)
    lagrangian = Lagrangian(
        lambda x: x @ Q @ x / 2 + c @ x,
        [lambda x, i=i: G[i] @ x - h[i] for i in range(2)],
        [lambda x: A[0] @ x - b[0]],
        gradients=(lambda x: Q @ x + c, [lambda x, i=i: G[i] for i in range(2)], [lambda x: A[0]]),
    )
    program = solve_qp(Q, c, G, h, A, b)
    assert slater(G, h, A, b) is not None
    assert lagrangian.kkt(program.x, program.alpha, program.beta).holds(1e-7)
    report = lagrangian.gap(program.x, program.alpha, program.beta)
    assert abs(report.gap) <= 1e-6
    solved = lagrangian.solve(np.zeros(3))
    assert solved.success
    assert solved.fun == pytest.approx(program.fun, abs=1e-6)
    np.testing.assert_allclose(solved.x, program.x, atol=1e-4)


def test_kkt_tells_which_condition_fails():
    lagrangian = two()
    assert lagrangian.kkt([0.5, 1.5], [2.0], [-3.0]).holds()
    off = lagrangian.kkt([1.0, 1.5], [-1.0], [0.0])
    np.testing.assert_allclose(off.stationarity, [1.0, 3.0], atol=1e-7)
    np.testing.assert_allclose([off.complementarity[0], off.primal[0], off.dual[0]], [-0.5, 0.5, 1.0])
    np.testing.assert_allclose(off.equality, [0.5])
    assert off.worst == pytest.approx(3.0, abs=1e-7)
    assert not off.holds()


def test_inner_and_boundary_minimum():
    """Machine Learning in Depth ch. 4: a constraint that does not bind has a zero multiplier."""
    inner = Lagrangian(square, [lambda x: x[0] - 1]).solve([3.0])
    edge = Lagrangian(square, [lambda x: x[0] + 1]).solve([3.0])
    np.testing.assert_allclose([inner.x[0], inner.alpha[0]], [0, 0], atol=1e-6)
    np.testing.assert_allclose([edge.x[0], edge.alpha[0]], [-1, 2], atol=1e-6)


def test_dual_function_may_be_minus_infinity():
    lagrangian = Lagrangian(lambda x: x[0], [lambda x: -x[0]])
    assert lagrangian.theta_D([0.5], x0=[0.0]) == -np.inf
    assert lagrangian.theta_D([1.0], x0=[0.0]) == 0.0
    assert Lagrangian(lambda x: -square(x)).theta_D(x0=[1.0]) == -np.inf


def test_slater():
    np.testing.assert_array_less([[1.0, 1.0]] @ slater([[1.0, 1.0]], [0.0]), 0.0)
    flat = [[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0]
    assert slater(*flat) is None
    assert slater(*flat, strict=[False, False]) is not None
    assert slater([[1.0]], [0.0], [[1.0]], [1.0]) is None


def test_bad_multipliers():
    with pytest.raises(ValueError, match="alpha must have one multiplier for each of 1 constraints"):
        two().value([0.0, 0.0], [1.0, 2.0], [0.0])
    with pytest.raises(ValueError, match="alpha must not be negative"):
        two().theta_D([-1.0], [0.0], x0=[0.0, 0.0])


def test_an_objective_that_is_unbounded_alone():
    """theta_D is -infinity but for one multiplier; the constrained problem has a solution all the same."""
    line = Lagrangian(lambda x: x[0], [lambda x: -x[0]]).solve([3.0])
    assert line.success
    np.testing.assert_allclose([line.x[0], line.alpha[0], line.fun, line.gap], [0, 1, 0, 0], atol=1e-7)
    disc = Lagrangian(lambda x: x[0] + x[1], [lambda x: x @ x - 2]).solve([0.5, 0.0])
    np.testing.assert_allclose([*disc.x, *disc.alpha, disc.fun], [-1, -1, 0.5, -2], atol=1e-7)
    assert disc.kkt.holds(1e-7)


def test_maximum_entropy_by_its_dual():
    """Li Example 6.2: P(y1) + P(y2) = 3/10."""
    problem = Lagrangian(lambda p: p @ np.log(p), [], [lambda p: p[0] + p[1] - 0.3, lambda p: p.sum() - 1])
    found = problem.solve(np.full(5, 0.2))
    assert found.success
    np.testing.assert_allclose(found.x, [0.15, 0.15, 7 / 30, 7 / 30, 7 / 30], atol=1e-7)
    assert found.fun == pytest.approx(-1.5878370583, abs=1e-8)


def test_problems_without_a_solution_say_why():
    def solve(f, *constraints):
        return Lagrangian(f, constraints).solve([3.0])

    assert solve(lambda x: x[0], lambda x: x[0]).status == 3
    assert "unbounded" in solve(lambda x: x[0], lambda x: x[0]).message
    assert solve(square, lambda x: x[0] + 1, lambda x: 1 - x[0]).status == 2
    hill = Lagrangian(lambda x: -square(x), [lambda x: x[0] - 1, lambda x: -1 - x[0]]).solve([0.3])
    assert (hill.success, hill.status) == (False, 4)
    assert "not convex" in hill.message


def test_slater_of_nonlinear_constraints():
    disc, shifted = (lambda x: x @ x - 1), (lambda x: (x[0] - 1) ** 2 + x[1] ** 2 - 0.01)
    x = slater([disc, shifted], x0=[5.0, -3.0])
    assert max(disc(x), shifted(x)) < 0
    assert slater([disc, lambda x: (x[0] - 2) ** 2 - 1], x0=[0.0, 0.0]) is None  # they touch in one point
    line = [lambda x: x[0] - x[1]]
    x = Lagrangian(square, [disc, shifted], line).slater([0.0, 0.0])
    assert x is None  # the line misses the small disc
    x = Lagrangian(square, [disc], line).slater([3.0, 0.0])
    assert disc(x) < 0
    assert x[0] == pytest.approx(x[1], abs=1e-8)
    flat = [disc, lambda x: x[0], lambda x: -x[0]]
    assert slater(flat, x0=[1.0, 1.0]) is None
    assert slater(flat, x0=[1.0, 1.0], strict=[True, False, False]) is not None
    with pytest.raises(ValueError, match="need x0"):
        slater([disc])
    with pytest.raises(ValueError, match="need h"):
        slater([[1.0]])

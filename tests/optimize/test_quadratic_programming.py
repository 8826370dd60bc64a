"""Convex quadratic programs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tercet.optimize import solve_qp


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 10),
    m=st.integers(0, 15),
    k=st.integers(0, 3),
    rank=st.integers(0, 10),
    twice=st.booleans(),
)
def test_kkt_conditions(seed, n, m, k, rank, twice):
    """Random programs with a feasible point in a box, degenerate ones among them."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(min(rank, n), n))
    Q, c, inside = B.T @ B, rng.normal(size=n), rng.uniform(-1, 1, n)
    G = np.vstack([rng.normal(size=(m, n)), np.eye(n), -np.eye(n)])
    h = np.concatenate([G[:m] @ inside + rng.random(m) * (rng.random(m) < 0.6), np.full(2 * n, 2.0)])
    A = rng.normal(size=(min(k, n), n))
    if twice:
        G, h, A = np.vstack([G, G]), np.append(h, h), np.vstack([A, A])
    result = solve_qp(Q, c, G, h, A, A @ inside)
    x, alpha, beta = result.x, result.alpha, result.beta
    assert result.success
    np.testing.assert_allclose(Q @ x + c + G.T @ alpha + A.T @ beta, 0, atol=1e-6)
    np.testing.assert_allclose(alpha * (G @ x - h), 0, atol=1e-6)
    np.testing.assert_allclose(A @ x, A @ inside, atol=1e-7)
    assert (G @ x - h).max() <= 1e-7
    assert alpha.min() >= 0
    assert abs(result.gap) <= 1e-6 * (1 + abs(result.fun))
    assert result.fun <= inside @ Q @ inside / 2 + c @ inside + 1e-7


def test_linear_program_agrees_with_highs():
    rng = np.random.default_rng(0)
    G, c = rng.normal(size=(20, 6)), rng.normal(size=6)
    h = rng.random(20) + 1
    box = np.vstack([G, np.eye(6), -np.eye(6)]), np.concatenate([h, np.full(12, 3.0)])
    result = solve_qp(np.zeros((6, 6)), c, *box)
    reference = linprog(c, *box, bounds=(None, None))
    assert result.fun == pytest.approx(reference.fun)
    np.testing.assert_allclose(result.x, reference.x, atol=1e-7)
    np.testing.assert_allclose(result.alpha, -reference.ineqlin.marginals, atol=1e-7)


def test_maximum_margin():
    """Li Ex 7.1 and 7.2: the primal and the dual of the hard margin."""
    X, y = np.array([[3.0, 3], [4, 3], [1, 1]]), np.array([1.0, 1, -1])
    G = -y[:, None] * np.column_stack([X, np.ones(3)])
    primal = solve_qp(np.diag([1.0, 1, 0]), None, G, -np.ones(3))
    np.testing.assert_allclose(primal.x, [0.5, 0.5, -2], atol=1e-10)
    K = np.outer(y, y) * (X @ X.T)
    dual = solve_qp(K, -np.ones(3), -np.eye(3), np.zeros(3), [y], [0.0])
    np.testing.assert_allclose(dual.x, [0.25, 0, 0.25], atol=1e-10)
    np.testing.assert_allclose(primal.alpha, dual.x, atol=1e-10)
    assert primal.fun == pytest.approx(-dual.fun)


def test_without_constraints_and_with_equalities_only():
    Q, c = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0])
    np.testing.assert_allclose(solve_qp(Q, c).x, np.linalg.solve(Q, -c))
    result = solve_qp(Q, c, A=[[1.0, 1.0]], b=[1.0])
    np.testing.assert_allclose(Q @ result.x + c + result.beta, 0, atol=1e-12)
    assert result.x.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("program", "status", "message"),
    [
        ({"Q": np.eye(1), "G": [[1.0], [-1.0]], "h": [0.0, -1.0]}, 2, "No x satisfies"),
        ({"Q": np.eye(2), "A": [[1.0, 1.0], [1.0, 1.0]], "b": [0.0, 1.0]}, 2, "contradict"),
        ({"Q": np.zeros((2, 2)), "c": [1.0, 0.0], "G": [[0.0, 1.0]], "h": [1.0]}, 3, "without bound"),
        ({"Q": np.diag([1.0, 0.0]), "c": [0.0, -1.0]}, 3, "without bound"),
    ],
    ids=["infeasible", "contradiction", "unbounded", "unbounded without constraints"],
)
def test_no_solution_is_told(program, status, message):
    result = solve_qp(**program)
    assert (result.status, result.success) == (status, False)
    assert message in result.message
    assert np.isnan(result.x).all()
    assert result.fun == (np.inf if status == 2 else -np.inf)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ({"Q": -np.eye(2)}, "positive semidefinite; its smallest eigenvalue is -1"),
        ({"Q": [[1.0, 2.0], [0.0, 1.0]]}, "Q must be symmetric"),
        ({"Q": np.eye(2), "G": [[1.0, 0.0]]}, "G and h must be given together"),
        ({"Q": np.eye(2), "A": [[1.0]], "b": [1.0]}, r"A and b must have shapes \(m, 2\) and \(m,\)"),
        ({"Q": np.eye(2), "c": [np.nan, 0.0]}, "finite"),
    ],
)
def test_bad_input(program, message):
    with pytest.raises(ValueError, match=message):
        solve_qp(**program)


def test_a_bend_that_leads_astray_does_not_cycle():
    """The dual of a machine with five rows, on which full corrections go round for ever."""
    rng = np.random.RandomState(42)
    X, y, weight = rng.rand(15, 30), rng.randint(0, 3, 15), rng.randint(0, 5, 15).astype(float)
    rows = np.flatnonzero((weight > 0) & (y < 2))
    sign, upper = np.where(y[rows] == 0, 1.0, -1.0), weight[rows]
    K = np.exp(-0.3786 * ((X[rows][:, None] - X[rows]) ** 2).sum(axis=2))
    n = rows.size
    G, h = np.vstack([-np.eye(n), np.eye(n)]), np.append(np.zeros(n), upper)
    found = solve_qp(np.outer(sign, sign) * K, -np.ones(n), G, h, sign[None], [0.0])
    assert found.success
    assert found.nit < 20

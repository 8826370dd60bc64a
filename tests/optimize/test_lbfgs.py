"""L-BFGS and OWL-QN."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der

from tercet.optimize import Quadratic, minimize
from tercet.optimize.lbfgs import LimitedMemory
from tercet.optimize.owlqn import subgradient
from tercet.optimize.quasi_newton import broyden_update

seeds = st.integers(0, 10_000)


def two_loops(moves, g):
    """The recursion as textbooks print it, on the vectors themselves."""
    q, alphas = g.copy(), []
    for delta, y in reversed(moves):
        alphas.append(delta @ q / (delta @ y))
        q -= alphas[-1] * y
    delta, y = moves[-1]
    r = delta @ y / (y @ y) * q
    for (delta, y), a in zip(moves, reversed(alphas)):
        r += delta * (a - y @ r / (delta @ y))
    return -r


@given(seeds, st.integers(1, 6), st.integers(1, 15))
def test_the_direction_is_that_of_the_two_loops(seed, memory, count):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(8, 8))
    A = root @ root.T + np.eye(8)
    rule, moves = LimitedMemory(8, memory), []
    for delta in rng.normal(size=(count, 8)):
        rule.update(1.0, delta, A @ delta)
        moves.append((delta, A @ delta))
    g = rng.normal(size=8)
    wanted = two_loops(moves[-memory:], g)
    np.testing.assert_allclose(rule.direction(g, g), wanted, rtol=1e-7, atol=1e-9 * np.abs(wanted).max())


@given(seeds)
def test_with_memory_of_everything_it_is_bfgs(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(5, 5))
    A = root @ root.T + np.eye(5)
    deltas = rng.normal(size=(4, 5))
    last = A @ deltas[-1]
    G = np.eye(5) * (deltas[-1] @ last) / (last @ last)
    rule = LimitedMemory(5, 10)
    for delta in deltas:
        rule.update(1.0, delta, A @ delta)
        G = broyden_update(G, delta, A @ delta, 0.0)
    g = rng.normal(size=5)
    np.testing.assert_allclose(rule.direction(g, g), -G @ g, rtol=1e-7, atol=1e-8)


def softmax_problem(n=400, d=20, k=6, penalty=1e-3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * np.geomspace(0.1, 3, d)
    label = (X @ rng.normal(size=(d, k)) + 3 * rng.gumbel(size=(n, k))).argmax(1)

    def loss(w):
        Z = X @ w.reshape(d, k)
        Z -= Z.max(axis=1, keepdims=True)
        total = np.exp(Z).sum(axis=1)
        P = np.exp(Z) / total[:, None]
        value = (np.log(total) - Z[np.arange(n), label]).mean()
        P[np.arange(n), label] -= 1
        return value + penalty / 2 * w @ w, (X.T @ P).ravel() / n + penalty * w

    return loss, np.zeros(d * k)


def rosenbrock(n):
    return lambda x: (rosen(x), rosen_der(x)), np.tile([-1.2, 1.0], n // 2)


@pytest.mark.parametrize(
    "problem",
    [rosenbrock(2), rosenbrock(20), rosenbrock(100), softmax_problem(), softmax_problem(penalty=1e-6)],
)
def test_no_more_evaluations_than_scipy(problem):
    fun, x0 = problem
    ours = minimize(fun, x0, jac=True, tol=1e-6, max_iter=5000)
    peer = scipy.optimize.minimize(
        fun, x0, jac=True, method="L-BFGS-B", options={"gtol": 1e-6, "ftol": 0, "maxiter": 5000}
    )
    assert ours.success
    assert ours.nfev <= 1.1 * peer.nfev
    assert ours.fun == pytest.approx(peer.fun, abs=1e-8)
    assert ours.nfev <= 1.3 * ours.nit + 2


@given(seeds)
def test_the_states_reported_are_not_changed_afterwards(seed):
    x0 = np.random.default_rng(seed).uniform(-2, 2, size=4)
    seen = []
    found = minimize(
        rosen, x0, jac=rosen_der, keep=True, callback=lambda step: seen.append(step.state.copy())
    )
    np.testing.assert_array_equal(found.trajectory[1:], seen)
    values = [rosen(x0), *found.history["fun"]]
    assert all(after <= before for before, after in pairwise(values))


# ---- OWL-QN


@given(seeds, st.floats(0.01, 2.0))
def test_orthogonal_l1_is_soft_thresholding(seed, l1):
    rng = np.random.default_rng(seed)
    curvature, b = rng.uniform(0.5, 3, size=6), 2 * rng.normal(size=6)
    found = minimize(Quadratic(np.diag(curvature), b), rng.normal(size=6), method="owlqn", l1=l1, tol=1e-10)
    wanted = np.sign(b) * np.maximum(np.abs(b) - l1, 0) / curvature
    np.testing.assert_allclose(found.x, wanted, atol=1e-8)
    assert ((found.x == 0) == (wanted == 0)).all()


def test_owlqn_meets_the_optimality_conditions_of_l1():
    loss, x0 = softmax_problem(penalty=0.0)
    l1 = np.full(x0.size, 0.02)
    l1[:6] = 0.0  # a part without penalty
    found = minimize(loss, x0, jac=True, method="owlqn", l1=l1, tol=1e-7)
    g = loss(found.x)[1]
    away = found.x != 0
    assert found.success
    assert 0 < away.sum() < x0.size
    np.testing.assert_allclose(g[away], -l1[away] * np.sign(found.x[away]), atol=1e-6)
    assert (np.abs(g[~away]) <= l1[~away] + 1e-7).all()
    assert found.fun == pytest.approx(loss(found.x)[0] + l1 @ np.abs(found.x))
    assert all(b <= a + 1e-12 for a, b in pairwise(found.history["fun"]))


def test_without_penalty_owlqn_finds_the_smooth_minimum():
    loss, x0 = softmax_problem()
    smooth, none = minimize(loss, x0, jac=True), minimize(loss, x0, jac=True, method="owlqn", l1=0.0)
    np.testing.assert_allclose(none.x, smooth.x, atol=1e-3)
    assert none.fun == pytest.approx(smooth.fun, abs=1e-8)


def test_owlqn_stops_at_the_end_of_floating_point():
    loss, x0 = softmax_problem()
    found = minimize(loss, x0, jac=True, method="owlqn", l1=0.01, tol=0.0)
    assert found.success
    assert found.grad_norm < 1e-8


def test_the_smallest_subgradient():
    x, g = np.array([1.0, -1.0, 0.0, 0.0, 0.0]), np.array([0.5, 0.5, 0.5, 2.0, -2.0])
    np.testing.assert_array_equal(subgradient(x, g, np.ones(5)), [1.5, -0.5, 0.0, 1.0, -1.0])


def test_strong_convexity_bounds_the_first_step():
    class Bowl:
        strong_convexity = 50.0

        def value(self, x):
            return self.value_and_gradient(x)[0]

        def gradient(self, x):
            return self.value_and_gradient(x)[1]

        def value_and_gradient(self, x):
            return 25.0 * float((x - 1e-3) @ (x - 1e-3)), 50.0 * (x - 1e-3)

    found = minimize(Bowl(), np.zeros(3), method="lbfgs")
    assert found.success
    assert found.nfev == 2  # a step of 1 / |g| would be ten times too long


@pytest.mark.parametrize("seed", [3, 13, 37])
def test_weak_conditions_pass_kinks(seed):
    """In a kink no step may meet the strong condition, and f changes by next to nothing far from a minimum."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(40, 6)), rng.normal(size=40)

    def fun(x):
        r = A @ x - b
        return float(np.maximum(r, 0.0).sum() + 0.1 * (r @ r)), A.T @ ((r > 0) + 0.2 * r)

    def minimum(start, tol):
        given = {"line_search": "weak-wolfe", "stop": {"value": tol, "gradient": 1e-8}, "max_iter": 300}
        return minimize(fun, start, jac=True, method="lbfgs", **given).fun

    best = min(minimum(start, 1e-14) for start in rng.normal(size=(20, 6)))
    assert minimum(np.full(6, 3.0), 2e-9) <= best * (1 + 7e-4)

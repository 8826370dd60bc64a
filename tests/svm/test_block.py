"""The engine's two-variable steps and optimality conditions, against the plain forms of the texts."""

import numpy as np
import pytest

from tercet.kernels import Gaussian
from tercet.svm import DualProblem, maximal_violating_pair, second_order_pair, smo, smo_errors, smo_step
from tercet.svm._dual.block import smo_block
from tercet.svm._dual.block_descent import DualState
from tercet.svm._dual.problem import dual_solution
from tercet.svm._dual.solver import solve_dual


def gram_and_labels(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, Gaussian(gamma=0.5)(X), y


def by_engine(K, y, C, alpha, limit):
    """alpha after so many steps of the engine on one block."""
    n = y.size
    beta = y * alpha
    v = y - K @ beta  # -(K beta + q) with q = -y
    lower, upper = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    count = smo_block(K, np.diag(K).copy(), np.zeros(n), v, beta, lower, upper, n, 1e-12, 1e-9, limit)
    np.testing.assert_allclose(v, y - K @ beta, atol=1e-10)
    return y * beta, count


def by_plain_steps(K, y, C, alpha, limit):
    """alpha after so many steps of `second_order_pair` and `smo_step`."""
    alpha = alpha.copy()
    for _ in range(limit):
        i, j = second_order_pair(K, y, alpha, C, smo_errors(K, y, alpha))
        step = smo_step(K, y, alpha, 0.0, C, i, j)
        assert step.decrease > 0
        alpha[i], alpha[j] = step.a1, step.a2
    return alpha


@pytest.mark.parametrize("C", [0.1, 1.0, np.full(40, 3.0), 0.5 + np.arange(40) % 3])
@pytest.mark.parametrize("steps", [1, 2, 5, 20])
def test_steps_of_the_engine_are_those_of_the_texts(C, steps):
    _, K, y = gram_and_labels()
    C = np.broadcast_to(C, 40)
    start = C * np.random.default_rng(3).uniform(0.1, 0.9, 40)  # no ties: they are decided by rounding
    alpha, count = by_engine(K, y, C, start, steps)
    assert count == steps
    np.testing.assert_allclose(alpha, by_plain_steps(K, y, C, start, steps), atol=1e-9)


def test_no_pair_at_the_optimum():
    _, K, y = gram_and_labels()
    alpha, _ = by_engine(K, y, np.ones(40), np.zeros(40), 10_000)
    *_, low, high = maximal_violating_pair(smo_errors(K, y, alpha), y, alpha, 1.0)
    assert low - high <= 1e-8
    free = smo([[18, 21, 6], [21, 25, 7], [6, 7, 2]], [1, 1, -1], C=10.0)
    E = smo_errors([[18, 21, 6], [21, 25, 7], [6, 7, 2]], [1, 1, -1], free.alpha)
    assert second_order_pair([[18, 21, 6], [21, 25, 7], [6, 7, 2]], [1, 1, -1], free.alpha, 10.0, E) is None


@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_the_engine_and_smo_have_one_solution(C):
    X, K, y = gram_and_labels(seed=1)
    problem = DualProblem(Gaussian(gamma=0.5), X, y, np.full(40, -1.0), np.full(40, C), np.zeros(40))
    plain, engine = smo(K, y, C, tol=1e-9), solve_dual(problem)
    np.testing.assert_allclose(engine.alpha, plain.alpha, atol=1e-6 * max(1.0, C))
    assert engine.b == pytest.approx(plain.b, abs=1e-6)
    assert engine.objective == pytest.approx(plain.objective, rel=1e-9)


@pytest.mark.parametrize("nu", [False, True])
def test_conditions_of_the_state_are_those_of_the_plain_form(nu):
    X, K, y = gram_and_labels(seed=2)
    half = np.where(y > 0, 0.4, 0.4 * np.sum(y > 0) / np.sum(y < 0))
    start = half if nu else np.zeros(40)
    p = np.zeros(40) if nu else np.full(40, -1.0)
    problem = DualProblem(Gaussian(gamma=0.5), X, y, p, np.ones(40), start, nu=nu)
    found = solve_dual(problem, max_iter=15)  # somewhere on the way
    state = DualState(problem)
    state.beta[:] = y * found.alpha
    ours = state.solution(K @ state.beta, 15, False, "")
    plain = dual_solution(found.alpha, ours.gradient, y, p, problem.upper, nu=nu)
    for name in ("b", "rho", "interval", "violation", "objective"):
        assert getattr(ours, name) == pytest.approx(getattr(plain, name), rel=1e-12), name
    if not nu:
        E = smo_errors(K, y, found.alpha)
        assert maximal_violating_pair(E, y, found.alpha, 1.0)[2:] == pytest.approx(plain.interval, rel=1e-9)

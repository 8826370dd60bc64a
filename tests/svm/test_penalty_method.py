"""Penalties and conjugate gradients reach the same machine as the other solvers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tercet.kernels import Gaussian, Kernel, Linear, Sigmoid
from tercet.optimize import conjugate_gradient
from tercet.svm import DualProblem
from tercet.svm.maximum_margin import solve_dual_qp
from tercet.svm.penalty_method import solve_penalty


@pytest.mark.parametrize(
    ("kernel", "C"), [(Linear(), 1.0), (Gaussian(gamma=0.5), 10.0), (Gaussian(gamma=0.5), 0.1)]
)
def test_the_dual_is_that_of_the_quadratic_program(kernel: Kernel, C: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] + 0.7 * rng.standard_normal(40) > 0, 1.0, -1.0)
    dual = DualProblem(kernel, X, y, np.full(40, -1.0), np.full(40, C), np.zeros(40))
    found, exact = solve_penalty(dual, tol=1e-7), solve_dual_qp(dual)
    assert found.converged
    assert found.objective == pytest.approx(exact.objective, rel=1e-6)
    assert found.violation <= 1e-7
    assert abs(y @ found.alpha) <= 1e-6 * found.alpha.sum()
    assert found.alpha.min() >= 0
    assert found.alpha.max() <= C


def test_regression_has_two_multipliers_a_row() -> None:
    x, y = np.array([[0.0], [1], [2], [3]]), np.array([0, 1, 1.5, 4])
    dual = DualProblem(
        Linear(), x, np.repeat([1.0, -1.0], 4), np.concatenate([0.5 - y, 0.5 + y]), np.full(8, 10.0), np.zeros(8),
        row=np.tile(np.arange(4), 2),
    )  # fmt: skip
    found = solve_penalty(dual, tol=1e-8)
    w = (found.alpha[:4] - found.alpha[4:]) @ x[:, 0]
    assert (w, found.b) == (pytest.approx(4 / 3, abs=1e-6), pytest.approx(-0.5, abs=1e-6))


def test_conjugate_gradients_end_after_as_many_steps_as_unknowns() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6))
    A = A @ A.T + np.eye(6)
    b, products = rng.standard_normal(6), []

    def times(v: np.ndarray) -> np.ndarray:
        products.append(v)
        return A @ v

    np.testing.assert_allclose(A @ conjugate_gradient(times, b, tol=1e-10).x, b, atol=1e-8)
    assert len(products) <= 8


@pytest.mark.parametrize("seed", range(6))
def test_a_small_C_takes_few_rounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 2))
    y = np.where(X[:, 0] + rng.standard_normal(30) > 0.3, 1.0, -1.0)
    dual = DualProblem(Gaussian(gamma=5.0), X, y, np.full(30, -1.0), np.full(30, 0.01), np.zeros(30))
    found = solve_penalty(dual, tol=1e-6, max_iter=100)
    assert found.converged
    assert found.objective == pytest.approx(solve_dual_qp(dual).objective, rel=1e-5)


@pytest.mark.parametrize("size", [1e-100, 1e-8, 1e100])
def test_any_scale(size: float) -> None:
    X, y = np.array([[3.0, 3], [4, 3], [1, 1]]), np.array([1.0, 1, -1])
    upper = np.full(3, np.inf)
    found = solve_penalty(DualProblem(Linear(), X * size, y, np.full(3, -1.0), upper, np.zeros(3)), tol=1e-8)
    assert found.converged
    np.testing.assert_allclose(found.alpha * size**2, [0.25, 0, 0.25], atol=1e-6)


def test_a_kernel_that_is_not_positive_semidefinite_is_told() -> None:
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    dual = DualProblem(Sigmoid(), X, y, np.full(60, -1.0), np.ones(60), np.zeros(60))
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        found = solve_penalty(dual)
    assert not found.converged
    assert np.isfinite(found.objective)

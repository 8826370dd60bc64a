"""The solver of small duals: badly scaled kernels, all forms of variables, bounds that agree, no limit of steps."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tercet import Recorder
from tercet.kernels import Gaussian, Polynomial, Precomputed
from tercet.svm import SVC, SVR, DualProblem, NuSVC, NuSVR, kkt_report
from tercet.svm._dual import block_descent, small
from tercet.svm._dual.block_descent import solve_by_blocks
from tercet.svm._dual.solver import solve_dual, solve_exactly


def points(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def problems():
    X, y = points()
    n, K = y.size, Gaussian(gamma=0.5)(X)
    at, zeros = np.arange(n), np.zeros(n)
    fill = np.where(np.cumsum(y > 0) * (y > 0) + np.cumsum(y < 0) * (y < 0) <= 6, 1.0, 0.0)
    two = {"row": np.tile(at, 2), "start": np.zeros(2 * n), "upper": np.full(2 * n, 3.0)}
    p = np.concatenate([0.1 - X[:, 0], 0.1 + X[:, 0]])
    sides = np.repeat([1.0, -1.0], n)
    gram = Precomputed(K)
    yield "classes", DualProblem(gram, at, y, -np.ones(n), np.full(n, 2.0), zeros)
    yield "some rows", DualProblem(gram, at[5:30], y[5:30], -np.ones(25), np.full(25, 2.0), zeros[5:30])
    yield "ridge", DualProblem(gram, at, y, -np.ones(n), np.full(n, 50.0), zeros, ridge=np.full(n, 0.2))
    yield "nu", DualProblem(gram, at, y, zeros, np.ones(n), fill, nu=True)
    yield "tube", DualProblem(gram, at, sides, p, **two)
    start = np.tile(np.where(at < 5, 3.0, 0.0), 2)
    yield "nu tube", DualProblem(gram, at, sides, p - 0.1, two["upper"], start, row=two["row"], nu=True)


@pytest.mark.parametrize(("name", "problem"), list(problems()), ids=lambda v: v if isinstance(v, str) else "")
def test_same_optimum_as_blocks_and_the_quadratic_program(name, problem):
    assert small.suits(problem)
    found = solve_dual(problem)
    blocks = solve_by_blocks(problem, tol=1e-11)
    np.testing.assert_allclose(found.alpha, blocks.alpha, atol=1e-7)
    np.testing.assert_allclose(found.gradient, blocks.gradient, atol=1e-8)
    assert found.b == pytest.approx(blocks.b, abs=1e-8)
    assert found.rho == pytest.approx(blocks.rho, abs=1e-8)
    assert found.objective == pytest.approx(blocks.objective, rel=1e-10)
    assert found.violation <= 1e-9
    assert solve_exactly(problem).objective == pytest.approx(found.objective, rel=1e-7)


def test_badly_scaled_kernel_reaches_the_optimum():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 2, 30)
    options = {"kernel": Polynomial(degree=2, gamma=1000.0), "tol": 1e-3}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SVC(**options).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="quadratic program"):  # it is near, but for rounding
        best = SVC(**options, algorithm="dual-qp").fit(X, y)
    assert model.violation_[0] <= 1e-3
    assert model.objective_[0] == pytest.approx(best.objective_[0], rel=1e-6)
    assert model.n_iter_[0] < 200_000  # the quadratic program takes over


@pytest.mark.parametrize("seed", range(4))
def test_kkt_report_with_weights_of_rows_and_classes(seed):
    rng = np.random.default_rng(seed)
    X, y = points(60, seed=seed)
    weight = rng.random(60) * 3
    model = SVC(C=0.7, class_weight={-1.0: 0.3, 1.0: 1.7}, kernel="linear").fit(X, y, weight)
    report = kkt_report(model, X, y, weight, tol=1e-6)
    assert report.holds
    assert report.dual.max() == 0.0  # the bounds are the same to the last bit
    assert report.worst <= 1e-6


@pytest.mark.parametrize("machine", [SVC, NuSVC, SVR, NuSVR])
def test_callbacks_change_nothing(machine):
    X, y = points(80)
    alone = machine().fit(X, y)
    watched = machine().set_callbacks(Recorder()).fit(X, y)
    np.testing.assert_array_equal(watched.dual_coef_, alone.dual_coef_)
    np.testing.assert_array_equal(watched.intercept_, alone.intercept_)


def test_no_limit_and_a_limit_of_steps():
    X, y = points(80)
    gram = Precomputed(Gaussian(gamma=0.5)(X))
    problem = DualProblem(gram, np.arange(80), y, -np.ones(80), np.full(80, 100.0), np.zeros(80))
    assert solve_dual(problem).converged
    few = solve_dual(problem, max_iter=5)
    assert not few.converged
    assert few.n_iter == 5
    assert few.message == "max_iter=5 steps were not enough"


@pytest.mark.parametrize("n", [8, 400])
def test_steps_without_progress_come_to_an_end(n, monkeypatch):
    """Steps that rounding undoes would go on for ever."""
    monkeypatch.setattr(small, "PATIENT_STEPS", 3)
    monkeypatch.setattr(small, "STEPS_PER_ROW", 0)
    monkeypatch.setattr(small.SmallDual, "descend", stand_still)
    X, y = points(n)
    gram = Precomputed(Gaussian(gamma=0.5)(X))
    problem = DualProblem(gram, np.arange(n), y, -np.ones(n), np.full(n, 100.0), np.zeros(n))
    found, refined = small.solve_small(problem, tol=1e-3, max_iter=-1, steps=None, exact=lambda problem: None)
    assert (found.converged, refined) == (False, False)
    assert found.message == "rounding keeps it from getting nearer"


def stand_still(dual, tol, limit):
    dual.n_iter += 1
    return False


@pytest.mark.parametrize("solve", [solve_dual, solve_by_blocks])
def test_a_dual_without_a_limit_is_given_up_in_the_end(solve, monkeypatch):
    for module in (small, block_descent):
        monkeypatch.setattr(module, "most_steps", lambda n: 7)
    monkeypatch.setattr(small, "WORK", 80 * 7)
    X, y = points(80)
    gram = Precomputed(Gaussian(gamma=0.5)(X))
    problem = DualProblem(gram, np.arange(80), y, -np.ones(80), np.full(80, 100.0), np.zeros(80))
    found = solve(problem)
    assert not found.converged
    assert found.message == "7 steps were not enough"


def test_numbers_too_large_for_a_dual():
    X, y = points(20)
    with pytest.raises(ValueError, match=r"goes up to 1e\+300 and K\(x, x\) to 1; .* at most 1e\+140"):
        SVC(C=1e300).fit(X, y)
    with pytest.raises(ValueError, match=r"goes up to 1 and K\(x, x\) to .*; .* at most 1e\+140"):
        SVC(kernel="linear").fit(X * 1e150, y)
    with pytest.raises(ValueError, match="the variance is too small a number"):
        SVC().fit(X * 1e-160, y)


def test_a_limit_of_steps_that_suffices_gives_the_refined_solution():
    """Multipliers that rounding alone keeps from their bounds must not decide b, whatever max_iter is."""
    rng = np.random.default_rng(5)
    X, y = rng.random((12, 2)), 10 * rng.random(12)
    weight = rng.integers(1, 4, size=12)
    free = NuSVR(C=0.3, gamma=0.7, tol=1e-9).fit(X, y, sample_weight=weight)
    limited = NuSVR(C=0.3, gamma=0.7, tol=1e-9, max_iter=1000).fit(X, y, sample_weight=weight)
    assert limited.intercept_ == free.intercept_
    repeated = NuSVR(C=0.3, gamma=0.7, tol=1e-9, max_iter=1000).fit(
        X.repeat(weight, axis=0), y.repeat(weight)
    )
    np.testing.assert_allclose(repeated.predict(X), limited.predict(X), rtol=1e-6)

"""The solver of all duals: optima, all kinds of problems and rows, and what goes wrong."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm as peers

from tercet.core.steps import Steps
from tercet.kernels import Gaussian, Laplacian, Linear, Polynomial, Precomputed
from tercet.optimize import solve_qp
from tercet.svm import DualProblem
from tercet.svm._dual import block_descent, gaussian_rows, gram_rows, small
from tercet.svm._dual.row_cache import RowCache
from tercet.svm._dual.solver import solve_dual

solve = functools.partial(solve_dual, full_precision=False)  # within tol, by blocks alone


def points(n=60, d=3, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] * X[:, 1] + noise * rng.normal(size=n) > 0, 1.0, -1.0)


def classifier(X, y, C=1.0, kernel=None, **more):
    n = y.size
    options = {"p": -np.ones(n), "upper": np.full(n, C), "start": np.zeros(n), **more}
    return DualProblem(kernel or Gaussian(gamma=0.5), X, y, **options)


def regressor(X, t, C=1.0, epsilon=0.1, kernel=None):
    n = t.size
    sign, row = np.repeat([1.0, -1.0], n), np.tile(np.arange(n), 2)
    p = np.concatenate([epsilon - t, epsilon + t])
    return DualProblem(kernel or Gaussian(gamma=0.5), X, sign, p, np.full(2 * n, C), np.zeros(2 * n), row=row)


def hessian(problem):
    row = np.arange(problem.sign.size) if problem.row is None else problem.row
    K = problem.kernel(problem.X)[np.ix_(row, row)]
    ridge = np.zeros(K.shape[0]) if problem.ridge is None else problem.ridge[row]
    return np.outer(problem.sign, problem.sign) * K + np.diag(ridge)


def objective(problem, alpha):
    return alpha @ hessian(problem) @ alpha / 2 + problem.p @ alpha


def violation(problem, alpha):
    """Of the worst pair, from scratch."""
    asks = -problem.sign * (hessian(problem) @ alpha + problem.p)
    rises = np.where(problem.sign > 0, alpha < problem.upper, alpha > 0)
    falls = np.where(problem.sign > 0, alpha > 0, alpha < problem.upper)
    sides = [problem.sign > 0, problem.sign < 0] if problem.nu else [np.ones(alpha.size, dtype=bool)]
    return max(asks[rises & s].max(initial=-np.inf) - asks[falls & s].min(initial=np.inf) for s in sides)


def exact(problem):
    """The same program by an interior-point method."""
    m, sign = problem.sign.size, problem.sign
    bounded = np.isfinite(problem.upper)
    G = np.vstack([-np.eye(m), np.eye(m)[bounded]])
    h = np.concatenate([np.zeros(m), problem.upper[bounded]])
    A = np.array([sign > 0, sign < 0], dtype=float) if problem.nu else sign[None]
    return solve_qp(hessian(problem), problem.p, G, h, A, A @ problem.start, tol=1e-10).fun


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks, tiles and chunks so small that a few hundred rows need many of them."""
    monkeypatch.setattr(gram_rows, "FULL_GRAM_ROWS", 16)
    monkeypatch.setattr(block_descent, "BLOCK", 32)
    for name, value in (("TILE", 16), ("CHUNK", 64), ("TILE_ROWS", 16)):
        monkeypatch.setattr(gaussian_rows, name, value)


X, Y = points()
FILL = np.zeros(60)
for side in (Y > 0, Y < 0):
    FILL[np.flatnonzero(side)[:9]] = 1.0
PROBLEMS = {
    "classes": classifier(X, Y, 2.0),
    "ridge": classifier(X, Y, np.inf, ridge=np.full(60, 0.25)),
    "weights": classifier(X, Y, upper=np.arange(60) % 4 / 2.0),
    "nu": classifier(X, Y, p=np.zeros(60), start=FILL, nu=True),
    "one class": classifier(X, np.ones(60), p=np.zeros(60), start=np.repeat([1.0, 0.0], [12, 48])),
    "regression": regressor(X, np.sin(X[:, 0]), 3.0),
    "hard margin": classifier(X, Y, np.inf, Gaussian(gamma=4.0)),
    "linear": classifier(X, Y, 0.5, Linear()),
    "polynomial": classifier(X, Y, 0.5, Polynomial(degree=2)),
    "laplacian": classifier(X, Y, 0.5, Laplacian(gamma=0.5)),
    "given": classifier(Gaussian(gamma=0.5)(X), Y, 1.0, Precomputed()),
    "sparse": classifier(sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)), Y, 1.0),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_optimum(name):
    problem = PROBLEMS[name]
    found = solve(problem, tol=1e-9)
    best = exact(problem)
    assert found.converged
    assert found.violation <= 1e-9
    assert found.message == ""
    assert found.objective == pytest.approx(objective(problem, found.alpha), rel=1e-12)
    assert found.objective == pytest.approx(best, rel=1e-8)
    assert violation(problem, found.alpha) <= 2e-9
    assert np.all((found.alpha >= 0) & (found.alpha <= problem.upper))
    assert problem.sign @ found.alpha == pytest.approx(problem.sign @ problem.start, abs=1e-10)
    np.testing.assert_allclose(found.gradient, hessian(problem) @ found.alpha + problem.p, atol=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_optimum_by_blocks(name, tol, small_blocks):
    problem = PROBLEMS[name]
    found = solve(problem, tol=tol)
    assert found.converged
    assert violation(problem, found.alpha) <= 1.5 * tol
    assert objective(problem, found.alpha) == pytest.approx(exact(problem), rel=10 * tol, abs=10 * tol)
    assert np.all((found.alpha >= 0) & (found.alpha <= problem.upper))


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("cache_size", [1.0, 0.01, 0.0])
def test_large_against_libsvm(C, cache_size, small_blocks):
    X, y = points(200, 5, seed=1)
    problem = classifier(X, y, C, Gaussian(gamma=0.2))
    found = solve(problem, cache_size=cache_size)
    peer = peers.SVC(C=C, gamma=0.2).fit(X, y)
    theirs = np.zeros(200)
    theirs[peer.support_] = np.abs(peer.dual_coef_[0])
    assert found.converged
    assert violation(problem, found.alpha) <= 1.2e-3
    assert objective(problem, found.alpha) <= objective(problem, theirs) * (1 - 1e-6)
    assert found.b == pytest.approx(peer.intercept_[0], abs=3e-3)


def test_regression_against_libsvm(small_blocks):
    X, _ = points(120, 4, seed=2)
    t = np.sin(X[:, 0]) + 0.1 * X[:, 1]
    found = solve(regressor(X, t))
    peer = peers.SVR(gamma=0.5).fit(X, t)
    coef = np.zeros(120)
    coef[peer.support_] = peer.dual_coef_[0]
    theirs = np.concatenate([np.maximum(coef, 0), np.maximum(-coef, 0)])
    problem = regressor(X, t)
    assert objective(problem, found.alpha) <= objective(problem, theirs) + 1e-5 * abs(
        objective(problem, theirs)
    )
    assert not np.any(found.alpha[:120] * found.alpha[120:])


def test_two_multipliers(small_blocks):
    X, y = points(150, 4, seed=3)
    start = np.zeros(150)
    for side in (y > 0, y < 0):
        start[np.flatnonzero(side)[:20]] = 1.0
    problem = classifier(X, y, p=np.zeros(150), start=start, nu=True)
    found = solve(problem)
    peer = peers.NuSVC(nu=40 / 150, gamma=0.5).fit(X, y)
    assert found.b / found.rho == pytest.approx(peer.intercept_[0], abs=0.02)
    assert found.alpha[y > 0].sum() == pytest.approx(20.0) == found.alpha[y < 0].sum()


@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.2), Linear(), Polynomial(degree=2)])
def test_same_bits_for_any_threads(kernel, small_blocks):
    X, y = points(150, 5, seed=4)
    first, *others = [solve(classifier(X, y, 10.0, kernel), cache_size=0.01, n_jobs=k) for k in (1, 2, 3)]
    for other in others:
        np.testing.assert_array_equal(first.alpha, other.alpha)
        np.testing.assert_array_equal(first.gradient, other.gradient)


@pytest.mark.parametrize("convert", [sparse.csr_array, np.asfortranarray, lambda X: X.astype(np.float32)])
def test_forms_of_rows(convert, small_blocks):
    X, y = points(120, 4, seed=5)
    X = np.where(np.abs(X) > 0.4, X, 0.0)
    found = solve(classifier(convert(X), y))
    assert found.converged
    assert objective(classifier(X, y), found.alpha) == pytest.approx(exact(classifier(X, y)), rel=1e-4)


@pytest.mark.parametrize("given", ["whole", "names"])
def test_given_gram_matrix(given, small_blocks):
    X, y = points(200, 4, seed=5)
    gram = Gaussian(gamma=0.5)(X)
    some = np.random.default_rng(0).permutation(200)[:150]
    if given == "whole":
        problem = classifier(gram[np.ix_(some, some)], y[some], kernel=Precomputed())
    else:
        problem = classifier(some, y[some], kernel=Precomputed(gram))
    found = solve(problem, tol=1e-6)
    assert found.objective == pytest.approx(exact(classifier(X[some], y[some])), rel=1e-9)


@pytest.mark.parametrize("blocks", [False, True])
def test_warm_start(blocks, request):
    if blocks:
        request.getfixturevalue("small_blocks")
    X, y = points(100, 4, seed=6)
    cold = solve(classifier(X, y, 10.0), tol=1e-6)
    again = solve(classifier(X, y, 10.0, start=cold.alpha), tol=2e-6)
    assert again.converged
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.alpha, cold.alpha)
    nearby = solve(classifier(X, y, 11.0, start=cold.alpha), tol=1e-6)
    assert nearby.objective == pytest.approx(solve(classifier(X, y, 11.0), tol=1e-6).objective, rel=1e-9)


def test_weight_two_is_the_row_twice():
    X, y = points(40, 3, seed=7)
    twice = solve(classifier(np.vstack([X, X[:10]]), np.append(y, y[:10])), tol=1e-9)
    heavy = solve(classifier(X, y, upper=np.repeat([2.0, 1.0], [10, 30])), tol=1e-9)
    assert heavy.objective == pytest.approx(twice.objective, rel=1e-9)
    assert heavy.b == pytest.approx(twice.b, abs=1e-7)


@pytest.mark.parametrize("blocks", [False, True])
def test_contradictory_duplicates(blocks, request):
    if blocks:
        request.getfixturevalue("small_blocks")
    X, y = points(40, 2, seed=8)
    X, y = np.vstack([X, X]), np.append(y, -y)
    problem = classifier(X, y, 5.0)
    found = solve(problem)
    assert found.converged
    assert violation(problem, found.alpha) <= 1.2e-3
    assert found.objective == pytest.approx(exact(problem), rel=1e-4)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(gamma=1e-12), Polynomial(degree=3)])
@pytest.mark.parametrize("scale", [1e-6, 1e5])
def test_scales(kernel, scale, small_blocks):
    """It converges, or says that it does not; and it ends."""
    X, y = points(50, 3, seed=9)
    problem = classifier(scale * X, y, 1.0, kernel)
    found = solve(problem, max_iter=3_000)
    assert found.converged == (found.message == "")
    assert np.isfinite(found.objective)
    assert found.objective <= 1e-9
    assert np.all((found.alpha >= 0) & (found.alpha <= 1.0))
    if found.converged:
        assert found.violation <= 1e-3


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_rows_far_from_zero(offset, small_blocks):
    """In float32 such rows are no longer what they were: it has to be noticed."""
    X, y = points(120, 4, seed=12)
    problem = classifier(X + offset, y, 10.0, Laplacian(gamma=0.2))
    found = solve(problem)
    assert found.converged
    assert violation(problem, found.alpha) <= 1.2e-3


def test_kernel_too_large_for_float32(small_blocks):
    X, y = points(60, 3, seed=13)
    found = solve(classifier(1e13 * X, y, 1e-78, Polynomial(degree=3, gamma=1.0)))
    plain = solve(classifier(X, y, 1.0, Polynomial(degree=3, gamma=1.0)))
    assert found.converged
    assert found.objective == pytest.approx(1e-78 * plain.objective, rel=1e-3)


def test_points_many_widths_apart(small_blocks):
    """Squared lengths of 1e16 leave no digits of distances; but a point is like itself, and like its twin."""
    X, y = points(60, 3, seed=14)
    X = np.vstack([1e8 * X, 1e8 * X])
    problem = classifier(X, np.append(y, y), 1.0, Gaussian(gamma=1.0))
    found = solve(problem, tol=1e-6)
    np.testing.assert_array_equal(Gaussian(gamma=1.0)(X, X.copy()), np.tile(np.eye(60), (2, 2)))
    assert found.converged
    assert violation(problem, found.alpha) <= 1.5e-6


@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.05), Polynomial(degree=3)])
def test_float32_rows_have_exact_sums(kernel, small_blocks):
    X, y = points(120, 4, seed=15)
    X = X.astype(np.float32)
    found = solve(classifier(X, y, 1e4, kernel), tol=2e-5)
    assert found.converged
    assert violation(classifier(X.astype(np.float64), y, 1e4, kernel), found.alpha) <= 3e-5


def test_slow_is_not_stuck(monkeypatch):
    """A small problem that creeps is no problem that rounding keeps from its optimum."""
    monkeypatch.setattr(block_descent, "WORK", 300)  # five steps at a time
    X, y = points(60, 3, seed=16)
    found = solve(classifier(10 * X, y, 1e5, Gaussian(gamma=1e-3)))
    assert found.message == ""
    assert found.converged


def test_all_rows_alike():
    found = solve(classifier(np.ones((6, 2)), np.array([1.0, -1, 1, -1, 1, -1]), 1.0))
    assert found.converged
    np.testing.assert_array_equal(found.alpha, 1.0)


def test_kernel_that_is_not_psd():
    rng = np.random.default_rng(0)
    gram = rng.normal(size=(50, 50))
    gram += gram.T
    y = np.where(rng.normal(size=50) > 0, 1.0, -1.0)
    found = solve(classifier(gram, y, 1.0, Precomputed()), max_iter=10_000)
    assert np.all((found.alpha >= 0) & (found.alpha <= 1.0))
    assert found.objective < 0.0
    assert found.converged == (found.violation <= 1e-3)


def test_no_hyperplane_without_slack():
    X, y = points(12, 2, seed=10, noise=3.0)
    found = solve(classifier(X, y, np.inf, Linear()))
    assert not found.converged
    assert found.message == "unbounded"


def test_limit_of_steps():
    found = solve(classifier(X, Y, 100.0), max_iter=7)
    assert not found.converged
    assert found.n_iter == 7
    assert "max_iter=7" in found.message


def test_no_limit_of_blocks(monkeypatch, small_blocks):
    monkeypatch.setattr(small, "MAX_BLOCKS", 2)  # of one loop: another follows
    found = solve(classifier(X, Y, 100.0))
    assert found.converged
    assert violation(classifier(X, Y, 100.0), found.alpha) <= 1.2e-3


@pytest.mark.parametrize("blocks", [False, True])
def test_tolerance_below_rounding(blocks, request):
    if blocks:
        request.getfixturevalue("small_blocks")
    stopped = []
    for C in (1.0, 2.0, 3.0, 5.0):
        found = solve(classifier(X, Y, C), tol=1e-18)
        assert found.violation <= 1e-13
        # With the rounding of some mathematical libraries it comes out as zero for one of them.
        assert found.converged == (found.violation == 0)
        if not found.converged:
            stopped.append(found.message)
    assert stopped
    assert all("rounding" in message for message in stopped)


def test_reports_of_blocks(small_blocks):
    loops = []

    def steps(*args, **options):
        loops.append(Steps(*args, **options))
        return loops[0]

    X, y = points(150, 4, seed=11)
    found = solve(classifier(X, y), steps=steps)
    history = loops[0].history
    assert len(history) > 5
    assert history[-1]["violation"] <= 1e-3
    values = [report["objective"] for report in history]
    assert max(np.diff(values)) <= 1e-3  # it falls, but for the noise of rounded rows
    alpha, b, rho = loops[0].state
    np.testing.assert_array_equal(alpha, found.alpha)
    assert (b, rho) == (found.b, 1.0)
    assert loops[0].is_converged


def test_sums_of_rounded_rows(small_blocks):
    """The rounding error of 16-bit rows is known, and corrected."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    rows = gaussian_rows.GaussianRows(Gaussian(gamma=0.1), X, 2.0 * 150 * 40, None)
    K = Gaussian(gamma=0.1)(X)
    some, coef = rng.permutation(150)[:37], 100 * rng.normal(size=37)
    np.testing.assert_allclose(rows.block(some), K[np.ix_(some, some)], atol=1e-6)
    F, keep = np.zeros(150), np.ones(37, dtype=bool)
    rows.add(F, some, coef, keep, some)
    np.testing.assert_allclose(F, coef @ K[some], atol=1e-3)
    fresh = np.std(F - coef @ K[some])
    rows.add(F, some, coef, keep, some)
    error = F - 2 * coef @ K[some]
    assert np.std(error) > 10 * fresh
    assert rows.rounding_error() == pytest.approx(np.std(error), rel=0.3)
    rows.correct(F, np.bincount(some, 2 * coef, 150), 1e-2 * rows.rounding_error())
    assert np.std(F - 2 * coef @ K[some]) < 0.1 * np.std(error)


def test_cache_keeps_what_is_pinned():
    cache = RowCache(100, 4, np.float32)
    none = np.zeros(0, dtype=np.int64)
    np.testing.assert_array_equal(cache.allocate(np.array([7, 8, 9]), none), [0, 1, 2])
    cache.find(np.array([7]))
    # one slot is free; of the others 8 and 9 are older, but 8 is pinned
    np.testing.assert_array_equal(cache.allocate(np.array([20, 21, 22]), np.array([8])), [3, 2, 0])
    np.testing.assert_array_equal(cache.find(np.array([7, 8, 9, 20, 21, 22])), [-1, 1, -1, 3, 2, 0])
    assert RowCache(100, 0, np.float32).allocate(np.array([1]), none) == [-1]


@pytest.mark.parametrize("n", [4, 20])
def test_a_tube_that_no_line_fits_is_told_in_few_steps(n):
    """Pair by pair, the multipliers would take a million steps on their way to infinity."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 1))
    t = X[:, 0] + rng.choice([-1.0, 1.0], n)
    found = solve(regressor(X, t, C=np.inf, epsilon=0.2, kernel=Linear()), tol=1e-9 if n == 4 else 1e-3)
    assert found.message == "unbounded"
    assert found.n_iter <= 100_000


def test_a_tight_tube_without_bounds_is_found():
    X, _ = points(60)
    t = np.sin(X[:, 0]) + X[:, 1]
    problem = regressor(X, t, C=np.inf, epsilon=0.02)
    found = solve(problem, tol=1e-6)
    assert found.converged
    f = problem.kernel(X) @ (found.alpha[:60] - found.alpha[60:]) + found.b
    assert np.abs(f - t).max() <= 0.02 + 1e-5
    best = solve_qp(hessian(problem), problem.p, -np.eye(120), np.zeros(120), problem.sign[None], np.zeros(1))
    assert found.objective == pytest.approx(best.fun, rel=1e-5)

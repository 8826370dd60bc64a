"""Coordinate descent: the texts' numbers, optimality, and every way the data can come."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tercet.core.steps import ConvergenceWarning, Steps
from tercet.optimize import LeastSquares, coordinate_descent, elastic_net_duality_gap

MODULE = sys.modules["tercet.optimize.coordinate_descent"]  # the package has a function of that name


def data(n=60, d=30, seed=0, share=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1.0
    X[rng.random((n, d)) < share] = 0.0
    y = X[:, :4] @ [3.0, -2.0, 1.0, 0.5] + rng.normal(size=n) + 5.0
    return X, y, rng.integers(0, 4, n).astype(float)


def value(X, y, s, w, b, l1, l2):
    s = np.ones(len(y)) if s is None else s
    r = y - X @ w - b
    return s @ r**2 / s.sum() / 2 + l1 * np.abs(w).sum() + l2 * w @ w / 2


def test_orthogonal_design_is_soft_thresholding():
    X = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    problem = LeastSquares(X, np.array([3.6, 2.4, -4.4, -1.6]), fit_intercept=False)
    np.testing.assert_allclose(coordinate_descent(problem, l1=0.3).x, [2.7, -0.1, 0.7], rtol=1e-12)
    result = coordinate_descent(problem, l1=0.15, l2=0.3)
    np.testing.assert_allclose(result.x, [2.19230769, -0.19230769, 0.65384615], atol=1e-8)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 100),
    d=st.sampled_from([1, 5, 30]),
    l1=st.floats(0.01, 2.0),
    l2=st.sampled_from([0.0, 0.1, 1.0]),
    intercept=st.booleans(),
    positive=st.booleans(),
    weighted=st.booleans(),
)
def test_optimality_conditions(seed, d, l1, l2, intercept, positive, weighted):
    X, y, s = data(d=max(d, 4), seed=seed)
    X, s = X[:, :d], s if weighted else None
    problem = LeastSquares(X, y, s, fit_intercept=intercept)
    result = coordinate_descent(problem, l1=l1, l2=l2, positive=positive, tol=1e-12)
    w, share = result.x, problem.normalised_weight
    r = y - X @ w - result.intercept
    pull = X.T @ (share * r) - l2 * w
    assert result.success
    assert abs(result.fun - value(X, y, s, w, result.intercept, l1, l2)) <= 1e-9 * (1 + result.fun)
    if intercept:
        assert abs(share @ r) < 1e-8
    else:
        assert result.intercept == 0
    np.testing.assert_allclose(pull[w != 0], l1 * np.sign(w[w != 0]), atol=1e-6)
    assert (pull if positive else np.abs(pull)).max() <= l1 + 1e-6
    assert not positive or w.min() >= 0


@pytest.mark.parametrize("limits", [(300, 3000), (5, 3000), (5, 20)], ids=["whole", "working set", "wide"])
@pytest.mark.parametrize("layout", ["C", "F", "csr", "float32"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_path_finds_the_same(monkeypatch, limits, layout, weighted):
    """Small limits send a small problem through the code for large ones."""
    X, y, s = data(n=80, d=60, share=0.5)
    s = s if weighted else None
    reference = coordinate_descent(LeastSquares(X, y, s), l1=0.1, l2=0.05, tol=1e-12)
    monkeypatch.setattr(MODULE, "INITIAL_SIZE", limits[0])
    monkeypatch.setattr("tercet.optimize.least_squares.FEW_COLUMNS", limits[0])
    monkeypatch.setattr(MODULE, "MAX_SIZE", limits[1])
    turned = {
        "C": lambda X: X,
        "F": np.asfortranarray,
        "csr": sparse.csr_matrix,
        "float32": lambda X: X.astype(np.float32),
    }[layout](X)
    result = coordinate_descent(LeastSquares(turned, y, s), l1=0.1, l2=0.05, tol=1e-12)
    tolerance = 2e-5 if layout == "float32" else 1e-6
    np.testing.assert_allclose(result.x, reference.x, atol=tolerance)
    assert result.intercept == pytest.approx(reference.intercept, abs=20 * tolerance)


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_same_bits_for_any_number_of_threads(layout):
    X, y, s = data(n=3000, d=700)
    X = layout(X)
    runs = [coordinate_descent(LeastSquares(X, y, s, n_jobs=k), l1=0.05, tol=1e-8) for k in (1, 2, 7)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.x, runs[0].x)
        assert (run.intercept, run.gap) == (runs[0].intercept, runs[0].gap)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 100), l1=st.floats(0.0, 2.0), l2=st.sampled_from([0.0, 0.5]), positive=st.booleans()
)
def test_gap_bounds_the_error_anywhere(seed, l1, l2, positive):
    X, y, _ = data(seed=seed)
    problem = LeastSquares(X, y)
    best = coordinate_descent(problem, l1=l1, l2=l2, positive=positive, tol=1e-12)
    w = np.random.default_rng(seed).normal(size=X.shape[1])
    w = np.abs(w) if positive else w
    gap, loss = elastic_net_duality_gap(w, *problem.residual_correlations(w), l1, l2, positive)
    assert loss == pytest.approx(value(X, y, None, w, problem.intercept(w), l1, l2))
    assert gap >= loss - best.fun - 1e-9


def test_rounds_never_raise_the_loss_and_the_gap_closes():
    X, y, _ = data(n=200, d=2000)
    losses, gaps = [], []

    def steps(*args, **options):
        def watch(step):
            losses.append(step.measures["loss"])
            gaps.append(step.measures["gap"])

        return Steps(*args, watch=watch, **options)

    result = coordinate_descent(LeastSquares(X, y), l1=0.05, tol=1e-10, steps=steps)
    assert len(losses) == result.nit > 2
    assert np.all(np.diff(losses) <= 1e-12)
    assert gaps[-1] == result.gap <= 1e-10 * np.var(y)


def test_strong_penalty_gives_zero_and_start_is_used():
    X, y, _ = data()
    problem = LeastSquares(X, y)
    top = np.abs(problem.target_correlations).max()
    assert not coordinate_descent(problem, l1=top * 1.001).x.any()
    assert coordinate_descent(problem, l1=top * 0.9).x.any()
    far = coordinate_descent(problem, l1=0.2, start=np.full(30, 7.0), tol=1e-12)
    near = coordinate_descent(problem, l1=0.2, tol=1e-12)
    np.testing.assert_allclose(far.x, near.x, atol=1e-9)


def test_dependent_and_constant_columns():
    X, y, _ = data()
    X = np.column_stack([X, X[:, 0], np.full(len(y), 3.0)])
    result = coordinate_descent(LeastSquares(X, y), l1=0.1, tol=1e-10)
    assert result.success
    assert result.x[-1] == 0
    alone = coordinate_descent(LeastSquares(X[:, :30], y), l1=0.1, tol=1e-12)
    assert result.fun == pytest.approx(alone.fun, rel=1e-9)
    assert result.x[0] + result.x[30] == pytest.approx(alone.x[0], abs=1e-5)


def test_far_means_do_not_cost_digits():
    X, y, _ = data()
    near = coordinate_descent(LeastSquares(X, y), l1=0.1, tol=1e-12)
    far = coordinate_descent(LeastSquares(X + 1e6, y), l1=0.1, tol=1e-12)
    np.testing.assert_allclose(far.x, near.x, atol=1e-7)


def test_random_order_and_too_few_rounds():
    X, y, _ = data(n=200, d=2000)
    rng = np.random.default_rng(0)
    problem = LeastSquares(X, y)
    shuffled = coordinate_descent(problem, l1=0.05, tol=1e-10, order=rng.permutation)
    plain = coordinate_descent(LeastSquares(X, y), l1=0.05, tol=1e-10)
    np.testing.assert_allclose(shuffled.x, plain.x, atol=1e-5)
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 passes"):
        result = coordinate_descent(LeastSquares(X, y), l1=0.01, tol=1e-10, max_iter=1)
    assert not result.success
    assert "still" in result.message


def test_newton_steps_leave_independent_columns():
    """Of equal columns with unequal weights one is emptied: the minimum is not unique, yet reached."""
    module = sys.modules[coordinate_descent.__module__]
    x = np.array([1.0, -2.0, 3.0])
    gram, moment, w = np.full((2, 2), x @ x), np.full(2, x @ x), np.array([0.4, 0.1])
    correlations = moment - gram @ w
    assert not module.solve_with_fixed_signs(gram, moment, w, correlations, 0.5, 0.0)
    assert w.sum() == pytest.approx(1 - 0.5 / (x @ x))
    np.testing.assert_allclose(correlations, moment - gram @ w, atol=1e-12)


def test_dependent_columns_have_an_exact_solution():
    """Without Newton steps the sweeps end where the gap is just below tol."""
    rng = np.random.default_rng(0)
    half = (rng.uniform(size=(30, 20)) < 0.3).astype(float)
    X = np.hstack([half, half, half[:, :10] + half[:, 10:]])
    problem = LeastSquares(X, X[:, :5].sum(axis=1) + rng.normal(size=30))
    found = coordinate_descent(problem, l1=1e-3)
    assert found.success
    assert found.gap <= 1e-10 * problem.target_square

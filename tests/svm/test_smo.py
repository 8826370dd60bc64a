"""The texts' SMO: its parts, its course, and the traps."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tercet.core.steps import ConvergenceWarning
from tercet.kernels import Linear
from tercet.svm import (
    DualProblem,
    kkt_conditions,
    smo,
    smo_bounds,
    smo_errors,
    smo_first,
    smo_second,
    smo_step,
    smo_threshold,
    svm_dual,
)

X = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]])
Y = np.array([1.0, 1.0, -1.0])


def cloud(n=60, seed=0, flips=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0) * np.where(rng.random(n) < flips, -1, 1)
    return X, y


def rbf(X, gamma=0.5):
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
def test_agrees_with_the_quadratic_program(C):
    X, y = cloud()
    K = rbf(X)
    found, exact = smo(K, y, C, tol=1e-6), svm_dual(K, y, C)
    assert found.converged
    assert found.objective == pytest.approx(-exact.dual, rel=1e-9)
    np.testing.assert_allclose(K @ (found.alpha * y) + found.b, K @ (exact.alpha * y) + exact.b, atol=1e-5)


def test_objective_falls_and_the_equality_is_kept():
    X, y = cloud()
    K, record = rbf(X), []
    found = smo(K, y, 10.0, record=record)
    objectives = [0.0] + [step["objective"] for step in record]
    assert (np.diff(objectives) < 0).all()
    assert objectives[-1] == pytest.approx(found.objective, rel=1e-9)
    assert abs(found.alpha @ y) < 1e-12 * found.alpha.sum()
    alpha = np.zeros(len(y))
    for step in record:
        i, j = step["first"], step["second"]
        assert step["L"] <= step["a2"] <= step["H"]
        alpha[[i, j]] = step["a1"], step["a2"]
        np.testing.assert_allclose(step["errors"], smo_errors(K, y, alpha, step["b"]), atol=1e-9)
    np.testing.assert_array_equal(alpha, found.alpha)
    assert found.n_iter == len(record) + 1


def test_each_step_is_the_minimum_over_its_pair():
    X, y = cloud(20)
    K, C = rbf(X), 1.0
    rng = np.random.default_rng(1)
    alpha = smo(K, y, C, tol=0.5).alpha

    def value(a):
        return (a * y) @ K @ (a * y) / 2 - a.sum()

    for _ in range(50):
        i, j = rng.choice(20, 2, replace=False)
        step = smo_step(K, y, alpha, 0.3, C, i, j)
        along = []
        for a2 in np.linspace(step.L, step.H, 101):
            other = alpha.copy()
            other[[i, j]] = alpha[i] + y[i] * y[j] * (alpha[j] - a2), a2
            along.append(value(other))
        best = alpha.copy()
        best[[i, j]] = step.a1, step.a2
        assert value(best) <= min(along) + 1e-12
        assert value(alpha) - value(best) == pytest.approx(step.decrease, abs=1e-12)


@given(
    st.sampled_from([-1, 1]), st.sampled_from([-1, 1]), st.floats(0, 1), st.floats(0, 1), st.floats(0.1, 3)
)
def test_bounds_keep_both_variables_in_their_boxes(y1, y2, u, v, C2):
    a1, a2 = u, v * C2  # C1 = 1
    L, H = smo_bounds(y1, y2, a1, a2, 1.0, C2)
    assert a2 + 1e-12 >= L
    assert a2 <= H + 1e-12
    for end in (L, H):
        other = a1 + y1 * y2 * (a2 - end)
        assert -1e-12 <= other <= 1 + 1e-12


def test_first_variable_prefers_rows_inside_their_bounds():
    E, y, alpha = np.array([-3.0, 0.2, 0.4, 0.0]), np.array([1.0, 1, -1, -1]), np.array([0, 0.5, 0.5, 0])
    assert smo_first(E, y, alpha, 1.0).tolist() == [2, 1, 0]
    assert smo_first(E, y, alpha, 1.0, tol=0.3).tolist() == [2, 0]


def test_second_variable_is_the_farthest_error_not_the_smallest():
    E = np.array([0.5, 0.9, 0.7, 2.0])
    assert smo_second(np.eye(4), [1, -1, 1, -1], np.zeros(4), 1.0, E, 0) == 3


def test_second_variable_that_cannot_move_is_passed_over():
    # The farthest error belongs to a variable that would have to fall below 0.
    E = np.array([-1.0, 2.0, 1.0])
    y, alpha = np.array([1.0, 1.0, -1.0]), np.zeros(3)
    assert smo_second(np.eye(3), y, alpha, 1.0, E, 0) == 2
    assert smo_second(np.eye(3), y, alpha, 1.0, np.array([1.0, 2.0, 1.0]), 0) is None


def test_threshold():
    assert smo_threshold(1.0, 2.0, True, False) == 1.0
    assert smo_threshold(1.0, 2.0, False, True) == 2.0
    assert smo_threshold(1.0, 2.0, False, False) == 1.5


def test_the_stall_of_the_texts_rule_ends():
    K, record = X @ X.T, []
    found = smo(K, Y, 0.1, record=record, max_iter=50)
    assert found.converged
    assert len(record) == 1
    assert record[0]["b"] == pytest.approx(-0.8)
    assert smo_first(record[0]["errors"], Y, found.alpha, 0.1).size  # the texts would go on
    np.testing.assert_allclose([found.b, *found.interval], [-0.3, -0.4, -0.2])


def test_duplicates_and_contradictions():
    X, y = cloud(30)
    X, y = np.vstack([X, X, X[:5]]), np.concatenate([y, y, -y[:5]])
    found = smo(rbf(X), y, 2.0, tol=1e-6)
    assert found.converged
    assert kkt_conditions(rbf(X), y, found.alpha, found.b, 2.0).holds


def test_contradiction_without_slack_is_refused():
    with pytest.raises(ValueError, match="give a finite C"):
        smo(np.ones((2, 2)), [1, -1], np.inf)


def test_an_indefinite_kernel_ends():
    X, y = cloud(40)
    K = np.tanh(X @ X.T - 1)
    assert np.linalg.eigvalsh(K)[0] < -0.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = smo(K, y, 1.0, max_iter=5000)
    assert found.n_iter <= 5000
    assert abs(found.alpha @ y) < 1e-9
    assert ((found.alpha >= 0) & (found.alpha <= 1)).all()


def test_too_few_steps_warn():
    X, y = cloud()
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        found = smo(rbf(X), y, 10.0, max_iter=3)
    assert not found.converged
    assert found.n_iter == 3


def test_one_class_stays_at_zero():
    found = smo(np.eye(3), [1, 1, 1], 1.0)
    assert found.converged
    np.testing.assert_array_equal(found.alpha, 0)


def test_weights_are_bounds_of_their_own():
    X, y = cloud(40)
    K, weight = rbf(X), np.random.default_rng(0).integers(0, 3, 40).astype(float)
    rows = np.repeat(np.arange(40), weight.astype(int))
    weighted = smo(K, y, 0.5 * weight, tol=1e-9)
    repeated = smo(K[np.ix_(rows, rows)], y[rows], 0.5, tol=1e-9)
    np.testing.assert_allclose(
        K @ (weighted.alpha * y) + weighted.b, K[:, rows] @ (repeated.alpha * y[rows]) + repeated.b, atol=1e-6
    )
    assert (weighted.alpha[weight == 0] == 0).all()


def test_a_problem_is_as_good_as_its_matrix():
    n = len(Y)
    problem = DualProblem(
        Linear(), X, Y, np.full(n, -1.0), np.full(n, 1.0), np.zeros(n), ridge=np.full(n, 0.5)
    )
    found = smo(problem, tol=1e-9)
    np.testing.assert_allclose(found.alpha, [2 / 9, 0, 2 / 9], atol=1e-8)
    assert found.b == pytest.approx(-16 / 9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.05, 1.0, 20.0]))
def test_any_data_end_at_an_optimum(seed, C):
    X, y = cloud(15, seed, flips=0.4)
    if abs(y.sum()) == 15:
        y[0] = -y[0]
    K = X.round() @ X.round().T  # ties and duplicates
    found = smo(K, y, C)
    assert found.converged
    report = kkt_conditions(K, y, found.alpha, found.b, C)
    assert report.holds
    assert report.gap <= 1e-3 * C * 15 + 1e-9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(2), [0, 1], 1.0), "y must be -1 or \\+1"),
        ((np.eye(2), [1, -1], -1.0), "C must not be negative"),
        ((np.eye(3), [1, -1], 1.0), "K must be of shape"),
        ((np.eye(2),), "needs a DualProblem"),
        ((np.diag([1.0, np.nan]), [1, -1], 1.0), "must be finite"),
        ((np.eye(2), [1, -1], [1.0, 1.0, 1.0]), "one for each; got 2 rows and \\(3,\\)"),
        ((np.zeros((0, 0)), [], 1.0), "at least one row"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        smo(*arguments)


def test_a_start_outside_of_its_bounds_is_refused():
    with pytest.raises(ValueError, match=r"start must be between 0 and C; it goes from 0\.5 to 2\.0"):
        smo(np.eye(2), [1, -1], 1.0, start=[0.5, 2.0])


def test_nu_is_refused():
    n = len(Y)
    problem = DualProblem(Linear(), X, Y, np.zeros(n), np.ones(n), np.zeros(n), nu=True)
    with pytest.raises(ValueError, match="one equality constraint"):
        smo(problem)

"""IIS and GIS: monotone likelihood, the bounds of the proof, the optimum, and where the texts stop."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.metrics import log_loss

from tercet.optimize import iterative_scaling, logistic_iis, minimize, scaling_bounds
from tercet.optimize.iterative_scaling import ScalingTerms, exponential_sums, scaling_step

MODULE = sys.modules["tercet.optimize.iterative_scaling"]  # the package has a function of that name


def problem(seed, contexts=6, labels=3, features=5, constant=False):
    """Random features, and the expectations of a random model of the same form."""
    rng = np.random.default_rng(seed)
    F = rng.integers(0, 3, size=(contexts * labels, features)).astype(float)
    if constant:  # f# the same for all pairs
        F = np.column_stack([F, F.sum(axis=1).max() + 1 - F.sum(axis=1)])
    weight = rng.dirichlet(np.ones(contexts))
    scores = (F @ rng.normal(scale=0.5, size=F.shape[1])).reshape(contexts, labels)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return F, F.T @ (weight[:, None] * p).ravel(), weight


@pytest.mark.parametrize("method", ["iis", "gis"])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=8, deadline=None)
def test_the_likelihood_never_falls_and_expectations_meet(method, seed):
    F, empirical, weight = problem(seed)
    found = iterative_scaling(F, empirical, weight, method=method, tol=1e-3, max_iter=20_000)
    assert found.success
    assert np.diff(found.history["fun"]).max(initial=0) <= 1e-13
    np.testing.assert_allclose(found.expected, empirical, atol=1e-3)


@given(st.integers(0, 10_000), st.floats(0, 2))
@settings(max_examples=30, deadline=None)
def test_the_bounds_of_the_proof(seed, length):
    F, empirical, weight = problem(seed)
    rng = np.random.default_rng(seed)
    w, delta = rng.normal(size=(2, 5))
    rise, A, B = scaling_bounds(F, empirical, weight, w, length * delta)
    assert rise >= A - 1e-12 * max(1, abs(A))
    assert B - 1e-12 * max(1, abs(B)) <= A
    at_zero = scaling_bounds(F, empirical, weight, w, 0 * delta)
    np.testing.assert_allclose(at_zero, 0, atol=1e-12)


def test_a_pair_without_features_keeps_the_bound():
    F = [[0, 0], [1, 2], [0, 1]]
    rise, A, B = scaling_bounds(F, [0.2, 0.5], [1.0], [0.1, -0.3], [0.4, -0.6])
    assert rise >= A >= B


def test_a_step_gains_at_least_its_bound():
    F, empirical, weight = problem(1)
    w, lost = np.zeros(5), []
    for _ in range(20):
        with pytest.warns(ConvergenceWarning):
            new = iterative_scaling(F, empirical, weight, start=w, max_iter=1, tol=0).x
        rise, _, B = scaling_bounds(F, empirical, weight, w, new - w)
        assert rise >= B >= 0
        lost.append(rise)
        w = new
    assert lost[-1] < lost[0]


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_constant_f_sharp_makes_iis_equal_gis(seed):
    F, empirical, weight = problem(seed, constant=True)
    with pytest.warns(ConvergenceWarning):
        iis, gis = (
            iterative_scaling(F, empirical, weight, method=m, max_iter=7, tol=0).x for m in ("iis", "gis")
        )
    np.testing.assert_allclose(iis, gis, atol=1e-12)
    sharp = F.sum(axis=1)[0]
    with pytest.warns(ConvergenceWarning):
        first = iterative_scaling(F, empirical, weight, max_iter=1, tol=0).x
    at_zero = F.T @ np.repeat(weight / 3, 3)
    np.testing.assert_allclose(first, np.log(empirical / at_zero) / sharp)  # (6.34)


@given(st.integers(0, 10_000))
@settings(max_examples=5, deadline=None)
def test_with_a_penalty_it_finds_the_penalised_optimum(seed):
    F, empirical, weight = problem(seed)
    empirical = empirical * 0.9  # no model has these exactly
    found = iterative_scaling(F, empirical, weight, l2=0.1, tol=1e-9, max_iter=20_000)

    def objective(w):
        scores = (F @ w).reshape(6, 3)
        log_z = np.log(np.exp(scores).sum(axis=1))
        joint = weight[:, None] * np.exp(scores - log_z[:, None])
        return weight @ log_z - w @ empirical + 0.05 * w @ w, F.T @ joint.ravel() - empirical + 0.1 * w

    other = minimize(objective, np.zeros(5), jac=True, method="bfgs", tol=1e-10)
    np.testing.assert_allclose(found.x, other.x, atol=1e-6)
    assert found.fun == pytest.approx(other.fun, abs=1e-10)


def test_features_that_the_data_never_or_always_show_stay_finite():
    F = sparse.csr_array([[1.0, 0, 1], [0, 1.0, 0]])  # one context, two labels
    found = iterative_scaling(F, [1.0, 0.0, 1.0], [1.0], tol=1e-6)
    assert found.success
    assert np.isfinite(found.x).all()
    assert found.x[1] < -5
    unused = iterative_scaling(np.array([[1.0, 0], [0, 0]]), [0.3, 0.0], [1.0], tol=1e-8)
    assert unused.x[1] == 0


def test_real_features_of_any_size():
    rng = np.random.default_rng(0)
    F, weight = rng.exponential(50, size=(40, 4)), np.full(10, 0.1)
    empirical = F[::4].T @ weight
    with pytest.warns(ConvergenceWarning):
        found = iterative_scaling(F, empirical, weight, max_iter=200, tol=0)
    assert np.diff(found.history["fun"]).max() <= 1e-12
    assert np.isfinite(found.x).all()


def test_negative_features_are_refused_or_shifted():
    F, empirical, weight = problem(3)
    lower = np.array([1.0, 0, 2, 0, 0])
    with pytest.raises(ValueError, match=r"feature 2 has the value -2\.0"):
        iterative_scaling(F - lower, empirical - lower, weight)
    found = iterative_scaling(
        F - lower, empirical - lower, weight, negative="shift", tol=1e-6, max_iter=20_000
    )
    same = iterative_scaling(F, empirical, weight, tol=1e-6, max_iter=20_000)
    np.testing.assert_allclose(found.x, same.x, atol=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("method", ["iis", "gis"])
def test_logistic_regression_in_log_linear_form(classes, fit_intercept, method):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(80, 2)), rng.uniform(0.5, 2, size=80)
    noisy = np.column_stack([X[:, 0], np.zeros((80, classes - 1))]) + rng.normal(size=(80, classes))
    y = noisy.argmax(axis=1)
    coef, intercept, found = logistic_iis(
        X, y, weight, l2=0.02, fit_intercept=fit_intercept, method=method, tol=1e-4, max_iter=20_000
    )
    peer = Peer(C=1 / (0.02 * weight.sum()), fit_intercept=fit_intercept, tol=1e-10, max_iter=1000)
    peer.fit(X, y, sample_weight=weight)
    assert found.success
    objective = log_loss(y, peer.predict_proba(X), sample_weight=weight) + 0.01 * (peer.coef_**2).sum()
    assert found.fun == pytest.approx(objective, abs=1e-6)
    scores = X @ coef.T + intercept
    scores = np.column_stack([np.zeros(80), scores]) if classes == 2 else scores
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(p, peer.predict_proba(X), atol=5e-3)


@pytest.mark.parametrize("l2", [0.0, 0.3])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_a_step_solves_its_equations(l2, seed):
    rng = np.random.default_rng(seed)
    F = sparse.csr_array(rng.exponential(rng.uniform(0.1, 50), size=(40, 4)) * (rng.random((40, 4)) < 0.7))
    terms, w, penalty = ScalingTerms.of(F), rng.normal(size=4), np.full(4, l2)
    a = terms.coefficients(rng.dirichlet(np.ones(40)))
    target = F.T @ rng.dirichlet(np.full(40, 0.3)) + 1e-3
    delta = scaling_step(terms, a, target, w, penalty)
    reached, _ = exponential_sums(terms, a, delta, 4)
    left = reached + penalty * (w + delta) - target
    inside = np.abs(delta) * F.sum(axis=1).max() < 29
    np.testing.assert_allclose(left[inside], 0, atol=1e-9 * target.max())


def test_a_step_needs_few_rounds(monkeypatch):
    rounds = []

    def counted(*args):
        rounds.append(1)
        return exponential_sums(*args)

    monkeypatch.setattr(MODULE, "exponential_sums", counted)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 20)), rng.integers(0, 2, 500)
    with pytest.warns(ConvergenceWarning):
        logistic_iis(X, y, l2=0.002, max_iter=10, tol=0)
    assert len(rounds) <= 50  # a search from the middle of the bracket takes about 50 for one step alone


def test_pieces_do_not_change_the_terms(monkeypatch):
    F, empirical, weight = problem(0)
    whole = iterative_scaling(F, empirical, weight, tol=1e-3, max_iter=20_000)
    monkeypatch.setattr(MODULE, "BLOCK_SIZE", 3)
    pieces = iterative_scaling(F, empirical, weight, tol=1e-3, max_iter=20_000)
    np.testing.assert_allclose(pieces.x, whole.x, rtol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_start_is_taken_as_it_is(classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.integers(0, classes, 80)
    start = rng.normal(size=3 * (1 if classes == 2 else 3))
    coef, intercept, found = logistic_iis(X, y, start=start, max_iter=0)
    np.testing.assert_allclose(found.x, start)
    np.testing.assert_allclose(np.vstack([coef.T, intercept]).ravel(), start)


def test_errors():
    with pytest.raises(ValueError, match="'iis' or 'gis'"):
        iterative_scaling(np.eye(2), [0.5, 0.5], [1.0], method="sis")
    with pytest.raises(ValueError, match="5 rows for 2 contexts"):
        iterative_scaling(np.ones((5, 1)), [0.5], [0.5, 0.5])

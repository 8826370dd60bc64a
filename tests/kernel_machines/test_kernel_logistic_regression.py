"""Kernel logistic regression: its optimum, scikit-learn's on explicit features, and hard cases."""

import warnings

import numpy as np
import pytest
from scipy import linalg
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from tercet.core.steps import ConvergenceWarning
from tercet.kernel_machines import KernelLogisticRegression
from tercet.kernel_machines._engine import training_gram
from tercet.kernels import Gaussian, Polynomial, Subsequence

RNG = np.random.default_rng(2)
X = RNG.normal(size=(60, 3))
SCORE = X[:, 0] + X[:, 1] ** 2 + 0.5 * RNG.normal(size=60)
W = RNG.integers(0, 3, 60).astype(float)
SOLVERS = ["newton-cholesky", "newton-cg"]


def labels(k):
    return np.searchsorted(np.quantile(SCORE, np.arange(1, k) / k), SCORE)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
def test_linear_kernel_is_logistic_regression(k, solver, intercept, weight):
    y = labels(k)
    theirs = LogisticRegression(C=0.7, tol=1e-10, max_iter=10000, fit_intercept=intercept).fit(X, y, weight)
    options = {"C": 0.7, "kernel": "linear", "fit_intercept": intercept, "solver": solver}
    ours = KernelLogisticRegression(**options).fit(X, y, weight)
    np.testing.assert_allclose(ours.dual_coef_ @ X, theirs.coef_, atol=2e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-5)
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(X)), ours.predict_proba(X), rtol=1e-12)
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_the_solution_lies_in_the_span_of_the_rows():
    """The representer theorem: the same on explicit features gives the kernel expansion."""
    kernel = Polynomial(degree=2, gamma=1.0, coef0=1.0)
    phi = kernel.features(X)
    y = labels(2)
    theirs = LogisticRegression(C=0.3, tol=1e-12, max_iter=20000).fit(phi, y)
    ours = KernelLogisticRegression(0.3, kernel=kernel).fit(X, y)
    np.testing.assert_allclose(ours.dual_coef_ @ phi, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(phi), atol=1e-5)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e6])
def test_optimality(k, solver, C):
    """The gradient vanishes: a_i = C w_i ([y_i = c] - P), and its sum over the rows is 0 for each b."""
    y = labels(k)
    model = KernelLogisticRegression(C, kernel=Gaussian(gamma=0.5), solver=solver).fit(X, y, W)
    P = model.predict_proba(X)
    expected = C * W * ((y == np.arange(k)[:, None]) - P.T)
    np.testing.assert_allclose(model.dual_coef_, expected[1:] if k == 2 else expected, atol=1e-7 * C)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0, atol=1e-8 * C)
    objective = np.array(model.history_["objective"])
    assert (np.diff(objective) <= 1e-9 * objective[0]).all(), "no step may lead up"
    if k > 2:
        np.testing.assert_allclose(model.intercept_.sum(), 0, atol=1e-9)


@pytest.mark.parametrize("k", [2, 3])
def test_two_ways_to_the_optimum(k, monkeypatch):
    y = labels(k)
    direct = KernelLogisticRegression(5.0, solver="newton-cholesky").fit(X, y, W)
    monkeypatch.setattr("tercet.kernel_machines._engine.training_gram.IN_MEMORY", 0)
    monkeypatch.setattr("tercet.kernel_machines.kernel_logistic_regression.RANK", 30)
    monkeypatch.setattr("tercet.kernel_machines.kernel_logistic_regression.DIRECT", 0)
    blocks = KernelLogisticRegression(5.0).fit(X, y, W)
    np.testing.assert_allclose(blocks.dual_coef_, direct.dual_coef_, atol=1e-7)
    np.testing.assert_allclose(blocks.intercept_, direct.intercept_, atol=1e-7)
    monkeypatch.setattr(training_gram, "TILE", 16)
    one, other = (KernelLogisticRegression(5.0, n_jobs=n).fit(X, y, W) for n in (1, 3))
    assert np.array_equal(one.dual_coef_, other.dual_coef_)


def test_scores_are_log_odds():
    model = KernelLogisticRegression(1.0, kernel=Gaussian(gamma=0.5)).fit(X, labels(2))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X)))
    assert model.dual_coef_.shape == (1, 60)


def test_weights_are_repetitions():
    y = labels(3)
    weighted = KernelLogisticRegression(2.0, kernel=Gaussian(gamma=0.5)).fit(X, y, W)
    repeated = np.repeat(np.arange(60), W.astype(int))
    other = KernelLogisticRegression(2.0, kernel=Gaussian(gamma=0.5)).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(weighted.decision_function(X), other.decision_function(X), atol=1e-8)
    balanced = KernelLogisticRegression(class_weight="balanced").fit(X, y)
    assert balanced.score(X, y) > 0.6


def test_separable_data_and_large_weights_of_losses():
    flags = np.repeat([0, 1], 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelLogisticRegression(1e10, kernel="linear").fit(np.arange(10.0)[:, None] - 4.5, flags)
    assert model.score(np.arange(10.0)[:, None] - 4.5, flags) == 1


def test_contradictions_and_constants():
    model = KernelLogisticRegression().fit([[1.0], [1.0], [1.0]], [0, 0, 1])
    np.testing.assert_allclose(model.predict_proba([[1.0]]), [[2 / 3, 1 / 3]], atol=1e-9)
    with pytest.raises(ValueError, match="only one class"):
        KernelLogisticRegression().fit(X, np.ones(60))
    with pytest.raises(ValueError, match=r"parameter 'C' must be .* got -1"):
        KernelLogisticRegression(-1).fit(X, labels(2))


def test_too_few_steps():
    with pytest.warns(ConvergenceWarning, match="KernelLogisticRegression did not converge in 1 passes"):
        model = KernelLogisticRegression(100.0, max_iter=1).fit(X, labels(2))
    assert model.n_iter_ == 1
    assert np.isfinite(model.decision_function(X)).all()


def test_strings():
    words, y = ["cat", "cart", "car", "dog", "dig", "dot"], ["c", "c", "c", "d", "d", "d"]
    model = KernelLogisticRegression(100.0, kernel=Subsequence(2, 0.5, normalize=True)).fit(words, y)
    assert model.predict(np.array([["carp"], ["dogs"]], dtype=object)).tolist() == ["c", "d"]
    proba = model.predict_proba(["carp", "dogs"])
    np.testing.assert_allclose(proba.sum(axis=1), 1)


@pytest.mark.parametrize("kind", ["indefinite", "float32"])
def test_given_gram_matrices(kind):
    y = labels(2)
    if kind == "float32":
        K = Gaussian(gamma=0.5)(X)
        single = KernelLogisticRegression(kernel="precomputed").fit(K.astype(np.float32), y)
        double = KernelLogisticRegression(kernel="precomputed").fit(K, y)
        np.testing.assert_allclose(single.decision_function(K), double.decision_function(K), atol=1e-4)
        return
    K = np.random.default_rng(0).normal(size=(60, 60))
    K = (K + K.T) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelLogisticRegression(kernel="precomputed", max_iter=20).fit(K, y)
    assert np.isfinite(model.decision_function(K)).all()


@pytest.mark.parametrize("C", [1e2, 1e6, 1e10, 1e14])
def test_the_optimum_where_all_rows_are_nearly_certain(C):
    """One number w: w = C Σ |x| P(wrong|x), which is far from where the losses are too small to matter."""
    x, y = np.arange(10.0)[:, None] - 4.5, np.repeat([0, 1], 5)
    size = np.abs(x)
    w = brentq(lambda w: w - C * (size * expit(-w * size)).sum(), 0, 1000, xtol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.simplefilter("ignore", linalg.LinAlgWarning)
        model = KernelLogisticRegression(C, kernel="linear").fit(x, y)
    np.testing.assert_allclose((model.dual_coef_ @ x).item(), w, rtol=1e-7)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [1e8, 1e12])
def test_optimality_for_large_weights_of_losses(k, solver, C):
    y = labels(k)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = KernelLogisticRegression(C, kernel=Gaussian(gamma=0.5), solver=solver).fit(X, y)
    f = model.decision_function(X)
    f = np.column_stack([np.zeros(60), f]) if k == 2 else f
    P = np.exp(f - np.logaddexp.reduce(f, axis=1, keepdims=True))
    own = y[:, None] == np.arange(k)
    gap = C * np.where(own, np.where(own, 0, P).sum(axis=1, keepdims=True), -P)
    np.testing.assert_allclose(
        model.dual_coef_.T, gap[:, 1:] if k == 2 else gap, atol=1e-6 * np.abs(model.dual_coef_).max()
    )


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_that_leave_one_class(k, solver):
    y = labels(k)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelLogisticRegression(100.0, solver=solver).fit(X, y, (y == 1).astype(float))
    assert (model.predict(X) == 1).all()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1)

"""Logistic regression on data that were not scaled, and fits that do not end well."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import scale

from tercet.core.steps import ConvergenceWarning
from tercet.linear_model import LogisticRegression
from tests.linear_model.test_logistic import iris, noisy


def unscaled():
    """Years, incomes and a number around zero."""
    rng = np.random.default_rng(0)
    year = 1990 + np.arange(300) % 30
    X = np.column_stack([year, rng.normal(size=300) * 1e5 + 1e6, rng.normal(size=300)])
    return X, ((year > 2005) ^ (rng.random(300) < 0.1)).astype(int)


def far_away(offset, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 5))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    return X, X + offset, y + (X[:, 1] > 0.5) * (n_classes > 2)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("solver", ["newton", "newton-cholesky", "auto"])
def test_newton_on_features_of_very_different_size(solver, make):
    X, y = unscaled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticRegression(solver=solver, C=np.inf, max_iter=1000).fit(make(X), y)
        other = LogisticRegression(solver=solver, C=np.inf, tol=1e-8).fit(scale(X), y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(scale(X)), atol=1e-4)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_newton_far_from_zero(offset, l1_ratio, n_classes):
    """An intercept makes up for any shift of the features."""
    X, shifted, y = far_away(offset, n_classes)
    options = {"solver": "auto", "l1_ratio": l1_ratio}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = LogisticRegression(tol=1e-8, **options).fit(X, y)
        far = LogisticRegression(max_iter=1000, **options).fit(shifted, y)
    np.testing.assert_allclose(far.predict_proba(shifted), near.predict_proba(X), atol=2e-3)


@pytest.mark.parametrize("seed", range(8))
def test_proximal_newton_far_from_zero_ends_at_the_rounding_level(seed):
    """The last digit of the intercept moves the gradient of every weight by more than tol; that is no failure."""
    X, shifted, y = far_away(1e7, n_classes=3, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = LogisticRegression(solver="auto", l1_ratio=1.0, tol=1e-8).fit(X, y)
        far = LogisticRegression(solver="auto", l1_ratio=1.0, max_iter=1000).fit(shifted, y)
    np.testing.assert_allclose(far.predict_proba(shifted), near.predict_proba(X), atol=2e-3)


@pytest.mark.parametrize(
    ("solver", "offset"),
    [("sgd", 1e3), ("newton-cg", 1e3), ("newton-cg", 1e6), ("lbfgs", 1e3), ("lbfgs", 1e6)],
)
def test_a_small_step_is_not_taken_for_the_end(solver, offset):
    X, shifted, y = far_away(offset)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogisticRegression(solver=solver, random_state=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"[Ss]cale the features"):
        LogisticRegression(solver=solver, random_state=0).fit(shifted, y)


def test_newton_says_when_it_finds_no_lower_point(monkeypatch):
    monkeypatch.setattr("tercet.linear_model._logistic.solvers.backtrack", lambda *_: None)
    with pytest.warns(ConvergenceWarning, match=r"no lower point was found .* Scale the features"):
        LogisticRegression(solver="newton").fit(*iris())


@pytest.mark.parametrize("solver", ["lbfgs", "newton", "sgd", "iis", "saga"])
def test_what_an_interrupted_fit_leaves(solver, monkeypatch):
    X, y = noisy()
    whole = LogisticRegression(solver=solver, random_state=0, max_iter=500, tol=1e-2).fit(X, y)
    model = LogisticRegression(solver=solver, random_state=0, max_iter=50, tol=1e-9)

    lines = []

    def interrupt(line):
        lines.append(line)
        if len(lines) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("builtins.print", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(verbose=1).fit(X, y)
    assert model.n_iter_.tolist() == [2]
    assert (model.n_iter_.dtype, model.n_iter_.shape) == (whole.n_iter_.dtype, whole.n_iter_.shape)
    assert model.predict(X).shape == y.shape


def test_partial_fit_cannot_balance():
    X, y = noisy(n_classes=2)
    model = LogisticRegression(solver="sgd", class_weight="balanced")
    with pytest.raises(ValueError, match="class_weight='balanced' needs all of y"):
        model.partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    assert not hasattr(model, "classes_")


def test_stochastic_descent_with_classes_of_very_unequal_weight():
    X, y = noisy(100, 2, 2)
    model = LogisticRegression(
        solver="sgd", class_weight={0: 1000, 1: 1e-4}, max_iter=1000, random_state=0
    ).fit(20 * X, y)
    assert np.mean(model.predict(20 * X) == 0) > 0.9

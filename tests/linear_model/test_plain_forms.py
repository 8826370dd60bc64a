"""The plain forms of the pages as oracles of the engines."""

from __future__ import annotations

import numpy as np
import pytest

from tercet.core.steps import ConvergenceWarning
from tercet.linear_model import (
    ElasticNet,
    Lasso,
    LogisticRegression,
    MaxEnt,
    coordinate_sweep,
    logistic_newton_step,
    scaling_update,
)
from tercet.optimize import iterative_scaling


def noisy(seed=0, n=80, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1.0
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


@pytest.mark.parametrize("C", [np.inf, 0.5])
def test_every_pass_of_newton_is_a_newton_step(C):
    X, y = noisy()
    y = (y > np.median(y)).astype(int)
    theta = np.zeros(5)
    for passes in (1, 2, 3):
        theta = logistic_newton_step(X, y, theta, l2=1 / C)
        with pytest.warns(ConvergenceWarning):
            model = LogisticRegression(solver="newton", C=C, max_iter=passes, tol=1e-12).fit(X, y)
        np.testing.assert_allclose(np.append(model.coef_, model.intercept_), theta, rtol=1e-9)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "newton-cg", "auto"])
def test_newton_steps_lead_to_the_minimum_of_every_solver(solver):
    X, y = noisy(seed=1)
    y = (y > np.median(y)).astype(int)
    theta = np.zeros(5)
    for _ in range(12):
        theta = logistic_newton_step(X, y, theta, l2=1.0)
    model = LogisticRegression(solver=solver, tol=1e-9, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), theta, atol=1e-6)


@pytest.mark.parametrize("method", ["iis", "gis"])
def test_every_pass_of_iterative_scaling_is_a_scaling_update(method):
    rng = np.random.default_rng(0)
    F = rng.random((6, 3, 4))  # contexts, labels, features
    contexts = rng.dirichlet(np.ones(6))
    seen = contexts[:, None] * rng.dirichlet(np.ones(3), size=6)
    empirical = np.einsum("xy,xyi->i", seen, F)
    w = np.zeros(4)
    for passes in (1, 2, 3):
        w = scaling_update(F, empirical, contexts, w, method=method)
        with pytest.warns(ConvergenceWarning):
            found = iterative_scaling(
                F.reshape(18, 4), empirical, contexts, method=method, max_iter=passes, tol=1e-12
            )
        np.testing.assert_allclose(found.x, w, rtol=1e-6, atol=1e-9)


def test_scaling_updates_lead_to_the_maximum_entropy_model():
    X, y = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [1, 0]]), np.array([0, 0, 1, 0, 1])
    model = MaxEnt("iis", C=np.inf, fit_intercept=False, features="all", tol=1e-10).fit(X, y)
    F = np.einsum("xj,yk->xyjk", X, np.eye(2)).reshape(5, 2, 4)
    w, empirical = np.zeros(4), F[np.arange(5), y].mean(axis=0)
    for _ in range(50):
        w = scaling_update(F, empirical, np.full(5, 0.2), w)
    np.testing.assert_allclose(model.weights_, w, atol=1e-6)


@pytest.mark.parametrize("model", [Lasso(alpha=0.1), ElasticNet(alpha=0.2, l1_ratio=0.3), Lasso(alpha=1e-3)])
def test_coordinate_sweeps_lead_to_the_elastic_net_and_leave_it_alone(model):
    X, y = noisy(d=6)
    model = model.set_params(tol=1e-14).fit(X, y)
    penalty = {"l1": model.alpha * model.l1_ratio, "l2": model.alpha * (1 - model.l1_ratio)}
    Z, v, w = X - X.mean(axis=0), y - y.mean(), np.zeros(6)
    for _ in range(500):
        w = coordinate_sweep(Z, v, w, **penalty)
    np.testing.assert_allclose(model.coef_, w, atol=1e-8)
    np.testing.assert_allclose(coordinate_sweep(Z, v, model.coef_, **penalty), model.coef_, atol=1e-8)
    assert np.array_equal(model.coef_ == 0, w == 0)

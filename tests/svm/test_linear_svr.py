"""Linear support vector regression: agreement with liblinear and quadratic programming."""

import warnings

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.datasets import make_regression

from tercet.optimize import solve_qp
from tercet.svm import LinearSVR

EXACT = {"tol": 1e-9, "max_iter": 100_000, "random_state": 0}
KINDS = [
    {},
    {"epsilon": 0.5, "C": 0.3},
    {"epsilon": 0.5, "fit_intercept": False},
    {"loss": "squared_epsilon_insensitive", "dual": True, "epsilon": 0.2},
    {"loss": "squared_epsilon_insensitive", "dual": False, "epsilon": 0.2, "intercept_scaling": 2.0},
]


def data(n=120, d=6):
    X, y = make_regression(n, d, noise=10, random_state=0)
    return X, y / 20 + 1


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_agrees_with_liblinear(kind):
    X, y = data()
    weight = np.random.default_rng(0).integers(0, 3, y.size).astype(float)
    theirs = sklearn.svm.LinearSVR(**EXACT, **kind).fit(X, y, sample_weight=weight)
    for table in (X, sparse.csr_array(X)):
        ours = LinearSVR(**EXACT, **kind).fit(table, y, sample_weight=weight)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-6)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-6)
        np.testing.assert_allclose(ours.predict(table), theirs.predict(X), atol=1e-5)


def test_is_the_minimum():
    """min |w|^2/2 + b^2/2 + C sum (s + s') subject to -eps - s' <= y - Xw - b <= eps + s."""
    X, y = data(40, 3)
    C, epsilon, n = 0.7, 0.3, 40
    X1 = np.column_stack([X, np.ones(n)])
    eye, none = np.eye(n), np.zeros((n, n))
    G = np.block([[-X1, -eye, none], [X1, none, -eye], [np.zeros((2 * n, 4)), -np.eye(2 * n)]])
    h = np.r_[epsilon - y, epsilon + y, np.zeros(2 * n)]
    Q = np.diag(np.r_[np.ones(4), np.zeros(2 * n)])
    found = solve_qp(Q, np.r_[np.zeros(4), np.full(2 * n, C)], G, h)
    model = LinearSVR(C=C, epsilon=epsilon, **{**EXACT, "tol": 1e-6}).fit(X, y)
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], found.x[:4], atol=1e-8)


def test_a_wide_tube_needs_no_weights():
    X, y = data()
    model = LinearSVR(epsilon=float(np.abs(y).max()), random_state=0).fit(X, y)
    assert not model.coef_.any()
    assert not model.intercept_.any()


def test_large_and_small_targets():
    X, y = data()
    model = LinearSVR(random_state=0).fit(X, y)
    for scale in (1e-6, 1e6):  # the same machine in other units: C is a price per unit of y, w scales with y
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            other = LinearSVR(C=scale, random_state=0).fit(X, y * scale)
        np.testing.assert_allclose(other.coef_ / scale, model.coef_, atol=1e-3)


def test_there_is_no_primal_form_of_the_absolute_loss():
    X, y = data()
    with pytest.raises(ValueError, match="no primal form for loss='epsilon_insensitive'"):
        LinearSVR(dual=False).fit(X, y)
    with pytest.raises(ValueError, match="epsilon"):
        LinearSVR(epsilon=-1.0).fit(X, y)


def test_random_state_decides_all():
    X, y = data()
    a, b = (LinearSVR(random_state=7).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    assert a.history_ == b.history_


@pytest.mark.parametrize(
    "change", [lambda X: X * 1e4, lambda X: np.hstack([X, X]) * 1e10], ids=["1e4", "1e10"]
)
def test_squares_of_large_features(change):
    X, y = data()
    X = change(X)
    squares = {"loss": "squared_epsilon_insensitive", "random_state": 0}
    primal = LinearSVR(dual=False, **squares).fit(X, y)
    rest = y - primal.predict(X)
    exact = (
        y
        - np.column_stack([X / np.abs(X).max(), np.ones(len(X))])
        @ np.linalg.lstsq(np.column_stack([X / np.abs(X).max(), np.ones(len(X))]), y)[0]
    )
    assert rest @ rest <= (exact @ exact) * 1.01
    if np.abs(X).max() < 1e6:
        dual = LinearSVR(dual=True, **squares).fit(X, y)
        np.testing.assert_allclose(dual.predict(X), primal.predict(X), atol=1e-3)


def test_targets_that_overflow_are_refused():
    X, y = data()
    with pytest.raises(ValueError, match=r"y holds numbers up to .*; allowed are at most 1e\+150"):
        LinearSVR().fit(X, y * 1e200)

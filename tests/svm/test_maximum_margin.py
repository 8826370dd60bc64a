"""Primal and dual as quadratic programs: they agree, they are the machine, and they refuse what has no answer."""

import numpy as np
import pytest
import sklearn.svm

from tercet.kernels import Gaussian, Linear, Polynomial
from tercet.svm import DualProblem, kkt_conditions, svm_dual, svm_primal
from tercet.svm.maximum_margin import solve_dual_qp, solve_primal_qp


def cloud(n=40, seed=0, gap=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X @ [1.0, -0.5] + 0.2 + (0 if gap else 0.6 * rng.normal(size=n)) > 0, 1, -1)
    return X + gap * y[:, None] * [1.0, -0.5], y


@pytest.mark.parametrize("slack", ["linear", "squared"])
@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
def test_primal_equals_dual(C, slack):
    X, y = cloud()
    primal, dual = svm_primal(X, y, C, slack=slack), svm_dual(X @ X.T, y, C, slack=slack)
    np.testing.assert_allclose((dual.alpha * y) @ X, primal.w, atol=1e-7)
    np.testing.assert_allclose((primal.alpha * y) @ X, primal.w, atol=1e-6)
    assert dual.b == pytest.approx(primal.b, abs=1e-6)
    assert primal.gap == pytest.approx(0, abs=1e-7 * primal.primal)
    assert dual.primal == pytest.approx(primal.primal, rel=1e-6)
    np.testing.assert_allclose(primal.xi, dual.xi, atol=1e-6)
    price = C * (primal.xi.sum() if slack == "linear" else (primal.xi**2).sum())
    assert primal.w @ primal.w / 2 + price == pytest.approx(primal.primal, rel=1e-6)
    if slack == "linear":
        np.testing.assert_allclose(primal.alpha + primal.mu, C, rtol=1e-5)
    else:
        np.testing.assert_allclose(primal.xi, primal.alpha / (2 * C), atol=1e-6)


def test_agrees_with_libsvm():
    X, y = cloud()
    peer = sklearn.svm.SVC(kernel="linear", C=2.0, tol=1e-8).fit(X, y)
    found = svm_primal(X, y, 2.0)
    np.testing.assert_allclose(found.w, peer.coef_[0], atol=1e-5)
    assert found.b == pytest.approx(peer.intercept_[0], abs=1e-5)


def test_hard_margin_theorems():
    X, y = cloud(gap=0.5)
    found = svm_primal(X, y)
    margin = y * (X @ found.w + found.b)
    assert margin.min() == pytest.approx(1)
    np.testing.assert_allclose(margin[found.support], 1)
    assert found.alpha.sum() == pytest.approx(found.w @ found.w)
    assert found.primal == pytest.approx(found.alpha.sum() / 2)
    # Rows that are not support vectors may go, or stand anywhere outside of the margin.
    fewer = svm_primal(X[found.support], y[found.support])
    np.testing.assert_allclose(fewer.w, found.w, rtol=1e-6)
    far = np.where(np.isin(np.arange(len(y)), found.support)[:, None], X, X + 2 * y[:, None] * found.w)
    np.testing.assert_allclose(svm_primal(far, y).w, found.w, rtol=1e-6)
    order = np.random.default_rng(0).permutation(len(y))
    np.testing.assert_allclose(svm_primal(X[order], y[order]).w, found.w, rtol=1e-8)
    # A price that is high enough is as good as no slack.
    np.testing.assert_allclose(svm_primal(X, y, 1.01 * found.alpha.max()).w, found.w, rtol=1e-6)


def test_prices_of_rows():
    X, y = cloud()
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    for slack in ("linear", "squared"):
        weighted, repeated = (
            svm_primal(X, y, 0.5 * weight, slack=slack),
            svm_primal(X[rows], y[rows], 0.5, slack=slack),
        )
        np.testing.assert_allclose(weighted.w, repeated.w, atol=1e-6)


def test_labels_may_be_any_two():
    X, y = cloud()
    found, other = svm_primal(X, y, 1.0), svm_primal(X, np.where(y > 0, 7, 3), 1.0)
    np.testing.assert_array_equal(found.w, other.w)


def test_what_cannot_be_separated_is_refused():
    line = np.array([[0.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match="not linearly separable"):
        svm_primal(line, [1, -1, 1])
    with pytest.raises(ValueError, match="cannot be separated"):
        svm_dual(line @ line.T, [1, -1, 1])
    twice = np.array([[1.0], [1.0]])
    with pytest.raises(ValueError, match="not linearly separable"):
        svm_primal(twice, [1, -1])
    assert svm_primal(line, [1, -1, 1], 1.0).primal > 0


def test_one_class_and_bad_prices_are_refused():
    with pytest.raises(ValueError, match="two classes; got 1"):
        svm_primal([[0.0], [1.0]], [1, 1])
    with pytest.raises(ValueError, match="two classes; got 1"):
        svm_dual(np.eye(2), [1, 1])
    with pytest.raises(ValueError, match="C must be positive"):
        svm_primal([[0.0], [1.0]], [1, -1], 0.0)
    with pytest.raises(ValueError, match="square Gram matrix"):
        svm_dual(np.ones((2, 3)), [1, -1])
    with pytest.raises(ValueError, match="positive semidefinite"):
        svm_dual(np.array([[0.0, 1.0], [1.0, 0.0]]), [1, 1 - 2], 1.0)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=2, gamma=1.0, coef0=1.0)])
@pytest.mark.parametrize("ridge", [None, 0.25])
def test_problems_by_either_program(kernel, ridge):
    X, y = cloud()
    n = len(y)
    upper = np.full(n, 2.0 if ridge is None else np.inf)
    ridges = None if ridge is None else np.full(n, ridge)
    problem = DualProblem(kernel, X, y.astype(float), np.full(n, -1.0), upper, np.zeros(n), ridge=ridges)
    dual, primal = solve_dual_qp(problem), solve_primal_qp(problem)
    assert dual.converged
    assert primal.converged
    assert primal.objective == pytest.approx(dual.objective, rel=1e-6)
    assert primal.b == pytest.approx(dual.b, abs=1e-5)
    square = None if ridge is None else 1 / ridge
    assert kkt_conditions(kernel(X), y, dual.alpha, dual.b, upper, square=square, tol=1e-5).holds


def test_the_primal_needs_a_finite_space():
    X, y = cloud()
    n = len(y)
    problem = DualProblem(Gaussian(sigma=1.0), X, y.astype(float), np.full(n, -1.0), np.ones(n), np.zeros(n))
    assert solve_dual_qp(problem).converged
    with pytest.raises(ValueError, match="no explicit feature map"):
        solve_primal_qp(problem)


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e4, 1e8, 1e150])
def test_scale_and_place_do_not_matter(scale):
    X, y = cloud(gap=0.5)
    for C in (np.inf, 0.3):
        plain, price = svm_primal(X, y, C), C / scale**2 if C < 1 else C
        found = svm_primal(scale * (X + 1e3), y, price)
        np.testing.assert_allclose(scale * found.w, plain.w, rtol=1e-6)
        assert found.b == pytest.approx(plain.b - 1e3 * plain.w.sum(), rel=1e-6)
        np.testing.assert_allclose(scale * found.alpha * scale, plain.alpha, atol=1e-6)
        np.testing.assert_allclose(found.xi, plain.xi, atol=1e-6)
        dual = svm_dual(scale * X @ X.T * scale, y, price)
        np.testing.assert_allclose((scale * dual.alpha * y) @ X * scale, plain.w, rtol=1e-6)
        assert dual.b == pytest.approx(plain.b, abs=1e-6)


@pytest.mark.parametrize("C", [1e-7, 1e-6])
def test_cheap_slack(C):
    X, y = cloud()
    peer = sklearn.svm.SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(svm_primal(X, y, C).w / C, peer.coef_[0] / C, rtol=1e-4)
    np.testing.assert_allclose((svm_dual(X @ X.T, y, C).alpha * y) @ X / C, peer.coef_[0] / C, rtol=1e-4)

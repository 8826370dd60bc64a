"""The objective of logistic regression: its derivatives, its shape, its pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tercet.linear_model import LogisticObjective


def problem(kind, seed=0, n=40, d=3):
    rng = np.random.default_rng(seed)
    K = 2 if kind in ("binary", "squared") else 4
    X, y, s = rng.normal(size=(n, d)), rng.integers(0, K, n), rng.uniform(0, 2, n)
    options = {"loss": "squared" if kind == "squared" else "log", "reference": kind == "reference"}
    return X, y, s, K, options


def differences(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])


@pytest.mark.parametrize("kind", ["binary", "squared", "softmax", "reference"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_derivatives(kind, make, intercept):
    X, y, s, K, options = problem(kind)
    f = LogisticObjective(make(X), y, s, K, l2=0.3, intercept=intercept, intercept_l2=0.1, **options)
    rng = np.random.default_rng(1)
    theta, v = rng.normal(size=(2, f.size))
    np.testing.assert_allclose(f.gradient(theta), differences(f.value, theta), atol=1e-8)
    H = f.hessian(theta)
    np.testing.assert_allclose(H, differences(f.gradient, theta), atol=1e-8)
    np.testing.assert_allclose(f.hessian_product(theta, v), H @ v, atol=1e-12)
    np.testing.assert_allclose(f.hessian(theta, np.float32), H, atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6), kind=st.sampled_from(["binary", "softmax", "reference"]), t=st.floats(0, 1)
)
def test_log_loss_is_convex(seed, kind, t):
    X, y, s, K, options = problem(kind, seed)
    f = LogisticObjective(X, y, s, K, l2=0.01, **options)
    a, b = np.random.default_rng(seed + 1).normal(scale=3, size=(2, f.size))
    assert f.value(t * a + (1 - t) * b) <= t * f.value(a) + (1 - t) * f.value(b) + 1e-12


def test_two_classes_are_a_softmax_of_two():
    X, y, s, _, _ = problem("binary")
    f = LogisticObjective(X, y, s, 2, l2=0.1)
    theta = np.array([0.3, -1.0, 2.0, 0.5])
    z = np.column_stack([np.zeros(40), X @ theta[:3] + theta[3]])
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    expected = -(s * np.log(p[np.arange(40), y])).sum() / s.sum() + 0.05 * theta[:3] @ theta[:3]
    assert f.value(theta) == pytest.approx(expected, rel=1e-12)


def test_huge_scores_do_not_overflow():
    X, y, s, K, _ = problem("softmax")
    f = LogisticObjective(1e5 * X, y, s, K)
    value, g = f.value_and_gradient(np.random.default_rng(0).normal(size=f.size))
    assert np.isfinite(value)
    assert np.isfinite(g).all()


def test_restriction_to_columns():
    X, y, s, K, _ = problem("softmax", d=6)
    f = LogisticObjective(X, y, s, K, l2=0.2)
    columns = np.array([1, 4])
    part, at = f.restrict(columns), f.parameter_indices(columns)
    small = np.random.default_rng(0).normal(size=part.size)
    theta = np.zeros(f.size)
    theta[at] = small
    assert part.value(small) == pytest.approx(f.value(theta), rel=1e-12)
    np.testing.assert_allclose(part.gradient(small), f.gradient(theta)[at], atol=1e-12)


def test_chunks_do_not_change_the_sum():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 50)), rng.integers(0, 2, 20_000)
    f = LogisticObjective(X, y, None, 2)
    assert len(f.chunks) > 2
    theta = rng.normal(size=f.size) / 5
    z = X @ theta[:-1] + theta[-1]
    p = 1 / (1 + np.exp(-z))
    np.testing.assert_allclose(f.gradient(theta), np.r_[X.T @ (p - y), (p - y).sum()] / 20_000, atol=1e-12)
    A = np.column_stack([X, np.ones(20_000)])
    np.testing.assert_allclose(f.hessian(theta), A.T @ (A * (p * (1 - p))[:, None]) / 20_000, atol=1e-12)


@pytest.mark.parametrize("kind", ["binary", "squared", "softmax"])
@pytest.mark.parametrize("intercept", [True, False])
def test_second_derivatives_of_very_sparse_data(kind, intercept):
    _, y, s, K, options = problem(kind, n=500)
    X = sparse.random_array((500, 30), density=0.03, format="csr", rng=np.random.default_rng(0))
    theta = np.random.default_rng(1).normal(size=(30 + intercept) * (1 if K == 2 else K))
    H = LogisticObjective(X, y, s, K, intercept=intercept, **options).hessian(theta)
    dense = LogisticObjective(X.toarray(), y, s, K, intercept=intercept, **options).hessian(theta)
    np.testing.assert_allclose(H, dense, atol=1e-14)


def test_second_derivatives_in_blocks(monkeypatch):
    X, y, s, K, _ = problem("softmax", n=500)
    f = LogisticObjective(X, y, s, K)
    theta = np.random.default_rng(1).normal(size=f.size)
    whole = f.hessian(theta)
    monkeypatch.setattr("tercet.linear_model._logistic.chunk_sums.BLOCK", 1)
    np.testing.assert_allclose(f.hessian(theta), whole, atol=1e-14)


def test_a_changed_point_is_noticed():
    X, y, s, K, _ = problem("binary")
    f = LogisticObjective(X, y, s, K)
    theta, v = np.ones((2, f.size))
    f.hessian_product(theta, v)
    theta[:] = 0.5
    np.testing.assert_allclose(f.hessian_product(theta, v), f.hessian(theta) @ v, atol=1e-14)


def test_rows_in_doubt():
    f = LogisticObjective(np.array([[-1.0], [1.0], [2.0]]), np.array([0, 1, 1]), np.array([1.0, 1.0, 0.0]), 2)
    f.value(np.array([1.0, 0.0]))
    assert f.n_uncertain == 0
    f.value(np.array([-1.0, 0.0]))
    assert f.n_uncertain == 2


def test_column_moments_of_sparse_rows(monkeypatch):
    X = sparse.random_array((50, 6), density=0.4, rng=np.random.default_rng(0), format="csr")
    X.data += 1e6  # far from zero: squares would cancel
    dense = LogisticObjective(X.toarray(), np.arange(50) % 2, None, 2).column_moments
    monkeypatch.setattr(sparse.csr_array, "toarray", None)  # may be too large
    for mine, expected in zip(LogisticObjective(X, np.arange(50) % 2, None, 2).column_moments, dense):
        np.testing.assert_allclose(mine, expected, rtol=1e-12)

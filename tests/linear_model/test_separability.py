"""Separability, margins and Novikoff's bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from tercet.linear_model import (
    functional_margin,
    hyperplane_distance,
    linear_separability,
    novikoff_bound,
    perceptron_loss,
)


@given(st.integers(0, 10_000), st.floats(1e-4, 1e4))
@settings(max_examples=25, deadline=None)
def test_a_separator_is_found_when_there_is_one(seed, scale):
    rng = np.random.default_rng(seed)
    X, w = scale * rng.normal(size=(40, 3)), rng.normal(size=3)
    y = np.where(X @ w > 0.2 * scale, "yes", "no")
    if np.unique(y).size == 2:
        found = linear_separability(X, y)
        assert found
        assert (functional_margin(X, np.where(y == "yes", 1, -1), found.coef, found.intercept) > 0).all()


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_hulls_that_meet_are_not_separable(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 3))
    inside = rng.dirichlet(np.ones(20)) @ X  # in the hull of the others
    found = linear_separability(np.vstack([X, inside]), [0] * 20 + [1])
    assert not found
    assert found.coef is None


def test_touching_hulls_are_not_strictly_separable():
    assert not linear_separability([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1])
    assert linear_separability([[0.0], [1.0], [1.0 + 1e-6], [2.0]], [0, 0, 1, 1])


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_no_hyperplane_has_a_larger_margin(seed):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(30, 3)), rng.normal(size=3)
    score = X @ w + 0.1
    X += np.outer(np.sign(score) * 0.2, w / (w @ w))
    y = np.sign(score)
    if np.unique(y).size == 2:
        best = novikoff_bound(X, y)
        extended = np.column_stack([X, np.ones(30)])
        # In the space of (x, 1) a hard-margin SVM through the origin: LinearSVC penalises its intercept that way.
        svm = LinearSVC(loss="hinge", C=1e6, tol=1e-9, fit_intercept=False, max_iter=1_000_000)
        svm.fit(np.vstack([extended, -extended]), np.r_[y, -y])
        margin = (y * (extended @ svm.coef_[0])).min() / np.linalg.norm(svm.coef_)
        assert best.margin >= margin * (1 - 1e-6)
        assert best.margin >= novikoff_bound(X, y, w, 0.1).margin - 1e-12
        assert best.radius == pytest.approx(np.linalg.norm(extended, axis=1).max())


def test_margins_and_loss():
    X, y, w, b = (
        np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]]),
        np.array([1, 1, -1]),
        np.array([1.0, 2.0]),
        -10.0,
    )
    np.testing.assert_allclose(hyperplane_distance(X, w, b), np.abs(X @ w + b) / np.sqrt(5))
    margin = functional_margin(X, y, w, b)
    np.testing.assert_allclose(margin, [-1, 0, 7])
    loss, grad_w, grad_b = perceptron_loss(X, y, w, b)
    assert loss == 1
    np.testing.assert_allclose(grad_w, -(X[0] + X[1]))  # the row on the plane moves it too
    assert grad_b == -2
    assert perceptron_loss(X, y, w, b, distance=True)[0] == pytest.approx(1 / np.sqrt(5))
    assert perceptron_loss(X, y, [1, 1], -3)[0] == 0


def test_the_losses_gradient_by_differences():
    rng = np.random.default_rng(0)
    X, y, w, b, h = rng.normal(size=(50, 4)), rng.choice([-1, 1], 50), rng.normal(size=4), 0.1, 1e-6
    _, grad_w, grad_b = perceptron_loss(X, y, w, b)
    for j, e in enumerate(np.eye(4)):
        rise = perceptron_loss(X, y, w + h * e, b)[0] - perceptron_loss(X, y, w - h * e, b)[0]
        assert rise / (2 * h) == pytest.approx(grad_w[j], abs=1e-6)
    assert (perceptron_loss(X, y, w, b + h)[0] - perceptron_loss(X, y, w, b - h)[0]) / (
        2 * h
    ) == pytest.approx(grad_b, abs=1e-6)


def test_errors():
    square = [[0, 0], [0, 1], [1, 0], [1, 1]]
    with pytest.raises(ValueError, match="not separating"):
        novikoff_bound(square, [0, 1, 1, 0])
    with pytest.raises(ValueError, match="coef and intercept"):
        novikoff_bound(square, [0, 0, 0, 1], [1, 1], 0)
    with pytest.raises(ValueError, match="two classes"):
        linear_separability(square, [0, 1, 2, 0])


@pytest.mark.parametrize(
    ("scale", "offset"), [(1e-9, 0.0), (1e9, 0.0), (1.0, 1e9), (1e-150, 0.0), (1e300, 0.0)]
)
def test_separability_has_no_scale(scale, offset):
    square = np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]])
    X = scale * square + offset
    for y in ([0, 0, 0, 1], [0, 1, 1, 1], [0, 1, 1, 0]):
        found = linear_separability(X, y)
        assert bool(found) == bool(linear_separability(square, y))
        if found:
            assert np.array_equal(X @ found.coef + found.intercept > 0, np.array(y) == 1)
        else:
            assert found.coef is None
    mixed = square * [1e-12, 1e12] + [5.0, -1e12]
    assert bool(linear_separability(mixed, [0, 0, 0, 1]))
    assert not linear_separability(mixed, [0, 1, 1, 0])

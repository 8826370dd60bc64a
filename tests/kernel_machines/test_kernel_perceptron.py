"""The kernel perceptron: the book's numbers, the linear perceptron's dual form, and what a kernel adds."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tercet.core.steps import ConvergenceWarning
from tercet.kernel_machines import KernelPerceptron, kernel_perceptron
from tercet.kernels import Gaussian, Homogeneous, Linear, Polynomial, Subsequence
from tercet.linear_model import Perceptron

RNG = np.random.default_rng(3)
X = RNG.normal(size=(90, 3))
Y = np.digitize(X[:, 0] + 2 * X[:, 1], [-1, 1])


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.mark.parametrize(
    "order", ["cyclic", "first", [*range(0, 90, 4), 1, 1, 2]], ids=["cyclic", "first", "list"]
)
@pytest.mark.parametrize("variant", ["plain", "averaged"])
@pytest.mark.parametrize("y", [Y, Y > 1], ids=["three", "two"])
@pytest.mark.parametrize("block", [8, 256])
def test_linear_kernel_is_the_dual_form(order, variant, y, block, monkeypatch):
    monkeypatch.setattr(kernel_perceptron, "BLOCK", block)
    options = {"shuffle": False, "order": order, "variant": variant, "max_iter": 7, "tol": None, "eta0": 0.5}
    ours = KernelPerceptron("linear", **options).fit(X, y)
    theirs = Perceptron(form="dual", **options).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)
    assert ours.history_["mistakes"] == theirs.history_["mistakes"]
    assert ours.n_iter_ == theirs.n_iter_
    if variant == "plain":
        counts = np.zeros(theirs.alpha_.shape)
        counts[:, ours.support_] = np.abs(ours.dual_coef_)
        np.testing.assert_allclose(counts, theirs.alpha_)


def test_corrections_in_the_book():
    """Example 2.2: alpha = (2, 0, 5), b = -3."""
    model = KernelPerceptron("linear", shuffle=False, tol=None).fit([[3, 3], [4, 3], [1, 1]], [1, 1, -1])
    assert model.support_.tolist() == [0, 2]
    assert model.dual_coef_.tolist() == [[2, -5]]
    assert model.intercept_.tolist() == [-3]
    assert model.support_vectors_.tolist() == [[3, 3], [1, 1]]
    assert model.history_["mistakes"][-1] == 0


@pytest.mark.parametrize("kernel", [Homogeneous(2), Polynomial(2, 1.0, 1.0), Gaussian(gamma=1.0)], ids=str)
@pytest.mark.parametrize("order", ["cyclic", "first", "random"])
def test_exclusive_or_is_learned_with_a_kernel(kernel, order):
    corners, y = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [-1, 1, 1, -1]
    model = KernelPerceptron(kernel, order=order, tol=None).fit(corners, y)
    assert model.predict(corners).tolist() == y
    linear = KernelPerceptron("linear", max_iter=50, tol=None).fit(corners, y)
    assert linear.score(corners, y) < 1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.5, 3.0]))
def test_novikoff_in_the_space_of_the_kernel(seed, gamma):
    """No more than (R / margin)² corrections, R and the margin in the space of the kernel with a constant added."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(15, 2))
    y = np.where(rng.random(15) < 0.5, -1, 1)
    y[:2] = [-1, 1]
    kernel = Gaussian(gamma=gamma)
    model = KernelPerceptron(kernel, tol=None, max_iter=100_000, random_state=seed).fit(points, y)
    K = kernel(points) + 1  # b is the weight of a constant feature
    a = np.linalg.solve(K, y)  # a function with y f(x) = 1 everywhere
    bound = 2 * (a @ K @ a)  # R² = K(x, x) + 1 = 2, margin = 1 / norm
    assert sum(model.history_["mistakes"]) <= bound * (1 + 1e-6)
    assert model.score(points, y) == 1


def test_blocks_of_a_matrix_that_is_not_kept(monkeypatch):
    options = {"kernel": Gaussian(gamma=0.5), "max_iter": 20}
    kept = KernelPerceptron(**options).fit(X, Y)
    monkeypatch.setattr("tercet.kernel_machines._engine.training_gram.IN_MEMORY", 0)
    monkeypatch.setattr(kernel_perceptron, "BLOCK", 16)
    model = KernelPerceptron(**options).fit(X, Y)
    assert model.history_["mistakes"] == kept.history_["mistakes"]
    np.testing.assert_allclose(model.decision_function(X), kept.decision_function(X), atol=1e-9)


def test_weights_and_orders():
    weight = np.where(np.arange(90) % 3, 2.0, 0.0)
    model = KernelPerceptron("linear", max_iter=20).fit(X, Y, weight)
    assert (model.support_ % 3 != 0).all(), "rows of weight 0 are not visited"
    assert (np.abs(model.dual_coef_) % 2 == 0).all(), "a correction is eta0 times the weight"
    by_class = KernelPerceptron("linear", max_iter=20, class_weight={0: 2.0, 1: 2.0, 2: 2.0}).fit(X, Y)
    plain = KernelPerceptron("linear", max_iter=20, eta0=2.0).fit(X, Y)
    np.testing.assert_array_equal(by_class.dual_coef_, plain.dual_coef_)
    one, same, other = (
        KernelPerceptron(max_iter=5, random_state=s, n_jobs=n).fit(X, Y) for s, n in ((1, 1), (1, 3), (2, 1))
    )
    assert np.array_equal(one.dual_coef_, same.dual_coef_)
    assert one.dual_coef_.shape != other.dual_coef_.shape or not np.array_equal(
        one.dual_coef_, other.dual_coef_
    )


@pytest.mark.parametrize("order", [[90], [-1], [0.5], [], [[1]]], ids=str)
def test_wrong_orders(order):
    with pytest.raises(ValueError, match="order must list row numbers from 0 to 89"):
        KernelPerceptron(order=order).fit(X, Y)


def test_contradictions_end():
    with pytest.warns(ConvergenceWarning, match="may not be separable in the space of the kernel"):
        KernelPerceptron(max_iter=30, tol=None).fit([[0.0], [0.0], [1.0]], [0, 1, 1])
    model = KernelPerceptron().fit([[0.0], [0.0], [1.0]], [0, 1, 1])  # tol ends it
    assert model.n_iter_ < 1000
    with pytest.raises(ValueError, match="only one class"):
        KernelPerceptron().fit(X, np.ones(90))


def test_strings_and_gram_matrices():
    words, y = ["cat", "cart", "car", "dog", "dig", "dot"], ["c", "c", "c", "d", "d", "d"]
    model = KernelPerceptron(Subsequence(2, 0.5, normalize=True)).fit(words, y)
    assert model.predict([*words, "carp", "dogs"]).tolist() == [*y, "c", "d"]
    K = Linear()
    one = KernelPerceptron("linear", max_iter=20).fit(X, Y)
    other = KernelPerceptron("precomputed", max_iter=20).fit(K(X), Y)
    np.testing.assert_array_equal(other.support_, one.support_)
    np.testing.assert_allclose(other.decision_function(K(X + 1, X)), one.decision_function(X + 1), atol=1e-9)


def test_rows_of_no_weight_do_not_decide_when_to_stop():
    y = RNG.permutation(Y)
    there = KernelPerceptron("linear", tol=0.02).fit(X[::3], y[::3])
    weight = np.where(np.arange(90) % 3, 0.0, 1.0)
    model = KernelPerceptron("linear", tol=0.02).fit(X, y, weight)
    assert model.n_iter_ == there.n_iter_
    np.testing.assert_allclose(model.history_["loss"], there.history_["loss"])
    np.testing.assert_array_equal(model.dual_coef_, there.dual_coef_)

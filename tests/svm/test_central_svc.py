"""The central machine: the text's cases, its dual by a quadratic program, and its behaviour beside outliers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tercet.kernels import Gaussian, Linear
from tercet.optimize import solve_qp
from tercet.svm import CentralSVC

X = np.array([[2, 2], [3, 3], [4, 1], [0, 0], [-1, 1], [0, -2], [1.5, 1.2]])
Y = np.array([1, 1, 1, -1, -1, -1, -1])


def hard(epsilon: float) -> CentralSVC:
    return CentralSVC(C=np.inf, epsilon=epsilon, kernel="linear", tol=1e-11).fit(X, Y)


@pytest.mark.parametrize("epsilon", [0.05, 0.12])
def test_a_small_epsilon_gives_the_direction_of_the_centres(epsilon: float) -> None:
    model = hard(epsilon)
    np.testing.assert_allclose(model.coef_, [[0.23823088, 0.16158268]], atol=1e-8)
    np.testing.assert_array_equal(model.alpha_, 0)
    np.testing.assert_allclose(model.beta_, 0.08286291, atol=1e-8)
    np.testing.assert_allclose(model.central_margin_, 3.47392070, atol=1e-8)
    np.testing.assert_allclose(
        model.intercept_interval_, [[-0.79962712 + epsilon, -0.55124553 - epsilon]], atol=1e-8
    )
    np.testing.assert_allclose(model.intercept_, model.intercept_interval_.mean())


def test_a_larger_epsilon_turns_towards_the_border() -> None:
    model = hard(0.15)
    np.testing.assert_allclose(model.coef_, [[0.16226415, 0.27358491]], atol=1e-8)
    np.testing.assert_allclose(model.intercept_, -0.72169811, atol=1e-8)
    np.testing.assert_allclose(model.alpha_, [[0.35482378, 0, 0, 0, 0, 0, 0.35482378]], atol=1e-8)
    np.testing.assert_allclose(model.beta_, -0.00526878, atol=1e-8)
    np.testing.assert_allclose(model.central_margin_, 3.14380929, atol=1e-8)


def test_the_largest_epsilon() -> None:
    assert (hard(0.1549815).decision_function(X) * Y).min() == pytest.approx(0.1549815, abs=1e-8)
    with pytest.raises(ValueError, match=r"epsilon=0\.16 is too large"):
        hard(0.16)


def test_the_blend() -> None:
    model = CentralSVC(C=np.inf, blend=0.5, kernel="linear", tol=1e-11).fit(X, Y)
    np.testing.assert_allclose(model.coef_, [[1.99929775, 1.87387640]], atol=1e-8)
    f = X @ model.coef_[0]
    assert model.intercept_[0] == pytest.approx(-(f[Y > 0].min() + f[Y < 0].max()) / 2)
    svm = CentralSVC(C=np.inf, blend=0.0, kernel="linear", tol=1e-11).fit(X, Y)
    np.testing.assert_allclose(svm.coef_, [[1.12359551, 1.79775281]], atol=1e-8)
    np.testing.assert_allclose(svm.intercept_, -4.84269663, atol=1e-8)
    centres = CentralSVC(C=np.inf, blend=1.0, kernel="linear").fit(X, Y)
    np.testing.assert_allclose(centres.coef_, [[2.875, 1.95]], atol=1e-12)


def test_a_blend_of_directions() -> None:
    parts = [CentralSVC(C=np.inf, blend=b, kernel="linear", tol=1e-11).fit(X, Y).coef_ for b in (0.0, 1.0)]
    even = CentralSVC(C=np.inf, blend=0.5, normalize=True, kernel="linear", tol=1e-11).fit(X, Y)
    np.testing.assert_allclose(even.coef_, sum(w / np.linalg.norm(w) for w in parts) / 2, atol=1e-9)


@pytest.mark.parametrize("C", [0.05, 0.5, 5.0])
def test_the_soft_machine_is_the_primals(C: float) -> None:
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((20, 2)), np.repeat([1.0, -1.0], 10)
    A += 0.7 * y[:, None]
    d = A[:10].mean(axis=0) - A[10:].mean(axis=0)
    rows = -y[:, None] * np.column_stack([A, np.ones(20)])
    G = np.block([[rows, -np.eye(20)], [np.zeros((20, 3)), -np.eye(20)]])
    h = np.concatenate([np.full(20, -0.3), np.zeros(20)])
    Q = np.zeros((23, 23))
    Q[0, 0] = Q[1, 1] = 1
    found = solve_qp(Q, np.repeat([0, C], [3, 20]), G, h, [[*d, *np.zeros(21)]], [1.0])
    model = CentralSVC(C=C, epsilon=0.3, kernel="linear", tol=1e-10).fit(A, y)
    np.testing.assert_allclose(model.coef_[0], found.x[:2], atol=1e-7)
    slack = np.maximum(0.3 - y * model.decision_function(A), 0).sum()
    assert (model.coef_**2).sum() / 2 + C * slack == pytest.approx(found.fun, rel=1e-7)


@pytest.mark.parametrize("blend", [None, 0.4])
def test_weights_are_repetitions(blend: float | None) -> None:
    weight = np.array([2, 1, 3, 1, 0, 2, 1])
    options = {"C": 2.0, "blend": blend, "kernel": Gaussian(sigma=2.0), "tol": 1e-11}
    weighted = CentralSVC(**options).fit(X, Y, weight)
    repeated = CentralSVC(**options).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-8)


def test_an_outlier_turns_it_less_than_an_ordinary_machine() -> None:
    rng = np.random.default_rng(1)
    A = rng.standard_normal((40, 2)) + np.repeat([[3, 0], [-3, 0]], 20, axis=0)
    y = np.repeat([1, -1], 20)
    odd = np.vstack([A, [[1.2, 2.5]]]), np.append(y, -1)

    def turn(**options) -> float:
        first, second = (
            CentralSVC(C=np.inf, kernel="linear", **options).fit(*data).coef_[0] for data in ((A, y), odd)
        )
        return first @ second / np.linalg.norm(first) / np.linalg.norm(second)

    assert turn(blend=0.8, normalize=True) > turn(blend=0.0)


def test_several_classes() -> None:
    A, y = load_iris(return_X_y=True)
    model = CentralSVC().fit(A, y)
    assert model.decision_function(A).shape == (150, 3)
    assert model.score(A, y) > 0.9


def test_centres_in_one_place_are_refused() -> None:
    with pytest.raises(ValueError, match="the same point"):
        CentralSVC(kernel="linear").fit([[1.0], [-1.0], [2.0], [-2.0]], [0, 0, 1, 1])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("blend", [None, 0.5])
def test_a_kernel_that_is_not_positive_semidefinite(blend: float | None) -> None:
    A = np.random.default_rng(0).standard_normal((40, 3))
    model = CentralSVC(kernel="sigmoid", gamma=1.0, coef0=-1.0, blend=blend).fit(A, A[:, 0] > 0)
    assert np.isfinite(model.decision_function(A)).all()
    assert np.isfinite(model.central_margin_).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_any_scale_gives_the_same_machine(size: float) -> None:
    wanted = CentralSVC(kernel="linear", epsilon=0.3).fit(X, Y)
    model = CentralSVC(kernel="linear", epsilon=0.3, C=1 / size**2).fit(X * size, Y)
    np.testing.assert_allclose(model.decision_function(X * size), wanted.decision_function(X), atol=1e-9)


def test_a_linear_kernel_has_a_plane_by_any_name() -> None:
    named, made = (CentralSVC(kernel=k).fit(X, Y).coef_ for k in ("linear", Linear()))
    np.testing.assert_array_equal(named, made)


def test_max_iter_below_minus_one_is_refused() -> None:
    with pytest.raises(ValueError, match="'max_iter' must be"):
        CentralSVC(max_iter=-2).fit(X, Y)

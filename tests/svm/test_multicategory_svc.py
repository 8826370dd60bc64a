"""The multicategory machine: the text's cases, the optimum by another way, two classes as an ordinary machine."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tercet.kernels import Subsequence
from tercet.optimize import solve_qp
from tercet.svm import MulticategorySVC
from tercet.svm.multicategory_svc import multicategory_loss, zero_sum_biases

X3 = np.array([-2, -1.5, 0, 0.3, 2, 2.2])[:, None]
Y3 = np.array([0, 0, 1, 1, 2, 2])


def primal(K: np.ndarray, y: np.ndarray, cost: np.ndarray, weight: np.ndarray, lam: float) -> float:
    """The strategy's least value, from the primal with its slacks as variables: a, b, xi."""
    n, k = y.size, cost.shape[0]
    scale = weight.sum()
    Q = np.zeros(((2 * n + 1) * k,) * 2)
    for j in range(k):
        Q[j * n : (j + 1) * n, j * n : (j + 1) * n] = lam * K
    c = np.concatenate([np.zeros((n + 1) * k), (cost[y] * weight[:, None] / scale).T.ravel()])
    target = np.full((n, k), -1 / (k - 1))
    target[np.arange(n), y] = 1
    f = np.hstack([np.kron(np.eye(k), K), np.kron(np.eye(k), np.ones((n, 1))), -np.eye(n * k)])
    slacks = np.hstack([np.zeros((n * k, (n + 1) * k)), -np.eye(n * k)])
    sums = np.hstack([np.kron(np.ones((1, k)), K), np.ones((n, k)), np.zeros((n, n * k))])
    found = solve_qp(
        Q, c, np.vstack([f, slacks]), np.concatenate([target.T.ravel(), np.zeros(n * k)]), sums, np.zeros(n)
    )
    return found.fun


def test_the_texts_case() -> None:
    model = MulticategorySVC(lam=0.1, gamma=1.0, tol=1e-10).fit(X3, Y3)
    assert model.objective_ == pytest.approx(0.2483908594, abs=1e-10)
    np.testing.assert_allclose(model.intercept_, [0.0310383, -0.0174571, -0.0135812], atol=1e-7)
    expected = [[-0.3216280, 0.3204891, 0.0011390], [0.0912751, 0.2808956, -0.3721706]]
    np.testing.assert_allclose(model.decision_function([[1.0], [-0.7]]), expected, atol=1e-7)


def test_two_classes_are_an_ordinary_machine() -> None:
    X = np.array([[0, 2], [1, 3], [0.5, 0.5], [3, 1], [4, 0], [2.5, 2], [-2, -1], [-1, -2], [-3, 0]])
    y = np.array([1] * 3 + [2] * 6)
    model = MulticategorySVC(lam=0.05, kernel="linear", tol=1e-10).fit(X, y)
    assert model.objective_ == pytest.approx(0.4504535147, abs=1e-10)
    points = np.array([[0.0, 0], [1, 0], [0, 1]])
    np.testing.assert_allclose(-model.decision_function(points), [-10 / 7, -11 / 7, -4 / 7], atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_that_of_the_primal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), 6)
    X = rng.standard_normal((18, 2)) + y[:, None]
    cost = rng.uniform(0.5, 2, (3, 3)) * (1 - np.eye(3))
    weight = rng.uniform(0.2, 3, 18)
    model = MulticategorySVC(lam=0.03, gamma=0.5, cost=cost, tol=1e-9).fit(X, y, weight)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    assert model.objective_ == pytest.approx(primal(K, y, cost, weight, 0.03), rel=1e-7)
    np.testing.assert_allclose(model.decision_function(X).sum(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize(("y", "loss"), [(0, 0.4), (1, 1.1), (2, 1.5)])
def test_loss(y: int, loss: float) -> None:
    assert multicategory_loss(y, [0.6, -0.1, -0.5]) == pytest.approx(loss, abs=1e-12)


def test_the_objective_is_the_mean_loss_and_the_norms() -> None:
    model = MulticategorySVC(lam=0.1, gamma=1.0, tol=1e-10).fit(X3, Y3)
    mean = np.mean([multicategory_loss(y, f) for y, f in zip(Y3, model.decision_function(X3))])
    K = np.exp(-((X3 - X3.T) ** 2))[np.ix_(model.support_, model.support_)]
    norms = np.trace(model.dual_coef_.T @ K @ model.dual_coef_)
    assert model.objective_ == pytest.approx(mean + 0.05 * norms, abs=1e-12)


def test_an_error_that_costs_more_is_made_less() -> None:
    X, y = load_iris(return_X_y=True)
    dear = np.ones((3, 3))
    dear[1] = 50.0
    even = MulticategorySVC(lam=0.1).fit(X, y).predict(X)
    careful = MulticategorySVC(lam=0.1, cost=dear).fit(X, y).predict(X)
    assert np.mean(careful[y == 1] == 1) > np.mean(even[y == 1] == 1)


def test_strings() -> None:
    words = ["aab", "aaab", "abab", "xyz", "xxyz", "xyzz", "mmn", "mnm", "mnn"]
    y = np.repeat(["a", "x", "m"], 3)
    model = MulticategorySVC(lam=1e-3, kernel=Subsequence(2, 0.7)).fit(words, y)
    assert model.predict(["aabb", "xyy", "mmmn"]).tolist() == ["a", "x", "m"]


@pytest.mark.parametrize("cost", [np.ones((2, 2)), -np.ones((3, 3)), [[0, 1, np.nan]] * 3])
def test_a_bad_cost_is_refused(cost) -> None:
    with pytest.raises(ValueError, match="cost must be a table of 3 x 3"):
        MulticategorySVC(cost=cost).fit(X3, Y3)


def test_a_class_without_weight_costs_nothing() -> None:
    for y in ([0, 0, 1, 1], [0, 1, 2, 2]):
        weight = np.equal(y, y[-1]).astype(float)
        model = MulticategorySVC().fit(X3[:4], y, weight)
        assert model.objective_ == 0
        assert set(model.predict(X3)) == {y[-1]}


@pytest.mark.parametrize("seed", [14, 60])  # where no multiplier is inside its bounds
def test_b_is_one_of_those_that_fit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    n = int(rng.integers(k, 16))
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    X = rng.normal(size=(n, 2)) + y[:, None]
    X = np.round(X) if seed % 4 == 0 else X
    weight = rng.integers(0, 3, n).astype(float) if seed % 3 == 0 else np.ones(n)
    lam = 10.0 ** rng.integers(-3, 2)
    model = MulticategorySVC(lam=lam, gamma=0.5, tol=1e-9).fit(X, y, weight)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    assert model.objective_ == pytest.approx(primal(K, y, 1 - np.eye(k), weight, lam), rel=1e-7, abs=1e-7)


def test_b_between_ends() -> None:
    inf = np.inf
    for low, high, wanted in [
        ([3, -6], [inf, -5], [5.5, -5.5]),  # as far as the other class allows
        ([-5, 0], [0, 1], [-0.5, 0.5]),  # the middle of what both allow
        ([-inf, 1, 0], [-10, inf, 0], None),
        ([-inf, -inf], [inf, -1], None),
        ([-inf, -inf, -inf], [inf, inf, inf], [0, 0, 0]),
    ]:
        b = zero_sum_biases(np.array(low, dtype=float), np.array(high, dtype=float))
        assert abs(b.sum()) <= 1e-12
        assert (b >= low).all()
        assert (b <= high).all()
        if wanted is not None:
            np.testing.assert_allclose(b, wanted, atol=1e-12)


@pytest.mark.parametrize("size", [1e-150, 1e-10, 1e10, 1e150])
def test_any_scale_gives_the_same_machine(size: float) -> None:
    X, y = load_iris(return_X_y=True)
    X = X[::5]
    wanted = MulticategorySVC(kernel="linear", lam=0.01, tol=1e-8).fit(X, y[::5])
    model = MulticategorySVC(kernel="linear", lam=0.01 * size**2, tol=1e-8).fit(X * size, y[::5])
    assert model.objective_ == pytest.approx(wanted.objective_, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X * size), wanted.decision_function(X), atol=1e-6)

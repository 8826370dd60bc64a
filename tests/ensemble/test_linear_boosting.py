"""XGBoost's linear booster: steps by hand, a falling objective, and the optimum of the penalised problem."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_iris

from tercet.ensemble import LinearBoostingClassifier, LinearBoostingRegressor
from tercet.linear_model import ElasticNet, LogisticRegression, PoissonRegressor, Ridge
from tercet.losses import Huber, loss


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5)) @ rng.standard_normal((5, 5)) + 3.0
    return X, X @ [2.0, 0.0, -1.0, 0.5, 0.0] + rng.standard_normal(80), rng.integers(1, 4, 80)


def soft(g, alpha):
    return np.sign(g) * max(abs(g) - alpha, 0.0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_first_round_by_hand(form):
    """Two features that are not orthogonal: the second step sees the gradients that the first one left."""
    X, y, l1, l2, rate = (
        np.array([[1.0, 2.0], [-1.0, 0.0], [0.0, -2.0]]),
        np.array([4.0, 1.0, -2.0]),
        1.0,
        0.5,
        0.8,
    )
    b = y.mean()
    g = b - y
    w0 = rate * soft(-g @ X[:, 0], l1) / (X[:, 0] @ X[:, 0] + l2)
    g = g + w0 * X[:, 0]
    w1 = rate * soft(-g @ X[:, 1], l1) / (X[:, 1] @ X[:, 1] + l2)
    model = LinearBoostingRegressor(
        max_iter=1, learning_rate=rate, l1_regularization=l1, l2_regularization=l2
    ).fit(form(X), y)
    np.testing.assert_allclose(model.coef_, [w0, w1])
    assert model.intercept_ == pytest.approx(b)  # the columns have mean 0
    value = 0.5 * np.sum((model.predict(X) - y) ** 2) + l1 * (abs(w0) + abs(w1)) + l2 / 2 * (w0**2 + w1**2)
    assert model.history_["objective"] == [pytest.approx(value)]


def test_a_logistic_step_by_hand():
    x, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 1, 0, 1])
    G, H = np.sum((0.5 - y) * x), np.sum(0.25 * x**2)
    model = LinearBoostingClassifier(max_iter=1, l1_regularization=0.25, l2_regularization=1.0)
    model.fit(x[:, None], y)
    assert model.coef_[0, 0] == pytest.approx(soft(-G, 0.25) / (H + 1.0))
    assert model.intercept_[0] == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("selection", ["cyclic", "random"])
def test_squared_loss_approaches_the_elastic_net(data, selection):
    X, y, weight = data
    l1, l2, n = 30.0, 12.0, weight.sum()
    options = {"max_iter": 2000, "tol": 1e-14, "selection": selection, "random_state": 0}
    model = LinearBoostingRegressor(l1_regularization=l1, l2_regularization=l2, **options).fit(X, y, weight)
    peer = ElasticNet(alpha=(l1 + l2) / n, l1_ratio=l1 / (l1 + l2), tol=1e-12).fit(X, y, weight)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    residual = weight @ (y - peer.predict(X)) ** 2
    least = residual / 2 + l1 * np.abs(peer.coef_).sum() + l2 / 2 * np.sum(peer.coef_**2)
    assert model.history_["objective"][-1] == pytest.approx(least, rel=1e-11)
    assert (np.diff(model.history_["objective"]) <= 0).all()
    ridge = LinearBoostingRegressor(l2_regularization=l2, **options).fit(X, y, weight)
    closed = Ridge(alpha=l2).fit(X, y, weight)
    np.testing.assert_allclose(ridge.coef_, closed.coef_, rtol=1e-5)


def test_strong_l1_leaves_exact_zeros(data):
    X, y, _ = data
    most = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max()
    none = LinearBoostingRegressor(l1_regularization=1.001 * most).fit(X, y)
    assert not none.coef_.any()
    assert none.intercept_ == pytest.approx(y.mean())
    some = LinearBoostingRegressor(l1_regularization=0.3 * most).fit(X, y)
    assert 0 < np.count_nonzero(some.coef_) < 5


def test_log_loss_approaches_logistic_regression(data):
    X, y, weight = data
    y = (y > np.median(y)).astype(int)
    options = {"max_iter": 3000, "tol": 1e-15}
    model = LinearBoostingClassifier(l2_regularization=2.0, **options).fit(X, y, weight)
    peer = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(X, y, weight)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-5)
    assert (np.diff(model.history_["objective"]) <= 0).all()
    lasso = LinearBoostingClassifier(l1_regularization=4.0, **options).fit(X, y, weight)
    slopes = X.T @ (weight * (lasso.predict_proba(X)[:, 1] - y))  # the conditions of an optimum
    on = lasso.coef_[0] != 0
    assert 0 < on.sum() < 5
    np.testing.assert_allclose(slopes[on], -4.0 * np.sign(lasso.coef_[0, on]), rtol=1e-3)
    assert (np.abs(slopes[~on]) < 4.0).all()


def test_several_classes_approach_the_penalised_optimum():
    X, y = load_iris(return_X_y=True)
    l2, K, d = 1.5, 3, 4
    model = LinearBoostingClassifier(l2_regularization=l2, max_iter=5000, tol=1e-14).fit(X, y)

    def objective(theta):
        w, b = theta[: K * d].reshape(K, d), theta[K * d :]
        F = X @ w.T + b
        losses = np.logaddexp.reduce(F, axis=1) - F[np.arange(len(y)), y]
        return losses.sum() + l2 / 2 * np.sum(w**2)

    least = minimize(objective, np.zeros(K * d + K), method="BFGS", options={"gtol": 1e-6}).fun
    assert objective(np.append(model.coef_.ravel(), model.intercept_)) == pytest.approx(least, rel=1e-5)
    assert model.history_["objective"][-1] == pytest.approx(least, rel=1e-5)
    assert (np.diff(model.history_["objective"]) <= 0).all()


def test_other_losses():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, 3))
    counts = rng.poisson(np.exp(X @ [0.5, -0.3, 0.0] + 1))
    model = LinearBoostingRegressor("poisson", l2_regularization=0.1 * 150, max_iter=2000, tol=1e-15).fit(
        X, counts
    )
    peer = PoissonRegressor(alpha=0.1, tol=1e-10).fit(X, counts)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-4)
    with pytest.raises(ValueError, match="the prediction for row 0 of X is beyond floating-point numbers"):
        model.predict([[1e4, 0.0, 0.0]])
    y = X @ [1.0, 2.0, 3.0]
    y[:10] += 500.0
    robust = LinearBoostingRegressor(Huber(1.0), max_iter=500).fit(X, y)
    np.testing.assert_allclose(robust.coef_, [1, 2, 3], atol=0.1)
    with pytest.raises(ValueError, match=r"no second derivative.*Huber"):
        LinearBoostingRegressor(loss("absolute")).fit(X, y)
    with pytest.raises(ValueError, match="loss='poisson' requires y >= 0"):
        LinearBoostingRegressor("poisson").fit(X, y - 1e4)
    smooth = LinearBoostingClassifier(loss("logistic"), max_iter=200).fit(X, y > 5)
    named = LinearBoostingClassifier(max_iter=200).fit(X, y > 5)
    np.testing.assert_allclose(smooth.coef_, named.coef_, rtol=1e-3)


def test_steps_that_go_too_far_are_halved():
    """From p = 0.999 a Newton step of the log loss overshoots; the objective falls all the same."""
    X = np.concatenate([np.ones(999), [-60.0]])[:, None]
    y = np.concatenate([np.ones(999), [0.0]])
    y[:5] = 0
    model = LinearBoostingClassifier(max_iter=60, fit_intercept=False).fit(X, y)
    objective = np.array(model.history_["objective"])
    assert (np.diff(objective) <= 0).all()
    assert objective[0] < len(y) * np.log(2)


def test_sparse_rows_weights_and_shrinkage(data):
    X, y, weight = data
    options = {"l1_regularization": 3.0, "l2_regularization": 1.0}
    tight = {"max_iter": 3000, "tol": 1e-15, **options}
    dense = LinearBoostingRegressor(max_iter=5, **options).fit(X, y)
    thin = LinearBoostingRegressor(max_iter=5, **options).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(dense.coef_, thin.coef_, rtol=1e-9)
    weighted = LinearBoostingRegressor(**options).fit(X, y, weight)
    repeated = LinearBoostingRegressor(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    slow = LinearBoostingRegressor(max_iter=1, learning_rate=0.1, **options).fit(X, y)
    fast = LinearBoostingRegressor(max_iter=1, **options).fit(X, y)
    assert np.abs(slow.coef_).sum() < 0.5 * np.abs(fast.coef_).sum()
    single = LinearBoostingRegressor(**options).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float32
    far = LinearBoostingRegressor(**tight).fit(X + 1e5, y)
    np.testing.assert_allclose(far.coef_, LinearBoostingRegressor(**tight).fit(X, y).coef_, atol=1e-5)

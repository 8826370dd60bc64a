"""Regression with any penalty, for the squared and the absolute loss."""

from itertools import combinations

import numpy as np
import pytest
import sklearn.linear_model as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from tercet.core.callbacks import EarlyStopping, Recorder
from tercet.linear_model import PenalizedRegressor
from tercet.linear_model._penalized.best_subset import best_subset
from tercet.losses import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
)
from tercet.penalties import penalty


def data(n=60, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 1.0
    w = np.zeros(d)
    w[:3] = [3.0, -2.0, 0.5]
    return X, X @ w + 2.0 + rng.laplace(size=n), rng.uniform(0.3, 2.0, n)


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        (Huber(delta=0.5), "l1"),
        (Huber(delta=0.5), None),
        (Quantile(0.3), "l2"),
        (EpsilonInsensitive(0.1), "elasticnet"),
        (SquaredEpsilonInsensitive(0.1), "lq"),
    ],
)
def test_any_loss(loss, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) + 5
    y, s = X @ [2.0, -1.0, 0.0] + rng.normal(size=60) + 100, rng.integers(0, 3, 60)
    options = {"penalty": kind, "loss": loss, "alpha": 0.1, "q": 1.5, "tol": 1e-9}
    model = PenalizedRegressor(**options).fit(X, y, s)
    cost = penalty(kind, strength=0.1, **({"q": 1.5} if kind == "lq" else {}))

    def objective(w, b):
        return loss.total(y, X @ w + b, s) + cost.value(w)

    least = objective(model.coef_, model.intercept_)
    assert model.objective_ == pytest.approx(least, rel=1e-6)
    for _ in range(40):  # no point nearby is lower
        move = 10.0 ** rng.uniform(-4, -1) * rng.normal(size=4)
        assert objective(model.coef_ + move[:3], model.intercept_ + move[3]) > least - 1e-9
    csr = PenalizedRegressor(**options).fit(sparse.csr_array(X), y, s)
    assert csr.objective_ == pytest.approx(least, rel=1e-5)


def test_squared_and_absolute_losses_as_objects():
    X, y = np.arange(8.0)[:, None] % 5, np.arange(8.0) ** 1.5
    for name, loss in (("squared", Squared()), ("absolute", Absolute())):
        one, other = (PenalizedRegressor("l1", loss=given).fit(X, y) for given in (name, loss))
        np.testing.assert_array_equal(one.coef_, other.coef_)
    with pytest.raises(ValueError, match="a loss other than the squared and the absolute must"):
        PenalizedRegressor("l0", loss=Huber()).fit(X, y)


@pytest.mark.parametrize(
    "options",
    [
        {"penalty": "l1"},
        {"penalty": "lq", "random_state": 0},
        {"penalty": "elasticnet", "algorithm": "proximal"},
        {"penalty": "l1", "loss": "absolute"},
        {"penalty": "l2", "loss": "absolute"},
    ],
)
def test_conformance(options):
    failed = [
        r for r in check_estimator(PenalizedRegressor(**options), on_fail=None) if r["status"] == "failed"
    ]
    assert failed == []


@pytest.mark.parametrize("algorithm", ["coordinate", "proximal"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_convex_penalties_agree_with_scikit_learn(algorithm, form):
    X, y, weight = data()
    lam, ratio = 0.4, 0.3
    scale = ratio / 2 + 1 - ratio
    peers = {
        "l1": peer.Lasso(alpha=lam / 2, tol=1e-12),
        "l2": peer.Ridge(alpha=lam * weight.sum()),
        "elasticnet": peer.ElasticNet(alpha=lam * scale, l1_ratio=ratio / 2 / scale, tol=1e-12),
    }
    for name, other in peers.items():
        ours = PenalizedRegressor(name, alpha=lam, l1_ratio=ratio, algorithm=algorithm).fit(
            form(X), y, weight
        )
        other.fit(X, y, weight)
        np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-6)
        assert ours.intercept_ == pytest.approx(other.intercept_, abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.floats(0.01, 2.0))
def test_l0_is_the_best_of_all_subsets(seed, lam):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 5)) @ rng.standard_normal((5, 5))
    y = X @ rng.standard_normal(5) + rng.standard_normal(20)
    model = PenalizedRegressor("l0", alpha=lam, n_restarts=0).fit(X, y)
    values = []
    for k in range(6):
        for subset in combinations(range(5), k):
            Z = np.column_stack([np.ones(20), X[:, subset]])
            values.append(np.mean((y - Z @ np.linalg.lstsq(Z, y)[0]) ** 2) + lam * k)
    assert model.objective_ == pytest.approx(min(values), rel=1e-8)


def test_l0_of_many_features_finds_a_sparse_truth():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 60))
    w = np.zeros(60)
    w[[3, 20, 41]] = [2.0, -3.0, 1.5]
    y = X @ w + 0.3 * rng.standard_normal(200)
    for algorithm in ("auto", "proximal"):
        model = PenalizedRegressor("l0", alpha=0.1, algorithm=algorithm, random_state=0).fit(X, y)
        assert np.flatnonzero(model.coef_).tolist() == [3, 20, 41]
    assert (
        PenalizedRegressor("l0", alpha=0.1, algorithm="exact").fit(X, y).objective_ <= model.objective_ + 1e-9
    )


@pytest.mark.parametrize("q", [0.3, 0.7, 1.0, 1.5, 3.0])
@pytest.mark.parametrize("algorithm", ["coordinate", "proximal"])
def test_lq_is_a_local_minimum(q, algorithm):
    X, y, _ = data()
    model = PenalizedRegressor("lq", alpha=0.3, q=q, algorithm=algorithm, random_state=0).fit(X, y)
    cost, rng = penalty("lq", strength=0.3, q=q), np.random.default_rng(0)

    def objective(w, b):
        return np.mean((y - X @ w - b) ** 2) + cost.value(w)

    least = objective(model.coef_, model.intercept_)
    assert model.objective_ == pytest.approx(least)
    for _ in range(200):
        step = 1e-3 * rng.standard_normal(7)
        assert objective(model.coef_ + step[:6], model.intercept_ + step[6]) >= least - 1e-12


def test_lq_meets_lasso_at_one():
    X, y, _ = data()
    lq, l1 = (PenalizedRegressor(p, alpha=0.3, q=1.0).fit(X, y) for p in ("lq", "l1"))
    np.testing.assert_allclose(lq.coef_, l1.coef_, atol=1e-8)


def test_laplace_prior_is_the_l1_penalty():
    X, y, _ = data()
    lam, n = 4.0, len(y)  # Laplace(0, 1 / lam) with noise of variance 1
    model = PenalizedRegressor("l1", alpha=2 * lam / n, fit_intercept=False).fit(X, y)

    def log_posterior(w):
        return -0.5 * np.sum((y - X @ w) ** 2) - lam * np.sum(np.abs(w))

    top, rng = log_posterior(model.coef_), np.random.default_rng(0)
    assert all(log_posterior(model.coef_ + 1e-3 * rng.standard_normal(6)) < top for _ in range(50))


def test_absolute_loss_with_l1_is_median_regression():
    X, y, weight = data()
    ours = PenalizedRegressor("l1", alpha=0.1, loss="absolute").fit(X, y, weight)
    # scikit-learn's pinball loss is half of the absolute error
    theirs = peer.QuantileRegressor(alpha=0.05, solver="highs").fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    plain = PenalizedRegressor(None, loss="absolute").fit(X, y, weight)
    assert plain.objective_ <= ours.objective_


@pytest.mark.parametrize("name", ["l2", "elasticnet", "lq"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_absolute_loss_with_smooth_penalties_is_optimal(name, form):
    X, y, weight = data()
    options = {"q": 1.5} if name == "lq" else {"l1_ratio": 0.5} if name == "elasticnet" else {}
    model = PenalizedRegressor(name, alpha=0.2, loss="absolute", tol=1e-9, **options).fit(form(X), y, weight)
    cost = penalty(name, strength=0.2, **options)
    rng = np.random.default_rng(0)

    def objective(theta):
        return np.average(np.abs(y - X @ theta[:6] - theta[6]), weights=weight) + cost.value(theta[:6])

    theta = np.append(model.coef_, model.intercept_)
    assert objective(theta) == pytest.approx(model.objective_)
    steps = [10.0**-k * rng.standard_normal(7) for k in range(6) for _ in range(50)]
    assert min(objective(theta + step) for step in steps) >= model.objective_ - 1e-7


def test_absolute_loss_with_l0_is_the_best_of_all_subsets():
    X, y, _ = data(n=40, d=5)
    model = PenalizedRegressor("l0", alpha=0.15, loss="absolute").fit(X, y)
    values = [
        PenalizedRegressor(None, loss="absolute").fit(X[:, list(s)] if s else np.zeros((40, 1)), y).objective_
        + 0.15 * len(s)
        for k in range(6)
        for s in combinations(range(5), k)
    ]
    assert model.objective_ == pytest.approx(min(values), rel=1e-8)


def test_absolute_loss_with_lq_is_sparse_and_no_worse_than_lasso():
    X, y, _ = data()
    bridge = PenalizedRegressor("lq", alpha=0.3, loss="absolute").fit(X, y)
    lasso = PenalizedRegressor("l1", alpha=0.3, loss="absolute").fit(X, y)
    cost = penalty("lq", strength=0.3, q=0.5)
    assert bridge.objective_ <= np.mean(np.abs(y - lasso.predict(X))) + cost.value(lasso.coef_)
    assert (bridge.coef_ == 0).any()


def test_outliers_move_the_absolute_loss_less():
    X, y, _ = data()
    spoilt = y.copy()
    spoilt[:3] += 500
    moved = {
        loss: np.abs(
            PenalizedRegressor(None, loss=loss).fit(X, spoilt).coef_
            - PenalizedRegressor(None, loss=loss).fit(X, y).coef_
        ).max()
        for loss in ("squared", "absolute")
    }
    assert moved["absolute"] < 0.1 * moved["squared"]


def test_strength_by_cross_validation():
    X, y, _ = data(n=100)
    search = GridSearchCV(PenalizedRegressor("l0"), {"alpha": [0.001, 0.1, 50.0]}, cv=5).fit(X, y)
    assert search.best_params_["alpha"] in (0.001, 0.1)
    assert search.best_estimator_.score(X, y) > 0.8


def test_branch_and_bound_asks_about_few_subsets():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 16))
    y = X[:, :4] @ [3.0, 2.0, -2.0, 1.0] + rng.standard_normal(300)
    asked = []

    def risk(subset):
        asked.append(subset)
        w = np.linalg.lstsq(X[:, subset], y)[0] if subset else np.zeros(0)
        return float(np.mean((y - X[:, subset] @ w) ** 2)), w

    w = best_subset(risk, np.abs(X.T @ y), 0.05, np.zeros(16), risk([])[0])
    assert np.flatnonzero(w).tolist() == [0, 1, 2, 3]
    assert len(asked) < 2**16 / 100


def test_errors_name_the_parameter():
    X, y, _ = data()
    with pytest.raises(ValueError, match="algorithm='exact' is for penalty='l0'; got penalty='l1'"):
        PenalizedRegressor("l1", algorithm="exact").fit(X, y)
    with pytest.raises(ValueError, match="loss='absolute' takes algorithm='auto'"):
        PenalizedRegressor("l1", loss="absolute", algorithm="proximal").fit(X, y)
    with pytest.raises(ValueError, match="parameter 'penalty' must be"):
        PenalizedRegressor("l3").fit(X, y)


@pytest.mark.parametrize("name", ["l0", "l1", "lq"])
@pytest.mark.parametrize("algorithm", ["auto", "proximal"])
def test_the_last_report_is_the_model(name, algorithm):
    X, y, weight = data()
    recorder = Recorder()
    model = PenalizedRegressor(name, alpha=0.3, algorithm=algorithm, random_state=0).set_callbacks(recorder)
    model.fit(X.astype(np.float32), y, weight)
    last = recorder.frames[-1]
    assert last.index + 1 == model.n_iter_ == len(model.history_["change"])
    np.testing.assert_array_equal(last.attributes["coef_"], model.coef_)
    assert last.attributes["intercept_"] == model.intercept_


def test_early_stopping_counts_the_passes_from_all_starts():
    X, y, _ = data()
    model = PenalizedRegressor("lq", alpha=0.3, random_state=0).set_callbacks(EarlyStopping(patience=50))
    model.fit(X, y)
    assert 1 <= model.best_iter_ <= len(model.validation_scores_) == model.n_iter_


@pytest.mark.parametrize("options", [{"penalty": "lq"}, {"penalty": "l2", "loss": "absolute"}])
def test_passes_before_an_interrupt_count(options, monkeypatch):
    X, y, _ = data()
    steps = PenalizedRegressor.steps

    def watch(step):
        if step.count == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(PenalizedRegressor, "steps", lambda *a, **more: steps(*a, watch=watch, **more))
    model = PenalizedRegressor(alpha=0.3, **options)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_iter_ == 3
    assert model.predict(X).shape == y.shape

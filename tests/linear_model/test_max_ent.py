"""The maximum entropy model and principle: duality, algorithms, forms of input, and agreement with peers."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.metrics import log_loss

from tercet.linear_model import MaxEnt, max_entropy
from tercet.linear_model._maxent.joint_features import JointFeatures
from tercet.linear_model._maxent.log_linear_objective import LogLinearObjective
from tercet.linear_model._maxent.product_features import ProductFeatures

ALGORITHMS = ["lbfgs", "iis", "gis", "gd", "newton", "newton-cg", "dfp", "bfgs"]


def indicators(seed=0, n=120, columns=6, labels=3):
    rng = np.random.default_rng(seed)
    X = (rng.random((n, columns)) < 0.4).astype(float)
    y = (X @ rng.normal(size=(columns, labels)) + rng.gumbel(size=(n, labels))).argmax(axis=1)
    return X, y


def has_long_tail(x, y):
    return float(x[1] > 3 and y == "cat")


def is_small(x, y):
    return float(x[0] == "small" and y != "cat")


# --- the model ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_algorithms_reach_the_same_optimum(algorithm):
    X, y = indicators()
    tol, limit = (1e-5, 20_000) if algorithm in ("iis", "gis", "gd") else (1e-8, 1000)
    model = MaxEnt(algorithm, C=5.0, fit_intercept=False, tol=tol, max_iter=limit).fit(X, y)
    best = MaxEnt("newton", C=5.0, fit_intercept=False, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(
        model.predict_proba(X), best.predict_proba(X), atol=2e-3 if tol > 1e-6 else 1e-5
    )
    penalty = lambda m: (m.weights_**2).sum() / (2 * 5.0 * len(y))  # noqa: E731
    value = -model.log_likelihood(X, y) + penalty(model)
    assert value == pytest.approx(-best.log_likelihood(X, y) + penalty(best), abs=1e-6)


@pytest.mark.parametrize("algorithm", ["iis", "gis"])
def test_the_likelihood_rises_monotonically(algorithm):
    X, y = indicators(1)
    model = MaxEnt(algorithm, C=np.inf, fit_intercept=False, tol=1e-3, max_iter=5000).fit(X, y)
    assert np.diff(model.history_["fun"]).max() <= 1e-13
    assert model.history_["fun"][-1] == pytest.approx(-model.log_likelihood(X, y))


@given(st.integers(0, 1000))
@settings(max_examples=8, deadline=None)
def test_duality(seed):
    X, y = indicators(seed, n=400, columns=4)
    model = MaxEnt("newton", C=np.inf, fit_intercept=False, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.expected_, model.empirical_, atol=1e-8)  # the constraints hold
    assert model.entropy_ == pytest.approx(-model.log_likelihood(X, y), abs=1e-7)  # no duality gap
    w = np.random.default_rng(seed).normal(size=model.weights_.size)
    other = pickle.loads(pickle.dumps(model))
    other.coef_ = np.zeros_like(model.coef_)
    other.coef_[model.pairs_[:, 1], model.pairs_[:, 0]] = w
    assert model.dual_function(X, y, w) == pytest.approx(other.log_likelihood(X, y))  # Ψ = L at every w
    assert model.dual_function(X, y, w) <= model.dual_function(X, y) + 1e-12


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_agrees_with_multinomial_logistic_regression(dense, fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    y = (X[:, :3] + rng.gumbel(size=(150, 3))).argmax(axis=1)
    weight = rng.integers(0, 3, size=150).astype(float)
    model = MaxEnt(C=2.0, fit_intercept=fit_intercept, tol=1e-8)
    model.fit(X if dense else sparse.csr_array(X), y, sample_weight=weight)
    peer = Peer(C=2.0, fit_intercept=fit_intercept, tol=1e-9, max_iter=1000).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-5)


def test_two_labels_are_binomial_logistic_regression():
    X, y = indicators(labels=2)
    pos = (y == 1).astype(int)
    functions = [lambda x, k, j=j: x[j] * k for j in range(6)]
    model = MaxEnt("newton", C=np.inf, feature_functions=functions, tol=1e-10).fit([tuple(x) for x in X], pos)
    peer = Peer(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, pos)
    np.testing.assert_allclose(model.weights_, peer.coef_[0], atol=1e-4)
    np.testing.assert_allclose(model.decision_function([tuple(x) for x in X]), X @ model.weights_, atol=1e-12)


def test_seen_pairs_have_weights_and_others_do_not():
    X = sparse.csr_array(np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 0]]))
    y = np.array([0, 1, 1, 0])
    seen, full = MaxEnt(fit_intercept=False).fit(X, y), MaxEnt(features="all", fit_intercept=False).fit(X, y)
    assert seen.pairs_.tolist() == [[0, 0], [1, 0], [1, 1], [2, 1]]
    assert seen.coef_[0, 2] == seen.coef_[1, 0] == 0
    assert full.weights_.size == 6
    without = MaxEnt(fit_intercept=False).fit(X, y, sample_weight=[1, 1, 0, 1])
    assert without.pairs_.tolist() == [[0, 0], [1, 0], [1, 1]]  # a row of weight 0 is not seen


@pytest.mark.parametrize("algorithm", ["lbfgs", "newton-cg"])
@pytest.mark.parametrize("n_jobs", [1, 2, 7])
def test_same_bits_for_any_n_jobs(n_jobs, algorithm):
    rng = np.random.default_rng(0)
    X = sparse.random_array((40_000, 30), density=0.3, rng=rng, format="csr")
    y = rng.integers(0, 3, 40_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = MaxEnt(algorithm, max_iter=2, n_jobs=1).fit(X, y)
        many = MaxEnt(algorithm, max_iter=2, n_jobs=n_jobs).fit(X, y)
        dense = MaxEnt(algorithm, max_iter=2, n_jobs=n_jobs).fit(X.toarray(), y)
    assert np.array_equal(one.coef_, many.coef_)
    exact = (
        1e-10 if algorithm == "lbfgs" else 1e-7
    )  # two steps, whose directions are float32 for sparse features
    np.testing.assert_allclose(one.coef_, dense.coef_, atol=exact)


def test_an_l1_penalty_makes_weights_zero():
    X, y = indicators(2)
    model = MaxEnt(C=np.inf, l1=3.0, fit_intercept=False, tol=1e-7).fit(X, y)
    assert 0 < np.count_nonzero(model.weights_) < model.weights_.size
    gap = (model.expected_ - model.empirical_) * len(y)
    assert np.abs(gap).max() <= 3.0 + 1e-3
    used = model.weights_ != 0
    np.testing.assert_allclose(gap[used], -3.0 * np.sign(model.weights_[used]), atol=1e-3)
    with pytest.raises(ValueError, match="algorithm='lbfgs'"):
        MaxEnt("newton", l1=1.0).fit(X, y)


def test_float32_stays():
    X, y = indicators()
    model = MaxEnt().fit(X.astype(np.float32), y)
    assert model.coef_.dtype == model.predict_proba(X.astype(np.float32)).dtype == np.float32


# --- forms of input -----------------------------------------------------------------------------------------


def test_dicts_are_named_features():
    contexts = [
        {"suffix": "a", "length": 4, "vowel": True},
        {"suffix": "k", "length": 3, "vowel": False},
        {"suffix": "a", "length": 2.0, "vowel": True},
        {"suffix": "n", "length": 5, "vowel": False},
    ]
    y = ["f", "m", "f", "m"]
    model = MaxEnt().fit(contexts, y)
    assert set(model.vocabulary_) == {
        "suffix=a",
        "suffix=k",
        "suffix=n",
        "length",
        "vowel=True",
        "vowel=False",
    }
    assert model.predict([{"suffix": "a", "length": 3, "unknown": "x"}]) == ["f"]
    X = np.zeros((4, 6))
    for row, context in zip(X, contexts):
        for name, value in context.items():
            numeric = name == "length"
            row[model.vocabulary_[name if numeric else f"{name}={value}"]] = value if numeric else 1
    np.testing.assert_allclose(MaxEnt().fit(X, y).predict_proba(X), model.predict_proba(contexts))


def test_feature_functions_of_any_objects():
    contexts = [("small", 5), ("small", 1), ("large", 4), ("small", 1), ["large", 2], ("small", 5)]
    y = ["cat", "dog", "cat", "cat", "dog", "dog"]
    model = MaxEnt("iis", C=np.inf, feature_functions=[has_long_tail, is_small], tol=1e-6).fit(contexts, y)
    np.testing.assert_allclose(model.empirical_, [2 / 6, 2 / 6])
    np.testing.assert_allclose(model.expected_, model.empirical_, atol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(contexts), model.predict(contexts))
    weighted = MaxEnt("newton", C=1.0, feature_functions=[has_long_tail, is_small], tol=1e-10)
    twice = weighted.fit(contexts + contexts[:2], y + y[:2]).weights_
    np.testing.assert_allclose(weighted.fit(contexts, y, [2, 2, 1, 1, 1, 1]).weights_, twice, atol=1e-9)


def test_wide_tables_take_the_joint_matrix():
    """Many columns and labels of which few pairs are seen: the same model by another road."""
    X, y = indicators()
    product = ProductFeatures(sparse.csr_array(X), 3)
    joint = JointFeatures(product.matrix(), 3, np.arange(len(y)))
    w, share = np.random.default_rng(0).normal(size=18), np.full(len(y), 1 / len(y))
    a, b = (
        LogLinearObjective(f, f.empirical(y, share), f.context_weight(share), 0.1) for f in (product, joint)
    )
    np.testing.assert_allclose(a.value_and_gradient(w)[1], b.value_and_gradient(w)[1], atol=1e-12)
    assert a.value(w) == pytest.approx(b.value(w))


@pytest.mark.parametrize("dense", [True, False])
def test_derivatives_by_differences(dense):
    X, y = indicators(3, n=30, columns=3)
    X = X if dense else sparse.csr_array(X)
    seen = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 1]], dtype=bool)
    f, share = ProductFeatures(X, 3, seen), np.full(30, 1 / 30)
    objective = LogLinearObjective(f, f.empirical(y, share), share, 0.05)
    rng, h = np.random.default_rng(0), 1e-6
    w, v = rng.normal(size=(2, 7))
    step = np.eye(7) * h
    numeric = [(objective.value(w + e) - objective.value(w - e)) / (2 * h) for e in step]
    np.testing.assert_allclose(objective.gradient(w), numeric, atol=1e-8)
    curved = [(objective.gradient(w + e) - objective.gradient(w - e)) / (2 * h) for e in step]
    np.testing.assert_allclose(objective.hessian(w), curved, atol=1e-8)
    np.testing.assert_allclose(objective.hessian_product(w, v), objective.hessian(w) @ v, atol=1e-12)


@pytest.mark.parametrize(("scale", "rounded"), [(1.0, True), (1e12, False)])
def test_curvature_of_large_data_is_float32_within_its_range(monkeypatch, scale, rounded):
    monkeypatch.setattr("tercet.linear_model._maxent.product_features.LARGE", 0)
    X, y = indicators(3, n=30, columns=3)
    f, share = ProductFeatures(sparse.csr_array(X * scale), 3), np.full(30, 1 / 30)
    objective = LogLinearObjective(f, f.empirical(y, share), share, 0.05)
    w, v = np.random.default_rng(0).normal(size=(2, 9)) / scale
    product, exact = objective.hessian_product(w, v), objective.hessian(w) @ v
    error = np.abs(product - exact).max() / np.abs(exact).max()
    assert error < (1e-6 if rounded else 1e-14)
    assert (error > 1e-10) == rounded


def test_scores_of_any_size_do_not_overflow():
    X, y = indicators()
    model = MaxEnt().fit(X, y)
    model.coef_ *= 1e4
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_a_feature_without_contradiction_stays_finite_without_a_penalty():
    X, y = np.array([[1.0, 1], [1, 0], [0, 1], [0, 1]]), np.array([0, 0, 1, 1])
    for algorithm in ("lbfgs", "iis"):
        model = MaxEnt(algorithm, C=np.inf, features="all", tol=1e-3, fit_intercept=False).fit(X, y)
        assert np.isfinite(model.weights_).all()
        assert log_loss(y, model.predict_proba(X)) < 0.1


def test_errors():
    X, y = indicators()
    with pytest.raises(ValueError, match="not negative"):
        MaxEnt("iis").fit(X - 0.5, y)
    shifted = MaxEnt("iis", negative="shift", tol=1e-3, max_iter=20_000).fit(X - 0.5, y)
    assert shifted.score(X - 0.5, y) > 0.4
    with pytest.raises(ValueError, match="'algorithm'"):
        MaxEnt("simplex").fit(X, y)
    with pytest.raises(ValueError, match="y is None"):
        MaxEnt().fit([{"a": 1}], None)
    with pytest.raises(ValueError, match="feature_functions must give finite"):
        MaxEnt(feature_functions=[lambda x, y: np.nan]).fit([1, 2], [0, 1])


# --- the principle ------------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_no_distribution_with_the_same_expectations_has_more_entropy(seed, constraints):
    rng = np.random.default_rng(seed)
    F, q = rng.normal(size=(constraints, 7)), rng.dirichlet(np.ones(7))
    found = max_entropy(7, [(f, f @ q) for f in F])
    np.testing.assert_allclose(F @ found.probability, F @ q, atol=1e-8)
    assert found.entropy >= -(q @ np.log(q)) - 1e-9
    assert 0 <= found.entropy <= np.log(7) + 1e-12
    exponential = np.exp(found.multipliers @ F - found.log_partition)
    np.testing.assert_allclose(found.probability, exponential, atol=1e-8)


def test_a_die_with_a_known_mean():
    found = max_entropy(range(1, 7), [(lambda k: k, 4.5)])
    assert found.probability @ np.arange(1, 7) == pytest.approx(4.5)
    jaynes = [0.05435, 0.07877, 0.11416, 0.16545, 0.23977, 0.34749]
    np.testing.assert_allclose(found.probability, jaynes, atol=6e-6)


def test_constraints_at_the_edge():
    sure = max_entropy("ABC", [({"A"}, 0.0)])
    np.testing.assert_allclose(sure.probability, [0, 0.5, 0.5], atol=1e-9)
    certain = max_entropy("ABC", [({"B"}, 1.0)])
    np.testing.assert_allclose(certain.probability, [0, 1, 0], atol=1e-9)
    assert certain.entropy == pytest.approx(0, abs=1e-9)
    doubled = max_entropy("ABC", [({"A"}, 0.2), ({"A"}, 0.2)])
    np.testing.assert_allclose(doubled.probability, [0.2, 0.4, 0.4], atol=1e-8)


def test_principle_errors():
    with pytest.raises(ValueError, match="no distribution"):
        max_entropy("ABC", [({"A"}, 0.7), ({"B"}, 0.7)])
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        max_entropy("ABC", [([1, 2], 0.7)])
    with pytest.raises(ValueError, match="empty"):
        max_entropy([])

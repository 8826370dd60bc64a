"""Ridge regression, its cross-validation, the classifier and Tikhonov's method."""

import pickle

import numpy as np
import pytest
import sklearn.linear_model as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, LeaveOneOut
from sklearn.utils.estimator_checks import check_estimator

from tercet.linear_model import LinearRegression, Ridge, RidgeClassifier, RidgeCV, tikhonov

SOLVERS = ["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"]


def data(n=80, d=6, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 2.0
    Y = X @ rng.standard_normal((d, k)) + 2 * rng.standard_normal((n, k))
    return X, Y, rng.uniform(0.2, 3.0, n)


@pytest.mark.parametrize(
    "model",
    [
        Ridge(solver="svd"),
        Ridge(solver="sparse_cg"),
        Ridge(positive=True),
        Ridge(penalize_intercept=True),
        RidgeCV(cv=3),
    ],
)
def test_conformance(model):
    assert [r for r in check_estimator(model, on_fail=None) if r["status"] == "failed"] == []


@pytest.mark.parametrize("n", [80, 4])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_agree_with_scikit_learn(solver, form, n):
    X, Y, weight = (a[:n] for a in data())
    theirs = peer.Ridge(alpha=[1.0, 20.0], solver="svd").fit(X, Y, weight)
    ours = Ridge(alpha=[1.0, 20.0], solver=solver, tol=1e-11, max_iter=20_000, random_state=0).fit(
        form(X), Y, weight
    )
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.n_iter_.shape == (2,)


def test_positive_agrees_with_scikit_learn():
    X, Y, weight = data()
    ours, theirs = (R(alpha=2.0, positive=True, tol=1e-10).fit(X, Y, weight) for R in (Ridge, peer.Ridge))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert (ours.coef_ >= 0).all()
    assert (ours.coef_ == 0).any()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 8), st.integers(1, 8), st.floats(0.01, 100))
def test_closed_form_with_a_penalised_intercept(seed, n, d, alpha):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    Z = np.column_stack([X, np.ones(n)])
    expected = np.linalg.solve(Z.T @ Z + alpha * np.eye(d + 1), Z.T @ y)
    model = Ridge(alpha=alpha, penalize_intercept=True).fit(X, y)
    np.testing.assert_allclose([*model.coef_, model.intercept_], expected, atol=1e-9)


def test_is_the_maximum_of_the_posterior_under_a_gaussian_prior():
    X, Y, _ = data()
    y, sigma2, tau2 = Y[:, 0], 1.7, 0.4
    model = Ridge(alpha=sigma2 / tau2, fit_intercept=False).fit(X, y)

    def log_posterior(w):
        return -np.sum((y - X @ w) ** 2) / (2 * sigma2) - w @ w / (2 * tau2)

    top, rng = log_posterior(model.coef_), np.random.default_rng(0)
    assert all(log_posterior(model.coef_ + 1e-3 * rng.standard_normal(6)) < top for _ in range(50))


def test_without_penalty_singular_equations_go_to_svd():
    X, Y, _ = data()
    X = np.column_stack([X, X[:, 0]])
    model = Ridge(alpha=0.0).fit(X, Y)
    assert model.solver_ == "svd"
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, Y).coef_, atol=1e-8)


def test_same_bits_for_any_number_of_threads():
    X, Y, weight = data(n=20_000, d=30)
    for make in (
        lambda j: Ridge(n_jobs=j),
        lambda j: Ridge(n_jobs=j, solver="svd"),
        lambda j: RidgeCV(alphas=[0.1, 10.0], n_jobs=j),
    ):
        fits = [make(j).fit(X, Y, weight) for j in (1, 2, 7)]
        assert all(np.array_equal(fits[0].coef_, f.coef_) for f in fits)


@pytest.mark.parametrize("bad", [-1.0, [1.0, -2.0], np.nan])
def test_alpha_must_not_be_negative(bad):
    X, Y, _ = data()
    with pytest.raises(ValueError, match="parameter 'alpha' must be"):
        Ridge(alpha=bad).fit(X, Y)


def test_errors_name_what_is_wrong():
    X, Y, _ = data()
    with pytest.raises(
        ValueError, match="Number of targets and number of penalties do not correspond: 3 != 2"
    ):
        Ridge(alpha=[1, 2, 3]).fit(X, Y)
    with pytest.raises(ValueError, match="solver='svd' does not support positive fitting"):
        Ridge(positive=True, solver="svd").fit(X, Y)
    with pytest.raises(ValueError, match="'lbfgs' solver can be used only when positive=True"):
        Ridge(solver="lbfgs").fit(X, Y)
    with pytest.raises(ValueError, match=r"alphas\[0\] == 0.0, must be > 0.0"):
        RidgeCV(alphas=[0.0, 1.0]).fit(X, Y)
    with pytest.raises(ValueError, match="cv!=None and alpha_per_target=True are incompatible"):
        RidgeCV(alpha_per_target=True, cv=3).fit(X, Y)


CV_OPTIONS = [
    {},
    {"scoring": "neg_mean_absolute_error"},
    {"alpha_per_target": True},
    {"alpha_per_target": True, "scoring": "r2"},
    {"fit_intercept": False},
]


@pytest.mark.parametrize("options", CV_OPTIONS)
@pytest.mark.parametrize("n", [60, 15])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_agrees_with_scikit_learn(options, n, form, weighted):
    X, Y, weight = (a[:n] for a in data(d=20))
    weight = weight if weighted else None
    options = {"alphas": np.logspace(-3, 3, 9), "store_cv_results": True, **options}
    ours, theirs = (R(**options).fit(form(X), Y, weight) for R in (RidgeCV, peer.RidgeCV))
    np.testing.assert_array_equal(ours.alpha_, theirs.alpha_)
    np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-7)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)
    np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("mode", ["eigen", "svd"])
@pytest.mark.parametrize("n", [25, 5])
def test_closed_form_is_what_leaving_out_gives(mode, n):
    X, Y, _ = data(n=n)
    y, alphas = Y[:, 0], [0.01, 1.0, 100.0]
    model = RidgeCV(alphas=alphas, store_cv_results=True, gcv_mode=mode).fit(X, y)
    for a, alpha in enumerate(alphas):
        for train, test in LeaveOneOut().split(X):
            error = y[test] - Ridge(alpha=alpha).fit(X[train], y[train]).predict(X[test])
            assert model.cv_results_[test, a] == pytest.approx(error**2, rel=1e-6)


def test_folds_agree_with_scikit_learn():
    X, Y, weight = data()
    ours, theirs = (R(alphas=[0.0, 1.0, 50.0], cv=4).fit(X, Y, weight) for R in (RidgeCV, peer.RidgeCV))
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("classes", [2, 3])
def test_classifier_agrees_with_scikit_learn(class_weight, classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes][10:], y[y < classes][10:]
    ours, theirs = (R(class_weight=class_weight).fit(X, y) for R in (RidgeClassifier, peer.RidgeClassifier))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)  # a vector for two classes
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_classifier_with_several_labels():
    X, Y = make_multilabel_classification(100, random_state=0)
    ours, theirs = (R().fit(X, Y) for R in (RidgeClassifier, peer.RidgeClassifier))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_tikhonov_is_ridge_and_differences_make_it_smooth():
    rng = np.random.default_rng(0)
    A, F = rng.standard_normal((30, 20)), rng.standard_normal(30)
    np.testing.assert_allclose(tikhonov(A, F, 0.5), Ridge(alpha=0.5, fit_intercept=False).fit(A, F).coef_)
    L = np.diff(np.eye(20), n=2, axis=0)
    np.testing.assert_allclose(
        tikhonov(A, F, 0.5, operator=2), np.linalg.solve(A.T @ A + 0.5 * L.T @ L, A.T @ F), rtol=1e-8
    )
    np.testing.assert_allclose(tikhonov(A, F, 0.5, operator=L), tikhonov(A, F, 0.5, operator=2))
    assert np.abs(np.diff(tikhonov(A, F, 1e8, operator=1))).max() < 1e-5


def test_tikhonov_refuses_bad_input():
    for call, match in [
        (lambda: tikhonov([[1.0]], [1.0], -1), "lam must be finite and at least 0; got -1"),
        (lambda: tikhonov([[1.0]], [1.0, 2.0], 1), "as many rows as F"),
        (lambda: tikhonov([[1.0]], [1.0], 1, operator=1), "order from 0 to 0; got 1"),
        (lambda: tikhonov([[1.0]], [1.0], 1, operator=np.eye(2)), "must have 1 columns"),
    ]:
        with pytest.raises(ValueError, match=match):
            call()


@pytest.mark.parametrize("scoring", [None, "weighted"])
@pytest.mark.parametrize("cv", [GroupKFold(3), 4, None])
def test_metadata_is_routed_as_in_scikit_learn(cv, scoring):
    X, Y, weight = data()
    y, alphas = Y[:, 0], (0.1, 1.0, 10.0)
    more = {"groups": np.arange(len(y)) % 7} if isinstance(cv, GroupKFold) else {}
    with config_context(enable_metadata_routing=True):
        if scoring:
            scoring = get_scorer("neg_mean_absolute_error").set_score_request(sample_weight=True)
        ours, theirs = (
            kind(alphas, cv=cv, scoring=scoring).fit(X, y, sample_weight=weight, **more)
            for kind in (RidgeCV, peer.RidgeCV)
        )
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_)


def test_metadata_needs_routing():
    X, Y, _ = data()
    with pytest.raises(
        ValueError, match=r"RidgeCV.fit: .'groups'. .*supported if enable_metadata_routing=True"
    ):
        RidgeCV(cv=GroupKFold(3)).fit(X, Y, groups=np.arange(len(X)) % 5)


def test_passes_of_sag_before_an_interrupt_count(monkeypatch):
    X, Y, _ = data()
    steps = Ridge.steps

    def watch(step):
        if step.count == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Ridge, "steps", lambda *a, **more: steps(*a, watch=watch, **more))
    model = Ridge(solver="sag", tol=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y[:, 0])
    assert model.n_iter_ == 3
    assert model.coef_.shape == X.shape[1:]


def test_a_classifier_that_was_saved_before_several_labels_were_learned():
    model = RidgeClassifier().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    del model._multilabel
    assert pickle.loads(pickle.dumps(model)).predict([[0.0], [3.0]]).tolist() == ["a", "b"]

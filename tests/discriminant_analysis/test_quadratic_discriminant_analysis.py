"""Quadratic discriminants: the peer's numbers, the texts' equations, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.covariance import OAS
from sklearn.datasets import load_iris, make_classification
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as Peer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import check_estimator

from tercet.discriminant_analysis import QuadraticDiscriminantAnalysis, QuadraticForm

X, y = load_iris(return_X_y=True)
two = y > 0


@pytest.mark.parametrize("rows", [slice(None), two], ids=["three classes", "two classes"])
@pytest.mark.parametrize(
    "options",
    [
        {"store_covariance": True},
        {"reg_param": 0.2, "store_covariance": True},
        {"solver": "eigen", "store_covariance": True},
        {"solver": "eigen", "shrinkage": "auto", "store_covariance": True},
        {"solver": "eigen", "shrinkage": 0.4},
        {"solver": "eigen", "covariance_estimator": OAS()},
        {"priors": [0.6, 0.3, 0.1]},
    ],
)
def test_same_as_peer(rows, options):
    A, b = X[rows], y[rows]
    if "priors" in options and b.min():
        options = {"priors": [0.6, 0.4]}
    ours, peer = QuadraticDiscriminantAnalysis(**options).fit(A, b), Peer(**options).fit(A, b)
    assert_allclose(ours.means_, peer.means_)
    assert_allclose(ours.priors_, peer.priors_)
    for k in range(peer.classes_.size):
        assert_allclose(ours.scalings_[k], peer.scalings_[k], rtol=1e-9)
        assert_allclose(np.abs(ours.rotations_[k]), np.abs(peer.rotations_[k]), atol=1e-8)
        if "store_covariance" in options:
            assert_allclose(ours.covariance_[k], peer.covariance_[k], rtol=1e-9)
    assert_allclose(ours.decision_function(A), peer.decision_function(A), rtol=1e-8)
    assert_allclose(ours.predict_proba(A), peer.predict_proba(A), atol=1e-12)
    assert_allclose(ours.predict_log_proba(A), peer.predict_log_proba(A), rtol=1e-8, atol=1e-12)
    assert_array_equal(ours.predict(A), peer.predict(A))


def test_unbiased_covariance_and_distance():
    model = QuadraticDiscriminantAnalysis(ddof=1, store_covariance=True).fit(X, y)
    for k in range(3):
        C = np.cov(X[y == k].T)
        Z = X - X[y == k].mean(axis=0)
        assert_allclose(model.covariance_[k], C, rtol=1e-10)
        assert_allclose(model.mahalanobis(X)[:, k], (Z @ np.linalg.inv(C) * Z).sum(axis=1), rtol=1e-8)


def test_thresholds_of_bayes_rule_and_free_ones():
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    wanted = [2 * np.log(1 / 3) - np.linalg.slogdet(C)[1] for C in model.covariance_]
    assert_allclose(model.thresholds_, wanted)
    free = QuadraticDiscriminantAnalysis(thresholds=[1.0, 2, 3]).fit(X, y)
    assert_allclose(2 * free.decision_function(X), [1, 2, 3] - model.mahalanobis(X))
    # A higher threshold never loses its class a row.
    more = QuadraticDiscriminantAnalysis(thresholds=[1.0, 6, 3]).fit(X, y)
    assert ((more.predict(X) == 1) >= (free.predict(X) == 1)).all()


def test_class_of_no_prior_is_ruled_out():
    model = QuadraticDiscriminantAnalysis(priors=[0.0, 0.5, 0.5]).fit(X, y)
    assert (model.predict_proba(X)[:, 0] == 0).all()


def test_boundary_is_the_difference_of_two_discriminants():
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    g = 2 * model.decision_function(X)
    assert_allclose(model.boundary()(X), g[:, 0] - g[:, 1], rtol=1e-8, atol=1e-8)
    assert_allclose(model.boundary(2, 0)(X), g[:, 2] - g[:, 0], rtol=1e-8, atol=1e-8)
    with pytest.raises(ValueError, match=r"7 is not one of the classes \[0, 1, 2\]"):
        model.boundary(7, 0)


def test_general_form_from_any_linear_method():
    products = PolynomialFeatures(2, include_bias=False)
    model = LogisticRegression(max_iter=5000).fit(products.fit_transform(X[two]), y[two])
    form = QuadraticForm.from_linear(model.coef_, model.intercept_)
    assert_allclose(form(X), model.decision_function(products.transform(X)), rtol=1e-9)
    assert_array_equal(form.W, form.W.T)
    assert form.n_parameters == model.coef_.size + 1
    with pytest.raises(ValueError, match=r"d\(d\+3\)/2 entries.*got 4"):
        QuadraticForm.from_linear(np.ones(4), 0.0)


def test_units_do_not_matter():
    scale = np.array([1e-5, 1.0, 1e3, 1e6])
    plain = QuadraticDiscriminantAnalysis().fit(X, y)
    other = QuadraticDiscriminantAnalysis().fit(X * scale, y)
    assert_allclose(other.mahalanobis(X * scale), plain.mahalanobis(X), rtol=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"reg_param": 0.1, "ddof": 1}, {"solver": "eigen", "shrinkage": "auto"}]
)
def test_weight_is_repetition(options):
    times = np.random.default_rng(0).integers(0, 4, size=y.size)
    weighted = QuadraticDiscriminantAnalysis(**options).fit(X, y, times)
    repeated = QuadraticDiscriminantAnalysis(**options).fit(X.repeat(times, axis=0), y.repeat(times))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-8)


def test_threads_do_not_matter():
    A, b = make_classification(30_000, 40, n_informative=20, n_redundant=0, random_state=0)
    models = [QuadraticDiscriminantAnalysis(n_jobs=n).fit(A, b) for n in (1, 2, 7)]
    for model in models[1:]:
        assert_array_equal(model.decision_function(A), models[0].decision_function(A))


def test_float32_stays():
    model = QuadraticDiscriminantAnalysis().fit(X.astype(np.float32), y)
    scores = model.decision_function(X.astype(np.float32))
    assert {model.means_.dtype, model.rotations_[0].dtype, scores.dtype} == {np.dtype(np.float32)}
    assert_allclose(
        scores, QuadraticDiscriminantAnalysis().fit(X, y).decision_function(X), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"shrinkage": 0.1}, NotImplementedError, "shrinkage is not supported with solver='svd'"),
        ({"covariance_estimator": OAS()}, ValueError, "covariance_estimator is not supported"),
        ({"solver": "eigen", "shrinkage": 0.1, "covariance_estimator": OAS()}, ValueError, "Only one of"),
        ({"thresholds": [1, 2]}, ValueError, r"one for each of 3 classes; got \[1, 2\]"),
        ({"ddof": 50}, ValueError, "got ddof=50 and 50 in class 0"),
        ({"reg_param": -1.0}, ValueError, r"'reg_param' must be .* in \[0, 1\]"),
    ],
)
def test_errors(options, error, message):
    with pytest.raises(error, match=message):
        QuadraticDiscriminantAnalysis(**options).fit(X, y)


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({}, ", or use solver='eigen' with shrinkage"),
        ({"solver": "eigen"}, ", or raise shrinkage=0.0"),
        ({"solver": "eigen", "shrinkage": "auto"}, ""),
    ],
)
def test_a_singular_class_gets_advice_that_was_not_followed_yet(options, advice):
    point = np.where((y == 0)[:, None], X[0], X)  # all rows of class 0 in one place
    with pytest.raises(np.linalg.LinAlgError, match=rf"Raise reg_param=0.0{advice}\.$"):
        QuadraticDiscriminantAnalysis(**options).fit(point, y)


def test_singular_class_is_refused_unless_regularised():
    collinear = np.column_stack([X, X[:, 0]])
    with pytest.raises(np.linalg.LinAlgError, match=r"class 0 \(50 samples, 5 features\) is not full rank"):
        QuadraticDiscriminantAnalysis().fit(collinear, y)
    with pytest.raises(ValueError, match="y has only 1 sample in class 0"):
        QuadraticDiscriminantAnalysis().fit(X[49:], y[49:])
    assert QuadraticDiscriminantAnalysis(reg_param=0.1).fit(collinear, y).score(collinear, y) > 0.95
    assert QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X[49:], y[49:]).score(X, y) > 0.6


def test_conformance():
    results = check_estimator(QuadraticDiscriminantAnalysis(reg_param=0.1), on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


def test_conformance_without_regularisation():
    # These three fit on classes without spread, or of fewer samples than features: no Gaussian has a density there.
    singular = {
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
    }
    results = check_estimator(QuadraticDiscriminantAnalysis(), on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed.keys() <= singular
    assert all(isinstance(error, np.linalg.LinAlgError) for error in failed.values())


def test_a_failed_fit_is_no_model():
    model = QuadraticDiscriminantAnalysis()
    with pytest.raises(np.linalg.LinAlgError, match="is not full rank"):
        model.fit(np.column_stack([X, X[:, 0]]), y)
    with pytest.raises(AttributeError):
        model.predict(np.column_stack([X, X[:, 0]]))
    with pytest.raises(
        np.linalg.LinAlgError, match=r"is not full rank\. When using `solver='svd'` a class needs"
    ):
        model.fit(X[[0, 1, 2, 50, 51, 52]], y[[0, 1, 2, 50, 51, 52]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_are_those_of_the_formula_whatever_the_batch(dtype):
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X.astype(dtype), y)
    distances = model.mahalanobis(X.astype(dtype))
    assert distances.dtype == dtype
    for k, C in enumerate(model.covariance_):
        Z = X - model.means_[k]
        assert_allclose(distances[:, k], np.sum(Z @ np.linalg.inv(C) * Z, axis=1), rtol=2e-3)
    assert_array_equal(np.vstack([model.mahalanobis(x[None].astype(dtype)) for x in X[:20]]), distances[:20])
    wide = np.random.default_rng(0).normal(size=(3000, 4)).astype(dtype)  # more than one chunk
    assert_array_equal(model.mahalanobis(wide)[:7], model.mahalanobis(wide[:7]))


def test_features_of_very_different_spread():
    scale = np.logspace(-6, 6, 4)
    model, plain = (
        QuadraticDiscriminantAnalysis().fit(X * scale, y),
        QuadraticDiscriminantAnalysis().fit(X, y),
    )
    assert_allclose(model.mahalanobis(X * scale), plain.mahalanobis(X), rtol=1e-7)
    with pytest.raises(ValueError, match="squares are beyond floating point numbers"):
        QuadraticDiscriminantAnalysis().fit(X * 1e200, y)


def test_features_too_different_in_scale_are_refused():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * [1e-180, 1e75, 1e-3, 1e31]
    model = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto", reg_param=0.7)
    with pytest.raises(ValueError, match="too different in scale for floating point numbers"):
        model.fit(X, np.arange(30) % 2)

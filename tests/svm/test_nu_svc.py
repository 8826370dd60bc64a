"""NuSVC: scikit-learn's decisions, what nu bounds, bad input."""

import warnings

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from tercet.svm import SVC, NuSVC


def data(n=150, k=2):
    return make_classification(n, 5, n_informative=4, n_redundant=0, n_classes=k, flip_y=0.1, random_state=0)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    "options", [{}, {"nu": 0.77, "kernel": "linear"}, {"nu": 0.4, "gamma": "auto"}], ids=str
)
def test_decides_as_scikit_learn(k, options):
    X, y = data(k=k)
    X[:, 0] += 4 * (y == 1)  # a linear machine needs a margin
    ours, theirs = (m(tol=1e-8, **options).fit(X, y) for m in (NuSVC, sklearn.svm.NuSVC))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    np.testing.assert_allclose(
        NuSVC(tol=1e-8, **options).fit(sparse.csr_array(X), y).decision_function(sparse.csr_array(X)),
        ours.decision_function(X),
        atol=1e-5,
    )


def test_weights_as_in_scikit_learn():
    X, y = data()
    w = np.random.default_rng(0).random(len(y)) + 0.2
    ours, theirs = (m(nu=0.3, gamma=0.2, tol=1e-8).fit(X, y, w) for m in (NuSVC, sklearn.svm.NuSVC))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


def test_weight_2_is_the_row_twice():
    X, y = data(60)
    w = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = NuSVC(nu=0.3).fit(X, y, w)
    repeated = NuSVC(nu=0.3).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.6])
def test_nu_is_between_margin_errors_and_support_vectors(nu):
    X, y = data(200)
    model = NuSVC(nu=nu, tol=1e-7).fit(X, y)
    margin = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert np.mean(margin < 1 - 1e-5) <= nu + 1e-9
    assert model.n_support_.sum() / len(y) >= nu - 1e-9


def test_is_the_machine_of_some_c():
    X, y = data()
    model = NuSVC(nu=0.3, tol=1e-9).fit(X, y)
    priced = SVC(C=1 / model.rho_[0], tol=1e-7).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), priced.decision_function(X), atol=1e-4)


def test_infeasible_nu():
    X, y = data()
    few = np.flatnonzero(y == 1)[:10]
    rows = np.concatenate([np.flatnonzero(y == 0), few])
    with pytest.raises(ValueError, match=r"specified nu is infeasible: nu=0\.5 must be at most 0\.\d+"):
        NuSVC(nu=0.5).fit(X[rows], y[rows])
    assert NuSVC(nu=0.5, class_weight="balanced").fit(X[rows], y[rows]).score(X[rows], y[rows]) > 0.7
    for nu in (0, 1.5):
        with pytest.raises(ValueError, match="NuSVC: parameter 'nu' must be"):
            NuSVC(nu=nu).fit(X, y)


def test_the_greatest_nu_of_all():
    X, y = data(100)
    rows = np.concatenate([np.flatnonzero(y == k)[:40] for k in (0, 1)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = NuSVC(nu=1.0).fit(X[rows], y[rows])  # every row at its bound
    assert model.n_support_.tolist() == [40, 40]
    assert model.violation_[0] == 0
    assert np.isfinite(model.rho_[0])


@pytest.mark.parametrize("scale", [1e-20, 1e-6, 1e4])
def test_units_of_a_linear_machine_do_not_matter(scale):
    X, y = data()
    near, far = (NuSVC(nu=0.8, kernel="linear").fit(X * s, y) for s in (1.0, scale))
    np.testing.assert_allclose(far.decision_function(X * scale), near.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(
        NuSVC(nu=0.8, kernel="linear").fit(X, y, np.full(len(y), scale)).decision_function(X),
        near.decision_function(X),
        atol=1e-6,
    )


def test_nu_that_leaves_no_margin():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match=r"nu=0\.2 is too small.*no margin is left"):
        model = NuSVC(nu=0.2, kernel="linear").fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.coef_).all()


def test_probabilities():
    X, y = data(k=3)
    p = NuSVC(nu=0.3, calibration="platt").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.mean(p.argmax(axis=1) == y) > 0.8
    assert not hasattr(NuSVC(), "predict_proba")

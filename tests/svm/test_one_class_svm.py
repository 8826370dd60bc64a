"""The one-class machine: libsvm's numbers, what nu promises, scores."""

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse

from tercet.core.steps import ConvergenceWarning
from tercet.kernels import Gaussian
from tercet.svm import OneClassSVM


def cloud(n=120, seed=0):
    rng = np.random.default_rng(seed)
    return np.vstack([rng.normal(size=(n - 10, 2)), rng.uniform(-6, 6, size=(10, 2))])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "options", [{"kernel": "rbf", "gamma": 0.2}, {"kernel": "poly", "coef0": 1.0, "gamma": 0.1, "degree": 2}]
)
def test_agrees_with_libsvm(options, weighted):
    X = cloud()
    weight = np.random.default_rng(1).random(120) + 0.1 if weighted else None
    ours = OneClassSVM(nu=0.2, tol=1e-6, **options).fit(X, sample_weight=weight)
    peer = sklearn.svm.OneClassSVM(nu=0.2, tol=1e-6, **options).fit(X, sample_weight=weight)
    new = np.random.default_rng(2).normal(size=(50, 2)) * 2
    scale = abs(float(peer.offset_[0]))
    np.testing.assert_allclose(ours.decision_function(new), peer.decision_function(new), atol=1e-5 * scale)
    np.testing.assert_allclose(ours.score_samples(new), peer.score_samples(new), atol=1e-5 * scale)
    np.testing.assert_allclose(ours.offset_, peer.offset_, rtol=1e-5)
    far = np.abs(peer.decision_function(new)) > 1e-4 * scale
    np.testing.assert_array_equal(ours.predict(new)[far], peer.predict(new)[far])
    assert ours.dual_coef_.sum() == pytest.approx(0.2 * (120 if weight is None else weight.sum()))


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.7, 1.0])
def test_nu_bounds_the_outliers(nu):
    X = cloud()
    model = OneClassSVM(nu=nu, tol=1e-8).fit(X)
    outside = model.decision_function(X) < -1e-6
    assert outside.mean() <= nu
    assert model.n_support_[0] / 120 >= nu - 1e-9
    assert np.isfinite(model.offset_).all()
    np.testing.assert_allclose(model.score_samples(X) - model.offset_, model.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1))


def test_rows_on_the_border_are_inside():
    X = cloud()
    model = OneClassSVM(nu=0.3, tol=1e-8).fit(X)
    border = model.support_[(model.dual_coef_[0] > 1e-9) & (model.dual_coef_[0] < 1 - 1e-9)]
    assert border.size
    np.testing.assert_allclose(model.decision_function(X[border]), 0, atol=1e-6)
    assert (model.predict(X[border]) == 1).all()
    assert all(model.predict(X[[i]])[0] == 1 for i in border)
    assert (OneClassSVM(nu=0.3, tol=1e-8).fit_predict(X) == model.predict(X)).all()


def test_outliers_are_found():
    X = cloud()
    found = OneClassSVM(kernel=Gaussian(sigma=2.0), nu=0.1).fit(X).predict([[0, 0], [0.5, -0.5], [9, 9]])
    assert found.tolist() == [1, 1, -1]


def test_sparse_and_precomputed():
    X, K = cloud(), Gaussian(gamma=0.2)
    want = OneClassSVM(gamma=0.2, nu=0.2, tol=1e-8).fit(X).decision_function(X)
    rows = sparse.csr_array(X)
    np.testing.assert_allclose(
        OneClassSVM(gamma=0.2, nu=0.2, tol=1e-8).fit(rows).decision_function(rows), want, atol=1e-6
    )
    model = OneClassSVM(kernel="precomputed", nu=0.2, tol=1e-8).fit(K(X))
    np.testing.assert_allclose(model.decision_function(K(X)), want, atol=1e-6)


def test_weights_repeat_and_remove():
    X = cloud(60)
    weight = np.random.default_rng(0).integers(0, 3, 60)
    rows = np.repeat(np.arange(60), weight)
    weighted = OneClassSVM(nu=0.4, tol=1e-9).fit(X, sample_weight=weight)
    repeated = OneClassSVM(nu=0.4, tol=1e-9).fit(X[rows])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)
    assert (weight[weighted.support_] > 0).all()


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_scale_of_the_weights_does_not_matter(scale):
    X, weight = cloud(), np.random.default_rng(1).random(120) + 0.1
    plain = OneClassSVM(nu=0.3).fit(X, sample_weight=weight)
    model = OneClassSVM(nu=0.3).fit(X, sample_weight=scale * weight)
    assert model.fit_status_ == 0
    np.testing.assert_allclose(model.score_samples(X) / scale, plain.score_samples(X), rtol=1e-6)
    np.testing.assert_allclose(model.intercept_interval_ / scale, plain.intercept_interval_, rtol=1e-6)
    assert model.objective_ / scale**2 == pytest.approx(plain.objective_)


def test_same_bits_for_any_number_of_threads():
    X = cloud(500)
    one, three = OneClassSVM(n_jobs=1).fit(X), OneClassSVM(n_jobs=3).fit(X)
    np.testing.assert_array_equal(one.dual_coef_, three.dual_coef_)
    np.testing.assert_array_equal(one.decision_function(X), three.decision_function(X))


def test_trouble():
    X = cloud()
    with pytest.raises(ValueError, match="parameter 'nu' must be"):
        OneClassSVM(nu=0.0).fit(X)
    with pytest.warns(ConvergenceWarning, match="OneClassSVM"):
        OneClassSVM(max_iter=2, nu=0.3).fit(X)
    same = OneClassSVM().fit(np.ones((5, 2)))
    assert (same.predict(np.ones((3, 2))) == 1).all()
    model = OneClassSVM().fit(X)
    model.dual_coef_ = model.dual_coef_[:, :3]
    with pytest.raises(ValueError, match="altered"):
        model.predict(X)

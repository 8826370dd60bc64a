"""Quadratic discriminant of one class: the ellipsoid, its threshold, robustness, weights, singular covariances."""

import numpy as np
import pytest
from numpy.linalg import LinAlgError
from scipy.stats import chi2
from sklearn.covariance import EmpiricalCovariance, MinCovDet, ledoit_wolf

from tercet import Recorder
from tercet.discriminant_analysis import OneClassQuadraticDiscriminant, QuadraticDiscriminantAnalysis
from tercet.discriminant_analysis.one_class_quadratic_discriminant import (
    medians,
    nearest_part,
    threshold_of_part,
)


def cloud(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) @ np.array([[2.0, 0.3, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 0.3]]) + [
        1.0,
        -2.0,
        5.0,
    ]


def test_discriminant_is_the_threshold_less_the_distance():
    X = cloud()
    model = OneClassQuadraticDiscriminant(threshold=7.0).fit(X)
    m, S = X.mean(axis=0), np.cov(X, rowvar=False)
    np.testing.assert_allclose(model.location_, m, rtol=1e-10)
    np.testing.assert_allclose(model.covariance_, S, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.precision_, np.linalg.inv(S), rtol=1e-8, atol=1e-10)
    Q = cloud(50, seed=1) * 1.5
    g = 7.0 - np.einsum("ij,jk,ik->i", Q - m, np.linalg.inv(S), Q - m)
    np.testing.assert_allclose(model.decision_function(Q), g, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.boundary()(Q), g, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(model.score_samples(Q) - model.offset_, model.decision_function(Q))
    np.testing.assert_array_equal(model.predict(Q), np.where(g >= 0, 1, -1))
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))
    assert model.boundary().n_parameters == 3 * 6 // 2 + 1


def test_agrees_with_the_quadratic_discriminant_of_two_classes():
    X, Z = cloud(), cloud(seed=5) + 4.0
    both = QuadraticDiscriminantAnalysis(ddof=1).fit(np.vstack([X, Z]), np.repeat([0, 1], 200))
    one = OneClassQuadraticDiscriminant().fit(X)
    np.testing.assert_allclose(one.mahalanobis(Z), both.mahalanobis(Z)[:, 0], rtol=1e-9)


def test_agrees_with_the_peer():
    X = cloud()
    ours = OneClassQuadraticDiscriminant(ddof=0, contamination=0.1).fit(X)
    peer = EmpiricalCovariance().fit(X)
    distances = peer.mahalanobis(X)
    np.testing.assert_allclose(ours.location_, peer.location_, rtol=1e-10)
    np.testing.assert_allclose(ours.mahalanobis(X), distances, rtol=1e-8)
    np.testing.assert_array_equal(ours.predict(X) == -1, distances > np.quantile(distances, 0.9))


def test_threshold_by_contamination():
    X = cloud()
    for part in (0.001, 0.05, 0.1, 0.5):
        model = OneClassQuadraticDiscriminant(contamination=part).fit(X)
        assert (model.predict(X) == -1).sum() == int(part * 200)
    assert threshold_of_part(np.array([1.0, 2.0, 3.0, 4.0]), None, 0.25) == 3.5
    assert threshold_of_part(np.array([1.0, 2.0, 3.0, 4.0]), None, 0.2) == 4.0
    assert threshold_of_part(np.array([1.0, 4.0, 4.0, 4.0]), None, 0.5) == 4.0
    assert threshold_of_part(np.array([1.0, 2.0]), np.array([3.0, 1.0]), 0.25) == 1.5


def test_threshold_by_the_chi_squared_distribution():
    X = cloud(4000)
    model = OneClassQuadraticDiscriminant("chi2", level=0.9).fit(X)
    assert model.threshold_ == pytest.approx(chi2.ppf(0.9, 3))
    assert (model.predict(X) == 1).mean() == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("support_fraction", [None, 0.75])
def test_a_weight_of_two_is_a_repeated_row(support_fraction):
    X, Q = cloud(60), cloud(20, seed=1)
    weight = np.random.default_rng(0).integers(0, 3, size=60)
    options = {"support_fraction": support_fraction, "contamination": 0.2}
    model = OneClassQuadraticDiscriminant(**options).fit(X, sample_weight=weight)
    again = OneClassQuadraticDiscriminant(**options).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(again.covariance_, model.covariance_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(again.decision_function(Q), model.decision_function(Q), rtol=1e-7, atol=1e-7)


def test_concentration_steps_never_raise_the_determinant():
    X = np.random.default_rng(2).standard_t(3, size=(400, 3))
    X[:80] += [4.0, 0.0, -3.0]
    model = OneClassQuadraticDiscriminant(support_fraction=0.6).fit(X)
    log_det = model.history_["log_det"]
    assert model.n_iter_ == len(log_det) > 1
    assert (np.diff(log_det) <= 1e-9).all()


@pytest.mark.parametrize("threshold", ["contamination", "chi2", 4.0])
def test_each_concentration_step_is_a_model_that_predicts(threshold):
    X = np.random.default_rng(2).standard_t(3, size=(400, 3))
    X[:80] += [4.0, 0.0, -3.0]
    recorder = Recorder()
    model = OneClassQuadraticDiscriminant(threshold, support_fraction=0.6).set_callbacks(recorder).fit(X)
    assert len(recorder.frames) == model.n_iter_ > 1
    for frame in recorder.frames:
        assert set(frame.estimator.predict(X)) == {-1, 1}
    last = recorder.frames[-1].estimator
    assert np.array_equal(last.decision_function(X), model.decision_function(X))


def test_robust_estimates_find_outliers_that_inflate_the_covariance():
    X = cloud()
    X[:50] += [30.0, 0.0, -20.0]
    model = OneClassQuadraticDiscriminant("chi2", support_fraction=0.6).fit(X)
    assert (model.predict(X[:50]) == -1).all()
    assert (model.predict(X[50:]) == 1).mean() > 0.9
    plain = OneClassQuadraticDiscriminant("chi2").fit(X)
    assert (plain.predict(X[:50]) == -1).mean() < 0.5
    np.testing.assert_allclose(model.precision_ @ model.covariance_, np.eye(3), atol=1e-8)


def test_robust_covariance_is_that_of_the_peer():
    X = cloud()
    X[:30] += 25.0
    model = OneClassQuadraticDiscriminant(support_fraction=0.75, ddof=0).fit(X)
    peer = MinCovDet(support_fraction=0.75, random_state=0).fit(X)
    np.testing.assert_allclose(model.location_, peer.raw_location_, atol=0.1)
    ratio = np.linalg.det(model.covariance_) / np.linalg.det(peer.raw_covariance_)
    assert 0.5 < ratio ** (1 / 3) < 2.0


def test_outliers_that_no_feature_shows():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    X = (rng.normal(size=(300, 4)) * [3.0, 1.0, 0.5, 0.05]) @ turn
    X[:40] = 0.1 * X[:40] + 0.8 * turn[3]  # 16 deviations along the last axis
    model = OneClassQuadraticDiscriminant("chi2", support_fraction=0.6).fit(X)
    assert (model.predict(X[:40]) == -1).all()
    assert (model.predict(X[40:]) == 1).mean() > 0.9


def test_medians_count_weights_as_repeated_rows():
    X, weight = cloud(31), np.random.default_rng(0).integers(1, 5, size=31)
    repeated = np.sort(np.repeat(X, weight, axis=0), axis=0)
    np.testing.assert_array_equal(medians(X, weight.astype(float)), repeated[(len(repeated) - 1) // 2])
    np.testing.assert_array_equal(medians(X, np.full(31, 0.1)), np.median(X, axis=0))


def test_nearest_part_cuts_the_last_row():
    kept = nearest_part(np.array([4.0, 1.0, 2.0, 3.0]), np.array([1.0, 2.0, 1.0, 4.0]), 0.5)
    assert kept.tolist() == [0.0, 2.0, 1.0, 1.0]
    assert nearest_part(np.arange(3.0), np.ones(3), 1.0).tolist() == [1.0, 1.0, 1.0]


def test_singular_covariances():
    X = np.column_stack([cloud(), cloud()[:, 0] * 2])
    with pytest.raises(LinAlgError, match=r"not full rank. Use shrinkage='auto', or raise reg_param=0.0"):
        OneClassQuadraticDiscriminant().fit(X)
    few = cloud(3)[:, :3]
    with pytest.raises(LinAlgError, match="3 samples with 3 features"):
        OneClassQuadraticDiscriminant().fit(few)
    model = OneClassQuadraticDiscriminant(shrinkage="auto", ddof=0).fit(few)
    np.testing.assert_allclose(np.trace(model.covariance_), np.trace(ledoit_wolf(few)[0]), rtol=1e-6)
    ridge = OneClassQuadraticDiscriminant(reg_param=0.5).fit(few)
    np.testing.assert_allclose(
        ridge.covariance_, 0.5 * np.cov(few, rowvar=False) + 0.5 * np.eye(3), rtol=1e-9
    )


def test_bad_parameters_and_single_precision():
    X = cloud()
    with pytest.raises(
        ValueError, match=r"parameter 'contamination' must be a number in \(0, 0.5\]; got 0.7"
    ):
        OneClassQuadraticDiscriminant(contamination=0.7).fit(X)
    with pytest.raises(
        ValueError, match="ddof must be less than the number of samples; got ddof=1 and 1 sample"
    ):
        OneClassQuadraticDiscriminant().fit(X[:1])
    model = OneClassQuadraticDiscriminant().fit(X.astype(np.float32))
    assert model.covariance_.dtype == np.float32
    np.testing.assert_allclose(model.covariance_, np.cov(X, rowvar=False), rtol=1e-4, atol=1e-4)

"""The KKT report: what it says at the optimum, away from it, and of fitted machines."""

import numpy as np
import pytest
from scipy import optimize

from tercet.core.steps import ConvergenceWarning
from tercet.kernels import Gaussian
from tercet.optimize import Lagrangian
from tercet.svm import (
    SVC,
    SVR,
    CentralSVC,
    LinearSVC,
    NuSVR,
    OneClassSVM,
    kkt_conditions,
    kkt_report,
    svm_dual,
)
from tercet.svm.kkt import kkt_residuals, maximal_violating_pair

X, Y = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]]), np.array([1.0, 1.0, -1.0])


def cloud(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, "yes", "no")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", Gaussian(sigma=2.0)])
def test_a_fitted_classifier(kernel, loss):
    X, y = cloud()
    weight = np.random.default_rng(1).random(80)
    model = SVC(kernel=kernel, loss=loss, C=2.0, class_weight={"yes": 2.0}, tol=1e-8).fit(X, y, weight)
    report = kkt_report(model, X, y, weight, tol=1e-6)
    assert report.holds
    assert report.worst < 1e-6
    assert 0 <= report.gap + 1e-9 < 1e-5 * report.primal_value
    assert report.dual_value == pytest.approx(-model.objective_[0])
    np.testing.assert_allclose(report.alpha, model.alpha_)
    assert not kkt_report(model, X, y, tol=1e-6).holds  # other weights, another problem


def test_a_coarse_fit_is_found_out():
    X, y = cloud()
    with pytest.warns(ConvergenceWarning):
        model = SVC(C=100.0, max_iter=20).fit(X, y)
    report = kkt_report(model, X, y)
    assert not report.holds
    assert report.violation > 1e-3
    assert report.gap > 1


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_fitted_regression(kernel):
    X, _ = cloud()
    y = X[:, 0] + np.sin(X[:, 1])
    weight = np.random.default_rng(1).random(80)
    model = SVR(kernel=kernel, C=2.0, epsilon=0.2, tol=1e-8).fit(X, y, weight)
    report = kkt_report(model, X, y, weight, tol=1e-6)
    assert report.holds
    assert abs(report.gap) < 1e-5 * report.primal_value
    error = np.abs(y - model.predict(X)) - 0.2
    np.testing.assert_allclose(report.slack[:80] + report.slack[80:], np.maximum(error, 0), atol=1e-9)


def test_sparse_and_precomputed():
    from scipy import sparse

    X, y = cloud()
    plain = kkt_report(SVC(kernel="linear", tol=1e-8).fit(X, y), X, y)
    rows = sparse.csr_array(X)
    for kernel, data in (("linear", rows), ("precomputed", X @ X.T)):
        report = kkt_report(SVC(kernel=kernel, tol=1e-8).fit(data, y), data, y)
        assert report.holds
        assert report.primal_value == pytest.approx(plain.primal_value, rel=1e-6)


def test_any_feasible_pair_bounds_the_optimum():
    X, y = cloud()
    K, side = X @ X.T, np.where(y == "yes", 1.0, -1.0)
    best = svm_dual(K, side, 1.0)
    rng = np.random.default_rng(2)
    for _ in range(20):
        alpha = rng.random(80)
        alpha[side > 0] *= alpha[side < 0].sum() / alpha[side > 0].sum()
        alpha /= max(1.0, alpha.max())
        report = kkt_conditions(K, side, alpha, rng.normal(), 1.0)
        assert report.stationarity < 1e-9
        assert report.dual_value <= best.dual + 1e-9 <= report.primal_value + 2e-9


def test_parts_of_the_report():
    K = X @ X.T
    wrong_b = kkt_conditions(K, Y, [0.25, 0, 0.25], -1.5, 10.0)
    assert not wrong_b.holds
    assert wrong_b.violation == 0  # some other b is right
    np.testing.assert_allclose(wrong_b.misses, [0.5, 0, 0.5])
    np.testing.assert_allclose(wrong_b.slackness, [0, 0, 4.875])
    np.testing.assert_allclose(wrong_b.complementarity, [0.125, 0, 0])
    outside = kkt_conditions(K, Y, [0.3, 0, 0.25], -2.0, 0.28)
    np.testing.assert_allclose(outside.dual, [0.02, 0, 0])
    assert outside.stationarity == pytest.approx(0.05)
    hard = kkt_conditions(K, Y, [0.25, 0, 0.25], -2.0)
    assert (hard.primal_value, hard.dual_value, hard.worst) == (0.25, 0.25, 0.0)


def test_misses_read_the_three_conditions():
    E, sign = np.array([0.2, -0.2, 0.2, -0.2, 0.2, -0.2]), np.array([1.0, 1, 1, 1, -1, -1])
    alpha = np.array([0, 0, 1, 1, 0.5, 0])
    np.testing.assert_allclose(kkt_residuals(E, sign, alpha, np.ones(6)), [0, 0.2, 0.2, 0, 0.2, 0])


def test_extremes_are_a_pair_that_can_move():
    E, sign = np.array([1.0, -2.0, 3.0, -4.0]), np.array([1.0, 1, -1, -1])
    alpha = np.array([0.5, 1.0, 0.0, 1.0])
    # sign alpha may rise for 0 and 3, and fall for 0, 1 and 2
    assert maximal_violating_pair(E, sign, alpha, np.ones(4)) == (3, 2, 4.0, -3.0)


def test_the_dual_by_coordinate_ascent_for_comparison():
    # One multiplier at a time cannot move under y.alpha = 0; without b there is no such constraint, and it can.
    K = np.array([[18.0, 21, 6], [21, 25, 7], [6, 7, 2]])
    Q = np.outer(Y, Y) * K
    alpha = np.zeros(3)
    values = [0.0]
    for _ in range(2000):
        for i in range(3):
            alpha[i] = np.clip(alpha[i] + (1 - Q[i] @ alpha) / Q[i, i], 0, 10.0)
        values.append(alpha @ Q @ alpha / 2 - alpha.sum())
    assert (np.diff(values) <= 1e-12).all()
    bound = optimize.Bounds(0, 10.0)
    peer = optimize.minimize(
        lambda a: a @ Q @ a / 2 - a.sum(),
        np.ones(3),
        jac=lambda a: Q @ a - 1,
        bounds=bound,
        method="L-BFGS-B",
    )
    assert values[-1] == pytest.approx(peer.fun, abs=1e-6)
    assert abs(alpha @ Y) > 0.1


def test_general_kkt_conditions_say_the_same():
    w, b, alpha = np.array([0.5, 0.5]), -2.0, np.array([0.25, 0.0, 0.25])
    constraints = [lambda v, x=x, y=y: 1 - y * (v[:2] @ x + v[2]) for x, y in zip(X, Y)]
    machine = Lagrangian(lambda v: v[:2] @ v[:2] / 2, constraints)
    assert machine.kkt([*w, b], alpha).holds(1e-5)
    assert not machine.kkt([*w, b + 0.1], alpha).holds(1e-5)


def test_other_models_are_refused():
    X, y = cloud()
    with pytest.raises(ValueError, match="two classes or an SVR"):
        kkt_report(OneClassSVM().fit(X), X, y)
    for other in (NuSVR().fit(X, X[:, 0]), LinearSVC().fit(X, y), CentralSVC().fit(X, y)):
        with pytest.raises(ValueError, match=rf"an SVR; got {type(other).__name__}"):
            kkt_report(other, X, y)
    three = np.arange(80) % 3
    with pytest.raises(ValueError, match="two classes or an SVR"):
        kkt_report(SVC().fit(X, three), X, three)
    with pytest.raises(ValueError, match="y has the shape"):
        kkt_report(SVC().fit(X, y), X, y[:5])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [2.0, np.inf])
def test_rows_of_no_weight_and_no_slack(C, loss):
    X, y = cloud()
    X = X + np.where(y == "yes", 2.0, -2.0)[:, None]
    weight = np.where(np.arange(80) % 3, 1.0, 0.0)
    model = SVC(kernel="linear", C=C, loss=loss, tol=1e-8).fit(X, y, weight)
    report = kkt_report(model, X, y, weight, tol=1e-6)
    assert report.holds
    assert report.primal_value == pytest.approx(report.dual_value)
    assert (report.alpha[weight == 0] == 0).all()


def test_other_data_are_refused():
    X, y = cloud()
    model = SVC().fit(X, y)
    with pytest.raises(
        ValueError, match=r"labels that the model was not fitted to: \['maybe'\].*'no', 'yes'"
    ):
        kkt_report(model, X, np.where(np.arange(80) == 3, "maybe", y))
    with pytest.raises(ValueError, match="X has 10 rows; the model was fitted to 80"):
        kkt_report(model, X[:10], y[:10])
    with pytest.raises(ValueError, match="y contains NaN"):
        kkt_report(SVR().fit(X, X[:, 0]), X, np.full(80, np.nan))

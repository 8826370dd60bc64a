"""Lasso and elastic net at their limits: penalties near 0, values near the largest number, starts set by hand."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model as peer
from sklearn.datasets import make_regression
from sklearn.exceptions import ConvergenceWarning

from tercet.linear_model import ElasticNet, Lasso, LassoCV, enet_path
from tercet.optimize import LeastSquares, coordinate_descent, elastic_net_duality_gap


@pytest.fixture(autouse=True)
def no_raw_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def ill_conditioned():
    return make_regression(300, 100, effective_rank=10, n_informative=50, random_state=0)


@pytest.mark.parametrize("alpha", [1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("precompute", [False, True])
def test_without_l1_it_is_ridge(alpha, precompute):
    X, y = ill_conditioned()
    model = ElasticNet(alpha=alpha, l1_ratio=0, tol=1e-16, precompute=precompute).fit(X, y)
    reference = peer.Ridge(alpha=alpha * len(y), solver="svd").fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-6, atol=1e-8)
    assert model.dual_gap_ <= 1e-16 * np.var(y)


def test_the_gap_bounds_the_distance_to_the_minimum_when_the_penalty_is_tiny():
    X, y = ill_conditioned()
    problem, l2 = LeastSquares(X, y), 1e-9
    problem.add_columns(np.arange(100))
    reference = peer.Ridge(alpha=l2 * len(y), solver="svd").fit(X, y).coef_
    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-3, 1e-5):
        w = reference + size * rng.normal(size=100)
        gap, _ = elastic_net_duality_gap(w, *problem.residual_correlations(w, from_data=True), 0.0, l2)
        off = w - reference
        excess = off @ (problem.gram @ off + l2 * off) / 2
        assert gap >= 0.99 * excess > 0


@pytest.mark.parametrize("alpha", [1e-12, 1e-9, 0.0])
def test_lasso_with_hardly_a_penalty_is_least_squares(alpha):
    X, y = ill_conditioned()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = Lasso(alpha=alpha, tol=1e-14).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.LinearRegression(tol=1e-15).fit(X, y).coef_, atol=1e-4)


def test_one_sweep_is_not_convergence():
    X, y = ill_conditioned()
    with pytest.warns(ConvergenceWarning, match="Objective did not converge. You might want to increase"):
        ElasticNet(alpha=1e-9, l1_ratio=0, tol=1e-12, max_iter=1).fit(X, y)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("x", "y"), [(2.0**1000, 1.0), (1.0, 2.0**990), (2.0**900, 2.0**900), (1.0, 2.0**-600)]
)
def test_huge_and_tiny_values_scale(make, x, y):
    """The solution for x X and y Y at the strengths that scale with them is y / x times that for X and Y."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 5)), rng.normal(size=40) + 1
    l1, l2 = 0.1, 0.05
    plain = coordinate_descent(LeastSquares(make(X), Y), l1=l1, l2=l2, tol=1e-12)
    if x * y * l1 > 1e300 or l2 * x * x > 1e300:
        strengths = {"l1": 0.0, "l2": 0.0}
        plain = coordinate_descent(LeastSquares(make(X), Y), **strengths, tol=1e-12)
    else:
        strengths = {"l1": l1 * x * y, "l2": l2 * x * x}
    scaled = coordinate_descent(LeastSquares(make(X * x), Y * y), **strengths, tol=1e-12)
    np.testing.assert_allclose(scaled.x * (x / y), plain.x, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scaled.intercept / y, plain.intercept, rtol=1e-9)


@pytest.mark.parametrize("kind", [ElasticNet, Lasso])
def test_features_near_the_largest_number(kind):
    rng = np.random.default_rng(0)
    X = np.finfo(float).max * rng.uniform(size=(10, 2))
    model = kind(alpha=0.1).fit(X, rng.integers(0, 2, 10))
    assert np.isfinite(model.coef_).all()
    reference = peer.LinearRegression().fit(X / np.finfo(float).max, rng.integers(0, 2, 10))
    assert np.abs(model.coef_ * np.finfo(float).max).max() < 10 * (1 + np.abs(reference.coef_).max())


def test_what_no_number_can_say_is_refused():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    with pytest.raises(ValueError, match="beyond the largest floating point number"):
        Lasso(alpha=0.0).fit(X * 1e-200, y * 1e200)
    with pytest.raises(ValueError, match="too small beside an L2 penalty"):
        ElasticNet().fit(X * 1e-200, y * 1e300)
    with pytest.raises(ValueError, match="too different in scale"):
        Lasso().fit(X * [1e300, 1.0, 1.0], y)
    with pytest.raises(ValueError, match=r"LassoCV: y holds numbers up to .* Scale the targets"):
        LassoCV().fit(X * 1e200, y * 1e200)
    with pytest.raises(ValueError, match="Scale X or y"):
        LassoCV().fit(X * 1e300, y * 1e130)
    with pytest.raises(ValueError, match="use solver='cd'"):
        Lasso(solver="fista").fit(X * 1e200, y)
    with pytest.raises(ValueError, match="With several targets"):
        enet_path(X * 1e200, np.column_stack([y, y]), alphas=[1.0])


def test_cross_validation_with_huge_targets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, 2.0, 0.0] + 0.1 * rng.normal(size=40)
    plain, huge = LassoCV(alphas=5, cv=3).fit(X, y), LassoCV(alphas=5, cv=3).fit(X, y * 2.0**400)
    assert huge.alpha_ / 2.0**400 == pytest.approx(plain.alpha_)
    np.testing.assert_allclose(huge.coef_ / 2.0**400, plain.coef_)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_warm_start_from_coefficients_set_by_hand(fit_intercept):
    X, y = make_regression(60, 5, noise=1.0, random_state=0)
    cold = Lasso(0.5, fit_intercept=fit_intercept, tol=1e-12).fit(X, y)
    model = Lasso(0.5, fit_intercept=fit_intercept, tol=1e-12, warm_start=True)
    model.coef_ = np.array([1, 1, 1, 1, 1000])
    np.testing.assert_allclose(model.fit(X, y).coef_, cold.coef_, rtol=1e-9, atol=1e-12)
    model.coef_ = np.zeros(7)  # of other data
    np.testing.assert_allclose(model.fit(X, y).coef_, cold.coef_, rtol=1e-9, atol=1e-12)
    model.coef_ = np.full(5, np.nan)
    with pytest.raises(ValueError, match="needs a finite coef_"):
        model.fit(X, y)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("columns", [1, 2])
def test_targets_in_columns(fit_intercept, columns):
    X, Y = make_regression(50, 4, n_targets=2, noise=1.0, bias=3.0, random_state=0)
    Y = Y[:, :columns]
    ours, theirs = (
        kind(0.3, fit_intercept=fit_intercept, tol=1e-10).fit(X, Y) for kind in (Lasso, peer.Lasso)
    )
    for name in ("coef_", "intercept_", "dual_gap_", "n_iter_"):
        assert np.shape(getattr(ours, name)) == np.shape(getattr(theirs, name)), name
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)

"""Generalised linear models, against statsmodels and scikit-learn."""

import warnings

import numpy as np
import pytest
import sklearn.linear_model as peer
import statsmodels.api as sm
from scipy import optimize as scipy_optimize
from scipy import sparse
from sklearn.utils.estimator_checks import check_estimator

from tercet.core.steps import ConvergenceWarning
from tercet.linear_model import (
    GammaRegressor,
    GeneralizedLinearRegressor,
    LinearRegression,
    Link,
    PoissonRegressor,
    TweedieRegressor,
)
from tercet.linear_model.generalized.deviance_objective import DevianceObjective, newton_step
from tercet.linear_model.generalized.exponential_family import FAMILIES
from tercet.linear_model.generalized.link import LINKS
from tercet.optimize import minimize

L = sm.families.links
PEERS = {
    "identity": L.Identity,
    "log": L.Log,
    "logit": L.Logit,
    "probit": L.Probit,
    "cloglog": L.CLogLog,
    "reciprocal": L.InversePower,
    "inverse-squared": L.InverseSquared,
    "sqrt": L.Sqrt,
}
CASES = [
    ("gaussian", "identity", sm.families.Gaussian),
    ("gaussian", "log", sm.families.Gaussian),
    ("bernoulli", "logit", sm.families.Binomial),
    ("bernoulli", "probit", sm.families.Binomial),
    ("bernoulli", "cloglog", sm.families.Binomial),
    ("poisson", "log", sm.families.Poisson),
    ("poisson", "sqrt", sm.families.Poisson),
    ("poisson", "identity", sm.families.Poisson),
    ("gamma", "reciprocal", sm.families.Gamma),
    ("gamma", "log", sm.families.Gamma),
    ("exponential", "log", sm.families.Gamma),
    ("inverse-gaussian", "inverse-squared", sm.families.InverseGaussian),
    ("inverse-gaussian", "log", sm.families.InverseGaussian),
]


def data(family, n=150):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (n, 3))
    mean = np.exp(X @ [0.8, 0.1, 0.4] + 0.3)
    y = {
        "gaussian": mean + 0.2 * rng.standard_normal(n),
        "bernoulli": (rng.uniform(size=n) < mean / (1 + mean)).astype(float),
        "poisson": rng.poisson(mean).astype(float),
        "gamma": rng.gamma(3.0, mean / 3.0),
        "exponential": rng.exponential(mean),
        "inverse-gaussian": rng.wald(mean, 6.0),
    }[family]
    return X, y, rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize(
    "model",
    [
        GeneralizedLinearRegressor(family="poisson", alpha=0.01, solver="lbfgs"),
        GeneralizedLinearRegressor(strategy="least_squares"),
        PoissonRegressor(solver="newton-cholesky"),
        TweedieRegressor(power=1.5),
    ],
)
def test_conformance(model):
    assert [r for r in check_estimator(model, on_fail=None) if r["status"] == "failed"] == []


@pytest.mark.parametrize(("family", "link", "other"), CASES)
@pytest.mark.parametrize("solver", ["irls", "lbfgs"])
def test_agrees_with_statsmodels(family, link, other, solver):
    X, y, weight = data(family)
    tol = 1e-10 if solver == "irls" else 1e-8
    ours = GeneralizedLinearRegressor(family=family, link=link, solver=solver, tol=tol, max_iter=500)
    ours.fit(X, y, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.GLM(y, sm.add_constant(X), family=other(PEERS[link]()), freq_weights=weight)
        # theirs does not shorten steps that leave the domain; with this link it has to start close by
        start = [ours.intercept_, *ours.coef_ * 1.01] if link == "inverse-squared" else None
        theirs = model.fit(start_params=start, tol=1e-14, maxiter=500)
    np.testing.assert_allclose([ours.intercept_, *ours.coef_], theirs.params, rtol=1e-5, atol=1e-6)
    assert ours.deviance(X, y, weight) == pytest.approx(theirs.deviance, rel=1e-8)
    assert ours.score(X, y, weight) == pytest.approx(1 - theirs.deviance / theirs.null_deviance, rel=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_canonical_link_is_the_default(family):
    X, y, _ = data(family)
    default = GeneralizedLinearRegressor(family=family).fit(X, y)
    named = GeneralizedLinearRegressor(family=family, link=FAMILIES[family].canonical).fit(X, y)
    np.testing.assert_array_equal(default.coef_, named.coef_)


def test_gaussian_with_identity_is_least_squares():
    X, y, weight = data("gaussian")
    ours, other = GeneralizedLinearRegressor().fit(X, y, weight), LinearRegression().fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-9)
    assert ours.score(X, y, weight) == pytest.approx(other.score(X, y, weight))


def test_bernoulli_is_logistic_regression():
    X, y, _ = data("bernoulli")
    ours = GeneralizedLinearRegressor(family="bernoulli", alpha=0.02).fit(X, y)
    theirs = peer.LogisticRegression(C=1 / (0.02 * len(y)), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_[0], rtol=1e-4)
    np.testing.assert_allclose(ours.predict(X), theirs.predict_proba(X)[:, 1], rtol=1e-4)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    ("ours", "theirs", "family", "options"),
    [
        (PoissonRegressor, peer.PoissonRegressor, "poisson", {}),
        (GammaRegressor, peer.GammaRegressor, "gamma", {}),
        (TweedieRegressor, peer.TweedieRegressor, "poisson", {"power": 1.5}),
        (TweedieRegressor, peer.TweedieRegressor, "poisson", {"power": 0.5}),
        (TweedieRegressor, peer.TweedieRegressor, "gaussian", {"power": 0}),
        (TweedieRegressor, peer.TweedieRegressor, "gamma", {"power": 2.0, "link": "log"}),
    ],
)
def test_agrees_with_scikit_learn(ours, theirs, family, options, solver, fit_intercept):
    X, y, weight = data(family)
    options = {
        "alpha": 0.1,
        "solver": solver,
        "tol": 1e-9,
        "max_iter": 500,
        "fit_intercept": fit_intercept,
    } | options
    a, b = ours(**options).fit(X, y, weight), theirs(**options).fit(X, y, weight)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-5)
    assert a.score(X, y, weight) == pytest.approx(b.score(X, y, weight), rel=1e-6)
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-5)


@pytest.mark.parametrize(("family", "link", "_"), CASES)
def test_objective_has_the_right_derivatives(family, link, _):
    X, y, weight = data(family, n=20)
    canonical = FAMILIES[family].canonical == link
    F = DevianceObjective(X, y, weight, FAMILIES[family], LINKS[link], canonical=canonical, alpha=0.3)
    theta = F.null_model() + 0.02
    slopes = scipy_optimize.approx_fprime(theta, F.value, 1e-7)
    np.testing.assert_allclose(F.gradient(theta), slopes, rtol=1e-4, atol=1e-5)
    if canonical:  # expected and actual curvature are then the same
        bends = scipy_optimize.approx_fprime(theta, F.gradient, 1e-7)
        np.testing.assert_allclose(F.hessian(theta), bends, rtol=1e-4, atol=1e-5)


def test_newton_steps_of_singular_information_have_the_least_norm():
    """By rounding, the Cholesky factorisation of a singular matrix may be one of a regular matrix."""
    near = 1.0 + np.finfo(float).eps
    step = newton_step(np.array([[1.0, 1.0], [1.0, near]]), np.array([1.0, near]))
    np.testing.assert_allclose(step, [-0.5, -0.5])
    np.testing.assert_allclose(newton_step(np.diag([1e-20, 1e20]), np.array([1e-20, 1e20])), [-1.0, -1.0])


@pytest.mark.parametrize("name", LINKS)
def test_links_invert_and_differentiate(name):
    link, mean = LINKS[name], np.linspace(0.05, 0.95, 19)
    z = link.function(mean)
    np.testing.assert_allclose(link.inverse(z), mean, rtol=1e-10)
    np.testing.assert_allclose(link.derivative(z), Link(link.function, link.inverse).derivative(z), rtol=1e-6)


def test_any_monotone_link():
    X, y, _ = data("gamma")
    own = Link(np.log, np.exp)  # its slope by differences
    ours = GeneralizedLinearRegressor(family="gamma", link=own, tol=1e-7).fit(X, y)
    named = GeneralizedLinearRegressor(family="gamma", link="log").fit(X, y)
    np.testing.assert_allclose(ours.coef_, named.coef_, rtol=1e-5)


@pytest.mark.parametrize("link", ["log", "sqrt", "reciprocal"])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_least_squares_on_the_link(link, alpha):
    X, y, weight = data("gamma")
    options = {"family": "gamma", "link": link, "alpha": alpha, "strategy": "least_squares"}
    ours = GeneralizedLinearRegressor(**options).fit(X, y, weight)
    other = peer.Ridge(alpha=alpha * weight.sum(), solver="svd").fit(X, LINKS[link].function(y), weight)
    np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-7)
    np.testing.assert_allclose(ours.predict(X), LINKS[link].inverse(other.predict(X)), rtol=1e-7)


def test_sparse_data_and_threads():
    X, y, weight = data("poisson")
    X, y, weight = np.tile(X, (300, 5)), np.tile(y, 300), np.tile(weight, 300)
    X[:, 3:] = np.random.default_rng(1).uniform(size=(len(X), 12)) < 0.3
    fits = [PoissonRegressor(solver="newton-cholesky", n_jobs=j).fit(X, y, weight) for j in (1, 2, 7)]
    assert all(np.array_equal(fits[0].coef_, f.coef_) for f in fits)
    thin = PoissonRegressor(solver="newton-cholesky").fit(sparse.csr_array(X), y, weight)
    np.testing.assert_allclose(thin.coef_, fits[0].coef_, rtol=1e-8)


def test_warm_start_goes_on_where_the_last_fit_ended():
    X, y, _ = data("poisson")
    model = PoissonRegressor(solver="newton-cholesky", tol=1e-8, warm_start=True)
    first, again = model.fit(X, y).n_iter_, model.fit(X, y).n_iter_
    assert again < first


def test_verbose_prints_every_pass(capsys):
    X, y, _ = data("poisson")
    model = PoissonRegressor(solver="newton-cholesky", verbose=1).fit(X, y)
    assert capsys.readouterr().out.count("PoissonRegressor pass") == model.n_iter_


def test_separable_classes_have_no_maximum():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    with pytest.warns(ConvergenceWarning, match="Raise max_iter or alpha"):
        GeneralizedLinearRegressor(family="bernoulli", max_iter=15).fit(X, y)
    model = GeneralizedLinearRegressor(family="bernoulli", alpha=0.1).fit(X, y)
    assert np.all(np.isfinite(model.coef_))


@pytest.mark.parametrize(
    ("family", "y", "match"),
    [
        ("bernoulli", [0, 2], r"y must lie in \[0, 1\]; got 2"),
        ("poisson", [-1, 2], "y must be at least 0; got -1"),
        ("gamma", [0, 2], "y must be above 0; got 0"),
    ],
)
def test_targets_outside_of_the_family(family, y, match):
    with pytest.raises(ValueError, match=match):
        GeneralizedLinearRegressor(family=family).fit([[1], [2]], y)


def test_other_errors():
    with pytest.raises(ValueError, match=r"needs a finite g\(y\); y=0.0 has none under link='log'"):
        GeneralizedLinearRegressor(family="poisson", link="log", strategy="least_squares").fit(
            [[1], [2]], [0, 2]
        )
    with pytest.raises(ValueError, match="set fit_intercept=True"):
        GeneralizedLinearRegressor(family="gamma", fit_intercept=False).fit([[1], [2]], [1, 2])
    with pytest.raises(ValueError, match="be at least 0"):
        TweedieRegressor(power=0.5).fit([[1], [2]], [1, -2])


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (PoissonRegressor(), [0, 0, 0]),
        (PoissonRegressor(solver="newton-cholesky", warm_start=True), [0, 0, 0]),
        (TweedieRegressor(power=1.5), [0, 0, 0]),
        (GeneralizedLinearRegressor(family="bernoulli"), [1, 1, 1]),
        (GeneralizedLinearRegressor(family="bernoulli", link="probit"), [0, 0, 0]),
    ],
)
def test_a_mean_at_the_end_of_its_range(model, y):
    X = np.array([[0.0], [1.0], [2.0]])
    bound = "upper" if y[0] else "lower"
    with pytest.warns(ConvergenceWarning, match=f"every y is {y[0]}: the mean is at its {bound} bound"):
        model.fit(X, y)
    np.testing.assert_array_equal(model.predict([[1.0], [-7.0]]), y[:2])
    assert model.score(X, y) == 1.0
    assert model.deviance(X, y) == pytest.approx(0.0, abs=1e-12)
    zero = PoissonRegressor(fit_intercept=False).fit(X, [0, 0, 0])  # without an intercept there is a minimum
    assert np.isfinite(zero.coef_).all()


def test_a_strong_penalty_takes_few_evaluations():
    rng = np.random.default_rng(0)
    X = 0.1 * rng.normal(size=(200, 5))
    y = rng.poisson(np.exp(X[:, 0])) + 0.5
    objective = DevianceObjective(X, y, None, FAMILIES["gamma"], LINKS["log"], alpha=1.0)
    found = minimize(objective, objective.null_model(), tol=1e-6)
    assert found.success
    assert found.nfev <= found.nit + 1


def test_fisher_scoring_goes_on_until_the_gradient_is_below_tol():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 4)), rng.exponential(size=12)
    model = GammaRegressor(alpha=1.0, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(X, y)
    slope = (1.0 - y * np.exp(-X @ model.coef_ - model.intercept_)) / len(y)
    np.testing.assert_allclose(X.T @ slope + model.coef_, 0.0, atol=1e-12)
    np.testing.assert_allclose(slope.sum(), 0.0, atol=1e-12)


def test_a_singular_matrix_that_rounding_lets_through_has_the_step_of_least_norm():
    """Cholesky succeeds where columns are there twice, and rounding then splits the step at random."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 3)) * [1e-3, 1.0, 1e4]
    once, g = A.T @ A, rng.normal(size=3) * [1e-3, 1.0, 1e4]
    twice = np.tile(once, (2, 2))
    twice += np.diag(4 * np.spacing(np.diag(twice)))
    np.linalg.cholesky(twice)  # no error
    noisy = np.concatenate([g, g + np.spacing(g)])
    step = newton_step(twice, noisy)
    np.testing.assert_allclose(step, np.tile(newton_step(once, g), 2) / 2, rtol=1e-9)

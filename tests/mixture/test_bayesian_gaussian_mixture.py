"""Variational Gaussian mixtures: the bound, what the prior does, and agreement with scikit-learn."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture as Theirs

from tercet.mixture import BayesianGaussianMixture

KINDS = ("full", "tied", "diag", "spherical")
PRIORS = ("dirichlet_process", "dirichlet_distribution")
every_kind = pytest.mark.parametrize("kind", KINDS)
every_prior = pytest.mark.parametrize("prior", PRIORS)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def clusters(seed=0, n=40, d=2, centres=(0, 6, 12), spread=1.0):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(centre, spread, size=(n, d)) for centre in centres])
    return X[rng.permutation(len(X))]


class Started(BayesianGaussianMixture):
    """Begins with given responsibilities."""

    def _initial_responsibilities(self, X, weight, rng):
        return self.shares[: len(X)]


class TheirsStarted(Theirs):
    def _initialize_parameters(self, X, random_state, xp=None):
        self._initialize(X, self.shares)


def started(X, k, kind=Started, seed=3, **options):
    model = kind(n_components=k, **options)
    model.shares = np.random.default_rng(seed).dirichlet(np.ones(k), size=len(X))
    return model


@every_kind
@every_prior
def test_scikit_learns_numbers(kind, prior):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)) + rng.integers(0, 3, 200)[:, None] * 4
    options = {"covariance_type": kind, "weight_concentration_prior_type": prior, "max_iter": 30, "tol": 1e-4}
    ours = started(X, 4, **options).fit(X)
    theirs = started(X, 4, TheirsStarted, **options).fit(X)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.converged_ == theirs.converged_
    np.testing.assert_allclose(ours.lower_bounds_, np.ravel(theirs.lower_bounds_), rtol=1e-10)
    for name in (
        *("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_", "mean_precision_"),
        *("degrees_of_freedom_", "weight_concentration_prior_", "mean_precision_prior_", "mean_prior_"),
        *("degrees_of_freedom_prior_", "covariance_prior_"),
    ):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=1e-7, atol=1e-9, err_msg=name
        )
    np.testing.assert_allclose(
        np.stack(ours.weight_concentration_), np.stack(theirs.weight_concentration_), rtol=1e-8
    )
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-8)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


@every_kind
@every_prior
def test_priors_that_are_given(kind, prior):
    X = clusters()
    given = {"full": np.diag([2.0, 3.0]), "tied": np.diag([2.0, 3.0]), "diag": [2.0, 3.0], "spherical": 2.0}
    options = {
        "covariance_type": kind,
        "weight_concentration_prior_type": prior,
        "weight_concentration_prior": 0.7,
        "mean_precision_prior": 0.3,
        "mean_prior": [5.0, 5.0],
        "degrees_of_freedom_prior": 3.5,
        "covariance_prior": given[kind],
        "max_iter": 20,
    }
    ours, theirs = started(X, 4, **options).fit(X), started(X, 4, TheirsStarted, **options).fit(X)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-7)
    np.testing.assert_allclose(ours.covariances_, theirs.covariances_, rtol=1e-7)
    np.testing.assert_allclose(ours.lower_bound_, np.ravel(theirs.lower_bound_)[0], rtol=1e-9)


@every_kind
@every_prior
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_the_bound_never_falls(kind, prior, exact, gaps):
    X = clusters(spread=2.0)
    if gaps:
        X[np.random.default_rng(5).random(X.shape) < 0.2] = np.nan
    options = {"covariance_type": kind, "weight_concentration_prior_type": prior, "exact": exact}
    model = started(X, 5, **options, reg_covar=1e-6 if exact else 0.0, tol=1e-9, max_iter=150).fit(X)
    bounds = np.array(model.lower_bounds_)
    assert len(bounds) > 10
    assert np.diff(bounds).min() > -1e-9 * np.abs(bounds).max()
    if exact:
        assert model.lower_bound_ == model.elbo_


def test_noise_in_the_variances_cannot_make_an_exact_bound_fall():
    X = clusters(spread=2.0) * 1e-3  # variances of the size of reg_covar
    model = started(X, 5, exact=True, tol=1e-9, max_iter=100).fit(X)
    assert np.diff(model.lower_bounds_).min() > -1e-9


def log_evidence_of_one_gaussian(X, m, beta, nu, B):
    """ln p(X) of one component by the chain rule: every predictive density is a Student t."""
    total, m, B = 0.0, m.copy(), B.copy()
    d = len(m)
    for x in X:
        free = nu - d + 1
        total += multivariate_t(m, B * (beta + 1) / (beta * free), df=free).logpdf(x)
        B = B + beta / (beta + 1) * np.outer(x - m, x - m)
        m = (beta * m + x) / (beta + 1)
        beta, nu = beta + 1, nu + 1
    return total


ALONE = "dirichlet_distribution"  # the process gives something to components beyond the first


def test_the_bound_of_one_component_is_the_evidence():
    X = clusters(n=5, centres=(0, 2))
    model = BayesianGaussianMixture(
        weight_concentration_prior_type=ALONE,
        reg_covar=0,
        mean_precision_prior=0.5,
        degrees_of_freedom_prior=3.0,
        covariance_prior=[[2.0, 0.3], [0.3, 1.0]],
    ).fit(X)
    expected = log_evidence_of_one_gaussian(X, X.mean(axis=0), 0.5, 3.0, np.array([[2.0, 0.3], [0.3, 1.0]]))
    assert model.elbo_ == pytest.approx(expected, abs=1e-9)


@every_prior
def test_the_bound_is_below_the_evidence(prior):
    """ln p(X) by the sum over all 2^6 ways to share out six rows."""
    X = clusters(n=3, centres=(0, 3))
    mean, B, alpha = X.mean(axis=0), np.cov(X.T), 0.5

    def log_joint(z):
        z = np.array(z)
        n = np.array([(z == 0).sum(), (z == 1).sum()])
        if prior == "dirichlet_distribution":
            found = gammaln(2 * alpha) - gammaln(2 * alpha + 6) + (gammaln(alpha + n) - gammaln(alpha)).sum()
        else:
            found = betaln(1 + n[0], alpha + n[1]) + betaln(1 + n[1], alpha) - 2 * betaln(1, alpha)
        return found + sum(log_evidence_of_one_gaussian(X[z == k], mean, 1.0, 2.0, B) for k in (0, 1))

    evidence = logsumexp([log_joint(z) for z in itertools.product((0, 1), repeat=6)])
    options = {"weight_concentration_prior_type": prior, "reg_covar": 0, "tol": 1e-8, "max_iter": 500}
    bounds = [started(X, 2, seed=seed, **options).fit(X).elbo_ for seed in range(5)]
    assert max(bounds) < evidence
    assert max(bounds) > evidence - 3


@every_kind
def test_exact_bounds_of_one_component(kind):
    """With one component nothing is approximated: the bound is ln p(X), which a sum over draws of Λ, μ tells."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 2))
    B = {"full": np.eye(2), "tied": np.eye(2), "diag": np.ones(2), "spherical": 1.0}[kind]
    nu, draws = 6.0, 200_000
    model = BayesianGaussianMixture(
        weight_concentration_prior_type=ALONE,
        covariance_type=kind,
        covariance_prior=B,
        degrees_of_freedom_prior=nu,
        mean_prior=[0.0, 0.0],
        reg_covar=0,
    ).fit(X)
    if kind in ("full", "tied"):
        roots = rng.normal(size=(draws, int(nu), 2))
        precisions = np.einsum("nia,nib->nab", roots, roots)
    else:
        shape = (draws, 2) if kind == "diag" else (draws, 1)
        freedom = nu / 2 if kind == "diag" else nu  # one variance for two features has twice the degrees
        variances = rng.gamma(freedom, 2 / (1 if kind == "diag" else 2), size=shape)
        precisions = np.eye(2) * (variances * np.ones(2))[:, None, :]
    lower = np.linalg.cholesky(np.linalg.inv(precisions))
    means = np.einsum("nab,nb->na", lower, rng.normal(size=(draws, 2)))
    away = X[None] - means[:, None]
    squares = np.einsum("nia,nab,nib->n", away, precisions, away)
    logs = 2 * np.linalg.slogdet(precisions)[1] - 4 * np.log(2 * np.pi) - 0.5 * squares
    assert model.elbo_ == pytest.approx(logsumexp(logs) - np.log(draws), abs=0.03)


@every_kind
def test_true_number_of_components(kind):
    X = clusters(centres=(0, 10, 20))
    model = BayesianGaussianMixture(
        n_components=8,
        covariance_type=kind,
        weight_concentration_prior=1e-3,
        tol=1e-6,
        max_iter=500,
        n_init=3,
        random_state=0,
    ).fit(X)
    assert model.n_active_ == 3
    assert model.weights_[model.counts_ <= 1].max() < 1e-2
    assert np.unique(model.labels_).size == 3
    centres = model.means_[model.counts_ > 1]
    np.testing.assert_allclose(np.sort(centres[:, 0]), [0, 10, 20], atol=0.6)


@every_prior
def test_a_small_concentration_empties_components(prior):
    X = clusters(spread=1.5)
    few, many = (
        started(X, 6, weight_concentration_prior_type=prior, weight_concentration_prior=alpha, max_iter=400)
        .fit(X)
        .n_active_
        for alpha in (1e-3, 1e3)
    )
    assert few < many


@every_kind
def test_weights_are_repetitions(kind):
    X = clusters(n=20)
    weight = np.random.default_rng(2).integers(0, 4, size=len(X))
    again = np.repeat(np.arange(len(X)), weight)
    options = {"covariance_type": kind, "max_iter": 40}
    weighted = started(X, 3, **options)
    weighted.shares = np.random.default_rng(4).dirichlet(np.ones(3), size=len(X))
    repeated = started(X, 3, **options)
    repeated.shares = weighted.shares[again]
    weighted.shares = weighted.shares[weight > 0]
    weighted.fit(X, sample_weight=weight)
    repeated.fit(X[again])
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-8)
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_, rtol=1e-8)
    np.testing.assert_allclose(weighted.lower_bounds_, repeated.lower_bounds_, rtol=1e-9)
    assert weighted.elbo_ == pytest.approx(repeated.elbo_, rel=1e-9)


def test_the_order_of_rows_does_not_matter():
    X = clusters()
    order = np.random.default_rng(0).permutation(len(X))
    one, other = started(X, 4), started(X, 4)
    other.shares = one.shares[order]
    one.fit(X)
    other.fit(X[order])
    np.testing.assert_allclose(one.means_, other.means_, rtol=1e-9)
    assert one.elbo_ == pytest.approx(other.elbo_, rel=1e-10)


def test_far_away_data():
    X = clusters()
    near, far = (started(X, 4).fit(X + shift) for shift in (0.0, 1e6))
    np.testing.assert_allclose(near.covariances_, far.covariances_, rtol=1e-6)
    assert near.lower_bound_ == pytest.approx(far.lower_bound_, rel=1e-7)


@every_kind
def test_missing_values(kind):
    X = clusters(n=100, centres=(0, 8))
    holes = X.copy()
    holes[np.random.default_rng(1).random(X.shape) < 0.25] = np.nan
    whole = BayesianGaussianMixture(n_components=2, covariance_type=kind, random_state=0).fit(X)
    model = BayesianGaussianMixture(n_components=2, covariance_type=kind, random_state=0).fit(holes)
    order, other = np.argsort(whole.means_[:, 0]), np.argsort(model.means_[:, 0])
    np.testing.assert_allclose(model.means_[other], whole.means_[order], atol=0.4)
    known = ~np.isnan(holes).all(axis=1)
    agree = np.argsort(order)[whole.labels_[known]] == np.argsort(other)[model.labels_[known]]
    assert agree.mean() > 0.99


def test_a_row_with_gaps_has_the_density_of_what_is_known():
    X = clusters(d=3)
    model = started(X, 3, covariance_type="full").fit(X)
    row = np.array([[1.0, np.nan, 2.0]])
    full = model.score_samples([[1.0, 0.0, 2.0]])
    at_means = [
        multivariate_normal(mean, covariance).logpdf([1.0, 0.0, 2.0])
        for mean, covariance in zip(model.means_, model.covariances_)
    ]
    here = [0, 2]
    marginal = [
        multivariate_normal(mean[here], covariance[np.ix_(here, here)]).logpdf([1.0, 2.0])
        for mean, covariance in zip(model.means_, model.covariances_)
    ]
    shares = np.log(model.predict_proba([[1.0, 0.0, 2.0]])[0])
    offsets = shares + full - at_means  # what each component adds to its density, whatever is known
    assert model.score_samples(row)[0] == pytest.approx(logsumexp(offsets + marginal), abs=1e-8)


def test_reports_spare_components():
    X = clusters()
    model = started(X, 8, weight_concentration_prior=1e-3, max_iter=300).fit(X)
    assert model.counts_.sum() == pytest.approx(len(X))
    assert model.n_active_ == (model.counts_ > 1).sum() < 8
    assert model.history_["active"][-1] == model.n_active_
    assert len(model.history_["lower_bound"]) == model.n_iter_


def test_best_of_several_starts():
    X = clusters(spread=2.5)
    options = {"n_components": 6, "init_params": "random", "random_state": 0}
    model = BayesianGaussianMixture(n_init=4, **options).fit(X)
    bounds, starts = np.array(model.history_["lower_bound"]), np.array(model.history_["start"])
    assert model.lower_bound_ == max(bounds[starts == k][-1] for k in range(4))


def test_warm_start_continues_last_fit():
    X = clusters(spread=2.0)
    whole = started(X, 4, max_iter=10, tol=0).fit(X)
    parts = started(X, 4, max_iter=5, tol=0, warm_start=True).fit(X)
    parts.fit(X)
    np.testing.assert_allclose(parts.means_, whole.means_, rtol=1e-9)
    assert parts.lower_bounds_ == pytest.approx(whole.lower_bounds_[5:], rel=1e-9)


def test_no_passes_leave_the_start():
    X = clusters()
    model = started(X, 3, max_iter=0).fit(X)
    assert model.n_iter_ == 0
    assert not model.converged_
    assert model.counts_.sum() == pytest.approx(len(X))


def test_samples_have_the_moments_of_the_mixture():
    X = clusters(n=100)
    model = BayesianGaussianMixture(n_components=3, random_state=0).fit(X)
    drawn, labels = model.sample(20_000)
    assert drawn.shape == (20_000, 2)
    np.testing.assert_allclose(np.bincount(labels) / 20_000, model.weights_, atol=0.02)
    np.testing.assert_allclose(drawn[labels == 0].mean(axis=0), model.means_[0], atol=0.1)


@every_kind
def test_flat_data(kind):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=50), np.full(50, 7.0)])
    X = np.column_stack([X, X[:, 0]])  # a constant feature, and one twice
    model = BayesianGaussianMixture(n_components=5, covariance_type=kind, random_state=0).fit(X)
    assert np.isfinite(model.lower_bound_)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"degrees_of_freedom_prior": 1.0},
            r"'degrees_of_freedom_prior' should be greater than 1, but got",
        ),
        ({"mean_prior": [0.0]}, r"mean_prior must have the shape \(2,\)"),
        ({"covariance_prior": [1.0]}, r"covariance_prior must have the shape \(2, 2\)"),
        ({"covariance_prior": -np.eye(2)}, r"covariance_prior must be symmetric and positive definite"),
        ({"covariance_type": "diag", "covariance_prior": [1.0, -1.0]}, r"covariance_prior must be positive"),
        ({"weight_concentration_prior": 0.0}, r"parameter 'weight_concentration_prior' must be"),
        ({"n_components": 500}, r"n_samples >= n_components"),
    ],
)
def test_bad_parameters_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        BayesianGaussianMixture(**options).fit(clusters())


def test_a_column_without_values_is_named():
    X = clusters()
    X[:, 1] = np.nan
    with pytest.raises(ValueError, match=r"no known value in the columns \[1\]"):
        BayesianGaussianMixture().fit(X)
    X[0, 1] = 1.0
    with pytest.raises(ValueError, match=r"no known value in the columns \[1\]"):
        BayesianGaussianMixture().fit(X, sample_weight=np.arange(len(X)))  # 0 for the row that has one


def test_values_too_large_to_square():
    with pytest.raises(ValueError, match="too large"):
        BayesianGaussianMixture().fit(clusters() * 1e200)


@pytest.mark.parametrize(
    "change", [{"n_components": 4}, {"weight_concentration_prior_type": "dirichlet_distribution"}]
)
def test_warm_starts_of_another_form_begin_anew(change):
    X = clusters()
    model = (
        BayesianGaussianMixture(n_components=2, random_state=0, warm_start=True).fit(X).set_params(**change)
    )
    fresh = BayesianGaussianMixture(**(model.get_params() | {"warm_start": False})).fit(X)
    np.testing.assert_array_equal(model.fit(X).means_, fresh.means_)


def test_warm_starts_of_one_pass_see_that_they_have_converged():
    X = clusters()
    model = BayesianGaussianMixture(n_components=2, random_state=0, warm_start=True, max_iter=500).fit(X)
    assert model.converged_
    assert model.set_params(max_iter=1).fit(X).converged_

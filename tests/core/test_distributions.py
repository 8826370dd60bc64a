from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, stats

from tercet.core import distributions as D
from tercet.core.losses import Log
from tercet.core.penalties import L1, L2, structural_risk

V = np.array([[2.0, 0.6], [0.6, 1.0]])
# each member, and the same distribution by SciPy
CONTINUOUS = [
    (D.GaussianKnownVariance(1.5, 2.0), stats.norm(1.5, np.sqrt(2.0))),
    (D.Gaussian(-0.5, 3.0), stats.norm(-0.5, np.sqrt(3.0))),
    (D.Exponential(0.7), stats.expon(scale=1 / 0.7)),
    (D.Gamma(2.5, 1.4), stats.gamma(2.5, scale=1.4)),
    (D.Gamma(0.6, 3.0), stats.gamma(0.6, scale=3.0)),
    (D.Beta(2.0, 3.5), stats.beta(2.0, 3.5)),
]
DISCRETE = [(D.Bernoulli(0.3), stats.bernoulli(0.3)), (D.Poisson(2.5), stats.poisson(2.5))]
VECTOR = [
    (D.Multinomial([0.5, 0.3, 0.2], trials=4), stats.multinomial(4, [0.5, 0.3, 0.2])),
    (D.Dirichlet([1.0, 2.0, 3.0]), stats.dirichlet([1.0, 2.0, 3.0])),
    (D.Wishart(5.5, V), stats.wishart(5.5, V)),
]
SCALAR = [*CONTINUOUS, *DISCRETE]
MEMBERS = [member for member, _ in [*SCALAR, *VECTOR]] + [D.Categorical([0.1, 0.6, 0.3])]


def known(member):
    """Parameters that are no part of eta."""
    names = {D.GaussianKnownVariance: "variance", D.Multinomial: "trials"}
    key = names.get(type(member))
    return {} if key is None else {key: getattr(member, key)}


# numbers of the texts


def test_bernoulli_of_the_text():
    member = D.Bernoulli(0.3)
    assert_allclose(member.natural, [-0.8472978604], atol=1e-10)
    assert member.log_partition == pytest.approx(0.3566749439, abs=1e-10)
    # printed 1 + exp(-eta); log(1 + exp(eta)) is meant
    assert member.log_partition == pytest.approx(np.log1p(np.exp(member.natural[0])))


def test_dirichlet_of_the_text():
    member = D.Dirichlet([1, 2, 3])
    assert_allclose(member.mean_statistics, [-137 / 60, -77 / 60, -47 / 60], atol=1e-12)
    assert member.log_partition == pytest.approx(-4.0943445622, abs=1e-10)
    assert member.log_density([0.2, 0.3, 0.5]) == pytest.approx(1.5040773968, abs=1e-10)
    assert_allclose(D.expected_log_dirichlet([[1, 2, 3], [1, 1, 1]])[0], member.mean_statistics)


def test_gaussian_and_multinomial_of_the_text():
    member = D.GaussianKnownVariance(1.7)
    assert_allclose(member.natural, [1.7])
    assert member.log_partition == pytest.approx(1.7**2 / 2)
    multinomial = D.Categorical([0.2, 0.3, 0.5])
    assert_allclose(multinomial.natural, np.log([0.2 / 0.5, 0.3 / 0.5]))
    assert multinomial.log_partition == pytest.approx(-np.log(0.5))
    assert_allclose(multinomial.statistics([0, 1, 2]), [[1, 0], [0, 1], [0, 0]])


def test_kl_of_the_text():
    assert D.Gaussian(0, 1).kl(D.Gaussian(1, 4)) == pytest.approx(0.4431471806, abs=1e-10)
    assert D.Bernoulli(0.5).kl(D.Bernoulli(0.1)) == pytest.approx(0.5108256238, abs=1e-10)
    assert D.Bernoulli(0.1).kl(D.Bernoulli(0.5)) == pytest.approx(0.3680642072, abs=1e-10)


def test_logistic_distribution_of_the_text():
    one = D.LogisticDistribution(location=1, scale=2)
    assert_allclose(one.cdf([3, 1]), [0.7310585786, 0.5], atol=1e-10)
    assert_allclose(one.density([3, 1]), [0.0983059666, 0.125], atol=1e-10)


# exponential families


@pytest.mark.parametrize("member", MEMBERS, ids=repr)
def test_log_partition_yields_mean_and_covariance(member):
    eta, h = member.natural, 1e-5
    for direction in np.eye(eta.size):
        if isinstance(member, D.Wishart):
            # keep the matrix part symmetric: only there is the family defined
            matrix = direction[1:].reshape(2, 2)
            direction = np.append(direction[0], (matrix + matrix.T).ravel() / 2)
        up = type(member).from_natural(eta + h * direction, **known(member))
        down = type(member).from_natural(eta - h * direction, **known(member))
        slope = (up.log_partition - down.log_partition) / (2 * h)
        assert slope == pytest.approx(member.mean_statistics @ direction, rel=1e-6, abs=1e-8)
        bend = (up.mean_statistics - down.mean_statistics) / (2 * h)
        assert_allclose(bend, member.covariance_statistics @ direction, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("member", MEMBERS, ids=repr)
def test_natural_parameters_go_there_and_back(member):
    again = type(member).from_natural(member.natural, **known(member))
    assert_allclose(again.natural, member.natural, atol=1e-12)
    assert again.log_partition == pytest.approx(member.log_partition)
    assert member.kl(again) == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("member", MEMBERS, ids=repr)
def test_log_density_is_the_exponential_form(member):
    x = member.sample(7, random_state=0)
    form = member.log_base(x) + member.statistics(x) @ member.natural - member.log_partition
    assert_allclose(member.log_density(x), form, rtol=1e-10)
    assert_allclose(member.density(x), np.exp(form), rtol=1e-10)
    assert member.log_likelihood(x) == pytest.approx(form.sum())
    assert member.log_likelihood(x, np.arange(7)) == pytest.approx(np.arange(7) @ form)
    assert np.ndim(member.log_density(member.sample(random_state=0))) == 0


@pytest.mark.parametrize(("member", "peer"), [*SCALAR, *VECTOR], ids=lambda v: repr(v)[:40])
def test_agreement_with_scipy(member, peer):
    x = member.sample(20, random_state=1)
    if isinstance(member, D.Dirichlet | D.Wishart):
        theirs = [peer.logpdf(row) for row in x]
    else:
        theirs = peer.logpmf(x) if np.issubdtype(x.dtype, np.integer) else peer.logpdf(x)
    assert_allclose(member.log_density(x), theirs, rtol=1e-9)
    assert_allclose(member.mean, peer.mean())
    if isinstance(member, D.Multinomial):
        assert_allclose(member.variance, np.diag(peer.cov()))
    else:
        assert_allclose(member.variance, peer.var())


@pytest.mark.parametrize("member", MEMBERS, ids=repr)
def test_samples_have_the_right_statistics_and_obey_the_seed(member):
    x = member.sample(20_000, random_state=3)
    t = member.statistics(x)
    error = (t.mean(axis=0) - member.mean_statistics) / np.sqrt(
        np.diag(member.covariance_statistics) / len(t)
    )
    assert np.abs(error).max() < 4.5
    assert_allclose(
        np.cov(t.T), member.covariance_statistics, atol=0.12 * np.abs(member.covariance_statistics).max()
    )
    assert_allclose(member.sample(5, np.random.default_rng(8)), member.sample(5, 8))
    assert np.shape(member.sample(random_state=0)) == np.shape(x)[1:]


@pytest.mark.parametrize("member", MEMBERS, ids=repr)
def test_maximum_likelihood_matches_moments(member):
    x = member.sample(300, random_state=4)
    weight = np.random.default_rng(0).integers(0, 3, 300)
    fitted = type(member).fit(x, weight, **known(member))
    assert_allclose(fitted.mean_statistics, weight @ member.statistics(x) / weight.sum(), rtol=1e-8)
    repeated = type(member).fit(np.repeat(x, weight, axis=0), **known(member))
    assert_allclose(fitted.natural, repeated.natural, rtol=1e-6)
    # no neighbour explains the data better
    best = fitted.log_likelihood(x, weight)
    moves = np.eye(fitted.natural.size)
    if isinstance(member, D.Wishart):
        moves = np.array([[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]])
    for move in 0.02 * np.vstack([moves, -moves]):
        near = type(member).from_natural(fitted.natural * (1 + move) + move, **known(member))
        assert near.log_likelihood(x, weight) < best


@pytest.mark.parametrize("alpha", [[0.02, 0.03], [0.1, 50.0], [4e4, 3e4], [1e-2, 1.0, 1e3]])
def test_moment_matching_from_far_away(alpha):
    member = D.Dirichlet(alpha)
    assert_allclose(D.Dirichlet.from_mean(member.mean_statistics).alpha, alpha, rtol=1e-8)
    beta = D.Beta(*alpha[:2])
    assert_allclose(D.Beta.from_mean(beta.mean_statistics).natural, alpha[:2], rtol=1e-8)
    gamma = D.Gamma(alpha[0], 3.0)
    assert D.Gamma.from_mean(gamma.mean_statistics).shape == pytest.approx(alpha[0], rel=1e-8)
    wishart = D.Wishart(2 + alpha[0], [[2.0, 0.3, 0], [0.3, 1.0, 0], [0, 0, 0.1]])
    assert D.Wishart.from_mean(wishart.mean_statistics).df == pytest.approx(2 + alpha[0], rel=1e-7)


@pytest.mark.parametrize(("member", "_peer"), CONTINUOUS, ids=lambda v: repr(v)[:40])
def test_kl_against_integration(member, _peer):
    other = type(member).from_natural(member.natural * 1.3, **known(member))
    low, high = (0, 1) if isinstance(member, D.Beta) else (-60 if "Gauss" in repr(member) else 0, 60)

    def integrand(x):
        log_q = member.log_density(x)
        return np.exp(log_q) * (log_q - other.log_density(x)) if np.isfinite(log_q) else 0.0

    expected = integrate.quad(integrand, low, high, limit=200)[0]
    assert member.kl(other) == pytest.approx(expected, rel=1e-5)
    assert member.kl(other) > 0


def test_kl_of_certain_outcomes_and_of_other_bases():
    assert D.Bernoulli(0.0).kl(D.Bernoulli(0.5)) == pytest.approx(np.log(2))
    assert D.Bernoulli(0.5).kl(D.Bernoulli(0.0)) == np.inf
    assert D.Categorical([0, 1]).kl(D.Categorical([0.5, 0.5])) == pytest.approx(np.log(2))
    with pytest.raises(ValueError, match="same family and base measure"):
        D.GaussianKnownVariance(0, 1).kl(D.GaussianKnownVariance(0, 2))
    with pytest.raises(ValueError, match="same trials and outcomes"):
        D.Multinomial([0.5, 0.5], 2).kl(D.Multinomial([0.5, 0.5], 3))


def test_certain_outcomes_and_points_outside():
    assert_allclose(D.Bernoulli(1.0).density([1, 0, 2]), [1, 0, 0])
    assert_allclose(D.Categorical([0.0, 1.0]).density([0, 1, 5, -1]), [0, 1, 0, 0])
    assert_allclose(D.Multinomial([0.0, 1.0], 2).density([[0, 2], [1, 1], [0, 1]]), [1, 0, 0])
    assert_allclose(D.Poisson(2.0).density([-1, 0.5, 0]), [0, 0, np.exp(-2)])
    assert_allclose(D.Gamma(2.0, 1.0).density([-1, 0]), [0, 0])
    assert_allclose(D.Beta(2.0, 2.0).density([-1, 0, 1, 2, 0.5]), [0, 0, 0, 0, 1.5])
    assert_allclose(D.Exponential(2.0).density([-1, 0]), [0, 2])
    assert D.Dirichlet([1, 1]).log_density([0.5, 0.6]) == -np.inf
    assert D.Wishart(3, np.eye(2)).log_density(-np.eye(2)) == -np.inf


def test_fit_refuses_data_outside_of_the_support():
    for kind, x in [
        (D.Gamma, [1.0, -2.0]),
        (D.Beta, [0.5, 1.5]),
        (D.Poisson, [2.0, 0.5]),
        (D.Exponential, [5, -1]),
    ]:
        with pytest.raises(ValueError, match=f"x must lie inside the support of {kind.__name__}"):
            kind.fit(x)
    with pytest.raises(ValueError, match="x must be integers, at least 0"):
        D.Categorical.fit([-1, 1])
    for x in ([np.eye(2), -np.eye(2)], [np.eye(2), np.ones((2, 2))]):
        with pytest.raises(ValueError, match="x must lie inside the support of Wishart"):
            D.Wishart.fit(x)
    with pytest.raises(ValueError, match=r"x must be a stack of square matrices, got shape \(2, 2\)"):
        D.Wishart.fit(np.eye(2))
    with pytest.raises(ValueError, match="log det of the mean less the mean of the log dets must be"):
        D.Wishart.fit([np.eye(2), np.eye(2)])
    assert_allclose(D.Categorical.fit([0, 0, 1], n_outcomes=3).mean, [2 / 3, 1 / 3, 0])


def test_gaussian_fit_keeps_its_digits_far_from_zero():
    x = 1e9 + np.array([0.0, 1.0, 2.0])
    assert D.Gaussian.fit(x).variance == pytest.approx(2 / 3)
    assert D.Gaussian(1e9, 2 / 3).log_density(1e9) == pytest.approx(-0.5 * np.log(2 * np.pi * 2 / 3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: D.Bernoulli(1.2), r"p must lie in \[0, 1\], got 1.2"),
        (lambda: D.Gaussian(0, 0), "variance must be finite and above 0, got 0"),
        (lambda: D.Poisson(-1), "rate must be finite and above 0, got -1"),
        (lambda: D.Gamma(0, 1), "shape must be finite and above 0, got 0"),
        (lambda: D.Beta(1, np.inf), "b must be finite and above 0, got inf"),
        (lambda: D.Beta(1, 1).mode, "mode of Beta needs a or b above 1, got a=1, b=1"),
        (lambda: D.Categorical([0.5, 0.6]), "p must be at least two probabilities that sum to 1"),
        (lambda: D.Multinomial([0.5, 0.5], 0), "trials must be a whole number, at least 1, got 0"),
        (lambda: D.Dirichlet([1, 0]), "alpha must be at least two finite numbers above 0"),
        (
            lambda: D.Dirichlet([1, 1]).log_density([0.2, 0.3, 0.5]),
            "x must have 2 entries along its last axis",
        ),
        (lambda: D.Wishart(3, [[1, 2], [2, 1]]), "scale must be positive definite"),
        (lambda: D.Wishart(3, [[1, 2], [0, 1]]), "scale must be a symmetric square matrix"),
        (lambda: D.Wishart(0.5, np.eye(2)), "df - p"),
        (lambda: D.LogisticDistribution(scale=0), "scale must be finite and above 0, got 0"),
        (lambda: D.Laplace().quantile(2), r"p must lie in \[0, 1\]"),
    ],
)
def test_errors_name_the_value_and_what_is_allowed(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# logistic and Laplace


@pytest.mark.parametrize(
    ("one", "peer"),
    [(D.LogisticDistribution(1, 2), stats.logistic(1, 2)), (D.Laplace(-1, 0.5), stats.laplace(-1, 0.5))],
    ids=["logistic", "laplace"],
)
def test_location_and_scale(one, peer):
    x = np.linspace(-6, 6, 25)
    assert_allclose(one.cdf(x), peer.cdf(x), rtol=1e-12)
    assert_allclose(one.density(x), peer.pdf(x), rtol=1e-12)
    assert_allclose(one.log_density(x), peer.logpdf(x), rtol=1e-12)
    p = np.array([0.0, 1e-9, 0.2, 0.5, 0.9, 1.0])
    assert_allclose(one.quantile(p), peer.ppf(p), rtol=1e-12)
    assert (one.mean, one.variance) == pytest.approx((peer.mean(), peer.var()))
    # symmetry about the location, and the density is the slope of the cdf
    assert_allclose(one.cdf(one.location - x) - 0.5, 0.5 - one.cdf(one.location + x), atol=1e-12)
    assert_allclose(one.density(x), (one.cdf(x + 1e-6) - one.cdf(x - 1e-6)) / 2e-6, atol=1e-5)
    assert stats.kstest(one.sample(2000, random_state=0), peer.cdf).pvalue > 0.01


def test_log_density_of_the_far_tail():
    assert D.LogisticDistribution().log_density(2000.0) == -2000


# priors are penalties


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=6), st.floats(0.1, 10))
def test_minus_log_prior_is_the_penalty_up_to_a_constant(w, strength):
    w = np.array(w)
    laplace = D.Laplace(0, 1 / strength)
    gaussian = D.Gaussian(0, 1 / (2 * strength))
    for prior, one in [(laplace, L1(strength)), (gaussian, L2(strength))]:
        rise = prior.log_density(np.zeros_like(w)).sum() - prior.log_density(w).sum()
        assert rise == pytest.approx(one.value(w), rel=1e-9, abs=1e-9)


# estimation


def test_bernoulli_estimates():
    x = [1, 0, 1, 1, 0, 1, 1, 0, 1, 1]
    flat = D.bernoulli_estimates(x)
    assert (flat.mle, flat.map, flat.mean) == pytest.approx((0.7, 0.7, 8 / 12))
    assert np.exp(flat.log_evidence) == pytest.approx(integrate.quad(lambda t: t**7 * (1 - t) ** 3, 0, 1)[0])
    informed = D.bernoulli_estimates(x, prior=D.Beta(3, 5))
    assert informed.map == pytest.approx(9 / 16)
    assert informed.mean == pytest.approx(10 / 18)
    assert (informed.posterior.a, informed.posterior.b) == (10, 8)
    assert D.bernoulli_estimates([0, 0]).map == 0
    assert D.bernoulli_estimates([1]).map == 1
    assert D.Bernoulli.fit(x).p == pytest.approx(0.7)
    with pytest.raises(ValueError, match="x must hold 0s and 1s"):
        D.bernoulli_estimates([0, 2])


def bernoulli_log_likelihood(x, theta):
    return D.Bernoulli(theta).log_likelihood(x)


def test_grid_posterior_approaches_the_beta_posterior():
    x = np.array([1, 0, 1, 1, 0])
    theta = (np.arange(2000) + 0.5) / 2000
    prior = D.Beta(2, 3)
    grid = D.posterior(theta, prior.density(theta), bernoulli_log_likelihood, x)
    exact = D.bernoulli_estimates(x, prior)
    assert_allclose(grid.probability * 2000, exact.posterior.density(theta), atol=1e-5)
    assert grid.mean == pytest.approx(exact.mean, abs=1e-6)
    assert grid.mode == pytest.approx(exact.map, abs=5e-4)
    assert grid.log_evidence == pytest.approx(exact.log_evidence, abs=1e-5)
    predictive = grid.predictive(lambda new, t: D.Bernoulli(t).density(new), np.array([0, 1]))
    assert_allclose(predictive, [1 - exact.mean, exact.mean], atol=1e-6)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=30))
def test_with_a_uniform_prior_map_is_maximum_likelihood(x):
    theta = np.linspace(0, 1, 21)
    grid = D.posterior(theta, np.ones(21), bernoulli_log_likelihood, x)
    assert grid.mode == grid.mle
    assert grid.probability.sum() == pytest.approx(1)
    # empirical risk of the log loss is least at the same value
    risks = [Log().total(x, np.full(len(x), t)) for t in theta]
    assert risks[int(np.argmin(risks))] == pytest.approx(-grid.log_likelihood.max() / len(x))


def test_map_is_structural_risk_minimisation():
    x, theta = np.array([1, 1, 0, 1]), np.linspace(0.01, 0.99, 99)
    prior = D.Beta(4, 4)
    grid = D.posterior(theta, prior.density(theta), bernoulli_log_likelihood, x)
    risks = [structural_risk(Log().value(x, np.full(4, t)), -prior.log_density(t), 1 / 4) for t in theta]
    assert theta[int(np.argmin(risks))] == grid.mode


def test_posterior_survives_tiny_likelihoods_and_vector_parameters():
    theta = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 2.0]])
    x = np.random.default_rng(0).normal(size=3000)
    grid = D.posterior(theta, [1, 1, 0], lambda d, t: D.Gaussian(*t).log_likelihood(d), x)
    assert grid.log_evidence < -4000
    assert_allclose(grid.mean, [0, 1], atol=1e-12)
    assert grid.probability[2] == 0
    with pytest.raises(ValueError, match="prior must be one number per theta"):
        D.posterior(theta, [1, 1], bernoulli_log_likelihood, x)
    with pytest.raises(ValueError, match="data must be possible under some theta"):
        D.posterior([0.0, 0.0], [1, 1], bernoulli_log_likelihood, [1])


def test_generic_likelihood_search():
    x = np.random.default_rng(0).gamma(3.0, 2.0, 200)
    log_shape, log_scale = D.maximum_likelihood(
        lambda t: D.Gamma(np.exp(t[0]), np.exp(t[1])).log_density(x), start=[0.0, 0.0]
    )
    closed = D.Gamma.fit(x)
    assert np.exp([log_shape, log_scale]) == pytest.approx([closed.shape, closed.scale], rel=1e-4)
    # ridge is least squares with a Gaussian prior
    a, y = np.array([[1.0, 0], [1, 1], [1, 2]]), np.array([1.0, 2, 4])
    w = D.maximum_likelihood(
        lambda w: D.Gaussian().log_density(y - a @ w),
        [0, 0],
        log_prior=lambda w: D.Gaussian(0, 1).log_density(w),
    )
    assert_allclose(w, [0.8, 1.2666666667], atol=1e-5)


def test_gaussian_noise_of_the_text():
    x, y = np.array([1, 2, 3, 4]), np.array([2, 3, 5, 4])
    f = 0.8 * x + 1.5
    assert D.gaussian_noise_log_likelihood(y, f, np.sqrt(0.45)) == pytest.approx(-4.078738740, abs=1e-9)
    assert D.gaussian_noise_log_likelihood(y, f, 1.3) == pytest.approx(
        D.Gaussian(0, 1.69).log_likelihood(y - f)
    )
    for move in ([0.01, 0], [0, 0.01], [-0.01, 0.02]):
        worse = f + move[0] * x + move[1]
        assert D.gaussian_noise_log_likelihood(y, worse, 0.7) < D.gaussian_noise_log_likelihood(y, f, 0.7)
    with pytest.raises(ValueError, match="sigma must be finite and above 0, got 0"):
        D.gaussian_noise_log_likelihood(y, f, 0)


def test_dirichlet_posterior_counts():
    after = D.Dirichlet([1, 1, 2]).posterior([3, 0, 1])
    assert_allclose(after.mean, np.array([4, 1, 3]) / 8)


# joint tables


def test_generative_prediction_of_the_text():
    # 60 men, 30 with a beard; 40 women, one with a beard
    joint = D.product([0.6, 0.4], [[0.5, 0.5], [1 / 40, 39 / 40]])
    assert_allclose(joint[:, 0], [0.30, 0.01])
    sex = D.conditional(joint, given=1)[:, 0]
    assert sex[0] == pytest.approx(0.967741935, abs=1e-9)
    assert D.decide(sex, labels=["man", "woman"]) == "man"
    people = (["man"] * 60 + ["woman"] * 40, ["beard"] * 30 + ["none"] * 30 + ["beard"] + ["none"] * 39)
    table, values = D.joint_table(*people)
    assert_allclose(table, joint)
    assert [list(v) for v in values] == [["man", "woman"], ["beard", "none"]]


@given(st.integers(0, 2**32 - 1))
def test_sum_and_product_rule(seed):
    joint = np.random.default_rng(seed).dirichlet(np.ones(12)).reshape(2, 3, 2)
    assert_allclose(D.marginal(D.marginal(joint, (0, 1)), 0), D.marginal(joint, 0))
    assert_allclose(D.product(D.marginal(joint, 0), D.conditional(joint, 0)), joint)
    assert_allclose(D.product(D.marginal(joint, (0, 1)), D.conditional(joint, (0, 1))), joint)
    assert_allclose(D.conditional(joint, given=-1).sum(axis=(0, 1)), 1)


def test_empirical_tables_with_weights_and_features():
    x, y = np.repeat([0, 1], [4, 6]), np.array([0, 0, 0, 1, 1, 1, 2, 2, 0, 0])
    table, _ = D.joint_table(x, y)
    features = np.zeros((2, 2, 3))
    features[0, 0, 0] = features[1, :, 1] = 1
    assert_allclose(D.feature_expectation(table, features), [0.3, 0.3])
    model = np.array([[0.75, 0.14389277, 0.10610723], [0.29796426, 0.40407148, 0.29796426]])
    of_model = D.feature_expectation(D.product(D.marginal(table, 0), model), features)
    assert_allclose(of_model, [0.3, 0.3], atol=1e-8)
    weighted, _ = D.joint_table(x, y, sample_weight=np.arange(10))
    repeated, _ = D.joint_table(np.repeat(x, np.arange(10)), np.repeat(y, np.arange(10)))
    assert_allclose(weighted, repeated)


def test_empty_conditions_and_ties():
    joint = [[0.5, 0.5], [0.0, 0.0]]
    with pytest.raises(ValueError, match=r"joint must give each value of axis \[0\] some probability"):
        D.conditional(joint, given=0)
    assert_allclose(D.conditional(joint, given=0, empty=0.5), [[0.5, 0.5], [0.5, 0.5]])
    assert D.decide([0.4, 0.4, 0.2]) == 0
    assert_allclose(D.normalise([2, 6]), [0.25, 0.75])
    for wrong in ([0, 0], [1, -1], [1, np.nan]):
        with pytest.raises(ValueError, match="scores must be finite, at least 0 and not all 0"):
            D.normalise(wrong)
    with pytest.raises(ValueError, match="columns must be of one length above 0"):
        D.joint_table([1, 2], [1])
    with pytest.raises(ValueError, match="sample_weight must be finite"):
        D.joint_table([1, 2], sample_weight=[0, 0])
    with pytest.raises(ValueError, match="conditional must begin with the axes"):
        D.product([0.5, 0.5], [[1.0, 0.0]])
    with pytest.raises(ValueError, match="features must have shape"):
        D.feature_expectation(joint, [1.0])

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from tercet import distributions as D

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
MEMBERS += [D.MultivariateNormal([0.5, -1.0], V)]
MATRIX = {D.Wishart: 1, D.MultivariateNormal: 2}  # where the matrix begins in eta


def moves_of(member):
    """Directions of eta; those of a matrix keep it symmetric, for only there is the family defined."""
    moves, start = np.eye(member.natural.size), MATRIX.get(type(member))
    if start is not None:
        moves[start + 1, start + 2] = 1.0
        moves = np.delete(moves, start + 2, axis=0)
    return moves


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
    assert member.logpdf([0.2, 0.3, 0.5]) == pytest.approx(1.5040773968, abs=1e-10)
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
    assert_allclose(one.pdf([3, 1]), [0.0983059666, 0.125], atol=1e-10)


# exponential families


@pytest.mark.parametrize("member", MEMBERS, ids=repr)
def test_log_partition_yields_mean_and_covariance(member):
    eta, h = member.natural, 1e-5
    for direction in moves_of(member):
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
    assert_allclose(member.logpdf(x), form, rtol=1e-10)
    assert_allclose(member.pdf(x), np.exp(form), rtol=1e-10)
    assert member.log_likelihood(x) == pytest.approx(form.sum())
    assert member.log_likelihood(x, np.arange(7)) == pytest.approx(np.arange(7) @ form)
    assert np.ndim(member.logpdf(member.sample(random_state=0))) == 0


@pytest.mark.parametrize(("member", "peer"), [*SCALAR, *VECTOR], ids=lambda v: repr(v)[:40])
def test_agreement_with_scipy(member, peer):
    x = member.sample(20, random_state=1)
    if isinstance(member, D.Dirichlet | D.Wishart):
        theirs = [peer.logpdf(row) for row in x]
    else:
        theirs = peer.logpmf(x) if np.issubdtype(x.dtype, np.integer) else peer.logpdf(x)
    assert_allclose(member.logpdf(x), theirs, rtol=1e-9)
    assert_allclose(member.mean, peer.mean())
    if isinstance(member, D.Multinomial):
        assert_allclose(member.var, np.diag(peer.cov()))
    else:
        assert_allclose(member.var, peer.var())


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
    moves = moves_of(fitted)
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
        log_q = member.logpdf(x)
        return np.exp(log_q) * (log_q - other.logpdf(x)) if np.isfinite(log_q) else 0.0

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
    assert_allclose(D.Bernoulli(1.0).pdf([1, 0, 2]), [1, 0, 0])
    assert_allclose(D.Categorical([0.0, 1.0]).pdf([0, 1, 5, -1]), [0, 1, 0, 0])
    assert_allclose(D.Multinomial([0.0, 1.0], 2).pdf([[0, 2], [1, 1], [0, 1]]), [1, 0, 0])
    assert_allclose(D.Poisson(2.0).pdf([-1, 0.5, 0]), [0, 0, np.exp(-2)])
    assert_allclose(D.Gamma(2.0, 1.0).pdf([-1, 0]), [0, 0])
    assert_allclose(D.Beta(2.0, 2.0).pdf([-1, 0, 1, 2, 0.5]), [0, 0, 0, 0, 1.5])
    assert_allclose(D.Exponential(2.0).pdf([-1, 0]), [0, 2])
    assert D.Dirichlet([1, 1]).logpdf([0.5, 0.6]) == -np.inf
    assert D.Wishart(3, np.eye(2)).logpdf(-np.eye(2)) == -np.inf


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
    assert D.Gaussian.fit(x).var == pytest.approx(2 / 3)
    assert D.Gaussian(1e9, 2 / 3).logpdf(1e9) == pytest.approx(-0.5 * np.log(2 * np.pi * 2 / 3))


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
            lambda: D.Dirichlet([1, 1]).logpdf([0.2, 0.3, 0.5]),
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
    assert_allclose(one.pdf(x), peer.pdf(x), rtol=1e-12)
    assert_allclose(one.logpdf(x), peer.logpdf(x), rtol=1e-12)
    p = np.array([0.0, 1e-9, 0.2, 0.5, 0.9, 1.0])
    assert_allclose(one.quantile(p), peer.ppf(p), rtol=1e-12)
    assert (one.mean, one.var) == pytest.approx((peer.mean(), peer.var()))
    # symmetry about the location, and the density is the slope of the cdf
    assert_allclose(one.cdf(one.location - x) - 0.5, 0.5 - one.cdf(one.location + x), atol=1e-12)
    assert_allclose(one.pdf(x), (one.cdf(x + 1e-6) - one.cdf(x - 1e-6)) / 2e-6, atol=1e-5)
    assert stats.kstest(one.sample(2000, random_state=0), peer.cdf).pvalue > 0.01


def test_log_density_of_the_far_tail():
    assert D.LogisticDistribution().logpdf(2000.0) == -2000


def test_multivariate_normal_estimates():
    x = np.random.default_rng(0).normal(size=(12, 3)) @ np.diag([1.0, 2.0, 3.0]) + 1e6
    weight = np.arange(12) % 3
    rows = np.repeat(x, weight, axis=0)
    for unbiased in (False, True):
        fitted = D.MultivariateNormal.fit(x, weight, unbiased=unbiased)
        assert_allclose(fitted.mean, rows.mean(axis=0))
        assert_allclose(fitted.covariance, np.cov(rows.T, bias=not unbiased), rtol=1e-9)
    peer = stats.multivariate_normal(fitted.mean, fitted.covariance)
    assert_allclose(fitted.logpdf(x), peer.logpdf(x), rtol=1e-6)
    assert_allclose(fitted.var, np.diag(fitted.covariance))
    one = D.MultivariateNormal([1.0], [[4.0]])
    assert one.kl(D.MultivariateNormal([0.0], [[1.0]])) == pytest.approx(
        D.Gaussian(1, 4).kl(D.Gaussian(0, 1))
    )
    with pytest.raises(ValueError, match="the covariance of 2 rows of 3 numbers is singular"):
        D.MultivariateNormal.fit(x[:2])
    with pytest.raises(ValueError, match="needs a weight above 1"):
        D.MultivariateNormal.fit(x[:1], unbiased=True)
    with pytest.raises(ValueError, match="covariance must be positive definite"):
        D.MultivariateNormal([0, 0], [[1, 2], [2, 1]])


def test_the_trials_of_counts_need_not_be_given():
    counts = np.array([[2, 1, 1], [0, 3, 1]])
    fitted = D.Multinomial.fit(counts)
    assert fitted.trials == 4
    assert_allclose(fitted.p, [0.25, 0.5, 0.25])
    assert_allclose(D.Multinomial.fit([0, 3, 1]).p, [0, 0.75, 0.25])
    with pytest.raises(ValueError, match=r"all have the same sum, at least 1; got the sums \[3.0, 4.0\]"):
        D.Multinomial.fit([[2, 1, 1], [0, 3, 0]])
    with pytest.raises(ValueError, match=r"Multinomial\.fit: x must be rows of numbers, got shape \(\)"):
        D.Multinomial.fit(3.0)
    for column in ([3], [[3], [3]]):
        with pytest.raises(
            ValueError, match=r"Multinomial\.fit: x must be rows of at least two counts, got shape"
        ):
            D.Multinomial.fit(column)
    with pytest.raises(ValueError, match=r"^x must be an array of shape \(n_samples,\); got 'abc'\.$"):
        D.Multinomial.fit("abc")

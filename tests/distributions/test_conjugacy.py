"""Conjugate priors, predictive distributions and entropies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from tercet import distributions as D
from tercet.metrics.information import kl_dirichlet

V = np.array([[2.0, 0.6], [0.6, 1.0]])


@pytest.mark.parametrize(
    ("member", "peer"),
    [
        (D.GaussianKnownVariance(1.5, 2.0), stats.norm(1.5, np.sqrt(2.0))),
        (D.Gaussian(-0.5, 3.0), stats.norm(-0.5, np.sqrt(3.0))),
        (D.Exponential(0.7), stats.expon(scale=1 / 0.7)),
        (D.Gamma(2.5, 1.4), stats.gamma(2.5, scale=1.4)),
        (D.Beta(2.0, 3.5), stats.beta(2.0, 3.5)),
        (D.Bernoulli(0.3), stats.bernoulli(0.3)),
        (D.Poisson(2.5), stats.poisson(2.5)),
        (D.Poisson(400.0), stats.poisson(400.0)),
        (D.Multinomial([0.5, 0.3, 0.2], trials=4), stats.multinomial(4, [0.5, 0.3, 0.2])),
        (D.Dirichlet([1.0, 2.0, 3.0]), stats.dirichlet([1.0, 2.0, 3.0])),
        (D.MultivariateNormal([0.5, -1.0], V), stats.multivariate_normal([0.5, -1.0], V)),
        (D.Wishart(5.5, V), stats.wishart(5.5, V)),
        (D.Uniform(1, 3), stats.uniform(1, 2)),
    ],
    ids=lambda v: repr(v)[:30],
)
def test_entropies_are_those_of_scipy(member, peer):
    assert member.entropy == pytest.approx(float(peer.entropy()), rel=1e-6)


def test_entropies_of_certain_outcomes():
    rates = [0.999e5, 1.001e5]  # a sum below, an expansion above
    assert np.diff([D.Poisson(rate).entropy for rate in rates]) == pytest.approx(
        0.5 * np.log(1.001 / 0.999), abs=1e-8
    )
    assert D.Poisson(1e15).entropy == pytest.approx(0.5 * np.log(2 * np.pi * np.e * 1e15))
    assert D.Bernoulli(0.0).entropy == D.Bernoulli(1.0).entropy == 0
    assert D.Categorical([0, 1]).entropy == pytest.approx(0, abs=1e-14)
    assert D.Categorical([0.5, 0.25, 0.25]).entropy == pytest.approx(1.5 * np.log(2))
    assert D.Multinomial([0.0, 1.0], 3).entropy == pytest.approx(0, abs=1e-12)


def test_beta_posterior_is_bayes_rule():
    prior = D.Beta(2.0, 3.0)
    after = prior.posterior(4, 1)
    assert (after.a, after.b) == (6.0, 4.0)
    evidence = integrate.quad(lambda t: prior.pdf(t) * t**4 * (1 - t), 0, 1)[0]
    assert np.exp(prior.log_evidence(4, 1)) == pytest.approx(evidence)
    assert after.pdf(0.3) == pytest.approx(prior.pdf(0.3) * 0.3**4 * 0.7 / evidence)
    # one result after the other is the same as all at once
    assert (after.a, after.b) == (prior.posterior(4, 0).posterior(0, 1).a, prior.posterior(0, 1).b)
    # predictive probability of a success: the posterior mean
    assert np.exp(after.log_evidence(1, 0)) == pytest.approx(after.mean)
    assert D.Beta(1, 1).logpdf(0.3) == pytest.approx(0)


def test_dirichlet_posterior_evidence_and_predictive():
    prior, counts = D.Dirichlet([0.5, 1.5, 2.0]), [3, 0, 2]
    after = prior.posterior(counts)
    assert_allclose(after.alpha, [3.5, 1.5, 4.0])
    assert_allclose(after.mean, np.array([3.5, 1.5, 4.0]) / 9)
    assert_allclose(after.mode, np.array([2.5, 0.5, 3.0]) / 6)
    sequence = np.log(0.5 / 4 * 1.5 / 5 * 2.5 / 6 * 2 / 7 * 3 / 8)
    assert prior.log_evidence(counts) == pytest.approx(sequence)
    assert_allclose(prior.log_evidence([counts, [0, 0, 0]]), [sequence, 0], atol=1e-12)
    # B(α + n) / B(α) is E[Π θ^n]
    draws = prior.sample(200_000, random_state=0)
    assert np.exp(sequence) == pytest.approx(np.prod(draws ** np.array(counts), axis=1).mean(), rel=0.05)
    assert_allclose(np.exp(after.log_evidence(np.eye(3))), after.mean)
    assert after.kl(prior) == pytest.approx(float(kl_dirichlet(after.alpha, prior.alpha)))


def test_moments_and_marginals_of_the_dirichlet():
    member = D.Dirichlet([2, 3, 5])
    assert_allclose(member.covariance, stats.dirichlet([2, 3, 5]).cov())
    assert_allclose(np.diag(member.covariance), member.var)
    assert_allclose(member.covariance.sum(axis=1), 0, atol=1e-15)
    assert (member.marginal(1).a, member.marginal(1).b) == (3.0, 7.0)
    assert member.marginal(1).var == pytest.approx(member.var[1])
    best = member.logpdf(member.mode)
    for move in ([0.01, -0.01, 0], [0, 0.01, -0.01], [-0.01, 0, 0.01]):
        assert member.logpdf(member.mode + move) < best


def test_special_cases_of_the_dirichlet():
    pair, beta = D.Dirichlet([2.0, 3.5]), D.Beta(2.0, 3.5)
    assert pair.logpdf([0.3, 0.7]) == pytest.approx(beta.logpdf(0.3))
    assert_allclose(pair.mean_statistics, beta.mean_statistics)
    assert (pair.log_partition, pair.entropy) == pytest.approx((beta.log_partition, beta.entropy))
    one = D.DirichletMultinomial([2.0, 3.0, 5.0])
    assert_allclose(one.pdf(np.eye(3)), D.Categorical([0.2, 0.3, 0.5]).pdf([0, 1, 2]))
    # the normaliser holds Gamma(x + 1) = x Gamma(x): B(x, 1) = 1 / x, B(m, n) of whole numbers by factorials
    for x in (0.5, 3.0, 40.0):
        assert np.exp(D.Beta(x, 1).log_partition) == pytest.approx(1 / x)
    assert np.exp(D.Dirichlet([3, 4, 2]).log_partition) == pytest.approx(2 * 6 * 1 / 40320)


def test_predictive_counts():
    member, peer = D.DirichletMultinomial([0.5, 1.5, 2.0], 4), stats.dirichlet_multinomial([0.5, 1.5, 2.0], 4)
    every = [[i, j, 4 - i - j] for i in range(5) for j in range(5 - i)]
    assert_allclose(member.logpdf(every), peer.logpmf(np.array(every)))
    assert member.pdf(every).sum() == pytest.approx(1)
    assert_allclose(member.mean, peer.mean())
    assert_allclose(member.covariance, peer.cov())
    x = member.sample(20_000, random_state=0)
    assert_allclose(x.mean(axis=0), member.mean, atol=0.05)
    assert_allclose(np.cov(x.T), member.covariance, atol=0.1)
    assert_allclose(member.pdf([[1, 1, 1], [-1, 2, 3], [0.5, 1.5, 2]]), 0)
    pair, theirs = D.BetaBinomial(2.0, 3.0, 6), stats.betabinom(6, 2.0, 3.0)
    assert_allclose(pair.logpdf(np.arange(7)), theirs.logpmf(np.arange(7)))
    assert (pair.mean, pair.var) == pytest.approx((theirs.mean(), theirs.var()))
    assert_allclose(pair.pdf([-1, 7, 2.5]), 0)
    assert np.mean(pair.sample(20_000, random_state=1)) == pytest.approx(pair.mean, abs=0.05)
    assert np.shape(pair.sample(random_state=0)) == ()
    # Bayes on counts: prior predictive times posterior = likelihood times prior
    counts, theta = np.array([1, 2, 1]), np.array([0.2, 0.5, 0.3])
    left = member.logpdf(counts) + member.prior.posterior(counts).logpdf(theta)
    right = D.Multinomial(theta, 4).logpdf(counts) + member.prior.logpdf(theta)
    assert left == pytest.approx(right)


def test_order_statistics_of_uniform_numbers():
    draws = np.sort(np.random.default_rng(0).random((4000, 10)), axis=1)
    for k in (1, 7, 10):
        member = D.Beta.order_statistic(k, 10)
        assert stats.kstest(draws[:, k - 1], stats.beta(member.a, member.b).cdf).pvalue > 0.01


def test_uniform_numbers():
    one, peer, x = D.Uniform(-1, 3), stats.uniform(-1, 4), np.linspace(-2, 4, 13)
    assert_allclose(one.cdf(x), peer.cdf(x))
    assert_allclose(one.pdf(x), peer.pdf(x))
    assert_allclose(one.quantile([0, 0.3, 1]), peer.ppf([0, 0.3, 1]))
    assert (one.mean, one.var) == pytest.approx((peer.mean(), peer.var()))
    assert stats.kstest(one.sample(2000, random_state=0), peer.cdf).pvalue > 0.01


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: D.Dirichlet([1, 1]).posterior([-1, 2]), "counts must be finite and at least 0"),
        (lambda: D.Dirichlet([1, 1]).log_evidence([np.nan, 2]), "counts must be finite and at least 0"),
        (lambda: D.Dirichlet([1, 1]).posterior([1, 2, 3]), "2 entries along its last axis"),
        (lambda: D.Dirichlet([1, 2]).mode, "every alpha above 1"),
        (lambda: D.Dirichlet([1, 2]).marginal(2), "k must be an outcome from 0 to 1, got 2"),
        (lambda: D.Beta(1, 1).posterior(-1, 0), "ones, zeros must be finite and at least 0"),
        (lambda: D.Beta.order_statistic(0, 3), "k must be a whole number from 1 to n = 3, got 0"),
        (lambda: D.BetaBinomial(0, 1, 2), "a must be finite and above 0, got 0"),
        (lambda: D.DirichletMultinomial([1, 1], 0), "trials must be a whole number, at least 1, got 0"),
        (lambda: D.Uniform(1, 1), "low must be below high, both finite, got low=1, high=1"),
        (lambda: D.Uniform().quantile(1.2), r"p must lie in \[0, 1\]"),
    ],
)
def test_words_of_errors(make, words):
    with pytest.raises(ValueError, match=words):
        make()

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate

from tercet import distributions as D
from tercet.losses import Log
from tercet.penalties import L1, L2, structural_risk

# priors are penalties


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=6), st.floats(0.1, 10))
def test_minus_log_prior_is_the_penalty_up_to_a_constant(w, strength):
    w = np.array(w)
    laplace = D.Laplace(0, 1 / strength)
    gaussian = D.Gaussian(0, 1 / (2 * strength))
    for prior, one in [(laplace, L1(strength)), (gaussian, L2(strength))]:
        rise = prior.logpdf(np.zeros_like(w)).sum() - prior.logpdf(w).sum()
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
    grid = D.posterior(theta, prior.pdf(theta), bernoulli_log_likelihood, x)
    exact = D.bernoulli_estimates(x, prior)
    assert_allclose(grid.probability * 2000, exact.posterior.pdf(theta), atol=1e-5)
    assert grid.mean == pytest.approx(exact.mean, abs=1e-6)
    assert grid.mode == pytest.approx(exact.map, abs=5e-4)
    assert grid.log_evidence == pytest.approx(exact.log_evidence, abs=1e-5)
    predictive = grid.predictive(lambda new, t: D.Bernoulli(t).pdf(new), np.array([0, 1]))
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
    grid = D.posterior(theta, prior.pdf(theta), bernoulli_log_likelihood, x)
    risks = [structural_risk(Log().value(x, np.full(4, t)), -prior.logpdf(t), 1 / 4) for t in theta]
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
        lambda t: D.Gamma(np.exp(t[0]), np.exp(t[1])).logpdf(x), start=[0.0, 0.0]
    )
    closed = D.Gamma.fit(x)
    assert np.exp([log_shape, log_scale]) == pytest.approx([closed.shape, closed.scale], rel=1e-4)
    # ridge is least squares with a Gaussian prior
    a, y = np.array([[1.0, 0], [1, 1], [1, 2]]), np.array([1.0, 2, 4])
    w = D.maximum_likelihood(
        lambda w: D.Gaussian().logpdf(y - a @ w),
        [0, 0],
        log_prior=lambda w: D.Gaussian(0, 1).logpdf(w),
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

"""Densities, distribution functions, quantiles, moments and draws of every distribution, and errors of `fit`."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

from tercet import distributions as D

V = np.array([[2.0, 0.6], [0.6, 1.0]])
P = [0.5, 0.0, 0.3, 0.2]
GRID = D.GridPosterior(np.array([2.0, 0.5, 1.0]), np.array([0.2, 0.5, 0.3]), 0.0, np.zeros(3))
# Each distribution of the package, and the same by SciPy where it has one.
CONTINUOUS = {
    D.GaussianKnownVariance(1.5, 2.0): stats.norm(1.5, np.sqrt(2.0)),
    D.Gaussian(-0.5, 3.0): stats.norm(-0.5, np.sqrt(3.0)),
    D.Exponential(0.7): stats.expon(scale=1 / 0.7),
    D.Gamma(2.5, 1.4): stats.gamma(2.5, scale=1.4),
    D.Gamma(0.6, 3.0): stats.gamma(0.6, scale=3.0),
    D.Gamma(1.0, 2.0): stats.gamma(1.0, scale=2.0),
    D.Beta(2.0, 3.5): stats.beta(2.0, 3.5),
    D.Beta(0.4, 1.0): stats.beta(0.4, 1.0),
    D.LogisticDistribution(1.0, 2.0): stats.logistic(1.0, 2.0),
    D.Laplace(-1.0, 0.5): stats.laplace(-1.0, 0.5),
    D.Uniform(1.0, 3.0): stats.uniform(1.0, 2.0),
}
DISCRETE = {
    D.Bernoulli(0.3): stats.bernoulli(0.3),
    D.Poisson(2.5): stats.poisson(2.5),
    D.Poisson(1e4): stats.poisson(1e4),
    D.BetaBinomial(2.0, 0.7, 9): stats.betabinom(9, 2.0, 0.7),
    D.Categorical(P): stats.rv_discrete(values=(np.arange(4), P)),
    GRID: None,
}
VECTORS = {
    D.Multinomial([0.5, 0.3, 0.2], 4): stats.multinomial(4, [0.5, 0.3, 0.2]),
    D.DirichletMultinomial([1.5, 0.7, 3.0], 5): stats.dirichlet_multinomial([1.5, 0.7, 3.0], 5),
    D.Dirichlet([1.0, 2.0, 3.0]): stats.dirichlet([1.0, 2.0, 3.0]),
    D.MultivariateNormal([0.5, -1.0], V): stats.multivariate_normal([0.5, -1.0], V, seed=0),
    D.Wishart(5.5, V): stats.wishart(5.5, V),
}
NUMBERS = {**CONTINUOUS, **DISCRETE}
EVERY = [*NUMBERS, *VECTORS]
FAMILIES = [kind for kind in {type(member): None for member in EVERY} if hasattr(kind, "fit")]
UNDEFINED = {
    (D.Multinomial, "quantile"),
    (D.DirichletMultinomial, "quantile"),
    (D.MultivariateNormal, "quantile"),
    (D.Dirichlet, "cdf"),
    (D.Dirichlet, "quantile"),
    (D.Wishart, "cdf"),
    (D.Wishart, "quantile"),
}


def named(value):
    return repr(value)[:40] if isinstance(value, D.Distribution) else ""


def points(member):
    """Values inside the support and outside, whole numbers and others."""
    x = member.sample(60, random_state=1)
    return np.concatenate([x, x + 0.25, x - 1.0, [-1.0, 0.0, 1.0, 2.0, 50.0]])


def test_every_distribution_of_the_package_is_here():
    kinds = {kind for _, kind in inspect.getmembers(D, inspect.isclass) if issubclass(kind, D.Distribution)}
    assert kinds - {D.Distribution, D.ExponentialFamily} == {type(member) for member in EVERY}
    answers = {"logpdf", "pdf", "cdf", "quantile", "mean", "var", "sample"}
    assert [member for member in EVERY if not all(hasattr(member, name) for name in answers)] == []


@pytest.mark.parametrize(("member", "peer"), NUMBERS.items(), ids=named)
def test_agreement_with_scipy(member, peer):
    if peer is None:  # a grid: the peer counts its values
        peer = stats.rv_discrete(values=(np.arange(3), member.probability[np.argsort(member.theta)]))
        values = np.sort(member.theta)
        assert_allclose(member.cdf(values), peer.cdf(np.arange(3)))
        assert_allclose(member.quantile([0.0, 0.3, 0.5, 0.9, 1.0]), [0.5, 0.5, 0.5, 2.0, 2.0])
        assert_allclose([member.mean, member.var], [0.95, 0.3225])
        return
    x = points(member)
    density = peer.logpdf if member in CONTINUOUS else peer.logpmf
    with np.errstate(divide="ignore"):
        assert_allclose(member.logpdf(x), density(x), rtol=1e-9, atol=1e-12)
    assert_allclose(member.pdf(x), np.exp(member.logpdf(x)))
    assert_allclose(member.cdf(x), peer.cdf(x), rtol=1e-10)
    assert_array_equal(member.logpdf([-np.inf, np.inf]), -np.inf)
    assert_array_equal(member.cdf([-np.inf, np.inf]), [0, 1])
    p = np.array([1e-12, 0.01, 0.2, 0.5, 0.77, 0.999, 1.0])
    assert_allclose(member.quantile(p), peer.ppf(p), rtol=1e-9)
    if not isinstance(member, D.Categorical):
        assert_allclose([member.mean, member.var], peer.stats("mv"))


@pytest.mark.parametrize("member", NUMBERS, ids=named)
def test_quantile_inverts_cdf(member):
    x = member.sample(50, random_state=2)
    assert_allclose(member.quantile(member.cdf(x)), x, rtol=1e-6)
    p = np.linspace(0.001, 0.999, 50).reshape(5, 10)
    q = member.quantile(p)
    assert q.shape == p.shape
    assert (member.cdf(q) >= p * (1 - 1e-12)).all()
    assert (member.cdf(q - 1e-6 * (1 + abs(q))) <= p).all()
    low, high = member.quantile([0.0, 1.0])
    assert member.cdf(low - 1e-9) == 0
    assert member.cdf(high) == pytest.approx(1)


@pytest.mark.parametrize("member", NUMBERS, ids=named)
def test_masses_sum_to_one_and_densities_integrate_to_the_cdf(member):
    if member in CONTINUOUS:
        low, high = member.quantile([0.05, 0.999])
        nodes, weights = np.polynomial.legendre.leggauss(100)
        halves = np.array([[low, member.quantile(0.5)], [member.quantile(0.5), high]])
        half = np.diff(halves, axis=1) / 2
        total = (half * weights * member.pdf(halves.mean(axis=1, keepdims=True) + half * nodes)).sum()
        assert total == pytest.approx(0.949, rel=1e-7)
    else:
        x = np.sort(GRID.theta) if member is GRID else np.arange(member.quantile(1 - 1e-13) + 1)
        assert_allclose(np.cumsum(member.pdf(x)), member.cdf(x), rtol=1e-9, atol=1e-300)
        assert member.pdf(x).sum() == pytest.approx(1)


@pytest.mark.parametrize("member", EVERY, ids=named)
def test_samples_have_the_moments_and_obey_the_seed(member):
    x = member.sample(20_000, random_state=3)
    assert_array_equal(member.sample((2, 3), np.random.default_rng(8)), member.sample((2, 3), 8))
    assert member.sample((2, 3), 8).shape == (2, 3, *x.shape[1:])
    assert np.shape(member.sample(random_state=0)) == x.shape[1:]
    assert (member.sample(50, 1) != member.sample(50, 2)).any()
    if isinstance(member, D.Categorical):
        x = x[:, None] == np.arange(4)
    error = np.abs(x.mean(axis=0) - member.mean)
    assert (error <= 4.5 * np.sqrt(np.asarray(member.var) / len(x))).all()
    assert_allclose(x.var(axis=0), member.var, rtol=0.15)


@pytest.mark.parametrize("member", EVERY, ids=named)
def test_one_observation_many_none_and_nan(member):
    x = np.asarray(member.sample((2, 3), random_state=0), dtype=float)
    for name in ("logpdf", "pdf", "cdf"):
        if (type(member), name) in UNDEFINED:
            continue
        ask = getattr(member, name)
        found = ask(x)
        assert found.shape == (2, 3)
        assert np.ndim(ask(x[1, 2])) == 0
        assert_allclose(ask(x[1, 2]), found[1, 2])
        assert ask(x[:0, 0]).shape == (0,)
        with_nan = x.copy()
        with_nan[0, 1] = np.nan
        missing = np.zeros((2, 3), dtype=bool)
        missing[0, 1] = True
        assert_array_equal(np.isnan(ask(with_nan)), missing)


@pytest.mark.parametrize(
    ("kind", "name"), sorted(UNDEFINED, key=str), ids=lambda v: getattr(v, "__name__", v)
)
def test_what_is_not_defined_says_why(kind, name):
    member = next(member for member in VECTORS if type(member) is kind)
    with pytest.raises(NotImplementedError, match=rf"^{kind.__name__}.{name} is not defined: \w+ .*[.]$"):
        getattr(member, name)(0.5)


@pytest.mark.parametrize("p", [-0.1, 1.1, np.nan])
def test_probabilities_outside_of_the_unit_interval(p):
    for member in NUMBERS:
        with pytest.raises(ValueError, match=r"p must lie in \[0, 1\], got "):
            member.quantile([0.5, p])


# vectors


@pytest.mark.parametrize(("member", "peer"), VECTORS.items(), ids=named)
def test_densities_of_vectors_agree_with_scipy(member, peer):
    x = member.sample(20, random_state=1)
    if isinstance(member, D.Dirichlet | D.Wishart):
        theirs = [peer.logpdf(row) for row in x]
    else:
        theirs = peer.logpmf(x) if hasattr(peer, "logpmf") else peer.logpdf(x)
    assert_allclose(member.logpdf(x), theirs, rtol=1e-9)


@pytest.mark.parametrize("member", list(VECTORS)[:2], ids=named)
def test_joint_distribution_function_of_counts(member):
    n, k = member.trials, 3
    table = np.stack(np.meshgrid(*[np.arange(n + 1)] * k, indexing="ij"), axis=-1)
    mass = member.pdf(table)
    assert mass.sum() == pytest.approx(1)
    expected = mass.cumsum(axis=0).cumsum(axis=1).cumsum(axis=2)
    assert_allclose(member.cdf(table), expected, atol=1e-14)
    assert_allclose(member.cdf([[n, n, 1.7], [n, -0.5, n], [np.inf] * 3]), [expected[n, n, 1], 0, 1])
    # a marginal count is binomial, or beta-binomial
    marginal = [member.cdf([j, n, n]) for j in range(n + 1)]
    if isinstance(member, D.Multinomial):
        assert_allclose(marginal, stats.binom(n, 0.5).cdf(np.arange(n + 1)))
    else:
        assert_allclose(marginal, D.BetaBinomial(1.5, 3.7, n).cdf(np.arange(n + 1)))
    certain = D.Multinomial([0.0, 1.0], 3)
    assert_allclose(certain.cdf([[0, 3], [0, 2], [3, 3]]), [1, 0, 1])


def test_joint_distribution_function_of_a_normal_vector():
    one = D.MultivariateNormal([1.0], [[4.0]])
    assert_allclose(one.cdf([[2.0], [-3.0]]), D.Gaussian(1, 4).cdf([2.0, -3.0]), atol=1e-7)
    independent = D.MultivariateNormal([0.0, 1.0, 2.0], np.diag([1.0, 4.0, 9.0]))
    x = np.array([[0.5, 0.0, 3.0], [-4.0, 1.0, np.inf], [-np.inf, 0.0, 0.0]])
    expected = stats.norm([0, 1, 2], [1, 2, 3]).cdf(x).prod(axis=1)
    assert_allclose(independent.cdf(x), expected, rtol=1e-4, atol=1e-12)
    # the orthant of two normal numbers with correlation r: 1/4 + arcsin(r) / (2 pi)
    pair = D.MultivariateNormal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])
    assert pair.cdf([0.0, 0.0]) == pytest.approx(1 / 3, abs=1e-5)
    assert pair.cdf([0.3, 0.1]) == pair.cdf([[0.3, 0.1]])[0]  # the same points each time


def test_mean_and_variance_of_a_posterior_of_vectors():
    posterior = D.GridPosterior(np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([0.5, 0.5]), 0.0, np.zeros(2))
    assert_allclose([posterior.mean, posterior.var], [[1, 2], [1, 1]])
    assert_allclose(posterior.pdf([[2.0, 3.0], [2.0, 1.0]]), [0.5, 0])
    assert posterior.sample(4, 0).shape == (4, 2)
    with pytest.raises(
        NotImplementedError, match=r"GridPosterior.cdf is not defined: vectors theta have no order"
    ):
        posterior.cdf([0.0, 1.0])


# tails


def test_far_tails_keep_their_digits():
    small = np.array([1e-150, 1e-100, 1e-20])
    for member in (
        D.Gaussian(),
        D.LogisticDistribution(),
        D.Laplace(),
        D.Exponential(),
        D.Gamma(0.5),
        D.Beta(0.5, 3),
    ):
        assert_allclose(member.cdf(member.quantile(small)), small, rtol=1e-9)
    assert_allclose(D.Poisson(400.0).cdf([150, 100]), stats.poisson(400.0).cdf([150, 100]), rtol=1e-9)
    assert_allclose(D.Poisson(400.0).quantile([1e-30, 1e-60]), stats.poisson(400.0).ppf([1e-30, 1e-60]))
    assert_allclose(
        D.Multinomial([1e-12, 1 - 1e-12], 30).cdf([30, 5]), special.binom(30, 5) * 1e-300, rtol=1e-9
    )


# fit

NO_DATA = {
    "another shape": (
        np.ones((2, 2, 2, 2)),
        "x must be (one column|rows) of numbers|x must be a stack of square|x must be integers",
    ),
    "no observation": ([], r"x must hold at least one observation|got shape|not empty"),
    "strings": (["a", "b"], "x must (hold numbers|be integers)"),
    "unequal rows": ([[1], [2, 3]], r"x must hold one value for each row; x\[0\] is \[1\]"),
    "nothing": (None, "x must be "),
    "dates": (np.array(["2020-01-01"], dtype="datetime64[D]"), "x must (hold real numbers|be integers)"),
    "complex": (np.array([1j, 2]), "x must (hold real numbers|be integers)"),
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_fit_refuses_what_is_no_data(kind):
    for x, message in NO_DATA.values():
        with pytest.raises((ValueError, TypeError), match=message):
            kind.fit(x)


@pytest.mark.parametrize("member", [m for m in EVERY if type(m) in FAMILIES], ids=named)
def test_fit_refuses_nan_and_wrong_weights(member):
    kind, x = type(member), member.sample(6, random_state=0)
    with pytest.raises(
        ValueError, match=r"sample_weight must hold one weight for each observation, shape \(6,\)"
    ):
        kind.fit(x, [1.0, 2.0])
    for weight in (np.zeros(6), -np.ones(6), np.full(6, np.nan)):
        with pytest.raises(ValueError, match="sample_weight must be finite, at least 0 and not all 0"):
            kind.fit(x, weight)
    for wrong in (np.nan, np.inf):
        bad = np.array(x, dtype=float)
        bad[(2, *np.zeros(x.ndim - 1, dtype=int))] = wrong
        with pytest.raises(ValueError, match=r"x must be finite; x\[2.*\] is |x must be integers"):
            kind.fit(bad)


def test_fit_of_several_columns_names_the_distribution_of_rows():
    rows = np.random.default_rng(0).normal(size=(6, 2))
    for kind in (D.Gaussian, D.GaussianKnownVariance):
        message = rf"{kind.__name__}.fit: x must be one column of numbers, got shape \(6, 2\); Multi"
        with pytest.raises(ValueError, match=message):
            kind.fit(rows)
        assert kind.fit(rows[:, :1]).mean == kind.fit(rows[:, 0]).mean  # the one column of a frame


@pytest.mark.parametrize(
    ("kind", "x", "message"),
    [
        (D.Gaussian, [2.0, 2.0], "the variance of x must be finite and above 0; of these 2 it is 0.0"),
        (D.Gaussian, [1e200, -1e200], "the variance of x must be finite and above 0; of these 2 it is inf"),
        (D.Gamma, [2.0, 2.0, 2.0 + 1e-12], "the observations hardly differ, and the likelihood has no bound"),
        (
            D.Beta,
            [0.5, 0.5],
            "Beta.fit: x has no estimate of maximum likelihood: the observations hardly differ",
        ),
        (D.Dirichlet, [[0.5, 0.5], [0.5, 0.5]], "Dirichlet.fit: x has no estimate of maximum likelihood"),
        (
            D.Poisson,
            [0, 0],
            "Poisson.fit: x has no estimate of maximum likelihood: rate must be finite",
        ),
        (D.Exponential, [0.0, 0.0], "Exponential.fit: x has no estimate of maximum likelihood"),
        (D.Poisson, [3, -1], "x must lie inside the support of Poisson, got -1.0"),
        (D.Bernoulli, [0, 7, 1], "x must lie inside the support of Bernoulli, got 7.0"),
        (D.Dirichlet, [[0.5, 0.5], [0.0, 1.0]], r"x must lie inside the support of Dirichlet, got \[0. 1.\]"),
    ],
)
def test_fit_says_why_there_is_no_estimate(kind, x, message):
    with pytest.raises(ValueError, match=message):
        kind.fit(x)


def test_parameters_must_be_numbers():
    for make in (D.Gaussian, D.GaussianKnownVariance, D.Laplace, D.LogisticDistribution):
        with pytest.raises(ValueError, match=r"(mean|location) must be finite, got nan"):
            make(np.nan)


# Gamma and Beta functions


def test_gamma_function_of_the_text():
    n = np.arange(1, 20)
    assert_allclose(D.gamma_function(n), [float(np.prod(np.arange(1.0, k))) for k in n])
    x = np.array([0.1, 0.5, 1.5, 7.3, -0.5, -3.7])
    assert_allclose(D.gamma_function(x + 1), x * D.gamma_function(x))
    assert D.gamma_function(0.5) == pytest.approx(np.sqrt(np.pi))
    nodes, weights = np.polynomial.laguerre.laggauss(40)  # the integral that defines it
    assert D.gamma_function(5.0) == pytest.approx(weights @ nodes**4)
    assert D.gamma_function(500.0, log=True) == pytest.approx(np.log(np.arange(1.0, 500)).sum())
    assert_allclose(D.gamma_function(x[:4], log=True), np.log(D.gamma_function(x[:4])))
    for pole in (0, -2, [1.0, -1.0], -np.inf):
        with pytest.raises(ValueError, match=r"no 0 and no negative integer, the poles of the function; got"):
            D.gamma_function(pole)
    with pytest.raises(ValueError, match=r"x must be above 0 with log=True; got -0.5"):
        D.gamma_function(-0.5, log=True)


def test_beta_function_of_the_text():
    a, b = np.array([0.5, 2.0, 7.0]), np.array([0.5, 3.0, 4.0])
    of_gamma = D.gamma_function(a) * D.gamma_function(b) / D.gamma_function(a + b)
    assert_allclose(D.beta_function(a, b), of_gamma)
    assert_allclose(D.beta_function(a, b, log=True), [D.Beta(*pair).log_partition for pair in zip(a, b)])
    # eq. 5.8: the density of the 7th smallest of 10 uniform numbers is x^6 (1 - x)^3 / B(7, 4)
    x = np.array([0.2, 2 / 3])
    assert_allclose(D.Beta.order_statistic(7, 10).pdf(x), x**6 * (1 - x) ** 3 / D.beta_function(7, 4))
    smallest = np.sort(np.random.default_rng(0).random((4000, 10)), axis=1)[:, 6]
    assert stats.kstest(smallest, D.Beta.order_statistic(7, 10).cdf).pvalue > 0.01
    with pytest.raises(ValueError, match=r"beta_function: b must be above 0; got 0.0"):
        D.beta_function(1.0, [2.0, 0.0])

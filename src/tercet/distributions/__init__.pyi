from tercet.distributions.base import Distribution, ExponentialFamily
from tercet.distributions.compound import BetaBinomial, DirichletMultinomial
from tercet.distributions.estimation import (
    BernoulliEstimates,
    GridPosterior,
    bernoulli_estimates,
    gaussian_noise_log_likelihood,
    maximum_likelihood,
    posterior,
)
from tercet.distributions.location_scale import Laplace, LogisticDistribution, Uniform
from tercet.distributions.multivariate import (
    Categorical,
    Dirichlet,
    Multinomial,
    expected_log_dirichlet,
)
from tercet.distributions.multivariate_normal import MultivariateNormal
from tercet.distributions.one_parameter import Bernoulli, Exponential, GaussianKnownVariance, Poisson
from tercet.distributions.probability_tables import (
    conditional,
    decide,
    feature_expectation,
    joint_table,
    marginal,
    normalise,
    product,
)
from tercet.distributions.two_parameter import Beta, Gamma, Gaussian, beta_function, gamma_function
from tercet.distributions.wishart import Wishart

__all__ = [
    "Bernoulli",
    "BernoulliEstimates",
    "Beta",
    "BetaBinomial",
    "Categorical",
    "Dirichlet",
    "DirichletMultinomial",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "Gamma",
    "Gaussian",
    "GaussianKnownVariance",
    "GridPosterior",
    "Laplace",
    "LogisticDistribution",
    "Multinomial",
    "MultivariateNormal",
    "Poisson",
    "Uniform",
    "Wishart",
    "bernoulli_estimates",
    "beta_function",
    "conditional",
    "decide",
    "expected_log_dirichlet",
    "feature_expectation",
    "gamma_function",
    "gaussian_noise_log_likelihood",
    "joint_table",
    "marginal",
    "maximum_likelihood",
    "normalise",
    "posterior",
    "product",
]

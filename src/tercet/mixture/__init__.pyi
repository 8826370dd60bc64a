from tercet.mixture._engine.gaussian_components import GaussianComponents
from tercet.mixture._engine.gaussian_parameters import GaussianParameters
from tercet.mixture.bayesian_gaussian_mixture import BayesianGaussianMixture
from tercet.mixture.bernoulli_mixture import BernoulliMixture
from tercet.mixture.categorical_mixture import CategoricalMixture
from tercet.mixture.components import gaussian_shapes
from tercet.mixture.gaussian_mixture import GaussianMixture, gaussian_mixture_step
from tercet.mixture.gaussian_mixture_ic import GaussianMixtureIC
from tercet.mixture.multinomial_mixture import MultinomialMixture
from tercet.mixture.three_coins import ThreeCoins

__all__ = [
    "BayesianGaussianMixture",
    "BernoulliMixture",
    "CategoricalMixture",
    "GaussianComponents",
    "GaussianMixture",
    "GaussianMixtureIC",
    "GaussianParameters",
    "MultinomialMixture",
    "ThreeCoins",
    "gaussian_mixture_step",
    "gaussian_shapes",
]

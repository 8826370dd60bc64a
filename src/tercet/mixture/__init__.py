"""Mixtures of distributions."""

from tercet.mixture.bayesian import BayesianGaussianMixture
from tercet.mixture.bernoulli import BernoulliMixture
from tercet.mixture.categorical import CategoricalMixture
from tercet.mixture.choice import GaussianMixtureIC
from tercet.mixture.gaussian import GaussianMixture
from tercet.mixture.multinomial import MultinomialMixture
from tercet.mixture.three_coins import ThreeCoins

__all__ = [
    "BayesianGaussianMixture",
    "BernoulliMixture",
    "CategoricalMixture",
    "GaussianMixture",
    "GaussianMixtureIC",
    "MultinomialMixture",
    "ThreeCoins",
]

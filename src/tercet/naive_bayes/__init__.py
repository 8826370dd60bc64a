"""Bayes decisions, and classifiers that learn the joint probability of a row and its class."""

from tercet.naive_bayes.bernoulli import BernoulliNB
from tercet.naive_bayes.categorical import CategoricalNB
from tercet.naive_bayes.complement import ComplementNB
from tercet.naive_bayes.counting import parameter_counts
from tercet.naive_bayes.decision import (
    BayesDecisionClassifier,
    bayes_decision,
    bayes_risk,
    conditional_risk,
    posterior,
)
from tercet.naive_bayes.gaussian import GaussianNB
from tercet.naive_bayes.k_dependence import KDB
from tercet.naive_bayes.kernel_density import KernelDensityNB
from tercet.naive_bayes.mixed import MixedNB
from tercet.naive_bayes.multinomial import MultinomialNB
from tercet.naive_bayes.one_dependence import OneDependenceClassifier
from tercet.naive_bayes.super_parent import AODE, SPODE
from tercet.naive_bayes.tan import TAN

__all__ = [
    "AODE",
    "KDB",
    "SPODE",
    "TAN",
    "BayesDecisionClassifier",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "KernelDensityNB",
    "MixedNB",
    "MultinomialNB",
    "OneDependenceClassifier",
    "bayes_decision",
    "bayes_risk",
    "conditional_risk",
    "parameter_counts",
    "posterior",
]

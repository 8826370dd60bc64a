from tercet.naive_bayes.aode import AODE
from tercet.naive_bayes.bayes_decision_classifier import BayesDecisionClassifier
from tercet.naive_bayes.bernoulli_nb import BernoulliNB
from tercet.naive_bayes.categorical_nb import CategoricalNB
from tercet.naive_bayes.complement_nb import ComplementNB
from tercet.naive_bayes.decision_theory import bayes_decision, bayes_risk, conditional_risk, posterior
from tercet.naive_bayes.gaussian_nb import GaussianNB
from tercet.naive_bayes.kdb import KDB
from tercet.naive_bayes.kernel_density_nb import KernelDensityNB
from tercet.naive_bayes.mixed_nb import MixedNB
from tercet.naive_bayes.multinomial_nb import MultinomialNB
from tercet.naive_bayes.one_dependence_classifier import OneDependenceClassifier
from tercet.naive_bayes.parameter_counts import parameter_counts
from tercet.naive_bayes.spode import SPODE
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

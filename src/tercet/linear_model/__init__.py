"""Linear models."""

from tercet.linear_model.base import LinearClassifier, LinearRegressor
from tercet.linear_model.families import Link
from tercet.linear_model.glm import GeneralizedLinearRegressor
from tercet.linear_model.lasso import ElasticNet, Lasso
from tercet.linear_model.lasso_cv import ElasticNetCV, LassoCV
from tercet.linear_model.least_squares import LinearRegression
from tercet.linear_model.log_linear import LogLinearRegression
from tercet.linear_model.logistic import LogisticRegression
from tercet.linear_model.logistic_cv import LogisticRegressionCV
from tercet.linear_model.logistic_objective import LogisticObjective
from tercet.linear_model.maxent import MaxEnt
from tercet.linear_model.maxent_distribution import MaximumEntropy, max_entropy
from tercet.linear_model.online import OnlineTrace, learn_online
from tercet.linear_model.paths import enet_path, lasso_path
from tercet.linear_model.penalized import PenalizedRegressor
from tercet.linear_model.penalized_classifier import PenalizedClassifier
from tercet.linear_model.perceptron import Perceptron
from tercet.linear_model.polynomial import PolynomialRegression
from tercet.linear_model.ridge import Ridge, RidgeClassifier, tikhonov
from tercet.linear_model.ridge_cv import RidgeCV
from tercet.linear_model.separability import (
    NovikoffBound,
    Separability,
    functional_margin,
    hyperplane_distance,
    linear_separability,
    novikoff_bound,
    perceptron_loss,
)
from tercet.linear_model.sum_of_squares import SumOfSquares
from tercet.linear_model.tweedie import GammaRegressor, PoissonRegressor, TweedieRegressor

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "GammaRegressor",
    "GeneralizedLinearRegressor",
    "Lasso",
    "LassoCV",
    "LinearClassifier",
    "LinearRegression",
    "LinearRegressor",
    "Link",
    "LogLinearRegression",
    "LogisticObjective",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MaxEnt",
    "MaximumEntropy",
    "NovikoffBound",
    "OnlineTrace",
    "PenalizedClassifier",
    "PenalizedRegressor",
    "Perceptron",
    "PoissonRegressor",
    "PolynomialRegression",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "Separability",
    "SumOfSquares",
    "TweedieRegressor",
    "enet_path",
    "functional_margin",
    "hyperplane_distance",
    "lasso_path",
    "learn_online",
    "linear_separability",
    "max_entropy",
    "novikoff_bound",
    "perceptron_loss",
    "tikhonov",
]

from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    HuberRegressor,
    Lars,
    LarsCV,
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    MultiTaskLasso,
    MultiTaskLassoCV,
    OrthogonalMatchingPursuitCV,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    QuantileRegressor,
    RANSACRegressor,
    SGDClassifier,
    SGDOneClassSVM,
    SGDRegressor,
    TheilSenRegressor,
    lars_path,
    lars_path_gram,
)

from tercet.linear_model._logistic.logistic_objective import LogisticObjective
from tercet.linear_model.base import LinearClassifier, LinearRegressor
from tercet.linear_model.generalized.gamma_regressor import GammaRegressor
from tercet.linear_model.generalized.generalized_linear_regressor import GeneralizedLinearRegressor
from tercet.linear_model.generalized.link import Link
from tercet.linear_model.generalized.poisson_regressor import PoissonRegressor
from tercet.linear_model.generalized.tweedie_regressor import TweedieRegressor
from tercet.linear_model.lasso.elastic_net import ElasticNet, coordinate_sweep
from tercet.linear_model.lasso.elastic_net_cv import ElasticNetCV
from tercet.linear_model.lasso.lasso import Lasso
from tercet.linear_model.lasso.lasso_cv import LassoCV
from tercet.linear_model.lasso.regularization_path import enet_path, lasso_path
from tercet.linear_model.least_squares.linear_regression import LinearRegression
from tercet.linear_model.least_squares.log_linear_regression import LogLinearRegression
from tercet.linear_model.least_squares.polynomial_regression import PolynomialRegression
from tercet.linear_model.least_squares.ridge import Ridge
from tercet.linear_model.least_squares.ridge_classifier import RidgeClassifier
from tercet.linear_model.least_squares.ridge_classifier_cv import RidgeClassifierCV
from tercet.linear_model.least_squares.ridge_cv import RidgeCV
from tercet.linear_model.least_squares.ridge_regression import ridge_regression
from tercet.linear_model.least_squares.sum_of_squares import SumOfSquares
from tercet.linear_model.least_squares.tikhonov import tikhonov
from tercet.linear_model.logistic.average_gradient import average_gradient_pass
from tercet.linear_model.logistic.dual_coordinate_descent import logistic_dual_pass
from tercet.linear_model.logistic.logistic_regression import LogisticRegression, logistic_newton_step
from tercet.linear_model.logistic.logistic_regression_cv import LogisticRegressionCV
from tercet.linear_model.maxent.max_ent import MaxEnt, scaling_update
from tercet.linear_model.maxent.maximum_entropy import MaximumEntropy, max_entropy
from tercet.linear_model.online_learning import OnlineTrace, learn_online
from tercet.linear_model.penalized.penalized_classifier import PenalizedClassifier
from tercet.linear_model.penalized.penalized_regressor import PenalizedRegressor
from tercet.linear_model.perceptron import Perceptron
from tercet.linear_model.pursuit.orthogonal_matching_pursuit import OrthogonalMatchingPursuit
from tercet.linear_model.pursuit.orthogonal_mp import orthogonal_mp, orthogonal_mp_gram
from tercet.linear_model.separability import (
    NovikoffBound,
    Separability,
    functional_margin,
    hyperplane_distance,
    linear_separability,
    novikoff_bound,
    perceptron_loss,
)

__all__ = [
    "ARDRegression",
    "BayesianRidge",
    "ElasticNet",
    "ElasticNetCV",
    "GammaRegressor",
    "GeneralizedLinearRegressor",
    "HuberRegressor",
    "Lars",
    "LarsCV",
    "Lasso",
    "LassoCV",
    "LassoLars",
    "LassoLarsCV",
    "LassoLarsIC",
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
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "NovikoffBound",
    "OnlineTrace",
    "OrthogonalMatchingPursuit",
    "OrthogonalMatchingPursuitCV",
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
    "PenalizedClassifier",
    "PenalizedRegressor",
    "Perceptron",
    "PoissonRegressor",
    "PolynomialRegression",
    "QuantileRegressor",
    "RANSACRegressor",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "SGDClassifier",
    "SGDOneClassSVM",
    "SGDRegressor",
    "Separability",
    "SumOfSquares",
    "TheilSenRegressor",
    "TweedieRegressor",
    "average_gradient_pass",
    "coordinate_sweep",
    "enet_path",
    "functional_margin",
    "hyperplane_distance",
    "lars_path",
    "lars_path_gram",
    "lasso_path",
    "learn_online",
    "linear_separability",
    "logistic_dual_pass",
    "logistic_newton_step",
    "max_entropy",
    "novikoff_bound",
    "orthogonal_mp",
    "orthogonal_mp_gram",
    "perceptron_loss",
    "ridge_regression",
    "scaling_update",
    "tikhonov",
]

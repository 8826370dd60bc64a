from tercet.ensemble.ada_boost_classifier import AdaBoostClassifier
from tercet.ensemble.ada_boost_regressor import AdaBoostRegressor
from tercet.ensemble.adaboost_round import AdaBoostRound, adaboost_round, real_adaboost_round
from tercet.ensemble.base import BaseEnsemble
from tercet.ensemble.extra_trees_classifier import ExtraTreesClassifier
from tercet.ensemble.extra_trees_regressor import ExtraTreesRegressor
from tercet.ensemble.gradient_boosting_classifier import GradientBoostingClassifier
from tercet.ensemble.gradient_boosting_regressor import GradientBoostingRegressor
from tercet.ensemble.hist_gradient_boosting_classifier import HistGradientBoostingClassifier
from tercet.ensemble.hist_gradient_boosting_regressor import HistGradientBoostingRegressor
from tercet.ensemble.random_forest_classifier import RandomForestClassifier
from tercet.ensemble.random_forest_regressor import RandomForestRegressor
from tercet.ensemble.training_error_bounds import ErrorBounds, training_error_bounds

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "AdaBoostRound",
    "BaseEnsemble",
    "ErrorBounds",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "adaboost_round",
    "real_adaboost_round",
    "training_error_bounds",
]

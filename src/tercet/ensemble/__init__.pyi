from tercet.ensemble.bagging.bagging_classifier import BaggingClassifier
from tercet.ensemble.bagging.bagging_regressor import BaggingRegressor
from tercet.ensemble.base import BaseEnsemble
from tercet.ensemble.boosting.ada_boost_classifier import AdaBoostClassifier
from tercet.ensemble.boosting.ada_boost_regressor import AdaBoostRegressor
from tercet.ensemble.boosting.adaboost_round import AdaBoostRound, adaboost_round, real_adaboost_round
from tercet.ensemble.boosting.gradient_boosting_classifier import GradientBoostingClassifier
from tercet.ensemble.boosting.gradient_boosting_regressor import GradientBoostingRegressor
from tercet.ensemble.boosting.hist_gradient_boosting_classifier import HistGradientBoostingClassifier
from tercet.ensemble.boosting.hist_gradient_boosting_regressor import HistGradientBoostingRegressor
from tercet.ensemble.boosting.training_error_bounds import ErrorBounds, training_error_bounds
from tercet.ensemble.forest.extra_trees_classifier import ExtraTreesClassifier
from tercet.ensemble.forest.extra_trees_regressor import ExtraTreesRegressor
from tercet.ensemble.forest.isolation_forest import IsolationForest, average_path_length
from tercet.ensemble.forest.random_forest_classifier import RandomForestClassifier
from tercet.ensemble.forest.random_forest_regressor import RandomForestRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "AdaBoostRound",
    "BaggingClassifier",
    "BaggingRegressor",
    "BaseEnsemble",
    "ErrorBounds",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "adaboost_round",
    "average_path_length",
    "real_adaboost_round",
    "training_error_bounds",
]

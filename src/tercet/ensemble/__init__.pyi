from tercet.ensemble.bagging.bagging_classifier import BaggingClassifier
from tercet.ensemble.bagging.bagging_regressor import BaggingRegressor
from tercet.ensemble.base import BaseEnsemble
from tercet.ensemble.boosting.ada_boost_classifier import AdaBoostClassifier
from tercet.ensemble.boosting.ada_boost_regressor import AdaBoostRegressor
from tercet.ensemble.boosting.adaboost_round import AdaBoostRound, adaboost_round, real_adaboost_round
from tercet.ensemble.boosting.forward_stagewise import StagewiseFit, forward_stagewise
from tercet.ensemble.boosting.forward_stagewise_regressor import ForwardStagewiseRegressor
from tercet.ensemble.boosting.gradient_boosting_classifier import GradientBoostingClassifier
from tercet.ensemble.boosting.gradient_boosting_regressor import GradientBoostingRegressor
from tercet.ensemble.boosting.hist_gradient_boosting_classifier import HistGradientBoostingClassifier
from tercet.ensemble.boosting.hist_gradient_boosting_ranker import HistGradientBoostingRanker
from tercet.ensemble.boosting.hist_gradient_boosting_regressor import HistGradientBoostingRegressor
from tercet.ensemble.boosting.linear_boosting_classifier import LinearBoostingClassifier
from tercet.ensemble.boosting.linear_boosting_regressor import LinearBoostingRegressor
from tercet.ensemble.boosting.training_error_bounds import ErrorBounds, training_error_bounds
from tercet.ensemble.combination.averages import (
    combination_weights,
    least_squares_weights,
    simple_average,
    weighted_average,
)
from tercet.ensemble.combination.diversity import (
    Contingency,
    KappaError,
    contingency_table,
    correlation,
    disagreement,
    kappa,
    kappa_error,
    pairwise_diversity,
    q_statistic,
)
from tercet.ensemble.combination.error_ambiguity import ErrorAmbiguity, error_ambiguity
from tercet.ensemble.combination.multi_response_regression import MultiResponseRegression
from tercet.ensemble.combination.stacking_classifier import StackingClassifier
from tercet.ensemble.combination.stacking_regressor import StackingRegressor
from tercet.ensemble.combination.vote_error import VoteError, vote_error
from tercet.ensemble.combination.voting_classifier import VotingClassifier
from tercet.ensemble.combination.voting_regressor import VotingRegressor
from tercet.ensemble.combination.voting_rules import majority_vote, plurality_vote, weighted_vote
from tercet.ensemble.forest.extra_trees_classifier import ExtraTreesClassifier
from tercet.ensemble.forest.extra_trees_regressor import ExtraTreesRegressor
from tercet.ensemble.forest.forest_strength import ForestStrength, forest_strength
from tercet.ensemble.forest.isolation_forest import IsolationForest, average_path_length
from tercet.ensemble.forest.random_forest_classifier import RandomForestClassifier
from tercet.ensemble.forest.random_forest_regressor import RandomForestRegressor
from tercet.ensemble.forest.random_trees_embedding import RandomTreesEmbedding
from tercet.ensemble.perturbation.negative_correlation_regressor import NegativeCorrelationRegressor
from tercet.ensemble.perturbation.output_perturbation_classifier import OutputPerturbationClassifier
from tercet.ensemble.undersampling.balance_cascade_classifier import BalanceCascadeClassifier
from tercet.ensemble.undersampling.easy_ensemble_classifier import EasyEnsembleClassifier
from tercet.model_selection import BiasVariance, bias_variance

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "AdaBoostRound",
    "BaggingClassifier",
    "BaggingRegressor",
    "BalanceCascadeClassifier",
    "BaseEnsemble",
    "BiasVariance",
    "Contingency",
    "EasyEnsembleClassifier",
    "ErrorAmbiguity",
    "ErrorBounds",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "ForestStrength",
    "ForwardStagewiseRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRanker",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "KappaError",
    "LinearBoostingClassifier",
    "LinearBoostingRegressor",
    "MultiResponseRegression",
    "NegativeCorrelationRegressor",
    "OutputPerturbationClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomTreesEmbedding",
    "StackingClassifier",
    "StackingRegressor",
    "StagewiseFit",
    "VoteError",
    "VotingClassifier",
    "VotingRegressor",
    "adaboost_round",
    "average_path_length",
    "bias_variance",
    "combination_weights",
    "contingency_table",
    "correlation",
    "disagreement",
    "error_ambiguity",
    "forest_strength",
    "forward_stagewise",
    "kappa",
    "kappa_error",
    "least_squares_weights",
    "majority_vote",
    "pairwise_diversity",
    "plurality_vote",
    "q_statistic",
    "real_adaboost_round",
    "simple_average",
    "training_error_bounds",
    "vote_error",
    "weighted_average",
    "weighted_vote",
]

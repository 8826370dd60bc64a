from tercet.ensemble.combination.averages import (
    combination_weights,
    least_squares_weights,
    simple_average,
    weighted_average,
)
from tercet.ensemble.combination.bias_variance import BiasVariance, bias_variance
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

__all__ = [
    "BiasVariance",
    "Contingency",
    "ErrorAmbiguity",
    "KappaError",
    "MultiResponseRegression",
    "StackingClassifier",
    "StackingRegressor",
    "VoteError",
    "VotingClassifier",
    "VotingRegressor",
    "bias_variance",
    "combination_weights",
    "contingency_table",
    "correlation",
    "disagreement",
    "error_ambiguity",
    "kappa",
    "kappa_error",
    "least_squares_weights",
    "majority_vote",
    "pairwise_diversity",
    "plurality_vote",
    "q_statistic",
    "simple_average",
    "vote_error",
    "weighted_average",
    "weighted_vote",
]

from tercet.model_selection.bayesian_correlated_test import BayesianTest, bayesian_correlated_test
from tercet.model_selection.bias_variance import BiasVariance, bias_variance, bias_variance_of_predictions
from tercet.model_selection.binomial_test import BinomialTest, binomial_test
from tercet.model_selection.bootstrap_estimate import BootstrapEstimate, bootstrap_estimate
from tercet.model_selection.complexity_curve import ComplexityCurve, complexity_curve
from tercet.model_selection.five_by_two_cv_test import FiveByTwoTest, five_by_two_cv_test
from tercet.model_selection.friedman_test import FriedmanTest, critical_difference, friedman_test
from tercet.model_selection.leave_one_out import leave_one_out
from tercet.model_selection.mcnemar_test import McNemarTest, mcnemar_test
from tercet.model_selection.nested_cross_validation import NestedScores, nested_cross_validation
from tercet.model_selection.paired_test import PairedTest, corrected_interval, corrected_paired_test, holm
from tercet.model_selection.selection_correction import CorrectedSelection, corrected_selection

__all__ = [
    "BayesianTest",
    "BiasVariance",
    "BinomialTest",
    "BootstrapEstimate",
    "ComplexityCurve",
    "CorrectedSelection",
    "FiveByTwoTest",
    "FriedmanTest",
    "McNemarTest",
    "NestedScores",
    "PairedTest",
    "bayesian_correlated_test",
    "bias_variance",
    "bias_variance_of_predictions",
    "binomial_test",
    "bootstrap_estimate",
    "complexity_curve",
    "corrected_interval",
    "corrected_paired_test",
    "corrected_selection",
    "critical_difference",
    "five_by_two_cv_test",
    "friedman_test",
    "holm",
    "leave_one_out",
    "mcnemar_test",
    "nested_cross_validation",
]

from tercet.model_selection.bayesian_correlated_test import BayesianTest, bayesian_correlated_test
from tercet.model_selection.binomial_test import BinomialTest, binomial_test
from tercet.model_selection.five_by_two_cv_test import FiveByTwoTest, five_by_two_cv_test
from tercet.model_selection.friedman_test import FriedmanTest, critical_difference, friedman_test
from tercet.model_selection.mcnemar_test import McNemarTest, mcnemar_test
from tercet.model_selection.paired_test import PairedTest, corrected_interval, corrected_paired_test, holm

__all__ = [
    "BayesianTest",
    "BinomialTest",
    "FiveByTwoTest",
    "FriedmanTest",
    "McNemarTest",
    "PairedTest",
    "bayesian_correlated_test",
    "binomial_test",
    "corrected_interval",
    "corrected_paired_test",
    "critical_difference",
    "five_by_two_cv_test",
    "friedman_test",
    "holm",
    "mcnemar_test",
]

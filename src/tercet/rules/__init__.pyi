from tercet.rules import logic
from tercet.rules.cn2_classifier import CN2Classifier
from tercet.rules.irep_classifier import IREPClassifier
from tercet.rules.rep_classifier import REPClassifier
from tercet.rules.ripper_classifier import RIPPERClassifier
from tercet.rules.rule import Condition, Rule
from tercet.rules.rule_scores import foil_gain, likelihood_ratio_statistic, pruning_value
from tercet.rules.rule_set import RuleSet
from tercet.rules.sequential_covering_classifier import SequentialCoveringClassifier

__all__ = [
    "CN2Classifier",
    "Condition",
    "IREPClassifier",
    "REPClassifier",
    "RIPPERClassifier",
    "Rule",
    "RuleSet",
    "SequentialCoveringClassifier",
    "foil_gain",
    "likelihood_ratio_statistic",
    "logic",
    "pruning_value",
]

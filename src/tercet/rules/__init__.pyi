from tercet.rules.irep_classifier import IREPClassifier
from tercet.rules.ripper_classifier import RIPPERClassifier
from tercet.rules.rule import Condition, Rule
from tercet.rules.rule_scores import foil_gain, likelihood_ratio_statistic, pruning_value
from tercet.rules.rule_set import RuleSet

__all__ = [
    "Condition",
    "IREPClassifier",
    "RIPPERClassifier",
    "Rule",
    "RuleSet",
    "foil_gain",
    "likelihood_ratio_statistic",
    "pruning_value",
]

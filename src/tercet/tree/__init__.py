"""Decision trees."""

from tercet.tree.classifier import DecisionTreeClassifier
from tercet.tree.export import export_graphviz, export_text
from tercet.tree.oblique import ObliqueTreeClassifier
from tercet.tree.pruning import (
    choose_subtree,
    cost_complexity_path,
    cost_complexity_pruning,
    cost_pruning,
    pessimistic_pruning,
    pre_pruning,
    reduced_error_pruning,
)
from tercet.tree.regressor import DecisionTreeRegressor
from tercet.tree.rules import RuleSet, extract_rules
from tercet.tree.selection import InformationSelector
from tercet.tree.structure import Tree

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "InformationSelector",
    "ObliqueTreeClassifier",
    "RuleSet",
    "Tree",
    "choose_subtree",
    "cost_complexity_path",
    "cost_complexity_pruning",
    "cost_pruning",
    "export_graphviz",
    "export_text",
    "extract_rules",
    "pessimistic_pruning",
    "pre_pruning",
    "reduced_error_pruning",
]

"""Decision trees."""

from typing import Any

from tercet.core.lazy import lazily
from tercet.tree.conditions import (
    CategoryCondition,
    IntervalCondition,
    LinearCondition,
    TreeLabels,
    branch_condition,
)
from tercet.tree.cost_complexity import (
    PrunedSubtrees,
    SubtreeChoice,
    choose_subtree,
    cost_complexity_path,
    cost_complexity_pruning,
)
from tercet.tree.decision_tree_classifier import DecisionTreeClassifier
from tercet.tree.decision_tree_regressor import DecisionTreeRegressor
from tercet.tree.export import export_graphviz, export_text
from tercet.tree.information_selector import InformationSelector
from tercet.tree.oblique_tree_classifier import ObliqueTreeClassifier
from tercet.tree.pruning import cost_pruning, pessimistic_pruning, pre_pruning, reduced_error_pruning
from tercet.tree.rule_set import Rule, RuleSet, extract_rules
from tercet.tree.split_search import Split, best_split, grow_tree
from tercet.tree.tree import Tree, TreeBuilder

__all__ = [
    "CategoryCondition",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "InformationSelector",
    "IntervalCondition",
    "LinearCondition",
    "ObliqueTreeClassifier",
    "PrunedSubtrees",
    "Rule",
    "RuleSet",
    "Split",
    "SubtreeChoice",
    "Tree",
    "TreeBuilder",
    "TreeLabels",
    "best_split",
    "branch_condition",
    "choose_subtree",
    "cost_complexity_path",
    "cost_complexity_pruning",
    "cost_pruning",
    "export_graphviz",
    "export_text",
    "extract_rules",
    "grow_tree",
    "pessimistic_pruning",
    "plot_tree",
    "pre_pruning",
    "reduced_error_pruning",
]

_plots, _ = lazily(__name__, {"plot_tree": "tercet.plot.trees"})  # matplotlib is not needed to grow trees


def __getattr__(name: str) -> Any:
    return _plots(name)


def __dir__() -> list[str]:
    return [*globals(), "plot_tree"]

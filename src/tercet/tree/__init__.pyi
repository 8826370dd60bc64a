from tercet.tree._engine import Limits
from tercet.tree._engine.binned_pages import BinnedPages
from tercet.tree._engine.binning import BinEdges, BinnedColumns, sampled_rows
from tercet.tree._engine.dispatch import grow as grow_binary
from tercet.tree._engine.histogram import HistogramTree
from tercet.tree._engine.histogram_statistics import CategoryRule
from tercet.tree._engine.leafwise import LeafwiseGrower, TermTotals
from tercet.tree._engine.local_bins import LocalTree, binned_by_hessians
from tercet.tree._engine.paged import PagedGrower, growth_fields
from tercet.tree._engine.paged_statistics import PagedStatistics
from tercet.tree._engine.presorted_columns import PresortedColumns
from tercet.tree._engine.stumps import PresortedStumps
from tercet.tree.base import (
    AtLeastTwo,
    BaseDecisionTree,
    MaxFeatures,
    MinSamplesLeaf,
    MinSamplesSplit,
    TreeInput,
)
from tercet.tree.class_labels import all_classes, class_weights, encode_classes
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
from tercet.tree.decision_stump import DecisionStump
from tercet.tree.decision_tree_classifier import DecisionTreeClassifier
from tercet.tree.decision_tree_regressor import DecisionTreeRegressor, current_criterion
from tercet.tree.drawing import plot_tree
from tercet.tree.export import export_graphviz, export_text
from tercet.tree.extra_tree_classifier import ExtraTreeClassifier
from tercet.tree.extra_tree_regressor import ExtraTreeRegressor
from tercet.tree.information_selector import InformationSelector
from tercet.tree.oblique_tree_classifier import ObliqueTreeClassifier
from tercet.tree.pruning import cost_pruning, pessimistic_pruning, pre_pruning, reduced_error_pruning
from tercet.tree.rule_set import Rule, RuleSet, extract_rules
from tercet.tree.split_search import Split, best_split, grow_tree
from tercet.tree.streamed_growth import grow_from_pages, growth_refusal, read_binned_rows
from tercet.tree.tree import Tree, TreeBuilder

__all__ = [
    "AtLeastTwo",
    "BaseDecisionTree",
    "BinEdges",
    "BinnedColumns",
    "BinnedPages",
    "CategoryCondition",
    "CategoryRule",
    "DecisionStump",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "HistogramTree",
    "InformationSelector",
    "IntervalCondition",
    "LeafwiseGrower",
    "Limits",
    "LinearCondition",
    "LocalTree",
    "MaxFeatures",
    "MinSamplesLeaf",
    "MinSamplesSplit",
    "ObliqueTreeClassifier",
    "PagedGrower",
    "PagedStatistics",
    "PresortedColumns",
    "PresortedStumps",
    "PrunedSubtrees",
    "Rule",
    "RuleSet",
    "Split",
    "SubtreeChoice",
    "TermTotals",
    "Tree",
    "TreeBuilder",
    "TreeInput",
    "TreeLabels",
    "all_classes",
    "best_split",
    "binned_by_hessians",
    "branch_condition",
    "choose_subtree",
    "class_weights",
    "cost_complexity_path",
    "cost_complexity_pruning",
    "cost_pruning",
    "current_criterion",
    "encode_classes",
    "export_graphviz",
    "export_text",
    "extract_rules",
    "grow_binary",
    "grow_from_pages",
    "grow_tree",
    "growth_fields",
    "growth_refusal",
    "pessimistic_pruning",
    "plot_tree",
    "pre_pruning",
    "read_binned_rows",
    "reduced_error_pruning",
    "sampled_rows",
]

from sklearn.inspection import (
    DecisionBoundaryDisplay,
)

from tercet.inspection.contributions import Contributions, contributions
from tercet.inspection.members import ensemble_rules, member_tree
from tercet.inspection.partial_dependence import partial_dependence
from tercet.inspection.partial_dependence_display import PartialDependenceDisplay
from tercet.inspection.permutation_importance import out_of_bag_importance, permutation_importance
from tercet.inspection.shapley_values import expected_value, shapley_values
from tercet.inspection.tree_sums import AdditiveTrees, additive_trees

__all__ = [
    "AdditiveTrees",
    "Contributions",
    "DecisionBoundaryDisplay",
    "PartialDependenceDisplay",
    "additive_trees",
    "contributions",
    "ensemble_rules",
    "expected_value",
    "member_tree",
    "out_of_bag_importance",
    "partial_dependence",
    "permutation_importance",
    "shapley_values",
]

"""Private names of scikit-learn's classes that its tests read, as views of our attributes.

They are there while those tests run, so that what the tests say about behaviour is checked on our classes, too.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import sklearn.linear_model as theirs

import tercet.cluster
import tercet.ensemble as ours
import tercet.linear_model
import tercet.neural_network
from tercet.ensemble.boosting.feature_constraints import interaction_groups
from tercet.neural_network._mlp.objective import WholeObjective


class TreeView:
    """A tree of histogram boosting, read as scikit-learn's TreePredictor."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        parts = {
            "value": tree.value[:, 0, 0],
            "feature_idx": tree.feature,
            "num_threshold": tree.threshold,
            "is_leaf": tree.n_children == 0,
        }
        kinds = [(name, values.dtype) for name, values in parts.items()]
        self.nodes = np.zeros(tree.node_count, dtype=kinds)
        for name, values in parts.items():
            self.nodes[name] = values

    def get_max_depth(self) -> int:
        return self.tree.max_depth

    def get_n_leaf_nodes(self) -> int:
        return self.tree.n_leaves


def views_of(model: Any) -> list[list[TreeView]]:
    return [[TreeView(tree) for tree in row] for row in model.trees_]


def groups_of(model: Any, n_features: int) -> Any:
    return interaction_groups(type(model).__name__, model.interaction_cst, n_features)


# scikit-learn's losses of the generalised linear models, with which its tests compute the optimum.
LOSSES = {
    name: getattr(theirs, name)._get_loss
    for name in ("GammaRegressor", "PoissonRegressor", "TweedieRegressor")
}


def reading(name: str) -> property:
    return property(lambda model: getattr(model, name))


def hierarchy_of(model: Any) -> np.ndarray:
    """The merges of HDBSCAN as a structured array."""
    names = [("left_node", np.intp), ("right_node", np.intp), ("value", float), ("cluster_size", np.intp)]
    merges = np.zeros(len(model.single_linkage_tree_), dtype=names)
    for (name, _), column in zip(names, model.single_linkage_tree_.T):
        merges[name] = column
    return merges


def updates_of(model: Any) -> Any:
    """The learning rate of a multilayer perceptron, where scikit-learn has it."""
    return SimpleNamespace(learning_rate=model._updates["learning_rate"])


def network_loss(model: Any, parameters: np.ndarray, X: Any, T: Any, weight: Any, *buffers: Any) -> Any:
    """The objective of a multilayer perceptron at a vector of parameters, and its gradient."""
    fitted = model._layout(np.float64)
    layout = type(fitted)(fitted.sizes, model.activation, *model._output(), np.float64)
    return WholeObjective(layout, model._penalty(layout), X, T, weight).value_and_gradient(parameters)


BOOSTING = {
    "_predictors": property(views_of),
    "_raw_predict": lambda model, X: model._raw(X),
    "_check_interaction_cst": groups_of,
}
BAGGING = {"_max_samples": reading("_n_drawn")}
FOREST = {"_sample_weight": reading("_draw_weight"), "_n_samples_bootstrap": reading("_n_drawn")}
NAMES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"), BOOSTING),
    **dict.fromkeys(
        (
            "ExtraTreesClassifier",
            "ExtraTreesRegressor",
            "RandomForestClassifier",
            "RandomForestRegressor",
        ),
        FOREST,
    ),
    **dict.fromkeys(("BaggingClassifier", "BaggingRegressor"), BAGGING),
    "IsolationForest": {"_max_samples": reading("max_samples_")},
}


def add_private_names() -> None:
    """Give our classes the names."""
    for kind, names in NAMES.items():
        for name, value in names.items():
            setattr(getattr(ours, kind), name, value)
    tercet.cluster.HDBSCAN._single_linkage_tree_ = property(hierarchy_of)
    for network in (tercet.neural_network.MLPClassifier, tercet.neural_network.MLPRegressor):
        network._optimizer, network._loss_grad_lbfgs = property(updates_of), network_loss
    for kind, loss in LOSSES.items():
        getattr(tercet.linear_model, kind)._get_loss = loss

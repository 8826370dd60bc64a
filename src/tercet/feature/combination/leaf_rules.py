"""Root-to-leaf paths of trees as texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.tree import LinearCondition, Tree, TreeLabels, branch_condition


def member_trees(model: Any) -> list[Tree | None]:
    """The trees of a decision tree, forest or boosting model, in the order of the columns of `apply`.

    None stands for a tree of another library, of which only leaves are known.
    """
    if hasattr(model, "tree_"):
        members = [model]
    else:
        members = np.ravel(np.asarray(model.estimators_, dtype=object)).tolist()
    trees = [getattr(member, "tree_", None) for member in members]
    return [tree if isinstance(tree, Tree) else None for tree in trees]


def leaf_rules(tree: Tree, names: list[str], categories: Any = None) -> dict[int, str]:
    """The conditions on the path from the root to each leaf, joined by "and".

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0, 1], [0, 3], [1, 1], [1, 3]], [0, 1, 1, 1])
    >>> list(leaf_rules(model.tree_, ["house", "income"]).values())
    ['house > 0.5', 'house <= 0.5 and income <= 2', 'house <= 0.5 and income > 2']
    """
    labels = TreeLabels(tree, names)
    if categories is not None:
        labels.categories = list(categories)
    paths: dict[int, dict[int, Any]] = {0: {}}
    rules = {}
    for t in range(tree.node_count):  # a parent comes before its children
        path = paths.pop(t)
        children = tree.children(t)
        if not children:
            rules[t] = " and ".join(condition.text(labels) for condition in path.values()) or "always"
        for k, child in enumerate(children):
            more: Any = branch_condition(tree, t, k)
            key = -1 - t if isinstance(more, LinearCondition) else more.feature
            paths[child] = {**path, key: path[key].conjunction(more) if key in path else more}
    return rules

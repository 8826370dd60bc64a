"""Single trees of an ensemble, with the names of its columns: to be drawn, written down or read as rules."""

from __future__ import annotations

from typing import Any

from tercet.inspection.tree_sums import additive_trees, is_histogram_boosting, labelled
from tercet.tree import BaseDecisionTree, RuleSet, extract_rules


def member_tree(model: Any, index: int = 0, score: int = 0) -> Any:
    """One tree of an ensemble, for `plot_tree`, `export_text`, `export_graphviz` and `extract_rules`.

    It knows the names and the categories of the ensemble's columns, and the classes where its leaves have
    proportions of classes. A tree of histogram boosting (`trees_`) becomes a `DecisionTreeRegressor`.

    Parameters
    ----------
    model : fitted decision tree, forest, extra trees, bagging, gradient or histogram boosting, or AdaBoost of trees
        The ensemble.
    index : int, default=0
        Which member, or which round of boosting.
    score : int, default=0
        Which tree of the round, where boosting has one for each class.

    Returns
    -------
    fitted decision tree

    Examples
    --------
    >>> from tercet.ensemble import HistGradientBoostingRegressor
    >>> from tercet.tree import export_text
    >>> X, y = [[float(i)] for i in range(60)], [0.0] * 30 + [1.0] * 30
    >>> model = HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=2).fit(X, y)
    >>> print(export_text(member_tree(model, 1), feature_names=["age"], decimals=3), end="")
    |--- age <= 29.500
    |   |--- value: [-0.045]
    |--- age >  29.500
    |   |--- value: [0.045]
    """
    if isinstance(model, BaseDecisionTree):
        members: list[Any] = [model]
    elif is_histogram_boosting(model):
        additive_trees(model)  # refuses a model that is not fitted
        members = [labelled(model, row[_place(score, len(row), "score")]) for row in model.trees_]
    elif hasattr(model, "estimators_"):
        rows = list(model.estimators_)
        members = [row[_place(score, len(row), "score")] if hasattr(row, "shape") else row for row in rows]
    else:
        additive_trees(model)
        members = []
    member = members[_place(index, len(members), "index")]
    if not isinstance(member, BaseDecisionTree):
        raise TypeError(
            f"{type(model).__name__}: member {index} is no decision tree but {type(member).__name__}."
        )
    names = getattr(model, "feature_names_in_", None)
    if names is None or member is model or hasattr(member, "feature_names_in_"):
        return member
    columns = getattr(model, "estimators_features_", None)
    shown = type(member)().set_params(**member.get_params())
    shown.with_tree(
        member.tree_, member.n_features_in_, getattr(member, "classes_", None), member.categories_
    )
    shown.feature_names_in_ = names if columns is None else names[columns[index]]
    return shown


def _place(index: int, count: int, name: str) -> int:
    if not -count <= index < count:
        raise ValueError(f"{name} must be between 0 and {count - 1}; got {index}.")
    return index


def ensemble_rules(model: Any, feature_names: Any = None, class_names: Any = None) -> list[RuleSet]:
    """The if-then rules of all trees that an ensemble predicts with: for every leaf its conditions, support, value.

    Parameters
    ----------
    model : fitted ensemble of trees
        As for `member_tree`.
    feature_names, class_names : sequences of str, optional
        What to call columns and classes; by default as they were called at fit.

    Returns
    -------
    list of RuleSet
        One for each tree; of boosting with a tree for each class, those of a round stand side by side.

    Examples
    --------
    >>> from tercet.ensemble import RandomForestClassifier
    >>> forest = RandomForestClassifier(2, random_state=0).fit([[0], [1], [8], [9]], ["a", "a", "b", "b"])
    >>> rules = ensemble_rules(forest, ["size"])
    >>> len(rules), rules[0].to_list()[0]["then"]
    (2, 'a')
    """
    if is_histogram_boosting(model):
        additive_trees(model)  # refuses a model that is not fitted
        places = [(m, k) for m, row in enumerate(model._used_rounds()) for k in range(len(row))]
    elif getattr(getattr(model, "estimators_", None), "ndim", 1) == 2:
        rounds, scores = model._used_rounds().shape
        places = [(m, k) for m in range(rounds) for k in range(scores)]
    else:
        places = [(m, 0) for m in range(len(getattr(model, "estimators_", [model])))]
    columns = getattr(model, "estimators_features_", None)
    rules = []
    for m, k in places:
        names = feature_names
        if names is not None and columns is not None:
            names = [names[j] for j in columns[m]]
        rules.append(extract_rules(member_tree(model, m, k), names, class_names))
    return rules

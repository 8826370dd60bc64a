"""Fitted models of trees as what they are: a start and a sum of trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tercet.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tercet.tree import BaseDecisionTree, DecisionTreeRegressor, Tree

FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor)
GRADIENT_BOOSTING = (GradientBoostingClassifier, GradientBoostingRegressor)
HISTOGRAM_BOOSTING = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
LINEAR_TEST = 3  # a kind of node, as in `tercet.tree`


@dataclass(frozen=True)
class AdditiveTrees:
    """Scores of a model of trees: start + factor * (sum over trees of the value of a row's leaf) / divisor.

    Attributes
    ----------
    model : estimator or Tree
        What it was made from.
    trees : list of Tree
        All of them over all columns of the model.
    values : list of arrays of shape (n_nodes, n_values)
        What each node of each tree adds.
    covers : list of arrays of shape (n_nodes,)
        The weight of the training rows in each node (their number, for histogram boosting).
    first_scores : list of int
        The score that the first value of each tree is added to.
    start : array of shape (n_scores,)
    factor : array of shape (n_scores,)
    divisor : float
    kind : {"value", "probability", "score"}
        What the scores are: predictions of a regressor, probabilities of classes, or raw scores.
    score_names : list of str
        What each score is of: the classes, where there is one for each; else empty.
    categories : list of arrays, None for a column of numbers.
    feature_names : list of str
    """

    model: Any
    trees: list[Tree]
    values: list[np.ndarray]
    covers: list[np.ndarray]
    first_scores: list[int]
    start: np.ndarray
    kind: str
    score_names: list[str]
    categories: list[Any]
    feature_names: list[str]
    factor: np.ndarray
    divisor: float = 1.0

    @property
    def n_features(self) -> int:
        return self.trees[0].n_features

    def encode(self, X: Any) -> np.ndarray:
        """Rows as the trees have them: an array of floats, categories as codes."""
        if isinstance(self.model, Tree):
            rows = X.toarray() if hasattr(X, "toarray") else X
            rows = np.ascontiguousarray(rows, dtype=np.float64)
            if rows.ndim != 2 or rows.shape[1] != self.n_features:
                raise ValueError(
                    f"X has the shape {rows.shape}; the trees were grown from {self.n_features} features."
                )
            return rows
        # Ensembles of members leave the rows to them, all else knows how to read its own.
        own = hasattr(self.model, "_dense")
        member = self.model if own else labelled(self.model, self.trees[0], self.categories)
        return np.ascontiguousarray(member._dense(member._check(X, reset=False)), dtype=np.float64)

    def scores(self, X: Any) -> np.ndarray:
        """The scores of rows, of shape (n_samples, n_scores)."""
        rows = self.encode(X)
        total = np.zeros((len(rows), len(self.start)))
        for tree, value, first in zip(self.trees, self.values, self.first_scores):
            # the leaf alone does not tell where a missing value is shared among branches
            alike = replace_values(tree, value) if tree.shares else None
            added = value[tree.apply(rows)] if alike is None else alike.predict(rows)[:, :, 0]
            total[:, first : first + value.shape[1]] += added
        return self.start + self.factor * total / self.divisor


def additive_trees(model: Any) -> AdditiveTrees:
    """The trees of a fitted model, and how their values add up to its scores.

    Parameters
    ----------
    model : fitted estimator, or Tree
        A decision tree, random forest, extra trees, bagging of decision trees, gradient boosting, histogram
        gradient boosting, or `AdaBoostClassifier` of decision trees.

    Returns
    -------
    AdditiveTrees
        Its scores are the predictions of a regressor, the probabilities of the classes for trees, forests and
        bagging, and the values of `decision_function` for boosting.

    Examples
    --------
    >>> from tercet.ensemble import GradientBoostingRegressor
    >>> model = GradientBoostingRegressor(n_estimators=3).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 5.0])
    >>> parts = additive_trees(model)
    >>> len(parts.trees), parts.start.tolist(), bool(parts.scores([[2.0]])[0, 0] == model.predict([[2.0]])[0])
    (3, [2.0], True)
    """
    if isinstance(model, Tree):
        return _single(model, model)
    if hasattr(model, "get_params"):
        check_is_fitted(model)
    if isinstance(model, BaseDecisionTree):
        return _single(model, model.tree_)
    if isinstance(model, FORESTS):
        return _forest(model)
    if isinstance(model, BaggingClassifier | BaggingRegressor):
        return _bagging(model)
    if isinstance(model, GRADIENT_BOOSTING):
        return _gradient_boosting(model)
    if is_histogram_boosting(model):
        return _histogram_boosting(model)
    if isinstance(model, AdaBoostClassifier):
        return _ada_boost(model)
    raise TypeError(
        f"{type(model).__name__} is not a sum of trees; decision trees, random forests, extra trees, bagging of "
        "trees, gradient boosting, histogram gradient boosting and AdaBoostClassifier of trees are."
    )


def is_histogram_boosting(model: Any) -> bool:
    """Whether a model is histogram gradient boosting, of whatever target."""
    return isinstance(model, HISTOGRAM_BOOSTING) or all(
        hasattr(model, name) for name in ("trees_", "init_", "n_trees_per_iteration_")
    )


def _made(model: Any, trees: list[Tree], values: list[np.ndarray], **rest: Any) -> AdditiveTrees:
    """Fill in what all models have in common."""
    name, d = type(model).__name__, trees[0].n_features
    if any((tree.kind == LINEAR_TEST).any() for tree in trees):
        raise TypeError(f"{name}: tests of several features at once are not those of single features.")
    names = getattr(model, "feature_names_in_", None)
    start = rest.pop("start")
    settings: dict[str, Any] = {
        "covers": [tree.weighted_n_node_samples for tree in trees],
        "first_scores": [0] * len(trees),
        "categories": getattr(model, "categories_", [None] * d),
        "feature_names": [f"x{j}" for j in range(d)] if names is None else [str(word) for word in names],
        "score_names": [],
        "factor": np.ones(len(start)),
    }
    return AdditiveTrees(model, trees, values, start=np.asarray(start, dtype=float), **(settings | rest))


def _single(model: Any, tree: Tree) -> AdditiveTrees:
    classes = getattr(model, "classes_", None)
    values, kind, names = _node_values(type(model).__name__, tree, classes)
    return _made(model, [tree], [values], start=np.zeros(values.shape[1]), kind=kind, score_names=names)


def _node_values(name: str, tree: Tree, classes: Any) -> tuple[np.ndarray, str, list[str]]:
    """Probabilities of the classes, or numbers, at each node; what they are, and their names."""
    if tree.max_n_classes == 1 and classes is None:
        return tree.value[:, :, 0], "value", []
    if tree.n_outputs > 1:
        raise ValueError(f"{name}: classes of {tree.n_outputs} outputs; one output is supported.")
    words = range(tree.max_n_classes) if classes is None else classes
    return tree.value[:, 0, : tree.max_n_classes], "probability", [str(word) for word in words]


def _forest(model: Any) -> AdditiveTrees:
    trees = [member.tree_ for member in model.estimators_]
    classes = getattr(model, "classes_", None)
    found = [_node_values(type(model).__name__, tree, classes) for tree in trees]
    values, (kind, names) = [one[0] for one in found], found[0][1:]
    start = np.zeros(values[0].shape[1])
    return _made(model, trees, values, start=start, kind=kind, score_names=names, divisor=float(len(trees)))


def _bagging(model: Any) -> AdditiveTrees:
    name, d = type(model).__name__, model.n_features_in_
    classes = [str(word) for word in model.classes_] if isinstance(model, ClassifierMixin) else []
    trees, values, categories = [], [], [None] * d
    for member, columns in zip(model.estimators_, model.estimators_features_):
        if not isinstance(member, BaseDecisionTree):
            raise TypeError(f"{name}: the members ({type(member).__name__}) are not decision trees.")
        trees.append(over_columns(member.tree_, columns, d))
        categories = _joined_categories(name, categories, member.categories_, columns)
        if not classes:
            values.append(member.tree_.value[:, :, 0])
            continue
        value = np.zeros((member.tree_.node_count, len(classes)))
        seen = np.searchsorted(model.classes_, member.classes_)
        value[:, seen] = member.tree_.value[:, 0, : len(seen)]
        values.append(value)
    kind = "probability" if classes else "value"
    common = {"kind": kind, "score_names": classes, "divisor": float(len(trees)), "categories": categories}
    return _made(model, trees, values, start=np.zeros(values[0].shape[1]), **common)


def _joined_categories(name: str, known: list[Any], more: Sequence[Any], columns: np.ndarray) -> list[Any]:
    """The categories of all columns, with those that one member has learned."""
    joined = list(known)
    for j, own in zip(columns, more):
        if joined[j] is not None and own is not None and not np.array_equal(joined[j], own):
            raise ValueError(f"{name}: the members have learned different categories of column {j}.")
        joined[j] = own if joined[j] is None else joined[j]
    return joined


def _gradient_boosting(model: Any) -> AdditiveTrees:
    if not isinstance(model.init_, np.ndarray):
        raise ValueError(
            f"{type(model).__name__}: init={type(model.init_).__name__} is a model of its own, no constant; the "
            "trees alone do not make up the scores."
        )
    rounds = model._used_rounds()
    n_scores = rounds.shape[1]
    trees = [member.tree_ for k in range(n_scores) for member in rounds[:, k]]
    scores = [k for k in range(n_scores) for _ in rounds[:, k]]
    # Where all tests are thresholds the model itself shrinks the leaves, else the sum.
    plain = [all(member.tree_.only_thresholds for member in column) for column in rounds.T]
    values = [
        (model.learning_rate * tree.value if plain[k] else tree.value)[:, 0] for k, tree in zip(scores, trees)
    ]
    names = [str(word) for word in model.classes_] if n_scores > 1 else []
    return _made(
        model,
        trees,
        values,
        start=model.init_,
        first_scores=scores,
        kind="score" if isinstance(model, ClassifierMixin) else _raw_kind(model),
        score_names=names,
        factor=np.where(plain, 1.0, model.learning_rate),
    )


def _histogram_boosting(model: Any) -> AdditiveTrees:
    n_scores, rounds = model.n_trees_per_iteration_, model._used_rounds()
    trees = [row[k] for k in range(n_scores) for row in rounds]
    scores = [k for k in range(n_scores) for _ in rounds]
    names = [str(word) for word in model.classes_] if n_scores > 1 else []
    return _made(
        model,
        trees,
        [tree.value[:, 0] for tree in trees],
        start=model.init_,
        covers=[tree.n_node_samples.astype(np.float64) for tree in trees],
        first_scores=scores,
        kind="score" if isinstance(model, ClassifierMixin) else _raw_kind(model),
        score_names=names,
    )


def _raw_kind(model: Any) -> str:
    """Whether the scores of a boosted regressor are its predictions, or their logarithms."""
    loss = getattr(model, "loss", None)
    return "score" if isinstance(loss, str) and loss in ("poisson", "gamma") else "value"


def _ada_boost(model: Any) -> AdditiveTrees:
    packed = model._packed()
    if packed is None:
        raise TypeError(
            f"{type(model).__name__}: only members that are DecisionTreeClassifier, on numbers, with rows of every "
            "class, add up to its scores."
        )
    trees = [member.tree_ for member in model.estimators_]
    values = np.split(packed.value, packed.root[1:])
    K, weights = model.n_classes_, model.estimator_weights_
    if K == 2:
        values = [
            value[:, 1:] if model.algorithm == "m1" else value[:, 1:] - value[:, :1] for value in values
        ]
    divisor = {"m1": 1.0, "samme.r": float(len(trees))}.get(model.algorithm, float(weights.sum()))
    names = [str(word) for word in model.classes_] if K > 2 else []
    start = np.zeros(values[0].shape[1])
    categories = [None] * model.n_features_in_
    common = {"score_names": names, "divisor": divisor, "categories": categories}
    return _made(model, trees, values, start=start, kind="score", **common)


def over_columns(tree: Tree, columns: np.ndarray, n_features: int) -> Tree:
    """A tree of some columns as one of all of them."""
    if len(columns) == n_features and (columns == np.arange(n_features)).all():
        return tree
    state = tree.__getstate__()
    features = np.where(tree.feature >= 0, np.asarray(columns)[np.maximum(tree.feature, 0)], tree.feature)
    weights = np.zeros((len(tree.coef), n_features))
    np.add.at(weights.T, columns, tree.coef.T)
    return _rebuilt({**state, "n_features": n_features, "feature": features, "coef": weights})


def replace_values(tree: Tree, value: np.ndarray) -> Tree:
    """A tree of numbers with these values of its nodes, of shape (n_nodes, n_values)."""
    counts = np.ones(value.shape[1], dtype=np.int64)
    return _rebuilt({**tree.__getstate__(), "value": value[:, :, None], "n_classes": counts})


def _rebuilt(state: dict[str, Any]) -> Tree:
    given = dict(state)
    fixed = [given.pop(name) for name in ("n_features", "value", "n_classes", "slots", "coef")]
    return Tree(*fixed, **given)


def labelled(model: Any, tree: Tree, categories: list[Any] | None = None) -> DecisionTreeRegressor:
    """A regression tree with the names and categories of the model that it is a part of."""
    known = getattr(model, "categories_", None) if categories is None else categories
    member = DecisionTreeRegressor().with_tree(tree, tree.n_features, None, known)
    if hasattr(model, "feature_names_in_"):
        member.feature_names_in_ = model.feature_names_in_
    return member


def without_last_class(parts: AdditiveTrees) -> tuple[AdditiveTrees, bool]:
    """The same without the last of the classes where probabilities of sum 1 tell it; and whether it is so."""
    if parts.kind != "probability" or len(parts.start) < 2:
        return parts, False
    shorter = [np.ascontiguousarray(value[:, :-1]) for value in parts.values]
    return replace(parts, values=shorter, start=parts.start[:-1], factor=parts.factor[:-1]), True

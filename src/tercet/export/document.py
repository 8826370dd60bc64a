"""A fitted model of trees as a plain document: numbers, strings and lists, as JSON has them."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tercet.core.atomic_files import replacing
from tercet.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
from tercet.inspection import AdditiveTrees, additive_trees
from tercet.tree import Tree

FORMAT, VERSION = "tercet trees", 1


def model_document(model: Any) -> dict[str, Any]:
    """A fitted model of trees as a dictionary of plain values.

    The scores of a row are `start + factor * total / divisor`, where `total` is the sum over the trees, in their
    order, of the values of the nodes that the row ends at, each from the score `first_score` on. From the root,
    node 0, a row goes to `child + k`. At a threshold ("inf" where all that have a value go left) k is 1 where
    x[feature] > threshold, else 0; at a test of categories it is `slots[code]`, and a row whose category has none,
    or -1, ends at the node; where the value is missing k is `missing`. A leaf has the child -1. With
    `unknown_is_missing` a category that is not listed counts as a missing value.

    Parameters
    ----------
    model : fitted model of trees
        See `tercet.inspection.additive_trees` for which.

    Returns
    -------
    dict

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> document = model_document(DecisionTreeClassifier().fit([[0], [1], [2]], ["a", "a", "b"]))
    >>> document["classes"], document["trees"][0]["threshold"], document["trees"][0]["value"][1:]
    (['a', 'b'], [1.5, None, None], [[1.0, 0.0], [0.0, 1.0]])
    """
    parts = additive_trees(model)
    values, start, factor = parts.values, parts.start, parts.factor
    if (
        isinstance(model, AdaBoostClassifier) and model.n_classes_ == 2
    ):  # it subtracts the sums, not the values
        packed: Any = model._packed()
        values, start, factor = np.split(packed.value, packed.root[1:]), np.zeros(2), np.ones(2)
    shared = [type(model).__name__ for tree in parts.trees if tree.shares]
    if shared:
        raise ValueError(
            f"{shared[0]}: rows without a value go to all branches in parts, which the document has no form for; "
            "grow the tree with algorithm='cart'."
        )
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": type(model).__name__,
        "link": _link(parts),
        "boundary": _boundary(parts),
        "classes": _plain_labels(getattr(model, "classes_", None)),
        "feature_names": parts.feature_names,
        "categories": [None if known is None else _plain_labels(known) for known in parts.categories],
        "unknown_is_missing": _unknown_is_missing(parts),
        "start": start.tolist(),
        "factor": factor.tolist(),
        "divisor": parts.divisor,
        "trees": [
            _tree_document(tree, value, first)
            for tree, value, first in zip(parts.trees, values, parts.first_scores)
        ],
    }


def _unknown_is_missing(parts: AdditiveTrees) -> bool:
    """Whether the model takes a category that it has not seen for a missing value: it is asked about one."""
    for j, known in enumerate(parts.categories):
        if known is not None and len(known):
            row = np.full((1, len(parts.categories)), None, dtype=object)
            words = np.asarray(known).dtype.kind not in "biuf"
            row[0, j] = "".join(map(str, known)) + "?" if words else float(np.max(known)) + 1.0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of names that the row does not have
                return bool(np.isnan(parts.encode(row)[0, j]))
    return False


def _link(parts: AdditiveTrees) -> str:
    """How predictions follow from the scores."""
    model = parts.model
    if not is_classifier(model):
        return "exp" if parts.kind == "score" else "identity"
    if parts.kind == "probability":
        return "probability"
    if isinstance(model, AdaBoostClassifier):
        if model.n_classes_ == 1:
            return "one class"
        return "adaboost-m1" if model.algorithm == "m1" and model.n_classes_ == 2 else "adaboost"
    if not isinstance(model.loss, str):
        raise ValueError(
            f"{type(model).__name__}: loss={model.loss!r} is an object of its own; models of a named loss can be "
            "written."
        )
    if len(parts.start) > 1:
        return "softmax"
    return "exponential" if model.loss == "exponential" else "logistic"


def _boundary(parts: AdditiveTrees) -> str:
    """The class of a score of 0, where one score decides between two classes."""
    model = parts.model
    if isinstance(model, AdaBoostClassifier):
        return "second" if model.algorithm == "m1" else "first"
    return "first" if isinstance(model, HistGradientBoostingClassifier) else "second"


def _tree_document(tree: Tree, value: np.ndarray, first_score: int) -> dict[str, Any]:
    inner = tree.child >= 0
    slots = [None] * tree.node_count
    for t in np.flatnonzero(tree.slot_count > 0):
        slots[t] = tree.slots[tree.slot_start[t] : tree.slot_start[t] + tree.slot_count[t]].tolist()
    thresholds = [
        None if kinds is not None or not here else x if np.isfinite(x) else str(x)
        for x, here, kinds in zip(tree.threshold.tolist(), inner, slots)
    ]
    return {
        "first_score": int(first_score),
        "feature": np.where(inner, tree.feature, -1).tolist(),
        "threshold": thresholds,
        "child": tree.child.tolist(),
        "missing": tree.missing.tolist(),
        "slots": slots if any(kinds is not None for kinds in slots) else None,
        "value": value.tolist(),
    }


def _plain_labels(labels: Any) -> Any:
    """Labels as JSON has them."""
    if labels is None:
        return None
    plain = np.asarray(labels).tolist()
    strange = [label for label in plain if not isinstance(label, str | int | float | bool)]
    if strange:
        raise ValueError(f"labels must be strings or numbers to be written; got {strange[0]!r}.")
    return plain


def export_json(model: Any, path: str | os.PathLike[str] | None = None) -> str | None:
    """Write a fitted model of trees as a JSON document (see `model_document`), with all digits of its numbers.

    Parameters
    ----------
    model : fitted model of trees
        What to write.
    path : str or path, optional
        Where to; by default the text is returned.

    Returns
    -------
    text : str, or None when it was written to a file

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> text = export_json(DecisionTreeClassifier().fit([[0], [1], [2]], ["a", "a", "b"]))
    >>> text[:27], len(json.loads(text)["trees"])
    ('{"format": "tercet trees", ', 1)
    """
    text = json.dumps(model_document(model), ensure_ascii=False, allow_nan=False)
    return written(text, path)


def written(text: str, path: str | os.PathLike[str] | None) -> str | None:
    """The text itself, or None when there is a file to write it to."""
    if path is None:
        return text
    with replacing(path) as file:
        file.write(text.encode("utf-8"))
    return None

"""Predictions of a model of trees that is kept as a document. Needs NumPy, and nothing else.

scores(X)          what the trees add up to, of shape (n, n_scores)
predict_proba(X)   probabilities of the classes
predict(X)         classes, or numbers
"""

import math

import numpy as np


def encode(model, X):
    """Rows as an array of floats: categories as codes, NaN where a value is missing."""
    categories = model["categories"]
    if hasattr(X, "iloc"):
        X = np.column_stack([np.asarray(X.iloc[:, j], dtype=object) for j in range(X.shape[1])])
    X = X if isinstance(X, np.ndarray) else np.array(X, dtype=object if any(categories) else None)
    if X.ndim != 2 or X.shape[1] != len(categories):
        raise ValueError(f"X must have the shape (n, {len(categories)}); it has {X.shape}.")
    rows = np.empty(X.shape)
    for j, known in enumerate(categories):
        if known is None:
            column = X[:, j]
            if column.dtype.kind == "O":
                column = [math.nan if value is None else float(value) for value in column]
            rows[:, j] = column
        else:
            words = any(isinstance(label, str) for label in known)
            table = {label if words else float(label): code for code, label in enumerate(known)}
            unknown = math.nan if model["unknown_is_missing"] else len(known)
            rows[:, j] = [code_of(value, table, words, unknown) for value in X[:, j].tolist()]
    return rows


def code_of(value, table, words, unknown):
    """The code of a category; NaN where it is missing, `unknown` where it is not among those of the model."""
    if value is None or value != value:
        return math.nan
    if words and not isinstance(value, str):
        number = not isinstance(value, bool) and isinstance(value, (int, float))
        value = str(int(value)) if number and float(value).is_integer() else str(value)
    elif not words:
        try:
            value = float(value)
        except ValueError:
            return unknown
    return table.get(value, unknown)


def ends(tree, rows):
    """The node at which each row ends."""
    child, feature, missing = (np.array(tree[name]) for name in ("child", "feature", "missing"))
    threshold = np.array([math.inf if x is None else float(x) for x in tree["threshold"]])
    slots = tree["slots"] or [None] * len(child)
    tests_categories = np.array([known is not None for known in slots])
    at = np.zeros(len(rows), dtype=np.int64)
    moving = np.flatnonzero(child[at] >= 0)
    while moving.size:
        t = at[moving]
        x = rows[moving, feature[t]]
        k = (x > threshold[t]).astype(np.int64)
        for i in np.flatnonzero(tests_categories[t]):
            known = slots[t[i]]
            k[i] = known[int(x[i])] if 0 <= x[i] < len(known) else -1
        k = np.where(np.isnan(x), missing[t], k)
        moving, t, k = moving[k >= 0], t[k >= 0], k[k >= 0]
        at[moving] = child[t] + k
        moving = moving[child[at[moving]] >= 0]
    return at


def scores(model, X):
    """What the trees add up to, of shape (n, n_scores)."""
    rows, start = encode(model, X), np.array(model["start"])
    total = np.zeros((len(rows), len(start)))
    for tree in model["trees"]:
        value = np.array(tree["value"])
        total[:, tree["first_score"] : tree["first_score"] + value.shape[1]] += value[ends(tree, rows)]
    return start + np.array(model["factor"]) * total / model["divisor"]


def softmax(F):
    powers = np.exp(F - F.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def logistic(x):
    return 1.0 / (1.0 + math.exp(-x)) if x > -709.0 else 0.0


def predict_proba(model, X):
    """The probabilities of the classes."""
    if model["classes"] is None:
        raise ValueError("a model of numbers has no probabilities.")
    F, link = scores(model, X), model["link"]
    if link == "probability":
        return F
    if link == "one class":
        return np.ones((len(F), 1))
    if link == "softmax":
        return softmax(F)
    if link.startswith("adaboost"):
        if F.shape[1] > 2:
            return softmax(F / (F.shape[1] - 1))
        f = F[:, 1] if link == "adaboost-m1" else (F[:, 1] - F[:, 0]) / 2
        return softmax(np.column_stack([-f, f]))
    p = np.array([logistic(x) for x in (2.0 * F[:, 0] if link == "exponential" else F[:, 0]).tolist()])
    return np.column_stack([1.0 - p, p])


def predict(model, X):
    """The classes, or the numbers."""
    F = scores(model, X)
    if model["classes"] is None:
        F = np.exp(F) if model["link"] == "exp" else F
        return F[:, 0] if F.shape[1] == 1 else F
    classes = np.array(model["classes"])
    if model["link"].startswith("adaboost") and len(classes) == 2:
        F = F[:, 1:] if model["link"] == "adaboost-m1" else F[:, 1:] - F[:, :1]
    if F.shape[1] > 1 or len(classes) == 1:
        return classes[F.argmax(axis=1)]
    second = F[:, 0] >= 0 if model["boundary"] == "second" else F[:, 0] > 0
    return classes[second.astype(np.int64)]

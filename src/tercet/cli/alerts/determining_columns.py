"""Columns that give the target away: alone, by being there or not, or as a monotone function of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tercet.cli.alerts.alert import Alert, option
from tercet.cli.alerts.alert_input import AlertInput, is_missing
from tercet.core.messages import Message

BINS = 32  # of a column of numbers in the first look
MOST_TREES = 20  # columns that get a tree
LEAST_ROWS = 20
SCREEN = {"classification": 0.9, "regression": 0.85}  # scores of the first look that call for a tree
NEARLY = {"classification": 0.98, "regression": 0.98}  # scores of a tree that are worth an alert
EXACTLY = {"classification": 0.995, "regression": 0.999}
MONOTONE = 0.9995  # Spearman's correlation
DEPTH = {"classification": 3, "regression": 6}


@dataclass(frozen=True)
class Determination:
    """How well one column alone predicts the target on held-out rows."""

    name: str
    score: float
    by: str  # "tree", "missing" or "monotone"


def determining_columns(data: AlertInput) -> list[Alert]:
    """Columns from which a shallow tree predicts nearly every held-out row."""
    if data.y_sample is None or data.task not in SCREEN or data.rows.size < LEAST_ROWS:
        return []
    found = sorted(_determinations(data), key=lambda one: -one.score)
    return [_alert(data, one) for one in found]


def _determinations(data: AlertInput) -> list[Determination]:
    y, fold, task = data.y_sample, data.folds(), data.task
    assert y is not None
    promising: list[tuple[float, str, str, np.ndarray]] = []
    found: list[Determination] = []
    for name, kind, values in data.sampled("number", "date", "category"):
        gaps = is_missing(values)
        if gaps.any() and not gaps.all():
            score = held_out_score(task, gaps.astype(np.intp), y, fold)
            if score >= NEARLY[task]:
                found.append(Determination(name, score, "missing"))
                continue
        bins = values.astype(np.intp) + 2 if kind == "category" else quantile_bins(values)
        score = held_out_score(task, bins, y, fold)
        if score >= SCREEN[task]:
            promising.append((score, name, kind, values))
    promising.sort(key=lambda entry: -entry[0])
    for score, name, kind, values in promising[:MOST_TREES]:
        if kind != "category":
            if task == "regression" and abs(rank_correlation(values, y)) >= MONOTONE:
                found.append(Determination(name, 1.0, "monotone"))
                continue
            score = max(score, _tree_score(task, values, y, fold))
        if score >= NEARLY[task] and not (kind == "category" and _names_rows(values)):
            found.append(Determination(name, score, "tree"))
    return found


def quantile_bins(values: np.ndarray, bins: int = BINS) -> np.ndarray:
    """The bin of every number between quantiles; missing ones have their own.

    Examples
    --------
    >>> quantile_bins(np.array([1.0, 2.0, 3.0, 4.0, np.nan]), bins=2).tolist()
    [1, 1, 2, 2, 0]
    """
    gaps = np.isnan(values)
    there = np.sort(values[~gaps])
    if there.size == 0:
        return np.zeros(values.size, dtype=np.intp)
    edges = np.unique(there[(np.arange(1, bins) * there.size) // bins])
    place = np.searchsorted(edges, values, side="right") + 1
    place[gaps] = 0
    return place


def held_out_score(task: str, bins: np.ndarray, y: np.ndarray, fold: np.ndarray) -> float:
    """Balanced accuracy or R² on held-out rows of what the other rows of the same bin say: a tree of one level.

    Examples
    --------
    >>> y, fold = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
    >>> held_out_score("classification", y, y, fold), held_out_score("classification", 0 * y, y, fold)
    (1.0, 0.5)
    """
    width = int(bins.max()) + 1
    counts: np.ndarray
    if task == "regression":
        predicted = np.empty(y.size)
        for k in range(int(fold.max()) + 1):
            train, test = fold != k, fold == k
            sums = np.bincount(bins[train], weights=y[train], minlength=width)
            counts = np.bincount(bins[train], minlength=width)
            means = np.where(counts > 0, sums / np.maximum(counts, 1), y[train].mean())
            predicted[test] = means[bins[test]]
        return _r2(y, predicted)
    classes = int(y.max()) + 1
    labels = np.empty(y.size, dtype=np.intp)
    for k in range(int(fold.max()) + 1):
        train, test = fold != k, fold == k
        counts = np.bincount(bins[train] * classes + y[train], minlength=width * classes)
        counts = counts.reshape(width, classes) / np.maximum(np.bincount(y[train], minlength=classes), 1)
        labels[test] = counts.argmax(axis=1)[bins[test]]
    return _balanced_accuracy(y, labels)


def _tree_score(task: str, values: np.ndarray, y: np.ndarray, fold: np.ndarray) -> float:
    """The same of a shallow tree of one column."""
    from tercet.tree import DecisionTreeClassifier, DecisionTreeRegressor

    X = values.reshape(-1, 1)
    predicted = np.empty(y.size, dtype=y.dtype)
    leaves = max(2 ** DEPTH[task], 2 * (int(y.max()) + 1)) if task == "classification" else 2 ** DEPTH[task]
    for k in range(int(fold.max()) + 1):
        train, test = fold != k, fold == k
        tree = (
            DecisionTreeClassifier(max_leaf_nodes=leaves, class_weight="balanced", random_state=0)
            if task == "classification"
            else DecisionTreeRegressor(max_leaf_nodes=leaves, min_samples_leaf=3, random_state=0)
        )
        predicted[test] = tree.fit(X[train], y[train]).predict(X[test])
    return _balanced_accuracy(y, predicted) if task == "classification" else _r2(y, predicted)


def rank_correlation(values: np.ndarray, y: np.ndarray) -> float:
    """Spearman's correlation over the rows where there is a value.

    Examples
    --------
    >>> x = np.arange(1.0, 50.0)
    >>> rank_correlation(np.log(x), x)
    1.0
    """
    from scipy.stats import rankdata

    here = ~np.isnan(values)
    if here.sum() < LEAST_ROWS:
        return 0.0
    a, b = rankdata(values[here]), rankdata(y[here])
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0


def _names_rows(values: np.ndarray) -> bool:
    """Whether a column of categories has nearly as many as there are rows."""
    return np.unique(values).size > 0.2 * values.size


def _r2(y: np.ndarray, predicted: np.ndarray) -> float:
    spread = float(np.sum((y - y.mean()) ** 2))
    return 1.0 - float(np.sum((y - predicted) ** 2)) / spread if spread > 0 else 0.0


def _balanced_accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    counts = np.bincount(y)
    hits = np.bincount(y[y == predicted], minlength=counts.size)
    here = counts > 0
    return float(np.mean(hits[here] / counts[here]))


def _alert(data: AlertInput, one: Determination) -> Alert:
    name, target = one.name, data.target
    exact = one.score >= EXACTLY[data.task]
    measure = Message("balanced accuracy") if data.task == "classification" else Message("R²")
    advice = Message(
        "Is {name!r} known before {target!r} is? If it comes from {target!r} or is known only afterwards, compare "
        "again with {option}: with it, no score is that of a prediction.",
        name=name,
        target=target,
        option=option("--drop", name),
    )
    if one.by == "monotone":
        title = Message("{name!r} is the target {target!r} on another scale", name=name, target=target)
        evidence = Message("Both put the rows in the same order (rank correlation {value}).", value="±1.000")
    elif one.by == "missing":
        title = Message(
            "whether {name!r} is missing gives the target {target!r} away", name=name, target=target
        )
        evidence = Message(
            "Knowing only which rows lack it, the {measure} on held-out rows is {score}.",
            measure=measure,
            score=f"{one.score:.3f}",
        )
    else:
        template = (
            "{name!r} alone determines the target {target!r}"
            if exact
            else "{name!r} alone nearly determines the target {target!r}"
        )
        title = Message(template, name=name, target=target)
        evidence = Message(
            "A shallow tree of this one column has {measure} {score} on held-out rows.",
            measure=measure,
            score=f"{one.score:.3f}",
        )
    kind = "missingness" if one.by == "missing" else "determines"
    return Alert(kind, "serious" if exact else "caution", title, evidence, advice, (name,))

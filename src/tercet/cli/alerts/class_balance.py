"""Imbalance of the classes, and classes with too few rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.cli.alerts.alert import Alert, named
from tercet.cli.alerts.alert_input import AlertInput
from tercet.core.messages import Message

FEW_PERCENT = 0.1  # share of the rarer of two classes
MOST_OF_ALL = 0.8  # share of the most frequent of several
ROWS_PER_FOLD = 2
RANKING_BY_ORDER = ("roc_auc", "average_precision", "log_loss", "neg_log_loss")


def imbalance(data: AlertInput) -> list[Alert]:
    """One class so frequent that predicting it always is nearly right."""
    counts = _counts(data)
    if counts is None or counts.size < 2:
        return []
    shares = counts / counts.sum()
    top = int(shares.argmax())
    uneven = shares.min() < FEW_PERCENT if counts.size == 2 else shares[top] >= MOST_OF_ALL
    if not uneven:
        return []
    title = Message(
        "the classes are imbalanced: {share} of the rows are {label}",
        share=f"{shares[top]:.1%}",
        label=_text(data.classes[top]),
    )
    evidence = Message(
        "Always predicting {label} has an accuracy of {share} and finds none of the other {n} rows.",
        label=_text(data.classes[top]),
        share=f"{shares[top]:.3f}",
        n=int(counts.sum() - counts[top]),
    )
    if data.metric in RANKING_BY_ORDER:
        advice = Message(
            "The ranking is by {metric}, which this does not mislead; choose the threshold by what errors cost.",
            metric=data.metric,
        )
    else:
        advice = Message(
            "Rank by how well the classes are told apart, --metric roc_auc or --metric log_loss, and choose the "
            "threshold by what errors cost."
        )
    return [Alert("imbalance", "caution", title, evidence, advice, (data.target,))]


def rare_classes(data: AlertInput) -> list[Alert]:
    """Classes with fewer than two rows for each fold."""
    counts = _counts(data)
    least = ROWS_PER_FOLD * data.cv
    if counts is None or not (counts < least).any():
        return []
    rare = np.flatnonzero(counts < least)
    lacking = np.flatnonzero(counts < data.cv)
    label = _text(data.classes[rare[counts[rare].argmin()]])
    title = Message(
        "too few rows of a class: {names}",
        names=named(f"{_text(data.classes[k])} ({counts[k]})" for k in rare),
    )
    if lacking.size:
        evidence = Message(
            "With {cv} folds, some test folds have no row of {label} at all.", cv=data.cv, label=label
        )
    else:
        evidence = Message(
            "With {cv} folds, a test fold has one row of {label} or two.", cv=data.cv, label=label
        )
    advice = Message(
        "Scores of these classes are chance: collect more rows, join them with similar classes, or leave them out."
    )
    return [
        Alert("rare class", "caution" if lacking.size else "note", title, evidence, advice, (data.target,))
    ]


def _counts(data: AlertInput) -> np.ndarray | None:
    if data.task != "classification" or data.y is None:
        return None
    return np.bincount(data.y, minlength=len(data.classes))


def _text(label: Any) -> str:
    return repr(label) if isinstance(label, str) else str(label)

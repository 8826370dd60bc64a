"""Costs of mistakes: checks of a cost matrix, and the cost-sensitive error."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.metrics.classification.class_scores import label_places
from tercet.metrics.classification.confusion_counts import checked_labels


@method(
    zh="代价敏感错误率",
    task="evaluation",
    model="E(f; D; cost) = (1/m) Σ cost[yᵢ, f(xᵢ)]",
    peers=["sklearn.metrics.zero_one_loss"],
)
def cost_sensitive_error(
    y_true: Any, y_pred: Any, cost: Any, *, labels: Any = None, sample_weight: Any = None
) -> float:
    """Mean cost of predictions under a cost matrix; with cost 1 for every mistake it is the error rate.

    Parameters
    ----------
    y_true, y_pred : arrays of shape (n_samples,)
        True and predicted labels.
    cost : array of shape (n_classes, n_classes)
        cost[i, j] is the cost of predicting class j for a row of class i, in the order of `labels`.
    labels : array of shape (n_classes,), optional
        The classes in the order of `cost`; by default those that occur, sorted: for 0 and 1, cost[1, 0] is that
        of a false negative and cost[0, 1] that of a false positive.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.

    Notes
    -----
    The Watermelon Book (eq. 2.23) calls the positive class 0: its cost₀₁ of a false negative is our cost[1, 0].

    Examples
    --------
    >>> cost_sensitive_error([0, 0, 1, 1], [0, 1, 0, 1], [[0, 1], [5, 0]])
    1.5
    """
    truth, predicted, weight = checked_labels(y_true, y_pred, sample_weight)
    classes = np.unique(np.concatenate([truth, predicted])) if labels is None else np.asarray(labels)
    table = checked_costs(cost, len(classes))
    rows, columns = (
        label_places(values, classes, name) for values, name in ((truth, "y_true"), (predicted, "y_pred"))
    )
    return float(np.average(table[rows, columns], weights=weight))


def checked_costs(cost: Any, n_classes: int | None = None) -> np.ndarray:
    """A square matrix of finite costs, for so many classes."""
    table = np.asarray(cost, dtype=float)
    square = table.ndim == 2 and table.shape[0] == table.shape[1] > 1
    if not square or (n_classes is not None and len(table) != n_classes):
        wanted = "n_classes" if n_classes is None else n_classes
        raise ValueError(
            f"cost must be a matrix of shape ({wanted}, {wanted}), rows for true, columns for predicted classes; "
            f"got shape {table.shape}. Say which classes they are with labels=."
        )
    if not np.isfinite(table).all():
        raise ValueError(f"cost must be finite numbers; got {table.tolist()!r}.")
    return table


def error_costs(cost: Any) -> tuple[float, float]:
    """What a false positive and a false negative cost more than being right, for two classes.

    Examples
    --------
    >>> error_costs([[0, 1], [5, 0]])
    (1.0, 5.0)
    """
    (tn, fp), (fn, tp) = checked_costs(cost, 2).tolist()
    if not (fp > tn and fn > tp):
        raise ValueError(
            "cost must make mistakes dearer than being right: cost[0, 1] > cost[0, 0] and cost[1, 0] > cost[1, 1]; "
            f"got {[[tn, fp], [fn, tp]]!r}."
        )
    return fp - tn, fn - tp


def checked_prior(prior: Any) -> float:
    """A share of the positive class, between 0 and 1."""
    if not 0 <= prior <= 1:
        raise ValueError(f"prior must be a probability from 0 to 1; got {prior!r}.")
    return float(prior)

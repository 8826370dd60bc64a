"""Macro and micro averages of precision, recall and F over several confusion matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.metrics.classification.confusion_counts import ConfusionCounts, check_beta


class MacroScores(NamedTuple):
    """Means over the confusion matrices.

    Attributes
    ----------
    precision, recall : float
        Means of the matrices' precisions and recalls (macro-P, macro-R).
    f_score : float
        F of macro-P and macro-R, as the Watermelon Book defines macro-F1.
    mean_f_score : float
        Mean of the matrices' own F, as scikit-learn's ``average="macro"`` defines it; never above `f_score` for
        beta = 1.
    """

    precision: float
    recall: float
    f_score: float
    mean_f_score: float


class MicroScores(NamedTuple):
    """Precision, recall and F of the mean confusion matrix (micro-P, micro-R, micro-F)."""

    precision: float
    recall: float
    f_score: float


@method(
    zh="宏查准率、宏查全率与宏 F1",
    task="evaluation",
    model="macro-P = (1/n) Σ Pᵢ, macro-R = (1/n) Σ Rᵢ, macro-F1 = 2·macro-P·macro-R / (macro-P + macro-R)",
    peers=["sklearn.metrics.precision_recall_fscore_support"],
)
def macro_scores(tables: Any, *, beta: float = 1.0) -> MacroScores:
    """Macro averages: precision and recall of each confusion matrix, then their means.

    Parameters
    ----------
    tables : array of shape (n_tables, 2, 2), or sequence of ConfusionCounts
        One confusion matrix [[TN, FP], [FN, TP]] for each class (`multilabel_confusion_matrix`), fold or data set.
    beta : float, default=1.0
        How many times recall counts as much as precision.

    Returns
    -------
    scores : MacroScores
        precision, recall, and both forms of F: of the means (`f_score`), and the mean of F (`mean_f_score`).

    Examples
    --------
    >>> from tercet.metrics import multilabel_confusion_matrix
    >>> scores = macro_scores(multilabel_confusion_matrix([0, 1, 1, 2, 2, 2], [0, 1, 2, 2, 2, 0]))
    >>> [round(score, 6) for score in scores]
    [0.722222, 0.722222, 0.722222, 0.666667]
    """
    counts = _counts(tables)
    precision, recall = (
        float(np.mean([getattr(c, name) for c in counts])) for name in ("precision", "recall")
    )
    return MacroScores(
        precision,
        recall,
        f_of(precision, recall, beta),
        float(np.mean([c.f_score(beta) for c in counts])),
    )


@method(
    zh="微查准率、微查全率与微 F1",
    task="evaluation",
    model="micro-P = mean TP / (mean TP + mean FP), micro-R = mean TP / (mean TP + mean FN), micro-F1 of the two",
    peers=["sklearn.metrics.precision_recall_fscore_support"],
)
def micro_scores(tables: Any, *, beta: float = 1.0) -> MicroScores:
    """Micro averages: the mean confusion matrix, then its precision, recall and F.

    Parameters
    ----------
    tables : array of shape (n_tables, 2, 2), or sequence of ConfusionCounts
        As in `macro_scores`.
    beta : float, default=1.0
        How many times recall counts as much as precision.

    Examples
    --------
    >>> scores = micro_scores([[[4, 1], [0, 1]], [[4, 0], [1, 1]], [[2, 1], [1, 2]]])
    >>> [round(score, 6) for score in scores]
    [0.666667, 0.666667, 0.666667]
    """
    mean = ConfusionCounts(*np.mean(_counts(tables), axis=0).tolist())
    return MicroScores(mean.precision, mean.recall, mean.f_score(beta))


def f_of(precision: float, recall: float, beta: float = 1.0) -> float:
    """F of a precision and a recall: (1 + beta²) P R / (beta² P + R); 0 when both are 0.

    Examples
    --------
    >>> f_of(0.5, 1.0), round(f_of(0.5, 1.0, beta=2.0), 6)
    (0.6666666666666666, 0.833333)
    """
    check_beta(beta)
    if precision == recall == 0:
        return 0.0
    return float((1 + beta**2) * precision * recall / (beta**2 * precision + recall))


def _counts(tables: Any) -> list[ConfusionCounts]:
    """Confusion counts of each matrix."""
    if not isinstance(tables, np.ndarray):
        tables = list(tables)
        if tables and all(isinstance(one, ConfusionCounts) for one in tables):
            return tables
    array = np.asarray(tables, dtype=float)
    if array.ndim != 3 or array.shape[1:] != (2, 2) or not len(array):
        raise ValueError(
            "tables must be confusion matrices [[TN, FP], [FN, TP]] of shape (n_tables, 2, 2), or ConfusionCounts; "
            f"got shape {array.shape}."
        )
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError("tables must hold counts, which are finite and not negative.")
    return [ConfusionCounts(tp, fn, fp, tn) for (tn, fp), (fn, tp) in array.tolist()]

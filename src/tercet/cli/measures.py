"""Measures that rank methods, by task.

Computed thousands of times on small test sets, so the common ones are a few NumPy lines; those of clusters are
`tercet.metrics`'. Labels are indices into the classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Measure:
    """One measure.

    Attributes
    ----------
    name, title : for the command line and for people.
    task : which task it judges.
    needs : "labels", "proba", "ranking" (probabilities or a decision function), "numbers", "inside" (points and
        clusters) or "outside" (classes and clusters).
    greater_is_better : whether more is better.
    of : the function.
    """

    name: str
    title: str
    task: str
    needs: str
    greater_is_better: bool
    of: Callable[..., float]


def _accuracy(truth: np.ndarray, predicted: np.ndarray, k: int) -> float:
    return float(np.mean(truth == predicted))


def _recalls(truth: np.ndarray, predicted: np.ndarray, k: int) -> tuple[np.ndarray, ...]:
    hits = np.bincount(truth[truth == predicted], minlength=k)
    return hits, np.bincount(truth, minlength=k), np.bincount(predicted, minlength=k)


def _balanced_accuracy(truth: np.ndarray, predicted: np.ndarray, k: int) -> float:
    hits, actual, _ = _recalls(truth, predicted, k)
    here = actual > 0
    return float(np.mean(hits[here] / actual[here]))


def _macro_f1(truth: np.ndarray, predicted: np.ndarray, k: int) -> float:
    hits, actual, claimed = _recalls(truth, predicted, k)
    here = (actual + claimed) > 0
    return float(np.mean(2 * hits[here] / (actual + claimed)[here]))


def _log_loss(truth: np.ndarray, proba: np.ndarray, k: int) -> float:
    tiny = np.finfo(np.float64).eps
    return float(-np.mean(np.log(np.clip(proba[np.arange(truth.size), truth], tiny, 1.0))))


def _roc_auc(truth: np.ndarray, proba: np.ndarray, k: int) -> float:
    """Mean over the classes of one against the rest; for two classes it is the usual area."""
    from scipy.stats import rankdata

    areas = []
    for c in range(1, 2) if k == 2 else range(k):
        inside = truth == c
        m = int(inside.sum())
        if 0 < m < truth.size:
            ranks = rankdata(proba[:, c])
            areas.append((ranks[inside].sum() - m * (m + 1) / 2) / (m * (truth.size - m)))
    return float(np.mean(areas)) if areas else float("nan")


def _r2(truth: np.ndarray, predicted: np.ndarray) -> float:
    spread = float(np.sum((truth - truth.mean()) ** 2))
    error = float(np.sum((truth - predicted) ** 2))
    return 1.0 - error / spread if spread > 0 else float("nan")


def _rmse(truth: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.sqrt(np.mean((truth - predicted) ** 2)))


def _mae(truth: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.mean(np.abs(truth - predicted)))


def _metric(name: str) -> Callable[..., float]:
    """A function of `tercet.metrics`, which is imported when it is first called."""

    def measure(*arguments: Any) -> float:
        from tercet import metrics

        return float(getattr(metrics, name)(*arguments))

    return measure


def _silhouette(X: Any, labels: np.ndarray) -> float:
    from tercet.metrics import silhouette_score

    # Exact needs all pairs; beyond a few thousand rows a sample says the same.
    few = {"sample_size": 2000, "random_state": 0} if labels.size > 3000 else {}
    return float(silhouette_score(X, labels, **few))


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("accuracy", "accuracy", "classification", "labels", True, _accuracy),
        Measure(
            "balanced_accuracy", "balanced accuracy", "classification", "labels", True, _balanced_accuracy
        ),
        Measure("macro_f1", "macro F1", "classification", "labels", True, _macro_f1),
        Measure("roc_auc", "ROC AUC", "classification", "ranking", True, _roc_auc),
        Measure("log_loss", "log loss", "classification", "proba", False, _log_loss),
        Measure("r2", "R²", "regression", "numbers", True, _r2),
        Measure("rmse", "RMSE", "regression", "numbers", False, _rmse),
        Measure("mae", "MAE", "regression", "numbers", False, _mae),
        Measure("silhouette", "silhouette", "clustering", "inside", True, _silhouette),
        Measure(
            "calinski_harabasz",
            "Calinski-Harabasz",
            "clustering",
            "inside",
            True,
            _metric("calinski_harabasz_score"),
        ),
        Measure(
            "davies_bouldin",
            "Davies-Bouldin",
            "clustering",
            "inside",
            False,
            _metric("davies_bouldin_score"),
        ),
        Measure(
            "adjusted_rand", "adjusted Rand", "clustering", "outside", True, _metric("adjusted_rand_score")
        ),
        Measure(
            "mutual_information",
            "normalised mutual information",
            "clustering",
            "outside",
            True,
            _metric("normalized_mutual_info_score"),
        ),
        Measure(
            "fowlkes_mallows",
            "Fowlkes-Mallows",
            "clustering",
            "outside",
            True,
            _metric("fowlkes_mallows_score"),
        ),
    )
}


def suitable(task: str, *, labelled: bool = True) -> list[Measure]:
    """The measures of a task, the one that ranks by default first."""
    found = [m for m in MEASURES.values() if m.task == task and (labelled or m.needs != "outside")]
    # With classes at hand, agreement with them says more than the shape of the clusters.
    return sorted(found, key=lambda m: m.needs != "outside") if task == "clustering" else found

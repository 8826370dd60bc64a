"""Measures that rank methods, by task.

Computed thousands of times on small test sets, so the common ones are a few NumPy lines; those of clusters are
`tercet.metrics`'. Labels are indices into the classes. Beside its value, a measure of predictions gives each row's
part in it (`contributions`), which the bootstrap over rows and the variance of a difference need.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.cli import contributions as rows

MARGIN = 0.01  # differences within it mean nothing: in the unit of the measure, or as a share of a loss


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
    of : the function of truth and predictions; for classes also of their number, and for the mean of a quantity of
        each class (`by_class`) of the classes' shares in it.
    contributions : of the same arguments, each row's part: an array whose mean is the value. None for clusters.
    low, high : its range.
    by_class : whether it is a mean over classes, which a test set without some of them does not have.
    counts : whether it is for targets that count something.
    """

    name: str
    title: str
    task: str
    needs: str
    greater_is_better: bool
    of: Callable[..., float]
    contributions: Callable[..., np.ndarray] | None = None
    low: float = -math.inf
    high: float = math.inf
    by_class: bool = False
    counts: bool = False

    def within(self, value: float) -> float:
        """A value moved into the range of the measure."""
        return min(max(value, self.low), self.high)

    def margin(self, baseline: float) -> float:
        """Largest difference that means nothing: 0.01 for a share or an area, else 1 % of the baseline's loss.

        Examples
        --------
        >>> MEASURES["accuracy"].margin(0.6), MEASURES["rmse"].margin(250.0), MEASURES["r2"].margin(-0.01)
        (0.01, 2.5, 0.0101)
        """
        if math.isfinite(self.low) and math.isfinite(self.high):
            return MARGIN
        loss = self.high - baseline if self.greater_is_better else baseline - max(self.low, 0.0)
        return MARGIN * abs(loss if math.isfinite(loss) else baseline)


def _mean(per_row: Callable[..., np.ndarray]) -> Callable[..., float]:
    """The mean of what rows lose."""

    def measure(*arguments: Any) -> float:
        return float(np.mean(per_row(*arguments)))

    return measure


def _balanced_accuracy(
    truth: np.ndarray, predicted: np.ndarray, k: int, share: np.ndarray | None = None
) -> float:
    hits, actual, _ = rows.tallies(truth, predicted, k)
    here = actual > 0
    return float(rows.shares(here, share)[here] @ (hits[here] / actual[here]))


def _macro_f1(truth: np.ndarray, predicted: np.ndarray, k: int, share: np.ndarray | None = None) -> float:
    hits, actual, claimed = rows.tallies(truth, predicted, k)
    here = (actual + claimed) > 0 if share is None else actual > 0
    return float(rows.shares(here, share)[here] @ (2 * hits[here] / (actual + claimed)[here]))


def _roc_auc(truth: np.ndarray, proba: np.ndarray, k: int, share: np.ndarray | None = None) -> float:
    """Mean over the classes of one against the rest; for two classes it is the usual area."""
    from scipy.stats import rankdata

    here = rows.rankable(truth, k)
    if not here.any():
        return float("nan")
    areas = np.zeros(k)
    for c in np.flatnonzero(here):
        inside = truth == c
        m = int(inside.sum())
        ranks = rankdata(proba[:, c])
        areas[c] = (ranks[inside].sum() - m * (m + 1) / 2) / (m * (truth.size - m))
    return float(rows.shares(here, None if k == 2 else share) @ areas)


def _r2(truth: np.ndarray, predicted: np.ndarray) -> float:
    spread = float(np.sum((truth - truth.mean()) ** 2))
    error = float(np.sum((truth - predicted) ** 2))
    return 1.0 - error / spread if spread > 0 else float("nan")


def _rmse(truth: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.sqrt(np.mean((truth - predicted) ** 2)))


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


UNIT: dict[str, Any] = {"low": 0.0, "high": 1.0}
MEASURES = {
    measure.name: measure
    for measure in (
        Measure("accuracy", "accuracy", "classification", "labels", True, _mean(rows.hits), rows.hits, **UNIT),
        Measure(
            "balanced_accuracy", "balanced accuracy", "classification", "labels", True, _balanced_accuracy,
            rows.balanced_accuracy, by_class=True, **UNIT,
        ),
        Measure(
            "macro_f1", "macro F1", "classification", "labels", True, _macro_f1,
            rows.macro_f1, by_class=True, **UNIT,
        ),
        Measure(
            "roc_auc", "ROC AUC", "classification", "ranking", True, _roc_auc, rows.roc_auc, by_class=True, **UNIT
        ),
        Measure(
            "log_loss", "log loss", "classification", "proba", False, _mean(rows.log_loss), rows.log_loss, low=0.0
        ),
        Measure("r2", "R²", "regression", "numbers", True, _r2, rows.r2, high=1.0),
        Measure("rmse", "RMSE", "regression", "numbers", False, _rmse, rows.rmse, low=0.0),
        Measure(
            "mae", "MAE", "regression", "numbers", False, _mean(rows.absolute_error), rows.absolute_error, low=0.0
        ),
        Measure(
            "poisson_deviance", "Poisson deviance", "regression", "numbers", False, _mean(rows.poisson_deviance),
            rows.poisson_deviance, low=0.0, counts=True,
        ),
        Measure("silhouette", "silhouette", "clustering", "inside", True, _silhouette, low=-1.0, high=1.0),
        Measure(
            "calinski_harabasz",
            "Calinski-Harabasz",
            "clustering",
            "inside",
            True,
            _metric("calinski_harabasz_score"),
            low=0.0,
        ),
        Measure(
            "davies_bouldin",
            "Davies-Bouldin",
            "clustering",
            "inside",
            False,
            _metric("davies_bouldin_score"),
            low=0.0,
        ),
        Measure(
            "adjusted_rand", "adjusted Rand", "clustering", "outside", True, _metric("adjusted_rand_score"),
            low=-1.0, high=1.0,
        ),
        Measure(
            "mutual_information",
            "normalised mutual information",
            "clustering",
            "outside",
            True,
            _metric("normalized_mutual_info_score"),
            **UNIT,
        ),
        Measure(
            "fowlkes_mallows",
            "Fowlkes-Mallows",
            "clustering",
            "outside",
            True,
            _metric("fowlkes_mallows_score"),
            **UNIT,
        ),
    )
}  # fmt: skip


def suitable(task: str, *, labelled: bool = True, counts: bool = False) -> list[Measure]:
    """The measures of a task, the one that ranks by default first; those of counts for targets that are counts."""
    found = [
        m
        for m in MEASURES.values()
        if m.task == task and (labelled or m.needs != "outside") and (counts or not m.counts)
    ]
    # With classes at hand, agreement with them says more than the shape of the clusters.
    return sorted(found, key=lambda m: m.needs != "outside") if task == "clustering" else found

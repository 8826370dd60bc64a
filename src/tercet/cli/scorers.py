"""scikit-learn's scorers as measures, by their names.

Those that are the same as a measure of ours are ours. The main process of a comparison does not import
scikit-learn, so the names and what they need are a table here; a test compares it with the installed version.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tercet.cli.contributions import by_jackknife
from tercet.cli.measures import MEASURES, Measure

# scikit-learn's name -> ours
SAME = {
    "f1_macro": "macro_f1",
    "recall_macro": "balanced_accuracy",
    "roc_auc_ovr": "roc_auc",
    "neg_log_loss": "log_loss",
    "neg_root_mean_squared_error": "rmse",
    "neg_mean_absolute_error": "mae",
    "neg_mean_poisson_deviance": "poisson_deviance",
    "adjusted_rand_score": "adjusted_rand",
    "normalized_mutual_info_score": "mutual_information",
    "fowlkes_mallows_score": "fowlkes_mallows",
}
# task and need -> names; those that average over the labels of a row (f1_samples) are for several labels a row
OTHERS: dict[tuple[str, str], tuple[str, ...]] = {
    ("classification", "labels"): (
        *("f1", "f1_micro", "f1_weighted", "jaccard", "jaccard_macro", "jaccard_micro", "jaccard_weighted"),
        *("precision", "precision_macro", "precision_micro", "precision_weighted"),
        *("recall", "recall_micro", "recall_weighted", "matthews_corrcoef"),
        *("neg_negative_likelihood_ratio", "positive_likelihood_ratio"),
    ),
    ("classification", "ranking"): ("average_precision", "top_k_accuracy"),
    ("classification", "proba"): (
        *("neg_brier_score", "d2_brier_score", "d2_log_loss_score"),
        *("roc_auc_ovo", "roc_auc_ovo_weighted", "roc_auc_ovr_weighted"),
    ),
    ("regression", "numbers"): (
        *("explained_variance", "neg_max_error", "neg_mean_squared_error", "neg_median_absolute_error"),
        *(
            "neg_mean_absolute_percentage_error",
            "neg_mean_squared_log_error",
            "neg_root_mean_squared_log_error",
        ),
        *("neg_mean_gamma_deviance", "d2_absolute_error_score"),
    ),
    ("clustering", "outside"): (
        *("adjusted_mutual_info_score", "completeness_score", "homogeneity_score", "mutual_info_score"),
        *("rand_score", "v_measure_score"),
    ),
}
FOR_TWO_CLASSES = (
    *("f1", "jaccard", "precision", "recall"),
    *("neg_negative_likelihood_ratio", "positive_likelihood_ratio"),
)
OF_ONE_CLASS = (*FOR_TWO_CLASSES, "average_precision")  # where there are two
NO_LIMIT = ("d2_", "explained")  # at most 1, and as bad as can be
UNLIMITED = ("likelihood", "mutual_info_score", "error", "deviance")
ALL = {name: (task, needs) for (task, needs), names in OTHERS.items() for name in names}


def find(name: str) -> Measure | None:
    """A measure by our name or by scikit-learn's.

    Examples
    --------
    >>> find("neg_log_loss").name, find("neg_brier_score").title, find("beauty")
    ('log_loss', 'brier score', None)
    """
    ours = MEASURES.get(SAME.get(name, name))
    if ours is not None or name not in ALL:
        return ours
    task, needs = ALL[name]
    of = _scorer(name)
    low, high = _range(name)
    return Measure(
        name,
        name.removeprefix("neg_").replace("_", " "),
        task,
        needs,
        not name.startswith("neg_"),
        of,
        by_jackknife(of) if needs != "outside" else None,
        low,
        high,
    )


def positive_class(classes: Sequence[Any], y: np.ndarray) -> int:
    """Which of two classes is the one to be found: 1 of 0 and 1, as in scikit-learn, else the rarer one.

    Examples
    --------
    >>> positive_class([0, 1], np.array([1, 1, 0])), positive_class(["ill", "well"], np.array([1, 1, 0]))
    (1, 0)
    """
    if all(isinstance(label, bool | int | float | np.bool_ | np.number) for label in classes):
        return 1
    return rarer_class(y)


def rarer_class(y: np.ndarray) -> int:
    """The rarer of two classes, or the second where they are equally frequent."""
    return int(2 * np.count_nonzero(y == 1) <= y.size)


def for_class(measure: Measure, positive: int) -> Measure:
    """A measure of one class of two as that of the class `positive`; any other measure as it is.

    Examples
    --------
    >>> truth, predicted = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 1])
    >>> [for_class(find("recall"), k).of(truth, predicted, 2) for k in (0, 1)]
    [0.5, 1.0]
    """
    if positive == 1 or measure.name not in OF_ONE_CLASS:
        return measure

    def of(truth: np.ndarray, given: np.ndarray, k: int = 0) -> float:
        return measure.of(1 - truth, given[:, ::-1] if np.ndim(given) == 2 else 1 - given, k)

    return dataclasses.replace(measure, of=of, contributions=by_jackknife(of))


def _range(name: str) -> tuple[float, float]:
    if name.startswith(NO_LIMIT):
        return -math.inf, 1.0
    if name == "matthews_corrcoef" or name.startswith("adjusted"):
        return -1.0, 1.0
    return 0.0, math.inf if name.endswith(UNLIMITED) or "likelihood" in name else 1.0


def _scorer(name: str) -> Callable[..., float]:
    """The function behind a scorer, without its sign; NaN where it has no value (a class is missing, say)."""

    def measure(truth: np.ndarray, given: Any, k: int = 0) -> float:
        from sklearn.metrics import get_scorer

        scorer: Any = get_scorer(name)
        if k == 2 and np.ndim(given) == 2:
            given = given[:, 1]
        try:
            return float(scorer._score_func(truth, given, **scorer._kwargs))
        except ValueError:
            return float("nan")

    return measure

"""The row of the leaderboard that combines strong methods: a weighted mean of what they predict.

Its candidates are fixed beforehand, strong methods with settings that differ in what matters most. Inside each
training set, cross-validation tells how they predict, and weights are chosen by that: a mean of the best to begin
with, to which candidates are added, again and again the same if need be, while the mean becomes better (greedy
ensemble selection). So settings are searched here by default, and the test rows have no part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

COMBINATION = "combination"
FIRST = 3  # how many of the best the mean begins with
ADDED = 12  # how many are added at most
LEAST_WEIGHT = 0.04  # of a member of the combination on all rows
MOST_MEMBERS = 6  # of it
# The estimator that does the same, whose card the row has.
SAME_AS = {"classification": "VotingClassifier", "regression": "VotingRegressor"}

Candidate = tuple[str, dict[str, Any]]
# Strongest first: where time is short, the first are the candidates. All of them give probabilities.
CANDIDATES: dict[str, list[Candidate]] = {
    "classification": [
        ("HistGradientBoostingClassifier", {}),
        ("LogisticRegression", {}),
        ("ExtraTreesClassifier", {}),
        ("SVC", {"calibration": "platt"}),
        ("HistGradientBoostingClassifier", {"learning_rate": 0.05, "max_iter": 200, "max_leaf_nodes": 8}),
        ("LogisticRegression", {"C": 0.1}),
        ("SVC", {"calibration": "platt", "C": 10.0}),
        ("RandomForestClassifier", {}),
        ("QuadraticDiscriminantAnalysis", {"reg_param": 0.1}),
        ("ExtraTreesClassifier", {"max_features": 0.7, "min_samples_leaf": 3}),
        ("KNeighborsClassifier", {"n_neighbors": 10, "weights": "distance"}),
        ("LogisticRegression", {"C": 0.01}),
        ("HistGradientBoostingClassifier", {"learning_rate": 0.05, "max_iter": 200, "max_leaf_nodes": 3}),
        ("GradientBoostingClassifier", {"max_depth": 5, "max_features": 0.5, "subsample": 0.5}),
    ],
    "regression": [
        ("HistGradientBoostingRegressor", {}),
        ("RidgeCV", {}),
        ("ExtraTreesRegressor", {}),
        ("LSSVR", {"mu": 10.0}),
        ("HistGradientBoostingRegressor", {"learning_rate": 0.05, "max_iter": 200, "max_leaf_nodes": 8}),
        ("LassoCV", {}),
        ("LSSVR", {"mu": 10.0, "gamma": 0.02}),
        ("RandomForestRegressor", {"max_features": 0.5}),
        ("ExtraTreesRegressor", {"max_features": 0.7, "min_samples_leaf": 3}),
        ("PolynomialRegression", {"degree": 2, "alpha": 10.0}),
        ("KNeighborsRegressor", {"n_neighbors": 10, "weights": "distance"}),
        ("HistGradientBoostingRegressor", {"learning_rate": 0.05, "max_iter": 200, "max_leaf_nodes": 3}),
        ("GradientBoostingRegressor", {"max_depth": 5, "max_features": 0.5, "subsample": 0.5}),
    ],
}


def effort(settings: dict[str, Any]) -> float:
    """About how many times as long a fit takes with these settings as with the defaults.

    Examples
    --------
    >>> effort({"max_iter": 200, "max_leaf_nodes": 8}), effort({"calibration": "platt"}), effort({})
    (2.0, 3.0, 1.0)
    """
    times = settings.get("max_iter", 100) / 100
    return times * (3.0 if "calibration" in settings else 1.0)


def label(candidate: Candidate) -> str:
    """A candidate in words.

    Examples
    --------
    >>> label(("SVC", {"C": 10.0})), label(("Ridge", {}))
    ('SVC (C=10.0)', 'Ridge')
    """
    name, settings = candidate
    told = ", ".join(f"{key}={value}" for key, value in settings.items())
    return f"{name} ({told})" if told else name


class Combined:
    """The weighted mean of what fitted models predict of the same rows: of probabilities, or of numbers.

    Parameters
    ----------
    parts : list of arrays
        Probabilities of shape (n, n_classes), or numbers of shape (n,), one for each model.
    weights : array, optional
        One for each model; by default all are equal.
    """

    def __init__(self, parts: Sequence[np.ndarray], weights: Any = None) -> None:
        self.mean = np.average(parts, axis=0, weights=weights)
        self.classes_ = np.arange(self.mean.shape[1]) if self.mean.ndim == 2 else None

    def predict(self, X: Any) -> np.ndarray:
        return self.mean.argmax(axis=1) if self.mean.ndim == 2 else self.mean

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.mean


def greedy_weights(parts: list[np.ndarray | None], score: Callable[[np.ndarray], float]) -> np.ndarray:
    """Weights of a mean of predictions that scores well: greedy selection with replacement.

    Parameters
    ----------
    parts : list of arrays
        Predictions of the same rows by each candidate; None for one that has none.
    score : callable
        Of a mean of them; greater is better.

    Returns
    -------
    weights : array of shape (n_candidates,)
        Not negative, with the sum 1.

    Examples
    --------
    >>> y = np.array([1.0, 2.0, 3.0])
    >>> parts = [y + 1, y - 1, y + 9, None]
    >>> greedy_weights(parts, lambda mean: -float(np.abs(mean - y).max()))
    array([0.5, 0.5, 0. , 0. ])
    """
    there = {k: part for k, part in enumerate(parts) if part is not None}
    alone = {k: score(part) for k, part in there.items()}
    able = sorted((k for k in there if np.isfinite(alone[k])), key=lambda k: (-alone[k], k))
    counts = np.zeros(len(parts))
    if not able:
        return counts

    def mean(chosen: Sequence[int]) -> np.ndarray:
        return np.mean([there[k] for k in chosen], axis=0)

    # As many of the best as do better together.
    begins = [able[: k + 1] for k in range(min(FIRST, len(able)))]
    chosen = max(begins, key=lambda some: score(mean(some)))
    best, total = score(mean(chosen)), mean(chosen) * len(chosen)
    for _ in range(ADDED):
        found = {k: score((total + there[k]) / (len(chosen) + 1)) for k in able}
        k = max(able, key=lambda k: found[k])
        if not found[k] > best:
            break
        best, total, chosen = found[k], total + there[k], [*chosen, k]
    np.add.at(counts, chosen, 1.0)
    return counts / counts.sum()


def members_on_all_rows(weights: np.ndarray) -> dict[int, float]:
    """Weights of the members of the combination that is fitted on all rows, from those of the splits (a row each).

    Examples
    --------
    >>> members_on_all_rows(np.array([[0.5, 0.5, 0.0], [0.7, 0.28, 0.02]]))
    {0: 0.606, 1: 0.394}
    """
    mean = np.mean(weights, axis=0)
    kept = [k for k in np.argsort(-mean, kind="stable")[:MOST_MEMBERS] if mean[k] >= LEAST_WEIGHT]
    kept = kept or [int(np.argmax(mean))]
    total = float(mean[kept].sum())
    return {int(k): round(float(mean[k]) / total, 3) for k in kept}

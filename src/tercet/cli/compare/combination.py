"""The row of the leaderboard that combines the best methods: the mean of what they predict."""

from __future__ import annotations

from typing import Any

import numpy as np

COMBINATION = "combination"
MEMBERS = 3  # how many of the best are combined
CANDIDATES = 8  # how many of the strongest they are chosen from, inside each training set
# The estimator that does the same, whose card the row has.
SAME_AS = {"classification": "VotingClassifier", "regression": "VotingRegressor"}


class Combined:
    """The mean of what fitted models predict of the same rows: of probabilities, of votes, or of numbers.

    Parameters
    ----------
    parts : list of arrays
        Probabilities of shape (n, n_classes), or numbers of shape (n,), one for each model.
    """

    def __init__(self, parts: list[np.ndarray]) -> None:
        self.mean = np.mean(parts, axis=0)
        self.classes_ = np.arange(self.mean.shape[1]) if self.mean.ndim == 2 else None

    def predict(self, X: Any) -> np.ndarray:
        return self.mean.argmax(axis=1) if self.mean.ndim == 2 else self.mean

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.mean

"""The baseline: a constant prediction."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

BASELINE = "baseline"


class Baseline:
    """The most frequent class, the mean of the targets, or random clusters.

    Its probabilities are the frequencies of the classes. Unlike scikit-learn's dummies it has clusters.
    """

    def __init__(self, task: str, n_classes: int, seed: int) -> None:
        self.task, self.k, self.seed = task, n_classes, seed

    def fit(self, X: Any, y: Any = None) -> Self:
        if self.task == "clustering":
            # As many clusters as there are classes, or two: what chance alone would score.
            self.labels_ = np.random.default_rng(self.seed).integers(0, max(2, self.k), X.shape[0])
        elif self.task == "classification":
            self.share_ = np.bincount(y, minlength=self.k) / y.size
            self.classes_ = np.arange(self.k)
        else:
            self.mean_ = float(np.mean(y))
        return self

    def predict(self, X: Any) -> np.ndarray:
        n = X.shape[0]
        return np.full(n, self.share_.argmax()) if self.task == "classification" else np.full(n, self.mean_)

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.tile(self.share_, (X.shape[0], 1))

"""Splits of the rows into those that a tree is grown from and those that it is pruned by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split


@runtime_checkable
class Splitter(Protocol):
    """A cross-validation splitter, as scikit-learn has them."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[np.ndarray, np.ndarray]]: ...


class WeightedSample(NamedTuple):
    """Rows, their targets (indices of classes, or numbers) and their weights."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None

    def take(self, rows: np.ndarray) -> WeightedSample:
        """Some of the rows, by their indices or by a mask."""
        return WeightedSample(self.X[rows], self.y[rows], None if self.weight is None else self.weight[rows])


def holdout_split(
    sample: WeightedSample, fraction: float, seed: int, stratified: bool
) -> tuple[WeightedSample, WeightedSample]:
    """A training and a validation sample, the second a fraction of the rows; stratified where possible."""
    indices = np.arange(len(sample.y))
    strata = sample.y if stratified and sample.y.ndim == 1 else None
    try:
        training, validation = train_test_split(
            indices, test_size=fraction, random_state=seed, stratify=strata
        )
    except ValueError:  # too few rows of some class
        training, validation = train_test_split(indices, test_size=fraction, random_state=seed)
    return sample.take(training), sample.take(validation)


def cross_validation_folds(
    y: np.ndarray, n_folds: int, seed: int, stratified: bool
) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """The indices of the rows to grow from and of those to hold out, for each fold."""
    even = stratified and y.ndim == 1 and np.bincount(y).min() >= n_folds
    kind = StratifiedKFold if even else KFold
    return kind(n_folds, shuffle=True, random_state=seed).split(np.zeros((len(y), 1)), y if even else None)

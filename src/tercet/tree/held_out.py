"""Rows that a tree is not grown from, to prune it by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split


@runtime_checkable
class Splitter(Protocol):
    """What scikit-learn's splitters of rows are."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[np.ndarray, np.ndarray]]: ...


class Rows(NamedTuple):
    """Rows, their targets (places of classes, or numbers) and their weights."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None

    def part(self, places: np.ndarray) -> Rows:
        return Rows(self.X[places], self.y[places], None if self.weight is None else self.weight[places])


def hold_out(rows: Rows, fraction: float, seed: int, classes: bool) -> tuple[Rows, Rows]:
    """Two parts of the rows, the second the given fraction of them; of every class, where it has enough."""
    places = np.arange(len(rows.y))
    strata = rows.y if classes and rows.y.ndim == 1 else None
    try:
        kept, held = train_test_split(places, test_size=fraction, random_state=seed, stratify=strata)
    except ValueError:  # too few rows of some class
        kept, held = train_test_split(places, test_size=fraction, random_state=seed)
    return rows.part(kept), rows.part(held)


def folds(y: np.ndarray, count: int, seed: int, classes: bool) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """The places of the rows to grow from and of those to hold out, for each fold."""
    even = classes and y.ndim == 1 and np.bincount(y).min() >= count
    kind = StratifiedKFold if even else KFold
    return kind(count, shuffle=True, random_state=seed).split(np.zeros((len(y), 1)), y if even else None)

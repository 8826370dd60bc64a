"""What samplers share: the data as it came, and the rows wanted of each class."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from tercet.core.estimator import distinct
from tercet.core.input_errors import refuse_containers, refuse_mixed_labels
from tercet.core.meta import rows_at
from tercet.core.parameters import check_parameters
from tercet.core.validation import indexable

Strategy = (
    Literal["auto", "minority", "majority", "not minority", "not majority", "all"] | float | dict | Callable
)


class Sampler(BaseEstimator):
    """Base of samplers; a subclass implements `_resample(X, y, index, counts, wanted)`.

    It has no `fit`: there is nothing to learn for other rows.
    """

    sampling_strategy: Any
    adds: ClassVar[bool]  # rows, instead of taking them away

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Rows of the wanted class sizes.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their classes.

        Returns
        -------
        X, y : as they were given
            The rows that stay, in their order, and then those that were added.
        """
        check_parameters(self)
        refuse_containers(X=X, y=y)
        refuse_mixed_labels(y)
        X, y = indexable(X, y)
        labels = column_or_1d(y)
        if not len(labels):
            raise ValueError(f"{type(self).__name__}: X has no rows.")
        if labels.dtype.kind == "f" and np.isnan(labels).any():
            raise ValueError(f"{type(self).__name__}: y contains NaN; every row needs a class.")
        check_classification_targets(labels)
        check_consistent_length(X, labels)
        classes, index = distinct(labels)
        counts = np.bincount(index)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least 2 classes; y has only {classes.tolist()[0]!r}."
            )
        self.sampling_strategy_ = self._wanted(labels, classes, counts)
        wanted = np.array([self.sampling_strategy_.get(label, 0) for label in classes.tolist()])
        return self._resample(X, y, index, classes, counts, np.where(wanted > 0, wanted, counts))

    def _resample(
        self, X: Any, y: Any, index: np.ndarray, classes: np.ndarray, counts: np.ndarray, wanted: np.ndarray
    ) -> tuple[Any, Any]:
        raise NotImplementedError(f"{type(self).__name__} has no _resample.")

    def _wanted(self, y: np.ndarray, classes: np.ndarray, counts: np.ndarray) -> dict[Any, int]:
        """Rows wanted of those classes that change, by label."""
        strategy = self.sampling_strategy
        labels = classes.tolist()
        if isinstance(strategy, str):
            size = int(counts.max() if self.adds else counts.min())
            found = {labels[k]: size for k in _named(strategy, counts, self.adds)}
        elif isinstance(strategy, numbers.Real):
            found = self._by_ratio(float(strategy), labels, counts)
        else:
            found = dict(strategy(y)) if callable(strategy) else dict(strategy)
        for label, size in found.items():
            if label not in labels:
                raise self._error(f"names the class {label!r}, but the classes are {labels}")
            have = int(counts[labels.index(label)])
            whole = isinstance(size, numbers.Integral) and not isinstance(size, bool)
            if not whole or not (size >= have if self.adds else 1 <= size <= have):
                room = f"at least {have}" if self.adds else f"from 1 to {have}"
                raise self._error(f"wants {size!r} rows of class {label!r}; it must be a whole number {room}")
        return {label: int(size) for label, size in found.items()}

    def _by_ratio(self, ratio: float, labels: list[Any], counts: np.ndarray) -> dict[Any, int]:
        """Rows of the smaller class / rows of the larger one, of two."""
        if len(labels) != 2:
            raise self._error(f"is a number, which is for 2 classes; y has {len(labels)}")
        small, large = int(np.argmin(counts)), 1 - int(np.argmin(counts))
        least = counts[small] / counts[large]
        if not least <= ratio <= 1:
            raise self._error(
                f"must be in [{least:.6g}, 1]: from the ratio that the classes have, to equal ones"
            )
        if self.adds:
            return {labels[small]: max(int(ratio * counts[large]), int(counts[small]))}
        return {labels[large]: min(int(counts[small] / ratio), int(counts[large]))}

    def _error(self, wrong: str) -> ValueError:
        return ValueError(f"{type(self).__name__}: sampling_strategy={self.sampling_strategy!r} {wrong}.")


def _named(strategy: str, counts: np.ndarray, adds: bool) -> list[int]:
    """Which classes a word of `sampling_strategy` means."""
    small, large, every = int(np.argmin(counts)), int(np.argmax(counts)), range(len(counts))
    if strategy == "auto":
        strategy = "not majority" if adds else "not minority"
    if strategy.startswith("not "):
        left_out = small if strategy == "not minority" else large
        return [k for k in every if k != left_out]
    return list(every) if strategy == "all" else [small if strategy == "minority" else large]


def take(given: Any, rows: np.ndarray) -> Any:
    """Rows of what was given, as what it was given; a list becomes an array where it is one of labels."""
    if isinstance(given, list | tuple) and not isinstance(given[0], list | tuple | str | dict):
        return np.asarray(given)[rows]
    return rows_at(given, rows)

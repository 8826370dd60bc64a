"""Base class of feature maps on a box: every input has a lowest and a highest value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.kernel import inner
from tercet.core.parameters import ArrayLike
from tercet.core.rows import read_only
from tercet.core.validation import target_for_callbacks

MOST_FEATURES = 1_000_000  # of dense feature vectors
USUAL_FEATURES = 10_000  # of a grid whose steps are not given


class BoundedFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Feature maps φ(x) of inputs that are scaled to [0, 1] by their ranges.

    A class writes `_prepare()`, which sets what the map needs beside the ranges, `_n_features_out`,
    `_n_entries` (how many features of a row can differ from 0), and `_writer()`, by which agents map one
    observation after another.
    """

    sparse_input = False
    fitted_shapes: ClassVar[Declarations] = {
        "low_": Floats("features", finite=True),
        "high_": Floats("features", finite=True),
    }
    low: Any
    high: Any
    low_: np.ndarray
    high_: np.ndarray
    n_features_in_: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Take the ranges that are not given from rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Observations.
        y : ignored
            Accepted for pipelines; nothing is learned from it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _fit(self, X: np.ndarray, y: Any, sample_weight: Any) -> None:
        self.low_ = self._ends("low", self.low, X.min(axis=0))
        self.high_ = self._ends("high", self.high, X.max(axis=0))
        wrong = np.flatnonzero(self.low_ > self.high_)
        if wrong.size:
            j = wrong[0]
            raise ValueError(
                f"{type(self).__name__}: low is {self.low_[j]:g} and high is {self.high_[j]:g} for feature {j}; "
                "low must not be above high."
            )
        self._prepare()

    def _ends(self, name: str, given: ArrayLike, found: np.ndarray) -> np.ndarray:
        """The lowest or the highest value of each input, shape (n_features,)."""
        if given is None:
            return found.astype(np.float64)
        try:
            ends = np.broadcast_to(np.asarray(given, dtype=np.float64), found.shape).copy()
        except (TypeError, ValueError):
            ends = np.full(found.shape, np.nan)
        if not np.isfinite(ends).all():
            raise ValueError(
                f"{type(self).__name__}: {name} must be a finite number, or one for each of {found.size} "
                f"features; got {given!r}."
            )
        return ends

    def _prepare(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _prepare().")

    def _writer(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], int]:
        """A function `(x, columns, values) -> n` that writes the n <= `_n_entries` features of x that can
        differ from 0 into two arrays: their columns and their values."""
        raise NotImplementedError(f"{type(self).__name__} has no _writer().")

    def _ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest values and half the widths, for `scaled`: the width itself may be beyond floating point."""
        return read_only(self.low_), read_only(0.5 * self.high_ - 0.5 * self.low_)

    def _checked(self, X: Any) -> tuple[np.ndarray, Any]:
        """Rows in float64 for kernels, and the type of numbers that the features shall have."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        return read_only(np.ascontiguousarray(X, dtype=np.float64)), X.dtype

    def _usual_steps(self, most: int) -> int:
        """Steps along each input of a grid of at most `USUAL_FEATURES` points: at most `most`, and at least 2."""
        return next((n for n in range(most, 2, -1) if n**self.n_features_in_ <= USUAL_FEATURES), 2)

    def _refuse_too_many(self, n: float, hint: str, most: float = MOST_FEATURES) -> None:
        if n > most:
            raise ValueError(
                f"{type(self).__name__}: there would be {n:.3g} features of {self.n_features_in_} inputs, more "
                f"than {most:.3g}; {hint}."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@inner
def scaled(x: float, low: float, half_width: float) -> float:
    """An input as a part of its range, from 0 to 1; 0 where it does not vary."""
    if not half_width > 0.0:
        return 0.0
    return min(max((0.5 * x - 0.5 * low) / half_width, 0.0), 1.0)

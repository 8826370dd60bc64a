"""Tables whose columns are variables with a few states each: categories as they are, numbers in intervals."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from tercet.core.columns import MixedColumns
from tercet.core.estimator import NO_TARGET
from tercet.core.fitted_checks import Each, Floats, Sizes
from tercet.core.quantile_cuts import quantile_cuts

UNKNOWN = -1
Unknown = Literal["error", "warn", "missing"]


class DiscreteColumns(MixedColumns):
    """An estimator of discrete columns.

    A column of numbers with at most `n_bins` distinct ones has these as its states; one with more is cut into
    `n_bins` intervals of equal weight. Missing values (None, NaN) are not known; what becomes of a state that was
    not there to learn from is the parameter `handle_unknown`.
    """

    n_bins: int
    handle_unknown: Unknown
    cuts_: list[np.ndarray | None]
    numbers_: list[np.ndarray | None]
    fitted_shapes = {
        "cuts_": Each(Floats("cuts*@ | None", finite=True), "features"),
        "numbers_": Each(Floats("numbers*@ | None", finite=True), "features"),
    }

    def _learn_states(self, X: np.ndarray, sample_weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Learn the states of each column; returns the codes of the rows and their weights."""
        X = self._forget_weightless(X, sample_weight)
        weight = np.ones(len(X)) if sample_weight is None else sample_weight.astype(np.float64)
        some = weight > 0
        self.cuts_, self.numbers_ = [], []
        for j, categories in enumerate(self.categories_):
            cuts = numbers = None
            if categories is None:
                known = some & ~np.isnan(X[:, j])
                column = X[known, j].astype(np.float64)
                numbers = np.unique(column)
                if numbers.size > self.n_bins:
                    cuts, numbers = quantile_cuts(column, weight[known], self.n_bins), None
            self.cuts_.append(cuts)
            self.numbers_.append(numbers)
        return self._codes(X, warn=False), weight

    def _codes(self, X: np.ndarray, *, warn: bool = True) -> np.ndarray:
        """The state of every cell of encoded rows; UNKNOWN where there is none."""
        codes = np.empty(X.shape, dtype=np.int32)
        for j, (cuts, numbers, size) in enumerate(zip(self.cuts_, self.numbers_, self._sizes())):
            column = X[:, j]
            missing = np.isnan(column)
            if cuts is not None:
                code, strange = np.searchsorted(cuts, column, side="left"), np.zeros(len(X), dtype=bool)
            elif numbers is not None:
                code = np.minimum(np.searchsorted(numbers, column), max(numbers.size - 1, 0))
                strange = ~missing & (numbers[code] != column if numbers.size else True)
            else:
                code = np.where(missing, 0, column).astype(np.int64)
                strange = ~missing & (code >= len(self.categories_[j]))  # type: ignore[arg-type]
            if warn and numbers is not None and strange.any():
                row = int(np.flatnonzero(strange)[0])
                self._report_unknown(j, row, _plain(float(column[row])))
            codes[:, j] = np.where(missing | strange, UNKNOWN, np.minimum(code, size - 1))
        return codes

    def _sizes(self) -> list[int]:
        """The number of states of each column; at least one, of which nothing may be known."""
        return [max(len(states), 1) for states in self._state_names()]

    def _state_names(self) -> list[list]:
        """What the states of each column are called: categories, numbers, or intervals."""
        found: list[list] = []
        for categories, cuts, numbers in zip(self.categories_, self.cuts_, self.numbers_):
            if categories is not None:
                found.append([_plain(value) for value in categories.tolist()])
            elif numbers is not None:
                found.append([_plain(value) for value in numbers.tolist()])
            else:
                assert cuts is not None
                found.append(interval_names(cuts))
        return [names or ["unknown"] for names in found]

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if reset:
            return super()._check(X, y, reset=True)
        columns = self._columns(X, reset=False)
        encoded = columns.encode(self.categories_)
        for j, known in enumerate(self.categories_):
            strange = np.flatnonzero(encoded[:, j] >= (np.inf if known is None else len(known)))
            if strange.size:
                row, labels = int(strange[0]), columns.labels[j]
                value = columns.values[j][row]
                self._report_unknown(j, row, _plain(float(value)) if labels is None else labels[int(value)])
        return encoded if y is NO_TARGET else (encoded, y)

    def _report_unknown(self, j: int, row: int, value: Any) -> None:
        """A state that was never seen is an error, a warning, or nothing, as `handle_unknown` says."""
        if self.handle_unknown == "missing":
            return
        said = (
            f"{type(self).__name__}: column {self._column_name(j)!r} holds {str(value)!r} in row {row}, a state "
            f"that was not there in training; its states are {self._state_names()[j][:12]}"
        )
        if self.handle_unknown == "error":
            raise ValueError(f"{said}. handle_unknown='missing' takes it for a missing value.")
        warnings.warn(f"{said}. It is taken for a missing value.", UserWarning, stacklevel=3)

    def _column_name(self, j: int) -> Any:
        names = getattr(self, "feature_names_in_", None)
        return j if names is None else names[j]

    def _check_fitted(self, sizes: Sizes) -> None:
        if "cuts_" not in vars(self):
            return
        for j, (categories, cuts, numbers) in enumerate(zip(self.categories_, self.cuts_, self.numbers_)):
            if sum(part is not None for part in (categories, cuts, numbers)) != 1:
                raise ValueError(
                    f"{type(self).__name__}: column {j} must have one of categories_, cuts_ and numbers_."
                )


def interval_names(cuts: np.ndarray) -> list[str]:
    """The intervals between cuts, in words."""
    if not cuts.size:
        return ["any"]
    ends = [f"{cut:.6g}" for cut in cuts]
    return [f"<= {ends[0]}", *(f"({a}, {b}]" for a, b in pairwise(ends)), f"> {ends[-1]}"]


def _plain(value: Any) -> Any:
    """Whole numbers without a point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value

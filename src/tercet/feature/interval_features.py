"""Features of numbers and dates by discretisation into intervals, for methods that take categories only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tercet.core.messages import Message
from tercet.datasets.readers import listed
from tercet.feature.records import Records, column_positions

MAX_INTERVALS = 10  # of a column; of few rows, no more than the root of their number


@dataclass
class IntervalFeatures:
    """Numbers and dates as the numbers of the intervals they are in, each with about equally many rows.

    What is missing is NaN, or in the interval of the median. An interval holds its lower end, not its upper one.
    """

    place: np.ndarray  # of each column among all
    cuts: list[np.ndarray]  # of each column, where one interval ends and the next begins
    labels: list[list[str]]
    fill: np.ndarray  # the interval of the median
    absent: np.ndarray  # how many values were missing
    keep: bool

    def __post_init__(self) -> None:
        if any(len(label) != cut.size + 1 for cut, label in zip(self.cuts, self.labels, strict=True)):
            raise ValueError("the encoder's intervals do not fit together.")  # a forged file, say

    @classmethod
    def fit(cls, records: Records, keep: bool) -> IntervalFeatures:
        place = column_positions(records, "number", "date")
        X, cuts, labels, fill = records.numbers, [], [], []
        for j, k in enumerate(place):
            known, date = X[~np.isnan(X[:, j]), j], records.kinds[k] == "date"
            cut = _equal_frequency_cuts(known, date)
            cuts.append(cut)
            labels.append(interval_labels([_cut_label(c, date) for c in cut.tolist()]))
            fill.append(np.searchsorted(cut, np.median(known), side="right") if known.size else 0)
        return cls(place, cuts, labels, np.array(fill, dtype=np.intp), np.isnan(X).sum(axis=0), keep)

    @property
    def width(self) -> int:
        return self.place.size

    def source(self) -> np.ndarray:
        return self.place

    def names(self, columns: list[str]) -> Iterator[str]:
        return (columns[k] for k in self.place)

    def write(self, records: Records, features: np.ndarray) -> None:
        for j, cut in enumerate(self.cuts):
            x = records.numbers[:, j]
            gone = np.nan if self.keep else self.fill[j]
            features[:, j] = np.where(np.isnan(x), gone, np.searchsorted(cut, x, side="right"))

    def describe(self, columns: list[str]) -> Iterator[Message]:
        own = [columns[k] for k in self.place]
        yield Message("{n} columns of numbers or dates are cut into intervals", n=len(own))
        if gappy := [own[j] for j in np.flatnonzero(self.absent)]:
            if self.keep:
                yield Message("missing values stay missing: {names}", names=listed(gappy))
            else:
                yield Message("missing values become the median of the column: {names}", names=listed(gappy))


def _equal_frequency_cuts(known: np.ndarray, date: bool) -> np.ndarray:
    """Where to cut a column, so that the parts have about equally many rows: at round numbers, or whole days."""
    parts = min(MAX_INTERVALS, max(2, int(np.sqrt(known.size))))
    distinct, counts = np.unique(known, return_counts=True)
    if distinct.size <= parts:
        borders = np.arange(1, distinct.size)
    else:
        before = np.cumsum(counts)[:-1]  # rows below the value that follows
        aims = known.size * np.arange(1, parts) / parts
        borders = np.unique(1 + np.abs(before[:, None] - aims).argmin(axis=0))
    between = _whole_day if date else _shortest_number
    return np.array([between(distinct[b - 1], distinct[b]) for b in borders.tolist()])


def _shortest_number(low: float, high: float) -> float:
    """The number with the fewest digits above `low` and not above `high`.

    Examples
    --------
    >>> _shortest_number(1.4142, 1.7321), _shortest_number(2.0, 3.0)
    (1.6, 3.0)
    """
    middle = low / 2 + high / 2
    candidates = (float(f"{value:.{digits}g}") for digits in range(1, 17) for value in (middle, high))
    return next((c for c in candidates if low < c <= high), float(high))


def _whole_day(low: float, high: float) -> float:
    day = float(np.floor(high))
    return day if day > low else float(high)


def _cut_label(cut: float, date: bool) -> str:
    if not date:
        return repr(cut).removesuffix(".0")
    moment = np.datetime64(int(np.floor(cut * 86400)), "s")
    return str(moment).removesuffix("T00:00:00")


def interval_labels(cuts: list[str]) -> list[str]:
    """What the intervals between some cuts are called."""
    if not cuts:
        return ["any"]
    inner = [f"[{low}, {high})" for low, high in pairwise(cuts)]
    return [f"< {cuts[0]}", *inner, f"≥ {cuts[-1]}"]

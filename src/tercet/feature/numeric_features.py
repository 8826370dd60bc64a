"""Features of numbers and dates: imputation, scaling, indicators of missing values, cyclic parts of dates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.messages import Message
from tercet.datasets.readers import listed
from tercet.feature.records import Records, column_positions

MARKED = 0.01  # share of missing values from which they get a feature, or a category, of their own
FAR = 1e100  # deviations from the mean, beyond which a value is cut off: its square is still a number
WAVES = ("sin", "cos")
CHUNK = 8192  # rows at a time, so that temporaries stay small


@dataclass
class NumericFeatures:
    """Numbers and dates: filled in, scaled, with marks for what was missing and the parts of dates that come round.

    A value x becomes ((x - origin) * unit - shift) / spread; an infinite spread makes zeros of a constant.
    """

    place: np.ndarray  # of each column among all
    dates: np.ndarray  # which of them are dates
    origin: np.ndarray  # the first date; 0 for numbers
    unit: np.ndarray  # a power of two that keeps squares of huge and tiny numbers in range
    fill: np.ndarray  # the median
    shift: np.ndarray
    spread: np.ndarray
    absent: np.ndarray  # how many values were missing
    marked: np.ndarray  # columns with a feature that says what was missing
    rounds: list[list[Any]]  # [column, "month"] ...
    scale: str | None
    keep: bool

    @classmethod
    def fit(cls, records: Records, scale: str | None, keep: bool) -> NumericFeatures:
        X, place = records.numbers, column_positions(records, "number", "date")
        n, p = X.shape
        dates = np.array([j for j, k in enumerate(place) if records.kinds[k] == "date"], dtype=np.intp)
        origin, unit, shift, spread = np.zeros(p), np.ones(p), np.zeros(p), np.ones(p)
        rounds: list[list[Any]] = []
        for j in dates.tolist():
            known = X[~np.isnan(X[:, j]), j]
            if known.size:
                origin[j] = known.min()
                rounds += [
                    [j, part] for part, turned in cyclic_parts(known).items() if turned.min() < turned.max()
                ]
        gaps = np.isnan(X)
        absent = gaps.sum(axis=0)
        holes = bool(absent.any())
        X = X - origin if dates.size else X
        columns = column_major_copy(X)
        low, high = (extreme.reduce(columns, axis=1, initial=np.nan) for extreme in (np.fmin, np.fmax))
        size = np.fmax(np.abs(low), np.abs(high))
        if scale is not None and (odd := (size > 1e150) | ((size < 1e-150) & (size > 0))).any():
            unit[odd] = np.ldexp(1.0, np.clip(-np.frexp(size[odd])[1], -1000, 1000))
            X, columns, low, high = X * unit, columns * unit[:, None], low * unit, high * unit
        fill = medians(columns, absent)
        if holes and not keep:
            X = np.where(gaps, fill, X)
        if scale is not None:
            shift, spread = (low, high - low) if scale == "minmax" else mean_and_deviation(X, holes and keep)
            flat = ~(low < high)
            shift, spread = np.where(flat, fill, shift), np.where(flat, np.inf, spread)
        marked = np.flatnonzero((absent > 0) & (absent >= MARKED * n) & (not keep))
        return cls(place, dates, origin, unit, fill, shift, spread, absent, marked, rounds, scale, keep)

    @property
    def width(self) -> int:
        return self.place.size + self.marked.size + 2 * len(self.rounds)

    def source(self) -> np.ndarray:
        turns = np.array([j for j, _ in self.rounds for _ in WAVES], dtype=np.intp)
        return self.place[np.concatenate([np.arange(self.place.size), self.marked, turns])]

    def names(self, columns: list[str]) -> Iterator[str]:
        own = [columns[k] for k in self.place]
        yield from own
        yield from (f"{own[j]} missing" for j in self.marked)
        yield from (f"{own[j]} {part} {wave}" for j, part in self.rounds for wave in WAVES)

    def write(self, records: Records, features: np.ndarray) -> None:
        X, p = records.numbers, self.place.size
        gaps = np.isnan(X)
        out = features[:, :p]
        out[:] = X
        with np.errstate(over="ignore"):  # what is out of range is cut off below
            if self.dates.size:
                out -= self.origin
            if (self.unit != 1.0).any():
                out *= self.unit
            if not self.keep and gaps.any():
                np.copyto(out, self.fill, where=gaps)
            if self.scale is not None:
                out -= self.shift
                out /= self.spread
        if self.scale is not None:
            low, high = (0.0, 1.0) if self.scale == "minmax" else (-FAR, FAR)
            np.clip(out, low, high, out=out)
        features[:, p : p + self.marked.size] = gaps[:, self.marked]
        at = p + self.marked.size
        for j, part in self.rounds:
            angle = 2 * np.pi * cyclic_parts(X[:, j])[part]
            waves = np.stack([np.sin(angle), np.cos(angle)], axis=1)
            waves[gaps[:, j]] = np.nan if self.keep else 0.0
            features[:, at : at + 2] = (waves + 1) / 2 if self.scale == "minmax" else waves
            at += 2

    def describe(self, columns: list[str]) -> Iterator[Message]:
        own = [columns[k] for k in self.place]
        numbers = len(own) - self.dates.size
        if numbers and self.scale == "standard":
            yield Message("{n} columns of numbers are standardised: mean 0, deviation 1", n=numbers)
        elif numbers and self.scale == "minmax":
            yield Message("{n} columns of numbers are mapped to the interval from 0 to 1", n=numbers)
        if self.dates.size:
            names = listed([own[j] for j in self.dates])
            if parts := ", ".join(dict.fromkeys(part for _, part in self.rounds)):
                text = "dates become days since the first, and points on a circle for {parts}: {names}"
                yield Message(text, parts=Message(parts), names=names)
            else:
                yield Message("dates become days since the first: {names}", names=names)
        if gappy := [own[j] for j in np.flatnonzero(self.absent)]:
            if self.keep:
                yield Message("missing values stay missing: {names}", names=listed(gappy))
            else:
                yield Message("missing values become the median of the column: {names}", names=listed(gappy))
        if self.marked.size:
            marked = listed([own[j] for j in self.marked])
            yield Message("a further feature marks what was missing: {names}", names=marked)


def cyclic_parts(days: np.ndarray) -> dict[str, np.ndarray]:
    """How far the year, the week and the day have turned, each from 0 to 1."""
    known = np.where(np.isnan(days), 0.0, days)
    whole = np.floor(known)
    months = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return {"month": (months % 12) / 12, "weekday": ((whole + 3) % 7) / 7, "hour": known - whole}


def column_major_copy(X: np.ndarray) -> np.ndarray:
    """A copy in which every column is in one piece; made in chunks, which a cache can hold."""
    columns = np.empty(X.shape[::-1])
    for start in range(0, X.shape[0], CHUNK):
        columns[:, start : start + CHUNK] = X[start : start + CHUNK].T
    return columns


def medians(columns: np.ndarray, absent: np.ndarray) -> np.ndarray:
    """The median of the known values of every row of `columns`, which it reorders; 0 where there are none."""
    p, n = columns.shape
    middle = np.zeros(p)
    if n and p:
        columns.partition(n // 2, axis=1)  # NaN goes to the end
        middle = columns[:, n // 2].copy()
        if n % 2 == 0:  # half and half: the sum of two huge numbers may overflow
            middle = middle / 2 + columns[:, : n // 2].max(axis=1) / 2
    for j in np.flatnonzero(absent):
        known = columns[j][~np.isnan(columns[j])]
        middle[j] = medians(known[None], np.zeros(1))[0]
    return middle


def mean_and_deviation(X: np.ndarray, gaps: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of the known values of every column.

    A second pass takes back the rounding of the first mean.
    """
    n: Any = X.shape[0]
    if gaps:
        known = ~np.isnan(X)
        n = np.maximum(known.sum(axis=0), 1)
        X = np.where(
            known, X, np.sum(X, axis=0, where=known) / n
        )  # the mean itself adds nothing to the squares
    mean = X.mean(axis=0)
    rest, squares = np.zeros_like(mean), np.zeros_like(mean)
    for start in range(0, X.shape[0], CHUNK):
        away = X[start : start + CHUNK] - mean
        rest += away.sum(axis=0)
        squares += np.einsum("ij,ij->j", away, away)
    rest /= X.shape[0]
    return mean + rest, np.sqrt(np.maximum(squares / n - rest**2, 0.0))

"""Statistics of rows in pages for histograms: those of `HistogramStatistics`, with the units of all rows."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.row_pages import Page
from tercet.core.strip_sums import total_of
from tercet.tree._engine.binned_pages import BinnedPages, RowWeights
from tercet.tree._engine.histogram_statistics import (
    CLASSES,
    PACKED,
    PAIR,
    HistogramStatistics,
    RowStatistics,
    unit_for,
)

LIMIT = 2.0**61  # of sums, in units
MOST_PACKED = 2**31  # rows whose numbers fit into the halves of a word


@dataclass(frozen=True)
class PagedStatistics:
    """What rows add to histograms: the units, and the sums over all rows of a sample.

    Attributes
    ----------
    n_classes : int
        1 for a number.
    weighted : bool
        Whether rows have weights; then a channel counts them.
    rows, mass : int and float
        The rows of the sample, and their weight.
    mean, unit, mass_unit : float
        Of a number its mean, and what a unit of numerators and one of weights stand for.

    Examples
    --------
    >>> from tercet.core.streams import MemoryStream
    >>> stream = MemoryStream("rows", X=np.ones((3, 1)), y=np.array([1.0, 2.0, 6.0]))
    >>> data = BinnedPages(stream.array("X"), stream.array("y"), None)
    >>> data.learn_edges(np.zeros(1, int), max_bins=255, seed=0)
    >>> with data.fill({}):
    ...     totals = PagedStatistics.of(data, data.row_weights, n_classes=1, n_jobs=1)
    >>> totals.rows, totals.mass, totals.mean
    (3, 3.0, 3.0)
    """

    n_classes: int
    weighted: bool
    rows: int
    mass: float
    mean: float
    unit: float
    mass_unit: float

    @classmethod
    def of(
        cls, data: BinnedPages, weights: RowWeights | None, n_classes: int, n_jobs: int | None
    ) -> PagedStatistics:
        """The statistics of the rows that have weight, all of them where `weights` is None.

        `n_classes` is 1 for numbers.
        """
        weighted = weights is not None
        count, mass, first = _sums(data, weights, _moments, n_jobs)
        if not count:
            return cls(n_classes, weighted, 0, 0.0, 0.0, 1.0, 1.0)
        mean = float(first / mass) if n_classes == 1 else 0.0
        mass_unit = unit_for(float(mass), LIMIT) if weighted else 1.0
        unit = mass_unit
        if n_classes == 1:
            unit = unit_for(float(_sums(data, weights, _distances, n_jobs, mean)[0]), LIMIT)
        return cls(n_classes, weighted, int(count), float(mass), mean, unit, mass_unit)

    @property
    def layout(self) -> HistogramStatistics:
        """The layout of the histograms, without any rows."""
        empty = RowStatistics(np.empty((1, 0), np.int64), np.empty(0, np.uint32), np.empty(0))
        count = int(self.weighted)
        if self.n_classes > 2:
            channels = self.n_classes + count
            return HistogramStatistics(
                empty, CLASSES, self.n_classes, channels, self.weighted, self.unit, self.unit
            )
        if self.n_classes == 2 and not self.weighted and self.rows < MOST_PACKED:
            return HistogramStatistics(empty, PACKED, 1, 1, False)
        return HistogramStatistics(empty, PAIR, 1, 2 + count, self.weighted, self.unit, self.mass_unit)

    def of_rows(self, y: np.ndarray, weight: np.ndarray | None) -> RowStatistics:
        """The statistics of some rows."""
        n, none = len(y), np.empty(0, np.uint32)
        mass = np.ones(n, np.int64) if weight is None else self._masses(weight)
        ones = [np.ones(n, np.int64)] if self.weighted else []
        if self.n_classes > 2:
            return RowStatistics(np.array([mass, *ones]), y.astype(np.uint32), y)
        if self.n_classes == 2:
            second = np.where(y == 1, mass, 0)
            if self.layout.form == PACKED:
                return RowStatistics(((second << 32) + mass)[None], none, y)
            return RowStatistics(np.array([second, mass, *ones]), none, y)
        away = y - self.mean
        numerator = np.rint((away if weight is None else away * weight) / self.unit).astype(np.int64)
        return RowStatistics(np.array([numerator, mass, *ones]), none, y)

    def _masses(self, weight: np.ndarray) -> np.ndarray:
        """Weights in units; none becomes 0, because a bin without weight is taken to be empty."""
        return np.maximum(np.rint(weight / self.mass_unit).astype(np.int64), 1)


def _sums(
    data: BinnedPages, weights: RowWeights | None, function: Any, n_jobs: int | None, *given: Any
) -> np.ndarray:
    """Sums over the rows of all pages, rounded once."""
    return total_of(data.pages.each(functools.partial(_of_page, weights, function, given), n_jobs))


def _of_page(weights: RowWeights | None, function: Any, given: tuple[Any, ...], page: Page) -> np.ndarray:
    weight = None if weights is None else weights(page)
    return np.asarray(function(page.get("y"), weight, *given), dtype=np.float64)


def _moments(y: np.ndarray, weight: np.ndarray | None) -> list[float]:
    if weight is None:
        return [len(y), len(y), float(y.sum())]
    return [float(np.count_nonzero(weight)), float(weight.sum()), float(weight @ y)]


def _distances(y: np.ndarray, weight: np.ndarray | None, mean: float) -> list[float]:
    away = np.abs(y - mean)
    return [float(away.sum() if weight is None else weight @ away)]


__all__ = ["PagedStatistics"]

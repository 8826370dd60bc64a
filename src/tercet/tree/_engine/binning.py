"""Binning of columns into at most 255 bins; the bins of all rows as bytes, eight columns to a word.

Where a column has few distinct values each has its bin, and nothing is lost. Elsewhere the bins hold about equal
weight. The code after a column's last bin stands for a missing value. Eight codes in one word are read at once when
histograms are made, which is most of the work of growing trees from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.parallel import each
from tercet.core.rows import read_only

SAMPLE_ROWS = 200_000  # rows that the bin edges are taken from
STRIP_ROWS = 1 << 18  # rows that one kernel call encodes
TILE_ROWS = 256  # rows that the binary search runs over side by side
WORD_COLUMNS = 8  # columns to a word
SMOOTHING = 20.0  # rows of the overall mean that are added to a rare category's


class BinCodes(NamedTuple):
    """What kernels read of binned columns: the codes, and the number and kind of each column's bins."""

    words: np.ndarray
    n_bins: np.ndarray
    categorical: np.ndarray


@dataclass(frozen=True)
class BinnedColumns:
    """A table whose columns are binned.

    Attributes
    ----------
    words : uint64 array of shape (ceil(d / 8), n)
        The codes of eight columns for each row, the first in the lowest byte.
    n_bins : int64 array of shape (d,)
        The bins of each column; this is also the code of a missing value.
    low, high : float64 arrays of shape (d, 256)
        A threshold between two bins a < b lies between high[a] and low[b].
    n_categories : int64 array of shape (d,)
        0 for a column of numbers.
    places : dict
        For each column of categories the bin of each of them; where there are too many, the rarest share bins.

    Examples
    --------
    >>> bins = BinnedColumns.of(np.array([[0.5, 1.0], [2.5, np.nan], [0.5, 7.0]]))
    >>> bins.column(0).tolist(), bins.column(1).tolist(), bins.n_bins.tolist()
    ([0, 1, 0], [0, 2, 1], [2, 2])
    """

    words: np.ndarray
    n_bins: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_categories: np.ndarray
    places: dict[int, np.ndarray]

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        max_bins: int = 255,
        n_categories: Any = None,
        weight: np.ndarray | None = None,
        seed: int = 0,
        n_jobs: int | None = None,
        target: np.ndarray | None = None,
        slack: float = 0.0,
    ) -> BinnedColumns:
        """Bin the columns of X (NaN is missing; categories are their codes).

        Parameters
        ----------
        X : array of shape (n, d)
            RowStatistics.
        max_bins : int
            From 2 to 255.
        n_categories : array of shape (d,), optional
            0 for a column of numbers, else the number of its categories.
        weight : array of shape (n,), optional
            The bins hold about equal weight; a row of weight 2 is two rows.
        seed : int
            Above 200 000 rows the bin edges come from a sample; this decides which.
        n_jobs : int, optional
            Threads; the same bits come out for any number of them.
        target : array of shape (n,), optional
            Where there are more categories than bins, rare ones of similar mean targets share a bin; without
            targets all of them share one.
        slack : float
            Tolerance of a bin border, as a fraction of a bin: sums of fractional weights round differently when a
            row of weight 2 is given as two rows, which must not move a value into the next bin.
        """
        if not 2 <= max_bins <= 255:
            raise ValueError(f"max_bins must be from 2 to 255; got {max_bins}.")
        X = read_only(np.ascontiguousarray(X, dtype=None if X.dtype == np.float32 else np.float64))
        n, d = X.shape
        kinds = np.zeros(d, np.int64) if n_categories is None else np.asarray(n_categories, np.int64)
        if weight is not None and (weight == weight[0]).all():
            weight = None
        chosen = sampled_rows(n, seed)
        mass = weight if chosen is None or weight is None else weight[chosen]
        numbers = np.flatnonzero(kinds == 0).tolist()

        def edges_of(j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            column = X[:, j] if chosen is None else X[chosen, j]
            return bin_edges(column, mass, max_bins, chosen is None, slack)

        n_bins, edges, low, high = edge_tables(d, numbers, each(edges_of, numbers, n_jobs=n_jobs))
        words = np.zeros((-(-d // WORD_COLUMNS), n), np.uint64)
        last = np.where(kinds > 0, 0, n_bins)
        strips = [(b, i) for b in range(len(words)) for i in range(0, n, STRIP_ROWS)]

        def encode_strip(at: tuple[int, int]) -> None:
            encode_rows(X, *at, min(n, at[1] + STRIP_ROWS), edges, last, words)

        each(encode_strip, strips, n_jobs=n_jobs)
        places = {}
        for j in np.flatnonzero(kinds).tolist():
            codes, places[j], n_bins[j] = _categories(X[:, j], weight, int(kinds[j]), max_bins, j, target)
            words[j // WORD_COLUMNS] |= codes << np.uint64(8 * (j % WORD_COLUMNS))
        return cls(words, n_bins, low, high, kinds, places)

    @property
    def binned(self) -> BinCodes:
        return BinCodes(self.words, self.n_bins, self.n_categories > 0)

    @property
    def shape(self) -> tuple[int, int]:
        return self.words.shape[1], self.n_bins.size

    def column(self, j: int) -> np.ndarray:
        """The codes of a column."""
        return (self.words[j // WORD_COLUMNS] >> np.uint64(8 * (j % WORD_COLUMNS))).astype(np.uint8)

    def thresholds(self, column: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Thresholds between two bins each; infinite where nothing but missing values is on the right."""
        low, high = self.high[column, left], self.low[column, right]
        return np.where(right < self.n_bins[column], between(low, high), np.inf)

    def slots(self, j: int, sides: np.ndarray) -> np.ndarray:
        """The side of each category, from the sides of the bins."""
        return sides[self.places[j]]


class BinEdges:
    """Bins of columns that are learned a few columns at a time, from some rows, and then encode any rows.

    Parameters
    ----------
    n_categories : array of shape (d,)
        0 for a column of numbers; else the number of its categories, `max_bins` at most.
    max_bins : int
    n_jobs : int, optional

    Examples
    --------
    >>> edges, X = BinEdges(np.zeros(2, np.int64), 255), np.array([[0.5, 1.0], [2.5, np.nan], [0.5, 7.0]])
    >>> edges.learn([0, 1], X, None, exact=True)
    >>> edges.encode(X).tolist(), edges.columns().n_bins.tolist()
    ([[0, 513, 256]], [2, 2])
    """

    def __init__(self, n_categories: np.ndarray, max_bins: int, n_jobs: int | None = None) -> None:
        self.kinds, self.max_bins, self.n_jobs = np.asarray(n_categories, np.int64), max_bins, n_jobs
        self.cut: dict[int, Any] = {}

    @property
    def numbers(self) -> list[int]:
        """The columns to learn."""
        return np.flatnonzero(self.kinds == 0).tolist()

    def learn(self, columns: list[int], values: np.ndarray, mass: Any, *, exact: bool) -> None:
        """Learn the edges of some columns from their values, all there are or a sample."""
        found = each(
            lambda k: bin_edges(values[:, k], mass, self.max_bins, exact),
            range(len(columns)),
            n_jobs=self.n_jobs,
        )
        self.cut.update(zip(columns, found))

    def columns(self) -> BinnedColumns:
        """The bins, without any rows."""
        d = self.kinds.size
        n_bins, self.edges, low, high = edge_tables(d, self.numbers, [self.cut[j] for j in self.numbers])
        self.last = n_bins.copy()
        places = {j: np.arange(self.kinds[j]) for j in np.flatnonzero(self.kinds).tolist()}
        n_bins[self.kinds > 0] = self.kinds[self.kinds > 0]
        words = np.zeros((-(-d // WORD_COLUMNS), 0), np.uint64)
        self.bins = BinnedColumns(words, n_bins, low, high, self.kinds, places)
        return self.bins

    def encode(self, X: np.ndarray) -> np.ndarray:
        """The codes of rows: words of shape (ceil(d / 8), n)."""
        if not hasattr(self, "bins"):
            self.columns()
        X = read_only(np.ascontiguousarray(X, dtype=None if X.dtype == np.float32 else np.float64))
        words = np.zeros((len(self.bins.words), len(X)), np.uint64)
        each(
            lambda b: encode_rows(X, b, 0, len(X), self.edges, self.last, words),
            range(len(words)),
            n_jobs=self.n_jobs,
        )
        for j in self.bins.places:
            missing, code = np.isnan(X[:, j]), X[:, j]
            codes = np.where(missing, self.kinds[j], np.where(missing, 0, code)).astype(np.uint64)
            words[j // WORD_COLUMNS] |= codes << np.uint64(8 * (j % WORD_COLUMNS))
        return words


def sampled_rows(n: int, seed: int) -> np.ndarray | None:
    """The rows that bin edges are taken from, in order; None for all of them, up to `SAMPLE_ROWS`.

    Examples
    --------
    >>> sampled_rows(100, seed=0) is None
    True
    >>> rows = sampled_rows(1_000_000, seed=0)
    >>> len(rows) == SAMPLE_ROWS, bool((np.diff(rows) > 0).all())
    (True, True)
    """
    if n <= SAMPLE_ROWS:
        return None
    return np.sort(np.random.default_rng(seed).choice(n, SAMPLE_ROWS, replace=False, shuffle=False))


def edge_tables(
    d: int, numbers: list[int], cut: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The number of bins, the edges, and `low` and `high` of d columns, from what `bin_edges` gives for some."""
    n_bins, edges = np.zeros(d, np.int64), np.full((-(-d // WORD_COLUMNS) * WORD_COLUMNS, 256), np.inf)
    low, high = np.zeros((d, 256)), np.zeros((d, 256))
    for j, (borders, lows, highs) in zip(numbers, cut):
        n_bins[j], edges[j, : borders.size] = lows.size, borders
        low[j, : lows.size], high[j, : highs.size] = lows, highs
    return n_bins, edges, low, high


def bin_edges(
    column: np.ndarray, weight: np.ndarray | None, max_bins: int, exact: bool, slack: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The edges between the bins of a numeric column, and the values that thresholds around a bin lie between."""
    here = ~np.isnan(column)
    values = np.array(column if here.all() else column[here], dtype=np.float64)
    order = None if weight is None else np.argsort(values, kind="stable")
    values = np.sort(values) if order is None else values[order]
    first = np.append(np.zeros(min(values.size, 1), np.int64), np.flatnonzero(values[1:] != values[:-1]) + 1)
    if weight is None or not values.size:
        mass = np.diff(np.append(first, values.size)).astype(np.float64)
    else:
        mass = np.add.reduceat(weight[here][order], first)
    distinct = values[first]
    if distinct.size <= max_bins and exact:
        return distinct[:-1], distinct, distinct
    few = distinct.size <= max_bins
    last = np.arange(distinct.size - 1) if few else _equal_weight_edges(mass, max_bins, slack)
    borders = between(distinct[last], distinct[last + 1])
    return borders, np.append(-np.inf, borders), np.append(borders, np.inf)


def between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Thresholds that separate values whatever rounding does: low <= t < high (see `criteria.midpoint`)."""
    with np.errstate(invalid="ignore", over="ignore"):
        middle = low + (high - low) / 2.0
        return np.where((low <= middle) & (middle < high), middle, low)


def _equal_weight_edges(mass: np.ndarray, max_bins: int, slack: float) -> np.ndarray:
    """The last values of all bins but one, such that bins have about equal weight.

    A value that is heavier than a bin takes one bin, not several: weights are clipped at the share `most`, which
    falls with what is clipped, until nothing changes.
    """
    most = np.inf
    for _ in range(20):
        share = np.minimum(mass, most).sum() / max_bins
        if share >= most:
            break
        most = share
    held = np.minimum(mass, most)
    bin_of = np.floor((np.cumsum(held) - held / 2) / held.sum() * max_bins + slack)
    return np.flatnonzero(bin_of[1:] != bin_of[:-1])


def _categories(
    column: np.ndarray,
    weight: np.ndarray | None,
    count: int,
    max_bins: int,
    j: int,
    target: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, int]:
    """The bin of each row of a column of categories, that of each category, and how many bins there are."""
    missing = np.isnan(column)
    codes = np.where(missing, 0, column).astype(np.int64)
    if (codes < 0).any() or (codes >= count).any():
        raise ValueError(f"column {j} must hold codes of categories from 0 to {count - 1}, or NaN.")
    place = np.arange(count)
    if count > max_bins:
        mass = np.ones(np.count_nonzero(~missing)) if weight is None else weight[~missing]
        often = np.bincount(codes[~missing], mass, count)
        order = np.argsort(-often, kind="stable")
        alone = max_bins - 1 if target is None else max_bins // 2
        place = np.full(count, alone)
        place[np.sort(order[:alone])] = np.arange(alone)
        if target is not None:
            rare = order[alone:]
            away = target[~missing] - np.average(target, weights=weight)
            mean = np.bincount(codes[~missing], mass * away, count)[rare] / (often[rare] + SMOOTHING)
            rare = rare[np.argsort(mean, kind="stable")]
            share = (np.cumsum(often[rare]) - often[rare] / 2) / max(often[rare].sum(), 1e-300)
            place[rare] += np.unique(np.floor(share * (max_bins - alone)), return_inverse=True)[1]
    n_bins = int(place.max()) + 1
    return np.where(missing, n_bins, place[codes]).astype(np.uint64), place, n_bins


@kernel
def encode_rows(X, b, start, stop, edges, n_bins, words):
    """The bins of eight columns, for some rows: the number of edges below the value, by a branchless binary search.

    One column of a tile of rows at a time, so that the search vectorises over rows.
    """
    x, at = np.empty(TILE_ROWS), np.empty(TILE_ROWS, dtype=np.int64)
    for first in range(start, stop, TILE_ROWS):
        size = min(TILE_ROWS, stop - first)
        word = words[b, first : first + size]
        for j in range(b * WORD_COLUMNS, min((b + 1) * WORD_COLUMNS, X.shape[1])):
            if n_bins[j] == 0:  # categories, or nothing but missing values
                continue
            for i in range(size):
                x[i] = X[first + i, j]
                at[i] = 0
            step = 128
            while step > 0:
                edge = edges[j, step - 1 :]
                for i in range(size):
                    at[i] += step if x[i] > edge[np.uint64(at[i])] else 0
                step >>= 1
            shift = np.uint64(8 * (j - b * WORD_COLUMNS))
            for i in range(size):
                code = n_bins[j] if np.isnan(x[i]) else at[i]
                word[i] |= np.uint64(code) << shift

"""Tables of counts, which the semi-naive Bayes classifiers are made of.

Every column is a small set of values: categories as they are, numbers in intervals. The values of all columns are
numbered through, so that one table (values x values x classes) holds how often each two of them come together in
each class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.columns import MixedColumns
from tercet.core.estimator import NO_TARGET
from tercet.core.kernel import kernel
from tercet.core.memory import available
from tercet.core.parallel import Chunks, each, total
from tercet.naive_bayes.base import BayesClassifier, log, numbers

UNKNOWN = -1  # a value that is missing, or was not there to learn from


class TableClassifier(MixedColumns, BayesClassifier):
    """A Bayes classifier whose columns are small sets of values.

    A column of numbers with more than `n_bins` distinct values is cut into that many intervals that hold equally
    many rows. What is missing, or was not there to learn from, is left out of every product and count.
    """

    alpha: float
    n_bins: int
    class_prior: ArrayLike | None
    n_jobs: int | None

    cuts_: list[np.ndarray | None]
    n_values_: np.ndarray
    class_count_: np.ndarray

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        X = self._forget_weightless(X, sample_weight)
        weight = np.ones(len(X)) if sample_weight is None else sample_weight.astype(np.float64)
        self._learn_values(X[weight > 0], weight[weight > 0])
        self.class_count_ = np.bincount(y, weight, minlength=len(self.classes_))
        self._set_prior()
        self._learn_tables(self._values(X), y, weight)

    def _learn_tables(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        """Count what the method needs; `values` are numbered through, UNKNOWN where there is none."""
        raise NotImplementedError

    def _set_prior(self) -> None:
        if self.class_prior is None:
            smooth = self.class_count_ + self.alpha
            self.class_log_prior_ = log(smooth / smooth.sum())
            return
        prior = numbers(self.class_prior, f"{type(self).__name__}: class_prior")
        k = len(self.classes_)
        if prior.shape != (k,) or (prior < 0).any() or not np.isclose(prior.sum(), 1):
            raise ValueError(
                f"{type(self).__name__}: class_prior must be {k} probabilities that add up to 1; "
                f"got {prior.tolist()}."
            )
        self.class_log_prior_ = log(prior)

    def _add(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> None:
        mass = np.ones(len(X)) if weight is None else weight.astype(np.float64)
        self.class_count_ = self.class_count_ + np.bincount(y, mass, minlength=len(self.classes_))
        self._set_prior()
        self._learn_tables(self._values(X), y, mass)

    def _learn_values(self, X: np.ndarray, weight: np.ndarray) -> None:
        """What the values of each column are: its categories, its distinct numbers, or intervals."""
        self.cuts_, sizes = [], []
        for j, categories in enumerate(self.categories_):
            if categories is not None:
                self.cuts_.append(None)
                sizes.append(len(categories))
                continue
            here = ~np.isnan(X[:, j])
            cuts = _intervals(X[here, j].astype(np.float64), weight[here], self.n_bins)
            self.cuts_.append(cuts)
            sizes.append(len(cuts) + 1)
        self.n_values_ = np.maximum(np.array(sizes, dtype=np.int64), 1)

    def _values(self, X: np.ndarray) -> np.ndarray:
        """The values of rows, numbered through from column to column."""
        out = np.empty(X.shape, dtype=np.int32)
        for j, (cuts, start, size) in enumerate(zip(self.cuts_, self._starts, self.n_values_)):
            gone = np.isnan(X[:, j])
            if cuts is None:
                place = np.where(gone, -1, X[:, j]).astype(np.int64)
                gone |= (place < 0) | (place >= size)
            else:
                place = np.searchsorted(cuts, X[:, j], side="left")
            out[:, j] = np.where(gone, UNKNOWN, start + place)
        return out

    @property
    def _starts(self) -> np.ndarray:
        """The number of each column's first value; the last entry is the number of values in all."""
        return np.concatenate([[0], np.cumsum(self.n_values_)])

    def _check_room(self, entries: float) -> None:
        need, room = 8.0 * entries * 3, available()
        if need > room:
            raise ValueError(
                f"{type(self).__name__}: the tables of {len(self.classes_)} classes and "
                f"{int(self._starts[-1])} values need {need / 1e9:.1f} GB, and {room / 1e9:.1f} GB are free; "
                f"fewer columns, categories or n_bins={self.n_bins} would make them smaller."
            )

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        checked = super()._check(X, y, reset=reset)
        if not reset:
            self._check_tables()
        return checked

    def _check_tables(self) -> None:
        """Kernels check no bounds: tables that do not fit together (in a forged file, say) must not get to them."""
        d = self.n_features_in_
        if len(self.cuts_) != d or np.shape(self.n_values_) != (d,) or (np.asarray(self.n_values_) < 1).any():
            raise ValueError(f"{type(self).__name__}: cuts_ and n_values_ must tell of {d} columns.")
        for cuts, known, size in zip(self.cuts_, self.categories_, self.n_values_):
            right = len(cuts) + 1 if cuts is not None else 1 if known is None else max(len(known), 1)
            if right != size:
                raise ValueError(
                    f"{type(self).__name__}: n_values_ do not fit: a column has {right} values, not {size}."
                )

    def _pairs(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """How much weight each two values have together in each class: (values, values, classes)."""
        V, k = int(self._starts[-1]), len(self.classes_)
        self._check_room(V * V * k)
        # A chunk's work is worth its table, which has to be added up.
        square = max(values.shape[1] ** 2, 1)
        chunks = Chunks(values, y, weight, rows=max(few(square), V * V * k // 4 // square))
        return total(_count_chunk, chunks, V, k, n_jobs=self.n_jobs)


def _intervals(x: np.ndarray, weight: np.ndarray, n_bins: int) -> np.ndarray:
    """Cuts between the distinct numbers, if these are few; else at the quantiles (a weight is a repetition)."""
    numbers, place = np.unique(x, return_inverse=True)
    if numbers.size <= n_bins:
        chosen = np.arange(numbers.size - 1)
    else:
        reached = np.cumsum(np.bincount(place, weight))
        goals = reached[-1] * np.arange(1, n_bins) / n_bins
        chosen = np.unique(np.searchsorted(reached, goals * (1 - 1e-12)))
        chosen = chosen[chosen < numbers.size - 1]
    low, high = numbers[chosen], numbers[chosen + 1]
    middle = low + (high - low) / 2
    return np.where(middle < high, middle, low)


def conditional_mutual_information(pairs: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """I(x_i; x_j | c) in bits for all pairs of columns, from their counts (values, values, classes)."""
    d = len(starts) - 1
    found = np.zeros((d, d))
    for i in range(d):
        for j in range(i):
            table = pairs[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
            found[i, j] = found[j, i] = _information(table)
    return found


def _information(table: np.ndarray) -> float:
    """Σ P(a, b, c) log2 P(a, b | c) / (P(a | c) P(b | c)) of counts."""
    whole = table.sum()
    if whole <= 0:
        return 0.0
    a, b, c = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True), table.sum(axis=(0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = table * np.log2(table * c / (a * b))
    return max(float(np.nansum(terms)) / whole, 0.0)


def column_place(owner: str, name: str, column: Any, names: Any, d: int) -> int:
    """The place of a column that is given by its name or its number."""
    known = [] if names is None else list(names)
    if column in known:
        return known.index(column)
    if isinstance(column, int | np.integer) and not isinstance(column, bool) and -d <= column < d:
        return int(column) % d
    raise ValueError(
        f"{owner}: {name} must name a column, or be a number from 0 to {d - 1}; got {column!r}"
        + (f"; the columns are {', '.join(map(str, known[:12]))}." if known else ".")
    )


def few(work: int) -> int:
    """Rows of a chunk when a row is so much work: few enough to answer Ctrl-C after it."""
    return min(4096, max(16, 100_000_000 // max(work, 1)))


def over_rows(function: Any, values: np.ndarray, *parameters: Any, n_jobs: int | None) -> np.ndarray:
    """A function of rows of values, chunk by chunk on several threads."""
    chunks = Chunks(np.ascontiguousarray(values), rows=few(values.shape[1] ** 2))
    return np.concatenate(each(function, chunks, *parameters, n_jobs=n_jobs))


def _count_chunk(chunk: tuple, V: int, k: int) -> np.ndarray:
    values, y, weight = chunk
    counts = np.zeros((V, V, k))
    count_pairs(values, y, weight, counts)
    return counts


@kernel
def count_pairs(values, y, weight, counts):
    """Add the weight of each row to the counts of every two of its values, each with itself too."""
    d = values.shape[1]
    for r in range(values.shape[0]):
        c, w = y[r], weight[r]
        row = values[r]
        for i in range(d):
            if row[i] >= 0:
                for j in range(d):
                    if row[j] >= 0:
                        counts[row[i], row[j], c] += w

"""Base class of the semi-naive Bayes classifiers, which count values of discretised columns together.

Every column is a small set of values: categories as they are, numbers in intervals. The values of all columns are
numbered consecutively, so that one table (values x values x classes) holds how often each two of them come
together in each class.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.columns import MixedColumns
from tercet.core.estimator import NO_TARGET
from tercet.core.fitted_checks import Each, Floats, Indices, Sizes
from tercet.core.memory import available
from tercet.core.parallel import Chunks, reduce
from tercet.core.quantile_cuts import quantile_cuts
from tercet.core.row_sums import class_masses
from tercet.core.streams import is_streamed
from tercet.naive_bayes._engine.family_tables import Parents, family_counts, family_entries
from tercet.naive_bayes._engine.pair_counts import pair_counts
from tercet.naive_bayes.base import BayesClassifier, check_priors, log

UNKNOWN = -1  # a value that is missing, or was not there in training
MOST_NUMBERS = 1 << 16  # distinct ones of a column of a source, of which the quantiles are taken


class SemiNaiveBayes(MixedColumns, BayesClassifier):
    """A Bayes classifier of discrete columns, some of which depend on others within the classes.

    A column of numbers with more than `n_bins` distinct values is cut into that many intervals of equally many
    rows. Missing and unseen values are left out of every product and count.
    """

    streaming = True
    alpha: float
    n_bins: int
    class_prior: ArrayLike | None
    n_jobs: int | None

    cuts_: list[np.ndarray | None]
    n_values_: np.ndarray
    class_count_: np.ndarray
    fitted_shapes = {
        "cuts_": Each(Floats("cuts*@ | None", finite=True), "features"),
        "n_values_": Indices("features", below=str(2**31), low=1),
    }

    def _learn_values(
        self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Learn the values of each column and P(c); returns the values of the rows, and their weights."""
        X = self._forget_weightless(X, sample_weight)
        weight = _weights(y, sample_weight)
        if is_streamed(X):
            self._learn_streamed_cuts(X, weight)
        else:
            self._learn_cuts(X[weight > 0], weight[weight > 0])
        self.class_count_ = np.zeros(len(self.classes_))
        return self._add_values(X, y, weight)

    def _add_values(
        self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add rows to P(c) = (N_c + α) / (N + α K) (4.11); returns their values and weights."""
        weight = _weights(y, sample_weight)
        self.class_count_ = self.class_count_ + class_masses(y, weight, len(self.classes_))
        prior = check_priors(self, "class_prior")
        if prior is None:
            smooth = self.class_count_ + self.alpha
            prior = smooth / smooth.sum()
        self.class_log_prior_ = log(prior)
        if is_streamed(X):
            return X.map(self._values_of, width=X.shape[1], dtype=np.int32), weight
        return self._values(X), weight

    @property
    def _values_of(self) -> Any:
        """`_values` as a function that can be sent to workers."""
        return functools.partial(value_numbers, self.cuts_, self._offsets, self.n_values_)

    def _learn_streamed_cuts(self, X: Any, weight: Any) -> None:
        """As `_learn_cuts`, from the weights of the distinct numbers of each column."""
        numeric = [j for j, categories in enumerate(self.categories_) if categories is None]
        names = getattr(self, "feature_names_in_", range(X.shape[1]))
        labels = [names[j] for j in numeric]
        merge = functools.partial(_merged, labels, type(self).__name__)
        tallies = dict(zip(numeric, reduce(_tallies, Chunks(X, weight), merge, numeric, n_jobs=self.n_jobs)))
        self.cuts_ = [
            None if categories is not None else quantile_cuts(tallies[j][0], tallies[j][1], self.n_bins)
            for j, categories in enumerate(self.categories_)
        ]
        sizes = [
            len(categories) if cuts is None else len(cuts) + 1  # type: ignore[arg-type]
            for categories, cuts in zip(self.categories_, self.cuts_)
        ]
        self.n_values_ = np.maximum(np.array(sizes, dtype=np.int64), 1)

    def _learn_cuts(self, X: np.ndarray, weight: np.ndarray) -> None:
        """The values of each column: its categories, its distinct numbers, or intervals."""
        self.cuts_, sizes = [], []
        for j, categories in enumerate(self.categories_):
            if categories is not None:
                self.cuts_.append(None)
                sizes.append(len(categories))
                continue
            known = ~np.isnan(X[:, j])
            cuts = quantile_cuts(X[known, j].astype(np.float64), weight[known], self.n_bins)
            self.cuts_.append(cuts)
            sizes.append(len(cuts) + 1)
        self.n_values_ = np.maximum(np.array(sizes, dtype=np.int64), 1)

    def _values(self, X: np.ndarray) -> np.ndarray:
        """The values of rows, numbered consecutively from column to column; UNKNOWN where there is none."""
        return value_numbers(self.cuts_, self._offsets, self.n_values_, X)

    @property
    def _offsets(self) -> np.ndarray:
        """The number of each column's first value; the last entry is the number of values in all."""
        return np.concatenate([[0], np.cumsum(self.n_values_)])

    def _pair_counts(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The weight of the rows with each two values in each class: (values, values, classes)."""
        V, K = int(self._offsets[-1]), len(self.classes_)
        self._check_memory(V * V * K)
        return pair_counts(values, y, weight, V, K, self.n_jobs)

    def _family_counts(
        self, values: np.ndarray, y: np.ndarray, weight: np.ndarray, parents: Parents
    ) -> list[np.ndarray]:
        """For every column the weight of the rows with each (parents' values, value, class)."""
        K = len(self.classes_)
        self._check_memory(family_entries(parents, self.n_values_, K))
        return family_counts(values, y, weight, parents, self._offsets, K, self.n_jobs)

    def _column_index(self, parameter: str, column: Any) -> int:
        """The index of a column that a parameter gives by name or number."""
        d, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
        known = [] if names is None else list(names)
        if column in known:
            return known.index(column)
        if isinstance(column, int | np.integer) and not isinstance(column, bool) and -d <= column < d:
            return int(column) % d
        raise ValueError(
            f"{type(self).__name__}: {parameter} must name a column, or be a number from 0 to {d - 1}; "
            f"got {column!r}" + (f"; the columns are {', '.join(map(str, known[:12]))}." if known else ".")
        )

    def _check_memory(self, entries: float) -> None:
        need, room = 8.0 * entries * 3, available()
        if need > room:
            raise ValueError(
                f"{type(self).__name__}: the tables of {len(self.classes_)} classes and "
                f"{int(self._offsets[-1])} values need {need / 1e9:.1f} GB, and {room / 1e9:.1f} GB are free; "
                f"fewer columns, categories or n_bins={self.n_bins} would make them smaller."
            )

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        checked = super()._check(X, y, reset=reset)
        if not reset:
            self._check_columns()
        return checked

    def _check_fitted(self, sizes: Sizes) -> None:
        if "n_values_" in vars(self):
            self._check_columns()
        if "values" in sizes and sizes["values"] != self._offsets[-1]:
            found = f"{type(self).__name__}: pair_count_ has {sizes['values']} values"
            raise ValueError(f"{found}; expected are {self._offsets[-1]}.")
        if "tables_" in vars(self):
            self._tables(None)

    def _check_columns(self) -> None:
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


def value_numbers(
    cuts_of: list[np.ndarray | None], offsets: np.ndarray, n_values: np.ndarray, X: np.ndarray
) -> np.ndarray:
    """The values of rows, numbered consecutively from column to column; UNKNOWN where there is none."""
    out = np.empty(X.shape, dtype=np.int32)
    for j, (cuts, start, size) in enumerate(zip(cuts_of, offsets, n_values)):
        unknown = np.isnan(X[:, j])
        if cuts is None:
            code = np.where(unknown, -1, X[:, j]).astype(np.int64)
            unknown |= (code < 0) | (code >= size)
        else:
            code = np.searchsorted(cuts, X[:, j], side="left")
        out[:, j] = np.where(unknown, UNKNOWN, start + code)
    return out


def _weights(y: Any, weight: Any) -> Any:
    """The weights of rows in double precision, 1 where there are none; in memory or streamed."""
    if is_streamed(y):
        given = y if weight is None else weight
        return given.map(_ones if weight is None else _doubled, dtype=np.float64)
    return _ones(y) if weight is None else _doubled(weight)


def _ones(y: np.ndarray) -> np.ndarray:
    return np.ones(len(y))


def _doubled(weight: np.ndarray) -> np.ndarray:
    return weight.astype(np.float64)


Tallies = list[tuple[np.ndarray, np.ndarray]]


def _tallies(chunk: tuple[Any, ...], columns: list[int]) -> Tallies:
    """The distinct numbers of columns, and the weight of the rows with each."""
    X, weight = chunk
    found = []
    for j in columns:
        known = ~np.isnan(X[:, j]) & (weight > 0)
        numbers, place = np.unique(X[known, j].astype(np.float64), return_inverse=True)
        found.append((numbers, np.bincount(place, weight[known], numbers.size)))
    return found


def _merged(labels: list[Any], owner: str, left: Tallies, right: Tallies, owned: bool) -> Tallies:
    found = []
    for label, (a, of_a), (b, of_b) in zip(labels, left, right):
        numbers = np.union1d(a, b)
        if numbers.size > MOST_NUMBERS:
            raise ValueError(
                f"{owner}: column {label!r} of the source has more than {MOST_NUMBERS} distinct numbers, too many "
                "for its quantiles. Round them, or use GaussianNB."
            )
        weights = np.zeros(numbers.size)
        weights[np.searchsorted(numbers, a)] += of_a
        weights[np.searchsorted(numbers, b)] += of_b
        found.append((numbers, weights))
    return found

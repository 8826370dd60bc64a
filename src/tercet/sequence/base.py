"""The base of sequence models: input of sequences, and `fit`.

Sequences come as a list, or as one table of rows with lengths. Inside, they are always one array of rows and the
borders between them (`Sequences`), which kernels read in one pass. Results have the caller's form: a list for a
list, a flat array for a table.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from tercet.core.estimator import Estimator
from tercet.core.input_errors import Explaining, refuse_containers
from tercet.core.sources import RowSource
from tercet.core.validation import check_is_fitted, check_structure, refuse_large, validate_data


class SequenceEstimator(Estimator):
    """A method that learns from whole sequences.

    `_fit(X, y, sample_weight)` gets checked `Sequences`, the labels of all rows as `Sequences` or None, and a
    weight for each sequence or None.

    Examples
    --------
    >>> class MeanLength(SequenceEstimator):
    ...     def _fit(self, X, y, sample_weight):
    ...         self.mean_length_ = float(np.average(X.lengths, weights=sample_weight))
    >>> MeanLength().fit([[[1.0], [2.0]], [[3.0]]]).mean_length_
    1.5
    """

    symbols: ClassVar[bool] = False  # a row is a single symbol
    encodes_rows = True  # callbacks get the sequences as they came

    def fit(self, X: Any, y: Any = None, lengths: Any = None, sample_weight: Any = None) -> Self:
        """Learn from sequences.

        Parameters
        ----------
        X : list of sequences, or table of shape (n_rows, n_features)
            The observations: a list with a table for each sequence, or one table with all rows.
        y : list of label sequences, or array of shape (n_rows,), optional
            What is known of each row.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table; by default it is one sequence. Where X is a source,
            also the name of the column that tells the sequence of each row. (Also understood in
            second place, where other libraries have it, unless there is one for each row: those are labels, be they
            all 1, of which a warning tells.)
        sample_weight : array of shape (n_sequences,), optional
            How much each sequence counts; 2 is as good as having the sequence twice.

        Returns
        -------
        self
        """
        if isinstance(X, RowSource):
            from tercet.sequence.streamed_sequences import SequenceSource

            return self._learn(SequenceSource(X, lengths), y, sample_weight)
        if mistaken_lengths(X, y, lengths, symbols=self.symbols):
            y, lengths = None, y
        return self._learn(Sequences.of(X, lengths, symbols=self.symbols), y, sample_weight)

    def _open_source(self, source: Any, y: Any, sample_weight: Any) -> Any:
        from tercet.sequence.streamed_sequences import open_sequences

        return open_sequences(self, source, y, sample_weight)

    def _predict_source(self, source: RowSource, method: str, lengths: Any = None) -> Any:
        from tercet.sequence.streamed_sequences import SequencePredictions, SequenceSource

        check_is_fitted(self)
        return SequencePredictions(self, method, SequenceSource(source, lengths))

    def _check(self, X: Any, y: Any = None, *, reset: bool = True) -> Any:
        X = self._rows(X, reset=reset)
        return X, None if y is None else X.with_rows(labels_like(y, X))

    def _rows(self, X: Sequences, *, reset: bool = False) -> Sequences:
        """The rows as checked numbers; a model of other observations overrides this."""
        rows = validate_data(
            self,
            X.rows,
            accept_sparse="csr" if self.sparse_input else False,
            dtype=(np.float64, np.float32),
            ensure_all_finite="allow-nan" if self.missing_input else True,
            reset=reset,
        )
        if self.largest_value < np.inf:
            refuse_large(rows, self.largest_value, type(self).__name__)
        return X.with_rows(rows)

    def _given(self, X: Any, lengths: Any = None) -> Sequences:
        """Sequences to predict, for a fitted model."""
        check_is_fitted(self)
        return self._rows(Sequences.of(X, lengths, symbols=self.symbols))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.symbols:
            tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
            tags.input_tags.categorical = True
        return tags


class Sequences:
    """The rows of many sequences, one sequence after another, and where each begins.

    Parameters
    ----------
    rows : array, frame or sparse matrix
        All rows; one-dimensional where a row is a single symbol or label.
    borders : array of shape (n_sequences + 1,)
        Sequence s has the rows from borders[s] to borders[s + 1].
    listed : bool
        Whether the caller gave a list of sequences, and is to get a list back.

    Examples
    --------
    >>> X = Sequences.of([[[1.0], [2.0]], [[3.0]]])
    >>> X.rows.tolist(), X.borders.tolist(), X.lengths.tolist()
    ([[1.0], [2.0], [3.0]], [0, 2, 3], [2, 1])
    """

    one = "sequence"  # what a sample weight belongs to
    names: Any = None  # of the columns, where they come from a source

    def __init__(self, rows: Any, borders: np.ndarray, listed: bool) -> None:
        self.rows, self.borders, self.listed = rows, borders, listed

    @classmethod
    def of(cls, X: Any, lengths: Any = None, *, symbols: bool = False) -> Sequences:
        """Sequences from the forms that a caller may give.

        Parameters
        ----------
        X : Sequences, list of sequences, or table
            Each sequence of a list is a table of its own, or with `symbols` a list of symbols. A table holds one
            sequence, or as many as `lengths` says.
        lengths : array of int, optional
            The lengths of the sequences that X holds one after another.
        symbols : bool, default=False
            Whether a row is a single symbol: then a list of lists is a list of sequences, and a flat list is one
            sequence.
        """
        if isinstance(X, Sequences):
            return X
        refuse_containers(X=X)
        X = _as_array(X)
        if is_listed(X, symbols):
            listed = cls._stacked(list(X), symbols)
            if lengths is None and symbols and len(listed) > 1 and listed.longest == 1:
                warnings.warn(
                    f"X is a list of {len(listed)} lists of one symbol each, which means {len(listed)} sequences "
                    "of length 1. An array of shape (n, 1), a flat list of symbols, or lengths, mean one.",
                    UserWarning,
                    stacklevel=4,
                )
            if lengths is None or np.array_equal(listed.lengths, lengths):
                return listed
            if listed.longest > 1:
                raise ValueError(
                    f"X is a list of {len(listed)} sequences, and lengths are not theirs; got {lengths!r}."
                )
            X = listed.rows
        rows = _column(X) if symbols else X
        n = _n_rows(rows)
        if not n and symbols:
            raise ValueError("X has no rows: 0 sample(s), while a sequence needs at least one.")
        if lengths is None:
            borders = np.array([0, n])
        else:
            borders = np.concatenate([[0], np.cumsum(_check_lengths(lengths, n))])
        return cls(rows, borders.astype(np.int64), listed=False)

    @classmethod
    def _stacked(cls, parts: list[Any], symbols: bool) -> Sequences:
        counts = [_n_rows(part) for part in parts]
        if 0 in counts:
            raise ValueError(
                f"Sequence {counts.index(0)} of {len(parts)} is empty; every sequence needs a row."
            )
        rows = _column(_concatenated(parts)) if symbols else _concatenated(parts)
        return cls(rows, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), listed=True)

    def __len__(self) -> int:
        return self.borders.size - 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an array whose rows are whole sequences."""
        return (len(self), *np.shape(self.rows)[1:])

    @property
    def dtype(self) -> Any:
        """The dtype of computations, and of the weights."""
        return np.float32 if getattr(self.rows, "dtype", None) == np.float32 else np.float64

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.borders)

    @property
    def longest(self) -> int:
        return int(self.lengths.max())

    def nonempty(self) -> Sequences:
        """The sequences that have rows."""
        lengths = self.lengths
        if lengths.all():
            return self
        return Sequences(self.rows, np.concatenate([[0], np.cumsum(lengths[lengths > 0])]), self.listed)

    def with_rows(self, rows: Any) -> Sequences:
        """The same borders with other rows (checked ones, codes, labels)."""
        return Sequences(rows, self.borders, self.listed)

    def __iter__(self) -> Iterator[Any]:
        return (self.rows[a:b] for a, b in zip(self.borders[:-1], self.borders[1:]))

    def __getitem__(self, index: Any) -> Any:
        """The rows of one sequence for a number; those sequences for an array of numbers."""
        if isinstance(index, int | np.integer):
            return self.rows[self.borders[index] : self.borders[index + 1]]
        chosen = np.atleast_1d(np.arange(len(self))[index])
        lengths = self.lengths[chosen]
        ends = np.cumsum(lengths)
        at = np.arange(int(ends[-1]) if ends.size else 0)
        at += np.repeat(self.borders[chosen] - (ends - lengths), lengths)
        return Sequences(self.rows[at], np.concatenate([[0], ends]), self.listed)

    def like_given(self, values: Any) -> Any:
        """Values of all rows in the caller's form: a list of arrays for a list, else as they are."""
        if not self.listed:
            return values
        return [values[a:b] for a, b in zip(self.borders[:-1], self.borders[1:])]

    def chunks(self, rows: int = 4096) -> list[tuple[int, int]]:
        """Ranges of sequences (from, to) of about so many rows together; cut by the data alone."""
        if 0 < self.borders[-1] <= rows:
            return [(0, len(self))]
        cuts = np.unique(np.searchsorted(self.borders, np.arange(0, self.borders[-1], rows)))
        cuts = np.unique(np.concatenate([[0], cuts, [len(self)]]))
        return list(pairwise(cuts.tolist()))


def is_listed(X: Any, symbols: bool = False) -> bool:
    """Whether X is a list of sequences rather than a table of rows (or, with `symbols`, one flat sequence)."""
    if hasattr(X, "ndim"):
        return X.ndim == 1 and X.dtype == object and len(X) > 0 and _depth(X[0]) > (0 if symbols else 1)
    if not isinstance(X, list | tuple) or not len(X):
        return False
    depth = _depth(X[0])
    if not symbols and depth == 1 and len({len(row) for row in X if hasattr(row, "__len__")}) > 1:
        raise ValueError(
            "X looks like a list of sequences of single numbers; give each as a column, of shape (length, 1)."
        )
    return depth > (0 if symbols else 1)


def labels_like(y: Any, X: Sequences) -> Any:
    """Labels as one flat array of objects or numbers in the order of X's rows; an error where they do not match."""
    if isinstance(y, Sequences):
        return y.rows
    refuse_containers(y=y)
    if sparse.issparse(y):
        raise TypeError(f"y must be labels in a list or an array; got a sparse matrix of shape {y.shape}.")
    y = _as_array(y)
    if _is_list_of_sequences(y):
        if len(y) != len(X):
            raise ValueError(f"y has {len(y)} sequences of labels, but X has {len(X)} sequences.")
        y = [_labels_of(k, labels) for k, labels in enumerate(y)]
        for k, (labels, length) in enumerate(zip(y, X.lengths)):
            if len(labels) != length:
                raise ValueError(f"Sequence {k} has {length} rows but {len(labels)} labels.")
        return flat([label for labels in y for label in labels])
    labels = flat(y)
    if labels.shape != (int(X.borders[-1]),):
        raise ValueError(
            f"y must have a label for each row of X: {X.borders[-1]} rows in {len(X)} sequences; "
            f"got labels of shape {labels.shape}."
        )
    return labels


def _labels_of(k: int, labels: Any) -> Any:
    """The labels of sequence k, one for each row, from a list or from an array or frame of one column."""
    if hasattr(labels, "columns") or getattr(labels, "ndim", 1) > 1:
        labels = flat(labels)
    if isinstance(labels, str | Mapping) or not hasattr(labels, "__len__") or getattr(labels, "ndim", 1) != 1:
        shape = getattr(labels, "shape", None)
        got = f"an array of shape {shape}" if shape else repr(labels)
        raise ValueError(f"y must have one label for each row of a sequence; for sequence {k} it has {got}.")
    return labels


def refuse_infinite_labels(classes: Iterable[Any]) -> None:
    """Refuse infinity among labels; NaN is a label that is not known."""
    for label in classes:
        if isinstance(label, float | np.floating) and np.isinf(label):
            raise ValueError(
                f"y has the label {label}; a label must be finite, and NaN or None where it is not known."
            )


def mistaken_lengths(X: Any, y: Any, lengths: Any, *, symbols: bool = False) -> bool:
    """Whether y is really `lengths`, which other libraries take in second place: whole numbers, not one for each
    row, that add up to the number of rows, or that are the lengths of the sequences in a list. (A number for each
    row is a label, also if all are 1; then a warning says so.)"""
    if lengths is not None or y is None or isinstance(X, Sequences):
        return False
    try:
        y = np.asarray(y)
    except ValueError:  # lists of unequal lengths
        return False
    if y.ndim != 1 or y.dtype.kind not in "iu" or y.min(initial=1) < 1:
        return False
    X = _as_array(X)
    n = _n_rows(X)
    if y.size == n and is_listed(X, symbols):
        counts = [_n_rows(part) for part in X]
        if max(counts) > 1:
            return counts == y.tolist()
    if y.size == n > 1 and y.max() == 1:
        warnings.warn(
            "y has a 1 for each row, which are labels; if they are the lengths of the sequences, give them as "
            "lengths=.",
            UserWarning,
            stacklevel=3,
        )
    return bool(y.size != n and y.sum() == n)


def _as_array(X: Any) -> Any:
    """Series and objects with `__array__` as arrays; tables as they are."""
    shape = getattr(X, "shape", None)
    if shape is None and hasattr(X, "__array__"):
        return np.asarray(X)
    return X.to_numpy() if shape is not None and len(shape) == 1 and hasattr(X, "to_numpy") else X


def _check_lengths(lengths: Any, n: int) -> np.ndarray:
    values = np.asarray(lengths)
    if values.ndim != 1 or not values.size or values.dtype.kind not in "iu":
        raise ValueError(f"lengths must be a list of whole numbers, one for each sequence; got {lengths!r}.")
    if values.min() < 1:
        raise ValueError(f"lengths must be positive: every sequence needs a row; got {values.min()}.")
    if values.sum() != n:
        raise ValueError(f"lengths add up to {values.sum()}, but X has {n} rows.")
    return values.astype(np.int64)


def _n_rows(rows: Any) -> int:
    shape = getattr(rows, "shape", None)
    return int(shape[0]) if shape else len(rows)


def _depth(thing: Any) -> int:
    """0 for a scalar, 1 for a list of scalars, 2 for a table (as far as its first entry tells)."""
    if hasattr(thing, "ndim"):
        return thing.ndim + (
            thing.ndim == 1 and thing.dtype == object and len(thing) and _depth(thing[0]) > 0
        )
    if hasattr(thing, "shape"):
        return len(thing.shape)
    if isinstance(thing, list | tuple):
        return 1 + (_depth(thing[0]) if len(thing) else 0)
    return 0


def _is_list_of_sequences(y: Any) -> bool:
    """Whether y is a list of sequences of labels (a column is not)."""
    if isinstance(y, np.ndarray) and y.dtype != object:
        return False
    return hasattr(y, "__len__") and len(y) > 0 and not hasattr(y, "columns") and _depth(y[0]) > 0


def flat(values: Any) -> np.ndarray:
    """A one-dimensional array; of objects where the values are not all of one plain kind."""
    array = values if isinstance(values, np.ndarray) else None
    if array is None and hasattr(values, "to_numpy"):
        array = values.to_numpy()
    if array is None:
        values = list(values)
        kinds = {type(value) for value in values}
        if len(kinds) == 1 and issubclass(next(iter(kinds)), str | int | np.number | float | bool):
            array = np.array(values)
        else:
            array = np.fromiter(values, dtype=object, count=len(values))  # tuples are values, too
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _column(X: Any) -> Any:
    """Symbols as a flat array, from a flat list or a table of one column."""
    if sparse.issparse(X):
        raise TypeError("Sparse input is not supported: symbols are given as a list or an array.")
    if hasattr(X, "shape") and len(X.shape) > 1 and X.shape[1:] != (1,):
        found = f"{X.shape[1]} columns" if len(X.shape) == 2 else f"an array of shape {X.shape}"
        raise ValueError(f"X must have one column of symbols; got {found}.")
    return flat(X)


def _concatenated(parts: list[Any]) -> Any:
    first = parts[0]
    if sparse.issparse(first):
        checked = [check_structure(part, f"X[{k}]") for k, part in enumerate(parts)]
        return sparse.vstack(checked, format="csr")
    if hasattr(first, "columns"):  # pandas or polars, whichever the caller has loaded
        return sys.modules[type(first).__module__.partition(".")[0]].concat(parts)
    if _depth(first) == 1:
        if all(isinstance(part, np.ndarray) and part.dtype != object for part in parts):
            return np.concatenate(parts)
        return flat([value for part in parts for value in part])
    tables = [_table(k, part) for k, part in enumerate(parts)]
    widths = {table.shape[1] for table in tables}
    if len(widths) > 1:
        raise ValueError(f"All sequences of X must have the same number of columns; got {sorted(widths)}.")
    return np.concatenate(tables)


def _table(k: int, part: Any) -> np.ndarray:
    """The rows of sequence k as an array."""
    with Explaining(X=part):
        table = np.asarray(part)
    if table.ndim != 2:
        raise ValueError(
            f"X must be a list of tables of shape (length, n_features); sequence {k} has the shape {table.shape}."
        )
    return table

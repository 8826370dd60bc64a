"""Tables of numeric and categorical columns, for methods that take both.

`MixedColumns` is the base of such a method. Its `_fit` gets a float array in which a categorical column holds
codes: indices into `categories_[j]`. NaN stands for a missing value and, at prediction, `len(categories_[j])` for a
category not seen in training.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin

from tercet.core.column_parsing import (
    TIMES,
    Column,
    code_lookup,
    code_table,
    distinct_numbers,
    from_lists,
    is_frame,
    label_text,
    lookup_key,
    ordinal_codes,
    read_objects,
    read_series,
    require_number,
    write_codes,
)
from tercet.core.estimator import NO_TARGET, Estimator
from tercet.core.fitted_checks import Each, Labels, OneOf
from tercet.core.input_errors import Explaining
from tercet.core.parallel import Chunks, reduce, total
from tercet.core.row_sums import count_nonzero
from tercet.core.rows import kernel_form
from tercet.core.sources import CodedRows
from tercet.core.sources import Features as SourceFeatures
from tercet.core.spelling_suggestions import spelling_suggestions
from tercet.core.streams import is_streamed
from tercet.core.validation import check_array, check_target, validate_data

# The type of the parameter `categorical_features`.
Features = str | list | tuple | np.ndarray | None  # type: ignore[type-arg]
BLOCK = 4096  # rows encoded together


class MixedColumns(Estimator):
    """An estimator of rows whose columns are numbers or categories.

    A subclass has the parameter `categorical_features`: "from_dtype" (columns of strings, of a frame's categorical
    dtype, or of objects that are not all numbers), a list of places or names, a mask, or None.
    """

    sparse_input = False
    missing_input = True
    encodes_rows = True
    streams_words: ClassVar[bool] = True  # whether columns of words of a source are categories
    categorical_features: Any
    categories: Any = "auto"  # declared values for each column, where a subclass has that parameter
    categories_: list[np.ndarray | None]
    fitted_shapes = {
        "categories_": Each(Labels("values*@ | None", finite=True), "features"),
        "_declared": Each(OneOf((False, True)), "features"),
    }
    _declared: list[bool]  # whose categories are not learned

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        columns = self._columns(X, reset=reset)
        if reset:
            self.categories_ = self._learn_categories(columns)
            self._warn_of_measurements(columns)
        X = columns.encode(self.categories_)
        if self.positive_only and X.size and np.nanmin(X, initial=0.0) < 0:
            raise ValueError(f"Negative values in data passed to {type(self).__name__}.")
        if y is NO_TARGET:
            return X
        if y is None:
            if self.__sklearn_tags__().target_tags.required:
                raise ValueError(
                    f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
                )
            return X, None
        numeric = isinstance(self, RegressorMixin)
        return X, check_target(self, y, len(X), multi_output=self.multi_output, numeric=numeric)

    def _check_streamed(self, X: Any) -> Any:
        """Codes of the categories of streamed numbers, which one pass collects, and of words, which are known."""
        names = range(X.shape[1])
        words = words_of(X.stream.features) if X.function is None else {}
        empty = Columns.of_array(np.empty((0, X.shape[1]), dtype=X.dtype), "f").with_words(words)
        empty.names = list(getattr(self, "feature_names_in_", names))
        for j, labels in words.items():
            empty.values[j] = np.arange(len(labels), dtype=np.float64)
        chosen = np.array(
            [j for j in np.flatnonzero(self._categorical(empty)) if j not in words], dtype=np.intp
        )
        found = reduce(_distinct_of_chunk, Chunks(X), _union, chosen) if chosen.size else []
        for j, values in zip(chosen, found):
            empty.values[j] = values
        self.categories_ = self._learn_categories(empty)
        if all(known is None for known in self.categories_):
            return X
        known = list(self.categories_)  # which a fit may change
        return X.map(functools.partial(encode_numbers, known, words), width=X.shape[1], dtype=np.float64)

    def _columns(self, X: Any, *, reset: bool) -> Columns:
        """The columns of X, after scikit-learn's checks of its shape and its names."""
        if isinstance(X, CodedRows):
            array = validate_data(
                self, X.codes, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan"
            )
            columns = Columns.of_array(array, "f").with_words(words_of(X.features))
            columns.names = list(X.features.names or columns.names)
        elif is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            columns = Columns.of_frame(X)
            check_array(np.zeros((columns.height, max(len(columns.values), 1))), estimator=self)
            columns.refuse_infinity(type(self).__name__)
        else:
            if isinstance(X, list | tuple):
                with Explaining(X=X):
                    X = from_lists(X)
            kind = getattr(getattr(X, "dtype", None), "kind", "O")
            if kind in "mM":
                raise ValueError(f"{type(self).__name__}: X holds {TIMES}")
            plain = kind != "O" and kind in "biufc"
            dtype = (np.float64, np.float32) if plain or sparse.issparse(X) else None
            array = validate_data(
                self, X, reset=reset, dtype=dtype, ensure_all_finite="allow-nan" if dtype else False
            )
            with Explaining(X=array):
                columns = Columns.of_array(array, kind if plain else "")
            if not dtype:
                columns.refuse_infinity(type(self).__name__)
        return columns

    def _learn_categories(self, columns: Columns) -> list[np.ndarray | None]:
        """The categories of each column, None for one of numbers; all there is to learn about them."""
        chosen = self._categorical(columns)
        declared = self.categories
        if isinstance(declared, str):  # a way to learn them
            declared = [None] * len(chosen)
        elif len(declared) != len(chosen):
            raise ValueError(
                f"{type(self).__name__}: categories must give the values of all {len(chosen)} columns; "
                f"got {len(declared)} lists."
            )
        self._declared = [dtype or given is not None for dtype, given in zip(columns.declared, declared)]
        return [
            columns.categories(j, given) if here or given is not None else None
            for j, (here, given) in enumerate(zip(chosen, declared))
        ]

    def _warn_of_measurements(self, columns: Columns) -> None:
        """Warn where fractions, most of them distinct, are taken as categories: rows have nothing in common."""
        for j, known in enumerate(self.categories_):
            if known is None or known.dtype.kind != "f" or columns.labels[j] is not None or self._declared[j]:
                continue
            if known.size > 10 and 2 * known.size > columns.height and (known % 1 != 0).any():
                warnings.warn(
                    f"{type(self).__name__}: column {columns.names[j]!r} holds {known.size} distinct numbers in "
                    f"{columns.height} rows, and each is a category of its own. Cut numbers into intervals first, "
                    "as with KBinsDiscretizer.",
                    UserWarning,
                    stacklevel=7,
                )
                return

    def _forget_weightless(self, X: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """Drop the categories that occur only in rows of weight 0, for methods that count categories."""
        if weight is None or count_nonzero(weight) == weight.shape[0]:
            return X
        if is_streamed(X):
            return self._forget_weightless_streamed(X, weight)
        X = X.copy()
        for j, known in enumerate(self.categories_):
            if known is None or self._declared[j]:
                continue
            here = np.unique(X[(weight > 0) & ~np.isnan(X[:, j]), j]).astype(np.intp)
            place = np.full(len(known) + 1, here.size, dtype=np.float64)
            place[here] = np.arange(here.size)
            self.categories_[j] = known[here]
            gone = np.isnan(X[:, j])
            X[:, j] = np.where(gone, np.nan, place[np.where(gone, len(known), X[:, j]).astype(np.intp)])
        return X

    def _forget_weightless_streamed(self, X: Any, weight: Any) -> Any:
        present = total(
            _weight_of_codes, Chunks(X, weight), [0 if k is None else len(k) for k in self.categories_]
        )
        places: list[np.ndarray | None] = [None] * X.shape[1]
        for j, known in enumerate(self.categories_):
            if known is not None and not self._declared[j]:
                here = np.flatnonzero(present[j])
                self.categories_[j] = known[here]
                places[j] = np.full(len(known) + 1, here.size, dtype=np.float64)
                places[j][here] = np.arange(here.size)  # type: ignore[index]
        return X.map(functools.partial(_renumbered, places), width=X.shape[1])

    def _categorical(self, columns: Columns) -> list[bool]:
        """Mask of the categorical columns."""
        asked = self.categorical_features
        if asked is None or (isinstance(asked, str) and asked == "from_dtype"):
            found = [kind == "category" for kind in columns.kinds]
            if asked is None and any(found):
                name = columns.names[found.index(True)]
                raise ValueError(
                    f"{type(self).__name__}: column {name!r} is not of numbers, and categorical_features=None."
                )
            return found
        d = len(columns.values)
        given = (
            [asked] if isinstance(asked, str) else asked.tolist() if hasattr(asked, "tolist") else list(asked)
        )
        if given and all(isinstance(item, bool | np.bool_) for item in given):
            if len(given) != d:
                raise ValueError(
                    f"{type(self).__name__}: categorical_features as a mask must have {d} values; got {len(given)}."
                )
            return [bool(v) for v in given]
        found = [kind == "category" for kind in columns.kinds]
        for item in given:
            place = columns.names.index(item) if item in columns.names else item
            if not isinstance(place, int | np.integer) or not -d <= place < d:
                meant = spelling_suggestions(str(item), [str(n) for n in columns.names], 3)
                hint = f"; near it: {', '.join(meant)}" if meant else ""
                raise ValueError(
                    f"{type(self).__name__}: categorical_features names {item!r}; there is no such column{hint}."
                )
            found[int(place)] = True
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


def words_of(features: SourceFeatures) -> dict[int, np.ndarray]:
    """The labels of the columns of words of a source."""
    return {column.place: column.labels for column in features.words if column.labels is not None}


def encode_numbers(
    categories: list[np.ndarray | None], words: dict[int, np.ndarray], X: np.ndarray
) -> np.ndarray:
    """Rows of numbers, and of codes of words, with the codes of the columns that have categories."""
    return Columns.of_array(X, "f").with_words(words).encode(categories)


def _weight_of_codes(chunk: Any, sizes: list[int]) -> tuple[np.ndarray, ...]:
    X, weight = chunk
    found = []
    for j, size in enumerate(sizes):
        known = X[:, j] < size
        found.append(np.bincount(X[known, j].astype(np.intp), weight[known], size))
    return tuple(found)


def _renumbered(places: list[np.ndarray | None], X: np.ndarray) -> np.ndarray:
    X = X.copy()
    for j, place in enumerate(places):
        if place is not None:
            gone = np.isnan(X[:, j])
            X[:, j] = np.where(gone, np.nan, place[np.where(gone, place.size - 1, X[:, j]).astype(np.intp)])
    return X


def _distinct_of_chunk(chunk: Any, chosen: np.ndarray) -> list[np.ndarray]:
    return [distinct_numbers(chunk[0][:, j]) for j in chosen]


def _union(left: list[np.ndarray], right: list[np.ndarray], owned: bool) -> list[np.ndarray]:
    return [np.union1d(a, b) for a, b in zip(left, right)]


@dataclass
class Columns:
    """Table stored by column.

    Attributes
    ----------
    names : column names.
    values : a float array for each column: numbers, or codes into `labels`; NaN where missing.
    labels : distinct values of a categorical column, strings or numbers; None for a numeric one.
    kinds : "number", "integer", "boolean" or "category" for each.
    declared : whether the labels are those that a frame's dtype lists, in its order.
    """

    names: list[Any]
    values: list[np.ndarray]
    labels: list[np.ndarray | None]
    kinds: list[str]
    declared: list[bool]

    @property
    def height(self) -> int:
        return len(self.values[0]) if self.values else 0

    @classmethod
    def of_array(cls, array: np.ndarray, kind: str = "") -> Columns:
        """The columns of a checked array; `kind` is the kind of dtype it came with."""
        names = list(range(array.shape[1]))
        if array.dtype.kind == "f":
            word = {"b": "boolean", "i": "integer", "u": "integer"}.get(kind, "number")
            return cls.of(names, [(column, None, word, False) for column in array.T])
        return cls.of(names, [read_objects(column.tolist()) for column in array.T])

    @classmethod
    def of_frame(cls, frame: Any) -> Columns:
        """The columns of a pandas or polars frame."""
        return cls.of(list(frame.columns), [read_series(frame[name]) for name in frame.columns])

    @classmethod
    def of(cls, names: list[Any], parts: list[Column]) -> Columns:
        return cls(names, *([part[k] for part in parts] for k in range(4)))  # type: ignore[arg-type]

    def with_words(self, words: dict[int, np.ndarray]) -> Columns:
        """The same, where some columns are codes of words."""
        for j, labels in words.items():
            self.labels[j], self.kinds[j] = labels, "category"
        return self

    def categories(self, j: int, given: Any = None) -> np.ndarray:
        """The distinct values of column j, in order; or those that were declared, in theirs."""
        values, labels = self.values[j], self.labels[j]
        here = distinct_numbers(values)
        present = here if labels is None else labels[here.astype(np.intp)]
        if given is None:
            return labels if labels is not None and self.declared[j] else present
        words = present.dtype.kind == "U" or any(isinstance(value, str) for value in given)
        found = np.array(
            [label_text(v) for v in given] if words else given, dtype=str if words else np.float64
        )
        table = code_table(found)
        if len(table) < len(found):
            raise ValueError(f"column {self.names[j]!r} has a category twice among {found.tolist()[:12]}.")
        strange = [value for value in present.tolist() if lookup_key(value, words) not in table]
        if strange:
            raise ValueError(
                f"column {self.names[j]!r} holds {strange[0]!r}, which is not among its categories "
                f"{found.tolist()[:12]}."
            )
        return found

    def encode(self, categories: Sequence[np.ndarray | None]) -> np.ndarray:
        """Array of all columns; categories as codes into `categories`."""
        single = all(v.dtype == np.float32 for v in self.values) and all(c is None for c in categories)
        X = np.empty((self.height, len(self.values)), dtype=np.float32 if single else np.float64)
        parts = [self._translated(j, known) for j, known in enumerate(categories)]
        # Blocks of rows stay in the cache while all their columns are written.
        for start in range(0, self.height, BLOCK):
            end = start + BLOCK
            for j, (values, low, table) in enumerate(parts):
                if table is None:
                    X[start:end, j] = values[start:end]
                else:
                    write_codes(kernel_form(values[start:end]), low, table, X[start:end], j)
        return X

    def _translated(self, j: int, known: np.ndarray | None) -> tuple[np.ndarray, float, np.ndarray | None]:
        """Values of a column, with offset and lookup table where they are still to be encoded."""
        values, labels = self.values[j], self.labels[j]
        if labels is None and known is None:
            return values, 0.0, None
        if labels is None and known is not None and known.dtype.kind == "f":
            return code_lookup(values, known)
        if labels is None:
            labels, values = ordinal_codes(values)
        given = [bool(v) for v in labels.tolist()] if self.kinds[j] == "boolean" else labels.tolist()
        if known is None:
            places = [require_number(value, self.names[j]) for value in given]
        else:
            table, words = code_table(known), known.dtype.kind == "U"
            places = [table.get(lookup_key(v, words), len(known)) for v in given]
        strange = 0.0 if known is None else float(len(known))  # a word of a source that has no code
        return values, 0.0, np.array([*places, strange], dtype=np.float64)

    def refuse_infinity(self, owner: str) -> None:
        for name, values in zip(self.names, self.values):
            if np.isinf(values).any():
                raise ValueError(
                    f"Input X contains infinity in column {name!r}; {owner} takes finite numbers."
                )

"""Tokens as rows of numbers: whatever describes a token becomes a sparse row with a column for each attribute.

A token is a dict, as in python-crfsuite ({"word": "cat"} is the attribute "word:cat", {"long": True} is "long" with
the value 1, {"size": 2.5} is "size" with the value 2.5, dicts, lists and sets inside name what is in them
"outer:inner"), a list or set of attributes that it has, or a single string.
"""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.sources import RowSource
from tercet.sequence.base import Sequences

LARGEST = 1e100  # value of an attribute: squares and sums stay finite
SEPARATOR = ":"  # joins the parts of an attribute's name


class BigramAttribute(str):
    """The name of a transition attribute, made by a B line of a template."""

    __slots__ = ()


class AttributeColumns(dict[str, int]):
    """The columns of attributes by name; with `growing`, a new name gets the next column, else -1.

    `bigram` is one of the new names that are transition attributes (`BigramAttribute`), or None.
    """

    growing = True
    bigram: str | None = None

    def __missing__(self, name: str) -> int:
        if not isinstance(name, str):
            raise TypeError(f"an attribute's name must be a string; got {name!r}.")
        if not self.growing:
            return -1
        if isinstance(name, BigramAttribute):
            self.bigram = str(name)
        column = self[str(name)] = len(self)
        return column


class ValueColumns(dict[str, int]):
    """The columns of the attributes "key:value" of one key, by value; each name is joined only once."""

    def __init__(self, names: AttributeColumns, key: str) -> None:
        self.names, self.key = names, key

    def __missing__(self, value: str) -> int:
        column = self[value] = self.names[self.key + SEPARATOR + value]
        return column


class KeyColumns(dict[str, ValueColumns]):
    """The `ValueColumns` of each key."""

    def __init__(self, names: AttributeColumns) -> None:
        self.names = names

    def __missing__(self, key: str) -> ValueColumns:
        if not isinstance(key, str):
            raise TypeError(f"an attribute's name must be a string; got {key!r}.")
        words = self[key] = ValueColumns(self.names, key)
        return words


def is_tokens(X: Any) -> bool:
    """Whether X holds tokens described by words, not rows of numbers."""
    depth = 2  # a sentence has tokens, and these attributes
    if isinstance(X, Sequences):
        X, depth = X.rows, 1
    if hasattr(X, "columns"):
        return not all(_is_number(kind) for kind in X.dtypes)
    if hasattr(X, "dtype") and (X.ndim == 2 or X.dtype.kind in "biuf"):
        return False
    if not isinstance(X, list | tuple | np.ndarray) or not len(X):
        return False
    things = X[:3]
    if depth == 2 and any(map(is_empty, things)):  # an empty sentence says nothing
        things = list(itertools.islice(itertools.filterfalse(is_empty, X), 3))
    return any(_has_words(thing, depth) for thing in things)


def is_empty(sentence: Any) -> bool:
    """Whether this is a sentence without tokens."""
    shape = getattr(sentence, "shape", None)
    return (
        shape[:1] == (0,) if shape is not None else isinstance(sentence, list | tuple) and not len(sentence)
    )


def _has_words(thing: Any, depth: int) -> bool:
    """Whether a nested list has strings, dicts or sets as leaves."""
    if isinstance(thing, str | Mapping | AbstractSet) or _is_items(thing):
        return True
    if isinstance(thing, np.ndarray):
        return thing.dtype.kind in "US" or (thing.dtype == object and thing.ndim == 1)
    if not isinstance(thing, list | tuple) or not depth:
        return False
    if not len(thing):  # a token without attributes; a row of numbers would have some
        return depth == 1
    return any(_has_words(part, depth - 1) for part in itertools.islice(thing, 3))


def _is_items(thing: Any) -> bool:
    """Whether this is an ItemSequence of python-crfsuite."""
    return hasattr(thing, "items") and not isinstance(thing, Mapping) and not hasattr(thing, "shape")


def _is_number(kind: Any) -> bool:
    is_numeric = getattr(kind, "is_numeric", None)  # polars
    return is_numeric() if is_numeric else getattr(kind, "kind", "O") in "biuf"


def token_sequences(X: Any, lengths: Any = None) -> Sequences:
    """Tokens in words as a flat list with borders.

    A list of dicts, of sets or of strings is a flat list of tokens: one sequence, or as many as `lengths` says. A
    list of lists is a list of sentences. The rows of a frame are dicts by the names of its columns.
    """
    if isinstance(X, Sequences):
        return X.with_rows(_rows_as_dicts(X.rows))
    X = list(_rows_as_dicts(X))
    if lengths is not None or isinstance(X[0], str | Mapping | AbstractSet):
        borders = Sequences.of(np.empty((len(X), 1)), lengths).borders
        return Sequences(X, borders, listed=False)
    sentences = [sentence.items() if _is_items(sentence) else sentence for sentence in X]
    for k, sentence in enumerate(sentences):
        if isinstance(sentence, str | Mapping) or not hasattr(sentence, "__len__"):
            raise ValueError(f"Sequence {k} must be a list of tokens; got {sentence!r}.")
    borders = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])])
    return Sequences(list(itertools.chain.from_iterable(sentences)), borders.astype(np.int64), listed=True)


def sequences_in(X: Any, lengths: Any = None) -> Sequences:
    """Sequences of tokens, or of rows of numbers; some may be empty."""
    if isinstance(X, RowSource):
        raise TypeError(
            "This takes sequences in memory: load the rows of the source (`source.to_arrays(y=...)`). `fit`, "
            "`predict` and `predict_proba` take sources."
        )
    if is_tokens(X):
        return token_sequences(X, lengths)
    if lengths is not None or not isinstance(X, list | tuple) or (len(X) and not any(map(is_empty, X))):
        return Sequences.of(X, lengths)
    full = np.array([not is_empty(part) for part in X], dtype=bool)
    counts = np.zeros(full.size, dtype=np.int64)
    rows: Any = []
    if full.any():
        tables = Sequences.of([part for part in X if not is_empty(part)])
        if not tables.listed:
            raise ValueError("X has empty rows among others; give a list of tables, one for each sequence.")
        rows, counts[full] = tables.rows, tables.lengths
    return Sequences(rows, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), listed=True)


def _rows_as_dicts(X: Any) -> Any:
    """The rows of a frame as dicts; anything else as it is."""
    if not hasattr(X, "columns"):
        return X
    return X.to_dicts() if hasattr(X, "to_dicts") else X.to_dict("records")


def encode_tokens(tokens: list[Any], names: AttributeColumns) -> sparse.csr_array:
    """Tokens as rows of a CSR matrix with a column for each name; unknown names are left out unless `names` grows.

    Examples
    --------
    >>> names = AttributeColumns()
    >>> encode_tokens([{"word": "a", "size": 2.0}, ["size", "end"]], names).toarray()
    array([[1., 2., 0.],
           [0., 1., 1.]])
    >>> list(names)
    ['word:a', 'size', 'end']
    """
    try:
        columns, values, counts = _entries(tokens, names)
    except (TypeError, AttributeError) as error:
        raise _located_error(tokens, error) from None
    index = np.array(columns, dtype=np.int64)
    data = np.ones(index.size) if values is None else np.array(values, dtype=np.float64)
    borders = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if not np.isfinite(data).all():
        bad = int(np.flatnonzero(~np.isfinite(data))[0])
        name = next((name for name, column in names.items() if column == index[bad]), "?")
        row = int(np.searchsorted(borders, bad, side="right")) - 1
        raise ValueError(f"Token {row}: attribute {name!r} is {data[bad]}; allowed are finite numbers.")
    known = index >= 0
    if not known.all():
        kept = np.concatenate([[0], np.cumsum(known)])
        index, data, borders = index[known], data[known], kept[borders]
    small = np.int32 if max(index.size, len(names)) < 2**31 else np.int64
    shape = (len(tokens), len(names))
    return sparse.csr_array((data, index.astype(small), borders.astype(small)), shape=shape)


def check_size(rows: Any, vocabulary: dict[str, int], owner: str) -> None:
    """Refuse values whose squares and sums would overflow."""
    values = rows.data if sparse.issparse(rows) else rows.ravel()
    if values.size and max(-float(values.min()), float(values.max())) > LARGEST:
        at = int(np.abs(values).argmax())
        column = int(rows.indices[at] if sparse.issparse(rows) else at % rows.shape[1])
        name = next((name for name, place in vocabulary.items() if place == column), f"x{column}")
        raise ValueError(
            f"{owner}: attribute {name!r} has the value {values[at]:g}; allowed are numbers up to "
            f"{LARGEST:g} in size. Scale it, or give its logarithm."
        )


def table_rows(rows: Any, vocabulary: dict[str, int], owner: str) -> Any:
    """The rows of a table as float64, dense or CSR, or an error where a value is too large.

    Examples
    --------
    >>> table_rows(sparse.csr_array([[0, 2]]), {"x0": 0, "x1": 1}, "CRF").data
    array([2.])
    """
    check_size(rows, vocabulary, owner)
    if not sparse.issparse(rows):
        return np.ascontiguousarray(rows, dtype=np.float64)
    rows = sparse.csr_array(rows, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()  # in a table, zeros say nothing
    return rows


def table_vocabulary(model: Any, names: Any = None) -> dict[str, int]:
    """The attributes of a table, its columns: their names (by default those that a fit has seen), or x0, x1 ..."""
    names = getattr(model, "feature_names_in_", None) if names is None else names
    named = [f"x{j}" for j in range(model.n_features_in_)] if names is None else map(str, names)
    return {name: column for column, name in enumerate(named)}


def _entries(tokens: list[Any], names: AttributeColumns) -> tuple[list[int], list[float] | None, list[int]]:
    """The columns and values of all tokens one after another, and how many each has. (No values: all are 1.)"""
    kinds = set(map(type, tokens))
    if kinds <= {str, np.str_}:
        return [names[token] for token in tokens], None, [1] * len(tokens)
    if kinds <= {list, tuple, set, frozenset}:
        return [names[name] for token in tokens for name in token], None, [len(token) for token in tokens]
    columns: list[int] = []
    values: list[float] = []
    counts: list[int] = []
    words, column, value = KeyColumns(names), columns.append, values.append
    for token in tokens:
        before = len(columns)
        if type(token) is dict:
            for key, what in token.items():
                kind = type(what)
                if kind is str:
                    column(words[key][what])
                    value(1.0)
                elif kind is bool or kind is float or kind is int:
                    column(names[key])
                    value(what)
                else:
                    _add("", {key: what}, names, columns, values)
        else:
            _add("", token, names, columns, values)
        counts.append(len(columns) - before)
    return columns, values, counts


def _add(prefix: str, what: Any, names: AttributeColumns, columns: list[int], values: list[float]) -> None:
    """Add the attributes of anything that may describe a token."""
    if isinstance(what, str):
        columns.append(names[prefix + what])
        values.append(1.0)
    elif isinstance(what, Mapping):
        for key, inside in what.items():
            if isinstance(inside, numbers.Real | np.bool_):
                columns.append(names[prefix + key])
                values.append(float(inside))
            else:
                _add(prefix + key + SEPARATOR, inside, names, columns, values)
    elif isinstance(what, Iterable) and not isinstance(what, bytes):
        for name in what:
            columns.append(names[prefix + name])
            values.append(1.0)
    else:
        where = f"attribute {prefix.removesuffix(SEPARATOR)!r}" if prefix else "a token"
        raise TypeError(
            f"{where} is {what!r}; allowed are numbers, strings, and dicts, lists and sets of them."
        )


def _located_error(tokens: list[Any], error: Exception) -> ValueError:
    """The error with the number of the token in which it was met."""
    for row, token in enumerate(tokens):
        try:
            _entries([token], AttributeColumns())
        except (TypeError, AttributeError) as met:
            return ValueError(f"Token {row}: {met}")
    return ValueError(str(error))


__all__ = [
    "AttributeColumns",
    "BigramAttribute",
    "check_size",
    "encode_tokens",
    "is_tokens",
    "sequences_in",
    "table_rows",
    "table_vocabulary",
    "token_sequences",
]

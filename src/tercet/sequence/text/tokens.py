"""Sequences of arbitrary hashable symbols and labels as codes, and back."""

from __future__ import annotations

import numbers
from collections.abc import Hashable
from itertools import chain
from typing import Any

import numpy as np

from tercet.sequence.base import Sequences, refuse_infinite_labels


def tokens(X: Any, lengths: Any = None) -> Sequences:
    """Read a list of sequences of symbols, or with `lengths` one flat list; symbols may themselves be tuples."""
    if isinstance(X, Sequences):
        return X
    if lengths is not None:
        flat = _listed(X)
        borders = Sequences.of(np.empty(len(flat)), lengths, symbols=True).borders
        return Sequences(_objects(flat), borders, listed=False)
    parts = _listed(X)
    for k, part in enumerate(parts):
        if isinstance(part, str | bytes) or not hasattr(part, "__len__"):
            raise ValueError(
                f"X must be a list of sequences, each a list of symbols; sequence {k} is {part!r}. "
                "(For one flat list of symbols give lengths.)"
            )
    parts = [_listed(part) for part in parts]
    sizes = [len(part) for part in parts]
    if not parts:
        raise ValueError("X has no sequences.")
    if 0 in sizes:
        raise ValueError(
            f"Sequence {sizes.index(0)} of {len(parts)} is empty; every sequence needs a symbol."
        )
    borders = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Sequences(_objects(list(chain.from_iterable(parts))), borders, listed=True)


def labels_of(y: Any, X: Sequences) -> np.ndarray:
    """Labels as one flat array of objects, in the order of X's symbols; a whole sequence may have None for all."""
    labels = _listed(y)
    if X.listed:
        if len(labels) != len(X):
            raise ValueError(f"y must have labels for each of {len(X)} sequences; got {len(labels)}.")
        parts = []
        for k, (part, length) in enumerate(zip(labels, X.lengths)):
            if part is None:
                parts.append([None] * int(length))
                continue
            if isinstance(part, str | bytes) or not hasattr(part, "__len__"):
                raise ValueError(
                    f"y must be a list with the labels of each sequence; sequence {k} has {part!r}."
                )
            parts.append(_listed(part))
            if len(parts[-1]) != length:
                raise ValueError(f"Sequence {k} has {length} symbols but {len(parts[-1])} labels.")
        labels = list(chain.from_iterable(parts))
    if len(labels) != X.borders[-1]:
        raise ValueError(f"y must have a label for each of {X.borders[-1]} symbols; got {len(labels)}.")
    return _objects(labels)


def vocabulary(X: Sequences) -> list[Any]:
    """The different symbols, without those that are not known."""
    try:
        found = dict.fromkeys(X.rows.tolist())
    except TypeError:
        raise _unhashable(X, "symbol") from None
    return in_order([symbol for symbol in found if not missing(symbol)])


def encode(X: Sequences, symbols: list[Any]) -> tuple[np.ndarray, list[Any]]:
    """The number of each symbol; n for one that is not known; from n + 1 on those that are not among the n, which
    come back as a list."""
    n = len(symbols)
    index = dict(zip(symbols, range(n)))
    rows = X.rows.tolist()
    try:
        codes = np.array([index.get(symbol, -1) for symbol in rows], dtype=np.int64)
    except TypeError:
        raise _unhashable(X, "symbol") from None
    strange: dict[Any, int] = {}
    for k in np.flatnonzero(codes < 0):
        symbol = rows[k]
        codes[k] = n if missing(symbol) else strange.setdefault(symbol, n + 1 + len(strange))
    return codes, list(strange)


def label_codes(y: Sequences) -> tuple[list[Any], np.ndarray]:
    """The labels in order, and the number of each; -1 for one that is not known (None, NaN, or -1 among whole
    numbers)."""
    rows = y.rows.tolist()
    try:
        found = [label for label in dict.fromkeys(rows) if not missing(label)]
    except TypeError:
        raise _unhashable(y, "label") from None
    if all(isinstance(label, numbers.Integral) and not isinstance(label, bool) for label in found):
        found = [label for label in found if label != -1]
    if not found:
        raise ValueError("y has no label: all are unknown.")
    refuse_infinite_labels(found)
    classes = in_order(found)
    index = dict(zip(classes, range(len(classes))))
    return classes, np.array([index.get(label, -1) for label in rows], dtype=np.int64)


def distinct_labels(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different labels in order, and the index of each label among them.

    Examples
    --------
    >>> distinct_labels(np.array(["N", "D", "N"], dtype=object))
    (array(['D', 'N'], dtype='<U1'), array([1, 0, 1]))
    >>> distinct_labels(np.fromiter([("N", 1), ("D", 2)], dtype=object))[0].shape
    (2,)
    """
    if labels.dtype != object:
        classes, index = np.unique(labels, return_inverse=True)
        refuse_infinite_labels(classes[[0, -1]] if classes.size else classes)
        return classes, index
    values = labels.tolist()
    _refuse_unhashable(values)
    different = in_order(list(set(values)))
    refuse_infinite_labels(different)
    place = {label: k for k, label in enumerate(different)}
    alike = len({type(label) for label in different}) == 1 and isinstance(different[0], str | int | float)
    classes = np.array(different) if alike else _objects(different)  # tuples must not become rows of a matrix
    return classes, np.array([place[label] for label in values], dtype=np.int64)


def _refuse_unhashable(labels: list[Any]) -> None:
    for label in labels:
        if not isinstance(label, Hashable):
            raise ValueError(
                f"A label must be hashable: a string, a number, a tuple of such; got {label!r} in y."
            )


def label_indices(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The index of each label among the classes: -1 for an unknown label, n_classes for one that is not among them.

    Examples
    --------
    >>> label_indices(np.array(["B", None, "C"], dtype=object), np.array(["A", "B"]))
    array([ 1, -1,  2])
    """
    if labels.dtype == object:
        _refuse_unhashable(labels.tolist())
    place, known = {label: k for k, label in enumerate(classes.tolist())}, known_labels(labels)
    codes = [place.get(label, classes.size) if there else -1 for label, there in zip(labels.tolist(), known)]
    return np.array(codes, dtype=np.int64)


def known_labels(labels: np.ndarray) -> np.ndarray:
    """Which labels are known: not None and not NaN."""
    if labels.dtype == object:
        return np.array([not missing(label) for label in labels.tolist()], dtype=bool)
    return labels == labels if labels.dtype.kind == "f" else np.ones(labels.shape, dtype=bool)


def missing(value: Any) -> bool:
    """Whether a symbol or label is not known: None, NaN or pandas' NA."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def in_order(values: list[Any]) -> list[Any]:
    """Sorted; by the names of their types and how they are written where they cannot be compared."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


def _listed(values: Any) -> list[Any]:
    for name in ("tolist", "to_list"):  # arrays, series: plain Python values
        if hasattr(values, name) and not isinstance(values, list):
            return getattr(values, name)()
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise ValueError(f"Sequences, in X as in y, must be lists; got {values!r}.")
    return list(values)


def _objects(values: list[Any]) -> np.ndarray:
    return np.fromiter(values, dtype=object, count=len(values))


def _unhashable(X: Sequences, what: str) -> ValueError:
    for s in range(len(X)):
        for t, value in enumerate(X[s]):
            try:
                hash(value)
            except TypeError:
                return ValueError(f"A {what} must be hashable; {what} {t} of sequence {s} is {value!r}.")
    return ValueError(f"A {what} is not hashable.")


__all__ = [
    "distinct_labels",
    "encode",
    "in_order",
    "known_labels",
    "label_codes",
    "label_indices",
    "labels_of",
    "missing",
    "tokens",
    "vocabulary",
]

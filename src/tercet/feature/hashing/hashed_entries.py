"""Rows of a sparse matrix whose columns are hashes of names."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.input_errors import shown
from tercet.feature.hashing.murmurhash3 import bucket_of, hash_texts

MANY = 1 << 20  # distinct names that are kept: each is hashed once


class HashedEntries:
    """Collects the entries of rows; a name is hashed once, unless there are very many.

    Parameters
    ----------
    n_features : int
        Number of columns.
    alternate_sign : bool
        Whether the sign of a name's hash is the sign of its entries.
    skip : iterable of names
        Names that have no column.
    """

    def __init__(self, n_features: int, alternate_sign: bool, skip: Iterable[Any] = ()) -> None:
        self.n_features, self.alternate_sign, self.skip = n_features, alternate_sign, frozenset(skip)
        self.ends, self.filled = array("q", [0]), 0
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._start()

    def _start(self) -> None:
        self.number: Any = defaultdict()
        self.number.default_factory = self.number.__len__  # a new name gets the next number
        self.codes, self.values = array("q"), array("d")

    def add_names(self, names: Iterable[Any]) -> None:
        """A row with a one for each name, as often as it comes."""
        self.codes.extend(map(self.number.__getitem__, names))
        self._end_row()

    def add_pairs(self, names: Iterable[Any], values: Iterable[Any]) -> None:
        """A row of names and numbers; a value that is a string makes the name "name=value" with the value 1."""
        start, names = len(self.values), list(names)
        try:
            self.values.extend(values)
        except TypeError:
            del self.values[start:]
            texts = [isinstance(value, str) for value in values]
            names = [f"{name}={value}" if text else name for name, value, text in zip(names, values, texts)]
            self.values.extend([1.0 if text else value for value, text in zip(values, texts)])
        self.codes.extend(map(self.number.__getitem__, names))
        self._end_row()

    def _end_row(self) -> None:
        self.ends.append(self.filled + len(self.codes))
        if len(self.number) > MANY:
            self._flush()

    def _flush(self) -> None:
        self.filled += len(self.codes)
        strange = [name for name in self.number if not isinstance(name, str | bytes)]
        if strange:
            raise TypeError(f"feature names must be strings; X has {shown(strange[0])}.")
        hashes = hash_texts(self.number)
        codes = np.frombuffer(self.codes, dtype=np.int64) if self.codes else np.zeros(0, dtype=np.int64)
        signs = np.where(hashes >= 0, 1.0, -1.0) if self.alternate_sign else np.ones(hashes.size)
        if self.skip:
            signs[[name in self.skip for name in self.number]] = 0.0
        values = signs[codes]
        if self.values:
            values *= np.frombuffer(self.values)
        self.parts.append((values, bucket_of(hashes, self.n_features)[codes]))
        self._start()

    def matrix(self, dtype: Any) -> sparse.csr_array:
        """The rows, with entries of one column added up."""
        self._flush()
        values, columns = (np.concatenate([part[k] for part in self.parts]) for k in (0, 1))
        ends = np.frombuffer(self.ends, dtype=np.int64)
        there = values != 0
        if not there.all():
            ends = np.concatenate([[0], np.cumsum(there)])[ends]
            values, columns = values[there], columns[there]
        index = np.int32 if max(values.size, self.n_features) <= np.iinfo(np.int32).max else np.int64
        shape = len(ends) - 1, self.n_features
        arrays = values.astype(dtype), columns.astype(index), ends.astype(index)
        found = sparse.csr_array(arrays, shape=shape)
        found.sum_duplicates()
        return found

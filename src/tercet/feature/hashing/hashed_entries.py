"""Rows of a sparse matrix whose columns are hashes of names."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.input_errors import shown
from tercet.feature.hashing.murmurhash3 import bucket_of, hash_texts

MANY = 1 << 20  # distinct names that are kept: each is hashed once
BATCH = 1 << 16  # entries that are looked up together


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
        self.names: list[Any] = []
        self.values: list[Any] = []  # none where each counts as 1
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._forget()

    def _forget(self) -> None:
        self.number: Any = defaultdict()
        self.number.default_factory = self.number.__len__  # a new name gets the next number
        self.buckets, self.signs = np.zeros(0, dtype=np.int64), np.zeros(0)

    def add_names(self, names: Iterable[Any]) -> None:
        """A row with a one for each name, as often as it comes."""
        self.names.extend(names)
        self.ends.append(self.filled + len(self.names))

    def add_pairs(self, names: Iterable[Any], values: Iterable[Any]) -> None:
        """A row of names and numbers; a value that is a string makes the name "name=value" with the value 1."""
        self.names.extend(names)
        self.values.extend(values)
        self.ends.append(self.filled + len(self.names))

    def flush(self, least: int = 0) -> None:
        """Look the names of the rows so far up, if there are more than some."""
        if len(self.names) <= least:
            return
        values = self._numbers()
        codes = np.fromiter(map(self.number.__getitem__, self.names), dtype=np.int64, count=len(self.names))
        self._hash_new_names()
        signs = self.signs[codes]
        self.parts.append((signs if values is None else signs * values, self.buckets[codes]))
        self.filled += len(self.names)
        self.names, self.values = [], []
        if len(self.number) > MANY:
            self._forget()

    def _numbers(self) -> np.ndarray | None:
        """The values of the entries, where they are given; those that are strings become a part of the name."""
        if not self.values:
            return None
        try:
            return np.frombuffer(array("d", self.values))
        except TypeError:
            pairs = list(zip(self.names, self.values))
        self.names = [f"{name}={value}" if isinstance(value, str) else name for name, value in pairs]
        return np.array([1.0 if isinstance(value, str) else value for _, value in pairs], dtype=np.float64)

    def _hash_new_names(self) -> None:
        fresh = list(islice(self.number, self.buckets.size, None))
        strange = [name for name in fresh if not isinstance(name, str | bytes)]
        if strange:
            raise TypeError(f"feature names must be strings; X has {shown(strange[0])}.")
        hashes = hash_texts(fresh)
        signs = np.where(hashes >= 0, 1.0, -1.0) if self.alternate_sign else np.ones(hashes.size)
        if self.skip:
            signs[[name in self.skip for name in fresh]] = 0.0
        self.buckets = np.append(self.buckets, bucket_of(hashes, self.n_features))
        self.signs = np.append(self.signs, signs)

    def matrix(self, dtype: Any) -> sparse.csr_array:
        """The rows, with entries of one column added up."""
        self.flush()
        nothing = np.zeros(0), np.zeros(0, dtype=np.int64)
        values, columns = (np.concatenate([part[k] for part in [nothing, *self.parts]]) for k in (0, 1))
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

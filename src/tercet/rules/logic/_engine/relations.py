"""Ground facts as tables of integers, with joins by sorted keys.

A constant, or any ground term, is a number. The rows of a relation are found by a key of some of its columns:
the mixed radix number of their values where that fits in 62 bits, else the rank among all values that occur.
Bindings of variables are tables, too, so that a literal is tested on all of them with two binary searches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tercet.rules.logic.literal import Literal
from tercet.rules.logic.terms import Constant, Term

BITS = 62
DENSE = 1 << 22  # keys of which a table of counts is kept
Key = tuple[str, int]
Codes = np.ndarray


class Relation:
    """The rows of one predicate, each once and sorted."""

    def __init__(self, rows: Codes, arity: int) -> None:
        self.arity = arity
        self.rows = np.unique(rows.reshape(-1, arity), axis=0) if arity else rows[:1]
        self._indices: dict[Any, Any] = {}
        self._equal: dict[tuple[tuple[int, int], ...], Relation] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def where_equal(self, pairs: tuple[tuple[int, int], ...]) -> Relation:
        """The rows that have the same value in both columns of each pair."""
        if not pairs:
            return self
        if pairs not in self._equal:
            kept = np.ones(len(self.rows), dtype=bool)
            for a, b in pairs:
                kept &= self.rows[:, a] == self.rows[:, b]
            self._equal[pairs] = Relation(self.rows[kept], self.arity)
        return self._equal[pairs]

    def counts(self, columns: tuple[int, ...], values: Sequence[Codes], size: int) -> Codes:
        """How many rows have these values in these columns, for each row of the values."""
        if not columns:
            return np.full(len(values[0]) if values else 1, len(self.rows))
        if size ** len(columns) <= DENSE:
            name = ("dense", columns, size)
            if name not in self._indices:
                keys = radix_key([self.rows[:, c] for c in columns], size)
                counted = np.bincount(keys, minlength=size ** len(columns))
                self._indices[name] = counted.astype(np.int32)
            return self._indices[name][radix_key(values, size)]
        first, last, _ = self._ranges(columns, values, size)
        return last - first

    def join(self, columns: tuple[int, ...], values: Sequence[Codes], size: int) -> tuple[Codes, Codes]:
        """Pairs of (row of the values, row here) that agree in these columns."""
        first, last, order = self._ranges(columns, values, size)
        count = last - first
        left = np.repeat(np.arange(len(count)), count)
        start = np.repeat(first - np.concatenate(([0], np.cumsum(count)[:-1])), count)
        return left, order[start + np.arange(len(left))]

    def _ranges(
        self, columns: tuple[int, ...], values: Sequence[Codes], size: int
    ) -> tuple[Codes, Codes, Codes]:
        """For each row of the values, the range of its partners in the order of the keys."""
        if len(columns) * (size.bit_length() - 1) <= BITS:
            name = ("sorted", columns, size)
            if name not in self._indices:
                keys = radix_key([self.rows[:, c] for c in columns], size)
                order = np.argsort(keys, kind="stable")
                self._indices[name] = keys[order], order
            keys, order = self._indices[name]
            asked = radix_key(values, size)
        else:
            keys, asked = ranked_keys([self.rows[:, c] for c in columns], values)
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
        return np.searchsorted(keys, asked, "left"), np.searchsorted(keys, asked, "right"), order


def radix_key(columns: Sequence[Codes], size: int) -> Codes:
    """One number for the values of several columns."""
    key = columns[0].astype(np.int64)
    for column in columns[1:]:
        key = key * size + column
    return key


def ranked_keys(here: Sequence[Codes], there: Sequence[Codes]) -> tuple[Codes, Codes]:
    """Keys of two tables of the same columns, by rank: equal where all values are."""
    n = len(here[0])
    key = np.zeros(n + len(there[0]), dtype=np.int64)
    for a, b in zip(here, there):
        column = np.unique(np.concatenate([a, b]), return_inverse=True)[1]
        key = np.unique(key * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    return key[:n], key[n:]


class FactBase:
    """Ground facts of all predicates, in numbers."""

    def __init__(self, atoms: Iterable[Literal] = ()) -> None:
        self.codes: dict[Term, int] = {}
        self.terms: list[Term] = []
        self.relations: dict[Key, Relation] = {}
        self._numbers: Codes = np.empty(0)
        self.add(atoms)

    @property
    def size(self) -> int:
        """A power of two above all numbers of terms; indices are made anew only when it grows."""
        return 1 << max(1, len(self.terms) - 1).bit_length()

    def code(self, term: Term) -> int:
        """The number of a ground term, a new one if it has none."""
        found = self.codes.get(term)
        if found is None:
            found = self.codes[term] = len(self.terms)
            self.terms.append(term)
        return found

    def add(self, atoms: Iterable[Literal]) -> None:
        """Add facts."""
        rows: dict[Key, list[list[int]]] = {}
        for atom in atoms:
            rows.setdefault(atom.key, []).append([self.code(arg) for arg in atom.args])
        for key, found in rows.items():
            self.add_rows(key, np.array(found, dtype=np.int64).reshape(len(found), key[1]))

    def add_rows(self, key: Key, rows: Codes) -> int:
        """Add rows of a predicate; how many of them are new."""
        old = self.relations.get(key)
        before = 0 if old is None else len(old)
        both = rows if old is None else np.concatenate([old.rows, rows])
        self.relations[key] = Relation(both, key[1])
        return len(self.relations[key]) - before

    def relation(self, key: Key) -> Relation:
        """The rows of a predicate; none for one that has no facts."""
        found = self.relations.get(key)
        return Relation(np.empty((0, key[1]), dtype=np.int64), key[1]) if found is None else found

    def atoms(self) -> list[Literal]:
        """All facts, by predicate."""
        return [
            Literal(name, [self.terms[code] for code in row])
            for (name, _), relation in self.relations.items()
            for row in relation.rows.tolist()
        ]

    def numbers(self) -> Codes:
        """The value of each term that is a number, NaN of the others."""
        if len(self._numbers) != len(self.terms):
            self._numbers = np.array([
                float(term.value) if isinstance(term, Constant) and not isinstance(term.value, str) else np.nan
                for term in self.terms
            ])  # fmt: skip
        return self._numbers

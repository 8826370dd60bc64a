"""Features of texts: tf-idf weights of their words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tercet.core.messages import Message
from tercet.feature.records import Records, column_positions


@dataclass
class TextFeatures:
    """Texts as tf-idf weights of their words, of length 1."""

    place: np.ndarray
    words: list[list[str]]
    idf: list[np.ndarray]

    @classmethod
    def fit(cls, records: Records, most: int) -> TextFeatures:
        n, words, idf = len(records), [], []
        for counts, vocabulary in zip(records.counts, records.words):
            rows_with = np.bincount(counts.indices, minlength=vocabulary.size)
            # A word that is in one row only says nothing about the others.
            known = np.flatnonzero(rows_with > 1)
            known = known if known.size else np.flatnonzero(rows_with)
            kept = np.sort(known[np.argsort(-rows_with[known], kind="stable")[:most]])
            words.append([str(word) for word in vocabulary[kept]])
            idf.append(np.log((1 + n) / (1 + rows_with[kept])) + 1)
        return cls(column_positions(records, "text"), words, idf)

    @property
    def width(self) -> int:
        return sum(len(w) for w in self.words)

    def source(self) -> np.ndarray:
        return np.repeat(self.place, [len(w) for w in self.words])

    def names(self, columns: list[str]) -> Iterator[str]:
        for k, words in zip(self.place, self.words):
            yield from (f"{columns[k]}:{word}" for word in words)

    def write(self, records: Records, features: np.ndarray) -> None:
        features[:] = self.compress(records).toarray()

    def compress(self, records: Records) -> sparse.csr_array:
        blocks = []
        for counts, vocabulary, words, idf in zip(records.counts, records.words, self.words, self.idf):
            n = counts.shape[0]
            wanted = np.array(words, dtype=object)
            at = np.minimum(np.searchsorted(vocabulary, wanted), max(vocabulary.size - 1, 0))
            there = vocabulary[at] == wanted if vocabulary.size else np.zeros(wanted.size, dtype=bool)
            column = np.full(vocabulary.size, -1, dtype=np.int32)
            column[at[there]] = np.flatnonzero(there)
            found = column[counts.indices]
            good = found >= 0
            row = np.repeat(np.arange(n), np.diff(counts.indptr))[good]
            value = counts.data[good] * idf[found[good]]
            value /= np.sqrt(np.bincount(row, value**2, minlength=n))[row]
            indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
            blocks.append(sparse.csr_array((value, found[good], indptr), shape=(n, len(words))))
        return sparse.csr_array(sparse.hstack(blocks, format="csr"))

    def describe(self, columns: list[str]) -> Iterator[Message]:
        for k, words in zip(self.place, self.words):
            yield Message(
                "the text {name!r} becomes tf-idf weights of {n} words", name=columns[k], n=len(words)
            )

"""Features of categories: one-hot columns or codes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tercet.core.messages import Message
from tercet.datasets.readers import listed
from tercet.feature.numeric_features import MARKED
from tercet.feature.records import Records, column_positions


@dataclass
class CategoricalFeatures:
    """Categories as zeros and ones, or as their numbers ("codes", and "keep", of which a frame is made).

    A category that `fit` has not seen is none of the others: all zeros. Where one feature is left out, because
    the others tell it, it is a like share of each.
    """

    place: np.ndarray
    labels: list[list[str]]  # of each column: the categories that are kept, perhaps "other" and "missing"
    slots: list[np.ndarray]  # code + 2 -> place among the labels; -1 is none of them, or NaN
    absent: list[int]  # how many values were missing
    how: str
    redundant: bool  # whether there is a feature for every category, when there are more than two

    def __post_init__(self) -> None:
        if self.how == "onehot" and any(
            slot.max(initial=-1) >= max(len(label), 1) for slot, label in zip(self.slots, self.labels)
        ):
            raise ValueError("the encoder's categories do not fit together.")  # a forged file, say

    @classmethod
    def fit(
        cls, records: Records, how: str, most: int, keep: bool, redundant: bool = True
    ) -> CategoricalFeatures:
        labels, slots, gaps = [], [], []
        n = len(records)
        for j, names in enumerate(records.categories):
            counts = np.bincount(records.codes[:, j].astype(np.intp) + 2, minlength=len(names) + 2)
            absent, counts = int(counts[1]), counts[2:]
            seen = np.flatnonzero(counts)
            kept = seen
            if seen.size > most:
                kept = np.sort(seen[np.argsort(-counts[seen], kind="stable")[:most]])
            label = [names[k] for k in kept]
            slot = np.full(len(names) + 2, -1, dtype=np.intp)
            if kept.size < seen.size:
                slot[:] = len(label)
                label.append("other")
            slot[kept + 2] = np.arange(kept.size)
            slot[1] = -1 if keep and how != "onehot" else int(np.argmax(counts[kept])) if kept.size else 0
            if slot[1] >= 0 and absent and (keep or how != "onehot" or absent >= MARKED * n or not label):
                slot[1] = len(label)
                label.append("missing")
            if how != "onehot" and not keep:
                slot[slot < 0] = len(label)
            labels.append(label)
            slots.append(slot)
            gaps.append(absent)
        return cls(column_positions(records, "category"), labels, slots, gaps, how, redundant)

    @property
    def widths(self) -> list[int]:
        if self.how != "onehot":
            return [1] * len(self.labels)
        return [max(len(label) - self._first(label), 0) for label in self.labels]

    def _first(self, label: list[str]) -> int:
        """The first category that has a feature: with two of them, one feature tells both."""
        return 0 if self.redundant and len(label) > 2 else 1

    @property
    def width(self) -> int:
        return sum(self.widths)

    def source(self) -> np.ndarray:
        return np.repeat(self.place, self.widths)

    def names(self, columns: list[str]) -> Iterator[str]:
        for k, label in zip(self.place, self.labels):
            if self.how != "onehot":
                yield columns[k]
            else:
                yield from (f"{columns[k]}={value}" for value in label[self._first(label) :])

    def _found(self, records: Records) -> Iterator[np.ndarray]:
        for j, slot in enumerate(self.slots):
            codes = records.codes[:, j].astype(np.intp) + 2
            yield slot[np.where(codes < slot.size, codes, 0)]

    def write(self, records: Records, features: np.ndarray) -> None:
        features[:] = 0.0
        start = 0
        for found, label, width in zip(self._found(records), self.labels, self.widths):
            if self.how != "onehot":
                features[:, start] = np.where(found < 0, np.nan, found)
            elif width:
                first = self._first(label)
                rows = np.flatnonzero(found >= first)
                features[rows, start + found[rows] - first] = 1.0
                if first:
                    features[found < 0, start : start + width] = 1.0 / len(label)
            start += width

    def compress(self, records: Records) -> sparse.csr_array:
        n = len(records)
        if self.how != "onehot":
            features = np.empty((n, self.width))
            self.write(records, features)
            return sparse.csr_array(features)
        blocks = []
        for found, label, width in zip(self._found(records), self.labels, self.widths):
            if width:
                first = self._first(label)
                rows, here = np.flatnonzero(found < 0), found >= first
                indptr = np.concatenate([[0], np.cumsum(here)])
                block = sparse.csr_array((np.ones(indptr[-1]), found[here] - first, indptr), shape=(n, width))
                if first and rows.size:
                    shares = np.full(rows.size * width, 1.0 / len(label))
                    places = (np.repeat(rows, width), np.tile(np.arange(width), rows.size))
                    block = block + sparse.csr_array((shares, places), shape=(n, width))
                blocks.append(block)
        return sparse.csr_array(sparse.hstack(blocks, format="csr")) if blocks else sparse.csr_array((n, 0))

    def describe(self, columns: list[str]) -> Iterator[Message]:
        own = [columns[k] for k in self.place]
        if self.how == "keep":
            yield Message("{n} columns of categories stay as they are", n=len(own))
        elif self.how == "codes":
            yield Message("{n} columns of categories become the numbers of the categories", n=len(own))
        else:
            text = "{n} columns of categories become {m} features of zeros and ones"
            yield Message(text, n=len(own), m=self.width)
        rare: list[str] = []
        filled: list[str] = []
        named: list[str] = []
        for name, label, slot, absent in zip(own, self.labels, self.slots, self.absent):
            last = len(label) - 1
            rare += [name] if "other" in label[-2:] else []
            if absent and slot[1] >= 0:
                (named if slot[1] == last and label[last] == "missing" else filled).append(name)
        if rare:
            yield Message("rare categories become one category, 'other': {names}", names=listed(rare))
        if filled:
            yield Message("missing values become the most frequent category: {names}", names=listed(filled))
        if named:
            yield Message("missing values are a category of their own: {names}", names=listed(named))

"""Features of a sparse block, scaled by their largest absolute values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tercet.core.messages import Message
from tercet.feature.records import Records


@dataclass
class SparseFeatures:
    """The sparse block, every feature divided by its largest absolute value."""

    place: np.ndarray
    factor: np.ndarray | None
    labels: list[str] | None

    @classmethod
    def fit(cls, records: Records, scale: bool) -> SparseFeatures:
        block = records.sparse
        if block is None:
            return cls(np.empty(0, dtype=np.intp), None, None)
        factor = None
        if scale:
            largest = np.zeros(block.shape[1])
            np.maximum.at(largest, block.indices, np.abs(block.data))
            factor = np.divide(1.0, largest, out=np.zeros_like(largest), where=largest > 0)
        labels = None if records.sparse_names is None else list(records.sparse_names)
        return cls(len(records.names) + np.arange(block.shape[1]), factor, labels)

    @property
    def width(self) -> int:
        return self.place.size

    def source(self) -> np.ndarray:
        return self.place

    def names(self, columns: list[str]) -> Iterator[str]:
        yield from (f"f{j}" for j in range(self.width)) if self.labels is None else self.labels

    def write(self, records: Records, features: np.ndarray) -> None:
        features[:] = self.compress(records).toarray()

    def compress(self, records: Records) -> sparse.csr_array:
        block = records.sparse
        assert block is not None
        if self.factor is None:
            return block.copy()
        data = block.data * self.factor[block.indices]
        return sparse.csr_array((data, block.indices, block.indptr), shape=block.shape)

    def describe(self, columns: list[str]) -> Iterator[Message]:
        if self.factor is None:
            yield Message("{n} sparse features are used as they are", n=self.width)
        else:
            yield Message("{n} sparse features are divided by their largest values", n=self.width)

"""The rows near each query, and what they count."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Neighbourhood:
    """The rows that decide about each query, one query after the other, the nearest first.

    Attributes
    ----------
    indptr, rows, far : those of query i are rows[indptr[i] : indptr[i + 1]], at these distances.
    share : how much each counts by its sample weight; None is 1.
    width : how many each query has, where that is the same for all.
    """

    indptr: np.ndarray
    rows: np.ndarray
    far: np.ndarray
    share: np.ndarray | None = None
    width: int | None = None

    @classmethod
    def of(cls, far: np.ndarray, found: np.ndarray, share: np.ndarray | None = None) -> Neighbourhood:
        """From tables with a row for each query."""
        m, k = found.shape
        share = None if share is None else share.ravel()
        return cls(np.arange(0, m * k + 1, k), found.ravel(), far.ravel(), share, k)

    def nearest(self, k: int) -> Neighbourhood:
        """The first k entries of each query, or those that share k places, of a larger neighbourhood."""
        assert self.width is not None
        far, rows = (a.reshape(-1, self.width) for a in (self.far, self.rows))
        if self.share is None:
            return Neighbourhood.of(far[:, :k], rows[:, :k])
        share = self.share.reshape(-1, self.width)
        return Neighbourhood.of(far, rows, np.clip(k - (np.cumsum(share, axis=1) - share), 0.0, share))

    @property
    def who(self) -> np.ndarray:
        """The query of each entry."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def weights(self, how: Any) -> np.ndarray:
        """How much each entry counts: 1, the inverse of its distance, or what a function of the distances says."""
        share = np.ones(self.rows.size) if self.share is None else self.share
        if how is None or (isinstance(how, str) and how == "uniform"):
            return share
        if callable(how):
            if self.width is not None:
                return share * self._said(how, share > 0)
            given = how(ragged(self.far, self.indptr))
            return share * np.concatenate([np.empty(0), *(np.asarray(g, dtype=np.float64) for g in given)])
        # A row at the very place of the query decides alone, with others that are there.
        with np.errstate(divide="ignore", over="ignore"):
            inverse = 1 / self.far
        here = np.isinf(inverse) & (share > 0)
        who = self.who
        decided = np.bincount(who, here, minlength=len(self.indptr) - 1)[who] > 0
        return share * np.where(decided, here, np.where(np.isinf(inverse), 0.0, inverse))

    def _said(self, how: Any, counted: np.ndarray) -> np.ndarray:
        """What a function says of the distances of those entries that count at all: it may look at all of them."""
        far, counted = (a.reshape(-1, self.width or 1) for a in (self.far, counted))
        said, numbers = np.zeros(far.shape), counted.sum(axis=1)
        for k in np.unique(numbers):
            here = counted & (numbers == k)[:, None]
            said[here] = np.asarray(how(far[here].reshape(-1, k)), dtype=np.float64).ravel()
        return said.ravel()

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sum of the entries' values for each query."""
        return np.bincount(self.who, values, minlength=len(self.indptr) - 1)


def ragged(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """An array of arrays."""
    out = np.empty(len(indptr) - 1, dtype=object)
    for i, (start, stop) in enumerate(itertools.pairwise(indptr)):
        out[i] = values[start:stop]
    return out

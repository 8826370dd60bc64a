"""The neighbours of each query, with their distances and weights."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Neighbourhood:
    """The neighbours of each query in compressed form, the nearest first (within a radius: where that matters).

    Attributes
    ----------
    indptr, rows, distances : those of query i are rows[indptr[i] : indptr[i + 1]], at these distances.
    share : the sample weight with which each counts; None is 1.
    width : the number of neighbours, where it is the same for all queries.
    """

    indptr: np.ndarray
    rows: np.ndarray
    distances: np.ndarray
    share: np.ndarray | None = None
    width: int | None = None

    @classmethod
    def of(cls, distances: np.ndarray, found: np.ndarray, share: np.ndarray | None = None) -> Neighbourhood:
        """From arrays with a row for each query."""
        m, k = found.shape
        share = None if share is None else share.ravel()
        return cls(np.arange(0, m * k + 1, k), found.ravel(), distances.ravel(), share, k)

    def nearest(self, k: int) -> Neighbourhood:
        """The first k entries of each query, or those that share k places, of a larger neighbourhood."""
        assert self.width is not None
        far, rows = (a.reshape(-1, self.width) for a in (self.distances, self.rows))
        if self.share is None:
            return Neighbourhood.of(far[:, :k], rows[:, :k])
        share = self.share.reshape(-1, self.width)
        return Neighbourhood.of(far, rows, np.clip(k - (np.cumsum(share, axis=1) - share), 0.0, share))

    @property
    def queries(self) -> np.ndarray:
        """The query of each neighbour."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def weights(self, how: Any) -> np.ndarray:
        """The weight of each neighbour: 1, the inverse of its distance, or a function of the distances."""
        share = np.ones(self.rows.size) if self.share is None else self.share
        if how is None or (isinstance(how, str) and how == "uniform"):
            return share
        if callable(how):
            if self.width is not None:
                return share * self._weights_by_function(how, share > 0)
            given = how(ragged(self.distances, self.indptr))
            return share * np.concatenate([np.empty(0), *(np.asarray(g, dtype=np.float64) for g in given)])
        # Rows at distance 0 decide alone.
        with np.errstate(divide="ignore", over="ignore"):
            inverse = 1 / self.distances
        here = np.isinf(inverse) & (share > 0)
        who = self.queries
        decided = np.bincount(who, here, minlength=len(self.indptr) - 1)[who] > 0
        return share * np.where(decided, here, np.where(np.isinf(inverse), 0.0, inverse))

    def _weights_by_function(self, how: Any, counted: np.ndarray) -> np.ndarray:
        """A function of the distances of all neighbours of a query that have a weight at all."""
        far, counted = (a.reshape(-1, self.width or 1) for a in (self.distances, counted))
        weights, numbers = np.zeros(far.shape), counted.sum(axis=1)
        for k in np.unique(numbers):
            here = counted & (numbers == k)[:, None]
            weights[here] = np.asarray(how(far[here].reshape(-1, k)), dtype=np.float64).ravel()
        return weights.ravel()

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sum of the neighbours' values for each query."""
        return np.bincount(self.queries, values, minlength=len(self.indptr) - 1)


def ragged(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """An array of arrays, cut at `indptr`."""
    out = np.empty(len(indptr) - 1, dtype=object)
    for i, (start, stop) in enumerate(itertools.pairwise(indptr)):
        out[i] = values[start:stop]
    return out


def check_radius(r: Any, n: int) -> np.ndarray:
    """The radius of each of n queries."""
    given = np.asarray(r, dtype=np.float64)
    if given.shape not in ((), (1,), (n,)):
        raise ValueError(f"r must be a number, or {n}, one for each query; got the shape {given.shape}.")
    limits = np.array(np.broadcast_to(given, n))
    if not (limits >= 0).all():
        raise ValueError(f"r must not be negative; got {limits[~(limits >= 0)][0]}.")
    return limits

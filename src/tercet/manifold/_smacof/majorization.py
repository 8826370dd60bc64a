"""Stress majorisation on threads, and the disparities of non-metric scaling."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.parallel import each
from tercet.manifold._smacof.kernels import guttman, pool_adjacent

CELLS = 1 << 18  # of the dissimilarities in a piece of work


class Majorization:
    """Guttman transforms for the dissimilarities D (n, n)."""

    def __init__(self, D: np.ndarray, n_jobs: int) -> None:
        self.D, self.n_jobs = D, n_jobs
        n = len(D)
        step = max(16, CELLS // max(n, 1))
        self.starts = list(range(0, n, step))
        self.step = step

    def guttman(self, Z: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, float, float]:
        """New points, and of the old ones the stress and the sum of the squared distances, over pairs."""
        Z, out = np.ascontiguousarray(Z), np.empty_like(Z, order="C")

        def piece(first: int) -> tuple[float, float]:
            here = slice(first, first + self.step)
            return guttman(Z, wanted[here], first, out[here])

        found = each(piece, self.starts, n_jobs=self.n_jobs)
        return out, float(sum(a for a, _ in found)) / 2, float(sum(b for _, b in found)) / 2


class Disparities:
    """Numbers in the order of the dissimilarities, nearest to given distances; a dissimilarity of 0 is missing."""

    def __init__(self, D: np.ndarray) -> None:
        n = len(D)
        rows, columns = np.triu_indices(n, 1)
        there = D[rows, columns] != 0
        order = np.argsort(D[rows, columns][there], kind="stable")
        self.shape, self.rows, self.columns = D.shape, rows[there][order], columns[there][order]
        values = D[self.rows, self.columns]
        self.values = values
        # equal dissimilarities get equal disparities
        self.firsts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]][: values.size])
        self.counts = np.diff(np.r_[self.firsts, values.size]).astype(np.float64)

    def table(self, values: np.ndarray | None = None) -> np.ndarray:
        """Disparities as a matrix whose squares add up to the number of pairs."""
        values = self.values if values is None else values
        n = self.shape[0]
        found, total = np.zeros(self.shape), float(np.dot(values, values))
        if total > 0:
            found[self.rows, self.columns] = values * np.sqrt(n * (n - 1) / 2 / total)
        return found + found.T

    def regress(self, Z: np.ndarray) -> np.ndarray:
        """The disparities nearest to the distances of points."""
        if not self.values.size:
            return np.zeros(self.shape)
        apart = np.sqrt(((Z[self.rows] - Z[self.columns]) ** 2).sum(axis=1))
        means: Any = np.add.reduceat(apart, self.firsts) / self.counts
        fitted = np.empty(means.size)
        pool_adjacent(means, self.counts, fitted)
        return self.table(np.repeat(fitted, self.counts.astype(np.int64)))

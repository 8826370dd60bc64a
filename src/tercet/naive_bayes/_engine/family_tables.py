"""Conditional probability tables P(x_i | c, pa_i) of columns with any number of parents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tercet.core.parallel import Chunks, total
from tercet.core.streams import is_streamed

Parents = Sequence[Sequence[int]]  # of every column


def family_counts(
    values: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    parents: Parents,
    offsets: np.ndarray,
    n_classes: int,
    n_jobs: int | None = None,
) -> list[np.ndarray]:
    """For every column the weights of (parents' values, value, class); rows with an unknown one are left out."""
    # A chunk has enough rows that adding up its tables costs little beside counting.
    entries = family_entries(parents, np.diff(offsets), n_classes)
    rows = max(1 << 14, int(entries) // (4 * max(values.shape[1], 1)))
    if values.shape[0] <= rows and not is_streamed(values):  # nothing to add up
        return list(_chunk_family_counts((values, y, weight), parents, offsets, n_classes))
    chunks = Chunks(values, y, weight, rows=rows)
    return list(total(_chunk_family_counts, chunks, parents, offsets, n_classes, n_jobs=n_jobs))


def _chunk_family_counts(
    chunk: tuple[np.ndarray, ...], parents: Parents, offsets: np.ndarray, n_classes: int
) -> tuple[np.ndarray, ...]:
    values, y, weight = chunk
    codes, sizes = column_codes(values, offsets), np.diff(offsets)
    tables = []
    for i, above in enumerate(parents):
        shape = (*sizes[list(above)], sizes[i], n_classes)
        family = codes[:, [*above, i]]
        known = (family >= 0).all(axis=1)
        cell = np.ravel_multi_index((*family[known].T, y[known]), shape)
        tables.append(np.bincount(cell, weight[known], minlength=int(np.prod(shape))).reshape(shape))
    return tuple(tables)


def family_entries(parents: Parents, sizes: np.ndarray, n_classes: int) -> float:
    """The number of entries of all tables."""
    return sum(n_classes * sizes[i] * np.prod(sizes[list(p)], dtype=float) for i, p in enumerate(parents))


class FamilyTables:
    """Smoothed log-probabilities log P(x_i | c, pa_i) of counts; unknown parents are summed out of them.

    Parameters
    ----------
    owner : the class to name in errors.
    counts : for every column an array (parents' values, value, class).
    parents : the parents of every column.
    offsets : the number of each column's first value, and at the end the number of values.
    alpha : Laplace's correction.
    n_classes : int.
    """

    def __init__(
        self,
        owner: str,
        counts: list[np.ndarray],
        parents: Parents,
        offsets: np.ndarray,
        alpha: float,
        n_classes: int,
    ) -> None:
        self.counts, self.parents, self.offsets, self.alpha = counts, parents, offsets, alpha
        self._cache: dict[tuple[int, int], np.ndarray] = {}
        sizes, d = np.diff(offsets), len(offsets) - 1
        good = len(parents) == len(counts) == d and all(
            0 <= p < d and p != i for i, above in enumerate(parents) for p in above
        )
        if not good or any(
            table.shape != (*sizes[list(above)], sizes[i], n_classes)
            for i, (above, table) in enumerate(zip(parents, counts))
        ):
            raise ValueError(f"{owner}: the tables do not fit the columns and their parents.")

    def log_joint(self, values: np.ndarray, log_prior: np.ndarray) -> np.ndarray:
        """log P(c) + Σ_i log P(x_i | c, pa_i) of rows of values, over the known columns."""
        codes = column_codes(values, self.offsets)
        out = np.tile(log_prior, (len(codes), 1))
        for i, parents in enumerate(self.parents):
            # Rows with the same known parents share a table, from which the other parents are summed out.
            pattern = (codes[:, parents] >= 0) @ (1 << np.arange(len(parents)))
            for mask in np.unique(pattern):
                rows = np.flatnonzero((pattern == mask) & (codes[:, i] >= 0))
                known = [p for b, p in enumerate(parents) if mask >> b & 1]
                out[rows] += self._table(i, int(mask))[tuple(codes[rows][:, [*known, i]].T)]
        return out

    def _table(self, i: int, mask: int) -> np.ndarray:
        """log P(x_i | c, those parents that are in the mask)."""
        found = self._cache.get((i, mask))
        if found is None:
            unknown = tuple(b for b in range(len(self.parents[i])) if not mask >> b & 1)
            counts = self.counts[i].sum(axis=unknown)
            size, alpha = counts.shape[-2], self.alpha
            with np.errstate(divide="ignore", invalid="ignore"):
                found = np.log((counts + alpha) / (counts.sum(axis=-2, keepdims=True) + alpha * size))
            found = self._cache[i, mask] = np.where(np.isnan(found), -np.inf, found)
        return found


def column_codes(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Values numbered from 0 within each column; -1 where unknown."""
    return np.where(values < 0, -1, values - offsets[:-1]).astype(np.int64)

"""Rows of counts as the likelihood of a Dirichlet prior wants them."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import gammaln, polygamma, psi

from tercet.core.input_errors import shown

FEWEST_BINS = 1 << 22  # of a table by column and count; larger ones are sorted instead, where counts are few


class CountTable(NamedTuple):
    """Rows of counts, each distinct count of a column once: all that the likelihood of a prior needs.

    Column `columns[i]` has the count `values[i]` in `times[i]` rows (zeros are left out), and the sum of a row is
    `sums[i]` in `sum_times[i]` of them.
    """

    values: np.ndarray
    columns: np.ndarray
    times: np.ndarray
    sums: np.ndarray
    sum_times: np.ndarray
    n_columns: int

    @classmethod
    def of_entries(cls, counts: Any, columns: Any, sums: Any, n_columns: int) -> Self:
        """From the entries of a sparse table: counts, their columns, and the sum of each row."""
        counts, columns = np.asarray(counts, dtype=np.int64), np.asarray(columns, dtype=np.int64)
        base = int(counts.max(initial=0)) + 1
        if n_columns * base <= max(FEWEST_BINS, 4 * counts.size):
            times = np.bincount(columns * base + counts, minlength=1)
            keys = np.flatnonzero(times)
            times = times[keys]
        else:
            keys, times = np.unique(columns * base + counts, return_counts=True)
        sums, sum_times = np.unique(np.asarray(sums, dtype=np.int64), return_counts=True)
        there = keys % base > 0
        return cls(
            (keys % base)[there].astype(np.float64),
            (keys // base)[there],
            times[there].astype(np.float64),
            sums.astype(np.float64),
            sum_times.astype(np.float64),
            n_columns,
        )

    @classmethod
    def of_rows(cls, counts: Any) -> Self:
        """From a table of whole counts of shape (n_rows, n_columns)."""
        table = np.asarray(counts)
        if table.ndim != 2 or not table.size or table.dtype.kind not in "iuf":
            raise ValueError(f"counts must have the shape (n_rows, n_columns); got {shown(counts)}.")
        wrong = ~((table >= 0) & (table < np.inf)) | (table != np.floor(table))
        if wrong.any():
            raise ValueError(f"counts must be whole numbers of 0 or more; it has {table[wrong][0]:g}.")
        rows, columns = np.nonzero(table)
        return cls.of_entries(table[rows, columns], columns, table.sum(axis=1), table.shape[1])

    def log_likelihood(self, alpha: np.ndarray) -> float:
        """The likelihood of a prior."""
        total, own = alpha.sum(), alpha[self.columns]
        value = self.times @ (gammaln(self.values + own) - gammaln(own))
        return float(value + self.sum_times @ (gammaln(total) - gammaln(self.sums + total)))

    def slopes(self, alpha: np.ndarray) -> tuple[np.ndarray, float]:
        """Σ_d Ψ(n_dk + α_k) - Ψ(α_k) for each column, and Σ_d Ψ(n_d + α_0) - Ψ(α_0)."""
        total, own = alpha.sum(), alpha[self.columns]
        parts = self.times * (psi(self.values + own) - psi(own))
        above = np.bincount(self.columns, parts, minlength=self.n_columns)
        return above, float(self.sum_times @ (psi(self.sums + total) - psi(total)))

    def curvature(self, alpha: np.ndarray) -> tuple[np.ndarray, float]:
        """The same with Ψ', the derivative of Ψ."""
        total, own = alpha.sum(), alpha[self.columns]
        parts = self.times * (polygamma(1, self.values + own) - polygamma(1, own))
        above = np.bincount(self.columns, parts, minlength=self.n_columns)
        return above, float(self.sum_times @ (polygamma(1, self.sums + total) - polygamma(1, total)))

"""Counts of every two values in every class, and the information that is read off them."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.parallel import Chunks, total


def pair_counts(
    values: np.ndarray, y: np.ndarray, weight: np.ndarray, n_values: int, n_classes: int, n_jobs: int | None
) -> np.ndarray:
    """The weight of the rows with each two values in each class: (values, values, classes)."""
    V, K = n_values, n_classes
    pairs_per_row = max(values.shape[1] ** 2, 1)
    # A chunk has enough rows that adding up its table costs little beside counting.
    chunks = Chunks(values, y, weight, rows=max(chunk_rows(pairs_per_row), V * V * K // 4 // pairs_per_row))
    return total(_chunk_pair_counts, chunks, V, K, n_jobs=n_jobs)


def chunk_rows(work: int) -> int:
    """Rows of a chunk by the work of one row: few enough to answer Ctrl-C after it."""
    return min(4096, max(16, 100_000_000 // max(work, 1)))


def _chunk_pair_counts(chunk: tuple, V: int, K: int) -> np.ndarray:
    values, y, weight = chunk
    counts = np.zeros((V, V, K))
    count_pairs(values, y, weight, counts)
    return counts


def value_counts(pairs: np.ndarray) -> np.ndarray:
    """The weight of each value in each class, (values, classes): a value with itself."""
    every = np.arange(len(pairs))
    return pairs[every, every]


def conditional_mutual_information(pairs: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """I(x_i; x_j | c) in bits for all pairs of columns, from their counts (values, values, classes)."""
    d = len(offsets) - 1
    found = np.zeros((d, d))
    for i in range(d):
        for j in range(i):
            table = pairs[offsets[i] : offsets[i + 1], offsets[j] : offsets[j + 1]]
            found[i, j] = found[j, i] = _information(table)
    return found


def _information(table: np.ndarray) -> float:
    """Σ P(a, b, c) log2 P(a, b | c) / (P(a | c) P(b | c)) of counts."""
    total = table.sum()
    if total <= 0:
        return 0.0
    a, b, c = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True), table.sum(axis=(0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = table * np.log2(table * c / (a * b))
    return max(float(np.nansum(terms)) / total, 0.0)


@kernel
def count_pairs(values, y, weight, counts):
    """Add the weight of each row to the counts of every two of its values, each with itself too."""
    d = values.shape[1]
    for r in range(values.shape[0]):
        c, w = y[r], weight[r]
        row = values[r]
        for i in range(d):
            if row[i] >= 0:
                for j in range(d):
                    if row[j] >= 0:
                        counts[row[i], row[j], c] += w

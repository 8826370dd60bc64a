"""The order in which a perceptron visits the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

CACHE = 1 << 22  # numbers that stay in cache: below that many, rows are visited in any order at full speed
RUN = 16  # neighbours that stay together in a shuffle of larger data


def visiting_order(X: Any, weight: Any, order: Any, shuffle: bool, rng: np.random.Generator) -> np.ndarray:
    """The order of one pass: row numbers, or numbers in [0, 1) that pick among the misclassified rows."""
    n, d = X.shape
    if isinstance(order, str) and order != "cyclic":
        return rng.random(n) if order == "random" else np.zeros(n)
    if not isinstance(order, str):
        rows = np.asarray(order)
        if (
            rows.ndim != 1
            or rows.dtype.kind not in "iu"
            or rows.size == 0
            or rows.min() < 0
            or rows.max() >= n
        ):
            raise ValueError(f"Perceptron: order must list row numbers from 0 to {n - 1}; got {order!r}.")
        return rows.astype(np.int64)
    rows = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
    if shuffle and n * d <= CACHE:
        rng.shuffle(rows)
    elif shuffle:  # rows scattered in memory are read several times slower than runs of them
        whole = rows.size // RUN * RUN
        runs = rows[:whole].reshape(-1, RUN)[rng.permutation(whole // RUN)]
        rows = np.append(runs.ravel(), rows[whole:])
    return rows

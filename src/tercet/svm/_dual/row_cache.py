"""Least-recently-used cache of rows of the Gram matrix."""

from __future__ import annotations

from typing import Any

import numpy as np


class RowCache:
    """LRU cache of up to `capacity` rows of length n.

    The system hands out memory when it is first written to, and slots fill from the front: an unused part of the
    cache costs nothing.
    """

    def __init__(self, n: int, capacity: int, dtype: Any) -> None:
        capacity = max(0, min(capacity, n))
        self.rows = np.empty((capacity, n), dtype=dtype)
        self.slot = np.full(n, -1, dtype=np.int64)  # of each row, -1 where it is not cached
        self.owner = np.full(capacity, -1, dtype=np.int64)  # the row in each slot
        self.used = np.zeros(capacity, dtype=np.int64)  # when each slot was last used
        self.filled = 0
        self.now = 0

    def find(self, rows: np.ndarray) -> np.ndarray:
        """The slots of rows, -1 for those that are not cached."""
        self.now += 1
        slots = self.slot[rows]
        self.used[slots[slots >= 0]] = self.now
        return slots

    def allocate(self, rows: np.ndarray, pinned: np.ndarray) -> np.ndarray:
        """Slots for rows that are not cached (-1 where the cache is full); rows in `pinned` keep theirs."""
        places = np.full(rows.size, -1, dtype=np.int64)
        count = min(rows.size, self.owner.size - self.filled)
        places[:count] = np.arange(self.filled, self.filled + count)
        self.filled += count
        if count < rows.size:
            free = np.ones(self.owner.size, dtype=bool)
            kept = self.slot[pinned]
            free[kept[kept >= 0]] = False
            free[places[:count]] = False
            old = np.flatnonzero(free)
            old = old[np.argsort(self.used[old], kind="stable")][: rows.size - count]
            self.slot[self.owner[old]] = -1
            places[count : count + old.size] = old
            count += old.size
        taken = places[:count]
        self.owner[taken] = rows[:count]
        self.slot[rows[:count]] = taken
        self.used[taken] = self.now
        return places

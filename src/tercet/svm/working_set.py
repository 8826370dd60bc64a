"""Which variables to work on next."""

from __future__ import annotations

import numpy as np

from tercet.svm.dual import Dual

KEEP = 0.7  # a block that would lose less than the rest of its members stays as it is: its part of K is there


class WorkingSet:
    """Blocks of up to `size` variables, one after the other.

    Half of a block stays from the one before, free variables first and then the newest: blocks without memory
    undo each other's work. The rest are those that break the conditions most, from both sides.

    When all variables fit in one block it shrinks: those are left aside that no pair could move now. They come
    back when that changes.
    """

    def __init__(self, dual: Dual, size: int, shrinking: bool = True) -> None:
        self.dual, self.size, self.shrinking = dual, size, shrinking
        self.members = np.zeros(0, dtype=np.intp)  # the newest first

    def next(self, v: np.ndarray, borders: list[tuple[float, float]]) -> tuple[np.ndarray, int]:
        """Members, and how many of them belong to the first group (they stand in front)."""
        dual, old = self.dual, self.members
        m = v.size
        if m <= self.size:
            return self._unsettled(v, borders)
        room = self.size - min(old.size, self.size // 2)
        new = self._worst(v, borders, room)
        fresh = np.ones(m, dtype=bool)
        fresh[new] = False
        old = old[fresh[old]]
        free = (dual.beta[old] > dual.lo[old]) & (dual.beta[old] < dual.hi[old])
        old = np.concatenate([old[free], old[~free]])[: self.size - new.size]
        self.members = np.concatenate([new, old])
        if len(dual.groups) == 1:
            return self.members, self.members.size
        first = dual.groups[0][self.members]
        return np.concatenate([self.members[first], self.members[~first]]), int(first.sum())

    def _unsettled(self, v, borders):
        """All that may have a part in a pair; the members stay the same while that is most of them."""
        dual = self.dual
        alive = [
            group & ((dual.beta < dual.hi) & (v >= low) | (dual.beta > dual.lo) & (v <= high))
            for group, (high, low) in zip(dual.groups, borders)
        ]
        if not self.members.size or not self.shrinking:
            alive = dual.groups
        count = sum(int(some.sum()) for some in alive)
        inside = sum(int(some[self.members].sum()) for some in alive)
        if inside < count or count < KEEP * self.members.size:
            self.members = np.concatenate([np.flatnonzero(some) for some in alive])
        return self.members, int(dual.groups[0][self.members].sum())

    def _worst(self, v, borders, room):
        dual = self.dual
        found = []
        each = max(1, room // (2 * len(borders)))
        for group, (high, low) in zip(dual.groups, borders):
            rising = np.flatnonzero(group & (dual.beta < dual.hi) & (v > low))
            falling = np.flatnonzero(group & (dual.beta > dual.lo) & (v < high))
            found += [_first(rising, -v[rising], each), _first(falling, v[falling], each)]
        return np.unique(np.concatenate(found))


def _first(names: np.ndarray, keys: np.ndarray, count: int) -> np.ndarray:
    """The names with the smallest keys."""
    return names if names.size <= count else names[np.argpartition(keys, count - 1)[:count]]

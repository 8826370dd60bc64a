"""Working set selection of the block-coordinate dual solver."""

from __future__ import annotations

import numpy as np

from tercet.svm._dual.optimality import Interval
from tercet.svm._dual.state import DualState

KEEP = 0.7  # a set that would shrink by less than the rest of its members stays: its part of K is at hand


class WorkingSet:
    """Working sets of up to `size` variables, one after the other.

    Half of a set stays from the one before, free variables first and then the newest: sets without memory undo each
    other's work. The rest are the variables that violate the KKT conditions most, from I_up and from I_down.

    When all variables fit into one set it shrinks: variables that no violating pair contains are left out until
    one does.
    """

    def __init__(self, state: DualState, size: int, shrinking: bool = True) -> None:
        self.state, self.size, self.shrinking = state, size, shrinking
        self.members = np.zeros(0, dtype=np.intp)  # the newest first

    def select(self, v: np.ndarray, intervals: list[Interval]) -> tuple[np.ndarray, int]:
        """Members, and how many of them belong to the first group (they stand in front)."""
        state, old = self.state, self.members
        m = v.size
        if m <= self.size:
            return self._shrunk(v, intervals)
        new = self._most_violating(v, intervals, self.size - min(old.size, self.size // 2))
        is_old = np.ones(m, dtype=bool)
        is_old[new] = False
        old = old[is_old[old]]
        free = (state.beta[old] > state.lower[old]) & (state.beta[old] < state.upper[old])
        old = np.concatenate([old[free], old[~free]])[: self.size - new.size]
        self.members = np.concatenate([new, old])
        if len(state.groups) == 1:
            return self.members, self.members.size
        first = state.groups[0][self.members]
        return np.concatenate([self.members[first], self.members[~first]]), int(first.sum())

    def _shrunk(self, v: np.ndarray, intervals: list[Interval]) -> tuple[np.ndarray, int]:
        """All variables that may be in a violating pair; the members stay while those are most of them."""
        state = self.state
        active = [
            group & ((state.beta < state.upper) & (v >= high) | (state.beta > state.lower) & (v <= low))
            for group, (low, high) in zip(state.groups, intervals)
        ]
        if not self.members.size or not self.shrinking:
            active = state.groups
        count = sum(int(part.sum()) for part in active)
        inside = sum(int(part[self.members].sum()) for part in active)
        if inside < count or count < KEEP * self.members.size:
            self.members = np.concatenate([np.flatnonzero(part) for part in active])
        return self.members, int(state.groups[0][self.members].sum())

    def _most_violating(self, v: np.ndarray, intervals: list[Interval], count: int) -> np.ndarray:
        """Up to `count` variables: the largest v of I_up and the smallest of I_down, of each group."""
        state = self.state
        found = []
        each = max(1, count // (2 * len(intervals)))
        for group, (low, high) in zip(state.groups, intervals):
            up = np.flatnonzero(group & (state.beta < state.upper) & (v > high))
            down = np.flatnonzero(group & (state.beta > state.lower) & (v < low))
            found += [_smallest(up, -v[up], each), _smallest(down, v[down], each)]
        return np.unique(np.concatenate(found))


def _smallest(indices: np.ndarray, keys: np.ndarray, count: int) -> np.ndarray:
    """The indices with the smallest keys."""
    return indices if indices.size <= count else indices[np.argpartition(keys, count - 1)[:count]]

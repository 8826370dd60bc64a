"""Clusters that are split again and again, as segments of a permutation of the rows."""

from __future__ import annotations

import heapq

import numpy as np

from tercet.cluster._engine.splits import farthest_pair, nearer_to_second, splinter_group
from tercet.core.scaling import times_power


class SplitTree:
    """Clusters as segments of a permutation of the rows, each with its farthest pair, and the splits so far.

    table : distances of the n rows in condensed form, scaled by 2^-exponent.
    """

    def __init__(self, table: np.ndarray, n: int, exponent: int = 0) -> None:
        self.table, self.n, self.exponent = table, n, exponent
        self.order = np.arange(n)
        self.count = 1
        self.sizes: list[int] = []
        self.splits: list[
            tuple[int, int, int, float, int, int]
        ] = []  # start, middle, stop, diameter, its pair
        self.waiting: list[tuple[float, int, int, int, int, int]] = []
        self._measure(0, n)

    @property
    def widest(self) -> float:
        """The largest diameter of a cluster."""
        return self._in_units(-self.waiting[0][0]) if self.waiting else 0.0

    def _in_units(self, width: float) -> float:
        return float(times_power(np.float64(width), self.exponent))

    def _measure(self, start: int, stop: int) -> None:
        """Put a cluster of two rows or more among those that wait to be split, the widest first."""
        members = self.order[start:stop]
        if members.size > 1:
            one, other, width = farthest_pair(self.table, self.n, members)
            heapq.heappush(self.waiting, (-float(width), int(members[0]), start, stop, int(one), int(other)))

    def split(self, algorithm: str) -> float:
        """Split the widest cluster; returns its diameter."""
        negative, _, start, stop, one, other = heapq.heappop(self.waiting)
        members = self.order[start:stop].copy()
        side = np.zeros(members.size, dtype=np.bool_)
        if algorithm == "diana":
            splinter_group(self.table, self.n, members, side)
        else:
            nearer_to_second(self.table, self.n, members, one, other, side)
        second = side if not side[0] else ~side  # the part with the first row stays in front
        middle = stop - int(second.sum())
        self.order[start:middle], self.order[middle:stop] = members[~second], members[second]
        self.splits.append((start, middle, stop, -negative, one, other))
        self.sizes.append(members.size)
        self.count += 1
        self._measure(start, middle)
        self._measure(middle, stop)
        return self._in_units(-negative)

    def labels(self, k: int) -> np.ndarray:
        """The cluster of each row after k splits, numbered by first rows."""
        starts = np.sort([0, *(split[1] for split in self.splits[:k])])
        number = np.empty(starts.size, dtype=np.int64)
        number[np.argsort(self.order[starts])] = np.arange(starts.size)
        labels = np.empty(self.n, dtype=np.int64)
        labels[self.order] = np.repeat(number, np.diff([*starts, self.n]))
        return labels

    def merges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The splits as merges, the last first: pairs of nodes, diameters and farthest pairs."""
        leaf, m = self.labels(len(self.splits)), len(self.splits)
        node: dict[tuple[int, int], int] = {}
        children, heights = np.empty((m, 2), dtype=np.int64), np.empty(m)
        poles = np.empty((m, 2), dtype=np.int64)
        for k, (start, middle, stop, width, one, other) in enumerate(reversed(self.splits)):
            pair = [
                node.get(span, int(leaf[self.order[span[0]]])) for span in ((start, middle), (middle, stop))
            ]
            children[k], heights[k], poles[k] = sorted(pair), width, (one, other)
            node[start, stop] = self.count + k
        return children, times_power(heights, self.exponent), poles


def by_first_row(labels: np.ndarray) -> np.ndarray:
    """Clusters numbered by their first rows."""
    values, first, index = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(values.size, dtype=np.int64)
    number[np.argsort(first)] = np.arange(values.size)
    return number[index.reshape(-1)]

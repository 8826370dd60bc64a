"""Distances as the kernels of a kd-tree see them.

What is compared is a *cost*, which grows with the distance: the square of the Euclidean distance, any other
distance itself. Each kind of distance is a type, so that a kernel is compiled for the one that it works with.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import implement, verb


class Manhattan(NamedTuple):
    """The sum of the gaps."""

    p: float = 1.0


class Euclidean(NamedTuple):
    """The root of the sum of squares."""

    p: float = 2.0


class Minkowski(NamedTuple):
    """The p-th root of the sum of p-th powers."""

    p: float


class Chebyshev(NamedTuple):
    """The largest gap."""

    p: float = np.inf


Metric = Manhattan | Euclidean | Minkowski | Chebyshev


def metric_of(p: float) -> Metric:
    """The L_p distance."""
    plain: dict[float, Metric] = {1: Manhattan(), 2: Euclidean(), np.inf: Chebyshev()}
    return plain.get(p, Minkowski(p))


@verb
def cost(metric: Metric, gap: float) -> float:
    """The cost of a difference in one coordinate."""
    return gap * gap if isinstance(metric, Euclidean) else gap


@verb
def distance(metric: Metric, cost: float) -> float:
    """The distance of a given cost."""
    return np.sqrt(cost) if isinstance(metric, Euclidean) else cost


@verb
def updated_bound(metric: Metric, bound: float, before: float, after: float) -> float:
    """A lower bound of the cost after one coordinate's part of it grew from `before` to `after`."""
    if isinstance(metric, Manhattan | Euclidean):
        return bound - before + after
    return max(bound, after)


@verb
def row_cost(metric: Metric, points: np.ndarray, i: Any, q: np.ndarray) -> float:
    """The cost of the distance between row i and a point."""
    gap = np.abs(q - points[i])
    if isinstance(metric, Manhattan):
        return float(gap.sum())
    if isinstance(metric, Euclidean):
        return float((gap * gap).sum())
    most = float(gap.max())
    if isinstance(metric, Chebyshev) or not 0 < most < np.inf:
        return most
    return most * float(((gap / most) ** metric.p).sum()) ** (1 / metric.p)


@implement(cost)
def _cost(metric, gap):
    if metric.instance_class is Euclidean:
        return lambda metric, gap: gap * gap
    return lambda metric, gap: gap


@implement(distance)
def _distance(metric, cost):
    if metric.instance_class is Euclidean:
        return lambda metric, cost: np.sqrt(cost)
    return lambda metric, cost: cost


@implement(updated_bound)
def _updated_bound(metric, bound, before, after):
    if metric.instance_class in (Manhattan, Euclidean):
        return lambda metric, bound, before, after: bound - before + after
    return lambda metric, bound, before, after: max(bound, after)


@implement(row_cost)
def _row_cost(metric, points, i, q):
    if metric.instance_class is Euclidean:

        def euclidean(metric, points, i, q):
            if q.size == 3:  # so common that it is worth not having a loop
                x, y, z = q[0] - points[i, 0], q[1] - points[i, 1], q[2] - points[i, 2]
                return x * x + y * y + z * z
            total = 0.0
            for j in range(q.size):
                gap = q[j] - points[i, j]
                total += gap * gap
            return total

        return euclidean
    if metric.instance_class is Manhattan:

        def manhattan(metric, points, i, q):
            total = 0.0
            for j in range(q.size):
                total += abs(q[j] - points[i, j])
            return total

        return manhattan

    def largest(metric, points, i, q):
        most = 0.0
        for j in range(q.size):
            most = max(most, abs(q[j] - points[i, j]))
        return most

    if metric.instance_class is Chebyshev:
        return largest

    def minkowski(metric, points, i, q):
        most = 0.0
        for j in range(q.size):
            most = max(most, abs(q[j] - points[i, j]))
        if not 0 < most < np.inf:
            return most
        total = 0.0
        if most < 1e-290:  # its reciprocal may be infinite
            lifted = 0.0
            for j in range(q.size):
                lifted = max(lifted, abs(q[j] - points[i, j]) * 2.0**600)
            for j in range(q.size):
                total += (abs(q[j] - points[i, j]) * 2.0**600 / lifted) ** metric.p
            return lifted * total ** (1 / metric.p) * 2.0**-600
        for j in range(q.size):  # relative to the largest gap: high powers neither overflow nor vanish
            total += (abs(q[j] - points[i, j]) / most) ** metric.p
        return most * total ** (1 / metric.p)

    return minkowski

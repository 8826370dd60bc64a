"""Distances as the kernels of a ball tree see them: of any kind, measured between a row and a point.

L_p distances are those of `kd_metrics`. A function of two rows is measured by the same kernels, run as
plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import implement, inner, verb
from tercet.neighbors._engine.kd_metrics import Metric, distance, row_cost

# Distances of counts or of categories, by their code in a kernel.
CODES = {
    "hamming": 0,
    "canberra": 1,
    "braycurtis": 2,
    "jaccard": 3,
    "dice": 4,
    "rogerstanimoto": 5,
    "sokalmichener": 5,  # two names of one formula
    "russellrao": 6,
    "sokalsneath": 7,
}
NOT_METRIC = ("braycurtis", "dice")  # no triangle inequality: no ball can be left out


class Haversine(NamedTuple):
    """The great-circle distance of two points on the unit sphere, given as latitude and longitude in radians."""

    p: float = 0.0


class Dissimilarity(NamedTuple):
    """A distance of `CODES`."""

    code: int


class Function(NamedTuple):
    """A function of two rows, with what else it takes."""

    function: Callable
    params: dict


BallMetric = Metric | Haversine | Dissimilarity | Function


@verb
def measure(metric: BallMetric, points: np.ndarray, i: Any, q: np.ndarray) -> float:
    """The distance of row i from a point."""
    if isinstance(metric, Function):
        return metric.function(q, points[i], **metric.params)
    if isinstance(metric, Haversine):
        return haversine(points[i], q)
    if isinstance(metric, Dissimilarity):
        return dissimilarity(metric.code, points[i], q)
    return distance(metric, row_cost(metric, points, i, q))


@implement(measure)
def _measure(metric, points, i, q):
    if metric.instance_class is Haversine:
        return lambda metric, points, i, q: haversine(points[i], q)
    if metric.instance_class is Dissimilarity:
        return lambda metric, points, i, q: dissimilarity(metric.code, points[i], q)
    return lambda metric, points, i, q: distance(metric, row_cost(metric, points, i, q))


@inner
def haversine(x, z):
    """2 arcsin √(sin²(Δlat / 2) + cos(lat_1) cos(lat_2) sin²(Δlon / 2))."""
    up, along = np.sin(0.5 * (x[0] - z[0])), np.sin(0.5 * (x[1] - z[1]))
    return 2.0 * np.arcsin(np.sqrt(min(up * up + np.cos(x[0]) * np.cos(z[0]) * along * along, 1.0)))


@inner
def dissimilarity(code, x, z):
    """A distance of `CODES` between two rows."""
    if code <= 2:
        return numeric_dissimilarity(code, x, z)
    both = differ = 0.0  # coordinates that are true in both rows, and in one of them
    for j in range(x.size):
        a, b = x[j] != 0.0, z[j] != 0.0
        both += 1.0 if a and b else 0.0
        differ += 1.0 if a != b else 0.0
    if code == 5:
        return 2.0 * differ / (x.size + differ)
    if code == 6:
        return (x.size - both) / x.size
    if both + differ == 0.0:  # nothing is true
        return 0.0
    if code == 3:
        return differ / (both + differ)
    if code == 4:
        return differ / (2.0 * both + differ)
    return differ / (differ + 0.5 * both)


@inner
def numeric_dissimilarity(code, x, z):
    """Hamming, Canberra or Bray-Curtis distance."""
    total, size = 0.0, 0.0
    for j in range(x.size):
        gap, span = abs(x[j] - z[j]), abs(x[j]) + abs(z[j])
        if code == 0:
            total += 1.0 if x[j] != z[j] else 0.0
        elif code == 1:
            total += gap / span if span > 0.0 else 0.0
        else:
            total += gap
            size += span
    if code == 0:
        return total / x.size
    if code == 1:
        return total
    return total / size if size > 0.0 else 0.0

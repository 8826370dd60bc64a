"""Distances between rows (Li ch. 3.2, 14.1; watermelon notes ch. 7.3).

Functions of two vectors take arrays that NumPy can broadcast and measure along the last axis;
`pairwise_distances` measures every row of one table against every row of another. Cosine and correlation are
distances here: 1 minus the similarity of the same name.
"""

from __future__ import annotations

from tercet.metrics.distance.axioms import metric_axioms
from tercet.metrics.distance.pairwise import METRICS, pairwise_distances
from tercet.metrics.distance.value_difference import MinkovDM, vdm
from tercet.metrics.distance.vectors import (
    chebyshev,
    check_p,
    check_weights,
    correlation,
    cosine,
    euclidean,
    mahalanobis,
    mahalanobis_factor,
    manhattan,
    minkowski,
    squared_euclidean,
)

__all__ = [
    "METRICS",
    "MinkovDM",
    "chebyshev",
    "check_p",
    "check_weights",
    "correlation",
    "cosine",
    "euclidean",
    "mahalanobis",
    "mahalanobis_factor",
    "manhattan",
    "metric_axioms",
    "minkowski",
    "pairwise_distances",
    "squared_euclidean",
    "vdm",
]

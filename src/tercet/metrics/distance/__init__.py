"""How far apart rows are (000 ch. 3.2, 14.1; 002 ch. 7.3).

Functions of two vectors take arrays that NumPy can broadcast and measure along the last axis; `pairwise` measures
every row of one table against every row of another. Cosine and correlation are distances here: 1 minus the
similarity of the same name.
"""

from __future__ import annotations

from tercet.metrics.distance.pairs import METRICS, pairwise
from tercet.metrics.distance.values import MinkovDM, vdm
from tercet.metrics.distance.vectors import (
    chebyshev,
    correlation,
    cosine,
    euclidean,
    mahalanobis,
    manhattan,
    minkowski,
    squared_euclidean,
)

__all__ = [
    "METRICS",
    "MinkovDM",
    "chebyshev",
    "correlation",
    "cosine",
    "euclidean",
    "mahalanobis",
    "manhattan",
    "minkowski",
    "pairwise",
    "squared_euclidean",
    "vdm",
]

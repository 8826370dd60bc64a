"""Names of the metrics that each algorithm takes."""

from __future__ import annotations

from typing import get_args

from tercet.neighbors._engine.search import SPARSE, Name
from tercet.neighbors.ball_tree import BallTree
from tercet.neighbors.kd_tree import KDTree

VALID_METRICS: dict[str, list[str]] = {
    "ball_tree": list(BallTree.valid_metrics),
    "kd_tree": list(KDTree.valid_metrics),
    "brute": sorted(get_args(Name)),
}
VALID_METRICS_SPARSE: dict[str, list[str]] = {
    "ball_tree": [],
    "kd_tree": [],
    "brute": sorted({*SPARSE, "euclidean", "l2", "precomputed", "sqeuclidean"}),
}

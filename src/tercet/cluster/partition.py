"""The rows of a clustering by their nearest centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.cluster._engine.nearest_centres import Assignment, CentreSet, nearest_centre
from tercet.core.scaling import times_power


@dataclass
class Partition:
    """Rows assigned to their nearest centres, and the inertia W."""

    assignment: Assignment
    centres: np.ndarray
    settled: bool = False  # whether the labels are those of these centres, not of the ones before

    def __post_init__(self) -> None:
        if not self.settled or self.centres.dtype == np.float32:
            self.labels[:] = nearest_centre(self.assignment.X, self.centres, self.assignment.n_jobs)
        centres = CentreSet(self.centres.astype(np.float64), self.assignment.mean)
        self.inertia = self.assignment.inertia(centres)

    @classmethod
    def around(cls, X: Any, centres: np.ndarray, weight: Any, n_jobs: Any) -> Partition:
        """The partition of rows by given centres."""
        return cls(Assignment(X, weight, len(centres), 0, n_jobs), centres.astype(X.dtype))

    @property
    def labels(self) -> np.ndarray:
        return self.assignment.labels

    def attributes(self, exponent: int = 0) -> dict[str, Any]:
        """What the estimator shows, for rows that were scaled by 2^-exponent."""
        return {
            "cluster_centers_": times_power(self.centres, exponent),
            "labels_": self.labels,
            "inertia_": times_square(self.inertia, exponent),
        }


def times_square(value: float, exponent: int) -> float:
    """A sum of squares of rows that were scaled by 2^-exponent, as it was before."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(value, 2 * exponent)) if exponent else value

"""The rows of a clustering by their nearest centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.cluster._engine.nearest_centres import Assignment, CentreSet, nearest_centre
from tercet.cluster._engine.streamed_assignment import StreamedAssignment
from tercet.core.scaling import times_power
from tercet.core.streams import is_streamed


@dataclass
class Partition:
    """Rows assigned to their nearest centres, and the inertia W."""

    assignment: Any
    centres: np.ndarray
    settled: bool = False  # whether the labels are those of these centres, not of the ones before

    def __post_init__(self) -> None:
        if is_streamed(self.assignment.X):  # the clusters of the rows are not kept
            self.inertia, self.counts = self.assignment.inertia_around(self.centres, self.settled)
            return
        if not self.settled or self.centres.dtype == np.float32:
            self.labels[:] = nearest_centre(self.assignment.X, self.centres, self.assignment.n_jobs)
        centres = CentreSet(self.centres.astype(np.float64), self.assignment.mean)
        self.inertia = self.assignment.inertia(centres)
        self.counts = np.bincount(self.labels, minlength=len(self.centres))

    @classmethod
    def around(cls, X: Any, centres: np.ndarray, weight: Any, n_jobs: Any) -> Partition:
        """The partition of rows by given centres."""
        return cls(assignment_of(X, weight, len(centres), 0, n_jobs), centres.astype(X.dtype))

    @property
    def labels(self) -> np.ndarray:
        return self.assignment.labels

    def attributes(self, exponent: int = 0) -> dict[str, Any]:
        """What the estimator shows, for rows that were scaled by 2^-exponent."""
        labels = {} if is_streamed(self.assignment.X) else {"labels_": self.labels}
        return {
            "cluster_centers_": times_power(self.centres, exponent),
            **labels,
            "inertia_": times_square(self.inertia, exponent),
        }


def assignment_of(X: Any, *arguments: Any, **options: Any) -> Any:
    """The `Assignment` of rows in memory, or that of streamed ones."""
    return (StreamedAssignment if is_streamed(X) else Assignment)(X, *arguments, **options)


def times_square(value: float, exponent: int) -> float:
    """A sum of squares of rows that were scaled by 2^-exponent, as it was before."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(value, 2 * exponent)) if exponent else value

"""The averaged and the pocket perceptron, and the record of updates."""

from __future__ import annotations

from typing import Any

import numpy as np


class Trajectory:
    """The course of a hyperplane through its updates: their average, the pocket, the record.

    All are computed after the fact from where the mistakes happened, so that the kernels need not know of them.
    """

    def __init__(self, variant: str, record: bool, w: np.ndarray, b: np.ndarray) -> None:
        self.variant, self.record, self.visited = variant, record, 0
        self.lag = np.zeros_like(w), np.zeros_like(b)  # sum of updates, each times the visits made before it
        self.run, self.longest, self.pocket = 0, -1, (w.copy(), b.copy())
        self.fewest: int | None = (
            None  # misclassified rows of the pocket, where all visited rows are misclassified
        )
        self.trace: list[tuple[np.ndarray, ...]] = []

    def follow(
        self, plane: Any, times: np.ndarray, points: np.ndarray, size: int, before: tuple, wrong: Any = None
    ) -> None:
        """Take in a part of a pass: `size` visits from the model `before`, mistakes at `times` on `points`.

        Where only misclassified rows are visited, `wrong` are their numbers before each mistake: no model survives
        a visit, and the pocket keeps the one with the fewest.
        """
        if self.variant == "averaged":
            for lag, moved in zip(self.lag, plane.displacement(points, self.visited + times)):
                lag += moved
        elif self.variant == "pocket" and wrong is not None:
            k: Any = wrong.argmin()
            if self.fewest is None or wrong[k] < self.fewest:
                self.fewest = int(wrong[k])
                self.pocket = tuple(m + d for m, d in zip(before, plane.displacement(points[:k], 1.0)))
        elif self.variant == "pocket":
            survived = np.diff(times, prepend=-1 - self.run) - 1
            self.run = self.run + size if times.size == 0 else size - 1 - times[-1]
            if times.size and survived.max() > self.longest:
                k = survived.argmax()
                self.longest = survived[k]
                self.pocket = tuple(m + d for m, d in zip(before, plane.displacement(points[:k], 1.0)))
        if self.record:
            self.trace.append((points, *plane.states(points, *before)))
        self.visited += size

    def final(self, w: np.ndarray, b: np.ndarray, count_misclassified: Any) -> tuple[np.ndarray, np.ndarray]:
        """The model of the variant: the last, the mean over all visits, or the one in the pocket."""
        if self.variant == "averaged":
            w, b = (last - lag / max(1, self.visited) for last, lag in zip((w, b), self.lag))
        elif self.fewest is not None:
            if count_misclassified() >= self.fewest:
                w, b = self.pocket
        elif self.variant == "pocket" and self.longest >= self.run:
            w, b = self.pocket
        return w, b

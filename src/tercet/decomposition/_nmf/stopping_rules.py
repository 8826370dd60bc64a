"""Stopping rules of non-negative matrix factorisation."""

from __future__ import annotations

from typing import Any

import numpy as np

CHEAP = 100_000  # cells times components up to which every multiplicative pass computes the loss


class GradientDrop:
    """Stopping rule of coordinate descent: the projected gradient, relative to that of the first pass."""

    def __init__(self, tol: float) -> None:
        self.tol, self.first, self.met = tol, -1.0, False

    def measures(self, count: int, factors: Any, violation: float) -> dict[str, float]:
        self.first = violation if self.first < 0 else self.first
        self.met = violation <= self.tol * self.first
        return {"loss": factors.loss(), "violation": violation}


class ErrorDrop:
    """Stopping rule of the multiplicative rules: the drop of the error in ten passes, relative to the first one."""

    def __init__(self, tol: float, factors: Any) -> None:
        self.tol, self.met = tol, False
        self.cheap = factors.cells * factors.k <= CHEAP
        self.first = self.before = float(np.sqrt(2 * factors.loss()))

    def measures(self, count: int, factors: Any, violation: float) -> dict[str, float]:
        due = count % 10 == 0
        if not (due or self.cheap):
            return {}
        loss = factors.loss()
        if due:
            error = float(np.sqrt(2 * loss))
            self.met = self.before - error < self.tol * self.first or self.first == 0
            self.before = error
        return {"loss": loss}


__all__ = ["ErrorDrop", "GradientDrop"]

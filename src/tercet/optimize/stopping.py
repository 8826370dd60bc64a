"""Stopping criteria of iterative optimisation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

CRITERIA = ("gradient", "value", "step")
PATIENCE = 8  # iterations in a row that reduce neither f nor the gradient before the loop gives up


def tolerances(stop: Any, tol: float, allowed: tuple[str, ...]) -> dict[str, float]:
    """Tolerance of each criterion in `stop`: a name, several names with a common `tol`, or a dict.

    Examples
    --------
    >>> tolerances(("gradient", "value"), 1e-3, CRITERIA)
    {'gradient': 0.001, 'value': 0.001}
    """
    names = [stop] if isinstance(stop, str) else list(stop)
    limits = dict(stop) if isinstance(stop, dict) else dict.fromkeys(names, tol)
    if not limits or not set(limits) <= set(allowed):
        raise ValueError(f"stop must be one or several of {', '.join(map(repr, allowed))}; got {stop!r}.")
    for limit in limits.values():
        if math.isnan(limit):
            raise ValueError(f"tol must be a number; got {limit!r}.")
    return limits


class StoppingCriteria:
    """Stopping criteria of the texts: a small gradient, a small change of f, a small change of x.

    Parameters
    ----------
    tol : float
        The tolerance.
    stop : {"gradient", "value", "step"}, several of them, or dict
        The criteria, any one of which is enough; a dict gives each its own tolerance.
    norm : {inf, 2}
        The norm of gradients and steps.
    """

    def __init__(self, tol: float, stop: Any = "gradient", norm: float = math.inf) -> None:
        self.tol = tolerances(stop, tol, CRITERIA)
        if norm not in (math.inf, 2):
            raise ValueError(f"norm must be inf or 2; got {norm!r}.")
        for limit in self.tol.values():
            if not limit >= 0:
                raise ValueError(f"tol must be a number in [0, inf); got {limit!r}.")
        self.order = norm
        self.best = (math.inf, math.inf)  # smallest f and smallest gradient norm so far
        self.stalled_iterations = 0

    def norm(self, v: np.ndarray) -> float:
        """The norm of a gradient or step."""
        return float(np.abs(v).max(initial=0.0)) if self.order == math.inf else float(np.linalg.norm(v))

    def met(self, grad_norm: float, change: float = math.inf, step: float = math.inf) -> str | None:
        """The name of a criterion that is met, or None."""
        for name, size in (("gradient", grad_norm), ("value", change), ("step", step)):
            if name in self.tol and size <= self.tol[name]:
                return name
        return None

    def stalled(self, fun: float, grad_norm: float, noise: float) -> bool:
        """Whether neither f nor the gradient norm has decreased for `PATIENCE` iterations."""
        low, small = self.best
        if abs(fun - low) <= noise and grad_norm >= 0.9 * small:
            self.stalled_iterations += 1
        else:
            self.best, self.stalled_iterations = (min(low, fun), min(small, grad_norm)), 0
        return self.stalled_iterations >= PATIENCE

"""What the linear machines share: planes that descend side by side."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tercet.core.parallel import each
from tercet.svm.linear_dual import DualCoordinate
from tercet.svm.linear_primal import NARROW, PrimalNewton
from tercet.svm.linear_problem import LinearProblem

Array = np.ndarray


class Plane(Protocol):
    """A hyperplane on its way to the minimum."""

    v: Any
    objective: float
    violation: float
    done: bool

    def epoch(self) -> None:
        """One pass."""


def descend(model: Any, planes: list[Any], unpack: Any) -> None:
    """Passes over all planes until each is done; the model's `max_iter` is the most of them."""
    live = [plane for plane in planes if not plane.done]
    hint = "Scale the features, or raise max_iter or tol."
    for step in model.steps(model.max_iter, unpack=unpack, hint=hint):
        each(_epoch, live, n_jobs=model.n_jobs)
        objective, violation = sum(p.objective for p in planes), max(p.violation for p in planes)
        step.report([np.copy(p.v) for p in planes], objective=objective, violation=violation)
        if model.verbose:
            print(f"[{type(model).__name__}] pass {step.count}: {objective=:.8g}, {violation=:.3g}")
        live = [plane for plane in live if not plane.done]
        if step.converged(not live):
            break
    vars(model).update(unpack([np.asarray(p.v) for p in planes]))


def _epoch(plane: Plane) -> None:
    plane.epoch()


def by_dual(dual: Any, shape: tuple[int, int], possible: tuple[bool, ...]) -> bool:
    """Whether to solve the dual: as `dual` says, or where "auto" leaves a choice, what is likely to be faster."""
    if dual != "auto":
        return bool(dual)
    if len(possible) == 1:
        return possible[0]
    return shape[0] < shape[1] or shape[1] > NARROW


def l2_plane(
    problem: LinearProblem, dual: bool, tol: float, rng: np.random.Generator, n_jobs: int | None
) -> DualCoordinate | PrimalNewton:
    """The machine with the penalty |v|^2 / 2, in the form that was asked for."""
    problem = problem.without_idle_rows()
    return DualCoordinate(problem, tol, rng) if dual else PrimalNewton(problem, tol, n_jobs)

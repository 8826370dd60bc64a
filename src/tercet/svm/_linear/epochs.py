"""What the linear machines share: which solver to use, and one epoch of several solvers side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tercet.core.parallel import each
from tercet.core.steps import Steps
from tercet.svm._linear import gram_coordinate, interior_point, small_newton
from tercet.svm._linear.dual_coordinate import DualCoordinateDescent
from tercet.svm._linear.gram_coordinate import GramCoordinateDescent
from tercet.svm._linear.interior_point import InteriorPoint
from tercet.svm._linear.primal_newton import MAX_HESSIAN_FEATURES, PrimalNewton
from tercet.svm._linear.problem import LinearProblem
from tercet.svm._linear.small_newton import SmallNewton

HINT = "Scale the features, or raise max_iter or tol."


class Solver(Protocol):
    """An iterative solver of one `LinearProblem`.

    Attributes
    ----------
    v : array of shape (n_features + 1,), or (n_classes, n_features + 1)
        The weights, the intercept's last.
    objective, violation : float
        Of the form that is minimised, and what `tol` bounds.
    done : bool
    """

    objective: float
    violation: float
    done: bool

    @property
    def v(self) -> Any:
        """The weights."""

    def epoch(self) -> None:
        """One pass over the data."""


def run_epochs(model: Any, steps: Steps, solvers: Sequence[Any]) -> None:
    """Passes until all solvers are done; those of compiled loops are reported after they were made.

    Where callbacks watch, a line for each pass is asked for or a pass takes its time, every pass is a call.
    """
    watched = steps._context is not None or bool(model.verbose)
    quick = not watched and all(getattr(solver, "quick", False) for solver in solvers)
    if not quick:
        for step in steps:
            if step.converged(run_epoch(model, step, solvers)):
                break
        return
    traces: list[list] = [[] for _ in solvers]
    made = max((solver.run(steps.limit, trace) for solver, trace in zip(solvers, traces)), default=0)
    done, state = all(solver.done for solver in solvers), [solver.v for solver in solvers]
    for step in steps:
        at = [trace[min(step.index, len(trace) - 1)] for trace in traces if trace]
        objective, violation = sum(x[0] for x in at), max((x[1] for x in at), default=0.0)
        step.report(state, objective=objective, violation=violation)
        if step.converged(done and step.count >= made):
            break


def run_epoch(model: Any, step: Steps, solvers: Sequence[Solver]) -> bool:
    """One pass of all solvers that are not done, and its report; whether all are done after it."""
    each(_epoch, [solver for solver in solvers if not solver.done], n_jobs=model.n_jobs)
    objective, violation = sum(s.objective for s in solvers), max(s.violation for s in solvers)
    step.report([np.copy(s.v) for s in solvers], objective=objective, violation=violation)
    if model.verbose:
        print(f"[{type(model).__name__}] pass {step.count}: {objective=:.8g}, {violation=:.3g}")
    return all(solver.done for solver in solvers)


def _epoch(solver: Solver) -> None:
    solver.epoch()


def use_dual(dual: Any, shape: tuple[int, int], possible: tuple[bool, ...]) -> bool:
    """Whether to solve the dual: as `dual` says; "auto": what is possible, or likely to be faster."""
    if dual != "auto":
        return bool(dual)
    if len(possible) == 1:
        return possible[0]
    return shape[0] < shape[1] or shape[1] > MAX_HESSIAN_FEATURES


def l2_solver(
    problem: LinearProblem, dual: bool, tol: float, rng: np.random.Generator, n_jobs: int | None
) -> DualCoordinateDescent | PrimalNewton:
    """The solver of a problem with the penalty |v|^2 / 2, in its dual or primal form."""
    problem = problem.without_zero_cost()
    if dual:
        if interior_point.suits(problem):
            return InteriorPoint(problem, tol, rng)
        few = gram_coordinate.suits(problem.X)
        return (GramCoordinateDescent if few else DualCoordinateDescent)(problem, tol, rng)
    return SmallNewton(problem, tol) if small_newton.suits(problem) else PrimalNewton(problem, tol, n_jobs)

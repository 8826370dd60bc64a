"""Descent with a line search: direction, line search, step, stopping criteria.

The methods differ in the direction alone, so each of them is a `DescentMethod`.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from tercet.core.steps import Steps, history_table
from tercet.optimize.line_search import Ray, as_line_search
from tercet.optimize.objective import as_objective

CONVERGED = {  # messages of the criteria that end a loop with success
    "gradient": "the gradient is smaller than tol",
    "value": "f changed by less than tol",
    "step": "x changed by less than tol",
    "precision": "f cannot be lowered any further in floating-point numbers",
    "cold": "the temperature has fallen to its end",
}
UNBOUNDED = 1e20  # a decrease of f by this many times its initial size counts as unbounded
FAILED = {  # status and message of the reasons that end a loop without success
    "failed": (2, "The line search found no lower point: check the gradient, or scale the variables."),
    "diverged": (4, "f or its gradient is not finite any more: take a smaller step or a line search."),
    "unbounded": (5, "f seems to be unbounded below: it falls without end along the last direction."),
}
CRITERIA = ("gradient", "value", "step")
PATIENCE = 8  # iterations in a row that reduce neither f nor the gradient before the loop gives up
# Loop for calls outside an estimator, whose own loop names the parameters to change.
standalone_loop = functools.partial(
    Steps, hint="Check the gradient, raise max_iter or tol, scale the variables, or try another method."
)


def run_method(
    method: Callable[..., OptimizeResult],
    fun: Any,
    x0: Any,
    *,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    steps: Callable[..., Steps] | None = None,
    callback: Callable[[Steps], Any] | None = None,
    keep: bool = False,
    **options: Any,
) -> OptimizeResult:
    """Call a method with the options that all of them share (see `minimize`): derivatives of f, a callback, the
    trajectory. The method gets a `CountedObjective`, x0 as an array, and `steps`, which makes its loop."""
    if options.get("max_iter", 1) < 1:
        raise ValueError(f"max_iter must be an integer in [1, inf); got {options['max_iter']!r}.")
    trajectory = [initial_point(x0)]

    def watch(step: Steps) -> Any:
        if keep:
            trajectory.append(step.state)
        return callback(step) if callback is not None else False

    loop: Any = steps or standalone_loop
    if keep or callback is not None:
        loop = functools.partial(loop, watch=watch)
    result = method(as_objective(fun, jac, hess, hessp), trajectory[0], steps=loop, **options)
    if keep:
        result.trajectory = trajectory
    return result


SHARED_OPTIONS = {  # of all methods
    name: parameter
    for name, parameter in inspect.signature(run_method).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
}


def takes_shared_options(method: Callable[..., OptimizeResult]) -> Callable[..., OptimizeResult]:
    """A method as a function that takes the options of `run_method` too, when it is called by itself."""

    @functools.wraps(method)
    def run(objective: Any, x0: Any, **options: Any) -> OptimizeResult:
        return run_method(method, objective, x0, **options)

    own = inspect.signature(method)
    more = [parameter for name, parameter in SHARED_OPTIONS.items() if name not in own.parameters]
    named = list(own.parameters.values())
    rest = [parameter for parameter in named if parameter.kind is parameter.VAR_KEYWORD]
    run.__signature__ = own.replace(parameters=[*named[: len(named) - len(rest)], *more, *rest])  # type: ignore[attr-defined]
    return run


class DescentMethod:
    """Search directions of a descent method; steepest descent unless overridden."""

    def direction(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The search direction p at x."""
        return -g

    def update(self, step: float, delta: np.ndarray, y: np.ndarray) -> None:
        """Update from a step: δ is the change of x, y that of the gradient."""

    def initial_step(self, ray: Ray) -> float:
        """The first λ that the line search tries."""
        return 1.0

    def reset(self) -> bool:
        """Restart from the initial state; False if it is still in that state."""
        return False

    def result_fields(self) -> dict[str, Any]:
        """Fields of the result besides x."""
        return {}


def descend(
    objective: Any,
    x0: Any,
    method: DescentMethod,
    *,
    line_search: Any,
    tol: float = 1e-6,
    max_iter: int = 1000,
    steps: Callable[..., Steps] | None = None,
    stop: Any = "gradient",
    norm: float = math.inf,
) -> OptimizeResult:
    """Minimise from x0 by line searches along the directions of a method; the options are those of `minimize`."""
    objective, search = as_objective(objective), as_line_search(line_search)
    criteria = StoppingCriteria(tol, stop, norm)
    x = initial_point(x0)
    f, g = objective.value_and_gradient(x)
    check_start(f, g)
    floor = f - UNBOUNDED * (1 + abs(f))
    loop = (steps or standalone_loop)(max_iter)
    grad_norm = initial_norm = criteria.norm(g)
    moves, reason = 0, criteria.met(grad_norm)
    for step in loop:
        if reason is not None:  # x0 meets a criterion already
            step.report(x, fun=f, grad_norm=grad_norm, step=0.0)
            step.converged(True)
            break
        point = None
        while point is None:
            ray = Ray(objective, x, f, g, method.direction(x, g))
            if ray.start.slope < 0 or not getattr(search, "descent", True):
                point = search(ray, method.initial_step(ray))
            if point is None and not method.reset():
                break
        if point is None:  # no lower point along any direction
            reason = reason_without_lower_point(ray, floor)
            step.report(x, fun=f, grad_norm=grad_norm, step=0.0)
            step.converged(reason in CONVERGED)
            break
        delta, y, change = point.x - x, point.gradient - g, abs(f - point.fun)
        x, f, g, grad_norm = point.x, point.fun, point.gradient, criteria.norm(point.gradient)
        moves += 1
        step.report(x, fun=f, grad_norm=grad_norm, step=point.step)
        if not (math.isfinite(f) and math.isfinite(grad_norm)):
            reason = "unbounded" if ray.lowest < floor else "diverged"
            break
        if f < floor and grad_norm >= initial_norm:
            reason = "unbounded"
            break
        method.update(point.step, delta, y)
        reason = criteria.met(grad_norm, change, criteria.norm(delta) if "step" in criteria.tol else math.inf)
        if reason is None and criteria.stalled(f, grad_norm, ray.noise):
            reason = "precision"
        if step.converged(reason is not None):
            break
    return make_result(
        loop, reason, objective, x=x, fun=f, jac=g, grad_norm=grad_norm, nit=moves, **method.result_fields()
    )


def reason_without_lower_point(ray: Ray, floor: float) -> str:
    """Why no line search found a lower point."""
    if -ray.start.slope <= 100 * ray.noise:
        return "precision"
    return "unbounded" if ray.lowest < floor else "failed"


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


def make_result(loop: Steps, reason: str | None, objective: Any, **found: Any) -> OptimizeResult:
    """The `OptimizeResult` of a loop that ended for a reason (None: the last pass, or a callback).

    Parameters
    ----------
    loop : Steps
        The loop.
    reason : str, optional
        A key of `CONVERGED` or `FAILED`.
    objective : CountedObjective
        The objective, for its numbers of evaluations.
    **found
        Fields of the result: x, fun, jac, nit ...
    """
    if reason in CONVERGED:
        status, message = 0, f"Converged: {CONVERGED[reason]}."
    elif reason in FAILED:
        status, message = FAILED[reason]
        loop.warn(f"stopped in pass {loop.count}: {message[0].lower()}{message.partition(':')[0][1:]}")
    elif loop.stopped:
        status, message = 3, "Stopped by a callback."
    else:
        status, message = 1, f"Not converged in max_iter={loop.limit} passes."
    counts = {name: getattr(objective, name, 0) for name in ("nfev", "njev", "nhev")}
    ending = {"status": status, "success": status == 0, "criterion": reason, "message": message}
    return OptimizeResult(**found, **counts, **ending, history=history_table([loop]))


def initial_point(x0: Any) -> np.ndarray:
    """x0 as a new float vector, checked."""
    x = np.atleast_1d(np.array(x0, dtype=float))
    if x.ndim != 1 or not np.isfinite(x).all():
        raise ValueError(f"x0 must be a vector of finite numbers; got {x0!r}.")
    return x


def check_start(f: float, g: np.ndarray) -> None:
    """Raise unless f and its gradient are finite at x0."""
    if not (math.isfinite(f) and np.isfinite(g).all()):
        raise ValueError(f"f and its gradient must be finite at x0; got f(x0) = {f!r} and gradient {g}.")

"""The loop that every descent method shares: direction, line search, move, stopping rule.

The methods differ in one thing, the direction, so each of them is a `Rule`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from tercet.core.steps import Steps, history_table
from tercet.optimize.line_search import Ray, as_search
from tercet.optimize.objective import counted

REASONS = {  # why a loop ended well, as the result's message says it
    "gradient": "the gradient is smaller than tol",
    "value": "f changed by less than tol",
    "step": "x changed by less than tol",
    "precision": "f cannot be lowered any further in floating-point numbers",
    "cold": "the temperature has fallen to its end",
}
RULES = ("gradient", "value", "step")
PATIENCE = 8  # passes in a row that neither lower f nor shrink the gradient before the loop gives up
ABYSS = 1e20  # how many times its size at the start f may fall before it counts as unbounded
ENDS = {  # why a loop ended badly: the result's status and message
    "failed": (2, "The line search found no lower point: check the gradient, or scale the variables."),
    "diverged": (4, "f or its gradient is not finite any more: take a smaller step or a line search."),
    "unbounded": (5, "f seems to be unbounded below: it falls without end along the last direction."),
}
# An estimator's loop knows what its user can change; this is for one that stands alone.
alone = functools.partial(
    Steps, hint="Check the gradient, raise max_iter or tol, scale the variables, or try another method."
)


class Rule:
    """Where to go from x; steepest descent unless a method knows better."""

    def direction(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The direction p."""
        return -g

    def update(self, step: float, delta: np.ndarray, y: np.ndarray) -> None:
        """Learn from a move: δ is the change of x, y that of the gradient."""

    def guess(self, ray: Ray) -> float:
        """The first λ that the line search tries."""
        return 1.0

    def reset(self) -> bool:
        """Forget what was learned; False when there is nothing to forget."""
        return False

    def learned(self) -> dict[str, Any]:
        """What the result should show besides x."""
        return {}


class Stop:
    """The stopping rules of the texts: a small gradient, a small change of f, a small change of x.

    Parameters
    ----------
    tol : float
        What small means.
    stop : {"gradient", "value", "step"}, several of them, or dict
        The rules, of which any one is enough; a dict gives each its own tolerance.
    norm : {inf, 2}
        The norm of gradients and steps.
    """

    def __init__(self, tol: float, stop: Any = "gradient", norm: float = math.inf) -> None:
        names = [stop] if isinstance(stop, str) else list(stop)
        self.tol = dict(stop) if isinstance(stop, dict) else dict.fromkeys(names, tol)
        if not self.tol or not set(self.tol) <= set(RULES):
            raise ValueError(f"stop must be one or several of {', '.join(map(repr, RULES))}; got {stop!r}.")
        if norm not in (math.inf, 2):
            raise ValueError(f"norm must be inf or 2; got {norm!r}.")
        for value in self.tol.values():
            if not value >= 0:
                raise ValueError(f"tol must be a number in [0, inf); got {value!r}.")
        self.order = norm
        self.best = (math.inf, math.inf)
        self.waited = 0

    def size(self, v: np.ndarray) -> float:
        return float(np.abs(v).max(initial=0.0)) if self.order == math.inf else float(np.linalg.norm(v))

    def met(self, g_size: float, change: float = math.inf, step: float = math.inf) -> str | None:
        """The name of a rule that is met, or None."""
        for name, size in (("gradient", g_size), ("value", change), ("step", step)):
            if name in self.tol and size <= self.tol[name]:
                return name
        return None

    def stalled(self, fun: float, g_size: float, noise: float) -> bool:
        """Whether f and the gradient have stayed as low as they get for some passes."""
        low, small = self.best
        if abs(fun - low) <= noise and g_size >= 0.9 * small:
            self.waited += 1
        else:
            self.best, self.waited = (min(low, fun), min(small, g_size)), 0
        return self.waited >= PATIENCE


def descend(
    objective: Any,
    x0: Any,
    rule: Rule,
    *,
    line_search: Any,
    tol: float = 1e-6,
    max_iter: int = 1000,
    steps: Callable[..., Steps] | None = None,
    stop: Any = "gradient",
    norm: float = math.inf,
) -> OptimizeResult:
    """Go down from x0 along the directions of a rule; the options are those of `minimize`."""
    objective, rules, search = counted(objective), Stop(tol, stop, norm), as_search(line_search)
    x = start_of(x0)
    f, g = objective.value_and_gradient(x)
    check_start(f, g)
    abyss = f - ABYSS * (1 + abs(f))
    loop = (steps or alone)(max_iter)
    size, moves, reason = rules.size(g), 0, rules.met(rules.size(g))
    steep = size
    for step in loop:
        if reason is not None:  # x0 is good enough already
            step.report(x, fun=f, grad_norm=size, step=0.0)
            step.converged(True)
            break
        point = None
        while point is None:
            ray = Ray(objective, x, f, g, rule.direction(x, g))
            if ray.start.slope < 0 or not getattr(search, "descent", True):
                point = search(ray, rule.guess(ray))
            if point is None and not rule.reset():
                break
        if point is None:
            flat = -ray.start.slope <= 100 * ray.noise
            reason = "precision" if flat else "unbounded" if ray.lowest < abyss else "failed"
            step.report(x, fun=f, grad_norm=size, step=0.0)
            step.converged(reason == "precision")
            break
        delta, y, change = point.x - x, point.gradient - g, abs(f - point.fun)
        x, f, g, size = point.x, point.fun, point.gradient, rules.size(point.gradient)
        moves += 1
        step.report(x, fun=f, grad_norm=size, step=point.step)
        if not (math.isfinite(f) and math.isfinite(size)):
            reason = "unbounded" if ray.lowest < abyss else "diverged"
            break
        if f < abyss and size >= steep:  # deep down, and no flatter than at the start
            reason = "unbounded"
            break
        rule.update(point.step, delta, y)
        reason = rules.met(size, change, rules.size(delta))
        if reason is None and rules.stalled(f, size, ray.noise):
            reason = "precision"
        if step.converged(reason is not None):
            break
    return outcome(loop, reason, objective, x=x, fun=f, jac=g, grad_norm=size, nit=moves, **rule.learned())


def outcome(loop: Steps, reason: str | None, objective: Any, **found: Any) -> OptimizeResult:
    """The result of a loop that ended for a reason (None: it came to its last pass, or was stopped).

    Parameters
    ----------
    loop : Steps
        The loop.
    reason : str, optional
        A key of `REASONS` or `ENDS`.
    objective : Counted
        The objective, for its counts.
    **found
        What the result contains: x, fun, jac, nit ...
    """
    if reason in REASONS:
        status, message = 0, f"Converged: {REASONS[reason]}."
    elif reason in ENDS:
        status, message = ENDS[reason]
        loop.warn(f"stopped in pass {loop.count}: {message[0].lower()}{message.partition(':')[0][1:]}")
    elif loop.stopped:
        status, message = 3, "Stopped by a callback."
    else:
        status, message = 1, f"Not converged in max_iter={loop.limit} passes."
    counts = {name: getattr(objective, name, 0) for name in ("nfev", "njev", "nhev")}
    ending = {"status": status, "success": status == 0, "criterion": reason, "message": message}
    return OptimizeResult(**found, **counts, **ending, history=history_table([loop]))


def start_of(x0: Any) -> np.ndarray:
    """The start as a new float vector."""
    x = np.atleast_1d(np.array(x0, dtype=float))
    if x.ndim != 1 or not np.isfinite(x).all():
        raise ValueError(f"x0 must be a vector of finite numbers; got {x0!r}.")
    return x


def check_start(f: float, g: np.ndarray) -> None:
    """Refuse a start at which there is nothing to compare with."""
    if not (math.isfinite(f) and np.isfinite(g).all()):
        raise ValueError(f"f and its gradient must be finite at x0; got f(x0) = {f!r} and gradient {g}.")

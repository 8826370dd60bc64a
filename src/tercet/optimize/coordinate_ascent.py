"""Coordinate ascent (坐标上升): maximise a function over one variable after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from tercet.core.catalog import method
from tercet.core.steps import Steps
from tercet.optimize.descent import CONVERGED, initial_point, make_result, standalone_loop
from tercet.optimize.objective import as_objective

UNBOUNDED = 1e12  # a coordinate or f this large means that f is unbounded above


@method(
    zh="坐标上升",
    task="optimisation",
    model="f(x)",
    strategy="a maximum of f; the global one where f is concave and smooth",
    algorithms="one variable after the other is set to its best value, the others fixed",
    texts=["Machine Learning in Depth ch. 4, sec. 4.4.2"],
)
def coordinate_ascent(
    fun: Any,
    x0: Any,
    *,
    best: Callable[[np.ndarray, int], float] | None = None,
    bounds: Any = None,
    order: Callable[[int], np.ndarray] = np.arange,
    tol: float = 1e-8,
    max_iter: int = 1000,
    steps: Callable[..., Steps] | None = None,
    callback: Callable[[Steps], Any] | None = None,
) -> optimize.OptimizeResult:
    """Coordinate ascent: maximise a function over one variable at a time.

    f never falls. Where f is not smooth, or the feasible set no box, the search may stop at a point that is no
    maximum, but from which no single variable can be improved.

    Parameters
    ----------
    fun : callable or Objective
        f; no gradient is needed.
    x0 : array of shape (n,)
        The start.
    best : callable, optional
        The value of variable j that maximises f with the others fixed, as a function of (x, j), where it has a
        closed form. By default it is found by Brent's method.
    bounds : sequence of pairs (low, high), optional
        Limits of the variables; None or an infinite number where there is none.
    order : callable, default=np.arange
        From the number of variables to the order of a pass.
    tol : float, default=1e-8
        Stop when a pass changes no variable by more than this, relative to the variable or 1.
    max_iter : int, default=1000
        Maximum number of passes over all variables.
    steps : callable, optional
        Makes the loop (see `core.steps`).
    callback : callable, optional
        Called with the step after every pass; a true return value ends the loop.

    Returns
    -------
    OptimizeResult
        With `x`, `fun`, `nit`, `nfev`, `status`, `success`, `message`, the `criterion` that was met and `history`.

    Examples
    --------
    >>> f = lambda x: -(x[0] ** 2) - x[1] ** 2 + x[0] * x[1] + 3 * x[1]
    >>> coordinate_ascent(f, [0.0, 0.0]).x.round(6)
    array([1., 2.])
    >>> coordinate_ascent(f, [0.0, 0.0], bounds=[(None, 0.5), (None, None)]).x.round(6)
    array([0.5 , 1.75])
    """
    objective, x = as_objective(fun), initial_point(x0)
    low, high = _limits(bounds, x.size)
    x = np.clip(x, low, high)
    value = objective.value(x)
    if not math.isfinite(value):
        raise ValueError(f"f must be finite at x0; got f(x0) = {value!r}.")
    loop, reason = (
        (steps or standalone_loop)(max_iter, **({} if callback is None else {"watch": callback})),
        None,
    )
    for step in loop:
        before = x.copy()
        for j in order(x.size):
            new = best(x, j) if best is not None else _line_maximum(objective, x, j, low[j], high[j])
            trial = x.copy()
            trial[j] = min(max(float(new), low[j]), high[j])
            reached = objective.value(trial)
            if reached > value:
                x, value = trial, reached
        change = float((np.abs(x - before) / np.maximum(1.0, np.abs(x))).max())
        step.report(x, fun=value, change=change)
        if not (value < UNBOUNDED and np.abs(x).max() < UNBOUNDED):
            reason = "unbounded"
            break
        reason = "step" if change <= tol else None
        if step.converged(reason in CONVERGED):
            break
    result = make_result(loop, reason, objective, x=x, fun=value, nit=loop.count)
    if reason == "unbounded":
        result.message = "f seems to be unbounded above: it rises without end along a variable."
    return result


def _line_maximum(objective: Any, x: np.ndarray, j: int, low: float, high: float) -> float:
    """The value of variable j that maximises f, by Brent's method."""

    def negative(value: float) -> float:
        trial = x.copy()
        trial[j] = value
        with np.errstate(all="ignore"):
            f = objective.value(trial)
        return math.inf if math.isnan(f) else -f

    ends = (low, high) if math.isfinite(high - low) else _bracket(negative, x[j], low, high)
    inside = optimize.minimize_scalar(negative, bounds=ends, method="bounded", options={"xatol": 1e-10}).x
    return min([float(inside), *ends], key=negative)


def _bracket(
    negative: Callable[[float], float], start: float, low: float, high: float
) -> tuple[float, float]:
    """An interval around a minimum: steps that double while the function falls."""
    width, least = 1e-2 * max(1.0, abs(start)), negative(start)
    sides = [max(low, start - width), min(high, start + width)]
    falls = [negative(side) < least for side in sides]
    if not any(falls):
        return sides[0], sides[1]
    direction, before, here = (1.0 if falls[1] else -1.0), start, sides[int(falls[1])]
    while True:
        width *= 2
        following = min(max(here + direction * width, low), high)
        if following == here or abs(here) > UNBOUNDED or negative(following) >= negative(here):
            return min(before, following), max(before, following)
        before, here = here, following


def _limits(bounds: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = [(None, None)] * n if bounds is None else list(bounds)
    if len(pairs) != n or not all(len(pair) == 2 for pair in pairs):
        raise ValueError(f"bounds must be {n} pairs (low, high), one for each variable; got {bounds!r}.")
    low, high = (np.array([end if value is None else value for value in ends], dtype=float)
                 for ends, end in zip(zip(*pairs), (-math.inf, math.inf)))  # fmt: skip
    if not (low <= high).all():
        raise ValueError(f"bounds must be pairs with low <= high; got {bounds!r}.")
    return low, high

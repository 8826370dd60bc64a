"""Line searches (一维搜索): the step size along a direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, brentq

from tercet.core.catalog import method as card
from tercet.optimize.objective import CountedObjective, as_objective

EPS = float(np.finfo(np.float64).eps)


class RayPoint(NamedTuple):
    """Point on a ray: λ, x + λp, and there f, its gradient and the directional derivative g·p.

    Examples
    --------
    >>> from tercet.optimize import Armijo, Ray
    >>> from tercet.optimize.objective import CountedObjective, as_objective
    >>> square = CountedObjective(as_objective(lambda x: x @ x, lambda x: 2 * x))
    >>> x = np.array([3.0])
    >>> point = Ray(square, x, 9.0, 2 * x, -2 * x).at(0.25)
    >>> point.x.tolist(), point.fun, point.slope
    ([1.5], 2.25, -18.0)
    """

    step: float
    x: np.ndarray
    fun: float
    gradient: np.ndarray
    slope: float


class Ray:
    """The function φ(λ) = f(x + λp), λ >= 0, of a line search.

    Examples
    --------
    >>> from tercet.optimize.objective import CountedObjective, as_objective
    >>> square = CountedObjective(as_objective(lambda x: x @ x, lambda x: 2 * x))
    >>> x = np.array([3.0])
    >>> ray = Ray(square, x, 9.0, 2 * x, -2 * x)  # from 3 along the steepest descent
    >>> ray.value(0.5), ray.at(0.25).slope
    (0.0, -18.0)
    """

    def __init__(
        self, objective: CountedObjective, x: np.ndarray, fun: float, gradient: np.ndarray, p: np.ndarray
    ) -> None:
        self.objective, self.p = objective, p
        self.start = RayPoint(0.0, x, fun, gradient, float(gradient @ p))
        self.lowest = fun  # the lowest value so far
        # Differences of f below this are rounding errors.
        self.noise = 4 * objective.precision * abs(fun)

    def at(self, step: float) -> RayPoint:
        """The point x + λp, with its gradient."""
        x = self.start.x + step * self.p
        with np.errstate(over="ignore", invalid="ignore"):  # trial steps may overflow; the searches check
            fun, gradient = self.objective.value_and_gradient(x)
            self.lowest = min(self.lowest, fun)
            return RayPoint(step, x, fun, gradient, float(gradient @ self.p))

    def value(self, step: float) -> float:
        """φ(λ), without the gradient."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.objective.value(self.start.x + step * self.p)


@dataclass(frozen=True)
class Fixed:
    """Fixed step: f may increase, and p need not be a descent direction.

    Examples
    --------
    >>> from tercet.optimize import gradient_descent
    >>> found = gradient_descent(lambda x: x @ x, [3.0], jac=lambda x: 2 * x, line_search=Fixed(0.25))
    >>> found.x.round(4).tolist()
    [0.0]
    """

    step: float = 1.0
    descent: ClassVar[bool] = False

    def __call__(self, ray: Ray, guess: float = 1.0) -> RayPoint | None:
        return ray.at(self.step)


@dataclass(frozen=True)
class Armijo:
    """Backtracking until Armijo's sufficient decrease condition holds.

    The next trial is the minimiser of the interpolating parabola, kept within [0.1 λ, 0.5 λ]. A point whose
    f differs from the start by rounding only is accepted if its slope is flatter.

    Examples
    --------
    >>> from tercet.optimize import gradient_descent
    >>> found = gradient_descent(lambda x: x @ x, [3.0], jac=lambda x: 2 * x, line_search=Armijo())
    >>> found.x.round(4).tolist()
    [0.0]
    """

    c1: float = 1e-4
    max_trials: int = 60
    descent: ClassVar[bool] = True

    def __call__(self, ray: Ray, guess: float = 1.0) -> RayPoint | None:
        step, f, slope = guess, ray.start.fun, ray.start.slope
        for _ in range(self.max_trials):
            here = ray.at(step)
            flat = abs(here.fun - f) <= ray.noise and abs(here.slope) <= 0.9 * abs(slope)
            if flat or (here.fun < f and here.fun <= f + self.c1 * step * slope):
                return here
            if math.isfinite(here.fun):
                parabola = -slope * step**2 / (2 * (here.fun - f - slope * step))
                step = min(max(parabola, 0.1 * step), 0.5 * step)
            else:
                step *= 0.1
        return None


@dataclass(frozen=True)
class Wolfe:
    """Wolfe conditions: sufficient decrease (c1) and curvature (c2).

    The strong curvature condition bounds the slope on both sides. Where f has kinks, as the loss of a network with
    ReLU units, there may be no λ with such a slope; the weak condition only asks that f no longer falls steeply,
    which some λ always meets.

    Where f differs by rounding only, the decrease is judged by the slopes alone (the approximate Wolfe condition
    of Hager and Zhang), so that a search close to a minimum does not fail on rounding errors.

    Examples
    --------
    >>> from tercet.optimize import gradient_descent
    >>> found = gradient_descent(lambda x: x @ x, [3.0], jac=lambda x: 2 * x, line_search=Wolfe())
    >>> found.x.round(4).tolist()
    [0.0]
    """

    c1: float = 1e-4
    c2: float = 0.9
    max_trials: int = 40
    strong: bool = True
    descent: ClassVar[bool] = True

    def __call__(self, ray: Ray, guess: float = 1.0) -> RayPoint | None:
        start = low = ray.start  # an acceptable λ lies between low, the best so far, and high
        high: RayPoint | None = None
        step = guess
        width = math.inf
        for _ in range(self.max_trials):
            here = ray.at(step)
            if self._too_high(here, low, ray):
                high = here
            else:
                if (abs(here.slope) if self.strong else -here.slope) <= -self.c2 * start.slope:
                    return here
                if (here.slope >= 0) if high is None else (here.slope * (high.step - low.step) >= 0):
                    high = low
                low, before = here, low
            if high is None:
                step = _extrapolate(before, low)
                continue
            shrunk = abs(high.step - low.step)
            if shrunk <= EPS * max(low.step, high.step):
                break
            step = (low.step + high.step) / 2 if shrunk > 0.66 * width else _interpolate(low, high)
            width = shrunk
        return low if low.fun < start.fun - ray.noise else None

    def _too_high(self, here: RayPoint, low: RayPoint, ray: Ray) -> bool:
        start = ray.start
        if not (math.isfinite(here.fun) and math.isfinite(here.slope)):
            return True
        falls = here.fun < (low if self.strong else start).fun
        if falls and here.fun <= start.fun + self.c1 * here.step * start.slope:
            return False
        flat = abs(here.fun - start.fun) <= ray.noise
        return not (flat and here.slope <= (2 * self.c1 - 1) * start.slope)


@dataclass(frozen=True)
class Exact:
    """Exact line search: the minimum of f along the ray, to machine precision.

    An objective with `exact_step` has it in closed form. Otherwise the first interval in which the slope changes
    sign is bracketed by doubling λ, and its zero found by Brent's method: the minimum of a convex f, a local
    minimum of another. `scan=True` also evaluates a grid of λ, from a thousandth to ten thousand times the first
    minimum, and refines the best.

    Examples
    --------
    >>> from tercet.optimize import gradient_descent
    >>> found = gradient_descent(lambda x: x @ x, [3.0], jac=lambda x: 2 * x, line_search=Exact())
    >>> found.x.round(4).tolist()
    [0.0]
    """

    scan: bool = False
    descent: ClassVar[bool] = True

    def __call__(self, ray: Ray, guess: float = 1.0) -> RayPoint | None:
        if ray.objective.exact_step is not None:
            step = ray.objective.exact_step(ray.start.x, ray.p)
            return ray.at(step) if math.isfinite(step) and step > 0 else None
        found = self._first_minimum(ray, guess)
        return self._scan(ray, found) if self.scan and found is not None else found

    def _first_minimum(self, ray: Ray, guess: float) -> RayPoint | None:
        left, right = 0.0, guess
        for _ in range(200):
            here = ray.at(right)
            if (
                not math.isfinite(here.fun)
                or not math.isfinite(here.slope)
                or here.fun > ray.start.fun + ray.noise
            ):
                right = left + (right - left) / 8
                if right - left <= EPS * right or right < 1e-300:
                    return None
            elif here.slope < 0:
                left, right = right, max(2 * right, right + 2 * (right - left))
                if right > 1e300:
                    return None
            else:
                found = _zero_slope(ray, left, right)
                if found.fun <= ray.start.fun + ray.noise:
                    return found
                right = found.step
        return None

    def _scan(self, ray: Ray, found: RayPoint) -> RayPoint:
        grid = found.step * np.geomspace(1e-3, 1e4, 211)
        values = np.array([ray.value(step) for step in grid])
        values[~np.isfinite(values)] = np.inf
        k = int(np.argmin(values))
        if values[k] >= found.fun or k == 0:
            return found
        left, right = grid[k - 1], grid[min(k + 1, grid.size - 1)]
        if not ray.at(left).slope < 0 <= ray.at(right).slope:
            return ray.at(grid[k])
        refined = _zero_slope(ray, left, right)
        return refined if refined.fun < found.fun else found


def _zero_slope(ray: Ray, left: float, right: float) -> RayPoint:
    """The λ with slope zero between left (negative slope) and right (positive slope)."""
    seen: dict[float, RayPoint] = {}

    def slope(step: float) -> float:
        seen[step] = ray.start if step == 0 else ray.at(step)
        return seen[step].slope

    root = brentq(slope, left, right, xtol=4 * EPS * right, rtol=4 * EPS, maxiter=200)
    return seen[root] if root in seen else ray.at(root)


def _extrapolate(before: RayPoint, here: RayPoint) -> float:
    """A longer λ while f still decreases: the secant step, within [2.1, 5] times the last increment."""
    gap = here.step - before.step
    curvature = here.slope - before.slope
    secant = here.step - here.slope * gap / curvature if curvature > 0 else math.inf
    return min(max(secant, here.step + 1.1 * gap), here.step + 4 * gap)


def _interpolate(low: RayPoint, high: RayPoint) -> float:
    """Minimiser of the cubic through two points with their slopes, kept away from both ends."""
    gap = high.step - low.step
    inside = (low.step + 0.1 * gap, low.step + 0.9 * gap)
    step = math.nan
    if math.isfinite(high.fun) and math.isfinite(high.slope):
        d1 = low.slope + high.slope - 3 * (low.fun - high.fun) / (low.step - high.step)
        root = d1 * d1 - low.slope * high.slope  # infinite where d1**2 would be an error
        if root >= 0:
            d2 = math.copysign(math.sqrt(root), gap)
            below = high.slope - low.slope + 2 * d2
            step = high.step - gap * (high.slope + d2 - d1) / below if below else math.nan
    if not math.isfinite(step):
        return low.step + gap * (0.5 if math.isfinite(high.fun) else 0.1)
    return min(max(step, min(inside)), max(inside))


LineSearch = Callable[[Ray, float], RayPoint | None]
SEARCHES: dict[str, LineSearch] = {
    "fixed": Fixed(),
    "armijo": Armijo(),
    "wolfe": Wolfe(),
    "weak-wolfe": Wolfe(strong=False),
    "exact": Exact(),
    "exact-global": Exact(scan=True),
}


def as_line_search(choice: Any) -> LineSearch:
    """The line search of a name, a fixed step or a callable."""
    if isinstance(choice, str) and choice in SEARCHES:
        return SEARCHES[choice]
    if isinstance(choice, (int, float)) and not isinstance(choice, bool) and choice > 0:
        return Fixed(float(choice))
    if callable(choice):
        return choice
    raise ValueError(
        f"line_search must be one of {', '.join(map(repr, SEARCHES))}, a positive number (a fixed step) "
        f"or a callable; got {choice!r}."
    )


@card(
    zh="一维搜索",
    task="optimisation",
    model="φ(λ) = f(x + λp), λ >= 0",
    strategy="minimise φ, or decrease it sufficiently",
    algorithms={
        "exact": "zero of the slope by Brent's method; closed form for a quadratic",
        "exact-global": "the same, after a scan of the ray",
        "wolfe": "strong Wolfe conditions",
        "weak-wolfe": "weak Wolfe conditions, for f with kinks",
        "armijo": "backtracking",
        "fixed": "the step that is given",
    },
    texts=["Li app. A, Eq A.3, A.4", "Li app. B, Alg B.2, B.3"],
    peers=["scipy.optimize.line_search"],
)
def line_search(
    fun: Any, x: Any, p: Any, *, jac: Any = None, method: Any = "exact", guess: float = 1.0
) -> OptimizeResult:
    """Line search: a λ >= 0 that minimises f(x + λp) or decreases it sufficiently.

    Parameters
    ----------
    fun, jac : callable or Objective, callable
        f and its gradient, as in `minimize`.
    x, p : array of shape (n,)
        The start and a descent direction.
    method : {"exact", "exact-global", "wolfe", "weak-wolfe", "armijo"}, float or callable, default="exact"
        The search. "exact" gives the first minimum along p, "exact-global" the lowest on a grid.
    guess : float, default=1.0
        The first λ to try.

    Returns
    -------
    OptimizeResult
        With `step` (λ), `x`, `fun`, `jac`, `nfev`, `njev` and `success`.

    Examples
    --------
    >>> found = line_search(lambda x: float(x @ x), [2.0, 0.0], [-1.0, 0.0])
    >>> round(found.step, 6)
    2.0
    """
    objective = as_objective(fun, jac)
    x, p = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (x, p))
    search = as_line_search(method)
    ray = Ray(objective, x, *objective.value_and_gradient(x), p)
    if getattr(search, "descent", True) and not ray.start.slope < 0:
        raise ValueError(f"p must be a descent direction; its slope g·p is {ray.start.slope:.6g}.")
    point = search(ray, guess)
    found = ray.start if point is None else point
    return OptimizeResult(
        step=found.step,
        x=found.x,
        fun=found.fun,
        jac=found.gradient,
        nfev=objective.nfev,
        njev=objective.njev,
        success=point is not None,
    )

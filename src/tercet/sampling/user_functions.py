"""Functions and distributions that users bring: plain or vectorised, ours or scipy's, evaluated at many points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

LOG_DENSITIES = ("logpdf", "logpmf")
DENSITIES = ("pdf", "pmf")


class PointFunction:
    """A function of one point, or of an array of points, evaluated at many points.

    The first call finds out which: an array of points is tried, and the first and the last result are compared with
    those of single points. A function that only takes one point is called for each.

    Parameters
    ----------
    f : callable
        The function.
    name : str
        What to call it in errors.

    Examples
    --------
    >>> import math
    >>> PointFunction(math.exp, "f")(np.array([0.0, 1.0])).round(4)
    array([1.    , 2.7183])
    """

    def __init__(self, f: Callable[[Any], Any], name: str) -> None:
        if not callable(f):
            raise ValueError(f"{name} must be a function; got {f!r}.")
        self.f, self.name = f, name
        self.vectorised: bool | None = None

    def __call__(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):  # log(0) is a fine log density; what is not a number is found below
            if self.vectorised is None and len(x) > 1:
                self.vectorised, values = self._try_array(x)
                if self.vectorised:
                    return values
            if self.vectorised:
                return self._real(self.f(x))
            values = np.array([self._real(self.f(point)) for point in x])
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    def _real(self, values: Any) -> np.ndarray:
        if np.iscomplexobj(values):
            raise ValueError(f"{self.name} must give real numbers; got {np.ravel(values)[0]}.")
        return np.asarray(values, dtype=float)

    def _try_array(self, x: np.ndarray) -> tuple[bool, Any]:
        try:
            values = self._real(self.f(x))
        except Exception:  # whatever a function of one point says to an array
            return False, None
        if values.ndim == 0 or len(values) != len(x):
            return False, None
        try:
            alone = [np.ravel(self._real(self.f(x[i]))) for i in (0, -1)]
        except Exception:  # a function of arrays only
            return True, values
        same = all(
            one.size == values[i].size
            and np.allclose(one, np.ravel(values[i]), rtol=1e-9, atol=0, equal_nan=True)
            for one, i in zip(alone, (0, -1))
        )
        return same, values


def finite_values(f: PointFunction, x: np.ndarray) -> np.ndarray:
    """Values of f at the points, shape (n,) or (n, k); or an error that names the point."""
    values = f(x)
    if values.ndim not in (1, 2) or len(values) != len(x):
        raise ValueError(
            f"{f.name} must give a number (or a vector) for each point; got shape {values.shape}."
        )
    bad = ~np.isfinite(values if values.ndim == 1 else values.sum(axis=1))
    if bad.any():
        raise ValueError(f"{f.name} must be finite; got {values[bad][0]} at x = {x[bad][0]}.")
    return values


def log_density(p: Any, name: str, log: bool = False) -> Callable[[np.ndarray], np.ndarray]:
    """x -> log p(x) with checks, of a distribution (ours, or scipy's) or a function of a point.

    Parameters
    ----------
    p : distribution or callable
        With `logpdf`, `logpmf`, `pdf` or `pmf`; or a function that gives a density, not
        necessarily normalised.
    name : str
        What to call it in errors.
    log : bool, default=False
        Whether a function gives the log of the density.
    """
    given = next((m for m in (*LOG_DENSITIES, *DENSITIES) if hasattr(p, m)), None)
    f, log = PointFunction(p if given is None else getattr(p, given), name), log and given is None
    log = log or given in LOG_DENSITIES

    def values(x: np.ndarray) -> np.ndarray:
        found = f(x)
        if found.shape != (len(x),):
            raise ValueError(
                f"{name} must give one number for each point; got shape {found.shape[1:]} for one."
            )
        bad = ~(found < np.inf) if log else ~((found >= 0) & (found < np.inf))
        if bad.any():
            rule = "a log density, below infinity" if log else "a density, at least 0 and finite"
            raise ValueError(f"{name} must give {rule}; got {found[bad][0]} at x = {x[bad][0]}.")
        if log:
            return found
        with np.errstate(divide="ignore"):
            return np.log(found)

    return values


def sampler(q: Any, name: str) -> Callable[[int, np.random.Generator], np.ndarray]:
    """(size, rng) -> draws, of a distribution (ours, or scipy's) or a function of both.

    Parameters
    ----------
    q : distribution or callable
        With `sample(size, random_state)` or `rvs(size=, random_state=)`; or `draw(size, rng)`.
    name : str
        What to call it in errors.
    """

    def draw(size: int, rng: np.random.Generator) -> Any:
        if hasattr(q, "sample"):
            return q.sample(size, rng)
        return q.rvs(size=size, random_state=rng) if hasattr(q, "rvs") else q(size, rng)

    if not (hasattr(q, "sample") or hasattr(q, "rvs") or callable(q)):
        raise ValueError(f"{name} must be a distribution or a function draw(size, rng); got {q!r}.")

    def checked(size: int, rng: np.random.Generator) -> np.ndarray:
        x = np.asarray(draw(size, rng))
        if x.ndim not in (1, 2) or len(x) != size:
            raise ValueError(f"{name} must draw {size} points, along the first axis; got shape {x.shape}.")
        return x

    return checked


def proposal(q: Any, name: str, log: bool = False) -> tuple[Callable, Callable]:
    """Sampler and log density of a proposal: a distribution, or a pair (draw, density)."""
    if isinstance(q, tuple | list):
        if len(q) != 2:
            raise ValueError(f"{name} must be a distribution or a pair (draw, density); got {len(q)} things.")
        return sampler(q[0], f"{name}[0]"), log_density(q[1], f"{name}[1]", log)
    if callable(q) and not hasattr(q, "sample") and not hasattr(q, "rvs"):
        raise ValueError(
            f"{name} must be drawn from, too: give a distribution or a pair (draw, density); got {q!r}."
        )
    return sampler(q, name), log_density(q, name)


def positive_count(n: Any, name: str, least: int = 1) -> int:
    """A whole number that is at least `least`, or an error."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < least:
        raise ValueError(f"{name} must be a whole number, at least {least}; got {n!r}.")
    return int(n)

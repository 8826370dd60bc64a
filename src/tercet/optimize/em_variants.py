"""M steps of the EM variants (hard EM, GEM algorithms 1 to 3) and SQUAREM acceleration."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

REQUIRED_METHODS = {  # of the model, besides `expect` and `maximise`
    "em": (),
    "hard": ("expect_best",),
    "gem1": ("q",),
    "gem2": ("q", "pack", "unpack"),
    "gem3": ("parts", "maximise_part"),
}
VARIANTS = tuple(REQUIRED_METHODS)
MAX_HALVINGS = 60  # of a gradient step on Q, after which it is below the resolution of theta


def m_step_of(model: Any, variant: str) -> Callable[[Any, Any], Any]:
    """The M step of a variant, a function of (statistics, theta)."""
    if variant not in REQUIRED_METHODS:
        raise ValueError(f"variant must be one of {', '.join(map(repr, VARIANTS))}; got {variant!r}.")
    require(model, f"variant={variant!r}", *REQUIRED_METHODS[variant])
    if variant == "gem3" and not model.parts:
        raise ValueError(
            f"EM: variant='gem3' maximises Q over one part of theta after the other, but {type(model).__name__} "
            "has parts=0: give the M steps of its parts (EnumerableModel(..., parts=[...])), or use variant='em'."
        )
    if variant == "gem2":
        return GradientMStep(model)
    if variant == "gem3":
        return lambda statistics, theta: maximise_blocks(model, statistics, theta)
    return lambda statistics, theta: model.maximise(statistics, theta)


def require(model: Any, who: str, *names: str) -> None:
    """Raise if the model lacks methods that an option needs."""
    missing = [name for name in names if not hasattr(model, name)]
    if missing:
        raise ValueError(f"EM: {who} needs {', '.join(missing)} of the model, {type(model).__name__}.")


def maximise_blocks(model: Any, statistics: Any, theta: Any) -> Any:
    """GEM algorithm 3 (Algorithm 9.5): block coordinate ascent on Q, one block of theta after the other."""
    for k in range(model.parts):
        theta = model.maximise_part(k, statistics, theta)
    return theta


class GradientMStep:
    """GEM algorithm 2 (Algorithm 9.4): a gradient step on Q with backtracking.

    The first trial is twice as long as the last accepted step.
    """

    def __init__(self, model: Any) -> None:
        self.model, self.step_size = model, 0.5

    def __call__(self, statistics: Any, theta: Any) -> Any:
        model = self.model
        x, q = model.pack(theta), model.q(statistics, theta) + model.log_prior(theta)
        gradient = (
            model.gradient(statistics, theta)
            if hasattr(model, "gradient")
            else central_differences(lambda v: _penalised_q(model, statistics, v), x)
        )
        step_size, square = 2 * self.step_size, float(gradient @ gradient)
        for _ in range(MAX_HALVINGS):  # Armijo's condition
            if _penalised_q(model, statistics, x + step_size * gradient) > q + 1e-4 * step_size * square:
                self.step_size = step_size
                return model.unpack(x + step_size * gradient)
            step_size /= 2
        return theta  # no step increases Q


def _penalised_q(model: Any, statistics: Any, x: np.ndarray) -> float:
    """Q + log-prior at a packed theta; -inf at a vector that is not one."""
    try:
        theta = model.unpack(x)
        with np.errstate(all="ignore"):
            value = float(model.q(statistics, theta) + model.log_prior(theta))
    except ValueError:
        return -math.inf
    return -math.inf if math.isnan(value) else value


def central_differences(function: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    """Gradient by central differences; 0 in a coordinate where a neighbour is not a valid theta."""
    gradient = np.zeros(x.size)
    for j in range(x.size):
        h = 6e-6 * max(1.0, abs(x[j]))
        up, down = x.copy(), x.copy()
        up[j], down[j] = x[j] + h, x[j] - h
        slope = (function(up) - function(down)) / (up[j] - down[j])
        gradient[j] = slope if math.isfinite(slope) else 0.0
    return gradient


class Squarem:
    """Squared extrapolation of EM (SQUAREM, Varadhan and Roland 2008).

    Two EM steps lead from θ0 to θ1 and θ2. With r = θ1 - θ0, v = (θ2 - θ1) - r and α = -|r| / |v|, the
    extrapolation is θ0 - 2αr + α²v; α = -1 is θ2 itself. The bound on |α| grows when it is reached and the
    extrapolation is accepted, and shrinks when one is rejected.

    Attributes
    ----------
    pending : whether theta is an extrapolation whose objective has not been checked yet.
    """

    def __init__(self, model: Any) -> None:
        require(model, "accelerate=True", "pack", "unpack")
        self.model, self.max_step = model, 4.0
        self.points: list[np.ndarray] = []
        self.pending = self.at_limit = False
        self.unaccelerated: Any = None  # where EM itself went

    def extrapolate(self, theta: Any, new: Any) -> Any:
        """The next theta after an EM step from theta to `new`."""
        if self.pending:  # the last extrapolation was accepted
            self.pending = False
            self.max_step = min(4 * self.max_step, 1e6) if self.at_limit else self.max_step
        if not self.points:
            self.points = [self.model.pack(theta)]
        self.points.append(self.model.pack(new))
        if len(self.points) < 3:
            return new
        start, middle, end = self.points
        self.points = []
        r, v = middle - start, (end - middle) - (middle - start)
        size = float(np.linalg.norm(v))
        alpha = -min(max(float(np.linalg.norm(r)) / size, 1.0), self.max_step) if size > 0 else -1.0
        if alpha == -1.0:
            return new
        self.at_limit = alpha == -self.max_step
        try:
            extrapolated = self.model.unpack(start - 2 * alpha * r + alpha**2 * v)
        except ValueError:
            self.max_step = max(self.max_step / 4, 2.0)
            return new
        self.pending, self.unaccelerated = True, new
        return extrapolated

    def undo(self) -> Any:
        """Where EM itself went, in place of an extrapolation that lowered the objective."""
        self.pending, self.points = False, []
        self.max_step = max(self.max_step / 4, 2.0)
        return self.unaccelerated


def q_increase(model: Any, statistics: Any, old: Any, new: Any) -> float:
    """Q(new) - Q(old), log-priors included."""
    require(model, "a stopping rule or variant with Q", "q")
    gain = model.q(statistics, new) - model.q(statistics, old)
    return float(gain + model.log_prior(new) - model.log_prior(old))


def parameter_vector(model: Any, theta: Any) -> np.ndarray:
    """Theta as a vector: packed by the model, or the numbers in arrays, dicts and tuples concatenated."""
    if hasattr(model, "pack"):
        return np.asarray(model.pack(theta), dtype=np.float64)
    if isinstance(theta, dict):
        theta = tuple(theta.values())
    if isinstance(theta, tuple | list):
        return np.concatenate([parameter_vector(None, part) for part in theta]) if theta else np.empty(0)
    return np.asarray(theta, dtype=np.float64).ravel()

"""The M steps of EM's variants, and leaps ahead."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

NEEDS = {  # what a variant asks of the model besides the two steps
    "em": (),
    "hard": ("expect_best",),
    "gem1": ("q",),
    "gem2": ("q", "pack", "unpack"),
    "gem3": ("parts", "maximise_part"),
}
VARIANTS = tuple(NEEDS)
HALVINGS = 60  # of a step on Q before it counts as zero: it has then lost all its digits


def move(model: Any, variant: str) -> Callable[[Any, Any], Any]:
    """The M step of a variant: a function of the statistics and theta."""
    if variant not in NEEDS:
        raise ValueError(f"variant must be one of {', '.join(map(repr, VARIANTS))}; got {variant!r}.")
    require(model, f"variant={variant!r}", *NEEDS[variant])
    if variant == "gem2":
        return Ascent(model)
    if variant == "gem3":
        return lambda statistics, theta: by_parts(model, statistics, theta)
    return lambda statistics, theta: model.maximise(statistics, theta)


def require(model: Any, who: str, *names: str) -> None:
    """Refuse a model that has not what an option asks of it."""
    missing = [name for name in names if not hasattr(model, name)]
    if missing:
        raise ValueError(f"EM: {who} needs {', '.join(missing)} of the model, {type(model).__name__}.")


def by_parts(model: Any, statistics: Any, theta: Any) -> Any:
    """Algorithm 9.5: Q is maximised over one part of theta at a time, with the newest values of the others."""
    for k in range(model.parts):
        theta = model.maximise_part(k, statistics, theta)
    return theta


class Ascent:
    """Algorithm 9.4: a step up Q, halved until Q rises. It begins at twice the length of the last one."""

    def __init__(self, model: Any) -> None:
        self.model, self.length = model, 0.5

    def __call__(self, statistics: Any, theta: Any) -> Any:
        model = self.model
        x, q = model.pack(theta), model.q(statistics, theta) + model.log_prior(theta)
        slope = (
            model.gradient(statistics, theta)
            if hasattr(model, "gradient")
            else differences(lambda v: _height(model, statistics, v), x)
        )
        length, steep = 2 * self.length, float(slope @ slope)
        for _ in range(HALVINGS):
            if _height(model, statistics, x + length * slope) > q + 1e-4 * length * steep:
                self.length = length
                return model.unpack(x + length * slope)
            length /= 2
        return theta  # as high as it gets


def _height(model: Any, statistics: Any, x: np.ndarray) -> float:
    """Q + log-prior at a packed theta; -inf where there is none."""
    try:
        theta = model.unpack(x)
        with np.errstate(all="ignore"):
            value = float(model.q(statistics, theta) + model.log_prior(theta))
    except ValueError:
        return -math.inf
    return -math.inf if math.isnan(value) else value


def differences(height: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    """A gradient by central differences; 0 in a direction in which a neighbour is not allowed."""
    slope = np.zeros(x.size)
    for j in range(x.size):
        h = 6e-6 * max(1.0, abs(x[j]))
        up, down = x.copy(), x.copy()
        up[j], down[j] = x[j] + h, x[j] - h
        rise = (height(up) - height(down)) / (up[j] - down[j])
        slope[j] = rise if math.isfinite(rise) else 0.0
    return slope


class Squarem:
    """Squared extrapolation (SQUAREM): leaps along the line that two EM steps suggest.

    From θ0 EM goes to θ1 and θ2. With r = θ1 - θ0, v = (θ2 - θ1) - r and α = -|r| / |v|, the leap goes to
    θ0 - 2αr + α²v; α = -1 is θ2 itself. The longest leap grows where it proves good and shrinks where not.
    """

    def __init__(self, model: Any) -> None:
        require(model, "accelerate=True", "pack", "unpack")
        self.model, self.longest = model, 4.0
        self.points: list[np.ndarray] = []
        self.pending = self.at_limit = False
        self.plain: Any = None

    def ahead(self, theta: Any, following: Any) -> Any:
        """Where to go on after a pass from theta to `following`."""
        if self.pending:  # the last leap held
            self.pending = False
            self.longest = min(4 * self.longest, 1e6) if self.at_limit else self.longest
        if not self.points:
            self.points = [self.model.pack(theta)]
        self.points.append(self.model.pack(following))
        if len(self.points) < 3:
            return following
        start, middle, end = self.points
        self.points = []
        r, v = middle - start, (end - middle) - (middle - start)
        size = float(np.linalg.norm(v))
        alpha = -min(max(float(np.linalg.norm(r)) / size, 1.0), self.longest) if size > 0 else -1.0
        if alpha == -1.0:
            return following
        self.at_limit = alpha == -self.longest
        try:
            leapt = self.model.unpack(start - 2 * alpha * r + alpha**2 * v)
        except ValueError:
            self.longest = max(self.longest / 4, 2.0)
            return following
        self.pending, self.plain = True, following
        return leapt

    def back(self) -> Any:
        """Where EM itself would have gone; for a leap that led down."""
        self.pending, self.points = False, []
        self.longest = max(self.longest / 4, 2.0)
        return self.plain


def rise(model: Any, statistics: Any, old: Any, new: Any) -> float:
    """Q(new) - Q(old), with the prior's share."""
    require(model, "a stopping rule or variant with Q", "q")
    gain = model.q(statistics, new) - model.q(statistics, old)
    return float(gain + model.log_prior(new) - model.log_prior(old))


def flat(model: Any, theta: Any) -> np.ndarray:
    """Theta as a vector: as the model packs it, or the numbers of arrays, dicts and tuples in their order."""
    if hasattr(model, "pack"):
        return np.asarray(model.pack(theta), dtype=np.float64)
    if isinstance(theta, dict):
        theta = tuple(theta.values())
    if isinstance(theta, tuple | list):
        return np.concatenate([flat(None, part) for part in theta]) if theta else np.empty(0)
    return np.asarray(theta, dtype=np.float64).ravel()

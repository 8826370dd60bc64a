"""Bridge penalties: sums of powers of the coefficients, and their limit L0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method
from tercet.core.functions import as_float, monotone_root, require
from tercet.penalties.base import Penalty, hard_threshold


@method(
    zh="L0 正则化",
    task="penalty",
    model="J(w) = the number of w_j ≠ 0",
    strategy="the fewest features; not convex",
    texts=["watermelon notes ch. 10, 10.4", "Pattern Recognition ch. 5, eq. 5-108"],
)
@dataclass(frozen=True, eq=False)
class L0(Penalty):
    """Number of non-zero coordinates.

    Its gradient is 0 wherever it exists. It is bounded, so that its conjugate is that of no penalty.

    Examples
    --------
    >>> L0(strength=0.6).prox([3.0, -0.4, 1.0], step=0.5)
    array([3., 0., 1.])
    """

    def value(self, w: ArrayLike) -> float:
        w = as_float(w)
        return float(np.sum(self._scale(w) * (w != 0)))

    def gradient(self, w: ArrayLike) -> np.ndarray:
        return np.zeros_like(as_float(w))

    def prox(self, w: ArrayLike, step: ArrayLike = 1.0) -> np.ndarray:
        w = as_float(w)
        return hard_threshold(w, np.sqrt(2.0 * np.asarray(step, dtype=w.dtype) * self._scale(w)))

    def conjugate(self, z: ArrayLike) -> float:
        return np.inf if np.any(np.asarray(z)) else 0.0


@method(
    zh="Lq 正则化",
    task="penalty",
    model="J(w) = Σ|w_j|^q, or its q-th root",
    strategy="sparse for q ≤ 1, convex for q ≥ 1",
    texts=["Pattern Recognition ch. 5, eq. 5-111"],
    peers=["skglm.penalties.L0_5"],
)
@dataclass(frozen=True, eq=False)
class Lq(Penalty):
    """Bridge penalty sum abs(w)^q for any q > 0.

    With ``root=True`` it is the q-th root of the sum, as the text prints it: from q = 1 up a norm. It is then
    no sum over coordinates and has no proximal step here.

    Examples
    --------
    >>> Lq(strength=0.6, q=0.5).prox([3.0, -0.4, 1.0], step=0.5).round(4)
    array([2.9121, 0.    , 0.8359])
    """

    q: float = 0.5
    root: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, "q", self.q, 0 < self.q < np.inf, "be finite and above 0")
        object.__setattr__(self, "q", float(self.q))

    def _parts(self, w: np.ndarray) -> tuple[Any, np.ndarray, float]:
        """Weights, absolute values with 0 replaced by 1 (for negative powers), and the weighted sum of powers."""
        weights = 1.0 if self.weights is None else np.asarray(self.weights, dtype=w.dtype)
        size = np.abs(w)
        return weights, np.where(size > 0, size, w.dtype.type(1.0)), float(np.sum(weights * size**self.q))

    def _outer_derivative(self, total: float) -> float:
        """Derivative of strength total^(1/q), or of strength total."""
        if not self.root:
            return self.strength
        return self.strength * total ** (1.0 / self.q - 1.0) / self.q if total > 0 else 0.0

    def value(self, w: ArrayLike) -> float:
        total = self._parts(as_float(w))[2]
        return self.strength * (total ** (1.0 / self.q) if self.root else total)

    def gradient(self, w: ArrayLike) -> np.ndarray:
        w = as_float(w)
        weights, size, total = self._parts(w)
        return self._outer_derivative(total) * (weights * self.q * np.sign(w) * size ** (self.q - 1.0))

    def curvature(self, w: ArrayLike) -> np.ndarray:
        w = as_float(w)
        weights, size, total = self._parts(w)
        curvature = self._outer_derivative(total) * (
            weights * self.q * (self.q - 1.0) * size ** (self.q - 2.0)
        )
        if self.root and total > 0:
            curvature = curvature * (1.0 - weights * size**self.q / total)
        return curvature if self.q == 2 and not self.root else np.where(w != 0, curvature, w.dtype.type(0.0))

    def prox(self, w: ArrayLike, step: ArrayLike = 1.0) -> np.ndarray:
        if self.root:
            raise ValueError(
                "root of Lq must be False for a proximal step, which works by coordinates, got True"
            )
        w = as_float(w)
        threshold = np.asarray(step, dtype=w.dtype) * self._scale(w)
        return np.sign(w) * _bridge_prox(np.abs(w), threshold, self.q) + w.dtype.type(0.0)

    def conjugate(self, z: ArrayLike) -> float:
        z = np.asarray(z, dtype=float)
        scale = np.broadcast_to(self._scale(z), z.shape)[z != 0]
        size = np.abs(z[z != 0])
        if size.size == 0:
            return 0.0
        if not np.all(scale > 0):
            return np.inf
        if self.root:
            # of a norm: 0 in the unit ball of its dual norm; below q = 1 the L1 norm is the convex hull
            size = size / (scale / self.strength) ** (1.0 / self.q)
            top = size.max()  # taken out, so that no high power overflows
            dual = top * np.linalg.norm(size / top, self._dual_exponent)
            return 0.0 if dual <= self.strength else np.inf
        if self.q <= 1:
            return 0.0 if self.q == 1 and np.all(size <= scale) else np.inf
        with np.errstate(over="ignore"):
            return float(np.sum((self.q - 1.0) * scale * (size / (scale * self.q)) ** self._dual_exponent))

    @property
    def _dual_exponent(self) -> float:
        return self.q / (self.q - 1.0) if self.q > 1 else np.inf


def _bridge_prox(a: np.ndarray, t: Any, q: float) -> np.ndarray:
    """argmin over u >= 0 of t u^q + (u - a)^2 / 2: zero, or the root of u + t q u^(q - 1) = a."""
    if q == 1:
        return np.maximum(a - t, 0.0)
    a, t = np.broadcast_arrays(a, np.asarray(t, dtype=a.dtype))
    lower, least = np.zeros_like(a), np.zeros_like(a)
    if q < 1:
        # up to `least` zero is the minimum, beyond it the root above `lower`
        lower = (2.0 * t * (1.0 - q)) ** (1.0 / (2.0 - q))
        least = lower * (2.0 - q) / (2.0 - 2.0 * q)
    nonzero = a > least

    a, t = a[nonzero], t[nonzero]
    if 1 < q < 2:
        # in v = u^(q - 1), v^(1 / (q - 1)) + t q v = a, the root is never far below the bracket
        p = 1.0 / (q - 1.0)
        with np.errstate(divide="ignore"):
            upper = np.minimum(a ** (q - 1.0), a / (t * q))
        v = monotone_root(lambda v: (v**p + t * q * v - a, p * v ** (p - 1.0) + t * q), 0.0 * a, upper)
        root = v**p
    else:
        c = t * q
        root = monotone_root(
            lambda u: (u + c * u ** (q - 1.0) - a, 1.0 + c * (q - 1.0) * u ** (q - 2.0)), lower[nonzero], a
        )
    result = np.zeros(nonzero.shape, dtype=a.dtype)
    result[nonzero] = root
    return result

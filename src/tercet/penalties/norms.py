"""Convex penalties: none, L1, L2, and L1 with L2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method
from tercet.core.functions import as_float, require
from tercet.penalties.base import Penalty, soft_threshold


@method(
    zh="范数（L0、L1、L2、Lp）",
    task="penalty",
    model="‖w‖ₚ = (Σ|wⱼ|ᵖ)^(1/p); ‖w‖₀ counts the entries that are not 0",
    texts=["watermelon notes ch. 10, 10.4", "Li ch. 1, eq. 1.25, 1.26"],
    peers=["numpy.linalg.norm"],
)
def norm(w: ArrayLike, p: float = 2.0) -> float:
    """Norm of the entries of an array: L0, L1, L2, any p, or the largest magnitude (p = inf).

    L0 counts the entries that are not zero. It is no norm, as those with p < 1: a sum may be longer than its parts.

    Parameters
    ----------
    w : array
        Any shape; a matrix counts as the list of its entries.
    p : float, default=2.0
        At least 0; infinity is allowed.

    Examples
    --------
    >>> [norm([3.0, 0.0, -4.0], p) for p in (0, 1, 2, np.inf)]
    [2.0, 7.0, 5.0, 4.0]
    """
    if not p >= 0:
        raise ValueError(f"p must be a number of at least 0; got {p!r}.")
    size = np.abs(as_float(w))
    if p == 0:
        return float(np.count_nonzero(size))
    largest = float(size.max(initial=0.0))
    if p == np.inf or largest == 0 or not np.isfinite(largest):
        return largest
    # In units of the largest entry, so that no power overflows.
    return largest * float(((size / largest) ** p).sum() ** (1 / p))


@dataclass(frozen=True, eq=False)
class NoPenalty(Penalty):
    """No penalty: J(w) = 0.

    Examples
    --------
    >>> NoPenalty().prox([1.0, -2.0])
    array([ 1., -2.])
    """

    def value(self, w: ArrayLike) -> float:
        return 0.0

    def gradient(self, w: ArrayLike) -> np.ndarray:
        return np.zeros_like(as_float(w))

    def prox(self, w: ArrayLike, step: ArrayLike = 1.0) -> np.ndarray:
        return as_float(w).copy()

    def conjugate(self, z: ArrayLike) -> float:
        return np.inf if np.any(np.asarray(z)) else 0.0


@method(
    zh="L1 正则化",
    task="penalty",
    model="J(w) = Σ|w_j|",
    strategy="sparse solutions: the lasso, basis pursuit; a Laplace prior on w",
    texts=[
        "Li ch. 1, eq. 1.26",
        "Machine Learning in Depth ch. 2, 2.1.4",
        "watermelon notes ch. 10, eq. 10.7",
        "Pattern Recognition ch. 5, eq. 5-109",
    ],
    peers=["skglm.penalties.L1"],
)
@dataclass(frozen=True, eq=False)
class L1(Penalty):
    """Sum of absolute values, the penalty of the lasso.

    As a prior on w it is Laplace with scale 1 / strength (Machine Learning in Depth ch. 2).

    Examples
    --------
    >>> L1(strength=0.6).prox([3.0, -0.4, 1.0], step=0.5)
    array([ 2.7, -0.1,  0.7])
    """

    def value(self, w: ArrayLike) -> float:
        w = as_float(w)
        return float(np.sum(self._scale(w) * np.abs(w)))

    def gradient(self, w: ArrayLike) -> np.ndarray:
        w = as_float(w)
        return self._scale(w) * np.sign(w)

    def prox(self, w: ArrayLike, step: ArrayLike = 1.0) -> np.ndarray:
        w = as_float(w)
        return soft_threshold(w, np.asarray(step, dtype=w.dtype) * self._scale(w))

    def dual_norm(self, z: ArrayLike) -> float:
        """Largest abs(z_j) / lambda_j. At most 1 means that z is feasible in the dual of a lasso."""
        z = as_float(z)
        scale = np.broadcast_to(self._scale(z), z.shape)
        if np.any((scale == 0) & (z != 0)):
            return np.inf
        return float(np.max(np.abs(z) / np.where(scale == 0, 1.0, scale), initial=0.0))

    def conjugate(self, z: ArrayLike) -> float:
        return 0.0 if self.dual_norm(z) <= 1.0 else np.inf


@method(
    zh="L2 正则化",
    task="penalty",
    model="J(w) = Σ w_j², or half of it",
    strategy="small coefficients: ridge, Tikhonov, weight decay; a Gaussian prior on w",
    texts=[
        "Li ch. 1, eq. 1.25",
        "Machine Learning in Depth ch. 2, 2.1.4",
        "watermelon notes ch. 10, eq. 10.6",
        "Pattern Recognition ch. 5, eq. 5-110",
    ],
    peers=["skglm.penalties.L2"],
)
@dataclass(frozen=True, eq=False)
class L2(Penalty):
    """Sum of squares, the penalty of ridge regression.

    With ``half=True`` half of it, as in Li eq. 1.25. As a prior on w it is Gaussian with variance
    1 / (2 strength), or 1 / strength when halved (Machine Learning in Depth ch. 2, which misprints the factor).

    Examples
    --------
    >>> L2(strength=0.6).prox([3.0, -0.4, 1.0], step=0.5)
    array([ 1.875, -0.25 ,  0.625])
    """

    half: bool = False

    def _curvature(self, w: np.ndarray) -> Any:
        return self._scale(w) * (1.0 if self.half else 2.0)

    def value(self, w: ArrayLike) -> float:
        w = as_float(w)
        return float(np.sum(0.5 * self._curvature(w) * (w * w)))

    def gradient(self, w: ArrayLike) -> np.ndarray:
        w = as_float(w)
        return self._curvature(w) * w

    def curvature(self, w: ArrayLike) -> np.ndarray:
        w = as_float(w)
        return np.zeros_like(w) + self._curvature(w)

    def prox(self, w: ArrayLike, step: ArrayLike = 1.0) -> np.ndarray:
        w = as_float(w)
        return w / (1.0 + np.asarray(step, dtype=w.dtype) * self._curvature(w))

    def conjugate(self, z: ArrayLike) -> float:
        z = as_float(z)
        curvature = np.broadcast_to(self._curvature(z), z.shape)
        if np.any((curvature == 0) & (z != 0)):
            return np.inf
        return float(np.sum(0.5 * z * z / np.where(curvature == 0, 1.0, curvature)))


@method(
    zh="弹性网",
    task="penalty",
    model="J(w) = α Σ|w_j| + (1 - α) Σ w_j²",
    strategy="sparse and small at once",
    texts=["Pattern Recognition ch. 5, eq. 5-112"],
    peers=["skglm.penalties.L1_plus_L2"],
)
@dataclass(frozen=True, eq=False)
class ElasticNet(Penalty):
    """Elastic net: l1_ratio times sum abs(w) plus (1 - l1_ratio) times sum w^2.

    With ``half=True`` the sum of squares is halved, and strength and ``l1_ratio`` mean what alpha and
    l1_ratio mean in scikit-learn's ElasticNet. There the text's lambda and alpha, whose data term is a mean
    of squares without 1/2, are ``alpha=lambda * c`` and ``l1_ratio=alpha / 2 / c``, with
    c = alpha / 2 + 1 - alpha.

    Examples
    --------
    >>> ElasticNet(strength=0.6, l1_ratio=0.5).prox([3.0, -0.4, 1.0], step=0.5).round(6)
    array([ 2.192308, -0.192308,  0.653846])
    """

    l1_ratio: float = 0.5
    half: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, "l1_ratio", self.l1_ratio, 0 <= self.l1_ratio <= 1, "lie in [0, 1]")

    @property
    def l1(self) -> L1:
        """The L1 part."""
        return L1(self.strength * self.l1_ratio, self.weights)

    @property
    def l2(self) -> L2:
        """The L2 part."""
        return L2(self.strength * (1.0 - self.l1_ratio), self.weights, self.half)

    def value(self, w: ArrayLike) -> float:
        return self.l1.value(w) + self.l2.value(w)

    def gradient(self, w: ArrayLike) -> np.ndarray:
        return self.l1.gradient(w) + self.l2.gradient(w)

    def curvature(self, w: ArrayLike) -> np.ndarray:
        return self.l2.curvature(w)

    def prox(self, w: ArrayLike, step: ArrayLike = 1.0) -> np.ndarray:
        return self.l2.prox(self.l1.prox(w, step), step)

    def conjugate(self, z: ArrayLike) -> float:
        if self.l1_ratio == 1:
            return self.l1.conjugate(z)
        return self.l2.conjugate(self.l1.prox(z))

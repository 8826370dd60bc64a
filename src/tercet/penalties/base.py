"""Base class of the penalties, thresholding operators and structural risk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method
from tercet.core.functions import as_float, require
from tercet.core.public_names import PublicPickle


@dataclass(frozen=True, eq=False)
class Penalty(PublicPickle):
    """Penalty J(w) of a parameter vector (正则化项; Li ch. 1, eq. 1.24; Pattern Recognition ch. 5, 5.7.3).

    Parameters
    ----------
    strength : float, default 1
        lambda, at least 0.
    weights : array-like, optional
        A factor per coordinate, at least 0; 0 leaves a coordinate, such as an intercept, free.

    Examples
    --------
    >>> from tercet.penalties import L2
    >>> L2(0.5, weights=[1, 1, 0]).value(np.array([1.0, 2.0, 9.0]))
    2.5
    """

    strength: float = 1.0
    weights: ArrayLike | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        require(self, "strength", self.strength, 0 <= self.strength < np.inf, "be finite and at least 0")
        object.__setattr__(self, "strength", float(self.strength))
        if self.weights is not None:
            weights = np.asarray(self.weights, dtype=float)
            bad = ~((weights >= 0) & np.isfinite(weights))
            require(self, "weights", weights[bad][:1], not bad.any(), "be finite and at least 0")
            object.__setattr__(self, "weights", weights)

    def _scale(self, w: np.ndarray) -> Any:
        """strength times weights, in the dtype of ``w``."""
        if self.weights is None:
            return self.strength
        return np.multiply(self.strength, self.weights, dtype=w.dtype)

    def value(self, w: ArrayLike) -> float:
        """The penalty of all of ``w``."""
        raise NotImplementedError

    def gradient(self, w: ArrayLike) -> np.ndarray:
        """Derivative of the penalty; 0 for a coordinate that stands at a kink."""
        raise NotImplementedError

    def curvature(self, w: ArrayLike) -> np.ndarray:
        """Second derivative, coordinate by coordinate; 0 at a kink."""
        return np.zeros_like(as_float(w))

    def prox(self, w: ArrayLike, step: ArrayLike = 1.0) -> np.ndarray:
        """argmin over u of step J(u) + (u - w)^2 / 2."""
        raise NotImplementedError

    def conjugate(self, z: ArrayLike) -> float:
        """Fenchel conjugate sup_w z.w - J(w), the penalty's part of a dual objective."""
        raise NotImplementedError


@method(
    zh="软阈值",
    task="penalty",
    model="sign(w) max(|w| - t, 0)",
    strategy="the proximal step of the L1 norm",
    texts=["watermelon notes ch. 10, eq. 10.13"],
)
def soft_threshold(w: ArrayLike, threshold: ArrayLike) -> np.ndarray:
    """Soft thresholding: shrink towards zero by the threshold.

    Examples
    --------
    >>> soft_threshold([-3.0, 0.5, 2.0], 1.0)
    array([-2.,  0.,  1.])
    """
    w = as_float(w)
    t = np.asarray(threshold, dtype=w.dtype)
    return w - np.clip(w, -t, t)


def hard_threshold(w: ArrayLike, threshold: ArrayLike) -> np.ndarray:
    """Hard thresholding: zero what is not larger in absolute value than the threshold.

    Examples
    --------
    >>> hard_threshold([-3.0, 0.5, 2.0], 1.0)
    array([-3.,  0.,  2.])
    """
    w = as_float(w)
    return np.where(np.abs(w) > np.asarray(threshold, dtype=w.dtype), w, w.dtype.type(0.0))


@method(
    zh="结构风险",
    task="penalty",
    model="R_srm(f) = (1/N) Σ L(y_i, f(x_i)) + λ J(f)",
    strategy="its least value: structural risk minimisation; maximum a posteriori where J is -log of a prior",
    texts=[
        "Li ch. 1, eq. 1.16, 1.24",
        "Li ch. 12, eq. 12.4",
        "Machine Learning in Depth ch. 1, 1.2.2",
        "watermelon notes ch. 4, eq. 4.33",
        "Pattern Recognition ch. 5, eq. 5-106",
    ],
)
def structural_risk(losses: ArrayLike, penalty_value: float, lam: float = 1.0) -> float:
    """Structural risk: mean loss plus lambda times the penalty.

    With the log loss and minus the log of a prior, divided by the number of samples, it is least at the
    maximum a posteriori estimate.

    Examples
    --------
    >>> structural_risk([1.0, 2.0, 3.0], penalty_value=4.0, lam=0.5)
    4.0
    """
    if not 0 <= lam < np.inf:
        raise ValueError(f"lam must be finite and at least 0, got {lam!r}")
    return float(np.mean(np.asarray(losses), dtype=np.float64) + lam * penalty_value)

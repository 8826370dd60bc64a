"""Losses of the residual r = f - y, for real y."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method
from tercet.core.functions import require
from tercet.losses.base import Loss, as_pair


@dataclass(frozen=True)
class ResidualLoss(Loss):
    """Base of the losses rho(f - y); a subclass defines rho, its derivatives and its proximal operator."""

    def value(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        y, f = as_pair(y, f)
        return self._rho(f - y)

    def gradient(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        y, f = as_pair(y, f)
        return self._slope(f - y)

    def curvature(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        y, f = as_pair(y, f)
        return self._curvature(f - y)

    def prox(self, y: ArrayLike, f: ArrayLike, step: ArrayLike) -> np.ndarray:
        y, f = as_pair(y, f)
        return y + self._prox(f - y, np.asarray(step, dtype=f.dtype))

    def value_and_gradient(self, y: ArrayLike, f: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        y, f = as_pair(y, f)
        r = f - y
        return self._rho(r), self._slope(r)

    def _rho(self, r: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _slope(self, r: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _curvature(self, r: np.ndarray) -> np.ndarray:
        return np.zeros_like(r)

    def _prox(self, r: np.ndarray, step: np.ndarray) -> np.ndarray:
        raise NotImplementedError


@method(
    zh="平方损失函数",
    task="loss",
    model="L(y, f) = (y - f(x))²",
    strategy="least squares; maximum likelihood under Gaussian noise",
    texts=["Li ch. 1, eq. 1.10", "Machine Learning in Depth ch. 1, 1.2.2"],
    peers=["sklearn.metrics.mean_squared_error"],
)
@dataclass(frozen=True)
class Squared(ResidualLoss):
    """Squared loss r^2 of the residual r = f - y, or r^2 / 2 with ``half=True``.

    Examples
    --------
    >>> Squared().value([1.0, 2.0], [3.0, 2.0])
    array([4., 0.])
    """

    half: bool = False

    @property
    def smoothness(self) -> float:
        return 1.0 if self.half else 2.0

    def _rho(self, r: np.ndarray) -> np.ndarray:
        return 0.5 * self.smoothness * (r * r)

    def _slope(self, r: np.ndarray) -> np.ndarray:
        return self.smoothness * r

    def _curvature(self, r: np.ndarray) -> np.ndarray:
        return np.full_like(r, self.smoothness)

    def _prox(self, r: np.ndarray, step: np.ndarray) -> np.ndarray:
        return r / (1.0 + self.smoothness * step)


@method(
    zh="绝对损失函数",
    task="loss",
    model="L(y, f) = |y - f(x)|",
    strategy="least absolute deviations: the median",
    texts=["Li ch. 1, eq. 1.11", "Machine Learning in Depth ch. 1, 1.2.2"],
    peers=["sklearn.metrics.mean_absolute_error"],
)
@dataclass(frozen=True)
class Absolute(ResidualLoss):
    """Absolute loss abs(r) of the residual r = f - y.

    The slope at r = 0 is taken as 0.

    Examples
    --------
    >>> Absolute().prox(0.0, [-3.0, 0.5, 3.0], step=1.0)
    array([-2.,  0.,  2.])
    """

    def _rho(self, r: np.ndarray) -> np.ndarray:
        return np.abs(r)

    def _slope(self, r: np.ndarray) -> np.ndarray:
        return np.sign(r)

    def _prox(self, r: np.ndarray, step: np.ndarray) -> np.ndarray:
        return r - np.clip(r, -step, step)


@dataclass(frozen=True)
class Huber(ResidualLoss):
    """Huber loss: r^2 / 2 up to abs(r) = delta, the tangent line beyond.

    Examples
    --------
    >>> Huber(delta=1.0).value(0.0, [0.5, 3.0])
    array([0.125, 2.5  ])
    """

    delta: float = 1.0

    def __post_init__(self) -> None:
        require(self, "delta", self.delta, 0 < self.delta < np.inf, "be a finite number above 0")
        object.__setattr__(self, "delta", float(self.delta))

    @property
    def smoothness(self) -> float:
        return 1.0

    def _rho(self, r: np.ndarray) -> np.ndarray:
        size = np.abs(r)
        inner = np.minimum(size, self.delta)
        return inner * (size - 0.5 * inner)

    def _slope(self, r: np.ndarray) -> np.ndarray:
        return np.clip(r, -self.delta, self.delta)

    def _curvature(self, r: np.ndarray) -> np.ndarray:
        return (np.abs(r) <= self.delta).astype(r.dtype)

    def _prox(self, r: np.ndarray, step: np.ndarray) -> np.ndarray:
        return r - step * np.clip(r / (1.0 + step), -self.delta, self.delta)


@dataclass(frozen=True)
class Quantile(ResidualLoss):
    """Pinball (quantile) loss, whose expectation is minimal at the given quantile of y.

    It is ``quantile`` times y - f where the truth is above and ``1 - quantile`` times f - y where it is
    below; with 0.5, half the absolute loss. The slope at r = 0 is taken as 0.

    Examples
    --------
    >>> Quantile(0.9).value(0.0, [-1.0, 1.0]).round(6)
    array([0.9, 0.1])
    """

    quantile: float = 0.5

    def __post_init__(self) -> None:
        require(self, "quantile", self.quantile, 0 < self.quantile < 1, "lie strictly between 0 and 1")
        object.__setattr__(self, "quantile", float(self.quantile))

    def _rho(self, r: np.ndarray) -> np.ndarray:
        return np.maximum(-self.quantile * r, (1.0 - self.quantile) * r)

    def _slope(self, r: np.ndarray) -> np.ndarray:
        return 0.5 * np.sign(r) + (0.5 - self.quantile) * (r != 0).astype(r.dtype)

    def _prox(self, r: np.ndarray, step: np.ndarray) -> np.ndarray:
        return r - np.clip(r, -self.quantile * step, (1.0 - self.quantile) * step)


@method(
    zh="ε-不敏感损失函数",
    task="loss",
    model="L(y, f) = max(0, |y - f(x)| - ε)",
    strategy="residuals inside a tube cost nothing: support vector regression",
    texts=["watermelon notes ch. 4, eq. 4.35", "Pattern Recognition ch. 5, eq. 5-64"],
)
@dataclass(frozen=True)
class EpsilonInsensitive(ResidualLoss):
    """Epsilon-insensitive loss max(0, abs(r) - epsilon) of support vector regression.

    The slope at both kinks is taken as 0.

    Examples
    --------
    >>> EpsilonInsensitive(0.5).value(0.0, [0.25, -2.0])
    array([0. , 1.5])
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        require(self, "epsilon", self.epsilon, 0 <= self.epsilon < np.inf, "be a finite number, at least 0")
        object.__setattr__(self, "epsilon", float(self.epsilon))

    def _excess(self, r: np.ndarray) -> np.ndarray:
        """The part of the residual outside the tube, with its sign."""
        return r - np.clip(r, -self.epsilon, self.epsilon)

    def _rho(self, r: np.ndarray) -> np.ndarray:
        return np.abs(self._excess(r))

    def _slope(self, r: np.ndarray) -> np.ndarray:
        return np.sign(self._excess(r))

    def _prox(self, r: np.ndarray, step: np.ndarray) -> np.ndarray:
        return r - np.clip(self._excess(r), -step, step)


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(EpsilonInsensitive):
    """Squared epsilon-insensitive loss max(0, abs(r) - epsilon)^2.

    The curvature at the edge of the tube is taken as 0.

    Examples
    --------
    >>> SquaredEpsilonInsensitive(0.5).value(0.0, [0.25, -2.0])
    array([0.  , 2.25])
    """

    @property
    def smoothness(self) -> float:
        return 2.0

    def _rho(self, r: np.ndarray) -> np.ndarray:
        return self._excess(r) ** 2

    def _slope(self, r: np.ndarray) -> np.ndarray:
        return 2.0 * self._excess(r)

    def _curvature(self, r: np.ndarray) -> np.ndarray:
        return 2.0 * (np.abs(r) > self.epsilon).astype(r.dtype)

    def _prox(self, r: np.ndarray, step: np.ndarray) -> np.ndarray:
        return r - 2.0 * step / (1.0 + 2.0 * step) * self._excess(r)

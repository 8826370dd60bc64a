"""Losses of a generalised linear model with a log link: half the unit deviance of a mean exp(f)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from tercet.core.functions import as_float, monotone_root, require
from tercet.losses.base import Loss, as_pair
from tercet.losses.margin import lambert_w_of_exp, log_step


@dataclass(frozen=True)
class LogLinkLoss(Loss):
    """Half the unit deviance of a positive mean mu = exp(f) (广义线性模型; Machine Learning in Depth ch. 6, 6.3).

    Parameters
    ----------
    full : bool, default True
        Include the terms free of f, so that the loss is never negative and zero at mu = y. An optimiser
        may leave them out: nothing but the value changes.
    """

    full: bool = True

    def mean(self, f: ArrayLike) -> np.ndarray:
        """E[Y | x] = exp(f)."""
        with np.errstate(over="ignore"):
            return np.exp(as_float(f))

    def _constant(self, y: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _with_constant(self, y: np.ndarray, value: np.ndarray) -> np.ndarray:
        return value + self._constant(y) if self.full else value

    def value(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        return self.value_and_gradient(y, f)[0]

    def gradient(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        return self.value_and_gradient(y, f)[1]


@dataclass(frozen=True)
class Poisson(LogLinkLoss):
    """Half Poisson deviance y log(y / mu) - y + mu with mu = exp(f), for counts y.

    Examples
    --------
    >>> Poisson().value([0, 1], [0.0, 0.0])
    array([1., 0.])
    """

    _requirement = "be finite and at least 0"

    def _allowed(self, y: np.ndarray) -> np.ndarray:
        return (y >= 0) & np.isfinite(y)

    def _constant(self, y: np.ndarray) -> np.ndarray:
        return xlogy(y, y) - y

    def curvature(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        y, f = as_pair(y, f)
        return self.mean(f) + 0.0 * y

    def prox(self, y: ArrayLike, f: ArrayLike, step: ArrayLike) -> np.ndarray:
        y, f = as_pair(y, f)
        step = np.asarray(step, dtype=f.dtype)
        target = f + step * y
        return target - lambert_w_of_exp(log_step(step) + target)

    def value_and_gradient(self, y: ArrayLike, f: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        y, f = as_pair(y, f)
        mu = self.mean(f)
        return self._with_constant(y, mu - y * f), mu - y


@dataclass(frozen=True)
class Gamma(LogLinkLoss):
    """Half gamma deviance log(mu / y) + y / mu - 1 with mu = exp(f), for y > 0.

    Examples
    --------
    >>> Gamma().value([1.0, 2.0], [0.0, 0.0]).round(6)
    array([0.      , 0.306853])
    """

    _requirement = "be finite and above 0"

    def _allowed(self, y: np.ndarray) -> np.ndarray:
        return (y > 0) & np.isfinite(y)

    def _constant(self, y: np.ndarray) -> np.ndarray:
        return -np.log(y) - 1.0

    def curvature(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        y, f = as_pair(y, f)
        return y * self.mean(-f)

    def prox(self, y: ArrayLike, f: ArrayLike, step: ArrayLike) -> np.ndarray:
        y, f = as_pair(y, f)
        step = np.asarray(step, dtype=f.dtype)
        return f - step + lambert_w_of_exp(log_step(step * y) - (f - step))

    def value_and_gradient(self, y: ArrayLike, f: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        y, f = as_pair(y, f)
        ratio = y * self.mean(-f)
        return self._with_constant(y, f + ratio), 1.0 - ratio


@dataclass(frozen=True)
class Tweedie(LogLinkLoss):
    """Half Tweedie deviance with mean mu = exp(f) and variance proportional to mu^power.

    Power 0 is the normal, 1 the Poisson, 2 the gamma and 3 the inverse Gaussian distribution; between 1
    and 2 lie sums of a random number of gammas, with mass at zero. Convex in f for powers from 1 to 2.

    Examples
    --------
    >>> Tweedie(power=1.5).value([0.0, 1.0], [0.0, 0.0])
    array([2., 0.])
    """

    power: float = 1.5

    def __post_init__(self) -> None:
        allowed = np.isfinite(self.power) and not 0 < self.power < 1
        require(self, "power", self.power, bool(allowed), "be finite and outside (0, 1)")
        object.__setattr__(self, "power", float(self.power))

    @property
    def _requirement(self) -> str:  # type: ignore[override]
        return "be finite" + (
            " and above 0" if self.power >= 2 else " and at least 0" if self.power >= 1 else ""
        )

    def _allowed(self, y: np.ndarray) -> np.ndarray:
        inside = y > 0 if self.power >= 2 else y >= 0 if self.power >= 1 else True
        return inside & np.isfinite(y)

    def _limit(self) -> LogLinkLoss | None:
        """Poisson and gamma, the powers at which the general formula divides by zero."""
        return Poisson(self.full) if self.power == 1 else Gamma(self.full) if self.power == 2 else None

    def _constant(self, y: np.ndarray) -> np.ndarray:
        p = self.power
        return (y * y if p == 0 else np.maximum(y, 0.0) ** (2.0 - p)) / ((1.0 - p) * (2.0 - p))

    def curvature(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        if (limit := self._limit()) is not None:
            return limit.curvature(y, f)
        y, f = as_pair(y, f)
        p = self.power
        return (2.0 - p) * self.mean((2.0 - p) * f) - (1.0 - p) * y * self.mean((1.0 - p) * f)

    def prox(self, y: ArrayLike, f: ArrayLike, step: ArrayLike) -> np.ndarray:
        require(
            self, "power", self.power, 1 <= self.power <= 2, "lie in [1, 2] for a proximal step (convexity)"
        )
        if (limit := self._limit()) is not None:
            return limit.prox(y, f, step)
        y, f, step = np.broadcast_arrays(*as_pair(y, f), np.asarray(step, dtype=as_float(f).dtype))
        a, b = 2.0 - self.power, self.power - 1.0
        # bracket: each of the two terms of the gradient alone
        lower = f - lambert_w_of_exp(log_step(a * step) + a * f) / a
        upper = f + lambert_w_of_exp(log_step(b * step * y) - b * f) / b

        def excess(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            with np.errstate(invalid="ignore"):  # 0 * inf where step is 0 and the bracket a point
                up, down = step * self.mean(a * u), step * y * self.mean(-b * u)
            return u - f + up - down, 1.0 + a * up + b * down

        atol = 4 * np.finfo(f.dtype).eps * np.maximum(np.abs(lower), np.abs(upper))
        return monotone_root(excess, lower, upper, atol=atol)

    def value_and_gradient(self, y: ArrayLike, f: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        if (limit := self._limit()) is not None:
            return limit.value_and_gradient(y, f)
        y, f = as_pair(y, f)
        p = self.power
        target_term, mean_term = y * self.mean((1.0 - p) * f), self.mean((2.0 - p) * f)
        value = self._with_constant(y, mean_term / (2.0 - p) - target_term / (1.0 - p))
        return self._near_truth(y, f, value) if self.full else value, mean_term - target_term

    def _near_truth(self, y: np.ndarray, f: np.ndarray, value: np.ndarray) -> np.ndarray:
        """The deviance where mu is near y, free of the cancellation between its three large terms.

        With r = log(mu / y) it is y^(2-p) [expm1((2-p) r) / (2-p) - expm1((1-p) r) / (1-p)].
        """
        a, b = 2.0 - self.power, 1.0 - self.power
        r = f - np.log(np.where(y > 0, y, np.nan))
        small = np.abs(r) < 1.0
        r = np.where(small, r, 0.0)
        scale = np.where(small, np.abs(y), 1.0) ** a
        return np.where(small, scale * (np.expm1(a * r) / a - np.expm1(b * r) / b), value)


@dataclass(frozen=True)
class InverseGaussian(Tweedie):
    """Half inverse Gaussian deviance (y - mu)^2 / (2 y mu^2) with mu = exp(f), for y > 0.

    Examples
    --------
    >>> InverseGaussian().value([1.0, 2.0], [0.0, 0.0])
    array([0.  , 0.25])
    """

    power: float = 3.0

"""Losses of the margin m = y f, for y in {-1, +1} (Li ch. 12, fig. 12.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import wrightomega

from tercet.core.catalog import method
from tercet.core.functions import monotone_root, require, sigmoid, sigmoid_derivative
from tercet.losses.base import Loss, as_pair


@dataclass(frozen=True)
class MarginLoss(Loss):
    """Base of the losses phi(y f); a subclass defines phi, its derivatives and its proximal operator."""

    margin = True
    _requirement = "be -1 or +1"

    def _allowed(self, y: np.ndarray) -> np.ndarray:
        return np.isin(y, (-1, 1))

    def value(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        y, f = as_pair(y, f)
        return self._phi(y * f)

    def gradient(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        y, f = as_pair(y, f)
        return y * self._slope(y * f)

    def curvature(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        y, f = as_pair(y, f)
        return self._curvature(y * f)

    def prox(self, y: ArrayLike, f: ArrayLike, step: ArrayLike) -> np.ndarray:
        y, f = as_pair(y, f)
        return y * self._prox(y * f, np.asarray(step, dtype=f.dtype))

    def _phi(self, m: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _slope(self, m: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _curvature(self, m: np.ndarray) -> np.ndarray:
        return np.zeros_like(m)

    def _prox(self, m: np.ndarray, step: np.ndarray) -> np.ndarray:
        raise NotImplementedError


@method(
    zh="0-1 损失函数",
    task="loss",
    model="L(y, f) = 1[y ≠ f(x)], or 1[y f(x) ≤ 0] of a score",
    strategy="the number of mistakes",
    texts=[
        "Li ch. 1, eq. 1.9",
        "Li ch. 12, fig. 12.2",
        "Machine Learning in Depth ch. 1, 1.2.2",
        "watermelon notes ch. 4, eq. 4.25",
    ],
    peers=["sklearn.metrics.zero_one_loss"],
)
@dataclass(frozen=True)
class ZeroOne(Loss):
    """0-1 loss: 1 for a mistake, else 0.

    With ``margin=False`` y and f are labels of any kind, compared as they are; with ``margin=True`` y is
    -1 or +1, f a score, and y f <= 0 is a mistake; with ``zero_is_mistake=False`` only y f < 0 is
    (watermelon notes eq. 4.25). The gradient is 0 wherever it exists.

    Examples
    --------
    >>> ZeroOne().value(["a", "b"], ["a", "c"])
    array([0., 1.])
    >>> ZeroOne(margin=True).value([1, 1, -1], [0.3, 0.0, 2.0])
    array([0., 1., 1.])
    >>> ZeroOne(margin=True, zero_is_mistake=False).value([1, 1, -1], [0.3, 0.0, 2.0])
    array([0., 0., 1.])
    """

    margin: bool = False
    zero_is_mistake: bool = True
    _requirement = "be -1 or +1"
    _no_prox_reason = "of the scores that are right, none is the closest to a wrong one"

    def _allowed(self, y: np.ndarray) -> np.ndarray:
        return np.isin(y, (-1, 1)) if self.margin else np.ones(y.shape, dtype=bool)

    def value(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        if self.margin:
            y, f = as_pair(y, f)
            m = y * f
            return (m <= 0 if self.zero_is_mistake else m < 0).astype(f.dtype)
        f = np.asarray(f)
        return (np.asarray(y) != f).astype(np.float32 if f.dtype == np.float32 else np.float64)

    def gradient(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        return np.zeros_like(self.value(y, f))

    curvature = gradient


@method(
    zh="合页损失函数",
    task="loss",
    model="L(y, f) = max(0, 1 - y f(x))",
    strategy="right with a margin of 1: support vector machines",
    texts=[
        "Li ch. 7, eq. 7.58",
        "Li ch. 12, eq. 12.1",
        "Machine Learning in Depth ch. 4, 4.5.2",
        "watermelon notes ch. 4, eq. 4.26",
        "Pattern Recognition ch. 5, eq. 5-56",
    ],
    peers=["sklearn.metrics.hinge_loss"],
)
@dataclass(frozen=True)
class Hinge(MarginLoss):
    """Hinge loss max(0, 1 - m) of the margin m = y f.

    The slope at m = 1 is taken as -1.

    Examples
    --------
    >>> Hinge().value(1, [-2.0, 0.0, 0.5, 2.0])
    array([3. , 1. , 0.5, 0. ])
    """

    def _phi(self, m: np.ndarray) -> np.ndarray:
        return np.maximum(1.0 - m, 0.0)

    def _slope(self, m: np.ndarray) -> np.ndarray:
        return -(m <= 1.0).astype(m.dtype)

    def _prox(self, m: np.ndarray, step: np.ndarray) -> np.ndarray:
        return np.maximum(m, np.minimum(m + step, 1.0))


@method(
    zh="感知机损失函数",
    task="loss",
    model="L(y, f) = max(0, -y f(x))",
    strategy="how far the misclassified lie from the hyperplane, times ‖w‖",
    texts=["Li ch. 2, eq. 2.4", "Li ch. 7, fig. 7.6", "Studies ML ch. 5"],
)
@dataclass(frozen=True)
class Perceptron(MarginLoss):
    """Perceptron loss max(0, -m) of the margin m = y f.

    The slope at m = 0 is taken as -1: a sample on the hyperplane counts as misclassified, so that learning
    can start from zero weights.

    Examples
    --------
    >>> Perceptron().value([1, -1], [-2.0, -2.0])
    array([2., 0.])
    """

    def _phi(self, m: np.ndarray) -> np.ndarray:
        return np.maximum(-m, 0.0)

    def _slope(self, m: np.ndarray) -> np.ndarray:
        return -(m <= 0.0).astype(m.dtype)

    def _prox(self, m: np.ndarray, step: np.ndarray) -> np.ndarray:
        return np.maximum(m, np.minimum(m + step, 0.0))


@dataclass(frozen=True)
class SquaredHinge(MarginLoss):
    """Squared hinge loss max(0, 1 - m)^2. The curvature at m = 1 is taken as 0.

    Examples
    --------
    >>> SquaredHinge().value(1, [-1.0, 0.5, 2.0])
    array([4.  , 0.25, 0.  ])
    """

    @property
    def smoothness(self) -> float:
        return 2.0

    def _phi(self, m: np.ndarray) -> np.ndarray:
        return np.maximum(1.0 - m, 0.0) ** 2

    def _slope(self, m: np.ndarray) -> np.ndarray:
        return -2.0 * np.maximum(1.0 - m, 0.0)

    def _curvature(self, m: np.ndarray) -> np.ndarray:
        return 2.0 * (m < 1.0).astype(m.dtype)

    def _prox(self, m: np.ndarray, step: np.ndarray) -> np.ndarray:
        return np.maximum(m, (m + 2.0 * step) / (1.0 + 2.0 * step))


@dataclass(frozen=True)
class ModifiedHuber(MarginLoss):
    """Modified Huber loss: squared hinge, linear (-4 m) below m = -1, robust to outliers.

    Examples
    --------
    >>> ModifiedHuber().value(1, [-3.0, -1.0, 0.0, 2.0])
    array([12.,  4.,  1.,  0.])
    """

    @property
    def smoothness(self) -> float:
        return 2.0

    def _phi(self, m: np.ndarray) -> np.ndarray:
        return np.where(m >= -1.0, np.maximum(1.0 - m, 0.0) ** 2, -4.0 * m)

    def _slope(self, m: np.ndarray) -> np.ndarray:
        return -2.0 * np.minimum(np.maximum(1.0 - m, 0.0), 2.0)

    def _curvature(self, m: np.ndarray) -> np.ndarray:
        return 2.0 * ((m >= -1.0) & (m < 1.0)).astype(m.dtype)

    def _prox(self, m: np.ndarray, step: np.ndarray) -> np.ndarray:
        on_line = m + 4.0 * step
        return np.where(on_line <= -1.0, on_line, np.maximum(m, (m + 2.0 * step) / (1.0 + 2.0 * step)))


@method(
    zh="逻辑斯谛损失函数",
    task="loss",
    model="L(y, f) = log(1 + exp(-y f(x)))",
    strategy="maximum likelihood of the log-odds f: logistic regression, maximum entropy",
    texts=["Li ch. 12, eq. 12.2", "watermelon notes ch. 4, eq. 4.26"],
    peers=["skglm.datafits.Logistic"],
)
@dataclass(frozen=True)
class Logistic(MarginLoss):
    """Logistic loss log(1 + exp(-m)) of the margin m = y f.

    Parameters
    ----------
    base : float, optional
        Base of the logarithm, e by default. Only from base 2 down does the loss bound the 0-1 loss.

    Examples
    --------
    >>> Logistic(base=2).value(1, [0.0, 1000.0])
    array([1., 0.])
    """

    base: float | None = None

    def __post_init__(self) -> None:
        if self.base is not None:
            require(self, "base", self.base, 1 < self.base < np.inf, "be a finite number above 1")

    @property
    def _scale(self) -> float:
        return 1.0 if self.base is None else 1.0 / float(np.log(self.base))

    @property
    def smoothness(self) -> float:
        return 0.25 * self._scale

    def _phi(self, m: np.ndarray) -> np.ndarray:
        return self._scale * logistic_value_and_slope(m)[0]

    def _slope(self, m: np.ndarray) -> np.ndarray:
        return -self._scale * sigmoid(-m)

    def _curvature(self, m: np.ndarray) -> np.ndarray:
        return self._scale * sigmoid_derivative(m)

    def _prox(self, m: np.ndarray, step: np.ndarray) -> np.ndarray:
        return logistic_prox(m, m.dtype.type(self._scale) * step)

    def value_and_gradient(self, y: ArrayLike, f: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        y, f = as_pair(y, f)
        value, slope = logistic_value_and_slope(y * f)
        slope = slope * y
        if self.base is not None:
            return self._scale * value, self._scale * slope
        return value, slope


def logistic_value_and_slope(m: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """log(1 + exp(-m)) and its derivative from a single exp.

    The exponent is clipped below overflow and the excess added back, as log(1 + exp(z)) = z for large z.

    Examples
    --------
    >>> logistic_value_and_slope(np.array([0.0, -1000.0]))
    (array([6.93147181e-01, 1.00000000e+03]), array([-0.5, -1. ]))
    """
    m = np.asarray(m)
    e, rest, value = np.empty_like(m), np.empty_like(m), np.empty_like(m)
    np.negative(m, out=rest)
    np.minimum(rest, m.dtype.type(80.0 if m.dtype == np.float32 else 700.0), out=e)
    np.subtract(rest, e, out=rest)
    np.exp(e, out=e)
    np.log1p(e, out=value)
    np.add(value, rest, out=value)
    np.add(e, 1.0, out=rest)
    np.divide(e, rest, out=e)
    return value[()], np.negative(e, out=e)[()]


def logistic_prox(m: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Proximal operator of the logistic loss: the root u of u - m = step / (1 + exp(u)), in [m, m + step]."""
    m, step = np.broadcast_arrays(m, step)
    atol = 4 * np.finfo(m.dtype).eps * (np.abs(m) + step)

    def excess(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return u - m - step * sigmoid(-u), 1.0 + step * sigmoid_derivative(u)

    return monotone_root(excess, m, m + step, atol=atol)


@method(
    zh="指数损失函数",
    task="loss",
    model="L(y, f) = exp(-y f(x))",
    strategy="an upper bound of the mistakes: AdaBoost",
    texts=[
        "Li ch. 8, 8.3.2",
        "Li ch. 12, eq. 12.3",
        "watermelon notes ch. 4, eq. 4.26",
        "watermelon notes ch. 6, eq. 6.5",
    ],
)
@dataclass(frozen=True)
class Exponential(MarginLoss):
    """Exponential loss exp(-m) of the margin m = y f, that of AdaBoost.

    Examples
    --------
    >>> Exponential().value(-1, [0.0, -1.0]).round(6)
    array([1.      , 0.367879])
    """

    def _phi(self, m: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(-m)

    def _slope(self, m: np.ndarray) -> np.ndarray:
        return -self._phi(m)

    def _curvature(self, m: np.ndarray) -> np.ndarray:
        return self._phi(m)

    def _prox(self, m: np.ndarray, step: np.ndarray) -> np.ndarray:
        return m + lambert_w_of_exp(log_step(step) - m)

    def value_and_gradient(self, y: ArrayLike, f: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        y, f = as_pair(y, f)
        value = self._phi(y * f)
        return value, -y * value


def lambert_w_of_exp(z: np.ndarray) -> np.ndarray:
    """W(exp(z)), the root of w + log w = z, without forming exp(z)."""
    return wrightomega(z).astype(z.dtype)


def log_step(step: np.ndarray) -> np.ndarray:
    """log of a step size; minus infinity for a step of zero, without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(step)

"""Losses that are a negative log-likelihood: -log P(y | x), up to terms free of f (000 ch. 12)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method
from tercet.core.functions import (
    as_float,
    log_sum_exp,
    monotone_root,
    require,
    sigmoid,
    sigmoid_derivative,
    softmax,
    softmax_jacobian,
)
from tercet.losses.base import Loss, pair
from tercet.losses.margin import lambert_of_exp, logistic_prox, logistic_value_and_slope


@method(
    zh="对数损失函数",
    task="loss",
    model="L(y, P) = -log P(y | x)",
    strategy="maximum likelihood",
    texts=["000 ch. 1, eq. 1.12", "000 ch. 12", "001 ch. 1, 1.2.2"],
    peers=["sklearn.metrics.log_loss"],
)
@dataclass(frozen=True)
class Log(Loss):
    """Log loss -log P(y | x) of given probabilities.

    ``f`` holds probabilities: P(Y = 1 | x) for y in {0, 1}, or rows of K class probabilities for class
    codes 0 .. K-1. Where the truth has probability 0 the loss is infinite. Derivatives are in f.

    Parameters
    ----------
    clip : float, default 0
        Probabilities are lifted to at least this value; 0 leaves them alone.

    Examples
    --------
    >>> Log().value([1, 0], [0.5, 0.75]).round(6)
    array([0.693147, 1.386294])
    >>> Log().value([1], [[0.1, 0.7, 0.2]]).round(6)
    array([0.356675])
    """

    clip: float = 0.0
    _rule = "be a class code: an integer, at least 0"
    _no_prox = "f is a probability and not free to move; the Binomial and Multinomial loss of scores have one"

    def __post_init__(self) -> None:
        require(self, "clip", self.clip, 0 <= self.clip < 0.5, "lie in [0, 0.5)")
        object.__setattr__(self, "clip", float(self.clip))

    def _allowed(self, y: np.ndarray) -> np.ndarray:
        return is_class_code(y)

    def _of_truth(self, y: ArrayLike, f: np.ndarray) -> np.ndarray:
        """P(y | x) of each sample."""
        if f.ndim == 2:
            p = f[np.arange(f.shape[0]), np.asarray(y, dtype=np.intp)]
        else:
            p = np.where(np.asarray(y) == 1, f, 1.0 - f)
        return np.maximum(p, self.clip)

    def _spread(self, y: ArrayLike, f: np.ndarray, derivative: np.ndarray) -> np.ndarray:
        """Put the derivative in P(y | x) at the entry of the true class."""
        full = np.zeros_like(f)
        full[np.arange(f.shape[0]), np.asarray(y, dtype=np.intp)] = derivative
        return full

    def value(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return -np.log(self._of_truth(y, as_float(f)))

    def gradient(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        f = as_float(f)
        with np.errstate(divide="ignore"):
            slope = -1.0 / self._of_truth(y, f)
        return self._spread(y, f, slope) if f.ndim == 2 else np.where(np.asarray(y) == 1, slope, -slope)

    def curvature(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        f = as_float(f)
        with np.errstate(divide="ignore"):
            bend = 1.0 / self._of_truth(y, f) ** 2
        return self._spread(y, f, bend) if f.ndim == 2 else bend


@method(
    zh="逻辑斯谛回归的负对数似然",
    task="loss",
    model="L(y, f) = log(1 + exp(f)) - y f, y in {0, 1}",
    strategy="maximum likelihood of a Bernoulli distribution with log-odds f",
    texts=[
        "000 ch. 6, 6.1.3",
        "000 ch. 23, eq. 23.34",
        "001 ch. 2, eq. 2.16",
        "002 ch. 1, eq. 1.20",
        "004 ch. 3, eq. 3.27",
    ],
    peers=["sklearn.metrics.log_loss"],
)
@dataclass(frozen=True)
class Binomial(Loss):
    """Minus the log-likelihood of a log-odds f, log(1 + exp(f)) - y f, for y in {0, 1}.

    The logistic loss in other letters; a fraction y in [0, 1] works too.

    Examples
    --------
    >>> Binomial().value([0, 1], [0.0, 1000.0]).round(6)
    array([0.693147, 0.      ])
    """

    _rule = "lie in [0, 1]"

    @property
    def smoothness(self) -> float:
        return 0.25

    def _allowed(self, y: np.ndarray) -> np.ndarray:
        return (y >= 0) & (y <= 1)

    def mean(self, f: ArrayLike) -> np.ndarray:
        """E[Y | x] = P(Y = 1 | x)."""
        return sigmoid(f)

    def value(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        return self.value_and_gradient(y, f)[0]

    def gradient(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        y, f = pair(y, f)
        # 1 - sigmoid(f) keeps no digit of a small difference; -sigmoid(-f) does
        return (1.0 - y) * sigmoid(f) - y * sigmoid(-f)

    def curvature(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        y, f = pair(y, f)
        return sigmoid_derivative(f) + 0.0 * y

    def prox(self, y: ArrayLike, f: ArrayLike, step: ArrayLike) -> np.ndarray:
        y, f = pair(y, f)
        step = np.asarray(step, dtype=f.dtype)
        return -logistic_prox(-(f + step * y), step)

    def value_and_gradient(self, y: ArrayLike, f: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        y, f = pair(y, f)
        sign = 2.0 * y - 1.0
        # as a function of the margin a small loss keeps its digits; a fraction y has no margin
        if np.all(np.abs(sign) == 1.0):
            value, slope = logistic_value_and_slope(sign * f)
            return value, sign * slope
        value, slope = logistic_value_and_slope(-f)
        return value - y * f, -slope - y


@method(
    zh="交叉熵损失函数",
    task="loss",
    model="L(y, f) = -Σ y_k log p_k, p = softmax(f)",
    strategy="maximum likelihood of K classes with scores f",
    texts=["000 app. F, eq. F.3, F.4", "000 ch. 23, eq. 23.36", "001 ch. 6, eq. 6.12", "004 ch. 5"],
    peers=["sklearn.metrics.log_loss"],
)
@dataclass(frozen=True)
class Multinomial(Loss):
    """Cross-entropy of a softmax, log sum_k exp(f_k) - f_y.

    ``f`` has one row of K scores per sample; ``y`` holds class codes 0 .. K-1, or one row per sample of
    K target probabilities that sum to 1 (one-hot or soft). The gradient is p - y.

    Examples
    --------
    >>> Multinomial().gradient([1], [[1.0, 2.0, 3.0]]).round(6)
    array([[ 0.090031, -0.755272,  0.665241]])
    """

    _rule = "hold class codes (integers, at least 0), or rows of probabilities that sum to 1"

    @property
    def smoothness(self) -> float:
        return 0.5

    def _allowed(self, y: np.ndarray) -> np.ndarray:
        if y.ndim < 2:
            return is_class_code(y)
        return (y >= 0) & (np.abs(y.sum(axis=1, keepdims=True) - 1.0) <= 1e-6)

    def mean(self, f: ArrayLike) -> np.ndarray:
        """Class probabilities."""
        return softmax(f)

    def value(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        z, y = _class_rows(f), np.asarray(y)
        at_truth = _at_truth(y, z)
        np.exp(z, out=z)
        return np.log(z.sum(axis=0)) - at_truth

    def gradient(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        return self.value_and_gradient(y, f)[1]

    def curvature(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        """Diagonal p (1 - p) of the second derivatives; :meth:`hessian` has all of them."""
        p = softmax(f)
        return p * (1.0 - p)

    def hessian(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        """diag(p) - p p' of each sample, shape (n, K, K)."""
        return softmax_jacobian(f)

    def prox(self, y: ArrayLike, f: ArrayLike, step: ArrayLike) -> np.ndarray:
        f, y = as_float(f), np.asarray(y)
        step = np.broadcast_to(np.asarray(step, dtype=f.dtype), f.shape[:1])
        pulled = (f - step[:, None] * _subtract_truth(np.zeros_like(f), y)).T
        return np.where(step > 0, _softmax_prox(pulled, np.where(step > 0, step, f.dtype.type(1.0))), f.T).T

    def value_and_gradient(self, y: ArrayLike, f: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        p, y = _class_rows(f), np.asarray(y)
        at_truth = _at_truth(y, p)
        np.exp(p, out=p)
        total = p.sum(axis=0)
        p /= total
        return np.log(total) - at_truth, _subtract_truth(p.T, y)


def _class_rows(f: ArrayLike) -> np.ndarray:
    """Scores less their largest, one row per class: NumPy sums few long rows faster than many short ones."""
    z = np.array(as_float(f).T, order="C")
    z -= z.max(axis=0)
    return z


def _softmax_prox(c: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Roots of u + step softmax(u) = c, one column per sample.

    Given the log normaliser s of u, each entry of step softmax(u) is W(step exp(c - s)); s itself is the root
    at which they sum to step, and lies between log sum exp(c) - step and log sum exp(c).
    """
    top = log_sum_exp(c, axis=0)
    atol = 4 * np.finfo(c.dtype).eps * (np.abs(top) + step)

    def excess(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        share = lambert_of_exp(np.log(step) + c - s)
        return step - share.sum(axis=0), (share / (1.0 + share)).sum(axis=0)

    s = monotone_root(excess, top - step, top, atol=atol)
    return c - lambert_of_exp(np.log(step) + c - s)


def is_class_code(y: np.ndarray) -> np.ndarray:
    """Which entries are integers that are at least 0."""
    return (y >= 0) & (np.floor(y) == y)


def _at_truth(y: np.ndarray, z: np.ndarray) -> np.ndarray:
    if y.ndim == 2:
        return np.einsum("ik,ki->i", y.astype(z.dtype, copy=False), z)
    return z[y.astype(np.intp, copy=False), np.arange(z.shape[1])]


def _subtract_truth(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    if y.ndim == 2:
        p -= y
    else:
        p[np.arange(p.shape[0]), y.astype(np.intp, copy=False)] -= 1.0
    return p

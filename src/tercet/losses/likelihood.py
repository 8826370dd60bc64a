"""Negative log-likelihood losses: -log P(y | x), up to terms free of f (Li ch. 12)."""

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
from tercet.losses.base import Loss, as_pair
from tercet.losses.margin import lambert_w_of_exp, logistic_prox, logistic_value_and_slope


@method(
    zh="对数损失函数",
    task="loss",
    model="L(y, P) = -log P(y | x)",
    strategy="maximum likelihood",
    texts=["Li ch. 1, eq. 1.12", "Li ch. 12", "Machine Learning in Depth ch. 1, 1.2.2"],
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
        Lower bound of the probabilities.

    Examples
    --------
    >>> Log().value([1, 0], [0.5, 0.75]).round(6)
    array([0.693147, 1.386294])
    >>> Log().value([1], [[0.1, 0.7, 0.2]]).round(6)
    array([0.356675])
    """

    clip: float = 0.0
    _requirement = "be a class code: an integer, at least 0"
    _no_prox_reason = (
        "f is a probability and not free to move; the Binomial and Multinomial loss of scores have one"
    )

    def __post_init__(self) -> None:
        require(self, "clip", self.clip, 0 <= self.clip < 0.5, "lie in [0, 0.5)")
        object.__setattr__(self, "clip", float(self.clip))

    def _allowed(self, y: np.ndarray) -> np.ndarray:
        return is_class_code(y)

    def _true_class_probability(self, y: ArrayLike, f: np.ndarray) -> np.ndarray:
        """P(y | x) of each sample."""
        if f.ndim == 2:
            p = f[np.arange(f.shape[0]), np.asarray(y, dtype=np.intp)]
        else:
            p = np.where(np.asarray(y) == 1, f, 1.0 - f)
        return np.maximum(p, self.clip)

    def _at_true_class(self, y: ArrayLike, f: np.ndarray, derivative: np.ndarray) -> np.ndarray:
        """Put the derivative in P(y | x) at the entry of the true class."""
        full = np.zeros_like(f)
        full[np.arange(f.shape[0]), np.asarray(y, dtype=np.intp)] = derivative
        return full

    def value(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return -np.log(self._true_class_probability(y, as_float(f)))

    def gradient(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        f = as_float(f)
        with np.errstate(divide="ignore"):
            slope = -1.0 / self._true_class_probability(y, f)
        return (
            self._at_true_class(y, f, slope) if f.ndim == 2 else np.where(np.asarray(y) == 1, slope, -slope)
        )

    def curvature(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        f = as_float(f)
        with np.errstate(divide="ignore"):
            curvature = 1.0 / self._true_class_probability(y, f) ** 2
        return self._at_true_class(y, f, curvature) if f.ndim == 2 else curvature


@method(
    zh="逻辑斯谛回归的负对数似然",
    task="loss",
    model="L(y, f) = log(1 + exp(f)) - y f, y in {0, 1}",
    strategy="maximum likelihood of a Bernoulli distribution with log-odds f",
    texts=[
        "Li ch. 6, 6.1.3",
        "Li ch. 23, eq. 23.34",
        "Machine Learning in Depth ch. 2, eq. 2.16",
        "watermelon notes ch. 1, eq. 1.20",
        "Studies ML ch. 3, eq. 3.27",
    ],
    peers=["sklearn.metrics.log_loss"],
)
@dataclass(frozen=True)
class Binomial(Loss):
    """Binomial negative log-likelihood of log-odds f, log(1 + exp(f)) - y f, for y in {0, 1}.

    The logistic loss for targets in {0, 1}; a fraction y in [0, 1] is allowed too.

    Examples
    --------
    >>> Binomial().value([0, 1], [0.0, 1000.0]).round(6)
    array([0.693147, 0.      ])
    """

    _requirement = "lie in [0, 1]"

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
        y, f = as_pair(y, f)
        # -sigmoid(-f) is accurate where 1 - sigmoid(f) cancels
        return (1.0 - y) * sigmoid(f) - y * sigmoid(-f)

    def curvature(self, y: ArrayLike, f: ArrayLike) -> np.ndarray:
        y, f = as_pair(y, f)
        return sigmoid_derivative(f) + 0.0 * y

    def prox(self, y: ArrayLike, f: ArrayLike, step: ArrayLike) -> np.ndarray:
        y, f = as_pair(y, f)
        step = np.asarray(step, dtype=f.dtype)
        return -logistic_prox(-(f + step * y), step)

    def value_and_gradient(self, y: ArrayLike, f: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        y, f = as_pair(y, f)
        sign = 2.0 * y - 1.0
        # accurate for small losses as a function of the margin, which a fraction y does not have
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
    texts=[
        "Li app. F, eq. F.3, F.4",
        "Li ch. 23, eq. 23.36",
        "Machine Learning in Depth ch. 6, eq. 6.12",
        "Studies ML ch. 5",
    ],
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

    _requirement = "hold class codes (integers, at least 0), or rows of probabilities that sum to 1"

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
        z, y = _shifted_scores(f), np.asarray(y)
        score = _true_class_score(y, z)
        np.exp(z, out=z)
        return np.log(z.sum(axis=0)) - score

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
        shifted = (f - step[:, None] * _subtract_target(np.zeros_like(f), y)).T
        return np.where(step > 0, _softmax_prox(shifted, np.where(step > 0, step, f.dtype.type(1.0))), f.T).T

    def value_and_gradient(self, y: ArrayLike, f: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        p, y = _shifted_scores(f), np.asarray(y)
        score = _true_class_score(y, p)
        np.exp(p, out=p)
        total = p.sum(axis=0)
        p /= total
        return np.log(total) - score, _subtract_target(p.T, y)


def _shifted_scores(f: ArrayLike) -> np.ndarray:
    """Scores minus their maximum, of shape (K, n): NumPy sums few long rows faster than many short ones."""
    z = np.array(as_float(f).T, order="C")
    z -= z.max(axis=0)
    return z


def _softmax_prox(c: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Proximal operator: the roots of u + step softmax(u) = c, one column per sample.

    Given the log normaliser s of u, each entry of step softmax(u) is W(step exp(c - s)); s itself is the root
    at which they sum to step, and lies between log sum exp(c) - step and log sum exp(c).
    """
    top = log_sum_exp(c, axis=0)
    atol = 4 * np.finfo(c.dtype).eps * (np.abs(top) + step)

    def excess(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mass = lambert_w_of_exp(np.log(step) + c - s)
        return step - mass.sum(axis=0), (mass / (1.0 + mass)).sum(axis=0)

    s = monotone_root(excess, top - step, top, atol=atol)
    return c - lambert_w_of_exp(np.log(step) + c - s)


def is_class_code(y: np.ndarray) -> np.ndarray:
    """Whether each entry is an integer, at least 0."""
    return (y >= 0) & (np.floor(y) == y)


def _true_class_score(y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Scores of the true classes, of shape (n,), from scores of shape (K, n); expected scores for soft targets."""
    if y.ndim == 2:
        return np.einsum("ik,ki->i", y.astype(z.dtype, copy=False), z)
    return z[y.astype(np.intp, copy=False), np.arange(z.shape[1])]


def _subtract_target(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """p - y in place, with class codes y as one-hot rows."""
    if y.ndim == 2:
        p -= y
    else:
        p[np.arange(p.shape[0]), y.astype(np.intp, copy=False)] -= 1.0
    return p

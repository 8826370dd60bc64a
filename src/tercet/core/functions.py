"""Sigmoid, softmax and their kin: safe from overflow, float32 in means float32 out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method

__all__ = [
    "as_float",
    "log_sigmoid",
    "log_softmax",
    "log_sum_exp",
    "logit",
    "monotone_root",
    "odds",
    "odds_to_probability",
    "require",
    "sigmoid",
    "sigmoid_derivative",
    "softmax",
    "softmax_jacobian",
    "softplus",
    "unit_step",
]


def as_float(x: ArrayLike) -> np.ndarray:
    """View ``x`` as a floating array: float32 and float64 stay, everything else becomes float64.

    Examples
    --------
    >>> as_float([1, 2]).dtype
    dtype('float64')
    """
    array = np.asarray(x)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def require(owner: object, name: str, value: Any, allowed: bool, rule: str) -> None:
    """Raise ValueError unless the value of an option is allowed.

    Examples
    --------
    >>> require(1.0, "real", 2, False, "be 1")
    Traceback (most recent call last):
    ValueError: real of float must be 1, got 2
    """
    if not allowed:
        raise ValueError(f"{name} of {type(owner).__name__} must {rule}, got {value!r}")


@method(
    zh="单位阶跃函数",
    task="function",
    model="1[z > 0]",
    texts=["Pattern Recognition ch. 5, 5.4", "Studies ML ch. 3, eq. 3.16"],
    peers=["numpy.heaviside"],
)
def unit_step(z: ArrayLike, at_zero: float = 0.5) -> np.ndarray:
    """Unit step: 0 below zero, 1 above, ``at_zero`` at zero.

    Examples
    --------
    >>> unit_step([-2.0, 0.0, 3.0])
    array([0. , 0.5, 1. ])
    """
    z = as_float(z)
    return np.heaviside(z, z.dtype.type(at_zero))


@method(
    zh="S 型函数",
    task="function",
    model="σ(z) = 1 / (1 + exp(-z))",
    texts=[
        "Li ch. 6",
        "Li ch. 23, eq. 23.14",
        "Machine Learning in Depth ch. 2, 2.2.2",
        "watermelon notes ch. 1, eq. 1.14",
        "Pattern Recognition ch. 5, eq. 5-17",
        "Studies ML ch. 3, eq. 3.17",
    ],
    peers=["scipy.special.expit"],
)
def sigmoid(z: ArrayLike) -> np.ndarray:
    """Logistic function 1 / (1 + exp(-z)).

    Examples
    --------
    >>> sigmoid([-1000.0, 0.0, 1000.0])
    array([0. , 0.5, 1. ])
    """
    z = as_float(z)
    # exp may run to infinity, and 1 / infinity is the right answer
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-z))


@method(
    zh="S 型函数的导函数",
    task="function",
    model="σ'(z) = σ(z) (1 - σ(z))",
    texts=["Machine Learning in Depth ch. 2, eq. 2.18", "Pattern Recognition ch. 5, eq. 5-28"],
)
def sigmoid_derivative(z: ArrayLike) -> np.ndarray:
    """Derivative s(z) (1 - s(z)) of the sigmoid.

    Machine Learning in Depth eq. 2.18 prints the last sign wrong.

    Examples
    --------
    >>> sigmoid_derivative([0.0, 800.0])
    array([0.25, 0.  ])
    """
    z = as_float(z)
    e = np.exp(-np.abs(z))
    return e / (1.0 + e) ** 2


def softplus(z: ArrayLike) -> np.ndarray:
    """log(1 + exp(z)), the integral of the sigmoid.

    Examples
    --------
    >>> softplus([-800.0, 800.0])
    array([  0., 800.])
    """
    z = as_float(z)
    return np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))


def log_sigmoid(z: ArrayLike) -> np.ndarray:
    """log of the sigmoid, exact where the sigmoid itself underflows.

    Examples
    --------
    >>> log_sigmoid([-800.0, 800.0])
    array([-800.,   -0.])
    """
    return -softplus(-as_float(z))


@method(
    zh="几率",
    task="function",
    model="p / (1 - p)",
    texts=["Li ch. 6, 6.1.2", "Studies ML ch. 3, eq. 3.20"],
)
def odds(p: ArrayLike) -> np.ndarray:
    """Odds p / (1 - p) of an event with probability p.

    Examples
    --------
    >>> odds([0.5, 0.75, 1.0])
    array([ 1.,  3., inf])
    """
    p = _probability(p)
    with np.errstate(divide="ignore"):
        return p / (1.0 - p)


def odds_to_probability(odds: ArrayLike) -> np.ndarray:
    """Probability o / (1 + o) of an event with odds o, the inverse of :func:`odds`.

    Examples
    --------
    >>> odds_to_probability([0.0, 3.0, np.inf])
    array([0.  , 0.75, 1.  ])
    """
    o = as_float(odds)
    if np.any(~(o >= 0)):
        raise ValueError(f"odds must be at least 0, got {o[~(o >= 0)].flat[0]}")
    with np.errstate(divide="ignore"):
        return 1.0 / (1.0 + 1.0 / o)


@method(
    zh="对数几率",
    task="function",
    model="log(p / (1 - p))",
    texts=[
        "Li ch. 6, 6.1.2",
        "Machine Learning in Depth ch. 2, 2.2.4",
        "watermelon notes ch. 1, eq. 1.16",
        "Studies ML ch. 3, eq. 3.21",
    ],
    peers=["scipy.special.logit"],
)
def logit(p: ArrayLike) -> np.ndarray:
    """Log odds log(p / (1 - p)), the inverse of the sigmoid.

    Examples
    --------
    >>> logit([0.0, 0.5, 1.0])
    array([-inf,   0.,  inf])
    """
    p = _probability(p)
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(-p)


def _probability(p: ArrayLike) -> np.ndarray:
    p = as_float(p)
    bad = ~((p >= 0) & (p <= 1))
    if np.any(bad):
        raise ValueError(f"p must lie in [0, 1], got {p[bad].flat[0]}")
    return p


def log_sum_exp(z: ArrayLike, axis: int | tuple[int, ...] | None = -1, keepdims: bool = False) -> np.ndarray:
    """log of the sum of exp(z) along an axis, the log normaliser of a softmax.

    Examples
    --------
    >>> log_sum_exp([1000.0, 1000.0]).round(6)
    np.float64(1000.693147)
    """
    z = as_float(z)
    top = _finite_maximum(z, axis)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(z - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis=axis)[()]


@method(
    zh="软最大化函数",
    task="function",
    model="p_k = exp(z_k) / Σ_i exp(z_i)",
    texts=["Li app. F, eq. F.1", "Li ch. 23, eq. 23.23", "Machine Learning in Depth ch. 6, 6.4"],
    peers=["scipy.special.softmax"],
)
def softmax(z: ArrayLike, axis: int = -1) -> np.ndarray:
    """Scores to probabilities, exp(z_k) / sum_i exp(z_i).

    Examples
    --------
    >>> softmax([1.0, 2.0, 3.0]).round(6)
    array([0.090031, 0.244728, 0.665241])
    """
    z = as_float(z)
    e = z - _finite_maximum(z, axis)
    np.exp(e, out=e)
    e /= e.sum(axis=axis, keepdims=True)
    return e


def log_softmax(z: ArrayLike, axis: int = -1) -> np.ndarray:
    """log of the softmax, exact where a probability underflows.

    Examples
    --------
    >>> log_softmax([0.0, 1000.0])
    array([-1000.,     0.])
    """
    z = as_float(z)
    z = z - _finite_maximum(z, axis)  # first: of scores of 1e18 nothing would be left beside the normaliser
    with np.errstate(divide="ignore"):
        return z - np.log(np.exp(z).sum(axis=axis, keepdims=True))


def _finite_maximum(z: np.ndarray, axis: int | tuple[int, ...] | None) -> np.ndarray:
    """Largest score along the axis; 0 where it is infinite, so that subtracting it makes no NaN."""
    top = z.max(axis=axis, keepdims=True)
    top[~np.isfinite(top)] = 0.0
    return top


@method(
    zh="软最大化函数的偏导数",
    task="function",
    model="∂p_k/∂z_j = p_k (1[j = k] - p_j)",
    texts=["Li app. F, eq. F.2", "Li ch. 23, eq. 23.24"],
)
def softmax_jacobian(z: ArrayLike) -> np.ndarray:
    """Derivatives of the softmax, diag(p) - p p', over the last axis.

    Examples
    --------
    >>> softmax_jacobian([0.0, 0.0])
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    p = softmax(z)
    jacobian = -p[..., :, None] * p[..., None, :]
    diagonal = np.einsum("...kk->...k", jacobian)
    diagonal += p
    return jacobian


def monotone_root(
    function: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    lower: np.ndarray,
    upper: np.ndarray,
    atol: ArrayLike = 0.0,
    max_iter: int = 200,
) -> np.ndarray:
    """Roots of increasing functions, one per element, by Newton's method inside a shrinking bracket.

    ``function(u)`` returns the values and the derivatives. Where Newton leaves the bracket, or shrinks
    it too slowly, the middle of the bracket is taken instead, so that convergence is certain. ``atol`` is
    the step small enough to stop at where the root may be zero; elsewhere a few units of the last digit are.

    Examples
    --------
    >>> monotone_root(lambda u: (u**3 - 8.0, 3 * u**2), np.zeros(1), np.full(1, 5.0))
    array([2.])
    """
    lo, hi = np.array(lower), np.array(upper)
    u = 0.5 * (lo + hi)
    width = hi - lo
    resolution = 4 * np.finfo(u.dtype).eps
    for _ in range(max_iter):
        value, slope = function(u)
        lo, hi = np.where(value <= 0, u, lo), np.where(value >= 0, u, hi)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = u - value / slope
        inside = (newton >= lo) & (newton <= hi) & (np.abs(newton - u) <= 0.5 * width)
        following = np.where(inside, newton, 0.5 * (lo + hi))
        width = np.abs(following - u)
        u = following
        if np.all(width <= resolution * np.abs(u) + atol):
            break
    return u

"""Gradient, divergence and curl by finite differences (梯度、散度与旋度)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.theory.checks import checked_positive

STEP = float(
    np.finfo(np.float64).eps ** 0.2
)  # balances rounding, eps / h, with the error of the formula, h^4

Field = Callable[[np.ndarray], Any]


@method(
    zh="梯度",
    task="theory",
    model="∇f = (∂f/∂x₁, …, ∂f/∂x_d)",
    strategy="the direction in which f rises fastest",
    algorithms="central differences of fourth order",
    texts=["Studies ML ch. 5, sec. 5.2"],
)
def gradient(f: Field, x: Any, *, step: float | None = None) -> np.ndarray:
    """Gradient of a scalar field.

    Parameters
    ----------
    f : callable
        The value at a point of shape (n_features,).
    x : array of shape (n_features,) or (n_points, n_features)
        Where to differentiate.
    step : float, optional
        Distance between the points of the differences; by default 7e-4 times the size of the coordinate, or of 1
        where that is larger.

    Returns
    -------
    array of the shape of x

    Examples
    --------
    >>> gradient(lambda p: p[0] ** 2 + 3 * p[1], [2.0, 5.0]).round(9)
    array([4., 3.])
    """
    return _at_each(lambda point: _derivatives(f, point, step, 0), x)


@method(
    zh="雅可比矩阵",
    task="theory",
    model="J_ij = ∂v_i/∂x_j",
    strategy="the linear map that is nearest to the field v around a point",
    algorithms="central differences of fourth order",
    texts=["Studies ML ch. 5, sec. 5.2"],
)
def jacobian(v: Field, x: Any, *, step: float | None = None) -> np.ndarray:
    """Jacobian matrix of a vector field.

    Parameters
    ----------
    v : callable
        The vector, of shape (n_outputs,), at a point of shape (n_features,).
    x : array of shape (n_features,) or (n_points, n_features)
        Where to differentiate.
    step : float, optional
        As in `gradient`.

    Returns
    -------
    array of shape (n_outputs, n_features) or (n_points, n_outputs, n_features)

    Examples
    --------
    >>> jacobian(lambda p: np.array([p[0] * p[1], p[1]]), [2.0, 5.0]).round(9)
    array([[5., 2.],
           [0., 1.]])
    """
    return _at_each(lambda point: np.moveaxis(_derivatives(v, point, step, 1), 0, -1), x)


@method(
    zh="散度",
    task="theory",
    model="div v = ∇·v = Σ_i ∂v_i/∂x_i",
    strategy="how much more flows out of a point than into it",
    algorithms="central differences of fourth order",
    texts=["Studies ML ch. 5, sec. 5.2"],
)
def divergence(v: Field, x: Any, *, step: float | None = None) -> Any:
    """Divergence of a vector field.

    Parameters
    ----------
    v : callable
        The vector, of shape (n_features,), at a point of shape (n_features,).
    x : array of shape (n_features,) or (n_points, n_features)
        Where to differentiate.
    step : float, optional
        As in `gradient`.

    Returns
    -------
    float or array of shape (n_points,)

    Examples
    --------
    >>> divergence(lambda p: p**2, [[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]]).round(9)
    array([12.,  2.])
    """
    J = jacobian(v, x, step=step)
    if J.shape[-1] != J.shape[-2]:
        raise ValueError(
            f"v must return as many numbers as x has features, {J.shape[-1]}; it returns {J.shape[-2]}."
        )
    return np.trace(J, axis1=-2, axis2=-1)


@method(
    zh="旋度",
    task="theory",
    model="curl v = ∇×v = (∂v₃/∂x₂ − ∂v₂/∂x₃, ∂v₁/∂x₃ − ∂v₃/∂x₁, ∂v₂/∂x₁ − ∂v₁/∂x₂)",
    strategy="the axis and speed of the rotation around a point; curl ∇f = 0 and div curl v = 0",
    algorithms="central differences of fourth order",
    texts=["Studies ML ch. 5, sec. 5.2"],
)
def curl(v: Field, x: Any, *, step: float | None = None) -> Any:
    """Curl of a vector field in space; in the plane its third component, a number.

    Parameters
    ----------
    v : callable
        The vector, of shape (n_features,), at a point of shape (n_features,), with 2 or 3 features.
    x : array of shape (n_features,) or (n_points, n_features)
        Where to differentiate.
    step : float, optional
        As in `gradient`.

    Returns
    -------
    array of the shape of x, or in the plane float or array of shape (n_points,)

    Examples
    --------
    >>> curl(lambda p: np.array([-p[1], p[0], 0.0]), [1.0, 2.0, 3.0]).round(9) + 0.0
    array([0., 0., 2.])
    """
    J = jacobian(v, x, step=step)
    if J.shape[-2:] not in ((2, 2), (3, 3)):
        raise ValueError(
            f"curl is for 2 or 3 dimensions; x has {J.shape[-1]} features, and v returns {J.shape[-2]} numbers."
        )
    if J.shape[-1] == 2:
        return J[..., 1, 0] - J[..., 0, 1]
    pairs = ((2, 1), (0, 2), (1, 0))
    return np.stack([J[..., i, j] - J[..., j, i] for i, j in pairs], axis=-1)


def _at_each(derive: Callable[[np.ndarray], np.ndarray], x: Any) -> np.ndarray:
    """A derivative at one point, or at each of several."""
    x = np.asarray(x, dtype=np.float64)
    if x.ndim not in (1, 2) or not x.size or not np.isfinite(x).all():
        raise ValueError(f"x must be a finite point, or an array of points; its shape is {x.shape}.")
    return derive(x) if x.ndim == 1 else np.stack([derive(point) for point in x])


def _derivatives(f: Field, x: np.ndarray, step: float | None, ndim: int) -> np.ndarray:
    """The partial derivatives ∂f/∂x_j, (f(x-2h) - 8 f(x-h) + 8 f(x+h) - f(x+2h)) / 12h, one after the other."""
    if step is not None:
        step = checked_positive("step", step)
    found = []
    for j in range(x.size):
        h = STEP * max(1.0, abs(float(x[j]))) if step is None else step
        total: Any = 0.0
        for factor, away in ((1.0, -2.0), (-8.0, -1.0), (8.0, 1.0), (-1.0, 2.0)):
            point = x.copy()
            point[j] += away * h
            total = total + factor * _value(f, point, ndim)
        found.append(total / (12.0 * h))
    return np.array(found)


def _value(f: Field, point: np.ndarray, ndim: int) -> np.ndarray:
    value = np.asarray(f(point), dtype=np.float64)
    if value.ndim != ndim or not np.isfinite(value).all():
        what = "a finite number" if ndim == 0 else "a vector of finite numbers"
        raise ValueError(f"The field must return {what} at {point.tolist()}; got {value.tolist()!r}.")
    return value

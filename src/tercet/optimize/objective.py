"""Objective functions: value, gradient and, where there is one, Hessian."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

EPS = float(np.finfo(np.float64).eps)


class Objective(Protocol):
    """Interface of an objective that is given to `minimize` in place of a callable.

    Optional methods: `hessian(x)`, `hessian_product(x, v)`, and
    `exact_step(x, p)`, the minimiser of f(x + λp) over λ in closed form. An attribute `precision`
    is the relative error of the values, where it is not the precision of the gradient's dtype; `strong_convexity`
    is a lower bound of the curvature of f along a gradient, which bounds the first step of L-BFGS.

    Examples
    --------
    >>> from tercet.optimize import minimize
    >>> class Bowl:
    ...     def value(self, x):
    ...         return float((x - 3) @ (x - 3))
    ...
    ...     def gradient(self, x):
    ...         return 2 * (x - 3)
    ...
    ...     def value_and_gradient(self, x):
    ...         return self.value(x), self.gradient(x)
    >>> minimize(Bowl(), [0.0, 1.0], method="gd").x
    array([3., 3.])
    """

    def value(self, x: np.ndarray) -> float:
        """f(x)."""

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient of f at x."""

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Both at once."""


class CountedObjective:
    """Objective that counts its evaluations and approximates missing derivatives by differences.

    Parameters
    ----------
    fun : callable or Objective
        f(x), or (f(x), gradient) with `jac=True`, or an object with the methods of `Objective`.
    jac, hess, hessp : callable, optional
        The gradient g(x), the Hessian H(x) and the product H(x)v as a function of (x, v). Missing
        ones are approximated by central differences, of values or of gradients.
    """

    def __init__(self, fun: Any, jac: Any = None, hess: Any = None, hessp: Any = None) -> None:
        self.nfev = self.njev = self.nhev = 0
        self.precision = float(getattr(fun, "precision", EPS))
        self.strong_convexity = float(getattr(fun, "strong_convexity", 0.0))
        self.exact_step: Callable[[np.ndarray, np.ndarray], float] | None = getattr(fun, "exact_step", None)
        self._hess, self._hessp = hess, hessp
        if hasattr(fun, "value_and_gradient"):
            self._value, self._gradient, self._both = fun.value, fun.gradient, fun.value_and_gradient
            self._hess = hess or getattr(fun, "hessian", None)
            self._hessp = hessp or getattr(fun, "hessian_product", None)
        elif not callable(fun):
            raise TypeError(
                "fun must be a callable f(x), or an object with value, gradient and value_and_gradient; "
                f"got {type(fun).__name__}."
            )
        elif jac is True:
            self._both = fun
            self._value, self._gradient = lambda x: fun(x)[0], lambda x: fun(x)[1]
        elif callable(jac):
            self._value, self._gradient = fun, jac
            self._both = lambda x: (fun(x), jac(x))
        elif jac is None or jac is False:
            self._value, self._gradient = fun, self._finite_differences
            self._both = lambda x: (fun(x), self._finite_differences(x))
        else:
            raise TypeError(f"jac must be a callable, True (fun returns both) or None; got {jac!r}.")

    def value(self, x: np.ndarray) -> float:
        self.nfev += 1
        return as_scalar(self._value(x))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        self.njev += 1
        return as_shape(self._gradient(x), x.shape, "gradient (jac)")

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        self.nfev += 1
        self.njev += 1
        f, g = self._both(x)
        if getattr(g, "dtype", None) == np.float32:
            self.precision = max(self.precision, float(np.finfo(np.float32).eps))
        return as_scalar(f), as_shape(g, x.shape, "gradient (jac)")

    def hessian(self, x: np.ndarray) -> np.ndarray:
        self.nhev += 1
        if self._hess is not None:
            return as_shape(self._hess(x), (x.size, x.size), "Hessian (hess)")
        if self._gradient == self._finite_differences:
            return self._second_differences(x)
        H = np.empty((x.size, x.size))
        for i, h in enumerate(_spacing(x)):
            e = np.zeros_like(x)
            e[i] = h
            H[i] = (self.gradient(x + e) - self.gradient(x - e)) / (2 * h)
        return (H + H.T) / 2

    def hessian_product(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.nhev += 1
        if self._hessp is not None:
            return as_shape(self._hessp(x, v), x.shape, "product (hessp)")
        if self._hess is not None:
            return as_shape(self._hess(x), (x.size, x.size), "Hessian (hess)") @ v
        h = EPS ** (1 / 3) * max(1.0, float(np.linalg.norm(x))) / max(float(np.linalg.norm(v)), EPS)
        return (self.gradient(x + h * v) - self.gradient(x - h * v)) / (2 * h)

    def _finite_differences(self, x: np.ndarray) -> np.ndarray:
        g = np.empty_like(x)
        for i, h in enumerate(_spacing(x)):
            e = np.zeros_like(x)
            e[i] = h
            g[i] = (self.value(x + e) - self.value(x - e)) / (2 * h)
        return g

    def _second_differences(self, x: np.ndarray) -> np.ndarray:
        """Hessian by differences of values: differences of differences would lose twice as many digits."""
        n, spacing = x.size, EPS ** (1 / 4) * np.maximum(1.0, np.abs(x))
        moves, f = np.diag(spacing), self.value(x)
        single = np.array([self.value(x + e) + self.value(x - e) - 2 * f for e in moves])
        H = np.diag(single)
        for i in range(n):
            for j in range(i):
                e = moves[i] + moves[j]
                both = self.value(x + e) + self.value(x - e) - 2 * f
                H[i, j] = H[j, i] = (both - single[i] - single[j]) / 2
        return H / np.outer(spacing, spacing)


def as_objective(fun: Any, jac: Any = None, hess: Any = None, hessp: Any = None) -> CountedObjective:
    """The arguments as a `CountedObjective`; one that already is stays as it is."""
    return fun if isinstance(fun, CountedObjective) else CountedObjective(fun, jac, hess, hessp)


def as_scalar(value: Any) -> float:
    """The value of f as a float; raises unless it is one number."""
    array = np.asarray(value)
    if array.size != 1:
        raise ValueError(f"fun must return one number; got an array of shape {array.shape}.")
    return float(array.reshape(()))


def as_shape(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """A derivative as an array of the given shape; raises if its size differs."""
    array = np.asarray(value, dtype=float)
    if array.size != math.prod(shape):
        raise ValueError(f"The {name} must have shape {shape}, after x; got shape {array.shape}.")
    return array.reshape(shape)


def _spacing(x: np.ndarray) -> np.ndarray:
    """Step sizes of central differences that balance rounding and truncation errors."""
    return EPS ** (1 / 3) * np.maximum(1.0, np.abs(x))

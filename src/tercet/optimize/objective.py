"""What is minimised: a function with its gradient and, where there is one, its Hessian."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

EPS = float(np.finfo(np.float64).eps)


class Objective(Protocol):
    """What `minimize` asks of an object that it is given in place of a callable.

    Further methods are used where an object has them: `hessian(x)`, `hessian_product(x, v)`, and
    `exact_step(x, p)`, the minimiser of f(x + λp) over λ in closed form. An attribute `precision` tells how
    exact the values are, relative to f, when that is not the precision of the gradient's dtype.

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
        """Both at once, which most often costs little more than one."""


class Quadratic:
    """The quadratic function f(x) = 1/2 x·Ax - b·x + c, whose exact line search has a closed form.

    Parameters
    ----------
    A : array of shape (n, n)
        A symmetric matrix.
    b : array of shape (n,), optional
        The linear part; zero by default.
    c : float, default=0.0
        The constant.

    Examples
    --------
    >>> f = Quadratic([[4, 1], [1, 3]], [1, 2])
    >>> f.gradient([2, 1])
    array([8., 3.])
    """

    def __init__(self, A: Any, b: Any = None, c: float = 0.0) -> None:
        self.A = np.asarray(A, dtype=float)
        self.b = np.zeros(len(self.A)) if b is None else np.asarray(b, dtype=float)
        self.c = float(c)
        if self.A.shape != (self.b.size, self.b.size) or not np.allclose(self.A, self.A.T):
            raise ValueError(
                f"Quadratic: A must be symmetric of shape ({self.b.size}, {self.b.size}), like b; "
                f"got shape {self.A.shape}."
            )

    def value(self, x: Any) -> float:
        """f(x)."""
        x = np.asarray(x, dtype=float)
        return float(x @ self.A @ x / 2 - self.b @ x + self.c)

    def gradient(self, x: Any) -> np.ndarray:
        """Ax - b."""
        return self.A @ np.asarray(x, dtype=float) - self.b

    def value_and_gradient(self, x: Any) -> tuple[float, np.ndarray]:
        """Both."""
        return self.value(x), self.gradient(x)

    def hessian(self, x: Any) -> np.ndarray:
        """A, whatever x is."""
        return self.A

    def hessian_product(self, x: Any, v: Any) -> np.ndarray:
        """Av."""
        return self.A @ np.asarray(v, dtype=float)

    def exact_step(self, x: Any, p: Any) -> float:
        """The λ at which f(x + λp) is stationary: -g·p / p·Ap."""
        p = np.asarray(p, dtype=float)
        return float(-(self.gradient(x) @ p) / (p @ self.A @ p))


class Counted:
    """An objective made of what the caller gave, which counts its evaluations.

    Parameters
    ----------
    fun : callable or Objective
        f(x), or (f(x), gradient) with `jac=True`, or an object with the methods of `Objective`.
    jac, hess, hessp : callable, optional
        The gradient g(x), the Hessian H(x) and the product H(x)v as a function of (x, v). What is missing is
        made by central differences: the gradient of values, the Hessian and its products of gradients.
    """

    def __init__(self, fun: Any, jac: Any = None, hess: Any = None, hessp: Any = None) -> None:
        self.nfev = self.njev = self.nhev = 0
        self.precision = float(getattr(fun, "precision", EPS))
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
            self._value, self._gradient = fun, self._differences
            self._both = lambda x: (fun(x), self._differences(x))
        else:
            raise TypeError(f"jac must be a callable, True (fun returns both) or None; got {jac!r}.")

    def value(self, x: np.ndarray) -> float:
        self.nfev += 1
        return scalar(self._value(x))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        self.njev += 1
        return shaped(self._gradient(x), x.shape, "gradient (jac)")

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        self.nfev += 1
        self.njev += 1
        f, g = self._both(x)
        if getattr(g, "dtype", None) == np.float32:
            self.precision = max(self.precision, float(np.finfo(np.float32).eps))
        return scalar(f), shaped(g, x.shape, "gradient (jac)")

    def hessian(self, x: np.ndarray) -> np.ndarray:
        self.nhev += 1
        if self._hess is not None:
            return shaped(self._hess(x), (x.size, x.size), "Hessian (hess)")
        H = np.empty((x.size, x.size))
        for i, h in enumerate(_spacing(x)):
            e = np.zeros_like(x)
            e[i] = h
            H[i] = (self.gradient(x + e) - self.gradient(x - e)) / (2 * h)
        return (H + H.T) / 2

    def hessian_product(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.nhev += 1
        if self._hessp is not None:
            return shaped(self._hessp(x, v), x.shape, "product (hessp)")
        if self._hess is not None:
            return shaped(self._hess(x), (x.size, x.size), "Hessian (hess)") @ v
        h = EPS ** (1 / 3) * max(1.0, float(np.linalg.norm(x))) / max(float(np.linalg.norm(v)), EPS)
        return (self.gradient(x + h * v) - self.gradient(x - h * v)) / (2 * h)

    def _differences(self, x: np.ndarray) -> np.ndarray:
        g = np.empty_like(x)
        for i, h in enumerate(_spacing(x)):
            e = np.zeros_like(x)
            e[i] = h
            g[i] = (self.value(x + e) - self.value(x - e)) / (2 * h)
        return g


def counted(fun: Any, jac: Any = None, hess: Any = None, hessp: Any = None) -> Counted:
    """The objective as the methods see it; one that is counted already stays as it is."""
    return fun if isinstance(fun, Counted) else Counted(fun, jac, hess, hessp)


def scalar(value: Any) -> float:
    """The value of f as a float, or an error that says that f must return one."""
    array = np.asarray(value)
    if array.size != 1:
        raise ValueError(f"fun must return one number; got an array of shape {array.shape}.")
    return float(array.reshape(()))


def shaped(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """A derivative as an array of a shape, or an error that says which it must have."""
    array = np.asarray(value, dtype=float)
    if array.size != math.prod(shape):
        raise ValueError(f"The {name} must have shape {shape}, after x; got shape {array.shape}.")
    return array.reshape(shape)


def _spacing(x: np.ndarray) -> np.ndarray:
    """Steps for central differences, at which their rounding and their truncation errors balance."""
    return EPS ** (1 / 3) * np.maximum(1.0, np.abs(x))

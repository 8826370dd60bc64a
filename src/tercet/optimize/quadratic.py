"""Quadratic functions."""

from __future__ import annotations

from typing import Any

import numpy as np


class Quadratic:
    """Quadratic function f(x) = 1/2 x·Ax - b·x + c, with an exact line search in closed form.

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

"""Functions of a reproducing kernel Hilbert space."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.kernels.base import Kernel


@method(
    zh="再生核希尔伯特空间中的函数",
    task="kernel",
    model="f = sum_i coef_i K(·, x_i)",
    strategy="f · g = sum_ij a_i b_j K(x_i, z_j), so that K(·, x) · f = f(x)",
    texts=["Li ch. 7, 7.3.2"],
)
class RKHSFunction:
    """A function in the space that a kernel reproduces: sums, multiples, values, inner products, norm.

    Parameters
    ----------
    coef : array of shape (m,)
        The coefficients.
    points : rows of shape (m, d), or m strings
        The points that the kernel is centred at.
    kernel : Kernel
        The kernel; what it would find from data, it finds from the points.

    Examples
    --------
    >>> from tercet.kernels import Gaussian, RKHSFunction
    >>> f = RKHSFunction([1.0, -2.0], [[0.0], [1.0]], Gaussian(sigma=1.0))
    >>> f([[0.5]]).round(10), round(f.norm() ** 2, 10)
    (array([-0.8824969]), 2.5738773611)
    """

    def __init__(self, coef: Any, points: Any, kernel: Kernel) -> None:
        if not isinstance(kernel, Kernel) or kernel.takes == "gram":
            raise ValueError(f"RKHSFunction: kernel must be a kernel of points; got {kernel!r}.")
        self.points = kernel.check(points)
        self.kernel = kernel.resolve(self.points)
        self.coef = np.asarray(coef, dtype=np.float64)
        n = self.points.shape[0]
        if self.coef.shape != (n,) or not np.all(np.isfinite(self.coef)):
            raise ValueError(
                f"RKHSFunction: coef must be {n} finite numbers, one for each point; got {coef!r}."
            )

    @classmethod
    def at(cls, x: Any, kernel: Kernel) -> RKHSFunction:
        """K(·, x): the point x as a function, the feature map of the space.

        Examples
        --------
        >>> from tercet.kernels import Linear
        >>> RKHSFunction.at([1.0, 2.0], Linear())([[3.0, 4.0]])
        array([11.])
        """
        return cls([1.0], [x], kernel)

    def __call__(self, X: Any) -> np.ndarray:
        """Values of the function."""
        X, points = self.kernel._check_pair(X, self.points)
        return self.kernel.times(X, points, self.coef)

    def inner(self, other: RKHSFunction) -> float:
        """Inner product with another function of the same space."""
        self._same_space(other)
        return float(self.coef @ other(self.points))

    def norm(self) -> float:
        """Length of the function, sqrt(f · f)."""
        return math.sqrt(max(self.inner(self), 0.0))  # rounding may go below 0

    def __add__(self, other: RKHSFunction) -> RKHSFunction:
        if not isinstance(other, RKHSFunction):
            return NotImplemented
        self._same_space(other)
        pair = [self.points, other.points]
        compressed = any(map(sparse.issparse, pair))
        points = sparse.vstack(pair, format="csr") if compressed else np.concatenate(pair)
        return RKHSFunction(np.concatenate([self.coef, other.coef]), points, self.kernel)

    def __mul__(self, factor: float) -> RKHSFunction:
        if not isinstance(factor, numbers.Real):
            return NotImplemented
        return RKHSFunction(self.coef * float(factor), self.points, self.kernel)

    __rmul__ = __mul__

    def __neg__(self) -> RKHSFunction:
        return self * -1.0

    def __sub__(self, other: RKHSFunction) -> RKHSFunction:
        return self + -other if isinstance(other, RKHSFunction) else NotImplemented

    def __repr__(self) -> str:
        return f"RKHSFunction({self.coef.size} points, {self.kernel!r})"

    def _same_space(self, other: RKHSFunction) -> None:
        if other.kernel != self.kernel:
            raise ValueError(f"Functions of different spaces: {self.kernel!r} and {other.kernel!r}.")

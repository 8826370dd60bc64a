"""Kernels made of kernels: sums, products, powers and scalings of kernels are kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.parameters import Count, NonNegative, check_parameters
from tercet.kernels._engine.prepared_rows import CompoundRows, PreparedRows, power_in_place
from tercet.kernels.base import Kernel

LARGEST = 1 << 28  # entries of an explicit map: 2 GB


class Compound(Kernel):
    """Base of kernels made of kernels: the parts take the same rows, and each prepares them in its own way."""

    inside: ClassVar[tuple[str, ...]] = ("kernel",)

    @property
    def parts(self) -> list[Kernel]:
        """The kernels inside."""
        return [getattr(self, name) for name in self.inside]

    @property
    def takes(self) -> str:  # type: ignore[override]
        kinds = sorted({part.takes for part in self.parts})
        if len(kinds) > 1:
            raise ValueError(
                f"{type(self).__name__}: its kernels must take the same rows; they take {kinds}."
            )
        return kinds[0]

    @property
    def holds_gram(self) -> bool:  # type: ignore[override]
        return any(part.holds_gram for part in self.parts)

    def check(self, X: Any) -> Any:
        """Rows as the kernels inside take them."""
        check_parameters(self)
        self.takes  # noqa: B018  (refuses parts that do not agree)
        rows = [part.check(X) for part in self.parts]
        return rows[0]

    def resolve(self, X: Any, sample_weight: np.ndarray | None = None) -> Self:
        check_parameters(self)
        found = {name: getattr(self, name).resolve(X, sample_weight) for name in self.inside}
        return type(self)(**{**self.get_params(deep=False), **found})

    def prepare(self, X: Any, Z: Any) -> tuple[Any, Any]:
        pairs = [part.prepare(X, Z) for part in self.parts]
        return CompoundRows([left for left, _ in pairs]), CompoundRows([right for _, right in pairs])


class ElementwisePair(Compound):
    """Two kernels combined entry by entry by a ufunc."""

    inside = ("first", "second")

    def __init__(self, first: Kernel, second: Kernel) -> None:
        self.first = first
        self.second = second

    combine: ClassVar[Callable[..., Any]]

    def tile(self, left: Any, right: Any) -> np.ndarray:
        one, two = (part.tile(*rows) for part, *rows in zip(self.parts, left.parts, right.parts))
        return type(self).combine(one, two, out=one)

    def _diag(self, X: Any) -> np.ndarray:
        return type(self).combine(self.first._diag(X), self.second._diag(X))


@method(
    zh="核函数之和",
    task="kernel",
    model="K(x, z) = K1(x, z) + K2(x, z)",
    texts=["watermelon notes ch. 4, eq. 4.21"],
    peers=["sklearn.gaussian_process.kernels.Sum"],
)
class Sum(ElementwisePair):
    """Sum of two kernels: their feature maps side by side.

    Parameters
    ----------
    first, second : Kernel
        The kernels.

    Examples
    --------
    >>> from tercet.kernels import Gaussian, Linear
    >>> (Linear() + Gaussian(sigma=1.0))([[1, 2]])
    array([[6.]])
    """

    combine = np.add

    def features(self, X: Any) -> Any:
        """The maps of both kernels side by side."""
        maps = [part.features(X) for part in self.parts]
        return sparse.hstack(maps, format="csr") if any(map(sparse.issparse, maps)) else np.hstack(maps)


@method(
    zh="核函数之积",
    task="kernel",
    model="K(x, z) = K1(x, z) K2(x, z)",
    texts=["watermelon notes ch. 4, eq. 4.22"],
    peers=["sklearn.gaussian_process.kernels.Product"],
)
class Product(ElementwisePair):
    """Product of two kernels: all products of a feature of the one with a feature of the other.

    Parameters
    ----------
    first, second : Kernel
        The kernels.

    Examples
    --------
    >>> from tercet.kernels import Gaussian, Linear
    >>> (Linear() * Gaussian(sigma=1.0))([[1, 2]])
    array([[5.]])
    """

    combine = np.multiply

    def features(self, X: Any) -> Any:
        """All products of a feature of the first kernel with one of the second."""
        return rowwise_outer(self.first.features(X), self.second.features(X), type(self).__name__)


@method(
    zh="核函数的幂",
    task="kernel",
    model="K(x, z) = K1(x, z)^exponent",
    texts=["watermelon notes ch. 4, eq. 4.22", "Li ch. 7, exercise 7.4"],
    peers=["sklearn.gaussian_process.kernels.Exponentiation"],
)
class Power(Compound):
    """Integer power of a kernel.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    exponent : int, default=2
        The power.

    Examples
    --------
    >>> from tercet.kernels import Linear
    >>> (Linear() ** 2)([[1, 2]], [[3, 4]])
    array([[121.]])
    """

    def __init__(self, kernel: Kernel, exponent: Count = 2) -> None:
        self.kernel = kernel
        self.exponent = exponent

    def tile(self, left: Any, right: Any) -> np.ndarray:
        return power_in_place(self.kernel.tile(left.parts[0], right.parts[0]), self.exponent)

    def _diag(self, X: Any) -> np.ndarray:
        return power_in_place(self.kernel._diag(X), self.exponent)

    def features(self, X: Any) -> Any:
        """All products of `exponent` features of the kernel, in all orders."""
        phi = first = self.kernel.features(X)
        for _ in range(self.exponent - 1):
            phi = rowwise_outer(phi, first, type(self).__name__)
        return phi


@method(
    zh="核函数的数乘",
    task="kernel",
    model="K(x, z) = factor K1(x, z)",
    texts=["watermelon notes ch. 4, eq. 4.21", "Pattern Recognition ch. 5, 5.5.3"],
    peers=["sklearn.gaussian_process.kernels.ConstantKernel"],
)
class Scaled(Compound):
    """A kernel times a number that is not negative.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    factor : float, default=1
        The number.

    Examples
    --------
    >>> from tercet.kernels import Linear
    >>> (0.5 * Linear())([[1, 2]], [[3, 4]])
    array([[5.5]])
    """

    def __init__(self, kernel: Kernel, factor: NonNegative = 1.0) -> None:
        self.kernel = kernel
        self.factor = factor

    def tile(self, left: Any, right: Any) -> np.ndarray:
        values = self.kernel.tile(left.parts[0], right.parts[0])
        return np.multiply(values, values.dtype.type(self.factor), out=values)

    def _diag(self, X: Any) -> np.ndarray:
        values = self.kernel._diag(X)
        return values * values.dtype.type(self.factor)

    def features(self, X: Any) -> Any:
        """The kernel's map times the root of the factor."""
        return self.kernel.features(X) * float(np.sqrt(self.factor))


@method(
    zh="共形变换核",
    task="kernel",
    model="K(x, z) = g(x) K1(x, z) g(z)",
    texts=["watermelon notes ch. 4, eq. 4.23"],
)
class Conformal(Compound):
    """Conformal transformation of a kernel: g(x) K(x, z) g(z).

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    function : callable
        g: takes rows and gives a number for each.

    Examples
    --------
    >>> import numpy as np
    >>> from tercet.kernels import Conformal, Linear
    >>> Conformal(Linear(), lambda X: 1 / np.linalg.norm(X, axis=1))([[1, 2]], [[2, 4]]).round(10)
    array([[1.]])
    """

    def __init__(self, kernel: Kernel, function: Callable[..., Any]) -> None:
        self.kernel = kernel
        self.function = function

    def prepare(self, X: Any, Z: Any) -> tuple[Any, Any]:
        left, right = self.kernel.prepare(X, Z)
        g = PreparedRows(self._factors(X))
        h = g if Z is X else PreparedRows(self._factors(Z))
        return CompoundRows([left, g]), CompoundRows([right, h])

    def tile(self, left: Any, right: Any) -> np.ndarray:
        values = self.kernel.tile(left.parts[0], right.parts[0])
        values *= np.multiply.outer(left.parts[1].values, right.parts[1].values)
        return values

    def _diag(self, X: Any) -> np.ndarray:
        values = self.kernel._diag(X)
        return values * (self._factors(X) ** 2).astype(values.dtype)

    def _factors(self, X: Any) -> np.ndarray:
        """g of every row."""
        g = np.asarray(self.function(X), dtype=np.float64).reshape(-1)
        if g.shape != X.shape[:1] or not np.all(np.isfinite(g)):
            raise ValueError(f"Conformal: function must give a finite number for each of {X.shape[0]} rows.")
        return g

    def features(self, X: Any) -> Any:
        """The kernel's map times g."""
        phi = self.kernel.features(X)
        g = self._factors(self.check(X)).astype(phi.dtype)
        return phi.multiply(g[:, None]).tocsr() if sparse.issparse(phi) else phi * g[:, None]


def rowwise_outer(A: Any, B: Any, name: str) -> np.ndarray:
    """Row-wise outer products of A and B, flattened (the Khatri-Rao product of the transposes)."""
    n, p, q = A.shape[0], A.shape[1], B.shape[1]
    if n * p * q > LARGEST:
        raise ValueError(
            f"{name}: an explicit map of {n} rows into {p * q} dimensions is too large to be held."
        )
    A, B = (M.toarray() if sparse.issparse(M) else M for M in (A, B))
    return (A[:, :, None] * B[:, None, :]).reshape(n, p * q)

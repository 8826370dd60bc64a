"""Rows made ready for many products with each other: one matrix product gives a block of the Gram matrix."""

from __future__ import annotations

import functools
from typing import Any, Self

import numpy as np
from scipy import sparse

from tercet.core import rows as core
from tercet.core.kernel import kernel
from tercet.core.parallel import GRAIN

BLOCK = 1 << 17  # entries of a block: it stays in a core's own cache until it is done
NEAR = 4096  # pairs of rows that are subtracted at once
ROOM = 8.0  # half a squared length up to which float32 leaves the exponential six digits


class Rows:
    """Rows of an array or a CSR matrix, and what is known of their lengths: half their squares, or sums."""

    def __init__(self, values: Any, length: Any = None) -> None:
        self.values, self.length = values, length

    def __len__(self) -> int:
        return self.values.shape[0]

    def __getitem__(self, part: Any) -> Self:
        if isinstance(part, slice) and part == slice(0, len(self)):
            return self
        return type(self)(self.values[part], None if self.length is None else self.length[part])

    @property
    def whole(self) -> bool:
        """Whether a block takes all of these rows at once."""
        return sparse.issparse(self.values)

    @functools.cached_property
    def turned(self) -> core.Rows:
        """The columns of sparse rows: who has a feature."""
        return core.columns(self.values)

    def times(self, other: Rows) -> np.ndarray:
        """Inner products of these rows with others."""
        self._fit(other)
        if self.whole and other.whole:
            out = np.zeros((len(self), len(other)), dtype=self.values.dtype)
            meet(core.rows(self.values), other.turned, out)
            return out
        return np.asarray(self.values @ other.values.T)

    def products(self, other: Rows) -> np.ndarray:
        """Inner products that have to be numbers."""
        with np.errstate(over="ignore", invalid="ignore"):
            return finite(self.times(other))

    def distances(self, other: Rows) -> np.ndarray:
        """Sums of absolute differences; `length` holds the rows' sums of absolute values."""
        self._fit(other)
        if not self.whole and not other.whole:
            out = np.empty((len(self), len(other)), dtype=self.values.dtype)
            apart(self.values, other.values, out)
        elif other.whole:
            out = np.add.outer(self.length, other.length)
            part(core.rows(sparse.csr_array(self.values)), other.turned, out)
        else:
            out = Rows(self.values.toarray(), self.length).distances(other)
        return out

    def exponents(self, other: Rows) -> np.ndarray:
        """-|x - z|^2 / 2 of all pairs, never above 0; `length` holds half the squared lengths."""
        with np.errstate(over="ignore", invalid="ignore"):  # rows may be infinitely far
            out = self.times(other)
            below_zero(out, self.length, other.length)
        return out

    def refine(self, other: Rows, exponents: np.ndarray) -> None:
        """Exponents of rows so near to each other that the product left few digits, from their differences."""
        digits = 8 * np.sqrt(np.finfo(exponents.dtype).eps)
        near = np.nonzero(-exponents < digits * np.add.outer(self.length, other.length))
        for pairs in borders(near[0].size, NEAR):
            i, j = near[0][pairs], near[1][pairs]
            exponents[i, j] = -squares(self.values[i] - other.values[j]) / 2

    def _fit(self, other: Rows) -> None:
        widths = self.values.shape[1], other.values.shape[1]
        if widths[0] != widths[1]:  # compiled loops would not notice
            raise ValueError(f"Rows of {widths[0]} columns meet rows of {widths[1]}; they must agree.")


class Many:
    """The rows of the parts of a compound kernel, side by side."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, part: Any) -> Many:
        return Many([rows[part] for rows in self.parts])

    @property
    def whole(self) -> bool:
        return any(rows.whole for rows in self.parts)

    @property
    def cost(self) -> float:
        return sum(getattr(rows, "cost", 1.0) for rows in self.parts)


def float_of(*arrays: Any) -> Any:
    """float32 where all numbers are, else float64."""
    kinds = {array.dtype for array in arrays if array.dtype.kind == "f"}
    return np.float32 if kinds == {np.dtype(np.float32)} else np.float64


def ready(X: Any, dtype: Any) -> Any:
    """Rows of a dtype, in the order and with the rights that kernels are compiled for once."""
    if sparse.issparse(X):
        parts = X.data, X.indices, X.indptr
        return X.astype(dtype, copy=not all(array.flags.writeable for array in parts))
    return np.require(X, dtype, ["C", "W"])


def squares(X: Any) -> np.ndarray:
    """Squared lengths of rows."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).reshape(-1)
    return np.einsum("ij,ij->i", X, X)


def finite(values: np.ndarray) -> np.ndarray:
    """Values of a kernel, none of which has overflowed."""
    if not np.isfinite(values).all():
        raise ValueError(
            "The kernel of these rows is too large a number: scale the features (StandardScaler, MinMaxScaler), or "
            "lower the kernel's gamma or degree."
        )
    return values


def scaled(X: Any, Z: Any, root: float) -> tuple[Rows, Rows]:
    """The rows times root, with half their squared lengths.

    Dense rows are seen from the mean of Z: what they have in common would cost digits. The rows of Z decide
    whether float32 will do: where x is much farther from the mean than z, the kernel is next to nothing.
    """
    dtype, middle = float_of(X, Z), None
    if Z.shape[0] and not sparse.issparse(X) and not sparse.issparse(Z):
        middle = Z.mean(axis=0, dtype=np.float64)
    right = _scaled(Z, middle, root, dtype)
    if dtype == np.float32 and not right.length.max(initial=0.0) <= ROOM:
        dtype = np.float64
        right = _scaled(Z, middle, root, dtype)
    return (right if Z is X else _scaled(X, middle, root, dtype)), right


def _scaled(X: Any, middle: np.ndarray | None, root: float, dtype: Any) -> Rows:
    with np.errstate(over="ignore"):  # a row that is infinitely far is just that
        root = dtype(min(root, np.finfo(dtype).max))
        X = X.astype(dtype) * root if middle is None else np.subtract(X, middle, dtype=dtype) * root
        return Rows(X, squares(X) / 2)


def borders(n: int, step: int) -> list[slice]:
    """Slices of n rows: the cuts come from the data alone."""
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def mirrored(tile: np.ndarray) -> np.ndarray:
    """A square block with its upper half on both sides: rounding must not tell x, z from z, x."""
    return np.triu(tile) + np.triu(tile, 1).T


def steps(left: Any, right: Any, *, square: bool = False) -> tuple[int, int]:
    """How many rows of both sides make a block."""
    block = max(1, int(BLOCK / max(getattr(right, "cost", 1.0), 1.0)))
    if right.whole:
        return max(block // max(len(right), 1), 16), max(len(right), 1)
    columns = max(min(len(right), 512, block), 1)
    rows = max(block // columns, 1)
    rows = rows // GRAIN * GRAIN or rows
    return (min(rows, columns),) * 2 if square else (rows, columns)


@kernel
def below_zero(values, left, right):
    """values - (left + right), but not above 0; what overflows is infinitely far."""
    for i in range(values.shape[0]):
        row, here = values[i], left[i]
        for j in range(row.size):
            v = row[j] - (here + right[j])
            v = v if v <= 0 else (-np.inf if np.isnan(v) else v * 0)
            row[j] = v


@kernel
def meet(X, turned, out):
    """out += inner products of sparse rows with others, given by columns: only who shares a feature is met."""
    for i in range(out.shape[0]):
        row = out[i]
        for s in range(X.indptr[i], X.indptr[i + 1]):
            x, j = X.data[s], X.indices[s]
            z = turned.data[turned.indptr[j] : turned.indptr[j + 1]]
            at = turned.indices[turned.indptr[j] : turned.indptr[j + 1]]
            for k in range(at.size):
                row[np.uint64(at[k])] += x * z[k]


@kernel
def part(X, turned, out):
    """out += |x - z| - |x| - |z| over the features that sparse rows share with others, given by columns."""
    for i in range(out.shape[0]):
        row = out[i]
        for s in range(X.indptr[i], X.indptr[i + 1]):
            x, j = X.data[s], X.indices[s]
            z = turned.data[turned.indptr[j] : turned.indptr[j + 1]]
            at = turned.indices[turned.indptr[j] : turned.indptr[j + 1]]
            for k in range(at.size):
                row[np.uint64(at[k])] += abs(x - z[k]) - (abs(x) + abs(z[k]))


@kernel
def apart(X, Z, out):
    """Sums of absolute differences of dense rows."""
    for i in range(X.shape[0]):
        x = X[i]
        for k in range(Z.shape[0]):
            z = Z[k]
            total = x[0] * 0
            for j in range(x.size):
                total += abs(x[j] - z[j])
            out[i, k] = total

"""Rows prepared once for many blocks of a Gram matrix: a block is one matrix product."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse

from tercet.core import rows as core
from tercet.core.chunks import GRAIN
from tercet.core.kernel import kernel
from tercet.core.parallel import each

BLOCK = 1 << 17  # entries of a block: it stays in a core's own cache until it is done
PAIRS = 4096  # pairs of rows that are subtracted at once
FLOAT32_LIMIT = 8.0  # half a squared norm up to which float32 leaves the exponential six digits


class PreparedRows:
    """Rows of an array or a CSR matrix, with their norms: half the squared L2 norm, or the L1 norm."""

    def __init__(self, values: Any, norms: Any = None) -> None:
        self.values, self.norms = values, norms

    def __len__(self) -> int:
        return self.values.shape[0]

    def __getitem__(self, part: Any) -> Self:
        if isinstance(part, slice) and part == slice(0, len(self)):
            return self
        return type(self)(self.values[part], None if self.norms is None else self.norms[part])

    @property
    def unsplit(self) -> bool:
        """Whether a block takes all of these rows at once: sparse rows are transposed only once."""
        return sparse.issparse(self.values)

    @functools.cached_property
    def transposed(self) -> core.Rows:
        """Sparse rows by column: the rows that have each feature."""
        return core.columns(self.values)

    def products(self, other: PreparedRows) -> np.ndarray:
        """Inner products of these rows with others, of shape (len(self), len(other))."""
        self._check_widths(other)
        if self.unsplit and other.unsplit:
            out = np.zeros((len(self), len(other)), dtype=self.values.dtype)
            add_sparse_products(core.rows(self.values), other.transposed, out)
            return out
        return np.asarray(self.values @ other.values.T)

    def finite_products(self, other: PreparedRows) -> np.ndarray:
        """Inner products, or an error where one has overflowed."""
        with np.errstate(over="ignore", invalid="ignore"):
            return require_finite(self.products(other))

    def l1_distances(self, other: PreparedRows) -> np.ndarray:
        """Sums of absolute differences; `norms` holds the rows' L1 norms."""
        self._check_widths(other)
        if not self.unsplit and not other.unsplit:
            out = np.empty((len(self), len(other)), dtype=self.values.dtype)
            dense_l1_distances(self.values, other.values, out)
        elif other.unsplit:
            out = np.add.outer(self.norms, other.norms)
            correct_l1_distances(core.rows(sparse.csr_array(self.values)), other.transposed, out)
        else:
            out = PreparedRows(self.values.toarray(), self.norms).l1_distances(other)
        return out

    def exponents(self, other: PreparedRows) -> np.ndarray:
        """-|x - z|² / 2 of all pairs, never above 0; `norms` holds half the squared norms."""
        with np.errstate(over="ignore", invalid="ignore"):  # rows may be infinitely far
            out = self.products(other)
            subtract_norms(out, self.norms, other.norms)
        return out

    def refine(self, other: PreparedRows, exponents: np.ndarray) -> None:
        """Exponents that cancellation left few digits of, again from the differences of the rows."""
        digits = 8 * np.sqrt(np.finfo(exponents.dtype).eps)
        close = np.nonzero(-exponents < digits * np.add.outer(self.norms, other.norms))
        for pairs in block_slices(close[0].size, PAIRS):
            i, j = close[0][pairs], close[1][pairs]
            exponents[i, j] = -squared_norms(self.values[i] - other.values[j]) / 2

    def _check_widths(self, other: PreparedRows) -> None:
        widths = self.values.shape[1], other.values.shape[1]
        if widths[0] != widths[1]:  # compiled loops would not notice
            raise ValueError(f"Rows of {widths[0]} columns meet rows of {widths[1]}; they must agree.")


class CompoundRows:
    """The prepared rows of each part of a compound kernel."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, part: Any) -> CompoundRows:
        return CompoundRows([rows[part] for rows in self.parts])

    @property
    def unsplit(self) -> bool:
        return any(rows.unsplit for rows in self.parts)

    @property
    def cost(self) -> float:
        return sum(getattr(rows, "cost", 1.0) for rows in self.parts)


def common_float(*arrays: Any) -> Any:
    """float32 when all floating arrays are float32, else float64.

    Examples
    --------
    >>> common_float(np.zeros(2, dtype=np.float32), np.zeros(2, dtype=np.float64)).__name__
    'float64'
    """
    kinds = {array.dtype for array in arrays if array.dtype.kind == "f"}
    return np.float32 if kinds == {np.dtype(np.float32)} else np.float64


def kernel_layout(X: Any, dtype: Any) -> Any:
    """Rows of a dtype, C-contiguous and writable: the one layout that compiled kernels are specialised for."""
    if sparse.issparse(X):
        parts = X.data, X.indices, X.indptr
        return X.astype(dtype, copy=not all(array.flags.writeable for array in parts))
    return np.require(X, dtype, ["C", "W"])


def squared_norms(X: Any) -> np.ndarray:
    """Squared L2 norms of rows."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).reshape(-1)
    return np.einsum("ij,ij->i", X, X)


def require_finite(values: np.ndarray) -> np.ndarray:
    """Values of a kernel, or an error where one has overflowed."""
    if not np.isfinite(values).all():
        raise ValueError(
            "The kernel of these rows is too large a number: scale the features (StandardScaler, MinMaxScaler), or "
            "lower the kernel's gamma or degree."
        )
    return values


def scaled_rows(X: Any, Z: Any, factor: float) -> tuple[PreparedRows, PreparedRows]:
    """Both sets of rows times a factor, with half their squared norms.

    Dense rows are centred at the mean of Z to avoid cancellation. The rows of Z decide whether float32 will do:
    where x is much farther from the mean than z, the kernel is next to nothing.
    """
    dtype, mean = common_float(X, Z), None
    if Z.shape[0] and not sparse.issparse(X) and not sparse.issparse(Z):
        mean = Z.mean(axis=0, dtype=np.float64)
    right = _scaled(Z, mean, factor, dtype)
    if dtype == np.float32 and not right.norms.max(initial=0.0) <= FLOAT32_LIMIT:
        dtype = np.float64
        right = _scaled(Z, mean, factor, dtype)
    return (right if Z is X else _scaled(X, mean, factor, dtype)), right


def _scaled(X: Any, mean: np.ndarray | None, factor: float, dtype: Any) -> PreparedRows:
    with np.errstate(over="ignore"):  # a row that is infinitely far is just that
        factor = dtype(min(factor, np.finfo(dtype).max))
        X = X.astype(dtype) * factor if mean is None else np.subtract(X, mean, dtype=dtype) * factor
        return PreparedRows(X, squared_norms(X) / 2)


def power_in_place(values: np.ndarray, exponent: float) -> np.ndarray:
    """values ** exponent, by repeated squaring where the exponent is whole; `values` may be overwritten."""
    with np.errstate(over="ignore", invalid="ignore"):
        return require_finite(_power(values, exponent))


def _power(values: np.ndarray, exponent: float) -> np.ndarray:
    if exponent != int(exponent):
        if values.size and values.min() < 0:
            raise ValueError(f"degree={exponent} of a negative number {values.min():g} is not a number.")
        return np.power(values, exponent, out=values)
    left, result = int(exponent), None
    while left > 1:
        if left % 2:
            result = values.copy() if result is None else np.multiply(result, values, out=result)
        values = np.multiply(values, values, out=values)
        left //= 2
    if left == 0:
        values.fill(1.0)
    return values if result is None else np.multiply(result, values, out=result)


# Blocks -------------------------------------------------------------------------------------------------------


def blocked_gram(
    tile: Callable[[Any, Any], np.ndarray],
    left: Any,
    right: Any,
    dtype: Any,
    *,
    same: bool,
    n_jobs: int | None,
) -> np.ndarray:
    """The Gram matrix of prepared rows, block by block; `same`: of rows with themselves, and symmetric."""
    mirror = same and not right.unsplit
    rows, columns = block_shape(left, right, square=mirror)
    out = np.empty((len(left), len(right)), dtype=dtype)

    def fill(block: tuple[slice, slice]) -> None:
        """Compute one block; with `mirror`, its transpose below the diagonal too."""
        r, c = block
        values = tile(left[r], right[c])
        if mirror and r == c:
            values = symmetrized(values)
        elif mirror:
            out[c, r] = values.T
        out[r, c] = values

    blocks = [
        (r, c)
        for r in block_slices(len(left), rows)
        for c in block_slices(len(right), columns)
        if not mirror or c.start >= r.start
    ]
    each(fill, blocks, n_jobs=n_jobs)
    if same and right.unsplit:
        for r in block_slices(len(left), 256):
            out[r.stop :, r] = out[r, r.stop :].T
            out[r, r] = symmetrized(out[r, r])
    return out


def blocked_products(
    tile: Callable[[Any, Any], np.ndarray],
    left: Any,
    right: Any,
    coef: np.ndarray,
    dtype: Any,
    *,
    n_jobs: int | None,
) -> np.ndarray:
    """The Gram matrix of prepared rows times `coef`, of which only blocks are ever there."""
    rows, columns = block_shape(left, right)
    out = np.zeros((len(left), *coef.shape[1:]), dtype=dtype)
    cuts = block_slices(len(right), columns)

    def add(r: slice) -> None:
        """Add the products of one panel of rows with all columns."""
        here, total = left[r], out[r]
        for c in cuts:
            values = tile(here, right[c])
            total += np.dot(values, coef[c].astype(values.dtype, copy=False))

    each(add, block_slices(len(left), rows), n_jobs=n_jobs)
    return out


def block_slices(n: int, size: int) -> list[slice]:
    """n rows in blocks of a size that comes from the data alone, never from the number of threads."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def block_shape(left: Any, right: Any, *, square: bool = False) -> tuple[int, int]:
    """How many rows of both sides make a block."""
    block = max(1, int(BLOCK / max(getattr(right, "cost", 1.0), 1.0)))
    if right.unsplit:
        return max(block // max(len(right), 1), 16), max(len(right), 1)
    columns = max(min(len(right), 512, block), 1)
    rows = max(block // columns, 1)
    rows = rows // GRAIN * GRAIN or rows
    return (min(rows, columns),) * 2 if square else (rows, columns)


def symmetrized(tile: np.ndarray) -> np.ndarray:
    """A square block with its upper triangle copied below: K(x, z) and K(z, x) must not differ by rounding."""
    tile = np.require(tile, requirements=["C", "W"])
    copy_upper_triangle(tile)
    return tile


# Kernels ------------------------------------------------------------------------------------------------------


@kernel
def copy_upper_triangle(tile):
    """Copy the upper triangle of a square block to the lower one."""
    for i in range(tile.shape[0]):
        for k in range(i):
            tile[i, k] = tile[k, i]


@kernel
def subtract_norms(values, left, right):
    """values - (left + right), but not above 0; what overflows is infinitely far."""
    for i in range(values.shape[0]):
        row, here = values[i], left[i]
        for j in range(row.size):
            v = row[j] - (here + right[j])
            v = v if v <= 0 else (-np.inf if np.isnan(v) else v * 0)
            row[j] = v


@kernel
def add_sparse_products(X, transposed, out):
    """out += inner products of sparse rows with others given by column: only pairs that share a feature are met."""
    for i in range(out.shape[0]):
        row = out[i]
        for s in range(X.indptr[i], X.indptr[i + 1]):
            x, j = X.data[s], X.indices[s]
            z = transposed.data[transposed.indptr[j] : transposed.indptr[j + 1]]
            at = transposed.indices[transposed.indptr[j] : transposed.indptr[j + 1]]
            for k in range(at.size):
                row[np.uint64(at[k])] += x * z[k]


@kernel
def correct_l1_distances(X, transposed, out):
    """out += |x - z| - |x| - |z| over the features that sparse rows share with others given by column."""
    for i in range(out.shape[0]):
        row = out[i]
        for s in range(X.indptr[i], X.indptr[i + 1]):
            x, j = X.data[s], X.indices[s]
            z = transposed.data[transposed.indptr[j] : transposed.indptr[j + 1]]
            at = transposed.indices[transposed.indptr[j] : transposed.indptr[j + 1]]
            for k in range(at.size):
                row[np.uint64(at[k])] += abs(x - z[k]) - (abs(x) + abs(z[k]))


@kernel
def dense_l1_distances(X, Z, out):
    """Sums of absolute differences of dense rows."""
    for i in range(X.shape[0]):
        x = X[i]
        for k in range(Z.shape[0]):
            z = Z[k]
            total = x[0] * 0
            for j in range(x.size):
                total += abs(x[j] - z[j])
            out[i, k] = total

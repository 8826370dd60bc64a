"""Normal equations of many rows over one table of factors: what alternating least squares solves in half a pass.

Row i of the ratings has entries r_s in columns j_s. Its unknown vector x minimises

    Σ_s a_s (t_s - x·y_s)² + x'(base + ridge_i I) x,      y_s = factors of column j_s,

with a_s = 1 and t_s = r_s - shift for explicit ratings. With implicit feedback, a count r_s > 0 is confidence
1 + c r_s in a preference of 1, everything else confidence 1 in 0: base = Y'Y, and of an entry only what it has
beyond that counts, a_s = c |r_s| with a_s t_s = 1 + c r_s, or 0 where r_s <= 0.

The table has columns of zeros up to whole cache lines, and the target t_s takes the place of the first of these:
then Σ a_s y_s (y_s, t_s)' is the matrix and the right-hand side at once.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from tercet.core.cache_lines import LINE, get_line, lines, plus_line, set_line
from tercet.core.kernel import implement, inner, kernel, verb
from tercet.core.parallel import each
from tercet.core.rows import read_only, rows

BLOCK = 64  # entries of a row that are gathered at a time: they stay in the first cache
TILE = 4  # rows of the normal matrix whose sums are in registers
WORK = 1 << 18  # entries in a piece of work for one thread


class Problem(NamedTuple):
    """What the rows of one side share."""

    implicit: bool
    confidence: float
    ridge: float
    scaled: bool  # the ridge is multiplied by the number of entries of the row
    cg_steps: int  # 0: elimination


def factor_table(n_rows: int, width: int, dtype: Any) -> np.ndarray:
    """A table of factors with room for `width` numbers and the target in each row, in whole cache lines."""
    return lines(n_rows, width + 1, dtype)


def solve_rows(
    ratings: Any,
    factors: np.ndarray,
    width: int,
    shift: np.ndarray,
    problem: Problem,
    out: np.ndarray,
    n_jobs: int | None = None,
) -> float:
    """Solve for all rows of a CSR matrix, into the first `width` columns of `out`; returns the sum of the minima.

    Parameters
    ----------
    ratings : CSR matrix of shape (n, m)
        The entries that are known.
    factors : array of shape (m, lines)
        From `factor_table`; columns from `width` on are zeros.
    width : int
        Unknowns of a row.
    shift : array of shape (m,)
        What is subtracted from the entries of each column.
    problem : Problem
        What the rows share.
    out : array of shape (n, lines)
        From `factor_table`; conjugate gradients start from what is there.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    """
    dtype = factors.dtype
    base = np.zeros((1, 1), dtype)
    if problem.implicit:
        base = np.ascontiguousarray(factors[:, :width].T @ factors[:, :width])
    # what makes up the half pass is cut by the entries alone
    pieces = max(1, min(ratings.nnz // WORK, ratings.shape[0]))
    cuts = np.searchsorted(ratings.indptr, np.linspace(0, ratings.nnz, pieces + 1)[1:-1])
    spans = list(itertools.pairwise(np.unique([0, *cuts, ratings.shape[0]]).tolist()))
    shared = rows(ratings), read_only(factors), width, read_only(shift), problem, read_only(base), out
    return float(sum(each(_solve_span, spans, *shared, n_jobs=n_jobs)))


def _solve_span(
    span: tuple[int, int], X: Any, factors: Any, width: int, shift: Any, problem: Problem, base: Any, out: Any
) -> float:
    options = (
        problem.implicit,
        factors.dtype.type(problem.confidence),
        factors.dtype.type(problem.ridge),
        problem.scaled,
    )
    if problem.cg_steps:
        return conjugate_rows(X, *span, factors, width, shift, base, *options, problem.cg_steps, out)
    return eliminate_rows(X, *span, factors, width, shift, base, *options, out)


@kernel
def eliminate_rows(
    X: Any, first: int, last: int, factors: Any, width: int, shift: Any, base: Any, implicit: bool,
    confidence: float, ridge: float, scaled: bool, out: Any,
) -> float:  # fmt: skip
    """Gaussian elimination for each row."""
    room = factors.shape[1]
    tall = (width + 3) // 4 * 4
    system, flat = np.zeros((tall, room), factors.dtype), np.zeros(width, factors.dtype)
    Y, Z = np.zeros((64, room), factors.dtype), np.zeros((64, room), factors.dtype)
    total = 0.0
    for i in range(first, last):
        begin, end = X.indptr[i], X.indptr[i + 1]
        for a in range(tall):
            for b in range(room):
                system[a, b] = 0.0
        square = 0.0
        for start in range(begin, end, 64):
            count = min(end - start, 64)
            square += gather(X, start, count, factors, width, shift, implicit, confidence, Y, Z)
            add_products(Y, Z if implicit else Y, count, width, system)
        weight = ridge * (end - begin) if scaled else ridge
        for a in range(width):
            if implicit:
                for b in range(width):
                    system[a, b] += base[a, b]
            system[a, a] += weight
        total += square - eliminate(system, width, flat)
        for a in range(width):
            out[i, a] = flat[a]
    return total


@inner
def gather(
    X: Any,
    start: Any,
    count: Any,
    factors: Any,
    width: Any,
    shift: Any,
    implicit: Any,
    confidence: Any,
    Y: Any,
    Z: Any,
) -> Any:
    """Factors and targets of some entries into Y, a_s times the factors into Z; returns what x = 0 costs."""
    total = 0.0
    at, values = X.indices[start : start + count], X.data[start : start + count]
    for s in range(count):
        j = np.uint64(at[s])
        row, y = factors[j], Y[s]
        for b in range(y.size):
            y[b] = row[b]
        if implicit:
            a = confidence * abs(values[s])
            both = 1 + a if values[s] > 0 else a * 0
            z = Z[s]
            for b in range(z.size):
                z[b] = a * row[b]
            y[width] = both / a if both > 0 else both
            total += both
        else:
            y[width] = values[s] - shift[j]
            total += y[width] * y[width]
    return total


@verb
def add_products(Y: np.ndarray, Z: np.ndarray, count: int, width: int, system: np.ndarray) -> None:
    """system += Z'Y, of which only the upper triangle counts."""
    system += Z[:count, : len(system)].T @ Y[:count]


@implement(add_products)
def _add_products(Y: Any, Z: Any, count: Any, width: Any, system: Any) -> Any:
    def by_lines(Y: Any, Z: Any, count: Any, width: Any, system: Any) -> None:
        room, step = np.uint64(Y.shape[1]), np.uint64(LINE // Y.itemsize)
        n, one = np.uint64(count), np.uint64(1)
        for top in range(np.uint64(0), np.uint64(system.shape[0]), np.uint64(4)):
            second, third, fourth = top + one, top + one + one, top + one + one + one
            for line in range(top // step * step, room, step):
                a = get_line(system, top * room + line)
                b = get_line(system, second * room + line)
                c = get_line(system, third * room + line)
                d = get_line(system, fourth * room + line)
                for s in range(np.uint64(0), n):
                    y = get_line(Y, s * room + line)
                    a = plus_line(a, Z[s, top], y)
                    b = plus_line(b, Z[s, second], y)
                    c = plus_line(c, Z[s, third], y)
                    d = plus_line(d, Z[s, fourth], y)
                set_line(system, top * room + line, a)
                set_line(system, second * room + line, b)
                set_line(system, third * room + line, c)
                set_line(system, fourth * room + line, d)

    return by_lines


@verb
def subtract_row(system: np.ndarray, i: int, j: int, factor: float) -> None:
    """Row i of the system += factor times row j, from the diagonal on."""
    system[i, i:] += factor * system[j, i:]


@implement(subtract_row)
def _subtract_row(system: Any, i: Any, j: Any, factor: Any) -> Any:
    def by_lines(system: Any, i: Any, j: Any, factor: Any) -> None:
        room, step = np.uint64(system.shape[1]), np.uint64(LINE // system.itemsize)
        to, of = np.uint64(i) * room, np.uint64(j) * room
        for line in range(np.uint64(i) // step * step, room, step):
            set_line(
                system, to + line, plus_line(get_line(system, to + line), factor, get_line(system, of + line))
            )

    return by_lines


@inner
def eliminate(system: Any, width: Any, x: Any) -> Any:
    """Solve the symmetric system whose right-hand side is column `width`; returns its product with the solution.

    An unknown whose pivot is nothing but rounding is 0.
    """
    tiny = 1e-6 if system.itemsize == 4 else 1e-13
    explained = 0.0
    for j in range(width):
        diagonal = system[j, j]
        x[j] = 0
        if diagonal > 0:
            for i in range(j + 1, width):
                before = system[i, i]
                subtract_row(system, i, j, -system[j, i] / diagonal)
                if not system[i, i] > tiny * before:
                    system[i, i] = 0
            explained += system[j, width] * system[j, width] / diagonal
    for j in range(width - 1, -1, -1):
        if system[j, j] > 0:
            value = system[j, width]
            for i in range(j + 1, width):
                value -= system[j, i] * x[i]
            x[j] = value / system[j, j]
    return explained


@kernel
def conjugate_rows(
    X: Any, first: int, last: int, factors: Any, width: int, shift: Any, base: Any, implicit: bool,
    confidence: float, ridge: float, scaled: bool, steps: int, out: Any,
) -> float:  # fmt: skip
    """Some steps of conjugate gradients for each row, from what is in `out`."""
    residual, direction = np.zeros(width, factors.dtype), np.zeros(width, factors.dtype)
    image, x = np.zeros(width, factors.dtype), np.zeros(width, factors.dtype)
    total = 0.0
    for i in range(first, last):
        begin, end = X.indptr[i], X.indptr[i + 1]
        weight = ridge * (end - begin) if scaled else ridge
        for a in range(width):
            x[a] = out[i, a]
        square = 0.0
        normal_times(X, begin, end, factors, base, implicit, confidence, weight, x, image)
        for a in range(width):
            residual[a] = -image[a]
        for s in range(begin, end):
            j = np.uint64(X.indices[s])
            target = X.data[s] - shift[j]
            if implicit:
                target = 1 + confidence * X.data[s] if X.data[s] > 0 else target * 0
                square += target
            else:
                square += target * target
            row = factors[j]
            for a in range(width):
                residual[a] += target * row[a]
        # sums stay apart from loops that write: which of these are vectorised depends on where arrays lie
        size, right = (
            dot(residual, residual),
            dot(x, residual) * 2 + dot(x, image),
        )  # 2 x·b - x'Mx = x·(2 r + Mx)
        for a in range(width):
            direction[a] = residual[a]
        for _ in range(steps):
            if not size > 0:
                break
            normal_times(X, begin, end, factors, base, implicit, confidence, weight, direction, image)
            curvature = dot(direction, image)
            if not curvature > 0:
                break
            length = size / curvature
            right += length * size
            for a in range(width):
                x[a] += length * direction[a]
                residual[a] -= length * image[a]
            new = dot(residual, residual)
            for a in range(width):
                direction[a] = residual[a] + new / size * direction[a]
            size = new
        total += square - right
        for a in range(width):
            out[i, a] = x[a]
    return total


@inner
def dot(a: Any, b: Any) -> Any:
    """a·b."""
    total = a[0] * 0
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@inner
def normal_times(
    X: Any,
    begin: Any,
    end: Any,
    factors: Any,
    base: Any,
    implicit: Any,
    confidence: Any,
    weight: Any,
    x: Any,
    out: Any,
) -> None:
    """out = (base + Σ a_s y_s y_s' + weight I) x."""
    for a in range(x.size):
        out[a] = weight * x[a]
    if implicit:
        for b in range(x.size):
            row, value = base[b], x[b]
            for a in range(x.size):
                out[a] += value * row[a]
    for s in range(begin, end):
        row = factors[np.uint64(X.indices[s])]
        value = x[0] * 0
        for a in range(x.size):
            value += x[a] * row[a]
        if implicit:
            value *= confidence * abs(X.data[s])
        for a in range(x.size):
            out[a] += value * row[a]

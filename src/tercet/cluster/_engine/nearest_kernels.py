"""Compiled kernels of the search for the nearest centre."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import implement, inner, kernel, verb
from tercet.core.rows import Dense, Rows, Sparse, row_add, row_square
from tercet.core.sparse_products import combine

MARGIN = 1 + 1e-12  # bounds nearer to each other than this decide nothing: distances are measured
BLOCK = 256  # rows of one matrix product: the scores stay in a core's own cache


@verb
def row_squared_distance(rows: Rows, i: int, c: np.ndarray, square: float) -> float:
    """Squared distance of row i from the point c, whose squared length is given."""
    if isinstance(rows, Sparse):
        s = slice(rows.indptr[i], rows.indptr[i + 1])
        x, z = rows.data[s].astype(np.float64), c[rows.indices[s]]
        return max(square + float(((x - z) ** 2 - z**2).sum()), 0.0)
    return float(((rows.values[i] - c) ** 2).sum())


@implement(row_squared_distance)
def _row_squared_distance(rows, i, c, square):
    if getattr(rows, "instance_class", None) is Dense:

        def dense(rows, i, c, square):
            x = rows.values[i]
            gap = 0.0
            for j in range(x.size):
                gap += (x[j] - c[j]) * (x[j] - c[j])
            return gap

        return dense

    def compressed(rows, i, c, square):
        x = rows.data[rows.indptr[i] : rows.indptr[i + 1]]
        at = rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
        gap = square
        for s in range(x.size):
            z = c[np.uint64(at[s])]
            gap += (x[s] - z) * (x[s] - z) - z * z
        return max(gap, 0.0)

    return compressed


@kernel
def own_squared_distances(rows, labels, points, squares):
    """Squared distances of the rows from their centres."""
    found = np.empty(labels.size)
    for i in range(labels.size):
        found[i] = row_squared_distance(rows, i, points[labels[i]], squares[labels[i]])
    return found


@kernel
def search_by_products(rows, ids, mean, points, half, slack, radius, labels, upper, lower, ambiguous, tile):
    """The nearest centres of the rows `ids` by matrix products, and how many rows rounding leaves ambiguous.

    points : (k, d) centred centres, or (d, k) where k < d, or for sparse rows (d, at least k); half : (k,) half
    their squared norms, so that |x - c|² = |x|² + 2 (half - x·c). `upper` and `lower` are bounds of distances (see
    `Assignment`), `tile` is memory for a block.
    """
    k = half.size
    scores, norms = np.zeros((k, BLOCK), points.dtype), np.zeros(BLOCK)
    transposed = np.zeros((BLOCK, k), points.dtype)
    best, second, at = np.zeros(BLOCK, half.dtype), np.zeros(BLOCK, half.dtype), np.zeros(BLOCK, np.int32)
    count = 0
    for start in range(0, ids.size, BLOCK):
        here = ids[start : start + BLOCK]
        block_products(rows, here, mean, points, tile, transposed, scores, norms)
        two_smallest(scores, half, best, second, at)
        for r in range(here.size):
            i, square = here[r], norms[r]
            error = slack * radius * (np.sqrt(square) + radius)
            if not second[r] - best[r] > 2 * error:
                ambiguous[count] = i
                count += 1
                continue
            labels[i] = at[r]
            if lower.shape[1] > 0:
                error = 2 * error + 1e-14 * square
                upper[i] = np.sqrt(max(square + 2 * best[r] + error, 0.0))
                if lower.shape[1] == 1:
                    lower[i, 0] = np.sqrt(max(square + 2 * second[r] - error, 0.0))
                else:
                    for j in range(k):
                        lower[i, j] = np.sqrt(max(square + 2 * (half[j] - scores[j, r]) - error, 0.0))
    return count


@kernel
def fill_tiles(rows, mean, tiles, norms):
    """The centred rows as columns of tiles of shape (d, BLOCK), and their squared lengths."""
    for t in range(tiles.shape[0]):
        tile, begin = tiles[t], t * BLOCK
        for start in range(begin, min(begin + BLOCK, norms.size), 16):  # they fit into the first-level cache
            stop = min(start + 16, norms.size)
            for j in range(mean.size):
                for i in range(start, stop):
                    v = rows.values[i, j] - mean[j]
                    tile[j, i - begin] = v
                    norms[i] += v * v


@kernel
def search_tiles(tiles, norms, points, half, slack, radius, labels, ambiguous):
    """As `search_by_products`, for rows in tiles and all of them; points : (k, d)."""
    scores = np.zeros((half.size, BLOCK), points.dtype)
    best, second, at = np.zeros(BLOCK, half.dtype), np.zeros(BLOCK, half.dtype), np.zeros(BLOCK, np.int32)
    count = 0
    for t in range(tiles.shape[0]):
        np.dot(points, tiles[t], scores)
        two_smallest(scores, half, best, second, at)
        begin = t * BLOCK
        for i in range(begin, min(begin + BLOCK, labels.size)):
            r = i - begin
            error = slack * radius * (np.sqrt(norms[i]) + radius)
            if second[r] - best[r] > 2 * error:
                labels[i] = at[r]
            else:
                ambiguous[count] = i
                count += 1
    return count


@inner
def two_smallest(scores, half, best, second, at):
    """The two smallest values of half - scores in every column, and where the smallest is.

    Columns are side by side in memory, and the choices are selections rather than jumps: this vectorises.
    """
    best[:] = np.inf
    second[:] = np.inf
    at[:] = 0
    for j in range(half.size):
        row, h, here = scores[j], half[j], np.int32(j)
        for r in range(row.size):
            score, low, next_low = h - row[r], best[r], second[r]
            next_low = score if score < next_low else next_low
            less = score < low
            second[r] = low if less else next_low
            at[r] = here if less else at[r]
            best[r] = score if less else low


@verb
def block_products(rows, ids, mean, points, tile, transposed, scores, norms):
    """Products of all centres with some rows, as columns, and the rows' squared lengths.

    Dense rows are centred at the mean. Something has to be transposed: the rows, when centres outnumber features
    (`points` has a centre in each row then), or else the products (and a centre in each column). Of sparse rows,
    `tile` is for the products.
    """
    if isinstance(rows, Sparse):
        for r, i in enumerate(ids):
            s = slice(rows.indptr[i], rows.indptr[i + 1])
            x = rows.data[s].astype(np.float64)
            scores[:, r] = (x @ points[rows.indices[s]])[: len(scores)]
            norms[r] = x @ x
        return
    z = rows.values[ids] - mean
    norms[: ids.size] = (z**2).sum(axis=1)
    z = z.astype(points.dtype)
    scores[:, : ids.size] = (z @ points).T if scores.shape[0] < mean.size else points @ z.T


@implement(block_products)
def _block_products(rows, ids, mean, points, tile, transposed, scores, norms):
    if getattr(rows, "instance_class", None) is Dense:

        def dense(rows, ids, mean, points, tile, transposed, scores, norms):
            if scores.shape[0] < mean.size:
                for r in range(ids.size):
                    x, z = rows.values[ids[r]], tile[r]
                    square = 0.0
                    for j in range(x.size):
                        v = x[j] - mean[j]
                        z[j] = v
                        square += v * v
                    norms[r] = square
                np.dot(tile, points, transposed)
                for r in range(ids.size):
                    for k in range(scores.shape[0]):
                        scores[k, r] = transposed[r, k]
                return
            for start in range(0, ids.size, 16):  # a few rows at a time fit into the first-level cache
                here, squares = ids[start : start + 16], norms[start : start + 16]
                squares[:] = 0.0
                for j in range(mean.size):
                    column = tile[j, start : start + 16]
                    for r in range(here.size):
                        v = rows.values[here[r], j] - mean[j]
                        column[r] = v
                        squares[r] += v * v
            np.dot(points, tile, scores)

        return dense

    def compressed(rows, ids, mean, points, tile, transposed, scores, norms):
        for r in range(ids.size):
            combine(rows, ids[r], points, tile, r)
            norms[r] = row_square(rows, ids[r])
        for r in range(ids.size):
            products = tile[r]
            for j in range(scores.shape[0]):
                scores[j, r] = products[j]

    return compressed


@kernel
def search_exactly(rows, ids, points, squares, labels, upper, lower):
    """The nearest centre by distances in double precision; of equals, the first."""
    for r in range(ids.size):
        i = ids[r]
        best = second = np.inf
        at = 0
        for j in range(squares.size):
            gap = row_squared_distance(rows, i, points[j], squares[j])
            if lower.shape[1] > 1:
                lower[i, j] = np.sqrt(gap)
            if gap < best:
                second, best, at = best, gap, j
            elif gap < second:
                second = gap
        labels[i] = at
        if lower.shape[1] > 0:
            upper[i] = np.sqrt(best)
            if lower.shape[1] == 1:
                lower[i, 0] = np.sqrt(second)


@kernel
def hamerly(rows, points, squares, shift, most, half_gap, labels, upper, lower, found):
    """Hamerly's test: rows that may have another nearest centre now.

    upper bounds the distance to the row's own centre, lower[:, 0] that to all others; centre j moved by shift[j]
    (the two largest moves are `most`), and half_gap[j] is half its distance to the nearest other centre.
    """
    n = 0
    for i in range(labels.size):
        a = labels[i]
        u = upper[i] + shift[a]
        low = lower[i, 0] - (most[0] if shift[a] == most[1] else most[1])
        lower[i, 0] = low
        safe = max(low, half_gap[a])
        if not u * MARGIN < safe:
            u = np.sqrt(row_squared_distance(rows, i, points[a], squares[a]))
            if not u * MARGIN < safe:
                found[n] = i
                n += 1
        upper[i] = u
    return n


@kernel
def elkan(rows, points, squares, shift, half_gaps, half_gap, labels, upper, lower):
    """Elkan's pass: compute only the distances that the bounds and the triangle inequality leave open.

    lower : (n, k) bounds from below; half_gaps : (k, k) half the distances between centres.
    """
    for i in range(labels.size):
        a, low = labels[i], lower[i]
        u = upper[i] + shift[a]
        for j in range(low.size):
            low[j] -= shift[j]
        if not u * MARGIN < half_gap[a]:
            loose = True
            for j in range(low.size):
                if j == a or u * MARGIN < low[j] or u * MARGIN < half_gaps[a, j]:
                    continue
                if loose:
                    u = low[a] = np.sqrt(row_squared_distance(rows, i, points[a], squares[a]))
                    loose = False
                    if u * MARGIN < low[j] or u * MARGIN < half_gaps[a, j]:
                        continue
                gap = np.sqrt(row_squared_distance(rows, i, points[j], squares[j]))
                low[j] = gap
                if gap < u or (gap == u and j < a):
                    a, u = j, gap
        labels[i], upper[i] = a, u


@kernel
def add_cluster_sums(rows, weight, labels, sums, mass, count):
    """Add the rows to the sums of their clusters."""
    for i in range(labels.size):
        if weight[i] > 0:
            row_add(rows, i, weight[i], sums[labels[i]])
            mass[labels[i]] += weight[i]
            count[labels[i]] += 1


@kernel
def move_cluster_sums(rows, weight, moved, old, new, sums, mass, count):
    """Move the rows that changed cluster from one sum to the other."""
    for r in range(moved.size):
        i = moved[r]
        if weight[i] > 0:
            if old[i] >= 0:
                row_add(rows, i, -weight[i], sums[old[i]])
                mass[old[i]] -= weight[i]
                count[old[i]] -= 1
            row_add(rows, i, weight[i], sums[new[i]])
            mass[new[i]] += weight[i]
            count[new[i]] += 1

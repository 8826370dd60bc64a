"""Kernels of non-negative factorisation. Throughout, X (n, d) is near A B', with A (n, k) and B (d, k)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.cache_lines import LINE, fetch_line
from tercet.core.kernel import inner, kernel
from tercet.core.sparse_products import combine

AHEAD = 8  # entries of X whose rows of B are on their way from memory
LANES = 64  # rows that are updated side by side: k of their columns stay in the nearest cache


@kernel
def sweep_blocks(A: Any, P: Any, G: Any, order: Any, turns: Any) -> Any:
    """Cyclic coordinate descent on A for ½|X - AB'|²; returns the sum of |projected gradient| of the first turn.

    P (n, k) is XB less the L1 penalty, G (k, k) is B'B with the L2 penalty on its diagonal. The rows of A are
    independent: a block of them is turned over, so that the loops over its rows are vectors.
    """
    n, k = A.shape
    a, p = np.zeros((k, LANES), A.dtype), np.zeros((k, LANES), A.dtype)
    slope = np.zeros(LANES, A.dtype)
    violation = 0.0
    for first in range(0, n, LANES):
        size = min(LANES, n - first)
        for i in range(size):
            for t in range(k):
                a[t, i] = A[first + i, t]
                p[t, i] = P[first + i, t]
        for turn in range(turns):
            for s in range(k):
                t = order[s]
                lane_gradient(a, p[t], G[t], slope)
                mine = a[t]
                if turn == 0:
                    for i in range(size):
                        if mine[i] > 0 or slope[i] < 0:
                            violation += abs(slope[i])
                if G[t, t] > 0:
                    step = 1 / G[t, t]
                    for i in range(LANES):
                        value = mine[i] - slope[i] * step
                        mine[i] = value if value > 0 else A.dtype.type(0)
        for i in range(size):
            for t in range(k):
                A[first + i, t] = a[t, i]
    return violation


@inner
def lane_gradient(a: Any, p: Any, g: Any, slope: Any) -> None:
    """slope = Σ_r g_r a_r - p, of shapes (k, LANES), (LANES,), (k,); four rows at a time touch the sums once."""
    k = a.shape[0]
    whole = k // 4 * 4
    for i in range(LANES):
        slope[i] = -p[i]
    for r in range(0, whole, 4):
        g0, g1, g2, g3 = g[r], g[r + 1], g[r + 2], g[r + 3]
        a0, a1, a2, a3 = a[r], a[r + 1], a[r + 2], a[r + 3]
        for i in range(LANES):
            slope[i] += g0 * a0[i] + g1 * a1[i] + g2 * a2[i] + g3 * a3[i]
    for r in range(whole, k):
        g0, a0 = g[r], a[r]
        for i in range(LANES):
            slope[i] += g0 * a0[i]


@kernel
def solve_blocks(A: Any, P: Any, G: Any, order: Any, turns: Any, tol: Any) -> Any:
    """`sweep_rows` where all rows have one Gram matrix: side by side, each until it has come to its own end."""
    n, k = A.shape
    a, p = np.zeros((k, LANES), A.dtype), np.zeros((k, LANES), A.dtype)
    slope, moving = np.zeros(LANES, A.dtype), np.zeros(LANES, A.dtype)
    first, violation = np.zeros(LANES), np.zeros(LANES)
    total, longest, settled = 0.0, 0, True
    for begin in range(0, n, LANES):
        size = min(LANES, n - begin)
        for i in range(LANES):
            moving[i] = i < size
        for i in range(size):
            for t in range(k):
                a[t, i] = A[begin + i, t]
                p[t, i] = P[begin + i, t]
        left = size
        for turn in range(turns):
            for i in range(LANES):
                violation[i] = 0.0
            for s in range(k):
                t = order[s]
                lane_gradient(a, p[t], G[t], slope)
                mine = a[t]
                for i in range(LANES):
                    violation[i] += abs(slope[i]) if mine[i] > 0 or slope[i] < 0 else 0.0
                if G[t, t] > 0:
                    step = A.dtype.type(1 / G[t, t])
                    for i in range(LANES):
                        value = mine[i] - moving[i] * slope[i] * step
                        mine[i] = value if value > 0 else A.dtype.type(0)
            longest = max(longest, turn + 1)
            left = 0
            for i in range(size):
                if turn == 0:
                    first[i] = violation[i]
                    total += violation[i]
                if violation[i] <= tol * first[i]:
                    moving[i] = 0
                left += moving[i] > 0
            if left == 0:
                break
        settled = settled and left == 0
        for i in range(size):
            for t in range(k):
                A[begin + i, t] = a[t, i]
    return total, longest, settled


@kernel
def sweep_rows(
    A: Any, P: Any, G: Any, B: Any, indptr: Any, indices: Any, sign: Any, order: Any, turns: Any, tol: Any
) -> Any:
    """Coordinate descent on each row of A by itself, until its violation is at most tol times the first one.

    The cells that `indptr` and `indices` list for a row change its own Gram matrix: G + sign Σ_j b_j b_j'. Returns
    the first violations, added up, the most turns of a row, and whether all rows came to their end.
    """
    n, k = A.shape
    gram = np.empty((k, k), A.dtype)
    total, longest, settled = 0.0, 0, True
    for i in range(n):
        a, p = A[i], P[i]
        for t in range(k):
            for r in range(k):
                gram[t, r] = G[t, r]
        for s in range(indptr[i], indptr[i + 1]):
            b = B[indices[s]]
            for t in range(k):
                scale = sign * b[t]
                for r in range(k):
                    gram[t, r] += scale * b[r]
        first = 0.0
        for turn in range(turns):
            violation = 0.0
            for s in range(k):
                t = order[s]
                slope = -p[t]
                for r in range(k):
                    slope += gram[t, r] * a[r]
                if a[t] > 0 or slope < 0:
                    violation += abs(slope)
                # what is left of a sum from which nearly all was taken away is rounding
                if gram[t, t] > 1e-12 * G[t, t]:
                    a[t] = max(a[t] - slope / gram[t, t], A.dtype.type(0))
            if turn == 0:
                first = violation
            longest = max(longest, turn + 1)
            if violation <= tol * first:
                break
            if turn == turns - 1:
                settled = False
        total += first
    return total, longest, settled


@kernel
def products_at(indptr: Any, indices: Any, A: Any, B: Any, out: Any) -> None:
    """out[s] = a_i . b_j for the listed cells (i, j)."""
    for i in range(indptr.size - 1):
        a = A[i]
        for s in range(indptr[i], indptr[i + 1]):
            b = B[indices[s]]
            total = A.dtype.type(0)
            for t in range(a.size):
                total += a[t] * b[t]
            out[s] = total


@inner
def line_dot(A: Any, i: Any, B: Any, j: Any) -> Any:
    """a_i . b_j of rows that are padded to a multiple of eight numbers, which is one vector operation."""
    width, eight = np.uint64(A.shape[1]), np.uint64(8)
    a, b = A[i], B[np.uint64(j)]
    zero = A.dtype.type(0)
    s0, s1, s2, s3, s4, s5, s6, s7 = zero, zero, zero, zero, zero, zero, zero, zero
    for c in range(np.uint64(0), width, eight):
        s0 += a[c] * b[c]
        s1 += a[c + np.uint64(1)] * b[c + np.uint64(1)]
        s2 += a[c + np.uint64(2)] * b[c + np.uint64(2)]
        s3 += a[c + np.uint64(3)] * b[c + np.uint64(3)]
        s4 += a[c + np.uint64(4)] * b[c + np.uint64(4)]
        s5 += a[c + np.uint64(5)] * b[c + np.uint64(5)]
        s6 += a[c + np.uint64(6)] * b[c + np.uint64(6)]
        s7 += a[c + np.uint64(7)] * b[c + np.uint64(7)]
    return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))


@inner
def fetch_row(B: Any, j: Any) -> None:
    """Ask for row j of B before it is needed: the rows that follow each other lie anywhere in memory."""
    width, step = np.uint64(B.shape[1]), np.uint64(LINE // B.itemsize)
    for c in range(np.uint64(0), width, step):
        fetch_line(B, np.uint64(j) * width + c)


@kernel
def divergence_products(X: Any, R: Any, A: Any, B: Any, floor: Any, out: Any) -> None:
    """out_i = Σ_j x_ij / (AB')_ij b_j, over the entries of row i; R, of the pattern of X, is room for the ratios.

    A and B are padded to whole cache lines. The rows of B that a row of X needs are fetched once for both sums.
    """
    last = X.indices.size - 1
    for i in range(out.shape[0]):
        for s in range(X.indptr[i], X.indptr[i + 1]):
            fetch_row(B, X.indices[min(s + AHEAD, last)])
            R.data[s] = X.data[s] / max(line_dot(A, i, B, X.indices[s]), floor)
        combine(R, i, B, out, i)


@kernel
def divergence_logs(X: Any, A: Any, B: Any, floor: Any, out: Any) -> None:
    """out_i = Σ_j x_ij log(x_ij / (AB')_ij) - x_ij, over the entries of row i."""
    last = X.indices.size - 1
    for i in range(out.size):
        total = 0.0
        for s in range(X.indptr[i], X.indptr[i + 1]):
            fetch_row(B, X.indices[min(s + AHEAD, last)])
            x = X.data[s]
            if x > 0:
                total += x * (np.log(x / max(line_dot(A, i, B, X.indices[s]), floor)) - 1)
        out[i] = total

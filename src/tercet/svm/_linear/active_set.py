"""Active-set steps for the free variables of a dual with bounds, on a Gram matrix, in one compiled loop."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, shared
from tercet.svm._dual.cholesky import cholesky, solve_cholesky

INDEPENDENT = 1e-11  # share of its diagonal entry that the pivot of an independent row exceeds


@shared
def active_set_steps(gram, ridge, free, slope, beta, low, high, kink):
    """Newton's step for the variables that are free, cut where the first reaches its bound, until none does.

    With `kink`, 0 is a bound as well. Returns False, and changes nothing, where the rows are linearly dependent.
    Shapes: gram (n, n), free (m,), all others (n,); beta and slope are updated, and `free` is written over.
    """
    count = free.size
    L, right, scale = np.empty((count, count)), np.empty(count), np.empty(count)
    for a in range(count):  # of unit diagonal: norms of rows may lie far apart
        row, out, square = gram[free[a]], L[a], gram[free[a], free[a]] + ridge[free[a]]
        scale[a] = 1.0 / np.sqrt(square) if square > 0.0 else 0.0
        for b in range(a):
            out[b] = row[free[b]] * scale[a] * scale[b]
        out[a] = square * scale[a] * scale[a]
    if not cholesky(L, INDEPENDENT):
        return False
    while count > 0:
        step = right[:count]
        for a in range(count):
            step[a] = -slope[free[a]] * scale[a]
        solve_cholesky(L, step)
        length, first, end = 1.0, -1, 0.0
        for a in range(count):
            step[a] *= scale[a]
            i, s = free[a], step[a]
            bound = high[i] if s > 0.0 else low[i]
            if kink and s * beta[i] < 0.0:
                bound = 0.0
            if s != 0.0 and (bound - beta[i]) / s < length:
                length, first, end = (bound - beta[i]) / s, a, bound
        for a in range(count):
            beta[free[a]] += length * step[a]
            slope[free[a]] *= 1.0 - length
        if first < 0:
            return True
        beta[free[first]] = end
        delete_row(L, first, count)
        count -= 1
        for a in range(first, count):
            free[a], scale[a] = free[a + 1], scale[a + 1]
    return True


@inner
def delete_row(L, place, count):
    """The Cholesky factor of the matrix without row and column `place`, of `count` rows, in place."""
    cosines, sines = np.empty(count), np.empty(count)
    for a in range(place, count - 1):
        old, new = L[a + 1], L[a]
        # row a + 1 moves up; rotations of neighbouring columns take away what is right of the diagonal
        for j in range(place):
            new[j] = old[j]
        left = old[place]
        for j in range(place, a):
            here = old[j + 1]
            new[j] = cosines[j] * left + sines[j] * here
            left = cosines[j] * here - sines[j] * left
        last = old[a + 1]
        norm = np.sqrt(left * left + last * last)
        cosines[a], sines[a] = left / norm, last / norm
        new[a] = norm

"""Cholesky factorisation of small matrices inside of kernels."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner


@inner
def cholesky(L, least):
    """The Cholesky factor of the lower triangle of L, in place; False where a pivot is not above `least`."""
    for a in range(L.shape[0]):
        x = L[a]
        for b in range(a + 1):
            z = L[b]
            total = x[b]
            for j in range(b):
                total -= x[j] * z[j]
            if a > b:
                x[b] = total / z[b]
            elif least < total < np.inf:
                x[a] = np.sqrt(total)
            else:
                return False
    return True


@inner
def solve_cholesky(L, right):
    """(L L')⁻¹ times a vector, in place."""
    for a in range(right.size):
        total = right[a]
        for j in range(a):
            total -= L[a, j] * right[j]
        right[a] = total / L[a, a]
    for c in range(right.size):
        a = right.size - 1 - c
        right[a] /= L[a, a]
        for j in range(a):
            right[j] -= L[a, j] * right[a]

"""Kernels of multidimensional scaling: the Guttman transform and isotonic regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import kernel


@kernel
def guttman(Z: Any, D: Any, first: Any, out: Any) -> Any:
    """The Guttman transform of some points; returns their sums of (distance - disparity)² and of distance².

    Z (n, k) are all points, D (m, n) the disparities of those from `first` on, out (m, k) their new places:
    z_i = 1/n Σ_j D_ij / |z_i - z_j| (z_i - z_j). Points at one place do not move each other.
    """
    n, k = Z.shape
    apart, ratio = np.empty(n), np.empty(n)
    stress, squares = 0.0, 0.0
    for i in range(out.shape[0]):
        wanted = D[i]
        for j in range(n):
            apart[j] = 0.0
        for c in range(k):
            here = Z[first + i, c]
            for j in range(n):
                step = here - Z[j, c]
                apart[j] += step * step
        for j in range(n):
            squares += apart[j]
            distance = np.sqrt(apart[j])
            stress += (distance - wanted[j]) ** 2
            ratio[j] = wanted[j] / distance if distance > 0 else 0.0
        for c in range(k):
            here, total = Z[first + i, c], 0.0
            for j in range(n):
                total += ratio[j] * (here - Z[j, c])
            out[i, c] = total / n
    return stress, squares


@kernel
def pool_adjacent(values: Any, weights: Any, out: Any) -> None:
    """Isotonic regression: the non-decreasing numbers nearest to `values` in weighted squares.

    Neighbours in the wrong order are pooled to their mean, until none are left; O(n).
    """
    n = values.size
    level, mass, size = np.empty(n), np.empty(n), np.empty(n, np.int64)
    blocks = 0
    for i in range(n):
        level[blocks], mass[blocks], size[blocks] = values[i], weights[i], 1
        blocks += 1
        while blocks > 1 and level[blocks - 2] >= level[blocks - 1]:
            a, b = blocks - 2, blocks - 1
            both = mass[a] + mass[b]
            level[a] = (level[a] * mass[a] + level[b] * mass[b]) / both
            mass[a] = both
            size[a] += size[b]
            blocks = b
    at = 0
    for b in range(blocks):
        for _ in range(size[b]):
            out[at] = level[b]
            at += 1

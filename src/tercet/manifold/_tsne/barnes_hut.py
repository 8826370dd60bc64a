"""Repulsion by the method of Barnes and Hut: distant points count as the centre of their cell of a tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.parallel import each
from tercet.manifold._tsne.forces import numerator

ROWS = 256  # in a piece of work
DEEPEST = 60  # level of cells whose points count as one place


class Cells(NamedTuple):
    """A tree of 2^d children per cell: numbers of points, sums of points, widths, children (-1: none)."""

    counts: np.ndarray
    mass: np.ndarray
    width: np.ndarray
    child: np.ndarray


def barnes_hut_repulsion(Z: np.ndarray, dof: int, angle: float, n_jobs: int) -> tuple[np.ndarray, float]:
    """Repulsive forces (n, d) before their normalisation, and Σ num."""
    cells = build(Z)
    out = np.empty_like(Z)

    def piece(start: int) -> float:
        return repel_by_cells(Z, start, float(dof), angle * angle, *cells, out[start : start + ROWS])

    return out, float(sum(each(piece, range(0, len(Z), ROWS), n_jobs=n_jobs)))


def build(Z: np.ndarray) -> Cells:
    """The tree over points (n, d)."""
    n, d = Z.shape
    low, high = Z.min(axis=0), Z.max(axis=0)
    half = max(float((high - low).max()) / 2, 1e-300) * (1 + 1e-9)
    size = 4 * n + 64
    while True:
        cells = Cells(
            np.zeros(size, np.int64),
            np.zeros((size, d)),
            np.zeros(size),
            np.full((size, 1 << d), -1, np.int32),
        )
        used = insert_all(Z, (low + high) / 2, half, *cells)
        if used >= 0:
            return Cells(*(part[:used] for part in cells))
        size *= 2


@kernel
def insert_all(Z: Any, centre: Any, half: Any, count: Any, mass: Any, width: Any, child: Any) -> Any:
    """Put all points into the tree; returns the number of cells, or -1 where they do not fit."""
    n, d = Z.shape
    leaf = np.full(count.size, -1, np.int64)
    middle = np.empty(d)
    used = 1
    width[0] = 2 * half
    for i in range(n):
        z = Z[i]
        for c in range(d):
            middle[c] = centre[c]
        node, h, level = 0, half, 0
        while True:
            before = count[node]
            if before > 0 and leaf[node] >= 0:
                old = Z[leaf[node]]
                same = True
                for c in range(d):
                    same = same and old[c] == z[c]
                if not same and level < DEEPEST:  # what is here goes down a level
                    if used + 2 > count.size:
                        return -1
                    q = 0
                    for c in range(d):
                        q |= (1 << c) if old[c] > middle[c] else 0
                    child[node, q] = used
                    count[used], leaf[used], width[used] = before, leaf[node], h
                    for c in range(d):
                        mass[used, c] = mass[node, c]
                    used += 1
                    leaf[node] = -1
            count[node] += 1
            for c in range(d):
                mass[node, c] += z[c]
            if before == 0:
                leaf[node] = i
                break
            if leaf[node] >= 0:  # equal points, or the deepest level
                break
            q = 0
            for c in range(d):
                q |= (1 << c) if z[c] > middle[c] else 0
            h *= 0.5
            for c in range(d):
                middle[c] += h if (q >> c) & 1 else -h
            if child[node, q] < 0:
                if used + 1 > count.size:
                    return -1
                child[node, q] = used
                width[used] = 2 * h
                used += 1
            node = child[node, q]
            level += 1
    return used


@kernel
def repel_by_cells(
    Z: Any, first: Any, dof: Any, squared_angle: Any, count: Any, mass: Any, width: Any, child: Any, out: Any
) -> Any:
    """Repulsive forces on the rows from `first` on, into out (m, d); returns their Σ num over all other rows."""
    d, children = Z.shape[1], child.shape[1]
    stack = np.empty(children * (DEEPEST + 2), np.int32)
    whole = 0.0
    for i in range(out.shape[0]):
        force, here = out[i], Z[first + i]
        for c in range(d):
            force[c] = 0.0
        stack[0] = 0
        size = 1
        while size > 0:
            size -= 1
            node = stack[size]
            many = count[node]
            squared = 0.0
            for c in range(d):
                step = here[c] - mass[node, c] / many
                squared += step * step
            inside = False
            if width[node] * width[node] >= squared_angle * squared:
                for q in range(children):
                    if child[node, q] >= 0:
                        stack[size] = child[node, q]
                        size += 1
                        inside = True
            if inside:
                continue
            t = 1.0 / (1.0 + squared / dof)
            num = numerator(t, dof)
            whole += many * num
            for c in range(d):
                force[c] += many * num * t * (here[c] - mass[node, c] / many)
        whole -= 1.0  # of the row itself
    return whole

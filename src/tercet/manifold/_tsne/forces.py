"""Forces of t-SNE: attraction along the edges of P, and repulsion of all pairs, one by one.

With t = 1 / (1 + d² / ν) and num = t^((ν + 1) / 2), attraction is Σ_j p_ij t (z_i - z_j), repulsion
Σ_j num t (z_i - z_j) / Σ num over all pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.core.parallel import each

ROWS = 256  # in a piece of work


def attraction(
    P: tuple[Any, Any, Any], Z: np.ndarray, dof: int, n_jobs: int, measure: bool
) -> tuple[np.ndarray, float]:
    """Attractive forces (n, d), and Σ p (log p - log num) where it is asked for."""
    out = np.empty_like(Z)

    def piece(start: int) -> float:
        rows = slice(start, start + ROWS)
        pull = attract_plane if Z.shape[1] == 2 else attract
        return pull(P[0][start : start + ROWS + 1], P[1], P[2], Z, start, float(dof), measure, out[rows])

    return out, float(sum(each(piece, range(0, len(Z), ROWS), n_jobs=n_jobs)))


def exact_repulsion(Z: np.ndarray, dof: int, n_jobs: int) -> tuple[np.ndarray, float]:
    """Repulsive forces (n, d) before their normalisation, and Σ num, from all pairs."""
    out = np.empty_like(Z)

    def piece(start: int) -> float:
        return repel(Z, start, float(dof), out[start : start + ROWS])

    return out, float(sum(each(piece, range(0, len(Z), ROWS), n_jobs=n_jobs)))


@inner
def numerator(t: Any, dof: Any) -> Any:
    """t^((ν + 1) / 2)."""
    if dof == 1.0:
        return t
    if dof == 2.0:
        return t * np.sqrt(t)
    return t ** ((dof + 1.0) / 2.0)


@kernel
def attract(indptr: Any, indices: Any, P: Any, Z: Any, first: Any, dof: Any, measure: Any, out: Any) -> Any:
    """Attractive forces on the rows from `first` on, into out (m, d); returns Σ p (log p - log num)."""
    d = Z.shape[1]
    cost = 0.0
    for i in range(out.shape[0]):
        force, here = out[i], Z[first + i]
        for c in range(d):
            force[c] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            there, p = Z[indices[e]], P[e]
            squared = 0.0
            for c in range(d):
                squared += (here[c] - there[c]) * (here[c] - there[c])
            t = 1.0 / (1.0 + squared / dof)
            for c in range(d):
                force[c] += p * t * (here[c] - there[c])
            if measure and p > 0.0:
                cost += p * (np.log(p) - np.log(numerator(t, dof)))
    return cost


@kernel
def attract_plane(
    indptr: Any, indices: Any, P: Any, Z: Any, first: Any, dof: Any, measure: Any, out: Any
) -> Any:
    """`attract` in two dimensions, where ν is 1."""
    cost = 0.0
    for i in range(out.shape[0]):
        x, y = Z[first + i, 0], Z[first + i, 1]
        a, b = 0.0, 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j, p = indices[e], P[e]
            u, v = x - Z[j, 0], y - Z[j, 1]
            t = 1.0 / (1.0 + (u * u + v * v) / dof)
            a += p * t * u
            b += p * t * v
            if measure and p > 0.0:
                cost += p * (np.log(p) - np.log(numerator(t, dof)))
        out[i, 0], out[i, 1] = a, b
    return cost


@kernel
def repel(Z: Any, first: Any, dof: Any, out: Any) -> Any:
    """Repulsive forces on the rows from `first` on, into out (m, d); returns their Σ num over all other rows."""
    n, d = Z.shape
    whole = 0.0
    for i in range(out.shape[0]):
        force, here = out[i], Z[first + i]
        for c in range(d):
            force[c] = 0.0
        for j in range(n):
            there = Z[j]
            squared = 0.0
            for c in range(d):
                squared += (here[c] - there[c]) * (here[c] - there[c])
            t = 1.0 / (1.0 + squared / dof)
            num = numerator(t, dof)
            whole += num
            for c in range(d):
                force[c] += num * t * (here[c] - there[c])
        whole -= 1.0  # of the row itself
    return whole

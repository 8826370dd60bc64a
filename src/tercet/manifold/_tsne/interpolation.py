"""Repulsion by interpolation on a grid and convolution with the kernel by the fast Fourier transform.

The points' charges go to the nodes of a grid, three to a box in each dimension, by Lagrange polynomials; a
convolution with 1 / (1 + d²) or its square gives the potential at the nodes, and the same polynomials that at the
points. G. C. Linderman et al. (2019): Fast interpolation-based t-SNE, Nature Methods 16.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import fft

from tercet.core.kernel import kernel
from tercet.core.parallel import each

NODES = 3  # of a box in each dimension
FEWEST, MOST = 50, 600  # boxes in each dimension
ROWS = 2048  # in a piece of work


def interpolated_repulsion(Z: np.ndarray, n_jobs: int) -> tuple[np.ndarray, float]:
    """Repulsive forces (n, d) before their normalisation, and Σ num, for points in one or two dimensions."""
    n, d = Z.shape
    low = float(Z.min())
    span = max(float(Z.max()) - low, 1e-12)
    boxes = int(np.clip(np.ceil(span), FEWEST, MOST))
    side = span / boxes * (1 + 1e-9)
    m = boxes * NODES
    node, weight = np.empty((n, d), np.int64), np.empty((n, d, NODES))
    each(
        lambda start: lagrange(
            Z[start : start + ROWS],
            low,
            side,
            boxes,
            node[start : start + ROWS],
            weight[start : start + ROWS],
        ),
        range(0, n, ROWS),
        n_jobs=n_jobs,
    )
    charges = np.zeros((1 + d, *(m,) * d))  # of 1 and of the coordinates
    spread(node, weight, np.concatenate([np.ones((n, 1)), Z], axis=1), charges.reshape(1 + d, -1), m)
    potentials = convolved(charges, side / NODES, n_jobs)
    found = np.empty((n, 2 + d))
    each(
        lambda start: collect(
            node[start : start + ROWS],
            weight[start : start + ROWS],
            potentials,
            m,
            found[start : start + ROWS],
        ),
        range(0, n, ROWS),
        n_jobs=n_jobs,
    )
    whole = float(found[:, 0].sum()) - n  # of each row itself
    return Z * found[:, 1:2] - found[:, 2:], whole


def convolved(charges: np.ndarray, step: float, n_jobs: int) -> np.ndarray:
    """The potentials (2 + d, nodes): of 1 with 1 / (1 + r²), and of all charges with its square."""
    d, m = charges.ndim - 1, charges.shape[1]
    size = fft.next_fast_len(2 * m, real=True)
    axes = tuple(range(-d, 0))
    steps = np.minimum(np.arange(size), size - np.arange(size)) * step
    squares = steps**2
    if d == 2:
        squares = squares[:, None] + squares
    kernels = 1.0 / (1.0 + squares)
    shape = (size,) * d
    with fft.set_workers(max(1, n_jobs)):
        first = fft.rfftn(kernels, shape)
        second = fft.rfftn(kernels**2, shape)
        spectra = fft.rfftn(charges, shape, axes=axes)
        products = np.concatenate([(spectra[0] * first)[None], spectra * second])
        found = fft.irfftn(products, shape, axes=axes)
    inside = (slice(None), *(slice(0, m),) * d)
    return np.ascontiguousarray(found[inside]).reshape(len(found), -1)


@kernel
def lagrange(Z: Any, low: Any, side: Any, boxes: Any, node: Any, weight: Any) -> None:
    """The first node of each point's box, and the Lagrange polynomials of its nodes, in each dimension."""
    for i in range(Z.shape[0]):
        for c in range(Z.shape[1]):
            at = (Z[i, c] - low) / side
            box = min(max(int(at), 0), boxes - 1)
            x = at - box
            node[i, c] = box * NODES
            for a in range(NODES):
                value = 1.0
                for b in range(NODES):
                    if b != a:
                        value *= (x - (b + 0.5) / NODES) / ((a - b) / NODES)
                weight[i, c, a] = value


@kernel
def spread(node: Any, weight: Any, charge: Any, out: Any, m: Any) -> None:
    """Add the charges (n, q) of the points to the nodes, out (q, m^d)."""
    n, q = charge.shape
    for i in range(n):
        for a in range(NODES):
            first = weight[i, 0, a]
            if node.shape[1] == 1:
                for k in range(q):
                    out[k, node[i, 0] + a] += first * charge[i, k]
            else:
                row = (node[i, 0] + a) * m + node[i, 1]
                for b in range(NODES):
                    w = first * weight[i, 1, b]
                    for k in range(q):
                        out[k, row + b] += w * charge[i, k]


@kernel
def collect(node: Any, weight: Any, potentials: Any, m: Any, out: Any) -> None:
    """The potentials (q, m^d) at the points, out (n, q)."""
    n, q = out.shape
    for i in range(n):
        for k in range(q):
            total = 0.0
            for a in range(NODES):
                first = weight[i, 0, a]
                if node.shape[1] == 1:
                    total += first * potentials[k, node[i, 0] + a]
                else:
                    row = (node[i, 0] + a) * m + node[i, 1]
                    for b in range(NODES):
                        total += first * weight[i, 1, b] * potentials[k, row + b]
            out[i, k] = total

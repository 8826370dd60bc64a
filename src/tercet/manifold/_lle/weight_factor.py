"""Solutions of (I - W)'(I - W) x = b from a sparse factorisation of I - W itself.

The graph of I - W has far fewer edges than that of the product, and its factors far fewer entries. I - W is
singular: it maps the constant vector to 0. With one diagonal entry p raised by 1, A^ = I - W + e_p e_p', it is not;
A^^-1 e_p is constant, and the left null vector u is along A^^-T e_p. For b that sums to 0, y = A^^-T b has y_p = 0
and solves A'y = b; the part of it along u removed, x = A^^-1 y solves Ax = y.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

ACCURACY = 1e-6  # of a solution, relative: enough for eigenvectors to 1e-10


def weight_solver(A: Any, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray] | None:
    """The function that solves A'Ax = b for b that sums to 0, A = I - W; None where the factors are not accurate,
    as in a graph of several pieces."""
    n = A.shape[0]
    pinned = int(np.asarray(abs(A).sum(axis=0)).argmax())  # a row that is a neighbour of many
    for _ in range(2):
        unit = np.zeros(n)
        unit[pinned] = 1.0
        raised = sparse.csc_array(A + sparse.coo_array(([1.0], ([pinned], [pinned])), shape=A.shape))
        try:
            factors = splu(
                raised, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01, options={"SymmetricMode": True}
            )
        except RuntimeError:  # exactly singular
            return None
        u = factors.solve(unit, trans="T")
        u /= np.linalg.norm(u)
        if abs(u[pinned]) > 0.05 * np.abs(u).max():
            break
        pinned = int(np.abs(u).argmax())

    def solve(b: np.ndarray) -> np.ndarray:
        y = factors.solve(b, trans="T")
        y -= u * (u @ y)
        return factors.solve(y)

    b = rng.uniform(-1, 1, size=n)
    b -= b.mean()
    x = solve(b)
    lost = np.linalg.norm(A.T @ (A @ x) - b) / np.linalg.norm(b)
    return solve if lost < ACCURACY else None

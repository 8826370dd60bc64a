"""Preconditioners of low rank for conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

RANK = 512  # most columns of the partial Cholesky factor
ENTRIES = 1 << 24  # most numbers in it


def woodbury_inverse(G: np.ndarray, mu: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """v -> (G Gᵀ + mu I)⁻¹ v by Woodbury's identity with the small matrix GᵀG; mu may differ between columns."""
    values, V = linalg.eigh(G.T @ G)
    H = G @ V
    mu = np.maximum(mu, max(1e-12 * float(np.abs(values).sum()), np.finfo(np.float64).tiny))
    return lambda v: (v - H @ ((H.T @ v) / (np.maximum(values, 0.0)[:, None] + mu))) / mu

"""Leading singular triplets by ARPACK, as SciPy has it."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import svds

from tercet.decomposition._engine.centred_rows import CentredRows
from tercet.decomposition._engine.signs import fix_signs


def arpack_triplets(
    rows: CentredRows, k: int, tol: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k leading singular triplets by ARPACK; of a matrix without entries that are not 0, unit vectors."""
    n, d = rows.shape
    start = rng.uniform(-1, 1, size=min(n, d)).astype(rows.dtype)
    image = (
        rows.times(rows.transposed_times(start[:, None]))
        if n <= d
        else rows.transposed_times(rows.times(start[:, None]))
    )
    if not image.any():  # ARPACK refuses to start
        return np.eye(n, k, dtype=rows.dtype), np.zeros(k, dtype=rows.dtype), np.eye(k, d, dtype=rows.dtype)
    U, s, Vt = svds(rows.operator(), k=k, tol=tol, v0=start)
    order = np.argsort(-s, kind="stable")
    U, Vt = fix_signs(U[:, order], Vt[order])
    return (
        U.astype(rows.dtype, copy=False),
        s[order].astype(rows.dtype, copy=False),
        Vt.astype(rows.dtype, copy=False),
    )

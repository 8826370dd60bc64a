"""Randomised range finding: a truncated SVD from products with a random table.

N. Halko, P.-G. Martinsson, J. A. Tropp (2011): Finding structure with randomness, SIAM Review 53.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from tercet.core.parallel import one_blas_thread
from tercet.core.stopping import check_stop
from tercet.decomposition._engine.block_lanczos import triplets
from tercet.decomposition._engine.signs import fix_signs


def random_range(
    rows: Any,
    k: int,
    oversamples: int,
    n_iter: int,
    normalizer: str,
    rng: np.random.Generator,
    transpose: bool | None = None,
    right: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, s, Vt of the matrix on the range of (AA')^n_iter A G, with G random; k + oversamples columns wide.

    A is approximated by QQ'A, so that U'A = s Vt. With `right` it is AQQ', so that AV = U s: transformed rows then
    have the singular values as their lengths, however few the iterations.
    """
    n, d = rows.shape
    turned = n < d if transpose is None else transpose  # the longer side is orthonormalised
    forth, back = (rows.transposed_times, rows.times) if turned else (rows.times, rows.transposed_times)
    width = min(k + oversamples, n, d)
    if width == min(n, d):  # the table would span all there is
        with one_blas_thread():
            return triplets(rows, np.eye(width, dtype=rows.dtype), k, n <= d)
    settle = _normalizers[normalizer]
    with one_blas_thread():
        Y = rng.standard_normal((n if turned else d, width)).astype(rows.dtype)
        for _ in range(n_iter):
            check_stop()
            Y = settle(back(settle(forth(Y))))
        Q = _orthonormal(forth(Y))
        if right and not turned:
            forth, back, turned = back, forth, True
            Q = _orthonormal(forth(Q))
        P, s, Rt = linalg.svd(back(Q), full_matrices=False, check_finite=False)  # A'Q = P s R'
        P, s, near = P[:, :k], s[:k], Q @ Rt[:k].T
    U, Vt = (P, near.T) if turned else (near, P.T)
    U, Vt = fix_signs(U, Vt)
    return U, s, Vt


def _orthonormal(Y: np.ndarray) -> np.ndarray:
    return linalg.qr(Y, mode="economic", check_finite=False, overwrite_a=True)[0]


def _lower(Y: np.ndarray) -> np.ndarray:
    return linalg.lu(Y, permute_l=True, check_finite=False)[0]


_normalizers: dict[str, Any] = {"QR": _orthonormal, "LU": _lower, "none": lambda Y: Y}


def settled_normalizer(name: str, n_iter: int) -> str:
    """What "auto" means: nothing for one or two iterations, else the triangular factor."""
    return name if name != "auto" else "none" if n_iter <= 2 else "LU"

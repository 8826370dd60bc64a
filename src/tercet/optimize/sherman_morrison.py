"""The Sherman-Morrison formula (Sherman-Morrison 公式)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method


@method(
    zh="Sherman-Morrison 公式",
    task="linear algebra",
    model="(A + uvᵀ)⁻¹ = A⁻¹ - A⁻¹uvᵀA⁻¹ / (1 + vᵀA⁻¹u)",
    texts=["Li app. B"],
)
def sherman_morrison(inverse: Any, u: Any, v: Any = None) -> np.ndarray:
    """Sherman-Morrison formula: the inverse of A + uvᵀ from that of A, in O(n²).

    Parameters
    ----------
    inverse : array of shape (n, n)
        The inverse of A.
    u, v : array of shape (n,)
        The vectors of the rank-one change; v is u by default.

    Returns
    -------
    array of shape (n, n)

    Examples
    --------
    >>> sherman_morrison([[0.5, 0], [0, 0.25]], [1, 1], [1, 2])
    array([[ 0.375 , -0.125 ],
           [-0.0625,  0.1875]])
    """
    inverse, u = np.asarray(inverse, dtype=float), np.asarray(u, dtype=float)
    v = u if v is None else np.asarray(v, dtype=float)
    left, right = inverse @ u, v @ inverse
    below = 1 + v @ left
    if abs(below) <= np.finfo(float).eps * (1 + np.abs(v) @ np.abs(left)):
        raise np.linalg.LinAlgError(f"A + uvᵀ is singular: 1 + vᵀA⁻¹u = {below:.3g}.")
    return inverse - np.outer(left, right) / below

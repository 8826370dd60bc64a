"""The sign of singular vectors, which the decomposition itself leaves open."""

from __future__ import annotations

from typing import Any

import numpy as np


def fix_signs(U: Any, Vt: np.ndarray) -> tuple[Any, np.ndarray]:
    """Turn each pair of singular vectors so that the largest entry of the row of Vt is positive.

    Of entries that are equal up to rounding the first counts, so that rounding does not decide. Complex vectors
    are turned by a phase. U may be None.

    Examples
    --------
    >>> fix_signs(np.eye(2), np.array([[-0.8, 0.6], [0.6, 0.8]]))[1]
    array([[ 0.8, -0.6],
           [ 0.6,  0.8]])
    """
    if not Vt.size:
        return U, Vt
    size = np.ascontiguousarray(np.abs(Vt))
    nearly = 1 - np.sqrt(np.finfo(Vt.dtype).eps)
    first = np.argmax(size >= size.max(axis=1, keepdims=True) * nearly, axis=1)
    entry = Vt[np.arange(len(Vt)), first]
    if Vt.dtype.kind == "c":
        length = np.abs(entry)
        turn = np.where(length > 0, entry / np.where(length > 0, length, 1.0), 1.0)
    else:
        turn = np.where(entry < 0, -1, 1).astype(Vt.dtype)
    return None if U is None else U * turn, turn.conj()[:, None] * Vt

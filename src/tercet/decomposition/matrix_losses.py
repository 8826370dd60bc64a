"""Losses of two non-negative matrices (非负矩阵的损失函数): squared loss and divergence."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.validation import check_array


@method(
    zh="矩阵的平方损失",
    task="loss",
    model="|A - B|² = Σ (a_ij - b_ij)²",
    texts=["Li ch. 17, eq. 17.20"],
)
def squared_loss(A: Any, B: Any) -> float:
    """Squared loss of two non-negative matrices, |A - B|² = Σ (a_ij - b_ij)² (17.20).

    Parameters
    ----------
    A, B : arrays of one shape
        Numbers of at least 0.

    Returns
    -------
    float
        0 where A = B, and only there.

    Examples
    --------
    >>> squared_loss([[1.0, 2.0]], [[0.0, 4.0]])
    5.0
    """
    A, B = _pair(A, B)
    return float(((A - B) ** 2).sum())


@method(
    zh="矩阵的散度损失",
    task="loss",
    model="D(A||B) = Σ (a_ij log(a_ij / b_ij) - a_ij + b_ij)",
    texts=["Li ch. 17, eq. 17.21"],
)
def divergence_loss(A: Any, B: Any) -> float:
    """Divergence of two non-negative matrices, D(A||B) = Σ (a_ij log(a_ij / b_ij) - a_ij + b_ij) (17.21).

    It is not symmetric; where the entries of each matrix add up to 1, it is the Kullback-Leibler divergence.

    Parameters
    ----------
    A, B : arrays of one shape
        Numbers of at least 0; 0 log 0 is 0.

    Returns
    -------
    float
        0 where A = B, and only there; infinite where b_ij = 0 < a_ij.

    Examples
    --------
    >>> round(divergence_loss([[0.5, 0.5]], [[0.25, 0.75]]), 6)
    0.143841
    """
    A, B = _pair(A, B)
    there = A > 0
    if (B[there] == 0).any():
        return float("inf")
    return float((A[there] * np.log(A[there] / B[there])).sum() - A.sum() + B.sum())


def _pair(A: Any, B: Any) -> tuple[np.ndarray, np.ndarray]:
    A, B = (check_array(M, dtype=np.float64, input_name=name) for M, name in ((A, "A"), (B, "B")))
    if A.shape != B.shape:
        raise ValueError(f"A and B must be of one shape; got {A.shape} and {B.shape}.")
    refuse_negative_entries(A, "the loss (input A)")
    refuse_negative_entries(B, "the loss (input B)")
    return A, B


def refuse_negative_entries(A: np.ndarray, whom: str) -> None:
    """Refuse a matrix with entries below 0; the error names the smallest and its place."""
    least = float(A.min(initial=0.0))
    if least < 0:
        place = tuple(int(at) for at in np.unravel_index(int(A.argmin()), A.shape))
        raise ValueError(
            f"Negative values in data passed to {whom}: {least:g} at {place} is the smallest; allowed are numbers "
            "of at least 0."
        )

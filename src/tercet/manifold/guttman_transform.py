"""The Guttman transform in plain form: one step of stress majorisation (古特曼变换)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.validation import check_array


@method(
    zh="古特曼变换",
    task="embedding",
    model="points z_i whose distances are near the dissimilarities",
    strategy="raw stress Σ_{i<j} (|z_i - z_j| - D_ij)²",
    algorithms="one step of stress majorisation (SMACOF): the stress cannot rise",
    texts=["watermelon notes ch. 8"],
)
def guttman_transform(dissimilarities: Any, Z: Any) -> np.ndarray:
    """One step of SMACOF in plain form: Z = 1/n B(Z) Z.

    Parameters
    ----------
    dissimilarities : array of shape (n, n)
        Symmetric, numbers of at least 0.
    Z : array of shape (n, k)
        The points.

    Returns
    -------
    array of shape (n, k)
        Points of no more stress.

    Examples
    --------
    >>> guttman_transform([[0.0, 4.0], [4.0, 0.0]], [[0.0], [1.0]])
    array([[-2.],
           [ 2.]])
    """
    D = check_array(dissimilarities, dtype=np.float64, input_name="dissimilarities")
    Z = check_array(Z, dtype=np.float64, input_name="Z")
    if D.shape != (len(Z), len(Z)):
        raise ValueError(f"dissimilarities must be of shape ({len(Z)}, {len(Z)}); got {D.shape}.")
    apart = np.sqrt(((Z[:, None] - Z) ** 2).sum(axis=2))
    B = -np.divide(D, apart, out=np.zeros_like(D), where=apart > 0)
    np.fill_diagonal(B, 0.0)
    np.fill_diagonal(B, -B.sum(axis=1))
    return B @ Z / len(Z)

"""The nuclear norm (核范数) and its proximal operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.decomposition._engine.lapack import singular_triplets
from tercet.decomposition.matrix_input import power_scaled, refuse_overflow, scaled_matrix


@method(
    zh="核范数",
    task="linear algebra",
    model="|X|_* = Σ_j σ_j(X)",
    strategy="the convex envelope of the rank where the largest singular value is at most 1",
    texts=["watermelon notes ch. 10, eq. 10.23"],
    peers=["numpy.linalg.norm"],
)
def nuclear_norm(A: Any) -> float:
    """The nuclear norm: the sum of the singular values (10.23).

    It is the convex envelope of the rank on the unit ball of the *spectral* norm, not on that of the Frobenius norm
    as the text has it.

    Parameters
    ----------
    A : array of shape (m, n)
        The matrix.

    Returns
    -------
    norm : float

    Examples
    --------
    >>> round(nuclear_norm([[1, 2], [3, 1]]), 10), round(nuclear_norm([[1, 2], [3, 6]]), 7)
    (5.0, 7.0710678)
    """
    scaled, exponent = scaled_matrix(A)
    total = singular_triplets(scaled, compute_uv=False, full_matrices=False)
    return float(refuse_overflow(np.asarray(np.sum(total)), exponent, "The nuclear norm of A"))


@method(
    zh="奇异值阈值算子",
    task="linear algebra",
    model="D_τ(A) = Σ_j max(σ_j - τ, 0) u_j v_j'",
    strategy="the minimum of |X - A|²/2 + τ |X|_*",
    algorithms="soft threshold of the singular values",
    texts=["watermelon notes ch. 10, eq. 10.24"],
)
def singular_value_threshold(A: Any, tau: float) -> np.ndarray:
    """Proximal operator of the nuclear norm: singular values are shrunken by tau, those below it to zero.

    Parameters
    ----------
    A : array of shape (m, n)
        The matrix.
    tau : float
        The threshold, at least 0.

    Returns
    -------
    X : array of shape (m, n)

    Examples
    --------
    >>> singular_value_threshold([[3, 0], [0, 1]], 2)
    array([[1., 0.],
           [0., 0.]])
    """
    if not 0 <= tau < np.inf:
        raise ValueError(f"singular_value_threshold: tau must be a number in [0, inf); got {tau!r}.")
    scaled, exponent = scaled_matrix(A)
    U, s, Vt = singular_triplets(scaled, full_matrices=False)
    return power_scaled((U * np.maximum(s - np.ldexp(tau, -exponent), 0.0)) @ Vt, exponent)

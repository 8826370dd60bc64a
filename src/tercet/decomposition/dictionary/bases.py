"""Orthonormal bases in which many signals are sparse, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import fft

from tercet.core.validation import check_array

BASES = ("identity", "dct")


def basis_matrix(basis: Any, n_features: int, name: str = "basis") -> np.ndarray:
    """The atoms of a basis as rows: signals are combinations x = s·rows of them.

    Parameters
    ----------
    basis : {"identity", "dct"} or array of shape (n_atoms, n_features)
        Unit vectors, the cosines of the discrete cosine transform (DCT-II, orthonormal), or the atoms themselves.
    n_features : int
        The length of the signals.
    name : str, default="basis"
        What errors call it.

    Returns
    -------
    atoms : array of shape (n_atoms, n_features)

    Examples
    --------
    >>> basis_matrix("dct", 2).round(4)
    array([[ 0.7071,  0.7071],
           [ 0.7071, -0.7071]])
    """
    if isinstance(basis, str):
        if basis not in BASES:
            raise ValueError(f"{name} must be an array or one of 'identity', 'dct'; got {basis!r}.")
        identity = np.eye(n_features)
        return identity if basis == "identity" else fft.idct(identity, norm="ortho", axis=1)
    return check_array(basis, dtype=(np.float64, np.float32), input_name=name)

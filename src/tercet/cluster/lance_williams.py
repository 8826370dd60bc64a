"""The update of distances of clusters when two of them are merged."""

from __future__ import annotations

from typing import Any

import numpy as np


def lance_williams(
    d_ac: Any, d_bc: Any, d_ab: float, n_a: float, n_b: float, n_c: Any, linkage: str = "single"
) -> np.ndarray:
    """The Lance-Williams update: distances of other clusters c from the union of clusters a and b.

    Parameters
    ----------
    d_ac, d_bc : arrays of shape (m,)
        Distances of the clusters c from a and from b.
    d_ab : float
        Distance of a and b.
    n_a, n_b, n_c : float, float, array of shape (m,)
        Numbers of rows.
    linkage : {"single", "complete", "average", "centroid", "ward", "weighted", "median"}, default="single"
        The distance of two clusters.

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    >>> [
    ...     float(lance_williams(3.0, 4.0, 2.0, 1, 3, 1, linkage))
    ...     for linkage in ("single", "complete", "average")
    ... ]
    [3.0, 4.0, 3.75]
    """
    d_ac, d_bc, n_c = (np.asarray(value, dtype=np.float64) for value in (d_ac, d_bc, n_c))
    n = n_a + n_b
    if linkage == "single":
        return np.minimum(d_ac, d_bc)
    if linkage == "complete":
        return np.maximum(d_ac, d_bc)
    if linkage == "average":
        return (n_a * d_ac + n_b * d_bc) / n
    if linkage == "weighted":
        return (d_ac + d_bc) / 2
    if linkage == "median":
        squares = (d_ac**2 + d_bc**2) / 2 - d_ab**2 / 4
    elif linkage == "centroid":
        squares = (n_a * d_ac**2 + n_b * d_bc**2) / n - n_a * n_b * d_ab**2 / n**2
    elif linkage == "ward":
        squares = ((n_a + n_c) * d_ac**2 + (n_b + n_c) * d_bc**2 - n_c * d_ab**2) / (n + n_c)
    else:
        raise ValueError(
            "linkage must be 'single', 'complete', 'average', 'centroid', 'ward', 'weighted' or 'median'; got "
            f"{linkage!r}."
        )
    return np.sqrt(np.maximum(squares, 0.0))

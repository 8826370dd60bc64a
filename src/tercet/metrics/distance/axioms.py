"""The axioms of a metric, checked on a matrix of distances."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.validation import check_array


class MetricAxioms(NamedTuple):
    """Which axioms of a metric the distances of some points keep."""

    non_negative: bool
    identity: bool
    symmetric: bool
    triangle: bool


@method(
    zh="距离度量的基本性质",
    task="distance",
    model="d(x, z) >= 0, d(x, x) = 0, d(x, z) = d(z, x), d(x, z) <= d(x, y) + d(y, z)",
    texts=["watermelon notes ch. 7, 7.3"],
)
def metric_axioms(D: Any, *, tol: float = 1e-9) -> MetricAxioms:
    """Whether distances of all pairs of points are not negative, zero for each itself, symmetric, and triangular.

    Parameters
    ----------
    D : array of shape (n, n)
        The distances.
    tol : float, default=1e-9
        How far an axiom may be missed, relative to the largest distance.

    Returns
    -------
    non_negative, identity, symmetric, triangle : bool

    Examples
    --------
    >>> metric_axioms([[0, 1, 4], [1, 0, 1], [4, 1, 0]])
    MetricAxioms(non_negative=True, identity=True, symmetric=True, triangle=False)
    """
    D = check_array(D, dtype=np.float64, input_name="D")
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"D must be a square matrix of distances; the shape is {D.shape}.")
    size = float(np.abs(D).max()) or 1.0
    D = D / size
    longest = max(float((D - (D[:, [k]] + D[k])).max()) for k in range(len(D)))
    return MetricAxioms(
        non_negative=bool(D.min() >= -tol),
        identity=bool(np.abs(D.diagonal()).max() <= tol),
        symmetric=bool(np.abs(D - D.T).max() <= tol),
        triangle=longest <= tol,
    )

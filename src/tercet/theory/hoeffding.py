"""Hoeffding's inequality (Li eq. 1.34, 1.35)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.theory.checks import checked_count, checked_positive


@method(
    zh="Hoeffding 不等式",
    task="theory",
    model="independent variables Xᵢ in [aᵢ, bᵢ], their mean X̄",
    strategy="P(E X̄ − X̄ ≥ t) ≤ exp(−2 N² t² / Σ(bᵢ − aᵢ)²), and the same for the other tail",
    texts=["Li ch. 1, eq. 1.34, 1.35", "Machine Learning in Depth ch. 1, 1.3"],
)
def hoeffding_bound(
    t: float, n_samples: float | None = None, ranges: Any = (0.0, 1.0), *, two_sided: bool = False
) -> float:
    """Bound on the probability that a mean is further than `t` from its expectation.

    Parameters
    ----------
    t : float
        Distance of the mean from its expectation, above 0.
    n_samples : number, default=None
        N; may be left out when `ranges` has a row for each variable.
    ranges : pair (a, b), or array of shape (n_samples, 2), default=(0.0, 1.0)
        Limits of all variables, or of each.
    two_sided : bool, default=False
        Twice the bound, for a distance in either direction.

    Returns
    -------
    float
        At most 1.

    Examples
    --------
    >>> round(hoeffding_bound(0.1, 100), 6), round(hoeffding_bound(0.1, 100, two_sided=True), 6)
    (0.135335, 0.270671)
    >>> round(hoeffding_bound(0.5, ranges=[[0, 1], [0, 2], [-1, 1]]), 6)
    0.606531
    """
    t, limits = checked_positive("t", t), np.asarray(ranges, dtype=float)
    if limits.shape == (2,):
        if n_samples is None:
            raise ValueError("n_samples must be given when ranges is one pair for all variables.")
        n = checked_count("n_samples", n_samples)
        spread = n * (limits[1] - limits[0]) ** 2
    elif limits.ndim == 2 and limits.shape[1] == 2 and limits.shape[0]:
        n = float(len(limits))
        if n_samples is not None and n_samples != n:
            raise ValueError(f"n_samples={n_samples!r} does not fit the {len(limits)} rows of ranges.")
        spread = float(((limits[:, 1] - limits[:, 0]) ** 2).sum())
    else:
        raise ValueError(
            f"ranges must be a pair or an array of shape (n_samples, 2); got shape {limits.shape}."
        )
    if not np.isfinite(limits).all() or (limits[..., 1] < limits[..., 0]).any():
        raise ValueError("ranges must be finite, with a <= b for each variable.")
    if spread == 0:  # constants are their expectation
        return 0.0
    return min((1 + two_sided) * math.exp(-2 * n**2 * t**2 / spread), 1.0)

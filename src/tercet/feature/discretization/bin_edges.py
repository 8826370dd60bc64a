"""Edges of the bins of one column: equal width, equal frequency, one-dimensional k-means."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.cluster import KMeans
from tercet.core.input_errors import shown
from tercet.core.validation import check_array

NARROW = 1e-8  # bins of this width or less are removed, as in scikit-learn


def uniform_edges(low: float, high: float, n_bins: int) -> np.ndarray:
    """Edges of bins of equal width."""
    return np.linspace(low, high, n_bins + 1)


def quantile_edges(
    values: np.ndarray, weight: np.ndarray | None, n_bins: int, quantile_method: str
) -> np.ndarray:
    """Edges of bins of equally many rows."""
    levels = np.linspace(0, 100, n_bins + 1)
    if weight is not None:
        return weighted_quantiles(values, weight, levels / 100, quantile_method == "averaged_inverted_cdf")
    method = {} if quantile_method == "linear" else {"method": quantile_method}
    return np.asarray(np.percentile(values, levels, **method), dtype=np.float64)  # type: ignore[call-overload]


def weighted_quantiles(
    values: np.ndarray, weight: np.ndarray, levels: np.ndarray, average: bool
) -> np.ndarray:
    """Quantiles of the weighted distribution function, as if rows were there as often as they weigh.

    Where a level is met exactly, `average` takes the mean of the value and the next one.

    Examples
    --------
    >>> weighted_quantiles(np.array([1.0, 2.0, 4.0]), np.array([2.0, 1.0, 1.0]), np.array([0.5, 0.6]), True)
    array([1.5, 2. ])
    """
    there = weight > 0
    order = np.argsort(values[there], kind="stable")
    x, cumulative = values[there][order].astype(np.float64), np.cumsum(weight[there][order], dtype=np.float64)
    aim = levels * cumulative[-1]
    # sums of whole numbers are exact, and levels are then met where NumPy's quantiles of repeated rows meet them
    slack = 0.0 if (weight == np.floor(weight)).all() else 1e-12 * cumulative[-1]
    at = np.minimum(np.searchsorted(cumulative, aim - slack), x.size - 1)
    if not average:
        return x[at]
    met = (np.abs(cumulative[at] - aim) <= slack) & (levels > 0)
    above = x[np.minimum(at + 1, x.size - 1)]
    return np.where(met, x[at] / 2 + above / 2, x[at])


def kmeans_edges(
    values: np.ndarray, weight: np.ndarray | None, low: float, high: float, n_bins: int
) -> np.ndarray:
    """Edges half way between the centres of one-dimensional k-means, which starts from bins of equal width."""
    start = uniform_edges(low, high, n_bins)
    init = (start[1:] + start[:-1])[:, None] * 0.5
    model = KMeans(n_clusters=n_bins, init=init, n_init=1).fit(values[:, None], sample_weight=weight)
    centres = np.sort(model.cluster_centers_[:, 0])
    return np.concatenate([[low], (centres[1:] + centres[:-1]) * 0.5, [high]])


def wide_enough(edges: np.ndarray) -> np.ndarray:
    """The edges of bins that are wider than `NARROW`; at least one bin is left.

    Examples
    --------
    >>> wide_enough(np.array([0.0, 0.0, 1.0, 2.0]))
    array([0., 1., 2.])
    """
    kept = edges[np.append(True, np.diff(edges) > NARROW)]
    return kept if kept.size > 1 else edges[[0, -1]]


def wanted_bins(n_bins: Any, d: int) -> np.ndarray:
    """Wanted numbers of bins of d columns, checked."""
    if isinstance(n_bins, int | np.integer):
        return np.full(d, n_bins, dtype=np.int64)
    given = check_array(n_bins, dtype=np.float64, ensure_2d=False, input_name="n_bins")
    if given.shape != (d,):
        raise ValueError(
            f"n_bins must be a scalar or array of shape (n_features,). It has the shape {given.shape} for {d} "
            "columns."
        )
    wrong = np.flatnonzero((given < 2) | (given != np.floor(given)))
    if wrong.size:
        raise ValueError(
            f"KBinsDiscretizer received an invalid number of bins at indices {', '.join(map(str, wrong))}. "
            "Number of bins must be at least 2, and must be an int."
        )
    return given.astype(np.int64)


def known_rows(
    x: np.ndarray, weight: np.ndarray | None, y: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """The rows of a column that are not missing and weigh something: values, weights, classes."""
    use = ~np.isnan(x)
    if weight is not None:
        use &= weight > 0
    if use.all():
        return x, weight, y
    return x[use], None if weight is None else weight[use], None if y is None else y[use]


def given_edges(edges: Any, d: int) -> list[np.ndarray]:
    """Given edges of each of d columns."""
    several = not isinstance(edges, np.ndarray) and any(np.ndim(own) for own in edges)
    several = several or (isinstance(edges, np.ndarray) and (edges.dtype == object or edges.ndim > 1))
    found = [np.asarray(own) for own in edges] if several else [np.asarray(edges)] * d
    if len(found) != d:
        raise ValueError(
            f"KBinsDiscretizer: parameter 'edges' must be an array for each of the {d} columns; got {len(found)}."
        )
    for j, own in enumerate(found):
        good = own.ndim == 1 and own.dtype.kind in "fiu" and own.size > 1
        if not good or not (np.diff(own.astype(np.float64)) > 0).all():
            raise ValueError(
                "KBinsDiscretizer: parameter 'edges' must be at least two rising numbers for each column; got "
                f"{shown(own.tolist())} for column {j}."
            )
    return [own.astype(np.float64) for own in found]


def bin_centers(edges: np.ndarray, constant: float) -> np.ndarray:
    """Middles of bins; the finite edge of one that has no other end, and `constant` where there is none.

    Examples
    --------
    >>> bin_centers(np.array([-np.inf, 2.0, 4.0]), 0.0)
    array([2., 3.])
    """
    low, high = edges[:-1], edges[1:]
    with np.errstate(invalid="ignore"):
        middle = low / 2 + high / 2
    found = np.where(np.isfinite(middle), middle, np.where(np.isfinite(low), low, high))
    return np.where(np.isfinite(found), found, constant)

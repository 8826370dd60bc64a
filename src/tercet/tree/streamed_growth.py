"""Growth of a tree from rows of a source, by histograms of bins.

It is the algorithm of `max_bins`: thresholds are tried between at most 255 bins of each column, not between all
values. The bins have about equal weight, and come from all rows, or from 200 000 that are drawn. The tree is the
one that the same rows give in memory with the same `max_bins`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.streams import holds_sparse
from tercet.tree._engine.binned_pages import BinnedPages, RowWeights
from tercet.tree._engine.criteria import CODES
from tercet.tree._engine.limits import Limits
from tercet.tree._engine.paged_histograms import HISTOGRAM_FIELDS, PagedHistogramGrower
from tercet.tree._engine.paged_statistics import PagedStatistics
from tercet.tree.tree import Tree

MAX_BINS = 255  # of a column, where `max_bins` does not say how many


def growth_refusal(model: Any) -> str:
    """Why the parameters of a tree or forest do not allow growth from a source, and what does; "" where they do.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeRegressor
    >>> growth_refusal(DecisionTreeRegressor(max_leaf_nodes=4))
    'max_leaf_nodes grows one node at a time. Use max_depth or min_samples_leaf.'
    """
    if model.criterion not in CODES:
        return f"criterion={model.criterion!r} sorts the rows of each node. Use criterion='squared_error'."
    if model.splitter != "best":
        return "splitter='random' draws thresholds between values, not bins. Use splitter='best'."
    if model.max_leaf_nodes is not None:
        return "max_leaf_nodes grows one node at a time. Use max_depth or min_samples_leaf."
    if model.monotonic_cst is not None and np.any(model.monotonic_cst):
        return "monotonic_cst needs all rows at once. Use HistGradientBoosting in memory, or no constraints."
    return ""


def read_binned_rows(model: Any, X: Any, y: Any, weight: Any, max_bins: int | None, seed: int) -> BinnedPages:
    """Read and bin the rows of a source; an error where they are sparse, or y or the categories are too many.

    Examples
    --------
    >>> from tercet.core.streams import MemoryStream
    >>> from tercet.tree import DecisionTreeRegressor
    >>> stream = MemoryStream("six rows", X=np.arange(6.0)[:, None], y=np.arange(6.0))
    >>> model = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with read_binned_rows(model, stream.array("X"), stream.array("y"), None, max_bins=3, seed=0) as data:
    ...     data.bins.n_bins
    array([3])
    """
    name, kinds = type(model).__name__, model._n_categories()
    if holds_sparse(X):
        raise TypeError(f"{name} grows from sparse rows in memory only; a source must have dense ones.")
    if y.ndim > 1:
        raise ValueError(f"{name} learns one target from a source; y has {y.shape[1]} columns.")
    max_bins = MAX_BINS if max_bins is None else max_bins
    if not 2 <= max_bins <= MAX_BINS:
        raise ValueError(f"{name}: max_bins must be from 2 to {MAX_BINS}; got {max_bins}.")
    if kinds.max(initial=0) > max_bins:
        raise ValueError(
            f"{name}: column {int(kinds.argmax())} has {int(kinds.max())} categories; of a source at most max_bins="
            f"{max_bins}. Encode it as numbers."
        )
    data = BinnedPages(X, y, weight)
    data.learn_edges(kinds, max_bins, seed, model.n_jobs)
    return data.fill(HISTOGRAM_FIELDS)


def grow_from_pages(
    model: Any,
    data: BinnedPages,
    statistics: PagedStatistics,
    weights: RowWeights | None,
    limits: Limits,
    seed: int,
) -> Tree:
    """Grow a tree with the parameters of a model from rows that were read.

    Examples
    --------
    >>> from tercet.core.streams import MemoryStream
    >>> from tercet.tree import DecisionTreeRegressor
    >>> stream = MemoryStream(
    ...     "six rows", X=np.arange(1.0, 7.0)[:, None], y=np.array([1, 1.2, 1.1, 3, 3.2, 5])
    ... )
    >>> model = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with read_binned_rows(
    ...     model, stream.array("X"), stream.array("y"), None, max_bins=None, seed=0
    ... ) as data:
    ...     totals = PagedStatistics.of(data, data.row_weights, n_classes=1, n_jobs=1)
    ...     tree = grow_from_pages(model, data, totals, data.row_weights, Limits(max_depth=1), seed=0)
    >>> tree.threshold[0].item()
    3.5
    """
    grower = PagedHistogramGrower(data, weights, statistics, model.criterion, limits, seed, model.n_jobs)
    return Tree.from_arrays(grower.grow(), verify=False)


__all__ = ["grow_from_pages", "growth_refusal", "read_binned_rows"]

"""Stopping criteria of growth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Stopping criteria of growth, all in numbers of rows and columns.

    Parameters
    ----------
    max_depth, min_samples_split, min_samples_leaf, max_leaf_nodes
        As scikit-learn has them; fractions of the rows are resolved already.
    min_weight_leaf : float
        The least weight of a leaf.
    min_impurity_decrease : float
        The least decrease of the impurity by a split; 0 for no limit.
    max_features : int or None
        How many columns (that are not constant there) are tried at each node; all when None.

    Examples
    --------
    >>> Limits(max_depth=3).max_depth, Limits().min_samples_leaf
    (3, 1)
    """

    max_depth: int = 2**31 - 1
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    max_leaf_nodes: int | None = None
    max_features: int | None = None


NO_LIMITS = Limits()

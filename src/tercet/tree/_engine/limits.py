"""Stopping criteria of growth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tercet.core.kernel import shared
from tercet.tree._engine.criteria import hashed


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
    tree_features, level_features : int or None
        How many columns are drawn for the whole tree, and of those for the nodes of each depth, of which
        `max_features` are tried; all when None. Only histogram growth knows them.

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
    tree_features: int | None = None
    level_features: int | None = None

    @property
    def draws_columns(self) -> bool:
        """Whether growth draws columns, and needs a seed."""
        return any(n is not None for n in (self.max_features, self.tree_features, self.level_features))


NO_LIMITS = Limits()


class ColumnDraws(NamedTuple):
    """How many columns are drawn for a tree, for each of its levels and for each node, one from the other."""

    key: int  # of the draws for the tree and its levels
    tree: int
    level: int
    node: int  # fewer than there are columns wherever any are drawn

    @classmethod
    def of(cls, limits: Limits, d: int, seed: int) -> ColumnDraws:
        """The draws of a tree on d columns.

        Examples
        --------
        >>> ColumnDraws.of(Limits(max_features=3, tree_features=5), 8, seed=0)[1:]
        (5, 5, 3)
        """
        tree = d if limits.tree_features is None else min(d, limits.tree_features)
        level = tree if limits.level_features is None else min(tree, limits.level_features)
        node = level if limits.max_features is None else min(level, limits.max_features)
        return cls(int(hashed(seed & 0xFFFFFFFF, 1)), tree, level, node)


@shared
def draw_column(key, d, i, order):
    """The column that is drawn as the i-th of d, which stand first in `order`, those that are left at the end."""
    k = i + np.int64(hashed(key, i) % np.uint64(d - i))
    order[i], order[k] = order[k], order[i]
    return order[i]


@shared
def draw_level(draws, depth, order):
    """Put the columns that are drawn for the nodes of a depth first in `order`, which has all in ascending order;
    returns how many they are."""
    count = order.size
    if draws.tree < count:
        for i in range(draws.tree):
            draw_column(draws.key, count, i, order)
        count = draws.tree
    if draws.level < count:
        key = hashed(draws.key, depth)
        for i in range(draws.level):
            draw_column(key, count, i, order)
        count = draws.level
    return count

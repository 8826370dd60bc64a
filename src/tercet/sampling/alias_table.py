"""Alias table (别名表): draws from a finite distribution in constant time each."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.public_names import PublicPickle
from tercet.distributions.probability_tables import check_distributions


@method(
    zh="别名抽样法",
    task="sampling",
    model="each of K columns of height 1/K holds at most two outcomes",
    algorithms="Walker's alias method, built by Vose's algorithm",
    texts=["Li ch. 19, 19.1"],
)
class AliasTable(PublicPickle):
    """Alias table of a finite distribution: built in time K, and each draw takes one column and one comparison.

    Parameters
    ----------
    p : array of shape (n_outcomes,)
        Probabilities that sum to 1.

    Attributes
    ----------
    threshold : array of shape (n_outcomes,)
        The share of each column that belongs to its own outcome.
    alias : array of shape (n_outcomes,)
        The outcome that has the rest of the column.

    Examples
    --------
    >>> table = AliasTable([0.5, 0.25, 0.25])
    >>> table.probabilities()
    array([0.5 , 0.25, 0.25])
    >>> table.sample(4, random_state=1)
    array([1, 0, 0, 0])
    """

    def __init__(self, p: Any) -> None:
        p = np.asarray(p, dtype=float)
        if p.ndim != 1 or not p.size:
            raise ValueError(f"p must be a vector of probabilities; got shape {p.shape}.")
        check_distributions(p, "p")
        n = p.size
        height = (p * (n / p.sum())).tolist()
        threshold, alias = [1.0] * n, list(range(n))
        small = [k for k in range(n) if height[k] < 1.0]
        large = [k for k in range(n) if height[k] >= 1.0]
        while small and large:
            k, donor = small.pop(), large[-1]
            threshold[k], alias[k] = height[k], donor
            height[donor] -= 1.0 - height[k]  # what the column of k lacks, the donor fills
            if height[donor] < 1.0:
                small.append(large.pop())
        for k in small:  # of an outcome that cannot happen rounding must leave nothing
            if p[k] == 0.0:
                threshold[k], alias[k] = 0.0, int(p.argmax())
        self.threshold, self.alias = np.array(threshold), np.array(alias)

    def probabilities(self) -> np.ndarray:
        """The distribution that the table has."""
        n = self.threshold.size
        return (self.threshold + np.bincount(self.alias, weights=1.0 - self.threshold, minlength=n)) / n

    def sample(self, size: int | None = None, random_state: Any = None) -> Any:
        """Draw ``size`` outcomes, or a single one."""
        u = generator(random_state).random(size) * self.threshold.size
        column = np.asarray(u).astype(np.int64)
        return np.where(u - column < self.threshold[column], column, self.alias[column])[()]

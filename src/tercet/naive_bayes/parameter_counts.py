"""How many probabilities a model of categories has (Li ch. 4.1.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tercet.core.catalog import method


class ParameterCounts(NamedTuple):
    """Entries of the conditional distribution without and with conditional independence."""

    full: int
    naive: int


@method(
    zh="朴素贝叶斯的参数个数",
    task="theory",
    model="K Π_j S_j conditional probabilities in full, K Σ_j S_j when columns are independent within classes",
    texts=["Li ch. 4, 4.1.1"],
)
def parameter_counts(sizes: Sequence[int], n_classes: int) -> ParameterCounts:
    """Number of conditional probabilities P(x | c) in full, and when columns are independent within the classes.

    Parameters
    ----------
    sizes : sequence of int
        How many values each column can have, S_j.
    n_classes : int
        The number K of classes.

    Returns
    -------
    ParameterCounts
        full = K Π S_j and naive = K Σ S_j.

    Examples
    --------
    >>> parameter_counts([3, 3], 2)
    ParameterCounts(full=18, naive=12)
    """
    given = [int(size) for size in sizes]
    if not given or min(given) < 1 or any(size != int(size) for size in sizes) or n_classes < 1:
        raise ValueError(
            f"parameter_counts: sizes must be whole numbers from 1 on and n_classes at least 1; "
            f"got {list(sizes)!r} and {n_classes!r}."
        )
    return ParameterCounts(n_classes * math.prod(given), n_classes * sum(given))

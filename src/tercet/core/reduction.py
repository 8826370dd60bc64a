"""One fixed binary tree, over which the statistics of chunks are combined.

Chunk k is leaf k; two neighbouring subtrees of 2^j leaves, the first of which begins at a multiple of 2^(j+1), make
one of 2^(j+1). What is left over at the end is combined from the right. The tree depends on the number of leaves
alone, and any 2^j leaves that begin at a multiple of 2^j are a subtree of it: whoever computes subtrees, threads, a
loop over a file or the workers of a cluster, gets the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Combine = Callable[[Any, Any, bool], Any]


def add(left: Any, right: Any, owned: bool) -> Any:
    """The sum of two statistics: arrays, numbers, or tuples of those; in the memory of `left` if it is `owned`."""
    if isinstance(left, tuple):
        return tuple(add(a, b, owned) for a, b in zip(left, right, strict=True))
    if owned:
        left += right
        return left
    return left + right


def copied(statistics: Any) -> Any:
    """A copy that belongs to the caller.

    Examples
    --------
    >>> copied((1.5, 2))
    (1.5, 2)
    """
    return tuple(copied(part) for part in statistics) if isinstance(statistics, tuple) else statistics + 0


class Reduction:
    """Subtrees that wait for their right neighbours, from the largest to the smallest.

    Parameters
    ----------
    combine : callable, optional
        `combine(left, right, owned)` gives the statistics of two neighbouring subtrees; it may change `left` where
        it is `owned`: made by a `combine` before. By default their sum.

    Examples
    --------
    >>> tree = Reduction()
    >>> for k in range(5):
    ...     tree.append(10.0**k)
    >>> tree.result()
    11111.0
    """

    def __init__(self, combine: Combine = add) -> None:
        self.combine = combine
        self.subtrees: list[tuple[int, Any, bool]] = []  # leaves, statistics, whether they are ours

    def append(self, statistics: Any, leaves: int = 1, owned: bool = False) -> None:
        """Take the statistics of the next subtree, of 2^j leaves (the last one may have fewer)."""
        while self.subtrees and self.subtrees[-1][0] == leaves:
            _, left, changeable = self.subtrees.pop()
            statistics, owned, leaves = self.combine(left, statistics, changeable), True, 2 * leaves
        self.subtrees.append((leaves, statistics, owned))

    def result(self) -> Any:
        """The statistics of the whole tree."""
        _, right, owned = self.subtrees.pop()
        while self.subtrees:
            _, left, changeable = self.subtrees.pop()
            right, owned = self.combine(left, right, changeable), True
        return right if owned else _owned(right)


def _owned(statistics: Any) -> Any:
    try:
        return copied(statistics)
    except TypeError:  # no numbers: a combination of its own kind
        return statistics


def reduced(results: Iterable[Any], combine: Combine = add) -> Any:
    """Combine results that come in the order of the leaves.

    Examples
    --------
    >>> reduced(iter([1, 2, 3]))
    6
    """
    tree = Reduction(combine)
    for result in results:
        tree.append(result)
    return tree.result()

"""Chow and Liu's tree (Chow-Liu 树): the tree-shaped network of greatest likelihood."""

from __future__ import annotations

import numpy as np

from tercet.core.parallel import each
from tercet.graphical._engine.family_counts import contingency


def mutual_information(
    columns: np.ndarray, sizes: np.ndarray, weight: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """I(x_i; x_j) in nats of all pairs of columns, a code below 0 not known: an array of shape (d, d)."""
    d = len(sizes)

    def with_later(i: int) -> list[float]:
        return [information(contingency(columns, sizes, [i, j], weight)) for j in range(i + 1, d)]

    found = np.zeros((d, d))
    for i, row in enumerate(each(with_later, range(d), n_jobs=n_jobs)):
        found[i, i + 1 :] = row
    return found + found.T


def information(counts: np.ndarray) -> float:
    """The mutual information of a table of counts, in nats."""
    total = counts.sum()
    if not total > 0:
        return 0.0
    p = counts / total
    independent = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    inside = p > 0
    return max(float((p[inside] * np.log(p[inside] / independent[inside])).sum()), 0.0)


def chow_liu(weights: np.ndarray, root: int, allowed: np.ndarray | None = None) -> list[set[int]]:
    """The parents in the spanning tree of greatest weight (Prim), directed away from the root.

    Of equally heavy edges (but for rounding) the one with the first ends is taken. `allowed[p, c]` says which edges
    may be; parts that no allowed edge joins have a root each.
    """
    d = len(weights)
    parents: list[set[int]] = [set() for _ in range(d)]
    open_ = np.ones((d, d), dtype=bool) if allowed is None else allowed
    outside = set(range(d)) - {root}
    via, best = np.full(d, root), np.where(open_[root], weights[root], -np.inf)
    while outside:
        left = sorted(outside)
        top = max(best[k] for k in left)
        new = (
            left[0]
            if top == -np.inf
            else next(k for k in left if best[k] >= top - 1e-12 * max(abs(top), 1e-300))
        )
        if top > -np.inf:
            parents[new].add(int(via[new]))
        outside.discard(new)
        offered = np.where(open_[new], weights[new], -np.inf)
        heavier = offered > best * (1 + 1e-12)
        best, via = np.where(heavier, offered, best), np.where(heavier, new, via)
    return parents

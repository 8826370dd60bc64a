"""Merge trees whose distances of clusters no Lance-Williams update gives: Hausdorff, and centres by any metric.

Like those of `linkage`, they merge the nearest pair, of equals the first, and every cluster remembers its nearest
neighbour among those after it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tercet.cluster._engine.linkage import MergeTree
from tercet.core.kernel import inner, kernel


def merge_by_hausdorff(D: np.ndarray) -> MergeTree:
    """Linkage by the Hausdorff distance, from the matrix of all distances; takes two such matrices, in O(n²)."""
    n = len(D)
    first, second, heights = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    merge_hausdorff(np.array(D, order="C"), np.array(D, order="C"), first, second, heights)
    return MergeTree.of(first, second, heights)


def merge_by_means(
    X: np.ndarray, D: np.ndarray, distances: Callable[[np.ndarray, np.ndarray], np.ndarray], weighted: bool
) -> MergeTree:
    """Linkage by the distances of means in any metric.

    X : (n, d); D : (n, n), the distances of the rows, overwritten. distances(x, Z) are those of one point from
    several. Without `weighted` the mean of two clusters is the middle between theirs.
    """
    n = len(X)
    centres, sizes, alive = X.astype(np.float64), np.ones(n), np.ones(n, dtype=bool)
    D[np.tril_indices(n)] = np.inf
    neighbour = D.argmin(axis=1)
    gap = D[np.arange(n), neighbour]
    first, second, heights = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    for step in range(n - 1):
        a = int(gap.argmin())
        b = int(neighbour[a])
        first[step], second[step], heights[step] = a, b, gap[a]
        whole = sizes[a] + sizes[b]
        centres[b] = sizes[a] / whole * centres[a] + sizes[b] / whole * centres[b]
        sizes[b], alive[a] = whole if weighted else 1.0, False
        D[a], D[:, a], gap[a], neighbour[a] = np.inf, np.inf, np.inf, -1
        alive[b] = False
        others = np.flatnonzero(alive)
        alive[b] = True
        if not others.size:
            break
        moved = np.full(n, np.inf)
        moved[others] = distances(centres[b], centres[others])
        D[:b, b], D[b, b + 1 :] = moved[:b], moved[b + 1 :]
        before = others[others < b]
        lost = before[(neighbour[before] == a) | ((neighbour[before] == b) & (moved[before] > gap[before]))]
        nearer = (moved[before] < gap[before]) | ((moved[before] == gap[before]) & (b < neighbour[before]))
        neighbour[before[nearer]], gap[before[nearer]] = b, moved[before[nearer]]
        for c in (*lost.tolist(), b):
            neighbour[c] = D[c].argmin()
            gap[c] = D[c, neighbour[c]]
    return MergeTree.of(first, second, heights)


def merged_diameters(distances: np.ndarray, n: int, children: np.ndarray) -> np.ndarray:
    """The diameter of each merged cluster, from distances in condensed form, which are overwritten."""
    found = np.empty(len(children))
    widest_pairs(distances, n, children, found)
    return found


# Kernels ------------------------------------------------------------------------------------------------------


@inner
def nearest_set(directed, alive, i):
    """The nearest cluster after cluster i, and its Hausdorff distance."""
    at, best = -1, np.inf
    for j in range(i + 1, alive.size):
        if alive[j]:
            value = max(directed[i, j], directed[j, i])
            if value < best:
                at, best = j, value
    return at, best


@kernel
def merge_hausdorff(near, directed, first, second, heights):
    """Merge the two nearest clusters, n - 1 times; the later of the two becomes the new one.

    near[c, i] : distance of row i from the nearest row of cluster c; directed[a, c] : the largest such distance
    of a row of a from c. Both begin as the distances of the rows.
    """
    n = near.shape[0]
    cluster, alive, farthest = np.arange(n), np.ones(n, np.bool_), np.empty(n)
    neighbour, gap = np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        neighbour[i], gap[i] = nearest_set(directed, alive, i)
    for step in range(n - 1):
        a = np.argmin(gap)
        b = neighbour[a]
        first[step], second[step], heights[step] = a, b, gap[a]
        alive[a], gap[a], neighbour[a] = False, np.inf, -1
        farthest[:] = 0.0
        for i in range(n):
            near[b, i] = min(near[a, i], near[b, i])
            if cluster[i] == a:
                cluster[i] = b
            farthest[cluster[i]] = max(farthest[cluster[i]], near[b, i])
        for c in range(n):
            if alive[c] and c != b:
                directed[b, c] = max(directed[a, c], directed[b, c])
                directed[c, b] = farthest[c]
        for c in range(b):
            if not alive[c]:
                continue
            value = max(directed[b, c], directed[c, b])
            if neighbour[c] == a or (neighbour[c] == b and value > gap[c]):
                neighbour[c], gap[c] = nearest_set(directed, alive, c)
            elif value < gap[c] or (value == gap[c] and b < neighbour[c]):
                neighbour[c], gap[c] = b, value
        neighbour[b], gap[b] = nearest_set(directed, alive, b)


@inner
def condensed_place(i, j, n):
    """Where the distance of rows i and j is in condensed form."""
    low, high = min(i, j), max(i, j)
    return low * n - low * (low + 1) // 2 + high - low - 1


@kernel
def widest_pairs(distances, n, children, found):
    """The largest distance of two rows of each merged cluster, by the update of complete linkage."""
    slot, width, alive = np.arange(2 * n - 1), np.zeros(n), np.ones(n, np.bool_)
    for k in range(children.shape[0]):
        a, b = slot[children[k, 0]], slot[children[k, 1]]
        found[k] = max(distances[condensed_place(a, b, n)], width[a], width[b])
        alive[a] = False
        for c in range(n):
            if alive[c] and c != b:
                place = condensed_place(b, c, n)
                distances[place] = max(distances[place], distances[condensed_place(a, c, n)])
        slot[n + k], width[b] = b, found[k]

"""The hierarchy of HDBSCAN: from a spanning tree to merges, to the condensed tree, to the clusters that are
kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.kernel import inner, kernel


def single_linkage(start: np.ndarray, stop: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Merges of the clusters at the ends of a spanning tree's edges, the shortest edge first.

    Returns
    -------
    merges : array of shape (n - 1, 4)
        Two clusters (rows are 0 to n - 1, merge i makes cluster n + i), their distance, and the number of rows.

    Examples
    --------
    >>> single_linkage(np.array([0, 2]), np.array([2, 1]), np.array([1.0, 4.0]))
    array([[0., 2., 1., 2.],
           [3., 1., 4., 3.]])
    """
    order = np.argsort(weight, kind="stable")
    merges = np.empty((len(weight), 4))
    merge_ends(start[order], stop[order], weight[order], merges)
    return merges


@inner
def root_of(parent, i):
    """The root of a tree, whose paths become shorter."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def merge_ends(start, stop, weight, merges):
    n = start.size + 1
    parent, size = np.arange(2 * n - 1), np.ones(2 * n - 1, np.int64)
    for k in range(n - 1):
        a, b = root_of(parent, start[k]), root_of(parent, stop[k])
        parent[a] = parent[b] = n + k
        size[n + k] = size[a] + size[b]
        merges[k, 0], merges[k, 1], merges[k, 2], merges[k, 3] = a, b, weight[k], size[n + k]


def condense(merges: np.ndarray, min_cluster_size: int) -> np.ndarray:
    """The condensed tree: a merge is a split into two clusters only if both are large enough; otherwise the cluster
    goes on, and loses the rows of the smaller part.

    Returns
    -------
    tree : array of shape (n_edges, 4)
        Cluster, what leaves it (a row, or a cluster from n on; the root is n), the density lambda = 1 / distance at
        which, and its number of rows.

    Examples
    --------
    >>> condense(np.array([[0.0, 2.0, 1.0, 2.0], [3.0, 1.0, 4.0, 3.0]]), 2)
    array([[3.  , 1.  , 0.25, 1.  ],
           [3.  , 0.  , 1.  , 1.  ],
           [3.  , 2.  , 1.  , 1.  ]])
    """
    tree = np.empty((2 * len(merges) + 2, 4))
    count = prune_merges(np.ascontiguousarray(merges), min_cluster_size, tree)
    return tree[:count].copy()


@inner
def add_leaves(merges, node, cluster, density, tree, count, queue):
    """Let the rows under a node leave a cluster, level by level."""
    n = merges.shape[0] + 1
    queue[0], tail, head = node, 1, 0
    while head < tail:
        at = queue[head]
        head += 1
        if at < n:
            tree[count, 0], tree[count, 1], tree[count, 2], tree[count, 3] = cluster, at, density, 1.0
            count += 1
        else:
            queue[tail], queue[tail + 1] = np.int64(merges[at - n, 0]), np.int64(merges[at - n, 1])
            tail += 2
    return count


@kernel
def prune_merges(merges, least, tree):
    """Walk down the merges, level by level, and write the condensed tree; returns its number of edges."""
    n = merges.shape[0] + 1
    nodes, cluster = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64)  # of the nodes that go on
    queue = np.empty(2 * n + 2, np.int64)
    nodes[0], cluster[0], head, tail = 2 * n - 2, n, 0, 1
    label, count = n + 1, 0
    while head < tail:
        node, here = nodes[head], cluster[head]
        head += 1
        left, right = np.int64(merges[node - n, 0]), np.int64(merges[node - n, 1])
        distance = merges[node - n, 2]
        density = 1.0 / distance if distance > 0.0 else np.inf
        lefts = np.int64(merges[left - n, 3]) if left >= n else 1
        rights = np.int64(merges[right - n, 3]) if right >= n else 1
        if lefts >= least and rights >= least:
            for side in range(2):
                child, size = (left, lefts) if side == 0 else (right, rights)
                tree[count, 0], tree[count, 1], tree[count, 2], tree[count, 3] = here, label, density, size
                nodes[tail], cluster[tail] = child, label
                count += 1
                tail += 1
                label += 1
            continue
        if lefts < least:
            count = add_leaves(merges, left, here, density, tree, count, queue)
        else:
            nodes[tail], cluster[tail] = left, here
            tail += 1
        if rights < least:
            count = add_leaves(merges, right, here, density, tree, count, queue)
        else:
            nodes[tail], cluster[tail] = right, here
            tail += 1
    return count


@dataclass
class CondensedTree:
    """The clusters of a condensed tree, numbered from 0, the root; a child has a larger number than its parent.

    Attributes
    ----------
    parent, birth, death, size, stability : arrays of shape (n_clusters,)
        The cluster it split from (-1 for the root), the density at which it did, the largest density at which a
        row or cluster left it, its rows, and sum of (lambda - birth) over the rows.
    row_cluster, row_density : arrays of shape (n_rows,)
        The last cluster of each row, and the density at which the row left it.
    """

    parent: np.ndarray
    birth: np.ndarray
    death: np.ndarray
    size: np.ndarray
    stability: np.ndarray
    row_cluster: np.ndarray
    row_density: np.ndarray

    @classmethod
    def of(cls, tree: np.ndarray, n: int) -> CondensedTree:
        """The clusters of the condensed tree of n rows."""
        above, what = tree[:, 0].astype(np.int64) - n, tree[:, 1].astype(np.int64)
        density, size = tree[:, 2], tree[:, 3]
        k = int(above.max()) + 1
        split = what >= n
        inner_what = what[split] - n
        parent, birth, sizes = np.full(k, -1), np.zeros(k), np.zeros(k)
        parent[inner_what], birth[inner_what], sizes[inner_what] = above[split], density[split], size[split]
        # as the sum of the clusters that split off, as far as `max_cluster_size` is concerned
        sizes[0] = size[split & (above == 0)].sum()
        death = np.zeros(k)
        np.maximum.at(death, above, density)
        with np.errstate(invalid="ignore"):
            life = density - birth[above]
        life[np.isnan(life)] = 0.0  # infinite at both ends: rows at distance 0
        stability = np.bincount(above, life * size, minlength=k)
        row_cluster, row_density = np.empty(n, dtype=np.int64), np.empty(n)
        row_cluster[what[~split]], row_density[what[~split]] = above[~split], density[~split]
        return cls(parent, birth, death, sizes, stability, row_cluster, row_density)

    def select(
        self, how: str, *, single: bool = False, epsilon: float = 0.0, largest: float | None = None
    ) -> np.ndarray:
        """Which clusters are kept, no two of them one inside the other.

        "eom" keeps those whose stability is at least the sum of what is kept inside them (excess of mass), "leaf"
        those that do not split. With `single` the root may be kept; clusters born at distances below `epsilon` give
        way to the one that they split from; "eom" keeps none of more than `largest` rows.
        """
        k = len(self.parent)
        kept = np.zeros(k, dtype=bool)
        if how == "leaf":
            if k > 1:
                kept[:] = True
                kept[self.parent[1:]] = False
        else:
            kept = self._excess_of_mass(single, np.inf if largest is None else largest)
        chosen = np.flatnonzero(kept)
        if epsilon > 0 and k > 1 and not (how == "eom" and chosen.tolist() == [0]):
            kept[:] = False
            kept[[self._wider(int(c), epsilon, single) for c in chosen]] = True
        return self._outermost(kept)

    def _excess_of_mass(self, single: bool, largest: float) -> np.ndarray:
        best, below = self.stability.copy(), np.zeros(len(self.parent))
        kept = np.zeros(len(self.parent), dtype=bool)
        for c in range(len(best) - 1, -1 if single else 0, -1):
            if below[c] > best[c] or self.size[c] > largest:
                best[c] = below[c]
            else:
                kept[c] = True
            if c:
                below[self.parent[c]] += best[c]
        return self._outermost(kept)

    def _outermost(self, kept: np.ndarray) -> np.ndarray:
        """Without clusters that are inside another one that is kept."""
        inside = np.zeros(len(kept), dtype=bool)
        for c in range(1, len(kept)):
            inside[c] = inside[self.parent[c]] or kept[self.parent[c]]
        return kept & ~inside

    def _wider(self, cluster: int, epsilon: float, single: bool) -> int:
        """The cluster itself if it was born at a distance of epsilon or more, else the first one around it."""
        if cluster == 0 or not distance_of(self.birth[cluster]) < epsilon:
            return cluster
        while True:
            parent = int(self.parent[cluster])
            if parent == 0:
                return 0 if single else cluster
            if distance_of(self.birth[parent]) > epsilon:
                return parent
            cluster = parent

    def labels_of(self, kept: np.ndarray) -> np.ndarray:
        """The label of every cluster: that of the one that it is inside of, or -1."""
        label = np.where(kept, np.cumsum(kept) - 1, -1)
        for c in range(1, len(kept)):
            if not kept[c]:
                label[c] = label[self.parent[c]]
        return label

    def label_rows(self, kept: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
        """The label of each row, and how strongly it belongs there: its density by the cluster's largest."""
        labels = self.labels_of(kept)[self.row_cluster]
        if kept[0]:  # one cluster of all: rows that leave it early are noise
            labels[self.row_density < self.threshold(epsilon)] = -1
        return labels, self.strengths(labels, self.row_density, kept)

    def threshold(self, epsilon: float) -> float:
        """The density at which rows belong to the root, where that is the one cluster."""
        return 1 / epsilon if epsilon > 0 else float(self.death[0])

    def strengths(self, labels: np.ndarray, density: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """How strongly rows of given densities belong to the clusters of their labels, from 0 to 1."""
        strength, there = np.zeros(len(labels)), labels >= 0
        most = self.death[np.flatnonzero(kept)][labels[there]]
        mine = density[there]
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.minimum(mine, most) / most
        strength[there] = np.where((most == 0) | np.isinf(mine), 1.0, ratio)
        return strength

    def climb(self, cluster: np.ndarray, density: np.ndarray) -> np.ndarray:
        """From clusters up to those that are there at the given densities."""
        cluster = cluster.copy()
        while True:
            up = (cluster > 0) & (self.birth[cluster] > density)
            if not up.any():
                return cluster
            cluster[up] = self.parent[cluster[up]]


def distance_of(density: Any) -> float:
    """The distance that belongs to a density."""
    return 1 / float(density) if density > 0 else np.inf


def labels_at(merges: np.ndarray, cut: float, least: int) -> np.ndarray:
    """The clusters of all merges at distances below a cut; -1 for rows in clusters of fewer than `least`.

    Examples
    --------
    >>> labels_at(np.array([[0.0, 2.0, 1.0, 2.0], [3.0, 1.0, 4.0, 3.0]]), 2.0, 2)
    array([ 0, -1,  0])
    """
    n = len(merges) + 1
    root = np.empty(n, dtype=np.intp)
    cut_merges(np.ascontiguousarray(merges), float(cut), root)
    _, index, sizes = np.unique(root, return_inverse=True, return_counts=True)
    large = sizes >= least
    return np.where(large, np.cumsum(large) - 1, -1)[index]


@kernel
def cut_merges(merges, cut, root):
    """Join the ends of the merges below a cut; the tree of lower rank goes below the other."""
    n = merges.shape[0] + 1
    parent, rank = np.arange(2 * n - 1), np.zeros(2 * n - 1, np.int64)
    for k in range(n - 1):
        if merges[k, 2] < cut:
            for side in range(2):
                a, b = root_of(parent, np.int64(merges[k, side])), root_of(parent, n + k)
                if rank[a] < rank[b]:
                    parent[a] = b
                else:
                    parent[b] = a
                    if rank[a] == rank[b]:
                        rank[a] += 1
    for i in range(n):
        root[i] = root_of(parent, i)

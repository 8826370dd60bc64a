"""Minimum spanning trees of the mutual reachability distance, in memory linear in the rows.

The distance of rows i and j is max(c_i, c_j, d(x_i, x_j)), with the core distance c_i, that of the k-th nearest
row. Edges are (from, to, distance), directed away from row 0.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from tercet.cluster._engine.box_tree import Boxes, box_square, box_tree
from tercet.core.kernel import inner, kernel
from tercet.core.parallel import each
from tercet.core.rows import kernel_form, read_only
from tercet.core.stopping import check_stop

Edges = tuple[np.ndarray, np.ndarray, np.ndarray]
TASK = 2048  # rows that one task searches for
DEPTH = 128  # nodes that a search has deferred, at most


def prim(n: int, core: np.ndarray, distances: Callable[[int], np.ndarray]) -> Edges:
    """Prim's algorithm from row 0; `distances(i)` gives the distances of row i from all rows.

    Examples
    --------
    >>> X = np.array([0.0, 5.0, 1.0])
    >>> prim(3, np.zeros(3), lambda i: np.abs(X - X[i]))
    (array([0, 2]), array([2, 1]), array([1., 4.]))
    """
    source, least = np.zeros(n, dtype=np.int64), np.full(n, np.inf)
    rest = np.arange(1, n)  # rows that are not in the tree yet, in their order
    start, stop, weight = np.empty(n - 1, dtype=np.int64), np.empty(n - 1, dtype=np.int64), np.empty(n - 1)
    here = 0
    for k in range(n - 1):
        check_stop()
        reach = np.maximum(np.maximum(core[rest], core[here]), distances(here)[rest])
        nearer = rest[reach < least[rest]]
        least[nearer], source[nearer] = reach[reach < least[rest]], here
        at = int(np.argmin(least[rest]))
        here = int(rest[at])
        start[k], stop[k], weight[k] = source[here], here, least[here]
        rest = np.delete(rest, at)
    return start, stop, weight


def prim_rows(points: np.ndarray, core: np.ndarray) -> Edges:
    """Prim's algorithm under the Euclidean distance of few rows, in one kernel.

    Examples
    --------
    >>> prim_rows(np.array([[0.0], [5.0], [1.0]]), np.zeros(3))
    (array([0, 2]), array([2, 1]), array([1., 4.]))
    """
    n = len(core)
    start, stop, weight = np.empty(n - 1, dtype=np.int64), np.empty(n - 1, dtype=np.int64), np.empty(n - 1)
    grow_tree(kernel_form(points), kernel_form(core), start, stop, weight)
    return start, stop, weight


@kernel
def grow_tree(points, core, start, stop, weight):
    """Add the row that is nearest to the tree, again and again; of equals the first."""
    n = core.size
    least, source, outside = np.full(n, np.inf), np.zeros(n, np.int64), np.ones(n, np.bool_)
    here = 0
    for k in range(n - 1):
        outside[here] = False
        best, nearest = np.inf, -1
        for j in range(n):
            if not outside[j]:
                continue
            reach = max(core[here], core[j], np.sqrt(square(points, here, j)))
            if reach < least[j]:
                least[j], source[j] = reach, here
            if least[j] < best or nearest < 0:
                best, nearest = least[j], j
        start[k], stop[k], weight[k] = source[nearest], nearest, best
        here = nearest


def boruvka(points: np.ndarray, core: np.ndarray, found: np.ndarray, n_jobs: int | None = None) -> Edges:
    """Borůvka's algorithm under the Euclidean distance: each tree of a forest adds its shortest edge to another.

    Parameters
    ----------
    points : array of shape (n, d)
        The rows.
    core : array of shape (n,)
        Their core distances.
    found : array of shape (n, k)
        Their nearest rows, whose last distances those are.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Examples
    --------
    >>> start, stop, weight = boruvka(np.array([[0.0], [5.0], [1.0]]), np.zeros(3), np.array([[0], [1], [2]]))
    >>> start, stop, weight
    (array([0, 2]), array([2, 1]), array([1., 4.]))
    """
    n = len(core)
    sorted_points, order, boxes = box_tree(kernel_form(points))
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    forest = Forest(read_only(sorted_points), core[order], boxes)
    forest.start_from(rank[found[order]])
    while forest.trees > 1:
        forest.search(n_jobs)
        forest.merge()
    pairs = order[np.concatenate([np.empty((0, 2), dtype=np.int64), *forest.edges])]
    start, stop = directed(pairs, n)
    apart = np.sqrt(((points[start] - points[stop]) ** 2).sum(axis=1))
    return start, stop, np.maximum(np.maximum(core[start], core[stop]), apart)


class Forest:
    """Trees that Borůvka's algorithm has so far, over rows in the order of a `box_tree`.

    Each row remembers its nearest row of another tree (`nearest`, with its squared distance `bound`), or, with
    nearest -1, that such rows are no nearer than `bound`. Trees only grow, so that what is nearest stays so as
    long as it is in another tree.
    """

    def __init__(self, points: np.ndarray, core: np.ndarray, boxes: Boxes) -> None:
        self.points, self.boxes, self.n = points, boxes, len(core)
        self.core = core**2
        self.tree = np.arange(self.n)  # of each row, from 0 to the number of trees
        self.trees = self.n
        self.nearest, self.bound = np.full(self.n, -1), self.core.copy()
        self.node_tree, self.node_core = (
            np.empty(len(boxes.start), dtype=np.int64),
            np.empty(len(boxes.start)),
        )
        self.edges: list[np.ndarray] = []
        node_minima(boxes, self.core, self.node_core)

    def start_from(self, found: np.ndarray) -> None:
        """Take the best of each row's known neighbours; it is the nearest where its core distance is no larger."""
        start_candidates(self.core, np.ascontiguousarray(found), self.nearest, self.bound)

    def search(self, n_jobs: int | None) -> None:
        """The shortest edge of every tree, by its rows' nearest rows of other trees."""
        node_trees(self.boxes, self.tree, self.node_tree)
        limit = np.full(self.trees, np.inf)
        known_edges(self.tree, self.nearest, self.bound, limit)
        spans = list(pairwise([*range(0, self.n, TASK), self.n]))
        each(
            lambda span: search_rows(
                self.points, self.core, self.boxes, self.node_tree, self.node_core, self.tree, span[0], span[1],
                limit.copy(), self.nearest, self.bound,
            ),
            spans,
            n_jobs=n_jobs,
        )  # fmt: skip

    def merge(self) -> None:
        """Add the shortest edges, and number the trees anew."""
        pairs, tree = np.empty((self.trees, 2), dtype=np.int64), np.empty(self.n, dtype=np.int64)
        count, self.trees = add_edges(self.tree, self.nearest, self.bound, self.trees, pairs, tree)
        self.edges.append(pairs[:count])
        self.tree = tree


@inner
def square(points, i, k):
    """The squared distance of two rows."""
    total = 0.0
    for j in range(points.shape[1]):
        gap = points[i, j] - points[k, j]
        total += gap * gap
    return total


@kernel
def node_minima(boxes, core, least):
    """The smallest core distance in each node."""
    for t in range(least.size):
        least[t] = np.inf
        for r in range(boxes.start[t], boxes.stop[t]):
            least[t] = min(least[t], core[r])


@kernel
def node_trees(boxes, tree, node_tree):
    """The tree that all rows of a node belong to, or -1."""
    nodes = node_tree.size
    for s in range(nodes):
        t = nodes - 1 - s
        if t < nodes // 2:
            left, right = node_tree[2 * t + 1], node_tree[2 * t + 2]
            node_tree[t] = left if left == right else -1
        else:
            node_tree[t] = tree[boxes.start[t]]
            for r in range(boxes.start[t], boxes.stop[t]):
                if tree[r] != node_tree[t]:
                    node_tree[t] = -1


@kernel
def start_candidates(core, found, nearest, bound):
    """Of the rows within its core distance, a row is nearest to the one with the smallest core distance.

    Where that is no larger than its own, no other row can be nearer. Where it is, the row has to search.
    """
    for i in range(core.size):
        best = -1
        for m in range(found.shape[1]):
            j = found[i, m]
            if j != i and (best < 0 or core[j] < core[best]):
                best = j
        if best >= 0 and core[best] <= core[i]:
            nearest[i], bound[i] = best, core[i]


@kernel
def known_edges(tree, nearest, bound, limit):
    """Forget nearest rows that have come into the same tree; the shortest known edge of each tree is its limit."""
    for i in range(tree.size):
        j = nearest[i]
        if j >= 0:
            if tree[j] == tree[i]:
                nearest[i] = -1
            else:
                limit[tree[i]] = min(limit[tree[i]], bound[i])


@kernel
def search_rows(points, core, boxes, node_tree, node_core, tree, first, last, limit, nearest, bound):
    """Search for the nearest rows of other trees that could make a tree's shortest edge still shorter."""
    waiting, far = np.empty(DEPTH, np.int64), np.empty(DEPTH)
    inside = node_tree.size // 2
    for i in range(first, last):
        mine = tree[i]
        if nearest[i] >= 0 or bound[i] >= limit[mine]:
            continue
        q, own, best, at = points[i], core[i], limit[mine], -1
        waiting[0], far[0], top = 0, own, 1
        while top > 0:
            top -= 1
            t = waiting[top]
            if far[top] >= best or node_tree[t] == mine:
                continue
            if t >= inside:
                for r in range(boxes.start[t], boxes.stop[t]):
                    if tree[r] != mine and core[r] < best:
                        reach = max(own, core[r], square(points, i, r))
                        if reach < best:
                            best, at = reach, r
                continue
            a, b = 2 * t + 1, 2 * t + 2
            x = max(own, node_core[a], box_square(boxes.low, boxes.high, a, q))
            y = max(own, node_core[b], box_square(boxes.low, boxes.high, b, q))
            if x < y:  # the nearer one is popped first
                a, b, x, y = b, a, y, x
            if x < best and node_tree[a] != mine:
                waiting[top], far[top] = a, x
                top += 1
            if y < best and node_tree[b] != mine:
                waiting[top], far[top] = b, y
                top += 1
        nearest[i], bound[i], limit[mine] = at, best, best


@inner
def root_of(parent, i):
    """The root of a tree, whose paths become shorter."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def add_edges(tree, nearest, bound, trees, pairs, renumbered):
    """The shortest edge of every tree, unless an equal one has joined both already; returns how many edges and
    trees there are."""
    shortest = np.full(trees, -1, np.int64)
    for i in range(tree.size):
        if nearest[i] >= 0:
            s = shortest[tree[i]]
            if s < 0 or bound[i] < bound[s]:
                shortest[tree[i]] = i
    parent = np.arange(trees)
    count = 0
    for t in range(trees):
        i = shortest[t]
        a, b = root_of(parent, t), root_of(parent, tree[nearest[i]])
        if a != b:
            parent[max(a, b)] = min(a, b)
            pairs[count, 0], pairs[count, 1] = i, nearest[i]
            count += 1
    number, left = np.empty(trees, np.int64), 0
    for t in range(trees):  # a root is the first of its trees
        if root_of(parent, t) == t:
            number[t] = left
            left += 1
    for i in range(tree.size):
        renumbered[i] = number[root_of(parent, tree[i])]
    return count, left


def directed(pairs: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The edges of a tree, each from the row that is nearer to row 0, in the order in which that reaches them.

    Examples
    --------
    >>> directed(np.array([[2, 0], [1, 2]]), 3)
    (array([0, 2]), array([2, 1]))
    """
    start, stop = np.empty(n - 1, dtype=np.int64), np.empty(n - 1, dtype=np.int64)
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    walk(np.searchsorted(ends[:, 0], np.arange(n + 1)), np.ascontiguousarray(ends[:, 1]), start, stop)
    return start, stop


@kernel
def walk(indptr, ends, start, stop):
    """Visit the rows of a tree, row 0 first."""
    n = indptr.size - 1
    queue, seen = np.empty(n, np.int64), np.zeros(n, np.bool_)
    queue[0], seen[0], count = 0, True, 0
    for k in range(n):
        i = queue[k]
        for s in range(indptr[i], indptr[i + 1]):
            j = ends[s]
            if not seen[j]:
                seen[j] = True
                start[count], stop[count] = i, j
                count += 1
                queue[count] = j

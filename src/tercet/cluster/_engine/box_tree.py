"""A balanced tree of bounding boxes over rows, for searches among groups of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel

LEAF = 12  # rows in a leaf: between this and twice as many


class Boxes(NamedTuple):
    """Nodes of the tree: children of node t are 2t + 1 and 2t + 2, its rows start[t] to stop[t], in their order."""

    start: np.ndarray
    stop: np.ndarray
    low: np.ndarray
    high: np.ndarray


def box_tree(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, Boxes]:
    """The rows in the order of the tree, their former places, and the nodes.

    Examples
    --------
    >>> points, order, boxes = box_tree(np.array([[3.0], [1.0]]))
    >>> order, boxes.low, boxes.high
    (array([0, 1]), array([[1.]]), array([[3.]]))
    """
    n, d = points.shape
    levels = max(0, int(np.log2(max(n // LEAF, 1))))
    nodes = 2 ** (levels + 1) - 1
    boxes = Boxes(
        np.empty(nodes, dtype=np.int64),
        np.empty(nodes, dtype=np.int64),
        np.empty((nodes, d)),
        np.empty((nodes, d)),
    )
    order = np.arange(n)
    build_boxes(points, order, boxes)
    return points[order], order, boxes


@kernel
def build_boxes(points, order, boxes):
    """Cut the rows of each node in two halves at the median of their widest coordinate."""
    n, nodes = points.shape[0], boxes.start.size
    values, inside = np.empty(n), nodes // 2
    boxes.start[0], boxes.stop[0] = 0, n
    for t in range(nodes):
        first, last = boxes.start[t], boxes.stop[t]
        axis, widest = 0, -1.0
        for j in range(points.shape[1]):
            least, most = np.inf, -np.inf
            for r in range(first, last):
                x = points[np.uint64(order[r]), j]
                least, most = min(least, x), max(most, x)
            boxes.low[t, j], boxes.high[t, j] = least, most
            if most - least > widest:
                axis, widest = j, most - least
        if t < inside:
            middle = (first + last) // 2
            for r in range(first, last):
                values[r] = points[np.uint64(order[r]), axis]
            select(values, order, first, last - 1, middle)
            boxes.start[2 * t + 1], boxes.stop[2 * t + 1] = first, middle
            boxes.start[2 * t + 2], boxes.stop[2 * t + 2] = middle, last


@inner
def select(values, order, left, right, k):
    """Sort values, and with them the order, so far that the k-th is in its place (Hoare's selection)."""
    while left < right:
        x, y, z = values[left], values[(left + right) // 2], values[right]
        pivot = max(min(x, y), min(max(x, y), z))
        i, j = left, right
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if k <= j:
            right = j
        elif k >= i:
            left = i
        else:
            break


@inner
def box_square(low, high, t, q):
    """The squared distance of a point from the box of a node."""
    total = 0.0
    for j in range(q.size):
        gap = max(low[t, j] - q[j], q[j] - high[t, j], 0.0)
        total += gap * gap
    return total

"""Depths of breadth-first searches inside the components of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.rows import read_only


def breadth_first_levels(adjacency: Any, labels: np.ndarray) -> np.ndarray:
    """The depth of each node in a breadth-first search of its component, from the component's first node."""
    depth = np.full(labels.size, -1, dtype=np.int64)
    indptr, indices = (
        read_only(np.ascontiguousarray(part, dtype=np.int64))
        for part in (adjacency.indptr, adjacency.indices)
    )
    levels(indptr, indices, read_only(labels.astype(np.int64)), depth)
    return depth


@kernel
def levels(indptr, indices, labels, depth):
    """A search from every node that no earlier one has reached; `depth` is -1 where none has."""
    queue = np.empty(labels.size, np.int64)
    for root in range(labels.size):
        if depth[root] >= 0:
            continue
        depth[root], queue[0] = 0, root
        head, tail = 0, 1
        while head < tail:
            u = queue[head]
            head += 1
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                if depth[v] < 0 and labels[v] == labels[u]:
                    depth[v] = depth[u] + 1
                    queue[tail] = v
                    tail += 1

"""Elimination orders and the clique trees that they lead to."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from typing import Literal

Heuristic = Literal["min-fill", "min-weight"]


def elimination_order(
    sizes: Sequence[int],
    scopes: Iterable[Sequence[int]],
    free: Iterable[int],
    heuristic: Heuristic = "min-fill",
    given: Sequence[int] | None = None,
) -> tuple[list[int], list[set[int]]]:
    """The order in which variables are eliminated, and the neighbours of each at that time.

    Parameters
    ----------
    sizes : the numbers of states.
    scopes : the variables of each factor.
    free : the variables to eliminate.
    heuristic : which one is next: the fewest new edges, or the smallest table. Of equals, that of the other
        heuristic, then the first.
    given : the order itself, in place of a heuristic.
    """
    neighbours: dict[int, set[int]] = {k: set() for k in free}
    for scope in scopes:
        for k in scope:
            neighbours.setdefault(k, set()).update(scope)
    for k, others in neighbours.items():
        others.discard(k)
    left = list(free if given is None else given)
    costs = {} if given is not None else {k: _cost(k, neighbours, sizes, heuristic) for k in left}
    heap = sorted(costs.values())  # (cost, cost, variable); entries that no longer hold stay behind
    order, around = [], []
    for place in range(len(left)):
        if given is not None:
            best = left[place]
        else:
            entry = heapq.heappop(heap)
            while costs.get(entry[2]) != entry:
                entry = heapq.heappop(heap)
            best = entry[2]
            del costs[best]
        near = neighbours.pop(best)
        changed = set(near)
        for k in near:
            new = near - neighbours[k] - {k}
            neighbours[k] |= new
            neighbours[k].discard(best)
            if new:
                changed |= neighbours[k]
        order.append(best)
        around.append(near)
        for k in changed & costs.keys():
            cost = _cost(k, neighbours, sizes, heuristic)
            if cost != costs[k]:
                costs[k] = cost
                heapq.heappush(heap, cost)
    return order, around


def _cost(
    k: int, neighbours: dict[int, set[int]], sizes: Sequence[int], heuristic: Heuristic
) -> tuple[float, float, int]:
    near = neighbours[k]
    missing = sum(len(near - neighbours[j]) - 1 for j in near) / 2
    weight = math.log(max(sizes[k], 1)) + sum(math.log(max(sizes[j], 1)) for j in near)
    return (missing, weight, k) if heuristic == "min-fill" else (weight, missing, k)


def clique_tree(order: Sequence[int], around: Sequence[set[int]]) -> tuple[list[list[int]], list[int]]:
    """The maximal cliques of the triangulated graph and the parent of each in a tree; parents come first.

    The cliques of a variable form a connected part of the tree (running intersection). Where the graph is not
    connected, the other roots hang on the first with nothing in common; its own parent is -1.
    """
    step = {k: place for place, k in enumerate(order)}
    cliques: list[list[int]] = []
    parents: list[int] = []
    home: dict[int, int] = {}
    for k, near in zip(reversed(order), reversed(around)):
        above = home[min(near, key=step.__getitem__)] if near else 0
        if cliques and near and set(cliques[above]) == near:
            cliques[above].append(k)  # the same clique, and one more variable
            home[k] = above
            continue
        home[k] = len(cliques)
        parents.append(above if cliques else -1)
        cliques.append([*sorted(near), k])
    return cliques, parents


def table_cells(around: Sequence[set[int]], order: Sequence[int], sizes: Sequence[int]) -> int:
    """The cells of the largest table that an elimination makes."""
    return max((sizes[k] * math.prod(sizes[j] for j in near) for k, near in zip(order, around)), default=1)

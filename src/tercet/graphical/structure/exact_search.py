"""Exact search for the graph of a small Bayesian network (精确结构搜索): dynamic programming over subsets."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from tercet.core.kernel import kernel
from tercet.graphical.factor import refuse_wide
from tercet.graphical.structure.network_score import Constraints, FamilyScores

MOST = 20  # variables


def exact_search(scores: FamilyScores, constraints: Constraints) -> tuple[float, list[set[int]]]:
    """The network of the best score of all, and the score (Silander and Myllymäki).

    The best parents of a variable among each set are found first; the best network of a set of variables then has a
    last variable whose parents are the best of the rest, on top of the best network of the rest.

    Parameters
    ----------
    scores : FamilyScores
        Scores of families, smaller is better.
    constraints : Constraints
        Edges that must or must not be there; `max_parents` makes the search much shorter.
    """
    d = scores.d
    if d > MOST:
        raise ValueError(
            f"algorithm='exact' takes at most {MOST} variables, since it looks at 2**d sets; there are {d}. "
            "Use 'hill-climbing' or 'tabu'."
        )
    refuse_wide(2**d * (d + 2), "An exact search", 8.0)
    required = constraints.parents()
    best = np.full((d, 1 << d), np.inf)
    chosen = np.zeros((d, 1 << d), dtype=np.int64)
    for child in range(d):
        others = constraints.candidates(child)
        for size in range(min(constraints.max_parents, len(others)) + 1):
            for parents in combinations(others, size):
                if required[child] <= set(parents):
                    mask = sum(1 << p for p in parents)
                    best[child, mask] = scores.family(child, parents)
                    chosen[child, mask] = mask
        best_subsets(best[child], chosen[child], d)
    sinks = np.zeros(1 << d, dtype=np.int64)
    total = np.full(1 << d, np.inf)
    best_networks(best, total, sinks)
    if not math.isfinite(total[-1]):
        raise ValueError("No network meets required_edges, forbidden_edges and max_parents together.")
    parents_of: list[set[int]] = [set() for _ in range(d)]
    left = (1 << d) - 1
    while left:
        child = int(sinks[left])
        left &= ~(1 << child)
        mask = int(chosen[child, left])
        parents_of[child] = {p for p in range(d) if mask >> p & 1}
    return float(total[-1]), parents_of


@kernel
def best_subsets(best, chosen, d):
    """best[S]: the least score of a parent set within S, chosen[S] that set; of equals the one seen first."""
    for mask in range(best.size):
        for p in range(d):
            if mask >> p & 1:
                less = mask & ~(1 << p)
                if best[less] <= best[mask] + 1e-9 * (1.0 + abs(best[mask])) and best[less] < np.inf:
                    best[mask] = best[less]
                    chosen[mask] = chosen[less]


@kernel
def best_networks(best, total, sinks):
    """total[S]: the least score of a network of the variables S, sinks[S] its last variable."""
    total[0] = 0.0
    for mask in range(1, total.size):
        for k in range(best.shape[0]):
            if mask >> k & 1:
                less = mask & ~(1 << k)
                score = total[less] + best[k, less]
                if score < total[mask] - 1e-9 * (1.0 + abs(score)):
                    total[mask] = score
                    sinks[mask] = k

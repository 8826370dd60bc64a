"""Cooper and Herskovits' K2 (K2 算法): parents added greedily along a given order of the variables."""

from __future__ import annotations

from collections.abc import Sequence

from tercet.graphical.structure.network_score import Constraints, FamilyScores, better


def k2(scores: FamilyScores, constraints: Constraints, order: Sequence[int]) -> list[set[int]]:
    """The parents of each variable among those before it in the order: the best one is added while that helps.

    Parameters
    ----------
    scores : FamilyScores
        Scores of families, smaller is better.
    constraints : Constraints
        Edges that must or must not be there.
    order : sequence of int
        The variables, causes before effects.
    """
    parents = constraints.parents()
    for place, child in enumerate(order):
        allowed = set(constraints.candidates(child))
        best = scores.family(child, parents[child])
        while len(parents[child]) < constraints.max_parents:
            open_ = [p for p in order[:place] if p in allowed and p not in parents[child]]
            if not open_:
                break
            found = scores.additions(child, parents[child], open_)
            if not better(found.min(), best):
                break
            best = float(found.min())
            parents[child].add(open_[int(found.argmin())])
    return parents

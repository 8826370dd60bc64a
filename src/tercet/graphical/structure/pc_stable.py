"""The PC algorithm (PC 算法): edges are removed where a test finds two variables independent given some others."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Literal

import numpy as np
from scipy.special import gammaincc

from tercet.core.parallel import each
from tercet.graphical._engine.family_counts import contingency
from tercet.graphical.structure.network_score import MAX_CELLS, Constraints, FamilyScores, closure

Test = Literal["g2", "chi2", "mutual-information"]


def independence_test(counts: np.ndarray, test: Test = "g2") -> tuple[float, float, float]:
    """A test of whether two variables are independent given a third.

    Parameters
    ----------
    counts : array of shape (n_configurations, r, s)
        How often each pair of states comes with each configuration of the condition.
    test : {"g2", "chi2", "mutual-information"}
        The likelihood-ratio statistic G² = 2 Σ O ln(O / E), Pearson's X² = Σ (O - E)² / E, or the mutual
        information in nats, whose p-value is that of G² = 2 n I.

    Returns
    -------
    statistic, p_value, degrees_of_freedom : floats
        A condition's configuration counts (r' - 1)(s' - 1) degrees, r' and s' the states that occur in it. Without
        any degrees of freedom nothing can be tested: the p-value is NaN, as where the condition determines one of
        two variables that do vary. A variable that is the same in all rows is independent of any other: p-value 1.
    """
    rows, columns = counts.sum(axis=2, keepdims=True), counts.sum(axis=1, keepdims=True)
    whole = rows.sum(axis=1, keepdims=True)
    some = np.broadcast_to(whole > 0, counts.shape)
    expected = np.divide(rows * columns, whole, out=np.zeros(counts.shape), where=some)
    freedom = float(
        np.maximum((rows > 0).sum(axis=(1, 2)) - 1, 0) @ np.maximum((columns > 0).sum(axis=(1, 2)) - 1, 0)
    )
    if test == "chi2":
        inside = expected > 0
        statistic = float(((counts[inside] - expected[inside]) ** 2 / expected[inside]).sum())
    else:
        inside = counts > 0
        statistic = max(float(2 * (counts[inside] * np.log(counts[inside] / expected[inside])).sum()), 0.0)
    if freedom > 0:
        p_value = float(gammaincc(freedom / 2, statistic / 2))
    else:
        table = counts.sum(axis=0)
        constant = min((table.sum(axis=1) > 0).sum(), (table.sum(axis=0) > 0).sum()) < 2
        p_value = 1.0 if constant else math.nan
    total = float(counts.sum())
    return (
        (statistic / (2 * total) if test == "mutual-information" and total else statistic),
        p_value,
        freedom,
    )


class PCStable:
    """State of the PC algorithm in its order-independent form (Colombo and Maathuis).

    Parameters
    ----------
    scores : FamilyScores
        The codes, weights and sizes of the variables.
    constraints : Constraints
        Edges that must be there are never tested; forbidden both ways they never are.
    test : {"g2", "chi2", "mutual-information"}
        The test of independence.
    level : float
        Variables with a greater p-value are taken for independent; without a p-value (no degrees of freedom) they
        are not: a condition that determines one of them says nothing about the edge.
    """

    def __init__(
        self, scores: FamilyScores, constraints: Constraints, test: Test = "g2", level: float = 0.05
    ) -> None:
        self.scores, self.constraints, self.test, self.level = scores, constraints, test, level
        required = constraints.required | constraints.required.T
        self.joined = (constraints.allowed | constraints.allowed.T) | required
        np.fill_diagonal(self.joined, False)
        self.fixed = required
        self.separators: dict[tuple[int, int], tuple[int, ...]] = {}
        # By pair: the conditions of the last level that left degrees of freedom.
        self.testable: dict[tuple[int, int], set[tuple[int, ...]]] = {}

    def level_of(self, size: int) -> bool:
        """Test all joined pairs given `size` neighbours; whether there were any. Edges go at the end of the
        level.
        """
        before = self.joined.copy()
        pairs = [(i, j) for i, j in np.argwhere(np.triu(before)).tolist() if not self.fixed[i, j]]
        found = each(
            lambda pair: self._separator(pair[0], pair[1], size, before), pairs, n_jobs=self.scores.n_jobs
        )
        for (i, j), (_, separator) in zip(pairs, found):
            if separator is not None:
                self.joined[i, j] = self.joined[j, i] = False
                self.separators[i, j] = separator
        return any(tested for tested, _ in found)

    def _separator(
        self, i: int, j: int, size: int, joined: np.ndarray
    ) -> tuple[bool, tuple[int, ...] | None]:
        """The first set of neighbours that makes two variables independent, and whether any was tested.

        A condition without degrees of freedom has none with further variables either, so a set is tested only if
        all its subsets could be. Without this rule, variables that determine each other take exponential time.
        """
        smaller, testable = self.testable.get((i, j), set()), set[tuple[int, ...]]()
        self.testable[i, j] = testable
        promising = {k for condition in smaller for k in condition} if size > 1 else set(range(len(joined)))
        for a, b in ((i, j), (j, i)):
            around = [k for k in np.flatnonzero(joined[a]).tolist() if k != b and k in promising]
            for condition in combinations(around, size):
                subsets = combinations(condition, size - 1) if size else ()
                if condition in testable or not smaller.issuperset(subsets):
                    continue
                p_value = self._p_value(i, j, condition)
                if p_value > self.level:
                    return True, condition
                if not math.isnan(p_value):
                    testable.add(condition)
        return bool(testable), None

    def _p_value(self, i: int, j: int, condition: tuple[int, ...]) -> float:
        """The p-value of a test; NaN without degrees of freedom, and where the table would be too large."""
        scores = self.scores
        cells = math.prod(int(scores.sizes[k]) for k in (i, j, *condition))
        if cells > MAX_CELLS:
            return math.nan
        counts = contingency(scores.columns, scores.sizes, [*condition, i, j], scores.weight)
        return independence_test(counts.reshape(-1, *counts.shape[-2:]), self.test)[1]

    def directed(self) -> tuple[np.ndarray, list[set[int]]]:
        """The pattern (edges both ways where the data do not tell) and the parents in a network that agrees with
        it.
        """
        edges = self.joined & ~self.constraints.required.T
        edges &= self.constraints.allowed | self.constraints.required
        edges |= self.constraints.required
        self._colliders(edges)
        _meek(edges)
        return edges, _extension(edges, self.constraints.required)

    def _colliders(self, edges: np.ndarray) -> None:
        """i -> k <- j where k is joined to both and was not what made them independent."""
        for k in range(len(edges)):
            around = np.flatnonzero(self.joined[k]).tolist()
            for i, j in combinations(around, 2):
                if self.joined[i, j] or (i, j) not in self.separators:
                    continue
                if k not in self.separators[i, j] and edges[i, k] and edges[j, k]:
                    for end in (i, j):
                        if edges[k, end] and not self.constraints.required[k, end]:
                            edges[k, end] = False


def _meek(edges: np.ndarray) -> None:
    """Directions that follow from those there are: no new colliders, and no cycles."""
    d = len(edges)
    changed = True
    while changed:
        changed = False
        for i, j in np.argwhere(edges & edges.T).tolist():
            if not (edges[i, j] and edges[j, i]):
                continue
            into = edges[:, i] & ~edges[i, :]
            apart = ~(edges[:, j] | edges[j, :])
            apart[j] = False
            new_collider = bool((into & apart).any())
            cycle = bool((edges[i] & ~edges[:, i] & edges[:, j] & ~edges[j]).any())
            middle = np.flatnonzero(edges[i] & edges[:, i] & edges[:, j] & ~edges[j])
            two = any(not (edges[a, b] or edges[b, a]) for a, b in combinations(middle.tolist(), 2))
            if new_collider or cycle or two:
                edges[j, i] = False
                changed = True
    assert edges.shape == (d, d)


def _extension(edges: np.ndarray, required: np.ndarray) -> list[set[int]]:
    """Parents in a directed acyclic graph that has the directions of a pattern (Dor and Tarsi).

    Where contradictory tests leave none, edges are added one by one, and turned where they would close a cycle.
    """
    d = len(edges)
    parents: list[set[int]] = [set() for _ in range(d)]
    left, pattern = set(range(d)), edges.copy()
    while left:
        sink = next((k for k in sorted(left) if _is_sink(pattern, k, left)), None)
        if sink is None:
            break
        for k in left - {sink}:
            if pattern[k, sink]:
                parents[sink].add(k)
        left.discard(sink)
        pattern[sink], pattern[:, sink] = False, False
    if not left:
        return parents
    parents = [set(np.flatnonzero(column).tolist()) for column in required.T]
    both = edges & edges.T
    for p, c in [*np.argwhere(edges & ~both).tolist(), *np.argwhere(np.triu(both)).tolist()]:
        if p in parents[c] or c in parents[p]:
            continue
        reach = closure(parents)
        if reach[c, p]:
            p, c = c, p
        parents[c].add(p)
    return parents


def _is_sink(pattern: np.ndarray, k: int, left: set[int]) -> bool:
    """Whether no edge leads away from k, and every neighbour without direction is joined to all others."""
    inside = sorted(left - {k})
    if any(pattern[k, j] and not pattern[j, k] for j in inside):
        return False
    around = [j for j in inside if pattern[j, k]]
    loose = [j for j in around if pattern[k, j]]
    return all(pattern[i, j] or pattern[j, i] for i in loose for j in around if i != j)

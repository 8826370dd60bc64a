"""Which recursive literals are safe: a measure must decrease at every call.

A relation whose pairs of two arguments have no cycle orders the constants. A call p(V ...) in the body of p(X
...) is safe if a chain of such relations leads from X to V at one place of p, and all recursive clauses go down
the same order: the union of the relations used for it has no cycle either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tercet.rules.logic._engine.relations import FactBase, Key
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.terms import Variable

Edge = tuple[Key, int, int]  # a predicate, and the places of the larger and the smaller constant


class RecursionGuard:
    """The order that recursive clauses go down, which the first of them settles."""

    def __init__(self, facts: FactBase, target: Key) -> None:
        self.facts, self.target = facts, target
        self.place: int | None = None
        self.edges: frozenset[Edge] = frozenset()
        self._acyclic: dict[frozenset[Edge], bool] = {}

    def order(self, head: Literal, body: Sequence[Literal]) -> tuple[int, frozenset[Edge]] | None:
        """The place and the relations by which every recursive call of a clause is smaller; None where none is."""
        calls = [literal for literal in body if literal.key == self.target]
        for place in range(self.target[1]) if self.place is None else [self.place]:
            edges: frozenset[Edge] | None = self.edges
            for call in calls:
                edges = None if edges is None else self._chain(head, body, call, place, edges)
            if edges is not None:
                return place, edges
        return None

    def accept(self, head: Literal, body: Sequence[Literal]) -> None:
        """Settle the order by a clause that was learned."""
        if any(literal.key == self.target for literal in body):
            found = self.order(head, body)
            assert found is not None
            self.place, self.edges = found

    def _chain(
        self, head: Literal, body: Sequence[Literal], call: Literal, place: int, edges: frozenset[Edge]
    ) -> frozenset[Edge] | None:
        """The relations of a shortest chain from the head's argument to the call's, with those used before."""
        start, end = head.args[place], call.args[place]
        if not isinstance(start, Variable) or not isinstance(end, Variable) or start == end or call.negated:
            return None
        # Only what the clause says before the call is sure to hold when it is made.
        before = body[: list(body).index(call)]
        paths: dict[Variable, frozenset[Edge]] = {start: edges}
        waiting = [start]
        while waiting:
            variable = waiting.pop(0)
            for edge, following in self._steps(before, variable):
                used = paths[variable] | {edge}
                if following not in paths and self.is_acyclic(used):
                    paths[following] = used
                    waiting.append(following)
        return paths.get(end)

    def _steps(self, body: Sequence[Literal], variable: Variable) -> Iterable[tuple[Edge, Variable]]:
        for literal in body:
            if literal.negated or literal.is_comparison or literal.key == self.target:
                continue
            for a, first in enumerate(literal.args):
                for b, second in enumerate(literal.args):
                    if first == variable and isinstance(second, Variable) and second != variable:
                        yield (literal.key, a, b), second

    def is_acyclic(self, edges: frozenset[Edge]) -> bool:
        """Whether the pairs of some relations, taken together, have no cycle."""
        if edges not in self._acyclic:
            pairs = [self.facts.relation(key).rows[:, [a, b]] for key, a, b in edges]
            links = np.concatenate(pairs) if pairs else np.empty((0, 2), dtype=np.int64)
            size = max(1, len(self.facts.terms))
            graph = coo_array(
                (np.ones(len(links), dtype=np.int8), (links[:, 0], links[:, 1])), shape=(size, size)
            )
            components = connected_components(graph.tocsr(), directed=True, connection="strong")[0]
            self._acyclic[edges] = bool(components == size and (links[:, 0] != links[:, 1]).all())
        return self._acyclic[edges]

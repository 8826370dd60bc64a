"""Greedy search for the graph of a Bayesian network (贪心结构搜索): one edge added, deleted or reversed at a
time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from tercet.graphical.structure.network_score import Constraints, FamilyScores, better, closure

Parents = list[set[int]]
Move = tuple[str, int, int]


class HillClimbing:
    """State of a search over directed acyclic graphs by moves of one edge.

    `change[p, c]` is what the score of c's family gains or loses when the edge p -> c is toggled; a reversal is the
    sum of two of them. After a move only the columns of the families it changed are computed again.

    Parameters
    ----------
    scores : FamilyScores
        Scores of families.
    constraints : Constraints
        Edges that must or must not be there.
    """

    def __init__(self, scores: FamilyScores, constraints: Constraints) -> None:
        self.scores, self.constraints, self.d = scores, constraints, scores.d
        self.start(constraints.parents())

    def start(self, parents: Iterable[Iterable[int]]) -> None:
        """Begin at a network."""
        self.parents: Parents = [set(own) for own in parents]
        self.change = np.full((self.d, self.d), np.inf)
        self.score = self.scores.total(self.parents)
        self._refresh(range(self.d))

    def best_move(self, forbidden: Iterable[bytes] = ()) -> tuple[Move, float] | None:
        """The move that makes the score least, and by how much it changes; of equals the first.

        Moves to one of the `forbidden` networks are left out.
        """
        kinds, deltas = self._deltas()
        forbidden = set(forbidden)
        order = np.argsort(deltas, axis=None, kind="stable")
        for place in order:
            delta = float(deltas.flat[place])
            if not np.isfinite(delta):
                return None
            level = delta + 1e-9 * (1.0 + abs(self.score))  # equal but for rounding: the first
            for equal in np.flatnonzero((deltas <= level).ravel() & (deltas >= delta).ravel()):
                kind, p, c = np.unravel_index(int(equal), deltas.shape)
                move = (kinds[kind], int(p), int(c))
                if not forbidden or self._after(move) not in forbidden:
                    return move, float(deltas.flat[equal])
        return None

    def apply(self, move: Move) -> None:
        """Make a move."""
        kind, p, c = move
        if kind == "add":
            self.parents[c].add(p)
        else:
            self.parents[c].discard(p)
        if kind == "reverse":
            self.parents[p].add(c)
        self._refresh([c, p] if kind == "reverse" else [c])
        self.score = self.scores.total(self.parents)

    def key(self) -> bytes:
        """The network as bytes."""
        return self._adjacency().tobytes()

    def _adjacency(self) -> np.ndarray:
        edges = np.zeros((self.d, self.d), dtype=bool)
        for c, own in enumerate(self.parents):
            edges[list(own), c] = True
        return edges

    def _after(self, move: Move) -> bytes:
        edges = self._adjacency()
        kind, p, c = move
        edges[p, c] = kind == "add"
        if kind == "reverse":
            edges[c, p] = True
        return edges.tobytes()

    def _refresh(self, children: Iterable[int]) -> None:
        """Compute the columns of some children again."""
        children = list(children)
        adding, families = [], []
        for c in children:
            own = self.parents[c]
            open_ = [p for p in self.constraints.candidates(c) if p not in own]
            adding.append(open_)
            families.append((c, frozenset(own), open_ or [-1]))
        for c, open_, scores in zip(children, adding, self.scores.many(families)):
            now = self.scores.family(c, self.parents[c])
            self.change[:, c] = np.inf
            if open_:
                self.change[open_, c] = scores - now
            for p in self.parents[c]:
                self.change[p, c] = self.scores.family(c, self.parents[c] - {p}) - now

    def _deltas(self) -> tuple[list[str], np.ndarray]:
        """The change of score by each kind of move on each pair; infinity where a move is not allowed."""
        edges, limits = self._adjacency(), self.constraints
        reach = closure(self.parents)
        room = edges.sum(axis=0) < limits.max_parents
        removable = edges & ~limits.required
        add = np.where(~edges & limits.allowed & ~reach.T & room[None, :], self.change, np.inf)
        delete = np.where(removable, self.change, np.inf)
        # p -> c may be reversed unless there is another path from p to c
        detour = (edges.astype(np.int64) @ reach.astype(np.int64)) - edges > 0
        turn = removable & limits.allowed.T & ~detour & room[:, None]
        with np.errstate(invalid="ignore"):
            reverse = np.where(turn, self.change + self.change.T, np.inf)
        return ["add", "delete", "reverse"], np.stack([add, delete, reverse])


def hill_climbing(
    search: HillClimbing, *, tabu: int = 0, restarts: int = 0, rng: np.random.Generator | None = None
) -> Iterator[tuple[float, Parents]]:
    """Climb, then climb again from random networks near the best one; yields the best so far after each move."""
    best, kept = search.score, _copied(search.parents)
    yield best, kept
    for start in range(restarts + 1):
        if start and rng is not None:
            search.start(perturbed(search, kept, max(search.d // 2, 3), rng))
        for score, parents in climb(search, tabu):
            if better(score, best):
                best, kept = score, parents
            yield best, kept


def climb(search: HillClimbing, tabu: int = 0) -> Iterator[tuple[float, Parents]]:
    """Moves until none makes the score less; yields the best score and network after each.

    With `tabu`, moves that make it worse are made, too, but not back to one of the last `tabu` networks; the search
    ends when so many moves in a row led to nothing better.
    """
    best, kept = search.score, _copied(search.parents)
    visited: deque[bytes] = deque([search.key()], maxlen=max(tabu, 1))
    patience = tabu
    while True:
        found = search.best_move(visited if tabu else ())
        if found is None or (not tabu and not better(search.score + found[1], search.score)):
            return
        search.apply(found[0])
        visited.append(search.key())
        if better(search.score, best):
            best, kept, patience = search.score, _copied(search.parents), tabu
        else:
            patience -= 1
        yield best, kept
        if tabu and patience < 0:
            return


def perturbed(search: HillClimbing, parents: Parents, moves: int, rng: np.random.Generator) -> Parents:
    """A network some random allowed moves away from another."""
    search.start(parents)
    for _ in range(moves):
        kinds, deltas = search._deltas()
        allowed = np.argwhere(np.isfinite(deltas))
        if not len(allowed):
            break
        kind, p, c = allowed[rng.integers(len(allowed))]
        search.apply((kinds[kind], int(p), int(c)))
    return _copied(search.parents)


def _copied(parents: Parents) -> Parents:
    return [set(own) for own in parents]

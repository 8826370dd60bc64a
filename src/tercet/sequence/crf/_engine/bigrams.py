"""What a random field minimises where attributes act on transitions too: steps have tables of their own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.sequence.crf._engine.objective import BLOCK, Block, ChainObjective
from tercet.sequence.crf._engine.products import LEAST, Features, Gather
from tercet.sequence.crf._engine.transitions import StepsAt, by_column, kinds, on_columns, step_tables
from tercet.sequence.crf.features import known_steps
from tercet.sequence.text.sequences import Sequences

ROOM = 1 << 24  # expected steps in memory at a time: tokens times pairs of labels
FEWEST = 1 << 12  # tokens at a time where there are many labels


class Kinds(NamedTuple):
    """The kinds of steps in the pieces of a block, one piece after another: the attributes of each kind (also by
    attribute, to gather), the kind of each token within its piece, and which kinds a piece has."""

    X: sparse.csr_array
    gather: Gather
    kind: np.ndarray
    of: dict[tuple[int, int], tuple[int, int]]


class BigramObjective(ChainObjective):
    """The sum over sequences of -log P(y|x), plus l2 |w|², with weights of (attribute, label, label) among w.

    The parameters are those of `ChainObjective`.
    """

    def __init__(
        self,
        X: Sequences,
        y: np.ndarray,
        weight: np.ndarray | None,
        features: Features,
        l2: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        assert features.bigrams is not None
        columns, self.bigrams = by_column(features.bigrams)
        self.acting, self.kinds = on_columns(X.rows, columns), dict[int, Kinds]()
        super().__init__(X, y, weight, features, l2, n_jobs)
        most = max(of_block.X.shape[0] for of_block in self.kinds.values())
        self.step_room = np.zeros((most, max(self.bigrams.n_labels, LEAST)))

    def _tokens_at_once(self) -> int:
        return min(BLOCK, max(FEWEST, ROOM // self.bigrams.n_labels))

    def _block(self, first: int, last: int) -> Block:
        block = super()._block(first, last)
        X = self.acting[self.X.borders[first] : self.X.borders[last]]
        kind, starts, of, n = np.empty(X.shape[0], dtype=np.int64), [], {}, 0
        for span in block.chunks:
            a, b = block.borders[span[0]], block.borders[span[1]]
            first_of, kind[a:b] = kinds(X[a:b])
            starts.append(a + first_of)
            of[span] = n, n + first_of.size
            n += first_of.size
        X = X[np.concatenate(starts)]
        self.kinds[first] = Kinds(X, Gather(X, self.bigrams), kind, of)
        return block

    def _empirical(self) -> np.ndarray:
        counts = super()._empirical()
        to, pair = known_steps(self.X, self.y, self.features.n_labels)
        per_token = np.repeat(np.where(self.hidden, 0.0, self.weight), self.X.lengths)[to]
        shown = sparse.csr_array((per_token, (to, pair)), shape=(self.y.size, self.bigrams.n_labels))
        seen = (self.acting.T @ shown).tocsr()
        self.features.split(counts)[2][:] = seen[self.bigrams.attribute, self.bigrams.label]
        return counts

    def curvature(self) -> np.ndarray:
        diagonal, p = super().curvature(), 1 / self.bigrams.n_labels
        per_token = np.repeat(self.weight, self.X.lengths)
        per_token[self.X.borders[:-1]] = 0.0  # no step leads there
        of_pair = np.asarray(self.acting.multiply(self.acting).T @ per_token) * p * (1 - p) + 2 * self.l2
        self.features.split(diagonal)[2][:] = np.where(of_pair > 0, of_pair, 1.0)[self.bigrams.attribute]
        return diagonal

    def steps(self, w: np.ndarray) -> np.ndarray:
        """The scores of the steps to all tokens, of shape (n_tokens, n_labels, n_labels)."""
        shared, table = self._step_weights(w)
        return step_tables(self.acting, 0, self.y.size, table, shared)

    def add_steps(self, edge: np.ndarray, out: np.ndarray) -> None:
        """Add to out, for each transition and bigram, the sum of its steps."""
        if edge.ndim == 2:
            super().add_steps(edge, out)
            return
        super().add_steps(edge.sum(axis=0), out)
        room = np.zeros((len(edge), self.step_room.shape[1]))
        room[:, : self.bigrams.n_labels] = edge.reshape(len(edge), -1)
        Gather(self.acting, self.bigrams).add(room, self.features.split(out)[2], self.n_jobs)

    def _step_weights(self, w: np.ndarray) -> tuple[np.ndarray, Any]:
        return self.features.steps(w), self.bigrams.states(self.features.split(w)[2])

    def _piece(
        self, span: tuple[int, int], block: Block, node: np.ndarray, states: Any, steps: Any
    ) -> tuple[float, np.ndarray]:
        of_block, (shared, table) = self.kinds[block.first], steps
        first, last = of_block.of[span]
        kind = of_block.kind[block.borders[span[0]] : block.borders[span[1]]]
        here = StepsAt(step_tables(of_block.X, first, last, table, shared), kind)
        log_z, edge = super()._piece(span, block, node, states, here)
        self.step_room[first:last, : self.bigrams.n_labels] = edge.reshape(last - first, -1)
        return log_z, edge.sum(axis=0)

    def _add_expected(self, block: Block, edge: np.ndarray, g: np.ndarray) -> None:
        super()._add_expected(block, edge, g)
        of_block = self.kinds[block.first]
        of_block.gather.add(self.step_room[: of_block.X.shape[0]], self.features.split(g)[2], self.n_jobs)


__all__ = ["BigramObjective"]

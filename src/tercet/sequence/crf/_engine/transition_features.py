"""The features of transitions in blocks of sequences: scores from weights, and expected and empirical counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.sequence.base import Sequences
from tercet.sequence.crf._engine.features import MIN_COLUMNS, Features, FeatureSums, known_transitions
from tercet.sequence.crf._engine.sequence_blocks import SequenceBlock, Span
from tercet.sequence.crf._engine.transition_tables import (
    TransitionScores,
    TransitionTables,
    by_column,
    csr_columns,
    transition_tables,
    unique_rows,
)


class SharedTransitions:
    """Transition scores that all tokens share: one table (from, to).

    Parameters
    ----------
    X : Sequences
        Tokens as rows of numbers, dense or CSR.
    features : Features
    n_jobs : int, optional
    """

    def __init__(self, X: Sequences, features: Features, n_jobs: int | None = None) -> None:
        self.X, self.features, self.n_jobs = X, features, n_jobs

    def add_block(self, first: int, last: int, chunks: list[Span]) -> None:
        """Prepare the sequences from first to last, which are computed chunk by chunk."""

    def weights(self, w: np.ndarray) -> Any:
        """The weights of transitions as tables."""
        return self.features.transition_table(w)

    def chunk_scores(self, weights: Any, block: int, span: Span) -> TransitionScores:
        """The scores in a chunk of the block whose first sequence is `block`."""
        return weights

    def keep_chunk(self, edge: np.ndarray, block: int, span: Span) -> np.ndarray:
        """Keep the expected transitions of a chunk by token; their sum (from, to)."""
        return edge

    def add_expected(self, edge: np.ndarray, block: int, out: np.ndarray) -> None:
        """Add the expected transitions of a block (`edge`: their sum) to the counts of the features."""
        self.add_counts(edge, out)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """The scores (from, to) of all tokens, or of each."""
        return self.features.transition_table(w)

    def add_counts(self, edge: np.ndarray, out: np.ndarray) -> None:
        """Add weighted transitions, in the shape of `scores`, to the counts of the features."""
        transitions = self.features.split(out)[1]
        transitions += edge[tuple(self.features.transitions.T)]

    def add_empirical(self, block: SequenceBlock, y: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
        """Add the transitions of labels y of a block, times a weight for each token, to the counts of the
        features."""
        N = self.features.n_labels
        to, pair = known_transitions(block.borders, y, N)
        SharedTransitions.add_counts(self, np.bincount(pair, weight[to], N * N).reshape(N, N), out)

    def squares(self, block: SequenceBlock, weight: np.ndarray) -> np.ndarray:
        """The sums over the transitions of a block of squared transition attributes."""
        return np.empty(0)


class BlockTables(NamedTuple):
    """The different transition attributes in the chunks of a block, chunk by chunk.

    Attributes
    ----------
    X : CSR matrix of shape (n_tables, n_columns)
        The attributes of each table of scores.
    sums : FeatureSums
        Of X.
    of_token : array of int of shape (n_tokens,)
        The table of each token within its chunk.
    tables : dict
        The tables of each chunk (from, to).
    """

    X: sparse.csr_array
    sums: FeatureSums
    of_token: np.ndarray
    tables: dict[Span, tuple[int, int]]


class BigramTransitions(SharedTransitions):
    """Transition scores of tokens with transition attributes; parameters as for `SharedTransitions`."""

    def __init__(self, X: Sequences, features: Features, n_jobs: int | None = None) -> None:
        super().__init__(X, features, n_jobs)
        assert features.bigrams is not None
        columns, self.bigrams = by_column(features.bigrams)
        self.rows, self.blocks = csr_columns(X.rows, columns), dict[int, BlockTables]()
        self.expected = np.zeros((0, max(self.bigrams.n_labels, MIN_COLUMNS)))  # by table of a block

    def add_block(self, first: int, last: int, chunks: list[Span]) -> None:
        borders = self.X.borders[first : last + 1] - self.X.borders[first]
        X = self.rows[self.X.borders[first] : self.X.borders[last]]
        of_token, representatives, tables, n = np.empty(X.shape[0], dtype=np.int64), [], {}, 0
        for span in chunks:
            a, b = borders[span[0]], borders[span[1]]
            unique, of_token[a:b] = unique_rows(X[a:b])
            representatives.append(a + unique)
            tables[span] = n, n + unique.size
            n += unique.size
        X = X[np.concatenate(representatives)]
        self.blocks[first] = BlockTables(X, FeatureSums(X, self.bigrams), of_token, tables)
        if n > len(self.expected):
            self.expected = np.zeros((n, self.expected.shape[1]))

    def weights(self, w: np.ndarray) -> tuple[np.ndarray, Any]:
        return self.features.transition_table(w), self.bigrams.state_table(self.features.split(w)[2])

    def chunk_scores(self, weights: Any, block: int, span: Span) -> TransitionTables:
        here, start = self.blocks[block], self.X.borders[block]
        of_token = here.of_token[
            self.X.borders[block + span[0]] - start : self.X.borders[block + span[1]] - start
        ]
        return TransitionTables(transition_tables(here.X, *here.tables[span], *weights), of_token)

    def keep_chunk(self, edge: np.ndarray, block: int, span: Span) -> np.ndarray:
        first, last = self.blocks[block].tables[span]
        self.expected[first:last, : self.bigrams.n_labels] = edge.reshape(last - first, -1)
        return edge.sum(axis=0)

    def add_expected(self, edge: np.ndarray, block: int, out: np.ndarray) -> None:
        super().add_counts(edge, out)
        here = self.blocks[block]
        here.sums.add(self.expected[: here.X.shape[0]], self.features.split(out)[2], self.n_jobs)

    def scores(self, w: np.ndarray) -> np.ndarray:
        return transition_tables(self.rows, 0, self.rows.shape[0], *self.weights(w))

    def add_counts(self, edge: np.ndarray, out: np.ndarray) -> None:
        super().add_counts(edge.sum(axis=0), out)
        padded = np.zeros((len(edge), self.expected.shape[1]))
        padded[:, : self.bigrams.n_labels] = edge.reshape(len(edge), -1)
        FeatureSums(self.rows, self.bigrams).add(padded, self.features.split(out)[2], self.n_jobs)

    def add_empirical(self, block: SequenceBlock, y: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
        super().add_empirical(block, y, weight, out)
        N = self.features.n_labels
        to, pair = known_transitions(block.borders, y, N)
        one_hot = sparse.csr_array((weight[to], (to, pair)), shape=(y.size, N * N))
        counts = (self._rows(block).T @ one_hot).tocsr()
        self.features.split(out)[2][:] += counts[self.bigrams.attribute, self.bigrams.label]

    def squares(self, block: SequenceBlock, weight: np.ndarray) -> np.ndarray:
        per_token, rows = np.repeat(weight, np.diff(block.borders)), self._rows(block)
        per_token[block.borders[:-1]] = 0.0  # no transition leads to a first token
        return np.asarray(rows.multiply(rows).T @ per_token)

    def _rows(self, block: SequenceBlock) -> sparse.csr_array:
        start = self.X.borders[block.first]
        return self.rows[start : start + block.borders[-1]]


__all__ = ["BigramTransitions", "SharedTransitions"]

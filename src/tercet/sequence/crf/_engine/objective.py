"""The objective of a linear-chain CRF and its gradient, computed in blocks and chunks of sequences.

The score of labels y for tokens x is the sum of w[a, y_t] x[t, a] over tokens t and attributes a, and of
u[y_{t-1}, y_t] over neighbours. Only pairs (a, label) and (label, label) that are features have a weight; all
weights are in one vector, those of the states first, sorted by attribute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.parallel import total
from tercet.sequence.base import Sequences
from tercet.sequence.crf._engine.features import (
    MIN_COLUMNS,
    Features,
    FeatureSums,
    known_transitions,
    observation_scores,
)
from tercet.sequence.crf._engine.marginals import chain_marginals
from tercet.sequence.crf._engine.transition_tables import (
    TransitionScores,
    TransitionTables,
    by_column,
    csr_columns,
    transition_tables,
    unique_rows,
)

Span = tuple[int, int]  # from one sequence of a block to another

CHUNK = 1024  # tokens in a piece of work: its tables stay in a core's own cache
BLOCK = 1 << 17  # tokens whose probabilities are in memory at a time
BLOCK_TRANSITIONS = 1 << 24  # expected transitions in memory at a time: tokens times pairs of labels
FEWEST_TOKENS = 1 << 12  # tokens at a time where there are many labels


class SequenceBlock(NamedTuple):
    """Sequences whose marginals are in memory at a time.

    Attributes
    ----------
    first : int
        The first sequence.
    X, borders : rows of their tokens, and where each sequence begins among these
    sums : FeatureSums
        Of X.
    chunks : list of BlockChunk
        Pieces of work.
    """

    first: int
    X: Any
    borders: np.ndarray
    sums: FeatureSums
    chunks: list[BlockChunk]


class BlockChunk(NamedTuple):
    """Sequences of a block that are computed together.

    Attributes
    ----------
    span : (int, int)
        From one sequence of the block to another.
    rows : slice
        Their tokens in the block.
    borders : array of int
        Where each sequence begins among these.
    weight : array
        How much each sequence counts.
    hidden : array of bool, or None
        Which sequences have unknown labels; None where none has.
    """

    span: Span
    rows: slice
    borders: np.ndarray
    weight: np.ndarray
    hidden: np.ndarray | None


class ChainObjective:
    """f(w) = sum over sequences of -log P(y|x), plus l2 |w|².

    Where labels are unknown, P is that of all ways to complete them: the difference of two log Z, one of which is
    over the paths that agree with the labels. (f is convex only where all labels are known.)

    Parameters
    ----------
    X : Sequences
        Tokens as rows of numbers, dense or CSR.
    y : array of int of shape (n_rows,)
        The index of each label; -1 where it is unknown.
    weight : array of shape (n_sequences,) or None
        How much each sequence counts.
    features : Features
    l2 : float, default=0.0
        The strength of the penalty.
    n_jobs : int, optional
        Threads.

    Attributes
    ----------
    empirical : array of shape (n_weights,)
        The counts of the features in the sequences that are wholly labelled.
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
        self.X, self.y, self.features, self.l2, self.n_jobs = X, y, features, l2, n_jobs
        self.weight = np.ones(len(X)) if weight is None else weight.astype(np.float64)
        self.weighted = bool((self.weight != 1).any())
        self.hidden = np.add.reduceat(y < 0, X.borders[:-1]) > 0  # sequences with unknown labels
        kind = SharedTransitions if features.bigrams is None else BigramTransitions
        self.transitions = kind(X, features, n_jobs)
        self.blocks = [self._block(*span) for span in X.chunks(self.transitions.block_tokens)]
        longest = max(block.X.shape[0] for block in self.blocks)
        # the marginals of a block; columns past the labels stay zero
        self.node = np.zeros((longest, max(features.n_labels, MIN_COLUMNS)))
        self.empirical = self._empirical()

    def _block(self, first: int, last: int) -> SequenceBlock:
        a, b = self.X.borders[first], self.X.borders[last]
        X = self.X.rows[a:b]
        part = Sequences(X, self.X.borders[first : last + 1] - a, False)
        spans = part.chunks(CHUNK)
        self.transitions.add_block(first, last, spans)
        chunks = [self._part(first, span, part.borders) for span in spans]
        return SequenceBlock(first, X, part.borders, FeatureSums(X, self.features), chunks)

    def _part(self, first: int, span: Span, borders: np.ndarray) -> BlockChunk:
        borders = borders[span[0] : span[1] + 1]
        here = slice(first + span[0], first + span[1])
        hidden = self.hidden[here] if self.hidden[here].any() else None
        rows = slice(int(borders[0]), int(borders[-1]))
        return BlockChunk(span, rows, borders - borders[0], self.weight[here], hidden)

    def _empirical(self) -> np.ndarray:
        counts, labels = np.zeros(self.features.size), np.arange(self.features.n_labels)
        per_token = np.repeat(np.where(self.hidden, 0.0, self.weight), self.X.lengths)
        self.add_states(lambda at: (self.y[at, None] == labels) * per_token[at, None], counts)
        self.transitions.add_empirical(self.y, per_token, counts)
        return counts

    def add_states(self, node: Callable[[slice], np.ndarray], out: np.ndarray) -> None:
        """Add to out, for each state feature, its sum over all tokens; `node` gives the weights of all labels of
        some tokens, of shape (n_tokens, n_labels)."""
        for block in self.blocks:
            start, n = self.X.borders[block.first], block.X.shape[0]
            self.node[:n, : self.features.n_labels] = node(slice(start, start + n))
            block.sums.add(self.node[:n], out, self.n_jobs)

    def curvature(self) -> np.ndarray:
        """The diagonal of the Hessian at w = 0, where all labels are equally likely."""
        features, X = self.features, self.X
        per_token, p = np.repeat(self.weight, X.lengths), 1 / features.n_labels
        squares = X.rows.multiply(X.rows) if sparse.issparse(X.rows) else X.rows**2
        of_attribute = np.asarray(squares.T @ per_token) * p * (1 - p) + 2 * self.l2
        diagonal = np.empty(features.size)
        features.split(diagonal)[0][:] = of_attribute[features.attribute]
        self.transitions.set_curvature(self.weight, self.l2, diagonal)
        return np.where(diagonal > 0, diagonal, 1.0)

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """f(w) = Σ log Z(x) - w·(empirical counts) + l2 |w|², and its gradient: expected less empirical counts,
        plus 2 l2 w."""
        f = self.l2 * float(w @ w) - float(self.empirical @ w)
        g = 2 * self.l2 * w - self.empirical
        weights = self.features.state_table(w), self.transitions.weights(w)
        for block in self.blocks:
            node = self.node[: block.X.shape[0]]
            labels = node[:, : self.features.n_labels]
            log_z, edge = total(self._chunk, block.chunks, block, labels, *weights, n_jobs=self.n_jobs)
            f += float(log_z)
            block.sums.add(node, g, self.n_jobs)  # expected counts of states
            self.transitions.add_expected(edge, block.first, g)
        return f, g

    def value(self, w: np.ndarray) -> float:
        """f(w)."""
        return self.value_and_gradient(w)[0]

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """The gradient of f at w."""
        return self.value_and_gradient(w)[1]

    def _chunk(
        self, chunk: BlockChunk, block: SequenceBlock, node: np.ndarray, states: Any, transitions: Any
    ) -> tuple[float, np.ndarray]:
        """log Z and the expected transitions of a chunk of sequences; the marginals of its tokens go to `node`."""
        span, rows, borders, weight, hidden = chunk
        scores = observation_scores(block.X, rows.start, rows.stop, states, self.features.n_labels)
        pairs = self.transitions.chunk_scores(transitions, block.first, span)
        whole = node[rows] if node.flags.c_contiguous else None
        found = chain_marginals(scores, borders, pairs, weight if self.weighted else None, whole)
        if self.weighted:
            np.multiply(found.node, np.repeat(weight, np.diff(borders))[:, None], out=node[rows])
        elif whole is None:
            node[rows] = found.node
        log_z, edge = float(weight @ found.log_z), found.edge
        if hidden is not None:  # less what is expected of the paths that agree with the known labels
            start = self.X.borders[block.first] + rows.start
            known = self.y[start : start + len(scores)]
            clamped, borders, at = clamp_known_labels(scores, known, borders, hidden)
            if isinstance(pairs, TransitionTables):
                pairs = pairs._replace(of_token=pairs.of_token[at])
            found = chain_marginals(clamped, borders, pairs, weight[hidden])
            node[rows.start + at] -= found.node * np.repeat(weight[hidden], np.diff(borders))[:, None]
            log_z, edge = log_z - float(weight[hidden] @ found.log_z), edge - found.edge
        return log_z, self.transitions.keep_chunk(edge, block.first, span)


def clamp_known_labels(
    scores: np.ndarray, known: np.ndarray, borders: np.ndarray, hidden: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The scores of the partly labelled sequences, -inf for labels that differ from known ones; their borders, and
    the rows they were taken from."""
    lengths = np.diff(borders)
    at = np.flatnonzero(np.repeat(hidden, lengths))
    other = (known[at, None] >= 0) & (known[at, None] != np.arange(scores.shape[1]))
    return np.where(other, -np.inf, scores[at]), np.concatenate([[0], np.cumsum(lengths[hidden])]), at


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
        self.block_tokens = BLOCK

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

    def add_empirical(self, y: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
        """Add the transitions of labels y, times a weight for each token, to the counts of the features."""
        N = self.features.n_labels
        to, pair = known_transitions(self.X, y, N)
        self.add_counts(np.bincount(pair, weight[to], N * N).reshape(N, N), out)

    def set_curvature(self, weight: np.ndarray, l2: float, diagonal: np.ndarray) -> None:
        """Write the second derivatives of the objective at w = 0, where all pairs of labels are equally likely."""
        p = 1 / self.features.n_labels**2
        self.features.split(diagonal)[1][:] = float(weight @ (self.X.lengths - 1)) * p * (1 - p) + 2 * l2


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
        self.block_tokens = min(BLOCK, max(FEWEST_TOKENS, BLOCK_TRANSITIONS // self.bigrams.n_labels))
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

    def add_empirical(self, y: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
        N = self.features.n_labels
        to, pair = known_transitions(self.X, y, N)
        super().add_counts(np.bincount(pair, weight[to], N * N).reshape(N, N), out)
        one_hot = sparse.csr_array((weight[to], (to, pair)), shape=(y.size, N * N))
        counts = (self.rows.T @ one_hot).tocsr()
        self.features.split(out)[2][:] += counts[self.bigrams.attribute, self.bigrams.label]

    def set_curvature(self, weight: np.ndarray, l2: float, diagonal: np.ndarray) -> None:
        super().set_curvature(weight, l2, diagonal)
        per_token, p = np.repeat(weight, self.X.lengths), 1 / self.bigrams.n_labels
        per_token[self.X.borders[:-1]] = 0.0  # no transition leads to a first token
        curvature = np.asarray(self.rows.multiply(self.rows).T @ per_token) * p * (1 - p) + 2 * l2
        self.features.split(diagonal)[2][:] = curvature[self.bigrams.attribute]


__all__ = ["ChainObjective", "SequenceBlock", "Span"]

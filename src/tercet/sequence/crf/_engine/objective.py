"""The objective of a linear-chain CRF and its gradient, computed in blocks and chunks of sequences.

The score of labels y for tokens x is the sum of w[a, y_t] x[t, a] over tokens t and attributes a, and of
u[y_{t-1}, y_t] over neighbours. Only pairs (a, label) and (label, label) that are features have a weight; all
weights are in one vector, those of the states first, sorted by attribute.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.parallel import total
from tercet.core.reduction import reduced
from tercet.sequence.base import Sequences
from tercet.sequence.crf._engine.features import (
    FEWEST_TOKENS,
    MIN_COLUMNS,
    Features,
    FeatureSums,
    observation_scores,
    tokens_together,
)
from tercet.sequence.crf._engine.marginals import chain_marginals
from tercet.sequence.crf._engine.sequence_blocks import BlockChunk, SequenceBlock, Span
from tercet.sequence.crf._engine.transition_features import BigramTransitions, SharedTransitions
from tercet.sequence.crf._engine.transition_tables import TransitionTables, by_column

CHUNK = 1024  # tokens in a piece of work: its tables stay in a core's own cache
BLOCK = 1 << 17  # tokens whose probabilities are in memory at a time
BLOCK_TRANSITIONS = 1 << 24  # expected transitions in memory at a time: tokens times pairs of labels


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
    blocks : list of (int, int), optional
        The sequences whose marginals are in memory at a time; by default they are cut by the data alone. What is
        summed over sequences is summed block by block, and over the tree of `core.reduction`.
    """

    def __init__(
        self,
        X: Sequences,
        y: np.ndarray,
        weight: np.ndarray | None,
        features: Features,
        l2: float = 0.0,
        n_jobs: int | None = None,
        blocks: list[Span] | None = None,
    ) -> None:
        self.X, self.y, self.features, self.l2, self.n_jobs = X, y, features, l2, n_jobs
        self.weight = np.ones(len(X)) if weight is None else weight.astype(np.float64)
        self.weighted = bool((self.weight != 1).any())
        self.hidden = np.add.reduceat(y < 0, X.borders[:-1]) > 0  # sequences with unknown labels
        kind = SharedTransitions if features.bigrams is None else BigramTransitions
        self.transitions = kind(X, features, n_jobs)
        blocks = X.chunks(tokens_at_once(X, features)) if blocks is None else blocks
        self.blocks = [self._block(*span) for span in blocks]
        longest = max(block.X.shape[0] for block in self.blocks)
        # the marginals of a block; columns past the labels stay zero
        self.node = np.zeros((longest, max(features.n_labels, MIN_COLUMNS)))

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

    @functools.cached_property
    def empirical(self) -> np.ndarray:
        """The counts of the features in the sequences that are wholly labelled."""
        return reduced(map(self._empirical, self.blocks))

    def _empirical(self, block: SequenceBlock) -> np.ndarray:
        counts, here = np.zeros(self.features.size), self._sequences(block)
        y = self.y[self.X.borders[here.start] : self.X.borders[here.stop]]
        per_token = np.repeat(np.where(self.hidden[here], 0.0, self.weight[here]), np.diff(block.borders))
        node = self.node[: y.size]
        node[:, : self.features.n_labels] = (y[:, None] == np.arange(self.features.n_labels)) * per_token[
            :, None
        ]
        block.sums.add(node, counts, self.n_jobs)
        self.transitions.add_empirical(block, y, per_token, counts)
        return counts

    def _sequences(self, block: SequenceBlock) -> slice:
        return slice(block.first, block.first + block.borders.size - 1)

    def add_states(self, node: Callable[[slice], np.ndarray], out: np.ndarray) -> None:
        """Add to out, for each state feature, its sum over all tokens; `node` gives the weights of all labels of
        some tokens, of shape (n_tokens, n_labels)."""
        for block in self.blocks:
            start, n = self.X.borders[block.first], block.X.shape[0]
            self.node[:n, : self.features.n_labels] = node(slice(start, start + n))
            block.sums.add(self.node[:n], out, self.n_jobs)

    def curvature(self) -> np.ndarray:
        """The diagonal of the Hessian at w = 0, where all labels are equally likely."""
        return curvature_at_zero(self.features, self.squares(), self.l2)

    def squares(self) -> tuple[np.ndarray, float, np.ndarray]:
        """Sums over all tokens of squared attributes, of transitions, and of squared transition attributes."""
        return reduced(map(self._squares, self.blocks))

    def _squares(self, block: SequenceBlock) -> tuple[np.ndarray, float, np.ndarray]:
        weight, lengths = self.weight[self._sequences(block)], np.diff(block.borders)
        squares = block.X.multiply(block.X) if sparse.issparse(block.X) else block.X**2
        of_states = np.asarray(squares.T @ np.repeat(weight, lengths))
        return of_states, float(weight @ (lengths - 1)), self.transitions.squares(block, weight)

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """f(w) = Σ log Z(x) - w·(empirical counts) + l2 |w|², and its gradient: expected less empirical counts,
        plus 2 l2 w."""
        log_z, expected = self.expected_counts(w)
        f = self.l2 * float(w @ w) - float(self.empirical @ w) + float(log_z)
        g = 2 * self.l2 * w  # in place: there may be millions of weights
        g -= self.empirical
        g += expected
        return f, g

    def expected_counts(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Σ log Z(x), and the expected counts of the features."""
        weights = self.features.state_table(w), self.transitions.weights(w)
        return reduced(self._expected(block, *weights) for block in self.blocks)

    def _expected(self, block: SequenceBlock, states: Any, transitions: Any) -> tuple[float, np.ndarray]:
        node, counts = self.node[: block.X.shape[0]], np.zeros(self.features.size)
        labels = node[:, : self.features.n_labels]
        log_z, edge = total(self._chunk, block.chunks, block, labels, states, transitions, n_jobs=self.n_jobs)
        block.sums.add(node, counts, self.n_jobs)
        self.transitions.add_expected(edge, block.first, counts)
        return float(log_z), counts

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


def tokens_at_once(X: Sequences, features: Features) -> int:
    """Tokens whose marginals are in memory at a time."""
    most = BLOCK
    if features.bigrams is not None:
        most = min(BLOCK, max(FEWEST_TOKENS, BLOCK_TRANSITIONS // features.bigrams.n_labels))
    return tokens_together(X, most)


def curvature_at_zero(
    features: Features, squares: tuple[np.ndarray, float, np.ndarray], l2: float
) -> np.ndarray:
    """The diagonal of the Hessian at w = 0 from the sums of `ChainObjective.squares`; 1 where it is zero."""
    of_attribute, transitions, of_transition_attribute = squares
    diagonal, p = np.empty(features.size), 1 / features.n_labels
    of_states, of_transitions, of_bigrams = features.split(diagonal)
    of_states[:] = (of_attribute * p * (1 - p) + 2 * l2)[features.attribute]
    p = 1 / features.n_labels**2
    of_transitions[:] = transitions * p * (1 - p) + 2 * l2
    if features.bigrams is not None:
        bigrams = by_column(features.bigrams)[1]
        of_bigrams[:] = (of_transition_attribute * p * (1 - p) + 2 * l2)[bigrams.attribute]
    return np.where(diagonal > 0, diagonal, 1.0)


def clamp_known_labels(
    scores: np.ndarray, known: np.ndarray, borders: np.ndarray, hidden: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The scores of the partly labelled sequences, -inf for labels that differ from known ones; their borders, and
    the rows they were taken from."""
    lengths = np.diff(borders)
    at = np.flatnonzero(np.repeat(hidden, lengths))
    other = (known[at, None] >= 0) & (known[at, None] != np.arange(scores.shape[1]))
    return np.where(other, -np.inf, scores[at]), np.concatenate([[0], np.cumsum(lengths[hidden])]), at


__all__ = ["ChainObjective", "curvature_at_zero", "tokens_at_once"]

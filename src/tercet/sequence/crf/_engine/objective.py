"""What a conditional random field minimises: minus its log-likelihood, with the gradient, in pieces of data.

The score of labels y for tokens x is the sum of w[a, y_t] x[t, a] over tokens t and attributes a, and of
u[y_{t-1}, y_t] over neighbours. Only pairs (a, label) and (label, label) that are features have a weight; all
weights lie in one vector, those of the states first, attribute by attribute.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.parallel import total
from tercet.sequence.crf._engine.products import LEAST, Features, Gather, token_scores
from tercet.sequence.crf.chains import among, chain_marginals
from tercet.sequence.text.sequences import Sequences

CHUNK = 1024  # tokens in a piece of work: its tables stay in a core's own cache
BLOCK = 1 << 17  # tokens whose probabilities are in memory at a time


class Block(NamedTuple):
    """Sequences whose probabilities are in memory at a time: the first one, their rows and borders, the same rows
    by attribute, and the pieces of work (from one sequence to another)."""

    first: int
    X: Any
    borders: np.ndarray
    gather: Gather
    chunks: list[tuple[int, int]]


class ChainObjective:
    """The sum over sequences of -log P(y|x), plus l2 |w|^2.

    Where labels are unknown, P is that of all ways to complete them: the difference of two passes, one over the
    paths that agree with the labels. (The sum is convex only where all labels are known.)

    Parameters
    ----------
    X : Sequences
        Tokens as rows of numbers, dense or CSR.
    y : array of int of shape (n_rows,)
        The index of each label; -1 where it is unknown.
    weight : array of shape (n_sequences,) or None
        How much each sequence counts.
    features : Features
        What has a weight.
    l2 : float, default=0.0
        The strength of the penalty.
    n_jobs : int, optional
        Threads.
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
        self.blocks = [self._block(*span) for span in X.chunks(self._tokens_at_once())]
        longest = max(block.X.shape[0] for block in self.blocks)
        self.room = np.zeros((longest, max(features.n_labels, LEAST)))  # columns past the labels stay zero
        self.empirical = self._empirical()

    def _tokens_at_once(self) -> int:
        return BLOCK

    def _block(self, first: int, last: int) -> Block:
        a, b = self.X.borders[first], self.X.borders[last]
        X = self.X.rows[a:b]
        part = Sequences(X, self.X.borders[first : last + 1] - a, False)
        return Block(first, X, part.borders, Gather(X, self.features), part.chunks(CHUNK))

    def _empirical(self) -> np.ndarray:
        """The features counted in the sequences that are wholly labelled."""
        counts, N = np.zeros(self.features.size), self.features.n_labels
        weight = np.where(self.hidden, 0.0, self.weight)
        per_token = np.repeat(weight, self.X.lengths)
        start = 0
        for block in self.blocks:
            n = block.X.shape[0]
            here = slice(start, start + n)
            self.room[:n, :N] = (self.y[here, None] == np.arange(N)) * per_token[here, None]
            block.gather.add(self.room[:n], counts, self.n_jobs)
            start += n
        inside = np.ones(self.y.size, dtype=bool)
        inside[self.X.borders[:-1]] = False
        to = np.flatnonzero(inside & (per_token > 0))
        pairs = np.zeros((N, N))
        np.add.at(pairs, (self.y[to - 1], self.y[to]), per_token[to])
        self.add_steps(pairs, counts)
        return counts

    def curvature(self) -> np.ndarray:
        """The diagonal of the second derivatives at w = 0, where all labels are equally likely."""
        features, X = self.features, self.X
        per_token = np.repeat(self.weight, X.lengths)
        squares = X.rows.multiply(X.rows) if sparse.issparse(X.rows) else X.rows**2
        p = 1 / features.n_labels
        of_attribute = np.asarray(squares.T @ per_token) * p * (1 - p)
        of_step = float(self.weight @ (X.lengths - 1)) * p**2 * (1 - p**2)
        diagonal = np.concatenate(
            [of_attribute[features.attribute], np.full(features.size - features.label.size, of_step)]
        )
        diagonal += 2 * self.l2
        return np.where(diagonal > 0, diagonal, 1.0)

    def steps(self, w: np.ndarray) -> np.ndarray:
        """The scores of steps: one table, as here, or one for each token."""
        return self.features.steps(w)

    def add_steps(self, edge: np.ndarray, out: np.ndarray) -> None:
        """Add to out, for each transition, the sum of its steps; `edge` has the shape of `steps`."""
        transitions = self.features.split(out)[1]
        transitions += edge[tuple(self.features.edges.T)]

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """f(w) and its gradient: expected counts less those of the data, plus the penalty's."""
        f = self.l2 * float(w @ w) - float(self.empirical @ w)
        g = 2 * self.l2 * w - self.empirical
        states, steps = self.features.states(w), self._step_weights(w)
        for block in self.blocks:
            node = self.room[: block.X.shape[0]]
            of_block = block, node[:, : self.features.n_labels], states, steps
            log_z, edge = total(self._piece, block.chunks, *of_block, n_jobs=self.n_jobs)
            block.gather.add(node, g, self.n_jobs)
            f += float(log_z)
            self._add_expected(block, edge, g)
        return f, g

    def _step_weights(self, w: np.ndarray) -> Any:
        """What `_piece` makes the steps from."""
        return self.features.steps(w)

    def _add_expected(self, block: Block, edge: np.ndarray, g: np.ndarray) -> None:
        """Add the expected steps of a block to the gradient."""
        self.add_steps(edge, g)

    def _piece(
        self, span: tuple[int, int], block: Block, node: np.ndarray, states: Any, steps: Any
    ) -> tuple[float, np.ndarray]:
        """log Z and the expected steps of some sequences; their tokens' probabilities go to `node`."""
        borders = block.borders[span[0] : span[1] + 1]
        rows, borders = slice(borders[0], borders[-1]), borders - borders[0]
        scores = token_scores(block.X, rows.start, rows.stop, states, self.features.n_labels)
        here = slice(block.first + span[0], block.first + span[1])
        weight, hidden = self.weight[here], self.hidden[here]
        whole = node[rows] if node.flags.c_contiguous else None
        found = chain_marginals(scores, borders, steps, weight if self.weighted else None, whole)
        if self.weighted:
            np.multiply(found.node, np.repeat(weight, np.diff(borders))[:, None], out=node[rows])
        elif whole is None:
            node[rows] = found.node
        log_z, edge = float(weight @ found.log_z), found.edge
        if hidden.any():
            start = self.X.borders[block.first] + rows.start
            known = self.y[start : start + len(scores)]
            agreeing = self._agreeing(scores, known, borders, hidden)
            tied = chain_marginals(*agreeing[:2], among(steps, agreeing[2]), weight[hidden])
            at = rows.start + agreeing[2]
            node[at] -= tied.node * np.repeat(weight[hidden], np.diff(agreeing[1]))[:, None]
            log_z, edge = log_z - float(weight[hidden] @ tied.log_z), edge - tied.edge
        return log_z, edge

    def _agreeing(
        self, scores: np.ndarray, known: np.ndarray, borders: np.ndarray, hidden: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The partly labelled sequences alone, minus infinity for what contradicts their labels."""
        lengths = np.diff(borders)
        at = np.flatnonzero(np.repeat(hidden, lengths))
        other = (known[at, None] >= 0) & (known[at, None] != np.arange(scores.shape[1]))
        return np.where(other, -np.inf, scores[at]), np.concatenate([[0], np.cumsum(lengths[hidden])]), at

    def value(self, w: np.ndarray) -> float:
        """f(w)."""
        return self.value_and_gradient(w)[0]

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """The gradient of f at w."""
        return self.value_and_gradient(w)[1]

"""A fitted linear chain: Viterbi paths, marginals and likelihoods of sequences from tables of its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.sequence.base import Sequences
from tercet.sequence.crf._engine.features import Features, observation_scores
from tercet.sequence.crf._engine.marginals import best_paths, chain_marginals
from tercet.sequence.crf._engine.transition_tables import (
    BigramWeights,
    TransitionScores,
    TransitionTables,
    by_column,
)
from tercet.sequence.k_best import k_best

Span = tuple[int, int]  # from one sequence to another


@dataclass(frozen=True)
class LinearChain:
    """The weights of a fitted chain as tables, with the constraints on its paths.

    Parameters
    ----------
    states : array or CSR matrix of shape (n_attributes, >= n_labels)
        The weights of (attribute, label).
    transitions : array of shape (n_labels, n_labels)
        The weights of (from, to).
    bigrams : BigramWeights, optional
    constraints : tuple of arrays of shapes (n_labels,), (n_labels, n_labels) and (n_labels,)
        0 where a label may come first, follow another, or come last; else -inf.
    constrained : bool
        Whether there are constraints at all.
    """

    states: Any
    transitions: np.ndarray
    bigrams: BigramWeights | None
    constraints: tuple[np.ndarray, np.ndarray, np.ndarray]
    constrained: bool

    @staticmethod
    def tables(features: Features, w: np.ndarray) -> tuple[Any, np.ndarray, BigramWeights | None]:
        """The weights w of features as tables."""
        bigrams = None
        if features.bigrams is not None:
            columns, of_columns = by_column(features.bigrams)
            bigrams = BigramWeights(columns, of_columns.state_table(features.split(w)[2]))
        return features.state_table(w), features.transition_table(w), bigrams

    def observation_scores(
        self, span: Span, X: Sequences, *, constrained: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """The scores of the labels of some sequences, and where each of these begins."""
        borders = X.borders[span[0] : span[1] + 1]
        scores = observation_scores(X.rows, borders[0], borders[-1], self.states, len(self.transitions))
        borders = borders - borders[0]
        if constrained and self.constrained:
            scores[borders[:-1]] += self.constraints[0]
            scores[borders[1:] - 1] += self.constraints[2]
        return scores, borders

    def transition_scores(self, span: Span, X: Sequences, *, constrained: bool = True) -> TransitionScores:
        """The transition scores of some sequences."""
        table = self.transitions + self.constraints[1] if constrained else self.transitions
        if self.bigrams is None:
            return table
        return self.bigrams.scores(X.rows[X.borders[span[0]] : X.borders[span[1]]], table)

    def best_paths(self, span: Span, X: Sequences) -> tuple[np.ndarray, np.ndarray]:
        """The Viterbi paths of some sequences (Alg 11.3), and their scores; -inf where none is allowed."""
        return best_paths(*self.observation_scores(span, X), self.transition_scores(span, X))

    def marginals(self, span: Span, X: Sequences) -> tuple[np.ndarray, np.ndarray]:
        """P(Y_t = y | x) of some sequences (11.32), and log Z; -inf where no path is allowed."""
        found = chain_marginals(*self.observation_scores(span, X), self.transition_scores(span, X))
        return found.node, found.log_z

    def log_likelihood(self, span: Span, X: Sequences, y: np.ndarray) -> np.ndarray:
        """log P(y|x) of some sequences; where labels are unknown (-1), of all ways to complete them."""
        scores, borders = self.observation_scores(span, X, constrained=False)
        transitions = self.transition_scores(span, X, constrained=False)
        y = y[X.borders[span[0]] : X.borders[span[1]], None]
        clamped = np.where((y >= 0) & (y != np.arange(scores.shape[1])), -np.inf, scores)
        log_z = chain_marginals(scores, borders, transitions).log_z
        return chain_marginals(clamped, borders, transitions).log_z - log_z

    def k_best(self, s: int, X: Sequences, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The log-probabilities of the k best paths of sequence s, and the paths, best first."""
        scores, borders = self.observation_scores((s, s + 1), X)
        transitions = self.transition_scores((s, s + 1), X)
        values, paths = self._k_best(scores, transitions, k)
        return values - chain_marginals(scores, borders, transitions).log_z[0], paths

    def k_best_scores(self, s: int, X: Sequences, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The scores of the k best paths of sequence s, and the paths, best first."""
        scores, _ = self.observation_scores((s, s + 1), X)
        return self._k_best(scores, self.transition_scores((s, s + 1), X), k)

    def _k_best(
        self, scores: np.ndarray, transitions: TransitionScores, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(transitions, TransitionTables):
            transitions = transitions.tables[transitions.of_token[1:]]
        return k_best(np.zeros(scores.shape[1]), transitions, scores, k)


__all__ = ["LinearChain"]

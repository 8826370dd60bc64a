"""What a fitted random field answers: best labels, probabilities, weights."""

from __future__ import annotations

import operator
import weakref
from typing import Any, Literal, NamedTuple

import numpy as np

from tercet.core.estimator import check_weight
from tercet.core.parallel import each
from tercet.sequence.crf._engine.products import token_scores
from tercet.sequence.crf._engine.transitions import Bigrams, by_column
from tercet.sequence.crf.chains import Steps, best_paths, between, chain_marginals
from tercet.sequence.crf.constraints import masks_of
from tercet.sequence.crf.weights import ChainWeights
from tercet.sequence.k_best import k_best
from tercet.sequence.text.sequences import Sequences

CHUNK = 4096  # tokens of one piece of work


class Weights(NamedTuple):
    """The weights as tables, and minus infinity where a path may not begin, go or end."""

    states: Any
    steps: np.ndarray
    bigrams: Bigrams | None
    begin: np.ndarray
    go: np.ndarray
    end: np.ndarray


# The tables of a model are made once, and are not a part of it: its state is the lists of weights.
_ready: weakref.WeakKeyDictionary[Any, tuple[tuple, np.ndarray, tuple]] = weakref.WeakKeyDictionary()


class ChainModel(ChainWeights):
    """A chain of labels whose score is the sum of the weights of what it has."""

    constraints: Any
    n_jobs: int | None

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """The best labels: the path of the highest score, by Viterbi's algorithm.

        Parameters
        ----------
        X : list of sequences of tokens, or table
            The tokens; attributes that the model does not know are left out.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.

        Returns
        -------
        labels : list of lists, or array of shape (n_rows,)
            One for each token: lists for a list of sequences.
        """
        X = self._given(X, lengths)
        paths = each(self._best, X.chunks(CHUNK), X, self._weights(), n_jobs=self.n_jobs)
        return self._labels_out(X, np.concatenate(paths))

    def predict_single(self, tokens: Any) -> list:
        """The best labels of one sequence.

        Parameters
        ----------
        tokens : list of tokens
            The sequence.

        Returns
        -------
        labels : list
        """
        return self.predict([tokens])[0]

    def k_best(self, X: Any, k: int = 5, lengths: Any = None) -> list[list[tuple[list, float]]]:
        """The k best label sequences of each sequence, best first, with their scores (log P(y|x), for a model of
        probabilities).

        Parameters
        ----------
        X : list of sequences of tokens, or table
            The tokens.
        k : int, default=5
            How many; fewer are given where there are fewer paths.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.

        Returns
        -------
        paths : list, for each sequence, of lists of (labels, score)
        """
        X, weights, found = self._given(X, lengths), self._weights(), []
        start = np.zeros(self.classes_.size)
        for s in range(len(X)):
            scores, borders = self._scores((s, s + 1), X, weights)
            steps = self._steps((s, s + 1), X, weights)
            unit = self._log_total(scores, borders, steps)
            values, paths = k_best(start, between(steps), scores, k)
            found.append([(self.classes_[p].tolist(), float(v - unit)) for v, p in zip(values, paths)])
        return found

    def score(
        self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None, *,
        of: Literal["tokens", "sequences"] = "tokens",
    ) -> float:  # fmt: skip
        """The share of tokens whose labels are right, or of sequences without a mistake.

        Parameters
        ----------
        X : list of sequences of tokens, or table
            The tokens.
        y : list of sequences of labels, or array of shape (n_rows,)
            The true labels; unknown ones (None) do not count, those that the model does not know are wrong.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.
        sample_weight : array of shape (n_sequences,), optional
            How much each sequence counts.
        of : {"tokens", "sequences"}, default="tokens"
            What is counted.

        Returns
        -------
        accuracy : float
        """
        if of not in ("tokens", "sequences"):
            raise ValueError(f"of must be 'tokens' or 'sequences'; got {of!r}.")
        X = self._given(X, lengths)
        codes = self._codes(y, X, strange=self.classes_.size)  # no path has such a label: it is missed
        paths = each(self._best, X.chunks(CHUNK), X, self._weights(), n_jobs=self.n_jobs)
        right, known = (np.concatenate(paths) == codes) | (codes < 0), codes >= 0
        weight = check_weight(sample_weight, X)
        weight = np.ones(len(X)) if weight is None else weight
        if of == "sequences":
            return float(np.average(np.logical_and.reduceat(right, X.borders[:-1]), weights=weight))
        per_token = np.repeat(weight, X.lengths)[known]
        if not per_token.any():
            raise ValueError("y has no known label to compare with.")
        return float(np.average(right[known], weights=per_token))

    def _weights(self) -> Weights:
        """The tables, made anew when the weights are others."""
        walls = (np.where(mask, 0.0, -np.inf) for mask in masks_of(self.constraints, self.classes_.tolist()))
        places = (
            self.state_pairs_, self.transition_pairs_, self.bigram_triples_, self.classes_, self.n_features_in_,
        )  # fmt: skip
        w, kept = self._all_weights(), _ready.get(self)
        # Another fit may find the same weights for other pairs; it makes new arrays of them.
        if kept is None or not all(map(operator.is_, kept[0], places)) or not np.array_equal(kept[1], w):
            features, bigrams = self._features(), None
            if features.bigrams is not None:
                columns, of_columns = by_column(features.bigrams)
                bigrams = Bigrams(columns, of_columns.states(features.split(w)[2]))
            kept = _ready[self] = places, w, (features.states(w), features.steps(w), bigrams)
        return Weights(*kept[2], *walls)

    def _scores(self, span: tuple[int, int], X: Sequences, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
        """The scores of the labels of some sequences, and where each of these begins."""
        borders = X.borders[span[0] : span[1] + 1]
        scores = token_scores(X.rows, borders[0], borders[-1], weights.states, self.classes_.size)
        borders = borders - borders[0]
        if self.constraints is not None:
            scores[borders[:-1]] += weights.begin
            scores[borders[1:] - 1] += weights.end
        return scores, borders

    def _steps(self, span: tuple[int, int], X: Sequences, weights: Weights, *, free: bool = False) -> Steps:
        """The scores of the steps in some sequences; `free` of constraints."""
        shared = weights.steps if free else weights.steps + weights.go
        if weights.bigrams is None:
            return shared
        return weights.bigrams.steps(X.rows[X.borders[span[0]] : X.borders[span[1]]], shared)

    def _best(self, span: tuple[int, int], X: Sequences, weights: Weights) -> np.ndarray:
        scores, borders = self._scores(span, X, weights)
        path, values = best_paths(scores, borders, self._steps(span, X, weights))
        self._refuse_blocked(values, span)
        return path

    def _log_total(self, scores: np.ndarray, borders: np.ndarray, steps: Steps) -> float:
        """What is taken off the score of every path of a chain."""
        return 0.0

    def _refuse_blocked(self, values: np.ndarray, span: tuple[int, int]) -> None:
        if not np.isfinite(values).all():
            s = span[0] + int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(
                f"{type(self).__name__}: the constraints leave no path for sequence {s}; "
                "allow more transitions, starts or ends."
            )


class ChainProbabilities(ChainModel):
    """A chain of labels whose score is a log-probability, once that of all paths is taken off."""

    def predict_proba(self, X: Any, lengths: Any = None) -> Any:
        """P(y_t = label | x) of all tokens and labels (of valid paths, where there are `constraints`).

        Parameters
        ----------
        X : list of sequences of tokens, or table
            The tokens.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.

        Returns
        -------
        probabilities : list of arrays of shape (length, n_labels), or array of shape (n_rows, n_labels)
            In the order of `classes_`.
        """
        X = self._given(X, lengths)
        parts = each(self._node, X.chunks(CHUNK), X, self._weights(), n_jobs=self.n_jobs)
        return X.like_given(np.concatenate(parts))

    def predict_marginals(self, X: Any, lengths: Any = None) -> list:
        """The same as dicts from labels to probabilities.

        Parameters
        ----------
        X : list of sequences of tokens, or table
            The tokens.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.

        Returns
        -------
        marginals : list (of lists, for a list of sequences) of dicts
        """
        found = self.predict_proba(X, lengths)
        labels = self.classes_.tolist()
        if isinstance(found, list):
            return [[dict(zip(labels, row)) for row in part.tolist()] for part in found]
        return [dict(zip(labels, row)) for row in found.tolist()]

    def predict_marginals_single(self, tokens: Any) -> list[dict]:
        """The same for one sequence.

        Parameters
        ----------
        tokens : list of tokens
            The sequence.

        Returns
        -------
        marginals : list of dicts
        """
        return self.predict_marginals([tokens])[0]

    def log_likelihood(self, X: Any, y: Any, lengths: Any = None) -> np.ndarray:
        """log P(y|x) of each sequence; where labels are unknown, of all ways to complete them.

        Parameters
        ----------
        X : list of sequences of tokens, or table
            The tokens.
        y : list of sequences of labels, or array of shape (n_rows,)
            The labels.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.

        Returns
        -------
        log_probabilities : array of shape (n_sequences,)
        """
        X = self._given(X, lengths)
        codes, weights = self._codes(y, X), self._weights()
        other = (codes[:, None] >= 0) & (codes[:, None] != np.arange(self.classes_.size))
        found = []
        for span in X.chunks(CHUNK):
            rows = slice(X.borders[span[0]], X.borders[span[1]])
            borders = X.borders[span[0] : span[1] + 1] - rows.start
            scores = token_scores(X.rows, rows.start, rows.stop, weights.states, self.classes_.size)
            steps = self._steps(span, X, weights, free=True)
            tied = chain_marginals(np.where(other[rows], -np.inf, scores), borders, steps).log_z
            found.append(tied - chain_marginals(scores, borders, steps).log_z)
        return np.concatenate(found)

    def _log_total(self, scores: np.ndarray, borders: np.ndarray, steps: Steps) -> float:
        return float(chain_marginals(scores, borders, steps).log_z[0])

    def _node(self, span: tuple[int, int], X: Sequences, weights: Weights) -> np.ndarray:
        scores, borders = self._scores(span, X, weights)
        found = chain_marginals(scores, borders, self._steps(span, X, weights))
        self._refuse_blocked(found.log_z, span)
        return found.node


__all__ = ["ChainModel", "ChainProbabilities"]

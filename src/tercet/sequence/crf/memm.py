"""The maximum-entropy Markov model (最大熵马尔可夫模型)."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative
from tercet.sequence.crf._engine.memm import LocalObjective, labels_before, local_decode, local_marginals
from tercet.sequence.crf._engine.products import token_scores
from tercet.sequence.crf.learning import search
from tercet.sequence.crf.model import ChainProbabilities, Weights
from tercet.sequence.k_best import k_best
from tercet.sequence.text.sequences import Sequences


@method(
    zh="最大熵马尔可夫模型",
    task="sequence labelling",
    approach="discriminative",
    model="P(y|x) = Π_t exp(w[x_t, y_t] + u[y_t-1, y_t]) / Z(x_t, y_t-1)",
    strategy="largest conditional likelihood of each label given the one before it, with L1 and L2 penalties",
    algorithms="L-BFGS on the labels of the data; OWL-QN with an L1 penalty",
    texts=["000 ch. 11"],
    peers=["nltk.classify.MaxentClassifier"],
)
class MEMM(ChainProbabilities):
    """Labels of tokens one after another, each by maximum entropy from the token and the label before it.

        P(y|x) = Π_t P(y_t | y_t-1, x_t),   P(y_t | y_t-1, x_t) ∝ exp(Σ_a x_ta w[a, y_t] + u[y_t-1, y_t])

    A cousin of the conditional random field that is normalised at each step instead of as a whole. Learning needs
    no forward and backward passes, so it is fast. But what comes later cannot correct what came before, and a label
    that few others may follow passes its whole weight on whatever the token says (the label bias, which random
    fields do away with). Tokens are given as to `CRF`.

    Parameters
    ----------
    decoding : {"viterbi", "greedy"}, default="viterbi"
        The best path as a whole, or from left to right the best label after the one just chosen.
    min_freq : float, default=0
        How often (values and weights count) a pair must be seen to get a weight.
    all_possible_states : bool, default=False
        Whether all pairs of attribute and label have a weight, not only those that are seen.
    all_possible_transitions : bool, default=False
        The same for pairs of labels.
    c1 : float, default=0.0
        Strength of the L1 penalty, which makes weights exactly zero.
    c2 : float, default=1.0
        Strength of the L2 penalty.
    max_iterations : int, optional
        The most passes; 1000 by default.
    num_memories : int, default=6
        How many moves L-BFGS remembers.
    epsilon : float, default=1e-5
        Converged when the gradient is at most so large beside the weights.
    period : int, default=10
        Passes over which `delta` is measured.
    delta : float, default=1e-5
        Converged when the objective has fallen by less than this part of itself in `period` passes.
    constraints : str, dict or array of shape (n_labels, n_labels), optional
        Which label may follow which when predicting, as for `CRF`.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    verbose : bool, default=False
        Whether to print a line for each pass.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        The labels, in order.
    vocabulary_ : dict
        The column of each attribute.
    state_pairs_, transition_pairs_ : arrays of shape (n_states, 2) and (n_transitions, 2)
        Attribute and label of each weight, and labels from and to (all as indices).
    state_weights_, transition_weights_ : arrays of shape (n_states,) and (n_transitions,)
        w and u.
    n_iter_ : int
        Passes made.

    Examples
    --------
    >>> X = [["the", "cat", "sat"], ["a", "dog", "ran"], ["the", "dog", "sat"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"]]
    >>> MEMM(c2=0.1).fit(X, y).predict([["a", "cat", "ran"]])
    [['D', 'N', 'V']]
    """

    def __init__(
        self,
        *,
        decoding: Literal["viterbi", "greedy"] = "viterbi",
        min_freq: NonNegative = 0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = False,
        c1: NonNegative = 0.0,
        c2: NonNegative = 1.0,
        max_iterations: Count | None = None,
        num_memories: Count = 6,
        epsilon: NonNegative = 1e-5,
        period: Count = 10,
        delta: NonNegative = 1e-5,
        constraints: Any = None,
        n_jobs: Jobs = None,
        verbose: bool | CountOrZero = False,
    ) -> None:
        self.decoding = decoding
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.constraints = constraints
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, X: Sequences, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        if (y < 0).any():
            raise ValueError(
                "MEMM learns each label given the one before it, so all labels must be known; "
                f"that of token {int(np.flatnonzero(y < 0)[0])} is not. CRF learns from partly labelled sequences."
            )
        if sample_weight is not None and not sample_weight.all():  # such a sequence has no say in anything
            X, y, sample_weight = self._without(X, y, sample_weight)
        features = self._choose(X, y, sample_weight)
        objective = LocalObjective(X, y, sample_weight, features, self.c2, self.n_jobs)
        w = search(
            objective, steps=functools.partial(self._loop, features), c1=self.c1,
            max_iter=self.max_iterations or 1000, memory=self.num_memories, epsilon=self.epsilon,
            period=self.period, delta=self.delta,
        )  # fmt: skip
        self.__dict__.update(self._model(features, w))

    def log_likelihood(self, X: Any, y: Any, lengths: Any = None) -> np.ndarray:
        """log P(y|x) of each sequence.

        Parameters
        ----------
        X : list of sequences of tokens, or table
            The tokens.
        y : list of sequences of labels, or array of shape (n_rows,)
            The labels, all known.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.

        Returns
        -------
        log_probabilities : array of shape (n_sequences,)
        """
        X = self._given(X, lengths)
        codes, weights = self._codes(y, X), self._weights()
        if (codes < 0).any():
            raise ValueError("MEMM: log_likelihood needs the labels of all tokens.")
        scores = token_scores(X.rows, 0, X.rows.shape[0], weights.states, self.classes_.size)
        before = labels_before(codes, X.borders)
        scores[before >= 0] += weights.steps[before[before >= 0]]
        top = scores.max(axis=1, keepdims=True)
        log_z = np.log(np.exp(scores - top).sum(axis=1)) + top[:, 0]
        return np.add.reduceat(scores[np.arange(codes.size), codes] - log_z, X.borders[:-1])

    def k_best(self, X: Any, k: int = 5, lengths: Any = None) -> list[list[tuple[list, float]]]:
        """The k best label sequences of each sequence, best first, with log P(y|x).

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
        paths : list, for each sequence, of lists of (labels, log-probability)
        """
        X, weights, found = self._given(X, lengths), self._weights(), []
        for s in range(len(X)):
            scores, _ = self._scores((s, s + 1), X, weights)
            begin, end = X.borders[s : s + 2]
            plain = token_scores(X.rows, begin, end, weights.states, self.classes_.size)
            edges = plain[1:, None, :] + weights.steps
            edges -= np.logaddexp.reduce(edges, axis=2, keepdims=True)
            walls = scores - plain
            start = plain[0] - np.logaddexp.reduce(plain[0])
            values, paths = k_best(start, edges + weights.go, walls, k)
            found.append([(self.classes_[p].tolist(), float(v)) for v, p in zip(values, paths)])
        return found

    def _best(self, span: tuple[int, int], X: Sequences, weights: Weights) -> np.ndarray:
        scores, borders = self._plain(span, X, weights)
        path, values = np.empty(len(scores), dtype=np.int64), np.empty(borders.size - 1)
        walls = weights.begin, weights.go, weights.end
        back = np.empty((int(np.diff(borders).max()), scores.shape[1]), dtype=np.int32)
        local_decode(borders, scores, weights.steps, *walls, self.decoding == "greedy", back, path, values)
        self._refuse_blocked(values, span)
        return path

    def _node(self, span: tuple[int, int], X: Sequences, weights: Weights) -> np.ndarray:
        scores, borders = self._plain(span, X, weights)
        node, values = np.empty(scores.shape), np.empty(borders.size - 1)
        walls = weights.begin, weights.go, weights.end
        room = np.empty((int(np.diff(borders).max()), scores.shape[1]))
        local_marginals(borders, scores, weights.steps, *walls, room, node, values)
        self._refuse_blocked(values, span)
        return node

    def _plain(self, span: tuple[int, int], X: Sequences, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
        """Scores without the walls of constraints, which have no part in what a step is divided by."""
        borders = X.borders[span[0] : span[1] + 1]
        scores = token_scores(X.rows, borders[0], borders[-1], weights.states, self.classes_.size)
        return scores, borders - borders[0]

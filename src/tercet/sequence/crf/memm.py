"""The maximum-entropy Markov model (最大熵马尔可夫模型)."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative
from tercet.core.streams import is_streamed
from tercet.sequence.base import Sequences
from tercet.sequence.crf._engine.minimisation import minimise
from tercet.sequence.crf._engine.streamed_objective import chain_objective
from tercet.sequence.crf.base import TokenEstimator
from tercet.sequence.crf.learnable_sequences import learnable_of
from tercet.sequence.crf.local_chain import LocalChain, LocalObjective


@method(
    zh="最大熵马尔可夫模型",
    task="sequence labelling",
    approach="discriminative",
    model="P(y|x) = Π_t exp(w[x_t, y_t] + u[y_t-1, y_t]) / Z(x_t, y_t-1)",
    strategy="largest conditional likelihood of each label given the one before it, with L1 and L2 penalties",
    loss="log",
    convex=True,
    algorithms="L-BFGS on the labels of the data; OWL-QN with an L1 penalty",
    texts=["Li ch. 11"],
    peers=["nltk.classify.MaxentClassifier"],
)
class MEMM(TokenEstimator):
    """Maximum-entropy Markov model: labels of tokens, each given the token and the label before it.

        P(y|x) = Π_t P(y_t | y_t-1, x_t),   P(y_t | y_t-1, x_t) ∝ exp(Σ_a x_ta w[a, y_t] + u[y_t-1, y_t])

    Like a conditional random field, but normalised at each token instead of as a whole. Learning needs no forward
    and backward passes, so it is fast. But later tokens cannot correct earlier labels, and a label that few others
    may follow passes its whole probability on, whatever the token is (the label bias problem, which random fields
    do not have). Tokens are given as to `CRF`.

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
        The number of corrections that L-BFGS remembers.
    epsilon : float, default=1e-5
        Converged when the norm of the gradient is at most so large relative to that of the weights.
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

    streaming = True

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
        if not is_streamed(y) and (y < 0).any():
            raise ValueError(
                "MEMM learns each label given the one before it, so all labels must be known; "
                f"that of token {int(np.flatnonzero(y < 0)[0])} is not. CRF learns from partly labelled sequences."
            )
        X, y, sample_weight = learnable_of(self, X, y, sample_weight)
        features = self._choose_features(X, y, sample_weight)
        objective = chain_objective(X, y, sample_weight, features, self.c2, self.n_jobs, kind=LocalObjective)
        w = minimise(
            objective, steps=functools.partial(self._weight_steps, features), c1=self.c1,
            max_iter=self.max_iterations or 1000, memory=self.num_memories, epsilon=self.epsilon,
            period=self.period, delta=self.delta,
        )  # fmt: skip
        self.__dict__.update(self._named_weights(features, w))

    def _chain(self) -> LocalChain:
        return LocalChain(**self._chain_tables(), greedy=self.decoding == "greedy")

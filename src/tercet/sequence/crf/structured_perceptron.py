"""The structured perceptron (结构化感知机)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parameters import Count, CountOrZero, Fraction, Jobs, NonNegative, Seed
from tercet.sequence.base import Sequences
from tercet.sequence.crf._engine.online import Corpus, MistakeDriven
from tercet.sequence.crf.base import TokenEstimator
from tercet.sequence.crf.learnable_sequences import learnable_of


@method(
    zh="结构化感知机",
    task="sequence labelling",
    approach="discriminative",
    model="y = argmax over paths of Σ_t w[x_t, y_t] + u[y_t-1, y_t]",
    strategy="sum over the mistaken sequences of how much the best path's score exceeds that of the labels",
    algorithms="w += F(y, x) - F(best path, x) at each mistaken sequence; the mean of all w on the way",
    texts=["Li ch. 2, Alg 2.1", "Li ch. 11"],
    peers=["seqlearn.perceptron.StructuredPerceptron", "pycrfsuite.Trainer"],
)
class StructuredPerceptron(TokenEstimator):
    """Structured perceptron: labels of tokens by the path of the highest score, learned from mistakes alone.

    For each sequence the best path under the present weights is found (Viterbi). Where it differs from the labels,
    the features of the labels get one more and those of the path one less. If some weights tell all sequences apart
    with margin γ, and no path's features lie farther than R from those of the labels, there are at most (R / γ)²
    mistaken sequences, as for the perceptron. The mean of the weights over all updates makes fewer mistakes on new
    sequences. Tokens are given as to `CRF`, whose algorithm "ap" makes the same updates; here the passes end when
    all sequences are right, and there are no probabilities.

    Parameters
    ----------
    averaged : bool, default=True
        Whether the weights are the mean over all sequences seen, or the last.
    max_iter : int, default=50
        The most passes.
    tol : float, default=0.0
        Converged when at most this share of the sequences is mistaken in a pass.
    shuffle : bool, default=True
        Whether each pass has an order of its own, or that of the data.
    min_freq : float, default=0
        How often (values and weights count) a pair must be seen to get a weight.
    all_possible_states : bool, default=False
        Whether all pairs of attribute and label have a weight, not only those that are seen.
    all_possible_transitions : bool, default=True
        The same for pairs of labels.
    constraints : str, dict or array of shape (n_labels, n_labels), optional
        Which label may follow which when predicting, as for `CRF`.
    random_state : int, RandomState, Generator or None, default=None
        Decides the order of the sequences.
    n_jobs : int, optional
        Threads when predicting. The result does not depend on it.
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
    n_mistakes_ : int
        Mistaken sequences in all passes.
    n_iter_ : int
        Passes made.

    Examples
    --------
    >>> X = [["the", "cat", "sat"], ["a", "dog", "ran"], ["the", "dog", "sat"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"]]
    >>> StructuredPerceptron(random_state=0).fit(X, y).predict([["a", "cat", "ran"]])
    [['D', 'N', 'V']]
    """

    streams_instead = "CRF or MEMM"

    def __init__(
        self,
        *,
        averaged: bool = True,
        max_iter: Count = 50,
        tol: Fraction = 0.0,
        shuffle: bool = True,
        min_freq: NonNegative = 0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = True,
        constraints: Any = None,
        random_state: Seed = None,
        n_jobs: Jobs = None,
        verbose: bool | CountOrZero = False,
    ) -> None:
        self.averaged = averaged
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.constraints = constraints
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    probabilistic = False
    n_mistakes_: int

    def _fit(self, X: Sequences, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        X, y, sample_weight = learnable_of(self, X, y, sample_weight)
        features = self._choose_features(X, y, sample_weight)
        corpus, rng = Corpus(X, y, sample_weight, features), generator(self.random_state)
        learner = MistakeDriven(np.zeros(features.size), "ap", averaging=self.averaged)
        self.n_mistakes_ = 0
        for step in self._weight_steps(features, self.max_iter, hint="Raise max_iter or tol."):
            order = rng.permutation(corpus.n) if self.shuffle else np.arange(corpus.n)
            wrong = learner.learn(corpus, order)
            self.n_mistakes_ += learner.mistaken
            step.report(learner.weights, mistakes=learner.mistaken, wrong=wrong)
            if step.converged(learner.mistaken <= self.tol * corpus.n):
                break
        self.__dict__.update(self._named_weights(features, learner.weights))

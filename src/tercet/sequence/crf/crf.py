"""The conditional random field on a chain (线性链条件随机场)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from tercet.core.catalog import method
from tercet.core.estimator import check_weight, generator
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Positive, Seed, check_parameters
from tercet.sequence.base import Sequences, flat
from tercet.sequence.crf._engine.features import Features, merge_features
from tercet.sequence.crf._engine.minimisation import MeanObjective, minimise
from tercet.sequence.crf._engine.online import (
    ONLINE,
    Corpus,
    MistakeDriven,
    StochasticGradient,
    calibrate,
    widen,
)
from tercet.sequence.crf._engine.streamed_objective import chain_objective
from tercet.sequence.crf.base import TokenEstimator
from tercet.sequence.crf.feature_weights import WEIGHTS
from tercet.sequence.crf.iterative_scaling import SCALINGS, crf_iterative_scaling
from tercet.sequence.crf.learnable_sequences import learnable, learnable_of
from tercet.sequence.text.attributes import sequences_in
from tercet.sequence.text.tokens import distinct_labels

MAX_PASSES = {"ap": 100, "pa": 100, "arow": 100}  # where max_iterations is None; else 1000


def _learns_online(model: Any) -> bool:
    """Whether there is `partial_fit`."""
    if model.algorithm in ONLINE:
        return True
    names = ", ".join(map(repr, ONLINE))
    raise AttributeError(f"CRF: partial_fit needs algorithm to be one of {names}; got {model.algorithm!r}.")


@method(
    zh="线性链条件随机场",
    task="sequence labelling",
    approach="discriminative",
    model="P(y|x) = exp(sum over t of w[x_t, y_t] + u[y_t-1, y_t]) / Z(x)",
    strategy="largest conditional likelihood of the labels, with L1 and L2 penalties",
    loss="log",
    convex=True,
    algorithms={
        "lbfgs": "limited-memory BFGS; OWL-QN with an L1 penalty",
        "l2sgd": "stochastic gradient descent",
        "ap": "averaged perceptron",
        "pa": "passive-aggressive learning",
        "arow": "adaptive regularisation of weights",
        "gd": "gradient descent",
        "newton-cg": "Newton's method with conjugate gradients",
        "bfgs": "BFGS",
        "iis": "improved iterative scaling",
        "iis-s": "algorithm S of improved iterative scaling",
        "iis-t": "algorithm T of improved iterative scaling",
    },
    texts=[
        "Li ch. 11, Def 11.4, Alg 11.1, 11.2, 11.3",
        "Li ch. 12, Table 12.1",
        "watermelon notes ch. 12, eq. 12.8, 12.9",
    ],
    peers=["sklearn_crfsuite.CRF", "pycrfsuite.Trainer"],
)
class CRF(TokenEstimator):
    """Linear-chain conditional random field: labels for the tokens of a sequence.

        P(y|x) = exp(sum over t of sum over attributes a of x_t: x_ta w[a, y_t], + u[y_t-1, y_t]) / Z(x)

    With `transition_attributes`, some attributes b have weights x_tb v[b, y_t-1, y_t] instead: they act on the
    transition to their token, as the B lines of CRF++ templates do (`FeatureTemplates`).

    What is minimised is the sum over sequences of -log P(y|x), plus c1 |w|_1 + c2 |w|^2 over all weights (w, u, v).
    Names and meanings are those of sklearn-crfsuite. There are no special states at the ends of a sequence: give
    the first and last tokens attributes ("BOS", "EOS") where that matters. A token is a dict of attributes
    ({"word": "cat", "long": False, "size": 3.0}, with dicts, lists and sets inside), a list or set of strings, a
    string, or a row of a table (dense or CSR). A label that is None is unknown: the likelihood is then that of all
    ways to complete the labels, and no longer convex.

    `fit(source, y="label", lengths="sentence")` learns from rows of numbers that need not fit into memory: the
    columns, or the entries of sparse rows, are the attributes. The algorithms are "lbfgs", "gd", "newton-cg" and
    "bfgs", all labels are known, and the weights are those that the same rows give in memory.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow", "gd", "newton-cg", "bfgs", "iis", "iis-s", "iis-t"}, \
default="lbfgs"
        How the weights are found. "bfgs" keeps a square matrix of the number of weights; iterative scaling needs
        values that are not negative; "iis" needs whole numbers, and with others runs as "iis-t", with a warning.
    transition_attributes : str or list of str, optional
        The attributes that act on transitions, by name or by patterns as for files: "B*" are the B lines of
        templates, "gap:*" is all that tokens have under {"gap": ...}. To act on single labels too, an attribute
        needs a second name.
    min_freq : float, default=0
        How often (values and weights count) a pair must be seen to get a weight.
    all_possible_states : bool, default=False
        Whether all pairs of attribute and label have a weight, not only those that are seen.
    all_possible_transitions : bool, default=False
        The same for pairs of labels (and for these with each transition attribute).
    c1 : float, default=0.0
        Strength of the L1 penalty, which makes weights exactly zero ("lbfgs" only).
    c2 : float, default=1.0
        Strength of the L2 penalty (not for "ap", "pa" and "arow").
    max_iterations : int, optional
        The most passes; by default 100 for "ap", "pa" and "arow", else 1000.
    num_memories : int, default=6
        The number of corrections that "lbfgs" remembers.
    epsilon : float, default=1e-5
        Converged when the norm of the gradient is at most so large relative to that of the weights. For "ap", "pa"
        and "arow": when at most this share of labels is wrong in a pass.
    period : int, default=10
        Passes over which `delta` is measured.
    delta : float, default=1e-5
        Converged when the objective has fallen by less than this part of itself in `period` passes.
    calibration_eta : float, default=0.1
        The first step length that "l2sgd" tries on a sample of the data.
    calibration_rate : float, default=2.0
        The factor from one step length to the next.
    calibration_samples : int, default=1000
        Sequences in the sample.
    calibration_candidates : int, default=10
        The number of step lengths that lower the loss to compare.
    calibration_max_trials : int, default=20
        The most step lengths to try.
    pa_type : {0, 1, 2}, default=1
        Passive-aggressive learning without slack, with linear or with squared slack.
    c : float, default=1.0
        How aggressive it is.
    error_sensitive : bool, default=True
        Whether its cost counts the wrong labels.
    averaging : bool, default=True
        Whether "ap" and "pa" give the mean of the weights over all sequences seen.
    variance : float, default=1.0
        The variance of each weight of "arow" at first.
    gamma : float, default=1.0
        How much "arow" trusts its weights against a new mistake.
    constraints : str, dict or array of shape (n_labels, n_labels), optional
        Which label may follow which when predicting: a scheme of tags ("iob2", "iobes" ...), a dict from labels to
        lists of those that may follow, or a matrix of booleans (from, to) in the order of `classes_`.
    random_state : int, RandomState, Generator or None, default=None
        Decides the order of sequences for "l2sgd", "ap", "pa" and "arow".
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
    bigram_triples_ : array of shape (n_bigrams, 3)
        Attribute, label from and label to of each weight of a transition attribute.
    state_weights_, transition_weights_, bigram_weights_ : arrays
        w, u and v.
    attributes_, state_features_, transition_features_, bigram_features_ : list and dicts
        The same by names.
    online_ : dict
        What the next `partial_fit` goes on from.
    n_iter_ : int
        Passes made.

    Examples
    --------
    >>> X = [["the", "cat", "sat"], ["a", "dog", "ran"], ["the", "dog", "sat"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"]]
    >>> model = CRF(c2=0.1).fit(X, y)
    >>> model.predict([["a", "cat", "ran"]])
    [['D', 'N', 'V']]
    >>> round(model.transition_features_["D", "N"], 1)
    2.0

    Attributes that say whether the label changes:

    >>> X, y = [["go", "turn", "stay", "turn", "stay"]], [["A", "B", "B", "A", "A"]]
    >>> model = CRF(transition_attributes=["turn", "stay"], c2=0.1).fit(X, y)
    >>> model.predict([["go", "stay", "stay", "turn", "stay"]])
    [['A', 'A', 'A', 'B', 'B']]
    """

    streaming = True

    def __init__(
        self,
        algorithm: Literal[
            "lbfgs", "l2sgd", "ap", "pa", "arow", "gd", "newton-cg", "bfgs", "iis", "iis-s", "iis-t"
        ] = "lbfgs",
        *,
        transition_attributes: str | list | tuple | None = None,
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
        calibration_eta: Positive = 0.1,
        calibration_rate: Positive = 2.0,
        calibration_samples: Count = 1000,
        calibration_candidates: Count = 10,
        calibration_max_trials: Count = 20,
        pa_type: Literal[0, 1, 2] = 1,
        c: Positive = 1.0,
        error_sensitive: bool = True,
        averaging: bool = True,
        variance: Positive = 1.0,
        gamma: Positive = 1.0,
        constraints: Any = None,
        random_state: Seed = None,
        n_jobs: Jobs = None,
        verbose: bool | CountOrZero = False,
    ) -> None:
        self.algorithm = algorithm
        self.transition_attributes = transition_attributes
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
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.constraints = constraints
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, X: Sequences, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self.__dict__.pop("online_", None)
        if self.c1 and self.algorithm != "lbfgs":
            raise ValueError(f"CRF: c1={self.c1} needs algorithm='lbfgs'; got {self.algorithm!r}.")
        X, y, sample_weight = learnable_of(self, X, y, sample_weight)
        features = self._choose_features(X, y, sample_weight)
        if self.transition_attributes is not None and not self._transition_columns().size:
            raise ValueError(
                f"CRF: transition_attributes={self.transition_attributes!r} fit no attribute of X; these are "
                f"{self.attributes_[:5]} ... ({len(self.vocabulary_)} in all)."
            )
        if self.algorithm == "l2sgd":
            w = self._descend(Corpus(X, y, sample_weight, features), features)
        elif self.algorithm in ONLINE:
            w = self._correct(Corpus(X, y, sample_weight, features), features)
        else:
            w = self._minimise(chain_objective(X, y, sample_weight, features, self.c2, self.n_jobs))
        self.__dict__.update(self._named_weights(features, w))

    def _streaming_refusal(self) -> str:
        if self.algorithm in ONLINE:
            return (
                f"algorithm={self.algorithm!r} learns from one sequence after another, in an order that it draws. "
                "Use algorithm='lbfgs', or partial_fit with some sequences at a time."
            )
        if self.algorithm in SCALINGS:
            return f"algorithm={self.algorithm!r} keeps numbers for all tokens. Use algorithm='lbfgs'."
        return ""

    def _minimise(self, objective: Any) -> np.ndarray:
        """Batch algorithms: minimise f(w) = Σ [log Z(x) - w·F(y, x)] + c2 |w|², whose gradient is the expected less
        the empirical counts of the features, plus 2 c2 w."""
        steps = functools.partial(self._weight_steps, objective.features)
        if self.algorithm not in SCALINGS:
            return minimise(
                objective, algorithm=self.algorithm, steps=steps, c1=self.c1, max_iter=self._max_passes,
                memory=self.num_memories, epsilon=self.epsilon, period=self.period, delta=self.delta,
            )  # fmt: skip
        mean = MeanObjective(objective)
        algorithm: Any = self.algorithm
        if algorithm == "iis" and not mean.whole:
            warnings.warn(
                "CRF: algorithm='iis' counts features, which must be whole numbers, and X has values that are not: "
                "algorithm T ('iis-t') runs in its place. Set algorithm='iis-t' or 'lbfgs'.",
                UserWarning,
                stacklevel=2,
            )
            algorithm = "iis-t"
        with one_blas_thread():
            found = crf_iterative_scaling(
                mean, algorithm=algorithm, max_iter=self._max_passes, steps=steps,
                tol=self.epsilon * max(1.0, float(np.abs(mean.empirical).max())),
            )  # fmt: skip
        return np.asarray(found.x)

    def _descend(self, corpus: Corpus, features: Features) -> np.ndarray:
        """Stochastic gradient descent, until the lowest loss falls by less than delta of itself in `period`
        passes."""
        rng = generator(self.random_state)
        eta = calibrate(corpus, features.size, self.c2, rng, **self._calibration())
        learner, lowest = StochasticGradient(np.zeros(features.size), self.c2, corpus.n, eta), [np.inf]
        best = learner.weights
        for step in self._weight_steps(features, self._max_passes):
            loss = learner.learn(corpus, rng.permutation(corpus.n))
            if loss <= lowest[-1]:
                best = learner.weights
            lowest.append(min(loss, lowest[-1]))
            step.report(best, fun=loss)
            slow = len(lowest) > self.period and (
                lowest[-1 - self.period] - lowest[-1] < self.delta * abs(lowest[-1])
            )
            if step.converged(slow):
                break
        return best

    def _correct(self, corpus: Corpus, features: Features) -> np.ndarray:
        """Updates at mistakes, until at most a share epsilon of the labels is wrong in a pass."""
        rng, learner = generator(self.random_state), self._mistake_driven(np.zeros(features.size))
        for step in self._weight_steps(features, self._max_passes):
            wrong = learner.learn(corpus, rng.permutation(corpus.n))
            step.report(learner.weights, wrong=wrong)
            if step.converged(wrong <= self.epsilon):
                break
        return learner.weights

    @property
    def _max_passes(self) -> int:
        return self.max_iterations or MAX_PASSES.get(self.algorithm, 1000)

    def _calibration(self) -> dict[str, Any]:
        names = ("eta", "rate", "samples", "candidates", "max_trials")
        return {name: getattr(self, f"calibration_{name}") for name in names}

    def _mistake_driven(self, w: np.ndarray) -> MistakeDriven:
        rule = self.pa_type, self.c, self.error_sensitive, self.variance, self.gamma
        return MistakeDriven(w, self.algorithm, rule, self.averaging)

    @available_if(_learns_online)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, lengths: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from some more sequences in one pass ("l2sgd", "ap", "pa" and "arow"), for data that come in parts.

        Parameters
        ----------
        X, y : as for `fit`
            New attributes and new pairs get a weight when they are first seen. (`min_freq` counts within a call.)
        classes : list of labels, optional
            All labels that will ever come; by default those of the first call (also the first one after `fit`,
            which is a new beginning).
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.
        sample_weight : array of shape (n_sequences,), optional
            How much each sequence counts.

        Returns
        -------
        self
        """
        check_parameters(self)
        first = not hasattr(self, "online_")
        rows = self._rows(sequences_in(X, lengths), reset=first, growing=True)
        if classes is not None:
            given = distinct_labels(flat(classes))[0]
            if not first and not np.array_equal(given, self.classes_):
                raise ValueError(
                    f"{type(self).__name__}: classes={classes!r} are not those of the first call, {self.classes_}."
                )
            self.classes_ = given
        elif first:
            self._encode(rows.with_rows(self._labels_in(y, rows)))
        codes, weight = self._codes(y, rows), check_weight(sample_weight, rows)
        rows, codes, weight = learnable(rows, codes, weight)
        features = self._choose_features(rows, codes, weight)
        state = {"weights": np.zeros(features.size), "seen": 0}
        if not first:
            features, places = merge_features(self._features(), features)
            state = {name: widen(name, value, features.size, places, self.variance)
                     for name, value in self.online_.items()}  # fmt: skip
        w = self._one_pass(Corpus(rows, codes, weight, features), features.size, state)
        self.__dict__.update(self._named_weights(features, w), online_=state)
        return self

    def _one_pass(self, corpus: Corpus, size: int, state: dict[str, Any]) -> np.ndarray:
        """Learn from the sequences in their order; `state` is what the next call goes on from."""
        order = np.arange(corpus.n)
        if self.algorithm == "l2sgd":
            if "eta" not in state:
                rng = generator(self.random_state)
                state["eta"] = calibrate(corpus, size, self.c2, rng, **self._calibration())
            descent = StochasticGradient(
                state["weights"], self.c2, state["seen"] + corpus.n, state["eta"], state["seen"]
            )
            descent.learn(corpus, order)
            state.update(weights=descent.weights, seen=descent.t)
            return descent.weights
        learner = self._mistake_driven(state["weights"])
        if "sums" in state:
            learner.sums, learner.seen = state["sums"], np.array([1.0 + state["seen"]])
        if self.algorithm == "arow":
            learner.variance = state.setdefault("variance", learner.variance)
        learner.learn(corpus, order)
        state.update(weights=learner.w, sums=learner.sums, seen=int(learner.seen[0]) - 1)
        return learner.weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.algorithm in SCALINGS
        return tags

    def objective(self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None) -> float:
        """What was minimised, at the weights of the model: the sum of -log P(y|x), plus c1 |w|_1 + c2 |w|^2.

        Parameters
        ----------
        X, y, lengths : as for `fit`
        sample_weight : array of shape (n_sequences,), optional
            How much each sequence counts.

        Returns
        -------
        value : float
        """
        log_p = self.log_likelihood(X, y, lengths)
        weight = check_weight(sample_weight, Sequences(log_p, np.arange(log_p.size + 1), listed=False))
        weight = np.ones(log_p.size) if weight is None else weight
        w = self._all_weights()
        return float(-weight @ log_p + self.c1 * np.abs(w).sum() + self.c2 * (w @ w))

    @classmethod
    def of_weights(
        cls,
        labels: Sequence,
        attributes: Sequence[str],
        transitions: Mapping,
        states: Mapping,
        bigrams: Mapping | None = None,
        **parameters: Any,
    ) -> CRF:
        """A fitted model from weights by name.

        Parameters
        ----------
        labels : list
            All labels.
        attributes : list of str
            All attributes.
        transitions : dict
            The weights of (label from, label to).
        states : dict
            The weights of (attribute, label).
        bigrams : dict, optional
            The weights of (attribute, label from, label to).
        **parameters
            Of the model.

        Returns
        -------
        model : CRF

        Examples
        --------
        >>> model = CRF.of_weights(["A", "B"], ["up"], {("A", "B"): 1.0}, {("up", "A"): 2.0})
        >>> model.predict_single(["up", "down"])
        ['A', 'B']
        """
        model = cls(**parameters)
        model.classes_ = distinct_labels(flat(labels))[0]
        label = {name: k for k, name in enumerate(model.classes_.tolist())}
        model.vocabulary_ = {name: k for k, name in enumerate(dict.fromkeys(attributes))}
        model.n_features_in_ = len(model.vocabulary_)
        try:
            state = [(model.vocabulary_[a], label[k], w) for (a, k), w in states.items()]
            pair = [(label[i], label[j], w) for (i, j), w in transitions.items()]
            both = [(model.vocabulary_[a], label[i], label[j], w) for (a, i, j), w in (bigrams or {}).items()]
        except KeyError as error:
            raise ValueError(
                f"CRF: a weight is for {error.args[0]!r}, which is no label or attribute."
            ) from None
        tables: tuple[list, ...] = state, pair, both
        for (kind, indices), found in zip(WEIGHTS.items(), tables):
            width = 3 if indices == "triples" else 2
            table = np.array(sorted(found), dtype=np.float64).reshape(-1, width + 1)
            setattr(model, f"{kind}_{indices}_", table[:, :width].astype(np.int64))
            setattr(model, f"{kind}_weights_", table[:, width].copy())
        return model


__all__ = ["CRF"]

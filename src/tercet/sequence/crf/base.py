"""Base class of the methods that label tokens by a linear chain: CRF, MEMM and structured perceptron."""

from __future__ import annotations

import fnmatch
import operator
import re
import weakref
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils import ClassifierTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tercet.core.estimator import check_weight
from tercet.core.parallel import each
from tercet.core.steps import Steps
from tercet.sequence.base import SequenceEstimator, Sequences, labels_like
from tercet.sequence.crf._engine.features import Features, choose_features
from tercet.sequence.crf.constraints import masks_of
from tercet.sequence.crf.linear_chain import LinearChain
from tercet.sequence.text.attributes import AttributeColumns, encode_tokens, is_tokens, token_sequences
from tercet.sequence.text.tokens import distinct_labels, known_labels

CHUNK = 4096  # tokens of one piece of work when predicting
WEIGHTS = {"state": "pairs", "transition": "pairs", "bigram": "triples"}  # kinds of weights, in their order

# Tables of the weights of fitted models, made once; they are no part of a model's state.
_tables: weakref.WeakKeyDictionary[Any, tuple[tuple, np.ndarray, tuple]] = weakref.WeakKeyDictionary()


def _has_probabilities(model: Any) -> bool:
    return model.probabilistic


class TokenEstimator(SequenceEstimator):
    """A method that labels the tokens of a sequence: the score of labels y is the sum of the weights of
    (attribute, label), (label, label) and perhaps (attribute, label, label) along the chain.

    `_fit` gets rows of numbers (float64, dense or CSR) and indices into `classes_`, -1 where a label is unknown.
    """

    probabilistic = True  # whether there is P(y|x), and not only a score
    transition_attributes: Any = (
        None  # patterns of attributes that act on transitions, where a method has them
    )
    min_freq: float
    all_possible_states: bool
    all_possible_transitions: bool
    constraints: Any
    n_jobs: int | None
    verbose: Any

    classes_: np.ndarray
    vocabulary_: dict[str, int]
    state_pairs_: np.ndarray
    state_weights_: np.ndarray
    transition_pairs_: np.ndarray
    transition_weights_: np.ndarray
    bigram_triples_: np.ndarray = np.empty((0, 3), dtype=np.int64)
    bigram_weights_: np.ndarray = np.empty(0)
    online_: dict[str, Any]  # where there is `partial_fit`: what it goes on from

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from sequences of tokens with labels.

        Parameters
        ----------
        X : list of sequences of tokens, or table of shape (n_rows, n_features)
            A token is a dict of attributes, a list or set of them, a single string, or a row of numbers.
        y : list of sequences of labels, or array of shape (n_rows,)
            The labels: any strings or numbers; None (or NaN) where one is unknown, and for a whole sequence.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table or one flat list of tokens; by default it is one
            sequence.
        sample_weight : array of shape (n_sequences,), optional
            How much each sequence counts; 2 is as good as having the sequence twice. (Where one sequence is learned
            from at a time, it makes the step length twice as large.)

        Returns
        -------
        self
        """
        return self._learn(self._sequences(X, lengths), y, sample_weight)

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """The best labels: the path of the highest score, by the Viterbi algorithm.

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
        return self._labels_out(X, self._best_paths(X))

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
        X, chain, found = self._given(X, lengths), self._chain(), []
        best = chain.k_best if self.probabilistic else chain.k_best_scores
        for s in range(len(X)):
            values, paths = best(s, X, k)
            found.append([(self.classes_[p].tolist(), float(v)) for v, p in zip(values, paths)])
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
        right, known = (self._best_paths(X) == codes) | (codes < 0), codes >= 0
        weight = check_weight(sample_weight, X)
        weight = np.ones(len(X)) if weight is None else weight
        if of == "sequences":
            return float(np.average(np.logical_and.reduceat(right, X.borders[:-1]), weights=weight))
        per_token = np.repeat(weight, X.lengths)[known]
        if not per_token.any():
            raise ValueError("y has no known label to compare with.")
        return float(np.average(right[known], weights=per_token))

    @available_if(_has_probabilities)
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
        return X.like_given(self._by_chunks(self._chain().marginals, X))

    @available_if(_has_probabilities)
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

    @available_if(_has_probabilities)
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

    @available_if(_has_probabilities)
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
        X, chain = self._given(X, lengths), self._chain()
        codes = self._codes(y, X)
        return np.concatenate([chain.log_likelihood(span, X, codes) for span in X.chunks(CHUNK)])

    def _best_paths(self, X: Sequences) -> np.ndarray:
        """The indices of the best labels of all tokens."""
        return self._by_chunks(self._chain().best_paths, X)

    def _by_chunks(self, infer: Any, X: Sequences) -> np.ndarray:
        """What `infer` gives for the tokens of all sequences, chunk by chunk; an error where one has no path."""
        found = each(infer, X.chunks(CHUNK), X, n_jobs=self.n_jobs)
        values, log_weights = (np.concatenate(part) for part in zip(*found))
        if not np.isfinite(log_weights).all():
            s = int(np.flatnonzero(~np.isfinite(log_weights))[0])
            raise ValueError(
                f"{type(self).__name__}: the constraints leave no path for sequence {s}; "
                "allow more transitions, starts or ends."
            )
        return values

    def _chain(self) -> LinearChain:
        """The fitted chain, for inference."""
        return LinearChain(**self._chain_tables())

    def _chain_tables(self) -> dict[str, Any]:
        """The fields of `LinearChain`; tables of the weights are made anew when these have changed."""
        masks = masks_of(self.constraints, self.classes_.tolist())
        allowed = tuple(np.where(mask, 0.0, -np.inf) for mask in masks)
        places = (
            self.state_pairs_, self.transition_pairs_, self.bigram_triples_, self.classes_, self.n_features_in_,
        )  # fmt: skip
        w, kept = self._all_weights(), _tables.get(self)
        # Another fit may find the same weights for other pairs; it makes new arrays of them.
        if kept is None or not all(map(operator.is_, kept[0], places)) or not np.array_equal(kept[1], w):
            kept = _tables[self] = places, w, LinearChain.tables(self._features(), w)
        tables = dict(zip(("states", "transitions", "bigrams"), kept[2]))
        return {**tables, "constraints": allowed, "constrained": self.constraints is not None}

    @property
    def attributes_(self) -> list[str]:
        """The names of all attributes, in the order of their columns."""
        return sorted(self.vocabulary_, key=self.vocabulary_.__getitem__)

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """The weights of (attribute, label)."""
        return dict(self._by_name("state"))

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """The weights of (label from, label to)."""
        return dict(self._by_name("transition"))

    @property
    def bigram_features_(self) -> dict[tuple[str, Any, Any], float]:
        """The weights of (attribute, label from, label to)."""
        return dict(self._by_name("bigram"))

    def _by_name(self, kind: str, n: int | None = None) -> list[tuple[Any, float]]:
        """The names and weights of all features of a kind, or of the n largest (|n| smallest for a negative n)."""
        weights, pairs = getattr(self, f"{kind}_weights_"), getattr(self, f"{kind}_{WEIGHTS[kind]}_")
        if n is not None:
            order = np.argsort(-weights if n >= 0 else weights, kind="stable")[: abs(n)]
            weights, pairs = weights[order], pairs[order]
        labels = self.classes_.tolist()
        names = [labels if kind == "transition" else self.attributes_, *[labels] * (pairs.shape[1] - 1)]
        keys = zip(*(map(name.__getitem__, index) for name, index in zip(names, pairs.T.tolist())))
        return list(zip(keys, weights.tolist()))

    @property
    def num_attributes_(self) -> int:
        """The number of attributes."""
        return len(self.vocabulary_)

    @property
    def size_(self) -> int:
        """The size of all weights and their indices in bytes."""
        names = [f"{kind}_{what}_" for kind, places in WEIGHTS.items() for what in (places, "weights")]
        return sum(getattr(self, name).nbytes for name in names)

    def top_features(self, n: int = 20) -> list[tuple[float, Any, str]]:
        """The n largest weights of states, as (weight, label, attribute); the smallest for a negative n.

        Parameters
        ----------
        n : int, default=20
            How many.
        """
        return [(w, label, name) for (name, label), w in self._by_name("state", n)]

    def top_transitions(self, n: int = 20) -> list[tuple[float, Any, Any]]:
        """The n largest weights of transitions, as (weight, from, to); the smallest for a negative n.

        Parameters
        ----------
        n : int, default=20
            How many.
        """
        return [(w, *pair) for pair, w in self._by_name("transition", n)]

    def top_bigrams(self, n: int = 20) -> list[tuple[float, Any, Any, str]]:
        """The n largest weights of bigrams, as (weight, from, to, attribute); the smallest for a negative n.

        Parameters
        ----------
        n : int, default=20
            How many.
        """
        return [(w, *pair, name) for (name, *pair), w in self._by_name("bigram", n)]

    def prune(self, threshold: float = 0.0) -> Self:
        """Remove the weights whose absolute value is not above a threshold; attributes stay.

        Parameters
        ----------
        threshold : float, default=0.0
            The largest absolute value to remove.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        kept = {kind: np.abs(getattr(self, f"{kind}_weights_")) > threshold for kind in WEIGHTS}
        for kind, here in kept.items():
            if not here.all():
                for name in (f"{kind}_weights_", f"{kind}_{WEIGHTS[kind]}_"):
                    setattr(self, name, getattr(self, name)[here])
        if hasattr(self, "online_"):  # what `partial_fit` goes on from
            here = np.concatenate(list(kept.values()))
            self.online_ = {
                name: value[here] if isinstance(value, np.ndarray) else value
                for name, value in self.online_.items()
            }
        return self

    def _sequences(self, X: Any, lengths: Any = None) -> Sequences:
        if lengths is None and isinstance(X, list | tuple) and all(_is_empty(part) for part in X):
            raise ValueError(f"X has no tokens: 0 in {len(X)} sequences; every sequence needs one.")
        return token_sequences(X, lengths) if is_tokens(X) else Sequences.of(X, lengths)

    def _check(self, X: Any, y: Any = None, *, reset: bool = True) -> Any:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = self._rows(X, reset=reset)
        return X, X.with_rows(self._labels_in(y, X))

    def _labels_in(self, y: Any, X: Sequences) -> np.ndarray:
        """The labels of all tokens, one after another."""
        if isinstance(y, list | tuple) and any(isinstance(part, list) for part in y):
            if len(y) != len(X):
                raise ValueError(f"y has the labels of {len(y)} sequences, but X has {len(X)}.")
            y = [[None] * int(n) if part is None else part for part, n in zip(y, X.lengths)]
        return labels_like(y, X)

    def _rows(self, X: Sequences, *, reset: bool = False, growing: bool = False) -> Sequences:
        if is_tokens(X):
            names = AttributeColumns() if reset else AttributeColumns(self.vocabulary_)
            names.growing = reset or growing
            rows = encode_tokens(X.rows, names)
            if names.bigram is not None and self.transition_attributes is None:
                raise ValueError(
                    f"{type(self).__name__}: X has the attribute {names.bigram!r} of a template's B line, which "
                    "is about two neighbouring labels. Use CRF(transition_attributes='B*')."
                )
            if names.growing:
                self.vocabulary_, self.n_features_in_ = dict(names), len(names)
                self.__dict__.pop("feature_names_in_", None)
            elif rows.nnz and rows.indices.max() >= self.n_features_in_:
                raise ValueError(f"{type(self).__name__}: vocabulary_ has columns past n_features_in_.")
            return X.with_rows(rows)
        X = super()._rows(X, reset=reset)
        if reset:
            given = getattr(self, "feature_names_in_", None)
            named = [f"x{j}" for j in range(self.n_features_in_)] if given is None else given.tolist()
            self.vocabulary_ = {name: j for j, name in enumerate(named)}
        if not sparse.issparse(X.rows):
            return X.with_rows(np.ascontiguousarray(X.rows, dtype=np.float64))
        rows = sparse.csr_array(X.rows, dtype=np.float64, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()  # in a table, zeros say nothing
        return X.with_rows(rows)

    def _given(self, X: Any, lengths: Any = None) -> Sequences:
        check_is_fitted(self)
        return self._rows(self._sequences(X, lengths))

    def _encode(self, y: Sequences) -> np.ndarray:
        labels, known = y.rows, known_labels(y.rows)
        self.classes_, index = distinct_labels(labels[known])
        self._refuse_few()
        codes = np.full(labels.size, -1, dtype=np.int64)
        codes[known] = index
        return codes

    def _refuse_few(self) -> None:
        if self.classes_.size < 2:
            found = self.classes_.tolist()
            raise ValueError(
                f"{type(self).__name__} needs tokens of at least 2 labels; "
                + (f"the data contains only one class: {found[0]!r}." if found else "no label is known.")
            )

    def _codes(self, y: Any, X: Sequences, strange: int | None = None) -> np.ndarray:
        """Labels as indices into the classes; -1 for unknown ones; for those never seen `strange`, or an error."""
        labels = self._labels_in(y, X)
        known = known_labels(labels)
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        codes = [place.get(label, -1) if there else -1 for label, there in zip(labels.tolist(), known)]
        index = np.array(codes, dtype=np.int64)
        unseen = known & (index < 0)
        if unseen.any() and strange is None:
            first = labels[unseen].tolist()[0]
            raise ValueError(f"y has the label {first!r}; those of the model are {self.classes_.tolist()}.")
        return np.where(unseen, -1 if strange is None else strange, index)

    def _labels_out(self, X: Sequences, index: np.ndarray) -> Any:
        """Labels in the caller's form: lists for a list of sequences, a flat array for a table."""
        labels = self.classes_[index]
        return [part.tolist() for part in X.like_given(labels)] if X.listed else labels

    def _choose_features(self, X: Sequences, y: np.ndarray, weight: np.ndarray | None) -> Features:
        features = choose_features(
            X, y, weight, self.classes_.size, min_freq=self.min_freq, all_states=self.all_possible_states,
            all_transitions=self.all_possible_transitions, transition_columns=self._transition_columns(),
        )  # fmt: skip
        if self.constraints is not None:  # an error comes before the work
            masks_of(self.constraints, self.classes_.tolist())
        if not features.size:
            raise ValueError(f"{type(self).__name__}: min_freq={self.min_freq} leaves no feature.")
        return features

    def _transition_columns(self) -> np.ndarray:
        """The columns of the attributes that act on transitions."""
        asked = self.transition_attributes
        if asked is None:
            return np.empty(0, dtype=np.int64)
        patterns = [asked] if isinstance(asked, str) else list(asked)
        if not all(isinstance(pattern, str) for pattern in patterns):
            raise ValueError(
                f"{type(self).__name__}: transition_attributes must be a pattern or a list of patterns, which are "
                f"strings; got {asked!r}."
            )
        meant = re.compile("|".join(map(fnmatch.translate, patterns)) or r"(?!)")
        found = (column for name, column in self.vocabulary_.items() if meant.match(name))
        return np.array(sorted(found), dtype=np.int64)

    def _drop_weightless(
        self, X: Sequences, y: np.ndarray, weight: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """The sequences of positive weight; `classes_` become the labels that these have."""
        X, y, weight = positive_weight(X, y, weight)
        present, index = np.unique(np.append(y, -1), return_inverse=True)
        self.classes_ = self.classes_[present[1:]]
        self._refuse_few()
        return X, index[:-1] - 1, weight

    def _weight_steps(
        self, features: Features, limit: int, unpack: Any = None, watch: Any = None, **more: Any
    ) -> Steps:
        """The iteration loop, whose states are weights, or become weights by `unpack`."""
        more.setdefault("hint", "Raise max_iterations, epsilon or delta, or use an L2 penalty (c2).")

        def print_and_watch(step: Steps) -> Any:
            said = ", ".join(f"{name} {value:.6g}" for name, value in step.measures.items())
            print(f"pass {step.count}: {said}")
            return watch is not None and watch(step)

        def attributes(state: Any) -> dict[str, Any]:
            return self._named_weights(features, state if unpack is None else unpack(state))

        return self.steps(limit, unpack=attributes, watch=print_and_watch if self.verbose else watch, **more)

    def _named_weights(self, features: Features, w: np.ndarray) -> dict[str, Any]:
        """The fitted attributes that hold a vector of weights."""
        model = {}
        for kind, pairs, weights in zip(WEIGHTS, features.pairs(), features.split(w)):
            if kind != "bigram" or "transition_attributes" in vars(self):
                model[f"{kind}_{WEIGHTS[kind]}_"], model[f"{kind}_weights_"] = pairs, weights.copy()
        return model

    def _features(self) -> Features:
        """The features of the fitted weights."""
        n_attributes, N = self.n_features_in_, self.classes_.size
        for name, pairs, high in (
            ("state_pairs_", self.state_pairs_, (n_attributes, N)),
            ("transition_pairs_", self.transition_pairs_, (N, N)),
            ("bigram_triples_", self.bigram_triples_, (n_attributes, N, N)),
        ):
            if pairs.size and (pairs.min() < 0 or (pairs.max(axis=0) >= high).any()):
                raise ValueError(f"{type(self).__name__}: {name} must be indices below {high}.")
        return Features.of_pairs(
            self.state_pairs_, self.transition_pairs_, self.bigram_triples_, n_attributes, N
        )

    def _all_weights(self) -> np.ndarray:
        """The weights of states, transitions and bigrams in one vector."""
        return np.concatenate([getattr(self, f"{kind}_weights_") for kind in WEIGHTS])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags()  # asked of whatever has `predict_proba`
        return tags


def _is_empty(part: Any) -> bool:
    return isinstance(part, list | tuple) and not len(part)


def positive_weight(X: Sequences, y: np.ndarray, weight: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """The sequences of positive weight, with their labels."""
    there = np.flatnonzero(weight)
    return X[there], X.with_rows(y)[there].rows, weight[there]


__all__ = ["TokenEstimator", "positive_weight"]

"""Base class of the methods that label tokens by a linear chain: CRF, MEMM and structured perceptron."""

from __future__ import annotations

import functools
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import ClassifierTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tercet.core.estimator import check_weight
from tercet.core.parallel import each
from tercet.core.sources import RowSource
from tercet.core.steps import Steps
from tercet.sequence.base import SequenceEstimator, Sequences, labels_like
from tercet.sequence.crf._engine.features import Features
from tercet.sequence.crf.constraints import masks_of
from tercet.sequence.crf.feature_weights import WEIGHTS, FeatureWeights
from tercet.sequence.crf.linear_chain import LinearChain
from tercet.sequence.text.attributes import (
    AttributeColumns,
    check_size,
    encode_tokens,
    is_tokens,
    sequences_in,
    table_rows,
    table_vocabulary,
)
from tercet.sequence.text.tokens import distinct_labels, known_labels, label_indices

CHUNK = 4096  # tokens of one piece of work when predicting


def _has_probabilities(model: Any) -> bool:
    return model.probabilistic


class TokenEstimator(FeatureWeights, SequenceEstimator):
    """A method that labels the tokens of a sequence: the score of labels y is the sum of the weights of
    (attribute, label), (label, label) and perhaps (attribute, label, label) along the chain.

    `_fit` gets rows of numbers (float64, dense or CSR) and indices into `classes_`, -1 where a label is unknown.
    """

    probabilistic = True  # whether there is P(y|x), and not only a score
    constraints: Any
    n_jobs: int | None
    verbose: Any

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from sequences of tokens with labels.

        Parameters
        ----------
        X : list of sequences of tokens, table of shape (n_rows, n_features), or source
            A token is a dict of attributes, a list or set of them, a single string, or a row of numbers. Empty
            sequences say nothing, and are left out.
        y : list of sequences of labels, or array of shape (n_rows,); of a source also the name of a column
            The labels: any strings or numbers; None (or NaN) where one is unknown, and for a whole sequence.
        lengths : array of shape (n_sequences,), optional; of a source also the name of a column
            The lengths of the sequences, where X is one table or one flat list of tokens; by default it is one
            sequence. A column tells the sequence of each row.
        sample_weight : array of shape (n_sequences,), optional
            How much each sequence counts; 2 is as good as having the sequence twice. (Where one sequence is learned
            from at a time, it makes the step length twice as large.)

        Returns
        -------
        self
        """
        if isinstance(X, RowSource):
            from tercet.sequence.streamed_sequences import SequenceSource

            return self._learn(SequenceSource(X, lengths), y, sample_weight)
        return self._learn(sequences_in(X, lengths), y, sample_weight)

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """The best labels: the path of the highest score, by the Viterbi algorithm.

        Parameters
        ----------
        X : list of sequences of tokens, or table
            The tokens; attributes that the model does not know are left out. A sequence may be empty.
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
        for s, length in enumerate(X.lengths):
            values, paths = best(s, X, k) if length else (np.zeros(1), np.empty((1, 0), dtype=np.int64))
            found.append([(self.classes_[p].tolist(), float(v)) for v, p in zip(values, paths)])
        return found

    def score(
        self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None, *,
        of: Literal["tokens", "sequences"] = "tokens",
    ) -> float:  # fmt: skip
        """The share of tokens whose labels are right, or of sequences without a mistake.

        Parameters
        ----------
        X : list of sequences of tokens, table, or source
            The tokens.
        y : list of sequences of labels, or array of shape (n_rows,); of a source also the name of a column
            The true labels; unknown ones (None) do not count, those that the model does not know are wrong.
        lengths : array of shape (n_sequences,), optional; of a source also the name of a column
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
        if isinstance(X, RowSource):
            from tercet.sequence.streamed_sequences import SequenceSource, score_of_sequences

            check_is_fitted(self)
            return score_of_sequences(self, SequenceSource(X, lengths), y, sample_weight, of)
        X = self._given(X, lengths)
        right, weight = self._label_hits(X, y, check_weight(sample_weight, X), of)
        if not weight.any():
            raise ValueError("y has no known label to compare with.")
        return float(np.average(right, weights=weight))

    def _label_hits(
        self, X: Sequences, y: Any, weight: np.ndarray | None, of: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which tokens of a known label, or which sequences, have the right labels, and their weights."""
        codes = self._codes(y, X, strange=self.classes_.size)  # no path has such a label: it is missed
        right, known = (self._best_paths(X) == codes) | (codes < 0), codes >= 0
        weight = np.ones(len(X)) if weight is None else weight
        if of == "tokens":
            return right[known], np.repeat(weight, X.lengths)[known]
        whole = np.ones(len(X), dtype=bool)  # an empty sequence has no mistake
        whole[X.lengths > 0] = np.logical_and.reduceat(right, X.nonempty().borders[:-1])
        return whole, weight

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
        return X.like_given(self._by_chunks(self._chain().marginals, X, np.empty((0, self.classes_.size))))

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
        found, inside = np.zeros(len(X)), X.nonempty()
        if len(inside):
            parts = [chain.log_likelihood(span, inside, codes) for span in inside.chunks(CHUNK)]
            found[X.lengths > 0] = np.concatenate(parts)
        return found

    def _best_paths(self, X: Sequences) -> np.ndarray:
        """The indices of the best labels of all tokens."""
        return self._by_chunks(self._chain().best_paths, X, np.empty(0, dtype=np.int64))

    def _by_chunks(self, infer: Any, X: Sequences, nothing: np.ndarray) -> np.ndarray:
        """What `infer` gives for the tokens of all sequences, chunk by chunk, or `nothing` where there are none; an
        error where a sequence has no path."""
        numbers, X = np.flatnonzero(X.lengths), X.nonempty()
        if not len(X):
            return nothing
        found = each(infer, X.chunks(CHUNK), X, n_jobs=self.n_jobs)
        values, log_weights = (np.concatenate(part) for part in zip(*found))
        if not np.isfinite(log_weights).all():
            s = int(numbers[~np.isfinite(log_weights)][0])
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
        tables = self._cached("tables", WEIGHTS, lambda w: LinearChain.tables(self._features(), w))
        return {
            **dict(zip(("states", "transitions", "bigrams"), tables)),
            "constraints": allowed,
            "constrained": self.constraints is not None,
        }

    def _given(self, X: Any, lengths: Any = None) -> Sequences:
        check_is_fitted(self)
        X = sequences_in(X, lengths)
        if X.listed and not X.borders[-1]:
            return X.with_rows(np.empty((0, self.n_features_in_)))
        return self._rows(X)

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
        if X.listed and not X.borders[-1]:
            raise ValueError(f"X has no tokens: 0 in {len(X)} sequences.")
        if is_tokens(X):
            if reset or growing:
                names = AttributeColumns({} if reset else self.vocabulary_)
            else:
                names = self._known_attributes()
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
            check_size(rows, self.vocabulary_, type(self).__name__)
            return X.with_rows(rows)
        names, X = X.names, super()._rows(X, reset=reset)
        if reset:
            self.vocabulary_ = table_vocabulary(self, names)
        return X.with_rows(table_rows(X.rows, self.vocabulary_, type(self).__name__))

    def _check_streamed(self, X: Any) -> Any:
        self.vocabulary_ = table_vocabulary(self)
        function = functools.partial(table_rows, vocabulary=self.vocabulary_, owner=type(self).__name__)
        return X.with_rows(X.rows.map(function, width=X.rows.shape[1], dtype=np.float64))

    def _encode(self, y: Sequences) -> np.ndarray:
        labels, known = y.rows, known_labels(y.rows)
        if not known.any():
            raise ValueError(f"{type(self).__name__} needs labels; y has none that is known.")
        self.classes_, index = distinct_labels(labels[known])
        codes = np.full(labels.size, -1, dtype=np.int64)
        codes[known] = index
        return codes

    def _codes(self, y: Any, X: Sequences, strange: int | None = None) -> np.ndarray:
        """Labels as indices into the classes; -1 for unknown ones; for those never seen `strange`, or an error."""
        labels = self._labels_in(y, X)
        index = label_indices(labels, self.classes_)
        unseen = index == self.classes_.size
        if unseen.any() and strange is None:
            first = labels[unseen].tolist()[0]
            raise ValueError(f"y has the label {first!r}; those of the model are {self.classes_.tolist()}.")
        return np.where(unseen, -1 if strange is None else strange, index)

    def _labels_out(self, X: Sequences, index: np.ndarray) -> Any:
        """Labels in the caller's form: lists for a list of sequences, a flat array for a table."""
        labels = self.classes_[index]
        return [part.tolist() for part in X.like_given(labels)] if X.listed else labels

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags()  # asked of whatever has `predict_proba`
        return tags


__all__ = ["TokenEstimator"]

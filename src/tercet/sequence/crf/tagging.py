"""What the methods share that label tokens by their attributes: reading of tokens and labels, and inspection."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from tercet.sequence.base import SequenceEstimator
from tercet.sequence.text.attributes import Names, encode, is_tokens, tokens_of
from tercet.sequence.text.sequences import Sequences, labels_like
from tercet.sequence.text.tokens import missing


class TokenEstimator(SequenceEstimator):
    """A method that labels tokens: `_fit` gets rows of numbers (float64, dense or CSR) and indices into `classes_`,
    -1 where a label is unknown."""

    classes_: np.ndarray
    vocabulary_: dict[str, int]
    transition_attributes: Any = (
        None  # patterns of attributes that act on transitions, where a method takes them
    )

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
            from at a time, it makes the step twice as long.)

        Returns
        -------
        self
        """
        return self._learn(self._sequences(X, lengths), y, sample_weight)

    def _sequences(self, X: Any, lengths: Any = None) -> Sequences:
        if lengths is None and isinstance(X, list | tuple) and all(_is_empty(part) for part in X):
            raise ValueError(f"X has no tokens: 0 in {len(X)} sequences; every sequence needs one.")
        return tokens_of(X, lengths) if is_tokens(X) else Sequences.of(X, lengths)

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
            names = Names() if reset else Names(self.vocabulary_)
            names.growing = reset or growing
            X = tokens_of(X)
            rows = encode(X.rows, names)
            if names.between is not None and self.transition_attributes is None:
                raise ValueError(
                    f"{type(self).__name__}: X has the attribute {names.between!r} of a template's B line, which "
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
        labels, known = y.rows, _known(y.rows)
        self.classes_, index = ordered(labels[known])
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
        known = _known(labels)
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

    @property
    def attributes_(self) -> list[str]:
        """The names of all attributes, in the order of their columns."""
        return sorted(self.vocabulary_, key=self.vocabulary_.__getitem__)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags()  # asked of whatever has `predict_proba`
        return tags


def _is_empty(part: Any) -> bool:
    return isinstance(part, list | tuple) and not len(part)


def _known(labels: np.ndarray) -> np.ndarray:
    """Which labels are known: not None and not NaN."""
    if labels.dtype == object:
        return np.array([not missing(label) for label in labels.tolist()], dtype=bool)
    return labels == labels if labels.dtype.kind == "f" else np.ones(labels.shape, dtype=bool)


def ordered(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different labels in order, and the index of each; those that cannot be compared go by type and name."""
    if labels.dtype != object:
        classes, index = np.unique(labels, return_inverse=True)
        return classes, index
    values = labels.tolist()
    strange = [label for label in values if not isinstance(label, Hashable)]
    if strange:
        raise ValueError(
            f"A label must be hashable: a string, a number, a tuple of such; got {strange[0]!r}."
        )
    try:
        different = sorted(set(values))
    except TypeError:
        different = sorted(set(values), key=lambda label: (type(label).__name__, str(label)))
    place = {label: k for k, label in enumerate(different)}
    alike = len({type(label) for label in different}) == 1 and isinstance(different[0], str | int | float)
    classes = np.array(different, dtype=None if alike else object)
    return classes, np.array([place[label] for label in values], dtype=np.int64)


__all__ = ["TokenEstimator", "ordered"]

"""The base of sequence models: input of sequences, and `fit`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from tercet.core.estimator import Estimator
from tercet.sequence.text.sequences import Sequences, labels_like, mistaken_lengths


class SequenceEstimator(Estimator):
    """A method that learns from whole sequences.

    `_fit(X, y, sample_weight)` gets checked `Sequences`, the labels of all rows as `Sequences` or None, and a
    weight for each sequence or None."""

    symbols: ClassVar[bool] = False  # a row is a single symbol
    encodes_rows = True  # callbacks get the sequences as they came

    def fit(self, X: Any, y: Any = None, lengths: Any = None, sample_weight: Any = None) -> Self:
        """Learn from sequences.

        Parameters
        ----------
        X : list of sequences, or table of shape (n_rows, n_features)
            The observations: a list with a table for each sequence, or one table with all rows.
        y : list of label sequences, or array of shape (n_rows,), optional
            What is known of each row.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table; by default it is one sequence. (Also understood in
            second place, where other libraries have it, unless there is one for each row: those are labels, be they
            all 1.)
        sample_weight : array of shape (n_sequences,), optional
            How much each sequence counts; 2 is as good as having the sequence twice.

        Returns
        -------
        self
        """
        if mistaken_lengths(X, y, lengths):
            y, lengths = None, y
        return self._learn(Sequences.of(X, lengths, symbols=self.symbols), y, sample_weight)

    def _check(self, X: Any, y: Any = None, *, reset: bool = True) -> Any:
        X = self._rows(X, reset=reset)
        return X, None if y is None else X.with_rows(labels_like(y, X))

    def _rows(self, X: Sequences, *, reset: bool = False) -> Sequences:
        """The rows as checked numbers; a model of other observations overrides this."""
        rows = validate_data(
            self,
            X.rows,
            accept_sparse="csr" if self.sparse_input else False,
            dtype=(np.float64, np.float32),
            ensure_all_finite="allow-nan" if self.missing_input else True,
            reset=reset,
        )
        return X.with_rows(rows)

    def _given(self, X: Any, lengths: Any = None) -> Sequences:
        """Sequences to predict, for a fitted model."""
        check_is_fitted(self)
        return self._rows(Sequences.of(X, lengths, symbols=self.symbols))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.symbols:
            tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
            tags.input_tags.categorical = True
        return tags

"""What boosted classifiers answer from their scores: labels, probabilities, and both after every round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from tercet.core.source_fits import stream_predictions


class BoostedClasses:
    """Labels and probabilities of a boosted classifier, from `_raw`, `_staged_raw` and `_loss_of`."""

    classes_: np.ndarray
    tie_to_second: ClassVar[bool] = False  # whether the score 0 means the second of two classes

    _raw: Any  # the scores F of rows, of shape (n, n_scores)
    _staged_raw: Any  # those after the first round, after the second, and so on
    _loss_of: Any

    def _encode_validation(self, y: np.ndarray) -> np.ndarray:
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ValueError(
                f"{type(self).__name__}: y_val holds {unknown[0]!r}; the classes are {self.classes_.tolist()[:12]}."
            )
        return np.searchsorted(self.classes_, y).astype(np.float64)

    def _decode(self, y: np.ndarray) -> np.ndarray:
        return self.classes_[y.astype(int)]

    def _decision(self, F: np.ndarray) -> np.ndarray:
        return F[:, 0] if F.shape[1] == 1 else F

    def _labels(self, F: np.ndarray) -> np.ndarray:
        if F.shape[1] > 1:
            return self.classes_[F.argmax(axis=1)]
        second = F[:, 0] >= 0 if self.tie_to_second else F[:, 0] > 0
        return self.classes_[second.astype(int)]

    def _proba(self, F: np.ndarray) -> np.ndarray:
        return self._loss_of().proba(F)

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores F(x): of the second of two classes, or of every class.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        return self._decision(self._raw(X))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """`decision_function` after the first round, after the second, and so on.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        for F in self._staged_raw(X):
            yield self._decision(F)

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest score.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._labels(self._raw(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """`predict` after the first round, after the second, and so on.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        array of shape (n_samples,)
        """
        for F in self._staged_raw(X):
            yield self._labels(F)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of the classes.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._proba(self._raw(X))

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """`predict_proba` after the first round, after the second, and so on.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        array of shape (n_samples, n_classes)
        """
        for F in self._staged_raw(X):
            yield self._proba(F)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of `predict_proba`.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


stream_predictions(BoostedClasses)

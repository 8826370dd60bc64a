"""What boosted regressors answer from their scores: numbers, at the end and after every round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from tercet.core.scaling import LARGE
from tercet.core.source_fits import stream_predictions
from tercet.ensemble.boosting.boosting_losses import GammaBoosting, PoissonBoosting


class BoostedNumbers:
    """Predictions of a boosted regressor, from `_raw`, `_staged_raw` and `_loss_of`."""

    largest_target: ClassVar[float] = LARGE

    _raw: Any  # the scores F of rows, of shape (n, 1)
    _staged_raw: Any  # those after the first round, after the second, and so on
    _loss_of: Any

    def _answer(self, F: np.ndarray) -> np.ndarray:
        return np.exp(F[:, 0]) if isinstance(self._loss_of(), PoissonBoosting | GammaBoosting) else F[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """F(x); exp(F) for the Poisson and the gamma loss.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._answer(self._raw(X))

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
            yield self._answer(F)


stream_predictions(BoostedNumbers)

"""mRMR: columns that tell much about the target and little about each other (Peng, Long and Ding 2005).

Columns are chosen one after the other. Each is the best by

    relevance - redundancy ("difference")   or   relevance / redundancy ("quotient"),

with relevance I(x_j; y) and redundancy the mean of I(x_j; x_s) over the columns s chosen before. Numbers are cut
into bins of equal frequency.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted, distinct
from tercet.core.fitted_checks import Floats, Indices
from tercet.core.parallel import each
from tercet.core.parameters import Count, Jobs
from tercet.feature.selection._engine.column_information import (
    equal_frequency_bins,
    mutual_information_with,
)
from tercet.feature.selection.base import ScoreSelector

COLUMNS = 256  # columns of a task


@method(
    zh="最大相关最小冗余",
    task="feature selection",
    model="an order of the columns",
    strategy="I(xⱼ; y) − (1/|S|) Σ I(xⱼ; xₛ), or the quotient of both",
    algorithms="one column after the other",
    texts=["Machine Learning in Depth ch. 3", "watermelon notes ch. 10"],
    peers=["mrmr_selection.mrmr_classif", "fast_select.MRMR"],
)
class MRMR(ScoreSelector):
    """Minimum redundancy, maximum relevance: columns chosen one after the other by mutual information.

    Parameters
    ----------
    n_features_to_select : int, optional
        How many columns to keep; by default half of them.
    scheme : {"difference", "quotient"}, default="difference"
        How relevance and redundancy are weighed.
    n_bins : int, default=10
        Bins of equal frequency for columns (and numbers as targets) with more different values than this.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    scores_ : array of shape (n_features,)
        What each column was chosen by; for the others, what they had beside all that were chosen.
    selected_ : array of shape (n_selected,)
        The columns, in the order in which they were chosen.
    relevance_ : array of shape (n_features,)
        I(x_j; y), in nats.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.integers(4, size=(2, 500))
    >>> X = np.column_stack([a, a, b, rng.integers(4, size=500)])  # the first column twice
    >>> MRMR(2).fit(X, a + 4 * b).selected_
    array([2, 0])
    """

    def __init__(
        self,
        n_features_to_select: Count | None = None,
        *,
        scheme: Literal["difference", "quotient"] = "difference",
        n_bins: Count = 10,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.scheme = scheme
        self.n_bins = n_bins
        self.n_jobs = n_jobs

    sparse_input = False
    threshold = 0.0
    fitted_shapes = {
        "scores_": Floats("features", finite=True),
        "selected_": Indices("selected", below="features"),
        "relevance_": Floats("features", finite=True),
    }

    def fit(self, X: Any, y: Any) -> Self:
        """Choose columns of X by the target y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Labels or numbers.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        d = X.shape[1]
        self._check_selected(d)
        chunks = [(codes,) for codes in np.array_split(column_codes(X.T, self.n_bins), max(d // COLUMNS, 1))]
        y = np.asarray(y)
        target = column_codes(y[None], self.n_bins)[0] if y.dtype.kind == "f" else distinct(y)[1]

        def information(other: np.ndarray) -> np.ndarray:
            return np.concatenate(each(_information, chunks, other, n_jobs=self.n_jobs))

        relevance, redundancy, scores = information(target), np.zeros(d), np.zeros(d)
        chosen: list[int] = []
        left = np.ones(d, dtype=bool)
        for count in range(self.n_features_to_select or max(d // 2, 1)):
            value = self._weigh(relevance, redundancy, count)
            best = int(np.argmax(np.where(left, value, -np.inf)))
            chosen.append(best)
            left[best], scores[best] = False, value[best]
            redundancy += information(column_codes(X[:, best][None], self.n_bins)[0])
        scores[left] = self._weigh(relevance, redundancy, len(chosen))[left]
        self.relevance_, self.scores_, self.selected_ = relevance, scores, np.array(chosen)

    def _weigh(self, relevance: np.ndarray, redundancy: np.ndarray, count: int) -> np.ndarray:
        """Relevance against the mean redundancy with `count` columns."""
        if count == 0:
            return relevance
        if self.scheme == "difference":
            return relevance - redundancy / count
        return relevance / np.maximum(redundancy / count, 1e-12)

    def ranking(self) -> np.ndarray:
        """Columns in the order in which they were chosen, then the others from the best to the worst."""
        best_first = super().ranking()
        return np.concatenate([self.selected_, best_first[~np.isin(best_first, self.selected_)]])

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return np.isin(np.arange(len(self.scores_)), self.selected_)


def column_codes(columns: np.ndarray, n_bins: int) -> np.ndarray:
    """Each row of numbers as codes of bins with about equally many of them; few different numbers as they are.

    Examples
    --------
    >>> column_codes(np.array([[5.0, 1.0, 2.0, 9.0, 3.0, 4.0], [7.0, 7.0, 2.0, 2.0, 7.0, 7.0]]), 3)
    array([[2, 0, 0, 2, 1, 1],
           [1, 1, 0, 0, 1, 1]])
    """
    values = np.ascontiguousarray(columns, dtype=np.float64)
    codes = np.empty(values.shape, dtype=np.int64)
    for start in range(0, len(values), COLUMNS):
        part = slice(start, start + COLUMNS)
        equal_frequency_bins(values[part], np.sort(values[part], axis=1), n_bins, codes[part])
    return codes


def _information(chunk: tuple[np.ndarray], other: np.ndarray) -> np.ndarray:
    (codes,) = chunk
    found = np.empty(len(codes))
    mutual_information_with(codes, int(codes.max()) + 1, other, int(other.max()) + 1, found)
    return found

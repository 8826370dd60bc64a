"""RReliefF: Relief for numbers as targets (Robnik-Sikonja and Kononenko 1997).

Near rows should have near targets. With probabilities of a difference taken over the k nearest rows of each row,
nearer ones weighing more,

    score_j = P(A_j and C differ) / P(C differ) - P(A_j but not C differ) / (1 - P(C differ))
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Floats
from tercet.core.parallel import total
from tercet.core.parameters import Count, Jobs, PositiveOrInf, Real, Seed
from tercet.feature.selection._engine.relief_neighbors import target_differences
from tercet.feature.selection.base import ScoreSelector
from tercet.feature.selection.relief_rows import relief_rows


@method(
    zh="RRelief-F 特征选择（回归）",
    task="feature selection",
    model="a score for each column, for numbers as targets",
    strategy="columns that differ between near rows where the targets differ, and agree where they agree",
    algorithms="k nearest rows of each row, weighted by rank",
    peers=["skrebate.ReliefF"],
)
class RReliefF(ScoreSelector):
    """RReliefF: scores of columns for numbers as targets, by near rows.

    Parameters
    ----------
    n_features_to_select : int, optional
        How many columns to keep; by default those with scores above `threshold`.
    n_neighbors : int, default=10
        Nearest rows of each row.
    sigma : float, default=inf
        Neighbours weigh exp(-(rank / sigma)^2), the nearest has rank 1; equally when infinite.
    threshold : float, default=0.0
        Scores of columns that are kept, when their number is not given.
    n_rows : int, optional
        Rows for which neighbours are looked for, drawn at random; by default all.
    categorical_features : array of indices or mask, optional
        Columns whose values are categories; the others are numbers.
    random_state : int, optional
        Decides which rows are drawn.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    scores_ : array of shape (n_features,)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 4))
    >>> RReliefF(1).fit(X, np.sin(3 * X[:, 2])).get_support()
    array([False, False,  True, False])
    """

    def __init__(
        self,
        n_features_to_select: Count | None = None,
        *,
        n_neighbors: Count = 10,
        sigma: PositiveOrInf = np.inf,
        threshold: Real = 0.0,
        n_rows: Count | None = None,
        categorical_features: Any = None,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.threshold = threshold
        self.n_rows = n_rows
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    sparse_input = False
    fitted_shapes = {"scores_": Floats("features", finite=True)}

    def fit(self, X: Any, y: Any) -> Self:
        """Score the columns of X by the numbers y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Numbers.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        name = type(self).__name__
        self._check_selected(X.shape[1])
        target = _scaled_target(y, name)
        one_kind = np.zeros(len(X), dtype=np.int64)
        rows = relief_rows(X, one_kind, self.categorical_features, self.n_rows, self.random_state, name)
        ranks = np.arange(1, min(self.n_neighbors, len(X) - 1) + 1)
        weight = np.exp(-((ranks / self.sigma) ** 2))
        weight /= weight.sum()
        both = total(_chunk_sums, rows.chunks, rows, target, weight, n_jobs=self.n_jobs)
        by_target, by_column, by_both = (np.asarray(part) / rows.n_rows for part in both)
        scores = np.zeros(X.shape[1])
        if by_target > 0:
            scores += by_both / by_target
        if by_target < 1:
            scores -= (by_column - by_both) / (1 - by_target)
        self.scores_ = rows.in_order(scores)


def _chunk_sums(chunk: Any, rows: Any, target: np.ndarray, weight: np.ndarray) -> tuple[Any, ...]:
    return target_differences(rows.Z, rows.columns, rows.n_numbers, target, chunk[0], weight, 1)


def _scaled_target(y: Any, name: str) -> np.ndarray:
    try:
        target = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: y must be numbers; ReliefF takes classes.") from None
    if not np.isfinite(target).all():
        raise ValueError(f"{name}: y must be finite numbers.")
    if len(target) < 2:
        raise ValueError(f"{name} needs at least 2 rows; got n_samples = {len(target)}.")
    half = target.max() / 2 - target.min() / 2
    return (target / half / 2 - target.min() / half / 2) if half > 0 else np.zeros(len(target))

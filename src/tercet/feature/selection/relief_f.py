"""ReliefF: Relief for several classes and noisy rows (watermelon notes ch. 10).

For each row the k nearest of its own class and of every other class are found. The other classes count by their
shares p_l, in the form of Kononenko (1994) among the rows that are not of the row's own class, p_l / (1 - p_y):

    score_j = (1/m) sum_i [ -mean diff to hits + sum_l p_l / (1 - p_y) mean diff to misses of class l ]
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Floats
from tercet.core.parallel import total
from tercet.core.parameters import Count, Jobs, Real, Seed
from tercet.feature.selection._engine.relief_neighbors import class_differences
from tercet.feature.selection.base import ScoreSelector
from tercet.feature.selection.relief import class_indices
from tercet.feature.selection.relief_rows import relief_rows


@method(
    zh="Relief-F 特征选择",
    task="feature selection",
    model="a score for each column",
    strategy="δⱼ = Σᵢ −diff(xᵢⱼ, hits) + Σₗ pₗ diff(xᵢⱼ, misses of class l)",
    algorithms="k nearest rows of each class, for each row or for some",
    texts=["watermelon notes ch. 10, eq. 10.4"],
    peers=["skrebate.ReliefF", "fast_select.ReliefF"],
)
class ReliefF(ScoreSelector):
    """ReliefF: scores of columns for any number of classes, by k near-hits and k near-misses of each other class.

    Parameters
    ----------
    n_features_to_select : int, optional
        How many columns to keep; by default those with scores above `threshold`.
    n_neighbors : int, default=10
        Nearest rows of each class; the text takes 1.
    threshold : float, default=0.0
        Scores of columns that are kept, when their number is not given.
    diff : {"absolute", "squared"}, default="absolute"
        How far values of a column are apart, for scores and for distances, in units of its range; "squared" is
        the text's, with Euclidean distances.
    miss_weight : {"conditional", "prior"}, default="conditional"
        Share of another class among the rows that are not of the row's own class, or (the text) among all.
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
        Means over rows, from -1 to 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 4))
    >>> y = (X[:, 0] > 0.5).astype(int) + (X[:, 2] > 0.5)
    >>> ReliefF(2).fit(X, y).get_support()
    array([ True, False,  True, False])
    """

    def __init__(
        self,
        n_features_to_select: Count | None = None,
        *,
        n_neighbors: Count = 10,
        threshold: Real = 0.0,
        diff: Literal["absolute", "squared"] = "absolute",
        miss_weight: Literal["conditional", "prior"] = "conditional",
        n_rows: Count | None = None,
        categorical_features: Any = None,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.diff = diff
        self.miss_weight = miss_weight
        self.n_rows = n_rows
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    sparse_input = False
    fitted_shapes = {"scores_": Floats("features", finite=True)}

    def fit(self, X: Any, y: Any) -> Self:
        """Score the columns of X by the labels y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Labels.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self._check_selected(X.shape[1])
        classes, kind = class_indices(y, type(self).__name__)
        rows = relief_rows(
            X, kind, self.categorical_features, self.n_rows, self.random_state, type(self).__name__
        )
        share = np.bincount(kind) / len(kind)
        weight = np.tile(share, (len(classes), 1))
        if self.miss_weight == "conditional":
            weight /= 1 - share[:, None]
        np.fill_diagonal(weight, -1.0)
        k, power = min(self.n_neighbors, len(kind)), 1 if self.diff == "absolute" else 2
        found = total(_chunk_scores, rows.chunks, rows, k, power, weight, n_jobs=self.n_jobs)
        self.scores_ = rows.in_order(found / rows.n_rows)


def _chunk_scores(chunk: Any, rows: Any, k: int, power: int, weight: np.ndarray) -> np.ndarray:
    return class_differences(
        rows.Z, rows.columns, rows.n_numbers, rows.starts, rows.kind, chunk[0], k, power, weight
    )

"""Relief: columns that tell near rows of different classes apart (watermelon notes ch. 10).

For each row its nearest row of the same class (near-hit) and its nearest row of another (near-miss) are found.
A column is good when it differs from the near-miss and not from the near-hit:

    score_j = sum_i [ diff(x_ij, miss_ij)^2 - diff(x_ij, hit_ij)^2 ]

with diff 0 or 1 for categories, and the distance in units of the column's range for numbers.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import distinct
from tercet.core.fitted_checks import Floats
from tercet.core.parallel import total
from tercet.core.parameters import Count, Jobs, Real, Seed
from tercet.feature.selection._engine.relief_neighbors import hit_and_miss_differences
from tercet.feature.selection.base import ScoreSelector
from tercet.feature.selection.relief_rows import relief_rows


@method(
    zh="Relief 特征选择",
    task="feature selection",
    model="a score for each column",
    strategy="δⱼ = Σᵢ −diff(xᵢⱼ, near-hit)² + diff(xᵢⱼ, near-miss)²",
    algorithms="nearest row of the same and of the other class, for each row or for some",
    texts=["watermelon notes ch. 10, eq. 10.3"],
    peers=["skrebate.ReliefF"],
)
class Relief(ScoreSelector):
    """Relief: scores of columns for two classes, by near-hits and near-misses.

    The nearest rows are found by Euclidean distance of the scaled columns. With more than two classes the near-miss
    is the nearest row of any other class; `ReliefF` treats the classes one by one.

    Parameters
    ----------
    n_features_to_select : int, optional
        How many columns to keep; by default those with scores above `threshold`.
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
        The sums over rows.

    Examples
    --------
    >>> X = [[0.1, 0.9, 0], [0.2, 0.1, 1], [0.3, 0.5, 0], [0.8, 0.6, 1], [0.9, 0.2, 0], [0.7, 0.8, 1]]
    >>> Relief(categorical_features=[2]).fit(X, [0, 0, 0, 1, 1, 1]).scores_
    array([ 3.015625,  0.71875 , -1.      ])
    """

    def __init__(
        self,
        n_features_to_select: Count | None = None,
        *,
        threshold: Real = 0.0,
        n_rows: Count | None = None,
        categorical_features: Any = None,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
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
        name = type(self).__name__
        self._check_selected(X.shape[1])
        _, kind = class_indices(y, name)
        rows = relief_rows(X, kind, self.categorical_features, self.n_rows, self.random_state, name)
        self.scores_ = rows.in_order(total(_chunk_scores, rows.chunks, rows, n_jobs=self.n_jobs))


def _chunk_scores(chunk: Any, rows: Any) -> np.ndarray:
    return hit_and_miss_differences(rows.Z, rows.columns, rows.n_numbers, rows.starts, rows.kind, chunk[0], 2)


def class_indices(y: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The classes and each row's; an error when there is only one."""
    classes, kind = distinct(np.asarray(y))
    if len(classes) < 2:
        raise ValueError(
            f"{name} needs rows of at least 2 classes; there is only one class: {classes.tolist()[0]!r}."
        )
    return classes, kind.astype(np.int64)

"""Stability selection: columns that an embedded method chooses again and again on half of the rows.

What one fit of a penalised model chooses depends on the rows. Meinshausen and Bühlmann (2010) fit it on many random
halves; the share of fits in which a column has a weight is its stability.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.parallel import Parallel, delayed

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Floats
from tercet.core.input_errors import Explaining
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, Fraction, Jobs, NonNegative, Seed
from tercet.feature.selection.base import ScoreSelector, WrapsEstimator


@method(
    zh="稳定性选择",
    task="feature selection",
    model="a share for each column: how often it has a weight",
    strategy="share of fits on random halves of the rows that give the column a weight",
    texts=["watermelon notes ch. 10, 10.4"],
    peers=["stability-selection"],
)
class StabilitySelection(WrapsEstimator, ScoreSelector):
    """Stability selection: embedded selection by an estimator, on many random halves of the rows.

    Parameters
    ----------
    estimator : estimator
        With `coef_` or `feature_importances_`: an L1 penalty, or trees.
    n_resamples : int, default=50
        Number of halves.
    threshold : float, default=0.6
        Columns chosen in more than this share of fits are kept.
    n_features_to_select : int, optional
        How many columns to keep, instead of the threshold.
    tol : float, default=1e-10
        A weight counts when it is above this share of the largest.
    random_state : int, optional
        Decides the halves.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    scores_ : array of shape (n_features,)
        Share of fits in which each column has a weight.

    Examples
    --------
    >>> from tercet.linear_model import Lasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 6))
    >>> model = StabilitySelection(Lasso(0.3), random_state=0).fit(
    ...     X, X[:, 2] - X[:, 4] + 0.5 * rng.normal(size=80)
    ... )
    >>> model.get_support(indices=True)
    array([2, 4])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        n_resamples: Count = 50,
        threshold: Fraction = 0.6,
        n_features_to_select: Count | None = None,
        tol: NonNegative = 1e-10,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.estimator = estimator
        self.n_resamples = n_resamples
        self.threshold = threshold
        self.n_features_to_select = n_features_to_select
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    sparse_input = False
    fitted_shapes = {"scores_": Floats("features", finite=True)}

    def fit(self, X: Any, y: Any) -> Self:
        """Count how often each column of X has a weight.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Labels or numbers, as the estimator takes them.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        self._check_selected(X.shape[1])
        y, rng = np.asarray(y), generator(self.random_state)
        groups = [np.arange(len(X))]
        if is_classifier(self.estimator):
            with Explaining(y=y):
                labels = np.unique(y)
            groups = [np.flatnonzero(y == label) for label in labels]  # halves lack no class
        halves = [
            np.sort(np.concatenate([rng.permutation(rows)[: (len(rows) + 1) // 2] for rows in groups]))
            for _ in range(self.n_resamples)
        ]
        chosen = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_chosen)(clone(self.estimator), X[half], y[half], self.tol) for half in halves
        )
        self.scores_ = np.mean(chosen, axis=0)


def _chosen(estimator: Any, X: np.ndarray, y: np.ndarray, tol: float) -> np.ndarray:
    with one_blas_thread():
        estimator.fit(X, y)
    found = getattr(estimator, "coef_", getattr(estimator, "feature_importances_", None))
    if found is None:
        raise ValueError(
            f"StabilitySelection: estimator must have coef_ or feature_importances_ after fit; got {estimator!r}."
        )
    weight = np.abs(np.atleast_2d(np.asarray(found, dtype=float))).max(axis=0)
    return weight > tol * max(weight.max(initial=0.0), np.finfo(float).tiny)

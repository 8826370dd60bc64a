"""Cross-validation of the number of neighbours, with one search for all of them.

The k nearest rows are the first k of the nearest rows: the neighbours that are found for the largest k serve all
smaller ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import LeaveOneOut

from tercet.core.folds import checked_folds
from tercet.neighbors._engine.neighbourhood import Neighbourhood

CANDIDATES = (1, 2, 3, 4, 5, 7, 9, 11, 15, 21, 31, 41)


class FoundNeighbours:
    """Mixin of a model that predicts from neighbours that have been found already."""

    found: Neighbourhood | None = None

    def _neighbourhood(self, X: Any) -> Neighbourhood:
        return super()._neighbourhood(X) if self.found is None else self.found  # type: ignore[misc]


def cross_validated_k(
    model: Any, kind: type, X: Any, y: Any, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The candidates for k and their scores (n_candidates, n_folds) by the parameters `ks`, `cv` and `scoring`.

    `kind` is a neighbour method with `FoundNeighbours`, which predicts on the folds.
    """
    folds = list(_folds(model, X, y, weight))
    ks = _candidates(model, X.shape[0], folds, weight)
    return ks, np.stack([_fold_scores(model, kind, ks, X, y, weight, *fold) for fold in folds], axis=1)


def best_k(model: Any, ks: np.ndarray, scores: np.ndarray) -> tuple[int, float]:
    """The k of the best mean score, the first of equals, and that score."""
    means = scores.mean(axis=1)
    if np.isnan(means).all():
        raise ValueError(f"{type(model).__name__}: scoring={model.scoring!r} gives NaN for every k.")
    best = int(np.nanargmax(means))
    return int(ks[best]), float(means[best])


def _folds(model: Any, X: Any, y: Any, weight: np.ndarray | None) -> Iterator[tuple[Any, Any]]:
    """Training and test rows; (None, None) is for all rows, each without itself."""
    if isinstance(model.cv, LeaveOneOut) or (isinstance(model.cv, str) and model.cv == "loo"):
        yield None, None
        return
    yield from checked_folds(model, X, y, classifier=is_classifier(model), weight=weight)


def _candidates(model: Any, n: int, folds: list, weight: np.ndarray | None) -> np.ndarray:
    """The numbers to try; none is larger than the training rows of any fold."""
    mass = np.ones(n) if weight is None else weight.astype(np.float64)
    sizes = [mass.sum() - mass.max() if train is None else mass[train].sum() for train, _ in folds]
    most = int(min(sizes) * (1 + 1e-12))
    if model.ks is None:
        return np.array([k for k in CANDIDATES if k <= most] or [1])
    asked = list(model.ks)
    if not asked or not all(isinstance(k, int | np.integer) and k >= 1 for k in asked):
        raise ValueError(f"{type(model).__name__}: ks must be positive integers; got {model.ks!r}.")
    if max(asked) > most:
        raise ValueError(
            f"Expected n_neighbors <= n_samples_fit, but ks has n_neighbors = {max(asked)}, and a fold learns "
            f"from n_samples_fit = {most}."
        )
    return np.asarray(asked, dtype=np.int64)


def _fold_scores(
    model: Any, kind: type, ks: np.ndarray, X: Any, y: Any, weight: np.ndarray | None, train: Any, test: Any
) -> np.ndarray:
    """The score of every k on one fold, from one search."""
    names = set(kind._get_param_names()) & set(model.get_params(deep=False))  # type: ignore[attr-defined]
    fitted: Any = kind(int(ks.max()), **{name: getattr(model, name) for name in names})
    everyone = np.arange(X.shape[0])
    here, there = (everyone, everyone) if train is None else (train, test)
    rows, queries = X[here], X[there]
    if model._precomputed:
        rows, queries = rows[:, here], queries[:, here]
    fitted.fit(rows, y[here], None if weight is None else weight[here])
    found = fitted._neighbourhood(None if train is None else queries)
    scorer = check_scoring(fitted, model.scoring)
    more = {} if weight is None else {"sample_weight": weight[there]}
    scores = []
    for k in ks:
        fitted.found = found.nearest(int(k))
        scores.append(scorer(fitted, queries, y[there], **more))
    return np.array(scores, dtype=np.float64)

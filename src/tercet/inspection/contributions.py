"""Contributions of features to single predictions of trees (SHAP values): exact, and summing to the prediction."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tercet.core.chunks import GRAIN
from tercet.core.parallel import Chunks, each
from tercet.core.stopping import check_stop
from tercet.inspection._treeshap.interventional import (
    MOST_FEATURES,
    BackgroundMasks,
    add_interventional,
    background_masks,
    shapley_weights,
)
from tercet.inspection._treeshap.path_dependent import (
    add_contributions,
    add_divided_contributions,
    add_interactions,
    known_means,
    quadrature,
)
from tercet.inspection._treeshap.path_table import PathTable
from tercet.inspection.tree_sums import AdditiveTrees, additive_trees, without_last_class

BLOCK_ROWS = 1024  # rows of one task, at most
CHUNK_NUMBERS = 1 << 21  # numbers in their results
GROUP_EDGES = 1 << 14  # edges of the trees that they go through in one call


@dataclass(frozen=True)
class Contributions:
    """What each feature adds to each score of each row.

    Attributes
    ----------
    values : array of shape (n_samples, n_features), or (n_samples, n_features, n_scores)
        The contributions; for interactions there is a second axis of features.
    base_values : float, or array of shape (n_scores,)
        The score of a row of which nothing is known: scores are the base plus the sum of the contributions.
    data : array of shape (n_samples, n_features)
        The rows, categories as codes.
    feature_names, score_names : lists of str
        The columns, and the classes where there is a score for each.
    kind : {"value", "probability", "score"}
        What the scores are: predictions of a regressor, probabilities, or the scores of boosting.
    categories : list of arrays, None for a column of numbers
        What the codes of a column of categories stand for.
    """

    values: np.ndarray
    base_values: Any
    data: np.ndarray
    feature_names: list[str]
    score_names: list[str]
    kind: str
    categories: list[Any]

    @property
    def scores(self) -> np.ndarray:
        """The scores of the rows: the base plus all contributions."""
        axes = tuple(range(1, self.values.ndim - (1 if np.ndim(self.base_values) else 0)))
        return self.base_values + self.values.sum(axis=axes)

    def of(self, score: Any) -> Contributions:
        """The contributions to one of several scores, by its index or its name."""
        if not np.ndim(self.base_values):
            return self
        names = self.score_names
        k = names.index(str(score)) if isinstance(score, str) and score in names else score
        if not isinstance(k, int | np.integer) or not -len(self.base_values) <= k < len(self.base_values):
            raise ValueError(
                f"score must be one of {names or [*range(len(self.base_values))]}; got {score!r}."
            )
        name = [names[k]] if names else []
        parts = self.values[..., k], float(self.base_values[k]), self.data, self.feature_names, name
        return Contributions(*parts, self.kind, self.categories)

    def __len__(self) -> int:
        return len(self.values)


def contributions(
    model: Any, X: Any, *, background: Any = None, interactions: bool = False, n_jobs: int | None = None
) -> Contributions:
    """The contribution of every feature to the score of every row, exactly (TreeSHAP).

    They are the Shapley values of a game in which the features of a row become known one after the other, in all
    orders. What is not known is averaged out: along the paths of the tree, by the shares of the training rows, or,
    with `background` rows, over their values (interventional). Base and contributions sum to the score: the
    prediction of a regressor, the probability of a class (trees, forests, bagging), or the value of
    `decision_function` (boosting; for Poisson and gamma losses the logarithm of the prediction).

    Missing values and categories go the way that `predict` sends them.

    Parameters
    ----------
    model : fitted model of trees
        See `additive_trees` for which.
    X : array, frame or sparse matrix of shape (n_samples, n_features)
        The rows.
    background : array, frame or sparse matrix of shape (n_background, n_features), optional
        Rows whose values stand in for those that are not known; some hundred of the training rows, say.
    interactions : bool, default=False
        Whether to divide the contributions among pairs of features, an array of shape (n_samples, n_features,
        n_features): half of an interaction at [i, j] and half at [j, i], and on the diagonal what a feature adds
        by itself. Lines sum to the contributions.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Returns
    -------
    Contributions

    Examples
    --------
    >>> from tercet.tree import DecisionTreeRegressor
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 2.0, 6.0]
    >>> found = contributions(DecisionTreeRegressor().fit(X, y), [[1, 1]])
    >>> found.base_values, found.values.round(9).tolist(), found.scores.tolist()
    (2.0, [[2.5, 1.5]], [6.0])
    """
    parts = additive_trees(model)
    rows = parts.encode(X)
    shorter, dropped = without_last_class(parts)
    table = PathTable.of(shorter.trees, shorter.values, shorter.covers, shorter.first_scores)
    if background is not None:
        if interactions:
            raise ValueError("interactions=True follows the paths of the trees: it takes no background rows.")
        others = _checked_background(parts, table, background)
        found = _interventional(rows, others, table, len(shorter.start), n_jobs)
        base = parts.scores(background).mean(axis=0)
    else:
        found = _path_dependent(parts, rows, table, len(shorter.start), interactions, n_jobs)
        base = shorter.start + shorter.factor * _means_of_nothing(rows, table, shorter) / shorter.divisor
        base = np.append(base, 1.0 - base.sum()) if dropped else base
    found *= shorter.factor / shorter.divisor
    if dropped:
        found = np.concatenate([found, -found.sum(axis=-1, keepdims=True)], axis=-1)
    one = found.shape[-1] == 1
    return Contributions(
        found[..., 0] if one else found,
        float(base[0]) if one else base,
        rows,
        parts.feature_names,
        parts.score_names,
        parts.kind,
        parts.categories,
    )


def _sum_over_trees(
    kernel: Any, rows: np.ndarray, table: PathTable, given: tuple[Any, ...], shape: Any, n_jobs: int | None
) -> np.ndarray:
    """What a kernel adds for all trees, an array of `shape` for each row.

    Rows are divided by the size of their results and trees by their edges, so that a call takes no longer than a
    second and threads can be stopped between two.
    """
    found = np.zeros((len(rows), *shape))
    count = int(np.clip(CHUNK_NUMBERS // max(int(np.prod(shape)), 1) // GRAIN * GRAIN, GRAIN, BLOCK_ROWS))
    groups = np.unique(table.first_edge[1:] // GROUP_EDGES, return_index=True)[1]
    borders = [*groups.tolist(), len(table.root)]

    def add(chunk: tuple[np.ndarray, np.ndarray]) -> None:
        for start, stop in pairwise(borders):
            check_stop()
            kernel(chunk[0], table, start, stop, *given, chunk[1])

    each(add, Chunks(rows, found, rows=count), n_jobs=n_jobs)
    return found


def _path_dependent(
    parts: AdditiveTrees, rows: np.ndarray, table: PathTable, n_scores: int, pairs: bool, n_jobs: int | None
) -> np.ndarray:
    """Sums over the trees of the contributions, or of the interactions."""
    rule, d = quadrature(int(table.n_path.max())), rows.shape[1]
    divided = any(tree.shares for tree in parts.trees)
    single = add_divided_contributions if divided else add_contributions
    found = _sum_over_trees(single, rows, table, rule, (d, n_scores), n_jobs)
    if not pairs:
        return found
    both = _sum_over_trees(add_interactions, rows, table, rule, (d, d, n_scores), n_jobs)
    diagonal = np.arange(rows.shape[1])
    both[:, diagonal, diagonal] = found - both.sum(axis=2)
    return both


def _means_of_nothing(rows: np.ndarray, table: PathTable, parts: AdditiveTrees) -> np.ndarray:
    """The sums of the trees when no feature is known."""
    out = np.zeros((1, len(parts.start)))
    known_means(np.zeros((1, parts.n_features)), np.zeros(parts.n_features, dtype=bool), table, out)
    return out[0]


def _checked_background(parts: AdditiveTrees, table: PathTable, background: Any) -> np.ndarray:
    name = type(parts.model).__name__
    if any(tree.shares for tree in parts.trees):
        raise ValueError(f"{name}: rows without a value go to all branches; leave `background` out.")
    if table.n_path.max() > MOST_FEATURES:
        raise ValueError(
            f"{name}: a path tests {table.n_path.max()} features; with `background` there may be {MOST_FEATURES}."
        )
    others = parts.encode(background)
    if not len(others):
        raise ValueError("background must have at least 1 row; got none.")
    return others


def _interventional(
    rows: np.ndarray, others: np.ndarray, table: PathTable, n_scores: int, n_jobs: int | None
) -> np.ndarray:
    """Sums over the trees of the mean contributions over background rows."""
    given = BackgroundMasks(*background_masks(others, table)), shapley_weights(int(table.n_path.max()))
    return _sum_over_trees(add_interventional, rows, table, given, (rows.shape[1], n_scores), n_jobs)


def known_scores(parts: AdditiveTrees, rows: np.ndarray, known: list[int], n_jobs: int | None) -> np.ndarray:
    """The mean scores of encoded rows of which only some features are known, of shape (n, n_scores)."""
    table = PathTable.of(parts.trees, parts.values, parts.covers, parts.first_scores)
    mask, out = np.isin(np.arange(parts.n_features), known), np.zeros((len(rows), len(parts.start)))
    each(
        lambda chunk: known_means(chunk[0], mask, table, chunk[1]),
        Chunks(rows, out, rows=BLOCK_ROWS),
        n_jobs=n_jobs,
    )
    return parts.start + parts.factor * out / parts.divisor

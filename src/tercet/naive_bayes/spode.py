"""Super-parent one-dependence estimator (超父独依赖估计)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.fitted_checks import Indices
from tercet.core.folds import checked_folds
from tercet.core.parallel import Chunks, total
from tercet.core.parameters import ArrayLike, Count, Jobs, NonNegative
from tercet.core.stopping import check_stop
from tercet.naive_bayes._engine.pair_counts import chunk_rows
from tercet.naive_bayes._engine.super_parents import (
    SuperParentTables,
    check_pair_counts,
    super_parent_log_joint,
    super_parent_tables,
)
from tercet.naive_bayes.semi_naive_bayes import SemiNaiveBayes

TINY = 1e-300  # for logarithms of what may be 0


@method(
    zh="超父独依赖估计 SPODE",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ P(c, x_p) Π_j P(x_j | c, x_p), p the super-parent",
    strategy="maximum posterior probability, with Laplace's correction",
    algorithms="count every two values in every class; the parent by cross-validation",
    texts=["watermelon notes ch. 5, eq. 5.8"],
)
class SPODE(SemiNaiveBayes):
    """Super-parent one-dependence estimator: all columns depend on the class and on one of them.

    P(c, x_p) = (#(c, x_p) + α) / (#D + α K N_p) and P(x_j | c, x_p) = (#(c, x_p, x_j) + α) / (#(c, x_p) + α N_j).
    Where the parent's value is missing or new, the answer is that of naive Bayes.

    Parameters
    ----------
    parent : str or int, optional
        The super-parent: a column's name or place. By default the one that is right most often in cross-validation;
        of equals, the one with the greater likelihood.
    cv : int, splitter or iterable, default=5
        The folds of that cross-validation: so many, in which equal rows stay together; or what scikit-learn takes.
    alpha : float, default=1.0
        Laplace's correction, added to every count.
    n_bins : int, default=5
        Numbers with more distinct values than this are cut into so many intervals.
    class_prior : array of shape (n_classes,), optional
        Probabilities of the classes; by default they are learned.
    categorical_features : "from_dtype", list or mask, default="from_dtype"
        The columns whose numbers are categories, by place, name or mask; columns of strings always are.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    parent_ : int
        The place of the super-parent.
    parent_scores_ : array of shape (n_features,)
        Accuracy of each parent in cross-validation; NaN when the parent was given or there is one column.
    pair_count_ : array of shape (n_values, n_values, n_classes)
        How much weight every two values have together in each class; values are numbered from column to column.
    n_values_ : array of shape (n_features,)
        How many values each column has.
    categories_ : list
        The categories of each column; None for one of numbers.
    cuts_ : list
        Where each column of numbers is cut; None for one of categories.
    class_count_ : array of shape (n_classes,)
        The weight of each class.
    class_log_prior_ : array of shape (n_classes,)
        Logarithms of the classes' probabilities.

    Examples
    --------
    >>> X = [["sun", "hot"], ["sun", "mild"], ["rain", "mild"], ["rain", "hot"], ["sun", "hot"]]
    >>> model = SPODE(parent=1).fit(X, ["out", "out", "in", "in", "out"])
    >>> model.predict_proba([["sun", "mild"]]).round(3)
    array([[0.333, 0.667]])
    """

    def __init__(
        self,
        *,
        parent: int | str | None = None,
        cv: Any = 5,
        alpha: NonNegative = 1.0,
        n_bins: Count = 5,
        class_prior: ArrayLike | None = None,
        categorical_features: Features = "from_dtype",
        n_jobs: Jobs = None,
    ) -> None:
        self.parent = parent
        self.cv = cv
        self.alpha = alpha
        self.n_bins = n_bins
        self.class_prior = class_prior
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def _streaming_refusal(self) -> str:
        if self.parent is None:
            return "the parent is chosen by cross-validation. Give it (parent=...), or use AODE."
        return ""

    pair_count_: np.ndarray
    fitted_shapes = {"pair_count_": "values values classes", "parent_": Indices("", below="features")}

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        d = X.shape[1]
        self.parent_, self.parent_scores_ = 0, np.full(d, np.nan)
        if self.parent is not None:
            self.parent_ = self._column_index("parent", self.parent)
        values, weight = self._learn_values(X, y, sample_weight)
        self.pair_count_ = self._pair_counts(values, y, weight)
        if self.parent is None and d > 1:
            self._choose_parent(values, y, weight)

    def _choose_parent(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        """The best parent in cross-validation; the counts without a fold are the whole less the fold's own."""
        correct, log_likelihood, tested = np.zeros(values.shape[1]), np.zeros(values.shape[1]), 0.0
        for out in self._folds(values, y, weight):
            held = values[out], y[out], weight[out]
            tables = self._log_probabilities(self.pair_count_ - self._pair_counts(*held))
            found = total(_score_parents, Chunks(*held, rows=4096), tables, n_jobs=self.n_jobs)
            correct, log_likelihood = correct + found[0], log_likelihood + found[1]
            tested += float(weight[out].sum())
        if not tested > 0:
            raise ValueError(
                f"SPODE: the rows that cv={self.cv!r} leaves out have no weight; nothing is tested."
            )
        self.parent_scores_ = correct / tested
        tied = np.flatnonzero(correct >= correct.max() - 1e-9 * weight.sum())
        self.parent_ = int(tied[log_likelihood[tied].argmax()])

    def _folds(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Iterator[np.ndarray]:
        """The rows of each fold that is left out."""
        if not isinstance(self.cv, int | np.integer):
            yield from (test for _, test in checked_folds(self, values, y, classifier=True))
            return
        if self.cv < 2:
            raise ValueError(f"SPODE: parameter 'cv' must be at least 2 folds; got {self.cv}.")
        # Equal rows of a class stay together and are dealt out in order: a weight of 2 is then as good as two rows.
        here = np.flatnonzero(weight > 0)
        order = here[np.lexsort((*values[here].T, y[here]))]
        changed = np.ones(len(order), dtype=bool)
        changed[1:] = (np.diff(values[order], axis=0) != 0).any(axis=1) | (np.diff(y[order]) != 0)
        fold = (np.cumsum(changed) - 1) % min(int(self.cv), int(changed.sum()))
        yield from (order[fold == k] for k in np.unique(fold))

    def _log_probabilities(self, pairs: np.ndarray) -> SuperParentTables:
        given = self.class_prior is not None
        return super_parent_tables(pairs, self._offsets, self.alpha, self.class_log_prior_, given)

    def _tables(self, X: Any) -> tuple[SuperParentTables]:
        if not 0 <= self.parent_ < self.n_features_in_:
            raise ValueError(f"SPODE: parent_ must be the place of a column; got {self.parent_}.")
        check_pair_counts("SPODE", self.pair_count_, self._offsets, len(self.classes_))
        return (self._log_probabilities(self.pair_count_),)

    def _chunks(self, X: Any) -> Chunks:
        return Chunks(X, rows=chunk_rows(X.shape[1] ** 2))

    def _score(self, X: np.ndarray, tables: SuperParentTables) -> np.ndarray:
        """log P(c, x_p) Π_j P(x_j | c, x_p)."""
        parent = np.arange(X.shape[1]) == self.parent_
        return super_parent_log_joint(self._values(X), tables, parent, 0.0)


def _score_parents(chunk: tuple, tables: SuperParentTables) -> tuple[np.ndarray, np.ndarray]:
    """Of each super-parent in turn: the weight of the rows it classifies correctly, and the log-likelihood."""
    values, y, weight = chunk
    correct, log_likelihood = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for j in range(values.shape[1]):
        check_stop()
        chosen = np.arange(values.shape[1]) == j
        score = super_parent_log_joint(values, tables, chosen, 0.0)
        best = score.max(axis=1, keepdims=True)
        best[np.isneginf(best)] = 0.0
        proba = np.exp(score - best)
        own = proba[np.arange(len(y)), y] / np.maximum(proba.sum(axis=1), TINY)
        correct[j] = weight @ (score.argmax(axis=1) == y)
        log_likelihood[j] = weight @ np.log(np.maximum(own, TINY))
    return correct, log_likelihood

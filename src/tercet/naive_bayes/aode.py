"""Averaged one-dependence estimator (平均独依赖估计)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.parallel import Chunks
from tercet.core.parameters import ArrayLike, Count, Jobs, NonNegative
from tercet.naive_bayes._engine.pair_counts import chunk_rows
from tercet.naive_bayes._engine.super_parents import (
    SuperParentTables,
    check_pair_counts,
    super_parent_log_joint,
    super_parent_tables,
)
from tercet.naive_bayes.base import PartialFitMixin
from tercet.naive_bayes.semi_naive_bayes import SemiNaiveBayes


@method(
    zh="平均独依赖估计 AODE",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ Σ_i P(c, x_i) Π_j P(x_j | c, x_i) over the columns i whose value came often enough",
    strategy="maximum posterior probability, with Laplace's correction",
    algorithms="count every two values in every class",
    texts=["watermelon notes ch. 5, eq. 5.8"],
    peers=["weka.classifiers.bayes.AODE"],
)
class AODE(PartialFitMixin, SemiNaiveBayes):
    """Averaged one-dependence estimator: every column in turn is the super-parent of all others.

    P(c, x_i) = (#(c, x_i) + α) / (#D + α K N_i) and P(x_j | c, x_i) = (#(c, x_i, x_j) + α) / (#(c, x_i) + α N_j). A
    column is a parent where its value came in at least `min_count` rows; where none did, the answer is that of
    naive Bayes. Columns of numbers are cut into intervals; missing and unseen values are left out. In
    `partial_fit` the first batch decides the values of each column.

    Parameters
    ----------
    min_count : float, default=30
        The rows (or their weight) that must share a value before it may be a parent: m' in the texts.
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
    >>> AODE(min_count=1).fit(X, ["out", "out", "in", "in", "out"]).predict([["sun", "mild"]])
    array(['out'], dtype='<U3')
    """

    def __init__(
        self,
        *,
        min_count: NonNegative = 30,
        alpha: NonNegative = 1.0,
        n_bins: Count = 5,
        class_prior: ArrayLike | None = None,
        categorical_features: Features = "from_dtype",
        n_jobs: Jobs = None,
    ) -> None:
        self.min_count = min_count
        self.alpha = alpha
        self.n_bins = n_bins
        self.class_prior = class_prior
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    pair_count_: np.ndarray
    fitted_shapes = {"pair_count_": "values values classes"}

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        values, weight = self._learn_values(X, y, sample_weight)
        self.pair_count_ = self._pair_counts(values, y, weight)

    def _partial_fit(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> None:
        values, weight = self._add_values(X, y, weight)
        self.pair_count_ = self.pair_count_ + self._pair_counts(values, y, weight)

    def _tables(self, X: Any) -> tuple[SuperParentTables]:
        offsets, given = self._offsets, self.class_prior is not None
        check_pair_counts("AODE", self.pair_count_, offsets, len(self.classes_))
        return (super_parent_tables(self.pair_count_, offsets, self.alpha, self.class_log_prior_, given),)

    def _chunks(self, X: Any) -> Chunks:
        return Chunks(X, rows=chunk_rows(X.shape[1] ** 2))

    def _score(self, X: np.ndarray, tables: SuperParentTables) -> np.ndarray:
        """log Σ_i P(c, x_i) Π_j P(x_j | c, x_i) over the columns i whose value came in min_count rows."""
        every = np.ones(X.shape[1], dtype=bool)
        return super_parent_log_joint(self._values(X), tables, every, float(self.min_count))

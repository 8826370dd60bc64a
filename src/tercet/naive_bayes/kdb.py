"""k-dependence Bayes classifier (k 依赖估计, kDE)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.fitted_checks import Each, Indices
from tercet.core.parameters import ArrayLike, Count, CountOrZero, Jobs, NonNegative
from tercet.metrics import mutual_information
from tercet.naive_bayes._engine.family_tables import FamilyTables
from tercet.naive_bayes._engine.pair_counts import conditional_mutual_information, value_counts
from tercet.naive_bayes.semi_naive_bayes import SemiNaiveBayes


@method(
    zh="k 依赖贝叶斯分类器 kDE",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ P(c) Π_i P(x_i | c, pa_i), every column with up to k parents",
    strategy="parents of greatest conditional mutual information, I(x_i; x_j | c)",
    algorithms="columns by I(x_i; c), each with the k best of those before it (Sahami)",
    texts=["watermelon notes ch. 5, eq. 5.8"],
)
class KDB(SemiNaiveBayes):
    """k-dependence Bayes classifier: between naive Bayes (k = 0) and the full joint distribution.

    The columns are taken in the order of what they tell about the class, I(x_i; c); each gets as parents the k of
    those before it with the greatest I(x_i; x_j | c). The texts call it kDE; KDB is the name that its inventor gave
    it, and keeps it apart from kernel density estimation.

    Parameters
    ----------
    k : int, default=2
        The most parents that a column may have, besides the class.
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
    parents_ : list
        The parents of each column, the one that tells most about it first.
    order_ : array of shape (n_features,)
        The columns in the order in which they were taken.
    mutual_information_ : array of shape (n_features,)
        I(x_i; c), in bits.
    conditional_mutual_information_ : array of shape (n_features, n_features)
        I(x_i; x_j | c), in bits.
    edges_ : array of shape (n_edges, 2)
        All pairs (parent, child).
    tables_ : list
        For each column the counts of (parents' values, value, class).
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
    >>> X = [
    ...     ["a", "a", "p"],
    ...     ["a", "a", "q"],
    ...     ["b", "b", "p"],
    ...     ["b", "b", "q"],
    ...     ["a", "a", "p"],
    ...     ["b", "b", "q"],
    ... ]
    >>> model = KDB(k=1).fit(X, [0, 0, 0, 1, 1, 1])
    >>> [parents.tolist() for parents in model.parents_]
    [[], [0], [0]]
    """

    def __init__(
        self,
        k: CountOrZero = 2,
        *,
        alpha: NonNegative = 1.0,
        n_bins: Count = 5,
        class_prior: ArrayLike | None = None,
        categorical_features: Features = "from_dtype",
        n_jobs: Jobs = None,
    ) -> None:
        self.k = k
        self.alpha = alpha
        self.n_bins = n_bins
        self.class_prior = class_prior
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    parents_: list[np.ndarray]
    tables_: list[np.ndarray]
    fitted_shapes = {
        "parents_": Each(Indices("parents*@", below="features"), "features"),
        "tables_": Each("...", "features"),
    }

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        values, weight = self._learn_values(X, y, sample_weight)
        pairs, d = self._pair_counts(values, y, weight), X.shape[1]
        self.mutual_information_ = class_information(pairs, self._offsets)
        information = conditional_mutual_information(pairs, self._offsets)
        self.conditional_mutual_information_ = information
        self.order_ = _descending(self.mutual_information_)
        self.parents_ = [np.empty(0, dtype=np.int64)] * d
        for rank, i in enumerate(self.order_):
            before = self.order_[:rank]
            self.parents_[i] = before[_descending(information[i, before])[: self.k]]
        edges = [(p, i) for i in self.order_ for p in self.parents_[i]]
        self.edges_ = np.array(edges, dtype=np.int64).reshape(-1, 2)
        self.tables_ = self._family_counts(values, y, weight, self._parent_lists())

    def _parent_lists(self) -> list[list[int]]:
        return [[int(p) for p in parents] for parents in self.parents_]

    def _tables(self, X: Any) -> tuple[FamilyTables]:
        K, name = len(self.classes_), type(self).__name__
        return (FamilyTables(name, self.tables_, self._parent_lists(), self._offsets, self.alpha, K),)

    def _score(self, X: np.ndarray, tables: FamilyTables) -> np.ndarray:
        """log P(c) + Σ_i log P(x_i | c, pa_i)."""
        return tables.log_joint(self._values(X), self.class_log_prior_)


def _descending(values: np.ndarray) -> np.ndarray:
    """Indices from the greatest value to the least, of values rounded: the order of a sum must not decide."""
    return np.argsort(-np.round(values, 12), kind="stable")


def class_information(pairs: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """I(x_i; c) in bits for every column, from its counts of (value, class)."""
    single = value_counts(pairs)
    tables = [single[start:stop] for start, stop in pairwise(offsets)]
    return np.array(
        [mutual_information(table, base=2, normalise=True) if table.any() else 0.0 for table in tables]
    )

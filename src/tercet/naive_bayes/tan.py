"""Tree-augmented naive Bayes (树增强朴素贝叶斯)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.fitted_checks import Each, Indices
from tercet.core.parameters import ArrayLike, Count, Jobs, NonNegative
from tercet.naive_bayes._engine.family_tables import FamilyTables
from tercet.naive_bayes._engine.pair_counts import conditional_mutual_information
from tercet.naive_bayes.one_dependence_classifier import parent_lists
from tercet.naive_bayes.semi_naive_bayes import SemiNaiveBayes


@method(
    zh="树增强朴素贝叶斯 TAN",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ P(c) Π_i P(x_i | c, pa_i), the parents a tree",
    strategy="the tree of greatest likelihood: the one with most conditional mutual information I(x_i; x_j | c)",
    algorithms="maximum spanning tree (Prim), directed away from the root",
    texts=["watermelon notes ch. 5, eq. 5.8"],
    peers=["weka.classifiers.bayes.net.search.local.TAN", "pgmpy.estimators.TreeSearch"],
)
class TAN(SemiNaiveBayes):
    """Tree-augmented naive Bayes: every column depends on the class and on its parent in a tree.

    I(x_i; x_j | c) = Σ P(x_i, x_j, c) log P(x_i, x_j | c) / (P(x_i | c) P(x_j | c)) is the weight of an edge; the
    spanning tree of greatest weight, directed away from the root, gives the parents.

    Parameters
    ----------
    root : str or int, default=0
        The column at the root of the tree, by name or place; the probabilities hardly depend on it.
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
    edges_ : array of shape (n_features - 1, 2)
        The tree: (parent, child) in the order in which the children were found.
    parents_ : array of shape (n_features,)
        The parent of each column; -1 for the root.
    conditional_mutual_information_ : array of shape (n_features, n_features)
        I(x_i; x_j | c), in bits.
    tables_ : list
        For each column the counts of (parent's value, value, class); of (value, class) for the root.
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
    >>> model = TAN().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.edges_.tolist()
    [[0, 1], [0, 2]]
    """

    def __init__(
        self,
        *,
        root: int | str = 0,
        alpha: NonNegative = 1.0,
        n_bins: Count = 5,
        class_prior: ArrayLike | None = None,
        categorical_features: Features = "from_dtype",
        n_jobs: Jobs = None,
    ) -> None:
        self.root = root
        self.alpha = alpha
        self.n_bins = n_bins
        self.class_prior = class_prior
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    parents_: np.ndarray
    tables_: list[np.ndarray]
    fitted_shapes = {
        "parents_": Indices("features", below="features", low=-1),
        "tables_": Each("...", "features"),
    }

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        d, root = X.shape[1], self._column_index("root", self.root)
        values, weight = self._learn_values(X, y, sample_weight)
        pairs = self._pair_counts(values, y, weight)
        self.conditional_mutual_information_ = conditional_mutual_information(pairs, self._offsets)
        self.edges_ = maximum_spanning_tree(self.conditional_mutual_information_, root)
        self.parents_ = np.full(d, -1, dtype=np.int64)
        self.parents_[self.edges_[:, 1]] = self.edges_[:, 0]
        self.tables_ = self._family_counts(values, y, weight, parent_lists(self.parents_))

    def _tables(self, X: Any) -> tuple[FamilyTables]:
        K, name = len(self.classes_), type(self).__name__
        return (FamilyTables(name, self.tables_, parent_lists(self.parents_), self._offsets, self.alpha, K),)

    def _score(self, X: np.ndarray, tables: FamilyTables) -> np.ndarray:
        """log P(c) + Σ_i log P(x_i | c, pa_i)."""
        return tables.log_joint(self._values(X), self.class_log_prior_)


def maximum_spanning_tree(weights: np.ndarray, root: int = 0) -> np.ndarray:
    """Prim's algorithm: edges (from, to) of the heaviest spanning tree; of equals, the one with the first ends.

    Examples
    --------
    >>> maximum_spanning_tree(np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]])).tolist()
    [[0, 2], [2, 1]]
    """
    d = len(weights)
    inside = np.zeros(d, dtype=bool)
    inside[root] = True
    best, via = weights[root].astype(float).copy(), np.full(d, root)
    edges = []
    for _ in range(d - 1):
        outside = np.where(inside, -np.inf, best)
        # Sums in another order differ in the last digits, which must not choose the edge.
        new = int(np.flatnonzero(outside >= outside.max() - 1e-12 * max(abs(outside.max()), 1e-300))[0])
        edges.append((int(via[new]), new))
        inside[new] = True
        better = weights[new] > best * (1 + 1e-12)
        best, via = np.where(better, weights[new], best), np.where(better, new, via)
    return np.array(edges, dtype=np.int64).reshape(-1, 2)

"""One-dependence estimator (独依赖估计): every column depends on the class and on at most one other column."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.fitted_checks import Each, Indices
from tercet.core.parameters import ArrayLike, Count, Jobs, NonNegative
from tercet.naive_bayes._engine.family_tables import FamilyTables
from tercet.naive_bayes.base import PartialFitMixin
from tercet.naive_bayes.semi_naive_bayes import SemiNaiveBayes


@method(
    zh="独依赖估计 ODE",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ P(c) Π_i P(x_i | c, pa_i), pa_i the one parent of column i, if it has one",
    strategy="maximum posterior probability, with Laplace's correction",
    algorithms="count every value with its parent's in every class",
    texts=["watermelon notes ch. 5, eq. 5.8"],
)
class OneDependenceClassifier(PartialFitMixin, SemiNaiveBayes):
    """One-dependence estimator with parents that you give: P(c) Π_i P(x_i | c, pa_i).

    P(x_i | c, pa_i) = (#(c, pa_i, x_i) + α) / (#(c, pa_i) + α N_i). Without any parents this is naive Bayes;
    `TAN` finds the parents itself. In `partial_fit` the first batch decides the values of each column, and others
    count as missing later.

    Parameters
    ----------
    parents : dict or array of shape (n_features,), optional
        For a column, by name or place, the column it depends on; -1 or no entry: only on the class. They may not go
        round in a circle.
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
    parents_ : array of shape (n_features,)
        The parent of each column; -1 where the class is the only one.
    tables_ : list
        For each column the counts of (parent's value, value, class), or of (value, class).
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
    >>> model = OneDependenceClassifier(parents={1: 0}).fit(X, ["out", "out", "in", "in", "out"])
    >>> model.predict([["sun", "mild"]])
    array(['out'], dtype='<U3')
    """

    def __init__(
        self,
        parents: dict | list | tuple | np.ndarray | None = None,
        *,
        alpha: NonNegative = 1.0,
        n_bins: Count = 5,
        class_prior: ArrayLike | None = None,
        categorical_features: Features = "from_dtype",
        n_jobs: Jobs = None,
    ) -> None:
        self.parents = parents
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
        self.parents_ = self._check_parents(X.shape[1])
        values, weight = self._learn_values(X, y, sample_weight)
        self.tables_ = self._family_counts(values, y, weight, parent_lists(self.parents_))

    def _partial_fit(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> None:
        values, weight = self._add_values(X, y, weight)
        more = self._family_counts(values, y, weight, parent_lists(self.parents_))
        self.tables_ = [before + new for before, new in zip(self.tables_, more)]

    def _tables(self, X: Any) -> tuple[FamilyTables]:
        K, name = len(self.classes_), type(self).__name__
        return (FamilyTables(name, self.tables_, parent_lists(self.parents_), self._offsets, self.alpha, K),)

    def _score(self, X: np.ndarray, tables: FamilyTables) -> np.ndarray:
        """log P(c) + Σ_i log P(x_i | c, pa_i)."""
        return tables.log_joint(self._values(X), self.class_log_prior_)

    def _check_parents(self, d: int) -> np.ndarray:
        """The parameter `parents` as column numbers, -1 for none."""
        owner = type(self).__name__
        found = np.full(d, -1, dtype=np.int64)
        if isinstance(self.parents, dict):
            for child, parent in self.parents.items():
                if not isinstance(parent, int | np.integer) or parent != -1:
                    column = self._column_index("a child in parents", child)
                    found[column] = self._column_index("a parent in parents", parent)
        elif self.parents is not None:
            given = np.asarray(self.parents)
            if (
                given.shape != (d,)
                or given.dtype.kind not in "iu"
                or (given < -1).any()
                or (given >= d).any()
            ):
                raise ValueError(
                    f"{owner}: parents must be {d} numbers from -1 to {d - 1}, one for each column; "
                    f"got {self.parents!r}."
                )
            found[:] = given
        _refuse_cycles(owner, found)
        return found


def parent_lists(parents: np.ndarray) -> list[list[int]]:
    """The parents of every column: none where it is -1, else one."""
    return [[] if parent < 0 else [int(parent)] for parent in parents]


def _refuse_cycles(owner: str, parents: np.ndarray) -> None:
    for start in range(len(parents)):
        column, length = start, 0
        while parents[column] >= 0:
            column, length = parents[column], length + 1
            if length > len(parents):
                raise ValueError(f"{owner}: the parents of column {start} go round in a circle.")

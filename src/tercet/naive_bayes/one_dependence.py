"""One-dependence estimators (独依赖估计): every column leans on the class and on at most one other column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.parameters import ArrayLike, Count, Jobs, NonNegative
from tercet.naive_bayes.base import Batches
from tercet.naive_bayes.tables import TableClassifier, column_place, over_rows


class ParentsClassifier(TableClassifier):
    """P(c) Π_i P(x_i | c, pa_i), where a column has any number of parents.

    A subclass says who they are in `_structure`. Where a parent's value is missing it is summed out of the counts.
    """

    tables_: list[np.ndarray]

    def _structure(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Sequence[Sequence[int]]:
        """The parents of every column."""
        raise NotImplementedError

    def _families(self) -> list[list[int]]:
        """The parents of every column, from what was learned."""
        raise NotImplementedError

    def _learn_tables(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        before = getattr(self, "tables_", None)
        families = self._structure(values, y, weight) if before is None else self._families()
        k, sizes = len(self.classes_), self.n_values_
        self._check_room(
            sum(k * sizes[i] * np.prod(sizes[list(f)], dtype=float) for i, f in enumerate(families))
        )
        local = _local(values, self._starts)
        tables = []
        for i, parents in enumerate(families):
            shape = (*sizes[list(parents)], sizes[i], k)
            family = local[:, [*parents, i]]
            known = (family >= 0).all(axis=1)
            place = np.ravel_multi_index((*family[known].T, y[known]), shape)
            tables.append(np.bincount(place, weight[known], minlength=int(np.prod(shape))).reshape(shape))
        self.tables_ = tables if before is None else [a + b for a, b in zip(before, tables)]

    def _check_tables(self) -> None:
        super()._check_tables()
        k, sizes, d = len(self.classes_), self.n_values_, self.n_features_in_
        families = self._families()
        good = len(families) == len(self.tables_) == d and all(
            0 <= p < d and p != i for i, f in enumerate(families) for p in f
        )
        if not good or any(
            table.shape != (*sizes[f], sizes[i], k)
            for i, (f, table) in enumerate(zip(families, self.tables_))
        ):
            raise ValueError(f"{type(self).__name__}: the tables do not fit the columns and their parents.")

    def _joint_log_likelihood(self, X: np.ndarray) -> np.ndarray:
        return over_rows(self._scores, self._values(X), {}, n_jobs=self.n_jobs)

    def _scores(self, chunk: tuple, cache: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
        """log P(c) + Σ_i log P(x_i | c, pa_i) of a chunk of rows."""
        local = _local(chunk[0], self._starts)
        out = np.tile(self.class_log_prior_, (len(local), 1))
        for i, parents in enumerate(self._families()):
            known = local[:, parents] >= 0
            # Rows with the same parents known share a table: the others are summed out of it.
            pattern = known @ (1 << np.arange(len(parents)))
            for mask in np.unique(pattern):
                rows = np.flatnonzero((pattern == mask) & (local[:, i] >= 0))
                there = [p for b, p in enumerate(parents) if mask >> b & 1]
                table = cache.get((i, int(mask)))
                if table is None:
                    table = cache[i, int(mask)] = self._logarithm(i, parents, int(mask))
                out[rows] += table[tuple(local[rows][:, [*there, i]].T)]
        return out

    def _logarithm(self, i: int, parents: Sequence[int], mask: int) -> np.ndarray:
        """log P(x_i | c, those of its parents that are in the mask)."""
        gone = tuple(b for b in range(len(parents)) if not mask >> b & 1)
        counts = self.tables_[i].sum(axis=gone)
        size = counts.shape[-2]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log((counts + self.alpha) / (counts.sum(axis=-2, keepdims=True) + self.alpha * size))
        return np.where(np.isnan(found), -np.inf, found)


@method(
    zh="独依赖估计 ODE",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ P(c) Π_i P(x_i | c, pa_i), pa_i the one parent of column i, if it has one",
    strategy="maximum posterior probability, with Laplace's correction",
    algorithms="count every value with its parent's in every class",
    texts=["002 ch. 5, eq. 5.8"],
)
class OneDependenceClassifier(ParentsClassifier, Batches):
    """One-dependence estimator with parents that you give: P(c) Π_i P(x_i | c, pa_i).

    P(x_i | c, pa_i) = (#(c, pa_i, x_i) + α) / (#(c, pa_i) + α N_i). Without any parents this is naive Bayes;
    `TAN` finds the parents itself. In `partial_fit` the first batch decides the values of each column, and others
    count as missing later.

    Parameters
    ----------
    parents : dict or array of shape (n_features,), optional
        For a column, by name or place, the column it leans on; -1 or no entry: only on the class. They may not go
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

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self.__dict__.pop("tables_", None)
        super()._fit(X, y, sample_weight)

    def _structure(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> list[list[int]]:
        self.parents_ = self._given(values.shape[1])
        return self._families()

    def _families(self) -> list[list[int]]:
        return [[] if parent < 0 else [int(parent)] for parent in self.parents_]

    def _given(self, d: int) -> np.ndarray:
        """The parents as places."""
        owner, names = type(self).__name__, getattr(self, "feature_names_in_", None)
        found = np.full(d, -1, dtype=np.int64)
        if isinstance(self.parents, dict):
            for child, parent in self.parents.items():
                if not isinstance(parent, int | np.integer) or parent != -1:
                    place = column_place(owner, "a child in parents", child, names, d)
                    found[place] = column_place(owner, "a parent in parents", parent, names, d)
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
        _no_circle(owner, found)
        return found


def _no_circle(owner: str, parents: np.ndarray) -> None:
    for start in range(len(parents)):
        at, steps = start, 0
        while parents[at] >= 0:
            at, steps = parents[at], steps + 1
            if steps > len(parents):
                raise ValueError(f"{owner}: the parents of column {start} go round in a circle.")


def _local(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Values counted within each column; -1 where there is none."""
    return np.where(values < 0, -1, values - starts[:-1]).astype(np.int64)

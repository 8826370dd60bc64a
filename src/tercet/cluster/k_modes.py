"""k-modes clustering (k 众数聚类): k-means for categories."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tercet.cluster.initial_modes import cao_rows, distinct_first, huang_modes
from tercet.core.catalog import method
from tercet.core.columns import Columns, MixedColumns
from tercet.core.estimator import Clusterer, check_is_fitted, generator
from tercet.core.fitted_checks import Indices, Labels
from tercet.core.kernel import inner, kernel
from tercet.core.parallel import Chunks, all_cores, each, total
from tercet.core.parameters import Count, Jobs, Seed
from tercet.core.steps import Steps, stopped_early


@method(
    zh="k 众数聚类",
    task="clustering",
    model="each row belongs to the mode with which it differs in the fewest columns",
    strategy="least number of differences, Σ_l Σ_{C(i)=l} Σ_j [x_ij ≠ m_lj]",
    algorithms={
        "lloyd": "rows to their nearest modes, modes to the most frequent values of their rows, by turns"
    },
    texts=["Li ch. 14, Alg 14.2"],
    peers=["kmodes.kmodes.KModes"],
)
class KModes(Clusterer, MixedColumns):
    """k-modes clustering of categories: every row belongs to the nearest of k modes.

    The distance of a row from a mode is the number of columns in which they differ, and a mode has the most
    frequent value of its rows in each column (of equals, the first in order). Every distinct value, a string or a
    number, is a category. A missing value differs from every mode and is not counted; so does, in `predict`, one
    that was not learned.

    Parameters
    ----------
    n_clusters : int, default=8
        The number k of clusters.
    init : {"Cao", "Huang", "random"} or array of shape (n_clusters, n_features), default="Cao"
        The first modes: rows of frequent values far from each other, without chance; values drawn by their
        frequencies, then the row nearest to them; rows drawn at random; or given modes.
    n_init : "auto" or int, default="auto"
        How many starts to try; the one with the least cost is kept. "auto" is 10 when starts are drawn, else 1.
    max_iter : int, default=100
        The most passes of one start.
    verbose : int, default=0
        Print a line for each pass.
    random_state : int, optional
        Decides what is drawn.
    categories : "auto" or list of lists, default="auto"
        The values of each column; by default those that occur.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Attributes
    ----------
    cluster_centroids_ : array of shape (n_clusters, n_features)
        The modes.
    labels_ : array of shape (n_samples,)
        The cluster of each row; of equally near modes, the first.
    cost_ : float
        The number of differences at the end.
    categories_ : list of arrays
        The values of each column.
    n_iter_ : int
        Passes of the start that was kept.

    Examples
    --------
    >>> X = [["red", "S"], ["red", "M"], ["red", "S"], ["blue", "L"], ["blue", "L"], ["green", "L"]]
    >>> model = KModes(2).fit(X)
    >>> sorted(model.cluster_centroids_.tolist()), model.cost_
    ([['blue', 'L'], ['red', 'S']], 2.0)
    >>> bool(model.predict([["red", "XL"]])[0] == model.labels_[0])
    True
    """

    categorical_features: Any = None

    def __init__(
        self,
        n_clusters: Count = 8,
        *,
        init: Literal["Cao", "Huang", "random"] | list | tuple | np.ndarray = "Cao",
        n_init: Count | Literal["auto"] = "auto",
        max_iter: Count = 100,
        verbose: int | bool = 0,
        random_state: Seed = None,
        categories: Literal["auto"] | list | tuple = "auto",
        n_jobs: Jobs = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state
        self.categories = categories
        self.n_jobs = n_jobs

    fitted_shapes = {
        "_modes": Indices("clusters features", below=str(2**31), low=-1),
        "cluster_centroids_": Labels("clusters features"),
    }
    cluster_centroids_: np.ndarray
    cost_: float
    _modes: np.ndarray  # the codes of the modes; -1 where a column has no values

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of the rows X.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows; None and NaN are missing values.
        y : ignored
            Nothing is learned from it; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Find the clusters of the rows X, and return the cluster of each."""
        self.fit(X, sample_weight=sample_weight)
        return self.predict(X) if stopped_early(self) else self.labels_

    def _categorical(self, columns: Columns) -> list[bool]:
        return [True] * len(columns.values)

    def _sizes(self) -> np.ndarray:
        return np.array([0 if values is None else len(values) for values in self.categories_], dtype=np.int64)

    def _fit(self, X: np.ndarray, y: None, sample_weight: np.ndarray | None) -> None:
        weight = np.ones(len(X)) if sample_weight is None else sample_weight.astype(np.float64)
        if np.count_nonzero(weight) < self.n_clusters:
            raise ValueError(
                f"KModes: n_clusters={self.n_clusters} needs as many rows with a weight; "
                f"n_samples={np.count_nonzero(weight)} should be >= n_clusters={self.n_clusters}."
            )
        X, rng = self._forget_weightless(X, sample_weight), generator(self.random_state)
        codes = integer_codes(X, self._sizes())
        starts = self.n_init
        if starts == "auto":
            starts = 10 if isinstance(self.init, str) and self.init != "Cao" else 1

        def fitted(modes: np.ndarray) -> dict[str, Any]:
            labels, cost = self._assigned(codes, weight, modes)
            return {
                "_modes": modes,
                "cluster_centroids_": self._values(modes),
                "labels_": labels,
                "cost_": cost,
            }

        best: dict[str, Any] | None = None
        outer: Any = self.steps(starts, name="start", inner=self.max_iter) if starts > 1 else [self]
        for start in outer:
            loop = start.steps(self.max_iter, unpack=fitted)
            found = fitted(self._lloyd(codes, weight, self._first_modes(codes, weight, rng), loop))
            if best is None or found["cost_"] < best["cost_"]:
                best, passes = found, loop.count
        assert best is not None
        self.__dict__.update(best, n_iter_=passes)
        distinct = np.unique(self.labels_).size
        if distinct < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({self.n_clusters}). "
                "Possibly due to duplicate rows in X.",
                ConvergenceWarning,
                stacklevel=6,
            )

    def _lloyd(self, codes: np.ndarray, weight: np.ndarray, modes: np.ndarray, loop: Steps) -> np.ndarray:
        """Assignment and update by turns, from the first modes to the last."""
        labels, last = np.full(len(codes), -1, dtype=np.int32), np.inf
        for step in loop:
            before = labels.copy()
            _, gaps = self._nearest(codes, modes, labels)
            refill_empty(labels, gaps, weight, len(modes))
            moved = int((labels != before).sum())
            modes = self._modes_of(codes, weight, labels, modes)
            cost = float(weight @ differences(codes, modes, labels))
            step.report(modes, cost=cost, moved=moved)
            if self.verbose:
                print(f"Iteration {step.count}, cost {cost:.6g}, {moved} rows moved.")
            if step.converged(moved == 0 or cost >= last):
                break
            last = cost
        return modes

    def _nearest(
        self, codes: np.ndarray, modes: np.ndarray, labels: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The nearest mode of each row, written into `labels`, and the numbers of differences."""
        gaps = np.zeros(len(codes), dtype=np.int32)
        chunks = Chunks(codes, labels, gaps)
        each(nearest_chunk, chunks, np.ascontiguousarray(modes, np.int32), n_jobs=all_cores(self.n_jobs))
        return labels, gaps

    def _assigned(self, codes: np.ndarray, weight: np.ndarray, modes: np.ndarray) -> tuple[np.ndarray, float]:
        labels, gaps = self._nearest(codes, modes, np.zeros(len(codes), dtype=np.int32))
        return labels, float(weight @ gaps)

    def _modes_of(
        self, codes: np.ndarray, weight: np.ndarray, labels: np.ndarray, before: np.ndarray
    ) -> np.ndarray:
        """The most frequent value of each cluster and column; an empty one stays as it was."""
        sizes = self._sizes()
        starts = np.concatenate([[0], np.cumsum(sizes)])
        counts = total(
            count_chunk, Chunks(codes, weight, labels), starts, len(before), n_jobs=all_cores(self.n_jobs)
        )
        modes = before.copy()
        for j, (start, size) in enumerate(zip(starts, sizes)):
            table = counts[:, start : start + size]
            there = table.any(axis=1) if size else np.zeros(len(modes), dtype=bool)
            if size:
                modes[there, j] = table[there].argmax(axis=1)
        return modes

    def _first_modes(self, codes: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The modes of one start, as `init` says."""
        k = self.n_clusters
        if not isinstance(self.init, str):
            return self._given_modes()
        order = np.lexsort(codes.T[::-1])  # by content: shuffled rows give the same modes
        order = order[weight[order] > 0]
        if self.init == "Cao":
            return codes[cao_rows(codes, weight, order, k, self._sizes())]
        if self.init == "random":
            return codes[distinct_first(codes, order[rng.permutation(order.size)], k)]
        return huang_modes(codes, weight, order, k, self._sizes(), rng)

    def _given_modes(self) -> np.ndarray:
        """The modes that the caller gave, as codes."""
        given = np.asarray(self.init, dtype=object)
        shape = (self.n_clusters, len(self.categories_))
        if given.shape != shape:
            raise ValueError(f"KModes: init must have the shape {shape}; got {given.shape}.")
        found = np.full(shape, -1, dtype=np.int32)
        for j, known in enumerate(self.categories_):
            table = {value: c for c, value in enumerate([] if known is None else known.tolist())}
            for c, value in enumerate(given[:, j].tolist()):
                if value not in table:
                    raise ValueError(
                        f"KModes: init has {value!r} in column {j}; its values are {list(table)[:12]}."
                    )
                found[c, j] = table[value]
        return found

    def _values(self, modes: np.ndarray) -> np.ndarray:
        """Modes as values: one dtype if all columns have it, else objects; None where a column has no values."""
        columns = []
        for j, known in enumerate(self.categories_):
            values = np.array([None] if known is None else [*known.tolist(), None], dtype=object)
            columns.append(values[modes[:, j]])
        table = np.stack(columns, axis=1)
        kinds = {getattr(known, "dtype", np.dtype(object)).kind for known in self.categories_}
        if kinds == {"f"} and (modes >= 0).all():
            return table.astype(np.float64)
        return table

    def predict(self, X: Any) -> np.ndarray:
        """The nearest mode of each row; of equals, the first."""
        check_is_fitted(self)
        codes = integer_codes(self._check(X, reset=False), self._sizes())
        if self._modes.shape[1] != codes.shape[1]:
            raise ValueError(f"KModes: _modes has {self._modes.shape[1]} columns; X has {codes.shape[1]}.")
        return self._nearest(codes, self._modes, np.zeros(len(codes), dtype=np.int32))[0]


def integer_codes(X: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Codes as integers; -1 for a missing value, and for one that was not learned."""
    known = (X >= 0) & (sizes > X)
    return np.where(known, X, -1).astype(np.int32)


def refill_empty(labels: np.ndarray, gaps: np.ndarray, weight: np.ndarray, k: int) -> None:
    """Give each empty cluster the row that differs most from its own mode."""
    mine = np.bincount(labels[weight > 0], minlength=k)
    far = iter(np.argsort(-np.where(weight > 0, gaps, 0), kind="stable"))
    for cluster in np.flatnonzero(mine == 0):
        for i in far:
            if gaps[i] <= 0 or weight[i] == 0:
                return  # fewer different rows than clusters
            if mine[labels[i]] > 1:
                break
        else:
            return
        mine[labels[i]] -= 1
        mine[cluster] += 1
        labels[i] = cluster


def differences(codes: np.ndarray, modes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """In how many columns each row differs from its mode."""
    found = np.zeros(len(codes))
    for start in range(0, len(codes), 4096):
        here = slice(start, start + 4096)
        different = (codes[here] != modes[labels[here]]) | (codes[here] < 0)
        found[here] = different.sum(axis=1)
    return found


def nearest_chunk(chunk: tuple, modes: np.ndarray) -> None:
    codes, labels, gaps = chunk
    nearest_modes(codes, modes, labels, gaps)


def count_chunk(chunk: tuple, starts: np.ndarray, k: int) -> np.ndarray:
    """Weights of the values of all columns by cluster, of shape (k, values)."""
    codes, weight, labels = chunk
    counts = np.zeros((k, int(starts[-1])))
    count_values(codes, weight, labels, starts, counts)
    return counts


@kernel
def nearest_modes(codes, modes, labels, gaps):
    """The mode with the fewest differences for each row, the first of equals, and their number."""
    for i in range(labels.size):
        best, at = codes.shape[1] + 1, 0
        for c in range(modes.shape[0]):
            gap = count_differences(codes[i], modes[c])
            if gap < best:
                best, at = gap, c
        labels[i], gaps[i] = at, best


@inner
def count_differences(row, mode):
    gap = 0
    for j in range(row.size):
        gap += 1 if row[j] != mode[j] or row[j] < 0 else 0
    return gap


@kernel
def count_values(codes, weight, labels, starts, counts):
    """Add the weights of the rows to the counts of their clusters and values."""
    for i in range(labels.size):
        mine = counts[labels[i]]
        for j in range(codes.shape[1]):
            if codes[i, j] >= 0:
                mine[starts[j] + codes[i, j]] += weight[i]

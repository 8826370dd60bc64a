"""Divisive clustering (分裂聚类): from the top down, the widest cluster is split in two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from tercet.cluster._engine.linkage import MergeTree
from tercet.cluster.hierarchy import cut_count, linkage_matrix
from tercet.cluster.merge_trees import (
    check_distances,
    check_metric,
    pair_distances,
    query_distances,
    takes_all_rows,
)
from tercet.cluster.split_tree import SplitTree, by_first_row
from tercet.core.catalog import method
from tercet.core.estimator import Clusterer, check_is_fitted
from tercet.core.fitted_checks import Floats, Indices, Sizes, Whole
from tercet.core.parameters import Count, Jobs, NonNegative
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.core.steps import stopped_early


@method(
    zh="分裂聚类（DIANA）",
    task="clustering",
    model="a tree of nested clusters, from one of all rows down to as many as are wanted",
    strategy="split the cluster with the largest diameter, again and again",
    algorithms={
        "farthest-pair": "its two farthest rows part, and the others go to the nearer of the two",
        "diana": "rows that are nearer to the splinter group than to the rest join it, one at a time",
    },
    texts=["Li ch. 14, 14.2, exercise 14.1", "Li ch. 22, Table 22.1"],
)
class DivisiveClustering(Clusterer):
    """Divisive (hierarchical) clustering, from one cluster of all rows down.

    The cluster with the largest diameter (of equals, the one with the first row) is split in two, until the
    stopping rule holds. A split of m rows takes O(m²) distances, which are kept as one condensed matrix: O(n²) for
    few clusters or even splits, O(n³) for a full tree whose splits take off one row each.

    Parameters
    ----------
    n_clusters : int or None, default=2
        Stop when there are so many. Exactly one of this and `max_diameter` must be given.
    algorithm : {"farthest-pair", "diana"}, default="farthest-pair"
        How a cluster is split: its two farthest rows (of equals, the first pair) begin two new ones, and the others
        go to the nearer of the two, in a tie to the first; or the row that is farthest from the others on average
        begins a splinter group, which takes in, one at a time, the row that is by most nearer to it than to the
        rest.
    metric : str or callable, default="euclidean"
        The distance of two rows, as in `AgglomerativeClustering`; "precomputed" when X is the matrix of distances.
    max_diameter : float, optional
        Stop when no cluster has two rows that are farther apart.
    compute_full_tree : bool, default=False
        Go on splitting, down to single rows, for `cut` and a whole dendrogram; `labels_` are as without it.
    metric_params : dict, optional
        More for the metric, as in `AgglomerativeClustering`.
    n_jobs : int, optional
        Threads for the distances of all pairs; the result does not depend on it.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each row; clusters are numbered by their first rows.
    n_clusters_ : int
    n_leaves_ : int
        The clusters that were not split any further; all rows with `compute_full_tree`.
    leaves_ : array of shape (n_samples,)
        The leaf of each row.
    children_ : array of shape (n_leaves_ - 1, 2)
        The tree as merges, the last split first: leaves are 0 to n_leaves_ - 1, merge i makes node n_leaves_ + i.
    distances_ : array of shape (n_leaves_ - 1,)
        The diameters of the clusters that were split, in the same order; they never fall.
    poles_ : array of shape (n_leaves_ - 1, 2)
        The two farthest rows of each, in the same order.

    Examples
    --------
    >>> X = [[0.0], [1.0], [5.0], [6.0], [9.0]]
    >>> model = DivisiveClustering(3).fit(X)
    >>> model.labels_, model.distances_
    (array([0, 0, 1, 1, 2]), array([4., 9.]))
    """

    sparse_input = False

    def __init__(
        self,
        n_clusters: Count | None = 2,
        *,
        algorithm: Literal["farthest-pair", "diana"] = "farthest-pair",
        metric: str | Callable = "euclidean",
        max_diameter: NonNegative | None = None,
        compute_full_tree: bool = False,
        metric_params: dict | None = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.algorithm = algorithm
        self.metric = metric
        self.max_diameter = max_diameter
        self.compute_full_tree = compute_full_tree
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    children_: np.ndarray
    distances_: np.ndarray
    leaves_: np.ndarray
    poles_: np.ndarray
    _rows: np.ndarray
    fitted_shapes = {
        "n_leaves_": Whole("leaves", 1),
        "n_clusters_": Whole("", 1),
        "children_": Indices("splits* 2", below=str(2**62)),
        "distances_": Floats("splits*"),
        "leaves_": Indices("rows", below="leaves"),
        "labels_": Indices("rows", below="leaves"),
        "poles_": Indices("splits* 2", below="rows"),
        "_rows": Floats("rows features", finite=True),
    }

    def fit(self, X: Any, y: Any = None) -> Self:
        """Split the rows X, or a set that is given by its matrix of distances.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples, n_samples) when `metric` is "precomputed"
            The rows, or their distances.
        y : ignored
            Nothing is learned from it; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: np.ndarray, y: None, sample_weight: np.ndarray | None) -> None:
        self._check_choices(X)
        X, n = X.astype(np.float64, copy=False), len(X)
        plain = self.metric in ("euclidean", "l2") and not self.metric_params
        exponent = scale_exponent(largest(X)) if plain else 0  # distances must not overflow
        table = pair_distances(
            times_power(X, -exponent), self.metric, self.metric_params, self.n_jobs, "DivisiveClustering"
        )
        tree = SplitTree(table, n, exponent)
        wanted = 1 if self._is_done(tree) else None  # how many clusters the stopping rule leaves
        most = wanted or self.n_clusters or n
        most = n if self.compute_full_tree else most
        for step in self.steps(most - 1, name="split", unpack=lambda k: {"labels_": tree.labels(k)}):
            width = tree.split(self.algorithm)
            step.report(tree.count - 1, diameter=width, size=tree.sizes[-1])
            if wanted is None and self._is_done(tree):
                wanted = tree.count
            if wanted is not None and not self.compute_full_tree:
                break
        self.n_clusters_ = tree.count if wanted is None else wanted
        self.labels_ = tree.labels(self.n_clusters_ - 1)
        self.n_leaves_, self.leaves_ = tree.count, tree.labels(tree.count - 1)
        self.children_, self.distances_, self.poles_ = tree.merges()
        self.__dict__.pop("_rows", None)
        if self.metric != "precomputed":
            self._rows = X

    def _is_done(self, tree: SplitTree) -> bool:
        """Whether the stopping rule holds."""
        if self.max_diameter is not None:
            return tree.widest <= self.max_diameter
        return tree.count >= (self.n_clusters or 1)

    def _check_choices(self, X: np.ndarray) -> None:
        """Refuse parameters that do not fit each other, or the data."""
        n = len(X)
        if (self.n_clusters is None) == (self.max_diameter is None):
            raise ValueError(
                "DivisiveClustering: Exactly one of n_clusters, max_diameter has to be given; got "
                f"n_clusters={self.n_clusters!r}, max_diameter={self.max_diameter!r}."
            )
        if n < 2:
            raise ValueError(f"DivisiveClustering needs at least 2 rows; got n_samples = {n}.")
        if self.n_clusters is not None and self.n_clusters > n:
            raise ValueError(
                f"DivisiveClustering: n_clusters={self.n_clusters} needs as many rows; n_samples={n} should be >= "
                f"n_clusters={self.n_clusters}."
            )
        check_metric(self.metric, "DivisiveClustering")
        if self.metric == "precomputed":
            check_distances(X, "DivisiveClustering")

    def _check_fitted(self, sizes: Sizes) -> None:
        if "children_" not in vars(self):
            return
        leaves, splits = sizes["leaves"], sizes["splits"]
        before = (self.children_ < leaves + np.arange(splits)[:, None]).all()
        if splits != leaves - 1 or not before or np.unique(self.children_).size < 2 * splits:
            raise ValueError(
                f"DivisiveClustering: children_ has {splits} merges of {leaves} leaves; expected are "
                f"{leaves - 1}, each of two leaves or earlier merges that no other has."
            )
        if self.n_clusters_ > leaves or np.bincount(self.leaves_, minlength=leaves).min() == 0:
            raise ValueError(
                f"DivisiveClustering: n_clusters_ is {self.n_clusters_}, and leaves_ has "
                f"{np.unique(self.leaves_).size} leaves; expected are at most {leaves}, and {leaves}."
            )

    def cut(self, n_clusters: int | None = None, *, height: float | None = None) -> np.ndarray:
        """The cluster of each row when the tree is cut into so many clusters, or at a height.

        Parameters
        ----------
        n_clusters : int, optional
            The number of clusters, at most `n_leaves_`.
        height : float, optional
            In its place, a diameter: clusters of this diameter or above are split.

        Returns
        -------
        labels : array of shape (n_samples,)
            Clusters are numbered by their first rows.
        """
        check_is_fitted(self)
        if (n_clusters is None) == (height is None):
            raise ValueError(f"cut takes either n_clusters or height; got {n_clusters!r} and {height!r}.")
        if height is not None:
            n_clusters = cut_count(self.distances_ >= height, self.n_leaves_)
        assert n_clusters is not None
        if not 1 <= n_clusters <= self.n_leaves_:
            raise ValueError(
                f"n_clusters must be from 1 to {self.n_leaves_}, the clusters that there are; got {n_clusters!r}. "
                "compute_full_tree=True splits down to single rows."
            )
        return by_first_row(
            MergeTree(self.children_, self.distances_).cut(int(n_clusters), self.n_leaves_)[self.leaves_]
        )

    def linkage_matrix(self) -> np.ndarray:
        """The tree as `scipy.cluster.hierarchy` has it: two clusters, their diameter, the number of rows."""
        check_is_fitted(self)
        return linkage_matrix(self.children_, self.distances_, np.bincount(self.leaves_))

    def _can_predict(self) -> bool:
        return not takes_all_rows(self.metric)

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Split the rows X, and return the cluster of each."""
        self.fit(X)
        return self.predict(X) if stopped_early(self) else self.labels_

    @available_if(_can_predict)
    def predict(self, X: Any) -> np.ndarray:
        """The cluster of each new row, down the splits: to the nearer pole or, of DIANA, the nearer side by mean.

        Parameters
        ----------
        X : array of shape (n_queries, n_features), or (n_queries, n_samples) when `metric` is "precomputed"
            The rows, or their distances from those of `fit`.

        Returns
        -------
        labels : array of shape (n_queries,)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False).astype(np.float64, copy=False)
        rows = getattr(self, "_rows", np.empty((len(self.leaves_), 0)))
        order, start, size = self._spans()
        at = np.full(len(X), 2 * self.n_leaves_ - 2)
        for k in range(self.n_leaves_ - 2, self.n_leaves_ - 1 - self.n_clusters_, -1):
            here = np.flatnonzero(at == self.n_leaves_ + k)
            sides = [order[start[node] : start[node] + size[node]] for node in self.children_[k]]
            if self.algorithm == "farthest-pair":
                sides = [side[np.isin(side, self.poles_[k])] for side in sides]
            if not all(side.size for side in sides):
                raise ValueError(
                    f"DivisiveClustering: split {k} of the loaded model has a side without rows."
                )
            some = np.concatenate(sides)
            if self.metric == "precomputed":
                D = X[np.ix_(here, some)]
            else:
                D = query_distances(X[here], rows[some], self.metric, self.metric_params, rows)
            one, other = (part.mean(axis=1) for part in np.split(D, [sides[0].size], axis=1))
            first = sides[0].min() < sides[1].min()  # in a tie, to the side that has the first row or pole
            at[here] = self.children_[k][(other < one if first else other <= one).astype(np.int64)]
        return self.labels_[order[start[at]]]

    def _spans(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows in an order in which those of every node are side by side, with the first and the size of each."""
        size = np.concatenate([np.bincount(self.leaves_), np.zeros(self.n_leaves_ - 1, dtype=np.int64)])
        start = np.zeros_like(size)
        for k, (a, b) in enumerate(self.children_.tolist(), self.n_leaves_):
            size[k] = size[a] + size[b]
        for k in range(2 * self.n_leaves_ - 2, self.n_leaves_ - 1, -1):
            a, b = self.children_[k - self.n_leaves_]
            start[a], start[b] = start[k], start[k] + size[a]
        return np.argsort(start[self.leaves_], kind="stable"), start, size

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def split_cluster(
    distances: Any, algorithm: Literal["farthest-pair", "diana"] = "farthest-pair"
) -> np.ndarray:
    """One split of a cluster in plain form.

    Parameters
    ----------
    distances : array of shape (n, n)
        Symmetric, of the rows of the cluster.
    algorithm : {"farthest-pair", "diana"}, default="farthest-pair"
        How it is split; see `DivisiveClustering`.

    Returns
    -------
    side : array of shape (n,)
        The part of each row, 0 or 1: with the first of the farthest pair or the second; in the rest or the splinter
        group.

    Examples
    --------
    >>> D = [[0, 7, 2, 9, 3], [7, 0, 5, 4, 6], [2, 5, 0, 8, 1], [9, 4, 8, 0, 5], [3, 6, 1, 5, 0]]
    >>> split_cluster(D), split_cluster(D, "diana")
    (array([0, 1, 0, 1, 0]), array([0, 1, 0, 1, 0]))
    """
    D = np.array(distances, dtype=np.float64)
    n = len(D)
    if algorithm == "farthest-pair":
        one, other = divmod(int(np.triu(D + 1.0, 1).argmax()), n)
        side = (D[:, other] < D[:, one]).astype(np.int64)
        side[other] = 1
        return side
    if algorithm != "diana":
        raise ValueError(f"algorithm must be 'farthest-pair' or 'diana'; got {algorithm!r}.")
    group = [int(D.sum(axis=1).argmax())]
    while len(group) < n - 1:
        rest = np.setdiff1d(np.arange(n), group)
        gain = D[np.ix_(rest, rest)].sum(axis=1) / (len(rest) - 1) - D[rest][:, group].mean(axis=1)
        if gain.max() <= 1e-12 * D.max():
            break
        group.append(int(rest[gain.argmax()]))
    side = np.zeros(n, dtype=np.int64)
    side[group] = 1
    return side

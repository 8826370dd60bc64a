"""Bisecting k-means (二分 k 均值聚类): clusters are split in two, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import sparse

from tercet.cluster._engine.nearest_centres import nearest_centre
from tercet.cluster._engine.nearest_kernels import own_squared_distances
from tercet.cluster.centre_clusterer import CentreClusterer
from tercet.cluster.k_means import KMeans
from tercet.cluster.partition import times_square
from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Floats, Indices, Sizes
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.core.rows import rows
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.core.steps import Steps


@method(
    zh="二分 k 均值聚类",
    task="clustering",
    model="a binary tree of clusters, each split by the nearer of two centres; its k leaves are the clusters",
    strategy="least sum of squared distances to the centres, split by split",
    algorithms={
        "lloyd": "k-means with two centres inside the cluster that is split",
        "elkan": "the same, with a bound for each row and centre",
        "hamerly": "the same, with two bounds for each row",
    },
    texts=["Li ch. 14, Alg 14.2"],
    peers=["sklearn.cluster.BisectingKMeans"],
)
class BisectingKMeans(CentreClusterer):
    """k-means from the top down: all rows are one cluster at first, and one cluster is split in two k - 1 times.

    Each split is k-means with two centres on the rows of the cluster. That is faster than k centres at once when k
    is large, gives a hierarchy, and depends less on the start; the sum of squared distances may be somewhat larger.

    Parameters
    ----------
    n_clusters : int, default=8
        The number k of clusters.
    init : {"k-means++", "random"} or callable, default="random"
        The two first centres of a split, as in `KMeans`.
    n_init : int, default=1
        How many starts to try for each split.
    random_state : int, optional
        Decides what is drawn.
    max_iter : int, default=300
        The most passes of one start.
    verbose : int, default=0
        Print a line for each pass and each split.
    tol : float, default=1e-4
        When a split has converged, as in `KMeans`.
    copy_x : bool, default=True
        Taken for the sake of callers of scikit-learn's class: X is never changed.
    algorithm : {"lloyd", "elkan", "hamerly"}, default="lloyd"
        The algorithm of the splits, as in `KMeans`.
    bisecting_strategy : {"biggest_inertia", "largest_cluster"}, default="biggest_inertia"
        Which cluster to split: the one with the largest sum of squared distances to its centre, or the one with
        the most rows.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
    labels_ : array of shape (n_samples,)
        The cluster of each row.
    inertia_ : float
        The sum of squared distances to the centres.
    n_iter_ : int
        How many splits were made.

    Examples
    --------
    >>> X = [[1, 1], [10, 1], [3, 1], [10, 0], [2, 1], [10, 2], [10, 8], [10, 9], [10, 10]]
    >>> model = BisectingKMeans(3, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.tolist()), model.inertia_
    ([[2.0, 1.0], [10.0, 1.0], [10.0, 9.0]], 6.0)
    """

    def __init__(
        self,
        n_clusters: Count = 8,
        *,
        init: Literal["k-means++", "random"] | Callable = "random",
        n_init: Count = 1,
        random_state: Seed = None,
        max_iter: Count = 300,
        verbose: int | bool = 0,
        tol: NonNegative = 1e-4,
        copy_x: bool = True,
        algorithm: Literal["lloyd", "elkan", "hamerly"] = "lloyd",
        bisecting_strategy: Literal["biggest_inertia", "largest_cluster"] = "biggest_inertia",
        n_jobs: Jobs = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.max_iter = max_iter
        self.verbose = verbose
        self.tol = tol
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.bisecting_strategy = bisecting_strategy
        self.n_jobs = n_jobs

    width_checked_attributes = ("cluster_centers_", "_node_centers")
    fitted_shapes = {
        "_node_centers": Floats("nodes features", finite=True),
        "_children": Indices("nodes 2", below="nodes", low=-1),
    }
    _node_centers: np.ndarray  # the centres of all clusters that there ever were, the first that of all rows
    _children: np.ndarray  # the two clusters that each was split into, or -1

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        self._check_count(X)
        X = X if sparse.issparse(X) else np.ascontiguousarray(X)
        exponent = scale_exponent(largest(X))  # squares must neither overflow nor vanish
        X = times_power(X, -exponent)
        tree = BisectionTree(X, sample_weight)
        options: dict[str, Any] = {"init": self.init, "n_init": self.n_init, "max_iter": self.max_iter}
        options.update(tol=self.tol, verbose=self.verbose, algorithm=self.algorithm, n_jobs=self.n_jobs)
        options["random_state"] = generator(self.random_state)
        if callable(self.init):  # a function sees the rows as they came
            options["init"] = lambda part, k, random_state: times_power(
                self.init(times_power(part, exponent), k, random_state=random_state), -exponent
            )
        for step in self.steps(max(self.n_clusters - 1, 1), unpack=lambda tree: tree.attributes(exponent)):
            if self.n_clusters > 1:
                tree.split(self._next(tree), TwoMeans(2, **options))
            inertia = times_square(tree.inertia, exponent)
            step.report(tree.copy(), inertia=inertia)
            if self.verbose:
                print(f"Split {step.count}, inertia {inertia:.6g}.")
        self._warn_of_empty(np.bincount(tree.labels()))
        self.__dict__.update(tree.attributes(exponent), n_iter_=step.count)
        self._warn_of_range(tree.inertia, exponent)

    def _next(self, tree: BisectionTree) -> int:
        """The cluster to split next; of equals, the first."""
        leaves = tree.leaves()
        scores = tree.inertias if self.bisecting_strategy == "biggest_inertia" else tree.sizes
        # one with no two different rows has nothing to split, and is taken only when there is no other
        return max(leaves, key=lambda leaf: (tree.inertias[leaf] > 0, scores[leaf]))

    def predict(self, X: Any) -> np.ndarray:
        """The cluster of each row, found from the top of the tree: at each split the nearer of the two centres."""
        X = self._checked_rows(X)
        at = np.zeros(X.shape[0], dtype=np.intp)
        for node, (left, right) in enumerate(self._children):
            here = np.flatnonzero(at == node) if left >= 0 else np.empty(0, dtype=np.intp)
            if here.size:
                pair = np.ascontiguousarray(self._node_centers[[left, right]])
                nearer = nearest_centre(X[here], pair, all_cores(self.n_jobs))
                at[here] = np.where(nearer == 0, left, right)
        places = np.zeros(len(self._children), dtype=np.int32)
        leaves = leaves_in_order(self._children)
        places[leaves] = np.arange(len(leaves))
        return places[at]

    def _check_fitted(self, sizes: Sizes) -> None:
        if "_children" not in vars(self) or "_node_centers" not in vars(self):
            return
        children = self._children
        inner = children[:, 0] >= 0
        after = (children[inner] > np.flatnonzero(inner)[:, None]).all()
        leaves = int((~inner).sum())
        whole = (children[~inner] == -1).all() and np.unique(children[inner]).size == 2 * inner.sum()
        if (
            not after
            or not whole
            or leaves != sizes.get("clusters", leaves)
            or len(children) != 2 * leaves - 1
        ):
            raise ValueError(
                f"{type(self).__name__}: _children is no tree with {sizes.get('clusters')} leaves; expected are "
                "two later clusters for each that was split, and -1 for the others."
            )


class TwoMeans(KMeans):
    """k-means of one split: that it has not converged, or found one cluster, is not warned of."""

    def steps(self, limit: int, **options: Any) -> Steps:
        return super().steps(limit, **options, watch=lambda step: step.count == limit)

    def _warn(self, message: str, kind: type[Warning] = RuntimeWarning) -> None:
        pass


class BisectionTree:
    """The tree of clusters: rows, centres, inertias and sizes by cluster, the first that of all rows."""

    def __init__(self, X: Any, weight: np.ndarray | None) -> None:
        self.X, self.weight = X, weight
        mass = np.ones(X.shape[0]) if weight is None else weight.astype(np.float64)
        mean = np.asarray(X.T @ mass).reshape(-1) / mass.sum()
        self.members: list[np.ndarray | None] = [np.arange(X.shape[0])]
        self.children: list[tuple[int, int]] = [(-1, -1)]
        self.centres: list[np.ndarray] = [mean.astype(X.dtype)]
        self.sizes: list[int] = [X.shape[0]]
        gaps = self._gaps(X, np.zeros(X.shape[0], dtype=np.int32), self.centres[0][None])
        self.inertias: list[float] = [float(mass @ gaps)]

    def copy(self) -> BisectionTree:
        other = object.__new__(BisectionTree)
        other.__dict__.update(vars(self))
        for name in ("members", "children", "centres", "sizes", "inertias"):
            setattr(other, name, list(getattr(self, name)))
        return other

    @property
    def inertia(self) -> float:
        return sum(self.inertias[leaf] for leaf in self.leaves())

    def leaves(self) -> list[int]:
        return leaves_in_order(np.array(self.children))

    def split(self, node: int, halves: KMeans) -> None:
        """Split a cluster in two by k-means; one without different rows into itself and an empty one."""
        members = self.members[node]
        assert members is not None
        if self.inertias[node] > 0:
            part = self.X[members]
            weight = None if self.weight is None else self.weight[members]
            halves.fit(part, sample_weight=weight)
            labels, centres = halves.labels_, halves.cluster_centers_
            gaps = self._gaps(part, labels, centres)
            inertias: np.ndarray = np.bincount(labels, gaps if weight is None else gaps * weight, minlength=2)
        else:
            labels, inertias = np.zeros(members.size, dtype=np.int32), np.zeros(2)
            centres = np.stack([self.centres[node]] * 2)
        self.children[node] = (len(self.children), len(self.children) + 1)
        self.members[node] = None
        for half in (0, 1):
            mine = members[labels == half]
            self.members.append(mine)
            self.children.append((-1, -1))
            self.centres.append(centres[half])
            self.sizes.append(mine.size)
            self.inertias.append(float(inertias[half]))

    def labels(self) -> np.ndarray:
        labels = np.zeros(self.X.shape[0], dtype=np.int32)
        for k, leaf in enumerate(self.leaves()):
            labels[self.members[leaf]] = k
        return labels

    def attributes(self, exponent: int = 0) -> dict[str, Any]:
        """What the estimator shows, for rows that were scaled by 2^-exponent."""
        centres = times_power(np.stack(self.centres), exponent)
        return {
            "cluster_centers_": centres[self.leaves()],
            "labels_": self.labels(),
            "inertia_": times_square(self.inertia, exponent),
            "_node_centers": centres,
            "_children": np.array(self.children),
        }

    @staticmethod
    def _gaps(X: Any, labels: np.ndarray, centres: np.ndarray) -> np.ndarray:
        points = centres.astype(np.float64)
        return own_squared_distances(rows(X), labels, points, np.einsum("ij,ij->i", points, points))


def leaves_in_order(children: np.ndarray) -> list[int]:
    """The leaves of a tree from left to right."""
    found, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        left, right = children[node]
        if left < 0:
            found.append(node)
        else:
            waiting += [int(right), int(left)]
    return found

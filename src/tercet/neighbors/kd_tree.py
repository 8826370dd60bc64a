"""The kd-tree (kd 树): rows sorted by place, so that a search looks at a few of them only.

Space is cut in two at a median again and again, until few rows are left in each part. A search goes down to the
part where the query is, and then looks at other parts only if the ball around the query reaches them.

Large trees are grown in two steps. A sample of the rows gives the first few thousand parts; then all rows are
dealt to the parts, and each part grows the rest of its branch in a core's own cache. Queries are answered in the
order of the parts that they fall into: what one of them has brought into the cache, the next one needs as well.
"""

from __future__ import annotations

import numbers
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from tercet.core.catalog import method
from tercet.core.parallel import Chunks, each
from tercet.metrics.distance.vectors import check_p, check_weights
from tercet.neighbors.kd_kernels import Nodes, by_place, deal, grow, grow_parts, search, within
from tercet.neighbors.kd_metrics import Metric, Minkowski, metric_of

POWERS = {
    "minkowski": None,
    "p": None,
    "euclidean": 2,
    "l2": 2,
    "manhattan": 1,
    "cityblock": 1,
    "l1": 1,
    "chebyshev": np.inf,
    "infinity": np.inf,
}
PARTS, PART, SAMPLE = 4096, 1024, 16  # parts at most, rows of a part, how many of them are in the sample
TASK = 1 << 15  # rows of the parts that are grown in one go
QUERIES = 1024  # queries answered in one go
LARGE = 1e150  # what may be squared


@method(
    zh="kd 树",
    task="search",
    model="a binary tree: each node cuts space at the median of its rows, in the coordinate where they differ most",
    strategy="look only where the ball around the query reaches",
    algorithms="descend to the query's leaf, then back up; branches beyond the farthest neighbour are left out",
    texts=["000 ch. 3, Alg 3.2, 3.3"],
    peers=["scipy.spatial.cKDTree", "sklearn.neighbors.KDTree", "pykdtree"],
)
class KDTree:
    """Exact nearest neighbours, and neighbours within a radius, under any L_p distance.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows. They are not copied if they are floats, row after row: leave them as they are.
    leaf_size : int, default=16
        Parts of so many rows are not cut any more. It changes the time, not the result.
    metric : str, default="minkowski"
        "minkowski", or "euclidean" ("l2"), "manhattan" ("l1", "cityblock"), "chebyshev" ("infinity"), which set p.
    p : float, default=2
        The power of the distance, from 1 to infinity.
    w : array of shape (d,), optional
        Weights of the coordinates: (Σ_l w_l |x_l - z_l|^p)^(1/p).
    n_jobs : int, optional
        Threads to use. The result does not depend on it.

    Attributes
    ----------
    data : array of shape (n, d)
        The rows.
    n, m : int
        How many they are and of how many coordinates.

    Notes
    -----
    Of rows at the same distance, those that come first in X are nearer. Any number of equal rows is fine: they
    make one leaf, of which a search looks at k.

    Examples
    --------
    >>> tree = KDTree([[2, 3], [5, 4], [9, 6], [4, 7], [8, 1], [7, 2]])
    >>> distances, indices = tree.query([[9, 2]], k=2)
    >>> indices
    array([[4, 5]])
    >>> tree.query_radius([[9, 2]], r=2)[0]
    array([4, 5])
    """

    def __init__(
        self,
        X: Any,
        leaf_size: int = 16,
        metric: str = "minkowski",
        p: float = 2,
        *,
        w: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.data = check_array(X, dtype=[np.float64, np.float32], order="C", input_name="X")
        self.n, self.m = self.data.shape
        if self.n >= 2**31:
            raise ValueError(f"X has {self.n} rows; a tree takes fewer than {2**31}.")
        self.leaf_size, self.metric, self.w, self.n_jobs = _count(leaf_size, "leaf_size"), metric, w, n_jobs
        if metric not in POWERS:
            raise ValueError(f"metric must be one of {', '.join(map(repr, POWERS))}; got {metric!r}.")
        power = POWERS[metric]
        self.p = check_p(p if power is None else power)
        self._scale = None
        if w is not None:
            weight = check_weights(w, self.m)
            self._scale = (weight > 0).astype(float) if np.isinf(self.p) else weight ** (1 / self.p)
        self._points = self.data if self._scale is None else self.data * self._scale
        self._leaf = min(self.leaf_size, self.n)
        self._grow()

    def query(
        self,
        X: Any,
        k: int = 1,
        return_distance: bool = True,
        sort_results: bool = True,
        *,
        n_jobs: int | None = None,
    ) -> Any:
        """The k nearest rows of each query, nearest first.

        Parameters
        ----------
        X : array of shape (n_queries, d)
            The queries.
        k : int, default=1
            How many rows; no more than there are.
        return_distance : bool, default=True
            Give the distances, too.
        sort_results : bool, default=True
            Taken for the sake of callers of scikit-learn's class: results are always sorted.
        n_jobs : int, optional
            Threads to use; by default as many as the tree was grown with.

        Returns
        -------
        distances : array of shape (n_queries, k)
            Only with `return_distance`.
        indices : array of shape (n_queries, k)
            The numbers of the rows; of rows at one distance, the smaller number first.
        """
        if _count(k, "k") > self.n:
            raise ValueError(
                f"k={k} neighbours were asked for, but the tree has n={self.n} rows: k must be <= n."
            )
        Q = self._queries(X)
        far, near = np.empty((len(Q), k)), np.empty((len(Q), k), dtype=np.int64)
        tree, metric = (self._points, self._order, self._nodes, self._box, self._depth), self._metric(Q)
        self._go(lambda some, turns: search(*tree, self._leaf, some, turns, metric, far, near), Q, n_jobs)
        return (far, near) if return_distance else near

    def radius(
        self, X: Any, r: Any, *, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows no farther than r from each query, as (indptr, indices, distances).

        Those of query i are indices[indptr[i] : indptr[i + 1]], in the order of the tree; r is a number, or an
        array with one for each query.

        Examples
        --------
        >>> KDTree([[0.0], [1.0], [5.0]]).radius([[0.5], [9.0]], 0.5)
        (array([0, 2, 2]), array([0, 1]), array([0.5, 0.5]))
        """
        Q = self._queries(X)
        limits = radii(r, len(Q))
        indptr = np.zeros(len(Q) + 1, dtype=np.int64)
        np.cumsum(self._within(Q, limits, indptr, 0, n_jobs)[0], out=indptr[1:])
        _, near, far = self._within(Q, limits, indptr, int(indptr[-1]), n_jobs)
        return indptr, near, far

    def query_radius(
        self,
        X: Any,
        r: Any,
        return_distance: bool = False,
        count_only: bool = False,
        sort_results: bool = False,
        *,
        n_jobs: int | None = None,
    ) -> Any:
        """The rows no farther than r from each query.

        Parameters
        ----------
        X : array of shape (n_queries, d)
            The queries.
        r : float or array of shape (n_queries,)
            How far.
        return_distance : bool, default=False
            Give the distances, too.
        count_only : bool, default=False
            Give only how many there are.
        sort_results : bool, default=False
            The nearest first; otherwise in the order of their numbers.
        n_jobs : int, optional
            Threads to use; by default as many as the tree was grown with.

        Returns
        -------
        counts : array of shape (n_queries,)
            With `count_only`.
        indices : array of n_queries arrays
            The numbers of the rows.
        distances : array of n_queries arrays
            With `return_distance`.
        """
        if count_only:
            Q = self._queries(X)
            return self._within(Q, radii(r, len(Q)), np.zeros(len(Q) + 1, dtype=np.int64), 0, n_jobs)[0]
        indptr, near, far = self.radius(X, r, n_jobs=n_jobs)
        who = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        order = np.lexsort((near, far, who) if sort_results else (near, who))
        indices = _pieces(near[order], indptr)
        return (indices, _pieces(far[order], indptr)) if return_distance else indices

    def __reduce__(self) -> Any:
        # The rows are enough: they grow the same tree again, and no file can send a search astray.
        return _again, (type(self), self.data, self.leaf_size, self.metric, self.p, self.w, self.n_jobs)

    def _grow(self) -> None:
        X = self._points
        parts = min(PARTS, self.n // PART)
        self._top = Top(X, parts) if parts > 1 else None
        if self._top:
            self._order, borders = self._top.sort(X, self.n_jobs)
        else:
            self._order, borders = np.arange(self.n, dtype=np.int32), np.array([0, self.n])

        def branch(span: tuple[int, int]) -> Any:
            here = borders[span[0] : span[1] + 1]
            nodes, roots = _blank(2 * (here[-1] - here[0])), np.empty(len(here) - 1, dtype=np.int64)
            box = np.array([[np.inf], [-np.inf]]).repeat(self.m, axis=1)
            count, depth = grow_parts(X, self._order, here, self._leaf, nodes, roots, box)
            return Nodes(*(array[:count].copy() for array in nodes)), roots, depth, box

        cuts = np.unique(
            np.searchsorted(borders, np.arange(0, self.n + TASK, TASK)).clip(max=len(borders) - 1)
        )
        grown, roots, depths, boxes = zip(*each(branch, list(pairwise(cuts)), n_jobs=self.n_jobs))
        self._box = np.array([np.min(boxes, axis=0)[0], np.max(boxes, axis=0)[1]])
        self._depth = max(depths) + (self._top.depth if self._top else 0)
        self._nodes = _joined(self._top, grown, roots)

    def _go(self, run: Callable[..., int], Q: np.ndarray, n_jobs: int | None) -> None:
        """`run(queries, their numbers)` for all queries, those of one part of the tree together."""
        n_jobs = self.n_jobs if n_jobs is None else n_jobs
        turns = self._top.sort(Q, n_jobs)[0] if self._top else np.arange(len(Q), dtype=np.int32)

        halt = threading.Event()  # when one thread is interrupted, the others need not go on

        def answer(chunk: tuple[np.ndarray]) -> None:
            some, done = Q[chunk[0]], 0
            try:
                while done < len(some) and not halt.is_set():
                    done += run(some[done:], chunk[0][done:])
            except BaseException:
                halt.set()
                raise

        each(answer, Chunks(turns, rows=QUERIES), n_jobs=n_jobs)

    def _within(
        self, Q: np.ndarray, limits: np.ndarray, indptr: np.ndarray, room: int, n_jobs: int | None
    ) -> Any:
        """How many rows are within reach of each query; which and how far, if there is room for them."""
        count, near, far = np.zeros(len(Q), dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room)
        tree, metric = (self._points, self._order, self._nodes, self._box, self._depth), self._metric(Q)
        self._go(
            lambda some, turns: within(*tree, some, turns, metric, limits, indptr, count, near, far),
            Q,
            n_jobs,
        )
        return count, near, far

    def _queries(self, X: Any) -> np.ndarray:
        Q = check_array(X, dtype=np.float64, order="C", input_name="X", ensure_min_samples=0)
        if Q.shape[1] != self.m:
            raise ValueError(f"X has {Q.shape[1]} columns, and the rows of the tree have {self.m}.")
        if self._scale is not None:
            return Q * self._scale
        return Q if Q.flags.writeable else Q.copy()  # kernels are compiled for one kind of array

    def _metric(self, Q: np.ndarray) -> Metric:
        if self.p == 2 and not max(np.abs(self._box).max(), np.abs(Q).max(initial=0.0)) < LARGE:
            return Minkowski(2.0)
        return metric_of(self.p)


class Top:
    """The top of a large tree, grown on a sample of the rows: it deals rows to parts."""

    def __init__(self, X: np.ndarray, parts: int) -> None:
        edges = np.linspace(0, len(X), SAMPLE * parts + 1).astype(np.int64)
        sample = X[np.random.default_rng(0).integers(edges[:-1], edges[1:])]
        nodes, order = _blank(2 * len(sample)), np.arange(len(sample), dtype=np.int32)
        count, self.depth = grow(sample, order, SAMPLE, nodes, 0)
        axis, link, _, high = (array[:count].copy() for array in nodes)
        leaves = np.flatnonzero(axis < 0)
        self.leaves = leaves[np.argsort(link[leaves, 0])]
        self.number = np.zeros(count, dtype=np.uint16)
        self.number[self.leaves] = np.arange(len(leaves))
        axis[leaves], high[leaves], link[leaves] = 0, np.inf, leaves[:, None]
        # Of the rows below a cut, only those of the sample are known: some may be close to it.
        self.nodes = Nodes(axis, link, high.copy(), high)

    def sort(self, X: np.ndarray, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the rows, part by part, and where the parts begin and end."""
        place = np.empty(len(X), dtype=np.uint16)
        each(
            lambda chunk: deal(chunk[0], self.nodes, self.depth, self.number, chunk[1]),
            Chunks(X, place),
            n_jobs=n_jobs,
        )
        order, borders = np.empty(len(X), dtype=np.int32), np.empty(len(self.leaves) + 1, dtype=np.int64)
        by_place(place, borders, order)
        return order, borders


def _joined(top: Top | None, grown: Any, roots: Any) -> Nodes:
    """One tree of the top and the branches."""
    pieces, starts, base = list(grown), [], 0
    if top:
        pieces.insert(0, top.nodes)
        base = len(top.nodes.axis)
    for nodes, first in zip(grown, roots):
        nodes.link[nodes.axis >= 0] += base
        starts.append(first + base)
        base += len(nodes.axis)
    whole = Nodes(*(np.concatenate(arrays) for arrays in zip(*pieces)))
    if top:
        for array in whole:  # a leaf of the top becomes the root of its branch
            array[top.leaves] = array[np.concatenate(starts)]
    return whole


def _blank(n: int) -> Nodes:
    return Nodes(np.empty(n, np.int32), np.empty((n, 2), np.int32), np.empty(n), np.empty(n))


def _again(kind: type, X: Any, leaf_size: int, metric: str, p: float, w: Any, n_jobs: int | None) -> Any:
    return kind(X, leaf_size, metric, p, w=w, n_jobs=n_jobs)


def _count(value: Any, name: str) -> int:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer in [1, inf); got {value!r}.")
    return int(value)


def radii(r: Any, n: int) -> np.ndarray:
    given = np.asarray(r, dtype=np.float64)
    if given.shape not in ((), (1,), (n,)):
        raise ValueError(f"r must be a number, or {n}, one for each query; got the shape {given.shape}.")
    limits = np.array(np.broadcast_to(given, n))
    if not (limits >= 0).all():
        raise ValueError(f"r must not be negative; got {limits[~(limits >= 0)][0]}.")
    return limits


def _pieces(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """An array of arrays, cut at `indptr`."""
    pieces = np.empty(len(indptr) - 1, dtype=object)
    for i in range(len(pieces)):
        pieces[i] = values[indptr[i] : indptr[i + 1]]
    return pieces

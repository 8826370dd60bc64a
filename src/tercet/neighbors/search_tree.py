"""Base class of the search trees: queries, checked and answered by an engine."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar

import numpy as np

from tercet.core.validation import check_array
from tercet.neighbors._engine.flat_ball_tree import KERNELS, FlatBallTree
from tercet.neighbors._engine.neighbourhood import check_radius, ragged


class SearchTree:
    """A tree over rows, for exact neighbours, counts of pairs and kernel densities.

    Attributes
    ----------
    data : array of shape (n, d)
        The rows.
    n, m : int
        How many they are and of how many coordinates.
    """

    valid_metrics: ClassVar[list[str]]
    data: np.ndarray
    n: int
    m: int
    leaf_size: int
    n_jobs: int | None
    _tree: Any

    def query(
        self,
        X: Any,
        k: int = 1,
        return_distance: bool = True,
        dualtree: bool = False,
        breadth_first: bool = False,
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
        dualtree, breadth_first : bool, default=False
            Ways to search of scikit-learn's class; the answers are the same, and so is the way here.
        sort_results : bool, default=True
            Taken for the sake of callers of scikit-learn's class: results are always sorted.
        n_jobs : int, optional
            Threads to use; by default as many as the tree was built with.

        Returns
        -------
        distances : array of shape (n_queries, k)
            Only with `return_distance`.
        indices : array of shape (n_queries, k)
            The numbers of the rows; of rows at one distance, the smaller number first.
        """
        if check_count(k, "k") > self.n:
            raise ValueError(
                f"k must be less than or equal to the number of training points: k={k} neighbours were asked for, "
                f"but the tree has n={self.n} rows: k must be <= n."
            )
        far, near = self._tree.query(self._queries(X), int(k), n_jobs)
        return (far, near) if return_distance else near

    def radius(
        self, X: Any, r: Any, *, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows no farther than r from each query, as (indptr, indices, distances).

        Those of query i are indices[indptr[i] : indptr[i + 1]], in the order of the tree; r is a number, or an
        array with one for each query.

        Examples
        --------
        >>> from tercet.neighbors import KDTree
        >>> KDTree([[0.0], [1.0], [5.0]]).radius([[0.5], [9.0]], 0.5)
        (array([0, 2, 2]), array([0, 1]), array([0.5, 0.5]))
        """
        Q = self._queries(X)
        return self._tree.radius(Q, check_radius(r, len(Q)), n_jobs)

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
            The nearest first (with `return_distance`); otherwise in the order of their numbers.
        n_jobs : int, optional
            Threads to use; by default as many as the tree was built with.

        Returns
        -------
        counts : array of shape (n_queries,)
            With `count_only`.
        indices : array of n_queries arrays
            The numbers of the rows.
        distances : array of n_queries arrays
            With `return_distance`.
        """
        if count_only and return_distance:
            raise ValueError("count_only and return_distance cannot both be true.")
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        if count_only:
            Q = self._queries(X)
            return self._tree.counts(Q, check_radius(r, len(Q)), n_jobs)
        indptr, near, far = self.radius(X, r, n_jobs=n_jobs)
        who = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        order = np.lexsort((near, far, who) if sort_results else (near, who))
        indices = ragged(near[order], indptr)
        return (indices, ragged(far[order], indptr)) if return_distance else indices

    def two_point_correlation(
        self, X: Any, r: Any, dualtree: bool = False, *, n_jobs: int | None = None
    ) -> np.ndarray:
        """How many pairs of a query and a row are no farther apart than each of some radii.

        Parameters
        ----------
        X : array of shape (n_queries, d)
            The queries.
        r : float or array of shape (n_radii,)
            The radii.
        dualtree : bool, default=False
            Taken for the sake of callers of scikit-learn's class; the counts are the same.
        n_jobs : int, optional
            Threads to use; by default as many as the tree was built with.

        Returns
        -------
        counts : array of shape (n_radii,)

        Examples
        --------
        >>> from tercet.neighbors import BallTree
        >>> BallTree([[0.0], [1.0], [5.0]]).two_point_correlation([[0.0], [4.0]], [0.5, 1, 9])
        array([1, 3, 6])
        """
        Q = self._queries(X)
        radii = check_array(np.atleast_1d(r), ensure_2d=False, dtype=np.float64, input_name="r")
        return np.array([self._tree.counts(Q, check_radius(x, len(Q)), n_jobs).sum() for x in radii])

    def kernel_density(
        self,
        X: Any,
        h: float,
        kernel: str = "gaussian",
        atol: float = 0,
        rtol: float = 1e-8,
        breadth_first: bool = True,
        return_log: bool = False,
        *,
        n_jobs: int | None = None,
    ) -> np.ndarray:
        """The sum of a kernel function, scaled to a density, over all rows, at each query.

        Parameters
        ----------
        X : array of shape (n_queries, d)
            Where to sum.
        h : float
            The bandwidth.
        kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}, default="gaussian"
            The kernel function.
        atol, rtol : float, default=0 and 1e-8
            How wrong the sum may be, absolutely and relative to it.
        breadth_first : bool, default=True
            Taken for the sake of callers of scikit-learn's class.
        return_log : bool, default=False
            Give logarithms, which do not underflow.
        n_jobs : int, optional
            Threads to use; by default as many as the tree was built with.

        Returns
        -------
        density : array of shape (n_queries,)
            Divided by the number of rows it is a density.
        """
        if kernel not in KERNELS:
            raise ValueError(f"kernel = {kernel!r} not recognized; it must be one of {', '.join(KERNELS)}.")
        if not 0 < h < np.inf:
            raise ValueError(f"h must be a positive number; got {h!r}.")
        found = self._balls().log_density(self._queries(X), float(h), kernel, atol, rtol, n_jobs=n_jobs)
        return found if return_log else np.exp(found)

    def get_arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The rows, their order in the tree, its nodes and the balls' centres.

        Returns
        -------
        data : array of shape (n, d)
        idx_array : array of shape (n,)
        node_data : structured array of shape (n_nodes,)
            `idx_start` and `idx_end` in that order, `is_leaf`, `radius`.
        node_bounds : array of shape (1, n_nodes, d)
        """
        tree = self._balls()
        kinds = [("idx_start", np.intp), ("idx_end", np.intp), ("is_leaf", np.intp), ("radius", np.float64)]
        nodes = np.empty(len(tree.balls.start), dtype=kinds)
        nodes["idx_start"], nodes["idx_end"] = tree.balls.start, tree.balls.stop
        nodes["is_leaf"], nodes["radius"] = tree.balls.child < 0, tree.balls.radius
        return self.data, tree.order.copy(), nodes, tree.balls.centre[None].copy()

    def _balls(self) -> FlatBallTree:
        """The tree as balls."""
        return self._tree

    def _queries(self, X: Any) -> np.ndarray:
        """Checked queries, in the form that the engine takes."""
        Q = check_array(X, dtype=np.float64, order="C", input_name="X", ensure_min_samples=0)
        if Q.shape[1] != self.m:
            raise ValueError(
                f"query data dimension must match training data dimension: X has {Q.shape[1]} columns, and the "
                f"rows of the tree have {self.m}."
            )
        return Q


def check_count(value: Any, name: str) -> int:
    """An error for what is not a positive integer."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer in [1, inf); got {value!r}.")
    return int(value)

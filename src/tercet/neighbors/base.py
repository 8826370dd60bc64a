"""Base classes of the neighbour methods: the training rows are the model, and prediction searches them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils.validation import check_non_negative

from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Floats, Whole
from tercet.core.parameters import Range
from tercet.core.validation import target_for_callbacks
from tercet.neighbors._engine.neighbourhood import Neighbourhood, ragged
from tercet.neighbors._engine.search import Metric, NeighborIndex, check_metric_params
from tercet.neighbors._engine.segment_sort import sort_segments
from tercet.neighbors.ball_tree import BallTree
from tercet.neighbors.kd_tree import KDTree

Algorithm = Literal["auto", "ball_tree", "kd_tree", "brute"]
Power = Annotated[float, Range(0, np.inf, "(]")] | None
Weighting = Literal["uniform", "distance"] | Callable | None
Radius = Annotated[float, Range(0, np.inf, "[]")] | None


class Neighbors(Estimator):
    """An estimator that keeps its training rows and searches them when it predicts (lazy learning)."""

    multi_output = True
    supervised: ClassVar[bool] = True
    width_checked_attributes = ("_fit_X",)

    n_neighbors: Any
    radius: Any
    algorithm: Algorithm
    leaf_size: int
    metric: Metric
    p: Any
    metric_params: dict | None
    n_jobs: int | None
    n_samples_fit_: int
    effective_metric_: Any
    effective_metric_params_: dict[str, Any]
    _fit_X: Any
    _y: Any
    _mass: np.ndarray | None
    fitted_shapes = {
        "_fit_X": lambda model: Floats("rows features", finite=not model.missing_input),
        "_mass": Floats("rows | None", low=0.0),
        "n_samples_fit_": Whole("rows", 1),
        "best_k_": Whole(low=1),
    }

    @property
    def missing_input(self) -> bool:  # type: ignore[override]
        return isinstance(self.metric, str) and self.metric == "nan_euclidean"

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if not self.supervised and y is not NO_TARGET:
            # Nothing is learned from a target, but callbacks may score by it.
            X = self._check(X, reset=reset)
            return X, target_for_callbacks(y, X.shape[0])
        if reset:
            self.__dict__.pop("_index", None)
            self.__dict__.pop("_tree", None)
            if isinstance(X, Neighbors):
                check_is_fitted(X)
                X = X._fit_X
            elif isinstance(X, KDTree | BallTree):
                self._tree, X = X, np.asarray(X.data)
        if self._precomputed and sparse.issparse(X) and X.format not in ("csr", "csc", "coo", "lil"):
            raise TypeError(
                f"Sparse matrix in {X.format!r} format is not supported due to its handling of explicit zeros: "
                f"metric='precomputed' takes csr, csc, coo and lil."
            )
        try:
            checked = super()._check(X, y, reset=reset)
        except ValueError as error:
            if "X contains NaN" in str(error):
                raise ValueError(
                    f"Input X contains NaN: {type(self).__name__} needs complete rows to measure distances. Fill "
                    f"in or drop what is missing, or leave it out of them with metric='nan_euclidean'."
                ) from None
            raise
        if self._precomputed:
            rows = checked if y is NO_TARGET else checked[0]
            check_non_negative(rows, "precomputed distance matrix.")
            if reset and rows.shape[0] != rows.shape[1]:
                raise ValueError(
                    f"{type(self).__name__}: metric='precomputed' takes the distances of all rows from each other; "
                    f"a matrix of shape {rows.shape} is not square."
                )
        return checked

    def _keep_rows(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        """Keep the training rows and index them for the search."""
        self._fit_X, self._y, self.n_samples_fit_ = X, y, X.shape[0]
        self._mass = None if sample_weight is None else sample_weight.astype(np.float64)
        self.effective_metric_, self.effective_metric_params_ = self._effective_metric()
        if sparse.issparse(X) and self.algorithm in ("kd_tree", "ball_tree"):
            warnings.warn("cannot use tree with sparse input: using brute force", stacklevel=4)
        tree = self.__dict__.pop("_tree", None)
        self._index = self._build_index(tree)
        self._fit_method = self._index.method

    def _effective_metric(self) -> tuple[Any, dict[str, Any]]:
        """The metric by its plainest name, and its parameters."""
        params = dict(self.metric_params or {})
        if isinstance(self.metric, str):
            check_metric_params(self.metric, params)
        if callable(self.metric) and self.algorithm == "kd_tree":
            raise ValueError(
                f"{type(self).__name__}: algorithm='kd_tree' cannot use a callable metric; 'brute' can."
            )
        if "p" in params and self.p is not None and self.metric == "minkowski" and params["p"] != self.p:
            warnings.warn(
                "Parameter p is found in metric_params. The corresponding parameter from __init__ is ignored.",
                SyntaxWarning,
                stacklevel=5,
            )
        if not (isinstance(self.metric, str) and self.metric == "minkowski"):
            return self.metric, params
        p, w = params.pop("p", 2 if self.p is None else self.p), params.pop("w", None)
        if 0 < p < 1:
            self._check_semimetric()
        plain = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
        if w is None and p in plain:
            return plain[p], params
        return "minkowski", {**params, "p": p, "w": w}

    def _check_semimetric(self) -> None:
        """Refuse or warn of a power below 1: there is no triangle inequality to prune by."""
        if self.algorithm in ("kd_tree", "ball_tree"):
            raise ValueError(
                f'algorithm="{self.algorithm}" does not support 0 < p < 1 for the Minkowski metric. To resolve '
                f'this problem either set p >= 1 or algorithm="brute".'
            )
        warnings.warn(
            "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing the execution with "
            "`algorithm='brute'`.",
            UserWarning,
            stacklevel=6,
        )

    def _build_index(self, tree: KDTree | BallTree | None = None) -> NeighborIndex:
        """The tree or the scan; built again after a model was loaded, whose file holds the rows only."""
        if sparse.issparse(self._fit_X):
            self._fit_X.check_format(full_check=True)  # no file may send a kernel out of bounds
        index = NeighborIndex(
            self._fit_X,
            self.effective_metric_,
            p=2 if self.p is None else self.p,
            params=self.effective_metric_params_,
            algorithm=self.algorithm,
            leaf_size=self.leaf_size,
            k=self._n_neighbors() if tree is None else None,
            n_jobs=self.n_jobs,
            tree=tree._tree if tree is not None and tree.plain else None,
        )
        if self.algorithm == "kd_tree" and index.method != "kd_tree" and not sparse.issparse(self._fit_X):
            raise ValueError(
                f"{type(self).__name__}: algorithm='kd_tree' cannot use metric={self.metric!r}, which is not an "
                f"L_p distance; 'brute' can."
            )
        return index

    def _n_neighbors(self) -> int | None:
        """The number k of neighbours that decide; None where a radius does."""
        return self.n_neighbors

    def _neighbor_index(self) -> NeighborIndex:
        if "_index" not in self.__dict__:
            self._index = self._build_index()
        return self._index

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_index"}

    def _check_queries(self, X: Any) -> Any:
        """Checked queries; None stands for the training rows."""
        check_is_fitted(self)
        return self._fit_X if X is None else self._check(X, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags


class KNeighborsMixin(Neighbors):
    """Methods of the k nearest rows."""

    def kneighbors(self, X: Any = None, n_neighbors: Any = None, return_distance: bool = True) -> Any:
        """The nearest rows of each query, the nearest first; of equals, the first row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_queries, n_features), optional
            The queries; without them, the rows that were learned, none of which is its own neighbour.
        n_neighbors : int, optional
            How many; by default as many as the estimator was made for.
        return_distance : bool, default=True
            Give the distances, too.

        Returns
        -------
        distances : array of shape (n_queries, n_neighbors)
            Only with `return_distance`.
        indices : array of shape (n_queries, n_neighbors)
            The numbers of the rows.
        """
        alone, Q = X is None, self._check_queries(X)
        k = self._n_neighbors() if n_neighbors is None else n_neighbors
        if not isinstance(k, int | np.integer):
            raise TypeError(f"n_neighbors does not take {type(k)} value, enter integer value")
        if k <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {k}")
        n = self.n_samples_fit_
        if k + alone > n:
            raise ValueError(
                f"Expected n_neighbors {'<' if alone else '<='} n_samples_fit, but n_neighbors = {k}, "
                f"n_samples_fit = {n}, n_samples = {Q.shape[0]}"
            )
        with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is checked
            far, found = self._neighbor_index().query(Q, int(k) + alone, self.n_jobs)
        if alone:
            far, found = without_self(far, found)
        measured = isinstance(self.metric, str) and self.metric not in ("precomputed", "nan_euclidean")
        if measured and not np.isfinite(far).all():
            raise ValueError(
                f"{type(self).__name__}: distances by metric={self.metric!r} are beyond floating-point numbers. "
                "Scale the features."
            )
        return (far, found) if return_distance else found

    def kneighbors_graph(
        self,
        X: Any = None,
        n_neighbors: Any = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
    ) -> Any:
        """The nearest rows as a sparse matrix: 1, or the distance, in the row of a query.

        Parameters
        ----------
        X, n_neighbors : as in `kneighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            What the entries are.

        Returns
        -------
        graph : CSR matrix of shape (n_queries, n_samples_fit)
        """
        check_mode(mode)
        far, found = self.kneighbors(X, n_neighbors)
        data = far.ravel() if mode == "distance" else np.ones(found.size)
        indptr = np.arange(0, found.size + 1, found.shape[1])
        return neighbors_graph(data, found.ravel(), indptr, self.n_samples_fit_)

    def _neighbourhood(self, X: Any) -> Neighbourhood:
        """N_k(x) of each query: the nearest rows whose sample weights sum to k."""
        check_is_fitted(self)
        k, mass = self._n_neighbors(), self._mass
        assert k is not None
        if mass is None:
            far, found = self.kneighbors(X, k)
            return Neighbourhood.of(far, found)
        there = mass.sum() - (mass.max() if X is None else 0.0)
        if there < k * (1 - 1e-12):
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, and the sample weights, of which a "
                f"neighbourhood takes so much, sum to {there:g}."
            )
        most = self.n_samples_fit_ - (X is None)
        width = min(k, most)
        while True:
            far, found = self.kneighbors(X, width)
            before = np.cumsum(mass[found], axis=1) - mass[found]
            share = np.clip(k - before, 0.0, mass[found])  # the last one counts for what is left of k
            if width == most or (before[:, -1] + mass[found[:, -1]] >= k).all():
                return Neighbourhood.of(far, found, share)
            width = min(2 * width, most)


class RadiusNeighborsMixin(Neighbors):
    """Methods of the rows within a radius."""

    def radius_neighbors(
        self, X: Any = None, radius: Any = None, return_distance: bool = True, sort_results: bool = False
    ) -> Any:
        """The rows that are no farther from each query than a radius.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_queries, n_features), optional
            The queries; without them, the rows that were learned, none of which is its own neighbour.
        radius : float, optional
            How far; by default what the estimator was made for.
        return_distance : bool, default=True
            Give the distances, too.
        sort_results : bool, default=False
            The nearest first.

        Returns
        -------
        distances : array of n_queries arrays
            Only with `return_distance`.
        indices : array of n_queries arrays
            The numbers of the rows.
        """
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        indptr, found, far = self._within(X, radius, sort_results)
        pieces = ragged(found, indptr)
        return (ragged(far, indptr), pieces) if return_distance else pieces

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: Any = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
        sort_results: bool = False,
    ) -> Any:
        """The rows within a radius as a sparse matrix: 1, or the distance, in the row of a query.

        Parameters
        ----------
        X, radius, sort_results : as in `radius_neighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            What the entries are.

        Returns
        -------
        graph : CSR matrix of shape (n_queries, n_samples_fit)
        """
        check_mode(mode)
        indptr, found, far = self._within(X, radius, sort_results)
        return neighbors_graph(
            far if mode == "distance" else np.ones(found.size), found, indptr, self.n_samples_fit_
        )

    def _within(self, X: Any, radius: Any, ordered: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        Q = self._check_queries(X)
        radius = self.radius if radius is None else radius
        if radius is None:
            raise ValueError(
                f"{type(self).__name__}: radius is None; give the estimator or the call a number."
            )
        indptr, found, far = self._neighbor_index().radius(Q, radius, self.n_jobs)
        who = np.repeat(np.arange(Q.shape[0]), np.diff(indptr))
        if X is None:
            others = found != who
            who, found, far = who[others], found[others], far[others]
            indptr = np.concatenate([[0], np.cumsum(np.bincount(who, minlength=Q.shape[0]))])
        key = who * self.n_samples_fit_ + found
        if (key[1:] < key[:-1]).any():  # a tree finds them in another order than a linear scan
            order = np.argsort(key)
            found, far = found[order], far[order]
        if ordered:
            sort_segments(indptr, far, found)
        return indptr, found, far

    def _neighbourhood(self, X: Any) -> Neighbourhood:
        """The rows within the radius of each query, the nearest first where that matters."""
        by_distance = callable(getattr(self, "weights", None)) or getattr(self, "ties", None) == "nearest"
        indptr, found, far = self._within(X, None, ordered=by_distance)
        return Neighbourhood(indptr, found, far, None if self._mass is None else self._mass[found])


def without_self(far: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The neighbours of row i without i itself; where equals have pushed it out, without the first."""
    others = found != np.arange(len(found))[:, None]
    others[others.all(axis=1), 0] = False
    shape = len(found), found.shape[1] - 1
    return far[others].reshape(shape), found[others].reshape(shape)


def check_mode(mode: Any) -> None:
    if mode not in ("connectivity", "distance"):
        raise ValueError(
            f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" instead.'
        )


def neighbors_graph(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, n: int) -> Any:
    """A CSR matrix or array, as scikit-learn is configured."""
    kind = sparse.csr_array if get_config()["sparse_interface"] == "sparray" else sparse.csr_matrix
    return kind((data, indices, indptr), shape=(len(indptr) - 1, n))

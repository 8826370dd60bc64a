"""Isometric mapping (等度量映射)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, check_is_fitted
from tercet.core.fitted_checks import Declarations, Floats, Having, Indices, Sizes, Whole
from tercet.core.parallel import all_cores, each
from tercet.core.parameters import Count, Jobs, NonNegative, Range
from tercet.core.scaling import scale_exponent, times_power
from tercet.core.symmetric_eigen import centred_both
from tercet.core.validation import finite_predictions
from tercet.decomposition import KernelPCA
from tercet.manifold._graph.kernels import paths_through_neighbours
from tercet.manifold.embedding import Embedding, rows_of_index
from tercet.manifold.neighbor_graph import in_one_piece, path_lengths, require_neighbours, undirected
from tercet.neighbors import NearestNeighbors

QUERIES = 64  # new rows in a piece of work


@method(
    zh="等度量映射",
    task="embedding",
    model="points whose distances are near the geodesic distances of the rows over their neighbour graph",
    strategy="inner products of the geodesic distances nearest to ZZ' in squares, as in classical scaling",
    algorithms={
        "D": "Dijkstra from each row over a sparse graph, on threads",
        "FW": "Floyd-Warshall, O(n³)",
        "landmarks": "paths from some rows only, and the others placed by their distances from these",
    },
    texts=["watermelon notes ch. 8, Fig 10.8"],
    peers=["sklearn.manifold.Isomap"],
)
class Isomap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Embedding):
    """Isomap: multidimensional scaling of geodesic distances, which follow the manifold that the rows lie on.

    Each row is joined to its nearest neighbours, or to all within a radius; the lengths of the shortest paths over
    this graph stand for the distances along the manifold, and `ClassicalMDS` of these are the points. Too few
    neighbours leave the graph in pieces, too many make short cuts between distant parts of the manifold.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours each row is joined to; None where `radius` says it.
    radius : float, optional
        Join rows that are no farther apart.
    n_components : int, default=2
        Dimensions of the points.
    eigen_solver : {"auto", "arpack", "dense", "lanczos"}, default="auto"
        How eigenvectors are found: by Lanczos' method, in blocks or one vector at a time, or all of them at once;
        "auto" takes "lanczos" for more than 200 rows, else "dense".
    tol : float, default=0
        Tolerance of "arpack" and "lanczos".
    max_iter : int, optional
        The most restarts of "arpack".
    path_method : {"auto", "FW", "D"}, default="auto"
        Shortest paths by Floyd's algorithm or by Dijkstra's; "auto" takes the latter for sparse graphs.
    neighbors_algorithm : {"auto", "brute", "kd_tree", "ball_tree"}, default="auto"
        How neighbours are searched for; changes nothing but the time.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.
    metric : str or callable, default="minkowski"
        How far apart rows are, by any name that `NearestNeighbors` knows, or a function of two rows; "precomputed":
        X is the distance matrix, or a sparse graph of distances.
    p : float, default=2
        The power of "minkowski".
    metric_params : dict, optional
        More arguments of the metric.
    disconnected : {"join", "error"}, default="join"
        What to do with a graph in pieces: join the nearest rows of each two and warn, or refuse it.
    n_landmarks : int, optional
        Paths are found from so many rows only, each farthest from those before it, and the other rows are placed
        by their distances from these: O(n_landmarks n) in place of O(n²) memory and time.
    regressor : estimator, optional
        What `transform` is learned by, from the rows to their points, as the text has it; by default `transform`
        goes over the graph.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        The points.
    dist_matrix_ : array of shape (n_samples, n_samples)
        The geodesic distances; with landmarks of shape (n_landmarks, n_samples), from each of these.
    kernel_pca_ : KernelPCA
        The scaling: principal components of the Gram matrix -½ d².
    nbrs_ : NearestNeighbors
        The search for neighbours.
    landmarks_ : array of int or None
        The rows that paths start from; None for all.
    n_connected_components_ : int
        Pieces of the graph before they were joined.
    regressor_ : estimator or None
        The fitted `regressor`.

    Examples
    --------
    >>> t = np.linspace(0, np.pi, 7)
    >>> half_circle = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = Isomap(n_neighbors=2, n_components=1).fit(half_circle)
    >>> model.dist_matrix_[0, 6].round(6), model.kernel_pca_.eigenvalues_.round(6)
    (np.float64(3.035276), array([7.270736]))
    """

    sparse_input = True
    batch_rounding = 1e-12  # projections are products by BLAS
    fitted_shapes: ClassVar[Declarations] = {
        "embedding_": Floats("rows components", finite=True),
        "landmarks_": Indices("landmarks | None", below="rows"),
        "dist_matrix_": lambda model: Floats(
            "landmarks rows" if model.landmarks_ is not None else "rows rows"
        ),
        "kernel_pca_": Having({}, ("transform",)),
        "nbrs_": Having({"n_samples_fit_": "rows"}, ("kneighbors",)),
        "n_connected_components_": Whole("", 1),
        "_exponent": "",
    }
    embedding_: np.ndarray
    dist_matrix_: np.ndarray
    kernel_pca_: KernelPCA
    nbrs_: NearestNeighbors
    landmarks_: np.ndarray | None
    n_connected_components_: int
    regressor_: Any
    _exponent: int

    def __init__(
        self,
        *,
        n_neighbors: Count | None = 5,
        radius: Annotated[float, Range(0, np.inf, "[]")] | None = None,
        n_components: Count = 2,
        eigen_solver: Literal["auto", "arpack", "dense", "lanczos"] = "auto",
        tol: NonNegative = 0,
        max_iter: Count | None = None,
        path_method: Literal["auto", "FW", "D"] = "auto",
        neighbors_algorithm: Literal["auto", "brute", "kd_tree", "ball_tree"] = "auto",
        n_jobs: Jobs = None,
        metric: str | Callable = "minkowski",
        p: Annotated[float, Range(1, np.inf, "[]")] = 2,
        metric_params: dict | None = None,
        disconnected: Literal["join", "error"] = "join",
        n_landmarks: Count | None = None,
        regressor: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.n_components = n_components
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.path_method = path_method
        self.neighbors_algorithm = neighbors_algorithm
        self.n_jobs = n_jobs
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.disconnected = disconnected
        self.n_landmarks = n_landmarks
        self.regressor = regressor

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the points of the rows X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), NearestNeighbors, KDTree or BallTree
            The rows; with metric="precomputed" their distances, or a sparse graph of distances.
        y : ignored
            There for pipelines.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Find the points of the rows X, and return them; see `fit`."""
        return self.fit(X, y).embedding_

    def _fit(self, X: Any, y: None, sample_weight: Any) -> None:
        self._check_neighbourhood(X.shape[0])
        graph = self._graph(X)
        self.landmarks_, D = self._geodesics(graph)
        if not np.isfinite(D).all():
            raise ValueError(
                f"{type(self).__name__}: geodesic distances are beyond floating-point numbers. Scale the features."
            )
        self._exponent = scale_exponent(float(D.max(initial=0.0)))  # squares must neither overflow nor vanish
        gram = _inner(times_power(D, -self._exponent))
        self.kernel_pca_ = KernelPCA(
            self.n_components,
            kernel="precomputed",
            eigen_solver=self.eigen_solver,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=0,
            copy_X=False,
            n_jobs=self.n_jobs,
        ).set_output(transform="default")
        if self.landmarks_ is None:
            points = self.kernel_pca_.fit_transform(gram)
        else:
            self.kernel_pca_.fit(np.ascontiguousarray(gram[:, self.landmarks_]))
            points = self.kernel_pca_.transform(np.ascontiguousarray(gram.T))
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        self.embedding_ = np.ascontiguousarray(times_power(points, self._exponent), dtype=dtype)
        self.dist_matrix_ = D.astype(dtype, copy=False)
        self.regressor_ = None if self.regressor is None else clone(self.regressor).fit(X, self.embedding_)

    def _check_neighbourhood(self, n: int) -> None:
        if self.n_neighbors is not None and self.radius is not None:
            raise ValueError(
                f"Both n_neighbors and radius are provided. Use {type(self).__name__}(radius={self.radius}, "
                "n_neighbors=None) if intended to use radius-based neighbors"
            )
        if self.n_neighbors is None and self.radius is None:
            raise ValueError(
                f"{type(self).__name__}: one of n_neighbors and radius must be a number; both are None."
            )
        if self.n_landmarks is not None and not self.n_components < self.n_landmarks <= n:
            raise ValueError(
                f"{type(self).__name__}: n_landmarks={self.n_landmarks} must be more than n_components="
                f"{self.n_components} and at most n_samples = {n}."
            )
        wanting = [name for name in ("fit", "predict") if not hasattr(self.regressor, name)]
        if self.regressor is not None and wanting:
            raise ValueError(
                f"{type(self).__name__}: regressor must be an estimator or None; got {self.regressor!r}, which has "
                f"no {wanting[0]}."
            )

    def _graph(self, X: Any) -> Any:
        """The undirected neighbour graph, in one piece."""
        self.nbrs_ = NearestNeighbors(
            n_neighbors=self.n_neighbors,
            radius=self.radius,
            algorithm=self.neighbors_algorithm,
            metric=self.metric,
            p=self.p,
            metric_params=self.metric_params,
            n_jobs=all_cores(self.n_jobs),
        ).fit(X)
        if self.n_neighbors is not None:
            graph = self.nbrs_.kneighbors_graph(mode="distance")
        else:
            graph = self.nbrs_.radius_neighbors_graph(mode="distance")
        require_neighbours(graph.indices, graph.data, X.shape[0], type(self).__name__)
        graph, self.n_connected_components_ = in_one_piece(
            undirected(graph),
            self.disconnected,
            type(self).__name__,
            X,
            self.nbrs_.effective_metric_,
            self.nbrs_.effective_metric_params_,
            self.n_jobs,
        )
        return graph

    def _geodesics(self, graph: Any) -> tuple[np.ndarray | None, np.ndarray]:
        """The landmarks (None: all rows), and the lengths of the shortest paths from them."""
        n, many = graph.shape[0], self.n_landmarks
        if many is None:
            return None, path_lengths(graph, np.arange(n), self.path_method, self.n_jobs)
        landmarks, D = np.zeros(many, dtype=np.int64), np.empty((many, n))
        nearest = np.full(n, np.inf)
        for k in range(many):  # each is the farthest from those before it
            if k:
                landmarks[k] = int(nearest.argmax())
            D[k] = path_lengths(graph, landmarks[k : k + 1], "D", 1)[0]
            np.minimum(nearest, D[k], out=nearest)
        return landmarks, D

    def transform(self, X: Any) -> np.ndarray:
        """The points of other rows: over the graph, or by the regressor.

        A new row is joined to its neighbours among the fitted rows; its geodesic distances from all of these give
        its point by the formula of Gower and Nyström.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows; with metric="precomputed" their distances from the fitted rows.

        Returns
        -------
        array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        if self.regressor_ is not None:
            found = np.asarray(self.regressor_.predict(X))
            return found.reshape(X.shape[0], -1)
        if self.n_neighbors is not None:
            far, near = self.nbrs_.kneighbors(X)
            indptr = np.arange(0, near.size + 1, near.shape[1])
        else:
            graph = self.nbrs_.radius_neighbors_graph(X, mode="distance")
            far, near, indptr = graph.data, graph.indices, graph.indptr
            if not np.diff(indptr).all():
                row = int(np.flatnonzero(np.diff(indptr) == 0)[0])
                raise ValueError(
                    f"{type(self).__name__}: row {row} of X has no neighbour within radius={self.radius}."
                )
        require_neighbours(near, far, len(self.embedding_), type(self).__name__)
        D = self._paths(far.ravel(), near.ravel(), indptr.astype(np.int64))
        with np.errstate(over="ignore", invalid="ignore"):
            points = self.kernel_pca_.transform(_inner(times_power(D, -self._exponent)))
            points = times_power(points, self._exponent)
            points = points.astype(np.float32 if X.dtype == np.float32 else np.float64, copy=False)
        return finite_predictions(points, type(self).__name__)

    def _paths(self, far: np.ndarray, near: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        """Geodesic distances of new rows from the fitted ones, or from the landmarks, through their neighbours."""
        D = self.dist_matrix_ if self.landmarks_ is None else self.dist_matrix_.T
        D = np.require(D, np.float64, ["C", "W"])
        out = np.empty((len(indptr) - 1, D.shape[1]))
        far, near = far.astype(np.float64), near.astype(np.int64)

        def piece(start: int) -> None:
            rows = slice(start, start + QUERIES)
            paths_through_neighbours(indptr[start : start + QUERIES + 1], near, far, D, out[rows])

        each(piece, range(0, len(out), QUERIES), n_jobs=all_cores(self.n_jobs))
        return out

    def reconstruction_error(self) -> float:
        """|B - ZZ'| / n: how far the inner products of the points are from those of the geodesic distances."""
        check_is_fitted(self)
        D = self.dist_matrix_ if self.landmarks_ is None else self.dist_matrix_[:, self.landmarks_]
        B = centred_both(_inner(times_power(D.astype(np.float64), -self._exponent)))
        left = float((B**2).sum() - (self.kernel_pca_.eigenvalues_**2).sum())
        return float(np.ldexp(np.sqrt(max(left, 0.0)) / len(B), 2 * self._exponent))

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        return super()._check(rows_of_index(X) if reset else X, y, reset=reset)

    def _check_fitted(self, sizes: Sizes) -> None:
        if "_exponent" in vars(self) and not isinstance(self._exponent, int | np.integer):
            raise ValueError(
                f"{type(self).__name__}: _exponent is {self._exponent!r}; expected is a whole number."
            )

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        return tags


def _inner(D: np.ndarray) -> np.ndarray:
    """-½ d²: the Gram matrix of the points but for its centring."""
    gram = D**2
    gram *= -0.5
    return gram

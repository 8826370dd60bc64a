"""Laplacian eigenmaps (拉普拉斯特征映射)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_symmetric

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.core.symmetric_eigen import signed_vectors
from tercet.core.validation import check_array
from tercet.kernels import Gaussian
from tercet.manifold._spectral.laplacian import laplacian_vectors
from tercet.manifold.embedding import Embedding
from tercet.manifold.neighbor_graph import pieces, require_neighbours
from tercet.neighbors import NearestNeighbors, kneighbors_graph

Affinity = Literal["nearest_neighbors", "rbf", "precomputed", "precomputed_nearest_neighbors"]


@method(
    zh="拉普拉斯特征映射",
    task="embedding",
    model="points that are near where the affinity a_ij of their rows is large",
    strategy="least Σ_ij a_ij |z_i - z_j|² with Z'DZ = I: the smallest eigenvectors of the graph Laplacian",
    algorithms={
        "arpack": "Lanczos' method, by a sparse factorisation of the Laplacian where it converges slowly",
        "lobpcg": "locally optimal block preconditioned conjugate gradients",
        "amg": "the same with algebraic multigrid, of pyamg",
    },
    texts=["watermelon notes ch. 8"],
    peers=["sklearn.manifold.SpectralEmbedding"],
)
class SpectralEmbedding(Embedding):
    """Laplacian eigenmaps: points from the smallest eigenvectors of the Laplacian of a graph of affinities.

    With L = D - A, d_i = Σ_j a_ij, the points are z = D^-½ v for the eigenvectors v of D^-½ L D^-½ with the
    smallest eigenvalues but for the first, whose z is constant.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the points.
    affinity : str or callable, default="nearest_neighbors"
        "nearest_neighbors": 1 for neighbours of each other, ½ for one of the other only; "rbf": a Gaussian kernel;
        "precomputed": X is the affinity matrix; "precomputed_nearest_neighbors": X is a sparse graph of distances,
        whose nearest count; or a function of X that gives the matrix.
    gamma : float, optional
        Of "rbf"; by default 1 over the number of features.
    random_state : int, optional
        Decides where the iterations start.
    eigen_solver : {"arpack", "lobpcg", "amg"}, optional
        By default "arpack".
    eigen_tol : float or "auto", default="auto"
        Tolerance of the eigenvectors; "auto" is as near as numbers are for "arpack", and what LOBPCG chooses.
    n_neighbors : int, optional
        Neighbours of a row, itself among them; by default a tenth of the rows.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.
    disconnected : {"warn", "error"}, default="warn"
        What to do with a graph in pieces, whose first eigenvectors tell the pieces apart and no more.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        The points; of each coordinate, the largest in size is positive.
    affinity_matrix_ : array or sparse matrix of shape (n_samples, n_samples)
        The affinities.
    n_neighbors_ : int
        The number of neighbours in use, of "nearest_neighbors".
    gamma_ : float
        The gamma in use, of "rbf".

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> Z = SpectralEmbedding(n_components=1, n_neighbors=3).fit_transform(X)
    >>> bool((np.diff(Z[:, 0]) > 0).all() or (np.diff(Z[:, 0]) < 0).all())
    True
    """

    sparse_input = True
    fitted_shapes: ClassVar[Declarations] = {
        "embedding_": Floats("rows components", finite=True),
        "affinity_matrix_": Floats("rows rows"),
    }
    embedding_: np.ndarray
    affinity_matrix_: Any
    n_neighbors_: int
    gamma_: float

    def __init__(
        self,
        n_components: Count = 2,
        *,
        affinity: Affinity | Callable[..., Any] = "nearest_neighbors",
        gamma: NonNegative | None = None,
        random_state: Seed = None,
        eigen_solver: Literal["arpack", "lobpcg", "amg"] | None = None,
        eigen_tol: NonNegative | Literal["auto"] = "auto",
        n_neighbors: Count | None = None,
        n_jobs: Jobs = None,
        disconnected: Literal["warn", "error"] = "warn",
    ) -> None:
        self.n_components = n_components
        self.affinity = affinity
        self.gamma = gamma
        self.random_state = random_state
        self.eigen_solver = eigen_solver
        self.eigen_tol = eigen_tol
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs
        self.disconnected = disconnected

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the points of the rows X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            The rows, or what `affinity` says.
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
        if X.shape[0] < 2:
            raise ValueError(
                f"{type(self).__name__}: X must have 2 rows at least; got n_samples = {X.shape[0]}."
            )
        self.affinity_matrix_ = self._affinities(X)
        points = spectral_points(
            self.affinity_matrix_,
            self.n_components,
            self.eigen_solver,
            generator(self.random_state),
            self.eigen_tol,
            name=type(self).__name__,
            disconnected=self.disconnected,
            n_jobs=all_cores(self.n_jobs),
        )
        self.embedding_ = points.astype(np.float32 if X.dtype == np.float32 else np.float64, copy=False)

    def _affinities(self, X: Any) -> Any:
        """The symmetric matrix of affinities."""
        if callable(self.affinity):
            return self.affinity(X)
        if self.affinity == "precomputed":
            return X
        jobs = all_cores(self.n_jobs)
        if self.affinity == "rbf":
            self.gamma_ = self.gamma if self.gamma is not None else 1.0 / X.shape[1]
            rows = X.astype(np.float64)
            return Gaussian(gamma=self.gamma_).gram(rows, rows, n_jobs=jobs).astype(X.dtype, copy=False)
        if self.affinity == "precomputed_nearest_neighbors":
            search = NearestNeighbors(
                n_neighbors=self.n_neighbors or 5, n_jobs=jobs, metric="precomputed"
            ).fit(X)
            graph = search.kneighbors_graph(X)
        else:
            self.n_neighbors_ = self.n_neighbors or max(X.shape[0] // 10, 1)
            graph = kneighbors_graph(X, self.n_neighbors_, include_self=True, n_jobs=jobs)
        require_neighbours(graph.indices, graph.data, X.shape[0], type(self).__name__)
        return 0.5 * (graph + graph.T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity in ("precomputed", "precomputed_nearest_neighbors")
        return tags


def spectral_embedding(
    adjacency: Any,
    *,
    n_components: int = 8,
    eigen_solver: str | None = None,
    random_state: Any = None,
    eigen_tol: Any = "auto",
    norm_laplacian: bool = True,
    drop_first: bool = True,
) -> np.ndarray:
    """Laplacian eigenmaps of a graph in one call; see `SpectralEmbedding`.

    Parameters
    ----------
    adjacency : array or sparse matrix of shape (n, n)
        The affinities, symmetric, at least 0.
    n_components : int, default=8
        Dimensions of the points.
    eigen_solver, random_state, eigen_tol : as in `SpectralEmbedding`
    norm_laplacian : bool, default=True
        Whether to take D^-½ L D^-½ in place of L = D - A.
    drop_first : bool, default=True
        Leave out the first eigenvector, which is constant in a graph of one piece.

    Returns
    -------
    embedding : array of shape (n, n_components)

    Examples
    --------
    >>> ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    >>> spectral_embedding(ring, n_components=2).shape
    (6, 2)
    """
    if eigen_solver not in (None, "arpack", "lobpcg", "amg"):
        raise ValueError(
            f"spectral_embedding: eigen_solver must be 'arpack', 'lobpcg', 'amg' or None; got {eigen_solver!r}."
        )
    if not isinstance(n_components, int | np.integer) or isinstance(n_components, bool) or n_components < 1:
        raise ValueError(
            f"spectral_embedding: n_components must be a whole number of at least 1; got {n_components!r}."
        )
    adjacency = check_array(
        adjacency, accept_sparse=("csr", "csc", "coo"), dtype=(np.float64, np.float32), input_name="adjacency"
    )
    return spectral_points(
        adjacency,
        n_components,
        eigen_solver,
        generator(random_state),
        eigen_tol,
        name="spectral_embedding",
        normed=norm_laplacian,
        drop_first=drop_first,
    )


def spectral_points(
    A: Any,
    k: int,
    solver: str | None,
    rng: np.random.Generator,
    tol: Any,
    *,
    name: str,
    normed: bool = True,
    drop_first: bool = True,
    disconnected: str = "warn",
    n_jobs: int | None = None,
) -> np.ndarray:
    """The points of a graph of affinities: smallest eigenvectors of its Laplacian, but for the first."""
    A = check_symmetric(A)
    n, k = A.shape[0], k + drop_first
    if k > n:
        raise ValueError(
            f"{name}: n_components={k - drop_first} must be less than n_samples = {n}: there are no more vectors."
        )
    values = A.data if sparse.issparse(A) else np.asarray(A)
    if values.size and (not np.isfinite(values).all() or values.min() < 0):
        raise ValueError(
            f"{name}: affinities must be finite and at least 0; the smallest is {values.min():g}."
        )
    count = pieces(sparse.csr_array(A))[0]
    if count > 1:
        if disconnected == "error":
            raise ValueError(
                f"{name}: the graph is in {count} pieces, and disconnected='error'. Raise n_neighbors."
            )
        warnings.warn(
            f"Graph is not fully connected, spectral embedding may not work as expected: it is in {count} pieces.",
            UserWarning,
            stacklevel=3,
        )
    V, roots = laplacian_vectors(A, k, solver or "arpack", rng, tol, normed=normed, n_jobs=n_jobs)
    if normed:
        V = V / roots[:, None]
    return np.ascontiguousarray(signed_vectors(V)[:, int(drop_first) :])

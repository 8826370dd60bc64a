"""Locally linear embedding (局部线性嵌入)."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.catalog import method as method_card
from tercet.core.estimator import check_is_fitted, generator
from tercet.core.fitted_checks import Declarations, Floats, Having
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.core.scaling import common_exponent, times_power
from tercet.core.symmetric_eigen import FEW, ArpackError, smallest_eigenpairs
from tercet.core.validation import check_array, finite_predictions
from tercet.manifold._lle.alignment import hessian_matrix, modified_matrix, tangent_matrix
from tercet.manifold._lle.local_weights import local_weights, weighted_points
from tercet.manifold._lle.weight_factor import weight_solver
from tercet.manifold.embedding import Embedding, rows_of_index
from tercet.manifold.neighbor_graph import pieces, require_neighbours
from tercet.neighbors import NearestNeighbors

Variant = Literal["standard", "hessian", "modified", "ltsa"]


@method_card(
    zh="局部线性嵌入",
    task="embedding",
    model="points that the weights w_ij rebuild from the same neighbours as their rows, z_i ≈ Σ_j w_ij z_j",
    strategy="least Σ_i |z_i - Σ_j w_ij z_j|², the weights from least Σ_i |x_i - Σ_j w_ij x_j|² with Σ_j w_ij = 1",
    algorithms={
        "standard": "weights from the local Gram matrices, then the smallest eigenvectors of (I - W)'(I - W)",
        "modified": "several weight vectors for each row, from the almost null space of its local Gram matrix",
        "hessian": "quadratic forms of second derivatives in local tangent coordinates",
        "ltsa": "alignment of local tangent spaces",
    },
    texts=["watermelon notes ch. 8, eq. 8.19-8.24, Fig 10.10"],
    peers=["sklearn.manifold.LocallyLinearEmbedding"],
)
class LocallyLinearEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Embedding):
    """Locally linear embedding: points that keep the linear relations of each row to its neighbours.

    Each row is rebuilt from its neighbours by weights that sum to 1, w = C^-1 1 / 1'C^-1 1 with
    C_jk = (x_i - x_j)'(x_i - x_k), and Z'Z = I with least |Z - WZ|² are the eigenvectors of M = (I - W)'(I - W) of
    the smallest eigenvalues, but for the constant one, which is left out exactly.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours rebuild a row.
    n_components : int, default=2
        Dimensions of the points.
    reg : float, default=1e-3
        Part of the trace of C that is added to its diagonal; C is singular for more neighbours than features.
    eigen_solver : {"auto", "arpack", "dense"}, default="auto"
        Lanczos' method on the inverse of M by a sparse factorisation, or all of M at once; "auto" takes the former
        for more than 200 rows and fewer than 10 eigenvectors.
    tol : float, default=1e-6
        Tolerance of "arpack".
    max_iter : int, default=100
        The most restarts of "arpack".
    method : {"standard", "hessian", "modified", "ltsa"}, default="standard"
        The variant. "hessian" needs more than n_components (n_components + 3) / 2 neighbours.
    hessian_tol : float, default=1e-4
        Sums of weights below it are not normalised, of "hessian".
    modified_tol : float, default=1e-12
        Householder vectors shorter than it are left out, of "modified".
    neighbors_algorithm : {"auto", "brute", "kd_tree", "ball_tree"}, default="auto"
        How neighbours are searched for; changes nothing but the time.
    random_state : int, optional
        Decides where "arpack" starts.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.
    disconnected : {"warn", "error"}, default="warn"
        What to do with a neighbour graph in pieces, whose first eigenvectors tell the pieces apart and no more.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        The points: unit columns that sum to 0, the largest entry of each positive.
    reconstruction_error_ : float
        The sum of the eigenvalues: |Z - WZ|² for "standard".
    nbrs_ : NearestNeighbors
        The search for neighbours.

    Examples
    --------
    >>> t = np.linspace(0, 3, 30)
    >>> spiral = np.column_stack([t * np.cos(t), t * np.sin(t)])
    >>> Z = LocallyLinearEmbedding(n_neighbors=3, n_components=1).fit_transform(spiral)
    >>> bool((np.diff(Z[:, 0]) > 0).all() or (np.diff(Z[:, 0]) < 0).all())
    True
    """

    fitted_shapes: ClassVar[Declarations] = {
        "embedding_": Floats("rows components", finite=True),
        "reconstruction_error_": "",
        "nbrs_": Having({"n_samples_fit_": "rows"}, ("kneighbors",)),
    }
    embedding_: np.ndarray
    reconstruction_error_: float
    nbrs_: NearestNeighbors

    def __init__(
        self,
        *,
        n_neighbors: Count = 5,
        n_components: Count = 2,
        reg: NonNegative = 1e-3,
        eigen_solver: Literal["auto", "arpack", "dense"] = "auto",
        tol: NonNegative = 1e-6,
        max_iter: Count = 100,
        method: Variant = "standard",
        hessian_tol: NonNegative = 1e-4,
        modified_tol: NonNegative = 1e-12,
        neighbors_algorithm: Literal["auto", "brute", "kd_tree", "ball_tree"] = "auto",
        random_state: Seed = None,
        n_jobs: Jobs = None,
        disconnected: Literal["warn", "error"] = "warn",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.reg = reg
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.method = method
        self.hessian_tol = hessian_tol
        self.modified_tol = modified_tol
        self.neighbors_algorithm = neighbors_algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.disconnected = disconnected

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the points of the rows X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : ignored
            There for pipelines.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Find the points of the rows X, and return them; see `fit`.

        `fit(X).transform(X)` only approximates these points: it rebuilds each row from the points of its
        neighbours, as it does for new rows.
        """
        return self.fit(X, y).embedding_

    def _fit(self, X: np.ndarray, y: None, sample_weight: Any) -> None:
        n, k, name = X.shape[0], self.n_neighbors, type(self).__name__
        self._check_counts(X.shape)
        X = X.astype(np.float64, copy=False)
        jobs = all_cores(self.n_jobs)
        self.nbrs_ = NearestNeighbors(n_neighbors=k, algorithm=self.neighbors_algorithm, n_jobs=jobs).fit(X)
        far, near = self.nbrs_.kneighbors()
        require_neighbours(near, far, n, name)
        graph = sparse.csr_array(
            (np.ones(near.size), near.ravel(), np.arange(0, near.size + 1, k)), shape=(n, n)
        )
        self._tell_of_pieces(graph)
        rows = times_power(X, -common_exponent(X))  # squares must neither overflow nor vanish
        rng = generator(self.random_state)
        M, solve = self._alignment(rows, near, rng, jobs)
        try:
            values, points = smallest_eigenpairs(
                M,
                self.n_components,
                self._solver(n),
                tol=float(self.tol),
                max_iter=self.max_iter,
                rng=rng,
                solve=solve,
            )
        except (ArpackError, RuntimeError) as error:
            raise ValueError(
                f"{name}: Error in determining null-space with ARPACK. Error message: '{error}'. "
                "eigen_solver='dense' does not depend on a factorisation."
            ) from error
        self.embedding_ = np.ascontiguousarray(points)
        self.reconstruction_error_ = float(values.sum())

    def _solver(self, n: int) -> Literal["dense", "arpack"]:
        if self.eigen_solver != "auto":
            return self.eigen_solver
        return "arpack" if n > FEW and self.n_components < 9 else "dense"

    def _alignment(
        self, X: np.ndarray, near: np.ndarray, rng: np.random.Generator, jobs: int
    ) -> tuple[Any, Any]:
        """The matrix whose smallest eigenvectors are the points (8.23), and a way to solve with it."""
        n, k, width = len(X), near.shape[1], self.n_components
        if self.method == "hessian":
            return hessian_matrix(X, near, width, float(self.hessian_tol), jobs), None
        if self.method == "modified":
            return modified_matrix(X, near, width, float(self.modified_tol), jobs), None
        if self.method == "ltsa":
            return tangent_matrix(X, near, width, jobs), None
        W = local_weights(X, X, near, float(self.reg), jobs)
        W = sparse.csr_array((W.ravel(), near.ravel(), np.arange(0, near.size + 1, k)), shape=(n, n))
        A = sparse.csr_array(sparse.eye_array(n) - W)
        solve = weight_solver(A, rng) if self._solver(n) == "arpack" else None
        return sparse.csr_array(A.T @ A), solve

    def _check_counts(self, shape: tuple[int, int]) -> None:
        (n, d), k, width, name = shape, self.n_neighbors, self.n_components, type(self).__name__
        if width > d:
            raise ValueError(
                f"{name}: n_components={width}: output dimension must be less than or equal to input dimension, "
                f"{d} features."
            )
        if k >= n:
            raise ValueError(
                f"{name}: Expected n_neighbors < n_samples, but n_samples = {n}, n_neighbors = {k}"
            )
        if width >= n:
            raise ValueError(f"{name}: n_components={width} must be less than n_samples = {n}.")
        if self.method == "hessian" and 2 * k <= width * (width + 3):
            raise ValueError(
                f"{name}: for method='hessian', n_neighbors must be greater than [n_components * (n_components + "
                f"3) / 2] = {width * (width + 3) // 2}; got {k}."
            )
        if self.method in ("modified", "ltsa") and k < width:
            raise ValueError(
                f"{name}: {'modified LLE' if self.method == 'modified' else 'ltsa'} requires n_neighbors >= "
                f"n_components; got {k} and {width}."
            )

    def _tell_of_pieces(self, graph: Any) -> None:
        count = pieces(graph)[0]
        if count == 1:
            return
        said = f"{type(self).__name__}: the neighbour graph is in {count} pieces"
        if self.disconnected == "error":
            raise ValueError(f"{said}, and disconnected='error'. Raise n_neighbors.")
        warnings.warn(
            f"{said}: the first {min(count - 1, self.n_components)} coordinates tell these apart and no more. "
            "Raise n_neighbors.",
            UserWarning,
            stacklevel=7,
        )

    def transform(self, X: Any) -> np.ndarray:
        """The points of other rows: their neighbours' points with the weights that rebuild the rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False).astype(np.float64, copy=False)
        far, near = self.nbrs_.kneighbors(X, self.n_neighbors)
        base = self.nbrs_._fit_X
        require_neighbours(near, far, len(base), type(self).__name__)
        exponent = common_exponent(X, base)
        with np.errstate(over="ignore", invalid="ignore"):
            weights = local_weights(
                times_power(X, -exponent),
                times_power(base, -exponent),
                near,
                float(self.reg),
                all_cores(self.n_jobs),
            )
            points = np.empty((len(X), self.embedding_.shape[1]))
            weighted_points(
                weights, near.astype(np.int64), np.require(self.embedding_, np.float64, ["C", "W"]), points
            )
        return finite_predictions(points, type(self).__name__)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


@method_card(
    zh="局部线性嵌入的重构权值",
    task="embedding",
    model="w = C^-1 1 / 1'C^-1 1, with C_jk = (x - y_j)'(x - y_k)",
    strategy="least |x - Σ_j w_j y_j|² with Σ_j w_j = 1",
    texts=["watermelon notes ch. 8, eq. 8.20, 8.21"],
)
def barycenter_weights(X: Any, Y: Any, indices: Any, reg: float = 1e-3) -> np.ndarray:
    """Weights that sum to 1 and rebuild rows from their neighbours (8.21).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows to rebuild.
    Y : array of shape (n_points, n_features)
        The rows to rebuild them from.
    indices : array of shape (n_samples, n_neighbors)
        Which rows of Y.
    reg : float, default=1e-3
        Part of the trace of C that is added to its diagonal.

    Returns
    -------
    weights : array of shape (n_samples, n_neighbors)

    Examples
    --------
    >>> barycenter_weights([[1, 1]], [[0, 0], [2, 1]], [[0, 1]], reg=0).round(6)
    array([[0.4, 0.6]])
    """
    X, Y = (check_array(part, dtype=np.float64, input_name=name) for part, name in ((X, "X"), (Y, "Y")))
    near = check_array(indices, dtype=None, input_name="indices")
    if near.dtype.kind not in "iu" or near.min() < 0 or near.max() >= len(Y) or len(near) != len(X):
        raise ValueError(
            f"barycenter_weights: indices must be numbers of rows of Y, 0 to {len(Y) - 1}, for {len(X)} rows."
        )
    if X.shape[1] != Y.shape[1] or not reg >= 0:
        raise ValueError(
            f"barycenter_weights: X and Y must have as many columns ({X.shape[1]} and {Y.shape[1]}), and reg must "
            f"be at least 0 (got {reg!r})."
        )
    exponent = common_exponent(X, Y)
    return local_weights(times_power(X, -exponent), times_power(Y, -exponent), near, float(reg), None)


def locally_linear_embedding(
    X: Any,
    *,
    n_neighbors: int,
    n_components: int,
    reg: float = 1e-3,
    eigen_solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 100,
    method: str = "standard",
    hessian_tol: float = 1e-4,
    modified_tol: float = 1e-12,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, float]:
    """Locally linear embedding in one call; see `LocallyLinearEmbedding`.

    Parameters
    ----------
    X : array of shape (n_samples, n_features) or NearestNeighbors
        The rows.
    n_neighbors, n_components, reg, eigen_solver, tol, max_iter, method : as in `LocallyLinearEmbedding`
    hessian_tol, modified_tol, random_state, n_jobs : as in `LocallyLinearEmbedding`

    Returns
    -------
    Y : array of shape (n_samples, n_components)
    squared_error : float

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z, error = locally_linear_embedding(rng.normal(size=(20, 3)), n_neighbors=5, n_components=2)
    >>> Z.shape
    (20, 2)
    """
    options: dict[str, Any] = {"eigen_solver": eigen_solver, "method": method}
    model = LocallyLinearEmbedding(
        n_neighbors=n_neighbors,
        n_components=n_components,
        reg=reg,
        tol=tol,
        max_iter=max_iter,
        hessian_tol=hessian_tol,
        modified_tol=modified_tol,
        random_state=random_state,
        n_jobs=n_jobs,
        **options,
    ).fit(rows_of_index(X))
    return model.embedding_, model.reconstruction_error_

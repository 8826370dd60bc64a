"""t-distributed stochastic neighbour embedding (t 分布随机近邻嵌入)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_non_negative

from tercet.core.catalog import method as method_card
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, Fraction, Jobs, NonNegative, Positive, Range, Seed
from tercet.core.validation import check_array
from tercet.decomposition import PCA
from tercet.manifold._tsne.affinities import joint_probabilities
from tercet.manifold._tsne.barnes_hut import barnes_hut_repulsion
from tercet.manifold._tsne.forces import attraction, exact_repulsion
from tercet.manifold._tsne.interpolation import interpolated_repulsion
from tercet.manifold.dissimilarities import dissimilarities
from tercet.manifold.embedding import Embedding
from tercet.manifold.neighbor_graph import require_neighbours
from tercet.neighbors import NearestNeighbors

EXPLORATION = 250  # passes with exaggerated attraction
CHECKED = 50  # passes between two looks at the divergence
SLOWEST = 0.01  # gain of a coordinate


@method_card(
    zh="t 分布随机近邻嵌入",
    task="embedding",
    model="points whose neighbourhoods q_ij by a Student distribution are near those p_ij of the rows by Gaussians",
    strategy="least Kullback-Leibler divergence Σ p_ij log(p_ij / q_ij)",
    algorithms={
        "barnes_hut": "gradients with distant points as the centres of the cells of a tree, O(n log n)",
        "fft": "gradients by interpolation on a grid and fast Fourier transforms, O(n)",
        "exact": "gradients from all pairs, O(n²)",
    },
    texts=["watermelon notes ch. 8"],
    peers=["sklearn.manifold.TSNE", "openTSNE.TSNE"],
)
class TSNE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Embedding):
    """t-SNE: points whose neighbours are likely those of the rows, for pictures of tables with many features.

    p_ij are symmetric probabilities of rows as neighbours, of a Gaussian around each row as wide as `perplexity`
    asks for; q_ij ∝ 1 / (1 + |z_i - z_j|²) those of the points. The divergence Σ p_ij log(p_ij / q_ij) falls by
    gradient descent with momentum and a gain for each coordinate, whose first 250 passes exaggerate the p_ij.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the points; at most 3 with "barnes_hut", 2 with "fft".
    perplexity : float, default=30.0
        The number of neighbours that count, less than the number of rows.
    early_exaggeration : float, default=12.0
        Factor of the p_ij in the first 250 passes.
    learning_rate : float or "auto", default="auto"
        Step of the descent; "auto" is n_samples / early_exaggeration / 4, 50 at least.
    max_iter : int, default=1000
        The most passes.
    n_iter_without_progress : int, default=300
        Stop after so many passes without a smaller divergence, which is looked at every 50 passes.
    min_grad_norm : float, default=1e-7
        Stop where the gradient is no longer than this.
    metric : str or callable, default="euclidean"
        The distance of rows; "precomputed": X is the distance matrix, or (but for "exact") a sparse graph.
    metric_params : dict, optional
        More arguments of the metric.
    init : {"pca", "random"} or array of shape (n_samples, n_components), default="pca"
        Where to start: at principal components, at random, or at given points.
    verbose : int, default=0
        Print the divergence at the end, and every 50 passes if it is 2 or more.
    random_state : int, optional
        Decides the start.
    method : {"barnes_hut", "exact", "fft"}, default="barnes_hut"
        How gradients are found; "fft" is faster from some ten thousand rows on.
    angle : float, default=0.5
        Of "barnes_hut": cells that look no wider than this count as one point.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        The points.
    kl_divergence_ : float
        The divergence at the end.
    learning_rate_ : float
        The step in use.
    n_iter_ : int
        The number of the last pass, counted from 0 as in scikit-learn.

    Examples
    --------
    >>> X = np.repeat([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]], 10, axis=0) + np.arange(20)[:, None] % 10 / 10
    >>> Z = TSNE(perplexity=3, random_state=0, max_iter=300).fit_transform(X)
    >>> Z.shape
    (20, 2)
    """

    sparse_input = True
    fitted_shapes: ClassVar[Declarations] = {
        "embedding_": Floats("rows components", finite=True),
        "kl_divergence_": "",
        "learning_rate_": "",
    }
    embedding_: np.ndarray
    kl_divergence_: float
    learning_rate_: float

    def __init__(
        self,
        n_components: Count = 2,
        *,
        perplexity: Annotated[float, Range(0, np.inf, "()")] = 30.0,
        early_exaggeration: Annotated[float, Range(1, np.inf, "[)")] = 12.0,
        learning_rate: Positive | Literal["auto"] = "auto",
        max_iter: Count = 1000,
        n_iter_without_progress: Annotated[int, Range(-1, np.inf, "[)")] = 300,
        min_grad_norm: NonNegative = 1e-7,
        metric: str | Callable = "euclidean",
        metric_params: dict | None = None,
        init: Literal["pca", "random"] | np.ndarray = "pca",
        verbose: int | bool = 0,
        random_state: Seed = None,
        method: Literal["barnes_hut", "exact", "fft"] = "barnes_hut",
        angle: Fraction = 0.5,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.early_exaggeration = early_exaggeration
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.n_iter_without_progress = n_iter_without_progress
        self.min_grad_norm = min_grad_norm
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.verbose = verbose
        self.random_state = random_state
        self.method = method
        self.angle = angle
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the points of the rows X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            The rows, or their distances.
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
        self._check_input(X)
        X = (
            X if sparse.issparse(X) else np.ascontiguousarray(X)
        )  # one layout, one path: rounding would lead elsewhere
        jobs = all_cores(self.n_jobs)
        rate = max(X.shape[0] / self.early_exaggeration / 4, 50.0)
        self.learning_rate_ = rate if isinstance(self.learning_rate, str) else float(self.learning_rate)
        P = joint_probabilities(self._squared_distances(X, jobs), float(self.perplexity), jobs)
        edges = P.indptr.astype(np.int64), P.indices.astype(np.int64), P.data
        Z = self._start(X)
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        loop = self.steps(self.max_iter, unpack=lambda Z: {"embedding_": Z.astype(dtype)})
        update, gains = np.zeros_like(Z), np.ones_like(Z)
        best, best_pass, divergence = np.inf, 0, np.nan
        for step in loop:
            i = step.index
            if i == EXPLORATION:  # the second phase begins anew, with a larger momentum
                update, gains, best, best_pass = np.zeros_like(Z), np.ones_like(Z), np.inf, i
            early = i < EXPLORATION
            looked = (i + 1) % CHECKED == 0 or i == self.max_iter - 1
            gradient, found = self._gradient(
                edges, Z, self.early_exaggeration if early else 1.0, jobs, looked
            )
            gains = np.maximum(np.where(update * gradient < 0, gains + 0.2, gains * 0.8), SLOWEST)
            update = (0.5 if early else 0.8) * update - self.learning_rate_ * gains * gradient
            Z = Z + update
            if not looked:
                step.report(Z)
                continue
            divergence, norm = found, float(np.linalg.norm(gains * gradient))
            step.report(Z, kl_divergence=divergence, gradient_norm=norm)
            if self.verbose >= 2:
                print(f"[t-SNE] Iteration {i + 1}: error = {divergence:.7f}, gradient norm = {norm:.7f}")
            patience = EXPLORATION if early else self.n_iter_without_progress
            best, best_pass = (divergence, i) if divergence < best else (best, best_pass)
            if not early and (i - best_pass > patience or norm <= self.min_grad_norm):
                break
        if self.verbose:
            print(f"[t-SNE] KL divergence after {loop.count} iterations: {divergence:f}")
        self.embedding_ = Z.astype(dtype)
        self.kl_divergence_, self.n_iter_ = float(divergence), loop.count - 1

    def _gradient(
        self, edges: Any, Z: np.ndarray, factor: float, jobs: int, looked: bool
    ) -> tuple[np.ndarray, float]:
        """The gradient of the divergence, p_ij times a factor, and the divergence where it is asked for."""
        if not np.isfinite(Z).all():
            raise ValueError(f"TSNE: the points diverged; learning_rate={self.learning_rate!r} is too large.")
        dof = max(self.n_components - 1, 1)
        pull, cost = attraction(edges, Z, dof, jobs, looked)
        if self.method == "exact":
            push, whole = exact_repulsion(Z, dof, jobs)
        elif self.method == "fft":
            push, whole = interpolated_repulsion(Z, jobs)
        else:
            push, whole = barnes_hut_repulsion(Z, dof, float(self.angle), jobs)
        whole = max(whole, np.finfo(np.float64).tiny)
        gradient = (2.0 * (dof + 1.0) / dof) * (factor * pull - push / whole)
        # with P times a factor f the divergence is f Σ p (log p - log num) + f log f + f log Σ num
        return gradient, factor * (cost + np.log(whole) + np.log(factor))

    def _squared_distances(self, X: Any, jobs: int) -> Any:
        """A CSR graph of squared distances: of all other rows for "exact", else of three times the perplexity."""
        n = X.shape[0]
        if self.method == "exact":
            D = X.toarray() if sparse.issparse(X) else X
            D = dissimilarities(D, self.metric, self.metric_params, type(self).__name__, jobs)
            if D.min(initial=0.0) < 0:
                raise ValueError("All distances should be positive, the metric given is not correct")
            D = _squares(D)
            others = ~np.eye(n, dtype=bool)
            columns = np.broadcast_to(np.arange(n), (n, n))[others]
            indptr = np.arange(0, n * (n - 1) + 1, n - 1)
            return sparse.csr_array((D[others], columns, indptr), shape=(n, n))
        k = min(n - 1, int(3.0 * self.perplexity + 1))
        search = NearestNeighbors(
            n_neighbors=k, metric=self.metric, metric_params=self.metric_params, n_jobs=jobs
        ).fit(X)
        graph = search.kneighbors_graph(mode="distance")
        require_neighbours(graph.indices, graph.data, n, type(self).__name__)
        graph.data = _squares(graph.data)
        return graph

    def _start(self, X: Any) -> np.ndarray:
        """The first points."""
        n, k, rng = X.shape[0], self.n_components, generator(self.random_state)
        if not isinstance(self.init, str):
            Z = check_array(self.init, dtype=np.float64, input_name="init")
            if Z.shape != (n, k):
                raise ValueError(f"{type(self).__name__}: init must be of shape ({n}, {k}); got {Z.shape}.")
            return Z.copy()
        if self.init == "pca":
            start = PCA(k, random_state=rng, n_jobs=self.n_jobs).set_output(transform="default")
            Z = start.fit_transform(X).astype(np.float64)
            spread = float(Z[:, 0].std())
            if spread > 0:
                return Z / spread * 1e-4
        return 1e-4 * rng.standard_normal((n, k))

    def _check_input(self, X: Any) -> None:
        name, (n, d) = type(self).__name__, X.shape
        if n < 2:
            raise ValueError(f"{name}: X must have 2 rows at least; got n_samples = {n}.")
        most = {"barnes_hut": 3, "fft": 2}.get(self.method)
        if most is not None and self.n_components > most:
            raise ValueError(
                f"{name}: 'n_components' should be inferior to {most + 1} for the {self.method} algorithm as it "
                f"relies on {'quad-tree or oct-tree' if most == 3 else 'a grid'}; got {self.n_components}."
            )
        if self.perplexity >= n:
            raise ValueError(
                f"{name}: perplexity ({self.perplexity}) must be less than n_samples ({n}); got n_samples = {n}."
            )
        given = isinstance(self.metric, str) and self.metric == "precomputed"
        if given:
            if isinstance(self.init, str) and self.init == "pca":
                raise ValueError('The parameter init="pca" cannot be used with metric="precomputed".')
            if n != d:
                raise ValueError(f"{name}: X should be a square distance matrix; got the shape {X.shape}.")
            check_non_negative(
                X, f"{name}.fit(). With metric='precomputed', X should contain positive distances."
            )
            if self.method == "exact" and sparse.issparse(X):
                raise TypeError(
                    'TSNE with method="exact" does not accept sparse precomputed distance matrix. Use '
                    'method="barnes_hut" or provide the dense distance matrix.'
                )
        elif isinstance(self.init, str) and self.init == "pca" and self.n_components > min(n, d):
            raise ValueError(
                f"{name}: n_components={self.n_components} is more than there are principal components to start "
                f"from (n_samples = {n}, n_features = {d}); use init='random'."
            )

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        return tags


def _squares(D: np.ndarray) -> np.ndarray:
    """Squares of distances, in the unit in which the largest is near 1."""
    top = float(D.max(initial=0.0))
    return np.ldexp(D, -int(np.frexp(top)[1])) ** 2 if top > 0 else np.zeros_like(D)

"""Classical multidimensional scaling (经典多维缩放)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Declarations, Floats, Sizes
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count
from tercet.core.row_products import row_products
from tercet.core.scaling import scale_exponent, times_power
from tercet.core.validation import check_array, finite_predictions
from tercet.manifold.dissimilarities import cross_dissimilarities, dissimilarities
from tercet.manifold.embedding import Embedding

LARGE = 1000  # rows from which on "auto" is Lanczos' method


@method(
    zh="经典多维缩放",
    task="embedding",
    model="Z = V Λ^½: eigenvectors of the inner products that belong to the distances",
    strategy="inner products B = -½ J D² J nearest to ZZ' in squares",
    algorithms={
        "dense": "double centring and an eigendecomposition, O(n³)",
        "arpack": "Lanczos' method with the centring in the products, O(n²) for each",
    },
    texts=["watermelon notes ch. 8, eq. 8.1-8.6, Fig 10.3"],
    peers=["sklearn.manifold.ClassicalMDS"],
)
class ClassicalMDS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Embedding):
    """Classical multidimensional scaling: points from distances by eigenvectors.

    b_ij = -½ (d_ij² - d_i.² - d_.j² + d_..²) are the inner products of centred points with the distances d_ij; with
    B = VΛV', the points are Z = V Λ^½ for the largest eigenvalues. Euclidean distances of dimension k come out
    exactly in k dimensions. Eigenvalues below 0, which other dissimilarities have, are clipped: their coordinates
    are 0, and a warning tells.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the points.
    metric : str or callable, default="euclidean"
        The dissimilarity of two rows, by its name in scikit-learn or SciPy, or a function of two rows;
        "precomputed": X is the dissimilarity matrix, symmetric, which need not keep the triangle inequality.
    metric_params : dict, optional
        More arguments of the metric.
    eigen_solver : {"auto", "dense", "arpack"}, default="auto"
        All of B at once, or Lanczos' method for the largest eigenvalues; "auto" takes the latter from 1000 rows on.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        The points, centred; of each coordinate, the largest in size is positive.
    eigenvalues_ : array of shape (n_components,)
        The largest eigenvalues of B, as they were found.
    dissimilarity_matrix_ : array of shape (n_samples, n_samples)
        The dissimilarities D.

    Examples
    --------
    >>> D = [[0, 3, 5, 4], [3, 0, 4, 5], [5, 4, 0, 3], [4, 5, 3, 0]]
    >>> model = ClassicalMDS(metric="precomputed").fit(D)
    >>> model.eigenvalues_.round(6)
    array([16.,  9.])
    """

    fitted_shapes: ClassVar[Declarations] = {
        "embedding_": Floats("rows components", finite=True),
        "eigenvalues_": "components",
        "dissimilarity_matrix_": Floats("rows rows"),
        "_squared_means": Floats("rows", finite=True),
        "_points": Floats("rows components", finite=True),
        "_values": Floats("components", finite=True),
        "_exponent": "",
        "_rows": Floats("rows features | None"),
    }
    embedding_: np.ndarray
    eigenvalues_: np.ndarray
    dissimilarity_matrix_: np.ndarray
    _squared_means: np.ndarray
    _points: np.ndarray
    _values: np.ndarray
    _exponent: int
    _rows: np.ndarray | None

    def __init__(
        self,
        n_components: Count = 2,
        *,
        metric: str | Callable = "euclidean",
        metric_params: dict | None = None,
        eigen_solver: Literal["auto", "dense", "arpack"] = "auto",
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.eigen_solver = eigen_solver

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the points of the rows X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples, n_samples) with metric="precomputed"
            The rows, or the dissimilarities.
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

    def _fit(self, X: np.ndarray, y: None, sample_weight: Any) -> None:
        name = type(self).__name__
        D = dissimilarities(X, self.metric, self.metric_params, name, None)
        n, k = len(D), self.n_components
        if k > n:
            raise ValueError(f"{name}: n_components={k} must be at most n_samples = {n}.")
        exponent = scale_exponent(float(D.max(initial=0.0)))  # squares must neither overflow nor vanish
        squared = times_power(D, -exponent) ** 2
        self._squared_means, self._exponent = squared.mean(axis=1), exponent
        values, V = self._leading(squared)
        clipped = values < -1e-9 * max(float(values[0]), float(np.abs(squared).max(initial=0.0)) * 1e-6)
        if clipped.any():
            warnings.warn(
                f"{name}: {int(clipped.sum())} of the {k} largest eigenvalues are negative, down to "
                f"{values.min():.3g}: the dissimilarities are not Euclidean distances. Their coordinates are 0; "
                f"n_components={k - int(clipped.sum())} leaves them out.",
                RuntimeWarning,
                stacklevel=5,
            )
        V = V * np.where(V[np.abs(V).argmax(axis=0), np.arange(k)] < 0, -1.0, 1.0)
        self._points = V * np.sqrt(np.maximum(values, 0.0))
        self.embedding_ = np.ascontiguousarray(times_power(self._points, exponent))
        self.eigenvalues_ = np.ldexp(values, 2 * exponent)
        self._values = values
        self.dissimilarity_matrix_ = D
        self._rows = None if self.metric == "precomputed" else X

    def _leading(self, squared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The largest eigenvalues of B, falling, and their vectors."""
        n, k = len(squared), self.n_components
        lanczos = self.eigen_solver == "arpack" or (self.eigen_solver == "auto" and n >= LARGE)
        with one_blas_thread():
            if not lanczos or k >= n - 1 or not squared.any():
                return all_at_once(squared, k)

            def times(v: np.ndarray) -> np.ndarray:
                v = v.ravel()
                product = squared @ (v - v.mean())
                return -0.5 * (product - product.mean())

            B = LinearOperator((n, n), matvec=times, dtype=np.float64)
            start = np.cos(
                np.arange(n, dtype=np.float64)
            )  # any vector that is not constant: the same every time
            try:
                values, V = eigsh(B, k, which="LA", v0=start)
            except ArpackError:  # eigenvalues that lie too close together
                return all_at_once(squared, k)
            order = np.argsort(-values, kind="stable")
            return values[order], V[:, order]

    def transform(self, X: Any) -> np.ndarray:
        """The points of other rows among those that were fitted (Gower's formula, Nyström's extension).

        z = ½ Λ^-1 Z'(d̄² - d²), where d are the distances from the fitted rows and d̄² the means of the squared
        distances of those.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples, n_fitted) with metric="precomputed"
            The rows, or their dissimilarities from the fitted rows.

        Returns
        -------
        array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        D = X
        if self._rows is not None:
            D = cross_dissimilarities(X, self._rows, self.metric, self.metric_params, None)
        values = np.maximum(self._values, 0.0)
        scale = np.divide(
            0.5, values, out=np.zeros_like(values), where=values > 1e-12 * values.max(initial=0.0)
        )
        with np.errstate(over="ignore", invalid="ignore"):
            apart = self._squared_means - times_power(np.asarray(D, dtype=np.float64), -self._exponent) ** 2
            found = row_products(apart, np.ascontiguousarray((self._points * scale).T))
            return finite_predictions(times_power(found, self._exponent), type(self).__name__)

    def _check_fitted(self, sizes: Sizes) -> None:
        if "_exponent" not in vars(self) or "_rows" not in vars(self):
            return
        given = isinstance(self.metric, str) and self.metric == "precomputed"
        if not isinstance(self._exponent, int | np.integer):
            raise ValueError(
                f"{type(self).__name__}: _exponent is {self._exponent!r}; expected is a whole number."
            )
        if given != (self._rows is None) or (given and sizes["rows"] != sizes["features"]):
            raise ValueError(
                f"{type(self).__name__}: the fitted rows do not fit metric={self.metric!r}; expected are "
                f"{'none' if given else 'those of the embedding'}."
            )

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        return tags


@method(
    zh="双中心化",
    task="embedding",
    model="b_ij = -½ (d_ij² - d_i.² - d_.j² + d_..²): inner products of centred points",
    texts=["watermelon notes ch. 8, eq. 8.1-8.3"],
)
def double_centering(D: Any) -> np.ndarray:
    """The inner products of centred points from their distances (8.3).

    Parameters
    ----------
    D : array of shape (n, n)
        The distances.

    Returns
    -------
    B : array of shape (n, n)
        b_ij = -½ (d_ij² - d_i.² - d_.j² + d_..²), where a dot is a mean of the squares.

    Examples
    --------
    >>> double_centering([[0.0, 2.0], [2.0, 0.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    D = check_array(D, dtype=np.float64, input_name="D")
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"double_centering: D must be square; got the shape {D.shape}.")
    return double_centred(D**2)


def all_at_once(squared: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues of B, falling, and their vectors, from all of B."""
    n = len(squared)
    values, V = linalg.eigh(double_centred(squared), subset_by_index=[n - k, n - 1], overwrite_a=True)
    return values[::-1], V[:, ::-1]


def double_centred(squared: np.ndarray) -> np.ndarray:
    """-½ J squared J, with J the centring matrix."""
    B = squared - squared.mean(axis=0)
    B -= B.mean(axis=1, keepdims=True)
    B *= -0.5
    return B

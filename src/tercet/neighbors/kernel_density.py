"""Kernel density estimation (核密度估计)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tercet.core.catalog import method
from tercet.core.estimator import Estimator, generator
from tercet.core.fitted_checks import Floats
from tercet.core.parameters import NonNegative, Range
from tercet.neighbors._engine.search import Metric
from tercet.neighbors.ball_tree import BallTree
from tercet.neighbors.kd_tree import KDTree


@method(
    zh="核密度估计",
    task="density estimation",
    model="p(x) = (1/n) Σ_i K_h(|x - x_i|)",
    strategy="none: nothing is fitted, the rows are kept",
    algorithms="sums over a ball tree: balls whose rows count alike within the tolerance are not opened",
    peers=["sklearn.neighbors.KernelDensity"],
)
class KernelDensity(Estimator):
    """Density estimation by a kernel function around each row.

    Parameters
    ----------
    bandwidth : float or {"scott", "silverman"}, default=1.0
        The width h of the kernel function, or a rule for it: n^(-1 / (d + 4)), or (n (d + 2) / 4)^(-1 / (d + 4)).
    algorithm : {"auto", "kd_tree", "ball_tree"}, default="auto"
        The tree that keeps the rows. The answers are the same.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}, default="gaussian"
        The kernel function.
    metric : str or callable, default="euclidean"
        How far apart rows are; a name of `BallTree.valid_metrics`, or a function of two rows. The scale of the
        density is right for the Euclidean distance only.
    atol, rtol : float, default=0
        How wrong a density may be, absolutely and relative to it; the larger, the faster.
    breadth_first : bool, default=True
        Taken for the sake of callers of scikit-learn's class.
    leaf_size : int, default=40
        Rows in a leaf of the tree; changes nothing but the time.
    metric_params : dict, optional
        What else the metric takes.

    Attributes
    ----------
    bandwidth_ : float
        The width h.
    tree_ : BallTree or KDTree
        The rows that have a weight, in a tree.

    Examples
    --------
    >>> model = KernelDensity(bandwidth=0.5).fit([[0.0], [1.0], [5.0]])
    >>> np.exp(model.score_samples([[0.0], [1.5]])).round(3)
    array([0.302, 0.164])
    """

    sparse_input = False
    relative_weights = True

    def __init__(
        self,
        *,
        bandwidth: Annotated[float, Range(0, np.inf, "()")] | Literal["scott", "silverman"] = 1.0,
        algorithm: Literal["auto", "kd_tree", "ball_tree"] = "auto",
        kernel: Literal["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"] = "gaussian",
        metric: Metric = "euclidean",
        atol: NonNegative = 0,
        rtol: NonNegative = 0,
        breadth_first: bool = True,
        leaf_size: Annotated[int, Range(1, np.inf, "[)")] = 40,
        metric_params: dict | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.algorithm = algorithm
        self.kernel = kernel
        self.metric = metric
        self.atol = atol
        self.rtol = rtol
        self.breadth_first = breadth_first
        self.leaf_size = leaf_size
        self.metric_params = metric_params

    width_checked_attributes = ("_fit_X",)
    fitted_shapes = {
        "_fit_X": Floats("rows features", finite=True),
        "_weight": Floats("rows | None", finite=True, low=0.0),
        "bandwidth_": Floats("", finite=True, low=0.0),
    }
    bandwidth_: float
    _fit_X: np.ndarray
    _weight: np.ndarray | None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: np.ndarray, y: None, sample_weight: np.ndarray | None) -> None:
        self.__dict__.pop("_tree", None)
        n, d = X.shape
        self._weight = None
        if sample_weight is not None:
            X, self._weight = X[sample_weight > 0], sample_weight[sample_weight > 0].astype(np.float64)
        self._fit_X = X.astype(np.float64, copy=False)
        if isinstance(self.bandwidth, str):
            self.bandwidth_ = float((n if self.bandwidth == "scott" else n * (d + 2) / 4) ** (-1 / (d + 4)))
        else:
            self.bandwidth_ = self.bandwidth
        if self.bandwidth_ < np.finfo(np.float64).tiny:
            raise ValueError(
                f"KernelDensity: parameter 'bandwidth' is {self.bandwidth_!r}: nothing can be divided by it."
            )
        self._tree = self._built_tree()

    def _built_tree(self) -> BallTree | KDTree:
        plain = isinstance(self.metric, str) and self.metric in KDTree.valid_metrics
        if self.algorithm == "kd_tree" and not plain:
            raise ValueError(f"KernelDensity: invalid metric for KDTree: {self.metric!r}.")
        if not plain and not callable(self.metric) and self.metric not in BallTree.valid_metrics:
            raise ValueError(f"KernelDensity: invalid metric for BallTree: {self.metric!r}.")
        kind: Any = KDTree if plain and self.algorithm != "ball_tree" else BallTree
        return kind(self._fit_X, self.leaf_size, self.metric, **(self.metric_params or {}))

    @property
    def tree_(self) -> BallTree | KDTree:
        """The rows in a tree, built again after a model was loaded, whose file holds the rows only."""
        check_is_fitted(self)
        if "_tree" not in self.__dict__:
            self._tree = self._built_tree()
        return self._tree

    def __getstate__(self) -> Any:
        return {name: value for name, value in super().__getstate__().items() if name != "_tree"}

    def score_samples(self, X: Any) -> np.ndarray:
        """The logarithm of the density at each row.

        Parameters
        ----------
        X : array of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        density : array of shape (n_queries,)
        """
        tree = self.tree_
        Q = tree._queries(self._check(X, reset=False))
        total = len(self._fit_X) if self._weight is None else float(self._weight.sum())
        found = tree._balls().log_density(
            Q, self.bandwidth_, self.kernel, self.atol * total, self.rtol, self._weight
        )
        return found - np.log(total)

    def score(self, X: Any, y: Any = None) -> float:
        """The log-likelihood of the rows X; y is ignored."""
        return float(self.score_samples(X).sum())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows from the density.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, optional
            Decides the draws.

        Returns
        -------
        X : array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        if self.kernel not in ("gaussian", "tophat"):
            raise NotImplementedError(
                f"KernelDensity: rows can be drawn with kernel='gaussian' or 'tophat'; got {self.kernel!r}."
            )
        rng, (n, d) = generator(random_state), self._fit_X.shape
        share = None if self._weight is None else self._weight / self._weight.sum()
        around = self._fit_X[rng.choice(n, size=n_samples, p=share)]
        step = rng.normal(size=(n_samples, d))
        if self.kernel == "tophat":  # uniform in the ball
            step /= np.sqrt((step**2).sum(axis=1, keepdims=True))
            step *= rng.random((n_samples, 1)) ** (1 / d)
        return around + self.bandwidth_ * step

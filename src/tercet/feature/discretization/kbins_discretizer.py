"""Discretisation of numeric columns into bins (离散化).

Without a target: bins of equal width, of equal frequency, or by one-dimensional k-means; or edges that are given.
With classes: by entropy and description length (`mdl.py`), or by merging (`chi_merge.py`).
"""

from __future__ import annotations

import warnings
from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.utils import resample
from sklearn.utils.multiclass import check_classification_targets

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, distinct
from tercet.core.input_errors import Explaining, shown
from tercet.core.parameters import Count, OpenFraction, Range, Seed
from tercet.core.validation import target_for_callbacks
from tercet.feature.discretization.bin_edges import (
    bin_centers,
    given_edges,
    kmeans_edges,
    known_rows,
    quantile_edges,
    uniform_edges,
    wanted_bins,
    wide_enough,
)
from tercet.feature.discretization.bin_output import BinOutput
from tercet.feature.discretization.chi_merge import chi_merge_cuts
from tercet.feature.discretization.mdl import mdl_cuts

SUPERVISED = ("mdl", "chimerge")
EVERYTHING = (-np.inf, np.inf)
QuantileMethod = Literal[
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
]


@method(
    zh="离散化（分箱）",
    task="feature extraction",
    model="x -> the interval that it is in",
    strategy="equal widths, equal frequencies, class entropy and description length, or differences of classes",
    algorithms={
        "uniform": "bins of equal width",
        "quantile": "bins of equal frequency",
        "kmeans": "one-dimensional k-means",
        "mdl": "recursive cuts of least class entropy, while the description gets shorter (Fayyad-Irani)",
        "chimerge": "merging of neighbours whose classes do not differ by a chi-square test (ChiMerge)",
    },
    texts=["Machine Learning in Depth ch. 3"],
    peers=["sklearn.preprocessing.KBinsDiscretizer", "optbinning.OptimalBinning"],
)
class KBinsDiscretizer(BinOutput):
    """Cut numeric columns into bins: by equal width, equal frequency, k-means, given edges, or by classes.

    A bin holds its lower edge and not its upper one. Values beyond the outer edges belong to the outer bins.

    Parameters
    ----------
    n_bins : int or array of shape (n_features,), default=5
        Number of bins; "mdl" and "chimerge" find it themselves, within `min_bins` and `max_bins`.
    encode : {"onehot", "onehot-dense", "ordinal", "interval"}, default="onehot"
        A column of zeros and ones for each bin (as a sparse matrix or an array), the number of the bin, or the
        interval as text, which makes a categorical column of a numeric one.
    strategy : {"uniform", "quantile", "kmeans", "mdl", "chimerge"}, default="quantile"
        How edges are found. The last two need classes y.
    quantile_method : str, default="averaged_inverted_cdf"
        How `numpy.percentile` interpolates, for "quantile".
    dtype : {numpy.float32, numpy.float64}, optional
        Type of the output; by default that of X.
    subsample : int or None, default=200_000
        At most so many rows, drawn with replacement, are used to find edges.
    random_state : int, optional
        Decides which rows are drawn.
    edges : array, or list of arrays, optional
        Given edges of all columns, or of each; they take the place of `strategy`. Outer edges may be infinite.
    significance : float, default=0.05
        Level of the test of "chimerge": a smaller one gives fewer bins.
    min_bins, max_bins : int, default=1 and None
        Least and greatest number of bins of "mdl" and "chimerge"; the least is for "chimerge" only.
    missing : {"error", "bin", "nan"}, default="error"
        NaN is an error, a bin of its own after all others, or stays NaN (no bin at all in one-hot columns).
    bin_names : {"index", "interval"}, default="index"
        How output columns of one-hot encoding are called: by the number of the bin, or by its interval.

    Attributes
    ----------
    bin_edges_ : array of objects of shape (n_features,)
        The edges of each column.
    n_bins_ : array of shape (n_features,)
        The number of bins of each column, without that of missing values.
    bin_centers_ : list of arrays
        The values that `inverse_transform` gives: middles of bins, or the value of a constant column.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> X, y = [[18.0], [22.0], [25.0], [31.0], [40.0], [58.0]], [0, 0, 0, 1, 1, 1]
    >>> model = KBinsDiscretizer(n_bins=2, encode="ordinal").fit(X)
    >>> model.transform(X).ravel()
    array([0., 0., 0., 1., 1., 1.])
    >>> model = KBinsDiscretizer(strategy="mdl", encode="interval").fit(X, y)
    >>> print(model.bin_table(X, y))
    feature  bin  interval  rows  share  class 0  class 1     woe     iv
    x0         0  < 28         3    0.5        3        0  -1.946  1.459
    x0         1  ≥ 28         3    0.5        0        3   1.946  1.459
    """

    def __init__(
        self,
        n_bins: Annotated[int, Range(2, np.inf, "[)")] | list[Any] | tuple[Any, ...] | np.ndarray = 5,
        *,
        encode: Literal["onehot", "onehot-dense", "ordinal", "interval"] = "onehot",
        strategy: Literal["uniform", "quantile", "kmeans", "mdl", "chimerge"] = "quantile",
        quantile_method: QuantileMethod = "averaged_inverted_cdf",
        dtype: Any = None,
        subsample: Count | None = 200_000,
        random_state: Seed = None,
        edges: list[Any] | tuple[Any, ...] | np.ndarray | None = None,
        significance: OpenFraction = 0.05,
        min_bins: Count = 1,
        max_bins: Count | None = None,
        missing: Literal["error", "bin", "nan"] = "error",
        bin_names: Literal["index", "interval"] = "index",
    ) -> None:
        self.n_bins = n_bins
        self.encode = encode
        self.strategy = strategy
        self.quantile_method = quantile_method
        self.dtype = dtype
        self.subsample = subsample
        self.random_state = random_state
        self.edges = edges
        self.significance = significance
        self.min_bins = min_bins
        self.max_bins = max_bins
        self.missing = missing
        self.bin_names = bin_names

    @property
    def relative_weights(self) -> bool:  # type: ignore[override]
        """Whether only the ratios of weights count; tests and description lengths count rows."""
        return not self._needs_classes()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the edges of the bins.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Numbers.
        y : array of shape (n_samples,), optional
            Classes, for "mdl" and "chimerge"; else ignored.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        self._check_options(sample_weight is not None)
        n, d = X.shape
        wanted = wanted_bins(self.n_bins, d)
        if self.subsample is not None and n > self.subsample and self.edges is None:
            rows = resample(
                np.arange(n),
                n_samples=self.subsample,
                random_state=self.random_state,
                sample_weight=sample_weight,
            )
            X, y, sample_weight = X[rows], None if y is None else y[rows], None
        given = None if self.edges is None else given_edges(self.edges, d)
        self.bin_edges_, self.bin_centers_ = np.empty(d, dtype=object), []
        for j in range(d):
            known, weight, classes = known_rows(X[:, j], sample_weight, y)
            edges = given[j] if given is not None else self._column_edges(known, weight, classes, j, wanted)
            constant = known[0] if given is None and known.size and known.min() == known.max() else 0.0
            self.bin_edges_[j] = edges
            self.bin_centers_.append(bin_centers(edges, float(constant)))
        self.n_bins_ = np.array([len(edges) - 1 for edges in self.bin_edges_])

    def _column_edges(
        self, x: np.ndarray, weight: np.ndarray | None, y: Any, j: int, wanted: np.ndarray
    ) -> np.ndarray:
        """The edges of one column."""
        low, high = (x.min(), x.max()) if x.size else (0.0, 0.0)
        if low == high:
            what = "constant" if x.size else "missing in all rows"
            warnings.warn(f"Feature {j} is {what} and will be replaced with 0.", UserWarning, stacklevel=7)
            return np.array(EVERYTHING)
        n_bins = int(wanted[j])
        if self.strategy in SUPERVISED:
            return self._class_edges(x, weight, y)
        if self.strategy == "uniform":
            edges = uniform_edges(low, high, n_bins)
        elif self.strategy == "quantile":
            edges = quantile_edges(x, weight, n_bins, self.quantile_method)
        else:
            edges = kmeans_edges(x, weight, low, high, n_bins)
        if not np.isfinite(edges).all():
            raise ValueError(
                f"KBinsDiscretizer: column {j} of X goes from {low:.3g} to {high:.3g}, and has no edges that are "
                "floating-point numbers: scale it."
            )
        if self.strategy == "uniform":
            return edges
        kept = wide_enough(edges)
        if kept.size != edges.size:
            warnings.warn(
                f"Bins whose width are too small (i.e., <= 1e-8) in feature {j} are removed. Consider decreasing "
                "the number of bins.",
                UserWarning,
                stacklevel=7,
            )
        return kept

    def _class_edges(self, x: np.ndarray, weight: np.ndarray | None, y: np.ndarray) -> np.ndarray:
        """Edges by classes: the outer values, and the cuts between them."""
        order = np.argsort(x, kind="stable")
        present = np.bincount(y) > 0  # a class may have no row in which the column is known
        index = (np.cumsum(present) - 1)[y[order]]
        rows = x[order], index, np.ones(x.size) if weight is None else weight[order].astype(np.float64)
        k, most = int(present.sum()), np.inf if self.max_bins is None else self.max_bins
        if k < 2:
            cuts = np.empty(0)
        elif self.strategy == "mdl":
            cuts = mdl_cuts(*rows, k, most)
        else:
            cuts = chi_merge_cuts(*rows, k, self.significance, self.min_bins, most)
        return np.concatenate([[x[order[0]]], cuts, [x[order[-1]]]]).astype(np.float64)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if y is NO_TARGET or self._needs_classes():
            return super()._check(X, y, reset=reset)
        X = super()._check(X, reset=reset)
        return X, target_for_callbacks(y, X.shape[0])

    def _encode(self, y: Any) -> Any:
        if not self._needs_classes():
            return None
        with Explaining(y=y):
            check_classification_targets(y)
            return distinct(y)[1].astype(np.int64)

    def _needs_classes(self) -> bool:
        return self.strategy in SUPERVISED and self.edges is None

    def _check_options(self, weighted: bool) -> None:
        """Refuse parameters that do not go together."""
        if self.dtype not in (None, np.float32, np.float64):
            raise ValueError(
                "KBinsDiscretizer: parameter 'dtype' must be numpy.float32, numpy.float64 or None; got "
                f"{shown(self.dtype)}."
            )
        by_rank = self.quantile_method in ("inverted_cdf", "averaged_inverted_cdf")
        if weighted and self.strategy == "quantile" and self.edges is None and not by_rank:
            raise ValueError(
                "When fitting with strategy='quantile' and sample weights, quantile_method should either be set to "
                f"'averaged_inverted_cdf' or 'inverted_cdf', got quantile_method='{self.quantile_method}' instead."
            )
        if self.max_bins is not None and self.max_bins < self.min_bins:
            raise ValueError(
                f"KBinsDiscretizer: max_bins={self.max_bins} is less than min_bins={self.min_bins}."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_classes()
        return tags

"""Principal component analysis in batches (增量主成分分析)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from tercet.core.catalog import method
from tercet.core.fitted_checks import Floats, Whole
from tercet.core.parameters import Count, check_parameters
from tercet.core.read_ahead import feed
from tercet.core.streams import StreamedChunks, is_streamed
from tercet.decomposition._engine.lapack import lapack_threads, right_singular
from tercet.decomposition._engine.signs import fix_signs
from tercet.decomposition.base import PrincipalAxes


@method(
    zh="增量主成分分析",
    task="dimensionality reduction",
    model="y_k = α_k'(x - m), with orthonormal α_k",
    strategy="largest variance, of the batches seen so far",
    algorithms="singular value decomposition of the components so far, stacked on each new batch",
    texts=["Li ch. 16"],
    peers=["sklearn.decomposition.IncrementalPCA"],
)
class IncrementalPCA(PrincipalAxes):
    """Principal component analysis of rows that come in batches, in the memory of one.

    After each batch the components are the right singular vectors of the former ones, times their singular
    values, stacked on the centred batch and on the move of the mean. What lies outside of the k components is
    forgotten, so that the result is near that of `PCA`, and equal to it when all components are kept.

    Parameters
    ----------
    n_components : int, optional
        How many components; by default as many as the first batch has rows or columns, whichever are fewer.
    whiten : bool, default=False
        Divide the scores by their standard deviations.
    copy : bool, default=True
        There for callers of scikit-learn's class: X is never changed.
    batch_size : int, optional
        Rows of a batch in `fit`; by default five times the number of features.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The α_k; the largest entry of each is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : arrays of shape (n_components,)
        The variances of the components, their share, and the singular values.
    mean_, var_ : arrays of shape (n_features,)
        Of all rows seen; the variances with the divisor n.
    noise_variance_ : float
        The mean of the variances that were left out.
    n_components_, n_samples_seen_, batch_size_ : int

    Examples
    --------
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> IncrementalPCA(n_components=1, batch_size=3).fit(X).components_.round(3)
    array([[0.839, 0.545]])
    """

    def __init__(
        self,
        n_components: Count | None = None,
        *,
        whiten: bool = False,
        copy: bool = True,
        batch_size: Count | None = None,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.copy = copy
        self.batch_size = batch_size

    fitted_shapes = {
        "components_": Floats("components features", finite=True),
        "explained_variance_": Floats("components", low=0.0),
        "explained_variance_ratio_": Floats("components", low=0.0),
        "singular_values_": Floats("components", finite=True, low=0.0),
        "mean_": Floats("features", finite=True),
        "var_": Floats("features", finite=True, low=0.0),
        "noise_variance_": Floats("", low=0.0),
        "n_components_": Whole("components", 1),
        "n_samples_seen_": Whole("", 1),
        "batch_size_": Whole("", 1),
    }
    largest_value = 1e140  # squares of rows are added up from batch to batch
    var_: np.ndarray
    n_samples_seen_: int
    batch_size_: int

    streaming = True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of the rows X, batch by batch.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows; sparse ones become dense a batch at a time.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        n, d = X.shape
        if n < 2:
            raise ValueError(
                "IncrementalPCA: n_samples=1; there is no variance of one row. At least 2 are needed."
            )
        self._forget()
        self.batch_size_ = 5 * d if self.batch_size is None else self.batch_size
        batches = list(gen_batches(n, self.batch_size_, min_batch_size=self.n_components or 0))
        streamed = is_streamed(X)
        parts: Any = StreamedChunks([X], [0, *(b.stop for b in batches)]) if streamed else batches
        with lapack_threads((self.batch_size_, d)), feed(parts) as ordered:
            for step in self.steps(len(batches), name="batch"):
                part = next(ordered)[0] if streamed else X[next(ordered)]
                self._add(part.toarray() if sparse.issparse(part) else part)
                step.report(self._learned(), rows=self.n_samples_seen_)

    def partial_fit(self, X: Any, y: Any = None, check_input: bool = True) -> Self:
        """Add one batch to what has been learned.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : ignored
        check_input : bool, default=True
            Whether to check X; without it X must be a float array of the right width.

        Returns
        -------
        self
        """
        check_parameters(self)
        if check_input:
            if sparse.issparse(X):
                raise TypeError(
                    "IncrementalPCA.partial_fit does not support sparse input. Either convert data to dense or use "
                    "IncrementalPCA.fit to do so in batches."
                )
            X = self._check(X, reset=not hasattr(self, "components_"))
        elif not hasattr(self, "components_"):
            self.n_features_in_ = X.shape[1]
        self._add(X)
        return self

    def _forget(self) -> None:
        for name in ("components_", "n_samples_seen_", "mean_", "var_", "singular_values_"):
            self.__dict__.pop(name, None)

    def _learned(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in IncrementalPCA.fitted_shapes if hasattr(self, name)}

    def _add(self, X: np.ndarray) -> None:
        """One batch: the SVD of former components, centred rows and the move of the mean."""
        rows, d = X.shape
        first = not hasattr(self, "components_")
        k = self._count(rows, d, first)
        mean = middle = X.mean(axis=0, dtype=np.float64)
        centred = X - middle.astype(X.dtype)
        squares, seen = np.einsum("ij,ij->j", centred, centred, dtype=np.float64), rows
        if not first:
            before = self.n_samples_seen_
            seen = before + rows
            move = middle - self.mean_
            squares = self.var_ * before + squares + move**2 * (before * rows / seen)
            mean = self.mean_ + move * (rows / seen)
            former = self.singular_values_[:, None] * self.components_
            moved = np.sqrt(before / seen * rows) * move
            centred = np.vstack([former, centred, moved]).astype(X.dtype)
        s, Vt = right_singular(centred)
        whole = float(np.sum(squares))
        variance = s.astype(np.float64) ** 2 / max(seen - 1, 1)
        ratio = s.astype(np.float64) ** 2 / whole if whole > 0 else np.zeros(len(s))
        self.n_components_, self.n_samples_seen_ = k, seen
        self.components_, self.singular_values_ = fix_signs(None, Vt[:k])[1], s[:k]
        self.mean_, self.var_ = mean, squares / seen
        self.explained_variance_ = variance[:k].astype(X.dtype)
        self.explained_variance_ratio_ = ratio[:k].astype(X.dtype)
        self.noise_variance_ = float(variance[k:].mean()) if k not in (rows, d) and len(s) > k else 0.0

    def _count(self, rows: int, d: int, first: bool) -> int:
        k = self.n_components
        if k is None:
            k = min(rows, d) if first else len(self.components_)
        elif k > d:
            raise ValueError(
                f"IncrementalPCA: n_components={k} invalid for n_features={d}, need more rows than columns for "
                "IncrementalPCA processing."
            )
        elif k > rows and first:
            raise ValueError(
                f"IncrementalPCA: n_components={k} must be less or equal to the batch number of samples {rows} for "
                "the first partial_fit call."
            )
        if not first and len(self.components_) != k:
            raise ValueError(
                f"IncrementalPCA: Number of input features has changed from {len(self.components_)} to {k} between "
                "calls to partial_fit! Try setting n_components to a fixed value."
            )
        return int(k)

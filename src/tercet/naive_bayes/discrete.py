"""What naive Bayes classifiers of counts share: sums of the features by class, smoothing and priors."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.kernel import kernel
from tercet.core.parallel import engine, total
from tercet.core.parameters import NonNegative
from tercet.core.rows import Sparse, rows
from tercet.core.sparse_products import times
from tercet.naive_bayes.base import Batches, ChunkedBayes, broad_chunks, log, numbers

Alpha = NonNegative | list | tuple | np.ndarray
LEAST_ALPHA = 1e-10
ENTRIES = 1 << 22  # of a sparse matrix in a piece of work


class DiscreteNB(Batches, ChunkedBayes):
    """A naive Bayes classifier that learns from sums over the rows of each class.

    A subclass writes `_update(alpha)`, which makes `feature_log_prob_` of the sums, and says in `_evidence` what a
    row is worth. A value that is not known (NaN) adds nothing to the sums.
    """

    missing_input = True
    width_checked_attributes = ("feature_log_prob_",)
    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self.class_count_ = np.zeros(self.classes_.size)
        self.feature_count_ = np.zeros((self.classes_.size, X.shape[1]))
        self._add(X, y, sample_weight)

    def _add(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        alpha, given = self._alpha(), given_prior(self)  # refused, if at all, before anything is counted
        self._count(X, y, weight)
        self._update(alpha)
        self.class_log_prior_ = self._log_prior() if given is None else log(given)

    def _count(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        sums = class_sums(X, y, weight, self.classes_.size, self.n_jobs)
        self.class_count_ += np.bincount(y, weight, self.classes_.size)
        self.feature_count_ += sums

    def _update(self, alpha: Any) -> None:
        raise NotImplementedError

    def _alpha(self) -> Any:
        d, name = self.n_features_in_, type(self).__name__
        alpha = numbers(self.alpha, f"{name}: alpha")
        if alpha.shape not in ((), (d,)) or not (alpha >= 0).all() or np.isinf(alpha).any():
            raise ValueError(
                f"{name}: alpha must be a finite number of at least 0, or one for each of {d} features; "
                f"got {self.alpha!r}."
            )
        if not self.force_alpha and alpha.min() < LEAST_ALPHA:
            warnings.warn(
                f"{name}: alpha={self.alpha!r} is raised to {LEAST_ALPHA:g}; force_alpha=True leaves it alone.",
                stacklevel=4,
            )
            alpha = np.maximum(alpha, LEAST_ALPHA)
        return alpha

    def _log_prior(self) -> np.ndarray:
        if self.fit_prior:
            return log(self.class_count_) - np.log(self.class_count_.sum())
        return np.full(self.classes_.size, -np.log(self.classes_.size))

    def _score(self, chunk: tuple[Any], *tables: Any) -> np.ndarray:
        (X,) = chunk
        return self._evidence(*split(X), *tables)

    def _evidence(self, X: Any, unknown: Any, *tables: Any) -> np.ndarray:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def given_prior(model: Any) -> np.ndarray | None:
    """The parameter `class_prior`, checked."""
    if model.class_prior is None:
        return None
    K, name = model.classes_.size, type(model).__name__
    prior = numbers(model.class_prior, f"{name}: class_prior")
    if prior.shape != (K,) or not (prior >= 0).all() or not 0 < prior.sum() < np.inf:
        raise ValueError(
            f"{name}: class_prior must be a probability for each of {K} classes; got {model.class_prior!r}."
        )
    return prior


def split(X: Any) -> tuple[Any, Any]:
    """X with 0 for what is not known, and a matrix of ones where that is (None when all is known)."""
    values = X.data if sparse.issparse(X) else X
    if not values.size or not np.isnan(values.min()):
        return X, None
    gone = np.isnan(values)
    if not sparse.issparse(X):
        return np.where(gone, 0.0, X), gone.astype(np.float64)
    return with_data(X, np.where(gone, 0.0, values)), with_data(X, gone.astype(np.float64))


def with_data(X: Any, values: np.ndarray) -> Any:
    """A CSR matrix of the same pattern."""
    made = sparse.csr_array(X.shape, dtype=values.dtype)
    made.data, made.indices, made.indptr = values, X.indices, X.indptr
    return made


def dot(X: Any, W: np.ndarray) -> np.ndarray:
    """XW in double precision: single would leave little of long sums whose differences decide."""
    return times(X.astype(np.float64, copy=False), W) if sparse.issparse(X) else X @ W


def class_sums(X: Any, y: np.ndarray, weight: Any, n_classes: int, n_jobs: int | None = None) -> np.ndarray:
    """For each class the weighted sum of its rows' known values, of shape (n_classes, n_features).

    Rows of a sparse matrix are taken class by class, so that a thread adds to few sums at a time, which stay near.
    """
    if not sparse.issparse(X):
        return total(_dense_sums, broad_chunks(n_classes, X, y, weight), n_classes, n_jobs=n_jobs)
    n, d = X.shape
    weight = np.ones(n) if weight is None else weight.astype(np.float64)
    run = max(1, max(ENTRIES, 16 * d) * n // max(X.nnz, 1))  # sums of a piece cost little beside its entries
    short = y.astype(np.uint16) if n_classes <= 1 << 16 else y  # which NumPy sorts by digits
    order, found = np.argsort(short, kind="stable"), np.zeros((n_classes, d))
    pieces = _pieces(np.bincount(y, minlength=n_classes), run)
    parts = engine(n_jobs).map(_sparse_sums, pieces, (rows(X), order, y, weight))
    for (_, _, first, last), part in zip(pieces, parts):
        found[first:last] += part
    return found


def _dense_sums(chunk: Any, n_classes: int) -> np.ndarray:
    X, y, weight = chunk
    X, _ = split(X)
    ones = np.ones(y.size) if weight is None else weight.astype(np.float64)
    return sparse.csr_array((ones, y, np.arange(y.size + 1)), (y.size, n_classes)).T @ X


def _pieces(counts: np.ndarray, run: int) -> list[tuple[int, int, int, int]]:
    """Rows sorted by class, cut into (from, to, first class, last class + 1): small classes together, large ones
    in runs."""
    found, start, first, end = [], 0, 0, 0
    for c, size in enumerate(counts.tolist()):
        if size >= run or end - start >= run:
            found += [(start, end, first, c)] if end > start else []
            start, first = end, c
        end += size
        if size >= run:
            found += [(a, min(a + run, end), c, c + 1) for a in range(start, end, run)]
            start, first = end, c + 1
    return [*found, (start, end, first, len(counts))] if end > start else found


def _sparse_sums(piece: tuple[int, ...], X: Sparse, order: np.ndarray, y: Any, weight: Any) -> np.ndarray:
    start, end, first, last = piece
    table = np.zeros((last - first, X.n_columns))
    for here, there in itertools.pairwise([*range(start, end, 1 << 16), end]):  # to answer Ctrl-C in between
        add_rows(X, order[here:there], y, weight, first, table)
    return table


@kernel
def add_rows(X, order, y, weight, first, table):
    """table[y[i] - first] += weight[i] * row i, over the rows in the given order; NaN adds nothing."""
    for i in order:
        x = X.data[X.indptr[i] : X.indptr[i + 1]]
        at = X.indices[X.indptr[i] : X.indptr[i + 1]]
        out, w = table[y[i] - first], weight[i]
        for s in range(x.size):
            if x[s] == x[s]:
                out[np.uint64(at[s])] += w * x[s]

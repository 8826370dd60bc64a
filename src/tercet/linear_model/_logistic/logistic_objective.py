"""The objective of logistic regression, the mean loss of linear scores plus an L2 penalty, and its derivatives.

Every quantity is a sum over rows, computed chunk by chunk (`core.parallel`) and added up in float64; the sums of
one chunk are in `chunk_sums`. `form` is "binary" (y in {-1, 1}, one score), "squared" (the same with squared errors
of probabilities), "softmax" (one score for each class) or "reference" (the same, with the score of the last class
fixed at 0).
"""

from __future__ import annotations

import copy
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.parallel import Chunks, each, total
from tercet.core.row_sums import gathered_rows, mass_of
from tercet.core.rows import read_only
from tercet.core.sparse_products import Transposed
from tercet.core.streams import holds_sparse, is_streamed
from tercet.linear_model._logistic.chunk_sums import (
    curvature,
    hessian,
    hessian_times,
    hessian_times_at,
    loss_and_slopes,
    signs,
    small_value_and_gradient,
    with_gradient,
    without_curvature,
)

Array = np.ndarray
SMALL = 1 << 13  # numbers in X up to which one kernel call is faster than NumPy's
NO_WEIGHT = np.empty(0)
SAMPLED_ROWS = 4096  # rows from which the means and variances of the columns are estimated


class LogisticObjective:
    """f(θ) = 1/S sum_i s_i L(y_i, W'x_i + b) + 1/2 sum_j λ_j |W_j|^2, with S the sum of the weights s.

    For two classes W is one vector, y is -1 or 1, and L = log(1 + exp(-y z)), the negative log-likelihood; or,
    with ``loss="squared"``, L = (sigmoid(z) - [y = 1])^2, which is not convex (Machine Learning in Depth
    ch. 2.2.4). For more, W has a
    column for each class and L = log sum_k exp(z_k) - z_y. With ``reference=True`` the last class has none: its
    score is 0 (Li eq. 6.7, 6.8).

    The parameters θ are one vector: W row by row (the weights of a feature side by side), then b.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    y : array of shape (n,)
        Class codes 0 .. n_classes-1.
    weight : array of shape (n,), optional
    n_classes : int
    l2 : float, default=0.0
        λ of every feature.
    intercept : bool, default=True
    intercept_l2 : float, default=0.0
        λ of the intercept.
    loss : {"log", "squared"}, default="log"
    reference : bool, default=False
    n_jobs : int, optional
        Threads; the results do not depend on it.
    scale : float, default=1.0
        What X was divided by before: the weights for the data as they were are θ's divided by it.

    Examples
    --------
    >>> objective = LogisticObjective(np.arange(6.0)[:, None], np.array([0, 0, 1, 0, 1, 1]), None, 2)
    >>> f, g = objective.value_and_gradient(np.zeros(2))
    >>> round(6 * f, 6), 6 * g
    (4.158883, array([-3.5,  0. ]))
    """

    def __init__(
        self,
        X: Any,
        y: Array,
        weight: Array | None,
        n_classes: int,
        *,
        l2: float = 0.0,
        intercept: bool = True,
        intercept_l2: float = 0.0,
        loss: str = "log",
        reference: bool = False,
        n_jobs: int | None = None,
        scale: float = 1.0,
    ) -> None:
        self.X, self.y, self.weight, self.scale = X, y, weight, scale
        self.n_classes, self.l2, self.intercept, self.intercept_l2 = n_classes, l2, intercept, intercept_l2
        self.loss, self.reference, self.n_jobs = loss, reference, n_jobs
        binary = n_classes == 2
        self.n_planes = 1 if binary else n_classes - reference
        self.form = ("squared" if loss == "squared" else "binary") if binary else "softmax"
        if reference and not binary:
            self.form = "reference"
        self.mass = mass_of(X, weight)
        self.chunks = self._chunks(signs(y, X.dtype) if binary else y)
        small = not holds_sparse(X) and X.size <= SMALL and loss == "log"
        self.small = (read_only(np.ascontiguousarray(X)), np.asarray(y, dtype=np.int64)) if small else None
        several = (
            sparse.issparse(X) and self.n_planes > 1
        )  # of streamed rows the products are made chunk by chunk
        self.transposed = Transposed(X, self.n_planes) if several else None
        d = X.shape[1]
        self.shape = (d + intercept, self.n_planes)
        self.size = self.shape[0] * self.n_planes
        self.penalty = self._penalties(l2, intercept_l2)
        self.precision = float(np.finfo(X.dtype).eps)
        self.n_uncertain = X.shape[0]  # rows whose class has probability 1/2 or less at the latest point
        self._curvature: tuple[Array, list[Any]] | None = None

    def _chunks(self, target: Array) -> Chunks:
        chunks = Chunks(self.X, target, self.weight)
        n, d = self.X.shape
        if holds_sparse(self.X) and self.n_planes == 1 and len(chunks) > 4:
            # every chunk fills and adds a gradient of its own: their number is bounded by the entries of X
            entries = self.X.stream.n_entries if is_streamed(self.X) else self.X.nnz
            pieces = max(4, entries // d)
            if pieces < len(chunks):
                chunks = Chunks(self.X, target, self.weight, rows=-(-n // pieces))
        return chunks

    def _penalties(self, l2: float, intercept_l2: float) -> Array:
        """λ of each parameter."""
        penalty = np.full(self.shape, float(l2))
        if self.intercept:
            penalty[-1] = intercept_l2
        return penalty.ravel()

    def with_penalty(self, l2: float, intercept_l2: float) -> LogisticObjective:
        """The same problem with another penalty."""
        other = copy.copy(self)
        other.l2, other.intercept_l2, other._curvature = l2, intercept_l2, None
        other.__dict__.pop("centre", None)
        other.penalty = self._penalties(l2, intercept_l2)
        return other

    def _mean_gradient(
        self, statistic: Any, curvatures: list[Any] | None, theta: Array
    ) -> tuple[Array, list[Any]]:
        """The mean over rows of X'R for the slopes R of a statistic, and its other sums."""
        W, b = self.split(theta, self.X.dtype)
        items: Any = self.chunks
        if not is_streamed(self.X):
            items = list(zip(self.chunks, curvatures or repeat(None)))
        elif statistic is not hessian_times_at:
            items = self._pairs
        table, d = np.empty(self.shape), self.X.shape[1]
        if self.transposed is None:
            more = curvatures if is_streamed(self.X) and curvatures else []
            G, *sums = total(with_gradient, items, statistic, self.form, W, b, *more, n_jobs=self.n_jobs)
            table[:d] = G.reshape(d, -1)
        else:
            slopes, *parts = zip(*each(statistic, items, self.form, W, b, n_jobs=self.n_jobs))
            sums = [sum(part) for part in parts]
            self.transposed.times(np.concatenate(slopes), table[:d], self.n_jobs)
        if self.intercept:
            table[-1] = sums[0]
        table /= self.mass
        return table.ravel(), sums[1:]

    @cached_property
    def _pairs(self) -> Any:
        """Streamed chunks as the statistics take them: with no curvatures."""
        return self.chunks.prepared(without_curvature)  # type: ignore[attr-defined]

    def split(self, theta: Array, dtype: Any = np.float64) -> tuple[Array, Array]:
        """W of shape (d, n_planes), or (d,) for two classes, and b."""
        table = theta.reshape(self.shape).astype(dtype, copy=False)
        if self.intercept:
            W, b = table[:-1], table[-1]
        else:
            W, b = table, np.zeros(self.n_planes, dtype)
        return (W[:, 0], b) if self.n_classes == 2 else (W, b)

    def join(self, W: Array, b: Array) -> Array:
        """The inverse of `split`."""
        table = np.empty(self.shape)
        table[: self.X.shape[1]] = W.reshape(-1, self.n_planes)
        if self.intercept:
            table[-1] = b
        return table.ravel()

    def sample(self, every: int) -> LogisticObjective:
        """The same problem on one row of each block of `every`, drawn from a fixed seed."""
        n = self.X.shape[0] // every
        at = np.arange(n) * every + np.random.default_rng(0).integers(0, every, n)
        return self._with_data(*gathered_rows(at, self.X, self.y, self.weight))

    def restrict(self, columns: Array) -> LogisticObjective:
        """The same problem with the weights of all other features at zero."""
        return self._with_data(self.X[:, columns], self.y, self.weight)

    def parameter_indices(self, columns: Array) -> Array:
        """The indices in θ of the parameters of `restrict(columns)`."""
        features = np.append(columns, self.X.shape[1]) if self.intercept else columns
        return (features[:, None] * self.n_planes + np.arange(self.n_planes)).ravel()

    def _with_data(self, X: Any, y: Array, weight: Array | None) -> LogisticObjective:
        return LogisticObjective(
            X, y, weight, self.n_classes, l2=self.l2, intercept=self.intercept, intercept_l2=self.intercept_l2,
            loss=self.loss, reference=self.reference, n_jobs=self.n_jobs, scale=self.scale,
        )  # fmt: skip

    def value(self, theta: Array) -> float:
        return self.value_and_gradient(theta)[0]

    def gradient(self, theta: Array) -> Array:
        return self.value_and_gradient(theta)[1]

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        if self.small is not None:
            g, weight = np.empty(self.size), NO_WEIGHT if self.weight is None else self.weight
            loss, self.n_uncertain = small_value_and_gradient(
                *self.small,
                weight,
                theta.reshape(self.shape),
                g.reshape(self.shape),
                self.n_classes,
                self.intercept,
            )
            g /= self.mass
        else:
            g, (loss, self.n_uncertain) = self._mean_gradient(loss_and_slopes, None, theta)
        shrinkage = self.penalty * theta
        g += shrinkage
        return float(loss) / self.mass + 0.5 * float(shrinkage @ theta), g

    def hessian(self, theta: Array, dtype: Any = np.float64, *, centred: bool = False) -> Array:
        """The matrix of second derivatives; its products in `dtype`, their sum in float64.

        With `centred`, in the coordinates of `centred_gradient`, where it is far better conditioned.
        """
        W, b = self.split(theta, self.X.dtype)
        centre = self.centre if centred else np.zeros(self.X.shape[1])
        H = total(hessian, self.chunks, self.form, W, b, self.intercept, dtype, centre, n_jobs=self.n_jobs)
        H /= self.mass
        H[np.diag_indices(self.size)] += self.penalty
        return H

    @cached_property
    def column_moments(self) -> tuple[Array, Array]:
        """Estimates of the mean and variance of each column, from a sample of the rows."""
        (X,) = gathered_rows(np.arange(0, self.X.shape[0], -(-self.X.shape[0] // SAMPLED_ROWS)), self.X)
        if not sparse.issparse(X):
            return X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)
        (n, d), at = X.shape, X.indices
        mean = np.bincount(at, X.data, d) / n
        stored = np.bincount(at, (X.data - mean[at]) ** 2, d)  # of differences: no cancellation
        return mean, (stored + (n - np.bincount(at, minlength=d)) * mean**2) / n

    @cached_property
    def centre(self) -> Array:
        """The estimated column means where an unpenalised intercept allows centring; else zeros."""
        if self.intercept and not self.intercept_l2:
            return self.column_moments[0]
        return np.zeros(self.X.shape[1])

    def centred_gradient(self, g: Array) -> Array:
        """The gradient in the parameters of centred data, from that in the parameters of the data as given."""
        if not self.intercept:
            return g
        table = g.reshape(self.shape).copy()
        table[:-1] -= np.outer(self.centre, table[-1])
        return table.ravel()

    def uncentred(self, v: Array) -> Array:
        """Parameters for the data as given, from those of centred data."""
        if not self.intercept:
            return v
        table = v.reshape(self.shape).copy()
        table[-1] -= self.centre @ table[:-1]
        return table.ravel()

    def attainable_decrease(self, g: Array) -> float:
        """A lower bound of what a step in one parameter of centred data could lower f by, from its gradient there.

        `g` is a `centred_gradient`. The gradient of the data as given bounds nothing: columns far from zero are
        nearly parallel to the constant, and their slopes cancel.
        """
        # a second derivative in the score is at most 1/4
        second = (
            0.25 * np.append(self.column_moments[1], [1.0] * self.intercept) + self.penalty[:: self.n_planes]
        )
        gains = 0.5 * g.reshape(self.shape) ** 2 / np.where(second > 0, second, np.inf)[:, None]
        return float(np.max(gains, initial=0.0))

    def attainable_decrease_at(self, theta: Array) -> float:
        """`attainable_decrease` from the gradient at θ."""
        return self.attainable_decrease(self.centred_gradient(self.gradient(theta)))

    def rounding_level(self, f: float, theta: Array) -> float:
        """Differences of f that are due to rounding: its own, and that of scores, small sums of large terms."""
        table = np.abs(theta).reshape(self.shape)
        largest = np.append(np.abs(self.column_moments[0]), [1.0] * self.intercept) @ table
        return float(8 * self.precision * (abs(f) + largest.max()))

    def hessian_product(self, theta: Array, v: Array) -> Array:
        if is_streamed(
            self.X
        ):  # curvatures of all rows are not kept: they are computed again in each product
            at = list(self.split(theta, self.X.dtype))
            product, _ = self._mean_gradient(hessian_times_at, at, v)
            return product + self.penalty * v
        if self._curvature is None or not np.array_equal(self._curvature[0], theta):
            W, b = self.split(theta, self.X.dtype)
            self._curvature = theta.copy(), each(curvature, self.chunks, self.form, W, b, n_jobs=self.n_jobs)
        product, _ = self._mean_gradient(hessian_times, self._curvature[1], v)
        product += self.penalty * v
        return product

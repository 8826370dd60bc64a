"""Gaussian naive Bayes (高斯朴素贝叶斯): each feature has a normal distribution in each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Floats
from tercet.core.kernel import kernel
from tercet.core.parallel import total
from tercet.core.parameters import ArrayLike, CountOrZero, Jobs, NonNegative
from tercet.core.row_sums import class_masses, gathered_rows
from tercet.core.rows import kernel_form, read_only
from tercet.core.streams import first_rows, is_streamed
from tercet.naive_bayes._engine.class_sums import class_chunks
from tercet.naive_bayes.base import (
    BayesClassifier,
    PartialFitMixin,
    add_to_rows,
    check_priors,
    log,
)

LEAST_VARIANCE = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)  # smaller ones lose digits


@method(
    zh="高斯朴素贝叶斯",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ P(c) Π_j N(x_j; μ_cj, σ²_cj)",
    strategy="maximum likelihood (ddof = 0) or unbiased variances (ddof = 1)",
    loss="log",
    convex=False,
    algorithms="means and squares by class, in two passes",
    texts=["watermelon notes ch. 5, sec. 5.3, 5.4, eq. 5.7"],
    peers=["sklearn.naive_bayes.GaussianNB"],
)
class GaussianNB(PartialFitMixin, BayesClassifier):
    """Naive Bayes for numbers, each normally distributed in each class.

    A value that is not known (NaN) is left out: means and variances are of the known values, and a row is judged
    by those that it has. Where a class has no known value of a feature, it takes the moments of all classes.

    Parameters
    ----------
    priors : array of shape (n_classes,), optional
        Prior probabilities; by default the shares of the classes.
    var_smoothing : float, default=1e-9
        This share of the largest variance of a feature is added to all variances.
    ddof : int, default=0
        Squares are divided by the number of values less ddof (where there are more): 0 is maximum likelihood, 1
        unbiased.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_ : array of shape (n_classes,)
        Weight of the rows of each class.
    class_prior_ : array of shape (n_classes,)
        The prior probabilities.
    class_log_prior_ : array of shape (n_classes,)
        Logarithms of the prior probabilities.
    theta_ : array of shape (n_classes, n_features)
        The mean of each feature in each class.
    var_ : array of shape (n_classes, n_features)
        The variances, with `epsilon_`.
    epsilon_ : float
        What was added to the variances.
    known_count_ : array of shape (n_classes, n_features)
        Weight of the rows of each class in which the feature is known.
    scatter_ : array of shape (n_classes, n_features)
        Sums of squared deviations from the means.

    Examples
    --------
    >>> X, y = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]], [1, 1, 1, 2, 2, 2]
    >>> model = GaussianNB().fit(X, y)
    >>> model.predict([[-0.8, -1], [float("nan"), 2]])
    array([1, 2])
    """

    sparse_input = False
    missing_input = True
    streaming = True
    width_checked_attributes = ("theta_", "var_")
    fitted_shapes = {
        "known_count_": "classes features",
        "theta_": Floats("classes features", finite=True),
        "scatter_": "classes features",
        "var_": Floats("classes features", finite=True, low=float(np.finfo(np.float64).tiny)),
        "epsilon_": "",
    }

    def __init__(
        self,
        *,
        priors: ArrayLike = None,
        var_smoothing: NonNegative = 1e-9,
        ddof: CountOrZero = 0,
        n_jobs: Jobs = None,
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.ddof = ddof
        self.n_jobs = n_jobs

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        shape = (self.classes_.size, X.shape[1])
        self.class_count_ = np.zeros(shape[0])
        self.known_count_, self.theta_, self.scatter_ = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._partial_fit(X, y, sample_weight)

    def _partial_fit(self, X: np.ndarray, y: np.ndarray, weight: Any) -> None:
        """Combine the moments of these rows with those of the rows before (Chan, Golub and LeVeque)."""
        priors = check_priors(self)  # errors come before anything is learned
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
            n_new, new_mean, new_scatter = class_moments(X, y, weight, self.classes_.size, self.n_jobs)
        n_old, mean = self.known_count_, self.theta_.astype(np.float64)
        n = n_old + n_new
        share = np.divide(n_new, n, out=np.zeros_like(n), where=n > 0)
        shift = np.where(n_old > 0, new_mean - mean, 0.0)
        mean = np.where(n_old > 0, mean, new_mean) + shift * share
        with np.errstate(over="ignore", invalid="ignore"):
            scatter = self.scatter_ + new_scatter + shift**2 * n_old * share
        self.class_count_ = self.class_count_ + class_masses(y, weight, self.classes_.size)
        self.known_count_ = n
        self.scatter_ = scatter
        self.class_prior_ = self.class_count_ / self.class_count_.sum() if priors is None else priors
        self.class_log_prior_ = log(self.class_prior_)
        whole = weight is None or is_streamed(X) or weight.all()
        self._estimate(mean, X if whole else X[weight > 0])

    def _refuse_lost_variances(self, X: np.ndarray, variances: np.ndarray) -> None:
        """Refuse rows whose variances overflow, or of which underflow leaves too few digits."""
        lost = ~np.isfinite(variances)
        if is_streamed(X):
            (X,) = gathered_rows(np.arange(min(X.shape[0], 4096)), X)  # some values, for the message
        if not lost.any() and variances.max(initial=0.0) < LEAST_VARIANCE:
            lost = np.fmax.reduce(X, axis=0) > np.fmin.reduce(
                X, axis=0
            )  # a constant feature has none to lose
        if lost.any():
            j = int(np.flatnonzero(lost)[0])
            low, high = np.fmin.reduce(X[:, j]), np.fmax.reduce(X[:, j])
            raise ValueError(
                f"GaussianNB: feature {j} has values from {low:g} to {high:g}; their variance is beyond the range "
                "of floating-point numbers. Scale the features first (StandardScaler, say)."
            )

    def _estimate(self, mean: np.ndarray, X: np.ndarray) -> None:
        """μ_cj and σ²_cj (watermelon notes sec. 5.3) from the sums; of all classes where one has no value."""
        known, column = self.known_count_, self.known_count_.sum(axis=0)
        share = np.divide(known, column, out=np.zeros_like(known), where=column > 0)
        overall_mean = (share * mean).sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self.scatter_.sum(axis=0) + (known * (mean - overall_mean) ** 2).sum(axis=0)
        # a feature without known values has the same density in all classes, whatever its moments are
        overall_var = np.divide(squares, column, out=np.ones_like(column), where=column > 0)
        observed = overall_var[column > 0]
        self._refuse_lost_variances(X, np.where(column > 0, overall_var, LEAST_VARIANCE))
        self.epsilon_ = float(self.var_smoothing * observed.max()) if observed.size else 0.0
        divisor = np.where(known > self.ddof, known - self.ddof, known)
        var = np.divide(self.scatter_, divisor, out=np.tile(overall_var, (len(known), 1)), where=known > 0)
        var, dtype = var + self.epsilon_, X.dtype
        if var.max() > np.finfo(dtype).max or var.max() < np.finfo(dtype).tiny:
            dtype = np.dtype(np.float64)  # variances of float32 rows need not be float32
        # no variance is zero, so that no density is infinite
        self.var_ = np.maximum(var, np.finfo(dtype).tiny).astype(dtype)
        self.theta_ = np.where(known > 0, mean, overall_mean).astype(dtype)

    def _tables(self, X: Any) -> tuple[Any, ...]:
        theta, var = (kernel_form(t) for t in (self.theta_, self.var_))
        if theta.shape != var.shape:
            raise ValueError(f"GaussianNB: theta_ has the shape {theta.shape}, var_ {var.shape}.")
        return theta, np.sqrt(0.5 / var), -0.5 * np.log(2 * np.pi * var)

    def _score(self, X: Any, theta: Any, root: Any, peak: Any) -> np.ndarray:
        """log P(c) + Σ_j log N(x_j; μ_cj, σ²_cj); root is 1 / √(2σ²), peak the log-density at the mean."""
        X = np.ascontiguousarray(X)
        out = np.empty((X.shape[0], theta.shape[0]))
        with np.errstate(over="ignore"):  # too far from the mean for a number is -inf
            log_densities(read_only(X), theta, root, peak, out)
            add_to_rows(out, kernel_form(self.class_log_prior_))
            return out.astype(X.dtype, copy=False)


def class_moments(
    X: np.ndarray, y: np.ndarray, weight: Any, n_classes: int, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weight, mean and scatter of the known values by class, in two passes: centred on the first row, then on the
    means, to avoid cancellation."""
    centre = np.tile(np.nan_to_num(first_rows(X, 1).astype(np.float64)), (n_classes, 1))
    chunks = class_chunks(n_classes, X, y, weight)
    for _ in range(2):
        known, first, second = total(_sums, chunks, centre, n_jobs=n_jobs)
        away = np.divide(first, known, out=np.zeros_like(first), where=known > 0)
        centre = centre + away
    return known, centre, np.maximum(second - first * away, 0.0)


def _sums(chunk: Any, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, weight = chunk
    sums = np.zeros((3, *centre.shape))
    weight = np.ones(y.size) if weight is None else weight.astype(np.float64)
    add_moments(read_only(np.ascontiguousarray(X)), y, weight, centre, sums)
    return sums[0], sums[1], sums[2]


@kernel
def add_moments(X, y, weight, centre, sums):
    """Weights, deviations from the class's centre and their squares, summed by class; NaN adds nothing."""
    for i in range(y.size):
        c, w, x = y[i], weight[i], X[i]
        m, known, first, second = centre[c], sums[0, c], sums[1, c], sums[2, c]
        for j in range(x.size):
            t = x[j] - m[j]
            if t == t:
                known[j] += w
                first[j] += w * t
                second[j] += w * t * t


@kernel
def log_densities(X, theta, root, peak, out):
    """Σ_j log N(x_j; θ_cj, σ²_cj) for each row and class, over the features that are known."""
    for i in range(out.shape[0]):
        x = X[i]
        for c in range(out.shape[1]):
            m, r, top = theta[c], root[c], peak[c]
            found = 0.0
            for j in range(x.size):
                z = (x[j] - m[j]) * r[j]
                v = top[j] - z * z
                found += v if v == v else 0.0
            out[i, c] = found

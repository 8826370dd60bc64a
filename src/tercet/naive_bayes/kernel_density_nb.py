"""Naive Bayes with kernel densities (核密度朴素贝叶斯): numbers of any distribution."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Each, Floats, Sizes
from tercet.core.kernel import inner, kernel
from tercet.core.parameters import ArrayLike, Jobs, Positive
from tercet.core.rows import kernel_form
from tercet.core.scaling import LARGE, largest
from tercet.core.stopping import check_stop
from tercet.naive_bayes.base import BayesClassifier, as_numbers, check_priors, log

GAUSSIAN, EPANECHNIKOV, UNIFORM = 0, 1, 2
KERNELS = {"gaussian": GAUSSIAN, "epanechnikov": EPANECHNIKOV, "uniform": UNIFORM}
MAX_POINTS = 2048  # of a density: more are binned; more than a quarter of it are tabulated
BINS = 20  # per bandwidth
KNOTS = 8  # of the table per bandwidth
MAX_KNOTS = 1 << 14  # outside the table the density is summed
WIDTHS = 1e-140, 1e140  # smallest and largest bandwidth
MAX_WIDTHS = 1e150  # bandwidths from zero: the square is in the log-density
MAX_GAP = 1.5  # bandwidths to the nearest point, beyond which the table is not used
NEGLIGIBLE = 75.0  # a term whose exponent is so far below the greatest adds nothing


@method(
    zh="核密度朴素贝叶斯",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ P(c) Π_j f_cj(x_j), f_cj(x) = Σ_i w_i K((x - x_ij) / h_cj) / (h_cj Σ_i w_i)",
    strategy="maximum posterior probability, each density a sum of kernels",
    algorithms="sums over the points nearby; tables where there are many",
    texts=["watermelon notes ch. 5, sec. 5.3"],
    peers=["weka.classifiers.bayes.NaiveBayes -K"],
)
class KernelDensityNB(BayesClassifier):
    """Naive Bayes for numbers of any distribution: a kernel density for each column and class.

    Where a density has more than 512 points, the Gaussian kernel's log-density is interpolated between knots an
    eighth of the bandwidth apart, and more than 2048 points are gathered in cells of a twentieth of it (but for the
    uniform kernel): the error is about 1e-4. What is missing (NaN) is left out; a class without a known value in a
    column takes the density of all classes.

    Parameters
    ----------
    bandwidth : {"silverman", "scott"}, float or array of shape (n_features,), default="silverman"
        The width h: 0.9 min(σ, IQR / 1.34) n^(-1/5), or 1.06 σ n^(-1/5), of each column in each class; or as given.
    kernel : {"gaussian", "epanechnikov", "uniform"}, default="gaussian"
        The shape K of what every point adds. The last two end at the bandwidth: beyond it a class is impossible.
    priors : array of shape (n_classes,), optional
        Prior probabilities; by default the shares of the classes.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    bandwidth_ : array of shape (n_classes, n_features)
        The widths in use.
    points_ : list of arrays
        The points of each density, in order; those of class c and column j are at place c * n_features + j.
    masses_ : list of arrays
        Their weights, which add up to 1.
    class_prior_ : array of shape (n_classes,)
        The prior probabilities.
    class_log_prior_ : array of shape (n_classes,)
        Logarithms of the prior probabilities.

    Examples
    --------
    >>> X = [[-2.1], [-1.9], [2.0], [2.1], [0.1], [-0.1], [0.2]]
    >>> KernelDensityNB().fit(X, [0, 0, 0, 0, 1, 1, 1]).predict([[-2.0], [0.0], [1.9]])
    array([0, 1, 0])
    """

    sparse_input = False
    missing_input = True
    streams_instead = "GaussianNB or CategoricalNB"
    largest_value = LARGE

    def __init__(
        self,
        *,
        bandwidth: Literal["silverman", "scott"] | Positive | list | tuple | np.ndarray = "silverman",
        kernel: Literal["gaussian", "epanechnikov", "uniform"] = "gaussian",
        priors: ArrayLike | None = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.priors = priors
        self.n_jobs = n_jobs

    points_: list[np.ndarray]
    masses_: list[np.ndarray]
    fitted_shapes = {
        "bandwidth_": Floats("classes features", finite=True, low=1e-300),
        "points_": Each(Floats("points*@", finite=True), "densities"),
        "masses_": Each(Floats("points*@", finite=True, low=0.0), "densities"),
    }

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        weight = np.ones(len(X)) if sample_weight is None else sample_weight.astype(np.float64)
        K, d = self.classes_.size, X.shape[1]
        counts, priors = np.bincount(y, weight, K), check_priors(self)
        self.class_prior_ = counts / counts.sum() if priors is None else priors
        self.class_log_prior_ = log(self.class_prior_)
        self.bandwidth_ = np.empty((K, d))
        self.points_, self.masses_ = [np.empty(0)] * (K * d), [np.empty(0)] * (K * d)
        given = None if isinstance(self.bandwidth, str) else self._check_bandwidth(d)
        by_class = np.argsort(y, kind="stable")
        ends = np.searchsorted(y[by_class], np.arange(1, K + 1))
        for j in range(d):
            x = X[by_class, j].astype(np.float64)
            mass_of = np.where(np.isnan(x), 0.0, weight[by_class])
            whole = distinct_points(x, mass_of)
            column_std = standard_deviation(*whole)
            for c in range(K):
                rows = slice(ends[c - 1] if c else 0, ends[c])
                points, mass = distinct_points(x[rows], mass_of[rows])
                if not points.size:  # no known value in this class: the density of all classes
                    points, mass = whole
                h = self._rule_of_thumb(points, mass, column_std) if given is None else given[j]
                self._check_distances(points, h, j)
                if self.kernel != "uniform":
                    points, mass = binned(points, mass, h)
                self.bandwidth_[c, j] = h
                self.points_[c * d + j], self.masses_[c * d + j] = points, mass / max(mass.sum(), 1e-300)

    def _check_fitted(self, sizes: Sizes) -> None:
        if "points_" not in vars(self):
            return
        if sizes["densities"] != sizes["classes"] * sizes["features"]:
            raise ValueError(
                f"KernelDensityNB: points_ is a list of {sizes['densities']}; expected is one for each class and "
                "feature."
            )

    def _check_bandwidth(self, d: int) -> np.ndarray:
        widths = as_numbers(self.bandwidth, "KernelDensityNB: bandwidth")
        if widths.shape not in ((), (d,)) or not (widths > 0).all() or not np.isfinite(widths).all():
            raise ValueError(
                f"KernelDensityNB: bandwidth must be a positive number, or one for each of {d} columns; "
                f"got {self.bandwidth!r}."
            )
        return np.broadcast_to(widths, d)

    def _check_distances(self, x: np.ndarray, h: float, j: int) -> None:
        """Refuse bandwidths whose squares, and values whose squares in units of them, are no numbers."""
        if not WIDTHS[0] <= h <= WIDTHS[1]:
            raise ValueError(
                f"KernelDensityNB: the bandwidth of column {j} is {h:.3g}; allowed is from {WIDTHS[0]:g} to "
                f"{WIDTHS[1]:g}. Scale the features."
            )
        if (far := largest(x[~np.isnan(x)])) > MAX_WIDTHS * h:
            raise ValueError(
                f"KernelDensityNB: the bandwidth of column {j}, {h:.3g}, is too small beside its values of size "
                f"{far:.3g}: at most {MAX_WIDTHS:g} bandwidths are allowed. Raise it, or scale the features."
            )

    def _rule_of_thumb(self, points: np.ndarray, mass: np.ndarray, column_std: float) -> float:
        """Silverman's or Scott's bandwidth; at least a thousandth of the column's standard deviation."""
        n = mass.sum()
        if n <= 0:
            return 1.0
        spread = sigma = standard_deviation(points, mass)
        if self.bandwidth == "silverman":
            reached = np.cumsum(mass) / n
            low, high = points[np.searchsorted(reached, [0.25 - 1e-12, 0.75 - 1e-12])]
            spread = min(sigma, (high - low) / 1.34) or sigma
        h = (0.9 if self.bandwidth == "silverman" else 1.06) * spread * n**-0.2
        return float(max(h, 1e-3 * column_std)) or float(max(1e-9, 1e-9 * np.abs(points).max(initial=0.0)))

    def _tables(self, X: np.ndarray) -> tuple[Any, ...]:
        K, d = self.classes_.size, self.n_features_in_
        good = len(self.points_) == len(self.masses_) == K * d and self.bandwidth_.shape == (K, d)
        if not good or any(len(p) != len(m) for p, m in zip(self.points_, self.masses_)):
            raise ValueError("KernelDensityNB: points_, masses_ and bandwidth_ do not fit together.")
        return ([self._density(k) for k in range(K * d)],)

    def _density(self, k: int) -> Density:
        h = float(self.bandwidth_.flat[k])
        points, mass = kernel_form(self.points_[k]), kernel_form(self.masses_[k])
        table = np.empty((0, 2))
        start = 0.0
        if self.kernel == "gaussian" and points.size > MAX_POINTS // 4:
            # The table covers so many bandwidths around the median.
            middle, half = points[np.searchsorted(np.cumsum(mass), 0.5)], MAX_KNOTS / KNOTS / 2 * h
            low = max(points[0] - 4 * h, middle - half)
            high = min(points[-1] + 4 * h, middle + half)
            start, size = low, int((high - low) / h * KNOTS) + 2
            table = np.empty((size, 2))
            tabulate(points, mass, h, start, h / KNOTS, table)
        return Density(points, mass, h, KERNELS[self.kernel], start, table)

    def _score(self, X: Any, densities: list[Density]) -> np.ndarray:
        """log P(c) + Σ_j log f_cj(x_j)."""
        K, d = self.classes_.size, X.shape[1]
        out = np.tile(self.class_log_prior_, (len(X), 1))
        for j in range(d):
            x = kernel_form(X[:, j])
            self._check_distances(x, float(self.bandwidth_[:, j].min()), j)
            for c in range(K):
                check_stop()
                points, mass, h, code, start, table = densities[c * d + j]
                if points.size and code == UNIFORM:
                    out[:, c] += uniform_log_density(x, points, mass, h)
                elif points.size:
                    add_log_density(x, points, mass, h, code, start, table, out, c)
        return out


class Density(NamedTuple):
    """A density of one column in one class; the table holds log f and its slope at knots from `start` on."""

    points: np.ndarray
    mass: np.ndarray
    width: float
    kernel: int
    start: float
    table: np.ndarray


def standard_deviation(points: np.ndarray, mass: np.ndarray) -> float:
    """The standard deviation of weighted points."""
    n = max(mass.sum(), 1e-300)
    return float(np.sqrt(mass @ (points - mass @ points / n) ** 2 / n))


def distinct_points(x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values in order, and the weight of each; those without weight are not there."""
    x, weight = x[weight > 0], weight[weight > 0]
    points, place = np.unique(x, return_inverse=True)
    return points, np.bincount(place, weight, points.size)


def binned(points: np.ndarray, mass: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Many points as the weighted means of bins that are narrow beside the bandwidth."""
    if points.size <= MAX_POINTS:
        return points, mass
    cell = np.floor((points - points[0]) * (BINS / h))
    first = np.flatnonzero(np.diff(cell, prepend=-1.0))
    together = np.add.reduceat(mass, first)
    return np.add.reduceat(mass * points, first) / together, together


def uniform_log_density(x: np.ndarray, points: np.ndarray, mass: np.ndarray, h: float) -> np.ndarray:
    """The logarithm of the share of the points within h of x, over 2h; 0 where x is not known."""
    reached = np.concatenate([[0.0], np.cumsum(mass)])
    first, last = np.searchsorted(points, x - h), np.searchsorted(points, x + h, side="right")
    return np.where(np.isnan(x), 0.0, log((reached[last] - reached[first]) / (2 * h)))


@inner
def log_density(x, points, mass, h):
    """log Σ m_i exp(-(x - p_i)² / 2h²) / (h √2π) and its slope, exact however far away x is."""
    n = points.size
    right = np.searchsorted(points, x)
    near = right if right < n and (right == 0 or points[right] - x < x - points[right - 1]) else right - 1
    centre = points[near]
    total, pull = 0.0, 0.0
    for side in range(2):
        for i in range(near, -1, -1) if side == 0 else range(near + 1, n):
            # ((x - p_i)² - (x - centre)²) / h²: far out the squares themselves have no digits to spare.
            beyond = (centre - points[i]) / h * ((x - points[i]) + (x - centre)) / h
            if beyond > 2 * NEGLIGIBLE:
                break
            term = mass[i] * np.exp(-0.5 * beyond)
            total += term
            pull -= term * (x - points[i]) / h
    least = (x - centre) / h
    return np.log(total) - 0.5 * least * least - np.log(h) - 0.9189385332046727, pull / total / h


@kernel
def tabulate(points, mass, h, start, step, table):
    """The log-density and its slope at equally spaced knots; NaN in the gaps between far points, where it bends."""
    n = points.size
    for k in range(table.shape[0]):
        x = start + k * step
        right = np.searchsorted(points, x)
        gap = min(x - points[right - 1] if right > 0 else np.inf, points[right] - x if right < n else np.inf)
        value, slope = log_density(x, points, mass, h)
        table[k, 0] = value if gap < MAX_GAP * h else np.nan
        table[k, 1] = slope


@kernel
def add_log_density(x, points, mass, h, code, start, table, out, c):
    """Add the log-density of every known value of a column to the scores of class c."""
    step = h / KNOTS
    for i in range(x.size):
        if np.isnan(x[i]):
            continue
        if code == GAUSSIAN:
            place = (x[i] - start) / step
            k = int(place) if 0.0 <= place < table.shape[0] - 1 else -1
            if k < 0 or np.isnan(table[k, 0] + table[k + 1, 0]):
                out[i, c] += log_density(x[i], points, mass, h)[0]
                continue
            # Hermite's cubic through the two knots around x, with their slopes.
            t = place - k
            a, b = table[k, 0], table[k + 1, 0]
            p, q = table[k, 1] * step, table[k + 1, 1] * step
            curve = (2 * a - 2 * b + p + q) * t + (3 * b - 3 * a - 2 * p - q)
            out[i, c] += ((curve * t) + p) * t + a
            continue
        total = 0.0
        for k in range(np.searchsorted(points, x[i] - h), points.size):
            z = (points[k] - x[i]) / h
            if z > 1.0:
                break
            total += mass[k] * 0.75 * (1 - z * z)
        out[i, c] += np.log(total / h) if total > 0 else -np.inf

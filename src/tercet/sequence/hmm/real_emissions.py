"""Emissions of rows of numbers: first means and covariances from a sample of the rows, and priors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from tercet.cluster import KMeans
from tercet.core.row_sums import gathered_rows
from tercet.core.streams import is_streamed
from tercet.distributions._gaussian.covariances import floored
from tercet.sequence.hmm.em import Emissions

MOST_ROWS = 20_000  # more than these do not make better first means
LEAST_PART = 1e-6  # of a feature's variance: the least that a Gaussian on a single value may have
ROUNDING = 1e-8  # of it: below this, rounding errors dominate a matrix
MOST = float(np.finfo(float).max)
SMALLEST = 1e-200  # a variance that may still be divided by; a feature with less is constant


@dataclass
class RealEmissions(Emissions):
    """Emissions of rows of numbers, where NaN is a value that was not observed."""

    initial_uses_labels: ClassVar[bool] = True

    sample: RowSample = field(init=False, repr=False)

    def prepare(self, rows: Any, states: Any, weight: Any, rng: np.random.Generator) -> None:
        self.sample = RowSample(rows, states, weight, rng)


class RowSample:
    """Training rows that first values are taken from: all that have a weight and a value, or a random sample of
    many.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The rows; NaN where a value is missing.
    states : array of shape (n_rows,), optional
        The states of the rows, -1 where unknown.
    weight : array of shape (n_rows,), optional
        How much each row counts.
    rng : numpy.random.Generator
        Draws the rows and the centres.
    """

    def __init__(self, X: Any, states: Any, weight: Any, rng: np.random.Generator) -> None:
        if is_streamed(X):  # without missing values, and all of them have a weight
            at = np.arange(min(len(X), MOST_ROWS))
            if len(X) > MOST_ROWS:
                at = np.sort(rng.choice(len(X), MOST_ROWS, replace=False))
            rows = gathered_rows(at, X)[0].astype(np.float64)
        else:
            at = np.arange(len(X)) if weight is None else np.flatnonzero(weight)
            if at.size > MOST_ROWS:
                at = np.sort(rng.choice(at, MOST_ROWS, replace=False))
            at = at[~np.isnan(X[at]).all(axis=1)]
            rows = np.asarray(X[at], dtype=np.float64)
        self.rng = rng
        self.weight = np.ones(at.size) if weight is None else np.asarray(weight[at], dtype=np.float64)
        self.states = np.full(at.size, -1) if states is None else states[at]
        seen = ~np.isnan(rows)
        mass = np.maximum(self.weight @ seen, np.finfo(float).tiny)
        self.mean = self.weight @ np.where(seen, rows, 0.0) / mass
        self.rows = np.where(seen, rows, self.mean)  # missing values are imputed by the mean
        self.variance = self.weight @ (self.rows - self.mean) ** 2 / mass

    def floor(self, least: float) -> np.ndarray:
        """The least variance of each feature: `least`, held between 1e-8 and 1e-6 of the feature's variance in the
        data, so that matrices can be inverted whatever the units."""
        low = np.clip(least, ROUNDING * self.variance, LEAST_PART * self.variance)
        return np.where(low > SMALLEST, low, least if least > SMALLEST else LEAST_PART)

    def covariance(self, least: float, centre: np.ndarray | None = None) -> np.ndarray:
        """The covariance of all rows about their mean, or each about its own centre, with `least` added to the
        variances, and not below the floor."""
        z = self.rows - (self.mean if centre is None else centre)
        covariance = (z * self.weight[:, None]).T @ z / max(self.weight.sum(), np.finfo(float).tiny)
        return floored(covariance + least * np.eye(len(self.mean)), "tied", self.floor(least))

    def means(self, n: int, owner: str) -> np.ndarray:
        """A mean for each of n states: of the rows that are known to belong to it, or a centre that k-means finds
        among the others."""
        means = np.empty((n, self.rows.shape[1]))
        labelled = np.unique(self.states[self.states >= 0])
        for k in labelled:
            means[k] = self._weighted_mean(self.states == k)
        rest = np.setdiff1d(np.arange(n), labelled)
        if rest.size:
            free = self.states < 0
            free = free if free.sum() >= rest.size else np.ones(len(free), dtype=bool)
            if free.sum() < rest.size:
                raise ValueError(
                    f"{owner}: n_components={n} states need as many rows to begin with; X has {len(self.rows)} "
                    "with a value in them."
                )
            means[rest] = self.centres(free, rest.size)
        return means

    def nearest(self, means: np.ndarray) -> np.ndarray:
        """The state of each row: the one that is known, or the one whose mean is nearest."""
        return np.where(self.states >= 0, self.states, cdist(self.rows, means).argmin(axis=1))

    def centres(self, chosen: np.ndarray, k: int) -> np.ndarray:
        """The centres of k clusters of chosen rows (some of them equal, where there are fewer different rows)."""
        if k == 1:
            return self._weighted_mean(chosen)[None]
        rows, weight = self.rows[chosen], self.weight[chosen]
        distinct = np.unique(rows, axis=0)
        if len(distinct) <= k:
            return distinct[np.arange(k) % len(distinct)]
        seed = int(self.rng.integers(2**31 - 1))
        return KMeans(k, n_init=10, random_state=seed).fit(rows, sample_weight=weight).cluster_centers_

    def _weighted_mean(self, chosen: np.ndarray) -> np.ndarray:
        return np.average(self.rows[chosen], axis=0, weights=self.weight[chosen])


def broadcast_prior(
    value: Any, shape: tuple[int, ...], owner: str, name: str, low: float = -np.inf
) -> np.ndarray:
    """A prior's parameter for each entry of `shape`: from a number, an array that NumPy would broadcast, or one
    with the first axes only (a value for each state, say)."""
    if isinstance(value, int | float) and max(low, -MOST) <= value <= MOST:
        return np.full(shape, float(value))
    array = np.asarray(value, dtype=np.float64)
    if array.ndim and array.shape == shape[: array.ndim] and array.shape != shape[-array.ndim :]:
        array = array.reshape(*array.shape, *[1] * (len(shape) - array.ndim))
    try:
        array = np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(
            f"{owner}: {name} must be a number or an array that fits the shape {shape}; "
            f"got an array of shape {np.shape(value)}."
        ) from None
    if not np.isfinite(array).all() or array.min(initial=np.inf) < low:
        also = "" if low == -np.inf else f" and not less than {low:g}"
        raise ValueError(f"{owner}: {name} must be finite{also}; got {value!r}.")
    return array


def broadcast_prior_matrices(value: Any, lead: tuple[int, ...], d: int, owner: str, name: str) -> np.ndarray:
    """The same for matrices. A number stands for a multiple of the identity: a matrix of equal entries would be
    singular, and pull all correlations towards one."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim < 2 or array.shape[-2:] != (d, d):
        return broadcast_prior(array, lead, owner, name)[..., None, None] * np.eye(d)
    return broadcast_prior(array, (*lead, d, d), owner, name)

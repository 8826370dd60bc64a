"""Means and covariances from moments, with or without a prior; and where to begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from tercet.cluster import KMeans
from tercet.sequence.hmm.covariances import Kind, lifted, long, pooled
from tercet.sequence.hmm.gaussians import Moments, raised, shifted

MOST_ROWS = 20_000  # more than these do not make better first means
LEAST_PART = 1e-6  # of a feature's variance: what is left to a Gaussian that sits on a single value
ROUNDING = 1e-8  # of it: below this, arithmetic blurs a matrix
SMALLEST = 1e-200  # a variance that may still be divided by; a feature with less is constant
NOTHING = 1e-100  # rows: a Gaussian that saw no more saw none (a quotient by it may overflow)


@dataclass
class Prior:
    """What is believed of K Gaussians beforehand, as if it had been seen.

    Each mean was seen `weight` times at `mean` ((K, d) both); each covariance, in the short form, has the scatter
    `scatter` of `mass` rows. So the log of the prior density of one Gaussian is, but for a constant,
    -½ [mass log|S| + tr S⁻¹ (scatter + weight (m - mean)(m - mean)ᵀ)].
    """

    mean: np.ndarray
    weight: np.ndarray
    scatter: np.ndarray
    mass: np.ndarray

    def log_density(self, means: np.ndarray, covars: np.ndarray, kind: Kind, lead: tuple[int, ...]) -> float:
        d = means.shape[1]
        away = np.sqrt(self.weight) * (means - self.mean)
        far = long(covars, kind, lead, d)
        if kind in ("spherical", "diag"):
            return -0.5 * float(
                (self.mass * np.log(covars) + self.scatter / covars).sum() + (away**2 / far).sum()
            )
        traces = np.linalg.solve(covars, np.broadcast_to(self.scatter, covars.shape))
        total = (self.mass[..., 0, 0] * np.linalg.slogdet(covars)[1]).sum()
        total += np.trace(traces, axis1=-2, axis2=-1).sum()
        return -0.5 * float(total + (away * np.linalg.solve(far, away[:, :, None])[:, :, 0]).sum())


def maximised(
    moments: Moments,
    means: np.ndarray,
    covars: np.ndarray,
    kind: Kind,
    lead: tuple[int, ...],
    prior: Prior,
    floor: np.ndarray,
    *,
    move: bool,
    scale: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """The most likely means (K, d), if they may `move`, and covariances (short), if they may `scale`, given moments
    about the present means. Gaussians that saw nothing stay as they are."""
    count, first, _ = moments
    d = means.shape[1]
    shift = np.zeros(means.shape)
    if move:
        mass = np.broadcast_to(prior.weight + count, shift.shape)
        np.divide(prior.weight * (prior.mean - means) + first, mass, out=shift, where=mass > NOTHING)
    if scale:
        away = np.sqrt(prior.weight) * (means + shift - prior.mean)
        scatter = shifted(moments, shift)
        scatter = scatter + (away**2 if scatter.ndim == 2 else away[:, :, None] * away[:, None, :])
        scatter, mass = pooled(scatter, count, kind, lead, d)
        scatter, mass = scatter + prior.scatter, np.broadcast_to(mass + prior.mass, covars.shape)
        covars = np.divide(scatter, mass, out=np.array(covars, dtype=np.float64), where=mass > NOTHING)
        covars = lifted(covars, kind, floor)
    return means + shift, covars


class Start:
    """Rows to begin with: all that count and know something, or a drawn part of them where they are many.

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
        self.suggested: dict[str, np.ndarray] = {}  # none where the caller's own values are the start
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
        self.rows = np.where(seen, rows, self.mean)  # a value that is not known stands at the mean
        self.variance = self.weight @ (self.rows - self.mean) ** 2 / mass

    def floor(self, least: float) -> np.ndarray:
        """The least variance of each feature: `least`, or a small part of the variance in the data where that is
        less (data may be measured in large units); enough for a matrix to be inverted in any case."""
        low = np.clip(least, ROUNDING * self.variance, LEAST_PART * self.variance)
        return np.where(low > SMALLEST, low, least if least > SMALLEST else LEAST_PART)

    def covariance(self, least: float, centre: np.ndarray | None = None) -> np.ndarray:
        """The covariance of all rows about their mean, or each about its own centre, with `least` added to the
        variances, and not below the floor."""
        z = self.rows - (self.mean if centre is None else centre)
        covariance = (z * self.weight[:, None]).T @ z / max(self.weight.sum(), np.finfo(float).tiny)
        return raised((covariance + least * np.eye(len(self.mean)))[None], self.floor(least))[0]

    def means(self, n: int, owner: str) -> np.ndarray:
        """A mean for each of n states: of the rows that are known to belong to it, or a centre that k-means finds
        among the others."""
        means = np.empty((n, self.rows.shape[1]))
        told = np.unique(self.states[self.states >= 0])
        for k in told:
            means[k] = self._mean(self.states == k)
        rest = np.setdiff1d(np.arange(n), told)
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
            return self._mean(chosen)[None]
        rows, weight = self.rows[chosen], self.weight[chosen]
        distinct = np.unique(rows, axis=0)
        if len(distinct) <= k:
            return distinct[np.arange(k) % len(distinct)]
        seed = int(self.rng.integers(2**31 - 1))
        return KMeans(k, n_init=10, random_state=seed).fit(rows, sample_weight=weight).cluster_centers_

    def _mean(self, chosen: np.ndarray) -> np.ndarray:
        return np.average(self.rows[chosen], axis=0, weights=self.weight[chosen])

"""Means and covariances of K Gaussians from weighted moments, under a conjugate prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tercet.distributions._gaussian.covariances import CovarianceType, expanded, floored, pooled
from tercet.distributions._gaussian.moments import Moments, moved

NO_ROWS = 1e-100  # a Gaussian of less weight has seen no rows (a quotient by it may overflow)


@dataclass
class GaussianPrior:
    """Conjugate prior of the means and covariances of K Gaussians, as rows that were seen before.

    Each mean was seen `weight` times at `mean` ((K, d) both); each covariance, in the compact form, has the scatter
    `scatter` of `mass` rows. So the log of the prior density of one Gaussian is, up to a constant,
    -½ [mass log|Σ| + tr Σ⁻¹ (scatter + weight (μ - mean)(μ - mean)ᵀ)].
    """

    mean: np.ndarray
    weight: np.ndarray
    scatter: np.ndarray
    mass: np.ndarray

    def log_density(
        self, means: np.ndarray, covariances: np.ndarray, kind: CovarianceType, lead: tuple[int, ...]
    ) -> float:
        d = means.shape[1]
        away = np.sqrt(self.weight) * (means - self.mean)
        each = expanded(covariances, kind, lead, d)
        if kind in ("spherical", "diag"):
            own = (self.mass * np.log(covariances) + self.scatter / covariances).sum()
            return -0.5 * float(own + (away**2 / each).sum())
        traces = np.linalg.solve(covariances, np.broadcast_to(self.scatter, covariances.shape))
        total = (self.mass[..., 0, 0] * np.linalg.slogdet(covariances)[1]).sum()
        total += np.trace(traces, axis1=-2, axis2=-1).sum()
        return -0.5 * float(total + (away * np.linalg.solve(each, away[:, :, None])[:, :, 0]).sum())


def maximise(
    moments: Moments,
    means: np.ndarray,
    covariances: np.ndarray,
    kind: CovarianceType,
    lead: tuple[int, ...],
    prior: GaussianPrior,
    floor: np.ndarray,
    *,
    learn_means: bool = True,
    learn_covariances: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """The M step: the most likely means (K, d) and compact covariances, given moments about the present means.

    No variance falls below the floor (d,). Gaussians that saw no rows stay as they are.
    """
    count, first, _ = moments
    d = means.shape[1]
    shift = np.zeros(means.shape)
    if learn_means:
        mass = np.broadcast_to(prior.weight + count, shift.shape)
        np.divide(prior.weight * (prior.mean - means) + first, mass, out=shift, where=mass > NO_ROWS)
    if learn_covariances:
        away = np.sqrt(prior.weight) * (means + shift - prior.mean)
        if kind in ("spherical", "diag"):
            scatter = np.maximum(moved(moments, shift, "diag")[2], 0.0) + away**2
        else:
            scatter = moved(moments, shift, "full")[2] + away[:, :, None] * away[:, None, :]
        scatter, mass = pooled(scatter, count, kind, lead, d)
        scatter, mass = scatter + prior.scatter, np.broadcast_to(mass + prior.mass, covariances.shape)
        old = np.array(covariances, dtype=np.float64)
        covariances = floored(np.divide(scatter, mass, out=old, where=mass > NO_ROWS), kind, floor)
    return means + shift, covariances

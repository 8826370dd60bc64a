"""The parameters of the Gaussian components of a mixture, with what the E step derives from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from tercet.distributions._gaussian.covariances import CovarianceType, expanded, matrices_of
from tercet.distributions._gaussian.precisions import (
    covariances_of,
    log_determinants,
    precisions_cholesky,
    precisions_of,
)

LOG_2PI = float(np.log(2 * np.pi))
MOST_ROUNDING = 1e-9  # error of a log-density up to which the table of features is used


@cache
def upper_triangle(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and factors of the entries of -½ xᵀPx = Σ_{a<=b} factor P_ab x_a x_b."""
    a, b = np.triu_indices(d)
    return a, b, np.where(a == b, -0.5, -1.0)


@dataclass
class GaussianParameters:
    """Weights (k,), means (k, d) and compact covariances of k Gaussians, and Cholesky factors of their precisions.

    `offsets` are added to the log-densities: the logarithms of the weights.

    Examples
    --------
    >>> theta = GaussianParameters.of_covariances(
    ...     "diag", np.array([0.5, 0.5]), np.array([[0.0], [3.0]]), np.array([[1.0], [4.0]])
    ... )
    >>> theta.precisions.tolist(), theta.centre.tolist(), theta.matrices.shape
    ([[1.0], [0.25]], [1.5], (2, 1, 1))
    """

    kind: CovarianceType
    offsets: np.ndarray
    means: np.ndarray
    cholesky: np.ndarray
    covariances: np.ndarray
    weights: np.ndarray

    @classmethod
    def of_covariances(
        cls, kind: CovarianceType, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray
    ) -> GaussianParameters:
        with np.errstate(divide="ignore"):
            offsets = np.log(weights)
        return cls(kind, offsets, means, precisions_cholesky(covariances, kind), covariances, weights)

    @classmethod
    def of_precisions(
        cls, kind: CovarianceType, weights: np.ndarray, means: np.ndarray, cholesky: np.ndarray
    ) -> GaussianParameters:
        """From Cholesky factors of the precisions."""
        with np.errstate(divide="ignore"):
            offsets = np.log(weights)
        return cls(kind, offsets, means, cholesky, covariances_of(cholesky, kind), weights)

    @cached_property
    def constants(self) -> np.ndarray:
        """The log-joint densities at the means."""
        d = self.means.shape[1]
        return self.offsets + log_determinants(self.cholesky, self.kind, d) - 0.5 * d * LOG_2PI

    @cached_property
    def centre(self) -> np.ndarray:
        """The mean of the mixture, about which the table of features is centred to avoid cancellation."""
        return self.weights @ self.means / self.weights.sum()

    @cached_property
    def matrices(self) -> np.ndarray:
        """The covariances as matrices, (k, d, d)."""
        k, d = self.means.shape
        return matrices_of(self.covariances, self.kind, (k,), d)

    @cached_property
    def variances(self) -> np.ndarray:
        """Variances (k, d) of "diag" and "spherical" covariances."""
        k, d = self.means.shape
        return expanded(self.covariances, self.kind, (k,), d)

    @cached_property
    def precisions(self) -> np.ndarray:
        """The precisions, in the compact form of the covariances."""
        return precisions_of(self.cholesky, self.kind)

    @cached_property
    def natural(self) -> np.ndarray:
        """Natural parameters (k, features): their product with a table of features is the log-joint densities."""
        k, d = self.means.shape
        precisions, m = self.precisions, self.means - self.centre
        if self.kind in ("full", "tied"):
            slope = (precisions @ m[:, :, None])[:, :, 0]
        else:
            slope = m * (precisions if self.kind == "diag" else precisions[:, None])
        parts = [(self.constants - 0.5 * (slope * m).sum(axis=1))[:, None], slope]
        if self.kind == "full":
            a, b, factors = upper_triangle(d)
            parts.append(precisions[:, a, b] * factors)
        elif self.kind != "tied":
            parts.append(-0.5 * precisions.reshape(k, -1))
        return np.concatenate(parts, axis=1)

    @cached_property
    def precision_diagonals(self) -> np.ndarray:
        """The diagonals of the precisions, (k, d) or what broadcasts to it."""
        precisions = self.precisions
        if self.kind in ("full", "tied"):
            return np.atleast_2d(np.diagonal(precisions, axis1=-2, axis2=-1))
        return precisions.reshape(len(precisions), -1)

    def loses_digits(self, reach: np.ndarray) -> bool:
        """Whether a table of features cancels too many digits for rows at distances up to `reach` (d,) from the
        centre."""
        with np.errstate(over="ignore"):
            far = np.maximum(reach, np.abs(self.means - self.centre)) ** 2
            rounding = (far * self.precision_diagonals).sum(axis=1) * np.finfo(np.float64).eps
        return bool(rounding.max() > MOST_ROUNDING)

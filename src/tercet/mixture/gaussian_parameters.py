"""The parameters of k Gaussians, with what the passes of EM derive from them, and prior beliefs about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tercet.mixture.covariances import (
    Kind,
    covariances_of,
    dense,
    log_determinants,
    precisions_cholesky,
    precisions_of,
)

LOG_2PI = float(np.log(2 * np.pi))
DIGITS = 1e-9  # what a log-density may lose to rounding before the differences to each mean are taken


@dataclass
class Gauss:
    """The parameters of k Gaussians, and what a pass needs of them.

    `offsets` are added to the log-densities: the logarithms of the weights.
    """

    kind: Kind
    offsets: np.ndarray
    means: np.ndarray
    cholesky: np.ndarray
    covariances: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, kind: Kind, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> Gauss:
        with np.errstate(divide="ignore"):
            offsets = np.log(weights)
        return cls(kind, offsets, means, precisions_cholesky(covariances, kind), covariances, weights)

    @classmethod
    def known(cls, kind: Kind, weights: np.ndarray, means: np.ndarray, cholesky: np.ndarray) -> Gauss:
        """From triangles of the precisions."""
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
        """Where the table of features has its origin: the mean of the mixture."""
        return self.weights @ self.means / self.weights.sum()

    @cached_property
    def matrices(self) -> np.ndarray:
        """The covariances as matrices, (k, d, d)."""
        return dense(self.covariances, self.kind, *self.means.shape)

    @cached_property
    def natural(self) -> np.ndarray:
        """The coefficients (k, features) that turn a table of features into log-joint densities."""
        k, d = self.means.shape
        precisions, m = precisions_of(self.cholesky, self.kind), self.means - self.centre
        if self.kind in ("full", "tied"):
            slope = (precisions @ m[:, :, None])[:, :, 0]
        else:
            slope = m * (precisions if self.kind == "diag" else precisions[:, None])
        parts = [(self.constants - 0.5 * (slope * m).sum(axis=1))[:, None], slope]
        if self.kind == "full":
            a, b = np.triu_indices(d)
            parts.append(precisions[:, a, b] * np.where(a == b, -0.5, -1.0))
        elif self.kind != "tied":
            parts.append(-0.5 * precisions.reshape(k, -1))
        return np.concatenate(parts, axis=1)

    @cached_property
    def sharpness(self) -> np.ndarray:
        """The diagonals of the precisions, (k, d) or what broadcasts to it."""
        precisions = precisions_of(self.cholesky, self.kind)
        if self.kind in ("full", "tied"):
            return np.atleast_2d(np.diagonal(precisions, axis1=-2, axis2=-1))
        return precisions.reshape(len(precisions), -1)

    def loses_digits(self, reach: np.ndarray) -> bool:
        """Whether the table of features is too coarse for rows that are so far from the centre, in each feature."""
        with np.errstate(over="ignore"):
            far = np.maximum(reach, np.abs(self.means - self.centre)) ** 2
        return bool(((far * self.sharpness).sum(axis=1) * np.finfo(np.float64).eps).max() > DIGITS)


@dataclass
class Prior:
    """What is believed of the components before any row is seen, in the form of rows that were seen already.

    `rows` for each component's weight (a Dirichlet distribution), and `count` rows with the given `covariance`
    for each covariance (an inverse Wishart distribution whose mode it is).
    """

    rows: float = 0.0
    count: float = 0.0
    covariance: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def shaped(self, kind: Kind) -> Any:
        """The believed covariance in the shape of one component's."""
        if kind in ("full", "tied"):
            return self.covariance
        return (
            np.diagonal(self.covariance)
            if kind == "diag"
            else np.trace(self.covariance) / len(self.covariance)
        )

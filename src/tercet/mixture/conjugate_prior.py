"""Conjugate prior of a Gaussian mixture's parameters, and their posterior given responsibilities.

The conjugate prior of a mixture's parameters is a Dirichlet distribution (or a Dirichlet process, as sticks broken
off one after the other) of the weights, and for each component a Gaussian-Wishart distribution:

    π ~ Dir(α₀)  or  π_k = v_k Π_{j<k} (1 - v_j), v_k ~ Beta(1, α₀)
    Λ_k ~ W(ν₀, B₀⁻¹),   μ_k | Λ_k ~ N(m₀, (β₀ Λ_k)⁻¹)

With the expected counts n_k, means x_k and covariances S_k of the components, the posterior has the same form.
`covariances` are B_k / ν_k, so that the inverse is the expected precision."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaln, digamma, gammaln

from tercet.distributions._gaussian.covariances import CovarianceType


@dataclass(frozen=True)
class ConjugatePrior:
    """The distribution of the parameters before any row was seen."""

    covariance_type: CovarianceType
    n_components: int
    process: bool  # sticks, not a Dirichlet distribution
    concentration: float
    mean_precision: float
    mean: np.ndarray
    degrees: float
    covariance: Any  # B₀, of the shape that a component's covariance has
    exact: bool = False

    @property
    def n_features(self) -> int:
        return self.mean.size

    def posterior(self, mass: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> dict[str, Any]:
        """The parameters of the posterior, without its factors of the precisions."""
        k, beta0 = self.n_components, self.mean_precision
        if self.process:
            later = np.append(np.cumsum(mass[:0:-1])[::-1], 0.0)  # the mass of all components after each
            concentration: Any = (1.0 + mass, self.concentration + later)
        else:
            concentration = self.concentration + mass
        beta = beta0 + mass
        means = (beta0 * self.mean + mass[:, None] * mean) / beta[:, None]
        away, pull = mean - self.mean, mass * beta0 / beta
        if self.covariance_type == "full":
            degrees: Any = self.degrees + mass
            scatter = (
                mass[:, None, None] * covariance + pull[:, None, None] * away[:, :, None] * away[:, None, :]
            )
            covariances = (self.covariance + scatter) / degrees[:, None, None]
        elif self.covariance_type == "tied":  # the prior is that of k components, whose rows are pooled
            degrees = self.degrees + mass.sum() / k
            scatter = covariance * mass.sum() + (pull * away.T) @ away
            covariances = (self.covariance + scatter / k) / degrees
        elif self.covariance_type == "diag":
            degrees = self.degrees + mass
            scatter = mass[:, None] * covariance + pull[:, None] * away**2
            covariances = (self.covariance + scatter) / degrees[:, None]
        else:
            degrees = self.degrees + mass
            covariances = (self.covariance + mass * covariance + pull * (away**2).mean(axis=1)) / degrees
        return {
            "weight_concentration_": concentration,
            "mean_precision_": beta,
            "means_": means,
            "degrees_of_freedom_": degrees,
            "covariances_": covariances,
        }

    def weights(self, concentration: Any) -> np.ndarray:
        """The expected weights of the components."""
        if not self.process:
            return concentration / concentration.sum()
        first, second = concentration
        broken = first / (first + second)
        weights = broken * np.append(1.0, np.cumprod(1.0 - broken[:-1]))
        return weights / weights.sum()

    def log_weights(self, concentration: Any) -> np.ndarray:
        """E[ln π_k]."""
        if not self.process:
            return digamma(concentration) - digamma(concentration.sum())
        first, second = concentration
        whole = digamma(first + second)
        return digamma(first) - whole + np.append(0.0, np.cumsum(digamma(second) - whole)[:-1])

    def log_offsets(self, theta: dict[str, Any]) -> np.ndarray:
        """What E[ln π_k N(x; μ_k, Λ_k)] has beyond ln N(x) at the means and covariances of `theta`.

        It is E[ln π_k] + (E[ln |Λ_k|] - ln |E[Λ_k]|) / 2 - D / (2 β_k), whatever part of x is known: the density
        of the known part is that of the same Gaussian, and the rest integrates to one.
        """
        d = self.n_features
        arguments, scale, _ = self._gammas(theta["degrees_of_freedom_"])
        log_precision = digamma(arguments).sum(axis=0) * (d / len(arguments)) - d * np.log(scale / 2)
        return self.log_weights(theta["weight_concentration_"]) + 0.5 * (
            log_precision - d / theta["mean_precision_"]
        )

    def log_normaliser(self, theta: dict[str, Any], log_det: Any, exact: bool) -> float:
        """ln ∫ prior(θ) Π p(row | θ)^(its share) dθ, but for constants: what the posterior must be divided by.

        `log_det` is ln |E[Λ_k]|. The entropy of the shares added to it makes the lower bound of the evidence.
        """
        precisions = self._log_wishart(theta["degrees_of_freedom_"], log_det, exact).sum()
        if self.covariance_type == "tied" and not exact:
            precisions *= self.n_components
        concentration = theta["weight_concentration_"]
        if self.process:
            weights = betaln(*concentration).sum()
        else:
            weights = gammaln(concentration).sum() - gammaln(concentration.sum())
        return float(precisions + weights - 0.5 * self.n_features * np.log(theta["mean_precision_"]).sum())

    def log_constants(self, mass: float) -> float:
        """What `log_normaliser` leaves out of exact bounds; `mass` is that of all rows."""
        k, d, alpha, kind = self.n_components, self.n_features, self.concentration, self.covariance_type
        if kind in ("full", "tied"):
            log_det = float(np.linalg.slogdet(self.covariance)[1])
        else:
            log_det = float(np.log(self.covariance).sum()) * (d if kind == "spherical" else 1)
        one = self._log_wishart(self.degrees, d * math.log(self.degrees) - log_det, exact=True)
        precisions = float(one[0]) * (1 if kind == "tied" else k)
        if self.process:
            weights = k * float(betaln(1.0, alpha))
        else:
            weights = k * math.lgamma(alpha) - math.lgamma(k * alpha)
        scale = k * math.log(self.mean_precision) - mass * math.log(2 * math.pi)
        return 0.5 * d * scale - precisions - weights

    def _log_wishart(self, degrees: Any, log_det: Any, exact: bool) -> np.ndarray:
        """The logarithm of what the distribution of a precision is divided by; `log_det` is ln |E[Λ]|."""
        arguments, scale, exponent = self._gammas(degrees, exact)
        power = 0.5 * exponent * (log_det - self.n_features * np.log(scale / 2))
        return power + gammaln(arguments).sum(axis=0)

    def _gammas(self, degrees: Any, exact: bool | None = None) -> tuple[np.ndarray, Any, Any]:
        """Where the gamma functions of a precision's distribution are taken, its scale and its exponent.

        A full precision is Wishart. A diagonal one is a product of D gamma distributions, a spherical one is a
        gamma distribution with D times the degrees, and a tied one is Wishart with those of all components. But
        the custom is to go on as with the first (unless `exact`); a bound that never falls comes out, but it is
        not one of the evidence.
        """
        d, kind = self.n_features, self.covariance_type
        degrees = np.atleast_1d(degrees)
        if kind == "full" or not (self.exact if exact is None else exact):
            return 0.5 * (degrees - np.arange(d)[:, None]), degrees, degrees
        if kind == "diag":
            return np.tile(0.5 * degrees, (d, 1)), degrees, degrees
        if kind == "spherical":
            return 0.5 * d * degrees[None, :], d * degrees, degrees
        pooled = self.n_components * degrees
        return 0.5 * (pooled - np.arange(d)[:, None]), pooled, pooled

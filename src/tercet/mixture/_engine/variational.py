"""Gaussian components with a posterior of their parameters: the steps of variational inference, and the ELBO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.distributions._gaussian.precisions import log_determinants, precisions_cholesky, precisions_of
from tercet.mixture._engine.gaussian_components import GaussianComponents
from tercet.mixture._engine.gaussian_parameters import GaussianParameters
from tercet.mixture.conjugate_prior import ConjugatePrior


@dataclass
class VariationalPosterior(GaussianParameters):
    """A posterior of the parameters: for the rows it acts as Gaussians with offsets other than log-weights."""

    terms: dict[str, Any]  # as in `ConjugatePrior.posterior`
    counts: np.ndarray  # expected rows of the components
    bound: float = -np.inf  # the objective
    elbo: float = -np.inf  # the lower bound of ln p(X)

    @property
    def n_active(self) -> int:
        return int((self.counts > 1).sum())


class VariationalComponents(GaussianComponents):
    """q(z) from q(π, μ, Λ) (`expect`), and q(π, μ, Λ) from the moments under q(z) (`maximise`)."""

    def __init__(self, prior: ConjugatePrior, reg_covar: float) -> None:
        super().__init__(prior.covariance_type, prior.n_components, prior.n_features, reg_covar=reg_covar)
        self.conjugate = prior
        self.monotone = False  # the bound is measured after the second step, and not always exact

    def maximise(self, statistics: tuple[Any, ...], theta: Any) -> VariationalPosterior:
        return self.posterior_parameters(
            self.conjugate.posterior(*self.estimates(statistics, theta)), statistics[0]
        )

    def posterior_parameters(
        self, terms: dict[str, Any], counts: np.ndarray, cholesky: np.ndarray | None = None
    ) -> VariationalPosterior:
        """The terms of a posterior with what the rows see of it: expected log-weights and precisions."""
        if cholesky is None:
            cholesky = precisions_cholesky(terms["covariances_"], self.kind)
        offsets = self.conjugate.log_offsets(terms)
        if self.conjugate.exact:  # reg_covar is noise of the values: E[(x - μ)ᵀ Λ (x - μ)] has it too
            offsets = offsets - 0.5 * self.reg_covar * self._traces(precisions_of(cholesky, self.kind))
        weights = self.conjugate.weights(terms["weight_concentration_"])
        return VariationalPosterior(
            self.kind, offsets, terms["means_"], cholesky, terms["covariances_"], weights, terms, counts
        )

    def measures(
        self,
        log_likelihood: float,
        statistics: tuple[Any, ...],
        theta: VariationalPosterior,
        following: VariationalPosterior,
        mass: float,
    ) -> dict[str, float]:
        """The lower bounds after both steps, which `following` keeps.

        The entropy of q(z) (and of the missing values) is what the log-normalisers of the rows have beyond the
        expected log-densities, which the statistics tell. After `maximise`, all else is a normaliser.
        """
        counts, _, products = statistics
        squares = precisions_of(theta.cholesky, self.kind) * products
        trace = squares.sum() * (self.d if self.kind == "spherical" else 1)
        entropy = float(log_likelihood - counts @ theta.constants + 0.5 * trace)
        prior, log_det = self.conjugate, 2 * log_determinants(following.cholesky, self.kind, self.d)
        constants = prior.log_constants(float(counts.sum()))
        following.elbo = entropy + prior.log_normaliser(following.terms, log_det, exact=True) + constants
        following.bound = following.elbo
        if not prior.exact:
            following.bound = entropy + prior.log_normaliser(following.terms, log_det, exact=False)
        return {"lower_bound": following.bound, "elbo": following.elbo, "active": following.n_active}

    def _traces(self, precisions: np.ndarray) -> np.ndarray:
        if self.kind == "spherical":
            return self.d * precisions
        return precisions.sum(axis=1) if self.kind == "diag" else np.trace(precisions, axis1=-2, axis2=-1)

"""Gaussian components whose parameters have a distribution: the steps of variational inference, and its bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.mixture.bayesian_posterior import ConjugatePrior
from tercet.mixture.covariances import log_determinants, precisions_cholesky, precisions_of
from tercet.mixture.gaussians import Gauss, Gaussians


@dataclass
class Belief(Gauss):
    """A posterior of the parameters: for the rows it acts as Gaussians with offsets other than log-weights."""

    terms: dict[str, Any]  # as in `ConjugatePrior.posterior`
    counts: np.ndarray  # the rows that the components own
    bound: float = -np.inf  # what is climbed
    elbo: float = -np.inf  # the lower bound of ln p(X)

    @property
    def n_active(self) -> int:
        return int((self.counts > 1).sum())


class Variational(Gaussians):
    """Rows are shared out under a belief (`expect`); the shares make a new belief (`maximise`)."""

    def __init__(self, prior: ConjugatePrior, reg_covar: float) -> None:
        super().__init__(prior.covariance_type, prior.n_components, prior.n_features, reg_covar=reg_covar)
        self.conjugate = prior

    def maximise(self, statistics: tuple[Any, ...], theta: Any) -> Belief:
        return self.belief(self.conjugate.posterior(*self.moments(statistics, theta)), statistics[0])

    def belief(self, terms: dict[str, Any], counts: np.ndarray, cholesky: np.ndarray | None = None) -> Belief:
        """What a posterior means for rows."""
        if cholesky is None:
            cholesky = precisions_cholesky(terms["covariances_"], self.kind)
        offsets = self.conjugate.log_offsets(terms)
        if (
            self.conjugate.exact
        ):  # what is added to the variances is noise of the values: E[(x - μ)ᵀ Λ (x - μ)] has it too
            offsets = offsets - 0.5 * self.reg_covar * self._traces(precisions_of(cholesky, self.kind))
        weights = self.conjugate.weights(terms["weight_concentration_"])
        return Belief(
            self.kind, offsets, terms["means_"], cholesky, terms["covariances_"], weights, terms, counts
        )

    def measure(self, likelihood: float, statistics: tuple[Any, ...], before: Belief, after: Belief) -> None:
        """Set the bounds of a belief that came of sharing out rows under another.

        The entropy of the shares (and of the missing values) is what the log-normalisers of the rows have beyond
        the expected log-densities, which the statistics tell. With `maximise` done, all else is a normaliser.
        """
        counts, _, products = statistics
        squares = precisions_of(before.cholesky, self.kind) * products
        trace = squares.sum() * (self.d if self.kind == "spherical" else 1)
        entropy = float(likelihood - counts @ before.constants + 0.5 * trace)
        prior, log_det = self.conjugate, 2 * log_determinants(after.cholesky, self.kind, self.d)
        constants = prior.log_constants(float(counts.sum()))
        after.elbo = entropy + prior.log_normaliser(after.terms, log_det, exact=True) + constants
        after.bound = after.elbo
        if not prior.exact:
            after.bound = entropy + prior.log_normaliser(after.terms, log_det, exact=False)

    def _traces(self, precisions: np.ndarray) -> np.ndarray:
        if self.kind == "spherical":
            return self.d * precisions
        return precisions.sum(axis=1) if self.kind == "diag" else np.trace(precisions, axis1=-2, axis2=-1)

"""Counts whose probabilities are random themselves: predictive distributions of conjugate priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from tercet.core.catalog import method
from tercet.distributions.base import (
    Distribution,
    Size,
    check_positive,
    table_cdf,
    table_quantile,
    vector_observations,
)
from tercet.distributions.multivariate import NO_ORDER, Dirichlet, counts_cdf


@method(
    zh="狄利克雷-多项分布",
    task="distribution",
    model="P(x) = n!/Πx_k! B(α + x) / B(α): x ~ Mult(n, θ), θ ~ Dir(α)",
    strategy="Bayes: after counts m, the same with α + m",
    texts=["Li ch. 20", "Machine Learning in Depth ch. 5, eq. 5.16"],
    peers=["scipy.stats.dirichlet_multinomial"],
)
@dataclass(frozen=True, eq=False)
class DirichletMultinomial(Distribution):
    """Counts of K outcomes in n trials, whose probabilities have a Dirichlet distribution.

    The predictive distribution of new counts: ``DirichletMultinomial(prior.posterior(counts).alpha, n)``.

    Examples
    --------
    >>> DirichletMultinomial([1, 1], trials=2).pdf([[2, 0], [1, 1], [0, 2]]).round(6)
    array([0.333333, 0.333333, 0.333333])
    """

    alpha: ArrayLike
    trials: int = 1
    _axes = 1
    _undefined = {
        "quantile": NO_ORDER.format(
            instead="the count of outcome k is BetaBinomial(alpha[k], the others' sum)"
        )
    }

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", Dirichlet(self.alpha)._alpha)
        _check_trials(self.trials)

    @property
    def prior(self) -> Dirichlet:
        """The distribution of the probabilities."""
        return Dirichlet(self.alpha)

    @property
    def mean(self) -> np.ndarray:
        return self.trials * self.prior.mean

    @property
    def var(self) -> np.ndarray:
        return np.diag(self.covariance).copy()

    @property
    def covariance(self) -> np.ndarray:
        total = float(np.sum(self.alpha))
        return self.trials * (total + self.trials) * self.prior.covariance

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        x = vector_observations(x, np.size(self.alpha))
        whole = np.all((x >= 0) & (np.floor(x) == x), axis=-1)
        valid = whole & (np.where(whole[..., None], x, 0.0).sum(axis=-1) == self.trials)
        counts = np.where(valid[..., None], x, 0.0)
        ways = gammaln(self.trials + 1.0) - gammaln(counts + 1.0).sum(axis=-1)
        return np.where(valid, ways + self.prior.log_evidence(counts), -np.inf)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        # the counts are those of independent negative binomial variables, given their sum
        alpha, count = np.asarray(self.alpha)[:, None], np.arange(self.trials + 1.0)
        share = self.trials / (self.trials + alpha.sum())
        logs = gammaln(alpha + count) - gammaln(alpha) - gammaln(count + 1.0) + count * np.log(share)
        return counts_cdf(np.exp(logs + alpha * np.log1p(-share)), x)

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return rng.multinomial(self.trials, self.prior.sample(size, rng))


@method(
    zh="贝塔-二项分布",
    task="distribution",
    model="P(x) = C(n, x) B(a + x, b + n - x) / B(a, b): x ~ Bin(n, θ), θ ~ Beta(a, b)",
    strategy="Bayes: after m_1 ones and m_2 zeros, the same with a + m_1, b + m_2",
    texts=["Machine Learning in Depth ch. 5, eq. 5.15"],
    peers=["scipy.stats.betabinom"],
)
@dataclass(frozen=True, eq=False)
class BetaBinomial(Distribution):
    """Successes in n trials, whose probability has a Beta distribution.

    Examples
    --------
    >>> BetaBinomial(1, 1, trials=2).pdf([0, 1, 2, 3]).round(6)
    array([0.333333, 0.333333, 0.333333, 0.      ])
    """

    a: float = 1.0
    b: float = 1.0
    trials: int = 1

    def __post_init__(self) -> None:
        check_positive("a", self.a)
        check_positive("b", self.b)
        _check_trials(self.trials)

    @property
    def _pair(self) -> DirichletMultinomial:
        return DirichletMultinomial([self.a, self.b], self.trials)

    @property
    def mean(self) -> float:
        return float(self._pair.mean[0])

    @property
    def var(self) -> float:
        return float(self._pair.var[0])

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        x = np.where(np.isfinite(x), x, -1.0)
        return self._pair.logpdf(np.stack([x, self.trials - x], axis=-1))

    @property
    def _mass(self) -> np.ndarray:
        return self.pdf(np.arange(self.trials + 1.0))

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return table_cdf(self._mass, x)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return table_quantile(self._mass, p)

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return rng.binomial(self.trials, rng.beta(self.a, self.b, size))


def _check_trials(trials: Any) -> None:
    if trials < 1 or trials != int(trials):
        raise ValueError(f"trials must be a whole number, at least 1, got {trials!r}")

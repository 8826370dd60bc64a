"""Parameter estimation: maximum likelihood, maximum a posteriori, Bayes (Li ch. 1.2.4, exercise 1.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import betaln

from tercet.core.catalog import method
from tercet.core.functions import log_sum_exp
from tercet.distributions.base import Distribution, Size, table_cdf, table_quantile
from tercet.distributions.two_parameter import Beta


@dataclass(frozen=True, eq=False)
class GridPosterior(Distribution):
    """P(theta | data) over finitely many parameter values (Li eq. 1.3). Made by :func:`posterior`.

    ``quantile`` gives the ends of a credible interval where theta is a number.

    Attributes
    ----------
    theta : ndarray
        The parameter values, along the first axis.
    probability : ndarray
        Their posterior probabilities.
    log_evidence : float
        log P(data).
    log_likelihood : ndarray
        log P(data | theta) of each value.

    Examples
    --------
    >>> from tercet.distributions import Bernoulli
    >>> p = posterior([0.25, 0.75], [1, 1], lambda x, t: Bernoulli(t).log_likelihood(x), [1])
    >>> p.probability, p.mode, round(np.exp(p.log_evidence), 6)
    (array([0.25, 0.75]), np.float64(0.75), np.float64(0.5))
    """

    theta: np.ndarray
    probability: np.ndarray
    log_evidence: float
    log_likelihood: np.ndarray

    @property
    def mode(self) -> Any:
        """Maximum a posteriori estimate; the first of equals."""
        return self.theta[np.argmax(self.probability)]

    @property
    def mle(self) -> Any:
        """Maximum likelihood estimate; the first of equals."""
        return self.theta[np.argmax(self.log_likelihood)]

    @property
    def mean(self) -> Any:
        """Posterior mean of theta."""
        return self.expect(lambda theta: theta)

    @property
    def var(self) -> Any:
        """Posterior variance of theta."""
        return self.expect(lambda theta: (theta - self.mean) ** 2)

    def _check_defined(self, name: str) -> None:
        if self.theta.ndim > 1:
            raise NotImplementedError(f"GridPosterior.{name} is not defined: vectors theta have no order.")

    def _missing(self, x: np.ndarray) -> np.ndarray:
        return np.isnan(x).any(axis=tuple(range(1 - self.theta.ndim, 0)))

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        inner = self.theta.shape[1:]
        if x.shape[x.ndim - len(inner) :] != inner:
            raise ValueError(f"x must be values of theta, of shape {inner}, got an array of shape {x.shape}")
        axes = tuple(range(1, self.theta.ndim))
        same = [(self.theta == point).all(axis=axes) for point in x.reshape(-1, *inner)]
        mass = np.array([self.probability[equal].sum() for equal in same])
        with np.errstate(divide="ignore"):
            return np.log(mass).reshape(x.shape[: x.ndim - len(inner)])

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        order = np.argsort(self.theta)
        return table_cdf(self.probability[order], np.searchsorted(self.theta[order], x, side="right") - 1.0)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        order = np.argsort(self.theta)
        return self.theta[order][table_quantile(self.probability[order], p)]

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return self.theta[rng.choice(len(self.theta), size, p=self.probability)]

    def expect(self, function: Callable[[Any], Any]) -> Any:
        """Posterior expectation of a function of theta."""
        return sum(p * np.asarray(function(theta)) for p, theta in zip(self.probability, self.theta))

    def predictive(self, density: Callable[[Any, Any], Any], x: Any) -> Any:
        """P(x | data) = sum over theta of P(x | theta) P(theta | data) (Li eq. 1.4)."""
        return self.expect(lambda theta: density(x, theta))


@method(
    zh="贝叶斯估计",
    task="distribution",
    model="P(θ | D) = P(θ) P(D | θ) / P(D)",
    strategy="the whole posterior, its mode (maximum a posteriori) or its mean",
    texts=[
        "Li ch. 1, eq. 1.3, 1.4",
        "Machine Learning in Depth ch. 1, 1.4.1",
        "watermelon notes ch. 5, eq. 5.1",
    ],
)
def posterior(
    theta: ArrayLike, prior: ArrayLike, log_likelihood: Callable[[Any, Any], float], data: Any
) -> GridPosterior:
    """Bayes' rule on a grid: P(theta | D) = P(theta) P(D | theta) / P(D).

    Parameters
    ----------
    theta : array-like
        Parameter values, along the first axis.
    prior : array-like
        Their probabilities, not negative; they are divided by their sum.
    log_likelihood : callable
        ``log_likelihood(data, theta)`` is log P(data | theta) of one parameter value.
    data : object
        Passed to ``log_likelihood``.

    Examples
    --------
    >>> from tercet.distributions import Bernoulli
    >>> p = posterior([0.2, 0.5], [1, 1], lambda x, t: Bernoulli(t).log_likelihood(x), [1, 0])
    >>> p.probability.round(6), p.mode
    (array([0.390244, 0.609756]), np.float64(0.5))
    """
    theta, prior = np.asarray(theta), np.asarray(prior, dtype=float)
    if prior.shape != theta.shape[:1] or not np.all(prior >= 0) or not 0 < prior.sum() < np.inf:
        raise ValueError(f"prior must be one number per theta, at least 0 and not all 0, got {prior!r}")
    likelihood = np.array([log_likelihood(data, value) for value in theta], dtype=float)
    with np.errstate(divide="ignore"):
        joint = np.log(prior / prior.sum()) + likelihood
    evidence = float(log_sum_exp(joint))
    if not np.isfinite(evidence):
        raise ValueError(f"data must be possible under some theta, got log evidence {evidence}")
    return GridPosterior(theta, np.exp(joint - evidence), evidence, likelihood)


@dataclass(frozen=True, eq=False)
class BernoulliEstimates:
    """What :func:`bernoulli_estimates` returns: ``mle``, ``map``, ``posterior``, ``mean``, ``log_evidence``.

    ``mean``, the posterior mean, is also the predictive P(next x = 1 | data) of Li eq. 1.4.

    Examples
    --------
    >>> e = bernoulli_estimates([1, 1])
    >>> e.mle, e.mean, e.posterior
    (1.0, 0.75, Beta(a=3.0, b=1.0))
    """

    mle: float
    map: float
    posterior: Beta
    log_evidence: float

    @property
    def mean(self) -> float:
        return self.posterior.mean


@method(
    zh="伯努利模型的极大似然估计与贝叶斯估计",
    task="distribution",
    model="P(x = 1) = θ",
    strategy="k/n by maximum likelihood; Beta(a + k, b + n - k) by Bayes",
    texts=["Li ch. 1, exercise 1.1", "Machine Learning in Depth ch. 5, eq. 5.15"],
)
def bernoulli_estimates(x: ArrayLike, prior: Beta | None = None) -> BernoulliEstimates:
    """Probability of a 1 from n results, k of them 1: maximum likelihood, maximum a posteriori, Bayes.

    Maximum likelihood gives k / n; with a Beta(a, b) prior (uniform by default) the posterior is
    Beta(a + k, b + n - k). With a uniform prior the MAP estimate is the maximum likelihood estimate.

    Examples
    --------
    >>> e = bernoulli_estimates([1, 1, 0, 1], prior=Beta(2, 2))
    >>> e.mle, round(e.map, 6), e.mean
    (0.75, 0.666667, 0.625)
    """
    x, prior = np.asarray(x), Beta(1.0, 1.0) if prior is None else prior
    if x.size == 0 or not np.all(np.isin(x, (0, 1))):
        raise ValueError(f"x must hold 0s and 1s, at least one, got {x!r}")
    ones, zeros = float(np.sum(x == 1)), float(np.sum(x == 0))
    after = Beta(prior.a + ones, prior.b + zeros)
    evidence = float(betaln(after.a, after.b) - betaln(prior.a, prior.b))
    return BernoulliEstimates(ones / x.size, after.mode, after, evidence)


@method(
    zh="极大似然估计",
    task="distribution",
    model="P(D | θ), any smooth one",
    strategy="Σ log p(x_i | θ), and log p(θ) for maximum a posteriori",
    texts=[
        "Li ch. 1, fig. 1.6",
        "Machine Learning in Depth ch. 1, 1.4.1",
        "watermelon notes ch. 5, eq. 5.4, 5.5",
    ],
    peers=["scipy.stats.fit", "statsmodels GenericLikelihoodModel"],
)
def maximum_likelihood(
    log_likelihood: Callable[[np.ndarray], ArrayLike],
    start: ArrayLike,
    log_prior: Callable[[np.ndarray], ArrayLike] | None = None,
) -> np.ndarray:
    """Parameter that maximises a smooth log-likelihood, by a quasi-Newton search.

    Parameters
    ----------
    log_likelihood : callable
        ``log_likelihood(theta)`` gives log p of each observation, or their sum.
    start : array-like
        The start.
    log_prior : callable, optional
        ``log_prior(theta)``, added to the log-likelihood: the result is then the maximum a posteriori
        estimate (最大后验概率估计), and minus the log prior acts as a penalty.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 6.0])
    >>> maximum_likelihood(lambda m: -0.5 * (x - m) ** 2, start=[0.0]).round(4)
    array([3.])
    """

    def cost(theta: np.ndarray) -> float:
        log_posterior = np.sum(log_likelihood(theta))
        if log_prior is not None:
            log_posterior = log_posterior + np.sum(log_prior(theta))
        return -float(log_posterior)

    result = minimize(cost, np.atleast_1d(np.asarray(start, dtype=float)), method="BFGS")
    if not np.all(np.isfinite(result.x)) or not np.isfinite(result.fun):
        raise ValueError(
            f"log_likelihood must be finite where the search goes, got {-result.fun} at {result.x}"
        )
    return result.x


@method(
    zh="最小二乘的概率解释",
    task="distribution",
    model="y = f(x) + ε, ε ~ N(0, σ²)",
    strategy="maximum likelihood, which is least squares",
    texts=["Li ch. 23, eq. 23.31", "Machine Learning in Depth ch. 2, 2.1.4"],
)
def gaussian_noise_log_likelihood(y: ArrayLike, f: ArrayLike, sigma: float) -> float:
    """log-likelihood of y = f + Gaussian noise, -m log(sqrt(2 pi) sigma) - SSE / (2 sigma^2).

    It is highest where the sum of squares is least: least squares is maximum likelihood.

    Examples
    --------
    >>> round(gaussian_noise_log_likelihood([2, 3, 5, 4], [2.3, 3.1, 3.9, 4.7], sigma=0.45**0.5), 6)
    -4.078739
    """
    if not 0 < sigma < np.inf:
        raise ValueError(f"sigma must be finite and above 0, got {sigma!r}")
    residual = np.asarray(y, dtype=float) - np.asarray(f, dtype=float)
    return float(-residual.size * np.log(np.sqrt(2 * np.pi) * sigma) - np.sum(residual**2) / (2 * sigma**2))

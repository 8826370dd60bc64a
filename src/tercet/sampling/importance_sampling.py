"""Importance sampling (重要性抽样法)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.functions import log_sum_exp
from tercet.sampling.monte_carlo import MonteCarloEstimate
from tercet.sampling.user_functions import (
    PointFunction,
    finite_values,
    log_density,
    positive_count,
    proposal,
)

LARGEST_LOG = 700.0  # whose exponential is still a number


@dataclass(frozen=True, eq=False)
class ImportanceEstimate(MonteCarloEstimate):
    """What :func:`importance_sampling` returns: an estimate with the draws and their weights.

    Attributes
    ----------
    samples : array
        The draws from q.
    log_weights : array of shape (n_samples,)
        log(p / q) at the draws.
    effective_sample_size : float
        (Σ w)² / Σ w², the number of equally weighted draws from p that are worth as much.

    Examples
    --------
    >>> from tercet.distributions import Gaussian
    >>> found = importance_sampling(None, Gaussian(), Gaussian(0.5, 2), self_normalised=True, random_state=0)
    >>> bool(found.n_samples > found.effective_sample_size > 0.5 * found.n_samples)
    True
    """

    samples: np.ndarray = field(repr=False)
    log_weights: np.ndarray = field(repr=False)

    @property
    def weights(self) -> np.ndarray:
        """The weights, divided by their sum."""
        return np.exp(self.log_weights - log_sum_exp(self.log_weights))

    @property
    def log_normaliser(self) -> float:
        """log of the mean weight: estimate of log ∫ p where q is normalised."""
        return float(log_sum_exp(self.log_weights) - np.log(self.n_samples))

    def resample(self, size: int | None = None, random_state: Any = None) -> np.ndarray:
        """Draw from the draws by their weights: an approximate sample of p (sampling-importance-resampling)."""
        n = self.n_samples if size is None else positive_count(size, "size")
        return self.samples[generator(random_state).choice(self.n_samples, n, p=self.weights)]


@method(
    zh="重要性抽样法",
    task="sampling",
    model="E_p f(X) = E_q f(X) w(X), w = p / q",
    algorithms="(1/n) Σ f(x_i) w(x_i), x_i ~ q; self-normalised: Σ f(x_i) w(x_i) / Σ w(x_i)",
    texts=["Li ch. 19, 19.1"],
)
def importance_sampling(
    f: Any,
    p: Any,
    q: Any,
    size: int = 10_000,
    self_normalised: bool = False,
    log: bool = False,
    random_state: Any = None,
) -> ImportanceEstimate:
    """Expectation under a density p from draws of a proposal q, weighted by p / q.

    Parameters
    ----------
    f : callable or None
        The function whose expectation is wanted, of one point or of an array of points; a number or a vector for
        each. None is the variable itself.
    p : callable or distribution
        The density. It must be normalised unless `self_normalised`.
    q : distribution or pair (draw, density)
        The proposal, positive wherever f p is not 0: an object with `sample` and `logpdf` (or scipy's `rvs`
        and `logpdf`), or functions `draw(size, rng)` and `density(x)`.
    size : int, default=10_000
        How many draws.
    self_normalised : bool, default=False
        Whether to divide by the sum of the weights, not by n: for p (or q) known up to a constant. It is slightly
        biased, by O(1/n).
    log : bool, default=False
        Whether p and the density of a pair give logarithms.
    random_state : int, Generator or None
        Decides the draws.

    Returns
    -------
    ImportanceEstimate

    Examples
    --------
    >>> from tercet.distributions import Gaussian  # P(X > 3) of a normal variable, from draws around 3
    >>> found = importance_sampling(lambda x: x > 3, Gaussian(), Gaussian(3, 1), random_state=0)
    >>> round(found.value, 4)
    0.0013
    """
    draw, log_q = proposal(q, "q", log)
    log_p = log_density(p, "p", log)
    n = positive_count(size, "size", 2)
    x = draw(n, generator(random_state))
    at_q = log_q(x)
    if (at_q == -np.inf).any():
        raise ValueError(f"q must be positive where it draws; it is 0 at x = {x[at_q == -np.inf][0]}.")
    logs = log_p(x) - at_q
    top = float(logs.max())
    if top == -np.inf:
        raise ValueError(
            f"All {n} weights are 0: p is 0 at every draw of q. q must draw where p is positive."
        )
    scaled = np.exp(logs - top)
    effective = float(scaled.sum() ** 2 / (scaled**2).sum())
    at_f = _values(f, x, scaled > 0)
    weight = scaled if at_f.ndim == 1 else scaled[:, None]
    if self_normalised:
        share = weight / scaled.sum()
        value = (share * at_f).sum(axis=0)
        error = np.sqrt((share**2 * (at_f - value) ** 2).sum(axis=0))
        terms = n * share * at_f
        if effective < 10:
            warnings.warn(
                f"The effective sample size is {effective:.1f} of {n}: a few weights decide the estimate. Take a "
                "q nearer to p, or more draws.",
                UserWarning,
                stacklevel=2,
            )
    else:
        if top > LARGEST_LOG:
            raise ValueError(
                f"The weights are up to exp({top:.6g}): p is not normalised. Set self_normalised=True."
            )
        terms = weight * at_f * np.exp(top)
        value, error = terms.mean(axis=0), terms.std(axis=0, ddof=1) / np.sqrt(n)
    if np.ndim(value) == 0:
        value, error = float(value), float(error)
    return ImportanceEstimate(value, error, n, effective, terms, x, logs)


def _values(f: Any, x: np.ndarray, needed: np.ndarray) -> np.ndarray:
    """f at the draws that have a weight; 0 elsewhere, where it need not be defined."""
    if f is None:
        return np.asarray(x, dtype=float)
    found = finite_values(PointFunction(f, "f"), x[needed])
    values = np.zeros((len(x), *found.shape[1:]))
    values[needed] = found
    return values

"""Proposal distributions of Metropolis-Hastings that the user gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.input_errors import shown


class IndependentProposal:
    """Proposal that does not depend on the state: candidates are independent draws of q.

    The acceptance probability is min{1, w(x') / w(x)} with the weights w = p / q.

    Parameters
    ----------
    sample : callable or frozen distribution of scipy.stats
        `sample(size, rng)` returns `size` draws of shape (size, d); a distribution has `rvs` and `logpdf` instead.
    log_density : callable, optional
        `log_density(points)` returns log q of points of shape (size, d); not for a distribution.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from tercet.sampling import MetropolisHastings
    >>> wide = IndependentProposal(norm(0, 2))
    >>> sampler = MetropolisHastings(lambda x: -0.5 * x[0] ** 2, proposal=wide, random_state=0)
    >>> sampler.sample(500, start=[0.0]).acceptance_rate > 0.5
    True
    """

    def __init__(self, sample: Any, log_density: Callable[[np.ndarray], Any] | None = None) -> None:
        if log_density is None and not (hasattr(sample, "rvs") and hasattr(sample, "logpdf")):
            raise ValueError(
                "IndependentProposal needs log_density(points), or a distribution with rvs and logpdf; got only "
                f"{shown(sample)}."
            )
        self.sample, self.log_density = sample, log_density

    def draw(self, size: int, d: int, rng: np.random.Generator) -> np.ndarray:
        """Points of shape (size, d)."""
        if self.log_density is None:
            points = self.sample.rvs(size=size, random_state=rng)
        else:
            points = self.sample(size, rng)
        points = np.asarray(points, dtype=np.float64)
        if points.ndim == 1:
            points = points.reshape(size, -1) if points.size == size * d else points
        if points.shape != (size, d):
            raise ValueError(
                f"IndependentProposal: sample must return draws of shape ({size}, {d}); got shape {points.shape}."
            )
        return np.ascontiguousarray(points)

    def evaluate(self, points: np.ndarray) -> np.ndarray:
        """log q of points (size, d)."""
        if self.log_density is None:
            one = points.shape[1] == 1
            values = self.sample.logpdf(points[:, 0] if one else points)
        else:
            values = self.log_density(points)
        values = np.asarray(values, dtype=np.float64).reshape(-1)
        if values.shape != (len(points),):
            raise ValueError(
                f"IndependentProposal: log_density must return {len(points)} values for {len(points)} points; "
                f"got {values.size}."
            )
        if np.isnan(values).any() or (values == np.inf).any():
            raise ValueError(
                "IndependentProposal: log_density returned NaN or infinity; it must be a number."
            )
        return values


class ConditionalProposal:
    """Proposal that depends on the state, given by functions.

    Parameters
    ----------
    sample : callable
        `sample(x, rng)` returns a candidate of shape (d,); for `SingleComponentMetropolisHastings`,
        `sample(x, j, rng)` returns a candidate for the j-th component.
    log_density : callable, optional
        `log_density(candidate, x)` returns log q(x, candidate), the log density of the candidate when at x;
        `log_density(candidate, x, j)` for a single component, with the whole candidate. Without it the proposal
        is taken to be symmetric: q(x, x') = q(x', x).

    Examples
    --------
    A random walk on the logarithms, for a density of positive numbers:

    >>> from tercet.sampling import MetropolisHastings
    >>> proposal = ConditionalProposal(
    ...     lambda x, rng: x * np.exp(rng.standard_normal(x.size)),
    ...     lambda candidate, x: -np.log(candidate).sum() - 0.5 * (np.log(candidate / x) ** 2).sum(),
    ... )
    >>> sampler = MetropolisHastings(lambda x: -x[0], proposal=proposal, n_chains=2, random_state=0)
    >>> chains = sampler.sample(2000, start=[1.0])
    >>> bool(abs(chains.mean()[0] - 1.0) < 4 * chains.mcse()[0])
    True
    """

    def __init__(self, sample: Callable[..., Any], log_density: Callable[..., Any] | None = None) -> None:
        for name, value in (("sample", sample), ("log_density", log_density)):
            if not callable(value) and not (name == "log_density" and value is None):
                raise ValueError(f"ConditionalProposal: {name} must be a callable; got {shown(value)}.")
        self.sample, self.log_density = sample, log_density

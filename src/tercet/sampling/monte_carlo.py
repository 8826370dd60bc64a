"""Monte Carlo estimates of expectations and integrals (蒙特卡罗积分), with their standard errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.sampling.user_functions import PointFunction, finite_values, positive_count, proposal, sampler


@dataclass(frozen=True, eq=False)
class MonteCarloEstimate:
    """An estimate from random draws, and how far off it may be.

    Attributes
    ----------
    value : float or array
        The estimate.
    standard_error : float or array
        Its standard deviation, estimated from the same draws.
    n_samples : int
        How many draws there were.
    effective_sample_size : float or array
        How many independent draws from the distribution itself would be as good.
    values : array
        What was averaged, a number (or a row) for each draw.

    Examples
    --------
    >>> estimate = MonteCarloEstimate.of_values(np.array([1.0, 2.0, 3.0, 2.0]))
    >>> (
    ...     estimate.value,
    ...     round(estimate.standard_error, 4),
    ...     tuple(np.round(estimate.interval(0.95), 3).tolist()),
    ... )
    (2.0, 0.4082, (1.2, 2.8))
    """

    value: Any
    standard_error: Any
    n_samples: int
    effective_sample_size: Any
    values: np.ndarray = field(repr=False)

    @classmethod
    def of_values(cls, values: np.ndarray) -> Self:
        """The mean of independent draws."""
        n = positive_count(len(values), "the number of draws", 2)
        error = values.std(axis=0, ddof=1) / np.sqrt(n)
        return cls(_plain(values.mean(axis=0)), _plain(error), n, float(n), values)

    @classmethod
    def of_chain(cls, values: np.ndarray) -> Self:
        """The mean along a Markov chain, whose draws are not independent: √n batch means give its error."""
        n = positive_count(len(values), "the number of draws", 4)
        batches = int(np.sqrt(n))
        size = n // batches
        means = values[n - batches * size :].reshape(batches, size, *values.shape[1:]).mean(axis=1)
        error = means.std(axis=0, ddof=1) / np.sqrt(batches)
        with np.errstate(divide="ignore", invalid="ignore"):
            effective = np.where(error > 0, np.minimum(values.var(axis=0) / error**2, n), n)
        return cls(_plain(values.mean(axis=0)), _plain(error), n, _plain(effective), values)

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Confidence interval of the normal approximation (central limit theorem)."""
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
        reach = NormalDist().inv_cdf(0.5 + level / 2) * self.standard_error
        return self.value - reach, self.value + reach

    def running_means(self) -> np.ndarray:
        """The estimate after 1, 2 ... n draws."""
        counts = np.arange(1, self.n_samples + 1).reshape(-1, *[1] * (self.values.ndim - 1))
        return np.cumsum(self.values, axis=0) / counts


@method(
    zh="数学期望的蒙特卡罗估计",
    task="sampling",
    model="E_p f(X) ≈ (1/n) Σ f(x_i), x_i ~ p",
    strategy="law of large numbers; standard error s/√n",
    texts=["Li ch. 19, 19.1", "watermelon notes ch. 12, eq. 12.14-12.18"],
)
def monte_carlo_expectation(
    f: Any, p: Any, size: int = 10_000, random_state: Any = None
) -> MonteCarloEstimate:
    """Expectation of a function of a random variable: the mean over draws, with its standard error.

    Parameters
    ----------
    f : callable or None
        The function, of one point or of an array of points; a number or a vector for each. None is the variable
        itself.
    p : distribution, callable or array
        What to draw from: an object with `sample` or `rvs`, a function `draw(size, rng)`; or draws.
    size : int, default=10_000
        How many draws; not used if `p` is an array.
    random_state : int, Generator or None
        Decides the draws.

    Returns
    -------
    MonteCarloEstimate

    Examples
    --------
    >>> from tercet.distributions import Gaussian
    >>> estimate = monte_carlo_expectation(lambda x: x**2, Gaussian(1, 4), random_state=0)
    >>> low, high = estimate.interval(0.99)
    >>> bool(low < 5 < high)
    True
    """
    if isinstance(p, np.ndarray | list):
        x = np.asarray(p)
        if x.ndim not in (1, 2) or len(x) < 2:
            raise ValueError(f"p must hold at least 2 draws along its first axis; got shape {x.shape}.")
    else:
        x = sampler(p, "p")(positive_count(size, "size", 2), generator(random_state))
    identity = PointFunction(lambda points: np.asarray(points, dtype=float), "the draws")
    return MonteCarloEstimate.of_values(finite_values(identity if f is None else PointFunction(f, "f"), x))


@method(
    zh="蒙特卡罗积分",
    task="sampling",
    model="∫ h(x) dx = ∫ f(x) p(x) dx with f = h / p, the expectation E_p f(X)",
    strategy="law of large numbers; standard error s/√n",
    texts=["Li ch. 19, 19.1"],
    peers=["scipy.integrate.qmc_quad"],
)
def monte_carlo_integral(
    h: Any, bounds: Any = None, p: Any = None, size: int = 10_000, random_state: Any = None
) -> MonteCarloEstimate:
    """Integral of a function, as the expectation of h / p over draws from a density p.

    Parameters
    ----------
    h : callable
        The function, of one point or of an array of points.
    bounds : pair of numbers, or a pair for each variable, optional
        The interval or box. Without `p`, points are drawn uniformly in it.
    p : distribution or pair (draw, density), optional
        What to draw from, positive wherever h is not 0; h counts as 0 outside of `bounds`.
    size : int, default=10_000
        How many draws.
    random_state : int, Generator or None
        Decides the draws.

    Returns
    -------
    MonteCarloEstimate

    Examples
    --------
    >>> estimate = monte_carlo_integral(lambda x: np.exp(-(x**2) / 2), (0, 1), random_state=0)
    >>> round(estimate.value, 2), bool(abs(estimate.value - 0.8556244) < 4 * estimate.standard_error)
    (0.86, True)
    """
    rng, n, f = generator(random_state), positive_count(size, "size", 2), PointFunction(h, "h")
    box = None if bounds is None else _box(bounds, finite=p is None)
    if p is None:
        if box is None:
            raise ValueError("Give bounds, p, or both: there is nothing to draw from.")
        low, high = box
        x = low + (high - low) * rng.random((n, len(low)))
        x = x[:, 0] if np.ndim(bounds) == 1 else x
        return MonteCarloEstimate.of_values(finite_values(f, x) * np.prod(high - low))
    draw, log_p = proposal(p, "p")
    x = draw(n, rng)
    inside = np.ones(n, dtype=bool)
    if box is not None:
        points = x.reshape(n, -1)
        if points.shape[1] != len(box[0]):
            raise ValueError(f"p draws points of {points.shape[1]} numbers; bounds are of {len(box[0])}.")
        inside = ((points >= box[0]) & (points <= box[1])).all(axis=1)
    values = np.zeros(n)
    if inside.any():
        logs = log_p(x[inside])
        if not np.isfinite(logs).all():
            where = x[inside][~np.isfinite(logs)][0]
            raise ValueError(f"p must be positive where it draws; it is 0 at x = {where}.")
        values[inside] = finite_values(f, x[inside]) * np.exp(-logs)
    return MonteCarloEstimate.of_values(values)


def _box(bounds: Any, finite: bool) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.asarray(bounds, dtype=float)
    pairs = pairs[None] if pairs.ndim == 1 else pairs
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs) or not (pairs[:, 0] < pairs[:, 1]).all():
        raise ValueError(
            f"bounds must be a pair (low, high), low below high, or one for each variable; got {bounds!r}."
        )
    if finite and not np.isfinite(pairs).all():
        raise ValueError(f"bounds must be finite where p is not given; got {bounds!r}.")
    return pairs[:, 0], pairs[:, 1]


def _plain(value: Any) -> Any:
    """A float where it is one number."""
    return float(value) if np.ndim(value) == 0 else value

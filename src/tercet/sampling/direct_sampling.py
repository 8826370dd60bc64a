"""Direct sampling (直接抽样法): draws through the inverse of the distribution function."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.distributions.probability_tables import check_distributions
from tercet.sampling.alias_table import AliasTable
from tercet.sampling.user_functions import PointFunction, finite_values, positive_count

CHECKS = 65  # points at which a distribution function is tested


@method(
    zh="直接抽样法",
    task="sampling",
    model="x = F⁻¹(u), u ~ U(0, 1)",
    algorithms="inverse transform: by the quantile function, by bisection of F, or by interpolation in a table",
    texts=["Li ch. 19, 19.1"],
    peers=["scipy.stats.sampling.NumericalInversePolynomial"],
)
def direct_sampling(
    size: int,
    quantile: Any = None,
    cdf: Any = None,
    support: tuple[float, float] = (-np.inf, np.inf),
    random_state: Any = None,
) -> np.ndarray:
    """Draws of a random variable on the line, by the inverse of its distribution function.

    Parameters
    ----------
    size : int
        How many draws.
    quantile : callable, optional
        F⁻¹, of one number or of an array.
    cdf : callable or pair of arrays, optional
        F itself, which is then inverted by bisection; or a table (x, F(x)), x increasing and F(x) up to 1, with
        straight lines between its points.
    support : pair of numbers, default=(-inf, inf)
        Where F goes from 0 to 1; a bracket for the bisection.
    random_state : int, Generator or None
        Decides the draws.

    Returns
    -------
    draws : array of shape (size,)

    Examples
    --------
    >>> direct_sampling(3, quantile=lambda u: -np.log1p(-u), random_state=0).round(4)  # exponential
    array([1.0132, 0.3144, 0.0418])
    >>> direct_sampling(3, cdf=lambda x: 1 - np.exp(-x), support=(0, np.inf), random_state=0).round(4)
    array([1.0132, 0.3144, 0.0418])
    """
    if (quantile is None) == (cdf is None):
        raise ValueError("Give either quantile or cdf.")
    u = generator(random_state).random(positive_count(size, "size"))
    if quantile is not None:
        return finite_values(PointFunction(quantile, "quantile"), u)
    if callable(cdf):
        return _bisect(PointFunction(cdf, "cdf"), u, support)
    x, F = _table(cdf)
    return np.interp(u, F, x)


@method(
    zh="离散分布的抽样",
    task="sampling",
    model="the least k with p_1 + ... + p_k > u, u ~ U(0, 1)",
    algorithms={
        "inverse": "binary search of u in the cumulative probabilities",
        "alias": "Walker's alias method: constant time for each draw",
    },
    texts=["Li ch. 19, 19.1"],
    peers=["numpy.random.Generator.choice"],
)
def discrete_sampling(
    p: Any,
    size: int,
    values: Any = None,
    algorithm: Literal["inverse", "alias"] = "inverse",
    random_state: Any = None,
) -> np.ndarray:
    """Draws from a distribution of finitely many outcomes.

    Parameters
    ----------
    p : array of shape (n_outcomes,)
        Probabilities that sum to 1.
    size : int
        How many draws.
    values : sequence, optional
        The outcomes; 0, 1 ... by default.
    algorithm : {"inverse", "alias"}, default="inverse"
        Binary search, or an alias table (`AliasTable`), which pays for many draws from many outcomes.
    random_state : int, Generator or None
        Decides the draws.

    Examples
    --------
    >>> discrete_sampling([0.5, 0.3, 0.2], 6, values=["a", "b", "c"], random_state=0).tolist()
    ['b', 'a', 'a', 'a', 'c', 'c']
    """
    p = np.asarray(p, dtype=float)
    if p.ndim != 1 or not p.size:
        raise ValueError(f"p must be a vector of probabilities; got shape {p.shape}.")
    check_distributions(p, "p")
    rng, n = generator(random_state), positive_count(size, "size")
    if algorithm == "inverse":
        ends = np.cumsum(p)
        # Sums that round to less than one must not lead beyond the last possible outcome.
        codes = np.minimum(
            np.searchsorted(ends, rng.random(n) * ends[-1], side="right"), np.flatnonzero(p)[-1]
        )
    elif algorithm == "alias":
        codes = AliasTable(p).sample(n, rng)
    else:
        raise ValueError(f"algorithm must be 'inverse' or 'alias'; got {algorithm!r}.")
    if values is None:
        return codes
    if len(values) != p.size:
        raise ValueError(f"values must be {p.size} outcomes, one for each probability; got {len(values)}.")
    return np.asarray(values)[codes]


def _bisect(cdf: PointFunction, u: np.ndarray, support: tuple[float, float]) -> np.ndarray:
    """The x with F(x) = u, for many u at once."""
    low, high = _bracket(cdf, float(u.min()), float(u.max()), support)
    grid = np.linspace(low, high, CHECKS)
    F = _probabilities(cdf, grid)
    falls = np.flatnonzero(np.diff(F) < -1e-12)
    if falls.size:
        k = falls[0]
        raise ValueError(
            f"cdf must not decrease; cdf({grid[k]:.6g}) = {F[k]:.6g} and cdf({grid[k + 1]:.6g}) = {F[k + 1]:.6g}."
        )
    lo, hi = np.full(u.size, low), np.full(u.size, high)
    while True:
        middle = 0.5 * lo + 0.5 * hi
        if ((middle <= lo) | (middle >= hi) | (hi - lo <= 1e-15 * np.abs(middle))).all():
            return hi
        below = _probabilities(cdf, middle) <= u
        lo, hi = np.where(below, middle, lo), np.where(below, hi, middle)


def _bracket(cdf: PointFunction, least: float, most: float, support: Any) -> tuple[float, float]:
    """Two numbers between which F passes all of u."""
    low, high = (float(end) for end in support) if np.shape(support) == (2,) else (np.nan, np.nan)
    if not low < high:
        raise ValueError(f"support must be a pair (low, high), low below high; got {support!r}.")

    def at(x: float) -> float:
        return float(_probabilities(cdf, np.array([x]))[0])

    reach = 1.0
    left = low if np.isfinite(low) else min(-1.0, high - 1.0)
    right = high if np.isfinite(high) else max(1.0, left + 1.0)
    while not np.isfinite(low) and at(left) > least and reach < 1e300:
        left, reach = left - reach, 2 * reach
    reach = 1.0
    while not np.isfinite(high) and at(right) <= most and reach < 1e300:
        right, reach = right + reach, 2 * reach
    if not np.isfinite(high) and at(right) <= most:
        raise ValueError(f"cdf must go to 1; it is {at(right):.6g} at x = {right:.3g}.")
    if not np.isfinite(low) and at(left) > least:
        raise ValueError(f"cdf must go to 0; it is {at(left):.6g} at x = {left:.3g}.")
    if np.isfinite(high) and abs(at(high) - 1.0) > 1e-6:
        raise ValueError(f"cdf must be 1 at the end of its support; it is {at(high):.6g} at x = {high}.")
    return left, right


def _probabilities(cdf: PointFunction, x: np.ndarray) -> np.ndarray:
    F = cdf(x)
    if F.shape != x.shape or not ((F >= -1e-12) & (F <= 1 + 1e-9)).all():
        bad = F[~((F >= -1e-12) & (F <= 1 + 1e-9))] if F.shape == x.shape else F
        raise ValueError(f"cdf must give probabilities; got {np.ravel(bad)[:1]} for x = {x[:1]}.")
    return F


def _table(cdf: Any) -> tuple[np.ndarray, np.ndarray]:
    try:
        x, F = (np.asarray(column, dtype=float) for column in cdf)
    except (TypeError, ValueError):
        raise ValueError(f"cdf must be a function or a pair of arrays (x, F(x)); got {cdf!r}.") from None
    if (
        x.ndim != 1
        or x.shape != F.shape
        or x.size < 2
        or not (np.diff(x) > 0).all()
        or not np.isfinite(x).all()
    ):
        raise ValueError("cdf's table must have two columns of one length, with x finite and increasing.")
    if not ((F >= 0) & (F <= 1)).all() or (np.diff(F) < 0).any() or abs(F[-1] - 1.0) > 1e-6:
        raise ValueError(
            f"cdf's table must have F(x) that never decreases and ends at 1; got {F.tolist()[:8]}."
        )
    return x, F

"""Diagnostics of Markov chains: autocorrelation, effective sample size, R-hat, Monte Carlo standard error.

All take draws of shape (n_chains, n_samples) or (n_chains, n_samples, d), or a single chain of shape (n_samples,).
The definitions are those of Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021), which Stan and ArviZ use, too.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import fft
from scipy.special import ndtri
from scipy.stats import rankdata

from tercet.core.catalog import method

__all__ = ["autocorrelation", "autocorrelation_time", "ess", "mcse", "rhat"]

FEWEST = 4  # draws of a chain that say anything about its correlations


@method(
    zh="自相关函数",
    task="sampling",
    model="ρ_t = Σ_i (x_i - x̄)(x_{i+t} - x̄) / Σ_i (x_i - x̄)²",
    algorithms="fast Fourier transform",
    texts=["Li ch. 19", "Machine Learning in Depth ch. 5"],
    peers=["arviz.autocorr"],
)
def autocorrelation(draws: Any, max_lag: int | None = None) -> np.ndarray:
    """Autocorrelation of chains at lags 0, 1, ..., max_lag.

    Parameters
    ----------
    draws : array of shape (n_samples,), (n_chains, n_samples) or (n_chains, n_samples, d)
        The chains.
    max_lag : int, optional
        The largest lag; by default all.

    Returns
    -------
    array
        Of the shape of the draws, with lags in the place of samples. NaN for a chain that never moves.

    Examples
    --------
    >>> autocorrelation([1.0, -1.0, 1.0, -1.0], max_lag=2)
    array([ 1.  , -0.75,  0.5 ])
    """
    given = np.asarray(draws)
    chains = _chains(given)
    n = chains.shape[1]
    lags = n if max_lag is None else _lag(max_lag, n) + 1
    covariances = _autocovariance(chains)[:, :lags]
    first = covariances[:, :1]
    found = np.divide(covariances, first, out=np.full_like(covariances, np.nan), where=first > 0)
    return found[0, :, 0] if given.ndim == 1 else (found[:, :, 0] if given.ndim == 2 else found)


@method(
    zh="自相关时间",
    task="sampling",
    model="τ = 1 + 2 Σ_t ρ_t",
    algorithms={
        "geyer": "sums of pairs ρ_2k + ρ_2k+1 while positive, made decreasing",
        "sokal": "the smallest window M with M >= 5 τ(M)",
    },
    texts=["Li ch. 19"],
    peers=["emcee.autocorr.integrated_time"],
)
def autocorrelation_time(draws: Any, how: Literal["geyer", "sokal"] = "geyer") -> Any:
    """Integrated autocorrelation time: how many draws of a chain are worth one independent draw.

    Parameters
    ----------
    draws : array of shape (n_samples,), (n_chains, n_samples) or (n_chains, n_samples, d)
        The chains.
    how : {"geyer", "sokal"}, default="geyer"
        Where the sum over lags ends: Geyer's initial monotone sequence, of all chains together, or Sokal's
        window, from the mean of the chains' autocorrelations (emcee's).

    Returns
    -------
    float or array of shape (d,)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> float(autocorrelation_time(rng.standard_normal((4, 1000)))) < 1.2
    True
    """
    chains = _chains(draws)
    if how == "geyer":
        return _scalar(draws, _time(chains))
    if how != "sokal":
        raise ValueError(f"how must be 'geyer' or 'sokal'; got {how!r}.")
    correlations = autocorrelation(chains).mean(axis=0)
    times = 2.0 * np.cumsum(correlations, axis=0) - 1.0
    long_enough = np.arange(len(times))[:, None] >= 5.0 * times
    window = np.where(long_enough.any(axis=0), long_enough.argmax(axis=0), len(times) - 1)
    return _scalar(draws, times[window, np.arange(times.shape[1])])


@method(
    zh="有效样本量",
    task="sampling",
    model="ESS = m n / τ for m chains of n draws",
    algorithms={
        "bulk": "of rank-normalised split chains",
        "tail": "the smaller one of the indicators of the 5 % and 95 % quantiles",
        "mean": "of split chains as they are",
    },
    texts=["Li ch. 19"],
    peers=["arviz.ess"],
)
def ess(draws: Any, kind: Literal["bulk", "tail", "mean"] = "bulk") -> Any:
    """Effective sample size: how many independent draws the chains are worth.

    Parameters
    ----------
    draws : array of shape (n_samples,), (n_chains, n_samples) or (n_chains, n_samples, d)
        The chains.
    kind : {"bulk", "tail", "mean"}, default="bulk"
        For the centre of the distribution, for its tails, or for the mean.

    Returns
    -------
    float or array of shape (d,)
        NaN for what never moves.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> float(ess(rng.standard_normal((4, 250)))) > 800
    True
    """
    chains = _chains(draws)
    if kind == "bulk":
        return _scalar(draws, _effective(_normal_scores(_halves(chains))))
    if kind == "mean":
        return _scalar(draws, _effective(_halves(chains)))
    if kind != "tail":
        raise ValueError(f"kind must be 'bulk', 'tail' or 'mean'; got {kind!r}.")
    ends = np.quantile(chains, [0.05, 0.95], axis=(0, 1))
    low, high = (_effective(_halves((chains <= end).astype(np.float64))) for end in ends)
    return _scalar(draws, np.fmin(low, high))


@method(
    zh="R-hat 收敛诊断",
    task="sampling",
    model="R² = ((n - 1) / n W + B / n) / W",
    algorithms={
        "rank": "the larger one of rank-normalised and folded split chains",
        "split": "halves of the chains as they are",
        "basic": "whole chains (Gelman and Rubin)",
    },
    texts=["Li ch. 19"],
    peers=["arviz.rhat"],
)
def rhat(draws: Any, kind: Literal["rank", "split", "basic"] = "rank") -> Any:
    """R-hat: standard deviation of all chains together beside that within them; near 1 when they agree.

    Parameters
    ----------
    draws : array of shape (n_samples,), (n_chains, n_samples) or (n_chains, n_samples, d)
        The chains.
    kind : {"rank", "split", "basic"}, default="rank"
        "rank" also sees chains that agree in their means but not in their spread, and bears infinite variances;
        "basic" needs two chains.

    Returns
    -------
    float or array of shape (d,)
        Above 1.01 the chains are better not trusted. Infinite for chains that each stay at a point of their own,
        NaN if that is the same point.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> together = rng.standard_normal((4, 500))
    >>> float(rhat(together)) < 1.01, float(rhat(together + [[0], [0], [0], [5]])) > 1.5
    (True, True)
    """
    chains = _chains(draws)
    if kind == "basic":
        if len(chains) < 2:
            raise ValueError("rhat: kind='basic' needs at least 2 chains; got 1.")
        return _scalar(draws, _ratio(chains))
    halves = _halves(chains)
    if kind == "split":
        return _scalar(draws, _ratio(halves))
    if kind != "rank":
        raise ValueError(f"kind must be 'rank', 'split' or 'basic'; got {kind!r}.")
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return _scalar(draws, np.fmax(_ratio(_normal_scores(halves)), _ratio(_normal_scores(folded))))


@method(
    zh="蒙特卡罗标准误",
    task="sampling",
    model="σ̂ / √ESS",
    texts=["Li ch. 19"],
    peers=["arviz.mcse"],
)
def mcse(draws: Any) -> Any:
    """Monte Carlo standard error of the mean of the draws.

    Parameters
    ----------
    draws : array of shape (n_samples,), (n_chains, n_samples) or (n_chains, n_samples, d)
        The chains.

    Returns
    -------
    float or array of shape (d,)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> float(mcse(rng.standard_normal((4, 2500)))).__round__(2)
    0.01
    """
    chains = _chains(draws)
    spread = chains.reshape(-1, chains.shape[2]).std(axis=0, ddof=1)
    return _scalar(draws, spread / np.sqrt(_effective(_halves(chains))))


def _chains(draws: Any) -> np.ndarray:
    """Draws as finite numbers of shape (n_chains, n_samples, d)."""
    chains = np.asarray(draws, dtype=np.float64)
    if chains.ndim == 1:
        chains = chains[None, :, None]
    elif chains.ndim == 2:
        chains = chains[:, :, None]
    if chains.ndim != 3 or not chains.shape[0] or not chains.shape[2]:
        raise ValueError(
            "draws must have shape (n_samples,), (n_chains, n_samples) or (n_chains, n_samples, d); "
            f"got shape {np.shape(draws)}."
        )
    if chains.shape[1] < FEWEST:
        raise ValueError(f"draws must have at least {FEWEST} samples per chain; got {chains.shape[1]}.")
    if not np.isfinite(chains).all():
        raise ValueError("draws must be finite numbers; they hold NaN or infinity.")
    return chains


def _lag(max_lag: Any, n: int) -> int:
    if isinstance(max_lag, bool) or not isinstance(max_lag, int | np.integer) or max_lag < 0:
        raise ValueError(f"max_lag must be an integer of at least 0; got {max_lag!r}.")
    return min(int(max_lag), n - 1)


def _scalar(draws: Any, values: np.ndarray) -> Any:
    return values if np.ndim(draws) == 3 else float(values[0])


def _autocovariance(chains: np.ndarray) -> np.ndarray:
    """Autocovariances with divisor n, of shape (n_chains, n_lags, d); exactly zero for a constant chain."""
    n = chains.shape[1]
    moves = np.ptp(chains, axis=1, keepdims=True) > 0
    centred = np.where(moves, chains - chains.mean(axis=1, keepdims=True), 0.0)
    size = fft.next_fast_len(2 * n - 1, real=True)
    waves = fft.rfft(centred, size, axis=1)
    return fft.irfft(waves * waves.conj(), size, axis=1)[:, :n] / n


def _halves(chains: np.ndarray) -> np.ndarray:
    """First and last halves as chains of their own; the middle draw of an odd number is left out."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _normal_scores(chains: np.ndarray) -> np.ndarray:
    """Normal quantiles of the ranks of all draws together."""
    flat = chains.reshape(-1, chains.shape[2])
    ranks = rankdata(flat, axis=0)
    return ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(chains.shape)


def _ratio(chains: np.ndarray) -> np.ndarray:
    n = chains.shape[1]
    moves = np.ptp(chains, axis=1) > 0
    within = np.where(moves, chains.var(axis=1, ddof=1), 0.0).mean(axis=0)
    means = np.where(moves, chains.mean(axis=1), chains[:, 0])
    between = means.var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((n - 1) / n + between / within)


def _effective(chains: np.ndarray) -> np.ndarray:
    return chains.shape[0] * chains.shape[1] / _time(chains)


def _time(chains: np.ndarray) -> np.ndarray:
    """Autocorrelation times (d,) of all chains together, by Geyer's initial monotone sequence."""
    m, n, d = chains.shape
    covariances = _autocovariance(chains).mean(axis=0)  # (n, d)
    within = covariances[0] * n / (n - 1)
    pooled = covariances[0].copy()
    if m > 1:
        pooled += chains.mean(axis=1).var(axis=0, ddof=1)
    times = np.full(d, np.nan)
    for j in range(d):
        if not np.ptp(chains[:, :, j]) > 0:
            continue
        rho = 1.0 - (within[j] - covariances[:, j]) / pooled[j]
        rho[0] = 1.0
        pairs = rho[: max((n - 1) // 2, 1) * 2].reshape(-1, 2).sum(axis=1)  # as far as Stan looks
        end = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs) - 1
        end = max(end, 1)
        # Past the last positive pair the next even lag still counts where it is positive.
        rest = max(rho[2 * end], 0.0) if 2 * end < n else 0.0
        times[j] = -1.0 + 2.0 * np.minimum.accumulate(pairs[:end]).sum() + rest
    # The estimated time of antithetic chains may come near zero, or below.
    return np.maximum(times, 1.0 / np.log10(m * n))

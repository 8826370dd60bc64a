"""Draws of Markov chains, with what they say about the distribution and about themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import fdtri

from tercet.sampling import diagnostics

QUANTILES = (0.05, 0.5, 0.95)
RHAT_LIMIT = 1.1  # Gelman and Rubin's; chains that agree so badly are worth some 40 draws in all
FALSE_ALARMS = 1e-4  # the share of runs of independent draws in which a short chain may go beyond its limit


class Summary(dict[str, Any]):
    """Columns of a table, one row per component; printed as a table, and `pandas.DataFrame(summary)` takes it."""

    def __repr__(self) -> str:
        names = list(self)
        lines = [
            names,
            *([_cell(name, self[name][i]) for name in names] for i in range(len(self["component"]))),
        ]
        widths = [max(len(line[k]) for line in lines) for k in range(len(names))]
        return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(line, widths)).rstrip() for line in lines)


def _cell(name: str, value: Any) -> str:
    if name == "component":
        return str(value)
    return f"{value:.0f}" if name.startswith("ess") else f"{value:.4g}"


@dataclass(frozen=True, eq=False)
class Chains:
    """Draws of several Markov chains.

    Attributes
    ----------
    draws : array of shape (n_chains, n_samples, d)
        The states that were kept; a rejected proposal repeats the state before it.
    log_density : array of shape (n_chains, n_samples) or None
        The unnormalised log density of each; None for a Gibbs sampler, which never computes it.
    acceptance : array of shape (n_chains,) or (n_chains, d)
        The share of proposals accepted after burn-in, for a single-component sampler by component.
    burn_in, thin : int
        Iterations that were discarded first, and iterations per draw after that.
    names : tuple of str
        The components' names, x0, x1 ... by default.

    Examples
    --------
    >>> draws = np.random.default_rng(0).standard_normal((4, 500, 2))
    >>> chains = Chains(draws)
    >>> chains
    Chains(n_chains=4, n_samples=500, d=2)
    >>> bool((abs(chains.mean()) < 4 * chains.mcse()).all())
    True
    """

    draws: np.ndarray
    log_density: np.ndarray | None = None
    acceptance: np.ndarray | None = None
    burn_in: int = 0
    thin: int = 1
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        draws = np.asarray(self.draws)
        if draws.ndim != 3 or not draws.size:
            raise ValueError(
                f"draws must have shape (n_chains, n_samples, d), none of them 0; got shape {draws.shape}."
            )
        object.__setattr__(self, "draws", draws)
        names = tuple(self.names) or tuple(f"x{j}" for j in range(draws.shape[2]))
        if len(names) != draws.shape[2]:
            raise ValueError(f"names must be {draws.shape[2]}, one per component; got {len(names)}.")
        object.__setattr__(self, "names", names)

    @property
    def n_chains(self) -> int:
        """The number of chains."""
        return self.draws.shape[0]

    @property
    def n_samples(self) -> int:
        """The number of draws of each chain."""
        return self.draws.shape[1]

    @property
    def acceptance_rate(self) -> float:
        """The share of proposals accepted, over all chains; 1 for a Gibbs sampler."""
        return 1.0 if self.acceptance is None else float(np.mean(self.acceptance))

    def __len__(self) -> int:
        return self.n_chains * self.n_samples

    def __repr__(self) -> str:
        return f"Chains(n_chains={self.n_chains}, n_samples={self.n_samples}, d={self.draws.shape[2]})"

    def flat(self) -> np.ndarray:
        """The draws of all chains, one after the other, of shape (n_chains * n_samples, d)."""
        return self.draws.reshape(len(self), -1)

    def discard(self, burn_in: int, thin: int = 1) -> Chains:
        """The chains without their first `burn_in` draws, and of the others every `thin`-th."""
        if not 0 <= burn_in < self.n_samples or thin < 1:
            raise ValueError(
                f"burn_in must be in [0, {self.n_samples}) and thin at least 1; "
                f"got burn_in={burn_in!r}, thin={thin!r}."
            )
        here = slice(burn_in + thin - 1 if burn_in + thin <= self.n_samples else burn_in, None, thin)
        log = None if self.log_density is None else self.log_density[:, here]
        return replace(
            self,
            draws=self.draws[:, here],
            log_density=log,
            burn_in=self.burn_in + burn_in * self.thin,
            thin=self.thin * thin,
        )

    def mean(self) -> np.ndarray:
        """The mean of each component, over all chains."""
        return self.flat().mean(axis=0)

    def std(self) -> np.ndarray:
        """The standard deviation of each component."""
        return self.flat().std(axis=0, ddof=1)

    def covariance(self) -> np.ndarray:
        """The covariance matrix of the draws, of shape (d, d)."""
        return np.atleast_2d(np.cov(self.flat(), rowvar=False))

    def quantile(self, q: Any = QUANTILES) -> np.ndarray:
        """Quantiles of each component, of shape (len(q), d)."""
        return np.quantile(self.flat(), q, axis=0)

    def frequencies(self, shape: Sequence[int]) -> np.ndarray:
        """The share of draws in each cell of a table, for chains on discrete states."""
        index = self.flat().astype(np.int64)
        table = np.zeros(tuple(shape))
        if table.ndim != index.shape[1] or (index < 0).any() or (index >= np.array(table.shape)).any():
            raise ValueError(
                f"shape must hold the draws, whose components go up to {index.max(axis=0).tolist()}; got {shape!r}."
            )
        np.add.at(table, tuple(index.T), 1.0)
        return table / len(self)

    def expectation(self, function: Callable[[np.ndarray], Any]) -> tuple[Any, Any]:
        """Estimate of E f(x), with its Monte Carlo standard error.

        Parameters
        ----------
        function : callable
            f of all draws, of shape (n, d); returns shape (n,) or (n, k).

        Returns
        -------
        estimate, standard_error : float or array of shape (k,)
        """
        values = np.asarray(function(self.flat()), dtype=np.float64)
        if values.ndim not in (1, 2) or len(values) != len(self) or not np.isfinite(values).all():
            raise ValueError(
                f"function must return {len(self)} finite values, one for each draw; got shape {values.shape}"
                f"{'' if np.isfinite(values).all() else ' with NaN or infinity'}."
            )
        by_chain = values.reshape(self.n_chains, self.n_samples, *values.shape[1:])
        return values.mean(axis=0)[()], diagnostics.mcse(by_chain)

    def autocorrelation(self, max_lag: int | None = None) -> np.ndarray:
        """Autocorrelations of shape (n_chains, n_lags, d); see `tercet.sampling.autocorrelation`."""
        return diagnostics.autocorrelation(self.draws, max_lag)

    def autocorrelation_time(self) -> np.ndarray:
        """Integrated autocorrelation time of each component, in draws."""
        return diagnostics.autocorrelation_time(self.draws)

    def ess(self, kind: Literal["bulk", "tail", "mean"] = "bulk") -> np.ndarray:
        """Effective sample size of each component; see `tercet.sampling.ess`."""
        return diagnostics.ess(self.draws, kind)

    def rhat(self, kind: Literal["rank", "split", "basic"] = "rank") -> np.ndarray:
        """R-hat of each component; see `tercet.sampling.rhat`."""
        return diagnostics.rhat(self.draws, kind)

    def rhat_limit(self) -> float:
        """R-hat above which the chains disagree, and the samplers warn.

        It is 1.1. For chains of less than some 100 draws it is greater: what one in 10 000 runs of independent
        draws would exceed by chance (F test of the halves' means).
        """
        halves, n = 2 * self.n_chains, max(self.n_samples // 2, 2)
        level = FALSE_ALARMS / (
            2 * self.draws.shape[2]
        )  # two R-hats of each component, of ranks and folded ranks
        by_chance = float(fdtri(halves - 1, halves * (n - 1), 1.0 - level))
        return max(RHAT_LIMIT, float(np.sqrt((n - 1 + by_chance) / n)))

    def mcse(self) -> np.ndarray:
        """Monte Carlo standard error of each component's mean."""
        return diagnostics.mcse(self.draws)

    def summary(self) -> Summary:
        """Mean, deviation, quantiles and diagnostics of each component, as a table."""
        low, middle, high = self.quantile()
        return Summary(
            component=list(self.names),
            mean=self.mean(),
            sd=self.std(),
            mcse=self.mcse(),
            **{"5%": low, "50%": middle, "95%": high},
            ess_bulk=self.ess("bulk"),
            ess_tail=self.ess("tail"),
            rhat=self.rhat(),
        )

    def to_dict(self) -> dict[str, np.ndarray]:
        """Draws by name, each of shape (n_chains, n_samples): what `arviz.from_dict` takes as a posterior."""
        return {name: self.draws[:, :, j] for j, name in enumerate(self.names)}

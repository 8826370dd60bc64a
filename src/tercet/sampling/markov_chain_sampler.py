"""The course of every Markov chain Monte Carlo run: start, burn-in, draws, what to do on Ctrl-C."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tercet.core.input_errors import Broken, shown
from tercet.core.parallel import each
from tercet.core.parameters import check_parameters
from tercet.core.steps import ConvergenceWarning, Fit, Iterative, with_callbacks
from tercet.core.user_functions import has_own_threads
from tercet.sampling._engine.adaptation import windows
from tercet.sampling._engine.groups import ChainGroup, refuse_value
from tercet.sampling.chains import Chains

PIECES = 100  # parts of a run, each a pass that callbacks hear of
ROUND = 0.2  # seconds in which all chains advance by as many iterations
NEVER = 2**62
FEWEST = 20  # iterations after which an acceptance of 0, and draws after which R-hat, says something
JUDGED = 2000  # draws of a chain that R-hat is computed from first, in a run that has more


class MarkovChainSampler(Iterative, BaseEstimator):
    """Markov chain Monte Carlo: a chain whose stationary distribution is the target, run after a burn-in.

    A method makes the groups of chains that advance together (`_groups`), and may change their proposals after each
    window of the burn-in (`_adapt`).
    """

    n_chains: int
    burn_in: int
    thin: int
    n_jobs: int | None
    callback: Callable[..., Any] | None
    chains_: Chains

    @with_callbacks
    def sample(self, n_samples: int = 1000, *, start: Any = None) -> Chains:
        """Run the chains.

        Ctrl-C ends the run within a second; the draws so far are in `chains_`. A `ConvergenceWarning` is given when
        the chains disagree: when R-hat of a component (rank-normalised, of split chains) is above
        `chains_.rhat_limit()`, which is 1.1 for chains of some 100 draws or more. A single chain is split, too.

        Parameters
        ----------
        n_samples : int, default=1000
            Draws to keep of each chain.
        start : array of shape (d,) or (n_chains, d), or Chains
            Where the chains begin: all at one point, each at its own, or where earlier chains ended.

        Returns
        -------
        Chains
        """
        check_parameters(self)
        if isinstance(n_samples, bool) or not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise ValueError(f"n_samples must be an integer of at least 1; got {shown(n_samples)}.")
        self.__dict__.pop("chains_", None)
        groups = self._groups(start)
        d, dtype = groups[0].x.shape[1], groups[0].x.dtype
        draws = np.empty((self.n_chains, int(n_samples), d), dtype)
        logs = np.empty((self.n_chains, int(n_samples)))
        try:
            with Fit(self):
                self._run(groups, draws, logs)
        except KeyboardInterrupt:
            if min(group.kept for group in groups) and not self._burning:
                self.chains_ = self._result(groups, draws, logs)
            raise
        if not min(group.kept for group in groups) or self._burning:
            raise ValueError(f"{type(self).__name__}: the callback ended the run before the first draw.")
        self.chains_ = self._result(groups, draws, logs)
        for remark in self._remarks(self.chains_):
            warnings.warn(f"{type(self).__name__}: {remark}", ConvergenceWarning, stacklevel=3)
        return self.chains_

    def _run(self, groups: list[ChainGroup], draws: np.ndarray, logs: np.ndarray) -> None:
        total = draws.shape[1] * self.thin
        pieces = np.diff(np.linspace(0, total, min(PIECES, total) + 1).astype(np.int64)).tolist()
        burn_in = windows(self.burn_in)
        self._burning, self._round = bool(burn_in), 1
        loop = self.steps(len(burn_in) + len(pieces), name="block", watch=self.callback)
        for step, n in zip(loop, [*burn_in, *pieces]):
            if step.index < len(burn_in):
                self._burn(groups, n, draws.shape[2])
                self._burning = step.index + 1 < len(burn_in)
                step.report(kept=0, acceptance=self._rate)
            else:
                self._advance(groups, n, self.thin, draws, logs)
                step.report(kept=min(group.kept for group in groups), acceptance=_rate(groups))

    def _burn(self, groups: list[ChainGroup], n: int, d: int) -> None:
        """One window of the burn-in: its draws are for the adaptation alone."""
        adapts = self._adapting()
        window = np.empty((self.n_chains, n if adapts else 1, d), groups[0].x.dtype)
        self._advance(groups, n, 1 if adapts else NEVER, window, np.empty(window.shape[:2]))
        if adapts:
            self._adapt(groups, window)
        self._rate = _rate(groups)
        for group in groups:
            group.reset()

    def _advance(
        self, groups: list[ChainGroup], n: int, thin: int, draws: np.ndarray, logs: np.ndarray
    ) -> None:
        first, items = 0, []
        for group in groups:
            rows = slice(first, first + len(group.x))
            items.append((group, draws[rows], logs[rows]))
            first = rows.stop
        n_jobs = 1 if any(has_own_threads(function) for function in self._user_functions()) else self.n_jobs
        while n:  # in rounds of a fraction of a second: what an interrupt leaves is what all chains have
            many = min(n, self._round)
            begin = time.perf_counter()
            each(_advanced, items, many, thin, n_jobs=n_jobs)
            n -= many
            self._round = max(1, self._round // 2) if time.perf_counter() - begin > ROUND else 2 * many

    def _result(self, groups: list[ChainGroup], draws: np.ndarray, logs: np.ndarray) -> Chains:
        kept = min(group.kept for group in groups)
        acceptance = np.concatenate([group.accepted / np.maximum(group.tried, 1) for group in groups])
        return Chains(draws[:, :kept], logs[:, :kept], acceptance, burn_in=self.burn_in, thin=self.thin)

    def _groups(self, start: Any) -> list[Any]:
        raise NotImplementedError

    def _user_functions(self) -> tuple[Any, ...]:
        """The functions of the user that an iteration calls."""
        return (getattr(self, "log_density", None),)

    def _adapting(self) -> bool:
        """Whether proposals are adapted during burn-in."""
        return False

    def _adapt(self, groups: list[Any], window: np.ndarray) -> None:
        """Learn from a window of the burn-in, of shape (n_chains, n, d)."""

    def _remarks(self, chains: Chains) -> list[str]:
        """Sentences on chains that no proposal moved, or that disagree."""
        acceptance = np.asarray(chains.acceptance)
        stuck = np.argwhere(acceptance == 0.0)
        if chains.n_samples * chains.thin < FEWEST:
            return []
        if not len(stuck):
            return disagreement(chains)
        if acceptance.ndim == 2:
            where = f"component {stuck[0][1]} of chain {stuck[0][0]}"
        else:
            where = f"chains {stuck[:, 0].tolist()}"
        return [
            f"acceptance 0 in {where}: none of {chains.n_samples * chains.thin} proposals was accepted, so the "
            "draws are one point again and again. Take a smaller scale, a longer burn_in (which adapts the scale), "
            "or a proposal that is more like the target."
        ]

    def _points(self, start: Any) -> np.ndarray:
        """The starts of all chains, of shape (n_chains, d)."""
        name, n = type(self).__name__, self.n_chains
        if start is None:
            raise ValueError(
                f"{name}: start must be given: a point of shape (d,), or ({n}, d) for each chain."
            )
        given = start.draws[:, -1] if isinstance(start, Chains) else start
        try:
            points = np.array(given, dtype=np.float64)
        except Broken:
            raise ValueError(f"{name}: start must hold numbers; got {shown(start)}.") from None
        if points.ndim < 2:
            points = np.repeat(points.reshape(1, -1), n, axis=0)
        if points.ndim != 2 or points.shape[0] != n or not points.shape[1]:
            raise ValueError(
                f"{name}: start must have shape (d,) or (n_chains, d) with n_chains={n}; got shape {points.shape}."
            )
        if not np.isfinite(points).all():
            c = int(np.argwhere(~np.isfinite(points))[0][0])
            raise ValueError(f"{name}: start must be finite; chain {c} would start at {points[c].tolist()}.")
        return points


def disagreement(chains: Chains) -> list[str]:
    """A sentence on chains whose R-hat is above their limit."""
    if chains.n_samples < FEWEST:
        return []
    # Sorting all draws may take longer than drawing them: a few are judged first.
    some = chains.discard(0, max(chains.n_samples // JUDGED, 1))
    for judged in (some, chains):
        rhat, limit = judged.rhat(), judged.rhat_limit()
        if not (rhat > limit).any():  # NaN where a component is the same number in all draws
            return []
    worst = int(np.nanargmax(rhat))
    who = (
        "the chains disagree"
        if chains.n_chains > 1
        else "the first and the second half of the chain disagree"
    )
    return [
        f"{who}: R-hat of {chains.names[worst]} is {rhat[worst]:.3g}, and should be at most {limit:.3g}. The draws "
        "do not represent the target yet. Take more samples and a longer burn_in, or larger moves (another "
        "proposal or scale, blocks of components). If each chain stays in a mode of its own, only other moves help."
    ]


def _advanced(item: Any, n: int, thin: int) -> None:
    group, draws, logs = item
    group.advance(n, thin, draws, logs)


def _rate(groups: list[ChainGroup]) -> float:
    return float(sum(g.accepted.sum() for g in groups) / max(sum(g.tried.sum() for g in groups), 1))


class PointDensity:
    """The user's log density of one point, with what it may not return.

    Parameters
    ----------
    function : callable
        Log density of a point of shape (d,).
    args : tuple
        Further arguments.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function, self.args = function, args

    def __call__(self, x: np.ndarray) -> float:
        value = self.function(x.copy(), *self.args)  # which may change its own
        if type(value) is np.ndarray and value.size == 1:  # -x**2 / 2 of a point of one component
            value = value.item()
        try:
            value = float(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"log_density must return a number; at x={x.tolist()} it is {shown(value)}."
            ) from None
        if not value < np.inf:
            refuse_value(value, x)
        return value


class VectorDensity(PointDensity):
    """The user's log density of all chains at once: (n_chains, d) to (n_chains,)."""

    def __call__(self, x: np.ndarray) -> Any:
        found = np.asarray(self.function(x.copy(), *self.args), dtype=np.float64)
        if found.shape != (len(x),):
            raise ValueError(
                f"log_density with vectorized=True gets points of shape {x.shape} and must return shape "
                f"({len(x)},); got shape {found.shape}."
            )
        bad = ~(found < np.inf)
        if bad.any():
            c = int(np.argmax(bad))
            refuse_value(found[c], x[c])
        return found


def refuse_array(function: Any, x: np.ndarray, args: tuple[Any, ...]) -> None:
    """Raise on a jitted density that returns an array, on which numba would say much and explain little."""
    value = function(x.copy(), *args)
    if isinstance(value, np.ndarray):
        raise TypeError(
            f"a jitted log_density must return a number; it returned an array of shape {value.shape}."
        )


def start_densities(density: PointDensity, points: np.ndarray) -> np.ndarray:
    """Log densities of the starts; an error where one is zero."""
    if isinstance(density, VectorDensity):
        values = np.array(density(points))
    else:
        values = np.array([density(x) for x in points])
    for c in np.flatnonzero(values == -np.inf):
        raise ValueError(
            f"log_density is -infinity at the start of chain {c}, x={points[c].tolist()}: start where the density "
            "is positive."
        )
    return values

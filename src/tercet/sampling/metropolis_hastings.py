"""Metropolis-Hastings: propose, then accept or stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.input_errors import Broken, shown
from tercet.core.parameters import ArrayLike, Count, CountOrZero, Jobs, Positive, Seed
from tercet.core.user_functions import is_jitted
from tercet.sampling._engine.adaptation import RandomWalkAdaptation
from tercet.sampling._engine.discrete import DiscreteChain
from tercet.sampling._engine.groups import ChainGroup, RandomWalkChain
from tercet.sampling._engine.loops import independence_loop, random_walk_loop
from tercet.sampling._engine.moves import ConditionalMoves, IndependentMoves, WalkMoves
from tercet.sampling._engine.random_blocks import RandomBlocks, seed_sequences
from tercet.sampling.markov_chain_sampler import (
    MarkovChainSampler,
    PointDensity,
    VectorDensity,
    refuse_array,
    start_densities,
)
from tercet.sampling.metropolis_hastings_kernel import acceptance_probabilities
from tercet.sampling.proposals import ConditionalProposal, IndependentProposal

OPTIMAL = 2.38  # scale of a random walk on a standard normal target, times sqrt(d)


@method(
    zh="Metropolis-Hastings 算法",
    task="sampling",
    model="Markov chain with stationary distribution p: propose x' ~ q(x, ·), accept with probability α, else stay",
    strategy="detailed balance p(x) q(x, x') α(x, x') = p(x') q(x', x) α(x', x)",
    algorithms={
        "metropolis-hastings": "α = min{1, p(x') q(x', x) / (p(x) q(x, x'))}",
        "basic": "α = p(x') q(x', x), which accepts less often",
    },
    texts=["Li ch. 19", "Machine Learning in Depth ch. 5, Alg 5, Alg 6", "watermelon notes ch. 12, 12.4"],
    peers=["emcee", "pymc.Metropolis"],
)
class MetropolisHastings(MarkovChainSampler):
    """Metropolis-Hastings sampler of a distribution whose density is known up to a constant.

    From x a candidate x' ~ q(x, x') is proposed, and accepted with probability

        α(x, x') = min{1, p(x') q(x', x) / (p(x) q(x, x'))}.

    On rejection the chain stays, and x counts once more. For a symmetric proposal q cancels.

    A plain Python function of one point works; one of all chains at once (`vectorized=True`) is faster; one that is
    compiled by numba (`@njit`) runs with the whole loop as machine code, on `n_jobs` threads. All give the same
    chains. Data go in as `args`:

        @numba.njit
        def log_density(x, y):
            return -0.5 * ((y - x[0]) ** 2).sum()

        MetropolisHastings(log_density, args=(y,), n_jobs=-1).sample(10_000, start=[0.0])

    Parameters
    ----------
    log_density : callable or array of shape (n_states,)
        log p(x) up to a constant, -inf where p is zero, for x of shape (d,). An array holds log p of the states
        0, 1, ... of a discrete distribution; the proposal is a matrix then.
    proposal : {"normal", "uniform"}, IndependentProposal, ConditionalProposal, scipy.stats distribution or matrix
        A symmetric random walk; candidates that do not depend on x; the user's functions; or q(i, j) of a discrete
        distribution, whose rows sum to 1. A frozen distribution of scipy.stats is an `IndependentProposal`.
    scale : float, optional
        Standard deviation of a random walk's moves, times that of `covariance`; 2.38 / sqrt(d) by default.
    covariance : array of shape (d, d), optional
        Covariance of the moves at scale 1; the identity by default.
    adapt : bool, optional
        Whether scale and covariance of a random walk are adapted to all chains' draws, during burn-in only: the
        draws that are kept come from one fixed proposal. By default if neither `scale` nor `covariance` is given.
    acceptance : {"metropolis-hastings", "basic"}, default="metropolis-hastings"
        The acceptance probability. "basic" needs p(x') q(x', x) <= 1 everywhere.
    n_chains : int, default=4
        Chains, each with random numbers of its own.
    burn_in : int, default=1000
        Iterations of each chain that are discarded. To learn the covariance of d components takes
        some 100 d iterations, and thousands for tens of components; `rhat` shows when it was too few.
    thin : int, default=1
        Iterations per draw that is kept.
    vectorized : bool, default=False
        Whether `log_density` takes all chains, of shape (n_chains, d), and returns shape (n_chains,).
    args : tuple, default=()
        Further arguments of `log_density`.
    n_jobs : int, optional
        Threads for a jitted `log_density`; the draws are the same for any number.
    random_state : int, Generator, RandomState or None, default=None
        Seed.
    callback : callable, optional
        Called with the step after each of some hundred parts of the run (`step.measures` has `kept` and
        `acceptance`); a true return value ends it. scikit-learn's callbacks (`set_callbacks`) work, too.

    Attributes
    ----------
    chains_ : Chains
        The draws of the last run, also of one that Ctrl-C ended.
    covariance_ : array of shape (d, d)
        Covariance of a random walk's moves after burn-in, scale included.

    Examples
    --------
    >>> precision = np.array([[1.0, -0.8], [-0.8, 1.0]])
    >>> sampler = MetropolisHastings(lambda x: -0.5 * x @ precision @ x, random_state=0)
    >>> chains = sampler.sample(2000, start=[0.0, 0.0])
    >>> bool((abs(chains.mean()) < 4 * chains.mcse()).all()), bool((chains.rhat() < 1.05).all())
    (True, True)

    A discrete distribution:

    >>> sampler = MetropolisHastings(
    ...     np.log([0.2, 0.3, 0.5]), proposal=[[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]], random_state=0
    ... )
    >>> sampler.sample(5000).frequencies([3]).round(1)
    array([0.2, 0.3, 0.5])
    """

    def __init__(
        self,
        log_density: ArrayLike,
        *,
        proposal: Any = "normal",
        scale: Positive | None = None,
        covariance: ArrayLike | None = None,
        adapt: bool | None = None,
        acceptance: Literal["metropolis-hastings", "basic"] = "metropolis-hastings",
        n_chains: Count = 4,
        burn_in: CountOrZero = 1000,
        thin: Count = 1,
        vectorized: bool = False,
        args: tuple[Any, ...] = (),
        n_jobs: Jobs = None,
        random_state: Seed = None,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.log_density = log_density
        self.proposal = proposal
        self.scale = scale
        self.covariance = covariance
        self.adapt = adapt
        self.acceptance = acceptance
        self.n_chains = n_chains
        self.burn_in = burn_in
        self.thin = thin
        self.vectorized = vectorized
        self.args = args
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    def _groups(self, start: Any) -> list[Any]:
        if not callable(self.log_density):
            return self._discrete(start)
        points = self._points(start)
        density: PointDensity = (VectorDensity if self.vectorized else PointDensity)(
            self.log_density, self.args
        )
        log_p = start_densities(density, points)
        proposal = self._proposal()
        kind = proposal if isinstance(proposal, str) else "normal"
        d = points.shape[1]
        blocks = [RandomBlocks(seed, d, kind) for seed in seed_sequences(self.random_state, self.n_chains)]
        basic = self.acceptance == "basic"
        if isinstance(proposal, str):
            self._walk = RandomWalkAdaptation(self._factor(d), self.burn_in)
            factor = self._walk.factor
            self.covariance_ = factor @ factor.T
            moves: list[Any] = [WalkMoves(one, factor, densities=basic) for one in blocks]
        elif isinstance(proposal, IndependentProposal):
            moves = [IndependentMoves(one, proposal, x) for one, x in zip(blocks, points)]
        else:
            moves = [ConditionalMoves(one, proposal) for one in blocks]
        if self.vectorized:
            return [VectorizedChains(points, log_p, blocks, density, moves, basic)]
        one_of = [slice(c, c + 1) for c in range(self.n_chains)]
        if is_jitted(self.log_density) and not basic and not isinstance(proposal, ConditionalProposal):
            refuse_array(self.log_density, points[0], self.args)
            loop = (random_walk_loop if isinstance(proposal, str) else independence_loop)(self.log_density)
            return [
                RandomWalkChain(points[c], log_p[c], [blocks[k]], loop, moves[k], self.args)
                for k, c in enumerate(one_of)
            ]
        return [
            PointwiseChain(points[c], log_p[c], [blocks[k]], density, moves[k], basic)
            for k, c in enumerate(one_of)
        ]

    def _proposal(self) -> Any:
        given = self.proposal
        if isinstance(given, str) and given in ("normal", "uniform"):
            return given
        if isinstance(given, IndependentProposal | ConditionalProposal):
            return given
        if hasattr(given, "rvs") and hasattr(given, "logpdf"):
            return IndependentProposal(given)
        raise ValueError(
            "MetropolisHastings: proposal must be 'normal', 'uniform', an IndependentProposal, a "
            f"ConditionalProposal or a distribution with rvs and logpdf; got {shown(given)}."
        )

    def _factor(self, d: int) -> np.ndarray:
        """Lower triangular L of the first moves L z."""
        scale = OPTIMAL / d**0.5 if self.scale is None else float(self.scale)
        if self.covariance is None:
            return scale * np.eye(d)
        try:
            covariance = np.asarray(self.covariance, dtype=np.float64)
            if covariance.shape != (d, d) or not np.allclose(covariance, covariance.T):
                raise ValueError
            return scale * np.linalg.cholesky(covariance)
        except (*Broken, np.linalg.LinAlgError):
            raise ValueError(
                f"MetropolisHastings: covariance must be a positive definite matrix of shape ({d}, {d}); got "
                f"{shown(self.covariance)}."
            ) from None

    def _adapting(self) -> bool:
        if not callable(self.log_density) or not isinstance(self.proposal, str):
            return False
        return self.scale is None and self.covariance is None if self.adapt is None else bool(self.adapt)

    def _adapt(self, groups: list[Any], window: np.ndarray) -> None:
        self._walk.update(window, int(sum(group.accepted.sum() for group in groups)))
        factor = self._walk.factor
        self.covariance_ = factor @ factor.T
        for group in groups:
            for moves in group.moves if isinstance(group.moves, list) else [group.moves]:
                moves.factor = factor

    def _remarks(self, chains: Any) -> list[str]:
        remarks = super()._remarks(chains)
        if self._adapting() and self.burn_in >= 100 and chains.acceptance_rate > 0.98:
            widest = np.sqrt(np.diagonal(self.covariance_)).max()
            remarks.append(
                f"{chains.acceptance_rate:.0%} of the proposals were accepted, although the scale of the moves "
                f"grew to {widest:.3g}: the density hardly changes over such distances. If it has no finite "
                "integral (is improper), there is no distribution to draw from."
            )
        return remarks

    def _discrete(self, start: Any) -> list[Any]:
        try:
            log_p = np.asarray(self.log_density, dtype=np.float64)
        except Broken:
            log_p = np.empty(0)
        if log_p.ndim != 1 or not log_p.size or not np.isfinite(log_p).any() or not (log_p < np.inf).all():
            raise ValueError(
                "MetropolisHastings: log_density must be a callable, or the log probabilities of discrete states "
                f"(no NaN or +infinity, not all -infinity); got {shown(self.log_density)}."
            )
        if log_p.size > 1 and (log_p >= 0).all() and abs(log_p.sum() - 1.0) < 1e-9:
            raise ValueError(
                "MetropolisHastings: log_density holds probabilities (they sum to 1); give their logarithms, "
                f"np.log({shown(self.log_density)})."
            )
        if isinstance(self.proposal, str):
            raise ValueError(
                "MetropolisHastings: with log_density an array, proposal must be a matrix of shape "
                f"({log_p.size}, {log_p.size}) whose rows sum to 1; got {self.proposal!r}."
            )
        p = np.exp(log_p - log_p.max()) if self.acceptance != "basic" else np.exp(log_p)
        alpha = acceptance_probabilities(p, self.proposal, self.acceptance)
        states = self._states(start, log_p)
        seeds = seed_sequences(self.random_state, self.n_chains)
        with np.errstate(divide="ignore"):
            log_alpha = np.log(alpha)
        cumulative = np.cumsum(np.asarray(self.proposal, dtype=np.float64), axis=1)
        return [
            DiscreteChain(states[c : c + 1], log_p, RandomBlocks(seed, 1, "unit"), cumulative, log_alpha)
            for c, seed in enumerate(seeds)
        ]

    def _states(self, start: Any, log_p: np.ndarray) -> np.ndarray:
        """Integer states of shape (n_chains, 1); by default the most probable one."""
        given = np.argmax(log_p) if start is None else start
        points = self._points(given)
        states = points.astype(np.int64)
        if (
            points.shape[1] != 1
            or (states != points).any()
            or (states < 0).any()
            or (states >= log_p.size).any()
        ):
            raise ValueError(
                f"MetropolisHastings: start must be a state from 0 to {log_p.size - 1}; got {shown(start)}."
            )
        for state in states[log_p[states] == -np.inf]:
            raise ValueError(
                f"MetropolisHastings: start={state} has probability 0: start at a possible state."
            )
        return states


class PointwiseChain(ChainGroup):
    """One chain with a density of one point: the algorithm in plain form."""

    def __init__(
        self, x: Any, log_p: Any, blocks: Any, density: PointDensity, moves: Any, basic: bool
    ) -> None:
        super().__init__(x, log_p, blocks)
        self.density, self.moves, self.basic = density, moves, basic

    def iterate(self, here: list[slice], thin: int, draws: np.ndarray, logs: np.ndarray) -> None:
        self.moves.ready()
        log_uniforms = self.blocks[0].log_uniforms
        x, log_p = self.x[0].copy(), float(self.log_p[0])
        for i in range(here[0].start, here[0].stop):
            candidate, there, back = self.moves.candidate(i, x)
            new = self.density(candidate)
            log_alpha = new + back if self.basic else new - log_p + back - there
            if self.basic and log_alpha > 0:
                refuse_basic(candidate, log_alpha)
            if log_uniforms[i] < log_alpha:
                x, log_p = candidate, new
                self.moves.accepted(i)
                self.accepted[0] += 1
                self.x[0], self.log_p[0] = x, log_p
            self.tried[0] += 1
            self.keep(thin, draws, logs)


class VectorizedChains(ChainGroup):
    """All chains with a density of all their points at once."""

    def __init__(
        self, x: Any, log_p: Any, blocks: Any, density: PointDensity, moves: Any, basic: bool
    ) -> None:
        super().__init__(x, log_p, blocks)
        self.density, self.moves, self.basic = density, moves, basic
        self.walk = isinstance(moves[0], WalkMoves) and not basic
        self._stacked: Any = None

    def iterate(self, here: list[slice], thin: int, draws: np.ndarray, logs: np.ndarray) -> None:
        for moves in self.moves:
            moves.ready()
        uniforms = np.stack([blocks.log_uniforms[here[0]] for blocks in self.blocks], axis=1)
        walks = np.stack([moves.moves[here[0]] for moves in self.moves], axis=1) if self.walk else None
        candidates: Any
        there: Any = 0.0
        back: Any = 0.0
        for k, i in enumerate(range(here[0].start, here[0].stop)):
            if walks is not None:
                candidates = self.x + walks[k]
            else:
                parts = [moves.candidate(i, x) for moves, x in zip(self.moves, self.x)]
                candidates, there, back = (np.array(part) for part in zip(*parts))
            new = self.density(candidates)
            log_alpha = new + back if self.basic else new - self.log_p + back - there
            if self.basic and (log_alpha > 0).any():
                refuse_basic(candidates[np.argmax(log_alpha)], log_alpha.max())
            accepted = uniforms[k] < log_alpha
            self.x = np.where(accepted[:, None], candidates, self.x)
            self.log_p = np.where(accepted, new, self.log_p)
            if walks is None:
                for c in np.flatnonzero(accepted):
                    self.moves[c].accepted(i)
            self.accepted += accepted
            self.tried += 1
            self.keep(thin, draws, logs)


def refuse_basic(x: np.ndarray, log_alpha: float) -> None:
    """Raise on an acceptance probability p(x') q(x', x) above 1."""
    raise ValueError(
        "MetropolisHastings: acceptance='basic' needs p(x') q(x', x) <= 1; at "
        f"x'={np.asarray(x).tolist()} it is {np.exp(min(log_alpha, 700.0)):.6g}. Scale the density down, or take "
        "acceptance='metropolis-hastings'."
    )

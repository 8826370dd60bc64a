"""Single-component Metropolis-Hastings: one component moves at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.input_errors import Broken, shown
from tercet.core.parameters import ArrayLike, Count, CountOrZero, Jobs, Seed
from tercet.core.user_functions import is_jitted
from tercet.sampling._engine.adaptation import LARGEST, SMALLEST, scale_factor
from tercet.sampling._engine.groups import ChainGroup, SingleComponentChain
from tercet.sampling._engine.loops import single_component_loop
from tercet.sampling._engine.random_blocks import RandomBlocks, seed_sequences
from tercet.sampling.markov_chain_sampler import (
    MarkovChainSampler,
    PointDensity,
    VectorDensity,
    refuse_array,
    start_densities,
)
from tercet.sampling.proposals import ConditionalProposal

BEST_RATE = 0.44  # of a random walk in one dimension


@method(
    zh="单分量 Metropolis-Hastings 算法",
    task="sampling",
    model="Markov chain with stationary distribution p whose components move in turn, given the others",
    strategy="detailed balance of each component's full conditional distribution",
    algorithms={
        "cyclic": "components in order",
        "random": "d components drawn at random in each iteration",
    },
    texts=["Li ch. 19"],
    peers=["pymc.Metropolis"],
)
class SingleComponentMetropolisHastings(MarkovChainSampler):
    """Metropolis-Hastings that moves one component at a time.

    In each iteration, for each component j in turn, a candidate x_j' ~ q is proposed and accepted with probability

        α = min{1, p(x_j' | x_-j) q(x_j', x_j) / (p(x_j | x_-j) q(x_j, x_j'))}.

    The ratio of the full conditionals is that of the joint density, which is all that is needed.

    Parameters
    ----------
    log_density : callable
        log p(x) up to a constant, -inf where p is zero, for x of shape (d,).
    proposal : {"normal", "uniform"} or ConditionalProposal, default="normal"
        A symmetric random walk of the component, or functions `sample(x, j, rng)` and
        `log_density(candidate, x, j)`.
    scale : float or array of shape (d,), optional
        Standard deviations of the moves; 1 by default.
    adapt : bool, optional
        Whether each component's scale is adapted to an acceptance rate of 0.44, during burn-in only. By default if
        no `scale` is given.
    scan : {"cyclic", "random"}, default="cyclic"
        Whether an iteration goes through the components in order, or draws d of them at random.
    n_chains : int, default=4
        Chains, each with random numbers of its own.
    burn_in : int, default=1000
        Iterations of each chain that are discarded.
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
        Called with the step after each of some hundred parts of the run; a true return value ends it.

    Attributes
    ----------
    chains_ : Chains
        The draws of the last run, also of one that Ctrl-C ended.
    scale_ : array of shape (d,)
        Standard deviations of the moves after burn-in.

    Examples
    --------
    >>> sampler = SingleComponentMetropolisHastings(
    ...     lambda x: -0.5 * (x[0] ** 2 + x[1] ** 2 / 100), random_state=0
    ... )
    >>> chains = sampler.sample(2000, start=[0.0, 0.0])
    >>> chains.std().round(0)
    array([ 1., 10.])
    """

    def __init__(
        self,
        log_density: Callable[..., Any],
        *,
        proposal: Any = "normal",
        scale: ArrayLike | None = None,
        adapt: bool | None = None,
        scan: Literal["cyclic", "random"] = "cyclic",
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
        self.adapt = adapt
        self.scan = scan
        self.n_chains = n_chains
        self.burn_in = burn_in
        self.thin = thin
        self.vectorized = vectorized
        self.args = args
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    def _groups(self, start: Any) -> list[Any]:
        points = self._points(start)
        density: PointDensity = (VectorDensity if self.vectorized else PointDensity)(
            self.log_density, self.args
        )
        log_p = start_densities(density, points)
        d = points.shape[1]
        self.scale_ = self._scales(d)
        walk = isinstance(self.proposal, str)
        if not (walk and self.proposal in ("normal", "uniform")) and not isinstance(
            self.proposal, ConditionalProposal
        ):
            raise ValueError(
                "SingleComponentMetropolisHastings: proposal must be 'normal', 'uniform' or a ConditionalProposal; "
                f"got {shown(self.proposal)}."
            )
        kind = self.proposal if walk else "normal"
        blocks = [
            RandomBlocks(seed, d, kind, (d,)) for seed in seed_sequences(self.random_state, self.n_chains)
        ]
        for one in blocks:
            one.random_scan = self.scan == "random"
        if self.vectorized:
            if not walk or self.scan == "random":
                raise ValueError(
                    "SingleComponentMetropolisHastings: vectorized=True goes with proposal='normal' or 'uniform' "
                    f"and scan='cyclic'; got proposal={shown(self.proposal)}, scan={self.scan!r}."
                )
            return [VectorizedComponents(points, log_p, blocks, density, self.scale_)]
        one_of = [slice(c, c + 1) for c in range(self.n_chains)]
        if is_jitted(self.log_density) and walk:
            refuse_array(self.log_density, points[0], self.args)
            loop = single_component_loop(self.log_density)
            return [
                SingleComponentChain(points[c], log_p[c], [blocks[k]], loop, self.scale_, self.args)
                for k, c in enumerate(one_of)
            ]
        proposal = None if walk else self.proposal
        return [
            ComponentwiseChain(points[c], log_p[c], [blocks[k]], density, self.scale_, proposal)
            for k, c in enumerate(one_of)
        ]

    def _scales(self, d: int) -> np.ndarray:
        try:
            scales = np.array(1.0 if self.scale is None else self.scale, dtype=np.float64)
            scales = np.broadcast_to(scales, (d,)).copy()
        except Broken:
            scales = np.full(d, np.nan)
        if not ((scales > 0) & (scales < np.inf)).all():
            raise ValueError(
                f"SingleComponentMetropolisHastings: scale must be a positive number, or {d} of them; got "
                f"{shown(self.scale)}."
            )
        return scales

    def _adapting(self) -> bool:
        if not isinstance(self.proposal, str):
            return False
        return self.scale is None if self.adapt is None else bool(self.adapt)

    def _adapt(self, groups: list[Any], window: np.ndarray) -> None:
        accepted = np.sum([group.accepted.sum(axis=0) for group in groups], axis=0)
        tried = np.sum([group.tried.sum(axis=0) for group in groups], axis=0)
        factor = np.where(tried > 0, scale_factor(accepted, np.maximum(tried, 1), BEST_RATE), 1.0)
        self.scale_ = np.clip(self.scale_ * factor, SMALLEST, LARGEST)
        for group in groups:
            group.scales = self.scale_


class ComponentwiseChain(ChainGroup):
    """One chain with a density of one point: the algorithm in plain form."""

    def __init__(
        self, x: Any, log_p: Any, blocks: Any, density: PointDensity, scales: Any, proposal: Any
    ) -> None:
        super().__init__(x, log_p, blocks, by_component=True)
        self.density, self.scales, self.proposal = density, scales, proposal

    def iterate(self, here: list[slice], thin: int, draws: np.ndarray, logs: np.ndarray) -> None:
        blocks = self.blocks[0]
        x, log_p = self.x[0].copy(), float(self.log_p[0])
        for i in range(here[0].start, here[0].stop):
            for k, j in enumerate(blocks.order[i]):
                candidate = x.copy()
                ratio = 0.0
                if self.proposal is None:
                    candidate[j] += self.scales[j] * blocks.moves[i, k]
                else:
                    candidate[j], ratio = self._proposed(x, int(j))
                new = self.density(candidate)
                if blocks.log_uniforms[i, k] < new - log_p + ratio:
                    x, log_p = candidate, new
                    self.accepted[0, j] += 1
                self.tried[0, j] += 1
            self.x[0], self.log_p[0] = x, log_p
            self.keep(thin, draws, logs)

    def _proposed(self, x: np.ndarray, j: int) -> tuple[float, float]:
        """A candidate for component j, and log q(x', x) - log q(x, x')."""
        value = float(self.proposal.sample(x.copy(), j, self.blocks[0].rng))
        if not np.isfinite(value):
            raise ValueError(
                f"ConditionalProposal: sample must return a finite number; got {value} for component {j} at "
                f"x={x.tolist()}."
            )
        if self.proposal.log_density is None:
            return value, 0.0
        candidate = x.copy()
        candidate[j] = value
        back = self.proposal.log_density(x, candidate, j)
        return value, float(back - self.proposal.log_density(candidate, x, j))


class VectorizedComponents(ChainGroup):
    """All chains with a density of all their points at once."""

    def __init__(self, x: Any, log_p: Any, blocks: Any, density: PointDensity, scales: Any) -> None:
        super().__init__(x, log_p, blocks, by_component=True)
        self.density, self.scales = density, scales

    def iterate(self, here: list[slice], thin: int, draws: np.ndarray, logs: np.ndarray) -> None:
        moves = np.stack([blocks.moves[here[0]] for blocks in self.blocks], axis=1)
        uniforms = np.stack([blocks.log_uniforms[here[0]] for blocks in self.blocks], axis=1)
        for i in range(len(moves)):
            for j in range(self.x.shape[1]):
                candidates = self.x.copy()
                candidates[:, j] += self.scales[j] * moves[i, :, j]
                new = self.density(candidates)
                accepted = uniforms[i, :, j] < new - self.log_p
                self.x = np.where(accepted[:, None], candidates, self.x)
                self.log_p = np.where(accepted, new, self.log_p)
                self.accepted[:, j] += accepted
            self.tried += 1
            self.keep(thin, draws, logs)

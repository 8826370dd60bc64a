"""Gibbs sampling: each component is drawn from its distribution given all the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from tercet.core.catalog import method
from tercet.core.input_errors import Broken, shown
from tercet.core.parameters import Count, CountOrZero, Jobs, Seed
from tercet.core.user_functions import is_jitted
from tercet.sampling._engine.discrete import TableChain
from tercet.sampling._engine.groups import ChainGroup
from tercet.sampling._engine.loops import gibbs_loop
from tercet.sampling._engine.random_blocks import RandomBlocks, seed_sequences
from tercet.sampling.chains import Chains
from tercet.sampling.gibbs_kernel import check_order, check_table
from tercet.sampling.markov_chain_sampler import MarkovChainSampler


@method(
    zh="吉布斯抽样",
    task="sampling",
    model="Markov chain with stationary distribution p: x_j ~ p(x_j | x_-j) for one component after the other",
    strategy="single-component Metropolis-Hastings with the full conditionals as proposals: every move is accepted",
    algorithms={
        "systematic": "a sweep through the components in order",
        "random": "d components drawn at random in each iteration",
    },
    traits={
        "principle": "random sampling; estimates the posterior",
        "convergence": "in probability to the global optimum",
        "speed": "slower",
        "implementation": "easy",
        "suited to": "complex models",
    },
    texts=[
        "Li ch. 19",
        "Li ch. 22, Table 22.2",
        "Machine Learning in Depth ch. 5, Alg 7, Alg 8",
        "watermelon notes ch. 12, 12.4",
    ],
    peers=["pymc.step_methods"],
)
class GibbsSampler(MarkovChainSampler):
    """Gibbs sampler: draws each component from its full conditional distribution.

    An iteration is a sweep x_j ~ p(x_j | x_1, ..., x_{j-1}, x_{j+1}, ..., x_d), where the components before j are
    new already. Nothing is rejected. A systematic sweep leaves p invariant but is in general not reversible; a
    random scan is.

    Parameters
    ----------
    conditionals : sequence of callables, or array of shape (n_1, ..., n_d)
        `conditionals[j](x, rng)` returns a draw of x_j given the others, x of shape (d,). If all are compiled by
        numba (`@njit`), the whole loop runs as machine code. An array is a table of joint probabilities of
        discrete variables, up to a constant.
    scan : {"systematic", "random"}, default="systematic"
        Whether an iteration goes through the components in order, or draws d of them at random.
    order : sequence of int, optional
        The order of a sweep; 0, 1, ... by default.
    blocks : sequence of sequences of int, optional
        Components that are drawn together: `conditionals[k]` returns those of blocks[k], of shape
        (len(blocks[k]),), or (n_chains, len(blocks[k])) if vectorized. By default each component is a block.
    n_chains : int, default=4
        Chains, each with random numbers of its own.
    burn_in : int, default=100
        Iterations of each chain that are discarded.
    thin : int, default=1
        Iterations per draw that is kept.
    vectorized : bool, default=False
        Whether the conditionals take all chains, x of shape (n_chains, d), and return shape (n_chains,).
    args : tuple, default=()
        Further arguments of the conditionals.
    n_jobs : int, optional
        Threads for jitted conditionals and for tables; the draws are the same for any number.
    random_state : int, Generator, RandomState or None, default=None
        Seed.
    callback : callable, optional
        Called with the step after each of some hundred parts of the run; a true return value ends it.

    Attributes
    ----------
    chains_ : Chains
        The draws of the last run, also of one that Ctrl-C ended.

    Examples
    --------
    >>> r = 0.5  # the bivariate normal distribution, where x_1 | x_2 ~ N(r x_2, 1 - r^2)
    >>> draw = [lambda x, rng, j=j: rng.normal(r * x[1 - j], (1 - r**2) ** 0.5) for j in (0, 1)]
    >>> chains = GibbsSampler(draw, random_state=0).sample(2000, start=[0.0, 0.0])
    >>> float(np.corrcoef(chains.flat().T)[0, 1].round(1))
    0.5

    A table of joint probabilities:

    >>> chains = GibbsSampler([[0.1, 0.2], [0.3, 0.4]], random_state=0).sample(5000)
    >>> chains.frequencies([2, 2]).round(1)
    array([[0.1, 0.2],
           [0.3, 0.4]])
    """

    def __init__(
        self,
        conditionals: Any,
        *,
        scan: Literal["systematic", "random"] = "systematic",
        order: Sequence[int] | None = None,
        blocks: Sequence[Any] | None = None,
        n_chains: Count = 4,
        burn_in: CountOrZero = 100,
        thin: Count = 1,
        vectorized: bool = False,
        args: tuple[Any, ...] = (),
        n_jobs: Jobs = None,
        random_state: Seed = None,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.conditionals = conditionals
        self.scan = scan
        self.order = order
        self.blocks = blocks
        self.n_chains = n_chains
        self.burn_in = burn_in
        self.thin = thin
        self.vectorized = vectorized
        self.args = args
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    def _groups(self, start: Any) -> list[Any]:
        functions = self._user_functions()
        if not functions:
            return self._tables(start)
        points = self._points(start)
        parts = self._parts(points.shape[1])
        if len(functions) != len(parts):
            each = "component" if self.blocks is None else "block"
            raise ValueError(
                f"GibbsSampler: there must be one conditional per {each}; got {len(functions)} for {len(parts)}."
            )
        blocks = self._random_blocks(len(parts))
        if self.vectorized:
            return [
                VectorizedSweeps(points, np.full(len(points), np.nan), blocks, functions, parts, self.args)
            ]
        log_p = np.full(1, np.nan)
        one_of = [slice(c, c + 1) for c in range(self.n_chains)]
        if self.blocks is None and all(is_jitted(function) for function in functions):
            loop = gibbs_loop(functions)
            return [
                JittedSweeps(points[c], log_p, [blocks[k]], loop, self.args) for k, c in enumerate(one_of)
            ]
        return [
            Sweeps(points[c], log_p, [blocks[k]], functions, parts, self.args) for k, c in enumerate(one_of)
        ]

    def _user_functions(self) -> tuple[Any, ...]:
        """The conditionals; none for a table."""
        given = self.conditionals
        if callable(given):
            return (given,)
        if isinstance(given, list | tuple) and given and all(callable(one) for one in given):
            return tuple(given)
        return ()

    def _parts(self, d: int) -> list[Any]:
        """What each conditional draws: a component, or an array of components."""
        if self.blocks is None:
            return list(range(d))
        try:
            parts = [np.array(block, dtype=np.int64).reshape(-1) for block in self.blocks]
            if sorted(np.concatenate(parts).tolist()) != list(range(d)) or not all(p.size for p in parts):
                raise ValueError
        except Broken:
            raise ValueError(
                f"GibbsSampler: blocks must hold each of the components 0 to {d - 1} once; got "
                f"{shown(self.blocks)}."
            ) from None
        return parts

    def _random_blocks(self, d: int) -> list[RandomBlocks]:
        order = check_order(self.order, d)
        blocks = [RandomBlocks(seed, d, "unit") for seed in seed_sequences(self.random_state, self.n_chains)]
        for one in blocks:
            one.order = np.ascontiguousarray(np.broadcast_to(np.array(order, np.int64), one.order.shape))
            one.random_scan = self.scan == "random"
        return blocks

    def _tables(self, start: Any) -> list[Any]:
        try:
            joint = check_table(self.conditionals)
        except ValueError as error:
            raise ValueError(
                f"GibbsSampler: conditionals must be callables, one per component, or a table of joint "
                f"probabilities: {error}"
            ) from None
        cumulative = np.empty((joint.ndim, joint.size))
        for j in range(joint.ndim):
            sums = np.cumsum(joint, axis=j)
            last = np.take(sums, [-1], axis=j)
            cumulative[j] = np.divide(sums, last, out=np.ones_like(sums), where=last > 0).ravel()
        given = np.unravel_index(int(np.argmax(joint)), joint.shape) if start is None else start
        points = self._points(given)
        states = points.astype(np.int64)
        if states.shape[1] != joint.ndim or (states != points).any() or not self._inside(states, joint):
            raise ValueError(
                f"GibbsSampler: start must be a cell of the table of shape {joint.shape} whose probability is "
                f"positive; got {shown(start)}."
            )
        blocks = self._random_blocks(joint.ndim)
        return [TableChain(states[c : c + 1], joint, cumulative, blocks[c]) for c in range(self.n_chains)]

    def _inside(self, states: np.ndarray, joint: np.ndarray) -> bool:
        if (states < 0).any() or (states >= np.array(joint.shape)).any():
            return False
        return bool((joint[tuple(states.T)] > 0).all())

    def _result(self, groups: list[Any], draws: np.ndarray, logs: np.ndarray) -> Chains:
        chains = super()._result(groups, draws, logs)
        log_density = chains.log_density if groups[0].x.dtype.kind == "i" else None
        return Chains(chains.draws, log_density, np.ones(self.n_chains), burn_in=self.burn_in, thin=self.thin)

    def _remarks(self, chains: Chains) -> list[str]:
        if self._user_functions():
            return super()._remarks(chains)
        group = connected_cells(check_table(self.conditionals))
        if group.max() < 1:
            return super()._remarks(chains)
        apart = [tuple(int(k) for k in np.argwhere(group == g)[0]) for g in range(2)]
        return [
            f"the possible cells of the table fall into {group.max() + 1} groups that no change of one component "
            f"at a time joins: cell {apart[1]} cannot be reached from cell {apart[0]}. A chain never leaves the "
            "group in which it starts. Combine components that determine each other into one."
        ]


def connected_cells(joint: np.ndarray) -> np.ndarray:
    """Numbers of the groups of positive cells that changes of one component at a time join; -1 where a cell is 0.

    Examples
    --------
    >>> connected_cells(np.array([[0.5, 0.0], [0.0, 0.5]]))
    array([[ 0, -1],
           [-1,  1]])
    """
    cells = np.argwhere(joint > 0)
    lines, first = [], len(cells)  # a cell is joined to the lines through it, one along each axis
    for axis in range(joint.ndim):
        shape = tuple(n for a, n in enumerate(joint.shape) if a != axis)
        lines.append(
            first + np.ravel_multi_index(tuple(np.delete(cells, axis, axis=1).T), shape)
            if shape
            else np.full(len(cells), first)
        )
        first += math.prod(shape)
    ends = np.concatenate(lines)
    starts = np.tile(np.arange(len(cells)), joint.ndim)
    graph = coo_matrix((np.ones(len(ends), dtype=bool), (starts, ends)), shape=(first, first))
    labels = np.unique(connected_components(graph, directed=False)[1][: len(cells)], return_inverse=True)[1]
    group = np.full(joint.shape, -1, dtype=np.int64)
    group[tuple(cells.T)] = labels
    return group


class Sweeps(ChainGroup):
    """One chain with conditionals of one point: the algorithm in plain form."""

    def __init__(self, x: Any, log_p: Any, blocks: Any, functions: Any, parts: list[Any], args: Any) -> None:
        super().__init__(x, log_p, blocks)
        self.functions, self.parts, self.args = functions, parts, args

    def iterate(self, here: list[slice], thin: int, draws: np.ndarray, logs: np.ndarray) -> None:
        rng, x = self.blocks[0].rng, self.x[0]
        for i in range(here[0].start, here[0].stop):
            for k in self.blocks[0].order[i].tolist():
                part = self.parts[k]
                value = self.functions[k](x.copy(), rng, *self.args)
                x[part] = drawn(value, np.shape(part), k)
            self.accepted += 1
            self.tried += 1
            self.keep(thin, draws, logs)


class VectorizedSweeps(ChainGroup):
    """All chains with conditionals of all their points at once; they share the first chain's random numbers."""

    def __init__(self, x: Any, log_p: Any, blocks: Any, functions: Any, parts: list[Any], args: Any) -> None:
        super().__init__(x, log_p, blocks[:1])
        self.functions, self.parts, self.args = functions, parts, args

    def iterate(self, here: list[slice], thin: int, draws: np.ndarray, logs: np.ndarray) -> None:
        rng = self.blocks[0].rng
        for i in range(here[0].start, here[0].stop):
            for k in self.blocks[0].order[i].tolist():
                part = self.parts[k]
                value = self.functions[k](self.x.copy(), rng, *self.args)
                self.x[:, part] = drawn(value, (len(self.x), *np.shape(part)), k)
            self.accepted += 1
            self.tried += 1
            self.keep(thin, draws, logs)


class JittedSweeps(ChainGroup):
    """One chain with jitted conditionals, in a compiled loop."""

    def __init__(self, x: Any, log_p: Any, blocks: Any, loop: Any, args: Any) -> None:
        super().__init__(x, log_p, blocks)
        self.loop, self.args = loop, args

    def iterate(self, here: list[slice], thin: int, draws: np.ndarray, logs: np.ndarray) -> None:
        blocks, many = self.blocks[0], here[0].stop - here[0].start
        kept, bad = self.loop(
            self.x[0], blocks.order[here[0]], blocks.rng, thin, self.phase, draws[0, self.kept :], self.args
        )
        if bad >= 0:
            refuse_draw(bad, self.x[0, bad])
        self.phase += many - kept * thin
        self.kept += kept
        self.accepted += many
        self.tried += many


def drawn(value: Any, shape: tuple[int, ...], k: int) -> Any:
    """The k-th conditional's draw, if it is of this shape and finite; an error otherwise."""
    if not shape and isinstance(value, float) and math.isfinite(value):  # NumPy's floats, too
        return value
    try:
        found = np.asarray(value, dtype=np.float64)
        if found.size == 1:
            found = found.reshape(shape)
    except Broken:
        found = np.full(1, np.nan)
    if found.shape != shape or not np.isfinite(found).all():
        refuse_draw(k, value, shape)
    return found


def refuse_draw(k: int, value: Any, shape: tuple[int, ...] = ()) -> None:
    """Raise on a draw that is no number."""
    wanted = f"finite numbers of shape {shape}" if shape else "a finite number"
    raise ValueError(f"GibbsSampler: conditionals[{k}] must return {wanted}; got {shown(value)}.")


def normal_conditionals(mean: Any, covariance: Any) -> list[Callable[..., Any]]:
    """Full conditionals of a multivariate normal distribution, for `GibbsSampler`.

    With the precision matrix P = Σ^-1, x_j given the others is normal with variance 1 / P_jj and mean
    m_j - Σ_{k ≠ j} P_jk (x_k - m_k) / P_jj.

    Parameters
    ----------
    mean : array of shape (d,)
    covariance : array of shape (d, d)

    Returns
    -------
    list of callables
        Functions of (x, rng), for one point or for all chains (`vectorized=True`).

    Examples
    --------
    >>> conditionals = normal_conditionals([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])
    >>> sampler = GibbsSampler(conditionals, vectorized=True, n_chains=50, random_state=0)
    >>> chains = sampler.sample(200, start=[0.0, 0.0])
    >>> float(chains.autocorrelation(1)[:, 1, 0].mean().round(1))
    0.2
    """
    m, S = np.asarray(mean, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    if m.ndim != 1 or S.shape != (m.size, m.size) or not np.allclose(S, S.T):
        raise ValueError(
            f"covariance must be a symmetric matrix of shape ({m.size}, {m.size}); got shape {S.shape}."
        )
    try:
        np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        raise ValueError(f"covariance must be positive definite; got {shown(covariance)}.") from None
    P = np.linalg.inv(S)

    def conditional(j: int) -> Callable[..., Any]:
        weights = -np.delete(P[j], j) / P[j, j]
        deviation, others = P[j, j] ** -0.5, np.delete(np.arange(m.size), j)

        def draw(x: np.ndarray, rng: np.random.Generator) -> Any:
            middle = m[j] + (x[..., others] - m[others]) @ weights
            return rng.normal(middle, deviation)

        return draw

    return [conditional(j) for j in range(m.size)]

"""Gibbs sampling in graphical models (吉布斯采样推断): one variable or block at a time, given the others."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.kernel import kernel
from tercet.core.steps import ConvergenceWarning
from tercet.graphical.factor import Factor, FactorModel, Table, factor_model, impossible
from tercet.graphical.inference.likelihood_weighting import forward_samples, weighted_counts
from tercet.graphical.inference.variable_elimination import most_probable_explanation
from tercet.sampling import Chains

STARTS = 200  # random states tried as starts of the chains; if none is possible, a hundred times as many
NUMBERS = 1 << 20  # random numbers drawn at a time
# Variables are drawn together if changes of one at a time lead through states that are so much less probable.
BARRIER = 0.1
LOOKED_AT = 1 << 20  # the most pairs of states of a factor that are compared
MOST_STATES = 4096  # the most joint states of a block
MOST_OF_PART = 32  # the same for overlapping blocks, where a single one would have too many
FEWEST = 20  # draws of a chain from which R-hat is computed
CROSSINGS = 1  # warn if fewer crossings of a barrier are expected in a run of all chains


@method(
    zh="吉布斯采样推断",
    task="graphical model",
    model="P(x_E | x_F) ≈ n_q / T, the share of T samples of a Markov chain",
    algorithms="a sweep draws every unobserved variable given its Markov blanket",
    texts=["watermelon notes ch. 5, 5.5", "watermelon notes ch. 12, 12.5"],
    peers=["pgmpy.sampling.GibbsSampling", "pyagrum.GibbsSampling"],
)
def gibbs_inference(
    model: Any,
    variables: Any,
    evidence: Mapping[Hashable, Any] | None = None,
    *,
    n_samples: int = 10_000,
    burn_in: int = 1_000,
    n_chains: int = 4,
    random_state: Any = None,
) -> Factor:
    """P(variables | evidence) by Gibbs sampling.

    One variable at a time, a chain cannot leave a state whose neighbours are all impossible, as with x = a or b: to
    change a, x must change, and x cannot change without a. Variables that determine each other, or nearly so, are
    therefore drawn together, from the table of their possible joint states. Where there are too many of these (more
    than 4096), blocks that overlap are drawn, and a `ConvergenceWarning` says that the chains may not reach all
    states. Another one is given when the chains disagree (R-hat above 1.1).

    Parameters
    ----------
    model : BayesianNetwork, MarkovRandomField, list of Factor, or mapping of tuples of names to arrays
        The product of factors.
    variables : list of names
        What is asked for.
    evidence : mapping of names to states, optional
        What was observed.
    n_samples : int, default=10000
        The number T of sweeps that count, of all chains together; rounded up to a multiple of `n_chains`.
    burn_in : int, default=1000
        Sweeps of each chain before, which do not.
    n_chains : int, default=4
        Chains, each from a random start of its own.
    random_state : int, Generator or None
        Seed of the random number generator.

    Examples
    --------
    >>> chain = {("A", "B"): [[3, 1], [1, 2]], ("B", "C"): [[2, 1], [1, 4]]}
    >>> gibbs_inference(chain, ["A"], {"C": 1}, random_state=0).table.round(1)
    array([0.4, 0.6])
    """
    for name, value, low in (("n_samples", n_samples, 1), ("burn_in", burn_in, 0), ("n_chains", n_chains, 1)):
        if not isinstance(value, int | np.integer) or value < low:
            raise ValueError(f"{name} must be a whole number, at least {low}; got {value!r}.")
    model = factor_model(model)
    query, known = model.places(variables), model.codes(evidence)
    rng = generator(random_state)
    factors = [part for part in model.relevant(query, known).reduced(known) if part[0]]
    free = sorted({k for scope, _ in factors for k in scope} | set(query) - set(known))
    length = -(-n_samples // n_chains)
    parts, tight = joint_blocks(factors, free, model.sizes, CROSSINGS / n_samples)
    if tight:
        _warn_of_tight(model, tight)
    blocks, starts = _flat_blocks(factors, parts), _first_states(model, known, n_chains, rng)
    kept = np.empty((n_chains, length, len(query)), dtype=np.int64)
    for state, draws in zip(starts, kept):
        done = -burn_in
        while done < length:
            sweeps = min(length - done, max(NUMBERS // max(len(parts), 1), 1))
            uniform = rng.random((sweeps, len(parts)))
            gibbs_sweeps(blocks, state, uniform, np.array(query, dtype=np.int64), draws, done)
            done += sweeps
    _warn_of_disagreement(model, query, kept)
    return weighted_counts(model, query, kept.reshape(-1, len(query)), np.ones(n_chains * length))


def _warn_of_tight(model: FactorModel, tight: list[int]) -> None:
    some = ", ".join(repr(model.names[k]) for k in tight[:6]) + (", ..." if len(tight) > 6 else "")
    warnings.warn(
        f"Gibbs sampling may not reach all states, whatever the seed: {len(tight)} variables that determine each "
        f"other ({some}) have too many joint states to be drawn together. Use method='variable_elimination' or "
        "'junction_tree' (exact), or 'likelihood_weighting', and compare.",
        ConvergenceWarning,
        stacklevel=3,
    )


def _warn_of_disagreement(model: FactorModel, query: Sequence[int], kept: np.ndarray) -> None:
    """A warning where R-hat of the share of a state is above its limit."""
    states = [(k, s) for k in query for s in range(model.sizes[k])]
    if kept.shape[1] < FEWEST or not states:
        return
    chains = Chains(np.stack([kept[:, :, query.index(k)] == s for k, s in states], axis=2))
    rhat, limit = chains.rhat("split"), chains.rhat_limit()
    if not (rhat > limit).any():  # NaN for a state that always, or never, was drawn
        return
    k, s = states[int(np.nanargmax(rhat))]
    warnings.warn(
        f"Gibbs sampling: the chains disagree on how often {model.names[k]!r} is {model.states[k][s]!r}: R-hat is "
        f"{np.nanmax(rhat):.3g}, and should be at most {limit:.3g}. Raise n_samples and burn_in, or use "
        "method='variable_elimination' or 'junction_tree' (exact).",
        ConvergenceWarning,
        stacklevel=3,
    )


def gibbs_conditional(model: Any, variable: Hashable, given: Mapping[Hashable, Any]) -> np.ndarray:
    """P(variable | all others), which only its Markov blanket has a part in.

    Examples
    --------
    >>> gibbs_conditional({("A", "B"): [[3, 1], [1, 2]]}, "A", {"B": 0})
    array([0.75, 0.25])
    """
    model = factor_model(model)
    k, known = model.place(variable), model.codes(given)
    weight = np.ones(model.sizes[k])
    for scope, table in model.factors:
        if k in scope:
            others = [model.names[j] for j in scope if j != k and j not in known]
            if others:
                raise ValueError(f"{others[0]!r} is in the Markov blanket of {variable!r}; give its state.")
            weight = weight * table[tuple(slice(None) if j == k else known[j] for j in scope)]
            if not weight.max() > 0:
                raise impossible(model, known)
            weight = weight / weight.max()  # the product of many factors may underflow
    return weight / weight.sum()


def _first_states(
    model: FactorModel, known: Mapping[int, int], n_chains: int, rng: np.random.Generator
) -> np.ndarray:
    """A random state that agrees with the evidence for each chain: dispersed, so that R-hat can see chains that
    stay where they began. The most probable state for all where random ones are impossible.
    """
    for n in (STARTS, 100 * STARTS):
        if model.parents is not None:
            codes, _ = forward_samples(model, n, known, rng)
        else:
            codes = np.column_stack([rng.integers(size, size=n) for size in model.sizes])
            codes[:, list(known)] = list(known.values())
        possible = np.ones(n, dtype=bool)
        for scope, table in model.factors:
            possible &= table[tuple(codes[:, k] for k in scope)] > 0
        found = np.flatnonzero(possible)
        if found.size:
            return codes[rng.choice(found, n_chains, replace=found.size < n_chains)].astype(np.int64)
    given = {model.names[k]: model.states[k][state] for k, state in known.items()}
    try:
        best = most_probable_explanation(model, given)
    except ValueError as error:
        if "would need" not in str(error):
            raise
        raise ValueError(
            f"{str(impossible(model, known))[:-1]}, or no state of positive probability was found to start the "
            f"chains from, among {n} at random."
        ) from None
    state = [model.states[k].index(best[name]) for k, name in enumerate(model.names)]
    return np.repeat(np.array([state], dtype=np.int64), n_chains, axis=0)


# Blocks of variables that are drawn together ---------------------------------------------------------------------

Block = tuple[list[int], np.ndarray, np.ndarray]  # variables, their possible joint states, weights of these


def joint_blocks(
    factors: Sequence[Table], free: Sequence[int], sizes: Sequence[int], least: float = 0.0
) -> tuple[list[Block], list[int]]:
    """Blocks of variables to draw together, such that chains can reach every state.

    Factors with zeros, and those that tie their variables strongly, hold them together. If each group of variables
    that such factors join is one block, all other factors are positive, so that any state of a block can follow any
    other: the chain is irreducible.

    Parameters
    ----------
    factors : list of (scope, table)
        The product, with the evidence in it.
    free : list of int
        The variables to draw.
    sizes : list of int
        The number of states of each variable of the model.
    least : float
        A group too large for one block is reported if one of its factors has a barrier below this.

    Returns
    -------
    blocks : list of (variables, states, weights)
        Each variable is in one at least.
    tight : list of int
        The variables of groups that are too large for one block.
    """
    strengths = [coupling(table) if len(scope) > 1 else (1.0, 1.0) for scope, table in factors]
    holding = [
        scope
        for (scope, table), (odds, _) in zip(factors, strengths)
        if len(scope) > 1 and (odds < BARRIER or not table.min() > 0)
    ]
    around: dict[int, list[Table]] = {k: [] for k in free}
    for part in factors:
        for k in part[0]:
            around[k].append(part)
    found: list[list[int]] = []
    tight: list[int] = []
    for group in _groups(holding):
        if joint_states(around, group, sizes, MOST_STATES) is not None:
            found.append(group)
            continue
        own = [
            (part[0], strength) for part, strength in zip(factors, strengths) if set(part[0]) <= set(group)
        ]
        found += _windows([scope for scope, (odds, _) in own if odds < BARRIER], around, sizes)
        if min([barrier for _, (_, barrier) in own], default=1.0) < least:
            tight += group
    drawn = {k for group in found for k in group}
    found += [[k] for k in free if k not in drawn]
    blocks = []
    for group in sorted(found):
        states = joint_states(around, group, sizes, None)
        assert states is not None
        blocks.append((group, *states))
    return blocks, tight


def _groups(scopes: Iterable[Sequence[int]]) -> list[list[int]]:
    """Variables in groups that scopes join."""
    groups: list[set[int]] = []
    for scope in scopes:
        joined = set(scope).union(*(group for group in groups if not group.isdisjoint(scope)))
        groups = [group for group in groups if group.isdisjoint(joined)] + [joined]
    return sorted(sorted(group) for group in groups)


def _windows(
    scopes: list[tuple[int, ...]], around: Mapping[int, list[Table]], sizes: Sequence[int]
) -> list[list[int]]:
    """Blocks that overlap: from each scope on, scopes that share a variable are added while it stays small."""
    touching: dict[int, list[tuple[int, ...]]] = {}
    for scope in scopes:
        for k in scope:
            touching.setdefault(k, []).append(scope)
    found: set[tuple[int, ...]] = set()
    for scope in scopes:
        window, front = sorted(scope), [scope]
        if joint_states(around, window, sizes, MOST_STATES) is None:
            continue
        for near in front:
            for other in [one for k in near for one in touching[k]]:
                wider = sorted({*window, *other})
                if wider != window and joint_states(around, wider, sizes, MOST_OF_PART) is not None:
                    window = wider
                    front.append(other)
        found.add(tuple(window))
    return [list(window) for window in sorted(found)]


def joint_states(
    around: Mapping[int, list[Table]], group: Sequence[int], sizes: Sequence[int], most: int | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """The possible joint states of some variables and their weights by the factors of these alone; None where there
    are more than `most`. `around` has the factors of each variable.

    Variables are added one by one, and what a factor forbids is dropped as soon as its variables are there.
    """
    place = {k: axis for axis, k in enumerate(group)}
    inside = [part for k in group for part in around[k] if part[0][0] == k and place.keys() >= set(part[0])]
    order: list[int] = []
    for scope, _ in sorted(inside, key=lambda part: max(part[0])):
        order += [k for k in scope if k not in order]
    order += [k for k in group if k not in order]
    states, logs = np.zeros((1, len(group)), dtype=np.int64), np.zeros(1)
    done: set[int] = set()
    for k in order:
        n = len(states)
        if most is not None and n * sizes[k] > 64 * most:
            return None
        states, logs = np.repeat(states, sizes[k], axis=0), np.repeat(logs, sizes[k])
        states[:, place[k]] = np.tile(np.arange(sizes[k]), n)
        done.add(k)
        for scope, table in inside:
            if k in scope and done.issuperset(scope):
                with np.errstate(divide="ignore"):
                    logs = logs + np.log(table[tuple(states[:, place[j]] for j in scope)])
                states, logs = states[logs > -np.inf], logs[logs > -np.inf]
    if most is not None and len(states) > most:
        return None
    return states, np.exp(logs - logs.max(initial=-np.inf))


def coupling(table: np.ndarray) -> tuple[float, float]:
    """How strongly a factor ties its variables, by pairs of states that differ in two variables.

    From (a, b) to (c, d) one variable at a time leads by way of (a, d) or (c, b).

    Returns
    -------
    odds : float
        The square root of the least odds ratio f(a, d) f(c, b) / (f(a, b) f(c, d)), which factors of one variable
        do not change: how improbable both ways can become beside the ends, whatever these factors are.
    barrier : float
        The least max(f(a, d), f(c, b)) / min(f(a, b), f(c, d)): how improbable the better way is in this factor
        alone.

    Examples
    --------
    >>> coupling(np.array([[0.99, 0.01], [0.99, 0.01]]))  # the second variable is independent of the first
    (1.0, 1.0)
    >>> coupling(np.array([[1.0, 0.0], [0.0, 1.0]]))
    (0.0, 0.0)
    """
    least = float(table.min() / table.max()) if table.size and table.max() > 0 else 1.0
    if least >= BARRIER or table.size * max(table.shape) ** 2 > LOOKED_AT:
        return least, least
    odds = barrier = 1.0
    for i, j in combinations(range(table.ndim), 2):
        pair = np.moveaxis(table, (i, j), (0, 1)).reshape(table.shape[i], table.shape[j], -1)
        (a, c), (b, d) = np.triu_indices(len(pair), 1), np.nonzero(~np.eye(pair.shape[1], dtype=bool))
        start, end = pair[a][:, b], pair[c][:, d]
        one, other = pair[a][:, d], pair[c][:, b]
        some = (start > 0) & (end > 0)
        if some.any():
            start, end, one, other = start[some], end[some], one[some], other[some]
            odds = min(odds, math.sqrt((one / start * (other / end)).min()))
            barrier = min(barrier, float((np.maximum(one, other) / np.minimum(start, end)).min()))
    return odds, barrier


class FlatBlocks(NamedTuple):
    """Blocks in the form that the kernel reads.

    Block b has the variables variables[first[b] ...] and the joint states begin[b] ... begin[b + 1], state c from
    states[at[b] + (c - begin[b]) * its number of variables] on, of weight base[c] by the factors inside the block.
    Entry e of entries[b] ... entries[b + 1] is a factor across its border: the cell of state c is
    shift[moved[e] + c] plus the strides of the variables outside, outer[e] ... outer[e + 1], times their states.
    """

    tables: np.ndarray
    first: np.ndarray
    variables: np.ndarray
    begin: np.ndarray
    at: np.ndarray
    states: np.ndarray
    base: np.ndarray
    entries: np.ndarray
    moved: np.ndarray
    shift: np.ndarray
    outer: np.ndarray
    outside: np.ndarray
    strides: np.ndarray


def _flat_blocks(factors: Sequence[Table], blocks: Sequence[Block]) -> FlatBlocks:
    """Blocks in the form that the kernel reads."""
    starts = np.cumsum([0, *(table.size for _, table in factors)])
    near: dict[int, list[int]] = {k: [] for group, _, _ in blocks for k in group}
    for f, (scope, _) in enumerate(factors):
        for k in scope:
            near[k].append(f)
    parts: dict[str, list[Any]] = {
        name: [] for name in ("variables", "states", "base", "shift", "outside", "strides")
    }
    first, begin, at, entries, moved, outer, shifts = [0], [0], [0], [0], [], [0], 0
    for group, own, weights in blocks:
        place = {k: axis for axis, k in enumerate(group)}
        for name, part in (("variables", group), ("states", own.ravel()), ("base", weights)):
            parts[name].append(part)
        for f in sorted({f for k in group for f in near[k]}):
            (scope, table), start = factors[f], starts[f]
            if place.keys() >= set(scope):
                continue
            steps = [math.prod(table.shape[axis + 1 :]) for axis in range(table.ndim)]
            cells = [own[:, place[k]] * step for k, step in zip(scope, steps) if k in place]
            parts["shift"].append(start + sum(cells))
            parts["outside"].append([k for k in scope if k not in place])
            parts["strides"].append([step for k, step in zip(scope, steps) if k not in place])
            outer.append(outer[-1] + len(parts["outside"][-1]))
            moved.append(shifts - begin[-1])
            shifts += len(own)
        first.append(first[-1] + len(group))
        begin.append(begin[-1] + len(own))
        at.append(at[-1] + own.size)
        entries.append(len(moved))

    def joined(name: str) -> np.ndarray:
        return np.concatenate([np.zeros(0, np.int64), *parts[name]]).astype(np.int64)

    def whole(numbers: list[int]) -> np.ndarray:
        return np.array(numbers, dtype=np.int64)

    return FlatBlocks(
        tables=np.concatenate([table.ravel() for _, table in factors] or [np.ones(1)]),
        first=whole(first),
        variables=joined("variables"),
        begin=whole(begin),
        at=whole(at),
        states=joined("states"),
        base=np.concatenate([*parts["base"], np.ones(0)]),
        entries=whole(entries),
        moved=whole(moved),
        shift=joined("shift"),
        outer=whole(outer),
        outside=joined("outside"),
        strides=joined("strides"),
    )


@kernel
def gibbs_sweeps(blocks, state, uniform, wanted, kept, done):
    """Sweeps over the blocks; those from number 0 on are kept. `uniform` has a number for each draw."""
    begin, outer = blocks.begin, blocks.outer
    weight = np.empty(blocks.base.size)
    for t in range(uniform.shape[0]):
        for b in range(begin.size - 1):
            low, high = begin[b], begin[b + 1]
            for c in range(low, high):
                weight[c] = blocks.base[c]
            for e in range(blocks.entries[b], blocks.entries[b + 1]):
                cell = blocks.moved[e]
                corner = 0
                for m in range(outer[e], outer[e + 1]):
                    corner += state[blocks.outside[m]] * blocks.strides[m]
                top = 0.0
                for c in range(low, high):
                    weight[c] *= blocks.tables[corner + blocks.shift[cell + c]]
                    top = max(top, weight[c])
                if 0.0 < top < 1e-100:  # the product of many factors may underflow
                    for c in range(low, high):
                        weight[c] /= top
            whole = 0.0
            for c in range(low, high):
                whole += weight[c]
            left, chosen = uniform[t, b] * whole, -1
            for c in range(low, high):
                if weight[c] > 0:
                    chosen = c
                    left -= weight[c]
                    if left < 0:
                        break
            if chosen >= 0:
                size = blocks.first[b + 1] - blocks.first[b]
                for v in range(size):
                    own = blocks.states[blocks.at[b] + (chosen - low) * size + v]
                    state[blocks.variables[blocks.first[b] + v]] = own
        if done + t >= 0:
            for q in range(wanted.size):
                kept[done + t, q] = state[wanted[q]]

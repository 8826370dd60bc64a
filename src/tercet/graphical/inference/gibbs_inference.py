"""Gibbs sampling in graphical models (吉布斯采样推断): one variable at a time, given its Markov blanket."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.kernel import kernel
from tercet.graphical.factor import Factor, FactorModel, factor_model, impossible
from tercet.graphical.inference.likelihood_weighting import forward_samples, weighted_counts

STARTS = 200  # states among which the first is chosen
BLOCK = 1 << 20  # random numbers drawn at a time


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
    random_state: Any = None,
) -> Factor:
    """P(variables | evidence) by Gibbs sampling.

    The chain need not reach all states where some configurations are impossible.

    Parameters
    ----------
    model : BayesianNetwork, MarkovRandomField, list of Factor, or mapping of tuples of names to arrays
        The product of factors.
    variables : list of names
        What is asked for.
    evidence : mapping of names to states, optional
        What was observed.
    n_samples : int, default=10000
        The number T of sweeps that count.
    burn_in : int, default=1000
        Sweeps before, which do not.
    random_state : int, Generator or None
        Decides what is drawn.

    Examples
    --------
    >>> chain = {("A", "B"): [[3, 1], [1, 2]], ("B", "C"): [[2, 1], [1, 4]]}
    >>> gibbs_inference(chain, ["A"], {"C": 1}, random_state=0).table.round(1)
    array([0.4, 0.6])
    """
    for name, value, low in (("n_samples", n_samples, 1), ("burn_in", burn_in, 0)):
        if not isinstance(value, int | np.integer) or value < low:
            raise ValueError(f"{name} must be a whole number, at least {low}; got {value!r}.")
    model = factor_model(model)
    query, known = model.places(variables), model.codes(evidence)
    rng = generator(random_state)
    state = _first_state(model, known, rng)
    free = np.array([k for k in range(len(model.names)) if k not in known], dtype=np.int64)
    flat = _flat_factors(model)
    kept = np.empty((n_samples, len(query)), dtype=np.int64)
    wanted = np.array(query, dtype=np.int64)
    done = -burn_in
    while done < n_samples:
        sweeps = min(n_samples - done, max(BLOCK // max(free.size, 1), 1))
        uniform = rng.random((sweeps, free.size))
        gibbs_sweeps(flat, free, state, uniform, wanted, kept, done)
        done += sweeps
    return weighted_counts(model, query, kept, np.ones(n_samples))


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
    if not weight.sum() > 0:
        raise impossible(model, known)
    return weight / weight.sum()


def _first_state(model: FactorModel, known: Mapping[int, int], rng: np.random.Generator) -> np.ndarray:
    """The most probable of some random states that agree with the evidence."""
    if model.parents is not None:
        codes, _ = forward_samples(model, STARTS, known, rng)
    else:
        codes = np.column_stack([rng.integers(size, size=STARTS) for size in model.sizes])
        for k, value in known.items():
            codes[:, k] = value
    logs = np.zeros(STARTS)
    with np.errstate(divide="ignore"):
        for scope, table in model.factors:
            logs += np.log(table[tuple(codes[:, k] for k in scope)])
    best = int(logs.argmax())
    if not logs[best] > -np.inf:
        error = impossible(model, known)
        raise ValueError(
            f"{str(error)[:-1]}, or no state of positive probability was found to start the chain from."
        )
    return codes[best].astype(np.int64)


class FlatModel(NamedTuple):
    """All tables in one array (factor f from starts[f]), the variables scopes[members[f] ...] of each with the
    strides of their states, and the factors of[first[k] ...] of variable k."""

    tables: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    scopes: np.ndarray
    strides: np.ndarray
    first: np.ndarray
    of: np.ndarray
    sizes: np.ndarray


def _flat_factors(model: FactorModel) -> FlatModel:
    """A model in the form that the kernel reads."""
    tables = np.concatenate([table.ravel() for _, table in model.factors] or [np.ones(1)])
    starts, members, strides, first = [0], [0], [], []
    scopes: list[int] = []
    for scope, table in model.factors:
        starts.append(starts[-1] + table.size)
        step = table.size
        for k, n in zip(scope, table.shape):
            step //= n
            scopes.append(k)
            strides.append(step)
        members.append(len(scopes))
    of: list[int] = []
    for k in range(len(model.names)):
        first.append(len(of))
        of += [f for f, (scope, _) in enumerate(model.factors) if k in scope]
    first.append(len(of))
    whole = (starts, members, scopes, strides, first, of, model.sizes)
    return FlatModel(tables, *(np.array(part, dtype=np.int64) for part in whole))


@kernel
def gibbs_sweeps(model, free, state, uniform, wanted, kept, done):
    """Sweeps over the free variables; those from number 0 on are kept. `uniform` has a number for each draw."""
    tables, scopes, strides, sizes = model.tables, model.scopes, model.strides, model.sizes
    weight = np.empty(max(1, sizes.max()))
    for t in range(uniform.shape[0]):
        for v in range(free.size):
            k = free[v]
            for s in range(sizes[k]):
                weight[s] = 1.0
            for a in range(model.first[k], model.first[k + 1]):
                f = model.of[a]
                cell, step = model.starts[f], 0
                for m in range(model.members[f], model.members[f + 1]):
                    if scopes[m] == k:
                        step = strides[m]
                    else:
                        cell += state[scopes[m]] * strides[m]
                for s in range(sizes[k]):
                    weight[s] *= tables[cell + s * step]
            whole = 0.0
            for s in range(sizes[k]):
                whole += weight[s]
            left, chosen = uniform[t, v] * whole, 0
            for s in range(sizes[k]):
                if weight[s] > 0:
                    chosen = s
                    left -= weight[s]
                    if left < 0:
                        break
            state[k] = chosen
        if done + t >= 0:
            for q in range(wanted.size):
                kept[done + t, q] = state[wanted[q]]

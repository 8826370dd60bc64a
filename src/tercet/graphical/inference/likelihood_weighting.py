"""Forward sampling and likelihood weighting in Bayesian networks (似然加权采样)."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.steps import ConvergenceWarning
from tercet.graphical.directed import topological_order
from tercet.graphical.factor import Factor, FactorModel, factor_model, impossible
from tercet.graphical.inference.variable_elimination import most_probable_explanation

# Warn if the effective sample size is below both this number and this share of all samples.
FEWEST = 100
LEAST_SHARE = 0.1
# Warn if the mean weight is less than both of these shares of the largest possible one: the second by the number of
# samples. States of half the posterior probability may then be missing from them.
VANISHING = 1e-3
FEWEST_EXPECTED = 10


@method(
    zh="似然加权",
    task="graphical model",
    model="P(x_E | x_F) ≈ weighted share of samples, the weight Π of P(x_f | parents) over the evidence",
    algorithms="importance sampling: evidence is fixed, all else is drawn from its parents",
    texts=["watermelon notes ch. 5, 5.5"],
    peers=["pgmpy.sampling.BayesianModelSampling", "pyagrum.WeightedSampling"],
)
def likelihood_weighting(
    model: Any,
    variables: Any,
    evidence: Mapping[Hashable, Any] | None = None,
    *,
    n_samples: int = 10_000,
    random_state: Any = None,
) -> Factor:
    """P(variables | evidence) by weighted samples of a Bayesian network.

    Evidence that samples seldom agree with leaves most of them without weight: a `ConvergenceWarning` is given when
    the effective sample size (Σ w)² / Σ w² is below 100 and below a tenth of `n_samples`, or when all weights are
    so far below the largest possible one that the states which have most of the probability may not be among the
    samples.

    Parameters
    ----------
    model : BayesianNetwork
        The network.
    variables : list of names
        What is asked for.
    evidence : mapping of names to states, optional
        What was observed.
    n_samples : int, default=10000
        How many samples are drawn.
    random_state : int, Generator or None
        Seed of the random number generator.

    Examples
    --------
    >>> from tercet.graphical import BayesianNetwork
    >>> network = BayesianNetwork.from_tables(
    ...     {"rain": [0.8, 0.2], "wet": (["rain"], [[0.9, 0.1], [0.2, 0.8]])}
    ... )
    >>> likelihood_weighting(network, ["rain"], {"wet": 1}, random_state=0).table.round(1)
    array([0.3, 0.7])
    """
    model = factor_model(model)
    query, known = model.places(variables), model.codes(evidence)
    codes, log_weight = forward_samples(model, int(n_samples), known, generator(random_state))
    top = log_weight.max(initial=-np.inf)
    if not top > -np.inf:
        raise ValueError(
            f"{str(impossible(model, known))[:-1]}, or so small that none of n_samples={n_samples} samples agrees "
            "with it. Raise n_samples, or use method='variable_elimination' or 'junction_tree' (exact)."
        )
    weight = np.exp(log_weight - top)
    effective = weight.sum() ** 2 / (weight**2).sum()
    if effective < min(FEWEST, LEAST_SHARE * len(weight)):
        warnings.warn(
            f"Likelihood weighting: the effective sample size is {effective:.1f} of {len(weight)}, because few "
            f"samples agree with the evidence {sorted(map(str, evidence or {}))}; the answer rests on these few. "
            "Raise n_samples, or use method='gibbs', or 'variable_elimination' or 'junction_tree' (exact).",
            ConvergenceWarning,
            stacklevel=2,
        )
    elif (share := _share_of_heaviest(model, known, log_weight)) < min(
        VANISHING, FEWEST_EXPECTED / len(weight)
    ):
        warnings.warn(
            f"Likelihood weighting: the mean weight of {len(weight)} samples is {share:.1g} of the largest "
            f"possible one, of states that agree best with the evidence {sorted(map(str, evidence or {}))}. Such "
            "states may not be among the samples. Raise n_samples, or use method='gibbs', or "
            "'variable_elimination' or 'junction_tree' (exact).",
            ConvergenceWarning,
            stacklevel=2,
        )
    return weighted_counts(model, query, codes[:, query], weight)


def _share_of_heaviest(model: FactorModel, known: Mapping[int, int], log_weight: np.ndarray) -> float:
    """The mean weight as a share of the largest that any states have; 1 where it is clearly no small one."""
    mean = np.logaddexp.reduce(log_weight) - np.log(len(log_weight))
    if mean >= np.log(VANISHING):  # no weight is above 1
        return 1.0
    tables = FactorModel(model.names, model.states, [model.factors[k] for k in known])
    try:
        best = most_probable_explanation(
            tables, {model.names[k]: model.states[k][s] for k, s in known.items()}
        )
    except ValueError:  # too wide
        return 1.0
    at = [model.states[k].index(best[name]) for k, name in enumerate(model.names)]
    heaviest = sum(np.log(table[tuple(at[k] for k in scope)]) for scope, table in tables.factors)
    return float(np.exp(mean - heaviest))


def weighted_counts(
    model: FactorModel, query: Sequence[int], codes: np.ndarray, weight: np.ndarray
) -> Factor:
    """The weighted share of samples with each configuration of some variables."""
    shape = [model.sizes[k] for k in query]
    cells = np.ravel_multi_index(tuple(codes.T), shape)
    table = np.bincount(cells, weight, minlength=int(np.prod(shape))).reshape(shape)
    return model.answer(query, table / table.sum())


def forward_samples(
    model: FactorModel, n: int, known: Mapping[int, int], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Samples of all variables, parents first, observed ones fixed; and the logarithms of their weights."""
    if model.parents is None:
        raise ValueError("Likelihood weighting needs a Bayesian network: these factors have no direction.")
    if n < 1:
        raise ValueError(f"n_samples must be at least 1; got {n}.")
    codes, log_weight = np.zeros((n, len(model.names)), dtype=np.int64), np.zeros(n)
    for k in topological_order(dict(enumerate(model.parents))):
        scope, table = model.factors[k]
        rows = table[tuple(codes[:, p] for p in scope[:-1])]  # P(x_k | parents) for each sample
        rows = np.broadcast_to(rows, (n, model.sizes[k]))
        if k in known:
            codes[:, k] = known[k]
            with np.errstate(divide="ignore"):
                log_weight += np.log(rows[:, known[k]])
        else:
            reached = np.cumsum(rows, axis=1)
            drawn = rng.random(n)[:, None] * reached[:, -1:]
            codes[:, k] = np.minimum((reached <= drawn).sum(axis=1), model.sizes[k] - 1)
    return codes, log_weight

"""Variable elimination (变量消去): sums are pushed into products, one variable at a time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.graphical._engine.triangulation import elimination_order, table_cells
from tercet.graphical.factor import Factor, FactorModel, Table, factor_model, impossible, product, refuse_wide
from tercet.graphical.inference.enumeration import answered

Order = Literal["min-fill", "min-weight"] | Sequence[Hashable]


@method(
    zh="变量消去",
    task="graphical model",
    model="P(x_E | x_F) of a product of factors",
    algorithms={
        "min-fill": "next the variable whose elimination joins the fewest pairs",
        "min-weight": "next the variable whose elimination makes the smallest table",
    },
    texts=["watermelon notes ch. 12, 12.4.1", "watermelon notes ch. 5, 5.5"],
    peers=["pgmpy.inference.VariableElimination", "pyagrum.VariableElimination"],
)
def variable_elimination(
    model: Any,
    variables: Any,
    evidence: Mapping[Hashable, Any] | None = None,
    order: Order = "min-fill",
) -> Factor:
    """P(variables | evidence) by eliminating the other variables one at a time.

    The factors with a variable are multiplied, the variable is summed out, and the result takes their place. In a
    Bayesian network variables that have neither query nor evidence below them are left out from the start.

    Parameters
    ----------
    model : BayesianNetwork, MarkovRandomField, list of Factor, or mapping of tuples of names to arrays
        The product of factors.
    variables : list of names
        What is asked for.
    evidence : mapping of names to states, optional
        What was observed.
    order : {"min-fill", "min-weight"} or list of names, default="min-fill"
        In which order variables are eliminated. Before anything is multiplied, an order whose tables would not fit
        into memory is refused.

    Returns
    -------
    Factor
        A table with an axis for each variable.

    Examples
    --------
    >>> variable_elimination({("A", "B"): [[3, 1], [1, 2]], ("B", "C"): [[2, 1], [1, 4]]}, ["A"], {"C": 1})
    A   value
    0  0.4375
    1  0.5625
    """
    model = factor_model(model)
    query, known = model.places(variables), model.codes(evidence)
    kept = model.relevant(query, known)
    factors = kept.reduced(known)
    wanted = [k for k in query if k not in known]
    left = eliminate(model, factors, wanted, order)
    return answered(model, query, known, (tuple(wanted), product(left, wanted)))


def eliminate(model: FactorModel, factors: list[Table], wanted: Sequence[int], order: Order) -> list[Table]:
    """Factors over `wanted` whose product is the sum of the product of `factors` over all other variables."""
    sequence = chosen_order(model, factors, wanted, order)
    for k in sequence:
        near = [part for part in factors if k in part[0]]
        factors = [part for part in factors if k not in part[0]]
        scope = sorted({j for own, _ in near for j in own} - {k})
        table = product(near, [*scope, k]).sum(axis=-1)
        top = table.max(initial=0.0)
        factors.append((tuple(scope), table / top if top > 0 else table))  # a product of many may underflow
    return [part for part in factors if part[0]] + [part for part in factors if not part[0]]


def chosen_order(model: FactorModel, factors: list[Table], wanted: Sequence[int], order: Order) -> list[int]:
    """The elimination order; one that would not fit into memory is refused."""
    scopes = [scope for scope, _ in factors]
    free = sorted({k for scope in scopes for k in scope} - set(wanted))
    given = None
    if not isinstance(order, str):
        given = [k for k in (model.place(name) for name in order) if k in free]
        missing = [model.names[k] for k in free if k not in given]
        if missing:
            raise ValueError(
                f"order must have every variable that is summed out; {missing[0]!r} is not there."
            )
    elif order not in ("min-fill", "min-weight"):
        raise ValueError(f"order must be 'min-fill', 'min-weight' or a list of names; got {order!r}.")
    heuristic: Any = order if given is None else "min-fill"
    sequence, around = elimination_order(model.sizes, [*scopes, tuple(wanted)], free, heuristic, given)
    refuse_wide(table_cells(around, sequence, model.sizes), f"Variable elimination ({len(free)} variables)")
    return sequence


@method(
    zh="最大可能解释",
    task="graphical model",
    model="the most probable assignment of all unobserved variables, argmax Π φ(x_S)",
    algorithms="variable elimination with maxima in place of sums, then back along the order",
    texts=["watermelon notes ch. 12, 12.4"],
    peers=["pgmpy.inference.VariableElimination.map_query", "pyagrum.LazyPropagation"],
)
def most_probable_explanation(
    model: Any, evidence: Mapping[Hashable, Any] | None = None, order: Order = "min-fill"
) -> dict:
    """The most probable assignment of all variables that agrees with the evidence (MPE).

    Parameters
    ----------
    model : BayesianNetwork, MarkovRandomField, list of Factor, or mapping of tuples of names to arrays
        The product of factors.
    evidence : mapping of names to states, optional
        What was observed.
    order : {"min-fill", "min-weight"} or list of names, default="min-fill"
        In which order variables are eliminated.

    Returns
    -------
    dict
        A state for each variable; of equally probable assignments one.

    Examples
    --------
    >>> most_probable_explanation({("A", "B"): [[3, 1], [1, 2]], ("B", "C"): [[2, 1], [1, 4]]})
    {'A': 1, 'B': 1, 'C': 1}
    """
    model = factor_model(model)
    known = model.codes(evidence)
    with np.errstate(divide="ignore"):
        factors = [(scope, np.log(table)) for scope, table in model.reduced(known)]
    free = [k for k in range(len(model.names)) if k not in known]
    factors += [((k,), np.zeros(model.sizes[k])) for k in free]
    choices = []
    for k in chosen_order(model, factors, (), order):
        near = [part for part in factors if k in part[0]]
        factors = [part for part in factors if k not in part[0]]
        scope = sorted({j for own, _ in near for j in own} - {k})
        table = log_product(near, [*scope, k], model.sizes)
        choices.append((k, scope, table.argmax(axis=-1)))
        factors.append((tuple(scope), table.max(axis=-1)))
    if not sum(float(table) for _, table in factors) > -np.inf:
        raise impossible(model, known)
    found = dict(known)
    for k, scope, best in reversed(choices):
        found[k] = int(best[tuple(found[j] for j in scope)])
    return {name: model.states[k][found[k]] for k, name in enumerate(model.names)}


def log_product(factors: list[Table], scope: Sequence[int], sizes: Sequence[int]) -> np.ndarray:
    """The sum of logarithms as a table over `scope`."""
    place = {k: axis for axis, k in enumerate(scope)}
    result = np.zeros([sizes[k] for k in scope])
    for own, table in factors:
        axes = [place[k] for k in own]
        shape = [1] * len(scope)
        for axis, n in zip(axes, table.shape):
            shape[axis] = n
        result = result + table.transpose(np.argsort(axes)).reshape(shape)
    return result

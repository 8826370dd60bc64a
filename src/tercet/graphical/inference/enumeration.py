"""Inference by enumeration of all assignments (枚举推断): slow, plain, and the oracle of the others."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.graphical.factor import Factor, cells_of, factor_model, impossible, product, refuse_wide


@method(
    zh="边际化：枚举推断",
    task="graphical model",
    model="P(x_E | x_F) = Σ over the other variables of Π φ(x_S) / Σ over those and x_E",
    algorithms="the table of all assignments",
    texts=["watermelon notes ch. 12, eq. 12.10, 12.11"],
    peers=["pgmpy.factors.discrete.JointProbabilityDistribution"],
)
def enumeration(model: Any, variables: Any, evidence: Mapping[Hashable, Any] | None = None) -> Factor:
    """P(variables | evidence) from the table of all assignments.

    Parameters
    ----------
    model : BayesianNetwork, MarkovRandomField, list of Factor, or mapping of tuples of names to arrays
        The product of factors.
    variables : list of names
        What is asked for.
    evidence : mapping of names to states, optional
        What was observed.

    Returns
    -------
    Factor
        A table with an axis for each variable.

    Examples
    --------
    >>> enumeration({("A", "B"): [[3, 1], [1, 2]], ("B", "C"): [[2, 1], [1, 4]]}, ["A"]).table.round(4)
    array([0.5185, 0.4815])
    """
    model = factor_model(model)
    query, known = model.places(variables), model.codes(evidence)
    free = [k for k in range(len(model.names)) if k not in known]
    refuse_wide(cells_of(free, model.sizes), "Enumeration")
    if len(free) > 60:  # NumPy has no more axes
        raise ValueError(f"Enumeration takes at most 60 unobserved variables; there are {len(free)}.")
    weights = np.broadcast_to(product(model.reduced(known), free), [model.sizes[k] for k in free])
    left = [k for k in query if k not in known]
    table = weights.sum(axis=tuple(axis for axis, k in enumerate(free) if k not in left))
    remaining = [k for k in free if k in left]
    return answered(model, query, known, (tuple(remaining), table))


def answered(model: Any, query: list[int], known: Mapping[int, int], found: Any) -> Factor:
    """A normalised answer: the axes in the order asked for, observed variables with all weight on their state."""
    parts = [found, *(((k,), np.eye(model.sizes[k])[known[k]]) for k in query if k in known)]
    table = product(parts, query)
    total = table.sum()
    if not total > 0:
        raise impossible(model, known)
    return model.answer(query, table / total)

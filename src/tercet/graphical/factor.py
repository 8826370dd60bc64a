"""Factors: tables over the states of a few variables, and models that are products of them (因子)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.memory import available
from tercet.graphical.undirected import sorted_nodes

Scope = tuple[int, ...]
Table = tuple[Scope, np.ndarray]


@method(
    zh="因子",
    task="graphical model",
    model="φ(x_S): a number of at least 0 for every assignment of a few variables S",
    texts=["watermelon notes ch. 12, 12.4"],
    peers=["pgmpy.factors.discrete.DiscreteFactor"],
)
@dataclass(frozen=True, eq=False)
class Factor:
    """A table over the states of some variables: a potential, or the answer to a query.

    Parameters
    ----------
    variables : tuple
        Their names, one for each axis of the table.
    table : array
        The numbers.
    states : mapping of names to lists, optional
        What the states are called; 0, 1 ... by default.

    Examples
    --------
    >>> a = Factor(("A", "B"), [[3, 1], [1, 2]])
    >>> (a * Factor(("B",), [1, 2])).sum("B")
    A  value
    0      5
    1      5
    """

    variables: tuple
    table: np.ndarray
    states: dict[Any, list] = field(default_factory=dict)

    def __post_init__(self) -> None:
        table, names = np.asarray(self.table, dtype=float), tuple(self.variables)
        if table.ndim != len(names) or len(set(names)) != len(names):
            raise ValueError(
                f"A factor of {names} must have an axis for each variable; its shape is {table.shape}."
            )
        states = {name: list(self.states.get(name, range(n))) for name, n in zip(names, table.shape)}
        for name, n in zip(names, table.shape):
            if len(states[name]) != n:
                raise ValueError(f"{name!r} has {len(states[name])} states; its axis has {n} entries.")
        for attribute, value in (("variables", names), ("table", table), ("states", states)):
            object.__setattr__(self, attribute, value)

    def __mul__(self, other: Factor) -> Factor:
        """The product: a table over the variables of both."""
        names = [*self.variables, *(name for name in other.variables if name not in self.variables)]
        code = {name: k for k, name in enumerate(names)}
        parts = [(tuple(code[name] for name in part.variables), part.table) for part in (self, other)]
        return Factor(tuple(names), product(parts, range(len(names))), {**other.states, **self.states})

    def sum(self, *variables: Hashable) -> Factor:
        """The factor with some variables summed out."""
        return self._without(variables, np.sum)

    def max(self, *variables: Hashable) -> Factor:
        """The factor with the greatest number over some variables."""
        return self._without(variables, np.max)

    def reduce(self, evidence: Mapping[Hashable, Any]) -> Factor:
        """The factor with some variables fixed at a state."""
        at = tuple(
            self._place(name, evidence[name]) if name in evidence else slice(None) for name in self.variables
        )
        left = tuple(name for name in self.variables if name not in evidence)
        return Factor(left, self.table[at], {name: self.states[name] for name in left})

    def normalise(self) -> Factor:
        """The factor divided by its sum."""
        return Factor(self.variables, self.table / self.table.sum(), self.states)

    def argmax(self) -> dict:
        """The assignment of the greatest number; of equals the first."""
        best = np.unravel_index(int(self.table.argmax()), self.table.shape)
        return {name: self.states[name][k] for name, k in zip(self.variables, best)}

    def __getitem__(self, key: Any) -> float:
        """The number of one assignment: a state for each variable, as a tuple or mapping."""
        if not isinstance(key, Mapping):
            key = dict(zip(self.variables, key if isinstance(key, tuple) else (key,)))
        if set(key) != set(self.variables):
            raise KeyError(f"A state for each of {self.variables} is needed; got {key}.")
        return float(self.reduce(key).table)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.table, dtype=dtype)

    def rows(self) -> list[tuple]:
        """All assignments, each with its number at the end."""
        return [
            (*(self.states[name][k] for name, k in zip(self.variables, at)), float(value))
            for at, value in np.ndenumerate(self.table)
        ]

    def __repr__(self) -> str:
        head = [*map(str, self.variables), "value"]
        cells = [[*map(str, row[:-1]), f"{row[-1]:.6g}"] for row in self.rows()[:64]]
        widths = [max(len(row[k]) for row in [head, *cells]) for k in range(len(head))]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths)).rstrip()
            for row in [head, *cells]
        ]
        return "\n".join(lines + ([f"... {self.table.size} rows"] if self.table.size > 64 else []))

    def _without(self, variables: Iterable, reduction: Any) -> Factor:
        axes = []
        for name in variables:
            if name not in self.variables:
                raise ValueError(f"{name!r} is not in this factor; its variables are {self.variables}.")
            axes.append(self.variables.index(name))
        left = tuple(name for name in self.variables if name not in variables)
        return Factor(
            left, reduction(self.table, axis=tuple(axes)), {name: self.states[name] for name in left}
        )

    def _place(self, name: Hashable, state: Any) -> int:
        if state not in self.states[name]:
            raise ValueError(f"{name!r} cannot be {state!r}; its states are {self.states[name]}.")
        return self.states[name].index(state)


class FactorModel:
    """A product of tables over integer-coded variables: what every inference method works on.

    Parameters
    ----------
    names : list
        The variables.
    states : list of lists
        What the states of each variable are called.
    factors : list of (scope, table)
        Places of the variables, and a table with an axis for each, in their order.
    parents : list of tuples of int, optional
        In a Bayesian network the parents of each variable; factor k is then P(x_k | parents), its own axis last.
    """

    def __init__(
        self,
        names: Sequence,
        states: Sequence[Sequence],
        factors: Sequence[Table],
        parents: Sequence[Scope] | None = None,
    ) -> None:
        self.names, self.states, self.parents = list(names), [list(known) for known in states], parents
        self.sizes = [len(known) for known in self.states]
        self.factors = [(tuple(scope), np.asarray(table, dtype=np.float64)) for scope, table in factors]
        self.place_of = {name: k for k, name in enumerate(self.names)}

    def place(self, name: Hashable) -> int:
        """The number of a variable."""
        try:
            return self.place_of[name]
        except (KeyError, TypeError):
            raise ValueError(f"{name!r} is not a variable; the variables are {_some(self.names)}.") from None

    def places(self, names: Any) -> list[int]:
        """The numbers of variables, of which none comes twice."""
        single = isinstance(names, str) or not isinstance(names, Iterable) or names in self.names
        found = [self.place(name) for name in ([names] if single else names)]
        if len(set(found)) < len(found):
            raise ValueError(f"A variable comes twice in {list(names)}.")
        return found

    def codes(self, evidence: Mapping[Hashable, Any] | None) -> dict[int, int]:
        """Observed states as numbers."""
        found = {}
        for name, state in (evidence or {}).items():
            k = self.place(name)
            if state not in self.states[k]:
                raise ValueError(f"{name!r} cannot be {state!r}; its states are {_some(self.states[k])}.")
            found[k] = self.states[k].index(state)
        return found

    def answer(self, scope: Sequence[int], table: np.ndarray) -> Factor:
        """A table with the names of variables and states."""
        names = tuple(self.names[k] for k in scope)
        return Factor(names, table, {self.names[k]: self.states[k] for k in scope})

    def reduced(self, evidence: Mapping[int, int]) -> list[Table]:
        """The factors with observed variables fixed."""
        found = []
        for scope, table in self.factors:
            at = tuple(evidence.get(k, slice(None)) for k in scope)
            found.append((tuple(k for k in scope if k not in evidence), table[at]))
        return found

    def intervened(self, actions: Mapping[int, int]) -> FactorModel:
        """The model in which some variables were set from outside: their own tables no longer say anything."""
        if not actions:
            return self
        if self.parents is None:
            raise ValueError("do= needs a Bayesian network: the factors of this model have no direction.")
        factors, parents = list(self.factors), list(self.parents)
        for k, state in actions.items():
            factors[k], parents[k] = ((k,), np.eye(self.sizes[k])[state]), ()
        return FactorModel(self.names, self.states, factors, parents)

    def relevant(self, query: Iterable[int], evidence: Iterable[int]) -> FactorModel:
        """The model without barren variables: in a Bayesian network those with neither query nor evidence below."""
        if self.parents is None:
            return self
        kept: set[int] = set()
        front = [*query, *evidence]
        while front:
            k = front.pop()
            if k not in kept:
                kept.add(k)
                front += self.parents[k]
        model = FactorModel(self.names, self.states, [self.factors[k] for k in sorted(kept)])
        return model


def factor_model(model: Any) -> FactorModel:
    """A model in the form that inference works on.

    Parameters
    ----------
    model : BayesianNetwork, MarkovRandomField, list of Factor, or mapping of tuples of names to arrays
        The product of factors.
    """
    if isinstance(model, FactorModel):
        return model
    if hasattr(model, "factor_model"):
        return model.factor_model()
    if isinstance(model, Mapping):
        model = [Factor(tuple(names), table) for names, table in model.items()]
    if not isinstance(model, list | tuple) or not all(isinstance(part, Factor) for part in model):
        raise ValueError(
            "model must be a BayesianNetwork, a MarkovRandomField, factors, or a mapping of tuples of names to "
            f"arrays; got {type(model).__name__}."
        )
    states: dict[Any, list] = {}
    for part in model:
        for name in part.variables:
            if states.setdefault(name, part.states[name]) != part.states[name]:
                raise ValueError(f"{name!r} has the states {states[name]} and {part.states[name]}.")
    names = sorted_nodes(states)
    code = {name: k for k, name in enumerate(names)}
    factors = [(tuple(code[name] for name in part.variables), part.table) for part in model]
    for (scope, table), part in zip(factors, model):
        if not np.isfinite(table).all() or (table.size and table.min() < 0):
            raise ValueError(f"The factor of {part.variables} must be finite and not negative.")
        if not scope and table.size != 1:
            raise ValueError("A factor without variables must be one number.")
    return FactorModel(names, [states[name] for name in names], factors)


def product(factors: Sequence[Table], scope: Iterable[int]) -> np.ndarray:
    """The product of tables as a table over `scope`, which holds all their variables."""
    scope = list(scope)
    place = {k: axis for axis, k in enumerate(scope)}
    size = {k: n for own, table in factors for k, n in zip(own, table.shape)}
    result = np.ones([size.get(k, 1) for k in scope])
    for own, table in factors:
        axes = [place[k] for k in own]
        shape = [1] * len(scope)
        for axis, n in zip(axes, table.shape):
            shape[axis] = n
        result = result * table.transpose(np.argsort(axes)).reshape(shape)
    return result


def refuse_wide(cells: float, what: str, bytes_each: float = 16.0) -> None:
    """An error before a table is made that would not fit into memory, with the figure."""
    need, room = bytes_each * float(cells), available()
    if need > room:
        raise ValueError(
            f"{what} would need a table of {float(cells):.3g} cells ({_size(need)}); {_size(room)} of memory are "
            "free. Give more evidence, fewer parents or states, or use method='gibbs', 'likelihood_weighting' or "
            "'belief_propagation'."
        )


def impossible(model: FactorModel, evidence: Mapping[int, int]) -> ValueError:
    """The error for evidence of probability 0."""
    said = {model.names[k]: model.states[k][state] for k, state in evidence.items()}
    if not said:
        return ValueError("Every assignment has the weight 0: the factors allow none.")
    return ValueError(f"The evidence {said} is impossible: its probability is 0.")


def cells_of(scope: Iterable[int], sizes: Sequence[int]) -> int:
    """How many assignments some variables have."""
    return math.prod(sizes[k] for k in scope)


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} PB"


def _some(items: list) -> str:
    return repr(items) if len(items) <= 12 else f"{repr(items[:12])[:-1]}, ... {len(items)} in all]"

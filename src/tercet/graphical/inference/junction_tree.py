"""Junction trees (联合树): cliques that tell each other what they know, once for all queries."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.graphical._engine.triangulation import clique_tree, elimination_order
from tercet.graphical.factor import Factor, Table, cells_of, factor_model, impossible, product, refuse_wide
from tercet.graphical.inference.enumeration import answered
from tercet.graphical.inference.variable_elimination import eliminate


@method(
    zh="联合树算法",
    task="graphical model",
    model="Π φ(x_S) = Π of clique beliefs / Π of separator beliefs",
    algorithms="triangulation, then messages to the root and back (Hugin)",
    texts=["watermelon notes ch. 12, 12.4.2"],
    peers=["pgmpy.inference.BeliefPropagation", "pyagrum.LazyPropagation"],
)
class JunctionTree:
    """A junction tree, calibrated for some evidence: any number of queries cost little after that.

    Parameters
    ----------
    model : BayesianNetwork, MarkovRandomField, list of Factor, or mapping of tuples of names to arrays
        The product of factors.
    evidence : mapping of names to states, optional
        What was observed.
    heuristic : {"min-fill", "min-weight"}, default="min-fill"
        How the graph is triangulated. A tree that would not fit into memory is refused with its size.

    Attributes
    ----------
    cliques : list of tuples of names
        The cliques, parents before children.
    parents : list of int
        The parent of each clique; -1 for the root.
    beliefs : list of arrays
        P(clique | evidence), an axis for each variable of the clique.
    log_probability : float
        log P(evidence), or the logarithm of the partition function where the factors are no probabilities.

    Examples
    --------
    >>> tree = JunctionTree({("A", "B"): [[3, 1], [1, 2]], ("B", "C"): [[2, 1], [1, 4]]})
    >>> tree.cliques, tree.query(["A", "C"]).table.round(4).tolist()
    ([('C', 'B'), ('B', 'A')], [[0.2593, 0.2593], [0.1481, 0.3333]])
    >>> float(np.exp(tree.log_probability).round(10))
    27.0
    """

    def __init__(
        self,
        model: Any,
        evidence: Mapping[Hashable, Any] | None = None,
        heuristic: Literal["min-fill", "min-weight"] = "min-fill",
    ) -> None:
        if heuristic not in ("min-fill", "min-weight"):
            raise ValueError(f"heuristic must be 'min-fill' or 'min-weight'; got {heuristic!r}.")
        self._model = factor_model(model)
        self._known = self._model.codes(evidence)
        factors, sizes = self._model.reduced(self._known), self._model.sizes
        free = sorted({k for scope, _ in factors for k in scope})
        order, around = elimination_order(sizes, [scope for scope, _ in factors], free, heuristic)
        cliques, self.parents = clique_tree(order, around)
        self._scopes = [tuple(clique) for clique in cliques] or [()]
        self.parents = self.parents or [-1]
        refuse_wide(sum(cells_of(scope, sizes) for scope in self._scopes), "A junction tree")
        self.cliques = [tuple(self._model.names[k] for k in scope) for scope in self._scopes]
        self._calibrate(factors)

    def _calibrate(self, factors: list[Table]) -> None:
        """Messages to the root, then back: belief = product of all, divided by what it had said itself."""
        scopes, sizes = self._scopes, self._model.sizes
        parts: list[list[Table]] = [[] for _ in scopes]
        by_variable: dict[int, list[int]] = {}
        for c, scope in enumerate(scopes):
            for k in scope:
                by_variable.setdefault(k, []).append(c)
        for factor in factors:
            own = set(factor[0])
            inside = [c for c in by_variable.get(factor[0][0], []) if own <= set(scopes[c])] if own else [0]
            parts[min(inside, key=lambda c: cells_of(scopes[c], sizes))].append(factor)
        tables = [
            np.broadcast_to(product(part, scope), [sizes[k] for k in scope]).copy()
            for part, scope in zip(parts, scopes)
        ]
        self._separators = [
            tuple(k for k in scope if above >= 0 and k in scopes[above])
            for scope, above in zip(scopes, self.parents)
        ]
        messages: list[np.ndarray] = [np.ones(())] * len(scopes)
        log_total = 0.0
        for c in range(len(scopes) - 1, 0, -1):
            message = _project(scopes[c], tables[c], self._separators[c])
            top = message.max(initial=0.0)
            if not top > 0:
                raise impossible(self._model, self._known)
            log_total += float(np.log(top))
            messages[c] = message / top
            tables[c] = tables[c] / top
            above = self.parents[c]
            tables[above] = tables[above] * product([(self._separators[c], messages[c])], scopes[above])
        if not tables[0].sum() > 0:
            raise impossible(self._model, self._known)
        self.log_probability = log_total + float(np.log(tables[0].sum()))
        tables[0] = tables[0] / tables[0].sum()
        for c in range(1, len(scopes)):
            above, separator = self.parents[c], self._separators[c]
            belief = _project(scopes[above], tables[above], separator)
            ratio = np.divide(belief, messages[c], out=np.zeros_like(belief), where=messages[c] > 0)
            tables[c] = tables[c] * product([(separator, ratio)], scopes[c])
        self.beliefs = tables

    def query(self, variables: Any) -> Factor:
        """P(variables | evidence), an axis for each variable; they need not share a clique."""
        query = self._model.places(variables)
        wanted = [k for k in query if k not in self._known]
        inside = [c for c, scope in enumerate(self._scopes) if set(wanted) <= set(scope)]
        if inside:
            best = min(inside, key=lambda c: self.beliefs[c].size)
            table = _project(self._scopes[best], self.beliefs[best], tuple(wanted))
        else:
            left = eliminate(self._model, self._subtree(wanted), wanted, "min-fill")
            table = product(left, wanted)
        return answered(self._model, query, self._known, (tuple(wanted), table))

    def marginals(self) -> dict[Any, np.ndarray]:
        """P(x | evidence) of every variable."""
        return {name: self.query([name]).table for name in self._model.names}

    def _subtree(self, wanted: list[int]) -> list[Table]:
        """Conditional beliefs of the cliques that connect some variables; their product is P of all of them."""
        homes = [next(c for c, scope in enumerate(self._scopes) if k in scope) for k in wanted]
        paths = [self._path(c) for c in homes]
        shared = set(paths[0]).intersection(*paths[1:])
        top = max(shared)  # parents come first: the last of the common ancestors is the lowest
        kept = {c for path in paths for c in path if c > top or c == top}
        kept = {c for c in kept if top in self._path(c)}
        factors: list[Table] = [(self._scopes[top], self.beliefs[top])]
        for c in sorted(kept - {top}):
            separator = self._separators[c]
            whole = _project(self._scopes[c], self.beliefs[c], separator)
            ratio = np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > 0)
            factors.append(
                (self._scopes[c], self.beliefs[c] * product([(separator, ratio)], self._scopes[c]))
            )
        return factors

    def _path(self, c: int) -> list[int]:
        path = [c]
        while self.parents[path[-1]] >= 0:
            path.append(self.parents[path[-1]])
        return path


def _project(scope: tuple[int, ...], table: np.ndarray, onto: tuple[int, ...]) -> np.ndarray:
    """A table summed over all variables but some, in their order."""
    summed = table.sum(axis=tuple(axis for axis, k in enumerate(scope) if k not in onto))
    left = [k for k in scope if k in onto]
    return summed.transpose([left.index(k) for k in onto])

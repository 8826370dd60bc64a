"""Belief propagation (信念传播): messages between neighbours, in two passes on a tree, or round and round."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.steps import ConvergenceWarning
from tercet.graphical.factor import Factor, FactorModel, Table, factor_model, impossible, product

Edge = tuple[str, int, int]  # "up": factor to variable, "down": variable to factor; the factor; the variable


@dataclass(eq=False)
class Beliefs:
    """What :func:`belief_propagation` returns: the messages, and the beliefs of the variables.

    Attributes
    ----------
    marginals : dict of arrays
        The belief of each variable: its marginal on a tree, and near it on a graph with loops. With max-product,
        the greatest weight of an assignment with each state, divided by the greatest of all.
    log_Z : float
        The logarithm of the partition function (with evidence: of that part): exact on a tree, Bethe's
        approximation with loops; with max-product that of the greatest weight on a tree.
    mode : dict
        The state of the greatest belief of each variable; with max-product on a tree the most probable assignment.
    messages : list of (factor's variables, variable, array)
        The messages from factors to variables in the order in which they were first sent: on a tree the sums of the
        text, with loops divided by their greatest entry.
    n_iter : int
        How many rounds there were; 1 on a tree.
    converged : bool
        Whether the messages stood still at the end.
    is_tree : bool
        Whether the factor graph has no loops.

    Examples
    --------
    >>> beliefs = belief_propagation({("A", "B"): [[3, 1], [1, 2]], ("B", "C"): [[2, 1], [1, 4]]})
    >>> beliefs.marginals["A"].round(4).tolist(), round(float(np.exp(beliefs.log_Z)), 6)
    ([0.5185, 0.4815], 27.0)
    """

    marginals: dict[Any, np.ndarray]
    log_Z: float
    mode: dict[Any, Any]
    messages: list[tuple[tuple, Any, np.ndarray]]
    n_iter: int
    converged: bool
    is_tree: bool
    _model: FactorModel = field(repr=False)
    _known: dict[int, int] = field(repr=False)

    def query(self, variable: Hashable) -> Factor:
        """The belief of one variable as a factor."""
        k = self._model.place(variable)
        return self._model.answer([k], self.marginals[variable])


@method(
    zh="信念传播",
    task="graphical model",
    model="P(x_i) ∝ Π of the messages m_ki(x_i) from the neighbours k",
    algorithms={
        "sum": "sum-product: marginals",
        "max": "max-product: the most probable assignment",
    },
    texts=["watermelon notes ch. 12, eq. 12.12, 12.13"],
    peers=["pgmpy.inference.BeliefPropagation", "pyagrum.LoopyBeliefPropagation"],
)
def belief_propagation(
    model: Any,
    evidence: Mapping[Hashable, Any] | None = None,
    *,
    algorithm: Literal["sum", "max"] = "sum",
    damping: float = 0.0,
    max_iter: int = 200,
    tol: float = 1e-10,
) -> Beliefs:
    """Beliefs of all variables by messages between factors and variables.

    m_fi(x_i) = Σ over the other variables of f of φ_f Π m_jf(x_j), and m_if the product of the messages to i from
    its other factors. For pairs of variables this is (12.12); a potential of one variable is a message of its own.
    On a tree two passes (leaves to root, root to leaves) give the exact marginals; with loops all messages are sent
    again and again until they stand still, which they need not.

    Parameters
    ----------
    model : BayesianNetwork, MarkovRandomField, list of Factor, or mapping of tuples of names to arrays
        The product of factors.
    evidence : mapping of names to states, optional
        What was observed.
    algorithm : {"sum", "max"}, default="sum"
        Sum-product for marginals, max-product for the most probable assignment.
    damping : float in [0, 1), default=0.0
        How much of the old message (its logarithm) stays in the new one, with loops.
    max_iter : int, default=200
        Most rounds with loops.
    tol : float, default=1e-10
        Stop when no message changes by more.

    Returns
    -------
    Beliefs

    Examples
    --------
    >>> chain = {("A", "B"): [[3, 1], [1, 2]], ("B", "C"): [[2, 1], [1, 4]]}
    >>> belief_propagation(chain, {"C": 0}).marginals["B"].round(4).tolist()
    [0.7273, 0.2727]
    >>> belief_propagation(chain, algorithm="max").mode
    {'A': 1, 'B': 1, 'C': 1}
    """
    if algorithm not in ("sum", "max"):
        raise ValueError(f"algorithm must be 'sum' or 'max'; got {algorithm!r}.")
    if not 0 <= damping < 1:
        raise ValueError(f"damping must be a number in [0, 1); got {damping!r}.")
    if not isinstance(max_iter, int | np.integer) or max_iter < 1:
        raise ValueError(f"max_iter must be a whole number, at least 1; got {max_iter!r}.")
    model = factor_model(model)
    graph = FactorGraph(model, model.codes(evidence), algorithm == "max")
    if graph.is_tree:
        for edge in graph.two_passes():
            graph.send(edge, 0.0)
        rounds, converged = 1, True
    else:
        rounds, converged = _iterate(graph, damping, max_iter, tol)
    if not converged:
        warnings.warn(
            f"Belief propagation did not converge in max_iter={max_iter} rounds; raise damping={damping}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return graph.beliefs(rounds, converged)


def _iterate(graph: FactorGraph, damping: float, max_iter: int, tol: float) -> tuple[int, bool]:
    """Rounds of all messages until they stand still."""
    edges = [(way, f, k) for way in ("down", "up") for f, k in graph.pairs]
    for round_ in range(1, max_iter + 1):
        change = max([graph.send(edge, damping) for edge in edges], default=0.0)
        if change <= tol:
            return round_, True
    return max_iter, False


class FactorGraph:
    """Factors, variables and the messages between them; a message is an array of greatest entry 1 and its
    log-scale.
    """

    def __init__(self, model: FactorModel, known: dict[int, int], maximal: bool) -> None:
        self.model, self.known, self.maximal = model, known, maximal
        parts = model.reduced(known)
        self.log_constant = 0.0
        self.factors: list[Table] = []
        for scope, table in parts:
            if scope:
                self.factors.append((scope, table))
                continue
            if not table > 0:
                raise impossible(model, known)
            self.log_constant += float(np.log(table))
        self.free = [k for k in range(len(model.names)) if k not in known]
        self.around: dict[int, list[int]] = {k: [] for k in self.free}
        for f, (scope, _) in enumerate(self.factors):
            for k in scope:
                self.around[k].append(f)
        self.pairs = [(f, k) for f, (scope, _) in enumerate(self.factors) for k in scope]
        self.parts = self._components()
        self.is_tree = len(self.pairs) == len(self.free) + len(self.factors) - len(self.parts)
        self.messages: dict[Edge, np.ndarray] = {}
        self.scales: dict[Edge, float] = {}
        self.sent: dict[Edge, None] = {}
        if not self.is_tree:
            for way in ("up", "down"):
                for f, k in self.pairs:
                    self.messages[way, f, k] = np.ones(model.sizes[k])
                    self.scales[way, f, k] = 0.0

    def _components(self) -> list[list[int]]:
        """The variables of each connected part, from a root outwards."""
        left, parts = dict.fromkeys(self.free), []
        while left:
            part = [next(iter(left))]
            del left[part[0]]
            for k in part:
                for f in self.around[k]:
                    for j in self.factors[f][0]:
                        if j in left:
                            del left[j]
                            part.append(j)
            parts.append(part)
        return parts

    def two_passes(self) -> list[Edge]:
        """All messages of a tree in an order in which each has what it needs: to the root, then back."""
        inward: list[Edge] = []
        for part in self.parts:
            front: list[tuple[int, int]] = [(part[0], -1)]
            for k, came in front:
                for f in self.around[k]:
                    if f == came:
                        continue
                    inward.append(("up", f, k))
                    for j in self.factors[f][0]:
                        if j != k:
                            inward.append(("down", f, j))
                            front.append((j, f))
        outward = [("down" if way == "up" else "up", f, k) for way, f, k in inward]
        return inward[::-1] + outward

    def send(self, edge: Edge, damping: float) -> float:
        """Compute a message and store it; returns how much it changed."""
        way, f, k = edge
        if way == "down":
            parts = [("up", g, k) for g in self.around[k] if g != f]
            new, scale = self._multiplied(parts, self.model.sizes[k])
        else:
            scope, table = self.factors[f]
            inputs = [("down", f, j) for j in scope if j != k]
            axes = tuple(axis for axis, j in enumerate(scope) if j != k)
            whole = product(
                [(scope, table), *(((j,), self.messages["down", f, j]) for _, _, j in inputs)], scope
            )
            new = whole.max(axis=axes) if self.maximal else whole.sum(axis=axes)
            scale = sum(self.scales[part] for part in inputs)
        top = new.max()
        if not top > 0:
            raise impossible(self.model, self.known)
        new, scale = new / top, scale + float(np.log(top))
        old = self.messages.get(edge)
        if old is None:
            old = np.zeros_like(new)
        elif damping:
            new = new ** (1 - damping) * old**damping
            new = new / new.max()
        self.sent[edge] = None
        self.messages[edge], self.scales[edge] = new, scale
        return float(np.abs(new - old).max())

    def _multiplied(self, edges: list[Edge], size: int) -> tuple[np.ndarray, float]:
        result = np.ones(size)
        for edge in edges:
            result = result * self.messages[edge]
        return result, sum(self.scales[edge] for edge in edges)

    def belief(self, k: int) -> np.ndarray:
        """The product of all messages to a variable, normalised."""
        if k in self.known:
            return np.eye(self.model.sizes[k])[self.known[k]]
        found, _ = self._multiplied([("up", f, k) for f in self.around[k]], self.model.sizes[k])
        whole = found.max() if self.maximal else found.sum()
        if not whole > 0:
            raise impossible(self.model, self.known)
        return found / whole

    def beliefs(self, rounds: int, converged: bool) -> Beliefs:
        names = self.model.names
        marginals = {name: self.belief(k) for k, name in enumerate(names)}
        states = (
            self._decoded()
            if self.maximal and self.is_tree
            else {k: int(marginals[name].argmax()) for k, name in enumerate(names)}
        )
        messages = [
            (
                tuple(names[j] for j in self.factors[f][0]),
                names[k],
                self.messages[way, f, k]
                * (np.exp(min(self.scales[way, f, k], 700.0)) if self.is_tree else 1.0),
            )
            for way, f, k in self.sent
            if way == "up"
        ]
        mode = {name: self.model.states[k][states[k]] for k, name in enumerate(names)}
        log_Z = self.log_constant + (self._tree_log_Z() if self.is_tree else self._bethe())
        return Beliefs(
            marginals, log_Z, mode, messages, rounds, converged, self.is_tree, self.model, self.known
        )

    def _tree_log_Z(self) -> float:
        total = 0.0
        for part in self.parts:
            root = part[0]
            found, scale = self._multiplied(
                [("up", f, root) for f in self.around[root]], self.model.sizes[root]
            )
            total += scale + float(np.log(found.max() if self.maximal else found.sum()))
        return total

    def _bethe(self) -> float:
        """Bethe's free energy with the other sign: E of the log-factors plus the entropy of a tree."""
        total = 0.0
        for f, (scope, table) in enumerate(self.factors):
            joint = product([(scope, table), *(((j,), self.messages["down", f, j]) for j in scope)], scope)
            joint = joint / joint.sum()
            inside = joint > 0
            total += float((joint[inside] * (np.log(table[inside]) - np.log(joint[inside]))).sum())
        for k in self.free:
            belief = self.belief(k)
            belief = belief[belief > 0] / belief.sum()
            total += (len(self.around[k]) - 1) * float((belief * np.log(belief)).sum())
        return total

    def _decoded(self) -> dict[int, int]:
        """The most probable assignment of a tree: each variable given those that are decided already."""
        found = dict(self.known)
        for part in self.parts:
            for k in part:
                weight, _ = self._multiplied(
                    [("up", f, k) for f in self.around[k] if not self._decided(f, found)], self.model.sizes[k]
                )
                for f in self.around[k]:
                    if self._decided(f, found):
                        scope, table = self.factors[f]
                        incoming = [
                            ((j,), self.messages["down", f, j]) for j in scope if j != k and j not in found
                        ]
                        whole = product([(scope, table), *incoming], scope)
                        at = tuple(found[j] if j in found else slice(None) for j in scope)
                        left = [j for j in scope if j not in found]
                        cut = whole[at]
                        weight = weight * cut.max(axis=tuple(a for a, j in enumerate(left) if j != k))
                found[k] = int(weight.argmax())
        return found

    def _decided(self, f: int, found: dict[int, int]) -> bool:
        return any(j in found for j in self.factors[f][0])

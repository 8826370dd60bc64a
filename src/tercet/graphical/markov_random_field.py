"""Markov random fields: joint distributions that factorise over the cliques of a graph (马尔可夫随机场)."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.graphical.factor import FactorModel
from tercet.graphical.inference.graphical_model import GraphicalModel
from tercet.graphical.undirected import is_clique, sorted_nodes, undirected

MAX_CELLS = 1 << 22  # of a table of all assignments


@method(
    zh="马尔可夫随机场",
    task="graphical model",
    approach="generative",
    model="P(y) = (product of Ψ_C(y_C) over cliques C) / Z, Ψ_C = exp(-E(y_C))",
    algorithms="enumeration of small fields; else variable elimination, junction trees, messages or sampling",
    texts=["Li ch. 11, 11.1, Thm 11.1", "watermelon notes ch. 12, 12.2"],
    peers=["pgmpy.models.DiscreteMarkovNetwork"],
)
class MarkovRandomField(GraphicalModel):
    """A joint distribution of discrete variables, given by a potential for each clique of a graph.

    P(y) = (1/Z) product of Ψ_C(y_C), Z the sum of the products. `weights` and `joint` are the table of all
    assignments, so for them the field has to be small; other answers of large fields come from a junction tree,
    which is refused where it would be too wide, and `query` has all methods of inference.

    Parameters
    ----------
    potentials : mapping of tuples of nodes to arrays
        Ψ_C for cliques C, an axis for each node in the order of the tuple; not negative. (Potentials that are
        positive everywhere have energies, and make all Markov properties of the graph true.)
    graph : list of pairs, mapping of nodes to neighbours, or square array, optional
        The graph: every potential must be on one of its cliques. By default the nodes of each potential are joined.
    values : mapping of nodes to lists, optional
        What the values of the nodes are called; 0, 1 ... by default.

    Attributes
    ----------
    nodes : list
        The variables in the order of the axes of the joint table.
    graph : dict
        The neighbours of each node.

    Examples
    --------
    >>> field = MarkovRandomField({("A", "B"): [[3, 1], [1, 2]], ("B", "C"): [[2, 1], [1, 4]]})
    >>> field.Z, field.marginal(["A"]).round(4)
    (27.0, array([0.5185, 0.4815]))
    >>> field.mode()
    {'A': 1, 'B': 1, 'C': 1}
    """

    def __init__(
        self,
        potentials: Mapping[tuple, Any],
        graph: Any = None,
        values: Mapping[Hashable, Collection] | None = None,
    ) -> None:
        tables = {tuple(clique): np.asarray(table, dtype=float) for clique, table in potentials.items()}
        edges = [(u, v) for clique in tables for u in clique for v in clique if u != v]
        named = dict.fromkeys([u for clique in tables for u in clique] + list(values or ()))
        self.graph = undirected(
            edges if graph is None else graph, sorted_nodes(named) if graph is None else None
        )
        self.nodes, self.potentials = list(self.graph), tables
        sizes = self._sizes(values or {})
        self.values = {node: list((values or {}).get(node, range(sizes[node]))) for node in self.nodes}

    @classmethod
    def from_energies(
        cls, edges: Mapping[tuple, float], nodes: Mapping[Hashable, float], values: Collection = (-1, 1)
    ) -> MarkovRandomField:
        """The field exp(-H) / Z with H = sum of α_uv x_u x_v over the edges and of β_v x_v over the nodes
        (watermelon notes eq. 12.6, 12.7).

        Parameters
        ----------
        edges : mapping of pairs of nodes to numbers
            α_uv.
        nodes : mapping of nodes to numbers
            β_v.
        values : list of numbers, default=(-1, 1)
            What each variable may be.

        Examples
        --------
        >>> MarkovRandomField.from_energies({("u", "v"): 0.5}, {"u": 0.2, "v": -0.1}).energy(
        ...     {"u": 1, "v": 1}
        ... ).round(12)
        np.float64(0.6)
        """
        x = np.asarray(list(values), dtype=float)
        tables: dict[tuple, Any] = {pair: np.exp(-alpha * np.outer(x, x)) for pair, alpha in edges.items()}
        tables |= {(node,): np.exp(-beta * x) for node, beta in nodes.items()}
        all_nodes = {node for clique in tables for node in clique}
        return cls(tables, values={node: list(values) for node in all_nodes})

    @classmethod
    def from_data(
        cls,
        X: Any,
        cliques: Collection[tuple],
        potentials: Literal["table", "exponential"] = "table",
        *,
        values: Mapping[Hashable, Collection] | Collection | None = None,
        penalty: float = 0.0,
        sample_weight: Any = None,
        tol: float = 1e-9,
        max_iter: int = 1000,
    ) -> MarkovRandomField:
        """The log-linear field of greatest likelihood: log P(y) = Σ_k w_k f_k(y) - log Z(w).

        The log-likelihood is concave; its gradient is the observed less the expected sum of every feature, the
        expected one by a junction tree, so the graph has to be narrow.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_nodes)
            Complete rows; the nodes are the columns' names, or their numbers.
        cliques : list of tuples of nodes
            The cliques that have a potential.
        potentials : {"table", "exponential"}, default="table"
            A weight for every assignment of each clique; or the weights α_uv and β_v of (12.7), for cliques of one
            or two nodes and values that are numbers, which are then in `alphas` and `betas`.
        values : mapping of nodes to lists, or one list for all, optional
            What the values of the nodes are; by default those that occur.
        penalty : float, default=0.0
            λ of the penalty λ/2 Σ w². Without one, an assignment that never occurs has a weight that falls for
            ever.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.
        tol : float, default=1e-9
            Stop when the log-likelihood of a row changes by less, relatively.
        max_iter : int, default=1000
            Most iterations of L-BFGS.

        Examples
        --------
        >>> X = [[0, 0]] * 4 + [[0, 1]] * 1 + [[1, 0]] * 2 + [[1, 1]] * 3
        >>> MarkovRandomField.from_data(X, [(0, 1)]).joint().round(3).tolist()
        [[0.4, 0.1], [0.2, 0.3]]
        """
        from tercet.graphical.log_linear import fit_log_linear

        return fit_log_linear(
            cls, X, list(cliques), potentials, values, penalty, sample_weight, tol, max_iter
        )

    def factor_model(self) -> FactorModel:
        """The product of tables that inference works on."""
        place = {node: k for k, node in enumerate(self.nodes)}
        factors = [(tuple(place[u] for u in clique), table) for clique, table in self.potentials.items()]
        told = {k for scope, _ in factors for k in scope}
        factors += [((k,), np.ones(len(self.values[node]))) for node, k in place.items() if k not in told]
        return FactorModel(self.nodes, [self.values[node] for node in self.nodes], factors)

    @property
    def n_assignments(self) -> int:
        """How many assignments all nodes have together."""
        return math.prod(len(values) for values in self.values.values())

    def _is_small(self) -> bool:
        return self.n_assignments <= MAX_CELLS and len(self.nodes) <= 32

    def _check_small(self) -> None:
        if not self._is_small():
            raise ValueError(
                f"This field has {self.n_assignments} assignments; a table of at most {MAX_CELLS} is made."
            )

    def weights(self) -> np.ndarray:
        """The product of all potentials for every assignment, an axis for each node."""
        self._check_small()
        weights = np.ones([len(self.values[node]) for node in self.nodes])
        for clique, table in self.potentials.items():
            weights = weights * self._broadcast(clique, table)
        return weights

    @property
    def Z(self) -> float:
        """The sum of all weights (11.6)."""
        return float(self.weights().sum()) if self._is_small() else float(np.exp(self.log_Z))

    @property
    def log_Z(self) -> float:
        """The logarithm of the sum of all weights, by a junction tree."""
        return self.junction_tree().log_probability

    def joint(self) -> np.ndarray:
        """P(y) for every assignment, an axis for each node (11.5)."""
        self._check_small()
        logs = np.zeros([len(self.values[node]) for node in self.nodes])
        with np.errstate(divide="ignore"):
            for clique, table in self.potentials.items():  # a product may be too large for a number
                logs = logs + self._broadcast(clique, np.log(table))
        if logs.max() == -np.inf:
            raise ValueError("Every assignment has the weight 0: the potentials allow none.")
        weights = np.exp(logs - logs.max())
        return weights / weights.sum()

    def probability(self, assignment: Mapping[Hashable, Any]) -> float:
        """P of values for some of the nodes, the others summed out."""
        if not self._is_small():
            nodes = list(assignment)
            return self.query(nodes)[tuple(assignment[node] for node in nodes)] if nodes else 1.0
        return float(self.joint()[self._cells(assignment)].sum())

    def marginal(self, nodes: Collection[Hashable]) -> np.ndarray:
        """P of some nodes, an axis for each in the order given."""
        if not self._is_small():
            return self.query(list(nodes)).table
        return self._marginalise(self.joint(), list(nodes))

    def conditional(self, nodes: Collection[Hashable], given: Mapping[Hashable, Any]) -> np.ndarray:
        """P(nodes | given values), an axis for each node in the order given."""
        both = set(nodes) & set(given)
        if both:
            raise ValueError(f"nodes and given must not share nodes; both hold {sorted(both, key=repr)}.")
        if not self._is_small():
            return self.query(list(nodes), given).table
        kept = np.zeros_like(joint := self.joint())
        cells = self._cells(given)
        kept[cells] = joint[cells]
        if not kept.sum() > 0:
            raise ValueError(f"The probability of {dict(given)} is 0: there is nothing to condition on.")
        return self._marginalise(kept, list(nodes)) / kept.sum()

    def mode(self) -> dict:
        """The most probable assignment (MAP); of equals the first, in a small field."""
        if not self._is_small():
            return self.mpe()
        best = np.unravel_index(int(self.joint().argmax()), self.joint().shape)
        return {node: self.values[node][k] for node, k in zip(self.nodes, best)}

    def energy(self, assignment: Mapping[Hashable, Any]) -> np.float64:
        """-log of the product of potentials, the sum of the energies E(y_C) (11.7); inf where it is 0."""
        if set(assignment) != set(self.nodes):
            raise ValueError(
                f"An energy needs values for exactly the nodes {self.nodes}; got {dict(assignment)}."
            )
        cell = self._cells(assignment)
        with np.errstate(divide="ignore"):
            logs = [
                np.log(table[tuple(cell[self.nodes.index(node)] for node in clique)])
                for clique, table in self.potentials.items()
            ]
        return -np.sum(logs)

    def _sizes(self, values: Mapping[Hashable, Collection]) -> dict[Any, int]:
        sizes = {node: len(names) for node, names in values.items()}
        for clique, table in self.potentials.items():
            if len(set(clique)) != len(clique) or table.ndim != len(clique):
                raise ValueError(
                    f"The potential of {clique} must have an axis for each node; its shape is {table.shape}."
                )
            if not np.isfinite(table).all() or table.min() < 0:
                raise ValueError(f"The potential of {clique} must be finite and not negative.")
            if not is_clique(self.graph, clique):
                raise ValueError(f"{clique} is not a clique of the graph, so it can have no potential.")
            for node, size in zip(clique, table.shape):
                if sizes.setdefault(node, size) != size:
                    raise ValueError(
                        f"{node!r} has {sizes[node]} values; the potential of {clique} has room for {size}."
                    )
        missing = [node for node in self.nodes if node not in sizes]
        if missing:
            raise ValueError(f"Nothing tells how many values {missing[0]!r} has; name them in values.")
        return sizes

    def _broadcast(self, clique: tuple, table: np.ndarray) -> np.ndarray:
        """A table of some nodes with an axis for each node of the field."""
        axes = [self.nodes.index(node) for node in clique]
        shape = [table.shape[axes.index(k)] if k in axes else 1 for k in range(len(self.nodes))]
        return table.transpose(np.argsort(axes)).reshape(shape)

    def _cells(self, assignment: Mapping[Hashable, Any]) -> tuple:
        """The index of the cells that agree with an assignment."""
        strange = [node for node in assignment if node not in self.graph]
        if strange:
            raise ValueError(f"{strange[0]!r} is not a node; the nodes are {self.nodes}.")
        for node, value in assignment.items():
            if value not in self.values[node]:
                raise ValueError(f"{node!r} cannot be {value!r}; its values are {self.values[node]}.")
        return tuple(
            self.values[node].index(assignment[node]) if node in assignment else slice(None)
            for node in self.nodes
        )

    def _marginalise(self, table: np.ndarray, nodes: list) -> np.ndarray:
        for node in nodes:
            if node not in self.graph:
                raise ValueError(f"{node!r} is not a node; the nodes are {self.nodes}.")
        axis = [self.nodes.index(node) for node in nodes]
        return np.einsum(table, list(range(table.ndim)), axis)


@method(
    zh="指数形式的势函数",
    task="graphical model",
    model="ψ(x) = exp(-H(x)), H(x) = sum of α_uv x_u x_v + sum of β_v x_v",
    texts=["Li ch. 11, eq. 11.7", "watermelon notes ch. 12, eq. 12.6, 12.7"],
)
def exponential_potential(alpha: Any, beta: Any, values: Collection = (-1, 1)) -> np.ndarray:
    """The potential exp(-H) of a clique with H = sum of α_uv x_u x_v over its pairs and of β_v x_v.

    Parameters
    ----------
    alpha : float, or array of shape (n, n)
        α_uv, the same for all pairs or for each (u < v).
    beta : array of shape (n,)
        β_v.
    values : list of numbers, default=(-1, 1)
        What each variable may be.

    Returns
    -------
    potential : array with an axis for each variable

    Examples
    --------
    >>> exponential_potential(0.5, [0.2, -0.1]).round(4)
    array([[0.6703, 2.2255],
           [1.2214, 0.5488]])
    """
    beta = np.asarray(beta, dtype=float)
    n, x = beta.size, np.asarray(list(values), dtype=float)
    alpha = np.broadcast_to(np.asarray(alpha, dtype=float), (n, n))
    grid = np.meshgrid(*[x] * n, indexing="ij")
    H = sum(b * axis for b, axis in zip(beta, grid))
    for u in range(n):
        for v in range(u + 1, n):
            H = H + alpha[u, v] * grid[u] * grid[v]
    return np.exp(-H)

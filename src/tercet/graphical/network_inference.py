"""What a Bayesian network answers once its graph and tables are known."""

from __future__ import annotations

import numbers
import weakref
from collections.abc import Collection, Hashable, Mapping
from typing import Any, ClassVar

import numpy as np

from tercet.core.estimator import check_is_fitted, generator
from tercet.core.fitted_checks import Declarations, Each, Floats, Indices
from tercet.core.functions import softmax
from tercet.graphical._engine.clique_tree import CliqueTree
from tercet.graphical._engine.complete_rows import FlatFactors, flat_factors, log_conditional, log_joint
from tercet.graphical.directed import d_separated, directed, moral_graph, topological_order
from tercet.graphical.factor import FactorModel
from tercet.graphical.inference.graphical_model import GraphicalModel
from tercet.graphical.inference.junction_tree import JunctionTree
from tercet.graphical.inference.likelihood_weighting import forward_samples
from tercet.graphical.inference.variable_elimination import variable_elimination
from tercet.graphical.undirected import Graph

TREE_CELLS = (
    1 << 18
)  # of a clique tree that is made once for all rows; else each row is reduced by its evidence


# What is computed from the tables of a network, for as long as they are the same.
_compiled: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class NetworkInference(GraphicalModel):
    """Queries of a fitted network: `parents_`, `tables_`, and the names of variables and states."""

    parents_: list[np.ndarray]
    tables_: list[np.ndarray]
    edges_: list[tuple]
    n_jobs: int | None
    random_state: Any
    fitted_shapes: ClassVar[Declarations] = {
        "parents_": Each(Indices("parents*@", below="nodes"), "nodes"),
        "tables_": Each(Floats("...", finite=True, low=0.0), "nodes"),
        "nodes_": None,
    }

    def _names(self) -> list:
        """The variables."""
        raise NotImplementedError

    def _variable_states(self) -> list[list]:
        """The names of the states of each variable."""
        raise NotImplementedError

    def factor_model(self) -> FactorModel:
        """The product of tables that inference works on."""
        check_is_fitted(self)
        return FactorModel(
            self._names(),
            self._variable_states(),
            list(zip(self._scopes(), self.tables_)),
            [tuple(own.tolist()) for own in self.parents_],
        )

    def _scopes(self) -> list[tuple[int, ...]]:
        return [(*own.tolist(), k) for k, own in enumerate(self.parents_)]

    def _evidence(self, evidence: Mapping[Hashable, Any] | None) -> dict[Any, Any]:
        """Observed states; a number that was cut into intervals stands for its interval."""
        found = dict(evidence or {})
        names, cuts = self._names(), getattr(self, "cuts_", [])
        for name, value in found.items():
            k = names.index(name) if name in names else len(cuts)
            if k < len(cuts) and cuts[k] is not None and isinstance(value, numbers.Real):
                found[name] = self._variable_states()[k][
                    int(np.searchsorted(cuts[k], float(value), side="left"))
                ]
        return found

    def probability(self, assignment: Mapping[Hashable, Any]) -> float:
        """P of states for some of the variables, the others summed out; 0 where they are impossible."""
        model = self.factor_model()
        given = self._evidence(assignment)
        try:
            return float(np.exp(JunctionTree(model.relevant((), model.codes(given)), given).log_probability))
        except ValueError as error:
            if "impossible" in str(error):
                return 0.0
            raise

    def sample(
        self, n_samples: int = 1, *, do: Mapping[Hashable, Any] | None = None, random_state: Any = None
    ) -> np.ndarray:
        """Draw rows, parents before children.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        do : mapping of names to states, optional
            Variables set from outside.
        random_state : int, Generator or None
            Decides what is drawn; by default the parameter of the estimator does.

        Returns
        -------
        X : array of shape (n_samples, n_variables)
            The names of the states: numbers if all are, else objects.
        """
        model, given = self._observed(None, do)
        rng = generator(self.random_state if random_state is None else random_state)
        codes, _ = forward_samples(model, n_samples, model.codes(given), rng)
        columns = [np.array(states, dtype=object)[codes[:, k]] for k, states in enumerate(model.states)]
        numeric = all(isinstance(state, numbers.Real) for states in model.states for state in states)
        return np.column_stack(columns).astype(np.float64 if numeric else object)

    def d_separated(
        self, A: Collection[Hashable], B: Collection[Hashable], C: Collection[Hashable] = ()
    ) -> bool:
        """Whether C d-separates A from B, so that they are independent given C."""
        return d_separated(self._graph(), A, B, C)

    def markov_blanket(self, node: Hashable) -> set:
        """The parents and children of a node, and the other parents of the children."""
        names = self._names()
        if node not in names:
            raise ValueError(f"{node!r} is not a variable; the variables are {names}.")
        return set(self.moral_graph()[node])

    def moral_graph(self) -> Graph:
        """The graph without directions, parents of a common child joined."""
        return moral_graph(self._graph())

    def topological_order(self) -> list:
        """The variables, parents before children."""
        return topological_order(self._graph())

    def table(self, node: Hashable) -> Any:
        """P(node | parents) as a Factor: the parents' axes first, the node's own last."""
        model = self.factor_model()
        scope, table = model.factors[model.place(node)]
        return model.answer(scope, table)

    @property
    def n_parameters_(self) -> int:
        """The number |B| of free parameters."""
        return int(sum(table.size // table.shape[-1] * (table.shape[-1] - 1) for table in self.tables_))

    def to_networkx(self) -> Any:
        """The graph as a networkx.DiGraph, with `states` and `table` of every node."""
        try:
            import networkx
        except ImportError:
            raise ImportError("to_networkx needs the package networkx: pip install networkx.") from None
        model, graph = self.factor_model(), networkx.DiGraph()
        for k, name in enumerate(model.names):
            graph.add_node(name, states=list(model.states[k]), table=self.tables_[k].copy())
        graph.add_edges_from(self.edges_)
        return graph

    def to_bif(self, path: Any = None) -> str:
        """The network as BIF text, written to a file where a path is given."""
        from tercet.graphical.bif import write_bif

        return write_bif(self, path)

    def _graph(self) -> dict:
        check_is_fitted(self)
        names = self._names()
        return directed({names[k]: [names[p] for p in own] for k, own in enumerate(self.parents_)}, names)

    def _engine(self) -> tuple[CliqueTree | None, np.ndarray | None, FlatFactors]:
        """The clique tree (None where it would be wide), its tables and the factors, made once for these tables."""
        kept: Any = _compiled.get(self)
        same = kept is not None and len(kept[0]) == len(self.tables_)
        if same and all(a is b for a, b in zip(kept[0], self.tables_)):
            return kept[1]
        tree: CliqueTree | None = CliqueTree([t.shape[-1] for t in self.tables_], self._scopes())
        assert tree is not None
        base = None
        if sum(tree.cells) > TREE_CELLS:
            tree = None
        else:
            base = tree.compile().base(self.tables_)
        found = tree, base, flat_factors(self._scopes(), self.tables_)
        _compiled[self] = (list(self.tables_), found)
        return found

    def _log_probabilities(self, codes: np.ndarray) -> np.ndarray:
        """log P of the known cells of each row."""
        tree, base, factors = self._engine()
        complete = (codes >= 0).all(axis=1)
        found = np.empty(len(codes))
        found[complete] = log_joint(factors, np.ascontiguousarray(codes[complete]), self.n_jobs)
        rows = np.ascontiguousarray(codes[~complete])
        if not len(rows):
            return found
        if tree is not None and base is not None:
            found[~complete] = tree.marginals(base, rows, self.n_jobs)[1]
            return found
        names, states = self._names(), self._variable_states()
        found[~complete] = [
            _log(self.probability({names[k]: states[k][c] for k, c in enumerate(row) if c >= 0}))
            for row in rows.tolist()
        ]
        return found

    def _posteriors(self, codes: np.ndarray, target: int | None) -> np.ndarray:
        """P(x | known cells) of the target, or of all variables side by side; 0 throughout an impossible row.

        A row in which only the target is not known needs no more than the factors of its Markov blanket.
        """
        tree, base, factors = self._engine()
        sizes = [table.shape[-1] for table in self.tables_]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        here = slice(0, offsets[-1]) if target is None else slice(offsets[target], offsets[target + 1])
        found = np.zeros((len(codes), here.stop - here.start))
        direct = np.zeros(len(codes), dtype=bool)
        if target is not None:
            direct = (np.delete(codes, target, axis=1) >= 0).all(axis=1) & (codes[:, target] < 0)
            rows = np.ascontiguousarray(codes[direct])
            logs = log_conditional(factors, rows, target, sizes[target], self.n_jobs)
            possible = logs.max(axis=1) > -np.inf
            if np.isneginf(factors.logs).any():  # the rest of a row may be impossible, too
                rows[:, target] = logs.argmax(axis=1)
                possible &= log_joint(factors, rows, self.n_jobs) > -np.inf
            found[direct] = np.where(possible[:, None], softmax(np.where(possible[:, None], logs, 0.0)), 0.0)
        rows = np.ascontiguousarray(codes[~direct])
        if not len(rows):
            return found
        if tree is not None and base is not None:
            found[~direct] = tree.marginals(base, rows, self.n_jobs)[0][:, here]
        else:
            found[~direct] = [self._reduced_posterior(row, target) for row in rows.tolist()]
        return found

    def _possible(self, codes: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Distributions given rows, or an error that names a row whose probability is 0."""
        impossible = np.flatnonzero(found.sum(axis=1) == 0)
        if impossible.size:
            row = int(impossible[0])
            names, states = self._names(), self._variable_states()
            cells = {names[k]: states[k][c] for k, c in enumerate(codes[row]) if c >= 0}
            raise ValueError(
                f"{type(self).__name__}: row {row} is impossible, its probability is 0: {cells}. alpha > 0 in fit "
                "leaves no state without probability."
            )
        return found

    def _reduced_posterior(self, row: list[int], target: int | None) -> np.ndarray:
        """The same for one row of a network whose clique tree is wide, by elimination after its evidence."""
        model = self.factor_model()
        evidence = {model.names[k]: model.states[k][c] for k, c in enumerate(row) if c >= 0}
        wanted = range(len(row)) if target is None else [target]
        try:
            parts = [variable_elimination(model, [model.names[k]], evidence).table for k in wanted]
        except ValueError as error:
            if "impossible" not in str(error):
                raise
            parts = [np.zeros(model.sizes[k]) for k in wanted]
        return np.concatenate(parts)

    def _check_tables(self, sizes: list[int]) -> None:
        """Refuse tables that do not fit the graph and the states, and a graph with a cycle."""
        name = type(self).__name__
        if len(self.tables_) != len(sizes) or len(self.parents_) != len(sizes):
            raise ValueError(f"{name}: parents_ and tables_ must be of {len(sizes)} variables.")
        for scope, table in zip(self._scopes(), self.tables_):
            if len(set(scope)) != len(scope) or table.shape != tuple(sizes[k] for k in scope):
                raise ValueError(f"{name}: the table of variable {scope[-1]} has the shape {table.shape}.")
        topological_order({k: own.tolist() for k, own in enumerate(self.parents_)})


def _log(p: float) -> float:
    return float(np.log(p)) if p > 0 else -np.inf

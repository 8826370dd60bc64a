"""Harmonic label propagation (标记传播)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.parameters import Count, Jobs, NonNegative
from tercet.semi_supervised._graph.passes import propagate, reached_rows
from tercet.semi_supervised.graph_classifier import (
    GraphClassifier,
    GraphKernel,
    solve_system,
    weighted_columns,
)


@method(
    zh="调和标记传播",
    task="classification",
    model="each unlabelled node of a graph has the mean of its neighbours: f_u = (I - P_uu)⁻¹ P_ul f_l",
    strategy="least energy Σ_ij W_ij (f_i - f_j)² / 2 with the labels of the labelled nodes fixed",
    convex=True,
    algorithms={
        "iterative": "F = P F with labelled rows put back, again and again",
        "closed-form": "the linear system of the harmonic function",
    },
    texts=["watermelon notes ch. 11, sec. 11.4, eq. 11.7-11.12"],
    peers=["sklearn.semi_supervised.LabelPropagation"],
)
class LabelPropagation(GraphClassifier):
    """Labels that spread over a graph of the rows; those that were given stay as they are.

    With weights W of the edges, D their sums by row and P = D⁻¹W, a pass sets F = P F and puts the given labels
    back. The limit is the harmonic function F_u = (I - P_uu)⁻¹ P_ul Y_l, which minimises f'(D - W)f when W is
    symmetric. Learning is transductive: `transduction_` has the labels of the rows themselves; new rows get the
    weighted mean of the graph's.

    Parameters
    ----------
    kernel : {"rbf", "knn", "precomputed"}, Kernel or callable, default="rbf"
        The weights of the edges: exp(-gamma ‖x - z‖²) between all rows (n² numbers); 1 to each of the
        `n_neighbors` nearest rows, of which a row itself is one (sparse: for large data); X itself; a kernel of
        `tercet.kernels`; or a function of two matrices. None may be negative.
    gamma : float, default=20
        Of "rbf"; 1 / (2σ²) in the text's terms.
    n_neighbors : int, default=7
        Of "knn".
    max_iter : int, default=1000
        The most passes.
    tol : float, default=1e-3
        Stop when the sum of absolute changes is smaller.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    algorithm : {"iterative", "closed-form"}, default="iterative"
        By passes, or by the linear system that they lead to.
    class_mass_normalization : bool, default=False
        Multiply the scores of each class by a factor, so that the unlabelled rows have the class shares of the
        labelled ones in all.

    Attributes
    ----------
    X_ : array or sparse matrix of shape (n_samples, n_features)
        The rows of the graph.
    classes_ : array of shape (n_classes,)
        The labels.
    label_distributions_ : array of shape (n_samples, n_classes)
        Probabilities of the classes for each row. Where no label comes (the graph is in pieces), the shares of the
        classes among the labelled rows, and a warning says so.
    transduction_ : array of shape (n_samples,)
        The label of each row.
    row_weights_ : array of shape (n_samples,) or None
        The sample weights.
    n_iter_ : int
        Passes made.

    Examples
    --------
    >>> X = [[0.0], [0.3], [0.6], [2.0], [2.3], [2.6]]
    >>> model = LabelPropagation().fit(X, [0, -1, -1, -1, -1, 1])
    >>> model.transduction_
    array([0, 0, 0, 1, 1, 1])
    >>> model.predict([[0.1], [2.1]])
    array([0, 1])
    """

    def __init__(
        self,
        kernel: GraphKernel = "rbf",
        *,
        gamma: NonNegative = 20,
        n_neighbors: Count = 7,
        max_iter: Count = 1000,
        tol: NonNegative = 1e-3,
        n_jobs: Jobs = None,
        algorithm: Literal["iterative", "closed-form"] = "iterative",
        class_mass_normalization: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.class_mass_normalization = class_mass_normalization

    def _pass_matrix(self, W: Any) -> Any:
        """P = D⁻¹W (11.11), each column by the weight of its row."""
        W = weighted_columns(W, self.row_weights_)
        degrees = np.ravel(W.sum(axis=1))
        inverse = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0)
        if sparse.issparse(W):
            P = W.copy()
            P.data *= np.repeat(inverse, np.diff(P.indptr))
            return P
        return W * inverse[:, None]

    def _pass(self, graph: Any, F: Any, Y: Any, known: Any, spans: Any) -> tuple[np.ndarray, float]:
        return propagate(graph, F, Y, known, spans, self.n_jobs)

    def _limit(self, graph: Any, Y: np.ndarray, known: np.ndarray) -> np.ndarray:
        """The harmonic function (11.12), where a path leads to a label; else 0."""
        F = Y.copy()
        unknown = np.flatnonzero(reached_rows(graph, known) & ~known)
        if unknown.size:
            rows = graph[unknown]
            part = rows[:, unknown]
            eye = (
                sparse.eye_array(unknown.size, format="csr")
                if sparse.issparse(part)
                else np.eye(unknown.size)
            )
            F[unknown] = solve_system(eye - part, np.asarray(rows[:, known] @ Y[known]))
        return np.maximum(F, 0.0)

    def _distributions(self, F: np.ndarray, known: np.ndarray, prior: np.ndarray) -> dict[str, Any]:
        if self.class_mass_normalization and not known.all():
            mass = self._weighted(F)[~known].sum(axis=0)
            F = np.where(
                known[:, None], F, F * np.divide(prior, mass, out=np.ones_like(mass), where=mass > 0)
            )
        return super()._distributions(F, known, prior)

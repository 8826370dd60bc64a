"""Label spreading (迭代式标记传播)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.parameters import Count, Jobs, NonNegative, OpenFraction
from tercet.semi_supervised._graph.passes import reached_rows, spread
from tercet.semi_supervised.affinity import spreading_matrix
from tercet.semi_supervised.graph_classifier import GraphClassifier, GraphKernel, solve_system


@method(
    zh="迭代式标记传播",
    task="classification",
    model="F = (1 - α)(I - αS)⁻¹ Y over a graph of the rows, S = D^(-1/2) W D^(-1/2); the class is argmax F_ij",
    strategy="least Σ_ij W_ij ‖F_i/√d_i - F_j/√d_j‖² / 2 + μ Σ ‖F_i - Y_i‖², μ = (1 - α)/α",
    convex=True,
    algorithms={
        "iterative": "F = α S F + (1 - α) Y, again and again",
        "closed-form": "the linear system of the limit",
    },
    texts=["watermelon notes ch. 11, sec. 11.4, eq. 11.13-11.16, Fig 13.5"],
    peers=["sklearn.semi_supervised.LabelSpreading"],
)
class LabelSpreading(GraphClassifier):
    """Labels that spread over a graph of the rows; those that were given may change, too.

    With weights W of the edges, D their sums and S = D^(-1/2) W D^(-1/2), a pass sets F = αSF + (1 - α)Y, where Y
    are the given labels. The limit, (1 - α)(I - αS)⁻¹ Y, minimises Σ W_ij ‖F_i/√d_i - F_j/√d_j‖² / 2 + μ Σ ‖F_i -
    Y_i‖² over all rows, with μ = (1 - α)/α. Learning is transductive: `transduction_` has the labels of the rows
    themselves; new rows get the weighted mean of the graph's.

    Parameters
    ----------
    kernel : {"rbf", "knn", "precomputed"}, Kernel or callable, default="rbf"
        The weights of the edges: exp(-gamma ‖x - z‖²) between all rows (n² numbers); 1 to each of the
        `n_neighbors` nearest rows, of which a row itself is one (sparse: for large data); X itself; a kernel of
        `tercet.kernels`; or a function of two matrices. None may be negative. Loops are left out.
    gamma : float, default=20
        Of "rbf"; 1 / (2σ²) in the text's terms.
    n_neighbors : int, default=7
        Of "knn".
    alpha : float, default=0.2
        How much comes from the neighbours rather than from the given label, in (0, 1).
    max_iter : int, default=30
        The most passes.
    tol : float, default=1e-3
        Stop when the sum of absolute changes is smaller.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    algorithm : {"iterative", "closed-form"}, default="iterative"
        By passes, or by the linear system that they lead to.

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
    >>> model = LabelSpreading().fit(X, ["a", None, None, None, None, "b"])
    >>> model.transduction_
    array(['a', 'a', 'a', 'b', 'b', 'b'], dtype='<U1')
    >>> model.predict([[0.1], [2.1]])
    array(['a', 'b'], dtype='<U1')
    """

    def __init__(
        self,
        kernel: GraphKernel = "rbf",
        *,
        gamma: NonNegative = 20,
        n_neighbors: Count = 7,
        alpha: OpenFraction = 0.2,
        max_iter: Count = 30,
        tol: NonNegative = 1e-3,
        n_jobs: Jobs = None,
        algorithm: Literal["iterative", "closed-form"] = "iterative",
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.algorithm = algorithm

    def _pass_matrix(self, W: Any) -> Any:
        return spreading_matrix(W, self.row_weights_)

    def _pass(self, graph: Any, F: Any, Y: Any, known: Any, spans: Any) -> tuple[np.ndarray, float]:
        return spread(graph, F, (1 - self.alpha) * Y, self.alpha, spans, self.n_jobs)

    def _limit(self, graph: Any, Y: np.ndarray, known: np.ndarray) -> np.ndarray:
        """(1 - α)(I - αS)⁻¹ Y (11.15)."""
        n = graph.shape[0]
        eye = sparse.eye_array(n, format="csr") if sparse.issparse(graph) else np.eye(n)
        F = solve_system(eye - self.alpha * graph, (1 - self.alpha) * Y)
        return np.where(reached_rows(graph, known)[:, None], np.maximum(F, 0.0), 0.0)

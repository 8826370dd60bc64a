"""The base of label propagation and label spreading: the graph, the passes, and labels for new rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import bicgstab

from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Floats, Labels, Sizes
from tercet.core.parallel import one_blas_thread
from tercet.core.steps import ConvergenceWarning, Steps
from tercet.core.validation import check_array
from tercet.kernels import Gaussian, Kernel
from tercet.neighbors import NearestNeighbors
from tercet.semi_supervised._graph.passes import graph_spans
from tercet.semi_supervised.partial_labels import SemiSupervisedClassifier, check_labeled_weight

GraphKernel = Literal["rbf", "knn", "precomputed"] | Kernel | Callable[..., Any]
DENSE_ROWS = 2000  # a sparse system of no more rows is solved as a dense one


class GraphClassifier(SemiSupervisedClassifier):
    """Labels that spread over a graph whose nodes are the rows, and whose edges say how near they are.

    A subclass has the parameters of scikit-learn's class and `algorithm`, and says what one pass is, and what the
    limit of all passes is.
    """

    inference = "transductive"
    least_classes = 1
    batch_rounding = 1e-12  # weights of edges to new rows are products by BLAS

    kernel: Any
    gamma: float
    n_neighbors: int
    max_iter: int
    tol: float
    n_jobs: int | None
    algorithm: str
    X_: Any
    label_distributions_: np.ndarray
    transduction_: np.ndarray
    nn_fit: Any
    row_weights_: np.ndarray | None
    fitted_shapes = {
        "label_distributions_": Floats("samples classes", finite=True),
        "transduction_": Labels("samples"),
        "row_weights_": "samples | None",
        "X_": lambda model: (
            Floats("samples features", finite=True) if _keeps_rows(model) else Labels("samples width")
        ),
    }

    # What a subclass writes -------------------------------------------------------------------------------------

    def _pass_matrix(self, W: Any) -> Any:
        """The matrix of a pass from the weights of the edges."""
        raise NotImplementedError

    def _pass(self, graph: Any, F: Any, Y: Any, known: Any, spans: Any) -> tuple[np.ndarray, float]:
        """The labels after one pass, and the sum of absolute changes."""
        raise NotImplementedError

    def _limit(self, graph: Any, Y: np.ndarray, known: np.ndarray) -> np.ndarray:
        """The labels after all passes, in closed form."""
        raise NotImplementedError

    # Learning ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Spread the labels y over the rows X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) when `kernel` is \
"precomputed"
            The rows, with labels and without; or the weights of the edges between them.
        y : array of shape (n_samples,)
            The labels; -1 (or None among strings) for rows without one.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts for others: a factor of the weights of the edges to it. 2 is as good as having
            the row twice (but for "knn", where a second one would take the place of a neighbour).

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        check_labeled_weight(y, sample_weight, self.classes_, type(self).__name__)
        self.X_ = X
        self.row_weights_ = None if sample_weight is None else sample_weight.astype(np.float64)
        known = y >= 0
        Y = np.zeros((y.size, self.classes_.size))
        Y[known, y[known]] = 1.0
        prior = self._weighted(Y).sum(axis=0)
        prior = prior / prior.sum()
        graph = self._pass_matrix(self._affinities(X))

        def fitted(F: np.ndarray) -> dict[str, Any]:
            return self._distributions(F, known, prior)

        if self.algorithm == "closed-form":
            F = self._limit(graph, Y, known)
            self.n_iter_ = 1
        else:
            F = self._iterate(graph, Y, known, fitted)
        self.__dict__.update(fitted(F))
        self._warn_unreached(F, prior)

    def _iterate(self, graph: Any, Y: np.ndarray, known: np.ndarray, fitted: Any) -> np.ndarray:
        F, spans = Y, graph_spans(graph)
        loop: Steps = self.steps(
            self.max_iter,
            unpack=fitted,
            hint=f"max_iter={self.max_iter} was reached without convergence. Raise max_iter or tol, or take "
            "algorithm='closed-form'.",
        )
        for step in loop:
            before, (F, change) = F, self._pass(graph, F, Y, known, spans)
            if self.row_weights_ is not None:  # a row counts by its weight for the end, too
                change = float(self._weighted(np.abs(F - before)).sum())
            step.report(F, change=change)
            if step.converged(change < self.tol):
                break
        return F

    def _distributions(self, F: np.ndarray, known: np.ndarray, prior: np.ndarray) -> dict[str, Any]:
        """Probabilities of the classes for each row; the shares of the labelled rows where no label has come."""
        mass = F.sum(axis=1, keepdims=True)
        found = np.divide(F, mass, out=np.tile(prior, (len(F), 1)), where=mass > 0)
        return {"label_distributions_": found, "transduction_": self.classes_[found.argmax(axis=1)]}

    def _warn_unreached(self, F: np.ndarray, prior: np.ndarray) -> None:
        lost = np.flatnonzero(F.sum(axis=1) <= 0)
        if lost.size:
            label = self.classes_.tolist()[prior.argmax()]
            warnings.warn(
                f"{type(self).__name__}: no label has come to {lost.size} of {len(F)} rows (row {lost[0]} is the "
                "first): the graph is in pieces without labels, or they are too far away. They get the shares of "
                f"the classes among the labelled rows, and so the label {label!r}. Raise "
                "n_neighbors or max_iter, lower gamma, or label some of them.",
                ConvergenceWarning,
                stacklevel=6,
            )

    def _weighted(self, F: np.ndarray) -> np.ndarray:
        """F with its rows multiplied by the weights of the rows."""
        return F if self.row_weights_ is None else self.row_weights_[:, None] * F

    # The graph --------------------------------------------------------------------------------------------------

    def _affinities(self, X: Any) -> Any:
        """The weights of the edges: an array, or CSR."""
        self.__dict__.pop("nn_fit", None)
        if isinstance(self.kernel, str) and self.kernel == "knn":
            self.nn_fit = NearestNeighbors(n_neighbors=self.n_neighbors, n_jobs=self.n_jobs).fit(X)
            W: Any = self.nn_fit.kneighbors_graph(X, self.n_neighbors, mode="connectivity")
        elif isinstance(self.kernel, str) and self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"{type(self).__name__}: with kernel='precomputed', X must be the square matrix of the weights "
                    f"of all edges; got the shape {X.shape}."
                )
            W = X
        else:
            W = self._kernel_matrix(X, X)
        W = sparse.csr_array(W) if sparse.issparse(W) else np.asarray(W, dtype=np.float64)
        values = W.data if sparse.issparse(W) else W
        if W.shape != (X.shape[0],) * 2 or not np.isfinite(values).all() or values.min(initial=0.0) < 0:
            raise ValueError(
                f"{type(self).__name__}: kernel={self.kernel!r} must give a weight of at least 0 for each pair of "
                f"the {X.shape[0]} rows; got an array of shape {W.shape}, its least value "
                f"{values.min(initial=0.0):g}."
            )
        if sparse.issparse(W):
            W.indices, W.indptr = W.indices.astype(np.int64), W.indptr.astype(np.int64)
            W.data = W.data.astype(np.float64)
        return W

    def _kernel_matrix(self, X: Any, Z: Any) -> Any:
        """The weights of the edges between rows X and Z."""
        if isinstance(self.kernel, str):
            return Gaussian(gamma=self.gamma).gram(X, Z, n_jobs=self.n_jobs)
        if isinstance(self.kernel, Kernel):
            return self.kernel.resolve(self.X_).gram(X, Z, n_jobs=self.n_jobs)
        return self.kernel(X, Z)

    # New rows ---------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes of new rows: those of the rows of the graph, weighted by nearness.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_training_samples) when \
`kernel` is "precomputed"
            The rows.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        F = self.label_distributions_
        if isinstance(self.kernel, str) and self.kernel == "knn":
            near = self.nn_fit.kneighbors(X, return_distance=False)
            scores = self._weighted(F)[near].sum(axis=1)
        elif isinstance(self.kernel, str) and self.kernel == "precomputed":
            scores = np.asarray(X @ self._weighted(F))
        elif isinstance(self.kernel, str):
            scores = Gaussian(gamma=self.gamma).times(X, self.X_, self._weighted(F), n_jobs=self.n_jobs)
        else:
            weights = self._kernel_matrix(self.X_, X)
            if not sparse.issparse(weights):
                weights = check_array(weights, ensure_all_finite=True, input_name="kernel(X_, X)")
            scores = np.asarray(weights.T @ self._weighted(F))
        scores = np.maximum(scores, 0.0)  # but for rounding
        mass = scores.sum(axis=1, keepdims=True)
        # a row that is near none of the graph
        return np.divide(scores, mass, out=np.tile(F.mean(axis=0), (len(scores), 1)), where=mass > 0)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of new rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_training_samples) when \
`kernel` is "precomputed"
            The rows.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def _check_fitted(self, sizes: Sizes) -> None:
        super()._check_fitted(sizes)
        neighbours = vars(self).get("nn_fit")
        if isinstance(self.kernel, str) and self.kernel == "knn":
            rows = getattr(neighbours, "n_samples_fit_", -1)
            if not isinstance(neighbours, NearestNeighbors) or rows != len(self.label_distributions_):
                raise ValueError(
                    f"{type(self).__name__}: nn_fit must be a NearestNeighbors of the rows of "
                    "label_distributions_."
                )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.positive_only = tags.input_tags.pairwise
        return tags


def _keeps_rows(model: Any) -> bool:
    """Whether predictions read X_ as rows of numbers."""
    return isinstance(model.kernel, str) and model.kernel == "rbf"


def weighted_columns(W: Any, weight: np.ndarray | None) -> Any:
    """Weights of edges, multiplied by the weights of the rows that they lead to."""
    if weight is None:
        return W
    if sparse.issparse(W):
        W = W.copy()
        W.data *= weight[W.indices]
        return W
    return W * weight


def solve_dense(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The solution of a dense system; the shortest one of least squares, and a warning, where it is singular."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", linalg.LinAlgWarning)
        try:
            return linalg.solve(A, B)
        except (linalg.LinAlgError, linalg.LinAlgWarning):
            pass
    warnings.warn(
        "The graph is all but in pieces: the linear system of algorithm='closed-form' is singular up to rounding. "
        "Lower gamma, raise n_neighbors, or take algorithm='iterative'.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return linalg.lstsq(A, B)[0]


def solve_system(A: Any, B: np.ndarray) -> np.ndarray:
    """The solution of A F = B: by factors of a dense or small matrix, else by BiCGSTAB, column by column."""
    with one_blas_thread():
        if not sparse.issparse(A) or A.shape[0] <= DENSE_ROWS:
            return solve_dense(A.toarray() if sparse.issparse(A) else A, B)
        F = np.zeros_like(B)
        for c in range(B.shape[1]):
            F[:, c], status = bicgstab(A, B[:, c], rtol=1e-10, atol=0.0, maxiter=10_000)
            if status:
                warnings.warn(
                    "The linear system of algorithm='closed-form' did not converge; take algorithm='iterative'.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
        return F

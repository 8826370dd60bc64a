"""What the machines of this family share: an expansion over the training rows, f(x) = Σ_j coef_j K(x, x_j) + b."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from tercet.core.estimator import Classifier, check_is_fitted
from tercet.core.parallel import one_blas_thread
from tercet.kernel_machines.systems import (
    RANK,
    ROOM,
    WHOLE,
    Factor,
    Gram,
    low_rank_inverse,
)
from tercet.kernels import KernelMachine, centring_offset, common_float, primal_weights
from tercet.optimize import conjugate_gradient_iterates

Name = Literal["linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed"]


class Expansion(KernelMachine):
    """f(x) = Σ_j coef_j K(x, x_j) + b, where `X_fit_` are the x_j."""

    X_fit_: Any
    _balanced = False  # whether coefficients sum to 0, as a b free of penalties asks

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        # Threads are ours, by n_jobs: other numbers of BLAS's own would give other bits.
        with one_blas_thread():
            self._train(X, y, sample_weight)

    def _train(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _train(X, y, sample_weight).")

    def _begin(self, X: Any, sample_weight: np.ndarray | None, *, keep: bool = False) -> Gram:
        """The kernel settled, the rows kept for predictions, and the Gram matrix (whole when small, or `keep`)."""
        kernel = self._resolve_kernel(X, sample_weight)
        self.X_fit_ = self._expansion_rows(X, np.arange(X.shape[0]))
        near = centring_offset(kernel, X, weight=sample_weight) if self._balanced else None
        return Gram(kernel, X, whole=keep or X.shape[0] <= WHOLE, n_jobs=self.n_jobs, near=near)

    @property
    def _dtype(self) -> np.dtype:
        """What coefficients are kept as: float32 where the rows are."""
        return np.dtype(np.float32 if self.X_fit_.dtype == np.float32 else np.float64)

    def _sums(self, X: Any, coef: np.ndarray, points: Any = None, b: Any = 0.0) -> np.ndarray:
        """Σ_j coef_j K(x, x_j) + b of new rows."""
        points = self.X_fit_ if points is None else points
        X = self._check(X, reset=False)
        wide = np.ndim(points) == 2 and points.shape[1] != X.shape[1]
        if wide or points.shape[0] != coef.shape[0]:  # of a forged file
            raise ValueError(
                f"{type(self).__name__}: {coef.shape[0]} coefficients and kept rows of shape {points.shape} do not "
                f"fit each other, or the columns of X."
            )
        if not (self._balanced and self._is_linear):
            return self._kernel_expansion(X, points, coef) + b
        values = safe_sparse_dot(X, primal_weights(coef.T, points).T) + b
        return values.astype(common_float(X, points), copy=False)


class KernelClassifier(Expansion, Classifier):
    """A classifier with one expansion for two classes, else one for each: `dual_coef_` and `intercept_`."""

    dual_coef_: np.ndarray
    intercept_: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores f(x): of shape (n_samples,) for two classes, else (n_samples, n_classes).

        Parameters
        ----------
        X : rows that the kernel takes
            Arrays or sparse matrices, strings, or rows of a Gram matrix.

        Returns
        -------
        scores : array
            Positive means the second class when there are two.
        """
        check_is_fitted(self, "dual_coef_")
        scores = self._sums(X, self.dual_coef_.T, b=self.intercept_)
        return scores[:, 0] if self.classes_.size == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : rows that the kernel takes
            Arrays or sparse matrices, strings, or rows of a Gram matrix.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        scores = self.decision_function(X)
        winner = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winner]


class SquaredErrors(Expansion):
    """Least squares: Σ_i w_i (y_i - f(x_i))² + mu |f|², each column of y by itself, b free of the penalty."""

    solver: Any
    tol: Any
    max_iter: Any
    loo: Any
    _flat: bool  # y is one column, and so is what is told of it

    def _least_squares(
        self, gram: Gram, Y: np.ndarray, weight: np.ndarray | None, mu: np.ndarray, *, offset: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of shape (n, t) and offsets of shape (t,) for targets of shape (n, t)."""
        self.__dict__.pop("loo_", None)
        n, t = Y.shape
        d = np.ones(n) if weight is None else np.sqrt(weight.astype(np.float64))
        if self.loo and offset and np.count_nonzero(d) < 2:
            raise ValueError(f"{type(self).__name__}: loo=True needs at least 2 rows with a weight; got 1.")
        E = d[:, None] if offset else None
        if self.solver == "cg" or gram.K is None:
            if self.loo:
                raise ValueError(
                    f"{type(self).__name__}: loo=True needs solver='cholesky'"
                    f"{f', which {n} rows do not get by themselves' if self.solver == 'auto' else ''}."
                )
            one = mu[:1] if (mu == mu[0]).all() else mu
            return self._by_gradients(gram, Y, d, E, one)
        self.n_iter_ = 1
        A, b, inverse = np.empty((n, t)), np.zeros(t), np.empty((n, t))
        levels = np.unique(mu)
        for level in levels:
            here = np.flatnonzero(mu == level)
            last = level == levels[-1] and not gram.given  # it may overwrite K
            B = gram.K if last else gram.K.copy()
            B *= d
            B *= d[:, None]
            B.flat[:: n + 1] += level
            factor = Factor(B, self.n_jobs)
            u, offsets = factor.bordered(E, d[:, None] * Y[:, here])
            A[:, here] = d[:, None] * u
            b[here] = offsets[0] if offset else 0.0
            if self.loo:
                diagonal = factor.inverse_diagonal()
                if E is not None:  # what b may still adapt to
                    side = factor.solve(E)[:, 0]
                    diagonal -= side**2 / (d @ side)
                inverse[:, here] = (d**2 * diagonal)[:, None]
        if self.loo:
            found = self._left_out(gram, Y, A, b, inverse, d > 0)
            self.loo_ = found[:, 0] if self._flat else found
        return A, b - gram.height(A)

    def _by_gradients(
        self, gram: Gram, Y: np.ndarray, d: np.ndarray, E: np.ndarray | None, mu: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Conjugate gradients, preconditioned by a part of K of low rank."""
        D = d[:, None]
        near = low_rank_inverse(D * gram.low_rank(min(RANK, max(ROOM // gram.n, 64))), mu)
        iterates = conjugate_gradient_iterates(
            lambda v: D * gram.times(D * v) + mu * v, D * Y, preconditioner=near, constraints=E
        )
        next(iterates)  # the start
        A, b = np.zeros_like(Y), np.zeros(Y.shape[1])

        def unpack(state: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
            return self._model(*state)

        for step in self.steps(self.max_iter, unpack=unpack, hint="Raise max_iter or tol, or the penalty."):
            found = next(iterates)
            A = D * found.x
            b = found.multipliers[0] - gram.height(A) if E is not None else b
            step.report((A, b), residual=found.residual)
            if step.converged(found.residual <= self.tol):
                break
        return A, b

    def _left_out(
        self, gram: Gram, Y: np.ndarray, A: np.ndarray, b: np.ndarray, inverse: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """What the machine of all other rows says of each row: y - a_i / (inverse of the system)_ii."""
        found = np.empty_like(A)
        found[counts] = Y[counts] - A[counts] / inverse[counts]
        if not counts.all():  # rows of no weight were left out already
            rows = np.flatnonzero(~counts)
            points = self.X_fit_ if gram.near is None else gram.X
            found[rows] = self._kernel_expansion(gram.X[rows], points, A) + b
        return found

    def _model(self, A: np.ndarray, b: np.ndarray) -> dict[str, Any]:
        """Fitted attributes from coefficients and offsets."""
        raise NotImplementedError

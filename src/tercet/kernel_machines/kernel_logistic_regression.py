"""Kernel logistic regression (核逻辑斯谛回归)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.special import expit, log_expit, log_softmax, logsumexp, softmax

from tercet.core.catalog import method
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Real
from tercet.kernel_machines._engine.cholesky import CholeskyFactor
from tercet.kernel_machines._engine.low_rank import ENTRIES, RANK, woodbury_inverse
from tercet.kernel_machines._engine.training_gram import TrainingGram
from tercet.kernel_machines.base import KernelClassifier, KernelName, coefficient_dtype, single_blas_thread
from tercet.kernels import Kernel, centring_offset
from tercet.optimize import conjugate_gradient

DIRECT = 512  # unknowns up to which a factorisation is as fast as conjugate gradients
FLOOR = 1e-16  # of p(1 - p) in a Newton step: the optimum does not depend on it
CG_ITERATIONS = 1000  # most in one Newton step


@method(
    zh="核逻辑斯谛回归",
    task="classification",
    model="P(y = c|x) ∝ exp(f_c(x)), f_c(x) = Σ_j a_cj K(x, x_j) + b_c",
    strategy="C Σ_i w_i (-log P(y_i|x_i)) + Σ_c |f_c|² / 2",
    loss="log",
    convex=True,
    algorithms={
        "newton-cholesky": "Newton's method, each step a weighted least-squares system that is factorised",
        "newton-cg": "Newton's method, each step by conjugate gradients on products with K",
    },
    texts=["watermelon notes ch. 4, eq. 4.33, 4.44, 4.45"],
)
class KernelLogisticRegression(KernelClassifier):
    """Kernel logistic regression: logistic regression in the feature space of a kernel.

    By the representer theorem f is a sum of kernels around the training rows. At the optimum a_i is C w_i (1 - P)
    for the row's own class and -C w_i P for the others. For two classes one f is learned, that of the second.

    Parameters
    ----------
    C : float, default=1.0
        How much the losses weigh against the penalty, as in `LogisticRegression`.
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed"), a kernel, or a function of two
        matrices that gives their Gram matrix.
    degree : float, default=3
        Of the kernel "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Of the kernels "rbf", "laplacian", "poly" and "sigmoid".
    coef0 : float, default=0.0
        Of the kernels "poly" and "sigmoid".
    fit_intercept : bool, default=True
        Whether there is a b, free of the penalty.
    class_weight : dict or "balanced", optional
        Weights of the classes; they multiply the weights of their rows.
    solver : {"auto", "newton-cholesky", "newton-cg"}, default="auto"
        "auto" factorises up to 512 unknowns: rows, times the classes when there are more than two.
    tol : float, default=1e-8
        How far an a_i may be from what it is at the optimum, in units of the largest.
    max_iter : int, default=100
        The most Newton steps.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    dual_coef_ : array of shape (n_planes, n_samples)
        The a_j; there is one row for two classes.
    intercept_ : array of shape (n_planes,)
        The b; their sum is 0 when there are several.
    X_fit_ : rows of shape (n_samples, n_features)
        The training rows; with kernel="precomputed" the numbers of the columns.
    n_iter_ : int
        Newton steps made.

    Examples
    --------
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], ["even", "even", "odd", "odd"]
    >>> model = KernelLogisticRegression(C=10.0, kernel="rbf", gamma=1.0).fit(X, y)
    >>> model.predict_proba([[0, 0], [0.1, 0.9]]).round(3)
    array([[0.739, 0.261],
           [0.315, 0.685]])
    """

    def __init__(
        self,
        C: Positive = 1.0,
        *,
        kernel: KernelName | Kernel | Callable[..., Any] = "rbf",
        degree: NonNegative = 3,
        gamma: Literal["scale", "auto"] | NonNegative = "scale",
        coef0: Real = 0.0,
        fit_intercept: bool = True,
        class_weight: dict | Literal["balanced"] | None = None,
        solver: Literal["auto", "newton-cholesky", "newton-cg"] = "auto",
        tol: Positive = 1e-8,
        max_iter: Count = 100,
        n_jobs: Jobs = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    @single_blas_thread
    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        weight = self._balance(self.class_weight, y, sample_weight)
        c = self.C * (np.ones(y.size) if weight is None else weight.astype(np.float64))[:, None]
        k = self.classes_.size if self.classes_.size > 2 else 1
        T = (y[:, None] == (np.arange(k) if k > 1 else [1])).astype(np.float64)
        direct = self.solver == "newton-cholesky" or (self.solver == "auto" and y.size * k <= DIRECT)
        kernel = self._resolve_kernel(X, sample_weight)
        self.X_fit_ = self._expansion_rows(X, np.arange(y.size))
        offset = centring_offset(kernel, X, weight=sample_weight) if self.fit_intercept else None
        gram = TrainingGram(kernel, X, in_memory=direct or None, offset=offset, n_jobs=self.n_jobs)
        rank = max(min(RANK, ENTRIES // (gram.n * k)) // k, 16)
        low_rank = None if direct else gram.pivoted_cholesky(rank)

        A, KA, b = np.zeros(T.shape), np.zeros(T.shape), np.zeros(k)
        objective, g, violation = self._losses(c, T, KA + b), c * residuals(T, KA + b), 1.0
        for step in self.steps(
            self.max_iter, unpack=self._attributes, hint="Raise max_iter or tol, or lower C."
        ):
            accuracy = 0.01 * min(violation, 1.0)
            target = newton_target(gram, c, KA + b, g, self.fit_intercept, low_rank, accuracy)
            A, KA, b, objective = self._line_search(target, gram, c, T, g, (A, KA, b, objective))
            g = c * residuals(T, KA + b)
            size, least = max(np.abs(g).max(), np.abs(A).max()), FLOOR * c.max()
            violation = float(np.abs(A - g).max() / max(size, least))
            step.report((A, b - gram.intercept_shift(A)), objective=objective, violation=violation)
            if step.converged(violation <= self.tol or size <= least):  # one class: its b would grow for ever
                break
        self.__dict__.update(self._attributes((A, b - gram.intercept_shift(A))))

    @property
    def _zero_sum(self) -> bool:  # type: ignore[override]
        return self.fit_intercept

    def _line_search(
        self, target: Any, gram: TrainingGram, c: np.ndarray, T: np.ndarray, g: np.ndarray, now: Any
    ) -> Any:
        """Backtracking (Armijo) from a Newton step's target to where the objective falls enough."""
        A, KA, b, objective = now
        dA, db = target[0] - A, target[1] - b
        KdA = gram.times(target[0]) - KA  # rather than K times dA, as rounding would add up over the steps
        slope = float(((A - g) * KdA).sum() - (g * db).sum())
        size = 1.0
        while True:
            there = A + size * dA, KA + size * KdA, b + size * db
            found = self._losses(c, T, there[1] + there[2]) + 0.5 * float((there[0] * there[1]).sum())
            if found <= objective + 1e-4 * size * slope + 1e-13 * abs(objective) or size < 1e-10:
                return *there, found
            size /= 2

    @staticmethod
    def _losses(c: np.ndarray, T: np.ndarray, f: np.ndarray) -> float:
        """C Σ w (-log P) of all rows, with all its digits where P is near 1."""
        if f.shape[1] == 1:
            return -float((c * log_expit(np.where(T > 0, f, -f))).sum())
        other = logsumexp(np.where(T > 0, -np.inf, f), axis=1, keepdims=True)
        return float((c * np.logaddexp(0.0, other - (T * f).sum(axis=1, keepdims=True))).sum())

    def _attributes(self, state: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
        A, b = state
        dtype = coefficient_dtype(self.X_fit_)
        return {"dual_coef_": np.ascontiguousarray(A.T, dtype=dtype), "intercept_": b.astype(dtype)}

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : rows that the kernel takes
            Arrays or sparse matrices, strings, or rows of a Gram matrix.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return softmax(scores, axis=1)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : rows that the kernel takes
            Arrays or sparse matrices, strings, or rows of a Gram matrix.

        Returns
        -------
        log_proba : array of shape (n_samples, n_classes)
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        return log_softmax(scores, axis=1)


def residuals(T: np.ndarray, f: np.ndarray) -> np.ndarray:
    """T - P, with all its digits where P is near 1."""
    if f.shape[1] == 1:
        side = 2 * T - 1
        return side * expit(-side * f)
    P = softmax(f, axis=1)
    others = P * (1 - T)
    return T * others.sum(axis=1, keepdims=True) - others


def newton_target(
    gram: TrainingGram,
    c: np.ndarray,
    f: np.ndarray,
    g: np.ndarray,
    intercept: bool,
    low_rank: np.ndarray | None,
    accuracy: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Where a Newton step leads: the a and b of weighted least squares on the targets f + W⁻¹g.

    The weights of a row, W = R Rᵀ, are c p(1-p), or c (diag(p) - ppᵀ) for several classes. With a = R u the system
    is (I + RᵀKR) u + Rᵀ1 b = Rᵀ(f + W⁻¹g), 1ᵀR u = 0, and small weights do no harm.
    """
    n, k = f.shape
    q = np.sqrt(np.maximum(expit(f) * expit(-f) if k == 1 else softmax(f, axis=1), FLOOR))
    root = np.sqrt(c)[:, :, None] * q[:, :, None] * np.eye(k)  # Rᵀ of every row
    if k > 1:
        q /= np.sqrt((q**2).sum(axis=1, keepdims=True))
        root = np.sqrt(c)[:, :, None] * (np.eye(k) - q[:, :, None] * q[:, None, :]) * q[:, None, :]
    inside = np.einsum("iae,ie->ia", root, f) + g / np.where(c > 0, np.sqrt(c) * q, 1.0)
    R = root.reshape(n * k, k)
    # Offsets of all classes that move together change nothing: the last one stays 0 for now.
    E, r = R[:, : max(k - 1, 1)] if intercept else None, inside.reshape(n * k, 1)
    if low_rank is None:
        assert gram.K is not None
        B = R @ R.T
        B.reshape(n, k, n, k)[...] *= gram.K[:, None, :, None]
        B.flat[:: n * k + 1] += 1.0
        u, b = CholeskyFactor(B, gram.n_jobs).solve_saddle_point(E, r)
    else:
        G = (root[:, :, :, None] * low_rank[:, None, None, :]).reshape(n * k, -1)
        preconditioner = woodbury_inverse(G, np.ones(1))

        def times(v: np.ndarray) -> np.ndarray:
            out = gram.times(np.einsum("iae,ia->ie", root, v.reshape(n, k)))
            return v + np.einsum("iae,ie->ia", root, out).reshape(-1, 1)

        found = conjugate_gradient(
            times, r, preconditioner=preconditioner, constraints=E, tol=accuracy, max_iter=CG_ITERATIONS
        )
        u, b = found.x, found.multipliers
    a = np.einsum("iae,ia->ie", root, u.reshape(n, k))
    b = np.resize(np.append(b, 0.0), k) if intercept else np.zeros(k)
    return a, b if k == 1 else b - b.mean()

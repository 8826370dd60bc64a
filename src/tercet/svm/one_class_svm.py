"""The one-class support vector machine (单类支持向量机)."""

from __future__ import annotations

import functools
from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.extmath import safe_sparse_dot

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, check_is_fitted
from tercet.core.parameters import Jobs, Positive, Real
from tercet.core.validation import target_for_callbacks
from tercet.kernels import KernelMachine, common_float
from tercet.svm._dual.problem import DualProblem
from tercet.svm._dual.solver import solve_dual
from tercet.svm.base import Degree, Gamma, Iterations, KernelLike, Nu
from tercet.svm.support_vectors import (
    SUPPORT_SHAPES,
    TrainingRows,
    check_support_shapes,
    checked_indices,
    convergence_status,
    decision_values,
    filled_start,
    kernel_sums,
    linear_coef,
    positive_part,
    support_attributes,
    training_rows,
)


@method(
    zh="单类支持向量机",
    task="outlier detection",
    model="f(x) = sign(Σ α_i K(x_i, x) - ρ)",
    strategy="‖w‖² / 2 - ν n ρ + Σ max(0, ρ - w·φ(x)): the rows on the far side of a hyperplane from the origin",
    algorithms="the dual, by blocks of variables and second-order pairs",
    texts=["Pattern Recognition ch. 5, sec. 5.5.4"],
    peers=["sklearn.svm.OneClassSVM"],
)
class OneClassSVM(OutlierMixin, KernelMachine):
    """One-class support vector machine: a region of most rows; nu bounds the part outside of it.

    At most nu of the rows are outside, at least nu are support vectors.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed" (X is the Gram matrix), a kernel of
        `tercet.kernels`, or a function of two matrices that gives their Gram matrix. A kernel of strings takes a
        list of strings, or an array of shape (n_samples, 1).
    degree : float, default=3
        Of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        As in `SVC`.
    coef0 : float, default=0.0
        Of "poly" and "sigmoid".
    tol : float, default=1e-3
        Tolerance of the KKT conditions.
    nu : float, default=0.5
        In (0, 1].
    shrinking : bool, default=True
        Leave out variables that no violating pair contains at the time, where the full Gram matrix is computed
        (up to 2048 rows).
    cache_size : float, default=200
        Megabytes for rows of the Gram matrix.
    verbose : bool, default=False
        Print how the solver ended.
    max_iter : int, default=-1
        The most two-variable steps; -1 is no limit.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Attributes
    ----------
    offset_ : array of shape (1,)
        rho: the score at the border of the region.
    support_, support_vectors_ : arrays
        The rows on the border or outside it: their indices, and the rows.
    n_support_ : array of shape (1,)
        How many they are.
    dual_coef_ : array of shape (1, n_support)
        alpha of the support vectors.
    intercept_ : array of shape (1,)
        -rho.
    intercept_interval_ : array of shape (2,)
        The interval of optimal intercepts; more than a point where no row is on the border.
    coef_ : array of shape (1, n_features)
        w, when the kernel is linear.
    fit_status_ : int
        0, or 1 when a solver stopped before it converged.
    n_iter_ : int
        Two-variable steps of the solver.
    objective_, violation_ : float
        Of the minimised dual, and the violation of the KKT conditions.
    shape_fit_ : tuple
        The shape of X.

    Examples
    --------
    >>> X = [[0.0], [0.44], [0.45], [0.46], [1.0]]
    >>> OneClassSVM(gamma="auto").fit(X).predict(X)
    array([-1,  1,  1,  1, -1])
    """

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        degree: Degree = 3,
        gamma: Gamma = "scale",
        coef0: Real = 0.0,
        tol: Positive = 1e-3,
        nu: Nu = 0.5,
        shrinking: bool = True,
        cache_size: Positive = 200,
        verbose: bool | int = False,
        max_iter: Iterations = -1,
        n_jobs: Jobs = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    takes_objects = True
    n_support_: np.ndarray
    support_: np.ndarray
    support_vectors_: Any
    dual_coef_: Any
    intercept_: np.ndarray
    offset_: np.ndarray

    fitted_shapes = {**SUPPORT_SHAPES, "dual_coef_": "1 rows*", "intercept_": "1", "offset_": "1"}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the region of the rows X.

        Parameters
        ----------
        X : array, sparse matrix, strings or Gram matrix
            The training data.
        y : ignored
            Callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.

        Returns
        -------
        self
        """
        return self._learn(X, y, positive_part(sample_weight))

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        K = self._resolve_kernel(X, sample_weight)
        rows = training_rows(self, K, X, sample_weight)
        # The region is the same for any scale of the weights, but tol is absolute: the largest weight is 1.
        scale = float(rows.weight.max())
        upper = rows.weight / scale
        total, centre = self.nu * upper.sum(), rows.centre
        problem = DualProblem(
            kernel=rows.kernel,
            X=rows.points,
            sign=np.ones(upper.size),
            # Here Σ α is not 0, and centring leaves a linear term: w = Σ α c + Σ α_i (x_i - c).
            p=np.zeros(upper.size) if centre is None else total * (rows.points @ centre),
            upper=upper,
            start=filled_start(upper, total),
        )
        unpack = functools.partial(self._attributes, X, rows, scale)
        steps = functools.partial(self.steps, unpack=unpack)
        found = solve_dual(
            problem,
            tol=self.tol,
            n_jobs=self.n_jobs,
            steps=steps,
            max_iter=self.max_iter,
            cache_size=self.cache_size,
            shrinking=self.shrinking,
        )
        if self.verbose:
            print(f"{type(self).__name__}: {found.n_iter} steps, violation {found.violation:.3g}")
        self.fit_status_ = convergence_status(self, [found])
        self.__dict__.update(unpack((found.alpha, found.b)))
        self.n_iter_ = max(1, found.n_iter)
        constant = 0.0 if centre is None else (total * centre) @ (total * centre) / 2
        self.objective_ = scale**2 * (found.objective + constant)
        self.violation_ = scale * found.violation
        self.intercept_interval_ = scale * (np.array(found.interval) - _centre_offset(found.alpha, X, rows))

    def _attributes(self, X: Any, rows: TrainingRows, scale: float, state: tuple) -> dict[str, Any]:
        """The fitted attributes for multipliers of the training rows, and b of centred rows."""
        alpha, b = scale * state[0], scale * state[1]
        support = np.flatnonzero(alpha)
        # Rows on the border are inside, and rounding must not decide otherwise.
        single = getattr(X, "dtype", None) == np.float32
        offset = _centre_offset(alpha, X, rows)
        inside = b - offset + abs(b) * (1e-5 if single else 1e-9) + abs(offset) * (1e-6 if single else 1e-14)
        model = support_attributes(self, X, rows.index[support], alpha[None, support], np.array([inside]))
        return {
            **model,
            "n_support_": np.array([support.size], dtype=np.int32),
            "offset_": -model["intercept_"],
        }

    def score_samples(self, X: Any) -> np.ndarray:
        """Σ α_i K(x_i, x) of each row: large where many rows are near.

        Parameters
        ----------
        X : array, sparse matrix, strings or Gram matrix of shape (n_samples, n_training_samples)
            The data.

        Returns
        -------
        scores : array of shape (n_samples,)
        """
        check_is_fitted(self, "support_")
        X = self._check(X, reset=False)
        return kernel_sums(self, X)[:, 0].astype(common_float(X, self.dual_coef_), copy=False)

    def decision_function(self, X: Any) -> np.ndarray:
        """The score of each row less what it must reach: negative outside of the region.

        Parameters
        ----------
        X : array, sparse matrix, strings or Gram matrix of shape (n_samples, n_training_samples)
            The data.

        Returns
        -------
        scores : array of shape (n_samples,)
        """
        return decision_values(self, X)[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """+1 for rows inside of the region, -1 for outliers.

        Parameters
        ----------
        X : array, sparse matrix, strings or Gram matrix of shape (n_samples, n_training_samples)
            The data.

        Returns
        -------
        sides : array of shape (n_samples,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    @property
    def coef_(self) -> Any:
        """The weights w, when the kernel is linear."""
        return linear_coef(self)

    def _weights(self) -> Any:
        return safe_sparse_dot(checked_indices(self.dual_coef_), checked_indices(self.support_vectors_))

    def _check_widths(self, width: int) -> None:
        check_support_shapes(self, width)


def _centre_offset(alpha: np.ndarray, X: Any, rows: TrainingRows) -> float:
    """w·centre, with w of the rows as they are."""
    return 0.0 if rows.centre is None else float(alpha @ X[rows.index] @ rows.centre)

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
from tercet.kernels import centring_offset, common_float
from tercet.svm.base import Degree, Gamma, Iterations, KernelLike, SupportVectorMachine, sound
from tercet.svm.problem import Problem
from tercet.svm.svr import Nu, filled


@method(
    zh="单类支持向量机",
    task="outlier detection",
    model="f(x) = sign(Σ α_i K(x_i, x) - ρ)",
    strategy="‖w‖² / 2 - ν n ρ + Σ max(0, ρ - w·φ(x)): the rows on the far side of a hyperplane from the origin",
    algorithms="the dual, by blocks of variables and second-order pairs",
    texts=["003 ch. 5, sec. 5.5.4"],
    peers=["sklearn.svm.OneClassSVM"],
)
class OneClassSVM(OutlierMixin, SupportVectorMachine):
    """The region where most rows are: nu bounds the part of the rows outside of it.

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
        How far the KKT conditions may be missed.
    nu : float, default=0.5
        In (0, 1].
    shrinking : bool, default=True
        Leave variables aside that no pair could move at the time, where the Gram matrix is kept whole (2048 rows).
    cache_size : float, default=200
        Megabytes for kernel values.
    verbose : bool, default=False
        Print how the solver ended.
    max_iter : int, default=-1
        The most steps of the solver; -1 is no limit.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Attributes
    ----------
    offset_ : array of shape (1,)
        rho: what the score of a row must reach.
    support_, support_vectors_ : arrays
        The rows on the border or outside it, by number and as they are.
    n_support_ : array of shape (1,)
        How many they are.
    dual_coef_ : array of shape (1, n_support)
        alpha of the support vectors.
    intercept_ : array of shape (1,)
        -rho.
    intercept_interval_ : array of shape (2,)
        The intercepts that fit: all of them are as good where no row is on the border.
    coef_ : array of shape (1, n_features)
        w, when the kernel is linear.
    fit_status_ : int
        0, or 1 when a solver stopped before it converged.
    n_iter_ : int
        Steps of the solver.
    objective_, violation_ : float
        Of the dual at its end, and how far the KKT conditions are missed.
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

    n_support_: np.ndarray

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
        return self._learn(X, y, sample_weight)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, None if y is None else np.asarray(y))

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        K = self._resolve_kernel(X, sample_weight)
        upper = np.ones(X.shape[0]) if sample_weight is None else sample_weight.astype(np.float64)
        rows = np.flatnonzero(upper > 0)
        near = centring_offset(K, X, rows, upper[rows])
        kernel, points = self._rows(K, X, None if rows.size == upper.size else rows, near)
        scale = float(upper.max())
        upper = (
            upper[rows] / scale
        )  # the region is the same for any scale of the weights; tol is not relative
        total = self.nu * upper.sum()
        problem = Problem(
            kernel=kernel,
            X=points,
            sign=np.ones(rows.size),
            # Here Σ α is not 0, and rows seen from a point o leave a linear part: w = Σ α o + Σ α_i (x_i - o).
            p=np.zeros(rows.size) if near is None else total * (points @ near),
            upper=upper,
            start=filled(upper, total),
        )
        unpack = functools.partial(self._model, X, rows, scale, near)
        steps = functools.partial(self.steps, unpack=unpack)
        found = self._solve(problem, n_jobs=self.n_jobs, steps=steps)
        if self.verbose:
            print(f"{type(self).__name__}: {found.n_iter} steps, violation {found.violation:.3g}")
        self.fit_status_ = self._status([found])
        self.__dict__.update(self._model(X, rows, scale, near, (found.alpha, found.b)))
        self.n_iter_ = max(1, found.n_iter)
        beyond = 0.0 if near is None else (total * near) @ (total * near) / 2
        self.objective_ = scale**2 * (found.objective + beyond)
        self.violation_ = scale * found.violation
        self.intercept_interval_ = scale * (np.array(found.interval) - _height(found.alpha, X, rows, near))

    def _model(
        self, X: Any, rows: np.ndarray, scale: float, near: np.ndarray | None, state: tuple
    ) -> dict[str, Any]:
        """The fitted attributes for multipliers of the rows that count, and b of rows seen from nearby."""
        alpha, b = scale * state[0], scale * state[1]
        here = np.flatnonzero(alpha)
        # Rows on the border are inside, and rounding must not decide otherwise.
        single = getattr(X, "dtype", None) == np.float32
        lift = _height(alpha, X, rows, near)
        inside = b - lift + abs(b) * (1e-5 if single else 1e-9) + abs(lift) * (1e-6 if single else 1e-14)
        model = self._expansion(X, rows[here], alpha[None, here], np.array([inside]))
        return {**model, "n_support_": np.array([here.size], dtype=np.int32), "offset_": -model["intercept_"]}

    offset_: np.ndarray

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
        return self._sums(X)[:, 0].astype(common_float(X, self.dual_coef_), copy=False)

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
        return self._values(X)[:, 0]

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

    def _weights(self) -> Any:
        return safe_sparse_dot(sound(self.dual_coef_), sound(self.support_vectors_))


def _height(alpha: np.ndarray, X: Any, rows: np.ndarray, near: np.ndarray | None) -> float:
    """w·near, with w of the rows as they are."""
    return 0.0 if near is None else float(alpha @ X[rows] @ near)

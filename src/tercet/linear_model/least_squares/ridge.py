"""Ridge regression (岭回归): least squares with an L2 penalty."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Literal

import numpy as np
from scipy.linalg import LinAlgError

from tercet.core.catalog import method
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.core.steps import Steps
from tercet.core.streams import holds_sparse, is_streamed
from tercet.linear_model._least_squares.design_matrix import (
    DesignMatrix,
    append_ones,
    in_units,
    match_target_shape,
)
from tercet.linear_model._least_squares.direct_solvers import DENSE_COLUMNS
from tercet.linear_model._least_squares.ridge_solvers import (
    solve_average_gradient,
    solve_bounded_lbfgs,
    solve_cholesky,
    solve_conjugate_gradient,
    solve_lsqr,
    solve_svd,
)
from tercet.linear_model.base import LinearRegressor

Array = np.ndarray
TINY, SERIAL = 64, 1024  # sizes of matrices from which BLAS takes threads, and from which they pay
Solver = Literal["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"]


@method(
    zh="岭回归",
    task="regression",
    model="f(x) = w·x + b",
    strategy="sum of (y - f(x))^2 + alpha |w|^2: maximum a posteriori under a Gaussian prior",
    algorithms={
        "cholesky": "normal equations in closed form",
        "svd": "singular value decomposition",
        "sparse_cg": "conjugate gradients",
        "lsqr": "Golub-Kahan bidiagonalisation",
        "sag": "stochastic average gradient",
        "saga": "its unbiased form",
        "lbfgs": "quasi-Newton with bounds, for positive coefficients",
    },
    texts=[
        "Li ch. 1, eq. 1.25",
        "Machine Learning in Depth ch. 2, 2.2",
        "watermelon notes ch. 10, eq. 10.6",
        "Pattern Recognition ch. 5, eq. 5-110",
    ],
    peers=["sklearn.linear_model.Ridge"],
)
class Ridge(LinearRegressor):
    """Least squares with an L2 penalty on the coefficients.

    Minimises sum_i s_i (y_i - x_i·w - b)^2 + alpha |w|^2. The texts scale it in other ways: with N samples
    Li (1.25), a mean of squares + lambda/2 |w|^2 over all of w, is ``alpha=N * lambda / 2`` with
    ``penalize_intercept=True``; Pattern Recognition (5-110), a mean + lambda |w|^2, is ``alpha=N *
    lambda``; the Gaussian prior of variance tau^2 with noise sigma^2 is ``alpha=sigma^2 / tau^2``.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), default=1.0
        Strength of the penalty.
    fit_intercept : bool, default=True
        Whether there is a b.
    copy_X : bool, default=True
        Taken for compatibility: X is never changed.
    max_iter : int, optional
        The most iterations of an iterative solver.
    tol : float, default=1e-4
        Precision of an iterative solver.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}, default="auto"
        How the objective is minimised. "auto" is "cholesky", on sparse data with many columns "sparse_cg",
        with `positive` "lbfgs". Where "cholesky" finds the equations singular, "svd" takes over.
    positive : bool, default=False
        Keep coefficients at or above 0.
    random_state : int, RandomState, Generator or None
        Order of the samples in "sag" and "saga".
    penalize_intercept : bool, default=False
        Count b among the penalised coefficients, as the texts' formulas do.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
        A vector for one target, be y a column, too.
    intercept_ : float or array of shape (n_targets,)
    solver_ : the solver that was used.
    n_iter_ : array of shape (n_targets,)
        Iterations; 1 for the direct solvers (not None as in scikit-learn, whose own checks of estimators want
        a number).

    Examples
    --------
    >>> X = [[1, 0.5], [2, 1.5], [3, 2], [4, 4.5]]
    >>> Ridge(alpha=1, fit_intercept=False).fit(X, [1, 2.2, 2.9, 4.2]).coef_.round(6)
    array([0.708894, 0.324519])
    """

    multi_output = True
    streaming = True

    def __init__(
        self,
        alpha: NonNegative | list | tuple | np.ndarray = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: Count | None = None,
        tol: NonNegative = 1e-4,
        solver: Solver = "auto",
        positive: bool = False,
        random_state: Seed = None,
        penalize_intercept: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.penalize_intercept = penalize_intercept
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Array, sample_weight: Array | None) -> None:
        fit_ridge(self, X, y, sample_weight)

    def _streaming_refusal(self) -> str:
        return streaming_refusal(self)


def streaming_refusal(model: Any) -> str:
    """Why the parameters of a `Ridge` or `RidgeClassifier` do not allow learning from a source."""
    if model.positive or model.penalize_intercept:
        return "positive=True and penalize_intercept=True need all rows at once. Use neither."
    if model.solver not in ("auto", "cholesky", "svd"):
        return f"solver={model.solver!r} visits rows in an order of its own. Use solver='cholesky' or 'svd'."
    return ""


def fit_ridge(model: Any, X: Any, y: Array, weight: Array | None) -> None:
    """Minimise the objective for the parameters of a `Ridge` or `RidgeClassifier`, and set what it has learned."""
    alphas = _alphas(model, 1 if y.ndim == 1 else y.shape[1])
    solver = _solver(model, X)
    # then b is the coefficient of a constant feature
    penalized = model.fit_intercept and model.penalize_intercept
    rows, alphas, unit = in_units(append_ones(X) if penalized else X, alphas)
    design = DesignMatrix(rows, y, weight, model.fit_intercept and not penalized, model.n_jobs)

    def fitted(coef: Array) -> dict[str, Any]:
        b = coef[:, -1] / unit if penalized else design.intercepts(coef)
        W = (coef[:, :-1] if penalized else coef) / unit
        parts = match_target_shape(W, b, y, X.dtype, model.fit_intercept, flat=True)
        return dict(zip(("coef_", "intercept_"), parts))

    coef, model.n_iter_, model.solver_ = solve_ridge(
        design,
        alphas,
        solver,
        tol=model.tol,
        max_iter=model.max_iter,
        random_state=model.random_state,
        steps=functools.partial(model.steps, unpack=fitted),
    )
    model.__dict__.update(fitted(coef))


def solve_ridge(
    design: DesignMatrix,
    alphas: Array,
    solver: str,
    *,
    tol: float,
    max_iter: int | None,
    random_state: Any,
    steps: Any = Steps,
) -> tuple[Array, Array, str]:
    """Coefficients of shape (n_targets, n_features), iterations for each target, and the solver that found them."""
    options = {"saga": solver == "saga", "random_state": random_state, "steps": steps}
    # threads of BLAS cost more than they save on small matrices
    with one_blas_thread() if TINY < min(design.shape) <= SERIAL else contextlib.nullcontext():
        return _solve(design, alphas, solver, tol, max_iter, options)


def _solve(
    design: DesignMatrix,
    alphas: Array,
    solver: str,
    tol: float,
    max_iter: int | None,
    options: dict[str, Any],
) -> tuple[Array, Array, str]:
    counts = np.ones(len(alphas), dtype=np.int32)  # of a direct solver
    if solver == "cholesky":
        try:
            return solve_cholesky(design, alphas), counts, solver
        except LinAlgError:
            solver = "svd"
    if solver == "svd":
        return solve_svd(design, alphas), counts, solver
    if solver == "sparse_cg":
        return *solve_conjugate_gradient(design, alphas, tol, max_iter), solver
    if solver == "lsqr":
        return *solve_lsqr(design, alphas, tol, max_iter), solver
    if solver == "lbfgs":
        return *solve_bounded_lbfgs(design, alphas, tol, max_iter or 15_000), solver
    return *solve_average_gradient(design, alphas, tol, max_iter or 1000, **options), solver


def _alphas(model: Any, targets: int) -> Array:
    """One alpha for each target."""
    return alpha_of_each_target(model.alpha, targets, type(model).__name__)


def alpha_of_each_target(alpha: Any, targets: int, name: str) -> Array:
    """One alpha for each target, from one number or as many as there are targets."""
    alphas = np.atleast_1d(np.asarray(alpha, dtype=np.float64)).ravel()
    if not np.all((alphas >= 0) & np.isfinite(alphas)):
        raise ValueError(f"{name}: parameter 'alpha' must be finite and at least 0; got {alpha!r}.")
    if alphas.size not in (1, targets):
        raise ValueError(
            f"{name}: Number of targets and number of penalties do not correspond: {alphas.size} != {targets}; "
            "'alpha' must be one number or one for each target."
        )
    return np.broadcast_to(alphas, targets)


def _solver(model: Any, X: Any) -> str:
    return choose_solver(model.solver, model.positive, X, type(model).__name__)


def choose_solver(solver: str, positive: bool, X: Any, name: str) -> str:
    """The solver that "auto" stands for, or an error where the one asked for does not exist."""
    if positive and solver not in ("auto", "lbfgs"):
        raise ValueError(
            f"{name}: solver={solver!r} does not support positive fitting: only 'lbfgs' solver can be used ('auto' "
            "stands for it), or set positive=False."
        )
    if solver == "lbfgs" and not positive:
        raise ValueError(f"{name}: 'lbfgs' solver can be used only when positive=True.")
    if solver != "auto":
        return solver
    if positive:
        return "lbfgs"
    wide = holds_sparse(X) and X.shape[1] > DENSE_COLUMNS
    return "sparse_cg" if wide and not is_streamed(X) else "cholesky"

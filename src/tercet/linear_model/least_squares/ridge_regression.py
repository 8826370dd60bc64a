"""Ridge regression as a function (岭回归): coefficients from data, without an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_consistent_length

from tercet.core.catalog import method
from tercet.core.estimator import check_weight
from tercet.core.validation import check_array
from tercet.linear_model._least_squares.design_matrix import DesignMatrix, in_units
from tercet.linear_model.least_squares.ridge import (
    Solver,
    alpha_of_each_target,
    choose_solver,
    solve_ridge,
)


@method(
    zh="岭回归的系数",
    task="regression",
    model="f(x) = w·x",
    strategy="sum of (y - f(x))^2 + alpha |w|^2",
    algorithms={"solver": "those of Ridge"},
    texts=["watermelon notes ch. 10, eq. 10.6", "Pattern Recognition ch. 5, eq. 5-110"],
    peers=["sklearn.linear_model.ridge_regression"],
)
def ridge_regression(
    X: Any,
    y: Any,
    alpha: Any,
    *,
    sample_weight: Any = None,
    solver: Solver = "auto",
    max_iter: int | None = None,
    tol: float = 1e-4,
    verbose: int = 0,
    positive: bool = False,
    random_state: Any = None,
    return_n_iter: bool = False,
    return_intercept: bool = False,
    check_input: bool = True,
) -> Any:
    """Coefficients of ridge regression, without an intercept unless it is asked for.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        The targets.
    alpha : float or array of shape (n_targets,)
        Strength of the penalty.
    sample_weight : array of shape (n_samples,) or float, optional
        How much each row counts.
    solver, max_iter, tol, positive, random_state
        As in `Ridge`.
    verbose : int, default=0
        For compatibility.
    return_n_iter : bool, default=False
        Whether to return the numbers of iterations too.
    return_intercept : bool, default=False
        Whether to fit and return the intercept too; as in scikit-learn for `solver="auto"` and `"sag"` only.
    check_input : bool, default=True
        For compatibility: the data is always checked, which costs little.

    Returns
    -------
    coef : array of shape (n_features,) or (n_targets, n_features)
    n_iter : array of shape (n_targets,) or None, when `return_n_iter`
        None for the direct solvers.
    intercept : float or array of shape (n_targets,), when `return_intercept`

    Examples
    --------
    >>> X = [[1, 0.5], [2, 1.5], [3, 2], [4, 4.5]]
    >>> ridge_regression(X, [1, 2.2, 2.9, 4.2], alpha=1.0).round(6)
    array([0.708894, 0.324519])
    """
    if return_intercept and solver not in ("auto", "sag"):
        raise ValueError(
            f"In Ridge, only 'sag' solver can directly fit the intercept; got solver={solver!r}. Set "
            "return_intercept=False, or use the estimator, which always can."
        )
    X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
    y = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    check_consistent_length(X, y)
    if y.ndim > 2:
        raise ValueError(f"Target y has the wrong shape {y.shape}.")
    weight = None if sample_weight is None else check_weight(sample_weight, X)
    chosen = choose_solver(solver, positive, X, "ridge_regression")
    if chosen == "svd" and issparse(X):
        raise TypeError("SVD solver does not support sparse inputs currently; use another solver.")
    alphas = alpha_of_each_target(alpha, 1 if y.ndim == 1 else y.shape[1], "ridge_regression")
    rows, alphas, unit = in_units(X, alphas)
    design = DesignMatrix(rows, y, weight, return_intercept)
    options = {"tol": tol, "max_iter": max_iter, "random_state": random_state}
    coef, counts, used = solve_ridge(design, alphas, chosen, **options)
    intercept = design.intercepts(coef).astype(X.dtype)
    coef = (coef / unit).astype(X.dtype)
    found = [coef[0] if len(coef) == 1 else coef]
    if return_n_iter:
        found.append(None if used in ("cholesky", "svd") else counts)
    if return_intercept:
        found.append(intercept[0] if len(intercept) == 1 else intercept)
    return tuple(found) if len(found) > 1 else found[0]

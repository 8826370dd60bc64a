"""Regularisation paths (正则化路径) of the lasso and the elastic net: solutions for many alphas."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_consistent_length

from tercet.core.catalog import method
from tercet.core.estimator import check_weight
from tercet.core.validation import check_array
from tercet.linear_model._lasso.multi_task import multi_task_problem, solve_multi_task_path
from tercet.linear_model._lasso.path import alpha_grid, geometric_grid, solve_path, visiting_order
from tercet.optimize import LeastSquares


@method(
    zh="弹性网正则化路径",
    task="regression",
    model="w as a function of alpha",
    strategy="elastic net for each alpha",
    algorithms="coordinate descent, each alpha from the solution of the one before",
    texts=["watermelon notes ch. 10, eq. 10.7", "Pattern Recognition ch. 5, sec. 5.7"],
    peers=["sklearn.linear_model.enet_path", "celer.celer_path"],
)
def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: Any = "deprecated",
    alphas: Any = "warn",
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: bool = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    sample_weight: Any = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    selection: Literal["cyclic", "random"] = "cyclic",
    random_state: Any = None,
    n_jobs: int | None = None,
    **params: Any,
) -> Any:
    """Elastic net coefficients for many strengths of the penalty, without an intercept.

    Parameters
    ----------
    X, y : arrays
        Data and targets (centre them, or use `ElasticNetCV`, when there should be an intercept).
    l1_ratio : float, default=0.5
        Share of the L1 part.
    eps : float, default=1e-3
        Smallest alpha over largest.
    n_alphas : int
        Deprecated, as in scikit-learn: give `alphas` a number.
    alphas : int or array, default=100
        How many, or which.
    precompute, Xy, copy_X, check_input
        For compatibility: the Gram matrix is made of the features that matter, X is never changed.
    coef_init : array of shape (n_features,) or (n_targets, n_features), optional
        Where to begin.
    verbose : bool, default=False
        Print a line for every alpha.
    return_n_iter : bool, default=False
        Whether to return the numbers of rounds too.
    positive, sample_weight, tol, max_iter, selection, random_state, n_jobs
        As in `ElasticNet`.
    **params
        Refused, with their names.

    Returns
    -------
    alphas : array of shape (n_alphas,)
        From the largest down.
    coefs : array of shape (n_features, n_alphas) or (n_targets, n_features, n_alphas)
        With several targets a feature enters for all of them or for none: the L1 part is the sum of the lengths
        of the columns, as in scikit-learn.
    dual_gaps : array of shape (n_alphas,)
    n_iters : list, when `return_n_iter`

    Examples
    --------
    >>> X, y = [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], [3.6, 2.4, -4.4, -1.6]
    >>> alphas, coefs, gaps = enet_path(X, y, l1_ratio=1.0, alphas=[2.0, 0.3])
    >>> coefs.T.round(10)
    array([[ 1. ,  0. ,  0. ],
           [ 2.7, -0.1,  0.7]])
    """
    alphas = _number_or_strengths(alphas, n_alphas)
    params.pop("do_screening", None)  # of scikit-learn's solver; the working set is a screening
    if params:
        raise ValueError(f"Unexpected parameters in params: {sorted(params)}.")
    X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
    y = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    check_consistent_length(X, y)
    weight, order = check_weight(sample_weight, X), visiting_order(selection, random_state)
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "start": coef_init, "verbose": verbose}
    if y.ndim > 1:
        if positive:
            raise ValueError(f"positive=True is for one target; y has the shape {y.shape}.")
        together = multi_task_problem(X, y, weight, n_jobs)
        grid = _multi_task_grid(together, alphas, l1_ratio, eps)
        solved = solve_multi_task_path(together, grid, l1_ratio, order=order, **options)
        coefs = np.stack([W.T for W, _, _ in solved], axis=-1)
        gaps, counts = [gap for _, gap, _ in solved], [count for _, _, count in solved]
    else:
        problem = LeastSquares(X, y, weight, fit_intercept=False, n_jobs=n_jobs)
        grid = alpha_grid(problem, alphas, l1_ratio, eps, positive)
        results = solve_path(problem, grid, l1_ratio, order=order, positive=positive, **options)
        coefs = np.stack([result.x for result in results], axis=-1)
        gaps, counts = [result.gap for result in results], [result.nit for result in results]
    found = grid, coefs.astype(X.dtype), np.array(gaps)
    return (*found, counts) if return_n_iter else found


def _number_or_strengths(alphas: Any, n_alphas: Any) -> Any:
    """What `alphas` and the deprecated `n_alphas` ask for, with the warnings that scikit-learn gives."""
    asked: Any = 100
    if not isinstance(n_alphas, str):
        warnings.warn(
            "'n_alphas' was deprecated in 1.9 and will be removed in 1.11, as in scikit-learn; give 'alphas' the "
            "number of strengths.",
            FutureWarning,
            stacklevel=3,
        )
        asked = n_alphas
    if alphas is None:
        warnings.warn(
            "'alphas=None' is deprecated and will be removed in 1.11, as in scikit-learn; set 'alphas=100'.",
            FutureWarning,
            stacklevel=3,
        )
        return asked
    return asked if isinstance(alphas, str) and alphas == "warn" else alphas


def _multi_task_grid(problem: Any, alphas: Any, l1_ratio: float, eps: float) -> np.ndarray:
    """The strengths of a path with several targets."""
    if not isinstance(alphas, int | np.integer):
        return np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
    if l1_ratio == 0:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0; give `alphas=` an array."
        )
    return geometric_grid(float(np.linalg.norm(problem[1], axis=1).max()) / l1_ratio, int(alphas), eps)


@method(
    zh="套索正则化路径",
    task="regression",
    model="w as a function of alpha",
    strategy="lasso for each alpha",
    algorithms="coordinate descent, each alpha from the solution of the one before",
    texts=["watermelon notes ch. 10, eq. 10.7"],
    peers=["sklearn.linear_model.lasso_path", "celer.celer_path"],
)
def lasso_path(
    X: Any,
    y: Any,
    *,
    eps: float = 1e-3,
    n_alphas: Any = "deprecated",
    alphas: Any = "warn",
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: bool = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    sample_weight: Any = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    selection: Literal["cyclic", "random"] = "cyclic",
    random_state: Any = None,
    n_jobs: int | None = None,
    **params: Any,
) -> Any:
    """Lasso coefficients for many strengths of the penalty: `enet_path` with `l1_ratio=1`.

    Parameters
    ----------
    X, y, eps, n_alphas, alphas, precompute, Xy, copy_X, coef_init, verbose, return_n_iter, positive, check_input, \
    sample_weight, tol, max_iter, selection, random_state, n_jobs, **params
        As in `enet_path`.

    Returns
    -------
    alphas, coefs, dual_gaps, n_iters
        As from `enet_path`.

    Examples
    --------
    >>> alphas, coefs, gaps = lasso_path([[1, 1], [2, 1], [3, 1]], [1, 2, 3.5], alphas=3)
    >>> (coefs[0] > 0).tolist()
    [False, True, True]
    """
    return enet_path(
        X,
        y,
        l1_ratio=1.0,
        eps=eps,
        alphas=_number_or_strengths(alphas, n_alphas),
        coef_init=coef_init,
        verbose=verbose,
        return_n_iter=return_n_iter,
        positive=positive,
        sample_weight=sample_weight,
        tol=tol,
        max_iter=max_iter,
        selection=selection,
        random_state=random_state,
        n_jobs=n_jobs,
        **params,
    )

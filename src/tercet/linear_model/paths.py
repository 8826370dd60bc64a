"""Lasso and elastic net for many strengths: regularisation paths (正则化路径)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from tercet.core.catalog import method
from tercet.core.estimator import check_weight
from tercet.linear_model.lasso import ElasticNet
from tercet.optimize import LeastSquares

TINY = float(np.finfo(np.float64).resolution)


@method(
    zh="弹性网正则化路径",
    task="regression",
    model="w as a function of alpha",
    strategy="elastic net for each alpha",
    algorithms="coordinate descent, each alpha from the solution of the one before",
    texts=["002 ch. 10, eq. 10.7", "003 ch. 5, sec. 5.7"],
    peers=["sklearn.linear_model.enet_path", "celer.celer_path"],
)
def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    alphas: Any = 100,
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
    alphas : int or array, default=100
        How many, or which.
    precompute, Xy, copy_X, check_input
        For compatibility: the Gram matrix is made of the features that matter, X is never changed.
    coef_init : array of shape (n_features,), optional
        Where to begin.
    verbose : bool, default=False
        Print a line for every alpha.
    return_n_iter : bool, default=False
        Whether to return the numbers of rounds too.
    positive, sample_weight, tol, max_iter, selection, random_state, n_jobs
        As in `ElasticNet`.

    Returns
    -------
    alphas : array of shape (n_alphas,)
        From the largest down.
    coefs : array of shape (n_features, n_alphas)
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
    X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
    y = column_or_1d(check_array(y, dtype=np.float64, ensure_2d=False, input_name="y"))
    check_consistent_length(X, y)
    problem = LeastSquares(X, y, check_weight(sample_weight, X), fit_intercept=False, n_jobs=n_jobs)
    settings = ElasticNet(
        positive=positive, tol=tol, max_iter=max_iter, selection=selection, random_state=random_state
    )
    grid = grid_of(problem, alphas, l1_ratio, eps, positive)
    results = follow(settings, problem, grid, l1_ratio, coef_init, verbose)
    coefs = np.stack([result.x for result in results], axis=1).astype(X.dtype)
    found = grid, coefs, np.array([result.gap for result in results])
    return (*found, [result.nit for result in results]) if return_n_iter else found


@method(
    zh="套索正则化路径",
    task="regression",
    model="w as a function of alpha",
    strategy="lasso for each alpha",
    algorithms="coordinate descent, each alpha from the solution of the one before",
    texts=["002 ch. 10, eq. 10.7"],
    peers=["sklearn.linear_model.lasso_path", "celer.celer_path"],
)
def lasso_path(
    X: Any,
    y: Any,
    *,
    eps: float = 1e-3,
    alphas: Any = 100,
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
) -> Any:
    """Lasso coefficients for many strengths of the penalty: `enet_path` with `l1_ratio=1`.

    Parameters
    ----------
    X, y, eps, alphas, precompute, Xy, copy_X, coef_init, verbose, return_n_iter, positive, check_input, \
    sample_weight, tol, max_iter, selection, random_state, n_jobs
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
        alphas=alphas,
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
    )


ElasticNet.path = staticmethod(enet_path)  # the class comes before its path, which uses it


def grid_of(problem: LeastSquares, alphas: Any, l1_ratio: float, eps: float, positive: bool) -> np.ndarray:
    """Strengths from the smallest that leaves nothing but zeros, down by a factor `eps` in equal ratios."""
    if not isinstance(alphas, int | np.integer):
        grid = np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
        if grid.size == 0 or not (grid >= 0).all():
            raise ValueError(
                f"alphas must be a number of strengths or strengths in [0, inf); got {alphas!r}."
            )
        return grid
    if alphas < 1:
        raise ValueError(f"alphas must be at least 1, or an array; got {alphas!r}.")
    if l1_ratio == 0:
        raise ValueError("alphas must be given as an array with l1_ratio=0: no strength makes all w zero.")
    pull = problem.target_correlations if positive else np.abs(problem.target_correlations)
    highest = pull.max(initial=0.0) / l1_ratio
    return np.geomspace(highest, highest * eps, num=alphas) if highest > TINY else np.full(alphas, TINY)


def follow(
    settings: Any,
    problem: LeastSquares,
    grid: np.ndarray,
    l1_ratio: float,
    start: Any = None,
    verbose: bool = False,
) -> list[Any]:
    """A solution for each strength, each from the one before."""
    results: list[Any] = []
    order = settings._order()
    for alpha in grid:
        results.append(settings._minimise(problem, alpha, l1_ratio, start, order=order))
        start = results[-1].x
        if verbose:
            print(f"alpha={alpha:.6g}: {np.count_nonzero(start)} features, gap {results[-1].gap:.3g}")
    return results

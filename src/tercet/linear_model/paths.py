"""Lasso and elastic net for many strengths: regularisation paths (正则化路径), and the best by validation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from tercet.core.catalog import method
from tercet.core.estimator import check_weight
from tercet.core.parallel import each
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Seed
from tercet.linear_model.lasso import ElasticNet, SparseRegressor
from tercet.optimize.coordinate import LeastSquares

TINY = float(np.finfo(np.float64).resolution)


@method(
    zh="弹性网正则化路径",
    task="regression",
    model="w as a function of alpha",
    strategy="elastic net for each alpha",
    algorithms="coordinate descent, each alpha from the solution of the one before",
    texts=["002 ch. 10, eq. 10.7", "003 ch. 5, sec. 5.7"],
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
    grid = _grid(problem, alphas, l1_ratio, eps, positive)
    results = _follow(settings, problem, grid, l1_ratio, coef_init, verbose)
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
)
def lasso_path(X: Any, y: Any, **options: Any) -> Any:
    """Lasso coefficients for many strengths of the penalty: `enet_path` with `l1_ratio=1`.

    Examples
    --------
    >>> alphas, coefs, gaps = lasso_path([[1, 1], [2, 1], [3, 1]], [1, 2, 3.5], alphas=3)
    >>> (coefs[0] > 0).tolist()
    [False, True, True]
    """
    return enet_path(X, y, l1_ratio=1.0, **options)


def _grid(problem: LeastSquares, alphas: Any, l1_ratio: float, eps: float, positive: bool) -> np.ndarray:
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
    pull = problem.first if positive else np.abs(problem.first)
    highest = pull.max(initial=0.0) / l1_ratio
    return np.geomspace(highest, highest * eps, num=alphas) if highest > TINY else np.full(alphas, TINY)


def _follow(
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


@method(
    zh="弹性网 交叉验证",
    task="regression",
    model="f(x) = w·x + b",
    strategy="elastic net, whose alpha and l1_ratio have the least mean squared error in cross-validation",
    algorithms="coordinate descent along a path of alphas in each fold",
    texts=["003 ch. 5, sec. 5.7", "002 ch. 10"],
)
class ElasticNetCV(SparseRegressor):
    """Elastic net that chooses its strength by cross-validation.

    Parameters
    ----------
    l1_ratio : float or list of floats, default=0.5
        Share of the L1 part, or those to choose from.
    eps : float, default=1e-3
        Smallest alpha over largest, when there is a number of them.
    alphas : int or array, default=100
        How many strengths to try, or which.
    cv : int, splitter or iterable, optional
        The folds; 5 by default.
    n_jobs : int, optional
        Threads, one fold each; the result does not depend on it.
    verbose : bool or int, default=0
        Print a line for every strength.
    fit_intercept, precompute, max_iter, tol, copy_X, positive, random_state, selection
        As in `ElasticNet`; `precompute="auto"` is False.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        The chosen ones.
    alphas_ : array of shape (n_alphas,) or (n_l1_ratio, n_alphas)
        Those tried.
    mse_path_ : array of shape (n_alphas, n_folds) or (n_l1_ratio, n_alphas, n_folds)
        Mean squared errors of the folds.
    coef_, intercept_, sparse_coef_, dual_gap_, n_iter_
        As in `ElasticNet`, fitted to all rows with the chosen strength.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> model = ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=10).fit(X, X[:, 0])
    >>> model.l1_ratio_, model.mse_path_.shape, np.flatnonzero(model.coef_.round(2))
    (1.0, (2, 10, 5), array([0]))
    """

    l1_ratio: Any

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: Positive = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: Count = 1000,
        tol: NonNegative = 1e-4,
        cv: Any = None,
        copy_X: bool = True,
        verbose: bool | int = 0,
        n_jobs: Jobs = None,
        positive: bool = False,
        random_state: Seed = None,
        selection: Literal["cyclic", "random"] = "cyclic",
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        ratios = np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64))
        if not ((ratios >= 0) & (ratios <= 1)).all():
            raise ValueError(f"{type(self).__name__}: l1_ratio must be in [0, 1]; got {self.l1_ratio!r}.")
        problem = LeastSquares(X, y, sample_weight, fit_intercept=self.fit_intercept, n_jobs=self.n_jobs)
        grids = [_grid(problem, self.alphas, ratio, self.eps, self.positive) for ratio in ratios]
        folds = list(check_cv(self.cv).split(X, y))
        errors = each(self._errors, folds, (X, y, sample_weight), ratios, grids, n_jobs=self.n_jobs)
        table = np.stack(errors, axis=-1)
        best = np.unravel_index(np.argmin(table.mean(axis=-1)), table.shape[:2])
        self.mse_path_ = table[0] if len(ratios) == 1 else table
        self.alphas_ = grids[0] if len(ratios) == 1 or np.ndim(self.alphas) else np.array(grids)
        self.alpha_, self.l1_ratio_ = float(grids[best[0]][best[1]]), float(ratios[best[0]])

        def steps(limit: int, **options: Any) -> Any:
            return self.steps(limit, unpack=attributes, **options)

        def attributes(state: tuple[np.ndarray, float]) -> dict[str, Any]:
            return {"coef_": state[0].astype(X.dtype), "intercept_": state[1]}

        result = self._minimise(problem, self.alpha_, self.l1_ratio_, steps=steps)
        self.__dict__.update(attributes((result.x, result.intercept)))
        self.dual_gap_, self.n_iter_ = result.gap, result.nit

    def _errors(
        self,
        fold: tuple,
        data: tuple[Any, np.ndarray, np.ndarray | None],
        ratios: Iterable[float],
        grids: list,
    ) -> np.ndarray:
        """Mean squared errors of one fold, for every l1_ratio and alpha."""
        (train, test), (X, y, weight) = fold, data
        learn, judge = (None, None) if weight is None else (weight[train], weight[test])
        problem = LeastSquares(X[train], y[train], learn, fit_intercept=self.fit_intercept)
        errors = []
        for ratio, grid in zip(ratios, grids):
            results = _follow(self, problem, grid, ratio, verbose=bool(self.verbose))
            coefs = np.stack([result.x for result in results], axis=1)
            fitted = X[test] @ coefs + np.array([result.intercept for result in results])
            errors.append(np.average((fitted - y[test][:, None]) ** 2, axis=0, weights=judge))
        return np.array(errors)


@method(
    zh="套索 交叉验证",
    task="regression",
    model="f(x) = w·x + b",
    strategy="lasso, whose alpha has the least mean squared error in cross-validation",
    algorithms="coordinate descent along a path of alphas in each fold",
    texts=["002 ch. 10", "003 ch. 5, sec. 5.7"],
)
class LassoCV(ElasticNetCV):
    """Lasso that chooses its strength by cross-validation.

    Parameters
    ----------
    eps, alphas, fit_intercept, precompute, max_iter, tol, copy_X, cv
        As in `ElasticNetCV`.
    verbose, n_jobs, positive, random_state, selection
        As in `ElasticNetCV`.

    Attributes
    ----------
    alpha_, alphas_, mse_path_, coef_, intercept_, sparse_coef_, dual_gap_, n_iter_
        As in `ElasticNetCV`.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> model = LassoCV(alphas=10).fit(X, X[:, 0] + 1)
    >>> model.coef_.round(2)
    array([1., 0., 0., 0., 0.])
    """

    l1_ratio = 1.0

    def __init__(
        self,
        *,
        eps: Positive = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: Count = 1000,
        tol: NonNegative = 1e-4,
        copy_X: bool = True,
        cv: Any = None,
        verbose: bool | int = False,
        n_jobs: Jobs = None,
        positive: bool = False,
        random_state: Seed = None,
        selection: Literal["cyclic", "random"] = "cyclic",
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

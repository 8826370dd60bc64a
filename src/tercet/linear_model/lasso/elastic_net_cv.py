"""The elastic net with its penalty chosen by cross-validation (交叉验证)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from tercet.core.catalog import method
from tercet.core.folds import checked_folds, take_rows
from tercet.core.input_errors import Explaining
from tercet.core.parallel import each
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Seed, check_parameters
from tercet.core.scaling import LARGE
from tercet.linear_model._lasso.path import alpha_grid, solve_path, visiting_order
from tercet.linear_model.base import LinearRegressor
from tercet.linear_model.lasso.regularization_path import enet_path
from tercet.linear_model.metadata_routing import route
from tercet.optimize import LeastSquares


@method(
    zh="弹性网 交叉验证",
    task="regression",
    model="f(x) = w·x + b",
    strategy="elastic net, whose alpha and l1_ratio have the least mean squared error in cross-validation",
    algorithms="coordinate descent along a path of alphas in each fold",
    texts=["Pattern Recognition ch. 5, sec. 5.7", "watermelon notes ch. 10"],
    peers=["sklearn.linear_model.ElasticNetCV", "celer.ElasticNetCV"],
)
class ElasticNetCV(LinearRegressor):
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
    >>> float(model.l1_ratio_), model.mse_path_.shape, np.flatnonzero(model.coef_.round(2))
    (1.0, (2, 10, 5), array([0]))
    """

    path: ClassVar[Callable[..., Any]] = staticmethod(enet_path)
    l1_ratio: Any

    largest_target = LARGE
    relative_weights = True
    streams_instead = "ElasticNet or Lasso with an alpha chosen on a sample"

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Learn from rows X with targets y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The training data.
        y : array of shape (n_samples,)
            The targets.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; only the proportions matter.
        **params
            For the splitter, such as `groups`, when metadata routing is enabled.

        Returns
        -------
        self
        """
        routed = route(self, sample_weight, params)
        with Explaining(y=y):
            shape = getattr(y, "shape", None) or np.asarray(y).shape
        if len(shape) == 2 and shape[1] > 1:
            check_parameters(self)  # what is wrong with them is told first
            raise ValueError(
                f"For multi-task outputs, use MultiTask{type(self).__name__} of scikit-learn, or `enet_path`; "
                f"{type(self).__name__} takes one target, got y of the shape {shape}."
            )
        return self._learn(X, y, sample_weight, split=routed.splitter.split if routed else {})

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes; see scikit-learn's guide to metadata routing.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=self.cv, method_mapping=mapping)

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None, split: Any = None) -> None:
        ratios = np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64))
        if not ((ratios >= 0) & (ratios <= 1)).all():
            raise ValueError(f"{type(self).__name__}: l1_ratio must be in [0, 1]; got {self.l1_ratio!r}.")
        problem = LeastSquares(X, y, sample_weight, fit_intercept=self.fit_intercept, n_jobs=self.n_jobs)
        grids = [alpha_grid(problem, self.alphas, ratio, self.eps, self.positive) for ratio in ratios]
        folds = checked_folds(self, X, y, weight=sample_weight, **(split or {}))
        errors = each(self._fold_errors, folds, (X, y, sample_weight), ratios, grids, n_jobs=self.n_jobs)
        table = np.stack(errors, axis=-1)
        best = np.unravel_index(np.argmin(table.mean(axis=-1)), table.shape[:2])
        self.mse_path_ = (table[0] if len(ratios) == 1 else table).astype(X.dtype, copy=False)
        self.alphas_ = grids[0] if len(ratios) == 1 or np.ndim(self.alphas) else np.array(grids)
        self.alpha_, self.l1_ratio_ = grids[best[0]][best[1]], ratios[best[0]]

        def steps(limit: int, **options: Any) -> Any:
            return self.steps(limit, unpack=attributes, **options)

        def attributes(state: tuple[np.ndarray, float]) -> dict[str, Any]:
            learned = np.float64(state[1]).astype(X.dtype) if self.fit_intercept else 0.0
            return {"coef_": state[0].astype(X.dtype), "intercept_": learned}

        (result,) = solve_path(problem, [self.alpha_], self.l1_ratio_, steps=steps, **self._path_options())
        self.__dict__.update(attributes((result.x, result.intercept)))
        self.dual_gap_, self.n_iter_ = np.float64(result.gap).astype(X.dtype), result.nit

    def _fold_errors(
        self,
        fold: tuple,
        data: tuple[Any, np.ndarray, np.ndarray | None],
        ratios: Iterable[float],
        grids: list,
    ) -> np.ndarray:
        """Mean squared errors of one fold, for every l1_ratio and alpha."""
        (train, test), (X, y, weight) = fold, data
        learn, judge = (None, None) if weight is None else (weight[train], weight[test])
        problem = LeastSquares(take_rows(X, train), y[train], learn, fit_intercept=self.fit_intercept)
        held, errors = take_rows(X, test), []
        for ratio, grid in zip(ratios, grids):
            results = solve_path(problem, grid, ratio, verbose=bool(self.verbose), **self._path_options())
            coefs = np.stack([result.x for result in results], axis=1)
            fitted = held @ coefs + np.array([result.intercept for result in results])
            errors.append(np.average((fitted - y[test][:, None]) ** 2, axis=0, weights=judge))
        return np.array(errors)

    def _path_options(self) -> dict[str, Any]:
        order = visiting_order(self.selection, self.random_state)
        return {"positive": self.positive, "tol": self.tol, "max_iter": self.max_iter, "order": order}

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a CSR matrix."""
        return sparse.csr_matrix(self.coef_)

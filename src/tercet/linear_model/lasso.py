"""Least squares with an L1 penalty: the lasso (套索) and the elastic net (弹性网)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from scipy.optimize import OptimizeResult
from sklearn.utils.metadata_routing import UNUSED

from tercet import penalties
from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parameters import Count, Fraction, Jobs, NonNegative, Seed
from tercet.core.steps import Steps
from tercet.linear_model.base import LinearRegressor
from tercet.optimize import LeastSquares, coordinate_descent, elastic_net_duality_gap, proximal_gradient

ALGORITHMS = {
    "cd": "coordinate descent on a working set",
    "ista": "proximal gradient descent",
    "fista": "proximal gradient descent with momentum",
}


class SparseRegressor(LinearRegressor):
    """What the estimators with an L1 penalty share."""

    fit_intercept: bool
    max_iter: int
    tol: float
    positive: bool
    random_state: Any
    selection: str
    n_jobs: int | None

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a CSR matrix."""
        return sparse.csr_matrix(self.coef_)

    def _minimise(
        self,
        problem: LeastSquares,
        alpha: float,
        l1_ratio: float,
        start: np.ndarray | None = None,
        steps: Callable[..., Steps] = Steps,
        order: Callable[[int], np.ndarray] | None = None,
    ) -> OptimizeResult:
        return coordinate_descent(
            problem,
            l1=alpha * l1_ratio,
            l2=alpha * (1.0 - l1_ratio),
            start=start,
            positive=self.positive,
            tol=self.tol,
            max_iter=self.max_iter,
            order=order or self._order(),
            steps=steps,
        )

    def _order(self) -> Callable[[int], np.ndarray]:
        return generator(self.random_state).permutation if self.selection == "random" else np.arange


@method(
    zh="弹性网",
    task="regression",
    model="f(x) = w·x + b",
    strategy="mean squared error / 2 + alpha (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2)",
    algorithms=ALGORITHMS,
    texts=["003 ch. 5, sec. 5.7, eq. 5-112"],
    peers=["sklearn.linear_model.ElasticNet", "skglm.ElasticNet", "celer.ElasticNet"],
)
class ElasticNet(SparseRegressor):
    """Linear regression with an L1 and an L2 penalty.

    min over w, b of  1/(2n) sum (y_i - w.x_i - b)^2 + alpha (l1_ratio sum |w_j| + (1 - l1_ratio)/2 sum w_j^2)

    The text's lambda and a (003 eq. 5-112: a mean of squares without 1/2, lambda (a |w|_1 + (1 - a) |w|^2))
    are ``alpha = lambda c`` and ``l1_ratio = a / 2 / c`` with c = a / 2 + 1 - a.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; 0 is least squares.
    l1_ratio : float, default=0.5
        Share of the L1 part, from 0 (ridge) to 1 (lasso).
    fit_intercept : bool, default=True
        Whether to learn b. The data is never centred in place.
    precompute : bool or array of shape (n_features, n_features), default=False
        True computes the Gram matrix of all features at once, an array is that matrix (of centred features,
        when there is an intercept); False computes it for the features that matter.
    max_iter : int, default=1000
        The most rounds, and the most sweeps in a round.
    copy_X : bool, default=True
        For compatibility: X is never changed.
    tol : float, default=1e-4
        Stop when the duality gap is below tol times the loss at w = 0 (for "ista" and "fista": the gradient's
        length below tol times its size at w = 0).
    warm_start : bool, default=False
        Begin where the last fit ended.
    positive : bool, default=False
        Whether coefficients must not be negative.
    random_state : int, RandomState or Generator, optional
        For `selection="random"`.
    selection : {"cyclic", "random"}, default="cyclic"
        The order of the coordinates in a sweep.
    solver : {"cd", "ista", "fista"}, default="cd"
        Coordinate descent, or the texts' proximal gradient descent, plain or with momentum.
    penalize_intercept : bool, default=False
        Whether the penalty counts b too, as text 000 writes it.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Attributes
    ----------
    coef_, intercept_ : arrays or float
        w and b; for several targets one row each.
    sparse_coef_ : CSR matrix
        w again.
    dual_gap_ : float or array
        How far the objective can be from its minimum.
    n_iter_ : int or list
        Rounds.

    Examples
    --------
    >>> model = ElasticNet(alpha=0.1).fit([[0, 0], [1, 1], [2, 2], [3, 3]], [0, 1, 2, 3])
    >>> model.coef_.round(4), round(model.intercept_, 4)
    (array([0.4706, 0.4706]), 0.0882)
    """

    __metadata_request__fit = {"check_input": UNUSED}

    multi_output: ClassVar[bool] = True
    path: ClassVar[Callable[..., Any]]
    l1_ratio: float

    def __init__(
        self,
        alpha: NonNegative = 1.0,
        *,
        l1_ratio: Fraction = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: Count = 1000,
        copy_X: bool = True,
        tol: NonNegative = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Seed = None,
        selection: Literal["cyclic", "random"] = "cyclic",
        solver: Literal["cd", "ista", "fista"] = "cd",
        penalize_intercept: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.penalize_intercept = penalize_intercept
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Learn from rows X with targets y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The training data.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            The targets.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; only the proportions matter.
        check_input : bool, default=True
            For compatibility: the data is always checked, which costs little.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        shape, kind = (*y.shape[1:], X.shape[1]), X.dtype
        constant = self.fit_intercept and self.penalize_intercept
        if constant:  # a feature that is always 1
            ones = np.ones((X.shape[0], 1), dtype=kind)
            X = sparse.hstack([X, ones], format="csr") if sparse.issparse(X) else np.hstack([X, ones])
        targets = y.reshape(len(y), -1).T
        coef, intercept = np.zeros((len(targets), X.shape[1])), np.zeros(len(targets))
        if self.warm_start and hasattr(self, "coef_") and np.shape(self.coef_) == shape:
            coef[:, : shape[-1]] = self.coef_
            coef[:, shape[-1] :] = np.reshape(self.intercept_, (-1, 1))

        def attributes(state: Any, k: int) -> dict[str, Any]:
            W, b = coef.copy(), intercept.copy()
            W[k], b[k] = state if isinstance(state, tuple) else (state, problem.intercept(state))
            if constant:
                W, b = W[:, :-1], W[:, -1]
            return {
                "coef_": W.reshape(shape).astype(kind),
                "intercept_": b.astype(kind) if y.ndim > 1 else float(b[0]),
            }

        results = []
        for k, target in enumerate(targets):
            problem = LeastSquares(
                X,
                target,
                sample_weight,
                fit_intercept=self.fit_intercept and not constant,
                n_jobs=self.n_jobs,
            )
            self._use_gram(problem)
            steps = functools.partial(self.steps, unpack=functools.partial(attributes, k=k))
            results.append(self._solve(problem, coef[k], steps))
            coef[k], intercept[k] = results[k].x, results[k].intercept
        self.__dict__.update(attributes((coef[-1], intercept[-1]), k=len(targets) - 1))
        many = y.ndim > 1 and len(targets) > 1
        self.dual_gap_ = np.array([r.gap for r in results], dtype=kind) if many else results[0].gap
        self.n_iter_ = [r.nit for r in results] if many else results[0].nit

    def _solve(self, problem: LeastSquares, start: np.ndarray, steps: Callable[..., Steps]) -> OptimizeResult:
        if self.solver == "cd":
            return self._minimise(problem, self.alpha, self.l1_ratio, start, steps)
        penalty = penalties.ElasticNet(self.alpha, l1_ratio=self.l1_ratio, half=True)
        problem.compute_means(np.arange(problem.n_features))
        result = proximal_gradient(
            _Smooth(problem),
            start,
            penalty=_Positive(penalty) if self.positive else penalty,
            accelerate=self.solver == "fista",
            tol=self.tol * np.abs(problem.target_correlations).max(initial=0.0),
            max_iter=self.max_iter,
            steps=steps,
        )
        l1, l2 = penalty.l1.strength, self.alpha * (1.0 - self.l1_ratio)
        gap, _ = elastic_net_duality_gap(
            result.x, *problem.residual_correlations(result.x), l1, l2, self.positive
        )
        return OptimizeResult(result, intercept=problem.intercept(result.x), gap=gap)

    def _use_gram(self, problem: LeastSquares) -> None:
        """Take the Gram matrix that the caller has, or make it."""
        if self.precompute is False or self.solver != "cd":
            return
        everything = np.arange(problem.n_features)
        if self.precompute is True:
            problem.add_columns(everything)
            return
        gram, d = np.asarray(self.precompute, dtype=np.float64), problem.n_features
        if gram.shape != (d, d) or self.penalize_intercept:
            raise ValueError(
                f"{type(self).__name__}: precompute must be True, False or an array of shape ({d}, {d}), and no "
                f"array with penalize_intercept=True; got an array of shape {gram.shape}."
            )
        problem.set_gram(gram / problem.target.size)


@method(
    zh="套索 L1正则化",
    task="regression",
    model="f(x) = w·x + b",
    strategy="mean squared error / 2 + alpha |w|_1",
    algorithms=ALGORITHMS,
    texts=[
        "000 ch. 1, eq. 1.26",
        "001 ch. 2, sec. 2.2",
        "002 ch. 10, eq. 10.7",
        "003 ch. 5, sec. 5.7, eq. 5-109",
    ],
    peers=["sklearn.linear_model.Lasso", "skglm.Lasso", "celer.Lasso"],
)
class Lasso(ElasticNet):
    """Linear regression with an L1 penalty, whose solutions are sparse.

    min over w, b of  1/(2n) sum (y_i - w.x_i - b)^2 + alpha sum |w_j|

    The texts' lambda: ``alpha = lambda / 2`` for a mean of squares (000 eq. 1.26, which counts the constant
    in the penalty: `penalize_intercept=True`; 003 eq. 5-109), ``alpha = lambda / (2 n)`` for a sum
    (002 eq. 10.7). It is the most probable w under a Laplace prior (001 ch. 2.2).

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; 0 is least squares.
    fit_intercept, precompute, copy_X, max_iter, tol, warm_start, positive, random_state, selection, solver, \
    penalize_intercept, n_jobs
        As in `ElasticNet`.

    Attributes
    ----------
    coef_, intercept_, sparse_coef_, dual_gap_, n_iter_
        As in `ElasticNet`.

    Examples
    --------
    >>> X = [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    >>> Lasso(alpha=0.3, fit_intercept=False).fit(X, [3.6, 2.4, -4.4, -1.6]).coef_.round(10)
    array([ 2.7, -0.1,  0.7])
    """

    l1_ratio = 1.0

    def __init__(
        self,
        alpha: NonNegative = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: Count = 1000,
        tol: NonNegative = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Seed = None,
        selection: Literal["cyclic", "random"] = "cyclic",
        solver: Literal["cd", "ista", "fista"] = "cd",
        penalize_intercept: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.penalize_intercept = penalize_intercept
        self.n_jobs = n_jobs


class _Smooth:
    """The data term as `optimize` wants it; the intercept is always the best one."""

    def __init__(self, problem: LeastSquares) -> None:
        self.problem = problem

    def value(self, w: np.ndarray) -> float:
        return self.problem.residual_correlations(w)[1] / 2

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return -self.problem.residual_correlations(w)[0]

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        return self.value(w), self.gradient(w)


class _Positive:
    """A penalty that is infinite where a coordinate is negative."""

    def __init__(self, penalty: penalties.Penalty) -> None:
        self.penalty = penalty

    def value(self, w: np.ndarray) -> float:
        return self.penalty.value(w) if w.min(initial=0.0) >= 0 else np.inf

    def prox(self, w: np.ndarray, step: float) -> np.ndarray:
        return self.penalty.prox(np.maximum(w, 0.0), step)

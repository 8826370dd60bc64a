"""The elastic net (弹性网): least squares with an L1 and an L2 penalty."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import OptimizeResult
from sklearn.utils.metadata_routing import UNUSED

from tercet import penalties
from tercet.core.catalog import method
from tercet.core.parameters import Count, Fraction, Jobs, NonNegative, Seed
from tercet.core.row_sums import columns_of
from tercet.core.steps import Steps
from tercet.linear_model._lasso.path import visiting_order
from tercet.linear_model._least_squares.design_matrix import append_ones
from tercet.linear_model.base import LinearRegressor
from tercet.linear_model.lasso.regularization_path import enet_path
from tercet.optimize import LeastSquares, coordinate_descent, elastic_net_duality_gap, proximal_gradient

ALGORITHMS = {
    "cd": "coordinate descent on a working set",
    "ista": "proximal gradient descent",
    "fista": "proximal gradient descent with momentum",
}


@method(
    zh="弹性网",
    task="regression",
    model="f(x) = w·x + b",
    strategy="mean squared error / 2 + alpha (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2)",
    algorithms=ALGORITHMS,
    texts=["Pattern Recognition ch. 5, sec. 5.7, eq. 5-112"],
    peers=["sklearn.linear_model.ElasticNet", "skglm.ElasticNet", "celer.ElasticNet"],
)
class ElasticNet(LinearRegressor):
    """Linear regression with an L1 and an L2 penalty.

    min over w, b of  1/(2n) sum (y_i - w.x_i - b)^2 + alpha (l1_ratio sum |w_j| + (1 - l1_ratio)/2 sum w_j^2)

    The text's lambda and a (Pattern Recognition eq. 5-112: a mean of squares without 1/2, lambda (a |w|_1 +
    (1 - a) |w|^2)) are ``alpha = lambda c`` and ``l1_ratio = a / 2 / c`` with c = a / 2 + 1 - a.

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
        when there is an intercept: another one is computed again, with a warning); False computes it for the
        features that matter.
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
        Whether the penalty counts b too, as Li writes it.
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
    >>> model.coef_.round(4), round(float(model.intercept_), 4)
    (array([0.4706, 0.4706]), 0.0882)
    """

    __metadata_request__fit = {"check_input": UNUSED}

    multi_output: ClassVar[bool] = True
    streaming: ClassVar[bool] = True
    relative_weights: ClassVar[bool] = True
    path: ClassVar[Callable[..., Any]] = staticmethod(enet_path)
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
        targets = columns_of(y)
        # coef_ is a vector for one target, be y a column, too; then intercept_ is an array of one
        shape, kind = (X.shape[1],) if len(targets) == 1 else (len(targets), X.shape[1]), X.dtype
        constant = self.fit_intercept and self.penalize_intercept
        if constant:  # b is then the coefficient of a feature that is always 1
            X = append_ones(X)
        coef, intercept = np.zeros((len(targets), X.shape[1])), np.zeros(len(targets))
        if self.warm_start and np.shape(getattr(self, "coef_", ())) == shape:
            coef[:, : shape[-1]] = self.coef_
            coef[:, shape[-1] :] = np.reshape(getattr(self, "intercept_", 0.0), (-1, 1))

        def attributes(state: Any, k: int) -> dict[str, Any]:
            W, b = coef.copy(), intercept.copy()
            W[k], b[k] = state if isinstance(state, tuple) else (state, problem.intercept(state))
            if constant:
                W, b = W[:, :-1], W[:, -1]
            learned: Any = 0.0
            if self.fit_intercept:
                learned = b.astype(kind) if y.ndim > 1 else b[0].astype(kind)
            return {"coef_": W.reshape(shape).astype(kind), "intercept_": learned}

        results = []
        for k, target in enumerate(targets):
            problem = LeastSquares(
                X,
                target,
                sample_weight,
                fit_intercept=self.fit_intercept and not constant,
                n_jobs=self.n_jobs,
            )
            self._use_gram(problem, sample_weight)
            steps = functools.partial(self.steps, unpack=functools.partial(attributes, k=k))
            results.append(self._solve(problem, coef[k], steps))
            coef[k], intercept[k] = results[k].x, results[k].intercept
        self.__dict__.update(attributes((coef[-1], intercept[-1]), k=len(targets) - 1))
        gaps = np.array([r.gap for r in results]).astype(kind)
        gaps = np.minimum(gaps, np.finfo(X.dtype).max)  # of targets whose squares overflow: at least so much
        self.dual_gap_ = gaps if len(targets) > 1 else gaps[0]
        self.n_iter_ = [r.nit for r in results] if len(targets) > 1 else results[0].nit

    def _streaming_refusal(self) -> str:
        if self.penalize_intercept:
            return "penalize_intercept=True needs all rows at once. Use penalize_intercept=False."
        return ""

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a CSR matrix."""
        return sparse.csr_matrix(self.coef_)

    def _solve(self, problem: LeastSquares, start: np.ndarray, steps: Callable[..., Steps]) -> OptimizeResult:
        """Minimise over w, for one target, by the solver asked for."""
        l1, l2 = self.alpha * self.l1_ratio, self.alpha * (1.0 - self.l1_ratio)
        if not np.isfinite(start).all():
            raise ValueError(f"{type(self).__name__}: warm_start=True needs a finite coef_; got {start}.")
        if self.solver == "cd":  # `coordinate_sweep` again and again, on a working set of features
            return coordinate_descent(
                problem,
                l1=l1,
                l2=l2,
                start=start,
                positive=self.positive,
                tol=self.tol,
                max_iter=self.max_iter,
                order=visiting_order(self.selection, self.random_state),
                steps=steps,
            )
        if problem.x_unit != 1.0 or problem.y_unit != 1.0:
            raise ValueError(
                f"{type(self).__name__}: with solver={self.solver!r} squares of X and y must be floating point "
                "numbers; scale them or use solver='cd'."
            )
        penalty = penalties.ElasticNet(self.alpha, l1_ratio=self.l1_ratio, half=True)
        problem.compute_means(np.arange(problem.n_features))
        result = proximal_gradient(
            SquaredLoss(problem),
            start,
            penalty=NonNegativePenalty(penalty) if self.positive else penalty,
            accelerate=self.solver == "fista",
            tol=self.tol * np.abs(problem.target_correlations).max(initial=0.0),
            max_iter=self.max_iter,
            steps=steps,
        )
        gap, _ = elastic_net_duality_gap(
            result.x, *problem.residual_correlations(result.x), l1, l2, self.positive
        )
        return OptimizeResult(result, intercept=problem.intercept(result.x), gap=gap)

    def _use_gram(self, problem: LeastSquares, sample_weight: np.ndarray | None) -> None:
        """Take the Gram matrix that the caller has, or compute it."""
        if self.precompute is False or self.solver != "cd":
            return
        everything = np.arange(problem.n_features)
        if self.precompute is True:
            problem.add_columns(everything[~problem.in_working_set])
            return
        gram, d = np.asarray(self.precompute, dtype=np.float64), problem.n_features
        if gram.shape != (d, d) or self.penalize_intercept:
            raise ValueError(
                f"{type(self).__name__}: precompute must be True, False or an array of shape ({d}, {d}), and no "
                f"array with penalize_intercept=True; got an array of shape {gram.shape}."
            )
        error = problem.set_gram(gram / problem.X.shape[0])
        if error is None:
            return
        if sample_weight is None and not (
            self.fit_intercept and np.abs(problem.mean).max(initial=0.0) > 1e-8
        ):
            raise ValueError(
                f"Gram matrix passed in via 'precompute' parameter did not pass validation: it is not that of the "
                f"data, an element is off by {error:.3g}."
            )
        why = "X was centered to fit intercept" if sample_weight is None else "the rows have weights"
        warnings.warn(
            f"Gram matrix was provided but {why}: recomputing Gram matrix.", UserWarning, stacklevel=2
        )


def coordinate_sweep(X: ArrayLike, y: ArrayLike, w: ArrayLike, *, l1: float, l2: float = 0.0) -> np.ndarray:
    """One sweep of coordinate descent on 1/(2n) |y - Xw|^2 + l1 |w|_1 + l2/2 |w|^2, in plain form.

    Each coordinate in turn takes the value that minimises the objective while the others stand still: the soft
    threshold of its correlation with the residual that leaves it out. `ElasticNet` does the same on a Gram matrix
    of a working set of features.

    Parameters
    ----------
    X : array of shape (n, d)
        Features and
    y : array of shape (n,)
        targets, both centred where there is an intercept.
    w : array of shape (d,)
        The coefficients before the sweep.
    l1, l2 : float
        Strengths of the penalties: alpha l1_ratio and alpha (1 - l1_ratio).

    Returns
    -------
    w : array of shape (d,)
        The coefficients after it.

    Examples
    --------
    >>> X = [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    >>> coordinate_sweep(X, [3.6, 2.4, -4.4, -1.6], [0, 0, 0], l1=0.3).round(10)
    array([ 2.7, -0.1,  0.7])
    """
    X, y, w = np.asarray(X, dtype=float), np.asarray(y, dtype=float), np.array(w, dtype=float)
    n, residual = len(y), y - X @ w
    for j, x in enumerate(X.T):
        curvature = x @ x / n + l2
        if curvature > 0:
            correlation = x @ (residual + w[j] * x) / n
            new = float(penalties.soft_threshold(correlation, l1)) / curvature
            residual -= (new - w[j]) * x
            w[j] = new
    return w


class SquaredLoss:
    """The data term 1/(2n) |y - Xw - b|^2 as a function of w, at the optimal intercept b."""

    def __init__(self, problem: LeastSquares) -> None:
        self.problem = problem

    def value(self, w: np.ndarray) -> float:
        return self.problem.residual_correlations(w, from_data=True)[1] / 2

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return -self.problem.residual_correlations(w, from_data=True)[0]

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        return self.value(w), self.gradient(w)


class NonNegativePenalty:
    """A penalty with the constraint w >= 0: infinite where a coordinate is negative."""

    def __init__(self, penalty: penalties.Penalty) -> None:
        self.penalty = penalty

    def value(self, w: np.ndarray) -> float:
        return self.penalty.value(w) if w.min(initial=0.0) >= 0 else np.inf

    def prox(self, w: np.ndarray, step: float) -> np.ndarray:
        return self.penalty.prox(np.maximum(w, 0.0), step)

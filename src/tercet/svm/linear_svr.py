"""Linear support vector regression (线性支持向量回归), for many rows and features."""

from __future__ import annotations

import functools
from typing import Any, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parameters import CountOrZero, Jobs, NonNegative, Positive, Seed
from tercet.linear_model import LinearRegressor
from tercet.svm._linear.epochs import HINT, l2_solver, run_epochs, use_dual
from tercet.svm._linear.intercept import linear_attributes
from tercet.svm._linear.problem import LinearProblem, row_major
from tercet.svm.support_vectors import positive_part

Array = np.ndarray


@method(
    zh="线性支持向量回归",
    task="regression",
    model="f(x) = w·x + b",
    strategy="|w|²/2 plus C times the sum of losses max(0, |y - f(x)| - ε), or of their squares",
    loss="epsilon_insensitive",
    convex=True,
    algorithms={
        "dual": "an interior-point method for many rows of few features, else dual coordinate descent",
        "primal": "Newton's method",
    },
    texts=["Pattern Recognition ch. 5, sec. 5.5"],
    peers=["sklearn.svm.LinearSVR"],
)
class LinearSVR(LinearRegressor):
    """Linear support vector regression, for many rows and features.

    Minimises |w|^2 / 2 + C sum_i s_i max(0, |y_i - w·x_i - b| - epsilon)^p with p = 1 or 2. The intercept is the
    weight of one more feature with the value `intercept_scaling`, so it is penalised, too.

    Parameters
    ----------
    epsilon : float, default=0.0
        Errors up to this cost nothing.
    tol : float, default=1e-4
        Dual: ends when no condition of optimality is violated by more, beside the largest target. Primal: when the
        gradient has fallen to this share of the first one.
    C : float, default=1.0
        What a loss costs beside the penalty.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        p = 1 or 2.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1.0
        The larger, the less the penalty touches the intercept.
    dual : bool or "auto", default="auto"
        The form that is solved; the minimum is the same. "auto" takes what is likely to be faster. There is no
        primal form for p = 1.
    verbose : int, default=0
        Print a line for each pass.
    random_state : int, RandomState or Generator, optional
        Order of the rows.
    max_iter : int, default=1000
        The most passes.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : array of shape (1,); 0.0 without an intercept
    n_iter_ : int
    history_ : dict of lists
        `objective` (of the form that is minimised) and `violation` of each pass.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3]], [0.1, 0.9, 2.1, 2.9]
    >>> model = LinearSVR(epsilon=0.2, C=10, random_state=0).fit(X, y)
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([0.8]), array([0.3]))
    """

    def __init__(
        self,
        *,
        epsilon: NonNegative = 0.0,
        tol: Positive = 1e-4,
        C: Positive = 1.0,
        loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: Positive = 1.0,
        dual: bool | Literal["auto"] = "auto",
        verbose: int | bool = 0,
        random_state: Seed = None,
        max_iter: CountOrZero = 1000,
        n_jobs: Jobs = None,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _learn(self, X: Any, y: Any = None, sample_weight: Any = None, **more: Any) -> Self:
        return super()._learn(X, y, positive_part(sample_weight), **more)

    def _fit(self, X: Any, y: Array, sample_weight: Array | None) -> None:
        squared = self.loss != "epsilon_insensitive"
        dual = use_dual(self.dual, X.shape, (False, True) if squared else (True,))
        if not dual and not squared:
            raise ValueError(
                f"LinearSVR: there is no primal form for loss={self.loss!r}; dual must be True or 'auto', "
                f"got {self.dual!r}."
            )
        weight = np.ones(y.size) if sample_weight is None else sample_weight.astype(np.float64)
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        problem = LinearProblem(
            row_major(X), y, np.zeros(y.size), self.C * weight, bias, float(self.epsilon), squared
        )
        solver = l2_solver(problem, dual, self.tol, generator(self.random_state), self.n_jobs)
        unpack = functools.partial(self._attributes, X.dtype)
        # each pass: a Newton step (of the primal, or along the central path), or each row's multiplier in turn
        run_epochs(self, self.steps(self.max_iter, unpack=unpack, hint=HINT), [solver])
        self.__dict__.update(unpack([solver.v]))

    def _attributes(self, dtype: Any, weights: list[Array]) -> dict[str, Any]:
        found = linear_attributes(self, np.vstack(weights), dtype)
        return {**found, "coef_": found["coef_"][0]}

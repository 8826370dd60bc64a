"""Logistic regression (逻辑斯谛回归, 对数几率回归), for two classes and for more."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.utils.metaestimators import available_if

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted, check_weight, generator
from tercet.core.functions import log_sigmoid, log_softmax, sigmoid, softmax
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import (
    Count,
    CountOrZero,
    Fraction,
    Jobs,
    NonNegative,
    Positive,
    PositiveOrInf,
    Seed,
    check_parameters,
)
from tercet.core.row_sums import mass_of, times_class_weight
from tercet.core.steps import ConvergenceWarning, Steps
from tercet.linear_model._logistic.average_gradient import average_gradient
from tercet.linear_model._logistic.dual_coordinate_descent import dual_coordinate_descent
from tercet.linear_model._logistic.extreme_scales import rescaled, warn_of_tiny_values
from tercet.linear_model._logistic.logistic_objective import LogisticObjective
from tercet.linear_model._logistic.proximal_newton import l1_decrease, l1_strengths, proximal_newton
from tercet.linear_model._logistic.regularization import Penalty, regularization, warn_of_deprecated
from tercet.linear_model._logistic.solvers import (
    Solver,
    check_options,
    has_l1,
    iterative_scaling,
    newton,
    preconditioned_lbfgs,
)
from tercet.linear_model._logistic.stochastic_gradient import (
    StochasticGradient,
    from_hyperplanes,
    stochastic_descent,
    to_hyperplanes,
)
from tercet.linear_model.base import LinearClassifier, dense_coef
from tercet.optimize import minimize

LIBLINEAR_HINT = "Liblinear failed to converge, increase the number of iterations. Or scale the features."
ATTAINABLE = 2e-4  # of the mean loss: while one weight alone could lower it by more, a fit has not converged
STREAMING_SOLVERS = (
    "lbfgs",
    "newton-cholesky",
    "newton-cg",
    "auto",
    "newton",
    "gd",
    "dfp",
    "bfgs",
    "broyden",
)


@method(
    zh="逻辑斯谛回归",
    task="classification",
    model="P(Y=1|x) = exp(w·x + b) / (1 + exp(w·x + b)); softmax of w_k·x + b_k for more classes",
    strategy="maximum likelihood, with an L2, L1 or elastic-net penalty; or least squares",
    loss="logistic",
    convex=True,
    algorithms={
        "lbfgs": "limited-memory BFGS, preconditioned by a sample where rows are many",
        "newton": "Newton's method",
        "newton-cholesky": "Newton's method that reuses Hessians",
        "newton-cg": "Newton's method with conjugate gradients",
        "sag": "stochastic average gradient",
        "saga": "its unbiased form, with proximal steps for L1",
        "liblinear": "Newton's method, proximal Newton for L1, or dual coordinate descent",
        "auto": "proximal Newton for L1, else one of the Newton methods",
        "gd": "gradient descent",
        "sgd": "stochastic gradient descent",
        "dfp": "quasi-Newton, DFP",
        "bfgs": "quasi-Newton, BFGS",
        "broyden": "quasi-Newton, Broyden's family",
        "iis": "improved iterative scaling of the log-linear form",
    },
    texts=[
        "Li ch. 6, Def 6.2, eq. 6.3-6.8",
        "Li app. F",
        "Li ch. 12, Table 12.1",
        "Machine Learning in Depth ch. 2, sec. 2.2",
        "Machine Learning in Depth ch. 6, sec. 6.1.3, 6.4",
        "watermelon notes ch. 1, eq. 1.14-1.21",
        "Studies ML ch. 3, eq. 3.17-3.31",
    ],
    peers=[
        "sklearn.linear_model.LogisticRegression",
        "glum.GeneralizedLinearRegressor",
        "sklearnex.linear_model.LogisticRegression",
    ],
)
class LogisticRegression(LinearClassifier):
    """Linear classifier whose scores are log-odds.

    Minimises C sum_i s_i L(y_i, w·x_i + b) + l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2, where L is the negative
    log-likelihood: log(1 + exp(-y z)) for two classes, log sum_k exp(z_k) - z_y for more. The intercept is not
    penalised. A tie goes to the first class.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"}, None or "deprecated", default="deprecated"
        Deprecated in scikit-learn: "l2" and "l1" stand for l1_ratio 0 and 1, "elasticnet" for `l1_ratio`, None for
        C=np.inf.
    C : float, default=1.0
        Inverse strength of the penalty; `np.inf` for none.
    l1_ratio : float, default=0.0
        Share of the L1 penalty: 0 is L2, 1 is L1, between them the elastic net. Other than 0 needs one of the
        solvers "saga", "auto" or, with 1, "liblinear".
    dual : bool, default=False
        For solver="liblinear" with an L2 penalty: dual coordinate descent in place of Newton's method.
    tol : float, default=1e-4
        The fit ends when no component of the gradient of the mean objective (the one above divided by C times
        the sum of the weights) exceeds it; "sag", "saga": when a pass changes no parameter by more than this share
        of the largest weight; "sgd": when five passes have not lowered the mean loss by it, and no weight alone
        could lower it by more than 0.01.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1
        solver="liblinear" only: the intercept is penalised as the weight of a feature with this value.
    class_weight : dict or "balanced", optional
    random_state : int, RandomState or Generator, optional
        Order of the rows for "sag", "saga", "sgd", and "liblinear" with dual=True.
    solver : str, default="lbfgs"
        "lbfgs", "newton-cholesky" (few features, many rows), "newton-cg" (many features), "sag" and "saga" (many
        rows, scaled features), "liblinear" (two classes), "auto"; those of the texts: "newton", "gd", "sgd", "dfp",
        "bfgs", "broyden", "iis".
    max_iter : int, default=100
    verbose : int, default=0
        Print a line for each pass.
    warm_start : bool, default=False
        Begin with `coef_` and `intercept_`, those of the last fit or set by hand; not with dual=True.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    loss : {"log", "squared"}, default="log"
        "squared" is (P(Y=1|x) - y)^2, for two classes; not convex, so the minimum may be a local one.
    reference : {"last"}, optional
        For more than two classes: give the last one the score 0 and weights to the others only, as Li eq. 6.7
        does; `coef_[-1]` is zero.
    eta : float, optional
        "gd", "sgd": fixed step, times the gradient summed over the rows of a move (Machine Learning in
        Depth eq. 2.20, 2.21). By default a line search, or for "sgd" a rate that falls.
    batch_size : int, default=1
        "sgd": rows in one move.
    shuffle : bool, default=True
        "sgd": visit the rows in a new order in every pass.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, n_features), or (n_classes, n_features)
    intercept_ : array of shape (1,), or (n_classes,)
    n_iter_ : array of shape (1,)
    history_ : dict of lists
        `fun` (the mean objective) and more for each pass.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3], [4], [5]], [0, 0, 1, 0, 1, 1]
    >>> model = LogisticRegression(C=np.inf, tol=1e-8).fit(X, y)
    >>> model.coef_.round(4), model.intercept_.round(4)
    (array([[1.214]]), array([-3.0351]))
    >>> model.predict_proba([[2.5]]).round(6)
    array([[0.5, 0.5]])
    """

    streaming = True
    t_: float
    penalty: Any = "deprecated"  # models saved before there was this parameter do not hold it

    def __init__(
        self,
        penalty: Penalty = "deprecated",
        *,
        C: PositiveOrInf = 1.0,
        l1_ratio: Fraction | None = 0.0,
        dual: bool = False,
        tol: NonNegative = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: Positive = 1,
        class_weight: dict | Literal["balanced"] | None = None,
        random_state: Seed = None,
        solver: Solver = "lbfgs",
        max_iter: CountOrZero = 100,
        verbose: int | bool = 0,
        warm_start: bool = False,
        n_jobs: Jobs = None,
        loss: Literal["log", "squared"] = "log",
        reference: Literal["last"] | None = None,
        eta: Positive | None = None,
        batch_size: Count = 1,
        shuffle: bool = True,
    ) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.loss = loss
        self.reference = reference
        self.eta = eta
        self.batch_size = batch_size
        self.shuffle = shuffle

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        warn_of_deprecated(self)
        check_options(self, self.classes_.size)
        warn_of_tiny_values(self, X)
        weight = self._class_weighted(y, sample_weight)
        objective = self._objective(X, y, weight)  # f(θ) = mean loss + L2 penalty, θ = (W, b)
        theta = self._start(objective) if self.warm_start else np.zeros(objective.size)
        loops: list[Steps] = []
        try:
            theta = minimise(self, objective, theta, self._loop(objective, loops, self.steps))
        finally:  # after Ctrl-C too
            self.n_iter_ = np.array([len(loops[-1].history) if loops else 0], dtype=np.int32)
        self._set(self._unpack(objective, theta))
        self._check_convergence(objective, theta, loops)

    def _streaming_refusal(self) -> str:
        if self.solver not in STREAMING_SOLVERS:
            return f"solver={self.solver!r} visits rows in an order of its own. Use 'lbfgs' or 'newton-cholesky'."
        return "an L1 penalty needs all rows at once. Use l1_ratio=0." if has_l1(self) else ""

    def _check_convergence(self, objective: LogisticObjective, theta: np.ndarray, loops: list[Steps]) -> None:
        """Warn where a stopping rule was met, but not at a minimum."""
        l1 = l1_strengths(self, objective)
        if objective.n_uncertain == 0 and not (objective.penalty.any() or l1.any()):
            warnings.warn(
                f"{type(self).__name__}: the classes are linearly separable, so without a penalty (C=inf, or one "
                f"of no effect on such values of X) no finite weights are the most likely; those of pass "
                f"{self.n_iter_[0]} are kept. Give a finite C.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif (
            loops
            and loops[-1].is_converged
            and not (self.solver == "sgd" or (l1.any() and self.solver != "saga") or self.loss != "log")
        ):
            gain = l1_decrease(objective, theta, l1) if l1.any() else objective.attainable_decrease_at(theta)
            if gain > max(ATTAINABLE, 100 * self.tol**2):
                loops[-1].hint = "Scale the features, or use solver='newton-cholesky'."
                loops[-1].warn(
                    f"did not converge: solver={self.solver!r} stopped in pass {loops[-1].count}, but one weight "
                    f"alone could still lower the mean loss by {gain:.2g}"
                )

    def _loop(
        self, objective: LogisticObjective, loops: list[Steps], steps: Callable[..., Steps]
    ) -> Callable[..., Steps]:
        """Makes the loops of a solver, and keeps them in `loops`; `to_theta` turns their state into parameters."""

        def make(limit: int, to_theta: Any = None, watch: Any = None, **options: Any) -> Steps:
            def unpack(state: np.ndarray) -> dict[str, Any]:
                return self._unpack(objective, state if to_theta is None else to_theta(state))

            def watch_and_print(step: Steps) -> Any:
                stop = watch is not None and watch(step)
                numbers = ", ".join(f"{name}={value:.6g}" for name, value in step.measures.items())
                print(f"[{type(self).__name__}] pass {step.count}: {numbers}")
                return stop

            loops.append(
                steps(limit, unpack=unpack, watch=watch_and_print if self.verbose else watch, **options)
            )
            return loops[-1]

        return make

    def _class_weighted(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
        """Sample weights times the weights of their classes."""
        if self.class_weight is None:
            return weight
        return times_class_weight(self._class_weights(self.class_weight, y, weight), y, weight)

    def _objective(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> LogisticObjective:
        mass = mass_of(X, weight)
        l2, intercept_l2 = self._l2(mass)
        X, scale = rescaled(X) if self.eta is None else (X, 1.0)  # a given step is for the data as they are
        return LogisticObjective(
            X,
            y,
            weight,
            self.classes_.size,
            l2=l2 / scale / scale,
            intercept=self.fit_intercept,
            intercept_l2=intercept_l2,
            loss=self.loss,
            reference=self.reference == "last" and self.classes_.size > 2,
            n_jobs=self.n_jobs,
            scale=scale,
        )

    def _with_penalty(self, objective: LogisticObjective) -> LogisticObjective:
        """An objective of other parameters with the penalty of these."""
        l2, intercept_l2 = self._l2(objective.mass)
        return objective.with_penalty(l2 / objective.scale / objective.scale, intercept_l2)

    def _l2(self, mass: float) -> tuple[float, float]:
        """The strengths of the L2 penalty beside the mean loss, of the weights and of the intercept."""
        penalty = regularization(self)
        l2 = (1 - penalty.l1_ratio) / (penalty.C * mass)
        return l2, l2 / self.intercept_scaling**2 if self.solver == "liblinear" else 0.0

    def _start(self, objective: LogisticObjective) -> np.ndarray:
        """The weights of the last fit, or those that were set by hand; zeros where there are none."""
        if not hasattr(self, "coef_"):
            return np.zeros(objective.size)
        rows, d = self.classes_.size if self.classes_.size > 2 else 1, objective.X.shape[1]
        W = np.atleast_2d(np.asarray(dense_coef(self.coef_), dtype=np.float64))
        b = np.atleast_1d(np.asarray(getattr(self, "intercept_", np.zeros(rows)), dtype=np.float64))
        if W.shape != (rows, d) or b.shape != (rows,):
            warnings.warn(
                f"{type(self).__name__}: coef_ and intercept_ have the shapes {W.shape} and {b.shape}; "
                f"warm_start=True could begin with {(rows, d)} and {(rows,)}, and begins with zeros.",
                UserWarning,
                stacklevel=4,
            )
            return np.zeros(objective.size)
        if not (np.isfinite(W).all() and np.isfinite(b).all()):
            raise ValueError(
                f"{type(self).__name__}: Floating-point under-/overflow: coef_ and intercept_ hold values that are "
                "not finite; warm_start=True cannot begin with them."
            )
        if objective.reference:
            W, b = W[:-1] - W[-1], b[:-1] - b[-1]
        return objective.join(np.ascontiguousarray(W.T) * objective.scale, b)

    def _unpack(self, objective: LogisticObjective, theta: np.ndarray) -> dict[str, np.ndarray]:
        W, b = objective.split(theta, objective.X.dtype)
        coef, intercept = W.reshape(-1, objective.n_planes).T.copy(), b.copy()
        if objective.scale != 1:
            coef /= coef.dtype.type(objective.scale)
        if objective.reference:
            coef, intercept = (
                np.vstack([coef, np.zeros_like(coef[:1])]),
                np.append(intercept, intercept[:1] * 0),
            )
        return {"coef_": coef, "intercept_": intercept}

    def _set(self, attributes: dict[str, Any]) -> None:
        self.coef_, self.intercept_ = attributes["coef_"], attributes["intercept_"]

    @available_if(lambda self: hasattr(self, "C") and self.solver == "sgd")
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """One pass over more rows by stochastic gradient descent (solver="sgd" only).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        classes : array, optional
            All classes that will ever come; required in the first call.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        check_parameters(self)
        if self.class_weight == "balanced":
            raise ValueError(
                f"{type(self).__name__}: class_weight='balanced' needs all of y, which partial_fit does not see; "
                "give the weights as a dict."
            )
        first = self._first_call(classes)
        X, index = self._check_batch(X, y, first=first)
        weight = check_weight(sample_weight, X)
        check_options(self, self.classes_.size)
        seen = 0.0 if first else self.t_
        objective = self._objective(X, index, self._class_weighted(index, weight))
        pass_ = StochasticGradient(objective, self.eta, self.batch_size, seen)
        W, b = to_hyperplanes(objective, np.zeros(objective.size) if first else self._start(objective))
        order = np.arange(X.shape[0])
        if self.shuffle:
            generator(self.random_state).shuffle(order)
        pass_.epoch(W, b, order)
        self._set(self._unpack(objective, from_hyperplanes(objective, W, b)))
        self.t_, self.n_iter_ = pass_.t, np.array([1], dtype=np.int32)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        P : array of shape (n_samples, n_classes)
        """
        z = self.decision_function(X)
        return softmax(z) if z.ndim == 2 else np.column_stack([sigmoid(-z), sigmoid(z)])

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities, exact where these are tiny.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        L : array of shape (n_samples, n_classes)
        """
        z = self.decision_function(X)
        return log_softmax(z) if z.ndim == 2 else np.column_stack([log_sigmoid(-z), log_sigmoid(z)])

    def standard_errors(self, X: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Standard errors of the weights, from the inverse of the Hessian on the training data.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows of the fit; y does not matter.
        sample_weight : array of shape (n_samples,), optional
            Their weights, if the fit had any.

        Returns
        -------
        coef, intercept : arrays of the shapes of `coef_` and `intercept_`
            With a penalty, those of the posterior at its mode; with more than two classes and no `reference`,
            those of weights that are shifted to sum to zero.
        """
        check_is_fitted(self, "coef_")
        X = self._check(X, reset=False).astype(np.float64, copy=False)
        n = np.zeros(X.shape[0], dtype=np.intp)
        objective = self._objective(X, n, check_weight(sample_weight, X))
        with one_blas_thread():
            H = objective.hessian(self._start(objective)) * objective.mass
            errors = np.sqrt(np.diag(linalg.pinvh(H)))
        found = self._unpack(objective, errors)
        return found["coef_"], found["intercept_"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.solver != "liblinear"
        return tags


def minimise(
    model: Any, objective: LogisticObjective, theta: np.ndarray, steps: Callable[..., Steps]
) -> np.ndarray:
    """The parameters that minimise the objective, by the solver that the model asks for.

    With max_iter=0 they stay where they are, as in scikit-learn.
    """
    if not model.max_iter:
        return theta
    solver: str = model.solver
    limits: dict[str, Any] = {"tol": model.tol, "max_iter": model.max_iter, "steps": steps}
    if solver == "liblinear":

        def liblinear_steps(limit: int, **options: Any) -> Steps:
            return steps(limit, **{**options, "hint": LIBLINEAR_HINT})

        limits["steps"] = liblinear_steps
    if solver in ("auto", "liblinear"):
        solver = "newton-cholesky" if objective.size <= 500 else "newton-cg"
        if has_l1(model):
            solver = "proximal"
        elif model.dual:
            solver = "dual"
    with one_blas_thread():  # BLAS threads would compete with ours
        if solver == "lbfgs":
            return preconditioned_lbfgs(objective, theta, **limits)
        if solver in (
            "newton",
            "newton-cholesky",
        ):  # `logistic_newton_step` again and again, with a line search
            return newton(objective, theta, economical=solver == "newton-cholesky", **limits)
        if solver == "proximal":
            return proximal_newton(objective, theta, l1_strengths(model, objective), **limits)
        if solver == "dual":  # `logistic_dual_pass`
            return dual_coordinate_descent(objective, rng=generator(model.random_state), **limits)
        if solver in ("sag", "saga"):  # `average_gradient_pass`
            l1, rng = l1_strengths(model, objective), generator(model.random_state)
            return average_gradient(objective, theta, l1, saga=solver == "saga", rng=rng, **limits)
        if solver == "sgd":
            options = {"rng": generator(model.random_state), "rate": model.eta, "shuffle": model.shuffle}
            theta, model.t_ = stochastic_descent(
                objective, theta, batch=model.batch_size, **options, **limits
            )
            return theta
        if solver == "iis":
            return iterative_scaling(objective, theta, **limits)
        if solver == "newton-cg":
            hint = "newton-cg failed to converge. Increase the number of iterations, or scale the features."
            limits["steps"] = partial(steps, hint=hint)
        if solver == "gd" and model.eta is not None:
            limits["line_search"] = model.eta * objective.mass  # the text's step is for the sum, not the mean
        return minimize(objective, theta, method=solver, **limits).x


def logistic_newton_step(X: ArrayLike, y: ArrayLike, theta: ArrayLike, *, l2: float = 0.0) -> np.ndarray:
    """One Newton step of logistic regression for two classes, in plain form.

    Studies ML eq. 3.27-3.31, watermelon notes eq. 1.21.

    It is one pass of iteratively reweighted least squares: H = X'DX with D = diag(p (1 - p)). `LogisticRegression`
    with solver="newton" takes the same steps and halves one that does not lower the objective.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        0 or 1.
    theta : array of shape (d + 1,)
        Weights, and the intercept last.
    l2 : float, default=0.0
        Strength of l2/2 |w|^2 beside the sum of the losses, 1/C; the intercept is not penalised.

    Returns
    -------
    theta : array of shape (d + 1,)

    Examples
    --------
    >>> X, y, theta = [[0], [1], [2], [3], [4], [5]], [0, 0, 1, 0, 1, 1], [0.0, 0.0]
    >>> for _ in range(6):
    ...     theta = logistic_newton_step(X, y, theta)
    >>> theta.round(4)
    array([ 1.214 , -3.0351])
    """
    X, y, theta = np.asarray(X, dtype=float), np.asarray(y, dtype=float), np.asarray(theta, dtype=float)
    A = np.column_stack([X, np.ones(len(X))])  # x̂ = (x; 1)
    penalty = np.append(np.full(X.shape[1], l2), 0.0)
    p = sigmoid(A @ theta)  # P(Y=1|x)
    gradient = A.T @ (p - y) + penalty * theta  # (3.30)
    hessian = A.T @ ((p * (1 - p))[:, None] * A) + np.diag(penalty)  # (3.31)
    return theta - np.linalg.solve(hessian, gradient)  # (3.29)

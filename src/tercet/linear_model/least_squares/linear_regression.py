"""Linear regression by least squares (线性回归, 最小二乘法)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.optimize import nnls
from sklearn.utils.validation import check_consistent_length

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted, check_weight, generator
from tercet.core.kernel import kernel
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Seed
from tercet.core.rows import row_add, row_dot, rows
from tercet.linear_model._least_squares.design_matrix import DesignMatrix, match_target_shape
from tercet.linear_model._least_squares.direct_solvers import solve_least_squares
from tercet.linear_model.base import LinearRegressor
from tercet.linear_model.least_squares.sum_of_squares import SumOfSquares

Array = np.ndarray
STALLED = (
    0.01  # a descent that one coordinate alone could still improve by this much of R^2 has not converged
)


@method(
    zh="线性回归",
    task="regression",
    model="f(x) = w·x + b",
    strategy="sum of (y - f(x))^2: maximum likelihood under Gaussian noise",
    algorithms={
        "lstsq": "QR and SVD; the solution of least norm where there are many",
        "normal": "normal equations",
        "gd": "batch gradient descent",
        "sgd": "one sample at a time",
        "minibatch": "a few samples at a time",
    },
    texts=[
        "Li ch. 1, 1.10",
        "Machine Learning in Depth ch. 2, eq. 2.3-2.9",
        "watermelon notes ch. 1, eq. 1.3-1.10",
        "Studies ML ch. 3, eq. 3.7-3.12",
    ],
    peers=["sklearn.linear_model.LinearRegression", "numpy.linalg.lstsq", "statsmodels OLS"],
)
class LinearRegression(LinearRegressor):
    """Ordinary least squares.

    Minimises J(w, b) = 1/2 sum_i s_i (x_i·w + b - y_i)^2.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether there is a b.
    copy_X : bool, default=True
        Taken for compatibility: X is never changed.
    tol : float, default=1e-6
        Directions of X whose singular value is below tol times the largest count as zero (direct solvers);
        precision of the solution (sparse X); the change that ends the descent.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    positive : bool, default=False
        Keep coefficients at or above 0.
    solver : {"lstsq", "normal", "gd", "sgd", "minibatch"}, default="lstsq"
        How J is minimised. "lstsq" and "normal" give the solution of least norm where there are many. The
        others start from zero and step against the gradient of J, a sum over samples.
    eta : float, optional
        Step of the descent; by default one that cannot diverge.
    decay : float, default=0
        The step of pass t is eta / (1 + decay t).
    batch_size : int, default=32
        Samples per step of "minibatch".
    stop : {"loss", "parameters"}, default="loss"
        What the descent watches: J, relative to its value, or the largest change of a parameter. A small
        change does not end it while one coefficient alone could still raise R^2 by 0.01, as it can for long
        on features that are not scaled.
    max_iter : int, default=1000
        The most passes of the descent.
    shuffle : bool, default=True
        Whether "sgd" and "minibatch" draw a new order in each pass.
    random_state : int, RandomState, Generator or None
        Decides those orders.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    rank_, singular_ : rank and singular values of the centred X ("lstsq" and "normal", not on wide sparse X).
    sigma2_ : float or array
        Maximum likelihood estimate of the variance of the noise.

    Examples
    --------
    >>> model = LinearRegression().fit([[1], [2], [3], [4]], [2, 3, 5, 4])
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([0.8]), 1.5)
    """

    multi_output = True
    relative_weights = True
    streaming = True

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: NonNegative = 1e-6,
        n_jobs: Jobs = None,
        positive: bool = False,
        solver: Literal["lstsq", "normal", "gd", "sgd", "minibatch"] = "lstsq",
        eta: Positive | None = None,
        decay: NonNegative = 0.0,
        batch_size: Count = 32,
        stop: Literal["loss", "parameters"] = "loss",
        max_iter: Count = 1000,
        shuffle: bool = True,
        random_state: Seed = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive
        self.solver = solver
        self.eta = eta
        self.decay = decay
        self.batch_size = batch_size
        self.stop = stop
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def _fit(self, X: Any, y: Array, sample_weight: Array | None) -> None:
        if self.positive and self.solver != "lstsq":
            raise ValueError(f"positive=True works with solver='lstsq' only; got solver={self.solver!r}.")
        for name in ("rank_", "singular_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self.solver in ("gd", "sgd", "minibatch"):
            coef, intercept, squares, mass = self._descend(X, y, sample_weight)
        else:
            design = DesignMatrix(X, y, sample_weight, self.fit_intercept, self.n_jobs)
            if self.positive:
                R, V = design.qr_factor()
                coef = np.array([nnls(R, v)[0] for v in V.T])
            else:
                coef, spectrum = solve_least_squares(design, self.tol, self.solver)
                if spectrum is not None:
                    self.rank_, self.singular_ = spectrum[0], spectrum[1].astype(X.dtype, copy=False)
            intercept, mass = design.intercepts(coef), design.mass
            with np.errstate(over="ignore"):  # the variance of huge targets may be no number
                squares = design.residuals(coef)[1]
            self.n_iter_ = 1
        self.coef_, self.intercept_ = match_target_shape(coef, intercept, y, X.dtype, self.fit_intercept)
        self.sigma2_ = squares / mass if y.ndim > 1 else float(squares[0] / mass)

    def _streaming_refusal(self) -> str:
        if self.solver in ("lstsq", "normal"):
            return ""
        return f"solver={self.solver!r} visits rows in an order of its own. Use solver='lstsq' or 'normal'."

    def _descend(self, X: Any, y: Array, weight: Array | None) -> tuple[Array, Array, Array, float]:
        """Gradient descent on (w, b) from zero: by all rows, by one row, or by mini-batches."""
        objective = SumOfSquares(X, y, weight, fit_intercept=self.fit_intercept, n_jobs=self.n_jobs)
        attainable = AttainableGain(DesignMatrix(X, y, weight, self.fit_intercept, self.n_jobs))
        theta = np.zeros(objective.size)
        loss, gradient = objective.value_and_gradient(theta)
        batch = {"gd": X.shape[0], "sgd": 1, "minibatch": self.batch_size}[self.solver]
        eta = self.eta if self.eta is not None else objective.safe_step(batch)
        rng, data, order = generator(self.random_state), rows(X), np.arange(X.shape[0])
        targets = np.ascontiguousarray(y.reshape(X.shape[0], -1).T)
        s = np.ones(X.shape[0]) if weight is None else weight.astype(np.float64)

        def fitted(theta: Array) -> dict[str, Any]:
            parts = match_target_shape(*objective.split(theta), y, X.dtype, self.fit_intercept)
            return dict(zip(("coef_", "intercept_"), parts))

        hint = "Scale the features, raise max_iter or tol, or change eta."
        for step in self.steps(self.max_iter, unpack=fitted, hint=hint):
            before, loss_before = theta, loss
            rate = eta / (1.0 + self.decay * step.index)
            if self.solver == "gd":
                theta = theta - rate * gradient
            else:
                if self.shuffle:
                    rng.shuffle(order)
                W, b = (part.copy() for part in objective.split(theta))
                for k, target in enumerate(targets):
                    sweep(data, target, s, order, batch, rate, self.fit_intercept, W[k], b[k : k + 1])
                theta = objective.join(W, b)
            with np.errstate(over="ignore", invalid="ignore"):
                loss, gradient = objective.value_and_gradient(theta)
            if not np.isfinite(loss):
                raise ValueError(
                    f"{type(self).__name__}: the descent diverges with eta={eta:g}; make it smaller."
                )
            step.report(theta, loss=loss)
            change = (
                abs(loss - loss_before) / max(float(s.sum()), loss)
                if self.stop == "loss"
                else np.abs(theta - before).max()
            )
            gain = attainable(*objective.split(gradient))
            if step.converged(change <= self.tol and gain <= max(STALLED, self.tol)):
                break
        return *objective.split(theta), 2.0 * objective.by_target(theta), float(s.sum())

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Log-likelihood of data under Gaussian noise of variance `sigma2_`.

        Machine Learning in Depth ch. 2, eq. 2.2.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
            -m log(sqrt(2 pi) sigma) - SSE / (2 sigma^2); with several targets, their sum.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        check_consistent_length(X, y)
        weight = check_weight(sample_weight, X)
        squares = (np.asarray(y, dtype=np.float64) - self.predict(X)) ** 2
        m = X.shape[0] if weight is None else weight.sum()
        sse = np.sum(squares, axis=0) if weight is None else weight @ squares
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = -0.5 * m * np.log(2 * np.pi * self.sigma2_) - sse / (2.0 * np.asarray(self.sigma2_))
        return float(np.sum(logs))


class AttainableGain:
    """The largest gain of R^2 that a step along one coordinate could bring, from the gradient of J.

    It does not depend on the units of the features.
    """

    def __init__(self, design: DesignMatrix) -> None:
        self.mean, self.mass = design.x_mean, design.mass
        self.columns, targets = design.sums_of_squares()
        # the variance of a constant target is rounding alone
        self.targets = np.maximum(targets, 1e-12 * (targets + design.mass * design.y_mean**2))

    def __call__(self, W: Array, b: Array) -> float:
        # a step along a centred column does not change the mean of the errors
        gradients, varying = W - np.outer(b, self.mean), self.columns > 0
        gains = gradients[:, varying] ** 2 / self.columns[varying]
        largest = np.maximum(gains.max(axis=1, initial=0.0), b**2 / self.mass)
        return float(np.max(largest / np.maximum(self.targets, np.finfo(float).tiny)))


@kernel
def sweep(rows, y, weight, order, batch, eta, intercept, w, b):
    """One pass of stochastic descent: the errors of a batch first, then a step along each of its rows."""
    n = order.size
    errors = np.empty(min(batch, n))
    for start in range(0, n, batch):
        stop = min(start + batch, n)
        for k in range(start, stop):
            i = order[k]
            errors[k - start] = eta * weight[i] * (row_dot(rows, i, w) + b[0] - y[i])
        for k in range(start, stop):
            row_add(rows, order[k], -errors[k - start], w)
            if intercept:
                b[0] -= errors[k - start]

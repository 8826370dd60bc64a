"""Regression with any of the penalties: L0, L1, L2, Lq, elastic net (正则化方法)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.linalg import eigvalsh, lstsq

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parameters import Count, CountOrZero, Fraction, Jobs, NonNegative, Positive, Seed
from tercet.core.scaling import LARGE
from tercet.linear_model._least_squares.design_matrix import DesignMatrix, match_target_shape
from tercet.linear_model._penalized.best_subset import best_subset
from tercet.linear_model._penalized.least_absolute_deviations import (
    mean_absolute_error,
    minimise_absolute,
)
from tercet.linear_model._penalized.loss_traits import has_curvature, has_prox
from tercet.linear_model._penalized.plane_solvers import PenaltyChoice, plane_solvers
from tercet.linear_model._penalized.quadratic_sweep import PENALTY_CODES, quadratic_sweep
from tercet.linear_model.base import LinearRegressor
from tercet.losses import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    Loss,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
)
from tercet.penalties import Penalty
from tercet.penalties import penalty as make_penalty

Array = np.ndarray
RESIDUAL = (Huber, Quantile, EpsilonInsensitive, SquaredEpsilonInsensitive)  # losses of y - f alone


@method(
    zh="正则化回归",
    task="regression",
    model="f(x) = w·x + b",
    strategy="mean of (y - f(x))^2 or |y - f(x)|, plus alpha times an L0, L1, L2, Lq or elastic net penalty",
    algorithms={
        "exact": "branch and bound over subsets (L0)",
        "coordinate": "coordinate descent, restarted where the penalty is not convex",
        "proximal": "proximal gradient: soft or hard thresholding",
        "auto": "the best of these; linear programming or ADMM for the absolute loss",
    },
    texts=["Pattern Recognition ch. 5, eq. 5-107 to 5-112"],
    peers=["skglm.GeneralizedLinearEstimator"],
)
class PenalizedRegressor(LinearRegressor):
    """Regression with a choice of loss and penalty.

    Minimises (1/l) sum_i V(y_i, w·x_i + b) + alpha J(w) over l samples, with V the squared or the absolute
    error, and J one of

    - "l0": the number of coefficients that are not zero (subset selection),
    - "l1": sum |w_j| (lasso; scikit-learn's alpha is half of this one),
    - "l2": sum w_j^2 (ridge; scikit-learn's alpha is l times this one),
    - "lq": sum |w_j|^q (bridge),
    - "elasticnet": l1_ratio sum |w_j| + (1 - l1_ratio) sum w_j^2.

    L0 and Lq with q < 1 are not convex. L0 is solved exactly while there are few features; otherwise the
    result is the best of several local minima.

    Parameters
    ----------
    penalty : {"l0", "l1", "l2", "lq", "elasticnet"} or None, default="l0"
        J.
    alpha : float, default=0.1
        lambda, the strength of the penalty.
    loss : {"squared", "absolute"} or Loss, default="squared"
        V, or any loss of `tercet.losses` with a curvature or a proximal step (not with "l0").
    q : float, default=0.5
        The power of "lq", above 0.
    l1_ratio : float, default=0.5
        The share of L1 in "elasticnet".
    fit_intercept : bool, default=True
        Whether there is a b, which is not penalised.
    algorithm : {"auto", "exact", "coordinate", "proximal"}, default="auto"
        How the objective is minimised. "exact" is for "l0"; the absolute loss has its own ways and takes
        "auto" or, with "l0", "exact"; losses other than the squared take "auto" (proximal Newton where they are
        smooth, else ADMM).
    n_restarts : int, default=8
        Random starts beside the usual ones where the objective is not convex.
    max_iter : int, default=10000
        The most passes, those from all starts together.
    tol : float, default=1e-10
        Relative change of the coefficients (of ADMM: its residuals) that ends the fit.
    random_state : int, RandomState, Generator or None
        Decides the random starts.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    objective_ : float
        The least value found.
    n_iter_ : int
        Passes, those from all starts together; 1 where there are none.

    Examples
    --------
    >>> X = [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    >>> y = [3.6, 2.4, -4.4, -1.6]
    >>> PenalizedRegressor("l0", alpha=0.6, fit_intercept=False).fit(X, y).coef_.round(6)
    array([3., 0., 1.])
    >>> PenalizedRegressor("lq", alpha=0.6, fit_intercept=False).fit(X, y).coef_.round(4)
    array([2.9121, 0.    , 0.8359])
    """

    largest_target = LARGE
    relative_weights = True

    def __init__(
        self,
        penalty: Literal["l0", "l1", "l2", "lq", "elasticnet"] | None = "l0",
        *,
        alpha: NonNegative = 0.1,
        loss: Literal["squared", "absolute"] | Loss = "squared",
        q: Positive = 0.5,
        l1_ratio: Fraction = 0.5,
        fit_intercept: bool = True,
        algorithm: Literal["auto", "exact", "coordinate", "proximal"] = "auto",
        n_restarts: CountOrZero = 8,
        max_iter: Count = 10_000,
        tol: NonNegative = 1e-10,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.loss = loss
        self.q = q
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Array, sample_weight: Array | None) -> None:
        options = {"lq": {"q": self.q}, "elasticnet": {"l1_ratio": self.l1_ratio}}.get(self.penalty or "", {})
        cost = make_penalty(self.penalty, strength=self.alpha, **options)
        if self.algorithm == "exact" and self.penalty != "l0":
            raise ValueError(f"algorithm='exact' is for penalty='l0'; got penalty={self.penalty!r}.")
        if isinstance(self.loss, Loss) and not isinstance(self.loss, Squared | Absolute):
            w, b = self._minimise_loss(X, y, sample_weight, self.loss)
        elif self.loss == "absolute" or isinstance(self.loss, Absolute):
            if self.algorithm in ("coordinate", "proximal"):
                raise ValueError(
                    f"loss='absolute' takes algorithm='auto' (or 'exact' with 'l0'); got {self.algorithm!r}."
                )
            w, b = minimise_absolute(self, cost, X, y, sample_weight)
            self.objective_ = mean_absolute_error(X, y, sample_weight, w, b) + cost.value(w)
        else:
            design = DesignMatrix(X, y, sample_weight, self.fit_intercept, self.n_jobs)
            w = self._minimise_squared(design, cost)
            b = design.intercepts(w[None])[0]
            self.objective_ = float(design.residuals(w[None])[1][0] / design.mass) + cost.value(w)
        self.__dict__.setdefault("n_iter_", 1)  # a method without passes
        self.coef_, self.intercept_ = match_target_shape(w[None], [b], y, X.dtype, self.fit_intercept)

    def _minimise_loss(self, X: Any, y: Array, weight: Array | None, loss: Loss) -> tuple[Array, float]:
        """Any loss, by proximal Newton or ADMM; with a penalty that is not convex, the best from several starts."""
        loss.check(y)
        if self.penalty == "l0" or self.algorithm != "auto" or not (has_curvature(loss) or has_prox(loss)):
            raise ValueError(
                "PenalizedRegressor: a loss other than the squared and the absolute must have a curvature or a "
                "proximal step, takes algorithm='auto' and a penalty in ('l1', 'l2', 'lq', 'elasticnet', None); "
                f"got loss={loss!r}, algorithm={self.algorithm!r}, penalty={self.penalty!r}."
            )
        name = self.penalty if self.alpha > 0 else None
        s = np.ones(y.size) if weight is None else weight.astype(np.float64)
        keep, strength = s > 0, self.alpha if name is not None else 1.0
        rows, dense = X[keep].astype(np.float64), self.fit_intercept and not sparse.issparse(X)
        center = rows.mean(axis=0) if dense else np.zeros(rows.shape[1])
        # a loss of residuals does not see a shift of y, which an intercept makes up for
        middle = float(np.median(y[keep])) if self.fit_intercept and isinstance(loss, RESIDUAL) else 0.0
        (planes,) = plane_solvers(
            rows - center if dense else rows, [y[keep] - middle], s[keep] / (s.sum() * strength), loss,
            PenaltyChoice(name, self.q, self.l1_ratio), intercept=self.fit_intercept, algorithm="auto",
            tol=self.tol,
        )  # fmt: skip

        def fitted(state: tuple[Array, float]) -> dict[str, Any]:
            parts = match_target_shape(state[0][None], [state[1]], y, X.dtype, self.fit_intercept)
            return dict(zip(("coef_", "intercept_"), parts))

        best, live = planes[0], planes
        for step in self.steps(self.max_iter, unpack=fitted):
            for plane in live:
                plane.advance()
            best = min(planes, key=lambda plane: plane.objective())
            found = best.u, best.b + middle - float(center @ best.u)
            step.report(found, residual=best.residual)
            live = [plane for plane in live if not plane.done]
            if step.converged(not live):
                break
        self.objective_ = strength * best.objective()
        return found

    def _minimise_squared(self, design: DesignMatrix, cost: Penalty) -> Array:
        """Descend from every start in turn; each pass reports the best model so far."""
        gram, cross = design.cross_products()
        G, c = gram / design.mass, cross[:, 0] / design.mass
        lipschitz = 2 * max(float(eigvalsh(G)[-1]), 1e-300) if self.algorithm == "proximal" else 0.0

        def fitted(w: Array) -> dict[str, Any]:
            parts = match_target_shape(
                w[None], design.intercepts(w[None]), design.y[:, 0], design.X.dtype, self.fit_intercept
            )
            return dict(zip(("coef_", "intercept_"), parts))

        starts = self._starts(G, c)
        w, best, lowest, ahead = starts.pop(0), np.zeros(len(c)), np.inf, True
        for step in self.steps(self.max_iter, unpack=fitted):
            before, w = w, self._descend(w, G, c, cost, lipschitz)
            value = w @ (G @ w) - 2 * c @ w + cost.value(w)
            # A later start must be better by more than rounding, but then every pass of it counts.
            if ahead or value < lowest - 1e-12 * abs(lowest):
                best, lowest, ahead = w, value, True
            change = np.abs(w - before).max()
            arrived = change <= self.tol * max(np.abs(w).max(), 1e-300)
            if (arrived and not starts) or step.count == step.limit:
                best = self._best_subset(G, c, best, lowest)
            step.report(best, change=change)
            if step.converged(arrived and not starts):
                break
            if arrived and starts:
                w, ahead = starts.pop(0), False
        self.n_iter_ = step.count
        return best

    def _descend(self, w: Array, G: Array, c: Array, cost: Penalty, lipschitz: float) -> Array:
        """One proximal gradient step, or one sweep of coordinate descent."""
        if self.algorithm == "proximal":
            return cost.prox(w - 2 * (G @ w - c) / lipschitz, 1 / lipschitz)
        w = w.copy()
        quadratic_sweep(
            G, c, w, G @ w, self.alpha, PENALTY_CODES[self.penalty], float(self.q), float(self.l1_ratio)
        )
        return w

    def _best_subset(self, G: Array, c: Array, best: Array, lowest: float) -> Array:
        """The exact minimum of L0, where it is wanted."""
        few = len(c) <= 15
        if self.penalty != "l0" or not (self.algorithm == "exact" or (self.algorithm == "auto" and few)):
            return best

        def risk(subset: list[int]) -> tuple[float, Array]:
            w = lstsq(G[np.ix_(subset, subset)], c[subset])[0] if subset else np.zeros(0)
            return float(-c[subset] @ w), w

        return best_subset(risk, np.abs(lstsq(G, c)[0] * np.sqrt(np.diag(G))), self.alpha, best, lowest)

    def _starts(self, G: Array, c: Array) -> list[Array]:
        zero = np.zeros(len(c))
        if self.penalty not in ("l0", "lq") or (self.penalty == "lq" and self.q >= 1):
            return [zero]  # convex: one minimum
        full = lstsq(G, c, cond=1e-10)[0]  # rounding must not decide which directions count
        rng = generator(self.random_state)
        kept = [full * rng.integers(2, size=len(c)) for _ in range(self.n_restarts)]
        return [zero, full, *kept]

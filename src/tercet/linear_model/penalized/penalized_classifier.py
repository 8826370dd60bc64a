"""Linear classification with any margin loss and any penalty: structural risk minimisation (结构风险)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.parallel import each
from tercet.core.parameters import Count, Fraction, Jobs, Positive, Range
from tercet.linear_model._penalized.admm import ADMM, ConstantScore, factorise
from tercet.linear_model._penalized.proximal_newton import ProximalNewton
from tercet.linear_model._penalized.quadratic_sweep import PENALTY_CODES
from tercet.linear_model.base import LinearClassifier
from tercet.losses import loss as make_loss
from tercet.penalties import penalty as make_penalty

Array = np.ndarray
Power = Annotated[float, Range(1, np.inf, "[)")]
SMOOTH = ("logistic", "squared_hinge", "modified_huber", "exponential")
MOST = 2000  # features for which a Hessian in every pass is affordable; ADMM factorises one matrix for all passes


@method(
    zh="正则化风险最小化分类器",
    task="classification",
    model="f(x) = sign(w·x + b)",
    strategy="Ω(w) + C Σ l(y f(x)): an L1, L2, Lq or elastic net penalty and any margin loss",
    algorithms={
        "newton": "proximal Newton: a quadratic model of the losses plus the penalty, by coordinate descent",
        "admm": "alternating direction method of multipliers: proximal steps of the loss and of the penalty",
        "auto": "Newton where the loss is smooth and there is a penalty, ADMM elsewhere",
    },
    texts=["002 ch. 4, eq. 4.33", "000 ch. 12, eq. 12.4"],
    peers=["sklearn.linear_model.SGDClassifier", "skglm.GeneralizedLinearEstimator"],
)
class PenalizedClassifier(LinearClassifier):
    """Linear classifier with a choice of loss and penalty.

    Minimises Ω(w) + C sum_i s_i l(y_i (w·x_i + b)), structural and empirical risk. The intercept is not penalised.
    More than two classes: each against the rest. Where there is a class for one combination (`LogisticRegression`,
    `LinearSVC`, `HingeSVC`), it is faster.

    Parameters
    ----------
    loss : {"logistic", "hinge", "squared_hinge", "modified_huber", "exponential"}, default="logistic"
        l.
    penalty : {"l2", "l1", "lq", "elasticnet"} or None, default="l2"
        Ω: sum w_j^2, sum |w_j|, sum |w_j|^q, or l1_ratio sum |w_j| + (1 - l1_ratio) sum w_j^2.
    C : float, default=1.0
        What a loss costs beside the penalty.
    q : float, default=1.5
        The power of "lq", at least 1.
    l1_ratio : float, default=0.5
        The share of L1 in "elasticnet".
    fit_intercept : bool, default=True
    class_weight : dict or "balanced", optional
        Multiplies the losses of a class.
    algorithm : {"auto", "newton", "admm"}, default="auto"
        How the minimum is found. "newton" is for a penalty and any loss but the hinge; a plane that has all rows on
        one side is left to "admm". "auto" is "newton" where that can be, up to 2000 features, else "admm".
    tol : float, default=1e-10
        "newton" ends when a step promises to lower the objective by no more than the square of this share, or by
        less than can be computed. "admm" ends when scores and weights agree with their proximal copies, and these
        stand still, within this share.
    max_iter : int, default=20000
        The most passes.
    n_jobs : int, optional
        Threads, for classes side by side. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_, intercept_ : arrays of shape (n_planes, n_features) and (n_planes,)
        The hyperplanes; there is one for two classes.
    objective_ : array of shape (n_planes,)
        The least values.
    n_iter_ : int

    Examples
    --------
    >>> X, y = [[3, 3], [4, 3], [1, 1]], [1, 1, -1]
    >>> PenalizedClassifier("hinge", "l2", C=10).fit(X, y).coef_.round(4)
    array([[0.5, 0.5]])
    >>> PenalizedClassifier("exponential", "lq", q=1.5).fit(X, y).coef_.round(4)
    array([[0.5632, 0.4035]])
    """

    def __init__(
        self,
        loss: Literal["logistic", "hinge", "squared_hinge", "modified_huber", "exponential"] = "logistic",
        penalty: Literal["l2", "l1", "lq", "elasticnet"] | None = "l2",
        *,
        C: Positive = 1.0,
        q: Power = 1.5,
        l1_ratio: Fraction = 0.5,
        fit_intercept: bool = True,
        class_weight: dict | Literal["balanced"] | None = None,
        algorithm: Literal["auto", "newton", "admm"] = "auto",
        tol: Positive = 1e-10,
        max_iter: Count = 20_000,
        n_jobs: Jobs = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.C = C
        self.q = q
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.algorithm = algorithm
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Array, sample_weight: Array | None) -> None:
        self._check_algorithm()
        weight = np.ones(y.size) if sample_weight is None else sample_weight.astype(np.float64)
        weight *= self._class_weights(self.class_weight, y, sample_weight)[y]
        keep = weight > 0
        if not keep.any():
            raise ValueError(
                "PenalizedClassifier: sample_weight and class_weight leave no row a weight above 0: there is "
                "nothing to learn from."
            )
        rows, label, cost = X[keep].astype(np.float64), y[keep], self.C * weight[keep]
        # centring avoids cancellation; the intercept makes up for it
        dense = self.fit_intercept and not sparse.issparse(rows)
        center = rows.mean(axis=0) if dense else np.zeros(rows.shape[1])
        if dense:
            rows -= center
        positive = range(self.classes_.size) if self.classes_.size > 2 else [1]
        planes = self._planes(rows, [np.where(label == k, 1.0, -1.0) for k in positive], cost)
        live = planes
        for step in self.steps(self.max_iter, unpack=self._unpacked(center, X.dtype)):
            each(advance, live, n_jobs=self.n_jobs)
            state = [(plane.u, plane.b) for plane in planes]
            step.report(state, residual=max(plane.residual for plane in planes))
            live = [plane for plane in live if not plane.done]
            if step.converged(not live):
                break
        self.__dict__.update(self._unpacked(center, X.dtype)(state))
        self.objective_ = np.array([plane.objective() for plane in planes])

    def _check_algorithm(self) -> None:
        if self.algorithm == "newton" and self.loss not in SMOOTH:
            raise ValueError(f"algorithm='newton' takes a loss in {SMOOTH}; got loss={self.loss!r}.")
        if self.algorithm == "newton" and self.penalty is None:
            raise ValueError(
                "algorithm='newton' takes a penalty in ('l2', 'l1', 'lq', 'elasticnet'); got penalty=None, "
                "for which there may be no minimum."
            )

    def _planes(self, X: Any, sides: list[Array], cost: Array) -> list[ProximalNewton | ADMM | ConstantScore]:
        """The solver of each one-vs-rest hyperplane."""
        options = {"lq": {"q": self.q}, "elasticnet": {"l1_ratio": self.l1_ratio}}.get(self.penalty or "", {})
        parts = make_loss(self.loss), make_penalty(self.penalty, **options)
        can = self.loss in SMOOTH and self.penalty is not None and X.shape[1] <= MOST
        newton = self.algorithm == "newton" or (self.algorithm == "auto" and can)
        prox = PENALTY_CODES[self.penalty], float(self.q), float(self.l1_ratio)
        solve = None
        planes: list[ProximalNewton | ADMM | ConstantScore] = []
        for y in sides:
            if self.fit_intercept and y.min() == y.max():
                planes.append(ConstantScore(y, cost, parts[0], X.shape[1]))
            elif newton:
                planes.append(ProximalNewton(X, y, cost, *parts, prox, self.fit_intercept, self.tol))
            else:
                solve = solve or factorise(X, self.fit_intercept)
                planes.append(ADMM(X, y, cost, *parts, solve, self.tol))
        return planes

    def _unpacked(self, center: Array, dtype: Any) -> Any:
        def unpack(state: list[tuple[Array, float]]) -> dict[str, Any]:
            w, b = np.stack([u for u, _ in state]), np.array([b for _, b in state])
            return {"coef_": w.astype(dtype), "intercept_": (b - w @ center).astype(dtype)}

        return unpack


def advance(plane: ProximalNewton | ADMM | ConstantScore) -> None:
    plane.advance()

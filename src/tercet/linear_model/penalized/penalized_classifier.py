"""Linear classification with any margin loss and any penalty: structural risk minimisation (结构风险)."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.parallel import each
from tercet.core.parameters import Count, Fraction, Jobs, Positive
from tercet.core.steps import ConvergenceWarning
from tercet.linear_model._penalized.admm import ADMM, ConstantScore
from tercet.linear_model._penalized.loss_traits import has_curvature, has_prox
from tercet.linear_model._penalized.plane_solvers import PenaltyChoice, plane_solvers
from tercet.linear_model._penalized.proximal_newton import ProximalNewton
from tercet.linear_model.base import LinearClassifier
from tercet.losses import Exponential, Logistic, Loss
from tercet.losses import loss as make_loss

Array = np.ndarray
SMOOTH = ("logistic", "squared_hinge", "modified_huber", "exponential")


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
    texts=["watermelon notes ch. 4, eq. 4.33", "Li ch. 12, eq. 12.4"],
    peers=["sklearn.linear_model.SGDClassifier", "skglm.GeneralizedLinearEstimator"],
)
class PenalizedClassifier(LinearClassifier):
    """Linear classifier with a choice of loss and penalty.

    Minimises Ω(w) + C sum_i s_i l(y_i (w·x_i + b)), structural and empirical risk. The intercept is not penalised.
    More than two classes: each against the rest. Where there is a class for one combination (`LogisticRegression`,
    `LinearSVC`, `HingeSVC`), it is faster.

    Parameters
    ----------
    loss : {"logistic", "hinge", "squared_hinge", "modified_huber", "exponential"} or Loss, default="logistic"
        l, or any loss of `tercet.losses` with a curvature or a proximal step: it sees y as -1 and 1.
    penalty : {"l2", "l1", "lq", "elasticnet"} or None, default="l2"
        Ω: sum w_j^2, sum |w_j|, sum |w_j|^q, or l1_ratio sum |w_j| + (1 - l1_ratio) sum w_j^2.
    C : float, default=1.0
        What a loss costs beside the penalty.
    q : float, default=1.5
        The power of "lq". Below 1 the penalty is not convex: the result is the best of the local minima that are
        reached from zero and from the minima with an L1 and an L2 penalty.
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
        loss: Literal["logistic", "hinge", "squared_hinge", "modified_huber", "exponential"]
        | Loss = "logistic",
        penalty: Literal["l2", "l1", "lq", "elasticnet"] | None = "l2",
        *,
        C: Positive = 1.0,
        q: Positive = 1.5,
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
        loss = make_loss(self.loss) if isinstance(self.loss, str) else self.loss
        self._check_algorithm(loss)
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
        sides = [np.where(label == k, 1.0, -1.0) for k in positive]
        starts = self._planes(
            rows, sides, cost, loss
        )  # one for each side, more where the penalty is not convex
        planes = [best[0] for best in starts]
        live = [plane for one in starts for plane in one]
        for step in self.steps(self.max_iter, unpack=self._unpacked(center, X.dtype)):
            each(advance, live, n_jobs=self.n_jobs)
            planes = [min(one, key=objective) if len(one) > 1 else one[0] for one in starts]
            state = [(plane.u, plane.b) for plane in planes]
            step.report(state, residual=max(plane.residual for plane in planes))
            live = [plane for plane in live if not plane.done]
            if self.penalty is None and self._separates(planes, loss, step.count):
                step.converged(True)
                break
            if step.converged(not live):
                break
            if self.penalty is None and self._stalls(live, step.count):
                break
        self.__dict__.update(self._unpacked(center, X.dtype)(state))
        self.objective_ = np.array([plane.objective() for plane in planes])

    def _separates(self, planes: list[Any], loss: Loss, count: int) -> bool:
        """Whether a hyperplane separates the classes though no finite weights have the least loss; it says so."""
        if not isinstance(loss, Logistic | Exponential):
            return False
        if not any(isinstance(p, ADMM) and (p.y * (p.X @ p.u + p.b) > 0).all() for p in planes):
            return False
        warnings.warn(
            f"PenalizedClassifier: the classes are linearly separable, so without a penalty no finite weights have "
            f"the least {type(loss).__name__.lower()} loss; those of pass {count} are kept. Give a penalty.",
            ConvergenceWarning,
            stacklevel=4,
        )
        return True

    def _stalls(self, live: list[Any], count: int) -> bool:
        """Whether more passes of any plane lead nowhere; it says so."""
        if not all(isinstance(plane, ADMM) and plane.stalled for plane in live):
            return False
        warnings.warn(
            f"PenalizedClassifier stopped after {count} passes: the residual, {live[0].residual:.3g}, no longer "
            "falls. Nearly collinear columns have no well-defined weights without a penalty: give one.",
            ConvergenceWarning,
            stacklevel=4,
        )
        return True

    def _check_algorithm(self, loss: Loss) -> None:
        if self.algorithm == "newton" and not has_curvature(loss):
            raise ValueError(
                f"algorithm='newton' takes a loss with a curvature, such as {SMOOTH}; got loss={self.loss!r}."
            )
        if self.algorithm == "newton" and self.penalty is None:
            raise ValueError(
                "algorithm='newton' takes a penalty in ('l2', 'l1', 'lq', 'elasticnet'); got penalty=None, "
                "for which there may be no minimum."
            )
        loss.check(np.array([-1.0, 1.0]))
        if not has_curvature(loss) and not has_prox(loss):
            raise ValueError(
                f"PenalizedClassifier: loss must have a curvature or a proximal step; got loss={self.loss!r}, "
                "which has neither."
            )

    def _planes(self, X: Any, sides: list[Array], cost: Array, loss: Loss) -> list[list[Any]]:
        """The solvers of each one-vs-rest hyperplane, one for each start."""
        penalty = PenaltyChoice(self.penalty, self.q, self.l1_ratio)
        constant = [self.fit_intercept and y.min() == y.max() for y in sides]
        options: Any = {"intercept": self.fit_intercept, "algorithm": self.algorithm, "tol": self.tol}
        varied = [y for y, same in zip(sides, constant) if not same]
        others = iter(plane_solvers(X, varied, cost, loss, penalty, **options))
        return [
            [ConstantScore(y, cost, loss, X.shape[1])] if same else next(others)
            for y, same in zip(sides, constant)
        ]

    def _unpacked(self, center: Array, dtype: Any) -> Any:
        def unpack(state: list[tuple[Array, float]]) -> dict[str, Any]:
            w, b = np.stack([u for u, _ in state]), np.array([b for _, b in state])
            return {"coef_": w.astype(dtype), "intercept_": (b - w @ center).astype(dtype)}

        return unpack


def advance(plane: ProximalNewton | ADMM | ConstantScore) -> None:
    plane.advance()


def objective(plane: ProximalNewton | ADMM | ConstantScore) -> float:
    return plane.objective()

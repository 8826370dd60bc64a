"""Classification with any margin loss and any penalty: regularised risk (正则化, 结构风险)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from tercet.core.catalog import method
from tercet.core.parallel import each
from tercet.core.parameters import Count, Fraction, Jobs, Positive, Range
from tercet.linear_model.base import LinearClassifier
from tercet.linear_model.margin_newton import MarginNewton, finite
from tercet.linear_model.penalized import CODES
from tercet.losses import Loss
from tercet.losses import loss as make_loss
from tercet.penalties import Penalty
from tercet.penalties import penalty as make_penalty

Array = np.ndarray
Power = Annotated[float, Range(1, np.inf, "[)")]
SMOOTH = ("logistic", "squared_hinge", "modified_huber", "exponential")
MOST = 2000  # features for a Hessian in every pass; ADMM needs one matrix of that size for all of them


@method(
    zh="正则化风险最小化分类器",
    task="classification",
    model="f(x) = sign(w·x + b)",
    strategy="Ω(w) + C Σ l(y f(x)): an L1, L2, Lq or elastic net penalty and any margin loss",
    algorithms={
        "newton": "proximal Newton: the losses as a parabola, its minimum with the penalty by coordinates",
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
        # without their means features keep their digits; the intercept makes up for it
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

    def _planes(self, X: Any, sides: list[Array], cost: Array) -> list[MarginNewton | Split | OneSide]:
        """One hyperplane for each way to see the rows, with what will move it."""
        options = {"lq": {"q": self.q}, "elasticnet": {"l1_ratio": self.l1_ratio}}.get(self.penalty or "", {})
        parts = make_loss(self.loss), make_penalty(self.penalty, **options)
        can = self.loss in SMOOTH and self.penalty is not None and X.shape[1] <= MOST
        newton = self.algorithm == "newton" or (self.algorithm == "auto" and can)
        prox = CODES[self.penalty], float(self.q), float(self.l1_ratio)
        solve = None
        planes: list[MarginNewton | Split | OneSide] = []
        for y in sides:
            if self.fit_intercept and y.min() == y.max():
                planes.append(OneSide(y, cost, parts[0], X.shape[1]))
            elif newton:
                planes.append(MarginNewton(X, y, cost, *parts, prox, self.fit_intercept, self.tol))
            else:
                solve = solve or factor(X, self.fit_intercept)
                planes.append(Split(X, y, cost, *parts, solve, self.tol))
        return planes

    def _unpacked(self, center: Array, dtype: Any) -> Any:
        def unpack(state: list[tuple[Array, float]]) -> dict[str, Any]:
            w, b = np.stack([u for u, _ in state]), np.array([b for _, b in state])
            return {"coef_": w.astype(dtype), "intercept_": (b - w @ center).astype(dtype)}

        return unpack


def advance(plane: MarginNewton | Split | OneSide) -> None:
    plane.advance()


def factor(X: Any, intercept: bool) -> Any:
    """Solves (X'X + I) w = g with a free intercept: what the two copies are drawn together by."""
    n, d = X.shape
    with np.errstate(over="ignore"):
        gram = X.T @ X
    H = gram.toarray() if sparse.issparse(gram) else gram
    H[np.arange(d), np.arange(d)] += 1.0
    sums = np.asarray(X.sum(axis=0)).ravel() if intercept else np.zeros(d)
    H -= np.outer(sums, sums / n)
    finite(H)
    try:
        known = cho_factor(H)
    except LinAlgError:  # large features hide the I from rounding, but there is no less than that
        curve, U = eigh(H)
        known = None

    def solve(g: Array, total: float) -> tuple[Array, float]:
        g = g - sums * (total / n)
        w = cho_solve(known, g) if known else U @ ((U.T @ g) / np.maximum(curve, 1.0))
        return w, float(total - sums @ w) / n if intercept else 0.0

    return solve


class OneSide:
    """The answer where all rows are on one side: no weights, and an intercept that leaves no loss but rounding."""

    def __init__(self, y: Array, cost: Array, loss: Loss, width: int) -> None:
        self.y, self.cost, self.loss, self.u = y, cost, loss, np.zeros(width)
        side = float(y[0])
        least = loss.value(y[:1], np.full(1, side))[0]
        self.b = side if least == 0 else -side * float(np.log(np.finfo(float).eps))  # it falls as e^-b does
        self.residual, self.done = 0.0, False

    def advance(self) -> None:
        self.done = True

    def objective(self) -> float:
        return float(self.cost @ self.loss.value(self.y, np.full(self.y.size, self.b)))


class Split:
    """One hyperplane: copies z of the scores and u of the weights, each moved by a proximal step of its own.

    min over w, b, z, u of  penalty(u) + sum_i cost_i loss(y_i, z_i)   subject to  z = Xw + b,  u = w
    """

    def __init__(
        self, X: Any, y: Array, cost: Array, loss: Loss, penalty: Penalty, solve: Any, tol: float
    ) -> None:
        self.X, self.y, self.cost, self.loss, self.penalty = X, y, cost, loss, penalty
        self.solve, self.tol, self.rho, self.count = solve, tol, 1.0, 0
        self.z, self.u = np.zeros(X.shape[0]), np.zeros(X.shape[1])
        self.force, self.pull = np.zeros_like(self.z), np.zeros_like(self.u)  # multipliers, over rho
        self.b, self.residual, self.done = 0.0, np.inf, False

    def advance(self) -> None:
        """One round: weights that fit both copies, the copies, the multipliers."""
        r, s = self.z - self.force, self.u - self.pull
        w, self.b = self.solve(self.X.T @ r + s, r.sum())
        scores = self.X @ w + self.b
        z = self.loss.prox(self.y, scores + self.force, self.cost / self.rho)
        u = self.penalty.prox(w + self.pull, 1.0 / self.rho)
        apart = np.sqrt(np.sum((scores - z) ** 2) + np.sum((w - u) ** 2))
        moved = np.sqrt(np.sum((z - self.z) ** 2) + np.sum((u - self.u) ** 2))
        self.z, self.u = z, u
        self.force += scores - z
        self.pull += w - u
        size = np.sqrt(z @ z + u @ u)
        duals = np.sqrt(self.force @ self.force + self.pull @ self.pull)
        self.residual = max(apart / max(size, 1e-12), moved / max(duals, 1e-12))
        self.done = self.residual <= self.tol
        self.count += 1
        # what is apart and what moves should shrink together; less and less often, so that it settles
        if self.count in TURNS and not self.done:
            ratio = np.sqrt((apart / max(size, 1e-12)) / max(moved / max(duals, 1e-12), 1e-300))
            change = float(np.clip(ratio, 0.2, 5.0))
            self.rho *= change
            self.force /= change
            self.pull /= change

    def objective(self) -> float:
        """The value at the copy u of the weights."""
        losses = self.loss.value(self.y, self.X @ self.u + self.b)
        return float(self.penalty.value(self.u) + self.cost @ losses)


TURNS = frozenset(int(10 * 1.5**k) for k in range(16))

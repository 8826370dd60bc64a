"""Information-theoretic metric learning (信息论度量学习, ITML)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import linalg
from sklearn.metrics.pairwise import euclidean_distances

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.kernel import kernel
from tercet.core.parameters import Count, NonNegative, PositiveOrInf, Seed
from tercet.core.rows import kernel_form, read_only
from tercet.core.validation import check_array
from tercet.metric_learning.base import dense, square_root
from tercet.metric_learning.lbfgs_passes import LBFGSPasses
from tercet.metric_learning.pair_learner import PairLearner
from tercet.metric_learning.tuple_input import Pairs

SAMPLE = 1000  # rows whose distances set the bounds
TINY = 1e-200


@method(
    zh="信息论度量学习（ITML）",
    task="dimensionality reduction",
    model="distance |x_i - x_j|_M, M positive definite",
    strategy="M nearest to a prior M0 by the LogDet divergence, tr(M M0⁻¹) - ln det(M M0⁻¹), with must-link pairs "
    "at "
    "most u and cannot-link pairs at least l apart, up to a slack",
    convex=True,
    algorithms={
        "lbfgs": "L-BFGS over L of M = L'L, with the slacks at their best for each M",
        "projections": "Bregman projections onto one constraint after the other, by updates of rank one",
    },
    texts=["watermelon notes ch. 8, eq. 8.26"],
    peers=["metric_learn.ITML"],
)
class ITML(PairLearner):
    """Information-theoretic metric learning: the metric nearest to a prior that keeps pairs within bounds.

    Minimises D(M, M0) + γ Σ_c w_c D(ξ_c, ξ0_c) over M and ξ, with |x_i - x_j|²_M ≤ ξ_c for must-link and ≥ ξ_c for
    cannot-link pairs; D is the LogDet divergence and ξ0 the bound u or l (Davis et al., 2007). A pair that keeps
    its bound costs nothing; one that does not has ξ_c = |x_i - x_j|²_M = p, and costs γ w_c (p/ξ0 - ln(p/ξ0) -
    1): what is left is a smooth convex function of M alone, which L-BFGS minimises. The paper's projections come
    to the same M, in many more passes, and allow γ = inf.

    Parameters
    ----------
    gamma : float, default=1.0
        γ, what slack costs; inf allows none.
    prior : {"identity", "covariance", "random"} or array of shape (n_features, n_features), default="identity"
        M0: the identity, the inverse covariance of the rows, a random matrix, or a given one.
    bounds : (u, l), optional
        Bounds of the squared distances. By default the 5th and 95th percentiles of the squared distances of the
        rows by M0 (of some 1 000 rows).
    algorithm : {"auto", "lbfgs", "projections"}, default="auto"
        How to minimise. "auto" is "projections" with gamma=inf, else "lbfgs".
    max_iter : int, default=1000
        The most passes over all pairs.
    tol : float, default=1e-6
        Stop when the objective, relative to its size, or the gradient changes by no more ("lbfgs"); when the
        multipliers of the constraints change by no more than this part of their size in a pass ("projections").
    n_constraints : int, optional
        From labels: how many must-link and as many cannot-link pairs to draw. By default all pairs of rows up to
        20 000, else 10 000 of each.
    random_state : int, optional
        Decides which pairs are drawn, and the random prior.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The symmetric square root L of M.
    bounds_ : array of shape (2,)
        u and l.
    n_iter_ : int

    Examples
    --------
    >>> pairs = [[[0.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [1.0, 0.0]]]
    >>> model = ITML(bounds=(1.0, 2.0), gamma=float("inf")).fit(pairs, [1, -1])
    >>> (model.pair_distance(pairs) ** 2).round(6)
    array([1., 2.])
    """

    def __init__(
        self,
        *,
        gamma: PositiveOrInf = 1.0,
        prior: Literal["identity", "covariance", "random"] | np.ndarray = "identity",
        bounds: tuple | list | np.ndarray | None = None,
        algorithm: Literal["auto", "lbfgs", "projections"] = "auto",
        max_iter: Count = 1000,
        tol: NonNegative = 1e-6,
        n_constraints: Count | None = None,
        random_state: Seed = None,
    ) -> None:
        self.gamma = gamma
        self.prior = prior
        self.bounds = bounds
        self.algorithm = algorithm
        self.max_iter = max_iter
        self.tol = tol
        self.n_constraints = n_constraints
        self.random_state = random_state

    bounds_: np.ndarray

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: np.ndarray | None,
        links: Any = None,
    ) -> None:
        pairs = self._pairs(X, y, sample_weight, links)
        points = X if sample_weight is None else X[sample_weight > 0]
        points = points.reshape(-1, X.shape[-1]) if X.ndim == 3 else points
        points = np.unique(dense(points), axis=0)
        M = self._prior_matrix(points)
        self.bounds_ = self._bounds(points, M)
        V, sign, bound, weight = constraints(pairs, self.bounds_)
        infinite = self.gamma == np.inf
        if self.algorithm == "lbfgs" and infinite:
            raise ValueError(f"{type(self).__name__}: algorithm='lbfgs' needs a finite gamma; got inf.")
        by_projections = self.algorithm == "projections" or (self.algorithm == "auto" and infinite)
        learn = self._project if by_projections else self._minimise
        self._keep(square_root(learn(M, V, sign, bound, self.gamma * weight, X.dtype)), X.dtype)

    def _project(
        self, M: np.ndarray, V: Any, sign: Any, bound: Any, gamma: np.ndarray, dtype: Any
    ) -> np.ndarray:
        """Bregman projections onto the constraints by turns, from the prior M; the last M."""
        slack, multipliers, gamma = np.array(bound), np.zeros(len(V)), kernel_form(gamma)  # ξ, λ

        def components(M: np.ndarray) -> dict[str, Any]:
            return {"components_": square_root(M).astype(dtype)}

        for step in self.steps(self.max_iter, unpack=components):
            before = multipliers.copy()
            project(M, V, sign, gamma, slack, multipliers)
            M = (M + M.T) / 2
            change = float(np.abs(multipliers - before).sum())
            size = float(np.abs(multipliers).sum() + np.abs(before).sum())
            active = int((multipliers > 0).sum())
            step.report(M.copy(), change=change / size if size > 0 else 0.0, active=active)
            if step.converged(change <= self.tol * size):
                break
        return M

    def _minimise(
        self, M: np.ndarray, V: Any, sign: Any, bound: Any, gamma: np.ndarray, dtype: Any
    ) -> np.ndarray:
        """L-BFGS over L from the prior M; the last M.

        At the minimum M⁻¹ is M0⁻¹ and a sum over the pairs beyond their bounds: in the coordinates R, in which
        that of all must-link pairs is the identity, the problem is well conditioned.
        """
        prior = np.linalg.inv(M)
        pull = np.where(sign > 0, gamma / bound, 0.0)
        curvature = prior + (V.T * pull) @ V
        refuse_overflow(curvature, type(self).__name__)
        values, basis = linalg.eigh(curvature)
        R = (basis / np.sqrt(values)) @ basis.T
        loss = SlackLoss(R @ prior @ R, V @ R, sign, bound, gamma)
        start = square_root(M) @ np.linalg.inv(R)

        def matrix(x: np.ndarray) -> np.ndarray:
            L = x.reshape(M.shape) @ R
            return L.T @ L

        def components(x: np.ndarray) -> dict[str, Any]:
            return {"components_": square_root(matrix(x)).astype(dtype)}

        passes = LBFGSPasses(self.steps(self.max_iter, unpack=components))
        found = passes.run(loss, start.ravel(), tol=self.tol)
        passes.finish(bool(found.success))
        return matrix(found.x)

    def _prior_matrix(self, points: np.ndarray) -> np.ndarray:
        """M0, a writable array."""
        name, d = type(self).__name__, points.shape[1]
        if isinstance(self.prior, str):
            if self.prior == "identity":
                return np.eye(d)
            if self.prior == "random":
                A = generator(self.random_state).standard_normal((d, d))
                return A @ A.T / d + 1e-3 * np.eye(d)
            C = np.atleast_2d(np.cov(points, rowvar=False))
            refuse_overflow(C, name)
            values, basis = linalg.eigh(C)
            if values.min() <= d * np.finfo(float).eps * max(values.max(), 0.0):
                raise ValueError(
                    f"{name}: prior='covariance' needs rows whose covariance has an inverse; its smallest "
                    "eigenvalue is "
                    f"{values.min():.3g}."
                )
            return np.ascontiguousarray((basis / values) @ basis.T)
        given = check_array(self.prior, dtype=np.float64, input_name="prior")
        good = given.shape == (d, d) and np.allclose(given, given.T, rtol=1e-9)
        if not good or linalg.eigvalsh(given).min() <= 0:
            raise ValueError(
                f"{name}: prior must be a symmetric positive definite matrix of shape ({d}, {d}); got "
                f"{given.shape}."
            )
        return np.array((given + given.T) / 2, order="C")

    def _bounds(self, points: np.ndarray, M0: np.ndarray) -> np.ndarray:
        """u and l, as given, or percentiles of squared distances."""
        name = type(self).__name__
        if self.bounds is None:
            Z = points[:: -(-len(points) // SAMPLE)] @ square_root(M0)
            apart = euclidean_distances(Z, squared=True)[np.triu_indices(len(Z), 1)]
            found = np.percentile(apart[apart > 0], (5, 95)) if (apart > 0).any() else np.ones(2)
            return np.asarray(found, dtype=np.float64)
        try:
            given = np.asarray(self.bounds, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.zeros(0)
        if given.shape != (2,) or not (np.isfinite(given).all() and (given > 0).all()):
            raise ValueError(f"{name}: bounds must be two positive numbers (u, l); got {self.bounds!r}.")
        return given


def refuse_overflow(matrix: np.ndarray, name: str) -> None:
    """An error where sums of squares of X are no numbers."""
    if not np.isfinite(matrix).all():
        raise ValueError(
            f"{name}: sums of squares of X are beyond floating-point numbers. Scale the features, or change "
            "bounds and gamma."
        )


def constraints(pairs: Pairs, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Differences, signs (1: at most, -1: at least), bounds and weights of all pairs of two different points."""
    near, far = pairs.alike.any(axis=1), pairs.apart.any(axis=1)
    V = kernel_form(np.concatenate([pairs.alike[near], pairs.apart[far]]))
    sign = np.concatenate([np.ones(int(near.sum())), -np.ones(int(far.sum()))])
    weight = np.concatenate([pairs.alike_weight[near], pairs.apart_weight[far]])
    return V, read_only(sign), np.where(sign > 0, *bounds), weight


class SlackLoss:
    """tr(PM) - ln det M + Σ γ_c (p_c/b_c - ln(p_c/b_c) - 1) over the pairs beyond their bounds b, for M = L'L.

    P is the inverse of the prior, and p_c = |v_c|²_M.
    """

    def __init__(
        self, P: np.ndarray, V: np.ndarray, sign: np.ndarray, bound: np.ndarray, gamma: np.ndarray
    ) -> None:
        self.P, self.V, self.sign, self.bound, self.gamma = P, V, sign, bound, gamma

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        L = x.reshape(self.P.shape)
        logdet = float(np.linalg.slogdet(L)[1])
        if not np.isfinite(logdet):  # a line search has gone through the boundary
            return np.inf, np.zeros(x.size)
        ratio = np.maximum(((self.V @ L.T) ** 2).sum(axis=1) / self.bound, TINY)
        beyond = np.where((ratio - 1.0) * self.sign > 0, self.gamma, 0.0)
        slope = (self.V.T * (beyond * (1.0 - 1.0 / ratio) / self.bound)) @ self.V
        LP = L @ self.P
        value = float((L * LP).sum()) - 2.0 * logdet + float(beyond @ (ratio - np.log(ratio) - 1.0))
        return value, 2.0 * (LP + L @ slope - np.linalg.inv(L).T).ravel()


@kernel
def project(M: Any, V: Any, sign: Any, gamma: Any, slack: Any, multipliers: Any) -> None:
    """One pass of Bregman projections: M, slacks ξ and multipliers λ after each constraint in turn."""
    d = M.shape[0]
    Mv = np.empty(d)
    for c in range(V.shape[0]):
        v, p = V[c], 0.0
        for i in range(d):
            row, dot = M[i], 0.0
            for k in range(d):
                dot += row[k] * v[k]
            Mv[i] = dot
        for i in range(d):
            p += Mv[i] * v[i]  # |v|²_M
        if not p > 0.0:
            continue
        part = gamma[c] / (gamma[c] + 1.0) if gamma[c] < np.inf else 1.0
        alpha = min(multipliers[c], part * sign[c] * (1.0 / p - 1.0 / slack[c]))
        if alpha == 0.0:
            continue
        multipliers[c] -= alpha
        beta = sign[c] * alpha / (1.0 - sign[c] * alpha * p)
        if gamma[c] < np.inf:
            slack[c] = 1.0 / (1.0 / slack[c] + sign[c] * alpha / gamma[c])
        for i in range(d):
            row, factor = M[i], beta * Mv[i]
            for k in range(d):
                row[k] += factor * Mv[k]

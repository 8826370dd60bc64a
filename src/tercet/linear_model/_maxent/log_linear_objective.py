"""The objective of log-linear models, and the line search of their L-BFGS."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.functions import softmax
from tercet.optimize import Ray, RayPoint, Wolfe


class LogLinearObjective:
    """The objective of a maximum entropy model: mean negative log-likelihood + l2 |w|^2 / 2.

    Without the penalty it is the negative dual function -Ψ(w) (Li eq. 6.24, 6.27), and its gradient is the
    difference of the expectations of the features under the model and in the data.
    """

    def __init__(
        self, features: Any, empirical: np.ndarray, weight: np.ndarray, l2: float | np.ndarray
    ) -> None:
        self.features, self.empirical, self.weight, self.l2 = features, empirical, weight, l2
        self._at: np.ndarray | None = None
        self._last: Any = None

    def statistics(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The statistics of the features at w, kept until w changes."""
        if self._at is None or not (self._at is w or np.array_equal(self._at, w)):
            self._at, self._last = w, self.features.statistics(w, self.weight)
        return self._last

    def value(self, w: np.ndarray) -> float:
        return self.value_and_gradient(w)[0]

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(w)[1]

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        log_z, expected = self.statistics(w)
        shrinkage = self.l2 * w
        gradient = expected - self.empirical
        gradient += shrinkage
        return log_z - float(w @ self.empirical) + float(w @ shrinkage) / 2, gradient

    def probabilities(self, w: np.ndarray) -> np.ndarray:
        """P(y|x) of shape (n_contexts, n_labels)."""
        return softmax(self.features.scores(w))

    def hessian(self, w: np.ndarray) -> np.ndarray:
        """Covariances of the features under P(y|x), averaged over the contexts."""
        p, F = self.probabilities(w), self.features.matrix()
        joint = (self.weight[:, None] * p).ravel()
        n, labels = p.shape
        mean = sparse.csr_array((p.ravel(), np.arange(n * labels), np.arange(n + 1) * labels)) @ F
        H = F.T @ F.multiply(joint[:, None]) - mean.T @ mean.multiply(self.weight[:, None])
        return H.toarray() + np.diag(np.broadcast_to(self.l2, w.shape))

    def hessian_product(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.statistics(w)
        product = self.features.hessian_product(v)
        product += self.l2 * v
        return product


class CurvatureScaledWolfe:
    """Wolfe line search whose very first step length is Newton's along the ray.

    The usual first guess, a step of length 1, is far off for means of rare features, and each trial costs a pass.
    """

    def __init__(self) -> None:
        self.started = False

    def __call__(self, ray: Ray, guess: float) -> RayPoint | None:
        if not self.started:
            self.started = True
            curvature = float(ray.p @ ray.objective.hessian_product(ray.start.x, ray.p))
            guess = -ray.start.slope / curvature if curvature > 0 else guess
        return Wolfe()(ray, guess)

"""The least squares objective as a function of one parameter vector, for `tercet.optimize`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from tercet.core.parallel import Chunks, total
from tercet.core.rows import rows
from tercet.linear_model._least_squares.design_matrix import DesignMatrix, largest_row_norm

Array = np.ndarray


class SumOfSquares:
    """J(theta) = scale * sum_i s_i (x_i·w + b - y_i)^2 with theta = (w, b), for `optimize.minimize`.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    y : array of shape (n,) or (n, k)
        With k targets theta holds k pairs (w, b), one after the other.
    sample_weight : array of shape (n,), optional
    fit_intercept : bool, default=True
        Whether theta has a b, which stands last (watermelon notes eq. 1.8).
    scale : float, default=0.5
        Machine Learning in Depth eq. 2.3 has 1/2, watermelon notes eq. 1.3 has 1.
    n_jobs : int, optional

    Examples
    --------
    >>> J = SumOfSquares(np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([2.0, 3.0, 5.0, 4.0]))
    >>> J.value(np.zeros(2)), J.gradient(np.zeros(2))
    (27.0, array([-39., -14.]))
    """

    def __init__(
        self,
        X: Any,
        y: Array,
        sample_weight: Array | None = None,
        *,
        fit_intercept: bool = True,
        scale: float = 0.5,
        n_jobs: int | None = None,
    ) -> None:
        self.X, self.weight, self.scale, self.n_jobs = X, sample_weight, scale, n_jobs
        self.fit_intercept = fit_intercept
        self.n_targets = 1 if np.ndim(y) == 1 else np.shape(y)[1]
        self.size = self.n_targets * (X.shape[1] + fit_intercept)
        self.chunks = Chunks(X, np.reshape(y, (X.shape[0], -1)), sample_weight)

    def split(self, theta: Array) -> tuple[Array, Array]:
        """W of shape (k, d) and the k intercepts."""
        theta = theta.reshape(self.n_targets, -1)
        d = self.X.shape[1]
        return theta[:, :d], theta[:, d] if self.fit_intercept else np.zeros(self.n_targets)

    def join(self, W: Array, b: Array) -> Array:
        """The inverse of `split`."""
        return np.column_stack([W, b]).ravel() if self.fit_intercept else W.ravel()

    def by_target(self, theta: Array) -> Array:
        """J of each target."""
        return self._sums(theta)[2] * self.scale

    def value(self, theta: Array) -> float:
        return float(self.by_target(theta).sum())

    def gradient(self, theta: Array) -> Array:
        return self.value_and_gradient(theta)[1]

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        gradients, sums, squares = self._sums(theta)
        return float(self.scale * squares.sum()), self.join(
            2 * self.scale * gradients.T, 2 * self.scale * sums
        )

    def hessian_product(self, theta: Array, v: Array) -> Array:
        V, c = self.split(v)
        gradients, sums = total(_hessian_product_sums, self.chunks, V.T, c, n_jobs=self.n_jobs)
        return self.join(2 * self.scale * gradients.T, 2 * self.scale * sums)

    def hessian(self, theta: Array) -> Array:
        design = DesignMatrix(self.X, np.zeros(self.X.shape[0]), self.weight, self.fit_intercept, self.n_jobs)
        H, mean, mass = design.cross_products()[0], design.x_mean, design.mass
        if self.fit_intercept:
            edge = mass * mean[:, None]
            H = np.block([[H + edge * mean, edge], [edge.T, np.full((1, 1), mass)]])
        return np.kron(np.eye(self.n_targets), 2 * self.scale * H)

    def safe_step(self, batch: int) -> float:
        """The largest step size, 1 / curvature, for which descent by batches of this size cannot diverge."""
        if batch >= self.X.shape[0]:
            H = self.hessian(np.zeros(self.size))
            d = H.shape[0] // self.n_targets
            return 1.0 / max(eigvalsh(H[:d, :d])[-1], np.finfo(float).tiny)
        s = np.ones(self.X.shape[0]) if self.weight is None else self.weight.astype(np.float64)
        curvature_bound = largest_row_norm(
            rows(self.X), s, np.zeros(self.X.shape[1]), float(self.fit_intercept)
        )
        return 1.0 / max(2 * self.scale * batch * curvature_bound, 1e-300)

    def _sums(self, theta: Array) -> Any:
        W, b = self.split(theta)
        return total(_gradient_sums, self.chunks, W.T, b, n_jobs=self.n_jobs)


def _gradient_sums(chunk, W, b):
    X, y, weight = chunk
    E = X @ W + b - y
    S = E if weight is None else E * weight[:, None]
    return X.T @ S, S.sum(axis=0), np.einsum("ik,ik->k", E, S)


def _hessian_product_sums(chunk, V, c):
    X, _, weight = chunk
    E = X @ V + c
    if weight is not None:
        E *= weight[:, None]
    return X.T @ E, E.sum(axis=0)

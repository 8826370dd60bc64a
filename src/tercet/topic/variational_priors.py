"""Priors α and η of latent Dirichlet allocation, learned from variational posteriors (20.65-20.68)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, polygamma, psi

from tercet.core.catalog import method
from tercet.distributions import expected_log_dirichlet
from tercet.topic.prior_input import positive

LEAST_ALPHA, LARGEST_ALPHA = 1e-6, 1e6  # where all documents have the same topics, α grows without end


@method(
    zh="LDA 超参数 α 的牛顿法",
    task="topic model",
    model="L(α) = Σ_m [log Γ(Σα) - Σ_k log Γ(α_k) + Σ_k (α_k - 1)(ψ(γ_mk) - ψ(Σγ_m))]",
    strategy="evidence lower bound in α",
    algorithms="Newton's method; the Hessian is a diagonal and a constant: linear time",
    texts=["Li ch. 20, eq. 20.65-20.68", "watermelon notes ch. 12"],
)
def newton_alpha(
    gamma: Any, alpha: Any, *, sample_weight: Any = None, max_iter: int = 100, tol: float = 1e-10
) -> np.ndarray:
    """Prior α that raises the bound most for given γ of the documents (20.65-20.68).

    A step that would leave α > 0, or lower the objective, is halved.

    Parameters
    ----------
    gamma : array of shape (n_documents, n_topics)
        Parameters of q(θ) of the documents.
    alpha : array of shape (n_topics,)
        The start.
    sample_weight : array of shape (n_documents,), optional
        How much each document counts.
    max_iter : int, default=100
        The most steps.
    tol : float, default=1e-10
        Stop when no α changes by more than this part of it.

    Returns
    -------
    alpha : array of shape (n_topics,)
        At most 1e6: where all documents have the same topics, α would grow without end.

    Examples
    --------
    >>> newton_alpha([[3, 1], [1, 4], [2, 2], [5, 0.8]], [1.0, 1.0]).round(4)
    array([0.9148, 0.6857])
    """
    alpha = positive("alpha", alpha, 1).copy()
    logs = np.average(expected_log_dirichlet(positive("gamma", gamma, 2)), axis=0, weights=sample_weight)
    value = alpha_objective(alpha, logs)
    for _ in range(max_iter):
        step = alpha_step(alpha, logs)
        size = 1.0
        while size > 1e-12:
            new = alpha + size * step
            if (new > 0).all() and (found := alpha_objective(new, logs)) >= value:
                break
            size /= 2
        else:
            break
        moved = np.abs(new - alpha)
        alpha, value = np.minimum(new, LARGEST_ALPHA), found
        if (moved <= tol * alpha).all() or alpha.max() >= LARGEST_ALPHA:
            break
    return alpha


def alpha_objective(alpha: np.ndarray, logs: np.ndarray) -> float:
    """The bound in α (20.65) for one document; logs: mean of E[log θ] over the documents."""
    return float(gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1) @ logs)


def alpha_step(alpha: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Newton's step -H⁻¹g (20.68), with g of (20.66) and H = diag(h) + c of (20.67).

    Examples
    --------
    >>> logs = expected_log_dirichlet([[3, 1], [1, 4], [2, 2], [5, 0.8]]).mean(axis=0)
    >>> alpha_step(np.ones(2), logs) + 1
    array([0.82310746, 0.4982019 ])
    """
    gradient = psi(alpha.sum()) - psi(alpha) + logs
    h, c = -polygamma(1, alpha), float(polygamma(1, alpha.sum()))
    shared = (gradient / h).sum() / (1.0 / c + (1.0 / h).sum())
    return -(gradient - shared) / h


@method(
    zh="LDA 超参数 α 的不动点迭代",
    task="topic model",
    model="ψ(α_k) = ψ(Σα) + mean of E[log θ_k]",
    strategy="evidence lower bound in α",
    algorithms="Minka's fixed point: α_k = ψ⁻¹(ψ(Σα) + mean of E[log θ_k])",
    texts=["Li ch. 20, eq. 20.65", "watermelon notes ch. 12"],
)
def minka_alpha(
    gamma: Any, alpha: Any, *, sample_weight: Any = None, max_iter: int = 100, tol: float = 1e-10
) -> np.ndarray:
    """Prior α that raises the bound for given γ of the documents, by Minka's fixed point.

    Each step raises the objective, and none leaves α > 0; it needs more steps than Newton's method.

    Parameters
    ----------
    gamma : array of shape (n_documents, n_topics)
        Parameters of q(θ) of the documents.
    alpha : array of shape (n_topics,)
        The start.
    sample_weight : array of shape (n_documents,), optional
        How much each document counts.
    max_iter : int, default=100
        The most steps.
    tol : float, default=1e-10
        Stop when no α changes by more than this part of it.

    Returns
    -------
    alpha : array of shape (n_topics,)
        From 1e-6 to 1e6.

    Examples
    --------
    >>> minka_alpha([[3, 1], [1, 4], [2, 2], [5, 0.8]], [1.0, 1.0], max_iter=1000).round(4)
    array([0.9148, 0.6857])
    """
    alpha = positive("alpha", alpha, 1).copy()
    logs = np.average(expected_log_dirichlet(positive("gamma", gamma, 2)), axis=0, weights=sample_weight)
    for _ in range(max_iter):
        new = np.clip(inverse_digamma(psi(alpha.sum()) + logs), LEAST_ALPHA, LARGEST_ALPHA)
        moved = np.abs(new - alpha)
        alpha = new
        if (moved <= tol * alpha).all():
            break
    return alpha


def inverse_digamma(y: Any) -> np.ndarray:
    """x > 0 with ψ(x) = y, by Newton's method from Minka's start.

    Examples
    --------
    >>> inverse_digamma(psi([0.01, 1.0, 50.0])).round(9)
    array([1.e-02, 1.e+00, 5.e+01])
    """
    y = np.asarray(y, dtype=np.float64)
    with np.errstate(over="ignore"):
        x = np.where(y >= -2.22, np.exp(np.minimum(y, 700.0)) + 0.5, -1.0 / np.minimum(y - psi(1.0), -1e-3))
    for _ in range(6):
        x = x - (psi(x) - y) / polygamma(1, x)
    return x


def symmetric_eta(mean_log: float, n_words: int) -> float:
    """Prior η of all words that raises the bound most: ψ(V η) - ψ(η) = -mean of E[log φ_kv].

    Parameters
    ----------
    mean_log : float
        The mean of E[log φ_kv] over all topics and words.
    n_words : int
        V.

    Returns
    -------
    eta : float
        From 1e-6 to 1e6.

    Examples
    --------
    >>> round(symmetric_eta(float(psi(0.3) - psi(4 * 0.3)), 4), 6)
    0.3
    """

    def slope(log_eta: float) -> float:  # falls from left to right
        eta = np.exp(log_eta)
        return float(psi(n_words * eta) - psi(eta) + mean_log)

    low, high = np.log(LEAST_ALPHA), np.log(LARGEST_ALPHA)
    if n_words == 1 or slope(high) >= 0:
        return LARGEST_ALPHA if n_words > 1 else 1.0
    return LEAST_ALPHA if slope(low) <= 0 else float(np.exp(brentq(slope, low, high, xtol=1e-12)))

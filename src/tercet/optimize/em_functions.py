"""Functions of EM theory: Q, H, the lower bound B and F (Li ch. 9).

All are computed from the complete-data log-likelihood: `log_joint(theta)`, of shape (n, K), is
log P(y_j, z_j = k | θ) for each row and each value of the latent variable, with 0 log 0 = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.catalog import method as card
from tercet.core.functions import log_softmax, log_sum_exp, softmax

Joint = Callable[[Any], np.ndarray]


def log_likelihood(log_joint: Joint, theta: Any, sample_weight: Any = None) -> float:
    """Log-likelihood L(θ) = log P(Y | θ), summed over the latent variable.

    Examples
    --------
    >>> round(log_likelihood(lambda p: np.log([[p / 2, 0.1]]), 0.8), 4)
    -0.6931
    """
    return weighted_sum(log_sum_exp(np.asarray(log_joint(theta), dtype=np.float64)), sample_weight)


def latent_posterior(log_joint: Joint, theta: Any) -> np.ndarray:
    """Posterior P(Z | Y, θ) of the latent variable, one row per observation.

    Examples
    --------
    >>> latent_posterior(lambda p: np.log([[p, 0.3]]), 0.1)
    array([[0.25, 0.75]])
    """
    return posterior(np.asarray(log_joint(theta), dtype=np.float64))


@card(
    zh="Q函数",
    task="information",
    model="Q(θ, θ_i) = E[log P(Y, Z | θ) | Y, θ_i]",
    strategy="the expected log-likelihood of the complete data",
    texts=["Li ch. 9, Def 9.1, eq. 9.11", "watermelon notes ch. 5, eq. 5.14"],
)
def q_function(log_joint: Joint, theta: Any, given: Any, sample_weight: Any = None) -> float:
    """The function Q(θ, θ_i) of EM: the complete data's log-likelihood, as θ_i expects it.

    Parameters
    ----------
    log_joint : callable
        From θ to log P(y_j, z_j = k | θ), an array of shape (n, K).
    theta, given : object
        θ, and θ_i, which the posterior of the latent variable is taken at.
    sample_weight : array of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> y = np.array([1, 1, 0, 1, 0, 0, 1, 0, 1, 1])
    >>> def log_joint(theta):  # three coins
    ...     pi, p, q = theta
    ...     return np.log(np.column_stack([pi * np.where(y, p, 1 - p), (1 - pi) * np.where(y, q, 1 - q)]))
    >>> round(q_function(log_joint, (0.4, 0.6, 0.7), (0.4, 0.6, 0.7)), 4)
    -13.5069
    """
    return weighted_sum(expectation(latent_posterior(log_joint, given), log_joint(theta)), sample_weight)


@card(
    zh="H函数",
    task="information",
    model="H(θ, θ_i) = E[log P(Z | Y, θ) | Y, θ_i]",
    strategy="what Q has beyond the log-likelihood: L(θ) = Q(θ, θ_i) - H(θ, θ_i)",
    texts=["Li ch. 9, eq. 9.19, 9.20"],
)
def h_function(log_joint: Joint, theta: Any, given: Any, sample_weight: Any = None) -> float:
    """The function H(θ, θ_i) of EM, highest at θ = θ_i; the parameters are those of `q_function`.

    Examples
    --------
    >>> joint = lambda p: np.log([[p, 1 - p]])
    >>> round(h_function(joint, 0.5, 0.5), 4), h_function(joint, 0.4, 0.5) < h_function(joint, 0.5, 0.5)
    (-0.6931, True)
    """
    joint = np.asarray(log_joint(theta), dtype=np.float64)
    conditional = log_softmax(joint)
    return weighted_sum(expectation(latent_posterior(log_joint, given), conditional), sample_weight)


@card(
    zh="EM算法的下界",
    task="information",
    model="B(θ, θ_i) = L(θ_i) + E[log P(Y, Z | θ) - log P(Y, Z | θ_i) | Y, θ_i]",
    strategy="a lower bound of L(θ) by Jensen's inequality, which it touches at θ_i",
    texts=[
        "Li ch. 9, eq. 9.13-9.17",
        "Machine Learning in Depth ch. 5",
        "watermelon notes ch. 12, eq. 12.20-12.22",
    ],
)
def lower_bound(log_joint: Joint, theta: Any, given: Any, sample_weight: Any = None) -> float:
    """EM's lower bound B(θ, θ_i) of the log-likelihood; the parameters are those of `q_function`.

    L(θ) - B(θ, θ_i) is the Kullback-Leibler divergence of P(Z | Y, θ) from P(Z | Y, θ_i).

    Examples
    --------
    >>> joint = lambda p: np.log([[p, 0.2]])
    >>> lower_bound(joint, 0.5, 0.5) == log_likelihood(joint, 0.5)
    True
    >>> lower_bound(joint, 0.7, 0.5) < log_likelihood(joint, 0.7)
    True
    """
    P = latent_posterior(log_joint, given)
    gain = expectation(P, log_joint(theta)) - expectation(P, log_joint(given))
    return log_likelihood(log_joint, given, sample_weight) + weighted_sum(gain, sample_weight)


@card(
    zh="F函数",
    task="information",
    model="F(P̃, θ) = E_P̃[log P(Y, Z | θ)] + H(P̃)",
    strategy="maximal where P̃ = P(Z | Y, θ), and equal to L(θ) there",
    texts=["Li ch. 9, Def 9.3, eq. 9.33, Lemma 9.1, 9.2"],
)
def f_function(log_joint: Joint, distribution: Any, theta: Any, sample_weight: Any = None) -> float:
    """The function F(P̃, θ), whose maximisation by turns is EM: L(θ) less the divergence of the posterior from P̃.

    Parameters
    ----------
    log_joint : callable
        From θ to log P(y_j, z_j = k | θ), an array of shape (n, K).
    distribution : array of shape (n, K)
        P̃: a distribution of the latent variable for each row.
    theta : object
        θ.
    sample_weight : array of shape (n,), optional
        Weights of the rows.

    Examples
    --------
    >>> joint = lambda p: np.log([[p, 0.2]])
    >>> round(f_function(joint, [[0.5, 0.5]], 0.2) - log_likelihood(joint, 0.2), 12)
    0.0
    """
    P = np.asarray(distribution, dtype=np.float64)
    if (P < 0).any() or not np.allclose(P.sum(axis=1), 1.0):
        raise ValueError(
            "f_function: each row of the distribution must be of numbers from 0 on that sum to 1."
        )
    with np.errstate(divide="ignore"):
        entropy = -expectation(P, np.log(P))
    return weighted_sum(expectation(P, log_joint(theta)) + entropy, sample_weight)


def posterior(joint: np.ndarray) -> np.ndarray:
    """Log-joint probabilities of shape (n, K) normalised to posteriors; raises on a row of probability 0."""
    marginal = log_sum_exp(joint, keepdims=True)
    impossible = np.flatnonzero(~(marginal.ravel() > -np.inf))
    if impossible.size:
        raise ValueError(f"row {impossible[0]} has probability 0, whatever the hidden variable is.")
    return softmax(joint)


def expectation(P: np.ndarray, logs: Any) -> np.ndarray:
    """Σ_k P_jk logs_jk for each row, with 0 · -inf = 0."""
    logs = np.asarray(logs, dtype=np.float64)
    return np.multiply(P, logs, out=np.zeros_like(logs), where=P > 0).sum(axis=1)


def weighted_sum(values: np.ndarray, weight: Any) -> float:
    """Σ_j weight_j values_j, with 0 · -inf = 0."""
    if weight is None:
        return float(values.sum())
    weight = np.asarray(weight, dtype=np.float64)
    return float(np.multiply(values, weight, out=np.zeros_like(values), where=weight > 0).sum())

"""What EM's theory is made of: Q, H, the lower bound B and the function F (000 ch. 9).

All are functions of the complete data's log-probability: `log_joint(theta)`, of shape (n, K), is
log P(y_j, z_j = k | θ) for each row and each value of the hidden variable. As everywhere in EM, 0 log 0 = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tercet.core.catalog import method as card
from tercet.core.functions import log_sum_exp

Joint = Callable[[Any], np.ndarray]


def log_likelihood(log_joint: Joint, theta: Any, sample_weight: Any = None) -> float:
    """L(θ) = log P(Y | θ), the hidden variable summed out.

    Examples
    --------
    >>> round(log_likelihood(lambda p: np.log([[p / 2, 0.1]]), 0.8), 4)
    -0.6931
    """
    return _sum(log_sum_exp(np.asarray(log_joint(theta), dtype=np.float64)), sample_weight)


def latent_posterior(log_joint: Joint, theta: Any) -> np.ndarray:
    """P(Z | Y, θ): a row for each observation.

    Examples
    --------
    >>> latent_posterior(lambda p: np.log([[p, 0.3]]), 0.1)
    array([[0.25, 0.75]])
    """
    return posterior_of(np.asarray(log_joint(theta), dtype=np.float64))


@card(
    zh="Q函数",
    task="information",
    model="Q(θ, θ_i) = E[log P(Y, Z | θ) | Y, θ_i]",
    strategy="the expected log-likelihood of the complete data",
    texts=["000 ch. 9, Def 9.1, eq. 9.11", "002 ch. 5, eq. 5.14"],
)
def q_function(log_joint: Joint, theta: Any, given: Any, sample_weight: Any = None) -> float:
    """The function Q(θ, θ_i) of EM: the complete data's log-likelihood, as θ_i expects it.

    Parameters
    ----------
    log_joint : callable
        From θ to log P(y_j, z_j = k | θ), an array of shape (n, K).
    theta, given : object
        θ, and θ_i, under which the hidden variable is distributed.
    sample_weight : array of shape (n,), optional
        How much each row counts.

    Examples
    --------
    >>> y = np.array([1, 1, 0, 1, 0, 0, 1, 0, 1, 1])
    >>> def log_joint(theta):  # three coins
    ...     pi, p, q = theta
    ...     return np.log(np.column_stack([pi * np.where(y, p, 1 - p), (1 - pi) * np.where(y, q, 1 - q)]))
    >>> round(q_function(log_joint, (0.4, 0.6, 0.7), (0.4, 0.6, 0.7)), 4)
    -13.5069
    """
    return _sum(_inner(latent_posterior(log_joint, given), log_joint(theta)), sample_weight)


@card(
    zh="H函数",
    task="information",
    model="H(θ, θ_i) = E[log P(Z | Y, θ) | Y, θ_i]",
    strategy="what Q has beyond the log-likelihood: L(θ) = Q(θ, θ_i) - H(θ, θ_i)",
    texts=["000 ch. 9, eq. 9.19, 9.20"],
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
    conditional = joint - log_sum_exp(joint, keepdims=True)
    return _sum(_inner(latent_posterior(log_joint, given), conditional), sample_weight)


@card(
    zh="EM算法的下界",
    task="information",
    model="B(θ, θ_i) = L(θ_i) + E[log P(Y, Z | θ) - log P(Y, Z | θ_i) | Y, θ_i]",
    strategy="a lower bound of L(θ) by Jensen's inequality, which it touches at θ_i",
    texts=["000 ch. 9, eq. 9.13-9.17", "001 ch. 5", "002 ch. 12, eq. 12.20-12.22"],
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
    posterior = latent_posterior(log_joint, given)
    gain = _inner(posterior, log_joint(theta)) - _inner(posterior, log_joint(given))
    return log_likelihood(log_joint, given, sample_weight) + _sum(gain, sample_weight)


@card(
    zh="F函数",
    task="information",
    model="F(P̃, θ) = E_P̃[log P(Y, Z | θ)] + H(P̃)",
    strategy="maximal where P̃ = P(Z | Y, θ), and equal to L(θ) there",
    texts=["000 ch. 9, Def 9.3, eq. 9.33, Lemma 9.1, 9.2"],
)
def f_function(log_joint: Joint, distribution: Any, theta: Any, sample_weight: Any = None) -> float:
    """The function F(P̃, θ), whose maximisation by turns is EM: L(θ) less the divergence of the posterior from P̃.

    Parameters
    ----------
    log_joint : callable
        From θ to log P(y_j, z_j = k | θ), an array of shape (n, K).
    distribution : array of shape (n, K)
        P̃: a distribution of the hidden variable for each row.
    theta : object
        θ.
    sample_weight : array of shape (n,), optional
        How much each row counts.

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
        entropy = -_inner(P, np.log(P))
    return _sum(_inner(P, log_joint(theta)) + entropy, sample_weight)


class EnumerableModel:
    """A model whose hidden variable has few values, for `em`: all that is needed is log P(y, z | θ) and the M step.

    Parameters
    ----------
    rows : object
        The data; one piece, `chunks`, for `em`.
    log_joint : callable
        From (rows, θ) to log P(y_j, z_j = k | θ), an array of shape (n, K).
    maximise : callable
        From (rows, posterior, θ) to the new θ. The posterior has shape (n, K), and is multiplied by the weights.
    parts : sequence of callables
        M steps of the same form for single parts of θ, for variant="gem3".
    log_prior : callable, optional
        From θ to a number.
    pack, unpack : callable, optional
        θ as a vector, and back; by default θ is one. `unpack` may refuse with a ValueError.
    sample_weight : array of shape (n,), optional
        How much each row counts.

    Examples
    --------
    >>> from tercet.optimize import em
    >>> y = np.array([0.0, 1.0, 6.0, 7.0])
    >>> def log_joint(y, mean):
    ...     return -0.5 * (y[:, None] - mean) ** 2
    >>> def maximise(y, posterior, mean):
    ...     return y @ posterior / posterior.sum(axis=0)
    >>> model = EnumerableModel(y, log_joint, maximise)
    >>> em(model, model.chunks, np.array([0.0, 1.0]), tol=1e-9, variant="hard").theta
    array([0.5, 6.5])
    """

    def __init__(
        self,
        rows: Any,
        log_joint: Callable[[Any, Any], Any],
        maximise: Callable[[Any, np.ndarray, Any], Any],
        *,
        parts: Sequence[Callable[[Any, np.ndarray, Any], Any]] = (),
        log_prior: Callable[[Any], float] | None = None,
        pack: Callable[[Any], np.ndarray] | None = None,
        unpack: Callable[[np.ndarray], Any] | None = None,
        sample_weight: Any = None,
    ) -> None:
        self.rows, self._log_joint, self._maximise = rows, log_joint, maximise
        self._parts, self.parts = parts, len(parts)
        self._log_prior, self._pack, self._unpack = log_prior, pack, unpack
        self.weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)

    @property
    def chunks(self) -> list[Any]:
        return [self.rows]

    def joint(self, theta: Any) -> np.ndarray:
        """log P(y_j, z_j = k | θ), for the functions Q, H, B and F."""
        return np.asarray(self._log_joint(self.rows, theta), dtype=np.float64)

    def expect(self, chunk: Any, theta: Any) -> tuple[float, np.ndarray]:
        joint = self.joint(theta)
        return _sum(log_sum_exp(joint), self.weight), self._weighted(posterior_of(joint))

    def expect_best(self, chunk: Any, theta: Any) -> tuple[float, np.ndarray]:
        """The best value of each hidden variable, and log P(Y, Z | θ) with it."""
        joint = self.joint(theta)
        best = np.zeros_like(joint)
        best[np.arange(len(joint)), joint.argmax(axis=1)] = 1.0
        return _sum(joint.max(axis=1), self.weight), self._weighted(best)

    def maximise(self, statistics: tuple[np.ndarray], theta: Any) -> Any:
        return self._maximise(self.rows, statistics[0], theta)

    def maximise_part(self, k: int, statistics: tuple[np.ndarray], theta: Any) -> Any:
        return self._parts[k](self.rows, statistics[0], theta)

    def log_prior(self, theta: Any) -> float:
        return 0.0 if self._log_prior is None else self._log_prior(theta)

    def q(self, statistics: tuple[np.ndarray], theta: Any) -> float:
        return float(_inner(statistics[0], self.joint(theta)).sum())

    def pack(self, theta: Any) -> np.ndarray:
        return np.array(theta if self._pack is None else self._pack(theta), dtype=np.float64)

    def unpack(self, vector: np.ndarray) -> Any:
        return vector if self._unpack is None else self._unpack(vector)

    def _weighted(self, posterior: np.ndarray) -> np.ndarray:
        return posterior if self.weight is None else posterior * self.weight[:, None]


def posterior_of(joint: np.ndarray) -> np.ndarray:
    """Rows of log-probabilities to distributions; a row that is impossible is told."""
    whole = log_sum_exp(joint, keepdims=True)
    impossible = np.flatnonzero(~(whole.ravel() > -np.inf))
    if impossible.size:
        raise ValueError(f"row {impossible[0]} has probability 0, whatever the hidden variable is.")
    return np.exp(joint - whole)


def _inner(P: np.ndarray, logs: Any) -> np.ndarray:
    """Σ_k P_jk logs_jk for each row, nothing where P is 0."""
    logs = np.asarray(logs, dtype=np.float64)
    return np.multiply(P, logs, out=np.zeros_like(logs), where=P > 0).sum(axis=1)


def _sum(values: np.ndarray, weight: Any) -> float:
    if weight is None:
        return float(values.sum())
    weight = np.asarray(weight, dtype=np.float64)
    return float(np.multiply(values, weight, out=np.zeros_like(values), where=weight > 0).sum())

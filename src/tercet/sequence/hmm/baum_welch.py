"""The recursions of a hidden Markov model in plain form: whole tables, for one sequence of symbols.

Each takes λ = (π, A, B) and the symbols O, and works with plain products, with rows scaled to sum to one, or with
logarithms. (`CategoricalHMM` does the same for many sequences at once with the kernels of `_chain`.)
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.functions import log_sum_exp
from tercet.sequence.hmm.direct_enumeration import check_symbols, check_tables
from tercet.sequence.hmm.em import log

Arithmetic = Literal["plain", "scaled", "log"]


class Forward(NamedTuple):
    """The forward table, the sums of its rows before scaling, P(O) and its logarithm."""

    alpha: np.ndarray
    scale: np.ndarray
    probability: float
    log_probability: float


class Backward(NamedTuple):
    """The backward table, P(O) and its logarithm."""

    beta: np.ndarray
    probability: float
    log_probability: float


class Posteriors(NamedTuple):
    """Posteriors of states and transitions; expected visits, departures and transitions."""

    gamma: np.ndarray
    xi: np.ndarray
    visits: np.ndarray
    departures: np.ndarray
    transitions: np.ndarray


class BestPath(NamedTuple):
    """The best path, its probability and the logarithm of it, and the tables δ and Ψ."""

    path: np.ndarray
    probability: float
    log_probability: float
    delta: np.ndarray
    psi: np.ndarray


@method(
    zh="前向算法",
    task="sequence labelling",
    approach="generative",
    model="α_t(i) = P(o_1, ..., o_t, i_t = i | λ)",
    strategy="P(O | λ) = Σ_i α_T(i)",
    algorithms="α_{t+1}(i) = [Σ_j α_t(j) a_ji] b_i(o_{t+1}): N² T products instead of T N^T",
    texts=["Li ch. 10, Alg 10.2, eq. 10.14-10.17"],
    peers=["hmmlearn"],
)
def forward(
    startprob: Any, transmat: Any, emissionprob: Any, observations: Any, *, arithmetic: Arithmetic = "plain"
) -> Forward:
    """Forward algorithm: the probability of an observed sequence, summed over all paths step by step.

    Parameters
    ----------
    startprob, transmat, emissionprob : arrays of shape (N,), (N, N), (N, M)
        π, A and B.
    observations : array of shape (T,)
        Symbols: columns of B.
    arithmetic : {"plain", "scaled", "log"}, default="plain"
        α itself, which underflows after some hundred steps; α divided by the sum of its row; or log α.

    Returns
    -------
    Forward
        alpha of shape (T, N); scale, the sum of each row of alpha before it was scaled (ones if it was not);
        probability and log_probability.

    Examples
    --------
    >>> A, B = [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]], [[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]]
    >>> table = forward([0.2, 0.4, 0.4], A, B, [0, 1, 0])
    >>> table.alpha
    array([[0.1     , 0.16    , 0.28    ],
           [0.077   , 0.1104  , 0.0606  ],
           [0.04187 , 0.035512, 0.052836]])
    >>> round(table.probability, 6)
    0.130218
    """
    pi, A, like = _given(startprob, transmat, emissionprob, observations, arithmetic)
    alpha, scale = np.empty_like(like), np.ones(len(like))
    if arithmetic == "log":
        log_A, log_like = log(A), log(like)
        alpha[0] = log(pi) + log_like[0]
        for t in range(1, len(like)):
            alpha[t] = log_sum_exp(alpha[t - 1][:, None] + log_A, axis=0) + log_like[t]
        total = float(log_sum_exp(alpha[-1]))
        return Forward(alpha, scale, float(np.exp(total)), total)
    for t in range(len(like)):
        alpha[t] = (pi if t == 0 else alpha[t - 1] @ A) * like[t]  # (10.15), (10.16)
        if arithmetic == "scaled":
            scale[t] = alpha[t].sum()
            alpha[t] /= scale[t] if scale[t] > 0 else 1.0
    if arithmetic == "scaled":
        total = float(log(scale).sum())
        return Forward(alpha, scale, float(np.exp(total)), total)
    return Forward(alpha, scale, float(alpha[-1].sum()), float(log(alpha[-1].sum())))  # (10.17)


@method(
    zh="后向算法",
    task="sequence labelling",
    approach="generative",
    model="β_t(i) = P(o_{t+1}, ..., o_T | i_t = i, λ)",
    strategy="P(O | λ) = Σ_i π_i b_i(o_1) β_1(i)",
    algorithms="β_t(i) = Σ_j a_ij b_j(o_{t+1}) β_{t+1}(j), from β_T = 1 back",
    texts=["Li ch. 10, Alg 10.3, eq. 10.18-10.22"],
    peers=["hmmlearn"],
)
def backward(
    startprob: Any, transmat: Any, emissionprob: Any, observations: Any, *, arithmetic: Arithmetic = "plain"
) -> Backward:
    """Backward algorithm: the probability of what is still to be observed, from the end to the beginning.

    Parameters
    ----------
    startprob, transmat, emissionprob : arrays of shape (N,), (N, N), (N, M)
        π, A and B.
    observations : array of shape (T,)
        Symbols: columns of B.
    arithmetic : {"plain", "scaled", "log"}, default="plain"
        β itself; β_t divided by the scale of all later steps of the forward table, so that alpha * beta are
        posteriors; or log β.

    Returns
    -------
    Backward
        beta of shape (T, N); probability and log_probability.

    Examples
    --------
    >>> A, B = [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]], [[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]]
    >>> backward([0.2, 0.4, 0.4], A, B, [0, 1, 0]).beta
    array([[0.2451, 0.2622, 0.2277],
           [0.54  , 0.49  , 0.57  ],
           [1.    , 1.    , 1.    ]])
    """
    pi, A, like = _given(startprob, transmat, emissionprob, observations, arithmetic)
    beta = np.empty_like(like)
    if arithmetic == "log":
        log_A, log_like = log(A), log(like)
        beta[-1] = 0.0
        for t in range(len(like) - 2, -1, -1):
            beta[t] = log_sum_exp(log_A + log_like[t + 1] + beta[t + 1], axis=1)
        total = float(log_sum_exp(log(pi) + log_like[0] + beta[0]))
        return Backward(beta, float(np.exp(total)), total)
    scale = np.ones(len(like))
    if arithmetic == "scaled":
        scale = forward(pi, A, emissionprob, observations, arithmetic="scaled").scale
    beta[-1] = 1.0  # (10.19)
    for t in range(len(like) - 2, -1, -1):
        beta[t] = A @ (like[t + 1] * beta[t + 1]) / (scale[t + 1] if scale[t + 1] > 0 else 1.0)  # (10.20)
    first = float((pi * like[0] * beta[0]).sum())  # (10.21)
    total = float(log(np.array(first)) + log(scale[1:]).sum())
    return Backward(beta, first if arithmetic == "plain" else float(np.exp(total)), total)


@method(
    zh="状态与转移的后验概率",
    task="sequence labelling",
    approach="generative",
    model="γ_t(i) = P(i_t = i | O, λ), ξ_t(i, j) = P(i_t = i, i_{t+1} = j | O, λ)",
    strategy="expected visits Σ_t γ_t(i), departures Σ_{t<T} γ_t(i) and transitions Σ_t ξ_t(i, j)",
    algorithms="products of the forward and backward tables, divided by P(O | λ)",
    texts=["Li ch. 10, eq. 10.23-10.29"],
    peers=["hmmlearn"],
)
def posteriors(
    startprob: Any, transmat: Any, emissionprob: Any, observations: Any, *, arithmetic: Arithmetic = "scaled"
) -> Posteriors:
    """Probabilities of hidden states and transitions when a sequence has been observed.

    Parameters
    ----------
    startprob, transmat, emissionprob : arrays of shape (N,), (N, N), (N, M)
        π, A and B.
    observations : array of shape (T,)
        Symbols: columns of B.
    arithmetic : {"plain", "scaled", "log"}, default="scaled"
        How the forward and backward tables are computed.

    Returns
    -------
    Posteriors
        gamma of shape (T, N), xi of shape (T - 1, N, N); expected visits and departures of shape (N,), and expected
        transitions of shape (N, N).

    Examples
    --------
    >>> A, B = [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]], [[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]]
    >>> posteriors([0.2, 0.4, 0.4], A, B, [0, 1, 0]).gamma.round(4)
    array([[0.1882, 0.3222, 0.4896],
           [0.3193, 0.4154, 0.2653],
           [0.3215, 0.2727, 0.4058]])
    """
    given = (startprob, transmat, emissionprob, observations)
    _, A, like = _given(*given, arithmetic)
    ahead, back = forward(*given, arithmetic=arithmetic), backward(*given, arithmetic=arithmetic)
    if ahead.log_probability == -np.inf:
        raise ValueError(
            "The observed sequence has probability 0 under the model (or underflows: arithmetic='log' does not)."
        )
    alpha, beta = ahead.alpha, back.beta
    if arithmetic == "log":
        gamma = np.exp(alpha + beta - ahead.log_probability)
        onward = log(like[1:]) + beta[1:] - ahead.log_probability
        xi = np.exp(alpha[:-1, :, None] + log(A) + onward[:, None, :])
    else:
        total = ahead.probability if arithmetic == "plain" else 1.0
        gamma = alpha * beta / total  # (10.24)
        onward = like[1:] * beta[1:] / (total * ahead.scale[1:, None])
        xi = alpha[:-1, :, None] * A * onward[:, None, :]  # (10.26)
    return Posteriors(gamma, xi, gamma.sum(axis=0), gamma[:-1].sum(axis=0), xi.sum(axis=0))


class HMMParameters(NamedTuple):
    """λ = (π, A, B): start, transition and emission probabilities."""

    startprob: np.ndarray
    transmat: np.ndarray
    emissionprob: np.ndarray


@method(
    zh="鲍姆-韦尔奇算法的一步",
    task="sequence labelling",
    approach="generative",
    model="P(O, I | λ) with hidden states I",
    strategy="the maximum of the Q function: expected log-likelihood of observations and states",
    algorithms="E: γ and ξ by the forward and backward algorithms; M: expected counts divided by their sums",
    texts=["Li ch. 10, Alg 10.4, eq. 10.36-10.41"],
    peers=["hmmlearn"],
)
def baum_welch_step(
    startprob: Any, transmat: Any, emissionprob: Any, observations: Any, *, arithmetic: Arithmetic = "scaled"
) -> HMMParameters:
    """One step of the Baum-Welch algorithm: the parameters that make an observed sequence more likely.

    Parameters
    ----------
    startprob, transmat, emissionprob : arrays of shape (N,), (N, N), (N, M)
        π, A and B.
    observations : array of shape (T,)
        Symbols: columns of B.
    arithmetic : {"plain", "scaled", "log"}, default="scaled"
        How the forward and backward tables are computed.

    Returns
    -------
    HMMParameters
        The new π, A and B. A state that is never left, or never visited, keeps its row.

    Examples
    --------
    >>> A, B = [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]], [[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]]
    >>> new = baum_welch_step([0.2, 0.4, 0.4], A, B, [0, 1, 0])
    >>> new.emissionprob.round(3)
    array([[0.615, 0.385],
           [0.589, 0.411],
           [0.771, 0.229]])
    >>> bool(forward(*new, [0, 1, 0]).probability > forward([0.2, 0.4, 0.4], A, B, [0, 1, 0]).probability)
    True
    """
    _, A, B = check_tables(startprob, transmat, emissionprob)
    symbols = check_symbols(observations, B.shape[1])
    gamma, _, visits, departures, transitions = posteriors(startprob, A, B, symbols, arithmetic=arithmetic)
    A, B = A.copy(), B.copy()
    left, seen = departures > 0, visits > 0
    A[left] = transitions[left] / departures[left, None]  # (10.39)
    for k in range(B.shape[1]):
        B[seen, k] = gamma[symbols == k].sum(axis=0)[seen] / visits[seen]  # (10.40)
    return HMMParameters(gamma[0], A, B)  # (10.41)


@method(
    zh="维特比算法",
    task="sequence labelling",
    approach="generative",
    model="δ_t(i) = max over i_1, ..., i_{t-1} of P(i_t = i, i_{t-1}, ..., i_1, o_t, ..., o_1 | λ)",
    strategy="the most likely path, P* = max_i δ_T(i)",
    algorithms="dynamic programming: δ_t(i) = max_j [δ_{t-1}(j) a_ji] b_i(o_t), Ψ_t(i) the best j, then back",
    texts=["Li ch. 10, Alg 10.5, eq. 10.44-10.46"],
    peers=["hmmlearn"],
)
def viterbi(
    startprob: Any,
    transmat: Any,
    emissionprob: Any,
    observations: Any,
    *,
    arithmetic: Literal["plain", "log"] = "plain",
) -> BestPath:
    """Viterbi algorithm: the most likely path of hidden states behind an observed sequence.

    Parameters
    ----------
    startprob, transmat, emissionprob : arrays of shape (N,), (N, N), (N, M)
        π, A and B.
    observations : array of shape (T,)
        Symbols: columns of B.
    arithmetic : {"plain", "log"}, default="plain"
        δ itself, which underflows after some hundred steps, or log δ.

    Returns
    -------
    BestPath
        path of shape (T,); probability and log_probability of the path and the symbols; delta and psi of shape
        (T, N). Of equals, the smallest state is taken. psi begins with a row of -1: there is no state before.

    Examples
    --------
    >>> A, B = [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]], [[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]]
    >>> best = viterbi([0.2, 0.4, 0.4], A, B, [0, 1, 0])
    >>> best.path, round(best.probability, 4)
    (array([2, 2, 2]), 0.0147)
    """
    if arithmetic == "scaled":
        raise ValueError("arithmetic must be one of 'plain', 'log'; got 'scaled'.")
    pi, A, like = _given(startprob, transmat, emissionprob, observations, arithmetic)
    if arithmetic == "log":
        pi, A, like = log(pi), log(A), log(like)
    join = np.add if arithmetic == "log" else np.multiply
    delta, psi = np.empty_like(like), np.full(like.shape, -1)
    delta[0] = join(pi, like[0])
    for t in range(1, len(like)):
        ways = join(delta[t - 1][:, None], A)
        psi[t] = ways.argmax(axis=0)
        delta[t] = join(ways.max(axis=0), like[t])
    path = np.empty(len(like), dtype=np.int64)
    path[-1] = delta[-1].argmax()
    for t in range(len(like) - 1, 0, -1):
        path[t - 1] = psi[t, path[t]]
    top = float(delta[-1].max())
    both = (float(np.exp(top)), top) if arithmetic == "log" else (top, float(log(np.array(top))))
    return BestPath(path, *both, delta, psi)


def _given(pi: Any, A: Any, B: Any, observations: Any, arithmetic: str) -> tuple[np.ndarray, ...]:
    """π, A and the likelihood b_i(o_t) of each step and state."""
    if arithmetic not in ("plain", "scaled", "log"):
        raise ValueError(f"arithmetic must be one of 'plain', 'scaled', 'log'; got {arithmetic!r}.")
    pi, A, B = check_tables(pi, A, B)
    return pi, A, np.ascontiguousarray(B[:, check_symbols(observations, B.shape[1])].T)

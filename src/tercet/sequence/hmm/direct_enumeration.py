"""Direct enumeration of all paths of a chain, the oracle of faster algorithms; and the Q function of EM."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import logsumexp

from tercet.core.catalog import method
from tercet.distributions.probability_tables import check_distributions, check_transitions
from tercet.sequence._chain.log_space import log_smooth
from tercet.sequence.hmm.em import log

MOST = 5_000_000  # states of all paths together


@method(
    zh="直接计算法",
    task="theory",
    approach="generative",
    model="P(O) = sum over all paths I of P(O, I)",
    strategy="exact values of a short sequence, to hold others against",
    algorithms="enumeration of all N^T paths",
    texts=["Li ch. 10, sec. 10.2.1, eq. 10.10-10.13"],
)
class DirectEnumeration:
    """Probabilities of a chain by enumeration of all its paths.

    P(I) = pi_{i_1} a_{i_1 i_2} ...,  P(O | I) = b_{i_1}(o_1) b_{i_2}(o_2) ...,  P(O, I) = P(O | I) P(I),
    P(O) = sum over I of P(O, I). For a random field the same sums of any scores are its unnormalised weights, and
    their total is Z.

    Parameters
    ----------
    log_start : array of shape (n_states,)
        The log probability (or score) of beginning in each state.
    log_trans : array of shape (n_states, n_states) or (n_steps - 1, n_states, n_states)
        That of each transition, the same at all steps or one table for each.
    log_like : array of shape (n_steps, n_states)
        That of the observation of each step in each state.

    Attributes
    ----------
    paths : array of shape (n_paths, n_steps)
        All paths.
    log_path : array of shape (n_paths,)
        log P(I) of each (10.10).
    log_given : array of shape (n_paths,)
        log P(O | I) of each (10.11).
    log_joint : array of shape (n_paths,)
        log P(O, I) of each (10.12); the score of a path of a random field.
    log_total : float
        log P(O) (10.13); log Z of a random field.

    Examples
    --------
    >>> A, B = [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]], [[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]]
    >>> every = DirectEnumeration.of_hmm([0.2, 0.4, 0.4], A, B, [0, 1, 0])
    >>> round(every.total, 6)
    0.130218
    >>> probability, path = every.best()
    >>> round(probability, 6), path
    (0.0147, array([2, 2, 2]))
    """

    def __init__(self, log_start: Any, log_trans: Any, log_like: Any) -> None:
        start, trans, like = (np.asarray(a, dtype=np.float64) for a in (log_start, log_trans, log_like))
        if like.ndim != 2 or not like.size:
            raise ValueError(f"log_like must have the shape (n_steps, n_states); got {like.shape}.")
        steps, n = like.shape
        if steps * math.log(n) + math.log(steps) > math.log(MOST):
            raise ValueError(
                f"{n} states and {steps} steps make {n}^{steps} paths: too many to list ({MOST} states in all "
                "are the limit). The forward and Viterbi recursions have no such limit."
            )
        if start.shape != (n,) or trans.shape not in ((n, n), (steps - 1, n, n)):
            raise ValueError(
                f"log_start must have the shape ({n},) and log_trans ({n}, {n}) or ({steps - 1}, {n}, {n}), as "
                f"log_like has the shape {like.shape}; got {start.shape} and {trans.shape}."
            )
        trans = np.broadcast_to(trans, (steps - 1, n, n))
        self.n_states, self.n_steps = n, steps
        self._powers = n ** np.arange(steps - 1, -1, -1)
        self.paths = np.arange(n**steps)[:, None] // self._powers % n
        self.log_path = start[self.paths[:, 0]]
        self.log_given = like[0, self.paths[:, 0]]
        for t in range(1, steps):
            self.log_path = self.log_path + trans[t - 1, self.paths[:, t - 1], self.paths[:, t]]
            self.log_given = self.log_given + like[t, self.paths[:, t]]
        self.log_joint = self.log_path + self.log_given
        self.log_total = float(logsumexp(self.log_joint))

    @classmethod
    def of_hmm(cls, startprob: Any, transmat: Any, emissionprob: Any, observations: Any) -> Self:
        """Of a hidden Markov model with the parameters pi, A, B and symbols that are column numbers of B."""
        pi, A, B = check_tables(startprob, transmat, emissionprob)
        return cls(log(pi), log(A), log(B[:, check_symbols(observations, B.shape[1])].T))

    @classmethod
    def of_matrices(cls, matrices: Any, start: int = 0, stop: int = 0) -> Self:
        """Of a random field in matrix form: M_1 ... M_{n+1}, non-negative, between the labels start and stop."""
        M = [np.asarray(m, dtype=np.float64) for m in matrices]
        like = np.zeros((len(M) - 1, M[0].shape[1]))
        like[-1] = log(M[-1][:, stop])
        inner = np.array(M[1:-1]).reshape(len(M) - 2, *M[0].shape)
        return cls(log(M[0][start]), log(inner), like)

    @property
    def total(self) -> float:
        """P(O), or Z."""
        return float(np.exp(self.log_total))

    def index(self, path: Any) -> int:
        """The row of `paths` that is this path."""
        path = np.asarray(path)
        if path.shape != (self.n_steps,) or path.min() < 0 or path.max() >= self.n_states:
            raise ValueError(
                f"A path has {self.n_steps} states from 0 to {self.n_states - 1}; got {path.tolist()}."
            )
        return int(path @ self._powers)

    def best(self, k: int | None = None) -> Any:
        """The best path as (probability, path); with k, the k best as two arrays. Of equals, the smaller last state
        comes first, then the smaller state before it, and so on; paths of probability 0 are left out."""
        order = np.lexsort((*self.paths.T, -self.log_joint))
        order = order[self.log_joint[order] > -np.inf][: 1 if k is None else k]
        probabilities, paths = np.exp(self.log_joint[order]), self.paths[order]
        if k is not None:
            return probabilities, paths
        if not order.size:
            raise ValueError("No path has a probability above 0.")
        return float(probabilities[0]), paths[0]

    def posteriors(self) -> np.ndarray:
        """P(i_t = i | O), of shape (n_steps, n_states)."""
        weight = self._weight()
        return np.array([np.bincount(states, weight, self.n_states) for states in self.paths.T])

    def pair_posteriors(self) -> np.ndarray:
        """P(i_t = i, i_{t+1} = j | O), of shape (n_steps - 1, n_states, n_states)."""
        weight, n = self._weight(), self.n_states
        pairs = self.paths[:, :-1] * n + self.paths[:, 1:]
        tables = [np.bincount(pair, weight, n * n).reshape(n, n) for pair in pairs.T]
        return np.array(tables).reshape(self.n_steps - 1, n, n)

    def _weight(self) -> np.ndarray:
        if self.log_total == -np.inf:
            raise ValueError("The observations have probability 0: there are no posteriors.")
        return np.exp(self.log_joint - self.log_total)


class Q(NamedTuple):
    """The value of the Q function and its three terms (10.34)."""

    value: float
    start: float
    transition: float
    emission: float


@method(
    zh="Q 函数",
    task="theory",
    approach="generative",
    model="P(O, I) = pi_{i_1} b_{i_1}(o_1) a_{i_1 i_2} b_{i_2}(o_2) ...",
    strategy="expected log-likelihood of observations and states, given the observations and old parameters",
    algorithms="posteriors under the old parameters by forward and backward recursions",
    texts=["Li ch. 10, sec. 10.3.2, eq. 10.33, 10.34"],
)
def hmm_q(new: Any, old: Any, observations: Any, normalised: bool = True) -> Q:
    """Q function of a discrete hidden Markov model, with its terms for pi, A and B.

    Q(new, old) = sum over I of log P(O, I; new) P(O, I; old), divided by P(O; old) when normalised. A Baum-Welch
    step finds the new parameters that maximise it, each in its own term.

    Parameters
    ----------
    new, old : tuple (pi, A, B), or CategoricalHMM
        The parameters that are judged, and those that give the weights of the paths.
    observations : array of int of shape (n_steps,)
        Symbols: column numbers of B.
    normalised : bool, default=True
        False gives Q as it stands in the text, with joint probabilities as weights; True the expectation.

    Returns
    -------
    Q : named tuple (value, start, transition, emission)

    Examples
    --------
    >>> coin = ([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]])
    >>> [round(term, 4) for term in hmm_q(coin, coin, [0, 1])]
    [-2.7726, -0.6931, -0.6931, -1.3863]
    """
    pi, A, B = check_tables(*_parameters(new, "new"))
    old_pi, old_A, old_B = check_tables(*_parameters(old, "old"))
    symbols = check_symbols(observations, min(B.shape[1], old_B.shape[1]))
    if old_A.shape != A.shape:
        raise ValueError(f"new has {len(A)} states and old has {len(old_A)}; they must have as many.")
    like = np.ascontiguousarray(log(old_B[:, symbols].T))
    alpha, gamma, xi = np.empty_like(like), np.empty_like(like), np.zeros_like(old_A)
    log_total = log_smooth(log(old_pi), log(old_A), like, alpha, gamma, xi)
    if log_total == -np.inf:
        raise ValueError("The observations have probability 0 under the old parameters: there is no Q.")
    scale = 1.0 if normalised else float(np.exp(log_total))
    parts = [(gamma[0], pi), (xi, A), (gamma, B[:, symbols].T)]
    start, transition, emission = (scale * _expected_log(weight, p) for weight, p in parts)
    return Q(start + transition + emission, start, transition, emission)


def check_tables(pi: Any, A: Any, B: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The parameters of a discrete hidden Markov model as arrays, or an error that names the table and the row."""
    A = check_transitions(A)
    pi, B = np.asarray(pi, dtype=np.float64), np.asarray(B, dtype=np.float64)
    if pi.shape != (len(A),) or B.ndim != 2 or len(B) != len(A):
        raise ValueError(
            f"transmat has {len(A)} states; startprob and emissionprob have the shapes {pi.shape} and {B.shape}."
        )
    check_distributions(pi, "startprob")
    check_distributions(B, "emissionprob")
    return pi, A, B


def check_symbols(observations: Any, n: int) -> np.ndarray:
    """Symbols as a flat array of column numbers."""
    symbols = np.asarray(observations)
    symbols = symbols[:, 0] if symbols.ndim == 2 and symbols.shape[1] == 1 else symbols
    if symbols.ndim != 1 or not symbols.size or symbols.dtype.kind not in "iu":
        raise ValueError(f"observations must be a sequence of whole numbers; got {observations!r}.")
    if symbols.min() < 0 or symbols.max() >= n:
        strange = symbols[(symbols < 0) | (symbols >= n)][0]
        raise ValueError(f"observations must be symbols from 0 to {n - 1}; got {strange}.")
    return symbols


def _parameters(model: Any, name: str) -> tuple[Any, Any, Any]:
    if hasattr(model, "emissionprob_"):
        return model.startprob_, model.transmat_, model.emissionprob_
    if not isinstance(model, tuple | list) or len(model) != 3:
        raise ValueError(f"{name} must be a tuple (pi, A, B) or a fitted CategoricalHMM; got {model!r}.")
    return tuple(model)


def _expected_log(weight: np.ndarray, probability: np.ndarray) -> float:
    """Σ weight log probability, with 0 log 0 = 0."""
    return float((weight * log(np.where(weight > 0, probability, 1.0))).sum())


__all__ = ["DirectEnumeration", "Q", "hmm_q"]

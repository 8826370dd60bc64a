"""Online learning of a linear chain: stochastic gradient descent and updates at mistakes, sequence by sequence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.rows import rows
from tercet.core.stopping import check_stop
from tercet.sequence.base import Sequences
from tercet.sequence.crf._engine.features import Features
from tercet.sequence.crf._engine.online_kernels import (
    MISTAKE_DRIVEN,
    LabelledRows,
    gradient_pass,
    mistake_pass,
)
from tercet.sequence.crf._engine.transition_tables import by_column, csr_columns

ONLINE = ("l2sgd", *MISTAKE_DRIVEN)
RULE = (1, 1.0, True, 1.0, 1.0)  # pa_type, c, error_sensitive, variance, gamma
WORK = 1 << 15  # tokens in one call of a kernel: between calls Ctrl-C is heard


class Corpus:
    """Labelled sequences in the form that the kernels take.

    Parameters
    ----------
    X : Sequences
        Tokens as rows of numbers, dense or CSR.
    y : array of int of shape (n_rows,)
        The index of each label.
    weight : array of shape (n_sequences,) or None
    features : Features
    """

    def __init__(self, X: Sequences, y: np.ndarray, weight: np.ndarray | None, features: Features) -> None:
        if (y < 0).any():
            row = int(np.flatnonzero(y < 0)[0])
            raise ValueError(
                f"Learning one sequence at a time needs all labels; that of token {row} is unknown. "
                "Use algorithm='lbfgs'."
            )
        tokens = X.rows if sparse.issparse(X.rows) else sparse.csr_array(X.rows)
        self.n, self.lengths, N = len(X), X.lengths, features.n_labels
        transition = np.full((N, N), -1, dtype=np.int64)
        transition[tuple(features.transitions.T)] = features.label.size + np.arange(len(features.transitions))
        shape: tuple[int, ...] = (N, N)
        if features.bigrams is None:
            columns = np.empty(0, dtype=np.int64)
            bigrams = Features.of_states(columns, columns, 0, N * N)
        else:
            columns, bigrams = by_column(features.bigrams)
            shape = (X.longest, N, N)
        self.data = LabelledRows(
            X=rows(tokens), borders=X.borders, y=y.astype(np.int64),
            weight=np.ones(len(X)) if weight is None else weight.astype(np.float64),
            starts=features.starts, label=features.label, transition=transition,
            B=rows(csr_columns(tokens, columns)), bigram_starts=bigrams.starts, pair=bigrams.label,
            tokens=np.zeros((4, X.longest, N)), scores=np.zeros(shape), expected=np.zeros(shape),
        )  # fmt: skip

    def pieces(self, order: np.ndarray) -> list[np.ndarray]:
        """An order of the sequences in pieces of about `WORK` tokens."""
        ends = np.cumsum(self.lengths[order])
        return np.split(order, np.unique(np.searchsorted(ends, np.arange(WORK, ends[-1], WORK))))


class StochasticGradient:
    """Stochastic gradient descent on the regularised likelihood, with step length eta / (1 + decay eta t).

    Parameters
    ----------
    w : array of shape (n_weights,)
        First weights.
    c2 : float
        Strength of the penalty c2 |w|^2 beside the sum over all sequences.
    n : int
        The number of sequences in the sum.
    eta : float
        The first step length.
    t : int, default=0
        Sequences seen before.
    """

    def __init__(self, w: np.ndarray, c2: float, n: int, eta: float, t: int = 0) -> None:
        self.v, self.scale = w.copy(), 1.0  # the weights are v times scale: to shrink all is one product
        self.c2, self.eta, self.t = c2, eta, t
        self.decay = 2 * c2 / n

    def learn(self, corpus: Corpus, order: np.ndarray) -> float:
        """One pass; the sum of -log P(y|x), each before the step of its sequence, plus the penalty."""
        loss = 0.0
        for piece in corpus.pieces(order):
            check_stop()
            lost, self.scale = gradient_pass(
                piece, corpus.data, self.v, self.scale, self.eta, self.decay, float(self.t)
            )
            loss, self.t = loss + lost, self.t + piece.size
            self.v *= self.scale
            self.scale = 1.0
        return loss + self.c2 * float(self.v @ self.v)

    @property
    def weights(self) -> np.ndarray:
        """A copy of the weights."""
        return self.v.copy()


class MistakeDriven:
    """Learning from mistakes: the averaged perceptron, passive-aggressive learning, and AROW.

    Parameters
    ----------
    w : array of shape (n_weights,)
        First weights.
    algorithm : {"ap", "pa", "arow"}
    rule : tuple, optional
        `pa_type`, `c`, `error_sensitive`, `variance` and `gamma` of `CRF`.
    averaging : bool, default=True
        Whether the result is the mean of the weights over all sequences seen.

    Attributes
    ----------
    mistaken : int
        Sequences with a wrong label in the last pass.
    """

    mistaken: int

    def __init__(self, w: np.ndarray, algorithm: str, rule: tuple = RULE, averaging: bool = True) -> None:
        kind, c, sensitive, variance, gamma = rule
        self.w, self.sums, self.seen = w.copy(), np.zeros(w.size), np.ones(1)
        self.variance = np.full(w.size if algorithm == "arow" else 1, float(variance))
        self.change, self.touched = np.zeros(w.size), np.zeros(w.size, dtype=bool)
        self.averaging = averaging and algorithm != "arow"
        self.rule = np.array([MISTAKE_DRIVEN.index(algorithm), kind, c, sensitive, gamma], dtype=np.float64)

    def learn(self, corpus: Corpus, order: np.ndarray) -> float:
        """One pass; the mean share of wrong labels in a sequence, each before its own update."""
        wrong, self.mistaken = 0.0, 0
        for piece in corpus.pieces(order):
            check_stop()
            share, count = mistake_pass(
                piece, corpus.data, self.w, self.rule, self.sums, self.seen, self.variance, self.change,
                self.touched,
            )  # fmt: skip
            wrong, self.mistaken = wrong + share, self.mistaken + count
        return wrong / order.size

    @property
    def weights(self) -> np.ndarray:
        """A copy of the weights, or their mean."""
        return self.w - self.sums / self.seen[0] if self.averaging else self.w.copy()


def calibrate(
    corpus: Corpus, size: int, c2: float, rng: np.random.Generator, *, eta: float, rate: float, samples: int,
    candidates: int, max_trials: int,
) -> float:  # fmt: skip
    """The first step length for stochastic gradient descent: the one that makes the loss of a sample lowest.

    From eta upwards by the factor `rate` as long as one pass over the sample lowers its loss, then downwards.
    """
    sample = rng.permutation(corpus.n)[:samples]

    def loss(step: float) -> float:
        trial = StochasticGradient(np.zeros(size), c2 * sample.size / corpus.n, sample.size, step)
        before = trial.learn(corpus, sample)
        after = StochasticGradient(trial.weights, trial.c2, sample.size, 0.0).learn(corpus, sample)
        return after if after < before else math.inf

    tried: dict[float, float] = {}
    step, up = eta, True
    for _ in range(max_trials):
        if step in tried or not 0 < step < math.inf or sum(map(math.isfinite, tried.values())) >= candidates:
            break  # steps at the ends of floating point repeat themselves
        with np.errstate(all="ignore"):
            tried[step] = loss(step)
        if up and not math.isfinite(tried[step]):
            up, step = False, eta
        step = step * rate if up else step / rate
    return min(tried, key=lambda step: (tried[step], step))


def widen(name: str, value: Any, size: int, places: np.ndarray, variance: float) -> Any:
    """An entry of `online_` for more weights than before: an array with one number for each weight grows."""
    if not isinstance(value, np.ndarray):
        return value
    if value.shape != places.shape:
        raise ValueError(
            f"CRF: online_[{name!r}] has the shape {value.shape}; there are {places.size} weights."
        )
    wider = np.full(size, variance if name == "variance" else 0.0)
    wider[places] = value
    return wider


__all__ = ["ONLINE", "Corpus", "MistakeDriven", "StochasticGradient", "calibrate", "widen"]

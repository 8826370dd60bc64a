"""Random fields that learn one sequence at a time: stochastic gradient, and the perceptron with its kin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tercet.core.rows import rows
from tercet.sequence.crf._engine.online_kernels import MISTAKEN, gradient_pass, mistaken_pass
from tercet.sequence.crf._engine.products import Features
from tercet.sequence.text.sequences import Sequences

ONLINE = ("l2sgd", *MISTAKEN)
SETTINGS = (1, 1.0, True, 1.0, 1.0)
WORK = 1 << 15  # tokens between two chances to stop


class Corpus:
    """Labelled sequences as the kernels want them.

    Parameters
    ----------
    X : Sequences
        Tokens as CSR rows.
    y : array of int of shape (n_rows,)
        The index of each label.
    weight : array of shape (n_sequences,) or None
    features : Features
    """

    gradient_pass: Any = staticmethod(gradient_pass)
    mistaken_pass: Any = staticmethod(mistaken_pass)
    data: tuple[Any, ...]

    def __init__(self, X: Sequences, y: np.ndarray, weight: np.ndarray | None, features: Features) -> None:
        if (y < 0).any():
            row = int(np.flatnonzero(y < 0)[0])
            raise ValueError(
                f"Learning one sequence at a time needs all labels; that of token {row} is unknown. "
                "Use algorithm='lbfgs'."
            )
        self.n, self.lengths = len(X), X.lengths
        weight = np.ones(len(X)) if weight is None else weight.astype(np.float64)
        edge_at = np.full((features.n_labels, features.n_labels), -1, dtype=np.int64)
        edge_at[tuple(features.edges.T)] = features.label.size + np.arange(len(features.edges))
        self.data = (
            rows(X.rows), X.borders, y.astype(np.int64), weight, features.first, features.label, edge_at,
        )  # fmt: skip
        longest, N = X.longest, features.n_labels
        self.room = np.zeros((4, longest, N))

    def pieces(self, order: np.ndarray) -> list[np.ndarray]:
        """An order of the sequences, cut so that none of the pieces takes long."""
        ends = np.cumsum(self.lengths[order])
        return np.split(order, np.unique(np.searchsorted(ends, np.arange(WORK, ends[-1], WORK))))


class Gradient:
    """Stochastic gradient descent on the regularised likelihood, with steps eta / (1 + decay eta t).

    Parameters
    ----------
    w : array of shape (n_weights,)
        First weights.
    c2 : float
        Strength of the penalty c2 |w|^2 beside the sum over all sequences.
    n : int
        How many sequences the sum has.
    eta : float
        The first step.
    t : int, default=0
        Sequences seen before.
    """

    def __init__(self, w: np.ndarray, c2: float, n: int, eta: float, t: int = 0) -> None:
        self.v, self.scale = w.copy(), 1.0  # the weights are v times scale: to shrink all is one product
        self.c2, self.eta, self.t = c2, eta, t
        self.decay = 2 * c2 / n

    def learn(self, corpus: Corpus, order: np.ndarray) -> float:
        """One pass; the sum of -log P(y|x), each taken before its sequence was learned from, and the penalty."""
        loss = 0.0
        for piece in corpus.pieces(order):
            lost, self.scale = corpus.gradient_pass(
                piece, *corpus.data, self.v, corpus.room, self.scale, self.eta, self.decay, float(self.t)
            )
            loss, self.t = loss + lost, self.t + piece.size
            self.v *= self.scale
            self.scale = 1.0
        return loss + self.c2 * float(self.v @ self.v)

    @property
    def weights(self) -> np.ndarray:
        """The weights as they are now."""
        return self.v.copy()


class Mistaken:
    """Learning from mistakes: the averaged perceptron, passive-aggressive learning, and AROW.

    Parameters
    ----------
    w : array of shape (n_weights,)
        First weights.
    algorithm : {"ap", "pa", "arow"}
    settings : tuple, optional
        The kind of passive-aggressive learning, its aggressiveness, whether its cost is that of all wrong labels,
        the variance of AROW's weights at first, and AROW's gamma.
    averaging : bool, default=True
        Whether the answer is the mean of the weights over all sequences seen.

    Attributes
    ----------
    mistaken : int
        Sequences with a wrong label in the last pass.
    """

    mistaken: int

    def __init__(
        self, w: np.ndarray, algorithm: str, settings: tuple = SETTINGS, averaging: bool = True
    ) -> None:
        kind, c, sensitive, variance, gamma = settings
        self.w, self.sums, self.seen = w.copy(), np.zeros(w.size), np.ones(1)
        self.variance = np.full(w.size if algorithm == "arow" else 1, float(variance))
        self.change, self.touched = np.zeros(w.size), np.zeros(w.size, dtype=bool)
        self.averaging = averaging and algorithm != "arow"
        self.rule = np.array([MISTAKEN.index(algorithm), kind, c, sensitive, gamma], dtype=np.float64)

    def learn(self, corpus: Corpus, order: np.ndarray) -> float:
        """One pass; the mean share of wrong labels in a sequence, each judged before it was learned from."""
        wrong, self.mistaken = 0.0, 0
        for piece in corpus.pieces(order):
            share, count = corpus.mistaken_pass(
                piece, *corpus.data, self.w, corpus.room, self.rule, self.sums, self.seen, self.variance,
                self.change, self.touched,
            )  # fmt: skip
            wrong, self.mistaken = wrong + share, self.mistaken + count
        return wrong / order.size

    @property
    def weights(self) -> np.ndarray:
        """The weights, or their mean."""
        return self.w - self.sums / self.seen[0] if self.averaging else self.w.copy()


def calibrate(
    corpus: Corpus, size: int, c2: float, rng: np.random.Generator, *, eta: float, rate: float, samples: int,
    candidates: int, max_trials: int,
) -> float:  # fmt: skip
    """A first step for stochastic gradient descent: of some, the one after which a sample has the lowest loss.

    From eta upwards by the factor `rate` as long as one pass over the sample makes it better than it was, then
    downwards.
    """
    sample = rng.permutation(corpus.n)[:samples]

    def loss(step: float) -> float:
        trial = Gradient(np.zeros(size), c2 * sample.size / corpus.n, sample.size, step)
        before = trial.learn(corpus, sample)
        after = Gradient(trial.weights, trial.c2, sample.size, 0.0).learn(corpus, sample)
        return after if after < before else math.inf

    tried: dict[float, float] = {}
    step, up = eta, True
    while len(tried) < max_trials and sum(map(math.isfinite, tried.values())) < candidates:
        with np.errstate(all="ignore"):
            tried[step] = loss(step)
        if up and not math.isfinite(tried[step]):
            up, step = False, eta
        step = step * rate if up else step / rate
    return min(tried, key=lambda step: (tried[step], step))


def descend(
    corpus: Corpus, size: int, loop: Any, rng: np.random.Generator, *, c2: float, period: int, delta: float,
    calibration: dict[str, Any],
) -> np.ndarray:  # fmt: skip
    """Stochastic gradient descent, until the lowest loss falls by less than its delta-th part in `period`
    passes."""
    eta = calibrate(corpus, size, c2, rng, **calibration)
    learner, lowest = Gradient(np.zeros(size), c2, corpus.n, eta), [math.inf]
    best = learner.weights
    for step in loop:
        loss = learner.learn(corpus, rng.permutation(corpus.n))
        if loss <= lowest[-1]:
            best = learner.weights
        lowest.append(min(loss, lowest[-1]))
        step.report(best, fun=loss)
        slow = len(lowest) > period and lowest[-1 - period] - lowest[-1] < delta * abs(lowest[-1])
        if step.converged(slow):
            break
    return best


def correct(
    corpus: Corpus, learner: Mistaken, loop: Any, rng: np.random.Generator, epsilon: float
) -> np.ndarray:
    """Passes over all sequences until at most a share epsilon of the labels is wrong."""
    for step in loop:
        wrong = learner.learn(corpus, rng.permutation(corpus.n))
        step.report(learner.weights, wrong=wrong)
        if step.converged(wrong <= epsilon):
            break
    return learner.weights


__all__ = ["ONLINE", "Corpus", "Gradient", "Mistaken", "correct", "descend"]

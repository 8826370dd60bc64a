"""Probably approximately correct learning (watermelon notes 9.1 to 9.3).

A learner identifies a concept class when, for every target and every distribution, its hypothesis has risk at most
epsilon with probability at least 1 - delta (9.8). The class is PAC learnable when a number of rows polynomial in
1/epsilon, 1/delta and the sizes of a row and of the target is enough, efficiently so when the running time is
polynomial too; the least such number is the sample complexity. Agnostic learning, in which no hypothesis need be
right, asks for R(h) - min R(h') <= epsilon. A program cannot prove any of this, but it can show it:
`pac_simulation` draws many samples and counts how often the risk is within epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.base import clone, is_classifier

from tercet.core.catalog import method
from tercet.core.parallel import each
from tercet.theory.checks import checked_count, checked_probability

Hypothesis = Callable[[Any], Any]


@method(
    zh="假设的差别",
    task="theory",
    model="two hypotheses and a distribution of x",
    strategy="d(h₁, h₂) = P(h₁(x) ≠ h₂(x))",
    texts=["watermelon notes ch. 9, eq. 9.3"],
)
def disagreement(first: Any, second: Any, X: Any = None, *, weights: Any = None) -> float:
    """Probability that two hypotheses label a row differently.

    Parameters
    ----------
    first, second : callables, fitted classifiers, or arrays of labels
        The hypotheses, or what they say on the rows.
    X : rows, default=None
        A sample, or all values of x; not needed for arrays of labels.
    weights : array of shape (n_samples,), default=None
        Probabilities of the rows; equal when None.

    Examples
    --------
    >>> disagreement([0, 1, 1, 0], [0, 1, 0, 1], weights=[0.4, 0.3, 0.2, 0.1])
    0.3
    >>> disagreement(lambda x: x > 1, lambda x: x > 3, np.arange(10))
    0.2
    """
    labels = [_labels(h, X) for h in (first, second)]
    if labels[0].shape != labels[1].shape or labels[0].ndim != 1:
        raise ValueError(
            f"both hypotheses must give one label for each row; got {labels[0].shape}, {labels[1].shape}."
        )
    if weights is not None:
        weights = np.asarray(weights, dtype=float)
        if weights.shape != labels[0].shape or (weights < 0).any() or not 0 < weights.sum() < np.inf:
            raise ValueError(f"weights must be {labels[0].size} finite numbers of at least 0, not all 0.")
    return round(float(np.average(labels[0] != labels[1], weights=weights)), 15)


def _labels(hypothesis: Any, X: Any) -> np.ndarray:
    if X is None and (callable(hypothesis) or hasattr(hypothesis, "predict")):
        raise ValueError("X must be given unless both hypotheses are arrays of labels.")
    if hasattr(hypothesis, "predict"):
        return np.asarray(hypothesis.predict(X))
    return np.asarray(hypothesis(X) if callable(hypothesis) else hypothesis)


@dataclass(frozen=True, eq=False)
class VersionSpace:
    """The hypotheses that agree with all rows.

    Attributes
    ----------
    indices : ndarray of int
        Their places in the list that was given.
    hypotheses : list
        Themselves.
    eliminated : ndarray of int
        For every hypothesis the first row that contradicts it, or -1.
    """

    indices: np.ndarray
    hypotheses: list[Hypothesis]
    eliminated: np.ndarray

    def predict(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The first consistent hypothesis' labels, and whether all consistent ones agree on each row."""
        if not len(self.hypotheses):
            raise ValueError("the version space is empty: no hypothesis agrees with all rows.")
        labels = np.array([_labels(h, X) for h in self.hypotheses])
        return labels[0], (labels == labels[0]).all(axis=0)


@method(
    zh="版本空间",
    task="theory",
    model="finitely many hypotheses",
    strategy="the hypotheses that are right on all rows",
    algorithms="elimination of those that a row contradicts",
    texts=["watermelon notes ch. 9, sec. 9.3.1"],
)
def version_space(hypotheses: Sequence[Hypothesis], X: Any, y: Any) -> VersionSpace:
    """The consistent learner of the realisable case: drop every hypothesis that makes a mistake.

    Parameters
    ----------
    hypotheses : sequence of callables
        Each h(X) gives labels for all rows.
    X, y : rows and their labels.

    Returns
    -------
    VersionSpace
        Several hypotheses may be left, or none when the target is not among them.

    Examples
    --------
    >>> x = np.array([0, 1, 4, 5])
    >>> left = version_space([lambda x, t=t: x > t for t in range(6)], x, x > 2)
    >>> left.indices, left.eliminated
    (array([1, 2, 3]), array([ 1, -1, -1, -1,  2,  2]))
    """
    if not len(hypotheses):
        raise ValueError("hypotheses must hold at least one hypothesis.")
    y = np.asarray(y)
    wrong = np.array([_labels(h, X) != y for h in hypotheses]).reshape(len(hypotheses), -1)
    if wrong.shape[1] != len(y):
        raise ValueError("each hypothesis must give one label for each row.")
    eliminated = np.where(wrong.any(axis=1), wrong.argmax(axis=1), -1)
    indices = np.flatnonzero(eliminated < 0)
    return VersionSpace(indices, [hypotheses[int(i)] for i in indices], eliminated)


@dataclass(frozen=True)
class OneClass:
    """The hypothesis that gives every row the same label."""

    label: Any

    def predict(self, X: Any) -> np.ndarray:
        """The label, for each row."""
        return np.full(X.shape[0] if hasattr(X, "shape") else len(X), self.label)


def _fit(learner: Any, X: Any, y: Any) -> Any:
    """The fitted estimator; many classifiers refuse a sample of one class."""
    classes = np.unique(y)
    if len(classes) == 1 and hasattr(learner, "__sklearn_tags__") and is_classifier(learner):
        return OneClass(classes[0])
    return clone(learner).fit(X, y)


@dataclass(frozen=True, eq=False)
class PACSimulation:
    """Risks of what a learner returned on many samples.

    Attributes
    ----------
    n_samples : ndarray of shape (n_sizes,)
        Rows of a sample.
    risks : ndarray of shape (n_sizes, n_trials)
        Risk of the hypothesis of each trial, above `best_risk`.
    epsilon, delta : float
        What was asked for.
    frequency : ndarray of shape (n_sizes,)
        Share of trials in which the risk was within epsilon.
    interval : ndarray of shape (n_sizes, 2)
        Clopper-Pearson interval of that probability, at 95 %.
    bound : ndarray of shape (n_sizes,) or None
        What a theorem promises for it.
    sample_size : int or None
        The first of `n_samples` from which on the frequency is at least 1 - delta.
    """

    n_samples: np.ndarray
    risks: np.ndarray
    epsilon: float
    delta: float
    frequency: np.ndarray
    interval: np.ndarray
    bound: np.ndarray | None
    sample_size: int | None


@method(
    zh="PAC 学习模拟",
    task="theory",
    model="a learner and a distribution",
    strategy="P(R(h) ≤ ε) ≥ 1 − δ",
    algorithms="independent samples of each size",
    texts=["watermelon notes ch. 9, eq. 9.8, sec. 9.2, 9.3.2"],
)
def pac_simulation(
    learner: Any,
    draw: Callable[[np.random.Generator, int], tuple[Any, Any]],
    n_samples: Any,
    epsilon: float,
    delta: float = 0.05,
    *,
    n_trials: int = 200,
    risk: Callable[[Any], float] | None = None,
    n_test: int = 10_000,
    best_risk: float = 0.0,
    bound: Callable[[int], float] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> PACSimulation:
    """Count how often a learner's risk is within epsilon, against what a bound promises.

    Parameters
    ----------
    learner : estimator, or callable
        An estimator is cloned and fitted; learner(X, y) returns a hypothesis, a function of rows. Where a sample
        has only one class, the hypothesis of a classifier is that class.
    draw : callable
        draw(generator, n) gives n independent rows X and their labels y.
    n_samples : int or sequence of int
        Sizes of the samples.
    epsilon, delta : float
        Risk that is asked for, and the probability with which it may be missed.
    n_trials : int, default=200
        Samples of each size.
    risk : callable, default=None
        risk(hypothesis), where it is known exactly; None: the error rate on fresh rows.
    n_test : int, default=10_000
        Fresh rows for it, drawn anew in each trial.
    best_risk : float, default=0.0
        Least risk of the class (agnostic learning): risks are counted above it.
    bound : callable, default=None
        bound(m): what a theorem gives for P(risk > epsilon), such as
        `lambda m: realizable_confidence(1000, m, epsilon)`.
    random_state : int, default=0
        Seed of all samples.
    n_jobs : int, optional
        Number of threads. The result does not depend on it.

    Returns
    -------
    PACSimulation
        `tercet.plot.plot_pac` draws it.

    Examples
    --------
    >>> def draw(rng, n):  # x is uniform, the target is the threshold 0.3
    ...     x = rng.random(n)
    ...     return x, x > 0.3
    >>> def learner(x, y):  # the threshold halfway between the classes
    ...     t = (max(x[~y], default=0.0) + min(x[y], default=1.0)) / 2
    ...     return lambda x: x > t, t
    >>> found = pac_simulation(learner, draw, [10, 40, 160], 0.05, risk=lambda h: abs(h[1] - 0.3))
    >>> found.frequency.round(2), found.sample_size
    (array([0.72, 1.  , 1.  ]), 40)
    """
    epsilon, delta = checked_probability("epsilon", epsilon), checked_probability("delta", delta)
    trials, test = int(checked_count("n_trials", n_trials)), int(checked_count("n_test", n_test))
    sizes = np.atleast_1d(np.asarray(n_samples))
    if sizes.ndim != 1 or not sizes.size or (sizes < 1).any() or (sizes != sizes.astype(int)).any():
        raise ValueError(f"n_samples must be whole numbers of at least 1; got {n_samples!r}.")
    sizes = sizes.astype(int)
    risks = np.empty((sizes.size, trials))
    seeds = np.random.SeedSequence(random_state).spawn(sizes.size * trials)

    def run(k: int) -> None:
        size, trial = divmod(k, trials)
        rng = np.random.default_rng(seeds[k])
        X, y = draw(rng, int(sizes[size]))
        hypothesis = _fit(learner, X, y) if hasattr(learner, "fit") else learner(X, y)
        if risk is not None:
            risks[size, trial] = risk(hypothesis)
        else:
            X, y = draw(rng, test)
            risks[size, trial] = np.mean(_labels(hypothesis, X) != np.asarray(y))

    each(run, range(sizes.size * trials), n_jobs=n_jobs)
    risks -= best_risk
    hits = (risks <= epsilon).sum(axis=1)
    with np.errstate(invalid="ignore"):
        low = np.where(hits == 0, 0.0, beta.ppf(0.025, hits, trials - hits + 1))
        high = np.where(hits == trials, 1.0, beta.ppf(0.975, hits + 1, trials - hits))
    enough = hits / trials >= 1 - delta
    first = int(np.argmax(np.logical_and.accumulate(enough[::-1])[::-1])) if enough[-1] else None
    return PACSimulation(
        n_samples=sizes,
        risks=risks,
        epsilon=epsilon,
        delta=delta,
        frequency=hits / trials,
        interval=np.column_stack([low, high]),
        bound=None if bound is None else np.array([max(1 - bound(int(m)), 0.0) for m in sizes]),
        sample_size=None if first is None else int(sizes[first]),
    )

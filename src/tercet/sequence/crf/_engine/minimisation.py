"""Minimisation of a chain's objective: descent methods with diagonal preconditioning, and iterative scaling."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.parallel import one_blas_thread
from tercet.core.steps import Steps
from tercet.optimize import METHODS
from tercet.sequence.crf._engine.features import observation_scores
from tercet.sequence.crf._engine.objective import ChainObjective
from tercet.sequence.crf._engine.streamed_objective import StreamedObjective


def minimise(
    objective: ChainObjective | StreamedObjective,
    *,
    algorithm: str = "lbfgs",
    steps: Callable[..., Steps],
    c1: float = 0.0,
    max_iter: int = 1000,
    memory: int = 6,
    epsilon: float = 1e-5,
    period: int = 10,
    delta: float = 1e-5,
) -> np.ndarray:
    """The weights that minimise the objective plus c1 |w|_1.

    Parameters
    ----------
    objective : ChainObjective or StreamedObjective
    algorithm : {"lbfgs", "gd", "newton-cg", "bfgs"}, default="lbfgs"
        With c1 > 0, "lbfgs" is OWL-QN.
    steps : callable
        Makes the loop; called with `unpack`, which turns a state of the loop into weights.
    c1, max_iter, memory, epsilon, period, delta
        As in `CRF`.
    """
    scaled = Preconditioned(objective)
    stop = StoppingRule(scaled, epsilon, period, delta, smooth=not c1)
    loop = functools.partial(steps, unpack=lambda v: v * scaled.unit, watch=stop)
    options: dict[str, Any] = {"tol": 0.0, "max_iter": max_iter, "steps": loop}
    if algorithm == "lbfgs":
        options["memory"] = memory
    if c1:
        options["l1"], algorithm = c1 * scaled.unit, "owlqn"
    with one_blas_thread():
        return METHODS[algorithm](scaled, np.zeros(scaled.unit.size), **options).x * scaled.unit


class Preconditioned:
    """The objective as a function of v = w / unit, by which its Hessian at w = 0 has an equal diagonal.

    The curvature along the weight of a frequent attribute is a thousand times that of a rare one. Preconditioned,
    L-BFGS needs a third of the iterations, or less.
    """

    def __init__(self, objective: ChainObjective | StreamedObjective) -> None:
        self.objective, self.unit = objective, 1 / np.sqrt(objective.curvature())
        self.latest: tuple[Any, Any] = (None, None)  # v, and the gradient with respect to w

    def value_and_gradient(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """f and its gradient with respect to v."""
        f, g = self.objective.value_and_gradient(v * self.unit)
        self.latest = v, g
        return f, g * self.unit

    def value(self, v: np.ndarray) -> float:
        """f."""
        return self.value_and_gradient(v)[0]

    def gradient(self, v: np.ndarray) -> np.ndarray:
        """The gradient with respect to v."""
        return self.value_and_gradient(v)[1]

    def gradient_norm(self, v: np.ndarray) -> float:
        """The norm of the gradient with respect to w."""
        if self.latest[0] is not v:
            self.value_and_gradient(v)
        return float(np.linalg.norm(self.latest[1]))


class StoppingRule:
    """The stopping criteria of CRFsuite.

    Parameters
    ----------
    objective : Preconditioned
    epsilon : float
        Stop when the norm of the gradient is at most epsilon times that of the weights (or 1).
    period, delta : int, float
        Also stop when f has fallen by less than delta times itself in the last `period` iterations.
    smooth : bool
        Whether there is no L1 penalty.
    """

    def __init__(
        self, objective: Preconditioned, epsilon: float, period: int, delta: float, smooth: bool
    ) -> None:
        self.objective, self.epsilon, self.period, self.delta = objective, epsilon, period, delta
        self.smooth, self.values = smooth, [np.inf]

    def __call__(self, step: Steps) -> bool:
        """Whether to stop after an iteration."""
        v = step.state
        self.values.append(step.measures["fun"])
        if len(self.values) > self.period:
            before, now = self.values[-1 - self.period], self.values[-1]
            if before - now < self.delta * abs(now):
                return True
        if not self.smooth:  # |w| has no gradient at 0: OWL-QN's own measure, of the pseudo-gradient
            return step.measures["grad_norm"] <= self.epsilon * max(1.0, float(np.linalg.norm(v)))
        size = float(np.linalg.norm(v * self.objective.unit))
        return self.objective.gradient_norm(v) <= self.epsilon * max(1.0, size)


class MeanObjective:
    """A chain objective in the form that `crf_iterative_scaling` takes: means over sequences."""

    def __init__(self, objective: ChainObjective) -> None:
        if objective.hidden.any():
            raise ValueError("Iterative scaling needs the labels of all tokens; use algorithm='lbfgs'.")
        self.objective, self.lengths = objective, objective.X.lengths
        mass = float(objective.weight.sum())
        self.share, self.empirical = objective.weight / mass, objective.empirical / mass
        self.l2 = 2 * objective.l2 / mass
        values = objective.X.rows.data if sparse.issparse(objective.X.rows) else objective.X.rows
        self.least = float(values.min(initial=0.0))
        self.whole = bool((values == np.round(values)).all())
        if self.least < 0:
            raise ValueError(
                f"Negative values in data, of which iterative scaling knows nothing: the smallest is {self.least}. "
                "Use algorithm='lbfgs'."
            )

    def scores(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The observation scores of all tokens, and the transition scores."""
        features, X = self.objective.features, self.objective.X.rows
        states = observation_scores(X, 0, X.shape[0], features.state_table(w), features.n_labels)
        return states, self.objective.transitions.scores(w)

    def totals(self, node: np.ndarray, edge: np.ndarray) -> np.ndarray:
        """The features summed over tokens and transitions with these weights."""
        sums = np.zeros(self.objective.features.size)
        self.objective.add_states(lambda at: node[at], sums)
        self.objective.transitions.add_counts(edge, sums)
        return sums


__all__ = ["MeanObjective", "minimise"]

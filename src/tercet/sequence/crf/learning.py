"""How the weights of a random field are found from all sequences at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.parallel import one_blas_thread
from tercet.core.steps import Steps
from tercet.optimize import minimize
from tercet.sequence.crf._engine.iterative_scaling import SCALINGS, chain_scaling
from tercet.sequence.crf._engine.objective import ChainObjective
from tercet.sequence.crf._engine.products import token_scores

BATCH = ("lbfgs", "gd", "newton-cg", "bfgs", *SCALINGS)


class Scaled:
    """The objective in other units: v = w / unit, where the curvature at w = 0 is the same along every axis.

    A frequent attribute bends f a thousand times as much as a rare one. In equal units L-BFGS needs a third of the
    passes, or less.
    """

    def __init__(self, objective: ChainObjective) -> None:
        self.objective, self.unit = objective, 1 / np.sqrt(objective.curvature())
        self.latest: tuple[Any, float] = (None, np.inf)

    def value_and_gradient(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """f and its gradient with respect to v."""
        f, g = self.objective.value_and_gradient(v * self.unit)
        self.latest = v, float(np.linalg.norm(g))
        return f, g * self.unit

    def value(self, v: np.ndarray) -> float:
        """f."""
        return self.value_and_gradient(v)[0]

    def gradient(self, v: np.ndarray) -> np.ndarray:
        """The gradient."""
        return self.value_and_gradient(v)[1]

    def slope(self, v: np.ndarray) -> float:
        """The norm of the gradient with respect to w."""
        if self.latest[0] is not v:
            self.value_and_gradient(v)
        return self.latest[1]


class Progress:
    """The rules by which the peers end a search.

    Parameters
    ----------
    epsilon : float
        The search ends when the norm of the gradient is at most epsilon times that of the weights (or 1).
    period, delta : int, float
        It also ends when f has fallen by less than its delta-th part in the last `period` passes.
    smooth : bool
        Whether there is no L1 penalty.
    """

    def __init__(self, objective: Scaled, epsilon: float, period: int, delta: float, smooth: bool) -> None:
        self.objective, self.epsilon, self.period, self.delta = objective, epsilon, period, delta
        self.smooth, self.values = smooth, [np.inf]

    def __call__(self, step: Steps) -> bool:
        """Whether to end, after a pass."""
        v = step.state
        self.values.append(step.measures["fun"])
        if len(self.values) > self.period:
            before, now = self.values[-1 - self.period], self.values[-1]
            if before - now < self.delta * abs(now):
                return True
        if not self.smooth:  # the gradient of f says little where |w| has a corner: the search's own measure
            return step.measures["grad_norm"] <= self.epsilon * max(1.0, float(np.linalg.norm(v)))
        size = float(np.linalg.norm(v * self.objective.unit))
        return self.objective.slope(v) <= self.epsilon * max(1.0, size)


def search(
    objective: ChainObjective,
    *,
    algorithm: str = "lbfgs",
    steps: Any = None,
    start: np.ndarray | None = None,
    c1: float = 0.0,
    max_iter: int = 1000,
    memory: int = 6,
    epsilon: float = 1e-5,
    period: int = 10,
    delta: float = 1e-5,
) -> np.ndarray:
    """The weights that minimise the objective plus c1 |w|_1, by one of the algorithms of `BATCH`.

    Parameters
    ----------
    objective : ChainObjective
        What to minimise.
    algorithm : str, default="lbfgs"
        With c1 > 0, "lbfgs" is OWL-QN.
    steps : callable
        Makes the loop; called with `unpack`, which turns a state of the loop into weights.
    start : array, optional
        First weights; zero by default.
    max_iter, memory, epsilon, period, delta
        As in `CRF`.
    """
    w = np.zeros(objective.features.size) if start is None else start
    with one_blas_thread():
        if algorithm in SCALINGS:
            scalable = Scalable(objective)
            tol = epsilon * max(1.0, float(np.abs(scalable.empirical).max()))
            if algorithm == "iis" and not scalable.whole:  # the exact algorithm counts
                algorithm = "iis-t"
            options: Any = {
                "algorithm": algorithm,
                "start": w,
                "tol": tol,
                "max_iter": max_iter,
                "steps": steps,
            }
            found = chain_scaling(scalable, **options)
            return np.asarray(found.x)
        scaled = Scaled(objective)
        l1 = c1 * scaled.unit if c1 else 0.0
        progress = Progress(scaled, epsilon, period, delta, smooth=not c1)

        def run(limit: int, **more: Any) -> Steps:
            return steps(limit, unpack=lambda v: v * scaled.unit, watch=progress, **more)

        options = {"tol": 0.0, "max_iter": max_iter, "steps": run}
        if algorithm == "lbfgs":
            options["memory"] = memory
        if c1:
            options["l1"], algorithm = l1, "owlqn"
        return minimize(scaled, w / scaled.unit, method=algorithm, **options).x * scaled.unit


class Scalable:
    """A chain objective as iterative scaling sees it: means over sequences, and features as a linear map."""

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
        """The scores of labels at all tokens, and of steps."""
        features, X = self.objective.features, self.objective.X.rows
        states = features.states(w)
        return token_scores(X, 0, X.shape[0], states, features.n_labels), self.objective.steps(w)

    def totals(self, node: np.ndarray, edge: np.ndarray) -> np.ndarray:
        """The features summed over tokens and steps with these weights."""
        objective, sums, start = self.objective, np.zeros(self.objective.features.size), 0
        for block in objective.blocks:
            n = block.X.shape[0]
            objective.room[:n, : node.shape[1]] = node[start : start + n]
            block.gather.add(objective.room[:n], sums, objective.n_jobs)
            start += n
        objective.add_steps(edge, sums)
        return sums

"""The hard margin (硬间隔): is there a hyperplane at all?

The nearest points of the convex hulls of the two classes, Σ a_i φ(x_i) over the +1 and over the -1 with a >= 0 and
Σ a = 1 in each, always exist. Where they are apart, the hyperplane halfway between them is the one with the
widest margin: α = 2a / d² with their distance d. Where they meet, no hyperplane separates the classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tercet.svm.problem import Problem, Solution

MEET = 1e-9  # d² below this part of the data's own spread: the hulls meet
SAMPLE = 256  # rows to tell the spread from


def nearest_points(problem: Problem, solve: Callable[[Problem, float], Solution]) -> np.ndarray | None:
    """Multipliers of the widest margin, to begin with; None where no hyperplane separates the classes.

    Parameters
    ----------
    problem : Problem
        A dual without upper bounds.
    solve : callable
        Of a problem and a tolerance.
    """
    sign = problem.sign
    some = np.unique(np.linspace(0, sign.size - 1, min(SAMPLE, sign.size)).astype(np.intp))
    gram = problem.kernel(problem.X[some])
    spread = float(np.trace(gram) / some.size - gram.mean())
    if not spread > 0:  # of a feature that few rows have, some rows show nothing
        spread = _spread(problem)
    if not spread > 0:  # all rows are the same point
        return None
    share = np.where(sign > 0, 1.0 / np.sum(sign > 0), 1.0 / np.sum(sign < 0))
    hulls = replace(problem, p=np.zeros(sign.size), start=share, nu=True)
    slack = 0.1 * spread
    for _ in range(12):
        found = solve(hulls, slack)
        square = 2 * found.objective
        if square <= MEET * spread or not found.converged:
            return None
        # A start good to a tenth will do, but d must be known not to be 0: its square is off by the violations.
        if found.violation <= 0.05 * square:
            return 2 * found.alpha / square
        hulls, slack = replace(hulls, start=found.alpha), slack / 10
    return None


def _spread(problem: Problem) -> float:
    """The mean squared distance of all rows from their mean, in the feature space."""
    share = np.full(problem.sign.size, 1.0 / problem.sign.size)
    means = problem.kernel.times(problem.X, problem.X, share)
    return float(problem.kernel.diag(problem.X).mean() - means.mean())

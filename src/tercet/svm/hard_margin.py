"""The hard margin (硬间隔): separability by the nearest points of the convex hulls.

The nearest points of the convex hulls of the two classes, Σ a_i φ(x_i) over the +1 and over the -1 with a >= 0 and
Σ a = 1 in each, always exist. Where they are apart, the hyperplane halfway between them is the one with the
widest margin: α = 2a / d² with their distance d. Where they meet, no hyperplane separates the classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tercet.svm._dual.problem import DualProblem, DualSolution

MIN_DISTANCE = 1e-9  # d² below this part of the data's variance: the hulls meet
SAMPLE = 256  # rows from which the variance is estimated


def nearest_points(
    problem: DualProblem, solve: Callable[[DualProblem, float], DualSolution]
) -> np.ndarray | None:
    """Multipliers of the widest margin, to begin with; None where no hyperplane separates the classes.

    Parameters
    ----------
    problem : DualProblem
        A dual without upper bounds.
    solve : callable
        Of a problem and a tolerance.
    """
    sign = problem.sign
    some = np.unique(np.linspace(0, sign.size - 1, min(SAMPLE, sign.size)).astype(np.intp))
    gram = problem.kernel(problem.X[some])
    variance = float(np.trace(gram) / some.size - gram.mean())
    if not variance > 0:  # a feature that few rows have may be 0 in the sample
        variance = _variance(problem)
    if not variance > 0:  # all rows are the same point
        return None
    share = np.where(sign > 0, 1.0 / np.sum(sign > 0), 1.0 / np.sum(sign < 0))
    hulls = replace(problem, p=np.zeros(sign.size), start=share, nu=True)
    tol = 0.1 * variance
    for _ in range(12):
        found = solve(hulls, tol)
        square = 2 * found.objective
        if square <= MIN_DISTANCE * variance or not found.converged:
            return None
        # A start good to a tenth will do, but d must be known not to be 0: its square is off by the violations.
        if found.violation <= 0.05 * square:
            return 2 * found.alpha / square
        hulls, tol = replace(hulls, start=found.alpha), tol / 10
    return None


def _variance(problem: DualProblem) -> float:
    """The mean squared distance of all rows from their mean, in the feature space."""
    share = np.full(problem.sign.size, 1.0 / problem.sign.size)
    means = problem.kernel.times(problem.X, problem.X, share)
    return float(problem.kernel.diag(problem.X).mean() - means.mean())

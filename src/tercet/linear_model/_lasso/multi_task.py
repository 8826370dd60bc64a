"""Block coordinate descent for several targets at once: features enter for all of them or for none.

min over W of  |Y - XW|^2 / (2n)  +  l1 sum_j |W_j|_2  +  l2 |W|^2 / 2,   W_j the row of feature j
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.core.steps import Steps
from tercet.optimize import LeastSquares

BATCH = 10  # sweeps between two looks at the gap


def multi_task_problem(
    X: Any, Y: np.ndarray, weight: np.ndarray | None, n_jobs: int | None
) -> tuple[Any, ...]:
    """The Gram matrix of the features, their correlations with the targets, and the targets' mean square."""
    problems = [LeastSquares(X, y, weight, fit_intercept=False, n_jobs=n_jobs) for y in Y.T]
    first = problems[0]
    if any(problem.x_unit != 1.0 or problem.y_unit != 1.0 for problem in problems):
        raise ValueError(
            "With several targets, squares of X and y must be floating point numbers. Scale them."
        )
    first.add_columns(np.arange(first.n_features)[~first.in_working_set])
    moment = np.ascontiguousarray(np.column_stack([problem.target_correlations for problem in problems]))
    return first.gram, moment, float(sum(problem.target_square for problem in problems))


def solve_multi_task_path(
    problem: tuple[Any, ...],
    alphas: Iterable[float],
    l1_ratio: float,
    *,
    order: Callable[[int], np.ndarray],
    start: Any = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    verbose: bool = False,
) -> list[tuple[np.ndarray, float, int]]:
    """W, the duality gap and the number of sweeps for a sequence of alphas, each from the solution before."""
    gram, moment, square = problem
    W = np.zeros_like(moment) if start is None else np.array(np.transpose(start), dtype=np.float64, order="C")
    results = []
    for alpha in alphas:
        l1, l2 = alpha * l1_ratio, alpha * (1.0 - l1_ratio)
        correlations, count, gap = moment - gram @ W, 0, np.inf
        for step in Steps(-(-max_iter // BATCH)):
            sweeps = min(BATCH, max_iter - count)
            orders = np.stack([order(len(W)) for _ in range(sweeps)])
            largest = block_sweeps(gram, orders, W, correlations, l1, l2)
            residual = max(square - float(np.sum(W * (moment + correlations))), 0.0)
            gap, count = multi_task_gap(W, correlations, residual, l1, l2), count + sweeps
            step.report(gap=gap)
            if step.converged(gap <= tol * square / 2 or largest <= 1e-14 * np.sqrt(square)):
                break
        results.append((W.copy(), gap, count))
        if verbose:
            print(f"alpha={alpha:.6g}: {np.count_nonzero(W.any(axis=1))} features, gap {gap:.3g}")
    return results


def multi_task_gap(W: np.ndarray, correlations: np.ndarray, square: float, l1: float, l2: float) -> float:
    """Duality gap at W, by the best feasible multiple of the residual (see `elastic_net_duality_gap`)."""
    gradient, lengths = correlations - l2 * W, np.linalg.norm(W, axis=1)
    augmented, products = square + l2 * float(np.sum(W * W)), np.sum(W * gradient, axis=1)
    largest = np.linalg.norm(gradient, axis=1).max(initial=0.0)
    scale = max(1.0 + products.sum() / augmented, 0.0) if augmented > 0 else 1.0
    scale = min(scale, l1 / largest) if largest > 0 else scale
    gap = (1.0 - scale) ** 2 * augmented / 2 + np.maximum(l1 * lengths - scale * products, 0.0).sum()
    if l2 > 0:
        excess = np.maximum(np.linalg.norm(correlations, axis=1) - l1, 0.0)
        terms = l1 * lengths + l2 * lengths**2 / 2 - np.sum(W * correlations, axis=1) + excess**2 / (2 * l2)
        gap = min(gap, np.maximum(terms, 0.0).sum())
    return float(gap)


@kernel
def block_sweeps(gram: Any, orders: Any, W: Any, correlations: Any, l1: Any, l2: Any) -> Any:
    """Passes over the rows of W, of shapes (d, d), (sweeps, d), (d, k), (d, k); the largest change of the last."""
    d, k = W.shape
    move = np.empty(k)
    largest = 0.0
    for order in orders:
        largest = 0.0
        for j in order:
            square = gram[j, j]
            if square + l2 <= 0.0:
                continue
            length = 0.0
            for t in range(k):
                move[t] = correlations[j, t] + square * W[j, t]
                length += move[t] * move[t]
            shrink = block_threshold(np.sqrt(length), l1) / (square + l2)
            change = 0.0
            for t in range(k):
                move[t] = shrink * move[t] - W[j, t]
                W[j, t] += move[t]
                change += move[t] * move[t]
            if change > 0.0:
                for i in range(d):
                    for t in range(k):
                        correlations[i, t] -= gram[i, j] * move[t]
                largest = max(largest, np.sqrt(change * square))
    return largest


@inner
def block_threshold(length: Any, l1: Any) -> Any:
    """The factor of block soft thresholding."""
    return 1.0 - l1 / length if length > l1 else 0.0

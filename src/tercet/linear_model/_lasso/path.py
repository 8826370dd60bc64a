"""Regularisation paths of the elastic net: one alpha after the other, each from the last solution."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.utils.validation import check_scalar

from tercet.core.estimator import generator
from tercet.optimize import LeastSquares, coordinate_descent

TINY = float(np.finfo(np.float64).resolution)


def visiting_order(selection: str, random_state: Any) -> Callable[[int], np.ndarray]:
    """Gives the order of the coordinates in a sweep: cyclic, or a new permutation each time."""
    return generator(random_state).permutation if selection == "random" else np.arange


def alpha_grid(problem: LeastSquares, alphas: Any, l1_ratio: float, eps: float, positive: bool) -> np.ndarray:
    """A geometric grid from the smallest alpha with solution zero down to `eps` times it, or the given alphas."""
    if not isinstance(alphas, int | np.integer):
        if np.size(alphas) == 0:
            raise ValueError(
                f"alphas must be a number of strengths or strengths in [0, inf); got {alphas!r}."
            )
        for k, alpha in enumerate(np.atleast_1d(np.asarray(alphas, dtype=object)).ravel()):
            check_scalar(alpha, f"alphas[{k}]", numbers.Real, min_val=0.0, include_boundaries="left")
        return np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
    if alphas < 1:
        raise ValueError(f"alphas must be at least 1, or an array; got {alphas!r}.")
    if l1_ratio == 0:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid by providing "
            "your estimator with the appropriate `alphas=` argument."
        )
    correlation = problem.target_correlations if positive else np.abs(problem.target_correlations)
    with np.errstate(over="ignore"):
        highest = correlation.max(initial=0.0) / l1_ratio * problem.x_unit * problem.y_unit
    if not np.isfinite(highest):
        raise ValueError(
            f"alphas={alphas}: the strength that makes all w zero is beyond the largest floating point number. "
            "Scale X or y, or give an array of strengths."
        )
    return geometric_grid(float(highest), int(alphas), eps)


def geometric_grid(highest: float, alphas: int, eps: float) -> np.ndarray:
    """A number of strengths from the highest down to `eps` times it."""
    if highest <= TINY:
        return np.full(alphas, TINY)
    return np.geomspace(highest, max(highest * eps, TINY), num=alphas)


def solve_path(
    problem: LeastSquares,
    alphas: Iterable[float],
    l1_ratio: float,
    *,
    order: Callable[[int], np.ndarray],
    start: Any = None,
    verbose: bool = False,
    **options: Any,
) -> list[OptimizeResult]:
    """The solutions for a sequence of alphas, each warm-started from the one before.

    `options` are those of `coordinate_descent`: positive, tol, max_iter.
    """
    results: list[OptimizeResult] = []
    for alpha in alphas:
        l1, l2 = alpha * l1_ratio, alpha * (1.0 - l1_ratio)
        results.append(coordinate_descent(problem, l1=l1, l2=l2, start=start, order=order, **options))
        start = results[-1].x
        if verbose:
            print(f"alpha={alpha:.6g}: {np.count_nonzero(start)} features, gap {results[-1].gap:.3g}")
    return results

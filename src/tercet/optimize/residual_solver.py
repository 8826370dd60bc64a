"""Coordinate descent on the columns of the data, with the residual kept up to date."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.kernel import inner, kernel
from tercet.core.rows import columns, row_add, row_dot, row_square
from tercet.core.stopping import check_stop
from tercet.core.streams import is_streamed
from tercet.optimize.least_squares import LeastSquares

BATCH = 10  # sweeps between two checks of the signs
STATIONARY = 1e-12  # largest change of a coordinate that counts as none, in units of y's standard deviation


class ResidualSolver:
    """Coordinate descent without a Gram matrix, for very many nonzero coordinates; it updates the residual.

    Columns are centred implicitly, so that sparse ones stay sparse: centring shifts the residual by a constant,
    `shift`, which a change of coordinate j changes by the mean of column j.
    """

    def __init__(self, problem: LeastSquares, w: np.ndarray) -> None:
        if is_streamed(problem.X):
            raise TypeError(
                f"More than 3000 of {problem.n_features} coefficients are not zero: their columns are solved for "
                "in memory. Use a larger alpha, or load the rows (source.to_arrays)."
            )
        self.problem, self.w = problem, w.copy()
        problem.compute_means(np.arange(problem.n_features))
        X, weight, residual = problem.X, problem.normalised_weight, problem.target - problem.X @ w
        self.shift = np.array([weight @ residual if problem.fit_intercept else 0.0])
        self.factor = weight[0]
        if weight.min() < weight.max():  # weights enter by scaling rows with their square roots
            root = np.sqrt(weight)
            X = sparse.diags_array(root).tocsr() @ X if sparse.issparse(X) else X * root[:, None]
            residual, self.factor = root * residual, 1.0
        self.columns, self.residual = columns(X), residual
        squares = np.empty(problem.n_features)
        column_squares(self.columns, squares)
        self.centred_squares = np.maximum(self.factor * squares - problem.mean**2, 0.0)

    def solve(self, l1: Any, l2: Any, positive: Any, order: Any) -> Any:
        """One sweep over all coordinates and a few over the nonzero ones."""
        tolerance = STATIONARY * np.sqrt(self.problem.target_square)
        parts = (self.columns, self.factor, self.problem.mean)
        state = (self.centred_squares, self.w, self.residual, self.shift, l1, l2, positive)
        largest = sweep_columns(*parts, order(self.w.size), *state)
        done = largest <= tolerance
        for _ in range(BATCH):
            check_stop()
            if largest <= tolerance:
                break
            active = np.flatnonzero(self.w)
            largest = sweep_columns(*parts, active[order(active.size)], *state)
        return self.w.copy(), "stationary" if done else ""


@kernel
def column_squares(columns: Any, out: Any) -> None:
    """Squared norms of the columns."""
    for j in range(out.size):
        out[j] = row_square(columns, j)


@kernel
def sweep_columns(
    columns: Any,
    factor: Any,
    mean: Any,
    order: Any,
    squares: Any,
    w: Any,
    residual: Any,
    shift: Any,
    l1: Any,
    l2: Any,
    positive: Any,
) -> Any:
    """One pass over the coordinates in `order`; returns the largest change."""
    largest = 0.0
    for j in order:
        if squares[j] + l2 <= 0.0:
            continue
        partial = factor * row_dot(columns, j, residual) - mean[j] * shift[0] + squares[j] * w[j]
        new = coordinate_minimum(partial, squares[j], l1, l2, positive)
        move = new - w[j]
        if move != 0.0:
            row_add(columns, j, -move, residual)
            shift[0] -= move * mean[j]
            w[j] = new
            largest = max(largest, abs(move) * np.sqrt(squares[j]))
    return largest


@inner
def coordinate_minimum(partial: Any, square: Any, l1: Any, l2: Any, positive: Any) -> Any:
    """Minimiser of square w^2 / 2 - partial w + l1 |w| + l2 w^2 / 2, by soft thresholding."""
    if partial > l1:
        return (partial - l1) / (square + l2)
    if partial < -l1 and not positive:
        return (partial + l1) / (square + l2)
    return 0.0

"""Users or items of a factorisation by alternating least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.decomposition._completion.row_systems import Problem, factor_table, solve_rows


class Side:
    """Factors and biases of the users, or of the items, with their ratings in rows.

    With biases, the column after the factors is 1: the other side's coefficient of it is that side's bias.
    """

    def __init__(self, ratings: Any, k: int, biased: bool, dtype: Any, n: int = 0) -> None:
        n = n or ratings.shape[0]
        self.ratings, self.k, self.width = ratings, k, k + biased
        self.table = factor_table(n, self.width, dtype)
        self.table[:, k : self.width] = 1.0
        self.bias = np.zeros(n, dtype)

    def solve(self, other: Side, mean: float, problem: Problem, n_jobs: int) -> float:
        """The factors that fit those of the other side best; returns the least squared error with the penalty."""
        if self.width > self.k:
            self.table[:, self.k] = self.bias  # where conjugate gradients start from
        shift = other.bias + self.table.dtype.type(mean)
        least = solve_rows(self.ratings, other.table, self.width, shift, problem, self.table, n_jobs)
        if self.width > self.k:
            self.bias = self.table[:, self.k].copy()
            self.table[:, self.k] = 1.0
        return least

    def penalty(self, problem: Problem) -> float:
        """The penalty of these factors and biases."""
        squares = (self.table[:, : self.k].astype(np.float64) ** 2).sum(axis=1) + self.bias.astype(
            np.float64
        ) ** 2
        weights = np.diff(self.ratings.indptr) if problem.scaled else 1.0
        return problem.ridge * float((weights * squares).sum())

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Factors and biases, as copies."""
        return np.ascontiguousarray(self.table[:, : self.k]), self.bias.copy()

"""The problem of every linear machine, in one form.

    min over v of  |v|^2 / 2 + sum_i cost_i l(e_i),   l(e) = |e| or e^2

v holds w and, as the weight of one more feature with the value `bias`, the intercept; e_i is what of target_i - z_i
counts at the score z_i = w·x_i + bias v_b. Where a row is one-sided (classification, target y) only an e of the
target's sign counts: |e| is the slack of 1 - y z. Else (regression) what exceeds epsilon on either side does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.rows import Dense, Rows, Sparse, rows

Array = np.ndarray
MOST = 1e150  # the square of a larger number is none


@dataclass
class LinearProblem:
    """Data, costs and the kind of loss."""

    X: Any  # an array or a CSR matrix
    target: Array
    side: Array  # the sign of the e that count; 0: both
    cost: Array
    bias: float  # 0: no intercept
    epsilon: float = 0.0
    squared: bool = False

    def __post_init__(self) -> None:
        with np.errstate(over="ignore"):
            cost, target = float(self.cost.sum()), float(np.abs(self.target).max(initial=0.0))
        if not 0 < cost <= MOST:
            raise ValueError(
                "What the losses of all rows cost (C, or 1 / lam, times sample_weight and class_weight) adds up "
                f"to {cost:g}; it must be above 0 and at most {MOST:g}."
            )
        if target > MOST:
            raise ValueError(f"y holds numbers up to {target:g}; allowed are at most {MOST:g}.")

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    def scores(self, v: Array) -> Array:
        """z of all rows."""
        return np.asarray(self.X @ v[:-1]) + self.bias * v[-1]

    def excess(self, z: Array) -> Array:
        """e of all rows at the scores z."""
        e = self.target - z
        if self.epsilon:
            e = e - np.clip(e, -self.epsilon, self.epsilon)
        return np.where(self.side * e < 0, 0.0, e)

    def back(self, r: Array) -> Array:
        """X'r, and its entry for the intercept."""
        return np.append(self.X.T @ r, self.bias * r.sum())

    def objective(self, v: Array) -> float:
        """The value at v."""
        e = self.excess(self.scores(v))
        return float(v @ v / 2 + self.cost @ (e * e if self.squared else np.abs(e)))

    def dual(self, beta: Array, v: Array) -> float:
        """The dual value at beta with v = X'beta; the objective is nowhere less."""
        ridge = self.ridge @ (beta * beta) / 2
        return float(self.target @ beta - self.epsilon * np.abs(beta).sum() - v @ v / 2 - ridge)

    @property
    def ridge(self) -> Array:
        """What the dual adds to the diagonal: squares of slacks make it curved."""
        return 0.5 / np.maximum(self.cost, 1e-300) if self.squared else np.zeros_like(self.cost)

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Between what the dual variables lie."""
        most = np.full_like(self.cost, np.inf) if self.squared else self.cost
        return np.where(self.side > 0, 0.0, -most), np.where(self.side < 0, 0.0, most)

    def without_idle_rows(self) -> LinearProblem:
        """The same problem without rows that cost nothing."""
        keep = self.cost > 0
        if keep.all():
            return self
        return LinearProblem(
            self.X[keep],
            self.target[keep],
            self.side[keep],
            self.cost[keep],
            self.bias,
            self.epsilon,
            self.squared,
        )


def by_rows(X: Any) -> Any:
    """X in row order, once for all: every sweep of another order, and every class, would begin with a copy."""
    return X if sparse.issparse(X) else np.ascontiguousarray(X)


def frozen(X: Any) -> Rows:
    """The rows of X, read-only, so that kernels are compiled for one kind of array."""
    view = rows(X)
    if isinstance(view, Dense):
        return Dense(_read_only(view.values))
    return Sparse(_read_only(view.data), _read_only(view.indices), _read_only(view.indptr), view.n_columns)


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def row_bytes(X: Any) -> float:
    """Memory of a row, on average."""
    held = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    return held / max(1, X.shape[0])

"""The optimisation problem of the linear machines, in one form.

    min over v of  |v|^2 / 2 + sum_i cost_i l(e_i),   l(e) = |e| or e^2

v holds w and, as the weight of one more feature with the value `bias`, the intercept; z_i = w·x_i + bias v_b is the
score, and e_i the residual target_i - z_i as far as it is penalised. In classification (target y, side y) that is a
residual of the target's sign: |e| is the slack of 1 - y z. In regression (side 0) it is what exceeds epsilon on
either side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.rows import transposed_times

Array = np.ndarray
MAX_COST = 1e150  # the square of a larger number overflows


@dataclass
class LinearProblem:
    """Data, costs and loss of a linear machine."""

    X: Any  # an array or a CSR matrix
    target: Array
    side: Array  # the sign of the residuals that count; 0: both
    cost: Array
    bias: float  # 0: no intercept
    epsilon: float = 0.0
    squared: bool = False
    gram: Array | None = (
        None  # inner products of the rows, with the intercept's feature, where they are known
    )

    def __post_init__(self) -> None:
        with np.errstate(over="ignore"):
            cost, target = float(self.cost.sum()), float(np.abs(self.target).max(initial=0.0))
        if not 0 < cost <= MAX_COST:
            raise ValueError(
                "What the losses of all rows cost (C, or 1 / lam, times sample_weight and class_weight) adds up "
                f"to {cost:g}; it must be above 0 and at most {MAX_COST:g}."
            )
        if target > MAX_COST:
            raise ValueError(f"y holds numbers up to {target:g}; allowed are at most {MAX_COST:g}.")

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    def scores(self, v: Array) -> Array:
        """Scores z of all rows."""
        return np.asarray(self.X @ v[:-1]) + self.bias * v[-1]

    def excess(self, z: Array) -> Array:
        """Residuals e of all rows that count, at the scores z."""
        e = self.target - z
        if self.epsilon:
            e = e - np.clip(e, -self.epsilon, self.epsilon)
        return np.where(self.side * e < 0, 0.0, e)

    def transpose_times(self, r: Array) -> Array:
        """X'r, with the entry of the intercept."""
        out = np.empty(self.X.shape[1] + 1)
        out[:-1], out[-1] = transposed_times(self.X, r), self.bias * r.sum()
        return out

    def objective(self, v: Array) -> float:
        """The primal objective at v."""
        e = self.excess(self.scores(v))
        return float(v @ v / 2 + self.cost @ (e * e if self.squared else np.abs(e)))

    def dual_objective(self, beta: Array, v: Array) -> float:
        """The dual objective (to be maximised) at beta with v = X'beta; a lower bound of the primal one."""
        ridge = self.ridge @ (beta * beta) / 2
        return float(self.target @ beta - self.epsilon * np.abs(beta).sum() - v @ v / 2 - ridge)

    @property
    def ridge(self) -> Array:
        """What squared losses add to the diagonal of the dual's Hessian."""
        return 0.5 / np.maximum(self.cost, 1e-300) if self.squared else np.zeros_like(self.cost)

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Bounds of the dual variables."""
        upper = np.full_like(self.cost, np.inf) if self.squared else self.cost
        return np.where(self.side > 0, 0.0, -upper), np.where(self.side < 0, 0.0, upper)

    def without_zero_cost(self) -> LinearProblem:
        """The same problem without rows of cost 0."""
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
            None if self.gram is None else self.gram[np.ix_(keep, keep)],
        )


def row_major(X: Any) -> Any:
    """X in C order, or CSR: else every sweep, and every class, would begin with a copy."""
    return X if sparse.issparse(X) else np.ascontiguousarray(X)


def bytes_per_row(X: Any) -> float:
    """Mean memory of a row."""
    held = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    return held / max(1, X.shape[0])

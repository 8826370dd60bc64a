"""State of a factorisation X ≈ WH whose rows come from a source: what H needs of them are sums over rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.parallel import elsewhere, one_blas_thread
from tercet.core.row_states import State
from tercet.core.scaling import times_power
from tercet.decomposition._nmf.factorization import (
    TURNS,
    Penalty,
    coordinate_descent,
    descend_gradient,
    drop_tiny,
    multiplicative,
    multiply_by_terms,
    projected_gradient,
    sweep_coordinates,
)
from tercet.decomposition._nmf.half import Half
from tercet.decomposition._nmf.streamed_table import StreamedTable


class StreamedFactorization:
    """`Factorization` of a streamed table, with W in the states of its chunks.

    One pass over the rows updates W, and adds up what the next update of H needs: X'W and W'W for the squared loss,
    the numerators and denominators of the multiplicative rules for others.
    """

    def __init__(
        self,
        table: StreamedTable,
        Ht: np.ndarray,
        solver: str,
        beta: float,
        penalties: tuple[Penalty, Penalty],
        n_jobs: int,
    ) -> None:
        self.states, self.Ht, self.solver, self.beta = table.states, Ht, solver, beta
        self.penalties, self.k = penalties, Ht.shape[1]
        # threads share the work inside a chunk; workers of a cluster have chunks of their own
        self.rows = RowStep(table.power, solver, beta, penalties[0], 1 if elsewhere() else n_jobs)
        self.cells, self.total_square = table.shape[0] * table.shape[1], 0.0
        self.sums: tuple[Any, Any] | None = None  # for the W and H that are there

    def update_W(self, order: np.ndarray) -> float:
        """A half step on W with H fixed; returns the sum of |projected gradient| (NaN for "mu")."""
        return self._take(self.states.update(updated_rows, self.rows, self.Ht, order))

    def _take(self, found: tuple[float, float, np.ndarray, np.ndarray]) -> float:
        """Keep the sums of a pass, and return the violation."""
        violation, self.total_square, top, bottom = found
        dtype = self.Ht.dtype
        self.sums = top.astype(dtype, copy=False), bottom.astype(dtype, copy=False)
        return violation

    def update_H(self, order: np.ndarray) -> float:
        """A half step on H with W fixed, from the sums over all rows."""
        top, bottom = self._current_sums()
        penalty = self.penalties[1]
        with one_blas_thread():
            if self.solver == "mu":
                denominator = np.dot(self.Ht, bottom) if self.beta == 2 else bottom
                multiply_by_terms(self.Ht, top, denominator, self.beta, penalty)
                if self.beta <= 1:
                    drop_tiny(self.Ht)
                violation = np.nan
            elif self.solver == "gradient":
                violation = descend_gradient(self.Ht, top, np.dot(self.Ht, bottom), bottom, penalty)
            else:
                turns = TURNS if self.solver == "hals" else 1
                violation = sweep_coordinates(self.Ht, top, bottom, penalty, order, turns)
        if self.beta != 2:
            self.sums = None  # they depend on H
        return violation

    def _current_sums(self) -> tuple[Any, Any]:
        if self.sums is None:
            self._take(self.states.total(sums_of_rows, self.rows, self.Ht))
        assert self.sums is not None
        return self.sums

    def loss(self) -> float:
        """The beta-divergence; for the squared loss from the sums, else in a pass."""
        if self.beta != 2:
            return self.exact_loss()
        products, gram = (part.astype(np.float64, copy=False) for part in self._current_sums())
        Ht = self.Ht.astype(np.float64, copy=False)
        cross, square = float(np.vdot(products, Ht)), float(np.vdot(gram, Ht.T @ Ht))
        return max(self.total_square + square - 2.0 * cross, 0.0) / 2

    def exact_loss(self) -> float:
        """The loss from the cells themselves, in a pass."""
        return float(self.states.total(loss_of_rows, self.rows, self.Ht))

    def normalize(self, norm: str, *, rescale: bool) -> None:
        """Columns of W of length 1; with `rescale` the rows of H take up the lengths, and WH stays as it is."""
        power = 1 if norm == "l1" else 2
        sums = self.states.total(powers_of_columns, power, reads=False)
        size = np.asarray(sums if power == 1 else np.sqrt(sums), dtype=self.Ht.dtype)
        size[size == 0] = 1.0
        self.states.update(divided_columns, size, reads=False)
        if rescale:
            self.Ht *= size
        if self.beta == 2 and self.sums is not None:
            self.sums = self.sums[0] / size, self.sums[1] / np.outer(size, size)
        else:
            self.sums = None


class RowStep(NamedTuple):
    """A half step on W: how rows of X are scaled, and W is updated."""

    power: int
    solver: str
    beta: float
    penalty: Penalty
    n_jobs: int

    def half(self, chunk: Any) -> Half:
        """The rows of a chunk."""
        return Half(times_power(chunk[0], -self.power), None, self.n_jobs)

    def update(self, half: Half, W: np.ndarray, Ht: np.ndarray, order: np.ndarray) -> float:
        """Change W of some rows in place; the sum of |projected gradient| (NaN for "mu")."""
        if self.solver == "mu":
            multiplicative(half, W, Ht, self.beta, self.penalty)
            if self.beta < 1:
                drop_tiny(W)
            return np.nan
        if self.solver == "gradient":
            return projected_gradient(half, W, Ht, self.penalty)
        turns = TURNS if self.solver == "hals" else 1
        return coordinate_descent(half, W, Ht, self.penalty, order, turns)[0]

    def sums(self, half: Half, W: np.ndarray, Ht: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """|X|², and what H needs of some rows: X'W and W'W, or the terms of the multiplicative rules."""
        if self.beta == 2:
            found = half.X.T @ W, W.T @ W
        else:
            across = half.X.T.tocsr() if half.sparse else half.X.T
            found = Half(across, None, self.n_jobs).terms(Ht, W, self.beta)
        top, bottom = (np.asarray(part, dtype=np.float64) for part in found)
        return half.total_square, top, bottom


def updated_rows(chunk: Any, state: State, rows: RowStep, Ht: np.ndarray, order: np.ndarray) -> Any:
    """W of a chunk after a half step; the violation, and the sums for H."""
    half, W = rows.half(chunk), state["W"].copy()
    violation = rows.update(half, W, Ht, order)
    return {"W": W}, (violation, *rows.sums(half, W, Ht))


def sums_of_rows(chunk: Any, state: State, rows: RowStep, Ht: np.ndarray) -> Any:
    """The same without a half step."""
    return 0.0, *rows.sums(rows.half(chunk), state["W"], Ht)


def loss_of_rows(chunk: Any, state: State, rows: RowStep, Ht: np.ndarray) -> float:
    """The loss of a chunk, from its cells."""
    return rows.half(chunk).loss(state["W"], Ht, rows.beta)


def powers_of_columns(chunk: None, state: State, power: int) -> np.ndarray:
    """Σ w^power of each column of W."""
    return (np.abs(state["W"]) ** power).sum(axis=0)


def divided_columns(chunk: None, state: State, size: np.ndarray) -> tuple[State, float]:
    """W with its columns divided by their lengths."""
    return {"W": state["W"] / size}, 0.0


__all__ = ["StreamedFactorization"]

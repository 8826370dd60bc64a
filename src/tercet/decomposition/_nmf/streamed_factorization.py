"""State of a factorisation X ≈ WH whose rows come from a source: what H needs of them are sums over rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.parallel import one_blas_thread
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
    """`Factorization` of a streamed table, with W in its pages.

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
        self.table, self.Ht, self.solver, self.beta = table, Ht, solver, beta
        self.penalties, self.n_jobs, self.k = penalties, n_jobs, Ht.shape[1]
        self.cells, self.total_square = table.shape[0] * table.shape[1], 0.0
        self.sums: tuple[Any, Any] | None = None  # for the W and H that are there

    def update_W(self, order: np.ndarray) -> float:
        """A half step on W with H fixed; returns the sum of |projected gradient| (NaN for "mu")."""
        return self._pass(order)

    def _pass(self, order: np.ndarray | None) -> float:
        """Update W, where an order of the components is given, and add up what H needs."""
        d = self.table.shape[1]
        top = np.zeros((d, self.k))
        bottom = np.zeros((self.k, self.k) if self.beta == 2 else (d, self.k))
        violation, square = 0.0, 0.0
        for page, X in self.table.walk():
            half, W = Half(X, None, self.n_jobs), self.table.W(page)
            square += half.total_square
            with one_blas_thread():
                if order is not None:
                    violation += self._step(half, W, order)
                    self.table.set_W(page, W)
                if self.beta == 2:
                    top += X.T @ W
                    bottom += W.T @ W
                else:
                    across = X.T.tocsr() if half.sparse else X.T
                    numerator, denominator = Half(across, None, self.n_jobs).terms(self.Ht, W, self.beta)
                    top += numerator
                    bottom += denominator
        dtype = self.Ht.dtype
        self.sums, self.total_square = (
            (top.astype(dtype, copy=False), bottom.astype(dtype, copy=False)),
            square,
        )
        return violation

    def _step(self, half: Half, W: np.ndarray, order: np.ndarray) -> float:
        if self.solver == "mu":
            multiplicative(half, W, self.Ht, self.beta, self.penalties[0])
            if self.beta < 1:
                drop_tiny(W)
            return np.nan
        if self.solver == "gradient":
            return projected_gradient(half, W, self.Ht, self.penalties[0])
        turns = TURNS if self.solver == "hals" else 1
        return coordinate_descent(half, W, self.Ht, self.penalties[0], order, turns)[0]

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
            self._pass(None)
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
        found = 0.0
        for page, X in self.table.walk():
            with one_blas_thread():
                found += Half(X, None, self.n_jobs).loss(self.table.W(page), self.Ht, self.beta)
        return found

    def normalize(self, norm: str, *, rescale: bool) -> None:
        """Columns of W of length 1; with `rescale` the rows of H take up the lengths, and WH stays as it is."""
        pages, power = self.table.pages, 1 if norm == "l1" else 2
        sums = sum((np.abs(pages.get(page, "W")) ** power).sum(axis=1) for page in range(len(pages)))
        size = np.asarray(sums if power == 1 else np.sqrt(sums), dtype=self.Ht.dtype)
        size[size == 0] = 1.0
        for page in range(len(pages)):
            pages.get(page, "W")[:] /= size[:, None]
        if rescale:
            self.Ht *= size
        if self.beta == 2 and self.sums is not None:
            self.sums = self.sums[0] / size, self.sums[1] / np.outer(size, size)
        else:
            self.sums = None


__all__ = ["StreamedFactorization"]

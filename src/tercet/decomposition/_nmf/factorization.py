"""State of a non-negative factorisation X ≈ WH, and the half steps of its solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tercet.core.parallel import one_blas_thread
from tercet.decomposition._nmf.half import Half, halves
from tercet.decomposition._nmf.kernels import solve_blocks, sweep_blocks, sweep_rows

TURNS = (
    4  # of "hals" over a factor for one product XB, which costs as much as several (Gillis and Glineur, 2012)
)


@dataclass(frozen=True)
class Penalty:
    """l1 |A|_1 + ½ l2 |A|² of one factor."""

    l1: float = 0.0
    l2: float = 0.0

    def of(self, A: np.ndarray) -> float:
        if not (self.l1 or self.l2):
            return 0.0
        return self.l1 * float(A.sum(dtype=np.float64)) + 0.5 * self.l2 * float(np.vdot(A, A))

    def scaled(self, shrink: float, unit: float) -> Penalty:
        """For a factor in another unit, beside a loss that was multiplied by `shrink`."""
        l1, l2 = (min(l * factor, 1e300) if l else 0.0 for l, factor in
                  ((self.l1, shrink * unit), (self.l2, shrink * unit * unit)))  # fmt: skip
        return Penalty(l1, l2)


class Factorization:
    """X ≈ WH on its way: W (n, k) and Ht = H' (d, k), changed in place.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        NaN is a missing value.
    W, Ht : arrays of shape (n, k) and (d, k)
        Where to start.
    solver : {"cd", "mu", "hals", "gradient"}
    beta : float
        Of the beta-divergence; 2 for all solvers but "mu".
    penalties : pair of Penalty
        Of W and of H.
    n_jobs : int
    """

    def __init__(
        self,
        X: Any,
        W: Any,
        Ht: Any,
        solver: str,
        beta: float,
        penalties: tuple[Penalty, Penalty],
        n_jobs: int,
    ) -> None:
        self.W, self.Ht = np.array(W, order="C"), np.array(Ht, order="C")
        self.solver, self.beta, self.penalties = solver, beta, penalties
        self.by_rows, self.by_columns = halves(X, n_jobs)
        self.k, self.cells = self.W.shape[1], X.nnz if self.by_rows.sparse else X.size
        self.last: tuple[str, Any, Any] | None = None

    def update_W(self, order: np.ndarray) -> float:
        """A half step on W with H fixed (17.33); returns the sum of |projected gradient| (NaN for "mu")."""
        return self._update("W", self.by_rows, self.W, self.Ht, self.penalties[0], order)

    def update_H(self, order: np.ndarray) -> float:
        """A half step on H with W fixed (17.34)."""
        return self._update("H", self.by_columns, self.Ht, self.W, self.penalties[1], order)

    def _update(
        self, name: str, half: Half, A: np.ndarray, B: np.ndarray, penalty: Penalty, order: np.ndarray
    ) -> float:
        self.last = None
        with one_blas_thread():
            if self.solver == "mu":
                multiplicative(half, A, B, self.beta, penalty)
                if self.beta < 1 or (
                    self.beta == 1 and name == "H"
                ):  # powers of numbers near 0 are not stable
                    drop_tiny(A)
                return np.nan
            if self.solver == "gradient":
                return projected_gradient(half, A, B, penalty)
            turns = TURNS if self.solver == "hals" else 1
            violation, P, gram = coordinate_descent(half, A, B, penalty, order, turns)
            if half.missing is None:
                self.last = name, P, gram
            return violation

    def loss(self) -> float:
        """The beta-divergence over the known cells; from the products of the last half step, if there are any."""
        with one_blas_thread():
            if self.last is None:
                return self.by_rows.loss(self.W, self.Ht, self.beta)
            name, P, gram = self.last
            A = self.W if name == "W" else self.Ht
            cross, square = float(np.vdot(P, A)), float(np.vdot(gram, np.dot(A.T, A)))
            return max(self.by_rows.total_square + square - 2.0 * cross, 0.0) / 2

    def objective(self, loss: float) -> float:
        """The loss and the penalties."""
        return loss + self.penalties[0].of(self.W) + self.penalties[1].of(self.Ht)

    def exact_loss(self) -> float:
        """The loss from the cells themselves."""
        with one_blas_thread():
            return self.by_rows.loss(self.W, self.Ht, self.beta)

    def normalize(self, norm: str, *, rescale: bool) -> None:
        """Columns of W of length 1; with `rescale` the rows of H take up the lengths, and WH stays as it is."""
        size = np.abs(self.W).sum(axis=0) if norm == "l1" else np.sqrt((self.W**2).sum(axis=0))
        size[size == 0] = 1.0
        self.W /= size
        if rescale:
            self.Ht *= size
        self.last = None


def coordinate_descent(
    half: Half, A: np.ndarray, B: np.ndarray, penalty: Penalty, order: np.ndarray, turns: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """Turns over the coordinates of A; also XB and B'B."""
    P, gram = half.products(B), np.dot(B.T, B)
    pull, curvature = penalized_products(P, gram, penalty)
    if half.sign:
        if half.sign > 0:
            curvature = curvature - gram
        return descend_rows(half, A, pull, curvature, B, order, turns, 0.0)[0], P, gram

    def piece(k: int, rows: slice) -> float:
        return sweep_blocks(A[rows], pull[rows], curvature, order, turns)

    return float(sum(half.each_span(piece))), P, gram


def penalized_products(P: np.ndarray, gram: np.ndarray, penalty: Penalty) -> tuple[np.ndarray, np.ndarray]:
    """XB less the slope of the L1 penalty, and B'B with the curvature of the L2 penalty."""
    pull = P - P.dtype.type(penalty.l1) if penalty.l1 else P
    if not penalty.l2:
        return pull, gram
    return pull, gram + np.eye(len(gram), dtype=gram.dtype) * gram.dtype.type(penalty.l2)


def sweep_coordinates(
    A: np.ndarray, P: np.ndarray, gram: np.ndarray, penalty: Penalty, order: np.ndarray, turns: int
) -> float:
    """`coordinate_descent` from XB and B'B, where nothing is missing."""
    return float(sweep_blocks(A, *penalized_products(P, gram, penalty), order, turns))


def descend_rows(
    half: Half, A: np.ndarray, P: np.ndarray, G: np.ndarray, B: np.ndarray, order: Any, turns: int, tol: float
) -> tuple[float, int, bool]:
    """`sweep_rows` on threads, or `solve_blocks` where nothing is missing."""

    def piece(k: int, rows: slice) -> tuple[float, int, bool]:
        if not half.sign:
            return solve_blocks(A[rows], P[rows], G, order, turns, tol)
        cells = half.indptr[rows.start : rows.stop + 1], half.indices, A.dtype.type(half.sign)
        return sweep_rows(A[rows], P[rows], G, B, *cells, order, turns, tol)

    found = half.each_span(piece)
    violations, turns_made, settled = zip(*found)
    return float(sum(violations)), max(turns_made), all(settled)


def multiplicative(half: Half, A: np.ndarray, B: np.ndarray, beta: float, penalty: Penalty) -> None:
    """A *= the quotient of the terms; where both are 0, A becomes 0."""
    multiply_by_terms(A, *half.terms(A, B, beta), beta, penalty)


def drop_tiny(A: np.ndarray) -> None:
    """Entries that are roundings beside the largest become 0."""
    A[np.finfo(np.float64).eps * A.max(initial=0.0) > A] = 0


def multiply_by_terms(
    A: np.ndarray, top: np.ndarray, bottom: np.ndarray, beta: float, penalty: Penalty
) -> None:
    """The multiplicative rule from its numerators and denominators."""
    bottom = penalized(bottom, A, penalty)
    factor = np.divide(top, bottom, out=np.zeros(A.shape, np.result_type(top, bottom)), where=bottom > 0)
    power = step_power(beta)
    A *= factor if power == 1 else factor**power


def penalized(bottom: np.ndarray, A: np.ndarray, penalty: Penalty) -> np.ndarray:
    """The denominator of a multiplicative rule with the slopes of the penalties."""
    if penalty.l1:
        bottom = bottom + penalty.l1
    return bottom + penalty.l2 * A if penalty.l2 else bottom


def step_power(beta: float) -> float:
    """The power of the quotient with which the loss cannot rise (Févotte and Idier, 2011)."""
    return 1 / (2 - beta) if beta < 1 else 1 / (beta - 1) if beta > 2 else 1.0


def projected_gradient(half: Half, A: np.ndarray, B: np.ndarray, penalty: Penalty) -> float:
    """A gradient step of the length 1 / Lipschitz constant, projected onto A >= 0: the loss cannot rise."""
    return descend_gradient(A, *half.terms(A, B, 2), np.dot(B.T, B), penalty)


def descend_gradient(
    A: np.ndarray, top: np.ndarray, bottom: np.ndarray, gram: np.ndarray, penalty: Penalty
) -> float:
    """The step of `projected_gradient` from XB, AB'B and B'B."""
    slope = penalized(bottom, A, penalty) - top
    steepest = float(np.linalg.eigvalsh(gram.astype(np.float64))[-1]) + penalty.l2
    violation = float(np.abs(np.where(A > 0, slope, np.minimum(slope, 0))).sum(dtype=np.float64))
    if steepest > 0:
        A[:] = np.maximum(A - slope / A.dtype.type(steepest), 0)
    return violation


def solve_rows(
    half: Half, B: np.ndarray, penalty: Penalty, order: np.ndarray, limit: int, tol: float
) -> tuple[np.ndarray, int, bool]:
    """Rows A that minimise ½|X - AB'|², each by itself; the most turns of one, and whether all converged."""
    A = np.zeros((half.X.shape[0], B.shape[1]), dtype=half.X.dtype)
    B = np.ascontiguousarray(B, dtype=A.dtype)
    with one_blas_thread():
        P = half.products(B) - A.dtype.type(penalty.l1)
        gram = np.dot(B.T, B) if half.sign <= 0 else np.zeros((B.shape[1],) * 2, B.dtype)
    gram = gram + np.eye(len(gram), dtype=gram.dtype) * gram.dtype.type(penalty.l2)
    return A, *descend_rows(half, A, P, gram, B, order, limit, tol)[1:]


def solve_rows_multiplicatively(
    half: Half,
    B: np.ndarray,
    beta: float,
    penalty: Penalty,
    limit: int,
    tol: float,
    *,
    rule: Literal["error", "change"] = "error",
) -> tuple[np.ndarray, int, bool]:
    """The same by multiplicative rules, from equal weights of the size of each row.

    A row is done when ten passes lower its error by less than tol times the first one, or, by the other rule, when
    a pass changes it by no more than tol times its size.
    """
    k = B.shape[1]
    known = half.X.shape[1] - (0 if half.missing is None else np.asarray(half.missing.sum(axis=1)).ravel())
    means = np.asarray(half.X.sum(axis=1, dtype=np.float64)).ravel() / known
    A = np.repeat(np.sqrt(means / k)[:, None], k, axis=1).astype(half.X.dtype)
    before = first = row_errors(half, A, B, beta) if rule == "error" else np.zeros(len(A))
    here, place, some, on = half, np.arange(len(A)), A.copy(), np.ones(len(A), dtype=bool)
    for count in range(1, limit + 1):
        earlier = some.copy() if rule == "change" else some
        multiplicative(here, some, B, beta, penalty)
        if beta < 1:
            some[some < np.finfo(np.float64).eps * some.max(axis=1, keepdims=True)] = 0
        A[place[on]] = some[on]
        if tol == 0 or (rule == "error" and count % 10):
            continue
        if rule == "error":
            error = row_errors(here, some, B, beta)
            on, before = on & (before - error >= tol * first), error
        else:
            change = np.linalg.norm(some - earlier, axis=1)
            on = on & (change > tol * np.linalg.norm(some, axis=1))
        if not on.any():
            return A, count, True
        if 2 * on.sum() < on.size:  # rows that are done cost time until they are left out
            here, place, some, before, first = here.some(on), place[on], some[on], before[on], first[on]
            on = np.ones(len(some), dtype=bool)
    return A, limit, tol == 0


def row_errors(half: Half, A: np.ndarray, B: np.ndarray, beta: float) -> np.ndarray:
    """√(2 D) of each row."""
    return np.sqrt(2 * np.maximum(half.row_losses(A, B, beta), 0.0))

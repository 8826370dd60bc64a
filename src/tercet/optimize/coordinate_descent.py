"""Coordinate descent (坐标下降) for least squares under an L1 and an L2 penalty.

    min over w, b of  sum_i s_i (y_i - x_i.w - b)^2 / 2  +  l1 sum |w_j|  +  l2 sum w_j^2 / 2,   sum_i s_i = 1

A working set holds the columns that the solution needs and a few more. Inside it the sweeps use the Gram matrix,
and once the signs are stable the minimum solves a linear system. Columns that violate the optimality condition
|x_j.r| <= l1 are added to the set, until the duality gap is small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method
from tercet.core.kernel import inner, kernel
from tercet.core.parallel import one_blas_thread
from tercet.core.rows import columns, row_add, row_dot, row_square
from tercet.core.steps import Steps
from tercet.optimize.least_squares import LeastSquares

__all__ = ["coordinate_descent", "elastic_net_duality_gap"]

INITIAL_SIZE = 300  # of the working set; with no more columns than that it holds all of them
MAX_SIZE = 3000  # of the working set: beyond it the Gram matrix costs more than it saves
BATCH = 10  # sweeps between two checks of the signs
INNER_TOLERANCE = 0.1  # of the tolerance, for the gap inside the working set
ROUND_PRODUCTS = (
    2e8  # multiplications per round, a fraction of a second: then it reports and can be interrupted
)
STATIONARY = 1e-12  # largest change of a coordinate that counts as none, in units of y's standard deviation

Order = Callable[[int], np.ndarray]


@method(
    zh="坐标下降",
    task="optimisation",
    model="w, sparse",
    strategy="mean squared error / 2 + l1 |w|_1 + l2 |w|^2 / 2",
    algorithms="one coordinate at a time, in closed form, inside a growing working set",
    texts=["002 ch. 10, eq. 10.7", "001 ch. 4, sec. 4.4.2"],
    peers=["sklearn.linear_model.enet_path", "skglm.solvers.AndersonCD"],
)
def coordinate_descent(
    problem: LeastSquares,
    *,
    l1: float,
    l2: float = 0.0,
    start: ArrayLike | None = None,
    positive: bool = False,
    tol: float = 1e-4,
    max_iter: int = 1000,
    order: Order = np.arange,
    steps: Callable[..., Steps] = Steps,
) -> OptimizeResult:
    """Coordinate descent for least squares with an L1 and an L2 penalty (lasso, elastic net).

    Parameters
    ----------
    problem : LeastSquares
        The data; its Gram matrix is reused by later calls.
    l1, l2 : float
        Weights of sum |w_j| and of sum w_j^2 / 2 (the data term is a mean of squares, halved).
    start : array of shape (n_features,), optional
        Initial w.
    positive : bool, default=False
        Whether to constrain coordinates to w_j >= 0.
    tol : float, default=1e-4
        Stop when the duality gap is at most tol times the value at w = 0.
    max_iter : int, default=1000
        Maximum number of rounds, and of sweeps in each (fewer where sweeps are long).
    order : callable, default=np.arange
        Function from a number of coordinates to the order of a sweep.
    steps : callable, optional
        Makes the loop (see `core.steps`); its state is the pair (w, b).

    Returns
    -------
    result : OptimizeResult
        x, intercept, fun, gap, nit, success, message.

    Examples
    --------
    >>> X = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    >>> problem = LeastSquares(X, np.array([3.6, 2.4, -4.4, -1.6]), fit_intercept=False)
    >>> coordinate_descent(problem, l1=0.3).x.round(10)
    array([ 2.7, -0.1,  0.7])
    """
    w = np.zeros(problem.n_features) if start is None else np.array(start, dtype=np.float64)
    if positive:
        w = np.maximum(w, 0.0)
    loop = steps(max_iter, hint="Raise max_iter or tol, or scale the features.")
    with one_blas_thread():  # short vectors, maybe inside our own threads
        return _working_set_rounds(problem, w, float(l1), float(l2), positive, tol, order, loop)


def _working_set_rounds(
    problem: Any, w: Any, l1: Any, l2: Any, positive: Any, tol: Any, order: Any, loop: Any
) -> OptimizeResult:
    """Rounds of the working set method: solve inside it, check all columns, add the worst violators."""
    result = OptimizeResult(x=w, nit=0, success=False)
    without_gram: _ResidualSolver | None = None
    for step in loop:
        if without_gram is None:
            new = candidates(problem, w, l1, positive)
            if problem.index.size + new.size > MAX_SIZE and not problem.complete:
                problem.drop_zero_columns(w)
            if problem.index.size + new.size > MAX_SIZE and not problem.complete:
                without_gram = _ResidualSolver(problem, w)
            else:
                problem.add_columns(new)
        if without_gram is not None:
            w, stationary = without_gram.solve(l1, l2, positive, order)
        else:
            w, stationary = solve_working_set(problem, w, l1, l2, positive, tol, loop.limit, order)
        correlations, square = problem.residual_correlations(w)
        gap, loss = elastic_net_duality_gap(w, correlations, square, l1, l2, positive)
        b = problem.intercept(w)
        step.report((w, b), loss=loss, gap=gap, nonzero=np.count_nonzero(w))
        # At the limit of floating point the gap can be no smaller.
        exact = stationary and (
            without_gram is not None or not violators(problem, correlations, l1, positive).size
        )
        enough = gap <= tol * problem.target_square / 2
        message = "The duality gap is small enough." if enough else "No coordinate can be improved."
        result.update(
            x=w, intercept=b, fun=loss, gap=gap, nit=step.count, success=enough or exact, message=message
        )
        if step.converged(result.success):
            break
    if not result.success:
        result.message = f"The duality gap is still {result.gap:.3g} after {result.nit} rounds."
    return result


def elastic_net_duality_gap(
    w: np.ndarray, correlations: np.ndarray, square: float, l1: float, l2: float = 0.0, positive: bool = False
) -> tuple[float, float]:
    """Duality gap of the elastic net at w, a bound on its distance from the minimum, and the value at w.

    Parameters
    ----------
    w : array of shape (n_features,)
        Coordinates.
    correlations, square : array of shape (n_features,), float
        Correlations of the residual r with the columns, and its mean square
        (`LeastSquares.residual_correlations`).
    l1, l2, positive
        The penalty.

    Returns
    -------
    gap, value : float

    Examples
    --------
    >>> elastic_net_duality_gap(np.zeros(1), np.array([2.0]), 5.0, l1=4.0)
    (0.0, 2.5)
    """
    ridge = l2 * (w @ w)
    value = square / 2 + l1 * np.abs(w).sum() + ridge / 2
    along = square + w @ correlations  # y.r
    # Dual point 1: the best feasible multiple of the residual, the L2 part written as extra rows of data ...
    gradient = correlations - l2 * w
    largest = gradient.max(initial=0.0) if positive else np.abs(gradient).max(initial=0.0)
    bound = l1 / largest if largest > 0 else np.inf
    scale = min(along / (square + ridge), bound) if square + ridge > 0 else 0.0
    dual = scale * along - scale**2 / 2 * (square + ridge)
    if l2 > 0:  # ... or 2: the residual itself, which is feasible with an L2 part
        excess = np.maximum((correlations if positive else np.abs(correlations)) - l1, 0.0)
        dual = max(dual, along - square / 2 - excess @ excess / (2 * l2))
    return float(max(value - dual, 0.0)), float(value)


def violators(problem: LeastSquares, correlations: np.ndarray, l1: float, positive: bool) -> np.ndarray:
    """Columns outside the working set that violate the optimality condition |x_j.r| <= l1."""
    size = correlations if positive else np.abs(correlations)
    return np.flatnonzero(~problem.in_working_set & (size > l1 * (1 + 1e-12)))


def candidates(problem: LeastSquares, w: np.ndarray, l1: float, positive: bool) -> np.ndarray:
    """Columns to add: the worst violators, about as many as are nonzero; all columns when they are few."""
    if problem.n_features <= INITIAL_SIZE:
        return np.flatnonzero(~problem.in_working_set)
    missing = np.flatnonzero((w != 0) & ~problem.in_working_set)
    if missing.size:  # nonzero in a warm start
        return missing
    correlations, _ = problem.residual_correlations(w)
    new = violators(problem, correlations, l1, positive)
    most = max(INITIAL_SIZE, int(np.count_nonzero(w)))
    if new.size > most:
        worst = np.argpartition(-np.abs(correlations[new]), most)[:most]
        new = np.sort(new[worst])
    return new


def solve_working_set(
    problem: LeastSquares, w: np.ndarray, l1: Any, l2: Any, positive: Any, tol: Any, limit: Any, order: Any
) -> tuple[np.ndarray, bool]:
    """Minimise over the working set; also returns whether the last sweep changed no coordinate."""
    index, gram = problem.index, problem.gram
    moment, inside = problem.target_correlations[index], w[index]
    tolerance, done, signs = STATIONARY * np.sqrt(problem.target_square), False, np.zeros(0)
    correlations = moment - gram @ inside
    limit = min(limit, max(BATCH, int(ROUND_PRODUCTS / max(index.size**2, 1e4))))
    for begin in range(0, limit, BATCH):
        orders = np.stack([order(index.size) for _ in range(min(BATCH, limit - begin))])
        done = sweep(gram, orders, inside, correlations, l1, l2, positive, tolerance)
        square = max(problem.target_square - inside @ (moment + correlations), 0.0)
        gap, _ = elastic_net_duality_gap(inside, correlations, square, l1, l2, positive)
        before, signs = signs, np.sign(inside)
        if done or gap <= INNER_TOLERANCE * tol * problem.target_square / 2:
            break
        if np.array_equal(before, signs):
            solve_with_fixed_signs(gram, moment, inside, correlations, l1, l2)
    w = np.zeros_like(w)
    w[index] = inside
    return w, done


@inner
def coordinate_minimum(partial: Any, square: Any, l1: Any, l2: Any, positive: Any) -> Any:
    """Minimiser of square w^2 / 2 - partial w + l1 |w| + l2 w^2 / 2, by soft thresholding."""
    if partial > l1:
        return (partial - l1) / (square + l2)
    if partial < -l1 and not positive:
        return (partial + l1) / (square + l2)
    return 0.0


@kernel
def sweep(
    gram: Any, orders: Any, w: Any, correlations: Any, l1: Any, l2: Any, positive: Any, tolerance: Any
) -> Any:
    """Coordinate descent passes over the working set, with the correlations of the residual kept up to date."""
    for order in orders:
        largest = 0.0
        for j in order:
            square = gram[j, j]  # of column j
            if square + l2 <= 0.0:
                continue
            partial = correlations[j] + square * w[j]  # correlation with the residual without column j
            new = coordinate_minimum(partial, square, l1, l2, positive)
            move = new - w[j]
            if move != 0.0:
                row = gram[j]
                for k in range(row.size):
                    correlations[k] -= move * row[k]
                w[j] = new
                largest = max(largest, abs(move) * np.sqrt(square))
        if largest <= tolerance:
            return True
    return False


def solve_with_fixed_signs(
    gram: np.ndarray, moment: np.ndarray, w: np.ndarray, correlations: np.ndarray, l1: float, l2: float
) -> None:
    """Newton step on the nonzero coordinates with their signs fixed, cut where the first of them reaches zero."""
    active = np.flatnonzero(w)
    hessian = gram[np.ix_(active, active)]
    hessian[np.diag_indices_from(hessian)] += l2
    descent = correlations[active] - l2 * w[active] - l1 * np.sign(w[active])  # -gradient
    try:
        direction = linalg.cho_solve(linalg.cho_factor(hessian, lower=True, overwrite_a=True), descent)
    except linalg.LinAlgError:  # linearly dependent columns, which the sweeps can handle
        return
    change = direction @ gram[active]
    curvature = direction @ (change[active] + l2 * direction)
    if not (descent @ direction > 0 and curvature > 0):
        return
    step = min(1.0, descent @ direction / curvature)
    with np.errstate(divide="ignore", invalid="ignore"):
        to_zero = np.where(direction * w[active] < 0, -w[active] / direction, np.inf)
    first = int(np.argmin(to_zero))
    step = min(step, to_zero[first])
    w[active] += step * direction
    if step == to_zero[first]:
        w[active[first]] = 0.0
    correlations[:] = moment - gram @ w


class _ResidualSolver:
    """Coordinate descent without a Gram matrix, for very many nonzero coordinates; it updates the residual.

    Columns are centred implicitly, so that sparse ones stay sparse: centring shifts the residual by a constant,
    `shift`, which a change of coordinate j changes by the mean of column j.
    """

    def __init__(self, problem: LeastSquares, w: np.ndarray) -> None:
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
            if largest <= tolerance:
                break
            active = np.flatnonzero(self.w)
            largest = sweep_columns(*parts, active[order(active.size)], *state)
        return self.w.copy(), done


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

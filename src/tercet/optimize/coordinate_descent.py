"""Coordinate descent (坐标下降) for least squares under an L1 and an L2 penalty.

    min over w, b of  sum_i s_i (y_i - x_i.w - b)^2 / 2  +  l1 sum |w_j|  +  l2 sum w_j^2 / 2,   sum_i s_i = 1

A working set holds the columns that the solution needs and a few more. Inside it the sweeps use the Gram matrix,
and once the signs are stable the minimum solves a linear system. Columns that violate the optimality condition
|x_j.r| <= l1 are added to the set, until the duality gap is small.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method
from tercet.core.kernel import kernel
from tercet.core.parallel import one_blas_thread
from tercet.core.steps import Steps
from tercet.core.stopping import check_stop
from tercet.optimize.elastic_net_duality_gap import elastic_net_duality_gap, gap_and_value
from tercet.optimize.least_squares import LeastSquares
from tercet.optimize.residual_solver import BATCH, STATIONARY, ResidualSolver, coordinate_minimum

__all__ = ["coordinate_descent"]

INITIAL_SIZE = 300  # of the working set; with no more columns than that it holds all of them or none
MAX_SIZE = 3000  # of the working set: beyond it the Gram matrix costs more than it saves
INNER_TOLERANCE = 0.1  # of the tolerance, for the gap inside the working set
ROUND_PRODUCTS = (
    2e8  # multiplications per round, a fraction of a second: then it reports and can be interrupted
)
ROUNDING = 1e-14  # a gap, in units of y's variance, that may be rounding alone
HUGE = 1e250  # a strength of the penalty beyond which nothing changes
HINT = (
    "Objective did not converge. You might want to increase the number of iterations, raise tol or scale the "
    "features."
)
CHEAP = 128  # columns of a working set for which a Newton step costs next to nothing
EXACT = 1e-10  # of the tolerance: a gap that leaves nothing to polish
SERIAL = 64  # columns of a working set whose products BLAS gives to one thread in any case
DEPENDENT = 1e-10  # ridge, as a share of the mean diagonal, on the Hessian of linearly dependent columns

Order = Callable[[int], np.ndarray]


@method(
    zh="坐标下降",
    task="optimisation",
    model="w, sparse",
    strategy="mean squared error / 2 + l1 |w|_1 + l2 |w|^2 / 2",
    algorithms="one coordinate at a time, in closed form, inside a growing working set",
    texts=["watermelon notes ch. 10, eq. 10.7", "Machine Learning in Depth ch. 4, sec. 4.4.2"],
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
    # From here on in the units of the problem, which are not 1 where squares of the data would not be numbers.
    w_unit = problem.y_unit / problem.x_unit
    w = np.zeros(problem.n_features) if start is None else np.array(start, dtype=np.float64) / w_unit
    if positive:
        w = np.maximum(w, 0.0)
    strengths = np.array([l1, l2], dtype=np.float64) / problem.x_unit
    with np.errstate(over="ignore"):
        strengths = np.minimum(strengths / [problem.y_unit, problem.x_unit], 2 * HUGE)
    if strengths[1] > HUGE:
        raise ValueError(
            f"X has values of size {problem.x_unit:.3g} at most, too small beside an L2 penalty of {l2:.3g}. Scale "
            "the features."
        )
    penalty = float(strengths[0]), float(strengths[1]), bool(positive)
    loop = steps(max_iter, hint=HINT)
    alone = problem.n_features <= SERIAL
    with (
        contextlib.nullcontext() if alone else one_blas_thread()
    ):  # short vectors, maybe inside our own threads
        return _working_set_rounds(problem, w, penalty, tol, order, loop)


def _working_set_rounds(
    problem: Any, w: Any, penalty: Any, tol: Any, order: Any, loop: Any
) -> OptimizeResult:
    """Rounds of the working set method: solve inside it, check all columns, add the worst violators."""
    l1, l2, positive = penalty
    result = OptimizeResult(x=w, nit=0, success=False)
    without_gram: ResidualSolver | None = None
    for step in loop:
        if without_gram is None and not problem.complete:
            new = candidates(problem, w, l1, positive)
            if problem.index.size + new.size > MAX_SIZE:
                problem.drop_zero_columns(w)
            if problem.index.size + new.size > MAX_SIZE:
                without_gram = ResidualSolver(problem, w)
            else:
                problem.add_columns(new)
        if without_gram is not None:
            w, end = without_gram.solve(l1, l2, positive, order)
        else:
            w, end = solve_working_set(problem, w, penalty, tol, loop.limit, order)
        correlations, square = problem.residual_correlations(w)
        gap, loss = elastic_net_duality_gap(w, correlations, square, l1, l2, positive)
        found = _in_units_of_the_data(problem, w, gap, loss)
        step.report(
            (found["x"], found["intercept"]), loss=found["fun"], gap=found["gap"], nonzero=np.count_nonzero(w)
        )
        enough = gap <= tol * problem.target_square / 2
        stationary = end != "" and (
            without_gram is not None or not violators(problem, correlations, l1, positive).size
        )
        # At the limit of floating point the gap can be no smaller, and without a penalty it says nothing.
        exact = stationary and (end == "polished" or l1 == l2 == 0 or gap <= ROUNDING * problem.target_square)
        message = "The duality gap is small enough." if enough else "No coordinate can be improved."
        result.update(found, nit=step.count, success=enough or exact, message=message)
        if step.converged(result.success):
            break
        if stationary:
            loop.warn("stopped where no coordinate can be improved by floating point numbers")
            break
    if not result.success:
        result.message = f"The duality gap is still {result.gap:.3g} after {result.nit} rounds."
    return result


def _in_units_of_the_data(problem: LeastSquares, w: np.ndarray, gap: float, loss: float) -> dict[str, Any]:
    """A solution as the caller knows the data, or an error where its coefficients are no numbers."""
    x_unit, y_unit = problem.x_unit, problem.y_unit
    if x_unit == y_unit == 1.0:
        return {"x": w, "intercept": problem.intercept(w), "gap": gap, "fun": loss}
    with np.errstate(over="ignore"):
        x, intercept = w / x_unit * y_unit, float(np.float64(problem.intercept(w)) * y_unit)
        gap, loss = (float(np.float64(value) * y_unit * y_unit) for value in (gap, loss))
    if not (np.isfinite(x).all() and np.isfinite(intercept)):
        raise ValueError(
            f"The solution is beyond the largest floating point number: X has values of size {x_unit:.3g}, "
            f"y of size {y_unit:.3g}. Scale X or y."
        )
    return {"x": x, "intercept": intercept, "gap": gap, "fun": loss}


def violators(problem: LeastSquares, correlations: np.ndarray, l1: float, positive: bool) -> np.ndarray:
    """Columns outside the working set that violate the optimality condition |x_j.r| <= l1."""
    size = correlations if positive else np.abs(correlations)
    return np.flatnonzero(~problem.in_working_set & (size > l1 * (1 + 1e-12)))


def candidates(problem: LeastSquares, w: np.ndarray, l1: float, positive: bool) -> np.ndarray:
    """Columns to add: the worst violators, about as many as are nonzero; all columns when they are few."""
    if problem.n_features <= INITIAL_SIZE:
        none = not w.any() and not violators(problem, problem.target_correlations, l1, positive).size
        return np.flatnonzero(~problem.in_working_set & (not none))
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
    problem: LeastSquares, w: np.ndarray, penalty: Any, tol: Any, limit: Any, order: Any
) -> tuple[np.ndarray, str]:
    """Minimise over the working set.

    Also returns "stationary" when the last sweep changed no coordinate, "polished" when a Newton step came before
    it, and "" when the gap is small enough or there were too many sweeps.
    """
    l1, l2, positive = penalty
    index, gram = problem.index, problem.gram
    moment, inside = problem.target_correlations[index], w[index]
    # where the residual is rounding alone, a bound of it
    floor = 4 * np.finfo(np.float64).eps * problem.target_square
    stop = (
        STATIONARY * np.sqrt(problem.target_square),
        INNER_TOLERANCE * tol * problem.target_square / 2,
        floor,
    )
    end, signs = "", np.zeros(0)
    correlations = moment - gram @ inside
    limit = min(limit, max(BATCH, int(ROUND_PRODUCTS / max(index.size**2, 1e4))))
    cyclic = np.arange(index.size)[None] if order is np.arange else None
    polished = False
    for begin in range(0, limit, BATCH):
        check_stop()
        sweeps = min(BATCH, limit - begin)
        orders = np.stack([order(index.size) for _ in range(sweeps)]) if cyclic is None else cyclic
        done, gap = sweep(
            gram, orders, sweeps, moment, problem.target_square, inside, correlations, l1, l2, positive, *stop
        )
        if gap <= stop[1]:
            if index.size <= CHEAP and gap > EXACT * stop[1]:  # one more step, mostly to the exact solution
                solve_with_fixed_signs(gram, moment, inside, correlations, l1, l2)
            break
        before, signs = signs, np.sign(inside)
        if done and polished:
            end = "polished"
            break
        polished = False
        if done or np.array_equal(before, signs):
            polished = solve_with_fixed_signs(gram, moment, inside, correlations, l1, l2)
        if done and not polished:
            end = "stationary"
            break
    w = np.zeros_like(w)
    w[index] = inside
    return w, end


@kernel
def sweep(
    gram: Any,
    orders: Any,
    sweeps: Any,
    moment: Any,
    target_square: Any,
    w: Any,
    correlations: Any,
    l1: Any,
    l2: Any,
    positive: Any,
    tolerance: Any,
    goal: Any,
    floor: Any,
) -> Any:
    """Coordinate descent passes over the working set, with the correlations of the residual kept up to date.

    Returns whether a pass changed no coordinate, and the duality gap.
    """
    done, gap = False, np.inf
    for s in range(sweeps):
        order = orders[s % orders.shape[0]]
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
        done = largest <= tolerance
        # short sweeps are not worth a look at the gap after each
        if done or s == sweeps - 1 or w.size > SERIAL:
            fitted = 0.0
            for j in range(w.size):
                fitted += w[j] * (moment[j] + correlations[j])
            square = max(target_square - fitted, floor)
            gap = gap_and_value(w, correlations, square, l1, l2, positive)[0]
            if done or gap <= goal:
                break
    return done, gap


def solve_with_fixed_signs(
    gram: np.ndarray, moment: np.ndarray, w: np.ndarray, correlations: np.ndarray, l1: float, l2: float
) -> bool:
    """Newton step on the nonzero coordinates with their signs fixed, cut where the first of them reaches zero.

    Of linearly dependent columns, which have no Newton step, a slight ridge makes one of those that lead down their
    null space: until the first is at zero, and one dependent column less is left.

    Returns whether the columns were independent.
    """
    correlations[:] = moment - gram @ w  # without the rounding of many small changes
    active = np.flatnonzero(w)
    if not active.size:
        return True
    hessian = gram.copy() if active.size == w.size else gram[np.ix_(active, active)]
    hessian.flat[:: active.size + 1] += l2
    descent = correlations[active] - l2 * w[active] - l1 * np.sign(w[active])  # -gradient
    _, direction, dependent = linalg.lapack.dposv(hessian, descent, lower=True)
    if dependent:
        hessian.flat[:: active.size + 1] += DEPENDENT * hessian.trace() / active.size
        _, direction, singular = linalg.lapack.dposv(hessian, descent, lower=True)
        if singular:
            return False
    change = direction @ gram[active]
    curvature = direction @ (change[active] + l2 * direction)
    if not (descent @ direction > 0 and curvature > 0):
        return not dependent and not descent.any()
    step = min(1.0, descent @ direction / curvature)
    with np.errstate(divide="ignore", invalid="ignore"):
        to_zero = np.where(direction * w[active] < 0, -w[active] / direction, np.inf)
    first = int(np.argmin(to_zero))
    step = min(step, to_zero[first])
    w[active] += step * direction
    if step == to_zero[first]:
        w[active[first]] = 0.0
    correlations[:] = moment - gram @ w
    return not dependent

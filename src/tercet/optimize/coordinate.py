"""Coordinate descent (坐标下降) for least squares under an L1 and an L2 penalty.

    min over w, b of  sum_i s_i (y_i - x_i.w - b)^2 / 2  +  l1 sum |w_j|  +  l2 sum w_j^2 / 2,   sum_i s_i = 1

A working set holds the columns that the solution needs and a few more. Inside it a sweep works on the Gram
matrix and costs as much as it changes, and once the signs stand still the minimum is a linear system. Columns
that break the optimality condition |x_j.r| <= l1 then join the set, until the duality gap is small.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method
from tercet.core.kernel import kernel
from tercet.core.parallel import one_blas_thread
from tercet.core.rows import columns, row_add, row_dot, row_square
from tercet.core.steps import Steps
from tercet.optimize.squares import LeastSquares

__all__ = ["LeastSquares", "coordinate_descent", "duality_gap"]

FIRST = 300  # columns in the first working set; with no more than that, all of them
LARGEST = 3000  # beyond this many columns the Gram matrix costs more than it saves
BATCH = 10  # sweeps between two looks at the signs
SHARE = 0.1  # of the tolerance, for the gap inside the working set
WORK = 2e8  # products in one round, a fraction of a second: then it reports, and Ctrl-C keeps what it found
STILL = 1e-12  # a largest move this small, in units of y's deviation, is none

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
    """Minimise a penalised sum of squares, one coordinate at a time.

    Parameters
    ----------
    problem : LeastSquares
        The data; what one call learned of it serves the next.
    l1, l2 : float
        Weights of sum |w_j| and of sum w_j^2 / 2 (the data term is a mean of squares, halved).
    start : array of shape (n_features,), optional
        Where to begin.
    positive : bool, default=False
        Whether coordinates must not be negative.
    tol : float, default=1e-4
        Stop when the duality gap is at most this share of the value at w = 0.
    max_iter : int, default=1000
        The most rounds, and the most sweeps in each (a round of long sweeps makes fewer).
    order : callable, default=np.arange
        Given a number of coordinates, the order to visit them in; asked for every sweep.
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
    with one_blas_thread():  # the vectors are short, and threads of ours may be at work
        return _rounds(problem, w, float(l1), float(l2), positive, tol, order, loop)


def _rounds(problem, w, l1, l2, positive, tol, order, loop) -> OptimizeResult:
    """Solve on the working set, look at all columns, let the worst offenders in."""
    result = OptimizeResult(x=w, nit=0, success=False)
    wide: Wide | None = None
    for step in loop:
        if wide is None:
            new = candidates(problem, w, l1, positive)
            if problem.index.size + new.size > LARGEST and not problem.complete:
                problem.keep(w)
            if problem.index.size + new.size > LARGEST and not problem.complete:
                wide = Wide(problem, w)
            else:
                problem.add(new)
        if wide is not None:
            w, still = wide.descend(l1, l2, positive, order)
        else:
            w, still = descend(problem, w, l1, l2, positive, tol, loop.limit, order)
        slope, square = problem.look(w)
        gap, loss = duality_gap(w, slope, square, l1, l2, positive)
        b = problem.intercept(w)
        step.report((w, b), loss=loss, gap=gap, nonzero=np.count_nonzero(w))
        # At the limit of the floats the gap can be no smaller.
        exact = still and (wide is not None or not violators(problem, slope, l1, positive).size)
        enough = gap <= tol * problem.size / 2
        message = "The duality gap is small enough." if enough else "No coordinate can be improved."
        result.update(
            x=w, intercept=b, fun=loss, gap=gap, nit=step.count, success=enough or exact, message=message
        )
        if step.converged(result.success):
            break
    if not result.success:
        result.message = f"The duality gap is still {result.gap:.3g} after {result.nit} rounds."
    return result


def duality_gap(
    w: np.ndarray, slope: np.ndarray, square: float, l1: float, l2: float = 0.0, positive: bool = False
) -> tuple[float, float]:
    """How far the value at w can be from the minimum, and the value.

    Parameters
    ----------
    w : array of shape (n_features,)
        Coordinates.
    slope, square : array of shape (n_features,), float
        Correlations of the residual r with the columns, and its mean square (`LeastSquares.look`).
    l1, l2, positive
        The penalty.

    Returns
    -------
    gap, value : float

    Examples
    --------
    >>> duality_gap(np.zeros(1), np.array([2.0]), 5.0, l1=4.0)
    (0.0, 2.5)
    """
    ridge = l2 * (w @ w)
    value = square / 2 + l1 * np.abs(w).sum() + ridge / 2
    along = square + w @ slope  # y.r
    # The best multiple of the residual that is feasible when the L2 part is written as extra rows of data ...
    pull = slope - l2 * w
    top = pull.max(initial=0.0) if positive else np.abs(pull).max(initial=0.0)
    bound = l1 / top if top > 0 else np.inf
    scale = min(along / (square + ridge), bound) if square + ridge > 0 else 0.0
    dual = scale * along - scale**2 / 2 * (square + ridge)
    if l2 > 0:  # ... or the residual itself, which an L2 part always makes feasible
        over = np.maximum((slope if positive else np.abs(slope)) - l1, 0.0)
        dual = max(dual, along - square / 2 - over @ over / (2 * l2))
    return float(max(value - dual, 0.0)), float(value)


def violators(problem: LeastSquares, slope: np.ndarray, l1: float, positive: bool) -> np.ndarray:
    """Columns outside the working set whose coordinate would leave zero."""
    pull = slope if positive else np.abs(slope)
    return np.flatnonzero(~problem.inside & (pull > l1 * (1 + 1e-12)))


def candidates(problem: LeastSquares, w: np.ndarray, l1: float, positive: bool) -> np.ndarray:
    """The columns to add: the worst violators, about as many as are in use; all when they are few."""
    if problem.n_features <= FIRST:
        return np.flatnonzero(~problem.inside)
    strangers = np.flatnonzero((w != 0) & ~problem.inside)
    if strangers.size:  # a start from elsewhere
        return strangers
    slope, _ = problem.look(w)
    new = violators(problem, slope, l1, positive)
    room = max(FIRST, int(np.count_nonzero(w)))
    if new.size > room:
        worst = np.argpartition(-np.abs(slope[new]), room)[:room]
        new = np.sort(new[worst])
    return new


def descend(
    problem: LeastSquares, w: np.ndarray, l1, l2, positive, tol, limit, order
) -> tuple[np.ndarray, bool]:
    """Minimise over the working set; also says whether nothing moves any more."""
    index, gram = problem.index, problem.gram
    moment, inside = problem.first[index], w[index]
    still, done, signs = STILL * np.sqrt(problem.size), False, np.zeros(0)
    slope = moment - gram @ inside
    limit = min(limit, max(BATCH, int(WORK / max(index.size**2, 1e4))))
    for begin in range(0, limit, BATCH):
        orders = np.stack([order(index.size) for _ in range(min(BATCH, limit - begin))])
        done = sweep(gram, orders, inside, slope, l1, l2, positive, still)
        square = max(problem.size - inside @ (moment + slope), 0.0)
        gap, _ = duality_gap(inside, slope, square, l1, l2, positive)
        before, signs = signs, np.sign(inside)
        if done or gap <= SHARE * tol * problem.size / 2:
            break
        if np.array_equal(before, signs):
            jump(gram, moment, inside, slope, l1, l2)
    w = np.zeros_like(w)
    w[index] = inside
    return w, done


@kernel
def sweep(gram, orders, w, slope, l1, l2, positive, still):
    """Passes over the coordinates of the working set; `slope` is what the residual still owes each of them."""
    for order in orders:
        largest = 0.0
        for j in order:
            curve = gram[j, j]
            if curve + l2 <= 0.0:
                continue
            pull = slope[j] + curve * w[j]
            if pull > l1:
                new = (pull - l1) / (curve + l2)
            elif pull < -l1 and not positive:
                new = (pull + l1) / (curve + l2)
            else:
                new = 0.0
            move = new - w[j]
            if move != 0.0:
                row = gram[j]
                for k in range(row.size):
                    slope[k] -= move * row[k]
                w[j] = new
                largest = max(largest, abs(move) * np.sqrt(curve))
        if largest <= still:
            return True
    return False


def jump(
    gram: np.ndarray, moment: np.ndarray, w: np.ndarray, slope: np.ndarray, l1: float, l2: float
) -> None:
    """With signs held, go to the minimum of the quadratic, or as far as the first coordinate to reach zero."""
    alive = np.flatnonzero(w)
    inner = gram[np.ix_(alive, alive)]
    inner[np.diag_indices_from(inner)] += l2
    down = slope[alive] - l2 * w[alive] - l1 * np.sign(w[alive])
    try:
        way = linalg.cho_solve(linalg.cho_factor(inner, lower=True, overwrite_a=True), down)
    except linalg.LinAlgError:  # columns that depend on one another; the sweeps do not mind
        return
    change = way @ gram[alive]
    bend = way @ (change[alive] + l2 * way)
    if not (down @ way > 0 and bend > 0):
        return
    step = min(1.0, down @ way / bend)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(way * w[alive] < 0, -w[alive] / way, np.inf)
    first = int(np.argmin(reach))
    step = min(step, reach[first])
    w[alive] += step * way
    if step == reach[first]:
        w[alive[first]] = 0.0
    slope[:] = moment - gram @ w


class Wide:
    """The same without a Gram matrix, for solutions with very many coordinates: the residual is kept up to date.

    Columns keep their means. What the missing centring adds to the residual is a constant, `level`, which a
    move of coordinate j changes by its mean: a sparse column stays sparse.
    """

    def __init__(self, problem: LeastSquares, w: np.ndarray) -> None:
        self.problem, self.w = problem, w.copy()
        problem.find_means(np.arange(problem.n_features))
        X, share, residual = problem.X, problem.share, problem.target - problem.X @ w
        self.level = np.array([share @ residual if problem.fit_intercept else 0.0])
        self.factor = share[0]
        if share.min() < share.max():  # rows scaled by the roots of their shares count as they should
            root = np.sqrt(share)
            X = sparse.diags_array(root).tocsr() @ X if sparse.issparse(X) else X * root[:, None]
            residual, self.factor = root * residual, 1.0
        self.columns, self.residual = columns(X), residual
        squares = np.empty(problem.n_features)
        lengths(self.columns, squares)
        self.curve = np.maximum(self.factor * squares - problem.mean**2, 0.0)

    def descend(self, l1, l2, positive, order):
        """One sweep over all coordinates and a few over those in use."""
        still, parts = STILL * np.sqrt(self.problem.size), (self.columns, self.factor, self.problem.mean)
        state = (self.curve, self.w, self.residual, self.level, l1, l2, positive)
        largest = sweep_columns(*parts, order(self.w.size), *state)
        done = largest <= still
        for _ in range(BATCH):
            if largest <= still:
                break
            alive = np.flatnonzero(self.w)
            largest = sweep_columns(*parts, alive[order(alive.size)], *state)
        return self.w.copy(), done


@kernel
def lengths(columns, out):
    for j in range(out.size):
        out[j] = row_square(columns, j)


@kernel
def sweep_columns(columns, factor, mean, order, curve, w, residual, level, l1, l2, positive):
    """One pass over some coordinates; returns the largest move."""
    largest = 0.0
    for j in order:
        if curve[j] + l2 <= 0.0:
            continue
        pull = factor * row_dot(columns, j, residual) - mean[j] * level[0] + curve[j] * w[j]
        if pull > l1:
            new = (pull - l1) / (curve[j] + l2)
        elif pull < -l1 and not positive:
            new = (pull + l1) / (curve[j] + l2)
        else:
            new = 0.0
        move = new - w[j]
        if move != 0.0:
            row_add(columns, j, -move, residual)
            level[0] -= move * mean[j]
            w[j] = new
            largest = max(largest, abs(move) * np.sqrt(curve[j]))
    return largest

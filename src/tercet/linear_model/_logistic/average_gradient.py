"""SAG and SAGA for logistic regression: stochastic average gradients (随机平均梯度), for dense and sparse rows.

`average_gradient_pass` of the page is the plain form. Here a feature that a sparse row does not have is not
touched: it gets the steps that it has missed when a row needs it next, all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.kernel import implement, inner, kernel, verb
from tercet.core.rows import Dense, row_add, row_dot, row_square, rows
from tercet.core.steps import Steps
from tercet.linear_model._logistic.logistic_objective import LogisticObjective
from tercet.linear_model._logistic.row_loss import loss_and_slope
from tercet.linear_model._logistic.stochastic_gradient import from_hyperplanes, to_hyperplanes

Array = np.ndarray


class AverageGradient:
    """State of SAG and SAGA: hyperplanes, each row's remembered slopes, the sum of the remembered gradients.

    The problem is 1/n sum_i s_i L_i + λ/2 |w|^2 + β |w|_1 over the n rows that have a weight s_i above 0.

    Parameters
    ----------
    objective : LogisticObjective
    theta : array
        The start, at which all gradients are remembered.
    l1 : float
        The strength of the L1 penalty of the mean objective.
    saga : bool
        Whether the steps are those of SAGA, which are unbiased.
    """

    def __init__(self, objective: LogisticObjective, theta: Array, l1: float, saga: bool) -> None:
        o, self.saga = objective, saga
        self.objective, self.data = o, rows(o.X)
        self.weight = np.ones(o.y.size) if o.weight is None else o.weight.astype(np.float64)
        self.kept = np.flatnonzero(self.weight > 0)
        n = self.kept.size
        self.lam, self.beta = o.l2 * o.mass / n, l1 * o.mass / n
        bound = 0.25 if o.n_planes == 1 else 0.5  # of the second derivatives in the scores
        L = bound * largest_curvature(self.data, self.weight, float(o.intercept)) + self.lam
        self.eta = 1 / max(2 * L + min(2 * n * self.lam, L) if saga else L, 1e-300)
        self.W, self.b = to_hyperplanes(o, theta)
        self.memory = np.zeros((o.y.size, o.n_planes))
        self.gradient, self.slope = np.zeros_like(self.W), np.zeros(o.n_planes)
        remember(
            self.data, o.y, self.weight, self.kept, self.W, self.b, self.memory, self.gradient, self.slope,
            o.reference,
        )  # fmt: skip
        missed = np.arange(n + 1) if not isinstance(self.data, Dense) else np.arange(2)
        keep = 1 - self.eta * self.lam
        self.power = keep**missed  # keep^m, and 1 + keep + ... + keep^(m-1)
        self.geometric = missed.astype(float) if keep == 1 else (1 - self.power) / (1 - keep)

    def sweep(self, rng: np.random.Generator) -> float:
        """As many steps as there are rows, at rows drawn with replacement; the largest change of a parameter."""
        W, b, o = self.W.copy(), self.b.copy(), self.objective
        order = self.kept[rng.integers(self.kept.size, size=self.kept.size)]
        average_gradient_sweep(
            self.data, o.y, self.weight, order, self.W, self.b, self.memory, self.gradient, self.slope, self.eta,
            self.eta * self.beta, self.power, self.geometric, self.saga, o.intercept, o.reference,
        )  # fmt: skip
        return float(max(np.abs(self.W - W).max(), np.abs(self.b - b).max()))


def average_gradient(
    objective: LogisticObjective,
    theta: Array,
    l1: Array,
    *,
    saga: bool,
    rng: np.random.Generator,
    tol: float,
    max_iter: int,
    steps: Callable[..., Steps],
) -> Array:
    """Passes of SAG or SAGA until one changes no parameter by more than tol times the largest weight."""
    state = AverageGradient(objective, theta, float(l1[0]), saga)
    reached = "The max_iter was reached which means the coef_ did not converge."
    for step in steps(max_iter, hint=f"{reached} Scale the features, or raise max_iter or tol."):
        change = state.sweep(rng)
        size = float(np.abs(state.W).max())
        theta = from_hyperplanes(objective, state.W, state.b)
        step.report(theta, change=change / size if size > 0 else change)
        if not np.isfinite(change):
            raise ValueError(
                f"solver='sag' or 'saga': Floating-point under-/overflow in pass {step.count}; scale the features."
            )
        if step.converged(change <= tol * size):
            break
    return theta


@kernel
def largest_curvature(data, weight, one):
    """The largest s_i (|x_i|^2 + 1); without an intercept, `one` is 0."""
    largest = 0.0
    for i in range(weight.size):
        largest = max(largest, weight[i] * (float(row_square(data, i)) + one))
    return largest


@kernel
def remember(data, y, weight, kept, W, b, memory, gradient, slope, reference):
    """The slopes of all rows at (W, b), and their gradients' sums."""
    K = b.size
    z = np.zeros(K + (1 if reference else 0))
    for i in kept:
        for k in range(K):
            z[k] = row_dot(data, i, W[k]) + b[k]
        loss_and_slope(z, y[i], K, memory[i])
        for k in range(K):
            memory[i, k] *= weight[i]
            row_add(data, i, memory[i, k], gradient[k])
            slope[k] += memory[i, k]


@kernel
def average_gradient_sweep(
    data, y, weight, order, W, b, memory, gradient, slope, eta, threshold, power, geometric, saga, intercept,
    reference,
):  # fmt: skip
    """Steps at the rows in `order`: a row's slopes are computed anew, and the average of all slopes is followed."""
    K, n = b.size, order.size
    slopes, z = np.empty(K), np.zeros(K + (1 if reference else 0))
    had = np.zeros(W.shape[1], np.int64)  # steps that a feature has had: fewer than t where rows lack it
    share = eta if saga else eta / n  # of the change of a row's slope; SAG takes it as a part of the average
    for t in range(n):
        i = order[t]
        catch_up(data, i, t, had, W, gradient, eta / n, threshold, power, geometric)
        for k in range(K):
            z[k] = row_dot(data, i, W[k]) + b[k]
        loss_and_slope(z, y[i], K, slopes)
        for k in range(K):
            change = weight[i] * slopes[k] - memory[i, k]
            memory[i, k] += change
            average_step(data, i, change, share, eta / n, threshold, power[1], W[k], gradient[k])
            if intercept:
                b[k] -= share * change + eta / n * slope[k]
                slope[k] += change
    finish(data, n, had, W, gradient, eta / n, threshold, power, geometric)


@inner
def shrink(u, threshold):
    """Soft thresholding: the proximal step of the L1 penalty."""
    if u > threshold:
        return u - threshold
    if u < -threshold:
        return u + threshold
    return 0.0


@inner
def after_steps(w, a, m, threshold, power, geometric):
    """w after m steps w <- shrink(keep w - a, threshold); in closed form while its sign stays."""
    if threshold == 0:
        return power[m] * w - a * geometric[m]
    while m > 0:
        if w > 0 or (w == 0 and -a > threshold):
            side = 1.0
        elif w < 0 or (w == 0 and a > threshold):
            side = -1.0
        else:
            return 0.0
        x, pull = side * w, side * a + threshold  # on this side of 0 a step is x <- keep x - pull
        end = power[m] * x - pull * geometric[m]
        if end >= 0:
            return side * end
        low, high = 0, m  # the steps before the one that crosses 0
        while high - low > 1:
            middle = (low + high) // 2
            if power[middle] * x - pull * geometric[middle] >= 0:
                low = middle
            else:
                high = middle
        x = power[low] * x - pull * geometric[low]
        w = shrink(side * power[1] * x - a, threshold)
        m -= low + 1
    return w


@verb
def catch_up(
    data: Any, i: int, t: int, had: Array, W: Array, gradient: Array, eta: float, threshold: float, power: Array,
    geometric: Array,
) -> None:  # fmt: skip
    """Give the features of row i the steps that they have missed before step t, and count step t as had."""
    if isinstance(data, Dense):
        return
    for j in data.indices[data.indptr[i] : data.indptr[i + 1]]:
        for k in range(len(W)):
            W[k, j] = after_steps(W[k, j], eta * gradient[k, j], t - had[j], threshold, power, geometric)
        had[j] = t + 1


@implement(catch_up)
def _catch_up(data, i, t, had, W, gradient, eta, threshold, power, geometric):
    if getattr(data, "instance_class", None) is Dense:

        def dense(data, i, t, had, W, gradient, eta, threshold, power, geometric):
            pass

        return dense

    def compressed(data, i, t, had, W, gradient, eta, threshold, power, geometric):
        used = data.indices[data.indptr[i] : data.indptr[i + 1]]
        for k in range(W.shape[0]):
            w, g = W[k], gradient[k]
            if threshold == 0:
                for s in range(used.size):  # unsigned indices are not tested for wrap-around
                    j = np.uint64(used[s])
                    m = np.uint64(t - had[j])
                    w[j] = power[m] * w[j] - eta * geometric[m] * g[j]
            else:
                for s in range(used.size):
                    j = np.uint64(used[s])
                    w[j] = after_steps(w[j], eta * g[j], t - had[j], threshold, power, geometric)
        for s in range(used.size):
            had[np.uint64(used[s])] = t + 1

    return compressed


@verb
def finish(
    data: Any, t: int, had: Array, W: Array, gradient: Array, eta: float, threshold: float, power: Array,
    geometric: Array,
) -> None:  # fmt: skip
    """Give all features the steps that they have missed before step t."""
    if isinstance(data, Dense):
        return
    for j in range(W.shape[1]):
        for k in range(len(W)):
            W[k, j] = after_steps(W[k, j], eta * gradient[k, j], t - had[j], threshold, power, geometric)


@implement(finish)
def _finish(data, t, had, W, gradient, eta, threshold, power, geometric):
    if getattr(data, "instance_class", None) is Dense:

        def dense(data, t, had, W, gradient, eta, threshold, power, geometric):
            pass

        return dense

    def compressed(data, t, had, W, gradient, eta, threshold, power, geometric):
        for j in range(W.shape[1]):
            for k in range(W.shape[0]):
                a, m = eta * gradient[k, j], t - had[j]
                W[k, j] = after_steps(W[k, j], a, m, threshold, power, geometric)

    return compressed


@verb
def average_step(
    data: Any,
    i: int,
    change: float,
    share: float,
    eta: float,
    threshold: float,
    keep: float,
    w: Array,
    g: Array,
) -> None:
    """One step in the features of row i, whose remembered slope has changed."""
    if isinstance(data, Dense):
        used, x = slice(None), data.values[i]
    else:
        here = slice(data.indptr[i], data.indptr[i + 1])
        used, x = data.indices[here], data.data[here]
    u = keep * w[used] - eta * g[used] - share * change * x
    w[used] = u - np.clip(u, -threshold, threshold)
    g[used] += change * x


@implement(average_step)
def _average_step(data, i, change, share, eta, threshold, keep, w, g):
    if getattr(data, "instance_class", None) is Dense:

        def dense(data, i, change, share, eta, threshold, keep, w, g):
            x, c = data.values[i], share * change
            if threshold == 0:
                for j in range(w.size):
                    w[j] = keep * w[j] - eta * g[j] - c * x[j]
                    g[j] += change * x[j]
            else:
                for j in range(w.size):
                    w[j] = shrink(keep * w[j] - eta * g[j] - c * x[j], threshold)
                    g[j] += change * x[j]

        return dense

    def compressed(data, i, change, share, eta, threshold, keep, w, g):
        c = share * change
        used = data.indices[data.indptr[i] : data.indptr[i + 1]]
        values = data.data[data.indptr[i] : data.indptr[i + 1]]
        if threshold == 0:
            for s in range(used.size):
                j, x = np.uint64(used[s]), values[s]
                w[j] = keep * w[j] - eta * g[j] - c * x
                g[j] += change * x
        else:
            for s in range(used.size):
                j, x = np.uint64(used[s]), values[s]
                w[j] = shrink(keep * w[j] - eta * g[j] - c * x, threshold)
                g[j] += change * x

    return compressed

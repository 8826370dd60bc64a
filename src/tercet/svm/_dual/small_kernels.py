"""Kernels of small duals (`svm._dual.small`): two-variable steps, Newton's step, what follows from a gradient."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.svm._dual.block import second_order_steps
from tercet.svm._dual.cholesky import cholesky, solve_cholesky

IDLE = 10  # gradients computed anew without a smaller violation or objective


@kernel
def snap_to_bounds(lower, upper, beta, diag, trace, rounding):
    """Set variables to bounds nearer than `trace` of their range, and so near that f changes by rounding only.

    Returns whether there were any.
    """
    largest, any_moved = 1e-300, False
    for k in range(diag.size):
        largest = max(largest, abs(diag[k]))
    for k in range(beta.size):
        near = min(trace * (upper[k] - lower[k]), rounding / largest)
        if lower[k] < beta[k] < lower[k] + near:
            beta[k], any_moved = lower[k], True
        elif upper[k] - near < beta[k] < upper[k]:
            beta[k], any_moved = upper[k], True
    return any_moved


@kernel
def evaluate_dual(K, q, ridge, lower, upper, beta, v, split, numbers):
    """v from beta, and the `numbers` that follow from it (see `evaluated`)."""
    compute_gradient(K, q, ridge, beta, v)
    evaluated(q, lower, upper, beta, v, split, numbers)


@kernel
def descend_dual(K, q, ridge, lower, upper, beta, v, diag, split, tol, limit, numbers):
    """Two-variable steps until v, computed anew, says that beta is optimal within tol.

    Returns the number of steps, and whether neither objective nor violation has fallen for some time.
    """
    least = 0.0
    for k in range(diag.size):
        least = max(least, 1e-12 * abs(diag[k]))
    done, idle = 0, 0
    objective, violation = numbers[0], numbers[1]
    while done < limit:
        part = second_order_steps(K, diag, ridge, v, beta, lower, upper, split, least, tol, limit - done)
        done += part
        if done < limit:  # optimal by a gradient that has been added up: compute it anew
            compute_gradient(K, q, ridge, beta, v)
        evaluated(q, lower, upper, beta, v, split, numbers)
        if numbers[1] <= tol:
            break
        if done < limit:
            better = numbers[0] < objective - 1e-14 * abs(objective) or numbers[1] < 0.99 * violation
            idle = 0 if better else idle + 1
            objective, violation = min(objective, numbers[0]), min(violation, numbers[1])
            if idle >= IDLE:
                return done, True
    return done, False


@kernel
def newton_move(K, free, first, ridge, v, L, Q, right, move):
    """The move of the free variables to where their v are the same within each group; False if Q is not definite.

    `first` of the free variables are of the first group, `ridge` (of Q) makes the system regular, and iterative
    refinement takes it out again. L and Q, of shape (f, f), and right, of shape (3, f), are for work.
    """
    n, f = K.shape[0], free.size
    for a in range(f):
        for b in range(a + 1):
            Q[a, b] += K[free[a] % n, free[b] % n]
            Q[b, a] = Q[a, b]
            # The sums of a group's moves are 0: what is added for its pairs changes the multiplier only.
            L[a, b] = Q[a, b] + (1e9 * ridge if (a < first) == (b < first) else 0.0)
        L[a, a] += ridge
    if not cholesky(L, 0.5 * ridge):
        return False
    for turn in range(5):  # the first solves for the multipliers of the groups
        worst, middle = 0.0, 0.0
        for a in range(f):
            if turn == 0:
                right[1, a], right[2, a] = (1.0, 0.0) if a < first else (0.0, 1.0)
            total = v[free[a]]
            row = Q[a]
            for b in range(f):
                total -= row[b] * move[b]
            right[0, a] = total
        for r in range(3 if turn == 0 else 1):
            solve_cholesky(L, right[r])
        s00, s01, s11, r0, r1 = 0.0, 0.0, 0.0, 0.0, 0.0
        for a in range(f):
            if a < first:
                s00, s01, r0 = s00 + right[1, a], s01 + right[2, a], r0 + right[0, a]
            else:
                s11, r1 = s11 + right[2, a], r1 + right[0, a]
        det = s00 * s11 - s01 * s01
        x0 = r0 / s00 if first == f else (0.0 if first == 0 else (r0 * s11 - r1 * s01) / det)
        x1 = r1 / s11 if first == 0 else (0.0 if first == f else (r1 * s00 - r0 * s01) / det)
        for a in range(f):
            step = right[0, a] - x0 * right[1, a] - x1 * right[2, a]
            move[a] += step
            worst, middle = max(worst, abs(step)), max(middle, abs(move[a]))
        if worst <= 1e-16 * middle:
            break
    return True


@inner
def compute_gradient(K, q, ridge, beta, v):
    """v = -(K beta + ridge beta + q)."""
    n = K.shape[0]
    F = np.zeros(n)
    for k in range(beta.size):
        if beta[k] != 0.0:
            row, factor = K[k % n], beta[k]
            for i in range(n):
                F[i] += factor * row[i]
    for k in range(beta.size):
        v[k] = -(F[k % n] + q[k] + ridge[k] * beta[k])


@inner
def evaluated(q, lower, upper, beta, v, split, numbers):
    """Objective, violation, for each group the largest v over I_up and the smallest over I_down, b, rho, and the
    largest absolute value of q and v."""
    objective, violation, size = 0.0, 0.0, 0.0
    middles = np.zeros(2)
    for g in range(2):
        low, high, total, count = -np.inf, np.inf, 0.0, 0
        for k in range(0 if g == 0 else split, split if g == 0 else beta.size):
            objective += beta[k] * (q[k] - v[k]) / 2.0
            size = max(size, abs(q[k]), abs(v[k]))
            rises, falls = beta[k] < upper[k], beta[k] > lower[k]
            if rises and v[k] > low:
                low = v[k]
            if falls and v[k] < high:
                high = v[k]
            if rises and falls:
                total += v[k]
                count += 1
        numbers[2 + 2 * g], numbers[3 + 2 * g] = low, high
        if low - high > violation:
            violation = low - high
        if count > 0:
            middles[g] = total / count
        elif np.isfinite(low) and np.isfinite(high):
            middles[g] = (low + high) / 2.0
        elif np.isfinite(low) or np.isfinite(high):
            middles[g] = low if np.isfinite(low) else high
    numbers[0], numbers[1], numbers[8] = objective, violation, size
    if split < beta.size:
        numbers[6], numbers[7] = (middles[0] + middles[1]) / 2.0, (middles[1] - middles[0]) / 2.0
    else:
        numbers[6], numbers[7] = middles[0], 1.0

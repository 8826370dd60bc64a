"""SMO steps within one working set: the subproblem of a block of variables."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel

MAX_BLOCK = 4096  # variables of a block


@kernel
def smo_block(K, diag, ridge, v, beta, lower, upper, split, min_curvature, tol, limit):
    """`second_order_steps`, to be called from Python."""
    return second_order_steps(K, diag, ridge, v, beta, lower, upper, split, min_curvature, tol, limit)


@inner
def second_order_steps(K, diag, ridge, v, beta, lower, upper, split, min_curvature, tol, limit):
    """Up to `limit` two-variable steps on a block; updates `v` and `beta`, returns the number of steps.

    A step takes i = argmax of v over I_up, and of I_down the j with which the objective falls most (second-order
    working set selection); beta_i gains what beta_j gives. Pairs come from within [0, split) or within [split, q),
    the variables of the two equality constraints. Shapes: K (q, q), all others (q,); or K (n, n) and all others
    (2n,), where variables k and n + k share a row. A curvature K_ii + K_jj - 2 K_ij below `min_curvature` counts as
    that.

    Compilers do not vectorise the search for a largest float. So floats are read as integers of the same order,
    and the index takes the place of their last bits.
    """
    q, n = np.int64(v.size), np.int64(K.shape[0])
    places = np.int64(1)
    while places < q:
        places *= 2
    index = np.int64(places - 1)
    bits = v.view(np.int64)
    gain = np.zeros(q)
    gain_bits = gain.view(np.int64)
    up, down = np.zeros(q, np.int64), np.zeros(q, np.int64)  # masks: all bits set in I_up, I_down
    for k in range(q):
        up[k] = -1 if beta[k] < upper[k] else 0
        down[k] = -1 if beta[k] > lower[k] else 0
    for step in range(limit):
        first, last, violation = np.int64(0), np.int64(split), 0.0
        i = np.int64(-1)
        for group in range(2):
            begin, end = (np.int64(0), np.int64(split)) if group == 0 else (np.int64(split), np.int64(q))
            if begin < end:
                top, bottom = violating_pair(bits[begin:end], up[begin:end], down[begin:end], index)
                if top >= 0 and bottom >= 0 and v[begin + top] - v[begin + bottom] > violation:
                    violation = v[begin + top] - v[begin + bottom]
                    i, first, last = begin + top, begin, end
        if i < 0 or violation <= tol:
            return step
        row_i = K[i - n if i >= n else i]
        for copy in range(2):
            a, b = max(first, copy * n), min(last, copy * n + n)
            if a < b:
                own = row_i[a - copy * n : b - copy * n]
                second_order_gains(own, diag[a:b], v[a:b], diag[i], v[i], min_curvature, gain[a:b])
        j = first + masked_argmax(gain_bits[first:last], down[first:last], index)
        row_j = K[j - n if j >= n else j]
        t = (v[i] - v[j]) / max(diag[i] + diag[j] - 2.0 * row_i[j - n if j >= n else j], min_curvature)
        above, below = upper[i] - beta[i], beta[j] - lower[j]
        t = min(t, above, below)
        # Bounds are reached exactly: rounding must not leave a variable just inside.
        beta[i] = upper[i] if t == above else beta[i] + t
        beta[j] = lower[j] if t == below else beta[j] - t
        up[i], down[i] = -1 if beta[i] < upper[i] else 0, -1 if beta[i] > lower[i] else 0
        up[j], down[j] = -1 if beta[j] < upper[j] else 0, -1 if beta[j] > lower[j] else 0
        update_gradient(v[:n], row_i, row_j, t)
        if q > n:
            update_gradient(v[n:], row_i, row_j, t)
        v[i] -= t * ridge[i]
        v[j] += t * ridge[j]
    return limit


@inner
def violating_pair(bits, up, down, index):
    """Indices of the largest v over I_up and the smallest over I_down, from the bits of v; -1 for none."""
    most, least = np.int64(-(2**63)), np.int64(2**63 - 1)
    ends = least
    for k in range(bits.size):
        ordered = bits[k] ^ ((bits[k] >> 63) & ends)  # integers in the order of the floats
        key = (ordered & ~index) | k
        high = (key & up[k]) | (smallest_integer() & ~up[k])
        low = (key & down[k]) | (ends & ~down[k])
        most = max(most, high)
        least = min(least, low)
    top = -1 if most == smallest_integer() else most & index
    bottom = -1 if least == ends else least & index
    return top, bottom


@inner
def smallest_integer():
    return np.int64(-(2**63))


@inner
def second_order_gains(K, diag, v, diag_i, v_i, min_curvature, gain):
    """Twice the decrease of the objective with each partner of i, without bounds; 0 where it would rise."""
    for k in range(v.size):
        d = v_i - v[k]
        curvature = diag_i + diag[k] - 2.0 * K[k]
        curvature = curvature if curvature > min_curvature else min_curvature
        gain[k] = d * d / curvature if d > 0.0 else 0.0


@inner
def masked_argmax(bits, mask, index):
    """Index of the largest of some floats, none of them negative, where the mask is set."""
    most = np.int64(0)
    for k in range(bits.size):
        most = max(most, ((bits[k] & ~index) | k) & mask[k])
    return most & index


@inner
def update_gradient(v, K_i, K_j, t):
    """v after beta_i has gained t and beta_j has lost it (without the ridge)."""
    for k in range(v.size):
        v[k] -= t * (K_i[k] - K_j[k])

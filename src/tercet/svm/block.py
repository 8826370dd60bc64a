"""The dual of one block of variables, solved pair by pair."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel

LONGEST = 4096  # variables of a block


@kernel
def descend(K, diag, ridge, v, beta, lo, hi, split, least, tol, limit):
    """Up to `limit` steps on pairs of variables; `v` and `beta` follow. Returns the number of steps.

    A step takes the variable that may rise and asks for most, and of those that may fall the one with which the
    objective falls most (a second-order choice); what the one gains the other gives. Pairs come from within
    [0, split) or within [split, q). `least` is the least curvature that is believed.

    Compilers do not vectorise the search for a largest float. So floats are read as integers of the same order,
    and their last bits give way to the index.
    """
    q = v.size
    places = np.int64(1)
    while places < q:
        places *= 2
    index = np.int64(places - 1)
    bits = v.view(np.int64)
    gain = np.zeros(q)
    gain_bits = gain.view(np.int64)
    rises, falls = np.zeros(q, np.int64), np.zeros(q, np.int64)  # all bits where a variable may
    for k in range(q):
        rises[k] = -1 if beta[k] < hi[k] else 0
        falls[k] = -1 if beta[k] > lo[k] else 0
    for step in range(limit):
        first, last, width = np.int64(0), np.int64(split), 0.0
        i = np.int64(-1)
        for group in range(2):
            begin, end = (np.int64(0), np.int64(split)) if group == 0 else (np.int64(split), np.int64(q))
            if begin < end:
                top, bottom = extremes(bits[begin:end], rises[begin:end], falls[begin:end], index)
                if top >= 0 and bottom >= 0 and v[begin + top] - v[begin + bottom] > width:
                    width = v[begin + top] - v[begin + bottom]
                    i, first, last = begin + top, begin, end
        if i < 0 or width <= tol:
            return step
        gains(K[i, first:last], diag[first:last], v[first:last], diag[i], v[i], least, gain[first:last])
        j = first + largest(gain_bits[first:last], falls[first:last], index)
        t = (v[i] - v[j]) / max(diag[i] + diag[j] - 2.0 * K[i, j], least)
        room, give = hi[i] - beta[i], beta[j] - lo[j]
        t = min(t, room, give)
        # Bounds are reached exactly; no rounding may keep a variable from them.
        beta[i] = hi[i] if t == room else beta[i] + t
        beta[j] = lo[j] if t == give else beta[j] - t
        rises[i], falls[i] = -1 if beta[i] < hi[i] else 0, -1 if beta[i] > lo[i] else 0
        rises[j], falls[j] = -1 if beta[j] < hi[j] else 0, -1 if beta[j] > lo[j] else 0
        move(v, K[i], K[j], t)
        v[i] -= t * ridge[i]
        v[j] += t * ridge[j]
    return limit


@inner
def extremes(bits, rises, falls, index):
    """Where the largest is that may rise, and the smallest that may fall; -1 for none."""
    most, least = np.int64(-(2**63)), np.int64(2**63 - 1)
    ends = least
    for k in range(bits.size):
        whole = bits[k] ^ ((bits[k] >> 63) & ends)  # now ordered as the floats are
        key = (whole & ~index) | k
        high = (key & rises[k]) | (most_negative() & ~rises[k])
        low = (key & falls[k]) | (ends & ~falls[k])
        most = max(most, high)
        least = min(least, low)
    top = -1 if most == most_negative() else most & index
    bottom = -1 if least == ends else least & index
    return top, bottom


@inner
def most_negative():
    return np.int64(-(2**63))


@inner
def gains(K, diag, v, diag_i, v_i, least, gain):
    """Twice what the objective falls by with each partner; 0 where it would not."""
    for k in range(v.size):
        d = v_i - v[k]
        curve = diag_i + diag[k] - 2.0 * K[k]
        curve = curve if curve > least else least
        gain[k] = d * d / curve if d > 0.0 else 0.0


@inner
def largest(bits, falls, index):
    """Where the largest of some floats is, none of them negative, among those that may fall."""
    most = np.int64(0)
    for k in range(bits.size):
        most = max(most, ((bits[k] & ~index) | k) & falls[k])
    return most & index


@inner
def move(v, K_i, K_j, t):
    for k in range(v.size):
        v[k] -= t * (K_i[k] - K_j[k])

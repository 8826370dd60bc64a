"""Least-angle regression and the lasso path (homotopy), from the Gram matrix of the atoms, for many signals.

Along the path all active atoms have the same correlation C with the residual, which falls from its largest value to
the strength of the penalty. Between two events the coefficients are linear in C: an atom joins when its correlation
reaches C, and with the lasso an active one leaves when its coefficient gets to zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import inner, kernel

EPS = 2.220446049250313e-16


@kernel
def least_angle_codes(
    gram: Any, cov: Any, strength: float, most: int, lasso: bool, positive: bool, max_iter: int, codes: Any
) -> None:
    """Codes of signals, whose inner products with the atoms are the rows of `cov`, into `codes` (zeros).

    With `lasso`, the minimum of |x - D'a|²/2 + strength |a|_1; else the path until `most` atoms are active.
    """
    n_atoms = gram.shape[0]
    room = min(most, n_atoms)
    factor = np.empty((room, room))  # Cholesky factor of the active atoms' Gram matrix, lower
    active, signs = np.empty(room, dtype=np.int64), np.empty(room)
    state = np.empty(n_atoms, dtype=np.int64)  # 0 free, 1 active, 2 a combination of active atoms
    c, slope = np.empty(n_atoms), np.empty(n_atoms)
    direction = np.empty(room)
    for i in range(cov.shape[0]):
        w = codes[i]
        for k in range(n_atoms):
            c[k], state[k] = cov[i, k], 0
        joining = strongest(c, state, positive)
        C = abs(c[joining])
        if not strength < C or (positive and c[joining] <= 0):
            continue
        first, size, left, reached = C, 0, -1, False
        for _ in range(max_iter):
            if joining >= 0:
                active[size] = joining
                if extend(gram, active, size, factor):
                    state[joining], signs[size] = 1, 1.0 if c[joining] > 0 else -1.0
                    size += 1
                else:
                    state[joining] = 2
            if size == 0:
                break
            solve(factor, size, signs, direction)
            combine(gram, active, size, direction, slope)
            length, joining = next_to_join(C, C - strength, c, slope, state, left, positive)
            leaving = -1
            if lasso:
                for t in range(size):
                    if direction[t] * w[active[t]] < 0 and -w[active[t]] / direction[t] < length:
                        length, leaving = -w[active[t]] / direction[t], t
            for t in range(size):
                w[active[t]] += length * direction[t]
            for k in range(n_atoms):
                c[k] -= length * slope[k]
            C -= length
            left = -1
            if leaving >= 0:
                left, joining = active[leaving], -1
                w[left], state[left] = 0.0, 0
                size = remove(gram, active, signs, size, leaving, factor)
                if size == 0:
                    joining = strongest(c, state, positive)
            elif joining < 0:
                reached = True
                break
            elif size == room:
                break
            if not EPS * first < C:
                break
        if lasso and reached:
            solve_at_end(cov[i], strength, active, signs, size, factor, slope, direction, w)


@inner
def next_to_join(C: Any, most: Any, c: Any, slope: Any, state: Any, left: Any, positive: Any) -> Any:
    """How far C falls until a free atom joins, and which; `most` and -1 where none does before."""
    length, joining = most, -1
    for k in range(c.size):
        if state[k] == 0:
            step = meeting(C, c[k], slope[k], k == left, positive)
            if step < length:
                length, joining = step, k
    return length, joining


@inner
def solve_at_end(
    cov: Any,
    strength: Any,
    active: Any,
    signs: Any,
    size: Any,
    factor: Any,
    slope: Any,
    direction: Any,
    w: Any,
) -> None:
    """Codes at the end of the path by its linear system: no rounding of many steps."""
    for t in range(size):
        slope[t] = cov[active[t]] - strength * signs[t]
    solve(factor, size, slope, direction)
    for t in range(size):
        w[active[t]] = direction[t] if direction[t] * signs[t] > 0 else 0.0


@inner
def strongest(c: Any, state: Any, positive: Any) -> Any:
    """The free atom of the largest correlation."""
    best, most = 0, -np.inf
    for k in range(c.size):
        size = c[k] if positive else abs(c[k])
        if state[k] == 0 and size > most:
            best, most = k, size
    return best


@inner
def meeting(C: Any, c: Any, slope: Any, just_left: Any, positive: Any) -> Any:
    """How far C falls until an atom's correlation c, which falls by `slope`, has its size."""
    step = np.inf
    if 1.0 - slope > 1e-12 and not (just_left and c > 0):
        step = max(0.0, (C - c) / (1.0 - slope))
    if not positive and 1.0 + slope > 1e-12 and not (just_left and c < 0):
        step = min(step, max(0.0, (C + c) / (1.0 + slope)))
    return step


@inner
def extend(gram: Any, active: Any, t: Any, factor: Any) -> Any:
    """Row t of the Cholesky factor; False where the atom depends on those before it."""
    for s in range(t + 1):
        value = gram[active[t], active[s]]
        for r in range(s):
            value -= factor[t, r] * factor[s, r]
        if s < t:
            factor[t, s] = value / factor[s, s]
        else:
            if not value > 1e3 * 2.220446049250313e-16 * gram[active[t], active[t]]:
                return False
            factor[t, t] = np.sqrt(value)
    return True


@inner
def remove(gram: Any, active: Any, signs: Any, size: Any, place: Any, factor: Any) -> Any:
    """Take out the active atom at a place; returns how many are left."""
    for t in range(place, size - 1):
        active[t], signs[t] = active[t + 1], signs[t + 1]
        extend(gram, active, t, factor)
    return size - 1


@inner
def solve(factor: Any, size: Any, right: Any, out: Any) -> None:
    """out = (L L')⁻¹ right."""
    for t in range(size):
        value = right[t]
        for s in range(t):
            value -= factor[t, s] * out[s]
        out[t] = value / factor[t, t]
    for t in range(size - 1, -1, -1):
        value = out[t]
        for s in range(t + 1, size):
            value -= factor[s, t] * out[s]
        out[t] = value / factor[t, t]


@inner
def combine(gram: Any, active: Any, size: Any, direction: Any, out: Any) -> None:
    """out = G[:, active] direction."""
    for k in range(out.size):
        out[k] = 0.0
    for t in range(size):
        row, x = gram[active[t]], direction[t]
        for k in range(out.size):
            out[k] += x * row[k]

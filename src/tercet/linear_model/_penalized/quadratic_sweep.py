"""Coordinate descent on a quadratic plus any of the penalties, compiled."""

from __future__ import annotations

from tercet.core.kernel import inner, shared

PENALTY_CODES = {None: 0, "l0": 1, "l1": 2, "l2": 3, "elasticnet": 4, "lq": 5}  # as the kernels number them


@shared
def quadratic_sweep(G, c, w, Gw, alpha, code, q, ratio):
    """One pass of coordinate descent on w'Gw - 2c·w + alpha J(w); Gw is kept up to date."""
    for j in range(w.size):
        if G[j, j] <= 0.0:
            w[j] = 0.0
            continue
        target = w[j] + (c[j] - Gw[j]) / G[j, j]
        new = prox(target, alpha / (2.0 * G[j, j]), code, q, ratio)
        if new != w[j]:
            change = new - w[j]
            for i in range(w.size):
                Gw[i] += change * G[i, j]
            w[j] = new


@inner
def prox(z, t, code, q, ratio):
    """argmin over u of (u - z)^2 / 2 + t J(u)."""
    a = abs(z)
    if code == 0:
        u = a
    elif code == 1:
        u = a if a * a > 2.0 * t else 0.0
    elif code == 2:
        u = max(a - t, 0.0)
    elif code == 3:
        u = a / (1.0 + 2.0 * t)
    elif code == 4:
        u = max(a - t * ratio, 0.0) / (1.0 + 2.0 * t * (1.0 - ratio))
    else:
        u = bridge_prox(a, t, q)
    return u if z > 0 else -u


@inner
def bridge_prox(a, t, q):
    """argmin over u >= 0 of (u - a)^2 / 2 + t u^q: zero, or the larger root of u + t q u^(q - 1) = a."""
    low = 0.0
    if q < 1.0:
        low = (2.0 * t * (1.0 - q)) ** (1.0 / (2.0 - q))
        if a <= low * (2.0 - q) / (2.0 - 2.0 * q):
            return 0.0
    elif q == 1.0:
        return max(a - t, 0.0)
    if a == 0.0:
        return 0.0
    high, u = a, a
    for _ in range(200):
        power = t * q * u ** (q - 2.0)
        excess = u + power * u - a
        if excess > 0.0:
            high = u
        else:
            low = u
        new = u - excess / (1.0 + (q - 1.0) * power)
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - u) <= 4e-16 * u:
            break
        u = new
    return u

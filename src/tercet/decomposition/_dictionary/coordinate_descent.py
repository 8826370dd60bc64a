"""The lasso by cyclic coordinate descent on the Gram matrix of the atoms, for many signals."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import inner, kernel

INNER = 1000  # sweeps over the atoms in use between two over all


@kernel
def coordinate_codes(
    gram: Any, cov: Any, squares: Any, strength: float, positive: bool, max_iter: int, tol: float, codes: Any
) -> int:
    """Minimise |x - D'a|²/2 + strength |a|_1 for each signal, from the codes that are there.

    Returns how many signals have a duality gap above tol |x|² after `max_iter` rounds. A round is a sweep over all
    atoms, and then sweeps over those in use until these stand still.
    """
    n_atoms, unsettled = gram.shape[0], 0
    q = np.empty(n_atoms)  # G a
    used = np.empty(n_atoms, dtype=np.int64)
    for i in range(cov.shape[0]):
        w, c = codes[i], cov[i]
        for k in range(n_atoms):
            q[k] = 0.0
        for k in range(n_atoms):
            if w[k] != 0.0:
                for j in range(n_atoms):
                    q[j] += w[k] * gram[k, j]
        settled, sweeps = False, 0
        for _ in range(max_iter):
            change, size, many = 0.0, 0.0, 0
            for k in range(n_atoms):
                change = max(change, abs(update(gram, c, q, w, k, strength, positive)))
                size = max(size, abs(w[k]))
                if w[k] != 0.0:
                    used[many] = k
                    many += 1
            if gap(c, q, w, squares[i], strength, positive) <= tol * squares[i] or change <= 1e-14 * size:
                settled = True
                break
            for _ in range(min(1000, 10 * max_iter - sweeps)):  # nearly equal atoms: each takes thousands
                sweeps += 1
                moved = 0.0
                for t in range(many):
                    moved = max(moved, abs(update(gram, c, q, w, used[t], strength, positive)))
                if moved <= 1e-3 * change or moved <= 1e-14 * size:
                    break
        if not settled:
            unsettled += 1
    return unsettled


@inner
def update(gram: Any, c: Any, q: Any, w: Any, k: Any, strength: Any, positive: Any) -> Any:
    """Put one coefficient at its minimum; returns by how much it changed."""
    curvature, old, new = gram[k, k], w[k], 0.0
    if curvature > 0:
        pull = c[k] - q[k] + curvature * old
        if pull > strength:
            new = (pull - strength) / curvature
        elif pull < -strength and not positive:
            new = (pull + strength) / curvature
    if new != old:
        row = gram[k]
        for j in range(q.size):
            q[j] += (new - old) * row[j]
        w[k] = new
    return new - old


@inner
def gap(c: Any, q: Any, w: Any, square: Any, strength: Any, positive: Any) -> Any:
    """Duality gap of the lasso, of the residual scaled until no atom's correlation exceeds the strength."""
    fit, quadratic, norm, steepest = 0.0, 0.0, 0.0, 0.0
    for k in range(w.size):
        fit += w[k] * c[k]
        quadratic += w[k] * q[k]
        norm += abs(w[k])
        correlation = c[k] - q[k]
        steepest = max(steepest, correlation if positive else abs(correlation))
    residual = max(0.0, square - 2 * fit + quadratic)
    scale = strength / steepest if steepest > strength else 1.0
    return 0.5 * residual * (1 + scale * scale) + strength * norm - scale * (square - fit)

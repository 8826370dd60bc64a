"""Batch orthogonal matching pursuit (批量正交匹配追踪): one Gram matrix of the atoms for many signals.

The residual itself is never formed. With the atoms chosen so far orthonormalised to q_1 ... q_t, the engine keeps
the correlations v_s = D q_s of all atoms with each direction (they are the rows of the Cholesky factor, as
v_s[j_t] = L[t, s]) and those of the residual, alpha = D r. A further atom costs O(t K) for K atoms.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.parallel import each
from tercet.core.rows import kernel_form

COMPLETE, EXACT, DEPENDENT = 0, 1, 2  # why a pursuit ended
WORK = 2_000_000  # products in a piece of work for one thread


class Pursuit(NamedTuple):
    """Codes of many signals, the atoms in the order of their choice, their number, and why each pursuit ended."""

    codes: np.ndarray  # (n_signals, n_atoms)
    chosen: np.ndarray  # (n_signals, most), -1 where there is none
    counts: np.ndarray  # (n_signals,)
    ended: np.ndarray  # (n_signals,), one of COMPLETE, EXACT, DEPENDENT


def matching_pursuit(
    gram: Any,
    cov: Any,
    squares: Any = None,
    *,
    most: int,
    tol: float | None = None,
    n_jobs: int | None = None,
) -> Pursuit:
    """Orthogonal matching pursuit of many signals over one dictionary, from inner products alone.

    Parameters
    ----------
    gram : array of shape (n_atoms, n_atoms)
        Inner products of the atoms.
    cov : array of shape (n_signals, n_atoms)
        Inner products of signals and atoms.
    squares : array of shape (n_signals,), optional
        Squared lengths of the signals; only for `tol`.
    most : int
        The most atoms of a signal.
    tol : float, optional
        Stop at a squared residual of so much.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Returns
    -------
    Pursuit
        Codes, the atoms in the order of their choice, their number, and why each pursuit ended.

    Examples
    --------
    >>> atoms = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> signals = np.array([[1.2, 1.6], [0.0, 3.0]])
    >>> matching_pursuit(atoms @ atoms.T, signals @ atoms.T, most=1).codes
    array([[0., 0., 2.],
           [0., 3., 0.]])
    """
    gram, cov = kernel_form(gram), kernel_form(cov)
    n, n_atoms = cov.shape
    squares = kernel_form(np.zeros(n) if squares is None else squares)
    found = Pursuit(
        np.zeros((n, n_atoms)),
        np.full((n, most), -1, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
    )
    size = max(1, WORK // max(1, n_atoms * most * most))
    spans = list(itertools.pairwise([*range(0, n, size), n]))
    limit = -1.0 if tol is None else float(tol)
    each(_pursue, spans, gram, cov, squares, limit, found, n_jobs=n_jobs)
    return found


def _pursue(span: tuple[int, int], gram: Any, cov: Any, squares: Any, tol: float, found: Pursuit) -> None:
    here = slice(*span)
    pursue(gram, cov[here], squares[here], tol, *(part[here] for part in found))


@kernel
def pursue(
    gram: Any, cov: Any, squares: Any, tol: float, codes: Any, chosen: Any, counts: Any, ended: Any
) -> None:
    """One signal after the other; a negative `tol` is none."""
    n_atoms, most = gram.shape[0], chosen.shape[1]
    eps = 2.220446049250313e-16
    directions = np.empty((most, n_atoms))  # v_s
    alpha, z = np.empty(n_atoms), np.empty(most)
    for i in range(cov.shape[0]):
        left, largest = squares[i], 0.0
        for k in range(n_atoms):
            alpha[k] = cov[i, k]
            largest = max(largest, abs(alpha[k]))
        t = 0
        while t < most and not (tol >= 0 and left <= tol):
            best, size = 0, abs(alpha[0])
            for k in range(1, n_atoms):
                if abs(alpha[k]) > size:
                    best, size = k, abs(alpha[k])
            if not size * size > eps * largest * largest:
                ended[i] = 1
                break
            pivot = gram[best, best]
            for s in range(t):
                pivot -= directions[s, best] * directions[s, best]
            if not pivot > 16 * eps * gram[best, best]:
                ended[i] = 2
                break
            pivot = np.sqrt(pivot)
            v = directions[t]
            for k in range(n_atoms):
                v[k] = gram[best, k]
            for s in range(t):
                w, share = directions[s], directions[s, best]
                for k in range(n_atoms):
                    v[k] -= share * w[k]
            z[t] = size / pivot if alpha[best] > 0 else -size / pivot
            for k in range(n_atoms):
                v[k] /= pivot
                alpha[k] -= z[t] * v[k]
            left -= z[t] * z[t]
            chosen[i, t] = best
            t += 1
            for s in range(t):  # what rounding leaves of atoms that are in
                alpha[chosen[i, s]] = 0.0
        counts[i] = t
        for j in range(t - 1, -1, -1):  # L' coefficients = z, from the last atom to the first
            value = z[j]
            for s in range(j + 1, t):
                value -= directions[j, chosen[i, s]] * codes[i, chosen[i, s]]
            codes[i, chosen[i, j]] = value / directions[j, chosen[i, j]]

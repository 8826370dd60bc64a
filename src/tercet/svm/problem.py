"""The quadratic program that every machine here solves, and what its solution says.

    min over alpha of  alpha'Q alpha / 2 + p.alpha
    subject to         sign.alpha = sign.start,  0 <= alpha <= upper

with Q_kl = sign_k sign_l K(x of k, x of l) + ridge_k [k = l]. Classification has one variable for each row,
regression two; the squares of slacks are a ridge; with `nu` the sum of alpha over each sign is kept, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tercet.kernels import Kernel


@dataclass
class Problem:
    """A dual, and where to begin."""

    kernel: Kernel
    X: Any  # rows: an array, a CSR matrix, strings, or numbers of rows of a given Gram matrix
    sign: np.ndarray  # of the variables, +1 or -1
    p: np.ndarray
    upper: np.ndarray  # inf where there is no bound
    start: np.ndarray  # within the bounds; its sign.start is kept
    row: np.ndarray | None = None  # of the variables; None: variable k belongs to row k
    ridge: np.ndarray | None = None  # of the rows
    nu: bool = False  # keep the sums over both signs apart (two multipliers in place of one)


@dataclass
class Solution:
    """A minimiser, and how good it is.

    Where some 0 < alpha < upper, `b` is the mean of what those variables ask for; else it is the middle of
    `interval`, the b that fit all (sign (f(x) + b) with f(x) = sum of sign alpha K; so -rho in libsvm's words).
    With `nu`, b and rho are those of the two multipliers.
    """

    alpha: np.ndarray
    gradient: np.ndarray  # Q alpha + p
    b: float
    interval: tuple[float, float]
    objective: float  # of the minimised dual
    violation: float  # of the worst pair: the KKT conditions hold within it
    n_iter: int
    converged: bool
    rho: float = 1.0  # the other multiplier, with nu
    message: str = ""  # why it did not converge; "unbounded": without upper bounds there is no minimum

"""Tikhonov's regularisation of ill-posed equations (吉洪诺夫正则化, 不适定问题)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lstsq

from tercet.core.catalog import method

Array = np.ndarray


@method(
    zh="吉洪诺夫正则化",
    task="inverse problem",
    model="A f = F with an operator A that magnifies errors of F",
    strategy="|A f - F|^2 + lam |L f|^2",
    algorithms="least squares on the stacked equations",
    texts=["Pattern Recognition ch. 5, eq. 5-104 to 5-106"],
)
def tikhonov(A: ArrayLike, F: ArrayLike, lam: float, operator: ArrayLike | int | None = None) -> Array:
    """Solve an ill-posed equation A f = F by Tikhonov's regularisation (不适定问题).

    Parameters
    ----------
    A : array of shape (m, n)
    F : array of shape (m,) or (m, k)
    lam : float
        Weight of the regulariser, at least 0; at 0 the solution of least norm.
    operator : array of shape (r, n) or int, optional
        L; by default the identity. An integer p stands for the p-th differences, which ask for a smooth f.

    Returns
    -------
    f : array of shape (n,) or (n, k)

    Examples
    --------
    >>> A = [[1, 1], [1, 1.0001]]
    >>> tikhonov(A, [2, 2.0011], 0).round(6), tikhonov(A, [2, 2.0011], 1e-3).round(8)
    (array([-9., 11.]), array([0.99995001, 1.00005001]))
    """
    A, F = np.asarray(A, dtype=np.float64), np.asarray(F, dtype=np.float64)
    if not 0 <= lam < np.inf:
        raise ValueError(f"lam must be finite and at least 0; got {lam!r}.")
    if A.ndim != 2 or F.ndim not in (1, 2) or F.shape[0] != A.shape[0]:
        raise ValueError(f"A must be a matrix with as many rows as F; got shapes {A.shape} and {F.shape}.")
    L = np.eye(A.shape[1])
    if isinstance(operator, int | np.integer):
        if not 0 <= operator < A.shape[1]:
            raise ValueError(
                f"operator must be a matrix or an order from 0 to {A.shape[1] - 1}; got {operator}."
            )
        L = np.diff(L, n=int(operator), axis=0)
    elif operator is not None:
        L = np.asarray(operator, dtype=np.float64)
        if L.ndim != 2 or L.shape[1] != A.shape[1]:
            raise ValueError(f"operator must have {A.shape[1]} columns; got shape {L.shape}.")
    rows = np.vstack([A, np.sqrt(lam) * L]) if lam > 0 else A
    right = np.concatenate([F, np.zeros((len(rows) - len(A), *F.shape[1:]))])
    return lstsq(rows, right, cond=np.finfo(float).eps)[0]

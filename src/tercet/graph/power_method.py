"""Power method: the dominant eigenvalue of a matrix and its eigenvector (幂法)."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.steps import ConvergenceWarning
from tercet.core.validation import check_structure


class PowerMethodResult(NamedTuple):
    """Dominant eigenpair, and the vectors on the way.

    Attributes
    ----------
    eigenvalue : float
        The eigenvalue of the largest modulus.
    vector : array of shape (n,)
        Its eigenvector; the largest entry has modulus 1.
    trace : list of arrays
        The vectors x_0, x_1 ...
    n_iter : int
        Number of products with the matrix.
    converged : bool
        Whether the last step was shorter than the tolerance.
    """

    eigenvalue: float
    vector: np.ndarray
    trace: list[np.ndarray]
    n_iter: int
    converged: bool


@method(
    zh="幂法",
    task="linear algebra",
    model="A u = λ u, |λ| the largest of all eigenvalues",
    algorithms="y = A x, x = y / max |y_i| until x is the same up to its sign",
    texts=["Li ch. 21, 21.3.2, eq. 21.16-21.21"],
    peers=["scipy.sparse.linalg.eigs"],
)
def power_method(A: Any, start: Any = None, *, tol: float = 1e-10, max_iter: int = 1000) -> PowerMethodResult:
    """Dominant eigenvalue of a matrix, and its eigenvector, by repeated products.

    The error falls by |λ2 / λ1| with each step. There is no convergence where two eigenvalues share the largest
    modulus: a complex pair, or λ and -λ.

    Parameters
    ----------
    A : array, frame or sparse array of shape (n, n)
        The matrix; it need not be symmetric.
    start : array of shape (n,), optional
        x_0, by default all ones. It must have a part along the eigenvector.
    tol : float, default=1e-10
        Stop when no entry of x changes by more, up to the sign of x: a negative eigenvalue turns it at every step.
    max_iter : int, default=1000
        The most steps.

    Returns
    -------
    PowerMethodResult

    Examples
    --------
    >>> found = power_method(np.array([[2, 1], [1, 3]]))
    >>> round(found.eigenvalue, 6), found.vector.round(6)
    (3.618034, array([0.618034, 1.      ]))
    """
    A = check_structure(A, "A") if sparse.issparse(A) else np.asarray(A)
    if np.iscomplexobj(A):
        raise ValueError(f"A must hold real numbers; its dtype is {A.dtype}.")
    A = A.astype(np.float64, copy=False)
    if len(A.shape) != 2 or A.shape[0] != A.shape[1] or not A.shape[0]:
        raise ValueError(f"A must be a square matrix; the shape is {A.shape}.")
    x = np.ones(A.shape[0]) if start is None else np.asarray(start, dtype=np.float64)
    if x.shape != (A.shape[0],) or not np.isfinite(x).all() or not x.any():
        raise ValueError(
            f"start must be a vector of {A.shape[0]} finite numbers that are not all 0; got {start!r}."
        )
    trace = [x]
    for k in range(1, max_iter + 1):
        j = np.argmax(np.abs(x))
        with np.errstate(over="ignore", invalid="ignore"):
            y = A @ x
        size = np.abs(y).max()
        if not np.isfinite(size):
            raise ValueError("A must hold finite numbers whose products do not overflow.")
        if size == 0:  # x lies in the null space
            return PowerMethodResult(0.0, x, trace, k, True)
        eigenvalue, before, x = float(y[j] / x[j]), x, y / size
        trace.append(x)
        if min(np.abs(x - before).max(), np.abs(x + before).max()) < tol:
            return PowerMethodResult(eigenvalue, x, trace, k, True)
    warnings.warn(
        f"power_method did not converge in {max_iter} steps. Raise max_iter or tol; where two eigenvalues share "
        "the largest modulus there is no convergence.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return PowerMethodResult(eigenvalue, x, trace, max_iter, False)

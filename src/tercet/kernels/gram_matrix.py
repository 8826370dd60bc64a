"""Gram matrices: the test of positive semidefiniteness, and centring in feature space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.validation import check_array
from tercet.kernels.base import Kernel


@dataclass(frozen=True)
class PSDReport:
    """Whether a Gram matrix is that of a positive definite kernel.

    Attributes
    ----------
    psd : whether it is symmetric with no eigenvalue below -tolerance: False refutes a kernel, True proves nothing.
    smallest : the smallest eigenvalue of its symmetric part.
    tolerance : what rounding may account for.
    symmetric : whether it is symmetric within the tolerance.

    Examples
    --------
    >>> bool(is_psd([[1.0, 2.0], [2.0, 1.0]]))
    False
    """

    psd: bool
    smallest: float
    tolerance: float
    symmetric: bool

    def __bool__(self) -> bool:
        return self.psd


@method(
    zh="正定核判定（Mercer 条件）",
    task="kernel",
    model="K is symmetric and c'Kc >= 0 for all c",
    strategy="smallest eigenvalue of the Gram matrix",
    texts=[
        "Li ch. 7, Thm 7.5",
        "watermelon notes ch. 4, eq. 4.21-4.23",
        "Pattern Recognition ch. 5, eq. 5-50, 5-51",
    ],
    peers=["numpy.linalg.eigvalsh"],
)
def is_psd(kernel: Any, X: Any = None, tol: float | None = None) -> PSDReport:
    """Test whether a Gram matrix is positive semidefinite, as that of a positive definite kernel is.

    Parameters
    ----------
    kernel : Kernel, callable or array of shape (n, n)
        The kernel, or a Gram matrix.
    X : rows, optional
        The points for the kernel.
    tol : float, optional
        How far below 0 an eigenvalue may lie; by default what rounding explains.

    Examples
    --------
    >>> from tercet.kernels import Polynomial, Sigmoid
    >>> X = [[0, 0], [1, 0], [0, 2]]
    >>> is_psd(Polynomial(degree=2), X).psd, round(is_psd(Sigmoid(), X).smallest, 8)
    (True, -1.65197248)
    """
    if isinstance(kernel, Kernel) or callable(kernel):
        from tercet.kernels.kernel_machine import as_kernel

        if X is None:
            raise ValueError("is_psd needs points X to test a kernel on.")
        gram = as_kernel(kernel)(X)
    elif X is None:
        gram = kernel
    else:
        raise ValueError("is_psd takes a kernel and points X, or a Gram matrix alone.")
    gram = check_array(gram, dtype=(np.float64, np.float32), input_name="kernel")
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(f"A Gram matrix is square; got the shape {gram.shape}.")
    size = float(np.abs(gram).max())
    tolerance = 8 * gram.shape[0] * float(np.finfo(gram.dtype).eps) * size if tol is None else float(tol)
    half = gram.astype(np.float64) / 2  # the sum of two whole ones may be too large a number
    symmetric = bool(np.abs(half - half.T).max() <= tolerance / 2)
    smallest = float(np.linalg.eigvalsh(half + half.T)[0])
    return PSDReport(symmetric and smallest >= -tolerance, smallest, tolerance, symmetric)


@method(
    zh="核矩阵中心化",
    task="kernel",
    model="phi(x) - mean of phi over the training rows",
    texts=["watermelon notes ch. 8"],
    peers=["sklearn.preprocessing.KernelCenterer"],
)
def center(gram: Any, training: Any = None) -> np.ndarray:
    """Centre a Gram matrix: mapped points minus their mean in feature space.

    Parameters
    ----------
    gram : array of shape (n, m)
        Kernel of some points with the m training points.
    training : array of shape (m, m), optional
        Gram matrix of the training points; without it, `gram` is that.

    Examples
    --------
    >>> center([[1.0, 0.0], [0.0, 1.0]])
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    gram = check_array(gram, dtype=(np.float64, np.float32), input_name="gram")
    base = gram if training is None else check_array(training, dtype=(np.float64, np.float32))
    if base.shape != (gram.shape[1],) * 2:
        raise ValueError(
            f"center needs the Gram matrix of the {gram.shape[1]} training points; got the shape {base.shape}."
        )
    columns = base.mean(axis=0)
    return gram - columns - gram.mean(axis=1, keepdims=True) + columns.mean()

"""Kernels by the names that scikit-learn gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.kernels.base import Kernel
from tercet.kernels.from_function import FromFunction
from tercet.kernels.gaussian import Gaussian
from tercet.kernels.laplacian import Laplacian
from tercet.kernels.linear import Linear
from tercet.kernels.polynomial import Polynomial
from tercet.kernels.precomputed import Precomputed
from tercet.kernels.sigmoid import Sigmoid

NAMES = ("linear", "poly", "polynomial", "rbf", "laplacian", "sigmoid", "precomputed")


def as_kernel(
    kernel: Any,
    *,
    gamma: Any = "scale",
    degree: float = 3,
    coef0: float = 0.0,
    X: Any = None,
    sample_weight: np.ndarray | None = None,
) -> Kernel:
    """A kernel from what scikit-learn's machines take: a name, a callable or a kernel.

    Parameters
    ----------
    kernel : str, callable or Kernel
        A name: "linear", "poly", "rbf", "laplacian", "sigmoid" or "precomputed"; a callable that takes two matrices
        and gives their Gram matrix; or a kernel, for which the other parameters mean nothing.
    gamma : float, "scale", "auto" or None, default="scale"
        Of "poly", "rbf", "laplacian" and "sigmoid"; None is "auto".
    degree : float, default=3
        Of "poly".
    coef0 : float, default=0
        Of "poly" and "sigmoid".
    X : rows, optional
        The data from which "scale" and "auto" are found; without it they stay what they are.

    Examples
    --------
    >>> as_kernel("rbf", gamma="auto", X=np.ones((3, 4)))
    Gaussian(gamma=0.25)
    """
    found = _kernel_by_name(kernel, "auto" if gamma is None else gamma, degree, coef0)
    return found if X is None else found.resolve(X, sample_weight)


def _kernel_by_name(kernel: Any, gamma: Any, degree: float, coef0: float) -> Kernel:
    """The kernel, its gamma as it is."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return FromFunction(kernel)
    if kernel == "linear":
        return Linear()
    if kernel in ("poly", "polynomial"):
        return Polynomial(degree, gamma, coef0)
    if kernel == "rbf":
        return Gaussian(gamma=gamma)
    if kernel == "laplacian":
        return Laplacian(gamma=gamma, norm="l1")
    if kernel == "sigmoid":
        return Sigmoid(gamma, coef0)
    if kernel == "precomputed":
        return Precomputed()
    raise ValueError(f"kernel must be a Kernel, a callable or one of {', '.join(NAMES)}; got {kernel!r}.")

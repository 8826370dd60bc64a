"""Kernel minimum squared error (核最小平方误差)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.validation import check_array
from tercet.kernel_machines._engine.cholesky import CholeskyFactor


@method(
    zh="核最小平方误差",
    task="classification",
    model="f(x) = Σ_j a_j K(x, x_j) + b",
    strategy="Σ_i (y_i - f(x_i))² + mu times aᵀKa, or aᵀa",
    algorithms="the normal equations, with Cholesky's factorisation",
    texts=["Pattern Recognition ch. 5, 5.6.2"],
)
def kernel_mse(
    K: Any,
    y: Any,
    mu: float = 1.0,
    *,
    penalty: Literal["norm", "coefficients"] = "norm",
    intercept: bool = True,
) -> tuple[np.ndarray, float]:
    """Kernel minimum squared error (KMSE): least squares on labels in the feature space of a kernel.

    With the norm of the function as the penalty it is kernel ridge regression (without an intercept) and the
    least-squares SVM (with one); with the squares of the coefficients, and one, it has the direction of the kernel
    Fisher discriminant, whatever two numbers the labels are.

    Parameters
    ----------
    K : array of shape (n, n)
        The Gram matrix.
    y : array of shape (n,)
        A number for each row: +1 and -1 for two classes.
    mu : float, default=1.0
        Strength of the penalty.
    penalty : {"norm", "coefficients"}, default="norm"
        aᵀKa, the squared norm of the function, or aᵀa.
    intercept : bool, default=True
        Whether there is a b.

    Returns
    -------
    a : array of shape (n,)
    b : float

    Examples
    --------
    >>> from tercet.kernels import Gaussian
    >>> a, b = kernel_mse(Gaussian(gamma=1.0)([[0], [1], [2]]), [1, -1, 1], mu=0.5)
    >>> a.round(8), round(b, 8)
    (array([ 0.65642687, -1.31285375,  0.65642687]), 0.48630872)
    """
    K = check_array(K, dtype=np.float64, copy=True, input_name="K")
    y = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    n = y.size
    if y.ndim != 1 or K.shape != (n, n) or not 0 < mu < np.inf:
        raise ValueError(
            f"kernel_mse: K must have the shape {(n, n)}, as y has {n} numbers, and mu must be above 0; "
            f"got K of {K.shape}, y of {y.shape} and mu={mu!r}."
        )
    if penalty not in ("norm", "coefficients"):
        raise ValueError(f"kernel_mse: penalty must be 'norm' or 'coefficients'; got {penalty!r}.")
    if penalty == "norm":
        K.flat[:: n + 1] += mu
        a, b = CholeskyFactor(K).solve_saddle_point(np.ones((n, 1)) if intercept else None, y[:, None])
        return a[:, 0], float(b.sum())
    means = K.mean(axis=0) if intercept else np.zeros(n)
    centred = K - means
    target = y - y.mean() if intercept else y
    a = CholeskyFactor(centred.T @ centred + mu * np.eye(n)).solve(centred.T @ target)
    return a, float(y.mean() - means @ a) if intercept else 0.0

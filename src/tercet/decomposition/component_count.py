"""Which solver a principal component analysis uses, and how many components it can have."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.row_sums import mass_of

WHOLE = ("full", "covariance_eigh")  # solvers that find all components


def requested_count(n_components: Any, shape: tuple[int, int], solver: str) -> Any:
    """What `n_components` asks for: a number, a share of the variance, or "mle"."""
    if n_components is None:
        return min(shape) - (1 if solver == "arpack" else 0)
    return n_components


def choose_solver(svd_solver: str, n_components: Any, X: Any) -> str:
    """What "auto" comes to for these rows."""
    n, d = X.shape
    if sparse.issparse(X):
        if svd_solver == "full":
            raise TypeError(
                'PCA only support sparse inputs with the "arpack" and "covariance_eigh" solvers, while "full" '
                'was passed; "lanczos" and "randomized" take them, too.'
            )
        if svd_solver == "auto":
            return "covariance_eigh" if d <= 1000 else "lanczos"
    if svd_solver != "auto":
        return svd_solver
    k = requested_count(n_components, (n, d), "")
    if d <= 1000 and n >= 10 * d:
        return "covariance_eigh"
    if max(n, d) <= 500 or k == "mle":
        return "full"
    return "randomized" if 1 <= k < 0.8 * min(n, d) else "full"


def check_count(n_components: Any, shape: tuple[int, int], solver: str) -> None:
    """Refuse a number of components that these rows or this solver cannot have."""
    (n, d), most = shape, min(shape)
    k = requested_count(n_components, shape, solver)
    if k == "mle":
        if solver not in WHOLE:
            raise ValueError(f"PCA: n_components='mle' cannot be a string with svd_solver='{solver}'.")
        if n < d:
            raise ValueError(
                f"PCA: n_components='mle' is only supported if n_samples >= n_features; X has {n} rows and {d} "
                "columns."
            )
        return
    least = 0 if solver in WHOLE else 1
    if not least <= k <= most:
        raise ValueError(
            f"PCA: n_components={k!r} must be between {least} and min(n_samples, n_features)={most} with "
            f"svd_solver={solver!r}; n_samples={n}, n_features={d}."
        )
    if solver == "arpack" and k == most:
        raise ValueError(
            f"PCA: n_components={k!r} must be strictly less than min(n_samples, n_features)={most} with "
            f"svd_solver='arpack'; n_samples={n}, n_features={d}."
        )


def check_mass(n: int, weight: np.ndarray | None) -> None:
    """Refuse rows that have no variance because there is but one."""
    if n < 2:
        raise ValueError("PCA: n_samples=1; there is no variance of one row. At least 2 are needed.")
    mass = float(n) if weight is None else mass_of(weight, weight)
    if mass <= 1:
        raise ValueError(
            f"PCA: sample_weight adds up to {mass:.6g}; weights count rows, and must add up to more than 1."
        )

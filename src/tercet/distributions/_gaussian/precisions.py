"""Cholesky factors of the precisions of K Gaussians.

Upper triangular matrices P with P Pᵀ = Σ⁻¹, by which (x - μ)ᵀ Σ⁻¹ (x - μ) = |(x - μ)ᵀ P|². For "diag" and
"spherical" covariances they are 1 / σ. The shapes are the compact ones of `covariances`, with lead = (K,).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.validation import check_array
from tercet.distributions._gaussian.covariances import CovarianceType, covariance_shape, positive_definite


def precisions_cholesky(covariances: np.ndarray, kind: CovarianceType) -> np.ndarray:
    """P with P Pᵀ = Σ⁻¹; an error names the components whose covariance has no inverse.

    Examples
    --------
    >>> precisions_cholesky(np.array([[4.0, 25.0]]), "diag")
    array([[0.5, 0.2]])
    """
    if kind in ("diag", "spherical"):
        flat = covariances.reshape(len(covariances), -1)
        _refuse_singular(np.flatnonzero(~(flat > 0).all(axis=1)))
        return 1.0 / np.sqrt(covariances)
    stack = covariances if kind == "full" else covariances[None]
    try:
        lower = np.linalg.cholesky(stack)
    except np.linalg.LinAlgError:
        _refuse_singular([k for k, one in enumerate(stack) if not positive_definite(one)])
        raise
    _refuse_singular(np.flatnonzero(~np.isfinite(lower).all(axis=(1, 2))))
    inverse = np.linalg.solve(lower, np.broadcast_to(np.eye(stack.shape[-1]), stack.shape))
    found = np.ascontiguousarray(np.triu(inverse.transpose(0, 2, 1)))
    return found if kind == "full" else found[0]


def cholesky_of_precisions(precisions: np.ndarray, kind: CovarianceType) -> np.ndarray:
    """P from the precisions. Cholesky gives lower triangles, so rows and columns are reversed before and after."""
    if kind in ("diag", "spherical"):
        return np.sqrt(precisions)
    return np.ascontiguousarray(np.linalg.cholesky(precisions[..., ::-1, ::-1])[..., ::-1, ::-1])


def precisions_of(cholesky: np.ndarray, kind: CovarianceType) -> np.ndarray:
    """Σ⁻¹ = P Pᵀ."""
    return cholesky**2 if kind in ("diag", "spherical") else cholesky @ np.swapaxes(cholesky, -1, -2)


def covariances_of(cholesky: np.ndarray, kind: CovarianceType) -> np.ndarray:
    """Σ = P⁻ᵀ P⁻¹."""
    if kind in ("diag", "spherical"):
        return cholesky**-2.0
    inverse = np.linalg.inv(cholesky)
    return np.swapaxes(inverse, -1, -2) @ inverse


def log_determinants(cholesky: np.ndarray, kind: CovarianceType, d: int) -> np.ndarray:
    """log |P| = -½ log |Σ| of each component (one number if tied)."""
    if kind == "spherical":
        return d * np.log(cholesky)
    diagonal = cholesky if kind == "diag" else np.diagonal(cholesky, axis1=-2, axis2=-1)
    return np.log(diagonal).sum(axis=-1)


def check_precisions(given: Any, kind: CovarianceType, k: int, d: int, owner: str) -> np.ndarray:
    """Precisions as the caller gave them (`precisions_init`), or an error that says what is wrong."""
    precisions = check_array(
        given, dtype=np.float64, ensure_2d=False, allow_nd=kind == "full", input_name="precisions_init"
    )
    shape = covariance_shape(kind, (k,), d)
    if precisions.shape != shape:
        raise ValueError(
            f"{owner}: The parameter '{kind} precision' should have the shape of {shape}, but got "
            f"{precisions.shape} in precisions_init."
        )
    if kind in ("diag", "spherical"):
        good = bool((precisions > 0).all())
    else:
        stack = precisions.reshape(-1, d, d)
        good = np.allclose(stack, stack.transpose(0, 2, 1)) and all(map(positive_definite, stack))
    if not good:
        words = "positive" if kind in ("diag", "spherical") else "symmetric, positive-definite"
        raise ValueError(f"{owner}: '{kind} precision' should be {words} in precisions_init.")
    return precisions


def _refuse_singular(components: Any) -> None:
    if len(components):
        raise ValueError(
            "Fitting the mixture model failed because some components have ill-defined empirical covariance (for "
            "instance caused by singleton or collapsed samples). Try to decrease the number of components, "
            "increase reg_covar, or scale the input data. The covariances of the components "
            f"{list(map(int, components))} are singular; float64 may help where the data is float32."
        )

"""The four shapes of the covariances of k Gaussians in d dimensions, and what is derived from them.

    full       (k, d, d)   each component has its own
    tied       (d, d)      all components share one
    diag       (k, d)      each component has its own variances; features are independent inside it
    spherical  (k,)        each component has one variance

With them go upper triangular matrices P with P Pᵀ = Σ⁻¹ (for the last two: their square roots), by which
(x - μ)ᵀ Σ⁻¹ (x - μ) = |(x - μ)ᵀ P|².
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_array

Kind = Literal["full", "tied", "diag", "spherical"]


def shape_of(kind: Kind, k: int, d: int) -> tuple[int, ...]:
    """The shape of the covariances of a kind."""
    return {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}[kind]


def n_free(kind: Kind, k: int, d: int) -> int:
    """How many numbers the covariances could choose freely."""
    return {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}[kind]


def precisions_cholesky(covariances: np.ndarray, kind: Kind) -> np.ndarray:
    """P with P Pᵀ = Σ⁻¹; an error names the components whose covariance has no inverse.

    Examples
    --------
    >>> precisions_cholesky(np.array([[4.0, 25.0]]), "diag")
    array([[0.5, 0.2]])
    """
    if kind in ("diag", "spherical"):
        flat = covariances.reshape(len(covariances), -1)
        _refuse(np.flatnonzero(~(flat > 0).all(axis=1)))
        return 1.0 / np.sqrt(covariances)
    stack = covariances if kind == "full" else covariances[None]
    try:
        lower = np.linalg.cholesky(stack)
    except np.linalg.LinAlgError:
        _refuse([k for k, one in enumerate(stack) if not positive_definite(one)])
        raise
    _refuse(np.flatnonzero(~np.isfinite(lower).all(axis=(1, 2))))
    inverse = np.linalg.solve(lower, np.broadcast_to(np.eye(stack.shape[-1]), stack.shape))
    found = np.ascontiguousarray(np.triu(inverse.transpose(0, 2, 1)))
    return found if kind == "full" else found[0]


def cholesky_of_precisions(precisions: np.ndarray, kind: Kind) -> np.ndarray:
    """P from the precisions themselves. Cholesky gives lower triangles, so rows and columns are turned round."""
    if kind in ("diag", "spherical"):
        return np.sqrt(precisions)
    return np.ascontiguousarray(np.linalg.cholesky(precisions[..., ::-1, ::-1])[..., ::-1, ::-1])


def precisions_of(cholesky: np.ndarray, kind: Kind) -> np.ndarray:
    """Σ⁻¹ = P Pᵀ."""
    return cholesky**2 if kind in ("diag", "spherical") else cholesky @ np.swapaxes(cholesky, -1, -2)


def covariances_of(cholesky: np.ndarray, kind: Kind) -> np.ndarray:
    """Σ = P⁻ᵀ P⁻¹."""
    if kind in ("diag", "spherical"):
        return cholesky**-2.0
    inverse = np.linalg.inv(cholesky)
    return np.swapaxes(inverse, -1, -2) @ inverse


def log_determinants(cholesky: np.ndarray, kind: Kind, d: int) -> np.ndarray:
    """log |P|, which is -½ log |Σ|, of each component (one number where they share the covariance)."""
    if kind == "spherical":
        return d * np.log(cholesky)
    diagonal = cholesky if kind == "diag" else np.diagonal(cholesky, axis1=-2, axis2=-1)
    return np.log(diagonal).sum(axis=-1)


def dense(covariances: np.ndarray, kind: Kind, k: int, d: int) -> np.ndarray:
    """Covariances of any kind as matrices, of shape (k, d, d)."""
    if kind == "full":
        return covariances
    if kind == "tied":
        return np.broadcast_to(covariances, (k, d, d))
    variances = covariances if kind == "diag" else np.repeat(covariances[:, None], d, axis=1)
    return variances[:, :, None] * np.eye(d)


def positive_definite(matrix: np.ndarray) -> bool:
    try:
        return bool(np.isfinite(np.linalg.cholesky(matrix)).all())
    except np.linalg.LinAlgError:
        return False


def checked_precisions(given: Any, kind: Kind, k: int, d: int, name: str) -> np.ndarray:
    """Precisions as the caller gave them, or an error that says what is wrong."""
    precisions = check_array(
        given, dtype=np.float64, ensure_2d=False, allow_nd=kind == "full", input_name="precisions_init"
    )
    shape = shape_of(kind, k, d)
    if precisions.shape != shape:
        raise ValueError(f"{name}: precisions_init must have the shape {shape}; got {precisions.shape}.")
    if kind in ("diag", "spherical"):
        good = bool((precisions > 0).all())
    else:
        stack = precisions.reshape(-1, d, d)
        good = np.allclose(stack, stack.transpose(0, 2, 1)) and all(map(positive_definite, stack))
    if not good:
        words = "positive" if kind in ("diag", "spherical") else "symmetric, positive-definite"
        raise ValueError(f"{name}: '{kind} precision' should be {words} in precisions_init.")
    return precisions


def _refuse(components: Any) -> None:
    if len(components):
        raise ValueError(
            f"The covariances of the components {list(map(int, components))} are singular: these components have "
            "collapsed onto too few different rows, or features depend on each other. Try fewer components, a "
            "larger reg_covar, features of like scale, or float64 where the data is float32."
        )

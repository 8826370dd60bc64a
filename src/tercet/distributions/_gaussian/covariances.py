"""The four covariance types of several Gaussians: shapes, checks, variance floors.

`lead` says how the K Gaussians are arranged: (components,), or (states, components of a mixture). Covariances are
kept in the compact form of their type,

    "full"       lead + (d, d)        a matrix each
    "tied"       lead[:-1] + (d, d)   a matrix shared along the last axis of lead
    "diag"       lead + (d,)          a variance for each feature
    "spherical"  lead                 one variance each

and expanded for densities: to variances (K, d) or to matrices (K, d, d).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

CovarianceType = Literal["full", "tied", "diag", "spherical"]


def covariance_shape(kind: CovarianceType, lead: tuple[int, ...], d: int) -> tuple[int, ...]:
    """The shape of the compact form.

    Examples
    --------
    >>> covariance_shape("tied", (3,), 2), covariance_shape("diag", (3,), 2)
    ((2, 2), (3, 2))
    """
    return {"spherical": lead, "diag": (*lead, d), "full": (*lead, d, d), "tied": (*lead[:-1], d, d)}[kind]


def n_free(kind: CovarianceType, lead: tuple[int, ...], d: int) -> int:
    """The number of free parameters of the covariances."""
    each = {"spherical": 1, "diag": d}.get(kind, d * (d + 1) // 2)
    return each * int(np.prod(lead[:-1] if kind == "tied" else lead))


def expanded(covariances: np.ndarray, kind: CovarianceType, lead: tuple[int, ...], d: int) -> np.ndarray:
    """Variances (K, d) of "diag" and "spherical" covariances, matrices (K, d, d) of the others."""
    if kind == "spherical":
        return np.repeat(covariances.reshape(-1, 1), d, axis=1)
    if kind == "diag":
        return covariances.reshape(-1, d)
    matrices = covariances.reshape(-1, d, d)
    return matrices if kind == "full" else np.repeat(matrices, lead[-1], axis=0)


def matrices_of(covariances: np.ndarray, kind: CovarianceType, lead: tuple[int, ...], d: int) -> np.ndarray:
    """Covariances of any type as matrices (K, d, d)."""
    found = expanded(covariances, kind, lead, d)
    return found if found.ndim == 3 else found[:, :, None] * np.eye(d)


def repeated(covariance: np.ndarray, kind: CovarianceType, lead: tuple[int, ...]) -> np.ndarray:
    """The compact form in which all Gaussians have one and the same covariance matrix (d, d)."""
    shape = covariance_shape(kind, lead, len(covariance))
    return np.broadcast_to(of_one(covariance, kind), shape).copy()


def of_one(covariance: np.ndarray, kind: CovarianceType) -> np.ndarray:
    """A matrix (d, d) as the covariance of one Gaussian: its diagonal for "diag", the mean of it for
    "spherical"."""
    variances = np.diagonal(covariance)
    return {"spherical": variances.mean(), "diag": variances}.get(kind, covariance)


def compacted(covariances: np.ndarray, kind: CovarianceType) -> np.ndarray:
    """The compact form, where the matrices of all Gaussians are given."""
    if covariances.ndim == 3 and kind in ("diag", "spherical"):
        covariances = np.diagonal(covariances, axis1=1, axis2=2)
    if kind == "spherical" and covariances.ndim == 2 and (covariances == covariances[:, :1]).all():
        return covariances[:, 0].copy()
    if kind == "tied" and covariances.ndim == 3 and (covariances == covariances[0]).all():
        return covariances[0]
    return covariances


def pooled(
    scatter: np.ndarray, mass: np.ndarray, kind: CovarianceType, lead: tuple[int, ...], d: int
) -> tuple[np.ndarray, np.ndarray]:
    """Expanded scatter and its weight, (K, d) or (K, 1), added up where a covariance is shared: in the compact
    form, so that their quotient is the covariance."""
    if kind == "spherical":
        return scatter.sum(axis=1).reshape(lead), mass.sum(axis=1).reshape(lead)
    if kind == "diag":
        return scatter.reshape(*lead, d), mass.reshape(*lead, d)
    scatter, mass = scatter.reshape(*lead, d, d), mass.reshape(*lead, 1, 1)
    return (scatter, mass) if kind == "full" else (scatter.sum(axis=-3), mass.sum(axis=-3))


def floored(covariances: np.ndarray, kind: CovarianceType, floor: np.ndarray) -> np.ndarray:
    """The most likely compact covariances that are nowhere below the diagonal matrix of `floor` (d,).

    Variances are raised to the floor; of a matrix, in units of the floor, the eigenvalues below 1 become 1.
    """
    if kind in ("spherical", "diag"):
        return np.maximum(covariances, floor.min() if kind == "spherical" else floor)
    matrices = covariances.reshape(-1, floor.size, floor.size)
    unit = np.sqrt(floor)[:, None] * np.sqrt(floor)
    values, vectors = np.linalg.eigh(matrices / unit)
    if values.min() >= 1:
        return covariances
    raised = (vectors * np.maximum(values, 1.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    raised = 0.5 * (raised + raised.transpose(0, 2, 1)) * unit
    low = values[:, 0] < 1
    return np.where(low[:, None, None], raised, matrices).reshape(covariances.shape)


def check_covariances(
    given: Any, kind: CovarianceType, lead: tuple[int, ...], d: int, owner: str, name: str = "covars_"
) -> np.ndarray:
    """Covariances that a caller has set; an error says which one is no covariance, and why."""
    covariances = np.array(given, dtype=np.float64, order="C")
    shape = covariance_shape(kind, lead, d)
    if covariances.shape != shape:
        raise ValueError(
            f"{owner}: {name} of covariance_type={kind!r} must have the shape {shape}; got {covariances.shape}."
        )
    if kind in ("spherical", "diag"):
        worst = np.unravel_index(np.argmin(covariances), shape)
        if not covariances[worst] > 0:  # NaN is its own smallest value
            raise ValueError(
                f"{owner}: variances must be positive; {name}{_index(worst)} is {covariances[worst]:g}."
            )
        return covariances
    for at in np.ndindex(shape[:-2]):
        matrix = covariances[at]
        if not np.allclose(matrix, matrix.T):
            raise ValueError(f"{owner}: a covariance must be symmetric; {name}{_index(at)} is not.")
        values = np.linalg.eigvalsh(matrix)
        least = values[0]
        if not least > d * np.finfo(float).eps * values[-1]:
            raise ValueError(
                f"{owner}: a covariance must be positive definite; {name}{_index(at)} is singular or worse: "
                f"its smallest eigenvalue is {least:g}."
            )
    return covariances


def positive_definite(matrix: np.ndarray) -> bool:
    """Whether a symmetric matrix, or each of a stack of them, has a Cholesky factor."""
    try:
        return bool(np.isfinite(np.linalg.cholesky(matrix)).all())
    except np.linalg.LinAlgError:
        return False


def _index(at: tuple[Any, ...]) -> str:
    return f"[{', '.join(str(int(k)) for k in at)}]" if at else ""

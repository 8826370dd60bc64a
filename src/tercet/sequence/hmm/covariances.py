"""Covariances of four kinds, in the short form that a model keeps and in the long form that densities need.

`lead` says how Gaussians are arranged: (states,) or (states, parts of a mixture). The short forms are

    "spherical"  lead                 one variance each
    "diag"       lead + (d,)          a variance for each feature
    "full"       lead + (d, d)        a matrix each
    "tied"       lead[:-1] + (d, d)   a matrix shared along the last axis of lead

and the long ones are variances (K, d) or matrices (K, d, d), where K is the number of all Gaussians.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.sequence.hmm.gaussians import raised

Kind = Literal["spherical", "diag", "full", "tied"]


def short_shape(kind: Kind, lead: tuple[int, ...], d: int) -> tuple[int, ...]:
    """The shape of the short form."""
    return {"spherical": lead, "diag": (*lead, d), "full": (*lead, d, d), "tied": (*lead[:-1], d, d)}[kind]


def long(covars: np.ndarray, kind: Kind, lead: tuple[int, ...], d: int) -> np.ndarray:
    """Variances (K, d) or matrices (K, d, d)."""
    if kind == "spherical":
        return np.repeat(covars.reshape(-1, 1), d, axis=1)
    if kind == "diag":
        return covars.reshape(-1, d)
    matrices = covars.reshape(-1, d, d)
    return matrices if kind == "full" else np.repeat(matrices, lead[-1], axis=0)


def alike(covariance: np.ndarray, kind: Kind, lead: tuple[int, ...]) -> np.ndarray:
    """The short form in which all Gaussians have one and the same covariance matrix."""
    shape = short_shape(kind, lead, len(covariance))
    variances = np.diagonal(covariance)
    one = {"spherical": variances.mean(), "diag": variances}.get(kind, covariance)
    return np.broadcast_to(one, shape).copy()


def pooled(
    scatter: np.ndarray, mass: np.ndarray, kind: Kind, lead: tuple[int, ...], d: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scatter in the long form, and what it weighs, (K, d) or (K, 1), added up where a covariance is shared: in the
    short form, so that their quotient is the covariance."""
    if kind == "spherical":
        return scatter.sum(axis=1).reshape(lead), mass.sum(axis=1).reshape(lead)
    if kind == "diag":
        return scatter.reshape(*lead, d), mass.reshape(*lead, d)
    scatter, mass = scatter.reshape(*lead, d, d), mass.reshape(*lead, 1, 1)
    return (scatter, mass) if kind == "full" else (scatter.sum(axis=-3), mass.sum(axis=-3))


def lifted(covars: np.ndarray, kind: Kind, floor: np.ndarray) -> np.ndarray:
    """Covariances, in the short form, that are nowhere below the floor (one value for each feature)."""
    if kind == "spherical":
        return np.maximum(covars, floor.min())
    d = floor.size
    flat = covars.reshape(-1, d) if kind == "diag" else covars.reshape(-1, d, d)
    return raised(flat, floor).reshape(covars.shape)


def shortened(covars: np.ndarray, kind: Kind) -> np.ndarray:
    """The short form from matrices of all Gaussians, if that is what is given."""
    if covars.ndim == 3 and kind in ("diag", "spherical"):
        covars = np.diagonal(covars, axis1=1, axis2=2)
    if kind == "spherical" and covars.ndim == 2 and (covars == covars[:, :1]).all():
        return covars[:, 0].copy()
    if kind == "tied" and covars.ndim == 3 and (covars == covars[0]).all():
        return covars[0]
    return covars


def checked(covars: Any, kind: Kind, lead: tuple[int, ...], d: int, owner: str) -> np.ndarray:
    """Covariances that a caller has set; an error says which one is no covariance, and why."""
    covars = np.array(covars, dtype=np.float64, order="C")
    shape = short_shape(kind, lead, d)
    if covars.shape != shape:
        raise ValueError(
            f"{owner}: covars_ of covariance_type={kind!r} must have the shape {shape}; got {covars.shape}."
        )
    if kind in ("spherical", "diag"):
        worst = np.unravel_index(np.argmin(covars), shape)
        if not covars[worst] > 0:  # NaN is its own smallest value
            raise ValueError(
                f"{owner}: variances must be positive; covars_{_index(worst)} is {covars[worst]:g}."
            )
        return covars
    for at in np.ndindex(shape[:-2]):
        matrix = covars[at]
        if not np.allclose(matrix, matrix.T):
            raise ValueError(f"{owner}: a covariance must be symmetric; covars_{_index(at)} is not.")
        values = np.linalg.eigvalsh(matrix)
        least = values[0]
        if not least > d * np.finfo(float).eps * values[-1]:
            raise ValueError(
                f"{owner}: a covariance must be positive definite; covars_{_index(at)} is singular or worse: "
                f"its smallest eigenvalue is {least:g}."
            )
    return covars


def _index(at: tuple[Any, ...]) -> str:
    return f"[{', '.join(str(int(k)) for k in at)}]" if at else ""


def count(kind: Kind, lead: tuple[int, ...], d: int) -> int:
    """How many numbers are free."""
    free = {"spherical": 1, "diag": d}.get(kind, d * (d + 1) // 2)
    return free * int(np.prod(lead[:-1] if kind == "tied" else lead))


def spread(value: Any, shape: tuple[int, ...], owner: str, name: str, low: float = -np.inf) -> np.ndarray:
    """A prior's parameter for each entry of `shape`: from a number, an array that NumPy would broadcast, or one
    with the first axes only (a value for each state, say)."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim and array.shape == shape[: array.ndim] and array.shape != shape[-array.ndim :]:
        array = array.reshape(*array.shape, *[1] * (len(shape) - array.ndim))
    try:
        array = np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(
            f"{owner}: {name} must be a number or an array that fits the shape {shape}; "
            f"got an array of shape {np.shape(value)}."
        ) from None
    if not np.isfinite(array).all() or array.min(initial=np.inf) < low:
        also = "" if low == -np.inf else f" and not less than {low:g}"
        raise ValueError(f"{owner}: {name} must be finite{also}; got {value!r}.")
    return array


def spread_matrices(value: Any, lead: tuple[int, ...], d: int, owner: str, name: str) -> np.ndarray:
    """The same for matrices. A number stands for a multiple of the identity: a matrix of equal entries would be
    singular, and pull all correlations towards one."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim < 2 or array.shape[-2:] != (d, d):
        return spread(array, lead, owner, name)[..., None, None] * np.eye(d)
    return spread(array, (*lead, d, d), owner, name)

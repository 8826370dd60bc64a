"""Distances between two vectors."""

from __future__ import annotations

import numbers

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method


@method(
    zh="闵可夫斯基距离（L_p 距离）",
    task="distance",
    model="L_p(x, z) = (Σ_l w_l |x_l - z_l|^p)^(1/p), p >= 1",
    texts=["Li ch. 3, eq. 3.2", "Li ch. 14, eq. 14.2", "watermelon notes ch. 7, eq. 7.11"],
    peers=["scipy.spatial.distance.minkowski"],
)
def minkowski(x: ArrayLike, z: ArrayLike, p: float = 2, w: ArrayLike | None = None) -> np.ndarray:
    """L_p (Minkowski) distance, with a weight for each feature if given.

    It does not rise with p; p below 1 would break the triangle inequality and is refused.

    Examples
    --------
    >>> [float(minkowski([1, 1], [4, 4], p).round(2)) for p in (1, 2, 3, 4, np.inf)]
    [6.0, 4.24, 3.78, 3.57, 3.0]
    """
    p = check_p(p)
    x, z = vectors(x, z)
    gap = np.abs(x - z)
    weight = None if w is None else check_weights(w, gap.shape[-1])
    if np.isinf(p):  # the limit of the formula: a weight that is not 0 goes to 1
        return (gap if weight is None else np.where(weight > 0, gap, 0.0)).max(axis=-1, initial=0.0)
    # Divide by the largest difference where its power would overflow or underflow: 1e200 squared, say.
    top = gap.max(axis=-1, keepdims=True, initial=0.0)
    extreme = (
        (top > 0) & np.isfinite(top) & (np.abs(p * np.log2(np.where(top > 0, top, 1.0))) > 500) & (p > 1)
    )
    top = np.where(extreme, top, 1.0)
    ratio = gap / top
    terms = ratio**p if weight is None else weight * ratio**p
    return top[..., 0] * terms.sum(axis=-1) ** (1 / p)


@method(
    zh="欧氏距离",
    task="distance",
    model="L_2(x, z) = √Σ_l (x_l - z_l)²",
    texts=["Li ch. 3, eq. 3.3", "Li ch. 14, eq. 14.3", "watermelon notes ch. 7, eq. 7.12"],
    peers=["scipy.spatial.distance.euclidean"],
)
def euclidean(x: ArrayLike, z: ArrayLike, w: ArrayLike | None = None) -> np.ndarray:
    """Euclidean distance: L_p with p = 2.

    Examples
    --------
    >>> float(euclidean([0, 0], [3, 4]))
    5.0
    """
    return minkowski(x, z, 2, w)


@method(
    zh="欧氏距离平方",
    task="distance",
    model="Σ_l (x_l - z_l)²",
    texts=["Li ch. 14, eq. 14.18"],
    peers=["scipy.spatial.distance.sqeuclidean"],
)
def squared_euclidean(x: ArrayLike, z: ArrayLike) -> np.ndarray:
    """Squared Euclidean distance, the loss of k-means; not a metric.

    Examples
    --------
    >>> float(squared_euclidean([0, 0], [3, 4]))
    25.0
    """
    x, z = vectors(x, z)
    with np.errstate(over="ignore", under="ignore"):  # infinite where the square is beyond floating point
        return ((x - z) ** 2).sum(axis=-1)


@method(
    zh="曼哈顿距离",
    task="distance",
    model="L_1(x, z) = Σ_l |x_l - z_l|",
    texts=["Li ch. 3, eq. 3.4", "Li ch. 14, eq. 14.4", "watermelon notes ch. 7, eq. 7.13"],
    peers=["scipy.spatial.distance.cityblock"],
)
def manhattan(x: ArrayLike, z: ArrayLike, w: ArrayLike | None = None) -> np.ndarray:
    """Manhattan (city block) distance: L_p with p = 1.

    Examples
    --------
    >>> float(manhattan([0, 0], [3, 4]))
    7.0
    """
    return minkowski(x, z, 1, w)


@method(
    zh="切比雪夫距离",
    task="distance",
    model="L_∞(x, z) = max_l |x_l - z_l|",
    texts=["Li ch. 3, eq. 3.5", "Li ch. 14, eq. 14.5"],
    peers=["scipy.spatial.distance.chebyshev"],
)
def chebyshev(x: ArrayLike, z: ArrayLike) -> np.ndarray:
    """Chebyshev distance: L_p as p goes to infinity.

    Examples
    --------
    >>> float(chebyshev([0, 0], [3, 4]))
    4.0
    """
    return minkowski(x, z, np.inf)


@method(
    zh="马哈拉诺比斯距离（马氏距离）",
    task="distance",
    model="√((x - z)ᵀ S⁻¹ (x - z)), S the covariance",
    texts=["Li ch. 14, eq. 14.6", "watermelon notes ch. 8, eq. 8.26"],
    peers=["scipy.spatial.distance.mahalanobis"],
)
def mahalanobis(
    x: ArrayLike,
    z: ArrayLike,
    *,
    S: ArrayLike | None = None,
    M: ArrayLike | None = None,
    P: ArrayLike | None = None,
) -> np.ndarray:
    """Mahalanobis distance, by a covariance S, a metric matrix M (its inverse, where S has one), or P with M = PP'.

    M need not have full rank: with P of shape (d, r) the distance is that of the r-dimensional P'x.

    Examples
    --------
    >>> float((mahalanobis([0, 0], [1, 2], M=[[2, 0.5], [0.5, 1]]) ** 2).round(9))
    8.0
    """
    x, z = vectors(x, z)
    return np.sqrt((((x - z) @ mahalanobis_factor(x.shape[-1], S, M, P)) ** 2).sum(axis=-1))


@method(
    zh="余弦距离（1 减夹角余弦）",
    task="distance",
    model="1 - x·z / (|x| |z|)",
    texts=["Li ch. 14, eq. 14.9"],
    peers=["scipy.spatial.distance.cosine"],
)
def cosine(x: ArrayLike, z: ArrayLike) -> np.ndarray:
    """Cosine distance: 1 minus the cosine of the angle between two vectors; 1 where one of them is zero.

    The similarity of the text is 1 less this, from -1 to 1; 0 where one of them is zero.

    Examples
    --------
    >>> float(cosine([1, 0], [1, 1]).round(6))
    0.292893
    """
    x, z = vectors(x, z)
    return 1 - np.clip((unit(x) * unit(z)).sum(axis=-1), -1, 1)


@method(
    zh="相关距离（1 减相关系数）",
    task="distance",
    model="1 - r(x, z), r the correlation of the two vectors' features",
    texts=["Li ch. 14, eq. 14.8"],
    peers=["scipy.spatial.distance.correlation"],
)
def correlation(x: ArrayLike, z: ArrayLike, *, absolute: bool = False) -> np.ndarray:
    """Correlation distance: the cosine distance of vectors from which their own means are taken away.

    1 - r, or 1 - |r| where `absolute` is true: then opposite vectors are as near as equal ones. The coefficient r,
    from -1 to 1, is 1 less this; 0 where all features of a vector are the same.

    Examples
    --------
    >>> float(correlation([1, 2, 3], [30, 20, 10]).round(9))
    2.0
    """
    x, z = vectors(x, z)
    apart = cosine(centred(x), centred(z))
    return 1 - np.abs(1 - apart) if absolute else apart


def vectors(x: ArrayLike, z: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of floats whose last axes are equally long."""
    x, z = (np.asarray(a, dtype=np.result_type(np.asarray(a).dtype, np.float32)) for a in (x, z))
    if x.ndim == 0 or z.ndim == 0 or x.shape[-1] != z.shape[-1]:
        raise ValueError(f"vectors must have equally many features; got the shapes {x.shape} and {z.shape}.")
    return x, z


def check_p(p: float) -> float:
    """The power of an L_p distance, from 1 to infinity."""
    if not isinstance(p, numbers.Real) or isinstance(p, bool) or not p >= 1:
        raise ValueError(
            f"p must be a number in [1, inf]: below 1 there is no triangle inequality; got {p!r}."
        )
    return float(p)


def check_weights(w: ArrayLike, width: int) -> np.ndarray:
    """Weights of the features."""
    weight = np.asarray(w, dtype=float)
    if weight.shape != (width,) or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError(
            f"w must be {width} finite weights, one for each feature, not negative and not all zero; got {w!r}."
        )
    return weight


def mahalanobis_factor(
    width: int, S: ArrayLike | None, M: ArrayLike | None, P: ArrayLike | None = None
) -> np.ndarray:
    """A matrix L with L Lᵀ = M = S⁻¹, by which vectors are multiplied to make the distance Euclidean."""
    if sum(given is not None for given in (S, M, P)) != 1:
        raise ValueError(
            "mahalanobis needs either S, a covariance, or M, a metric matrix, or P with M = PP'."
        )
    if P is not None:
        factor = np.asarray(P, dtype=float)
        if factor.ndim != 2 or len(factor) != width or not np.isfinite(factor).all():
            raise ValueError(f"P must be a matrix of {width} rows, one for each feature; got {factor.shape}.")
        return factor
    name, given = ("S", S) if M is None else ("M", M)
    matrix = np.asarray(given, dtype=float)
    if matrix.shape == (width, width) and not np.isfinite(matrix).all():
        raise ValueError(
            f"{name} must hold finite numbers. If it is the covariance of the data, scale the data."
        )
    if matrix.shape != (width, width) or not np.allclose(matrix, matrix.T):
        raise ValueError(
            f"{name} must be a symmetric matrix of shape ({width}, {width}); got {matrix.shape}."
        )
    values, basis = np.linalg.eigh(matrix)
    small = np.abs(values).max(initial=0.0) * width * np.finfo(float).eps
    if values.min(initial=0.0) < -small or (M is None and values.min(initial=1.0) <= small):
        kind = "positive definite" if M is None else "positive semidefinite"
        raise ValueError(f"{name} must be {kind}; its smallest eigenvalue is {values.min():.3g}.")
    scale = np.sqrt(np.maximum(values, 0.0))
    return basis * (scale if M is not None else 1 / scale)


def centred(x: np.ndarray) -> np.ndarray:
    """Vectors without their means; exactly zero where all features are the same, which rounding would hide."""
    same = x.max(axis=-1, keepdims=True) == x.min(axis=-1, keepdims=True)
    return np.where(same, 0.0, x - x.mean(axis=-1, keepdims=True)).astype(x.dtype)


def unit(x: np.ndarray) -> np.ndarray:
    """Vectors at length one; zero stays zero."""
    top = np.abs(x).max(axis=-1, keepdims=True, initial=0.0)
    x = x / np.where(top > 0, top, 1.0)
    length = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return x / np.where(length > 0, length, 1.0)

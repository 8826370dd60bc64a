"""Gaussians with covariance matrices where values are missing: marginal densities and conditional moments.

Put the known features of a row before the missing ones, and let L be the Cholesky factor with L Lᵀ = Σ:

    L = [ L_oo   0   ]     z = L_oo⁻¹ (x_o - μ_o)
        [ L_mo  L_mm ]

The known part has the density of z over |L_oo|; given it, the missing part has the mean μ_m + L_mo z and the
covariance L_mm L_mmᵀ, which the E step fills in. Rows with the same missing features share the factor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import inner, kernel

# What the kernel computes: densities only; the E step of EM or of classification EM; moments for given weights.
JOINT, SOFT, HARD, GIVEN = 0, 1, 2, 3
HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


def missing_in(X: np.ndarray) -> np.ndarray | None:
    """Where values are missing; None where none are."""
    missing = np.isnan(X)
    return missing if missing.any() else None


def ordered_by_missing(missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order of the rows in which complete ones come first and equal patterns of missing features stand together;
    and the borders of the groups in it."""
    bits = np.packbits(missing, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : bits.shape[1]] = bits
    keys = words.view(np.uint64)
    order = np.lexsort(keys.T)
    change = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    ends = np.flatnonzero(change) + 1
    return order, np.concatenate([[0], ends, [len(order)]]).astype(np.int64)


def missing_log_densities(
    X: np.ndarray, missing: np.ndarray, offsets: np.ndarray, means: np.ndarray, matrices: np.ndarray
) -> np.ndarray:
    """offsets_k + log-density of the known part of each row, of shape (K, T)."""
    order, _, _, _, _, joint = _by_pattern(X, missing, None, offsets, means, matrices, JOINT)
    found = np.empty_like(joint)
    found[:, order] = joint
    return found


def missing_moments(
    X: np.ndarray, missing: np.ndarray, weight: np.ndarray, means: np.ndarray, matrices: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Expected moments about the means, (K,), (K, d) and (K, d, d), of rows with the given weights (K, T)."""
    offsets = np.zeros(len(means))
    return _by_pattern(X, missing, weight, offsets, means, matrices, GIVEN)[2:5]


def missing_e_step(
    X: np.ndarray,
    missing: np.ndarray,
    weight: np.ndarray | None,
    offsets: np.ndarray,
    means: np.ndarray,
    matrices: np.ndarray,
    *,
    hard: bool,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """The E step of a mixture with log-weights `offsets`: the log-likelihood of the rows, and the expected moments
    about the means, (K,), (K, d) and (K, d, d). `weight` is (T,)."""
    return _by_pattern(X, missing, weight, offsets, means, matrices, HARD if hard else SOFT)[1:5]


def _by_pattern(
    X: np.ndarray,
    missing: np.ndarray,
    weight: np.ndarray | None,
    offsets: np.ndarray,
    means: np.ndarray,
    matrices: np.ndarray,
    mode: int,
) -> tuple[Any, ...]:
    (n, d), k = X.shape, len(offsets)
    matrices = np.array(matrices, dtype=np.float64, order="C")
    means = np.array(means, dtype=np.float64, order="C")
    if means.shape != (k, d) or matrices.shape != (k, d, d):  # the kernel checks no bounds
        raise ValueError(
            f"The means have the shape {means.shape} and the covariances {matrices.shape}; "
            f"expected are {(k, d)} and {(k, d, d)}."
        )
    order, borders = ordered_by_missing(missing)
    rows = np.array(X[order], dtype=np.float64, order="C")
    joint, weights = np.empty((k, n)), np.ones(n)
    if mode == GIVEN:
        assert weight is not None
        joint[:] = weight[:, order]
    elif weight is not None:
        weights = weight[order].astype(np.float64)
    counts, sums, products = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
    offsets = np.array(offsets, dtype=np.float64)
    with np.errstate(over="ignore"):  # as plain Python it would warn of squares that overflow
        likelihood = e_step_by_pattern(
            rows, weights, borders, offsets, means, matrices, mode, joint, counts, sums, products
        )
    return order, likelihood, counts, sums, products, joint


@kernel
def e_step_by_pattern(
    rows: Any,
    weights: Any,
    borders: Any,
    offsets: Any,
    means: Any,
    matrices: Any,
    mode: Any,
    joint: Any,
    counts: Any,
    sums: Any,
    products: Any,
) -> Any:
    """Rows (T, d) in groups with the same missing features: their log-joint densities into joint (K, T), and unless
    mode is JOINT their moments onto counts (K,), sums (K, d) and products (K, d, d). Returns the log-likelihood.

    With mode GIVEN, joint holds the weights of the rows.
    """
    k, d = offsets.size, rows.shape[1]
    place = np.empty(d, np.int64)
    lower, about = np.empty(matrices.shape), np.zeros(matrices.shape)
    white, apart = np.empty(means.shape), np.empty(means.shape)
    heights, mass = np.empty(k), np.empty(k)
    likelihood = 0.0
    for group in range(borders.size - 1):
        first, end = borders[group], borders[group + 1]
        here = known_first(rows, first, place)
        for c in range(k):
            cholesky_in_order(matrices, c, place, lower)
            heights[c] = offsets[c] + log_density_at_mean(lower, c, here)
            mass[c] = 0.0
        for i in range(first, end):
            for c in range(k):
                square = whiten(rows, i, means, c, place, here, lower, apart, white)
                if mode != GIVEN:
                    joint[c, i] = heights[c] - 0.5 * square
            if mode == JOINT:
                continue
            if mode != GIVEN:
                likelihood += weights[i] * responsibilities(joint, i, mode)
            for c in range(k):
                share = weights[i] * joint[c, i]
                mass[c] += share
                impute(lower, c, white, here, apart)
                for a in range(d):
                    scaled = share * apart[c, a]
                    sums[c, place[a]] += scaled
                    for b in range(a + 1):
                        about[c, a, b] += scaled * apart[c, b]
        if mode != JOINT:
            for c in range(k):
                counts[c] += mass[c]
                scatter_products(about, lower, c, place, here, mass[c], products)
    return likelihood


@inner
def known_first(rows: Any, i: Any, place: Any) -> Any:
    """Order of the features: known ones, then missing ones (from the end); the number of known ones."""
    here, at = 0, place.size
    for a in range(place.size):
        if np.isnan(rows[i, a]):
            at -= 1
            place[at] = a
        else:
            place[here] = a
            here += 1
    return here


@inner
def cholesky_in_order(matrices: Any, k: Any, place: Any, lower: Any) -> None:
    """Cholesky factor of the k-th covariance with its features in the order `place`."""
    for a in range(place.size):
        for b in range(a + 1):
            rest = matrices[k, place[a], place[b]]
            for c in range(b):
                rest -= lower[k, a, c] * lower[k, b, c]
            if a == b:
                # rounding must not make a small variance vanish
                lower[k, a, a] = np.sqrt(max(rest, 1e-16 * matrices[k, place[a], place[a]]))
            else:
                lower[k, a, b] = rest / lower[k, b, b]


@inner
def log_density_at_mean(lower: Any, k: Any, here: Any) -> Any:
    """The log-density of the known part at the mean."""
    found = -HALF_LOG_2PI * here
    for a in range(here):
        found -= np.log(lower[k, a, a])
    return found


@inner
def whiten(
    rows: Any, i: Any, means: Any, k: Any, place: Any, here: Any, lower: Any, apart: Any, white: Any
) -> Any:
    """|z|² of the known part; leaves x - μ in `apart` and z in `white`."""
    found = 0.0
    for a in range(here):
        apart[k, a] = rows[i, place[a]] - means[k, place[a]]
        rest = apart[k, a]
        for c in range(a):
            rest -= lower[k, a, c] * white[k, c]
        white[k, a] = rest / lower[k, a, a]
        found += white[k, a] * white[k, a]
    return found


@inner
def responsibilities(joint: Any, i: Any, mode: Any) -> Any:
    """Log-joint densities of a row become its responsibilities; returns its log-likelihood."""
    best = 0
    for c in range(1, joint.shape[0]):
        if joint[c, i] > joint[best, i]:
            best = c
    top, mass = joint[best, i], 0.0
    for c in range(joint.shape[0]):
        if top == -np.inf:  # no component can explain it
            joint[c, i] = 1.0
        elif mode == SOFT:
            joint[c, i] = np.exp(joint[c, i] - top)
        else:
            joint[c, i] = 1.0 if c == best else 0.0
        mass += joint[c, i]
    for c in range(joint.shape[0]):
        joint[c, i] /= mass
    return top + np.log(mass)


@inner
def impute(lower: Any, k: Any, white: Any, here: Any, apart: Any) -> None:
    """Expected x - μ of the missing part: L_mo z."""
    for a in range(here, apart.shape[1]):
        apart[k, a] = 0.0
        for c in range(here):
            apart[k, a] += lower[k, a, c] * white[k, c]


@inner
def scatter_products(about: Any, lower: Any, k: Any, place: Any, here: Any, mass: Any, products: Any) -> None:
    """Add products, with the conditional covariance of the missing part, in the original order of the features."""
    for a in range(place.size):
        for b in range(a + 1):
            found = about[k, a, b]
            about[k, a, b] = 0.0  # for the next group
            for c in range(here, b + 1):
                found += mass * lower[k, a, c] * lower[k, b, c]
            products[k, place[a], place[b]] += found
            if a != b:
                products[k, place[b], place[a]] += found

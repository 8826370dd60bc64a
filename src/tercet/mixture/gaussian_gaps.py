"""Gaussians where values are missing: what is known is marginalised to, what is not is expected.

Put the known features of a row before the missing ones, and let L be the triangle with L Lᵀ = Σ:

    L = [ L_oo   0   ]     z = L_oo⁻¹ (x_o - μ_o)
        [ L_mo  L_mm ]

The known part has the density of z over |L_oo|; given it, the missing part has the mean μ_m + L_mo z and the
covariance L_mm L_mmᵀ, which the E step fills in. Rows with the same gaps share the triangle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import inner, kernel

JOINT, SOFT, HARD = 0, 1, 2  # what is wanted: densities only, or statistics by EM or by classification EM
HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


def gaps_in(X: np.ndarray) -> np.ndarray | None:
    """Where values are missing; None where none are."""
    gaps = np.isnan(X)
    return gaps if gaps.any() else None


def ordered_by_gaps(gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order of the rows in which complete ones come first and equal gaps stand together; and where in it each
    group begins, with the end."""
    bits = np.packbits(gaps, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : bits.shape[1]] = bits
    keys = words.view(np.uint64)
    order = np.lexsort(keys.T)
    change = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    ends = np.flatnonzero(change) + 1
    return order, np.concatenate([[0], ends, [len(order)]]).astype(np.int64)


def gapped_joint(X: np.ndarray, gaps: np.ndarray, theta: Any) -> np.ndarray:
    """Log-joint densities (k, rows) of what is known of the rows."""
    order, *_, joint = _sweep(X, gaps, None, theta, JOINT)
    found = np.empty_like(joint)
    found[:, order] = joint
    return found


def gapped_statistics(
    X: np.ndarray, gaps: np.ndarray, weight: np.ndarray | None, theta: Any, kind: str, *, hard: bool
) -> tuple[Any, ...]:
    """(log-likelihood, *expected sums about the means), in the shape of a kind of covariances."""
    _, likelihood, counts, sums, products, _ = _sweep(X, gaps, weight, theta, HARD if hard else SOFT)
    if kind == "tied":
        products = products.sum(axis=0)
    elif kind in ("diag", "spherical"):
        products = np.diagonal(products, axis1=1, axis2=2)
        products = products.mean(axis=1) if kind == "spherical" else products.copy()
    return likelihood, counts, sums, products


def _sweep(
    X: np.ndarray, gaps: np.ndarray, weight: np.ndarray | None, theta: Any, mode: int
) -> tuple[Any, ...]:
    (n, d), k = X.shape, len(theta.offsets)
    matrices = np.array(theta.matrices, dtype=np.float64, order="C")
    means = np.array(theta.means, dtype=np.float64, order="C")
    if means.shape != (k, d) or matrices.shape != (k, d, d):  # the kernel checks no bounds
        raise ValueError(
            f"The means have the shape {means.shape} and the covariances {matrices.shape}; "
            f"expected are {(k, d)} and {(k, d, d)}."
        )
    order, borders = ordered_by_gaps(gaps)
    rows = np.array(X[order], dtype=np.float64, order="C")
    weights = np.ones(n) if weight is None else weight[order].astype(np.float64)
    joint, counts, sums, products = np.empty((k, n)), np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
    offsets = np.array(theta.offsets, dtype=np.float64)
    with np.errstate(over="ignore"):  # as plain Python it would warn of rows that are out of all reach
        likelihood = sweep_gaps(
            rows, weights, borders, offsets, means, matrices, mode, joint, counts, sums, products
        )
    return order, likelihood, counts, sums, products, joint


@kernel
def sweep_gaps(rows, weights, borders, offsets, means, matrices, mode, joint, counts, sums, products):
    """The log-joint densities of rows that stand together by their gaps, and, if wanted, the E step."""
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
            triangle(matrices, c, place, lower)
            heights[c] = offsets[c] + log_height(lower, c, here)
            mass[c] = 0.0
        for i in range(first, end):
            for c in range(k):
                joint[c, i] = heights[c] - 0.5 * whiten(rows, i, means, c, place, here, lower, apart, white)
            if mode == JOINT:
                continue
            likelihood += weights[i] * share_out(joint, i, mode)
            for c in range(k):
                share = weights[i] * joint[c, i]
                mass[c] += share
                fill_in(lower, c, white, here, apart)
                for a in range(d):
                    scaled = share * apart[c, a]
                    sums[c, place[a]] += scaled
                    for b in range(a + 1):
                        about[c, a, b] += scaled * apart[c, b]
        if mode != JOINT:
            for c in range(k):
                counts[c] += mass[c]
                put_back(about, lower, c, place, here, mass[c], products)
    return likelihood


@inner
def known_first(rows, i, place):
    """The known features, then the missing ones, which are put from the end; how many are known."""
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
def triangle(matrices, k, place, lower):
    """Cholesky's triangle of the k-th covariance, whose features stand in the given order."""
    for a in range(place.size):
        for b in range(a + 1):
            rest = matrices[k, place[a], place[b]]
            for c in range(b):
                rest -= lower[k, a, c] * lower[k, b, c]
            if a == b:
                # Rounding must not make a variance vanish that is only small.
                lower[k, a, a] = np.sqrt(max(rest, 1e-16 * matrices[k, place[a], place[a]]))
            else:
                lower[k, a, b] = rest / lower[k, b, b]


@inner
def log_height(lower, k, here):
    """The log-density of the known part at the mean."""
    found = -HALF_LOG_2PI * here
    for a in range(here):
        found -= np.log(lower[k, a, a])
    return found


@inner
def whiten(rows, i, means, k, place, here, lower, apart, white):
    """|z|² of the known part; leaves the differences to the mean and z."""
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
def share_out(joint, i, mode):
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
def fill_in(lower, k, white, here, apart):
    """The expected differences of the missing part."""
    for a in range(here, apart.shape[1]):
        apart[k, a] = 0.0
        for c in range(here):
            apart[k, a] += lower[k, a, c] * white[k, c]


@inner
def put_back(about, lower, k, place, here, mass, products):
    """Move products, with the covariance of the missing part, into the order of the features."""
    for a in range(place.size):
        for b in range(a + 1):
            found = about[k, a, b]
            about[k, a, b] = 0.0  # for the next group
            for c in range(here, b + 1):
                found += mass * lower[k, a, c] * lower[k, b, c]
            products[k, place[a], place[b]] += found
            if a != b:
                products[k, place[b], place[a]] += found

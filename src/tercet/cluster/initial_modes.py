"""Initial modes of k-modes: Cao's rows of high density far apart, and Huang's draws by frequencies."""

from __future__ import annotations

import numpy as np


def frequencies(codes: np.ndarray, weight: np.ndarray, size: int, j: int) -> np.ndarray:
    """The weight of each value of column j."""
    here = codes[:, j] >= 0
    return np.bincount(codes[here, j], weight[here], minlength=max(int(size), 1))


def distinct_first(codes: np.ndarray, order: np.ndarray, k: int) -> np.ndarray:
    """The first k rows of an order that are different, filled up with others where there are not so many."""
    seen: set[bytes] = set()
    new: list[int] = []
    old: list[int] = []
    for i in order:
        row = codes[i].tobytes()
        (old if row in seen else new).append(int(i))
        seen.add(row)
        if len(new) == k:
            break
    return np.array((new + old)[:k])


def cao_rows(
    codes: np.ndarray, weight: np.ndarray, order: np.ndarray, k: int, sizes: np.ndarray
) -> np.ndarray:
    """Cao's start: the row of the most frequent values, then rows of frequent values far from those before."""
    mass = weight.sum() * codes.shape[1]
    density = np.zeros(len(codes))
    for j, size in enumerate(sizes):
        density += np.where(codes[:, j] >= 0, frequencies(codes, weight, size, j)[codes[:, j]], 0.0)
    density /= mass
    chosen = [int(order[density[order].argmax()])]
    far = np.full(len(codes), np.inf)
    while len(chosen) < k:
        last = codes[chosen[-1]]
        far = np.minimum(far, ((codes != last) | (codes < 0)).sum(axis=1) * density)
        score = far[order]
        score[np.isin(order, chosen)] = -1.0
        chosen.append(int(order[score.argmax()]))
    return np.array(chosen)


def huang_modes(
    codes: np.ndarray,
    weight: np.ndarray,
    order: np.ndarray,
    k: int,
    sizes: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Huang's start: values drawn by their frequencies, then the nearest row that is no mode yet."""
    drawn = np.full((k, len(sizes)), -1, dtype=np.int32)
    for j, size in enumerate(sizes):
        height = np.cumsum(frequencies(codes, weight, size, j))
        u = rng.random(k)
        if height[-1] > 0:
            drawn[:, j] = np.minimum(np.searchsorted(height, u * height[-1], side="right"), size - 1)
    rows = codes[order]
    free = np.ones(order.size, dtype=bool)
    chosen = []
    for mode in drawn:
        gaps = (rows != mode).sum(axis=1)
        place = int(np.where(free, gaps, len(sizes) + 1).argmin())
        if not free[place]:  # fewer different rows than modes
            place = int(gaps.argmin())
        chosen.append(order[place])
        free &= (rows != rows[place]).any(axis=1)
    return codes[chosen]

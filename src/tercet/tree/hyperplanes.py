"""Linear tests for a node: w·x <= t, by OC1's search or from a linear classifier.

All work on the rows of one node, brought to [-1, 1] column by column: the ends of a column do not depend on how
rows are weighted, so neither does the search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import expit

from tercet.core.kernel import kernel
from tercet.core.sums import sum_of
from tercet.tree.gains import TIE, mass

RIDGE = 1e-8  # keeps columns that depend on each other from blowing up the weights


@dataclass
class Cloud:
    """The rows of a node that are known in full: Z = (x - centre) / scale, and a column of -1 for the threshold."""

    Z: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    n_classes: int
    code: int
    least: tuple[int, float]
    centre: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(
        cls, X: np.ndarray, y: np.ndarray, weight: np.ndarray, n_classes: int, code: int, least: tuple
    ) -> Cloud:
        low, high = X.min(axis=0), X.max(axis=0)
        centre, scale = low / 2 + high / 2, high / 2 - low / 2
        scale[scale <= 0] = np.inf  # a column that does not vary has no say
        Z = np.column_stack([(X - centre) / scale, np.full(len(X), -1.0)])
        return cls(Z, y, weight, n_classes, code, least, centre, scale)

    def raw(self, plane: np.ndarray) -> np.ndarray:
        """The weights of a plane for the columns as they were."""
        return plane[:-1] / self.scale

    def search(self, g: np.ndarray, r: np.ndarray) -> tuple[float, float]:
        """How mixed the sides g + step r <= 0 and > 0 are at the best step, and that step.

        Each row changes sides at one step only, so that all are tried by passing those in order.
        """
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            u = -g / r
        moving = np.flatnonzero(np.isfinite(u))
        order = moving[np.argsort(u[moving], kind="stable")]
        left = np.where(np.isfinite(u), r > 0, g <= 0)
        return steps(u, order, left, self.y, self.weight, self.n_classes, self.code, *self.least, 0.0)


def threshold(
    z: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    n_classes: int,
    code: int,
    least: tuple[int, float],
    gap: float,
) -> tuple[float, float]:
    """How mixed the sides of z <= t are at the best t, and that t; values nearer than `gap` are not parted."""
    order, left = np.argsort(z, kind="stable"), np.zeros(len(z), dtype=bool)
    return steps(z, order, left, y, weight, n_classes, code, *least, gap)


def climb(
    cloud: Cloud, start: np.ndarray, n_jumps: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """OC1 from one plane: the best value of each coefficient in turn; where none helps, along random directions.

    Returns how mixed the sides are at the end, and the plane.
    """
    plane, best = start, np.inf
    varying = np.append(np.isfinite(cloud.scale), True)
    margin = TIE * cloud.weight.sum()

    def go(along: np.ndarray) -> bool:
        """Move along a direction if that is better."""
        nonlocal plane, best
        found, step = cloud.search(cloud.Z @ plane, cloud.Z @ along)
        if not found < best - margin:
            return False
        best, plane = found, plane + step * along
        plane /= np.linalg.norm(plane)
        return True

    axes = np.eye(len(plane))
    go(axes[-1])
    better, jumps = True, 0
    while better and best > 0:
        better = sum(go(axes[m]) for m in np.flatnonzero(varying)) > 0
        while not better and jumps < n_jumps:
            jumps += 1
            better = go(np.where(varying, rng.normal(size=len(plane)), 0.0))
    return best, plane


def groupings(cloud: Cloud) -> list[np.ndarray]:
    """Classes in two groups, +1 and -1 for each row: the heaviest against the rest, and two-means of the means."""
    weight = np.bincount(cloud.y, weights=cloud.weight, minlength=cloud.n_classes)
    heaviest = np.where(cloud.y == weight.argmax(), 1.0, -1.0)
    here = np.flatnonzero(weight)
    if len(here) < 3:
        return [heaviest]
    means = np.array(
        [np.average(cloud.Z[cloud.y == k], axis=0, weights=cloud.weight[cloud.y == k]) for k in here]
    )
    distance = ((means[:, None] - means[None]) ** 2).sum(axis=2)
    first, second = np.unravel_index(distance.argmax(), distance.shape)
    centres = means[[first, second]]
    side = np.zeros(len(here), dtype=bool)
    for _ in range(len(here)):
        nearer = ((means - centres[0]) ** 2).sum(axis=1) <= ((means - centres[1]) ** 2).sum(axis=1)
        if nearer.all() or not nearer.any() or np.array_equal(nearer, side):
            break
        side = nearer
        centres = np.array([np.average(means[s], axis=0, weights=weight[here][s]) for s in (side, ~side)])
    grouped = np.where(np.isin(cloud.y, here[side]), 1.0, -1.0)
    return [heaviest] if not side.any() else [heaviest, grouped]


def directions(cloud: Cloud, algorithm: str) -> list[np.ndarray]:
    """Planes from a linear classifier; only their directions count."""
    if algorithm == "lda":
        return [fisher(cloud)]
    fit = {"least_squares": least_squares, "perceptron": perceptron, "logistic": logistic}[algorithm]
    return [fit(cloud, target) for target in groupings(cloud)]


def fisher(cloud: Cloud) -> np.ndarray:
    """The direction in which the classes' means lie farthest apart, against the spread within classes."""
    Z, weight = cloud.Z[:, :-1], cloud.weight / cloud.weight.sum()
    table = np.zeros((cloud.n_classes, len(Z)))
    table[cloud.y, np.arange(len(Z))] = weight
    prior = table.sum(axis=1)
    means = table @ Z / np.where(prior > 0, prior, 1.0)[:, None]
    apart = means - prior @ means
    rest = Z - means[cloud.y]
    between, within = (apart.T * prior) @ apart, (rest.T * weight) @ rest
    within[np.diag_indices_from(within)] += RIDGE
    return np.append(linalg.eigh(between, within)[1][:, -1], 0.0)


def least_squares(cloud: Cloud, target: np.ndarray) -> np.ndarray:
    """Weights of the regression on +1 and -1; of two classes it is Fisher's direction."""
    Z, weight = cloud.Z, cloud.weight / cloud.weight.sum()
    return linalg.solve(
        (Z.T * weight) @ Z + RIDGE * np.eye(Z.shape[1]), (Z.T * weight) @ target, assume_a="pos"
    )


def perceptron(cloud: Cloud, target: np.ndarray, passes: int = 100) -> np.ndarray:
    """All mistakes of a pass move the plane at once; the plane with the fewest is kept (pocket)."""
    Z, weight = cloud.Z, cloud.weight / cloud.weight.sum()
    plane = best = (Z.T * weight) @ target
    fewest = np.inf
    for _ in range(passes):
        wrong = target * (Z @ plane) <= TIE * np.abs(plane).sum()  # on the plane, but for rounding, is wrong
        mistakes = weight[wrong].sum()
        if mistakes < fewest - TIE:
            best, fewest = plane, mistakes
        if not wrong.any():
            break
        plane = plane + (Z[wrong].T * weight[wrong]) @ target[wrong]
    return best


def logistic(cloud: Cloud, target: np.ndarray, passes: int = 25) -> np.ndarray:
    """Newton's method for logistic regression, with a small penalty for classes that can be parted."""
    Z, weight = cloud.Z, cloud.weight / cloud.weight.sum()
    plane, penalty = np.zeros(Z.shape[1]), 1e-4
    for _ in range(passes):
        p = expit(-target * (Z @ plane))
        slope = -(Z.T * weight) @ (target * p) + penalty * plane
        bend = (Z.T * (weight * p * (1 - p))) @ Z + penalty * np.eye(Z.shape[1])
        move = linalg.solve(bend, slope, assume_a="pos")
        plane = plane - move
        if np.abs(move).max() < 1e-8 * max(1.0, np.abs(plane).max()):
            break
    return plane


@kernel
def steps(u, order, left, y, weight, n_classes, code, least_rows, least_weight, gap):
    """The least weight times impurity of the two sides while rows change sides at u, in order; and between which u.

    A row that is on the `left` at first goes to the right, and the other way round.
    """
    counts = np.zeros((2, n_classes))
    rows = np.zeros(2, dtype=np.int64)
    for i in range(u.size):
        side = 0 if left[i] else 1
        counts[side, y[i]] += weight[i]
        rows[side] += 1
    total = sum_of(weight)
    best, where = np.inf, 0.0
    for k in range(-1, order.size):
        low = u[order[max(k, 0)]]
        high = u[order[min(k + 1, order.size - 1)]]
        if k >= 0:
            i = order[k]
            side = 0 if left[i] else 1
            counts[side, y[i]] -= weight[i]
            counts[1 - side, y[i]] += weight[i]
            rows[side] -= 1
            rows[1 - side] += 1
        if k >= 0 and k + 1 < order.size and not high - low > gap:
            continue
        if min(rows[0], rows[1]) < max(least_rows, 1):
            continue
        if sum_of(counts[0]) < least_weight or sum_of(counts[1]) < least_weight:
            continue
        found = mass(counts[0], code) + mass(counts[1], code)
        if found < best - TIE * total:
            best = found
            if k < 0:
                where = low - max(1.0, abs(low))
            elif k + 1 == order.size:
                where = high + max(1.0, abs(high))
            else:
                middle = low / 2 + high / 2
                where = middle if low <= middle < high else low
    return best, where

"""Linear splits of a node, w·x <= t: by OC1's search, or in the direction of a linear classifier.

All work on the rows of one node, scaled to [-1, 1] column by column: the ends of a column do not depend on how rows
are weighted, so neither does the search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import expit

from tercet.core.kernel import kernel
from tercet.core.rows import sum_of
from tercet.tree._engine.gain_table import TIE, weighted_impurity

RIDGE = 1e-8  # added to the diagonal: collinear columns make the matrices singular


@dataclass
class NodeSample:
    """The complete rows of a node, scaled: Z = (x - centre) / scale, and a column of -1 for the threshold."""

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
    ) -> NodeSample:
        low, high = X.min(axis=0), X.max(axis=0)
        centre, scale = low / 2 + high / 2, high / 2 - low / 2
        scale[scale <= 0] = np.inf  # constant columns become 0
        Z = np.column_stack([(X - centre) / scale, np.full(len(X), -1.0)])
        return cls(Z, y, weight, n_classes, code, least, centre, scale)

    def unscaled(self, plane: np.ndarray) -> np.ndarray:
        """The weights of a plane for the columns before scaling."""
        return plane[:-1] / self.scale

    def line_search(self, g: np.ndarray, r: np.ndarray) -> tuple[float, float]:
        """The least weighted impurity of the sides g + step r <= 0 and > 0 over all steps, and the step.

        Each row changes sides at one step only, so that all are tried by passing those in order.
        """
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            u = -g / r
        moving = np.flatnonzero(np.isfinite(u))
        order = moving[np.argsort(u[moving], kind="stable")]
        left = np.where(np.isfinite(u), r > 0, g <= 0)
        return best_crossing(u, order, left, self.y, self.weight, self.n_classes, self.code, *self.least, 0.0)


def best_threshold(
    z: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    n_classes: int,
    code: int,
    least: tuple[int, float],
    gap: float,
) -> tuple[float, float]:
    """The least weighted impurity of the sides of z <= t, and that t; values nearer than `gap` stay together."""
    order, left = np.argsort(z, kind="stable"), np.zeros(len(z), dtype=bool)
    return best_crossing(z, order, left, y, weight, n_classes, code, *least, gap)


def hill_climb(
    sample: NodeSample, start: np.ndarray, n_jumps: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """OC1 from one plane: the best value of each coefficient in turn; where none helps, along random directions.

    Returns the weighted impurity of the two sides at the end, and the plane.
    """
    plane, best = start, np.inf
    varying = np.append(np.isfinite(sample.scale), True)
    margin = TIE * sample.weight.sum()

    def improve(along: np.ndarray) -> bool:
        """Move along a direction if that lowers the impurity."""
        nonlocal plane, best
        found, step = sample.line_search(sample.Z @ plane, sample.Z @ along)
        if not found < best - margin:
            return False
        best, plane = found, plane + step * along
        plane /= np.linalg.norm(plane)
        return True

    axes = np.eye(len(plane))
    improve(axes[-1])
    better, jumps = True, 0
    while better and best > 0:
        better = sum(improve(axes[m]) for m in np.flatnonzero(varying)) > 0
        while not better and jumps < n_jumps:
            jumps += 1
            better = improve(np.where(varying, rng.normal(size=len(plane)), 0.0))
    return best, plane


def two_group_targets(sample: NodeSample) -> list[np.ndarray]:
    """Targets +1 and -1: the heaviest class against the rest, and two groups by 2-means of the class means."""
    weight = np.bincount(sample.y, weights=sample.weight, minlength=sample.n_classes)
    heaviest = np.where(sample.y == weight.argmax(), 1.0, -1.0)
    here = np.flatnonzero(weight)
    if len(here) < 3:
        return [heaviest]
    means = np.array(
        [np.average(sample.Z[sample.y == k], axis=0, weights=sample.weight[sample.y == k]) for k in here]
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
    grouped = np.where(np.isin(sample.y, here[side]), 1.0, -1.0)
    return [heaviest] if not side.any() else [heaviest, grouped]


def discriminant_directions(sample: NodeSample, algorithm: str) -> list[np.ndarray]:
    """Hyperplanes of a linear classifier, of which only the directions are used."""
    if algorithm == "lda":
        return [fisher_direction(sample)]
    direction = {
        "least_squares": least_squares_direction,
        "perceptron": perceptron_direction,
        "logistic": logistic_direction,
    }[algorithm]
    return [direction(sample, target) for target in two_group_targets(sample)]


def fisher_direction(sample: NodeSample) -> np.ndarray:
    """The first direction of linear discriminant analysis: between-class against within-class scatter."""
    Z, weight = sample.Z[:, :-1], sample.weight / sample.weight.sum()
    table = np.zeros((sample.n_classes, len(Z)))
    table[sample.y, np.arange(len(Z))] = weight
    prior = table.sum(axis=1)
    means = table @ Z / np.where(prior > 0, prior, 1.0)[:, None]
    apart = means - prior @ means
    rest = Z - means[sample.y]
    between, within = (apart.T * prior) @ apart, (rest.T * weight) @ rest
    within[np.diag_indices_from(within)] += RIDGE
    return np.append(linalg.eigh(between, within)[1][:, -1], 0.0)


def least_squares_direction(sample: NodeSample, target: np.ndarray) -> np.ndarray:
    """Weights of the least-squares regression on +1 and -1; for two classes it is Fisher's direction."""
    Z, weight = sample.Z, sample.weight / sample.weight.sum()
    return linalg.solve(
        (Z.T * weight) @ Z + RIDGE * np.eye(Z.shape[1]), (Z.T * weight) @ target, assume_a="pos"
    )


def perceptron_direction(sample: NodeSample, target: np.ndarray, epochs: int = 100) -> np.ndarray:
    """Batch perceptron: all mistakes of an epoch move the plane; the one with the fewest is kept (pocket)."""
    Z, weight = sample.Z, sample.weight / sample.weight.sum()
    plane = best = (Z.T * weight) @ target
    fewest = np.inf
    for _ in range(epochs):
        wrong = target * (Z @ plane) <= TIE * np.abs(plane).sum()  # on the plane, but for rounding, is wrong
        mistakes = weight[wrong].sum()
        if mistakes < fewest - TIE:
            best, fewest = plane, mistakes
        if not wrong.any():
            break
        plane = plane + (Z[wrong].T * weight[wrong]) @ target[wrong]
    return best


def logistic_direction(sample: NodeSample, target: np.ndarray, epochs: int = 25) -> np.ndarray:
    """Newton's method for logistic regression, with a small penalty for separable classes."""
    Z, weight = sample.Z, sample.weight / sample.weight.sum()
    plane, penalty = np.zeros(Z.shape[1]), 1e-4
    for _ in range(epochs):
        p = expit(-target * (Z @ plane))
        gradient = -(Z.T * weight) @ (target * p) + penalty * plane
        hessian = (Z.T * (weight * p * (1 - p))) @ Z + penalty * np.eye(Z.shape[1])
        move = linalg.solve(hessian, gradient, assume_a="pos")
        plane = plane - move
        if np.abs(move).max() < 1e-8 * max(1.0, np.abs(plane).max()):
            break
    return plane


@kernel
def best_crossing(u, order, left, y, weight, n_classes, code, least_rows, least_weight, gap):
    """The least weighted impurity of the two sides while rows change sides at u, in order; and where that is.

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
        found = weighted_impurity(counts[0], code) + weighted_impurity(counts[1], code)
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

"""Swaps of medoids: FasterPAM's evaluation of all swaps with one candidate in one look at its distances.

With the distances of every row to its nearest medoid and to the second nearest, the gain of swapping a candidate
for each of the k medoids takes one loop over the rows: what a removal costs is known beforehand, and what the
candidate saves is shared by all k swaps but for the rows of the medoid that goes.
"""

from __future__ import annotations

import numpy as np

from tercet.core.array_copies import copy_array
from tercet.core.kernel import inner, kernel
from tercet.core.rows import read_only

NEGLIGIBLE = 1e-12  # gains below this share of the loss are rounding


class MedoidState:
    """Medoids with the nearest and second nearest of every row.

    Parameters
    ----------
    D : array of shape (n, n)
        Symmetric distances.
    weight : array of shape (n,)
        Weights of the rows.
    order : array of row numbers
        The candidates, in the order in which they are tried.
    medoids : array of shape (k,)
        The first medoids.
    """

    def __init__(self, D: np.ndarray, weight: np.ndarray, order: np.ndarray, medoids: np.ndarray) -> None:
        self.D, self.weight = read_only(np.ascontiguousarray(D)), weight
        self.order = np.ascontiguousarray(order, dtype=np.int64)
        self.medoids = np.array(medoids, dtype=np.int64)
        n = len(D)
        self.nearest, self.second = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.d_nearest, self.d_second = np.empty(n), np.empty(n)
        self.since, self.next = 0, 0  # candidates since the last swap, and the next one
        self._refresh()

    @property
    def loss(self) -> float:
        return float(self.weight @ self.d_nearest)

    def _refresh(self) -> None:
        two_nearest(self.D, self.medoids, self.nearest, self.d_nearest, self.second, self.d_second)

    def eager_pass(self) -> int:
        """Try candidates in turn, making every swap that helps, until all were tried once since the last swap, or
        as many as there are in this pass; returns how many swaps were made."""
        swaps, self.since, self.next = try_candidates(
            self.D, self.weight, self.order, self.medoids, self.nearest, self.d_nearest, self.second,
            self.d_second, self.since, self.next, NEGLIGIBLE * self.loss,
        )  # fmt: skip
        return int(swaps)

    def best_swap(self) -> int:
        """Make the best of all swaps, if it helps; returns 0 or 1."""
        gain, candidate, place = best_of_swaps(
            self.D, self.weight, self.order, self.medoids, self.nearest, self.d_nearest, self.d_second
        )
        if not gain < -NEGLIGIBLE * self.loss:
            return 0
        self.medoids[place] = candidate
        self._refresh()
        return 1

    def alternate(self) -> int:
        """Move every medoid to the row of its cluster with the least sum of distances; returns how many moved."""
        before, loss = self.medoids.copy(), self.loss
        for c in range(self.medoids.size):
            members = np.flatnonzero(self.nearest == c)
            candidates = self.order[self.nearest[self.order] == c]
            if candidates.size:
                # in blocks: an array of all pairs of a cluster could be as large as D
                sums = np.concatenate(
                    [
                        self.D[np.ix_(candidates[s : s + 256], members)] @ self.weight[members]
                        for s in range(0, candidates.size, 256)
                    ]
                )
                own = self.weight[members] @ self.D[self.medoids[c], members]
                if sums.min() < own - NEGLIGIBLE * loss:
                    self.medoids[c] = candidates[sums.argmin()]
        self._refresh()
        return int((self.medoids != before).sum())


def sums_with_candidates(
    D: np.ndarray, weight: np.ndarray, order: np.ndarray, nearest: np.ndarray
) -> np.ndarray:
    """The sum of distances with each candidate added to the medoids; `nearest` are the distances without."""
    table = read_only(np.ascontiguousarray(D))
    return add_candidates(table, weight, np.ascontiguousarray(order, dtype=np.int64), nearest)


@kernel
def add_candidates(D, weight, order, nearest):
    sums = np.zeros(order.size)
    for s in range(order.size):
        row, total = D[order[s]], 0.0
        for i in range(nearest.size):
            total += weight[i] * (row[i] if row[i] < nearest[i] else nearest[i])
        sums[s] = total
    return sums


@kernel
def two_nearest(D, medoids, nearest, d_nearest, second, d_second):
    """The nearest medoid of every row, and the second nearest; of equals, the first."""
    for i in range(nearest.size):
        scan_medoids(D, medoids, i, nearest, d_nearest, second, d_second)


@inner
def scan_medoids(D, medoids, i, nearest, d_nearest, second, d_second):
    """The nearest and second nearest medoid of row i."""
    a, b, da, db = 0, 0, np.inf, np.inf
    for c in range(medoids.size):
        d = D[medoids[c], i]
        if d < da:
            a, b, da, db = c, a, d, da
        elif d < db:
            b, db = c, d
    nearest[i], d_nearest[i], second[i], d_second[i] = a, da, b, db


@inner
def removal_losses(weight, nearest, d_nearest, d_second, losses):
    """losses[c]: how much the sum grows when medoid c goes and its rows go to their second nearest."""
    losses[:] = 0.0
    for i in range(nearest.size):
        losses[nearest[i]] += weight[i] * (d_second[i] - d_nearest[i])


@inner
def swap_losses(row, weight, nearest, d_nearest, d_second, removal, losses):
    """losses[c]: the change of the sum when medoid c is swapped for the candidate with distances `row`."""
    copy_array(removal, losses)
    shared = 0.0
    for i in range(nearest.size):
        d, da = row[i], d_nearest[i]
        if d < d_second[i]:
            if d < da:
                shared += weight[i] * (d - da)
                losses[nearest[i]] += weight[i] * (da - d_second[i])
            else:
                losses[nearest[i]] += weight[i] * (d - d_second[i])
    losses += shared
    return np.argmin(losses)


@kernel
def best_of_swaps(D, weight, order, medoids, nearest, d_nearest, d_second):
    """The swap with the least change of the sum: the change, the candidate and the medoid that it replaces."""
    removal, losses = np.zeros(medoids.size), np.zeros(medoids.size)
    taken = np.zeros(D.shape[0], np.bool_)
    for c in range(medoids.size):
        taken[medoids[c]] = True
    best, candidate, place = 0.0, 0, 0
    if medoids.size > 1:
        removal_losses(weight, nearest, d_nearest, d_second, removal)
    for s in range(order.size):
        if taken[order[s]]:
            continue
        if medoids.size > 1:
            c = swap_losses(D[order[s]], weight, nearest, d_nearest, d_second, removal, losses)
            change = losses[c]
        else:
            c, change = 0, single_change(D[order[s]], weight, d_nearest)
        if change < best:
            best, candidate, place = change, order[s], c
    return best, candidate, place


@inner
def single_change(row, weight, d_nearest):
    """The change of the sum when the only medoid is swapped for the candidate with distances `row`."""
    change = 0.0
    for i in range(d_nearest.size):
        change += weight[i] * (row[i] - d_nearest[i])
    return change


@kernel
def try_candidates(D, weight, order, medoids, nearest, d_nearest, second, d_second, since, start, negligible):
    """One pass of FasterPAM: every swap that helps is made at once.

    since : candidates that were tried in vain since the last swap; start : the place of the next one in `order`.
    Returns the number of swaps, and both again.
    """
    n, k = D.shape[0], medoids.size
    removal, losses = np.zeros(k), np.zeros(k)
    taken = np.zeros(n, np.bool_)
    for c in range(k):
        taken[medoids[c]] = True
    if k > 1:
        removal_losses(weight, nearest, d_nearest, d_second, removal)
    swaps, place = 0, start
    for _ in range(order.size):
        if since >= order.size:
            break
        candidate = order[place]
        place = place + 1 if place + 1 < order.size else 0
        since += 1
        if taken[candidate]:
            continue
        row = D[candidate]
        if k > 1:
            c = swap_losses(row, weight, nearest, d_nearest, d_second, removal, losses)
            change = losses[c]
        else:
            c, change = 0, single_change(row, weight, d_nearest)
        if not change < -negligible:
            continue
        taken[medoids[c]] = False
        taken[candidate] = True
        medoids[c] = candidate
        for i in range(n):
            if nearest[i] == c or second[i] == c:
                scan_medoids(D, medoids, i, nearest, d_nearest, second, d_second)
            elif row[i] < d_nearest[i]:
                second[i], d_second[i] = nearest[i], d_nearest[i]
                nearest[i], d_nearest[i] = c, row[i]
            elif row[i] < d_second[i]:
                second[i], d_second[i] = c, row[i]
        if k > 1:
            removal_losses(weight, nearest, d_nearest, d_second, removal)
        swaps += 1
        since = 0
    return swaps, since, place

"""ID3 and C4.5: trees whose tests of categories have one branch for each value (000 ch. 5.3, 002 ch. 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.sums import sum_of
from tercet.tree.gains import ENTROPY, GAIN, IV, MIDDLE, TIE, VALUE, Data, gains
from tercet.tree.growth import Growth, Part
from tercet.tree.structure import CATEGORY, NOWHERE, SHARED, THRESHOLD, Tree

NO_SLOTS = np.empty(0, dtype=np.int32)


def grow(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    n_classes: Any,
    n_categories: Any,
    limits: Any,
    algorithm: Literal["id3", "c45"] = "c45",
    epsilon: float = 0.0,
    average_gain: bool = True,
    cut: Literal["middle", "value"] = "middle",
    seed: Any = 0,
    n_jobs: int | None = None,
) -> Tree:
    """A tree by information gain (ID3, Alg 5.2) or gain ratio (C4.5, Alg 5.3).

    A node is a leaf when it is pure, no feature is left, the best score is below `epsilon`, or `limits` say so.
    A category is tested once on a path; a number, in two at a threshold, as often as it helps. A row whose value
    is missing goes down all branches, its weight divided as that of the other rows is. It counts as a row only
    where at least half of it is, and a test must part such rows: slivers alone are not split on. A value that no
    row of the node has gets no branch: a row with it stops there, which is as good as a leaf with the node's
    majority.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Numbers, places of categories, and NaN.
    y : int array of shape (n_samples,)
        Classes, from 0.
    weight : array of shape (n_samples,), optional
        What each row counts.
    n_classes, n_categories : int, and int array of shape (n_features,)
        How many classes there are, and categories of each feature: 0 for one of numbers.
    limits : Limits
        When to stop; see `tercet.tree.engine`.
    algorithm : {"id3", "c45"}, default="c45"
        Score by gain, or by gain / IV.
    epsilon : float, default=0.0
        A score below it makes a leaf. At 0, a split that gains nothing is allowed.
    average_gain : bool, default=True
        C4.5's guard against features of tiny IV: only those whose gain is at least the mean compete. False is
        Alg 5.3 as it stands.
    cut : {"middle", "value"}, default="middle"
        A threshold is the midpoint of neighbouring values, or the greatest value that is not above it.
    seed : int, default=0
        Decides which features are looked at, when `limits.max_features` says how many.
    n_jobs : int, optional
        Threads; the tree does not depend on it.

    Examples
    --------
    >>> from tercet.tree.engine import Limits
    >>> X, y = np.array([[0.0], [1], [1], [2]]), np.array([0, 1, 1, 0])
    >>> grow(X, y, n_classes=2, n_categories=[3], limits=Limits()).n_leaves
    3
    """
    if weight is None:
        weight = np.ones(len(y))
    here, weight = weight > 0, weight[weight > 0].astype(np.float64)
    data = Data.of(X[here], np.reshape(y, len(X))[here], int(np.ravel(n_classes)[0]), n_categories)
    growth = Multiway(
        data,
        weight,
        limits,
        algorithm=algorithm,
        epsilon=epsilon,
        average_gain=average_gain,
        cut=cut,
        seed=seed,
        n_jobs=n_jobs,
    )
    rows = np.arange(len(data.y), dtype=np.int32)
    return growth.tree(Entries(rows, weight, orders=data.sorted_rows(), free=np.arange(len(data.columns))))


@dataclass
class Entries(Part):
    """The rows of a node, whole or in part, with their order by each feature of numbers."""

    orders: np.ndarray = field(kw_only=True)
    free: np.ndarray = field(kw_only=True)  # the features that may be tested here and below

    def alone(self) -> Entries:
        self.orders = self.orders.copy()
        return super().alone()


class Fork(NamedTuple):
    """A feature with a threshold, or with the slots of its values, and what it gains."""

    feature: int
    gain: float
    threshold: float
    slots: np.ndarray

    @property
    def kind(self) -> int:
        return CATEGORY if self.slots.size else THRESHOLD

    @property
    def n_children(self) -> int:
        return int(self.slots.max()) + 1 if self.slots.size else 2

    def arrays(self) -> dict[str, Any]:
        what = {"kind": self.kind, "n_children": self.n_children, "missing": SHARED, "slots": self.slots}
        return {**what, "feature": self.feature, "threshold": self.threshold}


class Multiway(Growth):
    """The growth of ID3 and C4.5; the options are those of `grow`."""

    algorithm: str
    epsilon: float
    average_gain: bool
    cut: str
    seed: int
    n_jobs: int | None

    def __init__(self, data: Data, weight: np.ndarray, limits: Any, **options: Any) -> None:
        super().__init__(len(data.columns), data.n_classes, ENTROPY, data.y, weight, limits)
        self.data = data
        self.__dict__.update(options)

    def choose(self, part: Entries) -> Fork | None:
        """The best test; None where there is none, or it scores less than epsilon."""
        least = (self.limits.min_samples_leaf, self.limits.min_weight_leaf)
        main = self.main(part)
        drawn, size = part.free, max(len(part.free), 1)
        if self.limits.max_features is not None:
            # A node draws for itself: what others draw must not depend on whether it was looked at.
            rng = np.random.default_rng([self.seed, part.node])
            drawn, size = rng.permutation(drawn), self.limits.max_features
        for first in range(
            0, len(drawn), size
        ):  # on to the next ones while those drawn allow no split at all
            features = np.sort(drawn[first : first + size])
            table = gains(
                self.data,
                part.rows,
                part.weight,
                part.orders,
                features,
                least=least,
                main=main,
                n_jobs=self.n_jobs,
            )
            best, score = leader(table, self.algorithm, self.average_gain)
            if best >= 0:
                return None if score < self.epsilon - TIE else self.test(part, features[best], table[best])
        return None

    def test(self, part: Entries, j: int, row: np.ndarray) -> Fork:
        """The test that a row of the table of gains stands for."""
        if not self.data.n_categories[j]:
            return Fork(int(j), row[GAIN], row[MIDDLE if self.cut == "middle" else VALUE], NO_SLOTS)
        values = self.data.columns[j][part.rows]
        here = np.zeros(self.data.n_categories[j], dtype=bool)
        here[values[~np.isnan(values)].astype(np.int64)] = True
        return Fork(int(j), row[GAIN], -2.0, np.where(here, np.cumsum(here) - 1, NOWHERE).astype(np.int32))

    def divide(self, part: Entries, test: Fork) -> Iterator[Entries]:
        """One part for each branch; rows without the value are in all of them."""
        rows, weight, orders, border, share = divide(
            self.data.columns[test.feature],
            part.rows,
            part.weight,
            part.orders,
            test.threshold,
            test.slots,
            test.n_children,
        )
        free = part.free[part.free != test.feature] if test.kind == CATEGORY else part.free
        for c in range(test.n_children):
            here = slice(border[c], border[c + 1])
            yield Entries(rows[here], weight[here], float(share[c]), orders=orders[:, here], free=free)


def leader(table: np.ndarray, algorithm: str, average_gain: bool) -> tuple[int, float]:
    """The row of a table of gains that scores best (of equal ones the first) and its score; -1 if there is none."""
    gain = table[:, GAIN]
    able = gain >= 0
    if not able.any():
        return -1, 0.0
    score = gain
    if algorithm == "c45":
        score = np.where(able, gain / np.where(able, table[:, IV], 1.0), -1.0)
        if average_gain:
            able &= gain >= gain[able].mean() - TIE
    best = int(np.flatnonzero(able & (score >= score[able].max() - TIE))[0])
    return best, float(score[best])


@kernel
def divide(column, rows, weight, orders, threshold, slots, n_children):
    """The entries of all children, one child after the other, with their orders; borders and shares.

    Entries without the value come last in every child, with their share of the weight.
    """
    slot = np.empty(rows.size, dtype=np.int32)
    place = np.empty(rows.size, dtype=np.int32)
    size = np.zeros(n_children, dtype=np.int64)
    share = np.zeros(n_children)
    lost = 0
    for e in range(rows.size):
        x = column[rows[e]]
        if np.isnan(x):
            slot[e], place[e] = -1, lost
            lost += 1
        else:
            side = np.int64(slots[np.int64(x)]) if slots.size else np.int64(x > threshold)
            slot[e], place[e] = side, size[side]
            size[side] += 1
            share[side] += weight[e]
    share /= sum_of(share)
    border = np.zeros(n_children + 1, dtype=np.int64)
    border[1:] = np.cumsum(size + lost)
    new_rows = np.empty(border[-1], dtype=np.int32)
    new_weight = np.empty(border[-1])
    for e in range(rows.size):
        if slot[e] >= 0:
            at = border[slot[e]] + place[e]
            new_rows[at], new_weight[at] = rows[e], weight[e]
        else:
            for c in range(n_children):
                at = border[c] + size[c] + place[e]
                new_rows[at], new_weight[at] = rows[e], weight[e] * share[c]
    new_orders = np.empty((orders.shape[0], border[-1]), dtype=np.int32)
    for f in range(orders.shape[0]):
        at = border[:-1].copy()
        for k in range(rows.size):
            e = orders[f, k]
            if slot[e] >= 0:
                new_orders[f, at[slot[e]]] = place[e]
                at[slot[e]] += 1
            else:
                for c in range(n_children):
                    new_orders[f, at[c]] = size[c] + place[e]
                    at[c] += 1
    return new_rows, new_weight, new_orders, border, share

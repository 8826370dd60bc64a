"""ID3 and C4.5: multiway trees, with one branch for each value of a category.

Li ch. 5.3, watermelon notes ch. 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.rows import sum_of
from tercet.tree._engine import Limits
from tercet.tree._engine.gain_table import (
    ENTROPY,
    GAIN,
    INTRINSIC_VALUE,
    LOWER_VALUE,
    MIDPOINT,
    TIE,
    LabelledColumns,
    gain_table,
)
from tercet.tree._engine.traversal import NOWHERE, SHARED
from tercet.tree.node_growth import NodeGrowth, NodeRows, counted_rows
from tercet.tree.tree import Tree


def grow_multiway(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    n_classes: Any,
    n_categories: Any,
    limits: Limits,
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
    where at least half of its weight is, and a test must separate such rows: small fractions alone are not split. A
    value that no row of the node has gets no branch: a row with it stops there, which is as good as a leaf with the
    node's majority.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Numbers, codes of categories, and NaN.
    y : int array of shape (n_samples,)
        Classes, from 0.
    weight : array of shape (n_samples,), optional
        The weight of each row.
    n_classes, n_categories : int, and int array of shape (n_features,)
        How many classes there are, and categories of each feature: 0 for one of numbers.
    limits : Limits
        When to stop.
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
    >>> from tercet.tree._engine import Limits
    >>> X, y = np.array([[0.0], [1], [1], [2]]), np.array([0, 1, 1, 0])
    >>> grow_multiway(X, y, n_classes=2, n_categories=[3], limits=Limits()).n_leaves
    3
    """
    if weight is None:
        weight = np.ones(len(y))
    kept, weight = weight > 0, weight[weight > 0].astype(np.float64)
    data = LabelledColumns.of(X[kept], np.reshape(y, len(X))[kept], int(np.ravel(n_classes)[0]), n_categories)
    splitter = MultiwaySplitter(data, weight, limits, algorithm, epsilon, average_gain, cut, seed, n_jobs)
    d = len(data.columns)
    growth = NodeGrowth(splitter, d, data.n_classes, ENTROPY, data.y, weight, limits)
    rows = np.arange(len(data.y), dtype=np.int32)
    return growth.grow(FractionalRows(rows, weight, orders=data.sorted_rows(), candidates=np.arange(d)))


@dataclass
class FractionalRows(NodeRows):
    """The rows of a node, whole or in part, with their order by each feature of numbers."""

    orders: np.ndarray = field(kw_only=True)  # (numeric features, rows of the node)
    candidates: np.ndarray = field(kw_only=True)  # the features that may be tested here and below

    def copied(self) -> FractionalRows:
        self.orders = self.orders.copy()
        return super().copied()


class MultiwaySplit(NamedTuple):
    """A test of a feature, by a threshold or with a child for each value (`slots`), and its gain."""

    feature: int
    gain: float
    threshold: float
    slots: np.ndarray | None

    @property
    def n_children(self) -> int:
        return 2 if self.slots is None else int(self.slots.max()) + 1

    def test(self) -> dict[str, Any]:
        """The arguments of `TreeBuilder.split`."""
        what = {"n_children": self.n_children, "missing": SHARED, "slots": self.slots}
        return {**what, "feature": self.feature, "threshold": self.threshold}


@dataclass
class MultiwaySplitter:
    """The tests of ID3 and C4.5; the options are those of `grow_multiway`."""

    data: LabelledColumns
    weight: np.ndarray
    limits: Limits
    algorithm: str
    epsilon: float
    average_gain: bool
    cut: str
    seed: int
    n_jobs: int | None

    def best_split(self, node: FractionalRows) -> MultiwaySplit | None:
        """The feature of the highest score; None where no feature splits the node, or none scores epsilon."""
        least = (self.limits.min_samples_leaf, self.limits.min_weight_leaf)
        counted = counted_rows(node, self.weight)
        drawn, size = node.candidates, max(len(node.candidates), 1)
        if self.limits.max_features is not None:
            # Every node has a generator of its own: the draws of others must not depend on whether it was searched.
            rng = np.random.default_rng([self.seed, node.node])
            drawn, size = rng.permutation(drawn), self.limits.max_features
        for first in range(0, len(drawn), size):  # the next ones only where those drawn allow no split at all
            features = np.sort(drawn[first : first + size])
            table = gain_table(
                self.data,
                node.rows,
                node.weight,
                node.orders,
                features,
                least=least,
                counted=counted,
                n_jobs=self.n_jobs,
            )
            best, score = best_scored(table, self.algorithm, self.average_gain)
            if best >= 0:
                below = score < self.epsilon - TIE  # Alg 5.2 and 5.3, step (4): a leaf
                return None if below else self._split(node, features[best], table[best])
        return None

    def _split(self, node: FractionalRows, j: int, row: np.ndarray) -> MultiwaySplit:
        """The test that a row of the gain table stands for."""
        if not self.data.n_categories[j]:
            threshold = row[MIDPOINT if self.cut == "middle" else LOWER_VALUE]
            return MultiwaySplit(int(j), row[GAIN], threshold, None)
        values = self.data.columns[j][node.rows]
        present = np.zeros(self.data.n_categories[j], dtype=bool)
        present[values[~np.isnan(values)].astype(np.int64)] = True
        slots = np.where(present, np.cumsum(present) - 1, NOWHERE).astype(np.int32)
        return MultiwaySplit(int(j), row[GAIN], -2.0, slots)

    def children(self, node: FractionalRows, split: MultiwaySplit) -> Iterator[FractionalRows]:
        """The rows of each branch; rows without the value are in all of them."""
        column, rest = self.data.columns[split.feature], node.candidates
        slots = np.empty(0, dtype=np.int32) if split.slots is None else split.slots
        rows, weight, orders, border, share = divide_rows(
            column, node.rows, node.weight, node.orders, split.threshold, slots, split.n_children
        )
        if split.slots is not None:  # a category is tested once on a path
            rest = rest[rest != split.feature]
        for c in range(split.n_children):
            mine = slice(border[c], border[c + 1])
            yield FractionalRows(
                rows[mine], weight[mine], float(share[c]), orders=orders[:, mine], candidates=rest
            )


def best_scored(table: np.ndarray, algorithm: str, average_gain: bool) -> tuple[int, float]:
    """The row of a gain table that scores best (of equal ones the first) and its score; -1 if there is none.

    ID3 scores by the gain g(D, A), C4.5 by the gain ratio g(D, A) / H_A(D) among gains of at least the mean.
    """
    gain = table[:, GAIN]
    able = gain >= 0
    if not able.any():
        return -1, 0.0
    score = gain
    if algorithm == "c45":
        score = np.where(able, gain / np.where(able, table[:, INTRINSIC_VALUE], 1.0), -1.0)
        if average_gain:
            able &= gain >= gain[able].mean() - TIE
    best = int(np.flatnonzero(able & (score >= score[able].max() - TIE))[0])
    return best, float(score[best])


@kernel
def divide_rows(column, rows, weight, orders, threshold, slots, n_children):
    """The entries of all children, one child after the other, with their orders; borders and shares.

    FractionalRows without the value come last in every child, with their share of the weight.
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
    for c in range(n_children):
        border[c + 1] = border[c] + size[c] + lost
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

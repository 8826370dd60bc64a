"""Growth and pruning of single rules: what REP, IREP and RIPPER share.

A rule in the making is a tuple of `RankTest`: conditions on the ranks of a `RankedTable`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tercet.core.rows import read_only
from tercet.rules._engine.ranked_table import EQUAL, RankedTable, held_out_weights
from tercet.rules._engine.scans import (
    SCORES,
    TIE,
    Candidates,
    best_slot,
    cover_of,
    restricted,
    satisfied_prefix,
    scan_two,
)
from tercet.rules.rule_scores import pruning_value


class RankTest(NamedTuple):
    """One condition: the rank of a feature is equal to, at most or at least `rank`, which stands for `value`."""

    feature: int
    comparison: int
    rank: int
    value: float


Tests = tuple[RankTest, ...]


@dataclass
class BinaryProblem:
    """Rows for which rules of one class are learned.

    Attributes
    ----------
    table : RankedTable
    weights : array of shape (n_samples, 2)
        Weight of each row in the positive class, and in the others.
    hashes, y : hash of each row, and its class; rows are divided by them.
    prune_size : the share of the weight that rules are pruned by.
    rng : decides how rows are divided.
    """

    table: RankedTable
    weights: np.ndarray
    hashes: np.ndarray
    y: np.ndarray
    prune_size: float
    rng: np.random.Generator

    def split(self, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights to grow a rule by and to prune it by, of the rows that are left."""
        weights = np.where(left[:, None], self.weights, 0.0)
        total = weights[:, 0] + weights[:, 1]
        held = held_out_weights(self.hashes, self.y, total, self.prune_size, self.rng)
        share = np.divide(held, total, out=np.zeros_like(held), where=total > 0)[:, None]
        return weights * (1 - share), weights * share


def grow_rule(
    table: RankedTable, weights: np.ndarray, tests: Tests = (), max_conds: int | None = None
) -> Tests:
    """Add the condition of the largest FOIL gain, again and again, until no negative row is covered."""
    cover = cover_of(table, weights[:, 0] + weights[:, 1])
    for test in tests:
        cover = restricted(table, cover, *test[:3])
    while max_conds is None or len(tests) < max_conds:
        p, n = (float(part[cover.rows].sum()) for part in weights.T)
        if p <= 0 or n <= TIE * (p + n):
            break
        found = scan_two(table, cover, weights, SCORES["foil"], float(np.log2(p / (p + n))))
        slot = best_slot(found, found.counts.sum(axis=1))
        if slot < 0 or found.score[slot] <= TIE * p:
            break
        test = rank_test(table, found, slot)
        tests = (*tests, test)
        cover = restricted(table, cover, *test[:3])
    return tests


def rank_test(table: RankedTable, found: Candidates, slot: int) -> RankTest:
    """The condition that a slot of a scan stands for."""
    feature, comparison = int(found.feature[slot]), int(found.comparison[slot])
    if comparison == EQUAL:
        code = int(found.below[slot])
        return RankTest(feature, comparison, code, float(code))
    value, rank = table.threshold(feature, comparison, int(found.below[slot]), int(found.above[slot]))
    return RankTest(feature, comparison, rank, value)


def prefix_lengths(table: RankedTable, tests: Tests) -> np.ndarray:
    """For each row how many conditions, from the first on, it satisfies before it fails one."""
    columns = np.array([test[:3] for test in tests], dtype=np.int64).reshape(-1, 3).T.copy()
    return satisfied_prefix(read_only(table.ranks), *(read_only(column) for column in columns))


def covered(table: RankedTable, tests: Tests) -> np.ndarray:
    """Which rows satisfy all conditions."""
    return prefix_lengths(table, tests) == len(tests)


def prefix_counts(table: RankedTable, tests: Tests, weights: np.ndarray) -> np.ndarray:
    """Weight of the positive and negative rows that the first 0, 1, ... conditions cover."""
    reached = prefix_lengths(table, tests)
    by_length = np.stack([np.bincount(reached, w, len(tests) + 1) for w in weights.T], axis=1)
    return by_length[::-1].cumsum(axis=0)[::-1]


def prune_rule(table: RankedTable, tests: Tests, weights: np.ndarray, metric: str) -> Tests:
    """Remove final conditions: of the value on other rows the largest, of equal ones the shortest rule."""
    counts = prefix_counts(table, tests, weights)
    if not counts[0].sum() > 0:
        return tests
    values = pruning_value(counts[1:, 0], counts[1:, 1], counts[0, 0], counts[0, 1], metric)
    return tests[: int(np.flatnonzero(values >= values.max() - TIE)[0]) + 1]


def error_rate(table: RankedTable, tests: Tests, weights: np.ndarray, otherwise: np.ndarray) -> float:
    """The share of negative rows among those covered; where none are, among those of other weights."""
    covers = covered(table, tests)
    for rows in (weights, otherwise):
        p, n = rows[covers].sum(axis=0)
        if p + n > 0:
            return float(n / (p + n))
    return 1.0


def simplified(tests: Tests) -> Tests:
    """Of several bounds of a column on one side only the tightest, which is the latest."""
    last: dict[tuple[int, int], RankTest] = {}
    for test in tests:
        last[test.feature, test.comparison] = test
    return tuple(last.values())

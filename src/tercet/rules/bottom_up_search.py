"""Bottom-up search (自底向上) for one rule: from one row to ever more general rules."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.rows import read_only
from tercet.rules._engine.ranked_table import AT_LEAST, AT_MOST, EQUAL, RankedTable
from tercet.rules._engine.scans import SCORES, score_two
from tercet.rules.beam_search import FoundRule
from tercet.rules.rule_growth import RankTest, Tests

FREE = -1  # a bound that is not there


class Box(NamedTuple):
    """A rule as the least and the largest rank of each column; of a category both are its code."""

    low: np.ndarray
    high: np.ndarray


def bottom_up_search(
    table: RankedTable,
    weights: np.ndarray,
    hashes: np.ndarray,
    *,
    score: str,
    width: int,
    n_rows: int = 50,
) -> FoundRule | None:
    """The best rule that a search from one positive row meets.

    The search begins with the rule that only the values of one positive row satisfy. Each pass generalises the
    rules of the star: to the least general generalisation with another positive row (of at most `n_rows`), or
    without one bound of one column; the `width` best of these are the next star. It ends when none is better
    than the best so far.

    Parameters
    ----------
    table, weights : the rows, and their weights in the positive class and in the others, shape (n_samples, 2).
    hashes : decide which rows are taken: those of the smallest.
    score : "foil", "accuracy", "entropy" or "laplace".
    width : how many rules the star keeps.
    n_rows : how many rows a rule is generalised with.
    """
    positive = np.flatnonzero(weights[:, 0] > 0)
    if not positive.size:
        return None
    positive = positive[np.argsort(hashes[positive], kind="stable")]
    base = float(np.log2(weights[:, 0].sum() / weights.sum()))
    seed = table.ranks[:, positive[0]].astype(np.int64)
    star = [_tidied(table, Box(seed.copy(), seed.copy()))]
    best: FoundRule | None = _scored(table, star, weights, score, base)[0]
    while star:
        general: dict[bytes, Box] = {}
        for box in star:
            for other in _generalised(table, box, positive, n_rows):
                general.setdefault(other.low.tobytes() + other.high.tobytes(), other)
        boxes = list(general.values())
        found = _scored(table, boxes, weights, score, base)
        order = sorted(range(len(found)), key=lambda k: (*_rank(found[k]), k))
        better = [k for k in order[:width] if found[k].better_than(best)]
        if better:
            best = found[better[0]]
        star = [boxes[k] for k in better]
    return best


def _rank(rule: FoundRule) -> tuple[float, float, int]:
    """What rules are sorted by, the best first."""
    return -round(rule.score, 9), -round(float(rule.counts.sum()), 9), len(rule.tests)


def _generalised(table: RankedTable, box: Box, positive: np.ndarray, n_rows: int) -> list[Box]:
    """Least general generalisations with rows that a rule does not cover, and the rule without one bound."""
    ranks = table.ranks[:, positive]
    low, high = box.low[:, None], box.high[:, None]
    covers = (((ranks >= low) & (ranks >= 0)) | (low == FREE)).all(axis=0)
    covers &= (((ranks <= high) & (ranks >= 0)) | (high == FREE)).all(axis=0)
    out = []
    for row in ranks.T[~covers][:n_rows].astype(np.int64):
        free = row < 0
        least = np.where((box.low == FREE) | free, FREE, np.minimum(box.low, row))
        most = np.where((box.high == FREE) | free, FREE, np.maximum(box.high, row))
        out.append(_tidied(table, Box(least, most)))
    for j in range(len(box.low)):
        sides = [(True, True)] if table.categorical[j] else [(True, False), (False, True)]
        for lower, upper in sides:
            changed = Box(box.low.copy(), box.high.copy())
            if lower:
                changed.low[j] = FREE
            if upper:
                changed.high[j] = FREE
            if (changed.low[j], changed.high[j]) != (box.low[j], box.high[j]):
                out.append(changed)
    return out


def _tidied(table: RankedTable, box: Box) -> Box:
    """Without bounds that no row violates; a category that has become several is free."""
    low, high = box.low, box.high
    last = np.array([len(values) - 1 for values in table.values])
    complete = (table.ranks >= 0).all(axis=1)
    several = table.categorical & (low != high)
    numbers = ~table.categorical
    low[several | (numbers & complete & (low <= 0))] = FREE
    high[several | (numbers & complete & (high >= last))] = FREE
    return box


def _scored(
    table: RankedTable, boxes: list[Box], weights: np.ndarray, score: str, base: float
) -> list[FoundRule]:
    if not boxes:
        return []
    low, high = (np.array([box[k] for box in boxes]) for k in range(2))
    counts = box_counts(read_only(table.ranks), read_only(low), read_only(high), read_only(weights))
    return [
        FoundRule(_tests(table, box), float(score_two(pair[0], pair[1], base, SCORES[score])), pair)
        for box, pair in zip(boxes, counts)
    ]


def _tests(table: RankedTable, box: Box) -> Tests:
    """The conditions of a box; bounds lie half-way to the next value."""
    tests: list[RankTest] = []
    for j, (low, high) in enumerate(zip(box.low.tolist(), box.high.tolist())):
        if table.categorical[j]:
            tests += [RankTest(j, EQUAL, low, float(low))] if low != FREE else []
            continue
        last = len(table.values[j]) - 1
        if low != FREE:
            value, rank = table.threshold(j, AT_LEAST, max(low - 1, 0), low)
            tests.append(RankTest(j, AT_LEAST, rank, value))
        if high != FREE:
            value, rank = table.threshold(j, AT_MOST, high, min(high + 1, last))
            tests.append(RankTest(j, AT_MOST, rank, value))
    return tuple(tests)


@kernel
def box_counts(ranks: Any, low: Any, high: Any, weights: Any) -> Any:
    """Weight of the positive and negative rows in each box."""
    out = np.zeros((low.shape[0], 2))
    for b in range(low.shape[0]):
        for i in range(ranks.shape[1]):
            inside = True
            for j in range(ranks.shape[0]):
                r = ranks[j, i]
                if low[b, j] >= 0 and (r < 0 or r < low[b, j]):
                    inside = False
                    break
                if high[b, j] >= 0 and (r < 0 or r > high[b, j]):
                    inside = False
                    break
            if inside:
                out[b, 0] += weights[i, 0]
                out[b, 1] += weights[i, 1]
    return out

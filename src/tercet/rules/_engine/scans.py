"""Kernels over presorted columns: all conditions that a rule could get, scored in one scan of each column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.array_copies import copy_array
from tercet.core.kernel import inner, kernel
from tercet.core.rows import read_only
from tercet.rules._engine.ranked_table import AT_LEAST, AT_MOST, EQUAL, RankedTable

FOIL, PRECISION, ENTROPY, LAPLACE = 0, 1, 2, 3
SCORES = {"foil": FOIL, "accuracy": PRECISION, "entropy": ENTROPY, "laplace": LAPLACE}
TIE = 1e-9  # relative: rounding must not decide


class Cover(NamedTuple):
    """Rows that a rule covers: as a list, and in the order of each column of numbers."""

    rows: np.ndarray  # (m,)
    order: np.ndarray  # (n_numeric, at least m)
    filled: np.ndarray  # (n_numeric,)


class Candidates(NamedTuple):
    """The best condition of each slot.

    Attributes
    ----------
    feature, comparison : what the slot is for.
    score : the larger the better; -inf where there is none.
    counts : weight of the covered rows of each class, shape (n_slots, n_classes).
    below, above : ranks on both sides of a threshold; of a category, its code.
    """

    feature: np.ndarray
    comparison: np.ndarray
    score: np.ndarray
    counts: np.ndarray
    below: np.ndarray
    above: np.ndarray

    @classmethod
    def empty(cls, table: RankedTable, n_classes: int) -> Candidates:
        features, comparisons = table.slots
        S = len(features)
        return cls(
            features,
            comparisons,
            np.full(S, -np.inf),
            np.zeros((S, n_classes)),
            np.zeros(S, int),
            np.zeros(S, int),
        )


def cover_of(table: RankedTable, weight: np.ndarray) -> Cover:
    """The rows that have weight, which the empty rule covers."""
    keep = weight > 0
    rows = np.flatnonzero(keep).astype(np.int32)
    return Cover(rows, *kept(read_only(table.order), read_only(table.filled), keep, rows.size))


def restricted(table: RankedTable, cover: Cover, feature: int, comparison: int, rank: int) -> Cover:
    """The rows of a cover that satisfy one more condition."""
    column = table.ranks[feature]
    keep = np.zeros(table.n_rows, dtype=np.bool_)
    keep[cover.rows] = holds(column[cover.rows], comparison, rank)
    rows = cover.rows[keep[cover.rows]]
    return Cover(rows, *kept(read_only(cover.order), read_only(cover.filled), keep, rows.size))


def holds(ranks: np.ndarray, comparison: int, rank: int) -> np.ndarray:
    """Which ranks satisfy a condition; a missing value, -1, satisfies none."""
    if comparison == EQUAL:
        return ranks == rank
    return (ranks >= 0) & (ranks <= rank) if comparison == AT_MOST else ranks >= rank


def scan(
    table: RankedTable,
    cover: Cover,
    y: np.ndarray,
    weight: np.ndarray,
    n_classes: int,
    score: int,
    target: int,
) -> Candidates:
    """Score every condition on the rows of a cover; `target` is the class of the rule, or -1 for the commonest.

    Of the thresholds of a column and a direction only that of the largest likelihood ratio statistic is scored.
    That of the best score would often be one of a few rows that happen to be of one class.
    """
    out = Candidates.empty(table, n_classes)
    totals = np.bincount(y[cover.rows], weight[cover.rows], n_classes)
    scan_columns(
        read_only(table.ranks), read_only(out.feature), read_only(out.comparison), read_only(cover.rows),
        read_only(cover.order), read_only(cover.filled), read_only(y), read_only(weight), read_only(totals), score,
        target, *out[2:],
    )  # fmt: skip
    return out


def scan_two(table: RankedTable, cover: Cover, weights: np.ndarray, score: int, base: float) -> Candidates:
    """The same for weights of positive and negative rows, shape (n, 2), and a rule for the positive class.

    FOIL's gain, against a rule of the precision 2^base, chooses the thresholds.
    """
    out = Candidates.empty(table, 2)
    scan_two_columns(
        read_only(table.ranks), read_only(out.feature), read_only(out.comparison), read_only(cover.rows),
        read_only(cover.order), read_only(cover.filled), read_only(weights), score, base, *out[2:],
    )  # fmt: skip
    return out


def best_slot(found: Candidates, weight: np.ndarray) -> int:
    """The slot of the best score; of equal ones the greater weight, then the first. -1 where there is none."""
    return int(first_best(read_only(found.score), read_only(weight)))


@kernel
def kept(order: Any, filled: Any, keep: Any, width: Any) -> Any:
    """The marked rows of each column's order, as they come."""
    out = np.empty((order.shape[0], width + 1), dtype=np.int32)
    count = np.zeros(order.shape[0], dtype=np.int64)
    for c in range(order.shape[0]):
        k = 0
        for i in range(filled[c]):
            row = order[c, i]
            out[c, k] = row  # without a branch: one that is not kept is overwritten
            k += int(keep[row])
        count[c] = k
    return out, count


@kernel
def first_best(score: Any, weight: Any) -> Any:
    best = -1
    for s in range(score.size):
        if score[s] == -np.inf:
            continue
        if best < 0:
            best = s
            continue
        slack = TIE * max(1.0, abs(score[best]))
        equal = abs(score[s] - score[best]) <= slack
        if score[s] > score[best] + slack or (equal and weight[s] > weight[best] * (1 + TIE)):
            best = s
    return best


@inner
def score_two(p: Any, n: Any, base: Any, score: Any) -> Any:
    """The score of a rule that covers p positive and n negative; base = log2 of the precision before."""
    if p <= 0:
        return -np.inf
    if score == FOIL:
        return p * (np.log2(p / (p + n)) - base)
    if score == PRECISION:
        return p / (p + n)
    if score == LAPLACE:
        return (p + 1) / (p + n + 2)
    return negative_entropy(p / (p + n))


@inner
def negative_entropy(a: Any) -> Any:
    """-H(a) of the share a of the class that a rule is for; a share below 1/2 is worse than any above."""
    if a >= 1:
        return 0.0
    entropy = -a * np.log2(a) - (1 - a) * np.log2(1 - a)
    return -entropy if a >= 0.5 else entropy - 2.0


@kernel
def scan_two_columns(
    ranks: Any, slots: Any, comparisons: Any, rows: Any, order: Any, filled: Any, weights: Any,
    score: Any, base: Any, out_score: Any, out_counts: Any, out_below: Any, out_above: Any,
) -> Any:  # fmt: skip
    """Fill the best score of each slot, its counts and ranks."""
    P, N = 0.0, 0.0
    for i in range(rows.size):
        P += weights[rows[i], 0]
        N += weights[rows[i], 1]
    total = P + N
    # cumulative weights at the ends of runs of equal values
    cum_p, cum_n = np.empty(rows.size + 1), np.empty(rows.size + 1)
    cum_r = np.empty(rows.size + 1, dtype=np.int32)
    c, s = 0, 0
    while s < slots.size:
        j, first = slots[s], s
        if comparisons[s] == EQUAL:
            while s < slots.size and slots[s] == j:
                s += 1
            for i in range(rows.size):
                code = ranks[j, rows[i]]
                if code >= 0:
                    out_counts[first + code, 0] += weights[rows[i], 0]
                    out_counts[first + code, 1] += weights[rows[i], 1]
            for t in range(first, s):
                p, n = out_counts[t, 0], out_counts[t, 1]
                out_below[t], out_above[t] = t - first, t - first
                if p > 0 and p + n < total * (1 - TIE):
                    out_score[t] = score_two(p, n, base, score)
            continue
        p, n, g, previous = 0.0, 0.0, 0, np.int32(-1)
        for i in range(filled[c]):
            row = order[c, i]
            r = ranks[j, row]
            if r != previous:
                if i > 0:
                    cum_p[g], cum_n[g], cum_r[g] = p, n, previous
                    g += 1
                previous = r
            p += weights[row, 0]
            n += weights[row, 1]
        cum_p[g], cum_n[g], cum_r[g] = p, n, previous
        for side in range(2):
            t = s + side
            at = best_threshold(cum_p, cum_n, g, side, P, base)
            if at >= 0:
                a = cum_p[at] if side == 0 else p - cum_p[at]
                b = cum_n[at] if side == 0 else max(n - cum_n[at], 0.0)
                out_counts[t, 0], out_counts[t, 1] = a, b
                out_score[t] = score_two(a, b, base, score)
                out_below[t], out_above[t] = cum_r[at], cum_r[at + 1]
        s += 2
        c += 1


@inner
def best_threshold(cum_p: Any, cum_n: Any, g: Any, side: Any, P: Any, base: Any) -> Any:
    """The run of equal values after which a threshold has the largest FOIL gain; -1 where none has any.

    The gain grows with positives and falls with negatives: it is largest where a run of the former ends and one of
    the latter begins.
    """
    best, mass, at = 0.0, 0.0, -1
    for i in range(g):
        inside, outside = (i, i + 1) if side == 0 else (i + 1, i)
        if cum_p[inside] <= (cum_p[inside - 1] if inside > 0 else 0.0):
            continue
        if cum_n[outside] <= (cum_n[outside - 1] if outside > 0 else 0.0):
            continue
        a = cum_p[i] if side == 0 else cum_p[g] - cum_p[i]
        b = cum_n[i] if side == 0 else max(cum_n[g] - cum_n[i], 0.0)
        if a <= TIE * P or -a * base < best:  # no better even without negatives
            continue
        value = score_two(a, b, base, FOIL)
        slack = TIE * max(1.0, abs(best))
        if value > best + slack or (value >= best - slack and a + b > mass):
            best, mass, at = value, a + b, i
    return at


@inner
def score_classes(counts: Any, score: Any, target: Any) -> Any:
    """The score of a rule by the weights of the classes that it covers."""
    total, most, entropy = 0.0, 0.0, 0.0
    for k in range(counts.size):
        total += counts[k]
        most = max(most, counts[k])
    if target >= 0:
        most = counts[target]
    if total <= 0 or most <= 0:
        return -np.inf
    if score == PRECISION:
        return most / total
    if score == LAPLACE:
        return (most + 1) / (total + counts.size)
    if target >= 0:
        return negative_entropy(most / total)
    for k in range(counts.size):
        if counts[k] > 0:
            entropy += counts[k] / total * np.log2(counts[k] / total)
    return entropy


@kernel
def scan_columns(
    ranks: Any, slots: Any, comparisons: Any, rows: Any, order: Any, filled: Any, y: Any, weight: Any,
    totals: Any, score: Any, target: Any, out_score: Any, out_counts: Any, out_below: Any, out_above: Any,
) -> Any:  # fmt: skip
    """Fill the best score of each slot, its counts of all classes and ranks."""
    K = totals.size
    whole = totals.sum()
    left, right, best, mass = np.empty(K), np.empty(K), np.empty(2), np.empty(2)
    c, s = 0, 0
    while s < slots.size:
        j, first = slots[s], s
        if comparisons[s] == EQUAL:
            while s < slots.size and slots[s] == j:
                s += 1
            for i in range(rows.size):
                code = ranks[j, rows[i]]
                if code >= 0:
                    out_counts[first + code, y[rows[i]]] += weight[rows[i]]
            for t in range(first, s):
                out_below[t], out_above[t] = t - first, t - first
                if out_counts[t].sum() < whole * (1 - TIE):
                    out_score[t] = score_classes(out_counts[t], score, target)
            continue
        left[:] = 0.0
        right[:] = 0.0
        for i in range(filled[c]):
            right[y[order[c, i]]] += weight[order[c, i]]
        best[:] = -np.inf
        mass[:] = 0.0
        for i in range(filled[c] - 1):
            row, after = order[c, i], order[c, i + 1]
            left[y[row]] += weight[row]
            right[y[row]] = max(right[y[row]] - weight[row], 0.0)
            if ranks[j, row] == ranks[j, after]:
                continue
            for side in range(2):
                counts = left if side == 0 else right
                value, covered = likelihood_ratio(counts, totals, target), counts.sum()
                slack = TIE * max(1.0, abs(best[side]))
                if value > best[side] + slack or (value >= best[side] - slack and covered > mass[side]):
                    best[side], mass[side] = value, covered
                    copy_array(counts, out_counts[s + side])
                    out_below[s + side], out_above[s + side] = ranks[j, row], ranks[j, after]
        for side in range(2):
            if best[side] > -np.inf:
                out_score[s + side] = score_classes(out_counts[s + side], score, target)
        s += 2
        c += 1


@inner
def likelihood_ratio(counts: Any, totals: Any, target: Any) -> Any:
    """Σ n_k log(n_k / (n P_k)) of the classes; of a class against the others, where a rule is for one."""
    n, N, found = counts.sum(), totals.sum(), 0.0
    if n <= 0 or N <= 0:
        return -np.inf
    if target >= 0:
        p, P = counts[target], totals[target]
        if p * N <= n * P:  # the class is no more frequent than before
            return -np.inf
        found = p * np.log(p * N / (n * P))
        return found + (n - p) * np.log((n - p) * N / (n * (N - P))) if n > p else found
    for k in range(counts.size):
        if counts[k] > 0:
            found += counts[k] * np.log(counts[k] * N / (n * totals[k]))
    return found


@kernel
def satisfied_prefix(ranks: Any, features: Any, comparisons: Any, bounds: Any) -> Any:
    """How many conditions, from the first on, each row satisfies in a row."""
    n = ranks.shape[1]
    out = np.zeros(n, dtype=np.int32)
    for i in range(n):
        k = 0
        while k < features.size:
            r = ranks[features[k], i]
            bound = bounds[k]
            if r < 0:
                break
            if comparisons[k] == EQUAL:
                if r != bound:
                    break
            elif comparisons[k] == AT_MOST:
                if r > bound:
                    break
            elif r < bound:
                break
            k += 1
        out[i] = k
    return out


__all__ = ["AT_LEAST", "AT_MOST", "EQUAL", "SCORES", "Candidates", "Cover"]

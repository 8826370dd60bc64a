"""Gain table: the gain of splitting a set by each of its features, for ID3, C4.5 and feature selection.

A category splits it into one part for each of its values, a number into two at a threshold (bi-partition, 二分法).
With D~ the rows of which the feature is known, a share rho of the weight of all,

    gain = rho (H(D~) - Σ_v w_v / w H(D_v)),        IV = -Σ_v w_v / w log2 (w_v / w).

A set is a list of entries, each a row and a weight: rows whose value was missing further up are in several nodes,
with a fraction of their weight in each. A row is counted only where `WHOLE_ROW_SHARE` of its weight is, or more:
else small fractions of rows would be split on and on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel, shared
from tercet.core.parallel import each
from tercet.core.rows import sum_of

ENTROPY, GINI = 0, 1  # the impurity H: entropy in bits, or the Gini index
# The columns of a gain table: the gain, the intrinsic value IV, the midpoint of the two values next to the best
# threshold, and the lower one of them.
GAIN, INTRINSIC_VALUE, MIDPOINT, LOWER_VALUE = 0, 1, 2, 3
TIE = 1e-12  # gains that differ by less differ by rounding
WHOLE_ROW_SHARE = 0.5
BATCH = 1 << 20  # entries times features of one kernel call: a fraction of a second


class LabelledColumns(NamedTuple):
    """Training data by column: one row of `columns` for each feature, with numbers or codes of categories."""

    columns: np.ndarray
    y: np.ndarray
    n_classes: int
    n_categories: np.ndarray
    place: np.ndarray  # the index of each numeric feature among those

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, n_classes: int, n_categories: Any) -> LabelledColumns:
        columns = np.ascontiguousarray(X.T, dtype=np.float64)
        n_categories = np.asarray(n_categories, dtype=np.int64)
        for j in np.flatnonzero(n_categories):  # kernels count with them and check no bounds
            codes = columns[j][~np.isnan(columns[j])]
            if codes.size and not (codes.min() >= 0 and codes.max() < n_categories[j]):
                raise ValueError(
                    f"feature {j} must hold codes of its {n_categories[j]} categories; "
                    f"it has values from {codes.min():g} to {codes.max():g}."
                )
        place = np.cumsum(n_categories == 0) - 1
        return cls(columns, np.asarray(y, dtype=np.int64), n_classes, n_categories, place)

    def sorted_rows(self) -> np.ndarray:
        """For each feature of numbers the rows in order of its values, those without one last."""
        numeric = self.columns[self.n_categories == 0]
        orders = np.empty(numeric.shape, dtype=np.int32)
        for column, order in zip(numeric, orders):
            order[:] = np.argsort(column, kind="stable")
        return orders


def gain_table(
    data: LabelledColumns,
    rows: np.ndarray,
    weight: np.ndarray,
    orders: np.ndarray,
    features: np.ndarray,
    *,
    code: int = ENTROPY,
    least: tuple[int, float] = (1, 0.0),
    counted: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """A row (gain, IV, midpoint, lower value) for each feature; the gain is -1 where there is no split.

    `least` are the fewest rows and the least weight that a part may have. `counted` marks the entries that count as
    rows, by default all; a split must have enough of them on both sides, or in two of its parts.
    """
    if counted is None:
        counted = np.ones(rows.size, dtype=np.bool_)
    size = max(1, BATCH // max(rows.size, 1))

    def measure(first: int) -> np.ndarray:
        batch = features[first : first + size]
        return gain_table_kernel(data, rows, weight, counted, orders, batch, code, *least)

    if len(features) <= size:
        return measure(0)
    return np.concatenate(each(measure, range(0, len(features), size), n_jobs=n_jobs))


@kernel
def gain_table_kernel(data, rows, weight, counted, orders, features, code, least_rows, least_weight):
    """The rows of `gain_table` for some features."""
    table = np.zeros((features.size, 4))
    y, k = data.y, data.n_classes
    for f in range(features.size):
        column, out = data.columns[features[f]], table[f]
        values = data.n_categories[features[f]]
        if values > 0:
            counts, seen = category_counts(column, y, rows, weight, counted, values, k)
            multiway_gain(counts, seen, sum_of(weight), code, least_rows, least_weight, out)
        else:
            order = orders[data.place[features[f]]]
            best_threshold_gain(
                column, y, k, rows, weight, counted, order, code, least_rows, least_weight, out
            )
    return table


@inner
def category_counts(column, y, rows, weight, counted, n_values, n_classes):
    """For each value: the weights of the classes, and the numbers of entries and of counted rows."""
    counts = np.zeros((n_values, n_classes))
    seen = np.zeros((2, n_values), dtype=np.int64)
    for e in range(rows.size):
        i = rows[e]
        if not np.isnan(column[i]):
            v = np.int64(column[i])
            counts[v, y[i]] += weight[e]
            seen[0, v] += 1
            seen[1, v] += counted[e]
    return counts, seen


@inner
def multiway_gain(counts, seen, everything, code, least_rows, least_weight, out):
    """The gain of a split into one part for each value that is there."""
    known = np.zeros(counts.shape[1])
    parts, split, children = 0.0, 0.0, 0
    out[GAIN] = -1.0
    for v in range(counts.shape[0]):
        if seen[0, v] > 0:
            here = sum_of(counts[v])
            if seen[0, v] < least_rows or here < least_weight:
                return
            children += seen[1, v] >= least_rows
            known += counts[v]
            parts += weighted_impurity(counts[v], code)
            split += here * np.log2(here)
    if children > 1:
        total = sum_of(known)
        out[GAIN] = max((weighted_impurity(known, code) - parts) / everything, 0.0)
        out[INTRINSIC_VALUE] = np.log2(total) - split / total


@inner
def best_threshold_gain(
    column, y, n_classes, rows, weight, counted, order, code, least_rows, least_weight, out
):
    """The gain of the best of all thresholds; of equal ones the first."""
    left, right = np.zeros(n_classes), np.zeros(n_classes)
    everything, n, after, before = 0.0, 0, 0, 0
    for e in range(rows.size):
        everything += weight[e]
        if not np.isnan(column[rows[e]]):
            right[y[rows[e]]] += weight[e]
            n += 1
            after += counted[e]
    total, whole = sum_of(right), weighted_impurity(right, code)
    best, here, split = -1.0, 0.0, 0.0
    out[GAIN] = -1.0
    for k in range(n - 1):
        e = order[k]
        i = rows[e]
        left[y[i]] += weight[e]
        right[y[i]] -= weight[e]
        here += weight[e]
        before += counted[e]
        after -= counted[e]
        low, high = column[i], column[rows[order[k + 1]]]
        if not high > low or before < least_rows or after < least_rows:
            continue
        if here < least_weight or total - here < least_weight:
            continue
        gain = (whole - weighted_impurity(left, code) - weighted_impurity(right, code)) / everything
        if gain > best + TIE:
            best, split = max(gain, 0.0), here
            middle = low / 2 + high / 2
            out[MIDPOINT] = middle if low <= middle < high else low
            out[LOWER_VALUE] = low
    if best >= 0.0:
        share = split / total
        out[GAIN] = best
        out[INTRINSIC_VALUE] = -share * np.log2(share) - (1.0 - share) * np.log2(1.0 - share)


@shared
def weighted_impurity(counts, code):
    """The weight of a set times its impurity, from the weights of its classes."""
    total, terms = 0.0, 0.0
    for k in range(counts.size):
        if counts[k] > 0.0:  # taking weights off again may leave a little less than nothing
            total += counts[k]
            terms += counts[k] * np.log2(counts[k]) if code == ENTROPY else counts[k] * counts[k]
    if total <= 0.0:
        return 0.0
    return total * np.log2(total) - terms if code == ENTROPY else total - terms / total

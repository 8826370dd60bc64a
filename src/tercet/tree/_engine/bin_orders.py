"""Orders of a column's bins: numbers by size, categories by their mean or along a principal direction."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner
from tercet.tree._engine.category_subsets import rounding_unit
from tercet.tree._engine.histogram_statistics import COUNT, SUMS, WEIGHT

POWER_ITERATIONS = 30


@inner
def order_bins(m, categorical, rule, workspace):
    """The order of the bins: by code, or categories by their mean or along their principal direction.

    Returns the number of those that may be chosen (`sort_categories`).
    """
    if not categorical:
        for i in range(m):
            workspace.order[i] = i
        return m
    if rule.n_sums > 1:
        principal_projection(m, rule.n_sums, workspace.bins, workspace.key)
        return sort_categories(m, rule, workspace)
    return order_by_means(m, rule, workspace)


@inner
def order_by_means(m, rule, workspace):
    """The order of categories by their mean, where there is one numerator."""
    bins = workspace.bins
    for i in range(m):
        workspace.key[i] = bins[i, SUMS] / (bins[i, WEIGHT] + rule.categories.smooth)
    return sort_categories(m, rule, workspace)


@inner
def sort_categories(m, rule, workspace):
    """Sort by the keys; those of too few rows for the `CategoryRule` come last. Returns the number of others.

    Keys that differ by rounding alone stay in the order of their codes (`rounding_unit`).
    """
    order, key, own = workspace.order, workspace.key, rule.categories
    count, last, few = 0, m, np.float64(own.few) if m > own.single else 0.0
    largest = 0.0
    for i in range(m):
        largest = max(largest, abs(key[i]))
    unit = rounding_unit(largest)
    for i in range(m):
        key[i] = np.rint(key[i] / unit)
    for i in range(m):
        if workspace.bins[i, COUNT] < few:
            last -= 1
            order[last] = i
            continue
        k = count
        while k > 0 and key[order[k - 1]] > key[i]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i
        count += 1
    return count


@inner
def principal_projection(m, n, bins, key):
    """Each category's class proportions along their first principal direction, into `key`, by power iteration."""
    mean, away, direction = np.zeros(n), np.zeros((m, n)), np.zeros(n)
    mass, farthest = 0.0, -1.0
    for i in range(m):
        mass += bins[i, WEIGHT]
        for a in range(n):
            mean[a] += bins[i, SUMS + a]
    for i in range(m):
        apart = 0.0
        for a in range(n):
            away[i, a] = bins[i, SUMS + a] / bins[i, WEIGHT] - mean[a] / mass
            apart += bins[i, WEIGHT] * away[i, a] ** 2
        if apart > farthest:  # start from the bin farthest from the mean
            farthest = apart
            for a in range(n):
                direction[a] = away[i, a]
    for _ in range(POWER_ITERATIONS):
        longest = 0.0
        for i in range(m):
            key[i] = 0.0
            for a in range(n):
                key[i] += away[i, a] * direction[a]
        for a in range(n):
            direction[a] = 0.0
            for i in range(m):
                direction[a] += bins[i, WEIGHT] * key[i] * away[i, a]
            longest = max(longest, abs(direction[a]))
        if longest == 0.0:
            break
        for a in range(n):
            direction[a] /= longest

"""Codes of many columns at once, and their mutual information with another one.

A table of counts is filled for each column. With a hundred thousand columns of a hundred rows, calls from Python
would take far longer than the counting.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import kernel


@kernel
def equal_frequency_bins(values, ordered, n_bins, codes):
    """Codes of the values in each row of `values`, of which `ordered` has each row sorted.

    Few different values have codes of their own; else there are bins whose upper edges are quantiles.
    """
    d, n = values.shape
    edges = np.empty(n_bins)
    for j in range(d):
        different = 1
        for i in range(1, n):
            different += ordered[j, i] != ordered[j, i - 1]
        if different <= n_bins:
            size = 0
            for i in range(n):
                if i == 0 or ordered[j, i] != ordered[j, i - 1]:
                    edges[size] = ordered[j, i]
                    size += 1
        else:
            size = n_bins - 1
            for b in range(size):
                edges[b] = ordered[
                    j, ((b + 1) * n - 1) // n_bins
                ]  # the value at rank ceil(n (b + 1) / n_bins)
        for i in range(n):
            low, high = 0, size  # the first edge that is not below the value
            while low < high:
                middle = (low + high) // 2
                if edges[middle] < values[j, i]:
                    low = middle + 1
                else:
                    high = middle
            codes[j, i] = low


@kernel
def mutual_information_with(codes, n_codes, other, n_other, information):
    """Mutual information of each row of `codes` and of the codes `other`, in nats."""
    d, n = codes.shape
    both = np.empty((n_codes, n_other), np.int64)
    of_other = np.zeros(n_other, np.int64)
    for i in range(n):
        of_other[other[i]] += 1
    for j in range(d):
        both[:] = 0
        for i in range(n):
            both[codes[j, i], other[i]] += 1
        total = 0.0
        for a in range(n_codes):
            of_code = both[a].sum()
            for b in range(n_other):
                if both[a, b] > 0:
                    ratio = both[a, b] / of_code * (n / of_other[b])
                    total += both[a, b] * np.log(ratio)
        information[j] = max(total / n, 0.0)

"""Sort numbers, and others along with them: the neighbours of each query by distance, the rows of a ball."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel

RUN = 16  # values that insertion sorts


@kernel
def sort_segments(indptr, far, found):
    """Sort each segment by distance, in place."""
    longest = 0
    for i in range(indptr.size - 1):
        longest = max(longest, indptr[i + 1] - indptr[i])
    spare, rest = np.empty(longest), np.empty(longest, dtype=found.dtype)
    for i in range(indptr.size - 1):
        merge_sort(far[indptr[i] : indptr[i + 1]], found[indptr[i] : indptr[i + 1]], spare, rest)


@inner
def merge_sort(a, b, spare, rest):
    """Sort a, and b along with it, in place; stable, so that equals stay in their order."""
    for first in range(0, a.size, RUN):
        insertion_sort(a[first : first + RUN], b[first : first + RUN])
    width = RUN
    while width < a.size:
        for first in range(0, a.size - width, 2 * width):
            last = min(first + 2 * width, a.size)
            merge_runs(a[first:last], b[first:last], width, spare, rest)
        width *= 2


@inner
def insertion_sort(a, b):
    """Sort a, and b along with it."""
    for k in range(1, a.size):
        x, y, place = a[k], b[k], k
        while place > 0 and a[place - 1] > x:
            a[place], b[place] = a[place - 1], b[place - 1]
            place -= 1
        a[place], b[place] = x, y


@inner
def merge_runs(a, b, middle, spare, rest):
    """Merge two sorted runs, of which the second begins at `middle`; the first is copied out of the way."""
    if a[middle - 1] <= a[middle]:
        return
    for k in range(middle):
        spare[k], rest[k] = a[k], b[k]
    left, right, place = 0, middle, 0
    while left < middle:
        if right < a.size and a[right] < spare[left]:
            a[place], b[place] = a[right], b[right]
            right += 1
        else:
            a[place], b[place] = spare[left], rest[left]
            left += 1
        place += 1
